"""Finds synchronization faults of kernels: rules and explorers over the Program and over what the simulator does."""
