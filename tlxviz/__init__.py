"""See inside a GPU kernel whose warp groups are programs of their own.

PYTEST_DONT_REWRITE: `tlxviz run -m pytest` imports it before pytest, and its plugin asserts nothing.
"""

from tlxviz._version import __version__ as __version__
from tlxviz.embedded.record import record as record
