"""The options that several commands share: the table, its columns, the thresholds, the learner.

What the options of a command name, read: rows, kinds of columns, distances.

Options of the command line for sparse files, and the near pairs of their columns.

Options of the command line for tables larger than memory, and for a cluster.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import get_args

import numpy as np
import pandas as pd

from loopylatent.cli.terminal import say, show_progress
from loopylatent.compute.arrays import Progress
from loopylatent.compute.cluster import ENGINES
from loopylatent.compute.limits import LIMITS, check_time, rerun
from loopylatent.distances.files import read_distances
from loopylatent.distances.matrix import METRICS, DistanceMatrix, information_distances
from loopylatent.distances.sparse import Distances, SparseDistances, sparse_distances
from loopylatent.errors import DataError, quoted
from loopylatent.exporting.project.recipe import unescaped
from loopylatent.settings import Method, Order
from loopylatent.tables.blocks.scan import scan_table
from loopylatent.tables.kinds import Kind
from loopylatent.tables.observations import Observations, read_table
from loopylatent.tables.samples import load_sample
from loopylatent.tables.sparse import ENDINGS, is_sparse_file, read_sparse
from loopylatent.tables.spreadsheet import name_to_csv

TABLE_HELP = (
    "a CSV, TSV (also gzipped), Parquet or Excel file with one row an observation, a sparse matrix "
    "(.mtx, .mtx.gz, .npz), or sample:NAME for a bundled one"
)
DROP_HELP = "leave this column out; once for each column"
LABEL_HELP = "this column describes rows and is not learned; once for each column"
R_HELP = "radius of the balls; smaller gives more cycles (default: r_max, which gives a tree)"
METRIC_HELP = "how distances are measured (default: auto, by the kinds of the columns)"
METHOD_HELP = (
    "how hidden nodes are found: quartet tests (default), relaxed grouping (--Lambda and --tau "
    "play no part) or nj, neighbor joining (--Lambda plays no part)"
)
SEED_HELP = "for the random order and for --method relaxed (default: 0)"
REGULARIZE_HELP = "add hidden nodes only where this criterion pays for them; needs the rows"
MAX_HIDDEN_HELP = "with --regularize: never more hidden nodes than this"
FROM_DISTANCES_HELP = "TABLE is a square matrix of distances whose header names the columns"
N_SAMPLES_HELP = "rows behind given distances; sets the default margin"
ESCAPED_HELP = "names of columns and of TABLE hold backslash escapes, as in two\\nlines"
ORDER_HELP = "order of the visits (default: degree)"


def add_learn_options(command: argparse.ArgumentParser) -> None:
    """Add the options of a command that learns a graph from a table or from distances."""
    add_table(command)
    command.add_argument("--from-distances", action="store_true", help=FROM_DISTANCES_HELP)
    command.add_argument("--n-samples", type=int, metavar="N", help=N_SAMPLES_HELP)
    add_learner(command)


def add_learner(command: argparse.ArgumentParser) -> None:
    """Add the options that say how a graph is learned."""
    add_thresholds(command)
    command.add_argument("--order", choices=get_args(Order), default="degree", help=ORDER_HELP)
    command.add_argument("--seed", type=int, default=0, help=SEED_HELP)
    command.add_argument("--regularize", choices=("bic",), help=REGULARIZE_HELP)
    command.add_argument("--max-hidden", type=int, metavar="N", help=MAX_HIDDEN_HELP)


def add_thresholds(command: argparse.ArgumentParser) -> None:
    """Add the three thresholds and the method that reads them."""
    command.add_argument("--r", type=float, help=R_HELP)
    command.add_argument(
        "--Lambda", type=float, help="margin of the quartet test, 0 to below 1; larger is surer"
    )
    command.add_argument(
        "--tau", type=float, help="hidden nodes nearer than this to a neighbour are merged with it"
    )
    command.add_argument("--method", choices=get_args(Method), default="quartet", help=METHOD_HELP)


def add_stability_options(command: argparse.ArgumentParser) -> None:
    """Add the options of a command that learns again and again."""
    add_table(command)
    command.add_argument("--from-distances", action="store_true", help=FROM_DISTANCES_HELP)
    command.add_argument("--n-samples", type=int, metavar="N", help=N_SAMPLES_HELP)
    add_thresholds(command)


def add_table(command: argparse.ArgumentParser) -> None:
    """Add the table, and the options that say how its columns are read."""
    command.add_argument("table", metavar="TABLE", help=TABLE_HELP)
    command.add_argument("--drop", action="append", default=[], metavar="COLUMN", help=DROP_HELP)
    command.add_argument("--label", action="append", default=[], metavar="COLUMN", help=LABEL_HELP)
    command.add_argument(
        "--kind",
        action="append",
        default=[],
        metavar="COLUMN=KIND",
        help=f"correct a column's kind: {', '.join(get_args(Kind))}",
    )
    command.add_argument("--weights", metavar="COLUMN", help="how often each row counts")
    add_columns(command)
    command.add_argument("--metric", choices=METRICS, default="auto", help=METRIC_HELP)
    command.add_argument(
        "--drop-degenerate",
        action="store_true",
        help="leave out constant and repeated columns instead of stopping at them",
    )
    command.add_argument("--escaped", action="store_true", help=ESCAPED_HELP)


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


COLUMNS_HELP = (
    "with a sparse TABLE (.mtx, .mtx.gz, .npz): a text file with a column's name per line"
)
CUTOFF_HELP = (
    "with a sparse TABLE: keep no pair of columns farther apart (default: the noise floor)"
)
_MEASURES = ("auto", "correlation")


def add_columns(command: argparse.ArgumentParser) -> None:
    """Add the option for the names of the columns of a sparse file."""
    command.add_argument("--columns", type=Path, metavar="FILE", help=COLUMNS_HELP)


def add_cutoff(command: argparse.ArgumentParser) -> None:
    """Add the option for how far apart kept pairs are."""
    command.add_argument("--cutoff", type=float, metavar="C", help=CUTOFF_HELP)


def unescape_columns(options: argparse.Namespace) -> None:
    """Read the path of the names as it was meant."""
    if getattr(options, "columns", None) is not None:
        options.columns = Path(unescaped(str(options.columns)))


def keeps_near_pairs(options: argparse.Namespace) -> bool:
    """Return whether this command works with the near pairs of a sparse file alone."""
    return hasattr(options, "cutoff") and _is_sparse(options)


def _is_sparse(options: argparse.Namespace) -> bool:
    other = getattr(options, "from_distances", False) or getattr(options, "blocks", False)
    return is_sparse_file(options.table) and not other


def check_sparse(options: argparse.Namespace) -> None:
    """Refuse options that do not go together, before anything is read."""
    if not _is_sparse(options):
        for name in ("columns", "cutoff"):
            if getattr(options, name, None) is not None:
                endings = ", ".join(ENDINGS)
                raise DataError(f"--{name} is for sparse files ({endings}); leave it out.")
    if not keeps_near_pairs(options):
        return
    for name in ("regularize", "report"):
        if getattr(options, name, None) is not None:
            raise DataError(f"--{name} needs all distances; a sparse file gives near pairs alone.")
    if not hasattr(options, "format"):  # pairs are written, not a graph
        _check_ending(options.output)
    if options.metric not in _MEASURES:
        raise DataError(
            f"--metric {options.metric} is not for sparse files, whose columns are compared by "
            "correlation; leave it out."
        )


def sparse_rows(options: argparse.Namespace, kinds: Mapping[str, Kind]) -> Observations:
    """Read the sparse file that the options name."""
    return read_sparse(
        options.table,
        options.columns,
        drop=options.drop,
        labels=options.label,
        kinds=kinds,
        weights=options.weights,
        on_degenerate="drop" if options.drop_degenerate else "error",
    )


def near_distances(
    options: argparse.Namespace,
    obs: Observations,
    say: Callable[[str], None],
    progress: Callable[..., None],
) -> SparseDistances:
    """Find the near pairs, and say how many there are and what was left out."""
    say(f"read {quoted(options.table)}: {obs!r}")
    for reason, count in Counter(one.reason for one in obs.dropped).items():
        say(f"left out {count:,} {_columns(count)}: {reason}")
    D = sparse_distances(
        obs,
        options.cutoff,
        on_degenerate="drop" if options.drop_degenerate else "error",
        progress=partial(progress, what="distances") if sys.stderr.isatty() else None,
    )
    copies = obs.n_columns - D.n_columns
    if copies:
        say(f"left out {copies:,} {_columns(copies)}: equal to another")
    say(
        f"distances by {D.metric}: {D.n_pairs:,} pairs up to {D.cutoff:.4f}, "
        f"{D.n_alone:,} {_columns(D.n_alone)} without any, noise floor {D.noise_floor:.4f}"
    )
    return D


def _columns(count: int) -> str:
    return "column" if count == 1 else "columns"


def _check_ending(output: Path | None) -> None:
    if output is not None and output.suffix.lower() == ".npz":
        raise DataError("near pairs are written as text; give a .csv file.")


def pairs_as_csv(D: SparseDistances, output: Path | None) -> str:
    """Write the near pairs, one on each line."""
    _check_ending(output)
    left = np.repeat(np.arange(D.n_columns), np.diff(D.start))
    once = left < D.other
    names = np.array([name_to_csv(name) for name in D.names], dtype=object)
    frame = pd.DataFrame(
        {
            "column_1": names[left[once]],
            "column_2": names[D.other[once]],
            "distance": D.length[once],
        }
    )
    return str(frame.to_csv(index=False))


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
