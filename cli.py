import sys

from tlxviz.commands import main

sys.exit(main())
