"""``loopylatent report``: everything about a learned graph on one page."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path
from typing import Any

from loopylatent.analysis.matching import follow_names
from loopylatent.analysis.stability.runs import N_RESAMPLES
from loopylatent.compute.arrays import Progress
from loopylatent.distances.matrix import DistanceMatrix
from loopylatent.errors import DataError
from loopylatent.exporting.base import Extras
from loopylatent.exporting.project.file import open_project
from loopylatent.exporting.project.recipe import SAMPLE, Recipe, digest_of
from loopylatent.exporting.report.findings import examine
from loopylatent.exporting.report.page import write_report
from loopylatent.learning.learner import LearnResult
from loopylatent.tables.kinds import Kind
from loopylatent.tables.observations import Observations
from loopylatent.tables.samples import load_sample

REPORT_HELP = "also write a report of everything about the graph, an .html page"
NAMES_HELP = "a saved project (.loopylatent) that gives hidden nodes their names"
RESAMPLES_HELP = (
    f"runs for the support of edges and hidden nodes (default: {N_RESAMPLES}); 0 leaves it out"
)
TITLE_HELP = "what to call the report; the name of the table without it"


def add_report(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
    add_options: Callable[[argparse.ArgumentParser], None],
    run: Callable[[argparse.Namespace], None],
) -> None:
    """Add the command to the parser; ``add_options`` adds those that it shares with learn."""
    command = commands.add_parser(
        "report",
        help="learn a graph and write everything about it to one page",
        description="Learn a graph, and write a page that opens anywhere, also without a network, "
        "and prints: the data, the settings, the graph, hidden nodes, groups, the curve and the "
        "test of loops, scores, support, and the script that gives the same graph.",
        epilog="Example: loopylatent report answers.csv --drop id --r 5 -o report.html",
    )
    add_options(command)
    add_report_options(command)
    command.add_argument(
        "-o", "--output", type=Path, required=True, metavar="FILE", help="an .html page"
    )
    command.set_defaults(run=run)


def add_report_options(command: argparse._ActionsContainer) -> None:
    """Add what only a report reads."""
    command.add_argument("--title", default="", help=TITLE_HELP)
    command.add_argument("--names", metavar="PROJECT", help=NAMES_HELP)
    command.add_argument(
        "--resamples", type=int, default=N_RESAMPLES, metavar="N", help=RESAMPLES_HELP
    )


def check_report(options: argparse.Namespace, path: Path) -> None:
    """Refuse early what would fail after all the work."""
    if path.suffix.lower() not in (".html", ".htm"):
        raise DataError(f"a report is a page; end its name {str(path)!r} in .html.")
    if not path.absolute().parent.is_dir():
        raise DataError(f"folder {str(path.parent)!r} does not exist; create it first.")
    if options.resamples < 0 or options.resamples == 1:
        raise DataError(f"--resamples {options.resamples} is too few; give 0, or 2 and more.")
    if options.names is not None:
        open_project(options.names)  # refuses what is no project


def make_report(
    options: argparse.Namespace,
    path: Path,
    D: DistanceMatrix,
    obs: Observations | None,
    result: LearnResult,
    kinds: Mapping[str, Kind],
    progress: Progress | None,
) -> Path:
    """Compute everything that a report says, and write it."""
    named = () if options.names is None else open_project(options.names).names
    recipe = recipe_of(options, result, kinds)
    is_sample = recipe.source_kind == "sample"
    sample = load_sample(recipe.sample_name) if is_sample else None
    findings = examine(
        recipe,
        D,
        result,
        obs,
        known_groups=None if sample is None else sample.groups,
        n_resamples=options.resamples,
        max_hidden=options.max_hidden,
        progress=progress,
    )
    return write_report(
        findings,
        path,
        Extras(hidden_names=follow_names(named, result.graph).by_node),
        title=options.title or ("" if sample is None else sample.title),
        created=date.today().isoformat(),
    )


def recipe_of(
    options: argparse.Namespace, result: LearnResult, kinds: Mapping[str, Kind]
) -> Recipe:
    """Return the recipe of what a command line has learned."""
    thresholds = result.settings.thresholds
    settings: dict[str, Any] = {
        "r": thresholds.r,
        "Lambda": thresholds.Lambda,
        "tau": thresholds.tau,
        "method": options.method,
        "order": options.order,
        "seed": options.seed,
        "regularize": options.regularize or "none",
    }
    if options.table.startswith(SAMPLE):
        own = {"metric": options.metric, "drop_degenerate": options.drop_degenerate}
        return Recipe(source=options.table, source_kind="sample", **own, **settings)
    file = Path(options.table)
    settings |= {"source": file.name, "data_digest": digest_of(file.read_bytes())}
    if options.from_distances:
        return Recipe(source_kind="distances", n_samples=options.n_samples, **settings)
    return Recipe(
        source_kind="table",
        drop=tuple(options.drop),
        labels=tuple(options.label),
        kinds=tuple(kinds.items()),
        weights=options.weights,
        metric=options.metric,
        drop_degenerate=options.drop_degenerate,
        **settings,
    )
