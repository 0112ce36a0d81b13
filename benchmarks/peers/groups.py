"""Groups of columns against known groups: ours and those of other packages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray
from sklearn.covariance import graphical_lasso
from sklearn.metrics import adjusted_rand_score

import loopylatent as ll
from benchmarks.peers.peers import (
    OURS,
    SKLEARN,
    Comparison,
    Found,
    Method,
    NoResult,
    compare,
    elsewhere,
    pinned,
    published,
)
from benchmarks.quality.groups import rotated_factors

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
SAMPLES = ("bfi25", "holzinger24", "ability16")
N_PENALTIES = 30
GAMMA = 0.5
"""Weight of the number of columns in eBIC."""


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """Complete rows, and the known group of each column."""

    obs: ll.Observations
    labels: Sequence[Any]

    @classmethod
    def of(cls, name: str) -> Known:
        sample = ll.load_sample(name)
        obs, known = sample.observations, sample.groups or {}
        obs = obs.take(np.flatnonzero(~np.isnan(obs.dense()).any(axis=1)))
        return cls(obs, [known[column] for column in obs.names])

    @property
    def n_groups(self) -> int:
        return len(set(self.labels))

    def agreement(self, labels: Sequence[int] | IntArray) -> float:
        """Return the adjusted Rand index with the known groups."""
        return float(adjusted_rand_score(self.labels, labels))

    def found(self, labels: Sequence[int] | IntArray) -> Found:
        return Found((self.agreement(labels),), f"{len(set(map(int, labels)))} groups")


def ebic_precision(correlations: FloatArray, n_rows: int) -> FloatArray:
    """Return the inverse covariance of the graphical lasso whose penalty has the best eBIC."""
    p = len(correlations)
    largest = np.abs(correlations - np.eye(p)).max()
    best, lowest = np.eye(p), np.inf
    for penalty in largest * np.geomspace(1, 0.01, N_PENALTIES):
        _, precision = graphical_lasso(correlations, penalty, enet_tol=1e-7)
        n_edges = np.count_nonzero(np.triu(precision, 1))
        fit = np.linalg.slogdet(precision)[1] - np.trace(precision @ correlations)
        ebic = n_edges * (np.log(n_rows) + 4 * GAMMA * np.log(p)) - n_rows * fit
        if ebic < lowest:
            best, lowest = precision, ebic
    return best


def exploratory_graph_groups(rows: FloatArray) -> IntArray:
    """Exploratory graph analysis: Louvain communities of the partial correlations."""
    precision = ebic_precision(np.corrcoef(rows.T), len(rows))
    scale = np.sqrt(np.diag(precision))
    weights = np.abs(precision / np.outer(scale, scale))
    np.fill_diagonal(weights, 0.0)
    graph = nx.from_numpy_array(weights)
    labels = np.empty(len(weights), dtype=np.int64)
    for label, part in enumerate(nx.community.louvain_communities(graph, seed=0)):
        labels[list(part)] = label
    return labels


def nearest_hidden(graph: ll.LatentGraph) -> IntArray:
    """Return the nearest hidden node of each column, or the column if none is connected."""
    columns = np.arange(graph.n_observed)
    if not graph.n_hidden:
        return columns
    lengths = graph.path_lengths(columns.tolist())[:, graph.n_observed :]
    nearest = graph.n_observed + lengths.argmin(axis=1)
    return np.where(np.isfinite(lengths.min(axis=1)), nearest, columns)


def refined_graph(obs: ll.Observations) -> ll.LatentGraph:
    D = ll.information_distances(obs)
    return ll.learn(D, obs=obs, refine="structure", trace=False).graph


def topic_labels(known: Known) -> Any:
    """Run corextopic with the known number of groups."""
    if set(known.obs.kinds) != {"binary"}:
        raise NoResult("binary columns only")
    return elsewhere("corextopic", {"rows": known.obs.dense(), "n_groups": known.n_groups})


def _topics(known: Known) -> Found:
    answer = topic_labels(known)
    found = known.found(answer.found)
    return answer.scored(*found.scores, note=found.note)


CONSENSUS = "`groups`"
METHODS = (
    Method(CONSENSUS, OURS, lambda known: known.found(ll.groups(known.obs).labels)),
    Method("`communities` of the refined graph", OURS,
           lambda known: known.found(ll.communities(refined_graph(known.obs)).labels)),
    Method("exploratory graph analysis, eBIC, Louvain", f"{SKLEARN}, networkx {nx.__version__}",
           lambda known: known.found(exploratory_graph_groups(known.obs.dense()))),
    Method("factor analysis, varimax, number given", SKLEARN,
           lambda known: known.found(rotated_factors(known.obs, known.n_groups))),
    Method("total correlation, number given", pinned("corextopic"), _topics),
)  # fmt: skip


def report(names: Sequence[str] = SAMPLES) -> str:
    tables = ((f"`{name}`", Known.of(name)) for name in names)
    results = compare(tables, lambda _: METHODS)
    found = Comparison(("adjusted Rand index",), (1,), 2, CONSENSUS, results)
    text = (
        "Agreement of groups of columns with known groups, on complete rows. Two methods are given "
        "the known number of groups, which ours and exploratory graph analysis estimate. Bold: "
        f"better than {CONSENSUS}."
    )
    return published("peers_groups", "known groups", text, found)
