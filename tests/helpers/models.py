"""Small pairwise models, evaluated by enumeration of all states."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
from hypothesis import strategies as st

from loopylatent.graph import LatentGraph
from loopylatent.inference.parameters import Layout


@dataclass(frozen=True)
class SmallModel:
    layout: Layout
    cells: np.ndarray
    states: np.ndarray
    """(rows, nodes), -1 where unknown."""

    @property
    def graph(self) -> LatentGraph:
        return self.layout.graph

    def enumerate(self) -> tuple[np.ndarray, np.ndarray]:
        """Return all joint states and their log weights."""
        layout = self.layout
        joint = np.array(list(product(*[range(int(k)) for k in layout.n_states])))
        log_weight = np.zeros(len(joint))
        for v in range(self.graph.n_nodes):
            log_weight += layout.node_table(self.cells, v)[joint[:, v]]
        for edge, (u, v) in enumerate(self.graph.edges.tolist()):
            log_weight += layout.edge_table(self.cells, edge)[joint[:, u], joint[:, v]]
        return joint, log_weight

    def fits(self, joint: np.ndarray) -> np.ndarray:
        """(rows, joint states) whether a joint state agrees with the observed values of a row."""
        known = self.states[:, None, :]
        return ((known < 0) | (known == joint)).all(axis=2)


@st.composite
def small_models(draw, max_nodes=12, max_joint=5000, max_rows=8, trees=False, most_states=3):
    """Loopy or tree-like graphs with hidden nodes, tables, and rows with missing values."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_states, nodes = [], draw(st.integers(2, max_nodes))
    while len(n_states) < nodes:
        k = int(rng.integers(2, most_states + 1))
        if np.prod([*n_states, k]) > max_joint:
            break
        n_states.append(k)
    m = len(n_states)
    p = draw(st.integers(1, m))
    edges = {(int(rng.integers(v)), v) for v in range(1, m) if rng.random() < 0.9}
    if not trees:
        density = draw(st.sampled_from([0.0, 0.2, 0.6]))
        edges |= {pair for pair in combinations(range(m), 2) if rng.random() < density}
    order = rng.permutation(m)
    graph = LatentGraph.build(
        [f"x{k + 1}" for k in range(p)], m - p, [(order[u], order[v]) for u, v in sorted(edges)]
    )
    layout = Layout(graph, np.array(n_states))
    scale = draw(st.sampled_from([0.3, 1.0, 4.0]))
    states = np.full((draw(st.integers(1, max_rows)), m), -1, np.int16)
    for v in range(p):
        states[:, v] = rng.integers(0, n_states[v], len(states))
    states[rng.random(states.shape) < draw(st.sampled_from([0.0, 0.2, 0.7]))] = -1
    return SmallModel(layout, rng.normal(scale=scale, size=layout.n_cells), states)


def log_sum(values: np.ndarray, where: np.ndarray) -> np.ndarray:
    """(rows,) log-sum-exp over the values that each row allows."""
    allowed = np.where(where, values, -np.inf)
    top = allowed.max(axis=1, keepdims=True)
    return top[:, 0] + np.log(np.exp(allowed - top).sum(axis=1))
