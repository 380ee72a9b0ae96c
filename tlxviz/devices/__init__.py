"""GPUs as the simulator knows them: one data file each, every figure with its source."""

from tlxviz.devices.file import DeviceFileError, device_from_manifest, known_devices, load_device, read_device
from tlxviz.devices.model import Device

__all__ = ["Device", "DeviceFileError", "device_from_manifest", "known_devices", "load_device", "read_device"]
