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


def run(way, columns, megabytes):
    command = [sys.executable, str(SCRIPT), way, str(columns), str(megabytes)]
    environment = {
        **os.environ,
        "PYTHONPATH": f"{SCRIPT.parents[2]}{os.pathsep}{SCRIPT.parents[1]}",
    }
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def test_the_curve_fits_where_the_intervals_of_all_balls_do_not():
    followed, held = (run(way, columns=900, megabytes=30) for way in ("united", "raw"))
    assert followed.returncode == 0, followed.stderr
    assert int(followed.stdout) > 10_000
    assert held.returncode != 0
    assert "MemoryError" in held.stderr, held.stderr
