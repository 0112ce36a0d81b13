"""Run all benchmarks, or those named: python -m benchmarks scale sweep."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping
from functools import partial

from benchmarks import machine
from benchmarks.app import first_graph, slider, slider_profile
from benchmarks.paper import newsgroup_texts
from benchmarks.peers import groups as peers_groups, held_out, recovery
from benchmarks.quality import groups, refinement, stability
from benchmarks.results import write_section
from benchmarks.speed import (
    core,
    fit,
    full_size,
    initial_graph,
    kernels,
    learn,
    regularized,
    rows,
    scale,
    side_by_side,
    stability as resamples,
    sweep,
)

REPORTS: Mapping[str, Callable[[], str]] = {
    "initial_graph": initial_graph.report,
    "learn": learn.report,
    "core": core.report,
    "rows": rows.report,
    "sweep": sweep.report,
    "fit": fit.report,
    "regularized": regularized.report,
    "first_graph": first_graph.report,
    "slider": slider.report,
    "slider_profile": slider_profile.report,
    "kernels": kernels.report,
    "resamples": resamples.report,
    "scale": scale.report,
    "side_by_side": side_by_side.report,
    "peers_held_out": held_out.report,
    "peers_recovery": recovery.report,
    "peers_groups": peers_groups.report,
    "newsgroup_texts": newsgroup_texts.report,
    "full_size": full_size.report,
}
"""Sections of RESULTS.md; the last seven take longest."""
PAGES: Mapping[str, Callable[[], None]] = {
    "groups": groups.main,
    "stability": stability.main,
    "refinement": refinement.main,
}
"""Benchmarks that write their tables into a page of the docs."""

ONLY_NAMED = ("full_size",)
"""Too much memory for a run of everything."""


def main() -> None:
    """Run the benchmarks and write each section when it is finished."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    every = (*REPORTS, *PAGES)
    parser.add_argument("names", nargs="*", choices=every, metavar="NAME", help=", ".join(every))
    parser.add_argument(
        "--against",
        metavar="FOLDER",
        default=os.environ.get(kernels.OLDER),
        help=f"older checkout to compare with (default: ${kernels.OLDER})",
    )
    chosen = parser.parse_args()
    compared = {
        "initial_graph": initial_graph.report,
        "core": core.report,
        "kernels": kernels.report,
        "first_graph": first_graph.report,
        "regularized": regularized.report,
        "resamples": resamples.report,
    }
    older = {name: partial(report, chosen.against) for name, report in compared.items()}
    reports = {**REPORTS, **older}
    for name in chosen.names or [name for name in every if name not in ONLY_NAMED]:
        print(f"{name} ...", file=sys.stderr)
        if name in PAGES:
            PAGES[name]()
            continue
        before = os.getloadavg()[0]
        text = reports[name]()
        write_section(name, f"{text}\n\n{machine(before)}", tuple(REPORTS))
        print(text)


if __name__ == "__main__":
    main()
