"""What panels know of a launch: worked out in threads, one thing at a time, and kept."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from threading import Lock, Thread
from weakref import WeakKeyDictionary

from tlxviz.analysis.account import Account
from tlxviz.tui.state import State


@dataclass(frozen=True, slots=True)
class Failure:
    """Something could not be worked out."""

    why: str


class Facts:
    """Facts of one launch by name."""

    def __init__(self, account: Account) -> None:
        self.account = account
        self.asked: set[str] = set()
        """Names of facts that a timeline has asked for; panels keep count of their own."""
        self._found: dict[str, object] = {}
        self._lock, self._apart = Lock(), Lock()

    def get(self, name: str) -> object | None:
        """A fact, or a `Failure`; None as long as nobody has worked it out."""
        return self._found.get(name)

    def find(self, name: str, work: Callable[[Account], object], apart: bool = False) -> None:
        """Works a fact out, unless it is known. One thread at a time: facts stand on the same parts of the account.

        Args:
            apart: It takes long, and what it stands on is known: others are not to wait for it.
        """
        with self._apart if apart else self._lock:
            if name not in self._found:
                try:
                    self._found[name] = work(self.account)
                except Exception as error:  # a panel says so; the timeline goes on
                    self._found[name] = Failure(f"{type(error).__name__}: {error}")


async def worked_out(facts: Facts, name: str, work: Callable[[Account], object], apart: bool = False) -> None:
    """Until a fact is known. It is found in a thread that does not keep the program from ending, as a pool's would."""
    loop, done = asyncio.get_running_loop(), asyncio.Event()

    def find() -> None:
        facts.find(name, work, apart)
        with suppress(RuntimeError):  # the program has ended meanwhile
            loop.call_soon_threadsafe(done.set)

    Thread(target=find, daemon=True).start()
    await done.wait()


_facts: WeakKeyDictionary[State, dict[int, Facts]] = WeakKeyDictionary()


def facts_of(state: State) -> Facts:
    """The facts of the launch that is looked at: the same again when somebody comes back to it."""
    known, seen = _facts.setdefault(state, {}), state.seen
    made = known.get(seen.number)
    if made is None or made.account.launch is not seen.launch:
        made = known[seen.number] = Facts(seen.account)
    return made
