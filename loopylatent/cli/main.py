"""The command line: ``loopylatent learn TABLE``, or ``python -m loopylatent learn TABLE``.

Results go to standard output or to the named file, everything else to standard error. The exit
status is 0, or 2 with one line that says what is wrong.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from loopylatent.api import export, learn, provenance
from loopylatent.cli.app import add_app
from loopylatent.cli.inputs import (
    add_blocks,
    add_cutoff,
    add_learn_options,
    add_learner,
    add_stability_options,
    add_table,
    check_blocks,
    check_sparse,
    column_kind,
    distances_and_rows,
    estimated_distances,
    estimated_in_blocks,
    keeps_near_pairs,
    near_distances,
    pairs_as_csv,
    read_observations,
    unescape,
)
from loopylatent.cli.laboratory import add_laboratory
from loopylatent.cli.report import (
    REPORT_HELP,
    add_report,
    add_report_options,
    check_report,
    make_report,
)
from loopylatent.cli.stability import add_stability, run_stability
from loopylatent.cli.sweep import add_sweep, run_sweep
from loopylatent.cli.terminal import (
    IN_OPTIONS,
    Parser,
    check_endings,
    check_together,
    leave_standard_output,
    open_streams,
    say,
    show_progress,
    speak_every_script,
    write_text,
)
from loopylatent.compute.files import check_place, write_atomically
from loopylatent.distances.files import read_distances, to_npz
from loopylatent.distances.matrix import DistanceMatrix
from loopylatent.distances.sparse import Distances
from loopylatent.errors import DataError, LoopyLatentError, ThresholdError, in_words, quoted
from loopylatent.exporting.formats import to_edge_csv
from loopylatent.exporting.graph_files import WRITERS, format_of
from loopylatent.inference.evidence import rows_like
from loopylatent.inference.fit import fit_parameters
from loopylatent.inference.model import Model
from loopylatent.learning.learner import LearnResult
from loopylatent.learning.regularized import RegularizedResult
from loopylatent.settings import __version__
from loopylatent.tables.observations import Observations, OnDegenerate
from loopylatent.tables.read import read_frame
from loopylatent.tables.samples import sample_titles
from loopylatent.tables.spreadsheet import name_to_csv

FORMATS = tuple(WRITERS)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    open_streams()
    speak_every_script()
    options = _parser().parse_args(arguments)
    run: Callable[[argparse.Namespace], None] = options.run
    try:
        if getattr(options, "escaped", False):
            unescape(options)
        check_together(options)
        _check_places(options)
        check_endings(options)
        run(options)
        sys.stdout.flush()
    except LoopyLatentError as error:
        say(f"loopylatent: {in_words(error, IN_OPTIONS)}")
        return 2
    except MemoryError:
        say("loopylatent: there is too little memory; read the table in blocks, or choose less.")
        return 2
    except KeyboardInterrupt:
        say("loopylatent: stopped; no more is written.")
        return 130
    except BrokenPipeError:  # the reader of a pipe has had enough
        leave_standard_output()
    except (
        OSError
    ) as error:  # files refuse in their own words; this is the output, as on a full disk
        leave_standard_output()
        say(f"loopylatent: the output cannot be written: {error.strerror}; make room, or use -o.")
        return 2
    return 0


def _check_places(options: argparse.Namespace) -> None:
    """Refuse before long work what could not be written after it."""
    for place in (getattr(options, "output", None), getattr(options, "report", None)):
        if place is not None:
            check_place(place)
            _check_is_other(place, getattr(options, "table", None))
    if getattr(options, "from_distances", True) is False and options.n_samples is not None:
        raise DataError("--n-samples is for --from-distances: a table has its rows; leave it out.")


def _check_is_other(place: Path, table: object) -> None:
    """Refuse to write over the table that is read."""
    is_same = False
    with suppress(OSError, ValueError):  # most often there is nothing yet in that place
        is_same = place.samefile(str(table))
    if is_same:
        raise DataError(f"{quoted(str(place))} is the table itself; write to another file.")


def _parser() -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = Parser(
        prog="loopylatent",
        description="Learn a graph with hidden variables and cycles from a table.",
        epilog="Start with: loopylatent app; or: loopylatent learn sample:bfi25 -o bfi.html",
    )
    parser.add_argument("--version", action="version", version=f"loopylatent {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_learn(commands)
    _add_distances(commands)
    _add_score(commands)
    add_sweep(commands, add_table, _sweep)
    add_stability(commands, add_stability_options, _stability)
    add_report(commands, add_learn_options, _report)
    add_laboratory(commands, say)
    _add_samples(commands)
    add_app(commands, say)
    return parser


def _add_learn(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = commands.add_parser(
        "learn",
        help="learn a graph and write it to a file",
        description="Learn a graph. Thresholds that are not given come from the default rule.",
        epilog="Example: loopylatent learn answers.csv --drop id --r 5 -o graph.graphml",
    )
    add_learn_options(command)
    add_cutoff(command)
    add_blocks(command)
    command.add_argument("-o", "--output", type=Path, metavar="FILE", help=OUTPUT_HELP)
    command.add_argument("--format", choices=FORMATS, help="where the ending does not say it")
    command.add_argument("--report", type=Path, metavar="FILE", help=REPORT_HELP)
    add_report_options(command.add_argument_group("for --report"))
    command.set_defaults(run=_learn)


def _add_score(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = commands.add_parser(
        "score",
        help="learn and fit on one part of a table, score on the other",
        description="Learn a graph, fit its parameters, and say how well the model foretells rows "
        "that it has not seen. Lower perplexities are better.",
        epilog="Example: loopylatent score answers.csv --test later.csv --r 5",
    )
    add_table(command)
    add_learner(command)
    command.add_argument("--test", metavar="FILE", help=TEST_HELP)
    command.add_argument("--test-share", type=float, default=0.5, metavar="S", help=SHARE_HELP)
    command.add_argument("-o", "--output", type=Path, metavar="FILE", help="a .csv file")
    command.set_defaults(run=_score, score=True, endings=(".csv",))


TEST_HELP = "the table to score on, with the same columns; without it TABLE is split"
SHARE_HELP = "share of the rows of TABLE that are kept for scoring, at random (default: 0.5)"
OUTPUT_HELP = (
    f"the graph; its ending says the format ({', '.join('.' + name for name in FORMATS)}). "
    "Without it the edges go to standard output"
)


def _add_distances(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = commands.add_parser(
        "distances",
        help="estimate the information distances between all columns",
        description="Write the matrix of distances as CSV, or as .npz with all that is known of "
        "them, and say r_min, r_max and the noise floor.",
        epilog="Example: loopylatent distances answers.csv --drop id -o distances.csv",
    )
    add_table(command)
    add_cutoff(command)
    add_blocks(command)
    command.add_argument("-o", "--output", type=Path, metavar="FILE", help="a .csv or .npz file")
    command.set_defaults(run=_distances, endings=(".csv", ".npz"))


def _add_samples(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = commands.add_parser(
        "samples",
        help="list the bundled tables",
        description="List the bundled tables: the name that stands for a file in every other "
        "command, a tab, and what it is.",
        epilog="Example: loopylatent samples; then: loopylatent learn sample:bfi25 -o bfi.html",
    )
    command.set_defaults(run=_list_samples)


def _learn(options: argparse.Namespace) -> None:
    check_blocks(options)
    if options.output is not None:
        format_of(options.output, options.format)
    if options.report is not None:
        check_report(options, options.report)
    D, obs, result = _learned_from_table(options)
    if options.output is not None:
        say(f"wrote {export(result, options.output, format=options.format)}")
    if options.report is not None and isinstance(D, DistanceMatrix):
        _write_report(options, options.report, D, obs, result)
    if options.output is None and options.report is None:
        sys.stdout.write(to_edge_csv(result.graph, provenance(result)))


def _report(options: argparse.Namespace) -> None:
    check_report(options, options.output)
    D, obs, result = _learned_from_table(options)
    if isinstance(D, DistanceMatrix):
        _write_report(options, options.output, D, obs, result)


def _write_report(
    options: argparse.Namespace,
    path: Path,
    D: DistanceMatrix,
    obs: Observations | None,
    result: LearnResult,
) -> None:
    kinds = dict(column_kind(text) for text in options.kind)
    progress = partial(show_progress, what="reporting") if sys.stderr.isatty() else None
    say(f"wrote {make_report(options, path, D, obs, result, kinds, progress)}")


def _learned_from_table(
    options: argparse.Namespace,
) -> tuple[Distances, Observations | None, LearnResult]:
    D, obs = distances_and_rows(options)
    result = _learned(options, D, obs)
    say(_summary(result))
    return D, obs, result


def _learned(options: argparse.Namespace, D: Distances, obs: Observations | None) -> LearnResult:
    return learn(
        D,
        options.r,
        options.Lambda,
        options.tau,
        method=options.method,
        order=options.order,
        seed=options.seed,
        trace=False,
        progress=show_progress if sys.stderr.isatty() else None,
        obs=obs,
        regularize=options.regularize,
        max_hidden=options.max_hidden,
    )


def _score(options: argparse.Namespace) -> None:
    if options.seed < 0:
        raise ThresholdError(f"seed = {options.seed} is not a whole number of at least 0.")
    train, test = _train_and_test(options)
    D = estimated_distances(options, train)
    result = _learned(options, D, train)
    say(_summary(result))
    model = result.model if isinstance(result, RegularizedResult) else None
    if model is None:
        model = fit_parameters(result.graph, train)
    say(_fit_summary(model))
    scores = asdict(model.scores(test, seed=options.seed))
    text = pd.DataFrame({"measure": list(scores), "value": list(scores.values())}).to_csv(
        index=False
    )
    write_text(text, options.output)


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
    on_degenerate: OnDegenerate = "drop" if options.drop_degenerate else "error"
    train = obs.take(np.sort(order[n_test:])).usable(on_degenerate)
    return train, obs.take(np.sort(order[:n_test]))


def _stability(options: argparse.Namespace) -> None:
    obs = None if options.from_distances else read_observations(options)
    if obs is None:
        D = read_distances(options.table, options.n_samples)
    else:
        D = estimated_distances(options, obs)
    run_stability(options, D, obs, say, show_progress if sys.stderr.isatty() else None)


def _sweep(options: argparse.Namespace) -> None:
    obs = None if options.from_distances else read_observations(options)
    if obs is None:
        D = read_distances(options.table, options.n_samples)
    else:
        D = estimated_distances(options, obs)
    run_sweep(options, D, obs, say)


def _distances(options: argparse.Namespace) -> None:
    check_blocks(options)
    check_sparse(options)
    if keeps_near_pairs(options):
        near = near_distances(options, read_observations(options), say, show_progress)
        write_text(pairs_as_csv(near, options.output), options.output)
        return
    if options.blocks:
        D = estimated_in_blocks(options)
    else:
        D = estimated_distances(options, read_observations(options))
    if options.output is not None and options.output.suffix.lower() == ".npz":
        say(f"wrote {write_atomically(options.output, to_npz(D))}")
        return
    names = [name_to_csv(name) for name in D.names]
    text = pd.DataFrame(D.values, index=names, columns=names).to_csv(index_label="column")
    write_text(text, options.output)


def _list_samples(_: argparse.Namespace) -> None:
    for name, title in sample_titles().items():
        sys.stdout.write(f"sample:{name}\t{title}\n")


def _summary(result: LearnResult) -> str:
    graph, thresholds = result.graph, result.settings.thresholds
    lines = [
        f"r {thresholds.r:.6g}, Lambda {thresholds.Lambda:.6g}, tau {thresholds.tau:.6g}: "
        f"{graph.n_observed} observed, {graph.n_hidden} hidden, {graph.n_edges} edges, "
        f"{graph.n_cycles} cycles, {graph.n_components} components"
    ]
    if result.n_stuck:
        lines.append(
            f"in {result.n_stuck} of {result.n_visits} visits no pair could be joined any more; "
            "a larger Lambda leaves fewer"
        )
    if result.n_capped:
        lines.append(f"in {result.n_capped} visits only the nearest outsiders were asked")
    return "\n".join(lines)


def _fit_summary(model: Model) -> str:
    how = "exact likelihood" if model.is_exact else "likelihood by belief propagation"
    end = "converged" if model.converged else "not converged"
    note = f"; {model.note}" if model.note else ""
    return f"{model.kind} model, {model.df} degrees of freedom, {how}, {end}{note}"
