"""When the work that a script gives to the simulated device begins and ends.

The host costs nothing: a stream gets its work as fast as the script writes it down, and the host's own clock only moves
on where the script waits for the device.
"""

from __future__ import annotations

from dataclasses import dataclass

DEFAULT_STREAM = 0


@dataclass(frozen=True, slots=True)
class _Work:
    begin: float
    end: float
    sms: int


class DeviceTime:
    """The clock of one device.

    Work of one stream runs in order. Work of different streams runs side by side where it fits on the SMs together, and
    one after the other where it does not.

    Args:
        sms: SMs of the device.
    """

    def __init__(self, sms: int) -> None:
        self._sms = sms
        self._host = 0.0
        self._ends: dict[int, float] = {}
        self._running: list[_Work] = []

    @property
    def now(self) -> float:
        """The host's clock, in ns."""
        return self._host

    def work(self, stream: int, duration: float, sms: int | None = None) -> float:
        """Give `stream` work of `duration` ns on so many SMs (all, if not said). Returns when it ends, in ns."""
        need = self._sms if sms is None else max(1, min(sms, self._sms))
        begin = self._begin(self.end(stream), need)
        self._running = [each for each in self._running if each.end > self._host]
        self._running.append(_Work(begin, begin + duration, need))
        self._ends[stream] = begin + duration
        return begin + duration

    def end(self, stream: int) -> float:
        """When all that `stream` was given so far has ended, in ns; not before now, as the host counts."""
        return max(self._ends.get(stream, 0.0), self._host)

    def wait(self, stream: int, until: float) -> None:
        """Later work of `stream` begins at `until` ns or later."""
        self._ends[stream] = max(self.end(stream), until)

    def synchronize(self, until: float | None = None) -> None:
        """The host waits until `until` ns, or for everything."""
        self._host = max([self._host, *self._ends.values()] if until is None else [self._host, until])

    def _begin(self, earliest: float, need: int) -> float:
        """The first moment from `earliest` on from which `need` SMs stay free of what runs already."""
        for begin in sorted({earliest, *(each.end for each in self._running if each.end > earliest)}):
            later = [each for each in self._running if each.end > begin]
            if sum(each.sms for each in later) + need <= self._sms:
                return begin
        return earliest
