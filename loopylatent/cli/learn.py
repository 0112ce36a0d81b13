"""``loopylatent learn``, ``distances``, ``score`` and ``report``."""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from loopylatent.analysis.matching import follow_names
from loopylatent.analysis.stability.runs import N_RESAMPLES
from loopylatent.api import export, learn
from loopylatent.cli import opt
from loopylatent.cli.inputs import (
    check_blocks,
    column_kind,
    distances_and_rows,
    distances_as_csv,
    estimated_distances,
    read_observations,
)
from loopylatent.cli.terminal import progress, say, write_text
from loopylatent.compute.files import write_atomically
from loopylatent.compute.values import check_seed
from loopylatent.distances.files import to_npz
from loopylatent.distances.matrix import DistanceMatrix
from loopylatent.distances.sparse import Distances
from loopylatent.errors import DataError
from loopylatent.exporting.graph_files import WRITERS, Extras, format_of, provenance, to_edge_csv
from loopylatent.exporting.project.file import SAMPLE, Recipe, digest_of, open_project
from loopylatent.exporting.report.findings import examine
from loopylatent.exporting.report.page import write_report
from loopylatent.inference.evidence import rows_like
from loopylatent.inference.fit import fit_parameters
from loopylatent.learning.learner import LearnResult
from loopylatent.learning.refinement import RefinedResult
from loopylatent.learning.regularized import RegularizedResult
from loopylatent.tables.observations import Observations
from loopylatent.tables.read import read_frame
from loopylatent.tables.samples import load_sample


def _learn(options: argparse.Namespace) -> None:
    """Run ``learn`` or ``report``, which has fewer options."""
    output: Path | None = getattr(options, "output", None)
    if hasattr(options, "blocks"):
        check_blocks(options)
    if output is not None:
        format_of(output, options.format)
    if options.report is not None:
        _check_report(options, options.report)
    D, obs = distances_and_rows(options)
    result = _learned(options, D, obs)
    if output is not None:
        say(f"wrote {export(result, output, format=options.format)}")
    if options.report is not None and isinstance(D, DistanceMatrix):
        _make_report(options, options.report, D, obs, result)
    if output is None and options.report is None:
        sys.stdout.write(to_edge_csv(result.graph, provenance(result)))


def _learned(options: argparse.Namespace, D: Distances, obs: Observations | None) -> LearnResult:
    result = learn(
        D, options.r, options.Lambda, options.tau, method=options.method, order=options.order,
        seed=options.seed, trace=False, progress=progress("learning"), obs=obs,
        regularize=options.regularize, max_hidden=options.max_hidden,
        refine=getattr(options, "refine", None),
    )  # fmt: skip
    graph, thresholds = result.graph, result.settings.thresholds
    say(
        f"r {thresholds.r:.6g}, Lambda {thresholds.Lambda:.6g}, tau {thresholds.tau:.6g}: "
        f"{graph.n_observed} observed, {graph.n_hidden} hidden, {graph.n_edges} edges, "
        f"{graph.n_cycles} cycles, {graph.n_components} components"
    )
    if isinstance(result, RefinedResult):
        _say_refinement(result)
    if result.n_stuck:
        say(
            f"in {result.n_stuck} of {result.n_visits} visits the quartet tests conflict; a "
            "larger Lambda gives fewer conflicts"
        )
    if result.n_capped:
        say(f"in {result.n_capped} visits only the nearest outsiders were tested")
    return result


def _say_refinement(result: RefinedResult) -> None:
    history = result.score_history
    say(
        f"refined by {len(history) - 1} moves of {len(result.moves)} tried; score "
        f"{history[0]:.1f} to {history[-1]:.1f}"
    )
    if result.evidence is not None:
        weak = sum(not one.supported for one in result.evidence)
        say(f"{weak} of {len(result.evidence)} edges, hidden nodes and cycles lack support")


def _distances(options: argparse.Namespace) -> None:
    check_blocks(options)
    D, _ = distances_and_rows(options)
    is_packed = options.output is not None and options.output.suffix.lower() == ".npz"
    if is_packed and isinstance(D, DistanceMatrix):
        say(f"wrote {write_atomically(options.output, to_npz(D))}")
    else:
        write_text(distances_as_csv(D), options.output)


def _score(options: argparse.Namespace) -> None:
    check_seed(options.seed)
    train, test = _train_and_test(options)
    result = _learned(options, estimated_distances(options, train, fit=True), train)
    model = result.model if isinstance(result, RegularizedResult | RefinedResult) else None
    if model is None:
        model = fit_parameters(result.graph, train)
    how = "exact inference" if model.is_exact else "loopy belief propagation"
    end = "converged" if model.converged else "not converged"
    note = f"; {model.note}" if model.note else ""
    say(f"{model.kind} model, {model.df} parameters, {how}, {end}{note}")
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
        raise DataError(f"--test-share {options.test_share:g} must be between 0 and 1.")
    order = np.random.default_rng(options.seed).permutation(obs.n_rows)
    n_test = round(options.test_share * obs.n_rows)
    if n_test in (0, obs.n_rows):
        raise DataError(
            f"--test-share {options.test_share:g} of {obs.n_rows} rows leaves no "
            f"{'test' if n_test == 0 else 'training'} rows. Use another share."
        )
    train = obs.take(np.sort(order[n_test:])).usable(options.on_degenerate)
    return train, obs.take(np.sort(order[:n_test]))


def _check_report(options: argparse.Namespace, path: Path) -> None:
    """Raise before the computation if the report could not be written."""
    if getattr(options, "refine", None) is not None:
        raise DataError("Reports show the learned graph. Omit --refine or --report.")
    if path.suffix.lower() not in (".html", ".htm"):
        raise DataError(f"The report {str(path)!r} must have the extension .html.")
    if options.resamples < 0 or options.resamples == 1:
        raise DataError(f"--resamples {options.resamples} must be 0, or at least 2.")
    if options.names is not None:
        open_project(options.names)  # raises if it is not a project


def _make_report(
    options: argparse.Namespace,
    path: Path,
    D: DistanceMatrix,
    obs: Observations | None,
    result: LearnResult,
) -> None:
    named = () if options.names is None else open_project(options.names).names
    recipe = _recipe(options, result)
    sample = load_sample(recipe.sample_name) if recipe.source_kind == "sample" else None
    findings = examine(
        recipe, D, result, obs, known_groups=None if sample is None else sample.groups,
        n_resamples=options.resamples, max_hidden=options.max_hidden,
        progress=progress("reporting"),
    )  # fmt: skip
    extras = Extras(hidden_names=follow_names(named, result.graph).by_node)
    title = options.title or ("" if sample is None else sample.title)
    today = date.today().isoformat()
    say(f"wrote {write_report(findings, path, extras, title=title, created=today)}")


def _recipe(options: argparse.Namespace, result: LearnResult) -> Recipe:
    settings: dict[str, Any] = asdict(result.settings.thresholds) | {
        "method": result.settings.method,
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


ROWS_OR_DISTANCES = opt.TABLE | opt.GIVEN_DISTANCES | opt.LEARN_HOW | opt.PENALTY
REPORT = {
    "--title": opt.text("title of the report (default: the name of the table)", default=""),
    "--names": opt.text("take the names of hidden nodes from a saved project (.loopylatent)",
                        metavar="PROJECT"),
    "--resamples": opt.whole("number of resamples for the support of edges and hidden nodes "
                             f"(default: {N_RESAMPLES}); 0 for none", default=N_RESAMPLES),
}  # fmt: skip
COMMANDS = {
    "learn": opt.Command(
        "Learn a graph from a table. Omitted thresholds come from the default rule.",
        "Example: loopylatent learn answers.csv --drop id --r 5 -o graph.graphml",
        ROWS_OR_DISTANCES | opt.REFINE | opt.CUTOFF | opt.BLOCKS | {
            "-o --output": opt.file(
                "file for the graph; the extension sets the format "
                f"({', '.join('.' + name for name in WRITERS)}). "
                "Default: edges as CSV on standard output"
            ),
            "--format": opt.text("format, if the extension is another one", choices=tuple(WRITERS)),
            "--report": opt.file("also write a report (.html) on the graph"),
            "for --report": REPORT,
        },
        _learn,
    ),
    "report": opt.Command(
        "Learn a graph and write a self-contained, printable HTML report: data, settings, graph, "
        "hidden nodes, groups, curve over r, loop test, scores, support, and a script that "
        "reproduces the graph.",
        "Example: loopylatent report answers.csv --drop id --r 5 -o report.html",
        ROWS_OR_DISTANCES | REPORT
        | {"-o --output": opt.file("an .html file", required=True, dest="report")},
        _learn,
    ),
    "distances": opt.Command(
        "Estimate the distances between all columns and write them as CSV, or as .npz with their "
        "precision. Prints r_min, r_max and the noise floor.",
        "Example: loopylatent distances answers.csv --drop id -o distances.csv",
        opt.TABLE | opt.CUTOFF | opt.BLOCKS | {"-o --output": opt.file("a .csv or .npz file")},
        _distances, (".csv", ".npz"),
    ),
    "score": opt.Command(
        "Learn a graph, fit its parameters, and score how well the model predicts held-out rows. "
        "Lower perplexity is better.",
        "Example: loopylatent score answers.csv --test later.csv --r 5",
        opt.TABLE | opt.LEARN_HOW | opt.PENALTY | opt.REFINE | {
            "--test": opt.text("table of test rows, with the same columns (default: TABLE is "
                               "split at random)", metavar="FILE"),
            "--test-share": opt.number("share of the rows of TABLE that are held out for testing "
                                       "(default: 0.5)", default=0.5, metavar="S"),
        } | opt.CSV,
        _score, (".csv",),
    ),
}  # fmt: skip
