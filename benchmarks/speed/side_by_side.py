"""What runs side by side, how much faster two threads are, and what more of it could bring."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

import numpy as np
import pandas as pd

import loopylatent as ll
from benchmarks import Way, markdown_table, milliseconds, time_ways
from benchmarks.paper.words import topic_words
from benchmarks.results import put
from benchmarks.speed.scale import CUTOFF, PAGE, RADIUS, ring_rows
from loopylatent.learning.trace import VisitStep

learner = import_module("loopylatent.learning.learner")  # the package has a function of this name
SAMPLE = "newsgroups100_roweislike"
THREADS = (1, 2)


def on_threads(count: int) -> AbstractContextManager[object]:
    """Let the package see so many cores."""
    return mock.patch("os.cpu_count", return_value=count)


def pieces(folder: Path) -> Mapping[str, Way]:
    """Return the work that is shared out, by what is shared."""
    obs = ll.load_sample(SAMPLE).observations
    D = ll.information_distances(obs)
    wide = ll.information_distances(ring_rows(2_000, 500))
    wider = ll.information_distances(ring_rows(2_000, 1_000))
    words = ll.Observations.from_array(topic_words(10_000, 5_000), on_degenerate="drop")
    path = folder / "rows.parquet"
    pd.DataFrame(ring_rows(400_000, 50).dense().astype(np.int8)).set_axis(
        [f"c{k}" for k in range(50)], axis="columns"
    ).to_parquet(path, row_group_size=20_000)
    table = ll.scan_table(path)
    return {
        "balls: the exact curve, 500 columns": lambda: ll.edge_density(wide),
        "balls: the exact curve, 1,000 columns": lambda: ll.edge_density(wider),
        "columns: near pairs, 5,000 columns": lambda: ll.sparse_distances(
            words, CUTOFF, on_degenerate="drop"
        ),
        "resamples: 20 of the newsgroup sample": lambda: ll.stability(obs, n_resamples=20),
        "points: a sweep over r, newsgroup sample": lambda: ll.sweep(D, threads=os.cpu_count()),
        "blocks: 400,000 rows, 50 columns": lambda: ll.information_distances(table),
    }


def compare_threads(repeats: int = 3) -> str:
    """Time each piece on one thread and on two, in turn."""

    def limited(way: Way, count: int) -> Way:
        def run() -> object:
            with on_threads(count):
                return way()

        return run

    rows = []
    with TemporaryDirectory() as folder:
        for name, way in pieces(Path(folder)).items():
            ways = {str(count): limited(way, count) for count in THREADS}
            one, two = time_ways(ways, repeats).values()
            cells = [milliseconds(one.median), milliseconds(two.median)]
            rows.append([name, *cells, f"{one.median / two.median:.2f}"])
    head = ["what is shared out", "one thread, ms", "two threads, ms", "times as fast"]
    return markdown_table(head, rows)


def share_of_grouping(D: ll.DistanceMatrix, r: float) -> list[str]:
    """Say which part of learning is grouping, and what it could save to group side by side.

    Visits wait for each other where their neighbourhoods share a node. The longest chain of such
    visits bounds what any number of cores can do.
    """
    grouping = 0.0
    inner = learner.group

    def timed(*arguments: object) -> object:
        nonlocal grouping
        start = time.thread_time()
        tree = inner(*arguments)
        grouping += time.thread_time() - start
        return tree

    start_graph = ll.initial_graph(D, r)
    ll.learn(D, r, start=start_graph)
    with mock.patch.object(learner, "group", timed):
        begin = time.thread_time()
        result = ll.learn(D, r, start=start_graph)
        whole = time.thread_time() - begin
    share = grouping / whole
    visits = [step for step in result.trace or () if isinstance(step, VisitStep)]
    longest = _longest_chain(visits)
    at_most = len(visits) / longest
    bound = 1 / (1 - share + share / min(2, at_most))
    return [
        f"{1000 * whole:,.1f}",
        f"{100 * share:.0f} %",
        f"{len(visits):,}",
        f"{longest:,}",
        f"{bound:.2f}",
        f"{1 / (1 - share + share / at_most):.2f}",
    ]


def _longest_chain(visits: list[VisitStep]) -> int:
    """Return how many visits follow each other of which each shares a node with the one before."""
    level: dict[int, int] = {}
    for step in visits:
        touched = {*step.neighbourhood, *(node for edge in step.added for node in (edge.u, edge.v))}
        depth = 1 + max((level.get(node, 0) for node in touched), default=0)
        level.update(dict.fromkeys(touched, depth))
    return max(level.values(), default=1)


def compare_grouping() -> str:
    sample = ll.information_distances(ll.load_sample(SAMPLE).observations)
    tables = {
        "newsgroup sample, r = 5": (sample, 5.0),
        f"300 columns, r = {RADIUS:g}": (
            ll.information_distances(ring_rows(2_000, 300)),
            RADIUS,
        ),
        f"1,000 columns, r = {RADIUS:g}": (
            ll.information_distances(ring_rows(2_000, 1_000)),
            RADIUS,
        ),
    }
    head = [
        "learner, initial graph given", "ms", "inside grouping", "visits", "longest chain",
        "at most, 2 cores", "at most, any number",
    ]  # fmt: skip
    return markdown_table(
        head, [[name, *share_of_grouping(D, r)] for name, (D, r) in tables.items()]
    )


def report() -> str:
    before = os.getloadavg()[0]
    threads, grouping = compare_threads(), compare_grouping()
    text = "\n\n".join(
        [
            f"By the clock, in turn; load average {before:.1f} before and "
            f"{os.getloadavg()[0]:.1f} after, {os.cpu_count()} cores.",
            threads,
            "Neighbourhoods that do not touch could be grouped side by side. What that could "
            "bring, as times of the present speed (processor time of one thread):",
            grouping,
        ]
    )
    put(PAGE, "side_by_side", text)
    return f"## Side by side\n\n{text}"


if __name__ == "__main__":
    print(report())
