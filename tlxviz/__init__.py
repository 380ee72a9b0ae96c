"""See inside a GPU kernel whose warp groups are programs of their own."""

from tlxviz._version import __version__ as __version__
from tlxviz.embedded.record import record as record
