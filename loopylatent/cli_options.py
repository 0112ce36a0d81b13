"""The options that several commands share: the table, its columns, the thresholds, the learner."""

from __future__ import annotations

import argparse
from typing import get_args

from loopylatent.cli_sparse import add_columns
from loopylatent.data import Kind
from loopylatent.distances import METRICS
from loopylatent.settings import Method, Order

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
