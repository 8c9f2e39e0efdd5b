"""``python -m icmodel`` is the command ``icmodel``."""

import sys

from icmodel.cli import main

if __name__ == "__main__":
    sys.exit(main())
