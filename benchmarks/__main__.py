"""Run benchmarks: python -m benchmarks runs all, python -m benchmarks scale peers those named."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping

from benchmarks import (
    fit,
    groups,
    initial_graph,
    learn,
    newsgroup_texts,
    peers,
    rows,
    scale,
    side_by_side,
    slider,
    slider_profile,
    stability,
    surroundings,
    sweep,
)
from benchmarks.results import write_section

REPORTS: Mapping[str, Callable[[], str]] = {
    "initial_graph": initial_graph.report,
    "learn": learn.report,
    "rows": rows.report,
    "sweep": sweep.report,
    "fit": fit.report,
    "slider": slider.report,
    "slider_profile": slider_profile.report,
    "scale": scale.report,
    "side_by_side": side_by_side.report,
    "peers": peers.report,
    "newsgroup_texts": newsgroup_texts.report,
}
"""What goes into RESULTS.md; the last four take longest."""
PAGES: Mapping[str, Callable[[], None]] = {"groups": groups.main, "stability": stability.main}
"""What writes its tables into a page of docs."""


def main() -> None:
    """Measure, and write each section as soon as it is there."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    every = (*REPORTS, *PAGES)
    parser.add_argument("names", nargs="*", choices=every, metavar="NAME", help=", ".join(every))
    for name in parser.parse_args().names or every:
        print(f"{name} ...", file=sys.stderr)
        if name in PAGES:
            PAGES[name]()
            continue
        before = os.getloadavg()[0]
        text = REPORTS[name]()
        write_section(name, f"{text}\n\n{surroundings(before)}", tuple(REPORTS))
        print(text)


if __name__ == "__main__":
    main()
