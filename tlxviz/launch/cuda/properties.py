"""What `torch.cuda.get_device_properties` returns."""

from __future__ import annotations

from typing import Any

from tlxviz.devices.model import Device

UUID = "00000000-0000-0000-0000-000000000000"
_WARP = 32


class Properties:
    """torch's fields; of what a simulated device does not have, zero and a UUID of zeros."""

    def __init__(self, device: Device) -> None:
        limits = device.limits
        self.name = device.cuda_name
        self.major, self.minor = device.capability
        self.total_memory = device.memory.capacity_bytes
        self.multi_processor_count = limits.sms
        self.warp_size = _WARP
        self.max_threads_per_block = limits.threads_per_block
        self.max_threads_per_multi_processor = limits.warps_per_sm * _WARP
        self.regs_per_multiprocessor = limits.registers_per_sm
        self.shared_memory_per_block = 48 * 1024  # what CUDA grants without opting in
        self.shared_memory_per_block_optin = limits.shared_memory_per_block
        self.shared_memory_per_multiprocessor = limits.shared_memory_per_sm
        self.L2_cache_size = device.memory.l2_bytes
        self.clock_rate = int(device.clock.boost_mhz * 1000)
        self.is_integrated = self.is_multi_gpu_board = 0
        self.pci_bus_id = self.pci_device_id = self.pci_domain_id = 0
        self.uuid = UUID
        self.gcnArchName = device.cuda_name  # what torch says of a GPU that is not AMD's

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"tlxviz does not simulate the device property {name}")

    def __repr__(self) -> str:
        mib = 1 << 20
        return (
            f"_CudaDeviceProperties(name='{self.name}', major={self.major}, minor={self.minor}, "
            f"total_memory={self.total_memory // mib}MB, multi_processor_count={self.multi_processor_count}, "
            f"uuid={self.uuid}, pci_bus_id={self.pci_bus_id}, pci_device_id={self.pci_device_id}, "
            f"pci_domain_id={self.pci_domain_id}, L2_cache_size={self.L2_cache_size // mib}MB)"
        )
