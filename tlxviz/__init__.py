"""See inside a GPU kernel whose warp groups are programs of their own."""

__version__ = "0.1.0"
