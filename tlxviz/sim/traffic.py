"""What a launch moves between its SMs and L2, and between L2 and DRAM; and the least time that this takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tlxviz.devices.model import Device
from tlxviz.sim.engine import Sm


@dataclass(frozen=True, slots=True)
class Traffic:
    """Bytes of all CTAs of a launch."""

    l2_read: int
    """From L2 to SMs. What is multicast to several is read once."""
    received: int
    """The same, as the SMs take it in: what is multicast comes to each."""
    l2_written: int
    """From SMs to L2."""
    tensors: int
    """Of the launch's tensors: no more than these can be different bytes."""
    dram_read: int
    """At least: what comes to the SMs again is taken to come from L2."""
    dram_written: int
    """At least, likewise."""

    @property
    def l2(self) -> int:
        return self.l2_read + self.l2_written

    @property
    def once(self) -> int:
        """Different bytes that are moved, as far as the size of the tensors tells."""
        return min(self.l2, self.tensors)

    def cycles_of_l2(self, device: Device) -> float:
        """The least that L2 takes for it, in cycles of the highest SM clock."""
        memory = device.memory
        return max(self.l2 / memory.l2_bytes_per_cycle, self.once / memory.l2_distinct_bytes_per_cycle)

    def seconds_of_dram(self, device: Device) -> float:
        """The least that DRAM takes for it."""
        memory = device.memory
        return self.dram_read / memory.hbm_bytes_per_second + self.dram_written / memory.hbm_write_bytes_per_second

    def statistics(self) -> dict[str, int]:
        """By the names that a trace's statistics have for them."""
        return {
            "l2_read_bytes": self.l2_read,
            "received_bytes": self.received,
            "l2_written_bytes": self.l2_written,
            "dram_read_bytes": self.dram_read,
            "dram_written_bytes": self.dram_written,
            "tensor_bytes": self.tensors,
        }


def traffic(sms: Sequence[Sm], done: int, total: int, tensors: int, *, in_l2: bool) -> Traffic:
    """The traffic of a launch.

    Args:
        sms: Those that ran CTAs.
        done: CTAs that ended on them.
        total: CTAs of the grid: the bytes of those that ran are scaled to as many.
        tensors: Bytes of the launch's tensors.
        in_l2: Whether these are in L2 from one launch to the next.
    """
    written = sum(sm.tma_store_bytes + sm.global_store_bytes for sm in sms)
    received = sum(sm.tma_load_bytes + sm.global_load_bytes for sm in sms)
    read = received - sum(sm.multicast_bytes for sm in sms)
    if done:
        written, received, read = (moved * total // done for moved in (written, received, read))
    once = 0 if in_l2 else min(read + written, tensors)
    back = min(written, once)
    return Traffic(read, received, written, tensors, once - back, back)
