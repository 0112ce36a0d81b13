"""Exact sums over hidden and missing values, for all rows at once (section 6.1).

Variable elimination: nodes are summed out one after the other, and the size of the largest table
decides beforehand whether exact sums are feasible. With the columns clamped, the sum over a hidden
component depends only on adjacent values, so a circuit stores each different message once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from loopylatent.compute import _kernels
from loopylatent.compute.tape import (
    CELLS,
    CLAMPS,
    INPUTS,
    LENGTHS,
    LOCALS,
    N_COUNTS,
    ONE_MORE,
    RECORDS,
    ROOTS,
    SCOPES,
    STRIDES,
    Network,
    Sums,
    Tape,
)
from loopylatent.compute.values import BoolArray, FloatArray, IntArray, StateArray, frozen_array
from loopylatent.graph import LatentGraph
from loopylatent.inference.parameters import Layout

LARGEST_TABLE = 2**20
"""Exact inference is used up to this many entries of the largest table."""
WORTH_A_SEARCH = 2**14
"""From this many entries in total, several random tie-breaks are tried and the best is kept."""
MORE_ORDERS = 4
ROWS_AT_FIRST = 16
"""The arrays of a circuit have room for this many different rows before they grow."""
MOST_CELLS = 2**24
"""Limit of the cells of one circuit, if rows can be split over several."""


@dataclass(frozen=True, eq=False)
class Elimination:
    """An elimination order and the sizes of its tables."""

    order: IntArray = field(repr=False)
    """The nodes that are summed out, first to last."""
    widths: IntArray = field(repr=False)
    """The number of other nodes in the table of each."""
    log2_tables: FloatArray = field(repr=False)
    """log2 of the size of each table."""

    @property
    def treewidth(self) -> int:
        """Number of nodes of the largest table minus 1: an upper bound on the treewidth."""
        return int(self.widths.max(initial=0))

    @property
    def log2_largest(self) -> float:
        return float(self.log2_tables.max(initial=0.0))

    @property
    def total_size(self) -> float:
        return float((2.0**self.log2_tables).sum())

    def fits(self, limit: float = LARGEST_TABLE) -> bool:
        return bool(self.log2_largest <= np.log2(limit) + 1e-9)


def eliminate(
    graph: LatentGraph,
    n_states: Sequence[int] | IntArray | int = 2,
    *,
    given: BoolArray | None = None,
) -> Elimination:
    """Find an order by the min-fill rule; ``given`` nodes are conditioned on, not summed out."""
    # ties: fewest adjacent known values first, so that rows share the first tables
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
    linked: BoolArray, active: BoolArray, log2_states: FloatArray, burden: FloatArray
) -> Elimination:
    order, widths, log2_tables = _kernels.pairwise.eliminate_by_fill(
        linked.copy(), active.copy(), log2_states, burden
    )
    sizes = frozen_array(log2_tables, np.float64)
    return Elimination(frozen_array(order, np.int64), frozen_array(widths, np.int64), sizes)


@dataclass(frozen=True, eq=False)
class Circuit:
    """The sums of a set of rows as an arithmetic circuit in the potentials."""

    layout: Layout
    network: Network = field(repr=False)
    tape: Tape = field(repr=False)
    row_roots: IntArray = field(repr=False)
    """(rows + 1,) where the roots of each row begin."""

    @classmethod
    def of(
        cls, layout: Layout, elimination: Elimination, states: StateArray, *, share: bool = True
    ) -> Circuit:
        """Record the sums of all rows; (rows, nodes) states, negative where unknown."""
        return next(circuits(layout, elimination, states, share, most_cells=2**62))

    @property
    def n_rows(self) -> int:
        return len(self.row_roots) - 1

    @property
    def n_messages(self) -> int:
        return int(self.tape.counts[RECORDS])

    @property
    def n_cells(self) -> int:
        return int(self.tape.counts[CELLS])

    @property
    def roots(self) -> IntArray:
        return self.tape.root[: self.tape.counts[ROOTS]]

    def forward(self, tables: FloatArray) -> FloatArray:
        """Compute all cells from the log-potentials."""
        cells = np.empty(self.n_cells)
        cells[: self.layout.n_cells] = tables
        kernels = _kernels.circuit
        kernels.run_forward(self.network, self.tape, cells, kernels.LARGE)
        return cells

    def row_sums(self, cells: FloatArray) -> FloatArray:
        """(rows,) log of each row's sum, without its clamped potentials."""
        found = np.append(cells[self.tape.cell[self.roots]], 0.0)
        starts = self.row_roots[:-1]
        sums = np.add.reduceat(found, starts) if self.n_rows else np.zeros(0)
        return np.where(np.diff(self.row_roots) > 0, sums, 0.0)

    def root_weights(self, weights: FloatArray) -> FloatArray:
        """(messages,) total weight of the rows whose root each message is."""
        by_root = np.repeat(weights, np.diff(self.row_roots))
        sums = np.bincount(self.roots, weights=by_root, minlength=self.n_messages)
        return sums.astype(np.float64)

    def backward(self, cells: FloatArray, root_weights: FloatArray) -> FloatArray:
        """Return the derivatives of the weighted sum of the roots with respect to every cell."""
        adjoint = np.zeros(self.n_cells)
        used = np.flatnonzero(root_weights)
        adjoint[self.tape.cell[used]] = root_weights[used]
        kernels = _kernels.circuit
        kernels.run_backward(self.network, self.tape, cells, adjoint, kernels.LARGE)
        return adjoint

    def locals(self) -> Iterator[tuple[int, IntArray, IntArray]]:
        """Yield each eliminated node, the rows concerned, and the first cells of its locals."""
        n = int(self.tape.counts[LOCALS])
        nodes = self.tape.local_node[:n]
        for node in np.unique(nodes).tolist():
            here = np.flatnonzero(nodes == node)
            yield node, self.tape.local_row[here], self.tape.local_cell[here]


def circuits(
    layout: Layout,
    elimination: Elimination,
    states: StateArray,
    share: bool = True,
    most_cells: int = MOST_CELLS,
) -> Iterator[Circuit]:
    """Yield circuits that cover the rows in order, each of bounded size."""
    network = layout.network(elimination.order)
    room = _room_of_a_row(layout, elimination)
    row = 0
    while row < len(states) or row == 0:
        rest = np.ascontiguousarray(states[row:], dtype=np.int16)
        circuit = _record(layout, network, rest, share, room, most_cells)
        yield circuit
        row += max(circuit.n_rows, 1)


def products_of(
    layout: Layout, elimination: Elimination, states: StateArray, weights: FloatArray
) -> Sums:
    """Return the sums of weighted rows as products; states are (nodes, rows)."""
    network = layout.network(elimination.order)
    return _kernels.products.record_products(network, states, weights, layout.n_cells)


def _record(
    layout: Layout, network: Network, states: StateArray, share: bool, room: IntArray,
    most_cells: int,
) -> Circuit:  # fmt: skip
    tape = _empty_tape(room, layout.n_cells, min(max(len(states), 2), ROWS_AT_FIRST))
    row_roots = np.zeros(len(states) + 1, np.int64)
    most = max(most_cells, int(tape.counts[CELLS] + room[CELLS]))
    row = 0
    while True:
        row = _kernels.circuit.record_rows(network, tape, states, row_roots, row, share, room, most)
        if row == len(states) or tape.counts[CELLS] + room[CELLS] > most:
            return Circuit(layout, network, tape, row_roots[: row + 1])
        tape = _enlarged(tape, room)


def _room_of_a_row(layout: Layout, elimination: Elimination) -> IntArray:
    """Return an upper bound on what one row adds to each array."""
    summed, widest = len(elimination.order), elimination.treewidth
    edges = layout.graph.n_edges
    inputs = 2 * summed + edges
    states = int(layout.n_states.sum())
    cells = states + int(np.ceil(2.0**elimination.log2_tables).sum())
    room = np.zeros(N_COUNTS, np.int64)
    room[[LOCALS, CLAMPS, RECORDS]] = summed, 2 * edges, summed
    room[[INPUTS, STRIDES, SCOPES]] = inputs, inputs * (1 + widest), summed * widest
    room[[ROOTS, CELLS]] = summed, cells
    return room


def _empty_tape(room: IntArray, first_cell: int, n_rows: int) -> Tape:
    arrays = {
        name: np.zeros(n_rows * room[kind] + (name in ONE_MORE), np.int64)
        for name, kind in LENGTHS.items()
    }
    counts = np.zeros(N_COUNTS, np.int64)
    counts[CELLS] = first_cell
    slots = 1 << int(2 * n_rows * max(room[LOCALS], 1)).bit_length()
    empty = {name: np.full(slots, -1, np.int64) for name in ("local_slots", "record_slots")}
    return Tape(counts=counts, **empty, **arrays)


def _enlarged(tape: Tape, room: IntArray) -> Tape:
    """Double the arrays in which one more row might not fit."""
    changes = {}
    for name, kind in LENGTHS.items():
        array, extra = getattr(tape, name), name in ONE_MORE
        length = len(array) - extra
        if tape.counts[kind] + room[kind] > length:
            changes[name] = np.zeros(2 * length + extra, np.int64)
            changes[name][: len(array)] = array
    for name, kind in (("local", LOCALS), ("record", RECORDS)):
        if f"{name}_hash" in changes:
            slots = np.empty(2 * len(getattr(tape, f"{name}_slots")), np.int64)
            count = int(tape.counts[kind])
            _kernels.circuit.fill_slots(slots, changes[f"{name}_hash"], count)
            changes[f"{name}_slots"] = slots
    return tape._replace(**changes)
