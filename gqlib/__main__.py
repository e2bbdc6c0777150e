"""``python -m gqlib`` is ``gq``."""

import sys

from gqlib.cli import main

if __name__ == "__main__":
    sys.exit(main())
