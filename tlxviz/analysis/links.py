"""What each event waited for: the form in which it is kept."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from tlxviz.analysis.occupation import Occupation

Int64 = NDArray[np.int64]


class Activity(IntEnum):
    """What a stretch of a chain is."""

    ARITHMETIC = 0
    """A warp group between its events: arithmetic, loads without TMA, control flow."""
    ISSUE = 1
    """A warp group hands work to others: arrivals, expects, copies, MMAs, fences."""
    HAND_OFF = 2
    """From the release of a wait until the warp group goes on; a wait that found its phase complete."""
    COPY_LATENCY = 3
    """A copy that nothing held up; a wait for copies without TMA, which no event ends."""
    COPY_BANDWIDTH = 4
    """A copy behind others that the engine or memory was busy with."""
    PRODUCT = 5
    """The tensor core computes."""
    UNKNOWN = 6
    """A wait of which nobody recorded what ended it."""
    TENSOR_MEMORY = 7
    """A warp group reads or writes tensor memory."""
    LAUNCH_CONTROL = 8
    """The block scheduler answers which CTA's work comes next."""


ACTIVITY_WORDS: dict[Activity, str] = {
    Activity.ARITHMETIC: "arithmetic",
    Activity.ISSUE: "issuing",
    Activity.HAND_OFF: "hand-off",
    Activity.COPY_LATENCY: "copy latency",
    Activity.COPY_BANDWIDTH: "copy bandwidth",
    Activity.PRODUCT: "tensor core",
    Activity.UNKNOWN: "not recorded",
    Activity.TENSOR_MEMORY: "tensor memory",
    Activity.LAUNCH_CONTROL: "answer of the block scheduler",
}
"""In the words of all views."""


@dataclass(frozen=True, slots=True)
class Dependencies:
    """One entry per event of the launch; rows are those of the event table, -1 for none."""

    begin: Int64
    end: Int64
    track: Int64
    on_group: NDArray[np.bool_]
    """Whether it is on a warp group's track."""
    work: NDArray[np.int8]
    """A `Work` value; BUSY for engines."""
    activity: NDArray[np.int8]
    """An `Activity`: what the event itself did, from `since` to its end."""
    since: Int64
    """SM cycle at which that began: the release of a wait that was held up, the end of the copy before it. Never
    after its own end, nor after that of its cause."""
    cause: Int64
    """The event that it went on from at `since`, on another track or engine; -1 if it goes on from `before`."""
    before: Int64
    """The event before it on the warp group's track; of a copy or MMA, the operation that issued it."""
    lower: Int64
    """First cycle of each track."""
    upper: Int64
    """Cycle at which each track ends."""

    def renumbered(self, places: Int64, numbers: Int64, track_numbers: Int64, occupied: Occupation) -> Dependencies:
        """The same by other rows and tracks.

        Args:
            places: Of each new row, where the event stood.
            numbers: Of each row so far, the new one.
            track_numbers: Of each track so far, the new number.
            occupied: The life of the tracks, by their new numbers.
        """
        number = np.append(numbers, -1)
        return Dependencies(
            self.begin[places],
            self.end[places],
            track_numbers[self.track[places]],
            self.on_group[places],
            self.work[places],
            self.activity[places],
            self.since[places],
            number[self.cause[places]],
            number[self.before[places]],
            occupied.lower,
            occupied.upper,
        )
