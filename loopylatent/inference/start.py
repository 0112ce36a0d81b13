"""Where a fit begins: from the learned lengths and the observed correlations, not from noise.

A hidden node starts as a noisy copy of the column nearest to it, its representative. An edge of
length d starts with the correlation e^-d; its sign, or for more than two states the way in which
states go together, is that of the representatives of its ends. Put together as on a tree, these
pairs give the first log-potentials.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from loopylatent.compute.arrays import FloatArray, IntArray
from loopylatent.graph import LatentGraph
from loopylatent.inference.evidence import Rows
from loopylatent.inference.parameters import Layout, contrasts_of

LEAST_RATIO = 0.05
"""No two states start less often together than this share of what independence would give."""
STRONGEST = 0.97
PSEUDO_COUNT = 0.5


def representatives(graph: LatentGraph) -> IntArray:
    """(nodes,) the column nearest to each node along the graph; a column stands for itself."""
    p = graph.n_observed
    lengths = graph.path_lengths(graph.hidden_nodes)[:, :p]
    return np.concatenate([np.arange(p), lengths.argmin(axis=1)]).astype(np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Anchors:
    """The column that stands for each node, and whether the node runs with it or against it."""

    column: IntArray
    sign: FloatArray

    @classmethod
    def of(cls, graph: LatentGraph) -> Anchors:
        """Let every node run with the column nearest to it."""
        return cls(representatives(graph), np.ones(graph.n_nodes))


@dataclass(frozen=True, eq=False)
class DiscreteStart:
    """First shares and tables of the nodes and edges of one layout."""

    layout: Layout
    rows: Rows = field(repr=False)
    anchors: Anchors

    @classmethod
    def of(cls, layout: Layout, rows: Rows) -> DiscreteStart:
        return cls(layout, rows, Anchors.of(layout.graph))

    @cached_property
    def shares(self) -> tuple[FloatArray, ...]:
        graph, n_states = self.layout.graph, self.layout.n_states
        found = [self._column_shares(j) for j in range(graph.n_observed)]
        for h in graph.hidden_nodes:
            rep = int(self.anchors.column[h])
            if n_states[h] == n_states[rep]:
                found.append(found[rep])
            else:
                up = (contrasts_of(found[rep]) @ self._direction(h)) > 0
                share = float(np.clip(found[rep][up].sum(), 0.2, 0.8))
                found.append(np.array([1 - share, share]))
        return tuple(found)

    def cells(self) -> FloatArray:
        """(cells,) first log-potentials of all nodes and edges."""
        layout = self.layout
        cells = np.zeros(layout.n_cells)
        for v, share in enumerate(self.shares):
            layout.node_table(cells, v)[:] = np.log(share)
        for edge in range(layout.graph.n_edges):
            layout.edge_table(cells, edge)[:] = self.edge_table(edge, self.shares)
        return cells

    def edge_table(self, edge: int, shares: tuple[FloatArray, ...]) -> FloatArray:
        """(K, L) log of how much more often than by chance two states meet on an edge."""
        graph = self.layout.graph
        u, v = graph.edges[edge].tolist()
        matrix = self._alignment(u, v)
        if v < graph.n_observed:
            return log_ratio(shares[u], shares[v], matrix)
        target = float(np.exp(-graph.lengths[edge]))
        if min(matrix.shape) > 1:  # a determinant metric multiplies up over the contrasts
            target **= 1.0 / min(matrix.shape)
        strength = float(np.linalg.norm(matrix, 2))
        scale = min(target, STRONGEST) / max(strength, 1e-6)
        return log_ratio(shares[u], shares[v], scale * matrix)

    def _column_shares(self, j: int) -> FloatArray:
        counts = self.rows.counts((j,), (int(self.layout.n_states[j]),)) + PSEUDO_COUNT
        shares: FloatArray = counts / counts.sum()
        return shares

    def _alignment(self, u: int, v: int) -> FloatArray:
        """(K-1, L-1) the correlations of the contrasts of two nodes, by their representatives."""
        a, b = self.anchors.column[[u, v]].tolist()
        matrix = np.eye(int(self.layout.n_states[a]) - 1) if a == b else self._moments(a, b)
        if self.layout.n_states[u] != self.layout.n_states[a]:
            matrix = self._direction(u)[None] @ matrix
        if self.layout.n_states[v] != self.layout.n_states[b]:
            matrix = matrix @ self._direction(v)[:, None]
        return matrix * float(self.anchors.sign[u] * self.anchors.sign[v])

    def _moments(self, a: int, b: int) -> FloatArray:
        """(K-1, L-1) correlations of the contrasts of two columns, in the rows with both."""
        shape = (int(self.layout.n_states[a]), int(self.layout.n_states[b]))
        first, second = self._column_shares(a), self._column_shares(b)
        counts = self.rows.counts((a, b), shape) + PSEUDO_COUNT * np.outer(first, second)
        joint = counts / counts.sum()
        joint -= np.outer(joint.sum(axis=1), joint.sum(axis=0))
        moments: FloatArray = contrasts_of(first).T @ joint @ contrasts_of(second)
        return moments

    def _direction(self, h: int) -> FloatArray:
        """(K-1,) the contrast of its representative that a two-state hidden node follows."""
        graph, rep = self.layout.graph, int(self.anchors.column[h])
        lengths = graph.path_lengths([h])[0, : graph.n_observed]
        others = [int(j) for j in np.argsort(lengths, kind="stable") if j != rep][:3]
        moments = np.hstack([self._moments(rep, j) for j in others])
        left = np.linalg.svd(moments)[0][:, 0]
        return left if left[np.abs(left).argmax()] > 0 else -left


def log_ratio(first: FloatArray, second: FloatArray, matrix: FloatArray) -> FloatArray:
    """(K, L) log P(s, t) / P(s) P(t) for two nodes whose contrasts have these correlations.

    Correlations that would make a probability negative are shrunk together.
    """
    excess = contrasts_of(first) @ matrix @ contrasts_of(second).T
    lowest = float(excess.min())
    if lowest < LEAST_RATIO - 1:
        excess = excess * ((1 - LEAST_RATIO) / -lowest)
    table: FloatArray = np.log1p(excess)
    return table
