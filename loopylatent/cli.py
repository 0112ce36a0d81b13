"""The command line: ``loopylatent learn TABLE``, or ``python -m loopylatent learn TABLE``.

Results go to standard output or to the named file, everything else to standard error. The exit
status is 0, or 2 with one line that says what is wrong.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import get_args

import numpy as np
import pandas as pd

from loopylatent._version import __version__
from loopylatent.api import export, learn, provenance
from loopylatent.cli_app import add_app
from loopylatent.cli_blocks import add_blocks, check_blocks, distances_in_blocks
from loopylatent.cli_laboratory import add_laboratory
from loopylatent.cli_report import (
    REPORT_HELP,
    add_report,
    add_report_options,
    check_report,
    make_report,
)
from loopylatent.cli_sparse import (
    add_columns,
    add_cutoff,
    check_sparse,
    keeps_near_pairs,
    near_distances,
    pairs_as_csv,
    sparse_rows,
    unescape_columns,
)
from loopylatent.cli_stability import add_stability, run_stability
from loopylatent.cli_sweep import add_sweep, run_sweep
from loopylatent.cli_words import Parser, check_endings, check_together, in_options
from loopylatent.data import Kind, Observations, OnDegenerate, read_frame, read_table
from loopylatent.distance_files import to_npz
from loopylatent.distances import METRICS, DistanceMatrix, information_distances
from loopylatent.errors import DataError, LoopyLatentError, ThresholdError, quoted
from loopylatent.export import (
    WRITERS,
    check_place,
    format_of,
    name_to_csv,
    to_edge_csv,
    write_atomically,
)
from loopylatent.inference import Model, fit_parameters
from loopylatent.inference.evidence import rows_like
from loopylatent.learn import LearnResult
from loopylatent.limits import LIMITS, check_time, rerun
from loopylatent.recipe import read_distances, unescaped
from loopylatent.regularize import RegularizedResult
from loopylatent.samples import load_sample, sample_titles
from loopylatent.settings import Method, Order
from loopylatent.sparse_distances import Distances
from loopylatent.sparse_files import is_sparse_file

FORMATS = tuple(WRITERS)
WORTH_SAYING = 5.0
"""Seconds from which the time that something takes is said beforehand."""
TABLE_HELP = (
    "a CSV, TSV (also gzipped), Parquet or Excel file with one row an observation, a sparse matrix "
    "(.mtx, .mtx.gz, .npz), or sample:NAME for a bundled one"
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    _open_streams()
    _speak_every_script()
    options = _parser().parse_args(arguments)
    run: Callable[[argparse.Namespace], None] = options.run
    try:
        if getattr(options, "escaped", False):
            _unescape(options)
        check_together(options)
        _check_places(options)
        check_endings(options)
        run(options)
        sys.stdout.flush()
    except LoopyLatentError as error:
        _say(f"loopylatent: {in_options(str(error))}")
        return 2
    except MemoryError:
        _say("loopylatent: there is too little memory; read the table in blocks, or choose less.")
        return 2
    except KeyboardInterrupt:
        _say("loopylatent: stopped; no more is written.")
        return 130
    except BrokenPipeError:  # the reader of a pipe has had enough
        _leave_standard_output()
    except (
        OSError
    ) as error:  # files refuse in their own words; this is the output, as on a full disk
        _leave_standard_output()
        _say(f"loopylatent: the output cannot be written: {error.strerror}; make room, or use -o.")
        return 2
    return 0


def _open_streams() -> None:
    """Send nowhere what is said to a stream that the caller has closed."""
    if sys.stdout is None:
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    if sys.stderr is None:  # print would take standard output in its place
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115


def _speak_every_script() -> None:
    """Let no name break the output: a file gets UTF-8, a terminal escapes what it cannot show."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            encoding = stream.encoding if stream.isatty() else "utf-8"
            stream.reconfigure(encoding=encoding, errors="backslashreplace")


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


def _leave_standard_output() -> None:
    """Send what is still to be written nowhere, so that the end of the program is quiet."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


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
    add_sweep(commands, _add_table, _sweep)
    add_stability(commands, _add_stability_options, _stability)
    add_report(commands, _add_learn_options, _report)
    add_laboratory(commands, _say)
    _add_samples(commands)
    add_app(commands, _say)
    return parser


def _add_learn(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = commands.add_parser(
        "learn",
        help="learn a graph and write it to a file",
        description="Learn a graph. Thresholds that are not given come from the default rule.",
        epilog="Example: loopylatent learn answers.csv --drop id --r 5 -o graph.graphml",
    )
    _add_learn_options(command)
    add_cutoff(command)
    add_blocks(command)
    command.add_argument("-o", "--output", type=Path, metavar="FILE", help=OUTPUT_HELP)
    command.add_argument("--format", choices=FORMATS, help="where the ending does not say it")
    command.add_argument("--report", type=Path, metavar="FILE", help=REPORT_HELP)
    add_report_options(command.add_argument_group("for --report"))
    command.set_defaults(run=_learn)


def _add_learn_options(command: argparse.ArgumentParser) -> None:
    _add_table(command)
    command.add_argument("--from-distances", action="store_true", help=FROM_DISTANCES_HELP)
    command.add_argument("--n-samples", type=int, metavar="N", help=N_SAMPLES_HELP)
    _add_learner(command)


def _add_learner(command: argparse.ArgumentParser) -> None:
    _add_thresholds(command)
    command.add_argument("--order", choices=get_args(Order), default="degree", help=ORDER_HELP)
    command.add_argument("--seed", type=int, default=0, help=SEED_HELP)
    command.add_argument("--regularize", choices=("bic",), help=REGULARIZE_HELP)
    command.add_argument("--max-hidden", type=int, metavar="N", help=MAX_HIDDEN_HELP)


def _add_thresholds(command: argparse.ArgumentParser) -> None:
    command.add_argument("--r", type=float, help=R_HELP)
    command.add_argument(
        "--Lambda", type=float, help="margin of the quartet test, 0 to below 1; larger is surer"
    )
    command.add_argument(
        "--tau", type=float, help="hidden nodes nearer than this to a neighbour are merged with it"
    )
    command.add_argument("--method", choices=get_args(Method), default="quartet", help=METHOD_HELP)


def _add_score(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = commands.add_parser(
        "score",
        help="learn and fit on one part of a table, score on the other",
        description="Learn a graph, fit its parameters, and say how well the model foretells rows "
        "that it has not seen. Lower perplexities are better.",
        epilog="Example: loopylatent score answers.csv --test later.csv --r 5",
    )
    _add_table(command)
    _add_learner(command)
    command.add_argument("--test", metavar="FILE", help=TEST_HELP)
    command.add_argument("--test-share", type=float, default=0.5, metavar="S", help=SHARE_HELP)
    command.add_argument("-o", "--output", type=Path, metavar="FILE", help="a .csv file")
    command.set_defaults(run=_score, endings=(".csv",))


def _add_stability_options(command: argparse.ArgumentParser) -> None:
    _add_table(command)
    command.add_argument("--from-distances", action="store_true", help=FROM_DISTANCES_HELP)
    command.add_argument("--n-samples", type=int, metavar="N", help=N_SAMPLES_HELP)
    _add_thresholds(command)


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
TEST_HELP = "the table to score on, with the same columns; without it TABLE is split"
SHARE_HELP = "share of the rows of TABLE that are kept for scoring, at random (default: 0.5)"
FROM_DISTANCES_HELP = "TABLE is a square matrix of distances whose header names the columns"
N_SAMPLES_HELP = "rows behind given distances; sets the default margin"
ESCAPED_HELP = "names of columns and of TABLE hold backslash escapes, as in two\\nlines"
ORDER_HELP = "order of the visits (default: degree)"
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
    _add_table(command)
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


def _add_table(command: argparse.ArgumentParser) -> None:
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


def _learn(options: argparse.Namespace) -> None:
    check_blocks(options)
    if options.output is not None:
        format_of(options.output, options.format)
    if options.report is not None:
        check_report(options, options.report)
    D, obs, result = _learned_from_table(options)
    if options.output is not None:
        _say(f"wrote {export(result, options.output, format=options.format)}")
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
    kinds = dict(_kind(text) for text in options.kind)
    progress = partial(_progress, what="reporting") if sys.stderr.isatty() else None
    _say(f"wrote {make_report(options, path, D, obs, result, kinds, progress)}")


def _learned_from_table(
    options: argparse.Namespace,
) -> tuple[Distances, Observations | None, LearnResult]:
    D, obs = _distances_and_rows(options)
    result = _learned(options, D, obs)
    _say(_summary(result))
    return D, obs, result


def _distances_and_rows(
    options: argparse.Namespace,
) -> tuple[Distances, Observations | None]:
    check_sparse(options)
    if options.from_distances:
        return read_distances(options.table, options.n_samples), None
    if getattr(options, "blocks", False):
        return _distances_in_blocks(options), None
    obs = _observations(options)
    if keeps_near_pairs(options):
        return near_distances(options, obs, _say, _progress), obs
    return _estimated_distances(options, obs), obs


def _distances_in_blocks(options: argparse.Namespace) -> DistanceMatrix:
    kinds = dict(_kind(text) for text in options.kind)
    D = distances_in_blocks(options, kinds, _say, _progress)
    _say(_distance_summary(D))
    return D


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
        progress=_progress if sys.stderr.isatty() else None,
        obs=obs,
        regularize=options.regularize,
        max_hidden=options.max_hidden,
    )


def _score(options: argparse.Namespace) -> None:
    if options.seed < 0:
        raise ThresholdError(f"seed = {options.seed} is not a whole number of at least 0.")
    train, test = _train_and_test(options)
    D = _estimated_distances(options, train)
    result = _learned(options, D, train)
    _say(_summary(result))
    model = result.model if isinstance(result, RegularizedResult) else None
    if model is None:
        model = fit_parameters(result.graph, train)
    _say(_fit_summary(model))
    scores = asdict(model.scores(test, seed=options.seed))
    text = pd.DataFrame({"measure": list(scores), "value": list(scores.values())}).to_csv(
        index=False
    )
    _write_text(text, options.output)


def _train_and_test(options: argparse.Namespace) -> tuple[Observations, Observations]:
    obs = _observations(options)
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
    obs = None if options.from_distances else _observations(options)
    if obs is None:
        D = read_distances(options.table, options.n_samples)
    else:
        D = _estimated_distances(options, obs)
    run_stability(options, D, obs, _say, _progress if sys.stderr.isatty() else None)


def _sweep(options: argparse.Namespace) -> None:
    obs = None if options.from_distances else _observations(options)
    if obs is None:
        D = read_distances(options.table, options.n_samples)
    else:
        D = _estimated_distances(options, obs)
    run_sweep(options, D, obs, _say)


def _distances(options: argparse.Namespace) -> None:
    check_blocks(options)
    check_sparse(options)
    if keeps_near_pairs(options):
        near = near_distances(options, _observations(options), _say, _progress)
        _write_text(pairs_as_csv(near, options.output), options.output)
        return
    if options.blocks:
        D = _distances_in_blocks(options)
    else:
        D = _estimated_distances(options, _observations(options))
    if options.output is not None and options.output.suffix.lower() == ".npz":
        _say(f"wrote {write_atomically(options.output, to_npz(D))}")
        return
    names = [name_to_csv(name) for name in D.names]
    text = pd.DataFrame(D.values, index=names, columns=names).to_csv(index_label="column")
    _write_text(text, options.output)


def _write_text(text: str, output: Path | None) -> None:
    if output is None:
        sys.stdout.write(text)
    else:
        _say(f"wrote {write_atomically(output, text.encode())}")


def _list_samples(_: argparse.Namespace) -> None:
    for name, title in sample_titles().items():
        sys.stdout.write(f"sample:{name}\t{title}\n")


def _estimated_distances(options: argparse.Namespace, obs: Observations) -> DistanceMatrix:
    _say(f"read {quoted(options.table)}: {obs!r}")
    for dropped in obs.dropped:
        _say(f"left out {quoted(dropped.name)}: {dropped.reason}")
    _say_time(options, obs)
    D = information_distances(
        obs, options.metric, on_degenerate="drop" if options.drop_degenerate else "error"
    )
    _say(_distance_summary(D))
    return D


def _say_time(options: argparse.Namespace, obs: Observations) -> None:
    """Say how long it takes where that is worth knowing; refuse what would take days."""
    times = getattr(options, "resamples", None) or getattr(options, "most", None) or 1
    is_scored = options.run is _score or getattr(options, "score", False)
    work = rerun(obs.n_rows, obs.n_columns, times, fit=is_scored)
    check_time(work, times, "graphs", LIMITS)
    if work.seconds > WORTH_SAYING:
        _say(f"this takes {work.words}")


def _distance_summary(D: DistanceMatrix) -> str:
    floor = "unknown" if D.noise_floor is None else f"{D.noise_floor:.4f}"
    return f"distances by {D.metric}: r_min {D.r_min:.4f}, r_max {D.r_max:.4f}, noise floor {floor}"


def _observations(options: argparse.Namespace) -> Observations:
    kinds = dict(_kind(text) for text in options.kind)
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


def _kind(text: str) -> tuple[str, Kind]:
    column, _, kind = text.rpartition("=")
    for known in get_args(Kind):
        if column and kind == known:
            return column, known
    raise DataError(f"--kind {text!r} is not COLUMN=KIND with one of {', '.join(get_args(Kind))}.")


def _unescape(options: argparse.Namespace) -> None:
    options.table = unescaped(options.table)
    unescape_columns(options)
    for name in ("weights", "test"):
        if getattr(options, name, None) is not None:
            setattr(options, name, unescaped(getattr(options, name)))
    for name in ("drop", "label", "kind"):
        setattr(options, name, [unescaped(text) for text in getattr(options, name)])


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


def _progress(done: int, total: int, what: str = "learning") -> None:
    with suppress(ZeroDivisionError):
        end = "\n" if done == total else ""
        print(f"\r{what}: {100 * done // total} %", end=end, file=sys.stderr, flush=True)


def _say(text: str) -> None:
    print(text, file=sys.stderr)
