"""``loopylatent sweep`` and ``stability``: graphs learned again and again, as a table."""

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
        raise DataError("--score needs the rows; give the table instead of its distances.")
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
                say(f"  beware: {one.warning}")


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
        f"{found.n_used} runs by {found.scheme}: instability {found.instability:.3f} "
        "(0: always the same graph, 1: nothing came back)"
    )
    for reason, count in found.reasons.items():
        say(f"{count} runs failed: {reason}")
    if options.consensus is not None:
        graph = found.consensus()
        settings = {"consensus of runs": found.n_used, "scheme": found.scheme}
        origin = Provenance(settings, D.digest, graph.digest)
        say(f"wrote {export(graph, options.consensus, provenance=origin)}")
    as_json = options.output is not None and options.output.suffix.lower() == ".json"
    write_text(support_json(found) if as_json else support_csv(found), options.output)


SWEEP = {
    "--r": opt.number("radii to look at; without them those from r_min to r_max at which the "
                      "initial graph changes", nargs="+", metavar="R"),
    "--Lambda": opt.number("margins, 0 to below 1", nargs="+", metavar="L"),
    "--tau": opt.number("shortest edges", nargs="+", metavar="T"),
    "--most": opt.whole(f"without --r: at most this many radii, evenly chosen (default: "
                        f"{MOST_RADII})", default=MOST_RADII),
    "--method": opt.method("how hidden nodes are found (default: quartet)"),
    "--order": opt.LEARN_HOW["--order"],
    "--seed": opt.seed("for the random order and for the rows kept apart (default: 0)"),
    "--score": opt.flag("learn and fit each setting on one part of the rows and score it on the "
                        "other; adds likelihoods, BIC and perplexities"),
    "--test-share": opt.number("with --score: share of the rows that are kept apart (default: "
                               f"{TEST_SHARE})", default=TEST_SHARE, metavar="S"),
    **opt.ENGINE,
    "--from-distances": opt.flag("TABLE is a matrix of distances"),
    "--n-samples": opt.whole("rows behind given distances"),
}  # fmt: skip
STABILITY = {
    "--seed": opt.seed("for every draw (default: 0)"),
    "--scheme": opt.text("what is drawn again: bootstrap (rows, the default), blocks (runs of rows "
                         "in time order), subsample (a part of the rows), noise (errors of the "
                         "distances, the default where only distances are given), orders (nothing: "
                         "nodes are visited in random orders)", choices=SCHEMES),
    "--resamples": opt.whole(f"how many times (default: {N_RESAMPLES})", default=N_RESAMPLES),
    "--block": opt.whole("rows in a block (default: the cube root of their number)"),
    "--share": opt.number(f"share of the rows in a subsample (default: {SHARE})", default=SHARE,
                          metavar="S"),
    **opt.ENGINE,
    "--consensus": opt.file("write the graph of what at least half of the runs have; the ending "
                            "says how"),
}  # fmt: skip
COMMANDS = {
    "sweep": opt.Command(
        "Learn at many thresholds and write one row for each: edges, hidden nodes, cycles, girth, "
        "components, stuck visits. Several values of several thresholds give every combination. "
        "Lambda and tau, where they are not given, come from the default rule.",
        "Examples: loopylatent sweep answers.csv --drop id --score -o sweep.csv; "
        "loopylatent sweep sample:bfi25 --r 3 --Lambda 0 0.01 0.02 --tau 0.1 0.2",
        opt.TABLE | SWEEP | opt.CSV_OR_JSON,
        _sweep, (".csv", ".json"),
    ),
    "stability": opt.Command(
        "Learn a graph, then learn again on resampled data, and say of every edge, hidden node and "
        "cycle in which share of the runs it was found again: its support, 0 to 1. Support is no "
        "probability; docs/stability.md says what it meant on known graphs.",
        "Example: loopylatent stability answers.csv --drop id -o support.csv",
        opt.TABLE | opt.GIVEN_DISTANCES | opt.LEARN_HOW | STABILITY | opt.CSV_OR_JSON,
        _stability, (".csv", ".json"),
    ),
}  # fmt: skip
