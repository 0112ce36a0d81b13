"""The arrays that the inference kernels read and write: a graph, and a tape of its sums."""

from __future__ import annotations

from typing import NamedTuple

from loopylatent.compute.values import BoolArray, FloatArray, IntArray

LOCALS, CLAMPS, RECORDS, INPUTS, STRIDES, SCOPES, ROOTS, CELLS = range(8)
N_COUNTS = 8


class Network(NamedTuple):
    """A graph and the positions of its log-potentials among the cells."""

    n_states: IntArray
    """(nodes,)"""
    order: IntArray
    """Nodes that may be summed out, first to last."""
    rank: IntArray
    """(nodes,) position in ``order``."""
    node_cell: IntArray
    """(nodes,) first cell of the node's own table."""
    start: IntArray
    """(nodes + 1,) where the neighbours of a node begin in the arrays below."""
    other: IntArray
    table: IntArray
    """First cell of the table of the edge to that neighbour."""
    own_stride: IntArray
    other_stride: IntArray


class Tape(NamedTuple):
    """The computation: locals, then records, each computed from earlier ones."""

    counts: IntArray
    """(8,) used lengths of the arrays below, and the number of cells."""
    local_node: IntArray
    local_row: IntArray
    """The first row with these clamped values."""
    local_cell: IntArray
    local_hash: IntArray
    first_clamp: IntArray
    clamp_cell: IntArray
    clamp_stride: IntArray
    node: IntArray
    local: IntArray
    cell: IntArray
    """First cell of the message."""
    size: IntArray
    record_hash: IntArray
    n_messages: IntArray
    first_input: IntArray
    first_stride: IntArray
    first_scope: IntArray
    input_cell: IntArray
    input_record: IntArray
    """The record that produces the input; -1 for locals and edges."""
    stride: IntArray
    """For each input of a record: of its node, then of each node of its scope."""
    scope: IntArray
    root: IntArray
    """Records without scope, row after row."""
    local_slots: IntArray
    record_slots: IntArray


LENGTHS = {
    **dict.fromkeys(("local_node", "local_row", "local_cell", "local_hash"), LOCALS),
    **dict.fromkeys(("clamp_cell", "clamp_stride"), CLAMPS),
    **dict.fromkeys(("node", "local", "cell", "size", "record_hash", "n_messages"), RECORDS),
    **dict.fromkeys(("input_cell", "input_record"), INPUTS),
    "stride": STRIDES,
    "scope": SCOPES,
    "root": ROOTS,
    "first_clamp": LOCALS,
    **dict.fromkeys(("first_input", "first_stride", "first_scope"), RECORDS),
}
"""The entry of ``counts`` that gives the length of each array."""
ONE_MORE = ("first_clamp", "first_input", "first_stride", "first_scope")
"""Arrays of offsets, with one more entry for the end of the last item."""


class Sums(NamedTuple):
    """The sums of weighted rows as products of tables: locals, schemes and records.

    A local is the table of an unknown node for some states of its known neighbours. A record is a
    message: the sum over the states of a node of its local table times the tables of its edges
    times the messages that it received. A scheme is the shape that records share.
    """

    n_states: IntArray
    """(nodes,)"""
    node_cell: IntArray
    """(nodes,) first cell of the node's own table."""
    widest: int
    """The largest number of states; each local has so many cells, after those of the tables."""
    local_node: IntArray
    local_weight: FloatArray
    """(locals,) total weight of the rows with these states."""
    first_clamp: IntArray
    clamp_cell: IntArray
    clamp_stride: IntArray
    node: IntArray
    """(schemes,) the node that is summed out."""
    first_scope: IntArray
    scope: IntArray
    """The nodes that the message depends on, in the order of elimination."""
    link_cell: IntArray
    """For each node of a scope the table of its edge to the node summed out; -1 for none."""
    link_own: IntArray
    link_other: IntArray
    first_entry: IntArray
    """(schemes + 1,) where the products of edges begin, K for each entry of a message."""
    first_offset: IntArray
    offset: IntArray
    """For each received message where it is read, from its first cell."""
    scheme: IntArray
    """(records,)"""
    local: IntArray
    weight: FloatArray
    """(records,) total weight of the rows that use it."""
    cell: IntArray
    """(records + 1,) the first cell of each message, and the number of cells."""
    first_input: IntArray
    input_cell: IntArray
    """The first cells of the messages received."""


class Sparse(NamedTuple):
    """A sparse matrix, row after row."""

    first: IntArray
    column: IntArray
    value: FloatArray


class Likelihood(NamedTuple):
    """The mean log-likelihood of a row: sums over the rows, log Z, and the parameters."""

    rows: Sums
    whole: Sums
    clamped: FloatArray
    """(cells,) the weight of the rows in which each cell is known."""
    total_weight: float
    basis: Sparse
    """(cells, parameters)"""
    transposed: Sparse


class Limits(NamedTuple):
    """When a climb ends."""

    max_steps: int
    tolerance: float
    """Converged if no entry of the gradient is larger."""
    settled: float
    """Converged if the last 20 steps gain less."""
    target: float
    """Given up where ``extrapolation`` times the gain of the last ``window`` steps ends below."""
    window: int
    extrapolation: float
    stop: BoolArray
    """(1,) may be set by another thread."""
