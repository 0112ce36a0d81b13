"""The arrays that the inference kernels read and write: a graph, and a tape of its sums."""

from __future__ import annotations

from typing import NamedTuple

from loopylatent.compute.values import IntArray

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
