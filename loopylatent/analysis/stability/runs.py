"""Support: the share of resamples in which a part of the graph is found again (not in the paper).

Support is not a probability; docs/guide/stability.md calibrates it on known graphs.
"""

from __future__ import annotations

import json
from collections import Counter as Occurrences, deque
from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from typing import Any, Literal

import numpy as np
import pandas as pd

from loopylatent.analysis.stability.resampling import Resamples, Resampling, Scheme
from loopylatent.analysis.stability.support import (
    MAJORITY,
    Found,
    Reference,
    Tally,
    edges_found,
    found_again,
)
from loopylatent.compute.limits import one_thread
from loopylatent.compute.values import (
    BoolArray,
    Check,
    FloatArray,
    Progress,
    Shown,
    check_many,
    frozen_array,
)
from loopylatent.compute.workers import in_order, runner
from loopylatent.distances.matrix import DistanceMatrix
from loopylatent.distances.resampled import Outcome
from loopylatent.errors import DataError, LoopyLatentError
from loopylatent.graph import LatentGraph
from loopylatent.learning.initial_graph import default_thresholds, initial_graph
from loopylatent.learning.learner import LearnResult, learn, learn_graph
from loopylatent.settings import LearnSettings
from loopylatent.tables.files import name_to_csv
from loopylatent.tables.observations import Observations

DEFAULT = Resampling()
N_RESAMPLES = DEFAULT.n_resamples


@dataclass(frozen=True, slots=True)
class Failure:
    """A resample in which no graph could be learned."""

    number: int
    """From 0."""
    reason: str


@dataclass(frozen=True, eq=False)
class Stability(Shown):
    """The support of every part of a graph.

    Parameters
    ----------
    graph, initial_graph : LatentGraph
        The graphs that support is computed for.
    scheme : str
        The resampling scheme; see `Scheme`.
    edges, hidden, cycles, initial_edges : float64 arrays
        Support from 0 to 1, in the order of ``graph.edges``, ``graph.hidden_nodes``,
        ``graph.cycles`` and ``initial_graph.edges``.
    instability : float
        1 minus the mean agreement of a resample's graph with this one. Agreement is the number of
        edges found again as a share of the edges of either graph (the Jaccard index). 0: always
        the same graph; 1: nothing was found again.
    n_used : int
        Resamples that were learned.
    failures : tuple of Failure
        Resamples that failed, each with its reason.
    n_asked : int
        Resamples requested; fewer are done if the computation was cancelled.
    tally : Tally
        Counts of all edges, from which `consensus` builds a graph.
    """

    graph: LatentGraph
    initial_graph: LatentGraph
    scheme: Scheme
    edges: FloatArray = field(repr=False)
    hidden: FloatArray = field(repr=False)
    cycles: FloatArray = field(repr=False)
    initial_edges: FloatArray = field(repr=False)
    instability: float
    n_used: int
    failures: tuple[Failure, ...]
    n_asked: int
    tally: Tally = field(repr=False)

    @property
    def n_failed(self) -> int:
        return len(self.failures)

    @property
    def n_done(self) -> int:
        return self.n_used + self.n_failed

    @property
    def reasons(self) -> dict[str, int]:
        """The number of failed resamples by reason, most frequent first."""
        return dict(Occurrences(failure.reason for failure in self.failures).most_common())

    def consensus(self, share: float = MAJORITY) -> LatentGraph:
        """Return the graph of the edges that at least ``share`` of the resamples have.

        It can contain edges that ``graph`` lacks. Hidden nodes are matched by their profiles;
        lengths are means over the resamples that have the edge.
        """
        return self.tally.graph(share)

    def supported(self, least: float) -> LatentGraph:
        """Return the graph without the edges whose support is below ``least``."""
        kept = self.edges >= least
        return LatentGraph.build(
            self.graph.names, self.graph.n_hidden, self.graph.edges[kept], self.graph.lengths[kept]
        )

    def __repr__(self) -> str:
        return (
            f"Stability({self.scheme}: {self.n_used} of {self.n_asked} runs, "
            f"instability {self.instability:.2f})"
        )


def stability(
    table: Observations | DistanceMatrix,
    settings: LearnSettings | None = None,
    how: Resampling = DEFAULT,
    *,
    result: LearnResult | None = None,
    progress: Progress | None = None,
    resamples: Resamples | None = None,
) -> Stability:
    """Return the support of every part of a learned graph.

    A radius of at least r_max means one tree: every resample then uses its own r_max. ``resamples``
    of the same table and scheme keep their distances from one call to the next.
    """
    counts = _counted(table, settings, how, result, progress, resamples)
    (found,) = deque(counts, maxlen=1)  # it yields or raises
    return found.so_far()


def iter_stability(
    table: Observations | DistanceMatrix,
    settings: LearnSettings | None = None,
    how: Resampling = DEFAULT,
    *,
    result: LearnResult | None = None,
    progress: Progress | None = None,
    resamples: Resamples | None = None,
) -> Generator[Stability, None, None]:
    """Yield the support after each resample that was learned; raise `DataError` if all fail."""
    for count in _counted(table, settings, how, result, progress, resamples):
        yield count.so_far()


def _counted(
    table: Observations | DistanceMatrix, settings: LearnSettings | None, how: Resampling,
    result: LearnResult | None, progress: Progress | None, resamples: Resamples | None,
) -> Generator[_Count, None, None]:  # fmt: skip
    """Yield the sums after each resample that was learned, always the same object."""
    check_many("n_resamples", how.n_resamples, 2, ", such as 50")
    drawn = Resamples.of(table, how) if resamples is None else resamples
    D, total = drawn.D, drawn.n_resamples
    chosen = LearnSettings(default_thresholds(D)) if settings is None else settings
    reference = learn(D, chosen, trace=False) if result is None else result
    is_tree = chosen.thresholds.r >= D.r_max
    initial, known = reference.initial_graph, Reference.of(reference.graph)
    run = _Run(is_tree, chosen, drawn, initial, known)
    count = _Count(reference, drawn.scheme, total)

    def report(*_: int) -> None:
        if progress is not None:
            progress(count.n_done, total)

    with runner(how.engine, how.scheduler, how.n_threads) as on, one_thread():
        for batch in in_order(on(_learn_again, run, drawn.batches, report)):
            for outcome in batch:
                count.add(outcome)
                report()
                if count.n_used:
                    yield count
    if not count.n_used:
        reason = next(iter(Occurrences(f.reason for f in count.failures)))
        raise DataError(f"None of {total} resamples could be learned: {reason}")


@dataclass(frozen=True, slots=True, eq=False)
class _Learned:
    graph: LatentGraph
    found: Found
    initial_edges: BoolArray


@dataclass(frozen=True, slots=True, eq=False)
class _Run:
    is_tree: bool
    settings: LearnSettings
    resamples: Resamples
    initial: LatentGraph
    reference: Reference

    def settings_for(self, D: DistanceMatrix, number: int) -> LearnSettings:
        settings = self.settings
        if self.is_tree:
            r = max(settings.thresholds.r, D.r_max)
            settings = replace(settings, thresholds=replace(settings.thresholds, r=r))
        if self.resamples.scheme == "orders":
            seed = int(self.resamples.generator(number).integers(2**31))
            settings = replace(settings, order="random", seed=seed)
        return settings


def _learn_again(run: _Run, numbers: range, check: Check) -> list[_Learned | str]:
    """Learn a batch of resamples; return graphs and what was found again, or why they failed."""
    distances = zip(numbers, run.resamples.distances(numbers, check), strict=True)
    return [_learn_once(run, number, D, check) for number, D in distances]


def _learn_once(run: _Run, number: int, D: Outcome, check: Check) -> _Learned | str:
    if isinstance(D, LoopyLatentError):
        return str(D)
    try:
        settings = run.settings_for(D, number)
        initial = initial_graph(D, settings.thresholds.r)
        graph = learn_graph(D, settings, initial, check)
    except LoopyLatentError as error:
        return str(error)
    return _Learned(graph, found_again(run.reference, graph), edges_found(run.initial, initial))


class _Count:
    """Sums over the resamples so far."""

    def __init__(self, reference: LearnResult, scheme: Scheme, n_asked: int) -> None:
        graph, initial = reference.graph, reference.initial_graph
        self._of = graph, initial, scheme
        sizes = (graph.n_edges, graph.n_hidden, len(graph.cycles), initial.n_edges)
        self._sums = [np.zeros(size) for size in sizes]
        self._agreement = 0.0
        self._graphs: list[LatentGraph] = []
        self._n_asked = n_asked
        self.n_used = 0
        self.failures: list[Failure] = []

    @property
    def n_done(self) -> int:
        return self.n_used + len(self.failures)

    def add(self, outcome: _Learned | str) -> None:
        if isinstance(outcome, str):
            self.failures.append(Failure(self.n_done, outcome))
            return
        found = outcome.found
        parts = (found.edges, found.hidden, found.cycles, outcome.initial_edges)
        for total, part in zip(self._sums, parts, strict=True):
            total += part
        self._agreement += found.agreement
        self._graphs.append(outcome.graph)
        self.n_used += 1

    def so_far(self) -> Stability:
        edges, hidden, cycles, initial_edges = (
            frozen_array(total / self.n_used, np.float64) for total in self._sums
        )
        graph, initial, scheme = self._of
        failures, tally = tuple(self.failures), Tally.of(self._graphs)
        return Stability(
            graph, initial, scheme, edges, hidden, cycles, initial_edges,
            1 - self._agreement / self.n_used, self.n_used, failures, self._n_asked, tally,
        )  # fmt: skip


Kind = Literal["columns", "column-hidden", "inner", "hidden", "cycle"]

KINDS: Mapping[Kind, str] = {
    "columns": "edge between two columns",
    "column-hidden": "edge between a column and a hidden node",
    "inner": "edge between two hidden nodes",
    "hidden": "hidden node",
    "cycle": "cycle",
}
LOCAL = "edge of the initial graph"
_MOST_COLUMNS = 8


@dataclass(frozen=True, slots=True)
class Step:
    """Parts with support in one range, and how many of them were true."""

    low: float
    high: float
    n_parts: int
    n_true: int

    @property
    def share(self) -> float | None:
        """Share that was true; None if there were no such parts."""
        return self.n_true / self.n_parts if self.n_parts else None


def edge_kind(graph: LatentGraph, u: int, v: int) -> Kind:
    """Return the type of an edge by its ends."""
    n_hidden = (u >= graph.n_observed) + (v >= graph.n_observed)
    kinds: tuple[Kind, ...] = ("columns", "column-hidden", "inner")
    return kinds[n_hidden]


@cache
def scale() -> Mapping[Kind, tuple[Step, ...]]:
    """Return the share of true parts by support on known graphs (docs/guide/stability.md)."""
    file = files("loopylatent.analysis.stability") / "support_scale.json"
    steps = json.loads(file.read_text(encoding="utf-8"))
    return {kind: tuple(Step(*step) for step in steps[kind]) for kind in KINDS}


def scale_frame() -> pd.DataFrame:
    """Return the scale as percentages, with a column for each range of support."""
    ranges = [f"{step.low:g} to {step.high:g}" for step in scale()["hidden"]]
    rows = [
        [KINDS[kind], *(None if one.share is None else 100 * one.share for one in steps)]
        for kind, steps in scale().items()
    ]
    return pd.DataFrame(rows, columns=["part, by support", *ranges])


def support_frame(found: Stability, labels: Sequence[str] | None = None) -> pd.DataFrame:
    """Return a row for every part of the graph: its type, its ends or columns, its support."""
    graph, start = found.graph, found.initial_graph
    names = graph.labels if labels is None else tuple(labels)
    hidden = graph.hidden_nodes
    parts = [(KINDS["hidden"], names[h], _listed(names, graph.neighbours(h))) for h in hidden]
    parts += [(KINDS["cycle"], _listed(names, cycle), "") for cycle in graph.cycles]
    parts += [(KINDS[edge_kind(graph, u, v)], names[u], names[v]) for u, v in graph.edges.tolist()]
    parts += [(LOCAL, names[u], names[v]) for u, v in start.edges.tolist()]
    frame = pd.DataFrame(parts, columns=["part", "one end", "other end"])
    found_in = (found.hidden, found.cycles, found.edges, found.initial_edges)
    return frame.assign(support=np.concatenate(found_in))


def support_json(found: Stability) -> str:
    """Return the support of every part and the reasons of failed resamples as JSON."""
    graph, start = found.graph, found.initial_graph
    labels = graph.labels

    def parts(name: str, ends: Iterable[Sequence[int]], support: FloatArray) -> list[Any]:
        rows = zip(ends, support.tolist(), strict=True)
        return [{name: [labels[end] for end in one], "support": share} for one, share in rows]

    hidden = parts("next_to", map(graph.neighbours, graph.hidden_nodes), found.hidden)
    names = labels[graph.n_observed :]
    whole = {
        "scheme": found.scheme,
        "runs": {"asked": found.n_asked, "used": found.n_used, "failed": found.n_failed},
        "reasons": found.reasons,
        "instability": found.instability,
        "edges": parts("ends", graph.edges.tolist(), found.edges),
        "hidden_nodes": [{"node": n} | one for n, one in zip(names, hidden, strict=True)],
        "cycles": parts("nodes", graph.cycles, found.cycles),
        "local_trees": parts("ends", start.edges.tolist(), found.initial_edges),
    }
    return json.dumps(whole, indent=1, allow_nan=False) + "\n"


def support_csv(found: Stability) -> str:
    """Return `support_frame` as CSV, safe against formula injection in spreadsheets."""
    frame = support_frame(found)
    for column in ("one end", "other end"):
        frame[column] = [name_to_csv(text) for text in frame[column]]
    return frame.to_csv(index=False)


def _listed(names: Sequence[str], nodes: Sequence[int]) -> str:
    shown = ", ".join(names[node] for node in nodes[:_MOST_COLUMNS])
    more = len(nodes) - _MOST_COLUMNS
    return f"{shown} and {more} more" if more > 0 else shown
