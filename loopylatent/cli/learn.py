"""``loopylatent learn``, ``distances``, ``score`` and ``report``: a table, its graph, its model."""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pandas as pd

from loopylatent.api import export, learn, provenance
from loopylatent.cli.inputs import (
    GIVEN_DISTANCES,
    LEARNER,
    TABLE,
    add,
    add_blocks,
    check_blocks,
    distances_and_rows,
    distances_as_csv,
    estimated_distances,
    read_observations,
)
from loopylatent.cli.report import add_report_options, check_report, make_report
from loopylatent.cli.terminal import Parser, progress, say, write_text
from loopylatent.compute.files import write_atomically
from loopylatent.distances.files import to_npz
from loopylatent.distances.matrix import DistanceMatrix
from loopylatent.distances.sparse import Distances
from loopylatent.errors import DataError
from loopylatent.exporting.graph_files import WRITERS, format_of, to_edge_csv
from loopylatent.inference.evidence import rows_like
from loopylatent.inference.fit import fit_parameters
from loopylatent.inference.model import Model
from loopylatent.learning.learner import LearnResult
from loopylatent.learning.regularized import RegularizedResult
from loopylatent.settings import check_seed
from loopylatent.tables.observations import Observations
from loopylatent.tables.read import read_frame

FORMATS = tuple(WRITERS)
OUTPUT_HELP = (
    f"the graph; its ending says the format ({', '.join('.' + name for name in FORMATS)}). "
    "Without it the edges go to standard output"
)


def add_learn(command: Parser) -> None:
    """Describe ``learn``."""
    command.description = "Learn a graph. Thresholds that are not given come from the default rule."
    command.epilog = "Example: loopylatent learn answers.csv --drop id --r 5 -o graph.graphml"
    add(command, (*TABLE, *GIVEN_DISTANCES, *LEARNER))
    add_blocks(command)
    add(command, ["-o --output"], help=OUTPUT_HELP)
    command.add_argument("--format", choices=FORMATS, help="where the ending does not say it")
    command.add_argument(
        "--report",
        type=Path,
        metavar="FILE",
        help="also write a report of everything about the graph, an .html page",
    )
    add_report_options(command.add_argument_group("for --report"))
    command.set_defaults(run=_learn)


def _learn(options: argparse.Namespace) -> None:
    check_blocks(options)
    if options.output is not None:
        format_of(options.output, options.format)
    if options.report is not None:
        check_report(options, options.report)
    D, obs = distances_and_rows(options)
    result = _learned(options, D, obs)
    if options.output is not None:
        say(f"wrote {export(result, options.output, format=options.format)}")
    if options.report is not None and isinstance(D, DistanceMatrix):
        make_report(options, options.report, D, obs, result)
    if options.output is None and options.report is None:
        sys.stdout.write(to_edge_csv(result.graph, provenance(result)))


def add_report(command: Parser) -> None:
    """Describe ``report``."""
    command.description = (
        "Learn a graph, and write a page that opens anywhere, also without a network, and prints: "
        "the data, the settings, the graph, hidden nodes, groups, the curve and the test of "
        "loops, scores, support, and the script that gives the same graph."
    )
    command.epilog = "Example: loopylatent report answers.csv --drop id --r 5 -o report.html"
    add(command, (*TABLE, *GIVEN_DISTANCES, *LEARNER))
    add_report_options(command)
    add(command, ["-o --output"], required=True, help="an .html page")
    command.set_defaults(run=_report)


def _report(options: argparse.Namespace) -> None:
    check_report(options, options.output)
    D, obs = distances_and_rows(options)
    result = _learned(options, D, obs)
    if isinstance(D, DistanceMatrix):
        make_report(options, options.output, D, obs, result)


def _learned(options: argparse.Namespace, D: Distances, obs: Observations | None) -> LearnResult:
    result = learn(
        D,
        options.r,
        options.Lambda,
        options.tau,
        method=options.method,
        order=options.order,
        seed=options.seed,
        trace=False,
        progress=progress("learning"),
        obs=obs,
        regularize=options.regularize,
        max_hidden=options.max_hidden,
    )
    graph, thresholds = result.graph, result.settings.thresholds
    say(
        f"r {thresholds.r:.6g}, Lambda {thresholds.Lambda:.6g}, tau {thresholds.tau:.6g}: "
        f"{graph.n_observed} observed, {graph.n_hidden} hidden, {graph.n_edges} edges, "
        f"{graph.n_cycles} cycles, {graph.n_components} components"
    )
    if result.n_stuck:
        say(
            f"in {result.n_stuck} of {result.n_visits} visits no pair could be joined any more; "
            "a larger Lambda leaves fewer"
        )
    if result.n_capped:
        say(f"in {result.n_capped} visits only the nearest outsiders were asked")
    return result


def add_distances(command: Parser) -> None:
    """Describe ``distances``."""
    command.description = (
        "Write the matrix of distances as CSV, or as .npz with all that is known of them, and say "
        "r_min, r_max and the noise floor."
    )
    command.epilog = "Example: loopylatent distances answers.csv --drop id -o distances.csv"
    add(command, TABLE)
    add_blocks(command)
    add(command, ["-o --output"], help="a .csv or .npz file")
    command.set_defaults(run=_distances, endings=(".csv", ".npz"))


def _distances(options: argparse.Namespace) -> None:
    check_blocks(options)
    D, _ = distances_and_rows(options)
    is_packed = options.output is not None and options.output.suffix.lower() == ".npz"
    if is_packed and isinstance(D, DistanceMatrix):
        say(f"wrote {write_atomically(options.output, to_npz(D))}")
    else:
        write_text(distances_as_csv(D), options.output)


def add_score(command: Parser) -> None:
    """Describe ``score``."""
    command.description = (
        "Learn a graph, fit its parameters, and say how well the model foretells rows that it has "
        "not seen. Lower perplexities are better."
    )
    command.epilog = "Example: loopylatent score answers.csv --test later.csv --r 5"
    add(command, (*TABLE, *LEARNER))
    command.add_argument(
        "--test",
        metavar="FILE",
        help="the table to score on, with the same columns; without it TABLE is split",
    )
    command.add_argument(
        "--test-share",
        type=float,
        default=0.5,
        metavar="S",
        help="share of the rows of TABLE that are kept for scoring, at random (default: 0.5)",
    )
    add(command, ["-o --output"])
    command.set_defaults(run=_score, score=True, endings=(".csv",))


def _score(options: argparse.Namespace) -> None:
    check_seed(options.seed)
    train, test = _train_and_test(options)
    result = _learned(options, estimated_distances(options, train), train)
    model = result.model if isinstance(result, RegularizedResult) else None
    if model is None:
        model = fit_parameters(result.graph, train)
    say(_fit_summary(model))
    scores = asdict(model.scores(test, seed=options.seed))
    frame = pd.DataFrame({"measure": list(scores), "value": list(scores.values())})
    write_text(frame.to_csv(index=False), options.output)


def _train_and_test(options: argparse.Namespace) -> tuple[Observations, Observations]:
    obs = read_observations(options)
    if options.test is not None:
        frame = read_frame(options.test)
        test = rows_like(frame, obs)
        has_weights = options.weights is not None and options.weights in frame
        return obs, test.with_weights(frame[options.weights]) if has_weights else test
    if not 0 < options.test_share < 1:
        raise DataError(f"--test-share {options.test_share:g} is not between 0 and 1.")
    order = np.random.default_rng(options.seed).permutation(obs.n_rows)
    n_test = round(options.test_share * obs.n_rows)
    if n_test in (0, obs.n_rows):
        raise DataError(
            f"--test-share {options.test_share:g} of {obs.n_rows} rows leaves none to "
            f"{'score on' if n_test == 0 else 'learn from'}; choose another share."
        )
    train = obs.take(np.sort(order[n_test:])).usable(options.on_degenerate)
    return train, obs.take(np.sort(order[:n_test]))


def _fit_summary(model: Model) -> str:
    how = "exact likelihood" if model.is_exact else "likelihood by belief propagation"
    end = "converged" if model.converged else "not converged"
    note = f"; {model.note}" if model.note else ""
    return f"{model.kind} model, {model.df} degrees of freedom, {how}, {end}{note}"
