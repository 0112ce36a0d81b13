"""Groups of columns: communities of one graph, and their consensus over resamples."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass

import networkx as nx
import numpy as np
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import squareform

from loopylatent.analysis.stability.resampling import (
    Resampler,
    bootstrapped_rows,
    perturbed_distances,
)
from loopylatent.compute.limits import one_thread
from loopylatent.compute.values import (
    Check,
    FloatArray,
    IntArray,
    Progress,
    Shown,
    check_many,
    check_seed,
    frozen_array,
)
from loopylatent.compute.workers import Engine, runner
from loopylatent.distances.matrix import DistanceMatrix, Metric
from loopylatent.distances.resampled import BATCH, Outcome
from loopylatent.errors import DataError, LoopyLatentError
from loopylatent.graph import LatentGraph
from loopylatent.learning.initial_graph import default_thresholds
from loopylatent.learning.learner import learn
from loopylatent.settings import LearnSettings, Thresholds
from loopylatent.tables.observations import Observations, check_observations

N_RESAMPLES = 200


@dataclass(frozen=True, eq=False, repr=False)
class Groups(Shown):
    """A group number for each observed column, largest group first.

    Examples
    --------
    >>> Groups(("a", "b", "c"), np.array([0, 0, 1]))
    Groups(3 columns in 2 groups)
    """

    names: tuple[str, ...]
    """The columns."""
    labels: IntArray
    """(p,) the group of each column, from 0."""
    together: FloatArray | None = None
    """(p, p) share of the resamples in which two columns are in one group."""
    n_resamples: int = 0
    """0 for the communities of one graph."""
    n_failed: int = 0
    """Resamples in which no graph could be learned."""

    @property
    def n_groups(self) -> int:
        return int(self.labels.max()) + 1

    def __repr__(self) -> str:
        runs = f", {self.n_resamples} resamples" if self.n_resamples else ""
        failed = f", {self.n_failed} failed" if self.n_failed else ""
        return f"Groups({len(self.names)} columns in {self.n_groups} groups{runs}{failed})"

    def as_dict(self) -> dict[str, int]:
        return dict(zip(self.names, self.labels.tolist(), strict=True))

    def agreement(self, known: Mapping[str, str]) -> float:
        """Adjusted Rand index with known groups, over the columns that have one."""
        # imported here because scikit-learn is slow to import
        from sklearn.metrics import adjusted_rand_score

        found = [(label, known[name]) for name, label in self.as_dict().items() if name in known]
        if len(found) < 2:
            raise DataError("Fewer than two columns have a known group.")
        labels, truth = zip(*found, strict=True)
        return float(adjusted_rand_score(truth, labels))


def communities(graph: LatentGraph, seed: int = 0) -> Groups:
    """Return the Louvain communities of one graph (edge weight e^-d, hidden nodes included).

    Parameters
    ----------
    graph : LatentGraph
    seed : int
        Seed of the Louvain method.

    Examples
    --------
    >>> edges = [(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5), (2, 3)]
    >>> communities(LatentGraph.build(list("abcdef"), 0, edges)).labels.tolist()
    [0, 0, 0, 1, 1, 1]
    """
    check_seed(seed)
    weighted: nx.Graph[int] = nx.empty_graph(graph.n_nodes)
    strengths = np.exp(-graph.lengths).tolist()
    ends = zip(graph.edges.tolist(), strengths, strict=True)
    weighted.add_weighted_edges_from((u, v, strength) for (u, v), strength in ends)
    p = graph.n_observed
    parts = nx.community.louvain_communities(weighted, weight="weight", seed=seed)
    return Groups(graph.names, _labelled([[v for v in part if v < p] for part in parts], p))


def groups(
    table: Observations | DistanceMatrix,
    *,
    metric: Metric = "auto",
    thresholds: Thresholds | None = None,
    n_resamples: int = N_RESAMPLES,
    seed: int = 0,
    progress: Progress | None = None,
    engine: Engine = "threads",
    scheduler: str | None = None,
) -> Groups:
    """Return consensus groups of columns over resamples; their number is estimated.

    In each resample a graph is learned, with ``thresholds`` or the default ones, and split into
    Louvain communities. The share of resamples in which two columns are in one community is the
    input of average linkage. The hierarchy is cut where the modularity of the fourth powers of
    these shares is largest. A table is resampled by rows; distances are perturbed by the sampling
    error of a correlation.

    Parameters
    ----------
    table : Observations or DistanceMatrix
    metric : str
        As in `information_distances`.
    thresholds : Thresholds, optional
        For every resample; by default the default rule is applied to each.
    n_resamples : int
    seed : int
    progress : callable, optional
        Called with the number of resamples done and the total.
    engine, scheduler
        Threads of this machine or a Dask cluster; see `information_distances`. They do not affect
        the groups.

    Examples
    --------
    >>> from loopylatent.tables.samples import load_sample
    >>> found = groups(load_sample("ability16").observations, n_resamples=10)
    >>> found
    Groups(16 columns in 5 groups, 10 resamples)
    >>> [name for name, group in found.as_dict().items() if group == 0]
    ['reason.4', 'reason.16', 'reason.17', 'reason.19']
    """
    check_many("n_resamples", n_resamples, 2, error=DataError)
    check_seed(seed)
    if not isinstance(table, DistanceMatrix):
        check_observations(table)
    draw = (
        bootstrapped_rows(table, metric)
        if isinstance(table, Observations)
        else perturbed_distances(table)
    )
    names = table.names
    together = np.zeros((len(names), len(names)))
    failed = 0
    rng = np.random.default_rng(seed)
    generators = []
    for _ in range(n_resamples):  # the state after k draws, so that threads do not change results
        generators.append(deepcopy(rng))
        draw.draw([rng])
    batches = [generators[k : k + BATCH] for k in range(0, n_resamples, BATCH)]
    done = 0

    def report(*_: int) -> None:
        if progress is not None:
            progress(done, n_resamples)

    with runner(engine, scheduler) as run, one_thread():
        for _, found in run(_learned_labels, (draw, thresholds, seed), batches, report):
            for labels in found:
                if labels is None:
                    failed += 1
                else:
                    together += labels[:, None] == labels
            done += len(found)
    report()
    if failed == n_resamples:
        raise DataError("No resample could be learned; check that enough rows differ.")
    together /= n_resamples - failed
    shares = frozen_array(together, np.float64)
    return Groups(names, agreed(together), shares, n_resamples, failed)


def agreed(together: FloatArray) -> IntArray:
    """Return the consensus groups, from the shares of resamples that put two columns together."""
    merges = linkage(squareform(1 - together, checks=False), "average")
    weights = together**4
    np.fill_diagonal(weights, 0.0)
    totals = weights.sum(axis=0)
    # terms of the modularity: observed minus expected weight
    excess = weights - np.outer(totals, totals) / max(totals.sum(), np.finfo(float).tiny)
    parts: dict[int, list[int]] = {k: [k] for k in range(len(together))}
    best, modularity, highest = list(parts.values()), 0.0, 0.0
    for node, (a, b) in enumerate(merges[:, :2].astype(np.int64).tolist(), start=len(together)):
        left, right = parts.pop(a), parts.pop(b)
        modularity += 2 * float(excess[np.ix_(left, right)].sum())
        parts[node] = left + right
        if modularity > highest:
            best, highest = list(parts.values()), modularity
    return _labelled(best, len(together))


def _learned_labels(
    run: tuple[Resampler, Thresholds | None, int],
    generators: list[np.random.Generator],
    check: Check,
) -> list[IntArray | None]:
    """Return the communities of some resamples; None if no graph could be learned."""
    draw, thresholds, seed = run

    def one(D: Outcome) -> IntArray | None:
        if isinstance(D, LoopyLatentError):
            return None
        settings = LearnSettings(thresholds or default_thresholds(D))
        try:
            result = learn(D, settings, trace=False, progress=check)
        except LoopyLatentError:
            return None
        return communities(result.graph, seed).labels

    return [one(D) for D in draw.distances(draw.draw(generators), check)]


def _labelled(parts: list[list[int]], n_columns: int) -> IntArray:
    """Number the groups by size, then by first column."""
    ordered = sorted((sorted(part) for part in parts if part), key=lambda part: (-len(part), part))
    labels = np.empty(n_columns, dtype=np.int64)
    for k, members in enumerate(ordered):
        labels[members] = k
    return frozen_array(labels, np.int64)
