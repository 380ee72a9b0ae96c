"""From a call of a Triton kernel to a `Launch`."""
