"""Many rows: distances of a file that is read in blocks, beside the same file read whole.

python -m benchmarks.speed.rows 10000000 [FOLDER] does it for ten million rows, in blocks only.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

import loopylatent as ll
from benchmarks import markdown_table

N_ROWS = 1_000_000
N_COLUMNS = 100
ROW_GROUP = 100_000
FORMS = ("yes or no", "real numbers")


@dataclass(frozen=True, slots=True)
class Measured:
    """What one way took."""

    seconds: float
    megabytes: float
    """At the peak of the whole process, Python and its libraries included."""
    at_first: float
    """The same after a first small run."""
    digest: str


def write_rows(path: Path, n_rows: int, form: str) -> None:
    """Write a table by row groups: one hidden variable behind all columns."""
    rng = np.random.default_rng(0)
    names = [f"c{k}" for k in range(N_COLUMNS)]
    writer = None
    for start in range(0, n_rows, ROW_GROUP):
        rows = min(ROW_GROUP, n_rows - start)
        values = rng.normal(size=(rows, 1)) + rng.normal(size=(rows, N_COLUMNS))
        if form == FORMS[0]:
            values = (values > 0).astype(np.int8)
        table = pa.table({name: values[:, k] for k, name in enumerate(names)})
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    if writer is not None:
        writer.close()


def in_blocks(path: Path) -> ll.DistanceMatrix:
    return ll.information_distances(ll.scan_table(path))


def whole(path: Path) -> ll.DistanceMatrix:
    return ll.information_distances(pd.read_parquet(path))


WAYS = {"in blocks": in_blocks, "whole, with pandas": whole}


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def run_here(way: str, path: Path) -> None:
    """Measure one way in this process, and print what it took."""
    with tempfile.TemporaryDirectory() as folder:
        small = Path(folder) / "small.parquet"
        write_rows(small, 1000, FORMS[0])
        WAYS[way](small)
    before, began = peak(), time.perf_counter()
    D = WAYS[way](path)
    seconds = time.perf_counter() - began
    found = {"seconds": seconds, "megabytes": peak(), "at_first": before}
    print(json.dumps({**found, "digest": D.digest}))


def measure(way: str, path: Path) -> Measured:
    """Measure one way in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.speed.rows", "run", way, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return Measured(**json.loads(done.stdout))


def compare(n_rows: int, ways: tuple[str, ...], folder: Path | None = None) -> str:
    """Return a table of what each way takes on each form of data."""
    rows = []
    for form in FORMS:
        with tempfile.TemporaryDirectory(dir=folder) as place:
            path = Path(place) / "rows.parquet"
            write_rows(path, n_rows, form)
            size = path.stat().st_size / 2**20
            taken = {way: measure(way, path) for way in ways}
        first = taken[ways[0]]
        same = len({one.digest for one in taken.values()}) == 1
        for way, one in taken.items():
            ratio = f"{one.megabytes / first.megabytes:.1f}"
            memory = (f"{one.at_first:,.0f}", f"{one.megabytes:,.0f}", ratio)
            numbers = (f"{size:,.0f}", f"{one.seconds:.1f}", *memory)
            equal = "the same distances" if same else "**other distances**"
            rows.append([f"{form}, {way}", *numbers, equal if len(ways) > 1 else ""])
    memory_head = ("memory at first, MB", "memory at the peak, MB", "times the first")
    head = ("table and way", "file, MB", "seconds", *memory_head, "result")
    return f"{n_rows:,} rows, {N_COLUMNS} columns, {8 * n_rows * N_COLUMNS / 2**30:.1f} GB as " + (
        "doubles.\n\n" + markdown_table(head, rows)
    )


def report() -> str:
    return "## Many rows\n\n" + compare(N_ROWS, tuple(WAYS))


if __name__ == "__main__":
    if sys.argv[1:2] == ["run"]:
        run_here(sys.argv[2], Path(sys.argv[3]))
    elif sys.argv[1:]:
        at = Path(sys.argv[2]) if sys.argv[2:] else None
        print(compare(int(sys.argv[1]), ("in blocks",), at))
    else:
        print(report())
