"""Bootstrap support and its parts, compared with an older checkout.

Each checkout runs in a separate process, on one thread. Results are compared by their hashes.
"""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from benchmarks import Variant, markdown_table
from benchmarks.speed.kernel_cases import Case
from benchmarks.speed.kernels import (
    ONE_THREAD,
    ROOT,
    Found,
    commit,
    digits,
    measured,
    same,
)

NEWSGROUPS, RADIUS = "newsgroups100_roweislike", 5.0
N_RESAMPLES = 100
WORKER = (
    "import sys, loopylatent; sys.path.insert(0, sys.argv[1]); "
    "from benchmarks.speed.stability import work; work()"
)


def settings(r: float) -> Any:
    from loopylatent.settings import LearnSettings, Thresholds

    return LearnSettings(Thresholds(r, 0.0, 0.1))


def table(name: str) -> Any:
    """A sample, or Gaussian columns with a common part."""
    import loopylatent as ll

    if name != "gaussian":
        return ll.load_sample(name).observations
    rng = np.random.default_rng(0)
    return ll.Observations.from_array(rng.normal(size=(1000, 78)) + rng.normal(size=(1000, 1)))


def distances_of(obs: Any, count: int) -> list[Any]:
    """Draw resamples and compute their distances, as `stability` does."""
    from loopylatent.analysis.stability.resampling import bootstrapped_rows

    draw = bootstrapped_rows(obs, "auto")
    rngs = [np.random.default_rng([0, number]) for number in range(count)]
    try:
        from loopylatent.distances.resampled import BATCH
    except ImportError:  # an older checkout computes them one by one
        return [draw(rng) for rng in rngs]
    found = []
    for first in range(0, count, BATCH):
        drawn = draw.draw(rngs[first : first + BATCH])
        found += draw.distances(drawn, lambda *_: None)
    return found


def graphs(name: str, r: float) -> tuple[Any, Any]:
    """The graph of a sample and that of a resample."""
    from loopylatent.distances.matrix import information_distances
    from loopylatent.learning.learner import learn

    obs = table(name)
    both = (information_distances(obs), distances_of(obs, 1)[0])
    first, second = (learn(D, settings(r), trace=False).graph for D in both)
    return first, second


def cycle_basis(_: int, name: str, r: float) -> Variant:
    from loopylatent.graph import minimum_cycle_basis

    graph, _again = graphs(name, r)
    return partial(minimum_cycle_basis, graph.n_nodes, graph.edges)


def support(_: int, name: str, r: float) -> Variant:
    from loopylatent.analysis.stability.support import Reference, found_again
    from loopylatent.graph import LatentGraph

    graph, again = graphs(name, r)
    reference = Reference.of(graph)

    def once() -> object:
        fresh = LatentGraph(again.names, again.n_hidden, again.edges, again.lengths)
        found = found_again(reference, fresh)
        return found.edges, found.hidden, found.cycles, found.agreement

    return once


def distances(count: int, name: str) -> Variant:
    obs = table(name)
    return lambda: [D.values for D in distances_of(obs, count)]


def whole(count: int, name: str, r: float, *, kept: bool = False) -> Variant:
    from loopylatent.analysis.stability.resampling import Resampling
    from loopylatent.analysis.stability.runs import stability

    obs, how, more = table(name), Resampling(n_resamples=count), {}
    if kept:
        from loopylatent.analysis.stability.resampling import Resamples

        more = {"resamples": Resamples.of(obs, how)}

    def once() -> object:
        found: Any = stability(obs, settings(r), how, **more)
        parts = (found.edges, found.hidden, found.cycles, found.initial_edges)
        return *parts, found.instability, found.n_used

    return once


def case(name: str, prepare: Any, count: int = 1) -> Case:
    return Case(name, (), prepare, "", count, count)


WHOLE = "whole stability, newsgroups, r = 5, 100 resamples"
ELAPSED = "the same on all cores, elapsed time"
CASES = (
    case("minimum cycle basis, newsgroups, r = 5",
         partial(cycle_basis, name=NEWSGROUPS, r=RADIUS)),
    case("support of one resample, newsgroups, r = 5",
         partial(support, name=NEWSGROUPS, r=RADIUS)),
    case("support of one resample, bfi25, r = 2.34", partial(support, name="bfi25", r=2.34)),
    case("draw and distances, sparse binary: newsgroups, 48 resamples",
         partial(distances, name=NEWSGROUPS), 48),
    case("draw and distances, dense: Irish wind, 48 resamples",
         partial(distances, name="irish_wind12"), 48),
    case("draw and distances, dense: Holzinger, 48 resamples",
         partial(distances, name="holzinger24"), 48),
    case("draw and distances, dense: 78 Gaussian columns, 48 resamples",
         partial(distances, name="gaussian"), 48),
    case(WHOLE,
         partial(whole, name=NEWSGROUPS, r=RADIUS), N_RESAMPLES),
    case("the same with kept distances, after a change of settings",
         partial(whole, name=NEWSGROUPS, r=RADIUS, kept=True), N_RESAMPLES),
    case("whole stability, bfi25, r = 2.34, 100 resamples",
         partial(whole, name="bfi25", r=2.34), N_RESAMPLES),
)  # fmt: skip


def elapsed(found: Found | None) -> Found | None:
    """Return the time that passes on all cores, the least of three runs."""
    once, taken = whole(N_RESAMPLES, NEWSGROUPS, RADIUS), []
    for _ in range(3):
        began = time.perf_counter()
        once()
        taken.append(time.perf_counter() - began)
    return found and dataclasses.replace(found, seconds=min(taken))


def work() -> None:
    """Run every case and print the results as JSON; null if a case is missing."""
    with mock.patch("os.cpu_count", return_value=1):
        found = {one.name: measured(one, one.large) for one in CASES}
    found[ELAPSED] = elapsed(found[WHOLE])
    print(json.dumps({name: one and dataclasses.asdict(one) for name, one in found.items()}))


def in_checkout(folder: Path) -> Mapping[str, Found | None]:
    """Run all cases with the package of a folder."""
    done = subprocess.run(
        [sys.executable, "-c", WORKER, str(ROOT)],
        cwd=folder,
        env=os.environ | ONE_THREAD | {"PYTHONPATH": str(folder), "LOOPYLATENT_COMPILE": "always"},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    found = json.loads(done.stdout)
    return {name: None if one is None else Found(**one) for name, one in found.items()}


def report(older: str | None = None) -> str:
    """Measure all cases; the ratios need an older checkout."""
    now = in_checkout(ROOT)
    before = in_checkout(Path(older).resolve()) if older else {}
    rows = []
    for name, here in now.items():
        if here is None:
            raise LookupError(f"{name}: not in this checkout")
        row, there = [name, digits(1000 * here.seconds)], before.get(name)
        if there is not None:
            ratio = there.seconds / here.seconds
            row += [digits(1000 * there.seconds), digits(ratio), same(here, there)]
        rows.append([*row, *[""] * (5 - len(row))])
    text = (
        "CPU milliseconds on one thread or, where it is said, elapsed ones; minimum of a few runs."
    )
    text += f" Before: commit {commit(Path(older))}." if older else ""
    head = ["task", "now", "before", "ratio", "results"]
    return f"## Bootstrap support\n\n{text}\n\n{markdown_table(head, rows)}"


if __name__ == "__main__":
    print(report(os.environ.get("LOOPYLATENT_BEFORE")))
