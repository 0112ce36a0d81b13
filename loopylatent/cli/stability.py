"""``loopylatent stability``: how much of the graph comes back, as a table."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import get_args

from loopylatent.analysis.stability.resampling import SCHEMES, SHARE
from loopylatent.analysis.stability.runs import N_RESAMPLES, Stability, stability
from loopylatent.analysis.stability.table import support_csv, support_json
from loopylatent.api import settings_for
from loopylatent.cli.inputs import add_engine
from loopylatent.compute.arrays import Progress
from loopylatent.compute.files import write_atomically
from loopylatent.distances.matrix import DistanceMatrix
from loopylatent.exporting.base import Provenance
from loopylatent.exporting.graph_files import export
from loopylatent.settings import Order
from loopylatent.tables.observations import Observations

SCHEME_HELP = (
    "what is drawn again: bootstrap (rows, the default), blocks (runs of rows in time order), "
    "subsample (a part of the rows), noise (errors of the distances, the default where only "
    "distances are given), orders (nothing: nodes are visited in random orders)"
)
RESAMPLES_HELP = f"how many times (default: {N_RESAMPLES})"
BLOCK_HELP = "rows in a block (default: the cube root of their number)"
SHARE_HELP = f"share of the rows in a subsample (default: {SHARE})"
CONSENSUS_HELP = "write the graph of what at least half of the runs have; the ending says how"
OUTPUT_HELP = "a .csv or .json file; without it CSV goes to standard output"


def add_stability(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
    add_options: Callable[[argparse.ArgumentParser], None],
    run: Callable[[argparse.Namespace], None],
) -> None:
    """Add the command to the parser; ``add_options`` adds the table and the thresholds."""
    command = commands.add_parser(
        "stability",
        help="say how much of the graph comes back when the data are drawn again",
        description="Learn a graph, then learn again on resampled data, and say of every edge, "
        "hidden node and cycle in which share of the runs it was found again: its support, 0 to "
        "1. Support is no probability; docs/guide/stability.md says what it meant on known graphs.",
        epilog="Example: loopylatent stability answers.csv --drop id -o support.csv",
    )
    add_options(command)
    command.add_argument("--order", choices=get_args(Order), default="degree",
                         help="order of the visits (default: degree)")  # fmt: skip
    command.add_argument("--seed", type=int, default=0, help="for every draw (default: 0)")
    command.add_argument("--scheme", choices=SCHEMES, help=SCHEME_HELP)
    command.add_argument(
        "--resamples", type=int, default=N_RESAMPLES, metavar="N", help=RESAMPLES_HELP
    )
    command.add_argument("--block", type=int, metavar="N", help=BLOCK_HELP)
    command.add_argument("--share", type=float, default=SHARE, metavar="S", help=SHARE_HELP)
    add_engine(command)
    command.add_argument("--consensus", type=Path, metavar="FILE", help=CONSENSUS_HELP)
    command.add_argument("-o", "--output", type=Path, metavar="FILE", help=OUTPUT_HELP)
    command.set_defaults(run=run, endings=(".csv", ".json"))


def run_stability(
    options: argparse.Namespace,
    D: DistanceMatrix,
    obs: Observations | None,
    say: Callable[[str], None],
    progress: Progress | None = None,
) -> None:
    """Learn again and again, and write the support of every part."""
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
        progress=progress,
        engine=options.engine,
        scheduler=options.scheduler,
    )
    say(_summary(found))
    if options.consensus is not None:
        graph = found.consensus()
        settings = {"consensus of runs": found.n_used, "scheme": found.scheme}
        origin = Provenance.of(graph, settings=settings, data_digest=D.digest)
        say(f"wrote {export(graph, options.consensus, provenance=origin)}")
    if options.output is None:
        sys.stdout.write(support_csv(found))
    else:
        as_json = options.output.suffix.lower() == ".json"
        text = support_json(found) if as_json else support_csv(found)
        say(f"wrote {write_atomically(options.output, text.encode())}")


def _summary(found: Stability) -> str:
    lines = [
        f"{found.n_used} runs by {found.scheme}: instability {found.instability:.3f} "
        "(0: always the same graph, 1: nothing came back)"
    ]
    lines += [f"{count} runs failed: {reason}" for reason, count in found.reasons.items()]
    return "\n".join(lines)
