"""``loopylatent stability``: how much of the graph comes back, as a table."""

from __future__ import annotations

import argparse
from pathlib import Path

from loopylatent.analysis.stability.resampling import SCHEMES, SHARE
from loopylatent.analysis.stability.runs import N_RESAMPLES, stability
from loopylatent.analysis.stability.table import support_csv, support_json
from loopylatent.api import settings_for
from loopylatent.cli.inputs import (
    CSV_OR_JSON,
    ENGINE,
    GIVEN_DISTANCES,
    TABLE,
    THRESHOLDS,
    add,
    all_distances,
    check_graph_file,
)
from loopylatent.cli.terminal import Parser, progress, say, write_text
from loopylatent.exporting.base import Provenance
from loopylatent.exporting.graph_files import export

SCHEME_HELP = (
    "what is drawn again: bootstrap (rows, the default), blocks (runs of rows in time order), "
    "subsample (a part of the rows), noise (errors of the distances, the default where only "
    "distances are given), orders (nothing: nodes are visited in random orders)"
)
BLOCK_HELP = "rows in a block (default: the cube root of their number)"
SHARE_HELP = f"share of the rows in a subsample (default: {SHARE})"
CONSENSUS_HELP = "write the graph of what at least half of the runs have; the ending says how"


def add_stability(command: Parser) -> None:
    """Describe the command."""
    command.description = (
        "Learn a graph, then learn again on resampled data, and say of every edge, hidden node and "
        "cycle in which share of the runs it was found again: its support, 0 to 1. Support is no "
        "probability; docs/stability.md says what it meant on known graphs."
    )
    command.epilog = "Example: loopylatent stability answers.csv --drop id -o support.csv"
    add(command, (*TABLE, *GIVEN_DISTANCES, *THRESHOLDS, "--order"))
    add(command, ["--seed"], help="for every draw (default: 0)")
    command.add_argument("--scheme", choices=SCHEMES, help=SCHEME_HELP)
    command.add_argument("--resamples", type=int, default=N_RESAMPLES, metavar="N",
                         help=f"how many times (default: {N_RESAMPLES})")  # fmt: skip
    command.add_argument("--block", type=int, metavar="N", help=BLOCK_HELP)
    command.add_argument("--share", type=float, default=SHARE, metavar="S", help=SHARE_HELP)
    add(command, ENGINE)
    command.add_argument("--consensus", type=Path, metavar="FILE", help=CONSENSUS_HELP)
    add(command, ["-o --output"], help=CSV_OR_JSON)
    command.set_defaults(run=_stability, endings=(".csv", ".json"))


def _stability(options: argparse.Namespace) -> None:
    """Learn again and again, and write the support of every part."""
    check_graph_file(options.consensus)
    D, obs = all_distances(options)
    thresholds = (options.r, options.Lambda, options.tau)
    how = {"method": options.method, "order": options.order, "seed": options.seed}
    found = stability(
        D if obs is None else obs.select(list(D.names)),
        settings_for(D, *thresholds, **how),
        metric=options.metric,
        scheme=options.scheme,
        n_resamples=options.resamples,
        seed=options.seed,
        block=options.block,
        share=options.share,
        progress=progress("learning"),
        engine=options.engine,
        scheduler=options.scheduler,
    )
    say(
        f"{found.n_used} runs by {found.scheme}: instability {found.instability:.3f} "
        "(0: always the same graph, 1: nothing came back)"
    )
    for reason, count in found.reasons.items():
        say(f"{count} runs failed: {reason}")
    if options.consensus is not None:
        graph = found.consensus()
        settings = {"consensus of runs": found.n_used, "scheme": found.scheme}
        origin = Provenance.of(graph, settings=settings, data_digest=D.digest)
        say(f"wrote {export(graph, options.consensus, provenance=origin)}")
    as_json = options.output is not None and options.output.suffix.lower() == ".json"
    write_text(support_json(found) if as_json else support_csv(found), options.output)
