"""Times of this package beside those of other ways to the same result; nothing here is asserted."""

from __future__ import annotations

import os
import platform
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version

Way = Callable[[], object]


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds that one way took: the middle one of several repeats, and the extremes."""

    median: float
    fastest: float
    slowest: float


def time_ways(ways: Mapping[str, Way], repeats: int) -> dict[str, Timing]:
    """Run each way once to warm up, then all of them in turn, so that load hits them alike."""
    for way in ways.values():
        way()
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(repeats):
        for name, way in ways.items():
            start = time.perf_counter()
            way()
            seconds[name].append(time.perf_counter() - start)
    return {
        name: Timing(statistics.median(taken), min(taken), max(taken))
        for name, taken in seconds.items()
    }


def markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table whose first column is text and whose others are numbers."""
    rule = ["---"] + ["---:"] * (len(head) - 1)
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, rule, *rows))


def timing_rows(timings: Mapping[str, Timing], base: str) -> list[list[str]]:
    """Return a row for each way: its times in milliseconds, and the ratio to those of ``base``."""
    unit = timings[base].median
    return [
        [name, *(milliseconds(t) for t in (timing.median, timing.fastest, timing.slowest)),
         f"{timing.median / unit:.2f}"]
        for name, timing in timings.items()
    ]  # fmt: skip


TIMING_HEAD = ("way", "median, ms", "fastest", "slowest", "times the first")


def milliseconds(seconds: float) -> str:
    return f"{1000 * seconds:,.2f}"


def surroundings(load_before: float) -> str:
    """Say what the numbers depend on, without naming the machine."""
    packages = ", ".join(
        f"{name} {version(name)}" for name in ("numpy", "numba", "scipy", "networkx")
    )
    return (
        f"Python {platform.python_version()}, {packages}; {os.cpu_count()} cores; load average of "
        f"the last minute {load_before:.2f} before and {os.getloadavg()[0]:.2f} after."
    )
