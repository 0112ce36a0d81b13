"""Timing of this package and of alternatives that compute the same; no test asserts a time."""

from __future__ import annotations

import os
import platform
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version

os.environ.setdefault("LOOPYLATENT_COMPILE", "always")  # small inputs would be interpreted

Variant = Callable[[], object]


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds over several repeats."""

    median: float
    fastest: float
    slowest: float


def time_variants(variants: Mapping[str, Variant], repeats: int) -> dict[str, Timing]:
    """Run each variant once to warm up, then all in turn, so that load affects them equally."""
    for variant in variants.values():
        variant()
    seconds: dict[str, list[float]] = {name: [] for name in variants}
    for _ in range(repeats):
        for name, variant in variants.items():
            start = time.perf_counter()
            variant()
            seconds[name].append(time.perf_counter() - start)
    return {
        name: Timing(statistics.median(taken), min(taken), max(taken))
        for name, taken in seconds.items()
    }


def markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table; all columns but the first are aligned right."""
    rule = ["---"] + ["---:"] * (len(head) - 1)
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, rule, *rows))


def timing_rows(timings: Mapping[str, Timing], base: str) -> list[list[str]]:
    """Return a row per variant: times in milliseconds, and the ratio of its median to ``base``."""
    unit = timings[base].median
    return [
        [name, *(milliseconds(t) for t in (timing.median, timing.fastest, timing.slowest)),
         f"{timing.median / unit:.2f}"]
        for name, timing in timings.items()
    ]  # fmt: skip


TIMING_HEAD = ("variant", "median, ms", "fastest", "slowest", "ratio")


def milliseconds(seconds: float) -> str:
    return f"{1000 * seconds:,.2f}"


def machine(load_before: float) -> str:
    """Describe what the times depend on: versions, cores, load."""
    packages = ", ".join(
        f"{name} {version(name)}" for name in ("numpy", "numba", "scipy", "networkx")
    )
    return (
        f"Python {platform.python_version()}, {packages}; {os.cpu_count()} cores; 1-minute load "
        f"average {load_before:.2f} before and {os.getloadavg()[0]:.2f} after."
    )
