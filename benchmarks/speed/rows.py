"""Many rows: distances of a file read in blocks, compared with reading the whole file.

python -m benchmarks.speed.rows 10000000 [FOLDER] runs ten million rows, in blocks only.
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
FORMS = ("binary", "continuous")


@dataclass(frozen=True, slots=True)
class Measured:
    """Time, memory and result of one variant."""

    seconds: float
    megabytes: float
    """Peak of the process, including Python and its libraries."""
    at_first: float
    """The same after a small first run."""
    digest: str


def write_rows(path: Path, n_rows: int, form: str) -> None:
    """Write a table in row groups; all columns depend on one hidden variable."""
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


VARIANTS = {"in blocks": in_blocks, "whole file, pandas": whole}


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def run_here(variant: str, path: Path) -> None:
    """Measure one variant in this process and print the result."""
    with tempfile.TemporaryDirectory() as folder:
        small = Path(folder) / "small.parquet"
        write_rows(small, 1000, FORMS[0])
        VARIANTS[variant](small)
    before, start = peak(), time.perf_counter()
    D = VARIANTS[variant](path)
    seconds = time.perf_counter() - start
    found = {"seconds": seconds, "megabytes": peak(), "at_first": before}
    print(json.dumps({**found, "digest": D.digest}))


def measure(variant: str, path: Path) -> Measured:
    """Measure one variant in a separate process."""
    command = [sys.executable, "-m", "benchmarks.speed.rows", "run", variant, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return Measured(**json.loads(done.stdout))


def compare(n_rows: int, variants: tuple[str, ...], folder: Path | None = None) -> str:
    """Compare the variants on binary and continuous columns."""
    rows = []
    for form in FORMS:
        with tempfile.TemporaryDirectory(dir=folder) as place:
            path = Path(place) / "rows.parquet"
            write_rows(path, n_rows, form)
            size = path.stat().st_size / 2**20
            taken = {variant: measure(variant, path) for variant in variants}
        first = taken[variants[0]]
        same = len({one.digest for one in taken.values()}) == 1
        for variant, one in taken.items():
            ratio = f"{one.megabytes / first.megabytes:.1f}"
            memory = (f"{one.at_first:,.0f}", f"{one.megabytes:,.0f}", ratio)
            numbers = (f"{size:,.0f}", f"{one.seconds:.1f}", *memory)
            equal = "same distances" if same else "**distances differ**"
            rows.append([f"{form}, {variant}", *numbers, equal if len(variants) > 1 else ""])
    memory_head = ("initial memory, MB", "peak memory, MB", "ratio")
    head = ("columns, variant", "file, MB", "seconds", *memory_head, "result")
    return f"{n_rows:,} rows, {N_COLUMNS} columns, {8 * n_rows * N_COLUMNS / 2**30:.1f} GB as " + (
        "doubles.\n\n" + markdown_table(head, rows)
    )


def report() -> str:
    return "## Many rows\n\n" + compare(N_ROWS, tuple(VARIANTS))


if __name__ == "__main__":
    if sys.argv[1:2] == ["run"]:
        run_here(sys.argv[2], Path(sys.argv[3]))
    elif sys.argv[1:]:
        at = Path(sys.argv[2]) if sys.argv[2:] else None
        print(compare(int(sys.argv[1]), ("in blocks",), at))
    else:
        print(report())
