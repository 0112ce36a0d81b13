"""``python -m loopylatent``."""

from __future__ import annotations

import sys

from loopylatent.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
