"""Options of the command line for tables larger than memory, and for a cluster."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from loopylatent.block_scan import scan_table
from loopylatent.cluster import ENGINES
from loopylatent.distances import DistanceMatrix, information_distances
from loopylatent.errors import DataError, quoted
from loopylatent.kinds import Kind
from loopylatent.pool import Progress

BLOCKS_HELP = (
    "TABLE is larger than memory: a Parquet or CSV file, or a folder of such files, read in blocks"
)
BLOCK_ROWS_HELP = "rows of a block (default: as many as have four million cells)"
CHECKPOINT_HELP = "keeps what is done so far; the same command goes on from there after a stop"
ENGINE_HELP = "where the work is done: threads of this machine (default) or a Dask cluster"
SCHEDULER_HELP = (
    "with --engine dask: the scheduler, as tcp://10.0.0.5:8786; without it processes are started "
    "on this machine"
)


def add_blocks(command: argparse.ArgumentParser) -> None:
    """Add the options for a table that is read in blocks."""
    group = command.add_argument_group("tables larger than memory")
    group.add_argument("--blocks", action="store_true", help=BLOCKS_HELP)
    group.add_argument("--block-rows", type=int, metavar="N", help=BLOCK_ROWS_HELP)
    group.add_argument("--checkpoint", type=Path, metavar="FILE", help=CHECKPOINT_HELP)
    add_engine(group)


def add_engine(command: argparse._ActionsContainer) -> None:
    """Add the options that say where work is done."""
    command.add_argument("--engine", choices=ENGINES, default="threads", help=ENGINE_HELP)
    command.add_argument("--scheduler", metavar="ADDRESS", help=SCHEDULER_HELP)


def check_blocks(options: argparse.Namespace) -> None:
    """Refuse options that do not go together, before anything is read."""
    given = {
        "--block-rows": options.block_rows is not None,
        "--checkpoint": options.checkpoint is not None,
        "--engine dask": options.engine != "threads",
        "--scheduler": options.scheduler is not None,
    }
    alone = next((name for name, is_given in given.items() if is_given), None)
    if alone is not None and not options.blocks:
        raise DataError(f"{alone} is for tables that are read in blocks; add --blocks.")
    if options.blocks and options.table.startswith("sample:"):
        raise DataError("a bundled sample is small; leave out --blocks.")
    needs_rows = getattr(options, "regularize", None)
    if options.blocks and needs_rows:
        raise DataError("--regularize needs all rows in memory; leave out --blocks.")


def distances_in_blocks(
    options: argparse.Namespace,
    kinds: Mapping[str, Kind],
    say: Callable[[str], None],
    progress: Callable[..., None],
) -> DistanceMatrix:
    """Scan the table and sum over its rows, block by block."""
    scanned = None if options.checkpoint is None else Path(f"{options.checkpoint}.scan")
    table = scan_table(
        options.table,
        drop=[*options.drop, *options.label],
        kinds=kinds,
        weights=options.weights,
        block_rows=options.block_rows,
        on_degenerate="drop" if options.drop_degenerate else "error",
        progress=_shown(progress, "scanning"),
        checkpoint=scanned,
        engine=options.engine,
        scheduler=options.scheduler,
    )
    say(f"scanned {quoted(options.table)}: {table!r}")
    for dropped in table.dropped:
        say(f"left out {dropped.name!r}: {dropped.reason}")
    D = information_distances(
        table,
        options.metric,
        on_degenerate="drop" if options.drop_degenerate else "error",
        progress=_shown(progress, "summing"),
        checkpoint=options.checkpoint,
        engine=options.engine,
        scheduler=options.scheduler,
    )
    if scanned is not None:
        scanned.unlink(missing_ok=True)
    return D


def _shown(progress: Callable[..., None], what: str) -> Progress | None:
    return partial(progress, what=what) if sys.stderr.isatty() else None
