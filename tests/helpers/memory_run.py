"""Computes the distances of a file in a process with limited memory.

python memory_run.py VARIANT FILE MEGABYTES: VARIANT is ``blocks``, ``whole``, ``wide`` (short
blocks, many columns) or ``wide at once`` (the same, but with the sums of all portions in memory).
The limit is added to the memory after imports and a small first run. Prints the digest of the
distances.
"""

from __future__ import annotations

import os
import resource
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

import loopylatent as ll
from loopylatent.compute.limits import MEMORY_VARIABLE
from loopylatent.distances import blocks as block_sums, strengths

BLOCK_ROWS = 10_000
SHORT_BLOCK_ROWS = 20


def by_blocks(path: Path) -> ll.DistanceMatrix:
    return ll.information_distances(ll.scan_table(path, block_rows=BLOCK_ROWS))


def wide(path: Path) -> ll.DistanceMatrix:
    strengths.BLOCKS_A_PORTION = 1
    return ll.information_distances(ll.scan_table(path, block_rows=SHORT_BLOCK_ROWS))


def wide_at_once(path: Path) -> ll.DistanceMatrix:
    block_sums._held = lambda _: 1_000
    block_sums._portions_together = lambda _: 8
    return wide(path)


def whole(path: Path) -> ll.DistanceMatrix:
    return ll.information_distances(ll.read_table(path, max_bytes=1 << 40))


def warm_up(variant) -> None:
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 2, size=(200, 1)) ^ (rng.random((200, 5)) < 0.2)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "small.parquet"
        pd.DataFrame(rows.astype(np.int8), columns=list("abcde")).to_parquet(path)
        variant(path)


def taken() -> int:
    """Bytes of private writable memory, as counted by RLIMIT_DATA."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmData:"))


def main() -> None:
    variants = {"blocks": by_blocks, "whole": whole, "wide": wide, "wide at once": wide_at_once}
    variant = variants[sys.argv[1]]
    warm_up(variant)
    limit = taken() + int(sys.argv[3]) * 2**20
    os.environ[MEMORY_VARIABLE] = sys.argv[3]
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    print(variant(Path(sys.argv[2])).digest)


if __name__ == "__main__":
    main()
