"""Options of the command line for sparse files, and the near pairs of their columns."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from loopylatent.data import Kind, Observations
from loopylatent.errors import DataError, quoted
from loopylatent.escapes import unescaped
from loopylatent.export import name_to_csv
from loopylatent.sparse_distances import SparseDistances, sparse_distances
from loopylatent.sparse_files import ENDINGS, is_sparse_file, read_sparse

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
