"""Very many columns are learned from in memory that all of their distances would not fit into."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.platforms import only_linux

pytestmark = only_linux
SCRIPT = Path(__file__).parents[1] / "helpers" / "sparse_memory_run.py"
ROOT = SCRIPT.parents[2]
PLENTY = {"LOOPYLATENT_MEMORY_MB": str(10**6)}
"""The estimate of memory does not stop what the limit of the process is to stop."""


def run(way, rows, columns, megabytes):
    command = [sys.executable, str(SCRIPT), way, str(rows), str(columns), str(megabytes)]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'tests'}", **PLENTY}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def check(rows, columns, megabytes):
    assert 8 * columns**2 > megabytes * 2**20
    near, whole = (run(way, rows, columns, megabytes) for way in ("near", "all"))
    assert near.returncode == 0, near.stderr
    observed, hidden = map(int, near.stdout.split())
    assert observed > 0.9 * columns
    assert hidden > 0
    assert whole.returncode != 0
    assert "MemoryError" in whole.stderr, whole.stderr


@pytest.mark.long
def test_near_pairs_fit_where_all_distances_do_not():
    check(rows=8_000, columns=6_000, megabytes=100)  # all distances: 288 MB


@pytest.mark.long
def test_twenty_thousand_columns_fit_into_half_a_gigabyte():
    check(rows=40_000, columns=20_000, megabytes=512)  # all distances: 3.2 GB
