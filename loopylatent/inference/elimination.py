"""Whether exact summation is possible, decided before anything is summed (section 6.1).

Summing out the nodes of a graph one after the other needs a table over each node and those still
beside it. A good order keeps these tables small; the largest of them decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from loopylatent._kernels.elimination import eliminate_by_fill
from loopylatent.graph import IntArray, LatentGraph, frozen_array

LARGEST_TABLE = 2**20
"""Entries of the largest table for which exact inference is used."""
WORTH_A_SEARCH = 2**14
"""From this many entries in all, ties of the rule are broken in several ways and the best kept."""
MORE_ORDERS = 4


@dataclass(frozen=True, eq=False)
class Elimination:
    """An order of elimination and the tables that it needs.

    Parameters
    ----------
    order : (k,) int64 array
        The nodes that are summed out, first to last.
    widths : (k,) int64 array
        How many other nodes are in the table of each.
    log2_tables : (k,) float64 array
        The size of each table, as a power of two.
    """

    order: IntArray = field(repr=False)
    widths: IntArray = field(repr=False)
    log2_tables: NDArray[np.float64] = field(repr=False)

    @property
    def treewidth(self) -> int:
        """Nodes of the largest table less one: an upper bound on the treewidth of the graph."""
        return int(self.widths.max(initial=0))

    @property
    def log2_largest(self) -> float:
        return float(self.log2_tables.max(initial=0.0))

    @property
    def largest_table(self) -> float:
        """Entries of the largest table."""
        return float(2.0**self.log2_largest)

    @property
    def total_size(self) -> float:
        """Entries of all tables together."""
        return float((2.0**self.log2_tables).sum())

    def fits(self, limit: float = LARGEST_TABLE) -> bool:
        """Whether no table has more than ``limit`` entries."""
        return bool(self.log2_largest <= np.log2(limit) + 1e-9)


def eliminate(
    graph: LatentGraph,
    n_states: Sequence[int] | IntArray | int = 2,
    *,
    given: NDArray[np.bool_] | None = None,
) -> Elimination:
    """Find an elimination order by the min-fill rule.

    Parameters
    ----------
    graph : LatentGraph
    n_states : int or sequence of int
        States of each node.
    given : (nodes,) bool array, optional
        Nodes whose values are known. They are not summed out and link nothing; among equal
        choices those nodes go first on which the fewest known values bear, so that rows have the
        first tables in common.

    Examples
    --------
    >>> ring = LatentGraph.build(list("abcde"), 0, [(0, 1), (1, 2), (2, 3), (3, 4), (0, 4)])
    >>> found = eliminate(ring)
    >>> found.treewidth, found.largest_table, found.fits()
    (2, 8.0, True)
    """
    active = np.ones(graph.n_nodes, np.bool_) if given is None else ~given
    linked = np.zeros((graph.n_nodes, graph.n_nodes), np.bool_)
    u, v = graph.edges.T
    linked[u, v] = linked[v, u] = True
    log2_states = np.log2(np.broadcast_to(np.asarray(n_states, float), graph.n_nodes)).copy()
    burden = (linked & ~active).sum(axis=1).astype(np.float64)
    best = _ordered(linked, active, log2_states, burden)
    if given is None and best.total_size > WORTH_A_SEARCH:
        rng = np.random.default_rng(0)
        for _ in range(MORE_ORDERS):
            other = _ordered(linked, active, log2_states, rng.random(graph.n_nodes))
            best = min(best, other, key=lambda found: (found.log2_largest, found.total_size))
    return best


def _ordered(
    linked: NDArray[np.bool_],
    active: NDArray[np.bool_],
    log2_states: NDArray[np.float64],
    burden: NDArray[np.float64],
) -> Elimination:
    order, widths, log2_tables = eliminate_by_fill(
        linked.copy(), active.copy(), log2_states, burden
    )
    return Elimination(
        frozen_array(order, np.int64),
        frozen_array(widths, np.int64),
        frozen_array(log2_tables, np.float64),
    )
