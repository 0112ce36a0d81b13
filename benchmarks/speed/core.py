"""The compiled learner: compared with an older checkout, with a trace, and on two threads.

Each variant runs in a separate process. Times are processor seconds.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np

import loopylatent as ll
from benchmarks import Variant, markdown_table
from benchmarks.speed.kernels import OLDER, ROOT, commit, digits
from loopylatent.learning.initial_graph import initial_graph
from loopylatent.learning.learner import learn
from loopylatent.settings import LearnSettings, Method, Thresholds

METHODS: tuple[Method, ...] = ("quartet", "relaxed", "nj")
BATCH = 0.05
"""Processor seconds of a batch of calls; the fastest of several batches counts."""
BATCHES = 7
LEARNS = 100
WORKER = (
    "import sys, loopylatent; sys.path.insert(0, sys.argv[1]); "
    "from benchmarks.speed.core import work; work()"
)
"""The package comes from the working directory, this module from the folder named."""


def ring(p: int) -> ll.DistanceMatrix:
    """Distances of columns around a ring, with noise."""
    rng = np.random.default_rng(p)
    around = np.abs(np.arange(p)[:, None] - np.arange(p))
    values = 0.35 * np.minimum(around, p - around) * np.exp(0.1 * rng.normal(size=(p, p))) + 0.3
    values = np.triu(np.minimum(values, 9 + rng.random((p, p))), 1)
    return ll.DistanceMatrix.from_array(values + values.T, n_samples=2_000)


def tables() -> dict[str, tuple[ll.DistanceMatrix, float]]:
    """The distances and the radius of each table."""
    bfi25 = ll.information_distances(ll.load_sample("bfi25").observations)
    words = ll.information_distances(ll.load_sample("newsgroups100_roweislike").observations)
    found = {"bfi25, 25 columns": (bfi25, 2.34), "newsgroups, 100 columns": (words, 5.0)}
    return found | {f"ring, {p:,} columns": (ring(p), 2.5) for p in (300, 1_000)}


def seconds(once: Variant) -> float:
    """Processor seconds of a call: the fastest of several batches."""
    once()
    began = time.process_time()
    once()
    n = max(1, int(BATCH / max(time.process_time() - began, 1e-6)))
    taken = []
    for _ in range(BATCHES):
        began = time.process_time()
        for _ in range(n):
            once()
        taken.append((time.process_time() - began) / n)
    return min(taken)


def work() -> None:
    """Learn every table by every method without trace; print milliseconds and digests as JSON."""
    found = {}
    for name, (D, r) in tables().items():
        start = initial_graph(D, r)
        for method in METHODS:
            settings = LearnSettings(Thresholds(r, 0.0, 0.1), method)
            run = partial(learn, D, settings, start=start, trace=False)
            found[f"{name}, {method}"] = (1000 * seconds(run), run().graph.digest)
    print(json.dumps(found))


def in_checkout(folder: Path) -> dict[str, tuple[float, str]]:
    """Run `work` with the package of a folder, compiled."""
    environment = os.environ | {"PYTHONPATH": str(folder), "LOOPYLATENT_COMPILE": "always"}
    command = [sys.executable, "-c", WORKER, str(ROOT)]
    done = subprocess.run(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True, check=True
    )
    found: dict[str, tuple[float, str]] = json.loads(done.stdout)
    return found


def compare_checkouts(older: str | None) -> str:
    """Time the learner without trace, here and in an older checkout."""
    now = in_checkout(ROOT)
    before = in_checkout(Path(older).resolve()) if older else {}
    rows = []
    for name, (taken, digest) in now.items():
        row = [name, digits(taken)]
        if name in before:
            old, old_digest = before[name]
            agree = "same" if digest == old_digest else "**differs**"
            row += [digits(old), f"{old / taken:.1f}", agree]
        rows.append(row)
    head = ["learn without trace", "now, ms", *(["before, ms", "ratio", "graph"] if older else [])]
    title = f"Before: commit {commit(Path(older))}.\n\n" if older else ""
    return title + markdown_table(head, rows)


def _read(D: ll.DistanceMatrix, settings: LearnSettings, start: ll.LatentGraph) -> object:
    return list(learn(D, settings, start=start).trace or ())


def compare_traces() -> str:
    """Time the quartet method without trace, with it, and with every step decoded."""
    rows = []
    for name, (D, r) in tables().items():
        settings, start = LearnSettings(Thresholds(r, 0.0, 0.1)), initial_graph(D, r)
        without = seconds(partial(learn, D, settings, start=start, trace=False))
        recorded = seconds(partial(learn, D, settings, start=start))
        decoded = seconds(partial(_read, D, settings, start))
        cells = [digits(1000 * without), *(f"{x / without:.2f}" for x in (recorded, decoded))]
        rows.append([name, *cells])
    return markdown_table(["quartet method", "without trace, ms", "with, ratio", "read"], rows)


def compare_threads() -> str:
    """Wall time of many learns on one thread and on two; the fastest of several runs."""
    rows = []
    for name, (D, r) in list(tables().items())[:3]:
        settings, start = LearnSettings(Thresholds(r, 0.0, 0.1)), initial_graph(D, r)
        once = partial(learn, D, settings, start=start, trace=False)
        taken: dict[int, list[float]] = {1: [], 2: []}
        for _ in range(BATCHES):
            for count, times in taken.items():
                with ThreadPoolExecutor(count) as pool:
                    began = time.perf_counter()
                    list(pool.map(lambda _, once=once: once(), range(LEARNS)))
                    times.append(time.perf_counter() - began)
        one, two = (1000 * min(times) for times in taken.values())
        rows.append([name, digits(one), digits(two), f"{one / two:.2f}"])
    head = [f"{LEARNS} learns", "one thread, ms", "two threads, ms", "ratio"]
    return markdown_table(head, rows)


def report(older: str | None = None) -> str:
    """Measure all of it."""
    parts = ["## The compiled learner", compare_checkouts(older), compare_traces()]
    return "\n\n".join([*parts, compare_threads()])


if __name__ == "__main__":
    print(report(os.environ.get(OLDER)))
