"""Options of the command line as keyword arguments of argparse; options shared by commands."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, get_args

from loopylatent.compute.workers import ENGINES
from loopylatent.distances.matrix import METRICS
from loopylatent.settings import Goal, Method, Order
from loopylatent.tables.kinds import Kind

Option = dict[str, Any]


def text(help: str, **how: Any) -> Option:  # noqa: A002
    """Return the keyword arguments of an option."""
    return {**how, "help": help}


flag = partial(text, action="store_true")
whole = partial(text, type=int, metavar="N")
number = partial(text, type=float)
pair = partial(text, type=float, nargs=2, metavar=("LOW", "HIGH"))
file = partial(text, type=Path, metavar="FILE")
columns = partial(text, action="append", default=[], metavar="COLUMN")
method = partial(text, choices=get_args(Method), default="quartet")
seed = partial(text, type=int, default=0)


@dataclass(frozen=True, slots=True)
class Command:
    """A command: description, example, options, and the function that runs it."""

    about: str
    example: str
    options: Mapping[str, Option]
    """By name; a name without a hyphen is the title of a group of options."""
    run: Callable[[argparse.Namespace], None]
    endings: tuple[str, ...] = ()
    """Accepted extensions of the output file; empty for any."""

    def fill(self, parser: argparse.ArgumentParser) -> None:
        """Add the command to its argparse parser."""
        parser.description, parser.epilog = self.about, self.example
        parser.set_defaults(run=self.run, endings=self.endings)
        _add(parser, self.options)


def _add(parser: argparse._ActionsContainer, options: Mapping[str, Option]) -> None:
    for names, how in options.items():
        if "help" in how:
            parser.add_argument(*names.split(), **how)
        else:
            _add(parser.add_argument_group(names), how)


TABLE = {
    "table": text("a CSV, TSV (also gzipped), Parquet or Excel file with one observation per row, "
                  "a sparse matrix (.mtx, .mtx.gz, .npz), or sample:NAME for a bundled table",
                  metavar="TABLE"),
    "--drop": columns("drop this column; may be repeated"),
    "--label": columns("keep this column as a label of the rows, not as a variable; may be "
                       "repeated"),
    "--kind": columns(f"set the type of a column: {', '.join(get_args(Kind))}; may be repeated",
                      metavar="COLUMN=KIND"),
    "--weights": text("column that says how often each row counts", metavar="COLUMN"),
    "--columns": file("with a sparse TABLE (.mtx, .mtx.gz, .npz): a text file with one column "
                      "name per line"),
    "--metric": text("distance between columns (default: auto, by column type)", choices=METRICS,
                     default="auto"),
    "--drop-degenerate": text("drop constant and duplicate columns instead of reporting an error",
                              action="store_const", dest="on_degenerate", const="drop",
                              default="error"),
    "--escaped": flag("read backslash escapes in TABLE and in column names, as in two\\nlines"),
}  # fmt: skip
GIVEN_DISTANCES = {
    "--from-distances": flag("TABLE is a square matrix of distances whose header names the "
                             "columns"),
    "--n-samples": whole("with --from-distances: number of rows behind the distances; sets the "
                         "default Lambda"),
}  # fmt: skip
LEARN_HOW = {
    "--r": number("radius of the balls; a smaller one gives more cycles (default: r_max, which "
                  "gives a tree)"),
    "--Lambda": number("margin of the quartet test, in [0, 1); a larger one accepts fewer "
                       "uncertain tests"),
    "--tau": number("minimum edge length; a hidden node nearer than this to a neighbour is merged "
                    "with it"),
    "--method": method("grouping method: quartet tests (default), relaxed grouping (ignores "
                       "--Lambda and --tau) or nj, neighbor joining (ignores --Lambda)"),
    "--order": text("order in which nodes are visited (default: degree)", choices=get_args(Order),
                    default="degree"),
    "--seed": seed("seed for --order random and --method relaxed (default: 0)"),
}  # fmt: skip
PENALTY = {
    "--regularize": text("penalise hidden nodes: keep one only if it improves the BIC; needs the "
                         "rows", choices=("bic",)),
    "--max-hidden": whole("with --regularize: maximum number of hidden nodes"),
}  # fmt: skip
REFINE = {
    "--method": text("how hidden nodes are found: quartet tests (default), relaxed grouping "
                     "(ignores --Lambda and --tau) or nj, neighbor joining (ignores --Lambda); "
                     "with --refine all three unless one is given",
                     choices=get_args(Method)),
    "--refine": text("improve the learned graph by moves that raise the likelihood, to find the "
                     "true structure or to predict new rows; needs the rows",
                     choices=get_args(Goal)),
}  # fmt: skip
CUTOFF = {
    "--cutoff": number("with a sparse TABLE: largest distance that is kept (default: the noise "
                       "floor)", metavar="C"),
}  # fmt: skip
ENGINE = {
    "--engine": text("run on the threads of this machine (default) or on a Dask cluster",
                     choices=ENGINES, default="threads"),
    "--scheduler": text("with --engine dask: address of the scheduler, such as "
                        "tcp://10.0.0.5:8786 (default: start processes on this machine)",
                        metavar="ADDRESS"),
}  # fmt: skip
BLOCKS = {"tables larger than memory": {
    "--blocks": flag("read TABLE in blocks of rows; it is a Parquet or CSV file, or a folder of "
                     "such files"),
    "--block-rows": whole("rows per block (default: four million cells per block)"),
    "--checkpoint": file("save intermediate results; after an interruption the same command "
                         "resumes from this file"),
    **ENGINE,
}}  # fmt: skip
CSV = {"-o --output": file("a .csv file (default: standard output)")}
CSV_OR_JSON = {
    "-o --output": file("a .csv or .json file (default: CSV on standard output)"),
}  # fmt: skip
