"""Speed-up on two threads, and an upper bound for parallel grouping."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

import numpy as np
import pandas as pd

import loopylatent as ll
from benchmarks import Variant, markdown_table, milliseconds, time_variants
from benchmarks.paper.words import topic_words
from benchmarks.results import put
from benchmarks.speed.scale import CUTOFF, PAGE, RADIUS, ring_rows
from loopylatent.compute._kernels import grouping as kernels
from loopylatent.learning.grouping import grouping_rules
from loopylatent.learning.trace import VisitStep

SAMPLE = "newsgroups100_roweislike"
THREADS = (1, 2)


def on_threads(count: int) -> AbstractContextManager[object]:
    """Limit the cores that the package uses."""
    return mock.patch("os.cpu_count", return_value=count)


def parallel_tasks(folder: Path) -> Mapping[str, Variant]:
    """Return the parallel tasks, named by what is distributed."""
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
    """Time each task on one thread and on two, in turn."""

    def limited(variant: Variant, count: int) -> Variant:
        def run() -> object:
            with on_threads(count):
                return variant()

        return run

    rows = []
    with TemporaryDirectory() as folder:
        for name, variant in parallel_tasks(Path(folder)).items():
            variants = {str(count): limited(variant, count) for count in THREADS}
            one, two = time_variants(variants, repeats).values()
            cells = [milliseconds(one.median), milliseconds(two.median)]
            rows.append([name, *cells, f"{one.median / two.median:.2f}"])
    head = ["distributed: task", "one thread, ms", "two threads, ms", "speed-up"]
    return markdown_table(head, rows)


def share_of_grouping(D: ll.DistanceMatrix, r: float) -> list[str]:
    """Return the share of grouping in learning, and the possible speed-up of parallel grouping.

    Visits whose neighbourhoods share a node must run one after the other. The longest chain of
    such visits limits the speed-up on any number of cores.
    """
    start_graph = ll.initial_graph(D, r)
    result = ll.learn(D, r, start=start_graph)
    visits = [step for step in result.trace or () if isinstance(step, VisitStep)]
    rules, rng = grouping_rules(result.settings, D.n_samples), np.random.default_rng(0)
    blocks = [(np.array(step.distances), np.zeros(len(step.distances))) for step in visits]
    begin = time.thread_time()
    for distances, gaps in blocks:
        kernels.group(distances, np.arange(len(gaps)), gaps, rules, False, rng)
    grouping, begin = time.thread_time() - begin, time.thread_time()
    ll.learn(D, r, start=start_graph, trace=False)
    whole = time.thread_time() - begin
    share = grouping / whole
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
    """Return the length of the longest chain of visits that share a node with their predecessor."""
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
        "learner, initial graph given", "ms", "share of grouping", "visits", "longest chain",
        "bound, 2 cores", "bound, any number",
    ]  # fmt: skip
    return markdown_table(
        head, [[name, *share_of_grouping(D, r)] for name, (D, r) in tables.items()]
    )


def report() -> str:
    before = os.getloadavg()[0]
    threads, grouping = compare_threads(), compare_grouping()
    text = "\n\n".join(
        [
            f"Wall time, in turn; load average {before:.1f} before and "
            f"{os.getloadavg()[0]:.1f} after, {os.cpu_count()} cores.",
            threads,
            "Disjoint neighbourhoods could be grouped in parallel. Bounds on the speed-up, from "
            "the CPU time of one thread:",
            grouping,
        ]
    )
    put(PAGE, "side_by_side", text)
    return f"## Threads\n\n{text}"


if __name__ == "__main__":
    print(report())
