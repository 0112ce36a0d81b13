"""The memory of the exact curve follows its intervals, not the balls that they come from."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.platforms import only_linux

SCRIPT = Path(__file__).parents[1] / "helpers" / "curve_memory_run.py"
pytestmark = [pytest.mark.long, only_linux]


def run(columns, megabytes):
    command = [sys.executable, str(SCRIPT), str(columns), str(megabytes)]
    environment = {
        **os.environ,
        "PYTHONPATH": f"{SCRIPT.parents[2]}{os.pathsep}{SCRIPT.parents[1]}",
    }
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def test_the_curve_fits_where_the_intervals_of_all_balls_would_not():
    """One tree for each of 900 balls, without its earlier edges, has 26 MB of intervals."""
    enough, too_little = (run(columns=900, megabytes=megabytes) for megabytes in (30, 5))
    assert enough.returncode == 0, enough.stderr
    assert int(enough.stdout) > 10_000
    assert too_little.returncode != 0, "the limit holds"
    assert "MemoryError" in too_little.stderr, too_little.stderr
