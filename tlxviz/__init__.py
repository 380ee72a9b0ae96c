"""See inside a GPU kernel whose warp groups are programs of their own.

PYTEST_DONT_REWRITE: it is imported before pytest where `tlxviz run -m pytest` runs a suite, and its plugin asserts nothing.
"""

from tlxviz._version import __version__ as __version__
from tlxviz.embedded.record import record as record
