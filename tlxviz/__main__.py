"""`python -m tlxviz`."""

import sys

from tlxviz.commands import main

if __name__ == "__main__":
    sys.exit(main())
