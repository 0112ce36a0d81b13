"""``loopylatent sweep``: what the thresholds do, as a table."""

from __future__ import annotations

import argparse
import sys

from loopylatent.analysis.sweep.points import MOST_RADII
from loopylatent.analysis.sweep.scores import TEST_SHARE, Failed
from loopylatent.analysis.sweep.suggest import choose
from loopylatent.analysis.sweep.table import Sweep, sweep
from loopylatent.cli.inputs import CSV_OR_JSON, ENGINE, TABLE, add, all_distances
from loopylatent.cli.terminal import Parser, say, write_text
from loopylatent.distances.matrix import DistanceMatrix
from loopylatent.errors import DataError
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


def add_sweep(command: Parser) -> None:
    """Describe the command."""
    command.description = (
        "Learn at many thresholds and write one row for each: edges, hidden nodes, cycles, girth, "
        "components, stuck visits. Several values of several thresholds give every combination. "
        "Lambda and tau, where they are not given, come from the default rule."
    )
    command.epilog = (
        "Examples: loopylatent sweep answers.csv --drop id --score -o sweep.csv; "
        "loopylatent sweep sample:bfi25 --r 3 --Lambda 0 0.01 0.02 --tau 0.1 0.2"
    )
    add(command, TABLE)
    add(command, ["--r"], nargs="+", metavar="R", help=R_HELP)
    add(command, ["--Lambda"], nargs="+", metavar="L", help="margins, 0 to below 1")
    add(command, ["--tau"], nargs="+", metavar="T", help="shortest edges")
    command.add_argument("--most", type=int, default=MOST_RADII, metavar="N", help=MOST_HELP)
    add(command, ["--method"], help="how hidden nodes are found (default: quartet)")
    add(command, ["--order"])
    add(command, ["--seed"], help=SEED_HELP)
    command.add_argument("--score", action="store_true", help=SCORE_HELP)
    command.add_argument(
        "--test-share", type=float, default=TEST_SHARE, metavar="S", help=SHARE_HELP
    )
    add(command, ENGINE)
    add(command, ["--from-distances"], help="TABLE is a matrix of distances")
    add(command, ["--n-samples"], help="rows behind given distances")
    add(command, ["-o --output"], help=CSV_OR_JSON)
    command.set_defaults(run=_sweep, endings=(".csv", ".json"))


def _sweep(options: argparse.Namespace) -> None:
    """Sweep, write the table, and name the settings that stand out."""
    D, obs = all_distances(options)
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
        progress=_show_progress if sys.stderr.isatty() else None,
        engine=options.engine,
        scheduler=options.scheduler,
    )
    _say_outcome(D, found)
    as_json = options.output is not None and options.output.suffix.lower() == ".json"
    write_text(found.to_json() if as_json else table_to_csv(found.to_frame()), options.output)


def _say_outcome(D: DistanceMatrix, found: Sweep) -> None:
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


def _show_progress(done: int, total: int) -> None:
    end = "\n" if done == total else ""
    print(f"\r{done} of {total} done", end=end, file=sys.stderr, flush=True)
