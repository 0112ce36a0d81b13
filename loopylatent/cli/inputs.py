"""What the options of a command name, checked and read: rows, kinds of columns, distances."""

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
    """Replace the backslash escapes in names, in place."""
    for name in ("table", "weights", "test"):
        if getattr(options, name, None) is not None:
            setattr(options, name, unescaped(getattr(options, name)))
    for name in ("drop", "label", "kind"):
        setattr(options, name, [unescaped(text) for text in getattr(options, name)])
    if options.columns is not None:
        options.columns = Path(unescaped(str(options.columns)))


# Checks before anything is read ------------------------------------------------------------


def column_kind(text: str) -> tuple[str, Kind]:
    """Return what ``COLUMN=KIND`` says; the name of a column may hold ``=`` too."""
    column, _, kind = text.rpartition("=")
    for known in get_args(Kind):
        if column and kind == known:
            return column, known
    raise DataError(f"--kind {text!r} is not COLUMN=KIND with one of {', '.join(get_args(Kind))}.")


def check_graph_file(path: Path | None) -> None:
    """Refuse a file that no graph can be written to."""
    if path is not None:
        check_place(path)
        format_of(path, None)


def check_blocks(options: argparse.Namespace) -> None:
    """Refuse options that do not go together with blocks, or without."""
    given = {
        "--block-rows": options.block_rows is not None,
        "--checkpoint": options.checkpoint is not None,
        "--engine dask": options.engine != "threads",
        "--scheduler": options.scheduler is not None,
    }
    alone = next((name for name, is_given in given.items() if is_given), None)
    if alone is not None and not options.blocks:
        raise DataError(f"{alone} is for tables that are read in blocks; add --blocks.")
    if options.blocks and options.table.startswith(SAMPLE):
        raise DataError("a bundled sample is small; leave out --blocks.")
    if options.blocks and getattr(options, "regularize", None):
        raise DataError("--regularize needs all rows in memory; leave out --blocks.")


def _keeps_near_pairs(options: argparse.Namespace) -> bool:
    """Return whether this command works with the near pairs of a sparse file alone."""
    return hasattr(options, "cutoff") and _is_sparse(options)


def _is_sparse(options: argparse.Namespace) -> bool:
    other = getattr(options, "from_distances", False) or getattr(options, "blocks", False)
    return is_sparse_file(options.table) and not other


def _check_sparse(options: argparse.Namespace) -> None:
    if not _is_sparse(options):
        for name in ("columns", "cutoff"):
            if getattr(options, name, None) is not None:
                endings = ", ".join(SPARSE_ENDINGS)
                raise DataError(f"--{name} is for sparse files ({endings}); leave it out.")
    if not _keeps_near_pairs(options):
        return
    for name in ("regularize", "report"):
        if getattr(options, name, None) is not None:
            raise DataError(f"--{name} needs all distances; a sparse file gives near pairs alone.")
    is_packed = options.output is not None and options.output.suffix.lower() == ".npz"
    if is_packed and not hasattr(options, "format"):  # pairs are written, not a graph
        raise DataError("near pairs are written as text; give a .csv file.")
    if options.metric not in ("auto", "correlation"):
        raise DataError(
            f"--metric {options.metric} is not for sparse files, whose columns are compared by "
            "correlation; leave it out."
        )


# Reading -----------------------------------------------------------------------------------


def read_observations(options: argparse.Namespace) -> Observations:
    """Read the table: a bundled sample, a sparse matrix or a file of rows."""
    kinds = dict(map(column_kind, options.kind))
    _check_sparse(options)
    if options.table.startswith(SAMPLE):
        if options.drop or options.label or kinds or options.weights:
            raise DataError("a bundled sample comes as it is; --drop, --label, --kind and "
                            "--weights are for tables of your own.")  # fmt: skip
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
    """Return the distances to learn from, and the rows behind them where they are in memory."""
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
    """Return the distances of a command that has no other ones than those of all pairs."""
    D, obs = distances_and_rows(options)
    assert isinstance(D, DistanceMatrix)
    return D, obs


WORTH_SAYING = 5.0
"""Seconds from which the time that something takes is said beforehand."""


def estimated_distances(
    options: argparse.Namespace, obs: Observations, fit: bool = False
) -> DistanceMatrix:
    """Estimate the distances of a table in memory, and say what was read and left out."""
    say(f"read {quoted(options.table)}: {obs!r}")
    for dropped in obs.dropped:
        say(f"left out {quoted(dropped.name)}: {dropped.reason}")
    times = getattr(options, "resamples", None) or getattr(options, "most", None) or 1
    work = rerun(obs.n_rows, obs.n_columns, times, fit=fit or getattr(options, "score", False))
    check_time(work, times, "graphs", LIMITS)
    if work.seconds > WORTH_SAYING:
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
        say(f"left out {_columns(count)}: {reason}")
    how, shown = options.on_degenerate, progress("distances")
    D = sparse_distances(obs, options.cutoff, on_degenerate=how, progress=shown)
    copies = obs.n_columns - D.n_columns
    if copies:
        say(f"left out {_columns(copies)}: equal to another")
    say(
        f"distances by {D.metric}: {D.n_pairs:,} pairs up to {D.cutoff:.4f}, "
        f"{_columns(D.n_alone)} without any, noise floor {D.noise_floor:.4f}"
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
        say(f"left out {dropped.name!r}: {dropped.reason}")
    summing = progress("summing")
    D = information_distances(
        table, options.metric, progress=summing, checkpoint=options.checkpoint, **where
    )
    if scanned is not None:
        scanned.unlink(missing_ok=True)
    return _summed_up(D)


def distances_as_csv(D: Distances) -> str:
    """Write the matrix, or the near pairs, one on each line."""
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
