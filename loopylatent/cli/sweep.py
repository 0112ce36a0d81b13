"""``loopylatent sweep``: what the thresholds do, as a table."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import get_args

from loopylatent.analysis.sweep.points import MOST_RADII
from loopylatent.analysis.sweep.scores import TEST_SHARE, Failed
from loopylatent.analysis.sweep.suggest import choose
from loopylatent.analysis.sweep.table import Sweep, sweep
from loopylatent.cli.inputs import add_engine
from loopylatent.compute.files import write_atomically
from loopylatent.distances.matrix import DistanceMatrix
from loopylatent.errors import DataError
from loopylatent.settings import Method, Order
from loopylatent.tables.observations import Observations
from loopylatent.tables.spreadsheet import table_to_csv

R_HELP = (
    "radii to look at; without them those from r_min to r_max at which the initial graph changes"
)
MOST_HELP = f"without --r: at most this many radii, evenly chosen (default: {MOST_RADII})"
SCORE_HELP = (
    "learn and fit each setting on one part of the rows and score it on the other; adds "
    "likelihoods, BIC and perplexities"
)
SHARE_HELP = f"with --score: share of the rows that are kept apart (default: {TEST_SHARE})"
SEED_HELP = "for the random order and for the rows kept apart (default: 0)"
OUTPUT_HELP = "a .csv or .json file; without it CSV goes to standard output"


def add_sweep(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
    add_table: Callable[[argparse.ArgumentParser], None],
    run: Callable[[argparse.Namespace], None],
) -> None:
    """Add the command to the parser."""
    command = commands.add_parser(
        "sweep",
        help="see what the thresholds do: structure and scores along r, Lambda and tau",
        description="Learn at many thresholds and write one row for each: edges, hidden nodes, "
        "cycles, girth, components, stuck visits. Several values of several thresholds give every "
        "combination. Lambda and tau, where they are not given, come from the default rule.",
        epilog="Examples: loopylatent sweep answers.csv --drop id --score -o sweep.csv; "
        "loopylatent sweep sample:bfi25 --r 3 --Lambda 0 0.01 0.02 --tau 0.1 0.2",
    )
    add_table(command)
    command.add_argument("--r", type=float, nargs="+", metavar="R", help=R_HELP)
    command.add_argument(
        "--Lambda", type=float, nargs="+", metavar="L", help="margins, 0 to below 1"
    )
    command.add_argument("--tau", type=float, nargs="+", metavar="T", help="shortest edges")
    command.add_argument("--most", type=int, default=MOST_RADII, metavar="N", help=MOST_HELP)
    command.add_argument("--method", choices=get_args(Method), default="quartet",
                         help="how hidden nodes are found (default: quartet)")  # fmt: skip
    command.add_argument("--order", choices=get_args(Order), default="degree",
                         help="order of the visits (default: degree)")  # fmt: skip
    command.add_argument("--seed", type=int, default=0, help=SEED_HELP)
    command.add_argument("--score", action="store_true", help=SCORE_HELP)
    command.add_argument(
        "--test-share", type=float, default=TEST_SHARE, metavar="S", help=SHARE_HELP
    )
    add_engine(command)
    command.add_argument(
        "--from-distances", action="store_true", help="TABLE is a matrix of distances"
    )
    command.add_argument("--n-samples", type=int, metavar="N", help="rows behind given distances")
    command.add_argument("-o", "--output", type=Path, metavar="FILE", help=OUTPUT_HELP)
    command.set_defaults(run=run, endings=(".csv", ".json"))


def run_sweep(
    options: argparse.Namespace,
    D: DistanceMatrix,
    obs: Observations | None,
    say: Callable[[str], None],
) -> None:
    """Sweep, write the table, and name the settings that stand out."""
    ending = "csv" if options.output is None else options.output.suffix.lower().lstrip(".")
    if options.score and obs is None:
        raise DataError("--score needs the rows; give the table instead of its distances.")
    found = sweep(
        D,
        options.r,
        options.Lambda,
        options.tau,
        method=options.method,
        order=options.order,
        seed=options.seed,
        most=options.most,
        obs=obs if options.score else None,
        test_share=options.test_share,
        progress=_progress() if sys.stderr.isatty() else None,
        engine=options.engine,
        scheduler=options.scheduler,
    )
    _say_outcome(D, found, say)
    text = found.to_json() if ending == "json" else table_to_csv(found.to_frame())
    if options.output is None:
        sys.stdout.write(text)
    else:
        say(f"wrote {write_atomically(options.output, text.encode())}")


def _say_outcome(D: DistanceMatrix, found: Sweep, say: Callable[[str], None]) -> None:
    different = len({point.graph for point in found.points})
    say(f"{len(found.points)} settings, {different} different graphs")
    failed = [one for one in found.scores if isinstance(one, Failed)]
    if failed:
        say(f"{len(failed)} settings could not be scored; the first: {failed[0].reason}")
    if any(one is not None for one in found.scores):
        for one in choose(D, found.points, found.scores):
            there = one.thresholds
            say(
                f"{one.title}: r {there.r:.6g}, Lambda {there.Lambda:.6g}, tau {there.tau:.6g} "
                f"({one.cost}). {one.reason}"
            )
            if one.warning:
                say(f"  beware: {one.warning}")


def _progress() -> Callable[[int, int], None]:
    """Report to the terminal, first on the graphs, then on the fits."""

    def report(done: int, total: int) -> None:
        end = "\n" if done == total else ""
        print(f"\r{done} of {total} done", end=end, file=sys.stderr, flush=True)

    return report
