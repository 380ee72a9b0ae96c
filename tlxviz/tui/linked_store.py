"""What is kept of two traces that are looked at together."""

from __future__ import annotations

from typing import Any

from tlxviz.trace.model import Trace
from tlxviz.tui.linked import A, B, Link
from tlxviz.tui.store import Kept, Store, encoded, launch_of, number_of, restore_into


class LinkStore:
    """Keeps a `Link` in a file.

    Args:
        store: The file.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    def write(self, link: Link) -> None:
        alignment = link.alignment
        self._store.keep(
            {
                "lead": link.lead,
                "aligned": [*alignment.cycles, alignment.said],
                "sides": [encoded(each) for each in link.sides],
            }
        )

    def read(self, a: Trace, b: Trace, number: int | None = None) -> Link:
        """What is kept, as far as it fits the traces; a fresh link where nothing is, or where it is damaged.

        Args:
            number: The launch of both to open, rather than those that were open last.
        """

        def restore(kept: Kept) -> Link:
            one, other = (dict[str, Any](each) for each in kept["sides"])
            numbers = launch_of(one, a), launch_of(other, b)
            link = Link(a, b, numbers if number is None else (number, number))
            same = link.numbers == numbers
            if same:
                first, second, said = kept["aligned"]
                link.align((number_of(first), number_of(second)), str(said))
            for side, each in zip(link.sides, (one, other), strict=True):
                restore_into(side, each)
            if same:
                lead = number_of(kept["lead"], A, B)
                link.sides[lead].put_on(str((one, other)[lead]["lane"]))  # the rows are those of both
                link.restored(lead)
            else:
                link.align_steady()
                link.whole()
            return link

        return self._store.restored(restore) or Link(a, b, (number or 0, number or 0))
