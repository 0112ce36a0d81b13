"""Options of the command line as data: what argparse takes, by name; those that commands share."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, get_args

from loopylatent.compute.workers import ENGINES
from loopylatent.distances.matrix import METRICS
from loopylatent.settings import Method, Order
from loopylatent.tables.kinds import Kind

Option = dict[str, Any]


def text(help: str, **how: Any) -> Option:  # noqa: A002
    """Return an option as argparse takes it."""
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
    """What a command does, with an example, its options, and what runs it."""

    about: str
    example: str
    options: Mapping[str, Option]
    """By their names; options under a name without a hyphen are a group of that title."""
    run: Callable[[argparse.Namespace], None]
    endings: tuple[str, ...] = ()
    """Of the file that it writes, where there are few."""

    def fill(self, parser: argparse.ArgumentParser) -> None:
        """Describe the command to argparse."""
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
    "table": text("a CSV, TSV (also gzipped), Parquet or Excel file with one row an observation, a "
                  "sparse matrix (.mtx, .mtx.gz, .npz), or sample:NAME for a bundled one",
                  metavar="TABLE"),
    "--drop": columns("leave this column out; once for each column"),
    "--label": columns("this column describes rows and is not learned; once for each column"),
    "--kind": columns(f"correct a column's kind: {', '.join(get_args(Kind))}",
                      metavar="COLUMN=KIND"),
    "--weights": text("how often each row counts", metavar="COLUMN"),
    "--columns": file("with a sparse TABLE (.mtx, .mtx.gz, .npz): a text file with a column's "
                      "name per line"),
    "--metric": text("how distances are measured (default: auto, by the kinds of the columns)",
                     choices=METRICS, default="auto"),
    "--drop-degenerate": text("leave out constant and repeated columns instead of stopping at them",
                              action="store_const", dest="on_degenerate", const="drop",
                              default="error"),
    "--escaped": flag("names of columns and of TABLE hold backslash escapes, as in two\\nlines"),
}  # fmt: skip
GIVEN_DISTANCES = {
    "--from-distances": flag("TABLE is a square matrix of distances whose header names the "
                             "columns"),
    "--n-samples": whole("rows behind given distances; sets the default margin"),
}  # fmt: skip
LEARN_HOW = {
    "--r": number("radius of the balls; smaller gives more cycles (default: r_max, which gives a "
                  "tree)"),
    "--Lambda": number("margin of the quartet test, 0 to below 1; larger is surer"),
    "--tau": number("hidden nodes nearer than this to a neighbour are merged with it"),
    "--method": method("how hidden nodes are found: quartet tests (default), relaxed grouping "
                       "(--Lambda and --tau play no part) or nj, neighbor joining (--Lambda plays "
                       "no part)"),
    "--order": text("order of the visits (default: degree)", choices=get_args(Order),
                    default="degree"),
    "--seed": seed("for the random order and for --method relaxed (default: 0)"),
}  # fmt: skip
PENALTY = {
    "--regularize": text("add hidden nodes only where this criterion pays for them; needs the rows",
                         choices=("bic",)),
    "--max-hidden": whole("with --regularize: never more hidden nodes than this"),
}  # fmt: skip
CUTOFF = {
    "--cutoff": number("with a sparse TABLE: keep no pair of columns farther apart (default: the "
                       "noise floor)", metavar="C"),
}  # fmt: skip
ENGINE = {
    "--engine": text("where the work is done: threads of this machine (default) or a Dask cluster",
                     choices=ENGINES, default="threads"),
    "--scheduler": text("with --engine dask: the scheduler, as tcp://10.0.0.5:8786; without it "
                        "processes are started on this machine", metavar="ADDRESS"),
}  # fmt: skip
BLOCKS = {"tables larger than memory": {
    "--blocks": flag("TABLE is larger than memory: a Parquet or CSV file, or a folder of such "
                     "files, read in blocks"),
    "--block-rows": whole("rows of a block (default: as many as have four million cells)"),
    "--checkpoint": file("keeps what is done so far; the same command goes on from there after a "
                         "stop"),
    **ENGINE,
}}  # fmt: skip
CSV = {"-o --output": file("a .csv file")}
CSV_OR_JSON = {
    "-o --output": file("a .csv or .json file; without it CSV goes to standard output"),
}  # fmt: skip
