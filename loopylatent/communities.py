"""Which columns belong together: communities of one graph, and a consensus over many.

``communities`` reads one learned graph; that is quick, and moves with every resample. ``groups``
learns a graph on each of many resamples and keeps the columns together that stay together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import networkx as nx
import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import adjusted_rand_score

from loopylatent.data import Observations
from loopylatent.distances import DistanceMatrix, Metric, information_distances
from loopylatent.errors import DataError, LoopyLatentError
from loopylatent.graph import LatentGraph, frozen_array
from loopylatent.learn import learn
from loopylatent.settings import LearnSettings
from loopylatent.thresholds import default_thresholds

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Progress = Callable[[int, int], None]


@dataclass(frozen=True, eq=False)
class Groups:
    """A group number for each observed column, largest group first."""

    names: tuple[str, ...]
    labels: IntArray
    together: FloatArray | None = field(default=None, repr=False)
    """(p, p) share of the resamples in which two columns fell into one group."""
    n_failed: int = 0
    """Resamples on which no graph could be learned."""

    @property
    def n_groups(self) -> int:
        return int(self.labels.max()) + 1

    def as_dict(self) -> dict[str, int]:
        return dict(zip(self.names, self.labels.tolist(), strict=True))

    def agreement(self, known: Mapping[str, str]) -> float:
        """Adjusted Rand index with known groups, over the columns that have one."""
        found = [(label, known[name]) for name, label in self.as_dict().items() if name in known]
        if len(found) < 2:
            raise DataError("fewer than two columns have a known group; nothing to compare.")
        labels, truth = zip(*found, strict=True)
        return float(adjusted_rand_score(truth, labels))


def communities(graph: LatentGraph, seed: int = 0) -> Groups:
    """Louvain communities of one graph (edge weight e^-d, hidden nodes included).

    Examples
    --------
    >>> edges = [(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5), (2, 3)]
    >>> communities(LatentGraph.build(list("abcdef"), 0, edges)).labels.tolist()
    [0, 0, 0, 1, 1, 1]
    """
    weighted: nx.Graph[int] = nx.Graph()
    weighted.add_nodes_from(range(graph.n_nodes))
    strengths = np.exp(-graph.lengths).tolist()
    for (u, v), strength in zip(graph.edges.tolist(), strengths, strict=True):
        weighted.add_edge(u, v, weight=strength)
    return Groups(graph.names, _louvain(weighted, graph.n_observed, seed))


def groups(
    table: Observations | DistanceMatrix,
    *,
    metric: Metric = "auto",
    n_resamples: int = 50,
    seed: int = 0,
    progress: Progress | None = None,
) -> Groups:
    """Return the groups of columns on which resamples agree; their number is found, not given.

    Each resample is learned with the default thresholds and cut into communities. The shares of
    resamples that keep two columns together, cubed, are the weights of a graph on the columns,
    and its communities are the groups. Rows are resampled where they are there; distances alone
    are shaken by the standard error of a correlation.
    """
    if n_resamples < 2:
        raise DataError(f"n_resamples = {n_resamples} is too few; give at least 2.")
    rng = np.random.default_rng(seed)
    draw = _row_resampler(table, metric) if isinstance(table, Observations) else _shaker(table)
    names = table.names
    together = np.zeros((len(names), len(names)))
    failed = 0
    for k in range(n_resamples):
        if progress is not None:
            progress(k, n_resamples)
        try:
            labels = _learned_labels(draw(rng), seed)
        except LoopyLatentError:
            failed += 1
            continue
        together += labels[:, None] == labels
    if failed == n_resamples:
        raise DataError("no resample could be learned; are there enough rows that differ?")
    together /= n_resamples - failed
    weights = together**3
    np.fill_diagonal(weights, 0.0)
    labels = _louvain(nx.from_numpy_array(weights), len(names), seed)
    return Groups(names, labels, frozen_array(together, np.float64), failed)


def _row_resampler(
    obs: Observations, metric: Metric
) -> Callable[[np.random.Generator], DistanceMatrix]:
    """Bootstrap: each row gets the number of times it was drawn as its weight."""
    n = obs.n_samples
    share = np.full(obs.n_rows, 1 / obs.n_rows) if obs.weights is None else obs.weights / n

    def draw(rng: np.random.Generator) -> DistanceMatrix:
        counts = rng.multinomial(n, share / share.sum()).astype(np.float64)
        return information_distances(obs.with_weights(counts), metric)

    return draw


def _shaker(D: DistanceMatrix) -> Callable[[np.random.Generator], DistanceMatrix]:
    """Add N(0, (1 - rho^2)^2 / n) to every correlation."""
    if D.n_samples is None:
        raise DataError(
            "groups needs to know how precise the distances are; give n_samples to "
            "DistanceMatrix.from_array, or pass the observations."
        )
    strength = np.exp(-D.values)
    spread = (1 - strength**2) / np.sqrt(D.n_samples)

    def draw(rng: np.random.Generator) -> DistanceMatrix:
        noise = np.triu(rng.normal(size=strength.shape) * spread, 1)
        shaken = np.clip(np.abs(strength + noise + noise.T), 1e-12, 1.0)
        values = -np.log(shaken)
        np.fill_diagonal(values, 0.0)
        return replace(D, values=frozen_array(values, np.float64))

    return draw


def _learned_labels(D: DistanceMatrix, seed: int) -> IntArray:
    result = learn(D, LearnSettings(default_thresholds(D)), trace=False)
    return communities(result.graph, seed).labels


def _louvain(weighted: nx.Graph[int], n_observed: int, seed: int) -> IntArray:
    """Group of each observed node; larger groups first, then by their first column."""
    parts = nx.community.louvain_communities(weighted, weight="weight", seed=seed)
    columns = [sorted(node for node in part if node < n_observed) for part in parts]
    columns = sorted((c for c in columns if c), key=lambda c: (-len(c), c))
    labels = np.empty(n_observed, dtype=np.int64)
    for k, members in enumerate(columns):
        labels[members] = k
    return frozen_array(labels, np.int64)
