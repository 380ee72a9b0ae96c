"""When the work that a script gives to the simulated device begins and ends.

The host costs nothing: a stream gets its work as fast as the script writes it down, and the host's own clock only moves
on where the script waits for the device.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right

DEFAULT_STREAM = 0


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
        self._times: list[float] = [0.0]
        self._used: list[int] = [0]
        """SMs that are taken from the time at the same position on, up to the next one."""

    @property
    def now(self) -> float:
        """The host's clock, in ns."""
        return self._host

    def work(self, stream: int, duration: float, sms: int | None = None) -> float:
        """Give `stream` work of `duration` ns on so many SMs (all, if not said). Returns when it ends, in ns."""
        need = self._sms if sms is None else max(1, min(sms, self._sms))
        self._forget_past()
        begin = self._begin(self.end(stream), duration, need)
        self._take(begin, begin + duration, need)
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

    def _begin(self, earliest: float, duration: float, need: int) -> float:
        """The first moment from `earliest` on from which `need` SMs are free for so long."""
        begin = earliest
        position = max(bisect_right(self._times, earliest) - 1, 0)
        while position < len(self._times) and self._times[position] < begin + duration:
            position += 1
            if self._used[position - 1] + need > self._sms:
                begin = self._times[position]  # at the last one nothing is taken, so there is a next one
        return begin

    def _take(self, begin: float, end: float, sms: int) -> None:
        if end <= begin:
            return
        first, last = self._cut(begin), self._cut(end)
        for position in range(first, last):
            self._used[position] += sms
        for position in (last, first):  # neighbours that are alike are one, so that back-to-back work takes no room
            if position and self._used[position] == self._used[position - 1]:
                del self._times[position], self._used[position]

    def _cut(self, time: float) -> int:
        """Position at which `time` stands, entered if need be."""
        position = bisect_left(self._times, time)
        if position == len(self._times) or self._times[position] != time:
            self._times.insert(position, time)
            self._used.insert(position, self._used[position - 1])
        return position

    def _forget_past(self) -> None:
        """Nothing begins before now, as the host counts."""
        past = bisect_right(self._times, self._host) - 1
        if past > 0:
            del self._times[:past], self._used[:past]
