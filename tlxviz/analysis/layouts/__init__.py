"""Which layouts a kernel's buffers and tensors have, why, and what they cost."""
