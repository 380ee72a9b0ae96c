"""Tensors "on cuda" in CPU memory: a mode that sees every torch function, and what it answers."""
