"""Storage of the log-potentials of a pairwise model, and the parameters in which it is fitted.

P(x) = exp(sum of node tables + sum of edge tables) / Z (equation 2); all tables are stored in one
array of cells. Parameters are coefficients of contrasts: K - 1 functions of a state with mean 0 and
variance 1.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from loopylatent.compute.tape import Network, Sparse
from loopylatent.compute.values import FloatArray, IntArray, frozen_array
from loopylatent.graph import LatentGraph


@dataclass(frozen=True, eq=False)
class Layout:
    """The cells of the tables of a pairwise model."""

    graph: LatentGraph
    n_states: IntArray = field(repr=False)

    @cached_property
    def node_cell(self) -> IntArray:
        return frozen_array(np.cumsum(self.n_states) - self.n_states, np.int64)

    @cached_property
    def edge_cell(self) -> IntArray:
        """(edges,) the first cell of each edge; its first end has the longer stride."""
        u, v = self.graph.edges.T
        sizes = self.n_states[u] * self.n_states[v]
        return frozen_array(int(self.n_states.sum()) + np.cumsum(sizes) - sizes, np.int64)

    @cached_property
    def n_cells(self) -> int:
        u, v = self.graph.edges.T
        return int(self.n_states.sum() + (self.n_states[u] * self.n_states[v]).sum())

    @cached_property
    def n_parameters(self) -> int:
        """Free parameters: K - 1 for each node, (K - 1)(L - 1) for each edge."""
        u, v = self.graph.edges.T
        free = self.n_states - 1
        return int(free.sum() + (free[u] * free[v]).sum())

    def node_cells(self, node: int) -> slice:
        first = int(self.node_cell[node])
        return slice(first, first + int(self.n_states[node]))

    def node_table(self, cells: FloatArray, node: int) -> FloatArray:
        """(K,) the cells of a node."""
        return cells[self.node_cells(node)]

    def edge_table(self, cells: FloatArray, edge: int) -> FloatArray:
        """(K, L) a view of the cells of an edge."""
        u, v = self.graph.edges[edge]
        first, shape = int(self.edge_cell[edge]), (int(self.n_states[u]), int(self.n_states[v]))
        return cells[first : first + shape[0] * shape[1]].reshape(shape)

    def network(self, order: IntArray) -> Network:
        """Return the arrays that the kernels need to sum out the nodes in this order."""
        m, edges = self.graph.n_nodes, self.graph.edges
        u, v = edges.T
        ends, others = np.concatenate([u, v]), np.concatenate([v, u])
        own = np.concatenate([self.n_states[v], np.ones(len(edges), np.int64)])
        across = np.concatenate([np.ones(len(edges), np.int64), self.n_states[v]])
        by_end = np.lexsort((others, ends))
        rank = np.full(m, m, np.int64)
        rank[order] = np.arange(len(order))
        return Network(
            np.asarray(self.n_states, np.int64),
            np.asarray(order, np.int64),
            rank,
            self.node_cell,
            np.searchsorted(ends[by_end], np.arange(m + 1)).astype(np.int64),
            others[by_end],
            np.concatenate([self.edge_cell, self.edge_cell])[by_end],
            own[by_end],
            across[by_end],
        )


@dataclass(frozen=True, eq=False)
class Basis:
    """Parameters of the models on a layout: fields of contrasts, couplings of their products."""

    layout: Layout

    @cached_property
    def contrasts(self) -> tuple[FloatArray, ...]:
        """For each node (K, K - 1), of mean 0 and variance 1 over equally frequent states."""
        # with contrasts scaled to rare states, the optimiser needs many times the steps
        sizes = self.layout.n_states.tolist()
        by_size = {k: contrasts_of(np.full(k, 1.0 / k)) for k in set(sizes)}
        return tuple(by_size[k] for k in sizes)

    @cached_property
    def matrix(self) -> csr_array[np.float64, tuple[int, int]]:
        """(cells, parameters): cells = matrix @ parameters; a block for each node and edge."""
        sizes, edges = self.layout.n_states.tolist(), self.layout.graph.edges.tolist()
        contrasts = dict(zip(sizes, self.contrasts, strict=True))
        shapes = [(sizes[u], sizes[v]) for u, v in edges]
        products = {(k, n): _kron(contrasts[k], contrasts[n]) for k, n in set(shapes)}
        return _block_diagonal([*self.contrasts, *(products[shape] for shape in shapes)])

    @cached_property
    def transposed(self) -> csr_array[np.float64, tuple[int, int]]:
        return csr_array(self.matrix.T)

    @cached_property
    def _places(self) -> tuple[list[int], list[int]]:
        """Where the parameters of each node and of each edge begin, and where the last ends."""
        u, v = self.layout.graph.edges.T
        free = self.layout.n_states - 1
        nodes = np.concatenate([[0], np.cumsum(free)])
        return nodes.tolist(), (nodes[-1] + np.cumsum(np.append(0, free[u] * free[v]))).tolist()

    def fields(self, node: int) -> slice:
        """Return the places of the parameters of a node."""
        return slice(self._places[0][node], self._places[0][node + 1])

    def couplings(self, edge: int) -> slice:
        """Return the places of the parameters of an edge."""
        return slice(self._places[1][edge], self._places[1][edge + 1])

    def field_of(self, node: int, table: FloatArray) -> FloatArray:
        """(K - 1,) the parameters of a node with this table."""
        contrasts = self.contrasts[node]
        result: FloatArray = contrasts.T @ table / len(contrasts)
        return result

    def coupling_of(self, edge: int, table: FloatArray) -> FloatArray:
        """((K - 1)(L - 1),) the parameters of an edge with this table."""
        u, v = self.layout.graph.edges[edge].tolist()
        result: FloatArray = (self.contrasts[u].T @ table @ self.contrasts[v]).ravel() / table.size
        return result

    def cells(self, parameters: FloatArray) -> FloatArray:
        tables: FloatArray = np.asarray(self.matrix @ parameters)
        return tables

    def gradient(self, by_cells: FloatArray) -> FloatArray:
        """(parameters,) derivatives with respect to the parameters, from those of the cells."""
        result: FloatArray = np.asarray(self.transposed @ by_cells)
        return result

    def parameters(self, cells: FloatArray) -> FloatArray:
        """(parameters,) of an equivalent model with these tables."""
        layout = self.layout
        fields = [layout.node_table(cells, v) for v in range(layout.graph.n_nodes)]
        couplings = []
        for edge, (u, v) in enumerate(layout.graph.edges.tolist()):
            table = layout.edge_table(cells, edge)
            fields[u] = fields[u] + table.mean(axis=1)
            fields[v] = fields[v] + table.mean(axis=0)
            couplings.append(self.coupling_of(edge, table))
        projected = [self.field_of(v, field) for v, field in enumerate(fields)]
        return np.concatenate([*projected, *couplings])


def _kron(first: FloatArray, second: FloatArray) -> FloatArray:
    return np.asarray(np.kron(first, second), np.float64)


def _block_diagonal(blocks: list[FloatArray]) -> csr_array[np.float64, tuple[int, int]]:
    rows, columns = np.array([block.shape for block in blocks]).reshape(-1, 2).T
    width = np.repeat(columns, rows)
    first = np.concatenate([[0], np.cumsum(width)])
    place = np.arange(first[-1]) - np.repeat(first[:-1], width)  # within its row
    column = place + np.repeat(np.repeat(np.cumsum(columns) - columns, rows), width)
    data = np.concatenate([np.zeros(0), *(block.ravel() for block in blocks)])
    return csr_array((data, column, first), shape=(int(rows.sum()), int(columns.sum())))


def contrasts_of(shares: FloatArray) -> FloatArray:
    """(K, K - 1) uncorrelated functions of the state with mean 0 and variance 1."""
    root = np.sqrt(shares)
    # the other columns of the Householder reflection of the first axis to -root are orthonormal
    normal = root.copy()
    normal[0] += 1.0
    reflection = np.eye(len(root)) - np.outer(normal, normal) * (2.0 / (normal @ normal))
    rest: FloatArray = reflection[:, 1:] / root[:, None]
    return rest


def sparse_of(matrix: csr_array[np.float64, tuple[int, int]]) -> Sparse:
    """Return a matrix in the form of the kernels."""
    first, column = np.asarray(matrix.indptr, np.int64), np.asarray(matrix.indices, np.int64)
    return Sparse(first, column, np.asarray(matrix.data, np.float64))
