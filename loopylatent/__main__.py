"""``python -m loopylatent``."""

import sys

from loopylatent.cli import main

if __name__ == "__main__":
    sys.exit(main())
