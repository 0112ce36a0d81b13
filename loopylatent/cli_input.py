"""What the options of a command name, read: rows, kinds of columns, distances."""

from __future__ import annotations

import argparse
from typing import get_args

from loopylatent.cli_blocks import distances_in_blocks
from loopylatent.cli_output import say, show_progress
from loopylatent.cli_sparse import (
    check_sparse,
    keeps_near_pairs,
    near_distances,
    sparse_rows,
    unescape_columns,
)
from loopylatent.data import Kind, Observations, read_table
from loopylatent.distances import DistanceMatrix, information_distances
from loopylatent.errors import DataError, quoted
from loopylatent.limits import LIMITS, check_time, rerun
from loopylatent.recipe import read_distances, unescaped
from loopylatent.samples import load_sample
from loopylatent.sparse_distances import Distances
from loopylatent.sparse_files import is_sparse_file

WORTH_SAYING = 5.0
"""Seconds from which the time that something takes is said beforehand."""


def distances_and_rows(
    options: argparse.Namespace,
) -> tuple[Distances, Observations | None]:
    """Return the distances to learn from, and the rows behind them where they are in memory."""
    check_sparse(options)
    if options.from_distances:
        return read_distances(options.table, options.n_samples), None
    if getattr(options, "blocks", False):
        return estimated_in_blocks(options), None
    obs = read_observations(options)
    if keeps_near_pairs(options):
        return near_distances(options, obs, say, show_progress), obs
    return estimated_distances(options, obs), obs


def estimated_in_blocks(options: argparse.Namespace) -> DistanceMatrix:
    """Estimate the distances of a table that is read in blocks, and say what they are like."""
    kinds = dict(column_kind(text) for text in options.kind)
    D = distances_in_blocks(options, kinds, say, show_progress)
    say(_distance_summary(D))
    return D


def estimated_distances(options: argparse.Namespace, obs: Observations) -> DistanceMatrix:
    """Estimate the distances of a table in memory, and say what was read and left out."""
    say(f"read {quoted(options.table)}: {obs!r}")
    for dropped in obs.dropped:
        say(f"left out {quoted(dropped.name)}: {dropped.reason}")
    _say_time(options, obs)
    D = information_distances(
        obs, options.metric, on_degenerate="drop" if options.drop_degenerate else "error"
    )
    say(_distance_summary(D))
    return D


def _say_time(options: argparse.Namespace, obs: Observations) -> None:
    """Say how long it takes where that is worth knowing; refuse what would take days."""
    times = getattr(options, "resamples", None) or getattr(options, "most", None) or 1
    work = rerun(obs.n_rows, obs.n_columns, times, fit=getattr(options, "score", False))
    check_time(work, times, "graphs", LIMITS)
    if work.seconds > WORTH_SAYING:
        say(f"this takes {work.words}")


def _distance_summary(D: DistanceMatrix) -> str:
    floor = "unknown" if D.noise_floor is None else f"{D.noise_floor:.4f}"
    return f"distances by {D.metric}: r_min {D.r_min:.4f}, r_max {D.r_max:.4f}, noise floor {floor}"


def read_observations(options: argparse.Namespace) -> Observations:
    """Read the table: a bundled sample, a sparse matrix or a file of rows."""
    kinds = dict(column_kind(text) for text in options.kind)
    check_sparse(options)
    if options.table.startswith("sample:"):
        if options.drop or options.label or kinds or options.weights:
            raise DataError("a bundled sample comes as it is; --drop, --label, --kind and "
                            "--weights are for tables of your own.")  # fmt: skip
        return load_sample(options.table.removeprefix("sample:")).observations
    if is_sparse_file(options.table):
        return sparse_rows(options, kinds)
    return read_table(
        options.table,
        drop=options.drop,
        labels=options.label,
        kinds=kinds,
        weights=options.weights,
        on_degenerate="drop" if options.drop_degenerate else "error",
    )


def column_kind(text: str) -> tuple[str, Kind]:
    """Return what ``COLUMN=KIND`` says; the name of a column may hold ``=`` too."""
    column, _, kind = text.rpartition("=")
    for known in get_args(Kind):
        if column and kind == known:
            return column, known
    raise DataError(f"--kind {text!r} is not COLUMN=KIND with one of {', '.join(get_args(Kind))}.")


def unescape(options: argparse.Namespace) -> None:
    """Replace the backslash escapes in names, in place."""
    options.table = unescaped(options.table)
    unescape_columns(options)
    for name in ("weights", "test"):
        if getattr(options, name, None) is not None:
            setattr(options, name, unescaped(getattr(options, name)))
    for name in ("drop", "label", "kind"):
        setattr(options, name, [unescaped(text) for text in getattr(options, name)])
