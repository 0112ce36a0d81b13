"""What only some systems can show."""

import sys

import pytest

only_linux = pytest.mark.skipif(
    sys.platform != "linux", reason="only Linux counts private memory in RLIMIT_DATA"
)
