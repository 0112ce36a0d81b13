"""Scaling with the number of columns and rows, and with the size of a ball or neighbourhood.

Times are CPU times over all threads, which on a busy machine are more reliable than wall time.
Sizes that would take longer than `TIME_LIMIT` are left out.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import loopylatent as ll
from benchmarks import markdown_table
from benchmarks.log_plot import Line, Panel, log_plot
from benchmarks.paper.words import topic_words
from benchmarks.processes import in_a_process, peak_megabytes
from benchmarks.results import put
from benchmarks.speed.kernel_cases import local_tree
from benchmarks.speed.learn import METHODS
from loopylatent.graph import LatentGraph
from loopylatent.settings import FitSettings

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = DOCS / "development" / "scale.md"
PICTURE = DOCS / "images" / "scale.svg"

COLUMNS = (100, 200, 500, 1_000, 2_000)
MANY_COLUMNS = (5_000, 10_000, 20_000, 50_000)
ROWS = (1_000, 10_000, 100_000, 1_000_000)
BALLS = (10, 20, 50, 100, 200, 500)
BALLS_COLUMNS = 1_000
MEMBERS = (10, 20, 50, 100, 200, 400)
EACH = 10
"""Columns attached to one hidden variable."""
FEW_ROWS, FEW_COLUMNS = 2_000, 100
RADIUS = 2.0
CUTOFF = 3.5
TIME_LIMIT = 60.0
"""CPU seconds for one run."""
SHORT = 1.0
"""Shorter runs are repeated."""
FITTED = 3
"""Number of largest sizes used to fit the exponent."""


@dataclass(frozen=True, slots=True)
class Growth:
    """CPU seconds of one task at several sizes."""

    task: str
    sizes: tuple[int, ...]
    seconds: tuple[float, ...]

    @property
    def exponent(self) -> float:
        """Least-squares slope of log(seconds) over log(size) at the largest sizes."""
        x, y = np.log(self.sizes[-FITTED:]), np.log(self.seconds[-FITTED:])
        return float(np.polyfit(x, y, 1)[0])


Tasks = Mapping[str, Callable[[], object]]
"""Tasks by name, in the order in which they run."""


def cpu_seconds(task: Callable[[], object], repeats: int = 3) -> float:
    """Return the minimum over a few runs; a long task runs once."""
    taken: list[float] = []
    while len(taken) < repeats and (not taken or taken[-1] < SHORT):
        start = time.process_time()
        task()
        taken.append(time.process_time() - start)
    return min(taken)


def grow(sizes: Sequence[int], tasks_at: Callable[[int], Tasks]) -> list[Growth]:
    """Measure every task at every size within the time limit."""
    for task in tasks_at(sizes[0]).values():
        task()
    found: dict[str, dict[int, float]] = {}
    for size in sizes:
        for name, task in tasks_at(size).items():
            earlier = found.setdefault(name, {})
            if not earlier or _expected(earlier, size) < TIME_LIMIT:
                earlier[size] = cpu_seconds(task)
    return [Growth(name, tuple(one), tuple(one.values())) for name, one in found.items()]


def _expected(earlier: Mapping[int, float], size: int) -> float:
    """Extrapolate the time of the next size from the last two."""
    sizes, seconds = tuple(earlier)[-2:], tuple(earlier.values())[-2:]
    slope = float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0]) if len(sizes) > 1 else 1.0
    return float(seconds[-1] * (size / sizes[-1]) ** slope)


# Tasks -------------------------------------------------------------------------------------


def ring_rows(n_rows: int, n_columns: int, seed: int = 0) -> ll.Observations:
    """Binary columns, ten on each hidden variable of a chain."""
    rng = np.random.default_rng(seed)
    flips = rng.random((n_rows, n_columns // EACH)) < 0.15
    hidden = np.logical_xor.accumulate(flips, axis=1)
    own = rng.random((n_rows, n_columns), dtype=np.float32) < 0.15
    values = np.repeat(hidden, EACH, axis=1) ^ own
    first = ll.Observations.from_array(values[:100].astype(np.int8))
    return first.with_values(values.astype(np.float64))


def ring_graph(names: tuple[str, ...]) -> LatentGraph:
    """Connect the hidden variables of these columns in a ring: cliques of three nodes."""
    p, n_hidden = len(names), len(names) // EACH
    edges = [(k, p + k // EACH) for k in range(p)]
    edges += [(p + k, p + (k + 1) % n_hidden) for k in range(n_hidden)]
    return LatentGraph.build(names, n_hidden, edges, np.full(len(edges), 0.4))


def likelihood_of(obs: ll.Observations) -> Callable[[], object]:
    """Return a function that computes the likelihood of all rows under a model on the ring."""
    some = obs.take(np.arange(min(obs.n_rows, FEW_ROWS)))
    model = ll.fit_parameters(ring_graph(obs.names), some, FitSettings(max_steps=1))
    return lambda: model.log_likelihood(obs)


def at_columns(n_columns: int) -> Tasks:
    obs = ring_rows(FEW_ROWS, n_columns)
    D = ll.information_distances(obs)
    start = ll.initial_graph(D, RADIUS)
    return {
        "all distances": lambda: ll.information_distances(obs),
        "exact curve": lambda: ll.edge_density(D),
        "initial graph": lambda: ll.initial_graph(D, RADIUS),
        "learner": lambda: ll.learn(D, RADIUS, start=start, trace=False),
        "junction tree, all rows": likelihood_of(obs),
    }


def at_rows(n_rows: int) -> Tasks:
    obs = ring_rows(n_rows, FEW_COLUMNS)
    return {
        "all distances": lambda: ll.information_distances(obs),
        "junction tree, all rows": likelihood_of(obs),
    }


def at_balls(size: int, n_columns: int = BALLS_COLUMNS) -> Tasks:
    """The initial graph at the radius where a ball has ``size`` columns on average."""
    D = ll.information_distances(ring_rows(FEW_ROWS, n_columns))
    r = float(np.partition(D.values, size * n_columns - 1, axis=None)[size * n_columns - 1])
    return {"initial graph": lambda: ll.initial_graph(D, r)}


def at_members(size: int) -> Tasks:
    """One neighbourhood: leaves of a tree, about fifteen per hidden node, with noise."""
    rng = np.random.default_rng(0)
    owner = np.arange(size) * max(1, size // 15) // size
    along = np.abs(owner[:, None] - owner) * 0.4
    noise = np.triu(rng.normal(scale=0.02, size=(size, size)), 1)
    distances = np.maximum(1.1 + along + noise + noise.T, 0.01)
    np.fill_diagonal(distances, 0.0)
    return {name: local_tree(distances, method) for method, name in METHODS.items()}


@dataclass(frozen=True, slots=True)
class NearPairs:
    """Time and memory of very many columns."""

    columns: int
    pairs: int
    hidden: int
    seconds: Mapping[str, float]
    megabytes: int


def near_pairs(n_columns: int) -> NearPairs:
    """Learn from synthetic documents, twice as many as words. Call it in a separate process."""
    ll.learn(ll.sparse_distances(topic_words(2_000, 300), CUTOFF), RADIUS, trace=False)
    obs = ll.Observations.from_array(topic_words(2 * n_columns, n_columns), on_degenerate="drop")
    seconds: dict[str, float] = {}

    def timed(name: str, task: Callable[[], object]) -> object:
        begin = time.process_time()
        result = task()
        seconds[name] = time.process_time() - begin
        return result

    D = timed("near pairs", lambda: ll.sparse_distances(obs, CUTOFF, on_degenerate="drop"))
    start = timed("initial graph", lambda: ll.initial_graph(D, RADIUS))
    learned = timed("learner", lambda: ll.learn(D, RADIUS, start=start, trace=False))
    return NearPairs(D.n_columns, D.n_pairs, learned.graph.n_hidden, seconds, peak_megabytes())


# The report --------------------------------------------------------------------------------


def growth_table(what: str, growths: Sequence[Growth]) -> str:
    sizes = sorted({size for growth in growths for size in growth.sizes})
    rows = []
    for growth in growths:
        known = dict(zip(growth.sizes, growth.seconds, strict=True))
        cells = [f"{known[size]:.3g}" if size in known else "" for size in sizes]
        rows.append([growth.task, *cells, f"{growth.exponent:.2f}"])
    return markdown_table([what, *(f"{size:,}" for size in sizes), "exponent"], rows)


def memory_table(found: Sequence[NearPairs]) -> str:
    rows = [
        [f"{one.columns:,}", f"{one.pairs:,}", f"{one.hidden:,}", f"{one.megabytes:,}",
         f"{8 * one.columns**2 / 2**20:,.0f}"]
        for one in found
    ]  # fmt: skip
    head = ["columns", "pairs kept", "hidden nodes", "peak memory, MB", "full matrix alone, MB"]
    return markdown_table(head, rows)


def report() -> str:
    """Measure everything, draw the plot, and write the tables in docs/development/scale.md."""
    before = os.getloadavg()[0]
    by_columns, by_rows = grow(COLUMNS, at_columns), grow(ROWS, at_rows)
    by_balls, by_members = grow(BALLS, at_balls), grow(MEMBERS, at_members)
    many = [in_a_process(near_pairs, size) for size in MANY_COLUMNS]
    sizes = tuple(one.columns for one in many)
    by_many = [
        Growth(name, sizes, tuple(one.seconds[name] for one in many)) for name in many[0].seconds
    ]
    panels = {
        "columns, all distances": by_columns,
        "columns, near pairs": by_many,
        "rows": by_rows,
        "columns per ball": by_balls,
        "nodes in a neighbourhood": by_members,
    }
    PICTURE.write_text(picture(panels), encoding="utf-8")
    text = "\n\n".join(
        [
            f"CPU seconds over all threads; 1-minute load average "
            f"{before:.1f} before and {os.getloadavg()[0]:.1f} after, {os.cpu_count()} cores. "
            f"Exponents: log-log least squares over the {FITTED} largest sizes.",
            f"Columns, {FEW_ROWS:,} rows, balls of radius {RADIUS:g}:",
            growth_table("columns", by_columns),
            f"Many sparse columns, twice as many rows, cut-off {CUTOFF:g}, r = {RADIUS:g}:",
            growth_table("columns", by_many),
            memory_table(many),
            f"Rows, {FEW_COLUMNS} columns:",
            growth_table("rows", by_rows),
            f"Mean columns per ball, {BALLS_COLUMNS:,} columns in all:",
            growth_table("columns per ball", by_balls),
            "Nodes in a neighbourhood:",
            growth_table("nodes", by_members),
        ]
    )
    put(PAGE, "growth", text)
    return f"## Scaling\n\n{text}"


def picture(panels: Mapping[str, Sequence[Growth]]) -> str:
    return log_plot(
        [
            Panel(
                f"Scaling with {what}",
                what.split(",")[0],
                "CPU seconds",
                [Line(f"{g.task}: {g.exponent:.1f}", g.sizes, g.seconds) for g in growths],
            )
            for what, growths in panels.items()
        ]
    )


if __name__ == "__main__":
    print(report())
