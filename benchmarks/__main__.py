"""Run all benchmarks: python -m benchmarks."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from benchmarks import fit, groups, initial_graph, learn, slider, stability, surroundings, sweep

RESULTS = Path(__file__).resolve().parent / "RESULTS.md"


def main() -> None:
    """Write the times to RESULTS.md, and the tables of docs/groups.md and docs/stability.md."""
    load_before = os.getloadavg()[0]
    parts = []
    for part in (initial_graph, learn, sweep, fit, slider):
        print(f"{part.__name__} ...", file=sys.stderr)
        parts.append(part.report())
    head = (
        "# Last results\n\nWritten by `make bench`; what is compared is told in "
        f"[README.md](README.md).\n\n{surroundings(load_before)}"
    )
    text = "\n\n".join([head, *parts]) + "\n"
    RESULTS.write_text(text, encoding="utf-8")
    print(text)
    print(f"{groups.__name__} ...", file=sys.stderr)
    groups.main()
    print(f"{stability.__name__} ...", file=sys.stderr)
    stability.main()


if __name__ == "__main__":
    main()
