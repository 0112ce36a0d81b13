"""Reports from the command line: everything about a learned graph on one page."""

from __future__ import annotations

import argparse
from datetime import date
from pathlib import Path
from typing import Any

from loopylatent.analysis.matching import follow_names
from loopylatent.analysis.stability.runs import N_RESAMPLES
from loopylatent.cli.inputs import column_kind
from loopylatent.cli.terminal import progress, say
from loopylatent.distances.matrix import DistanceMatrix
from loopylatent.errors import DataError
from loopylatent.exporting.base import Extras
from loopylatent.exporting.project.file import open_project
from loopylatent.exporting.project.recipe import SAMPLE, Recipe, digest_of
from loopylatent.exporting.report.findings import examine
from loopylatent.exporting.report.page import write_report
from loopylatent.learning.learner import LearnResult
from loopylatent.tables.observations import Observations
from loopylatent.tables.samples import load_sample


def add_report_options(command: argparse._ActionsContainer) -> None:
    """Add what only a report reads."""
    title = "what to call the report; the name of the table without it"
    command.add_argument("--title", default="", help=title)
    command.add_argument(
        "--names",
        metavar="PROJECT",
        help="a saved project (.loopylatent) that gives hidden nodes their names",
    )
    command.add_argument(
        "--resamples",
        type=int,
        default=N_RESAMPLES,
        metavar="N",
        help="runs for the support of edges and hidden nodes "
        f"(default: {N_RESAMPLES}); 0 leaves it out",
    )


def check_report(options: argparse.Namespace, path: Path) -> None:
    """Refuse early what would fail after all the work."""
    if path.suffix.lower() not in (".html", ".htm"):
        raise DataError(f"a report is a page; end its name {str(path)!r} in .html.")
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
) -> None:
    """Compute everything that a report says, and write it."""
    named = () if options.names is None else open_project(options.names).names
    recipe = _recipe(options, result)
    sample = load_sample(recipe.sample_name) if recipe.source_kind == "sample" else None
    findings = examine(
        recipe,
        D,
        result,
        obs,
        known_groups=None if sample is None else sample.groups,
        n_resamples=options.resamples,
        max_hidden=options.max_hidden,
        progress=progress("reporting"),
    )
    file = write_report(
        findings,
        path,
        Extras(hidden_names=follow_names(named, result.graph).by_node),
        title=options.title or ("" if sample is None else sample.title),
        created=date.today().isoformat(),
    )
    say(f"wrote {file}")


def _recipe(options: argparse.Namespace, result: LearnResult) -> Recipe:
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
    if not options.from_distances:
        drops = options.on_degenerate == "drop"
        settings |= {"metric": options.metric, "drop_degenerate": drops}
    if options.table.startswith(SAMPLE):
        return Recipe(source=options.table, source_kind="sample", **settings)
    file = Path(options.table)
    settings |= {"source": file.name, "data_digest": digest_of(file.read_bytes())}
    if options.from_distances:
        return Recipe(source_kind="distances", n_samples=options.n_samples, **settings)
    return Recipe(
        source_kind="table",
        drop=tuple(options.drop),
        labels=tuple(options.label),
        kinds=tuple(dict(map(column_kind, options.kind)).items()),
        weights=options.weights,
        **settings,
    )
