"""Tables that do not fit into the memory of a process are read in blocks all the same."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.platforms import only_linux

import loopylatent as ll

pytestmark = only_linux
SCRIPT = Path(__file__).parents[1] / "helpers" / "memory_run.py"
COLUMNS = [f"c{k}" for k in range(100)]
GROUP = 100_000


def write_rows(path, n_rows, form):
    """Write a table by row groups: a hidden variable behind all columns."""
    rng = np.random.default_rng(0)
    writer = None
    for start in range(0, n_rows, GROUP):
        rows = min(GROUP, n_rows - start)
        values = rng.normal(size=(rows, 1)) + rng.normal(size=(rows, len(COLUMNS)))
        if form == "yes or no":
            values = (values > 0).astype(np.int8)
        table = pa.table({name: values[:, k] for k, name in enumerate(COLUMNS)})
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    writer.close()


def run(way, path, megabytes):
    command = [sys.executable, str(SCRIPT), way, str(path), str(megabytes)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.long
def test_blocks_fit_where_the_table_does_not(tmp_path):
    path = tmp_path / "t.parquet"
    write_rows(path, 250_000, "yes or no")  # 200 MB of doubles
    blocks, whole = run("blocks", path, 100), run("whole", path, 100)
    assert blocks.returncode == 0, blocks.stderr
    assert whole.returncode != 0
    assert "MemoryError" in whole.stderr
    expected = ll.information_distances(ll.read_table(path))
    assert blocks.stdout.strip() == expected.digest


@pytest.mark.long
def test_sums_of_many_columns_with_gaps_do_not_pile_up(tmp_path, monkeypatch):
    monkeypatch.setattr("loopylatent.compute.limits.BLOCKS_A_PORTION", 1)
    path = tmp_path / "t.parquet"
    rng = np.random.default_rng(0)
    values = rng.normal(size=(280, 1)) + rng.normal(size=(280, 900))
    values[rng.random(values.shape) < 0.05] = np.nan
    table = pa.table({f"c{k}": values[:, k] for k in range(900)})
    pq.write_table(table, path)  # fourteen portions in one row group, 26 MB of sums each
    bounded, at_once = run("wide", path, 260), run("wide at once", path, 260)
    assert bounded.returncode == 0, bounded.stderr
    assert at_once.returncode != 0
    assert "MemoryError" in at_once.stderr
    expected = ll.information_distances(ll.scan_table(path, block_rows=20))
    assert bounded.stdout.strip() == expected.digest


@pytest.mark.long
@pytest.mark.parametrize("form", ["yes or no", "real"])
def test_ten_million_rows_fit_into_a_quarter_of_a_gigabyte(tmp_path, form):
    path = tmp_path / "t.parquet"
    write_rows(path, 10_000_000, form)  # 8 GB of doubles
    blocks, whole = run("blocks", path, 256), run("whole", path, 256)
    path.unlink()
    assert blocks.returncode == 0, blocks.stderr
    assert len(blocks.stdout.strip()) == 16
    assert whole.returncode != 0
    assert "MemoryError" in whole.stderr
