"""Checks the options of a command and reads its input: rows or distances."""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pandas as pd

from loopylatent.cli.terminal import progress, say
from loopylatent.compute.files import check_place
from loopylatent.compute.limits import LIMITS, check_time, rerun
from loopylatent.distances.files import read_distances
from loopylatent.distances.matrix import DistanceMatrix, information_distances
from loopylatent.distances.sparse import Distances, SparseDistances, sparse_distances
from loopylatent.errors import DataError, quoted
from loopylatent.exporting.graph_files import format_of, unescaped
from loopylatent.exporting.project.file import SAMPLE
from loopylatent.tables.blocks.table import scan_table
from loopylatent.tables.files import SPARSE_ENDINGS, is_sparse_file, name_to_csv
from loopylatent.tables.kinds import Kind
from loopylatent.tables.observations import Observations, read_table
from loopylatent.tables.samples import load_sample
from loopylatent.tables.sparse import read_sparse


def unescape(options: argparse.Namespace) -> None:
    """Replace the backslash escapes in the options, in place."""
    for name in ("table", "weights", "test"):
        if getattr(options, name, None) is not None:
            setattr(options, name, unescaped(getattr(options, name)))
    for name in ("drop", "label", "kind"):
        setattr(options, name, [unescaped(text) for text in getattr(options, name)])
    if options.columns is not None:
        options.columns = Path(unescaped(str(options.columns)))


# Checks -----------------------------------------------------------------------------------------


def column_kind(text: str) -> tuple[str, Kind]:
    """Split ``COLUMN=KIND``; the column name may contain ``=``."""
    column, _, kind = text.rpartition("=")
    for known in get_args(Kind):
        if column and kind == known:
            return column, known
    raise DataError(f"--kind {text!r} is not COLUMN=KIND with one of {', '.join(get_args(Kind))}.")


def check_graph_file(path: Path | None) -> None:
    """Raise if a graph cannot be written to the file."""
    if path is not None:
        check_place(path)
        format_of(path, None)


def check_blocks(options: argparse.Namespace) -> None:
    """Raise if options do not fit together with --blocks or without."""
    is_set = {
        "--block-rows": options.block_rows is not None,
        "--checkpoint": options.checkpoint is not None,
        "--engine dask": options.engine != "threads",
        "--scheduler": options.scheduler is not None,
    }
    alone = next((name for name, value in is_set.items() if value), None)
    if alone is not None and not options.blocks:
        raise DataError(f"{alone} needs --blocks. Add it, or omit {alone}.")
    if options.blocks and options.table.startswith(SAMPLE):
        raise DataError("--blocks does not apply to bundled samples. Omit it.")
    if options.blocks and getattr(options, "regularize", None):
        raise DataError("--regularize needs all rows in memory. Omit --blocks.")


def _keeps_near_pairs(options: argparse.Namespace) -> bool:
    """Return whether the command uses only the near pairs of a sparse file."""
    return hasattr(options, "cutoff") and _is_sparse(options)


def _is_sparse(options: argparse.Namespace) -> bool:
    other = getattr(options, "from_distances", False) or getattr(options, "blocks", False)
    return is_sparse_file(options.table) and not other


def _check_sparse(options: argparse.Namespace) -> None:
    if not _is_sparse(options):
        for name in ("columns", "cutoff"):
            if getattr(options, name, None) is not None:
                endings = ", ".join(SPARSE_ENDINGS)
                raise DataError(f"--{name} needs a sparse file ({endings}). Omit it.")
    if not _keeps_near_pairs(options):
        return
    for name in ("regularize", "report"):
        if getattr(options, name, None) is not None:
            raise DataError(
                f"--{name} needs all distances, but for a sparse file only near pairs are computed."
            )
    is_packed = options.output is not None and options.output.suffix.lower() == ".npz"
    if is_packed and not hasattr(options, "format"):  # pairs are written, not a graph
        raise DataError("Near pairs can only be written as .csv.")
    if options.metric not in ("auto", "correlation"):
        raise DataError(
            f"--metric {options.metric} is not available for sparse files, only correlation. "
            "Omit it."
        )


# Reading -----------------------------------------------------------------------------------


def read_observations(options: argparse.Namespace) -> Observations:
    """Read the table: a bundled sample, a sparse matrix or a file."""
    kinds = dict(map(column_kind, options.kind))
    _check_sparse(options)
    if options.table.startswith(SAMPLE):
        if options.drop or options.label or kinds or options.weights:
            raise DataError("--drop, --label, --kind and --weights do not apply to bundled "
                            "samples. Omit them.")  # fmt: skip
        return load_sample(options.table.removeprefix(SAMPLE)).observations
    how: dict[str, Any] = {
        "drop": options.drop,
        "labels": options.label,
        "kinds": kinds,
        "weights": options.weights,
        "on_degenerate": options.on_degenerate,
    }
    if is_sparse_file(options.table):
        return read_sparse(options.table, options.columns, **how)
    return read_table(options.table, **how)


def distances_and_rows(options: argparse.Namespace) -> tuple[Distances, Observations | None]:
    """Return the distances, and the rows behind them if they are in memory."""
    _check_sparse(options)
    if getattr(options, "from_distances", False):
        return read_distances(options.table, options.n_samples), None
    if getattr(options, "blocks", False):
        return _distances_in_blocks(options), None
    obs = read_observations(options)
    if _keeps_near_pairs(options):
        return _near_distances(options, obs), obs
    return estimated_distances(options, obs), obs


def all_distances(options: argparse.Namespace) -> tuple[DistanceMatrix, Observations | None]:
    """Return the distances for a command that always uses all pairs."""
    D, obs = distances_and_rows(options)
    assert isinstance(D, DistanceMatrix)
    return D, obs


ANNOUNCED = 5.0
"""Estimates above this many seconds are printed."""


def estimated_distances(
    options: argparse.Namespace, obs: Observations, fit: bool = False
) -> DistanceMatrix:
    """Estimate the distances of a table in memory, and report what was read and dropped."""
    say(f"read {quoted(options.table)}: {obs!r}")
    for dropped in obs.dropped:
        say(f"not a variable: {quoted(dropped.name)} ({dropped.reason})")
    times = getattr(options, "resamples", None) or getattr(options, "most", None) or 1
    work = rerun(obs.n_rows, obs.n_columns, times, fit=fit or getattr(options, "score", False))
    check_time(work, times, "graphs", LIMITS)
    if work.seconds > ANNOUNCED:
        say(f"this takes {work.words}")
    D = information_distances(obs, options.metric, on_degenerate=options.on_degenerate)
    return _summed_up(D)


def _summed_up(D: DistanceMatrix) -> DistanceMatrix:
    floor = "unknown" if D.noise_floor is None else f"{D.noise_floor:.4f}"
    say(f"distances by {D.metric}: r_min {D.r_min:.4f}, r_max {D.r_max:.4f}, noise floor {floor}")
    return D


def _near_distances(options: argparse.Namespace, obs: Observations) -> SparseDistances:
    say(f"read {quoted(options.table)}: {obs!r}")
    for reason, count in Counter(one.reason for one in obs.dropped).items():
        say(f"not variables: {_columns(count)} ({reason})")
    how, shown = options.on_degenerate, progress("distances")
    D = sparse_distances(obs, options.cutoff, on_degenerate=how, progress=shown)
    copies = obs.n_columns - D.n_columns
    if copies:
        say(f"dropped {_columns(copies)}: equal to another")
    say(
        f"distances by {D.metric}: {D.n_pairs:,} pairs within {D.cutoff:.4f}, "
        f"{_columns(D.n_alone)} without neighbour, noise floor {D.noise_floor:.4f}"
    )
    return D


def _columns(count: int) -> str:
    return f"{count:,} {'column' if count == 1 else 'columns'}"


def _distances_in_blocks(options: argparse.Namespace) -> DistanceMatrix:
    scanned = None if options.checkpoint is None else Path(f"{options.checkpoint}.scan")
    where: dict[str, Any] = {
        "on_degenerate": options.on_degenerate,
        "engine": options.engine,
        "scheduler": options.scheduler,
    }
    table = scan_table(
        options.table,
        drop=[*options.drop, *options.label],
        kinds=dict(map(column_kind, options.kind)),
        weights=options.weights,
        block_rows=options.block_rows,
        progress=progress("scanning"),
        checkpoint=scanned,
        **where,
    )
    say(f"scanned {quoted(options.table)}: {table!r}")
    for dropped in table.dropped:
        say(f"not a variable: {quoted(dropped.name)} ({dropped.reason})")
    summing = progress("summing")
    D = information_distances(
        table, options.metric, progress=summing, checkpoint=options.checkpoint, **where
    )
    if scanned is not None:
        scanned.unlink(missing_ok=True)
    return _summed_up(D)


def distances_as_csv(D: Distances) -> str:
    """Return the matrix, or the near pairs with one per line, as CSV."""
    names = np.array([name_to_csv(name) for name in D.names], dtype=object)
    if isinstance(D, DistanceMatrix):
        frame = pd.DataFrame(D.values, index=names, columns=names)
        return str(frame.to_csv(index_label="column"))
    left = np.repeat(np.arange(D.n_columns), np.diff(D.start))
    once = left < D.other
    pairs = {
        "column_1": names[left[once]],
        "column_2": names[D.other[once]],
        "distance": D.length[once],
    }
    return str(pd.DataFrame(pairs).to_csv(index=False))
