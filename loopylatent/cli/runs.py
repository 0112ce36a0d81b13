"""``loopylatent sweep`` and ``stability``: many graphs, summarised in a table."""

from __future__ import annotations

import argparse

from loopylatent.analysis.stability.resampling import SCHEMES, SHARE, Resampling
from loopylatent.analysis.stability.runs import N_RESAMPLES, stability, support_csv, support_json
from loopylatent.analysis.sweep.points import MOST_RADII
from loopylatent.analysis.sweep.scores import TEST_SHARE, Failed
from loopylatent.analysis.sweep.suggest import choose
from loopylatent.analysis.sweep.table import Sweep, sweep
from loopylatent.cli import opt
from loopylatent.cli.inputs import all_distances, check_graph_file
from loopylatent.cli.terminal import progress, say, write_text
from loopylatent.distances.matrix import DistanceMatrix
from loopylatent.errors import DataError
from loopylatent.exporting.graph_files import Provenance, export
from loopylatent.learning.initial_graph import settings_for
from loopylatent.tables.files import table_to_csv


def _sweep(options: argparse.Namespace) -> None:
    D, obs = all_distances(options)
    if options.score and obs is None:
        raise DataError("--score needs the rows. Use the table instead of its distances.")
    found = sweep(
        D, options.r, options.Lambda, options.tau, method=options.method, order=options.order,
        seed=options.seed, most=options.most, obs=obs if options.score else None,
        test_share=options.test_share, progress=progress(),
        engine=options.engine, scheduler=options.scheduler,
    )  # fmt: skip
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
                say(f"  warning: {one.warning}")


def _stability(options: argparse.Namespace) -> None:
    check_graph_file(options.consensus)
    D, obs = all_distances(options)
    thresholds = (options.r, options.Lambda, options.tau)
    how = {"method": options.method, "order": options.order, "seed": options.seed}
    again = Resampling(
        options.metric, options.scheme, options.resamples, options.seed, options.block,
        options.share, options.engine, options.scheduler,
    )  # fmt: skip
    table, learning = D if obs is None else obs.select(list(D.names)), progress("learning")
    found = stability(table, settings_for(D, *thresholds, **how), again, progress=learning)
    say(
        f"{found.n_used} resamples by {found.scheme}: instability {found.instability:.3f} "
        "(0: always the same graph, 1: nothing in common)"
    )
    for reason, count in found.reasons.items():
        say(f"{count} resamples failed: {reason}")
    if options.consensus is not None:
        graph = found.consensus()
        settings = {"consensus of resamples": found.n_used, "scheme": found.scheme}
        origin = Provenance(settings, D.digest, graph.digest)
        say(f"wrote {export(graph, options.consensus, provenance=origin)}")
    as_json = options.output is not None and options.output.suffix.lower() == ".json"
    write_text(support_json(found) if as_json else support_csv(found), options.output)


SWEEP = {
    "--r": opt.number("radii (default: those between r_min and r_max at which the initial graph "
                      "changes)", nargs="+", metavar="R"),
    "--Lambda": opt.number("margins of the quartet test, in [0, 1)", nargs="+", metavar="L"),
    "--tau": opt.number("minimum edge lengths", nargs="+", metavar="T"),
    "--most": opt.whole(f"without --r: maximum number of radii, evenly spaced (default: "
                        f"{MOST_RADII})", default=MOST_RADII),
    "--method": opt.method("grouping method (default: quartet)"),
    "--order": opt.LEARN_HOW["--order"],
    "--seed": opt.seed("seed for the random order and the choice of test rows (default: 0)"),
    "--score": opt.flag("learn and fit each setting on training rows and score it on test rows; "
                        "adds log-likelihood, BIC and perplexity"),
    "--test-share": opt.number("with --score: share of the rows that are held out for testing "
                               f"(default: {TEST_SHARE})", default=TEST_SHARE, metavar="S"),
    **opt.ENGINE,
    **opt.GIVEN_DISTANCES,
}  # fmt: skip
STABILITY = {
    "--seed": opt.seed("seed for resampling (default: 0)"),
    "--scheme": opt.text("what is resampled: bootstrap (rows, the default), blocks (blocks of rows "
                         "in time order), subsample (a part of the rows without replacement), "
                         "noise (sampling error of the distances, the default with "
                         "--from-distances) or orders (only the order of visits)",
                         choices=SCHEMES),
    "--resamples": opt.whole(f"number of resamples (default: {N_RESAMPLES})", default=N_RESAMPLES),
    "--block": opt.whole("with --scheme blocks: rows per block (default: the cube root of the "
                         "number of rows)"),
    "--share": opt.number("with --scheme subsample: share of the rows (default: "
                          f"{SHARE})", default=SHARE, metavar="S"),
    **opt.ENGINE,
    "--consensus": opt.file("also write the consensus graph (parts with support of at least 0.5); "
                            "the extension sets the format"),
}  # fmt: skip
COMMANDS = {
    "sweep": opt.Command(
        "Learn at many thresholds and write one row per graph: edges, hidden nodes, cycles, girth, "
        "components, stuck visits. With several values of several thresholds, all combinations are "
        "used. Omitted Lambda and tau come from the default rule.",
        "Examples: loopylatent sweep answers.csv --drop id --score -o sweep.csv; "
        "loopylatent sweep sample:bfi25 --r 3 --Lambda 0 0.01 0.02 --tau 0.1 0.2",
        opt.TABLE | SWEEP | opt.CSV_OR_JSON,
        _sweep, (".csv", ".json"),
    ),
    "stability": opt.Command(
        "Learn a graph, learn again from resampled data, and write the support of every edge, "
        "hidden node and cycle: the share of resamples that contain it, 0 to 1. Support is not a "
        "probability; docs/guide/stability.md compares it with known graphs.",
        "Example: loopylatent stability answers.csv --drop id -o support.csv",
        opt.TABLE | opt.GIVEN_DISTANCES | opt.LEARN_HOW | STABILITY | opt.CSV_OR_JSON,
        _stability, (".csv", ".json"),
    ),
}  # fmt: skip
