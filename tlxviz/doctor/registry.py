"""What a check is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tlxviz.doctor.model import Finding, Machine, Outcome, Status


@dataclass(frozen=True, slots=True)
class Check:
    """A function that looks at one thing, with its name."""

    id: str
    title: str
    look: Callable[[Machine], Outcome]

    def __call__(self, machine: Machine) -> Finding:
        try:
            found = self.look(machine)
        except Exception as error:  # a doctor must not fall ill
            found = Outcome(Status.WARNING, f"this could not be checked ({type(error).__name__}: {error})")
        return Finding(self.id, self.title, found.status, found.detail, found.mend)


def check(identity: str, title: str) -> Callable[[Callable[[Machine], Outcome]], Check]:
    """Makes a check of a function. Its module lists it in `CHECKS`."""
    return lambda look: Check(identity, title, look)
