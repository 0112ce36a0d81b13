"""Sums over hidden and missing values of many rows: what there is to compute, each thing once.

A row clamps some nodes; the others are summed out in a fixed order. Summing out node v makes a
message: a table over the nodes still beside it (its scope). It is determined by the clamped values
next to v and by the messages that v receives. ``record_rows`` walks through the rows and writes
down each *different* message once. Its place among the cells is fixed then: the log-potentials come
first, after them, as they are met, the sums of clamped potentials ("locals") and the messages.
"""

from __future__ import annotations

import numpy as np

from loopylatent.compute._kernels.jit import kernel
from loopylatent.compute.arrays import IntArray, StateArray
from loopylatent.compute.tape import (
    CELLS,
    CLAMPS,
    INPUTS,
    LOCALS,
    RECORDS,
    ROOTS,
    SCOPES,
    STRIDES,
    Network,
    Tape,
)

HASH_FACTOR = -7046029254386353131


@kernel
def mixed(hashed: int, value: int) -> int:
    """Hash one more value."""
    product = (np.int64(hashed) ^ np.int64(value)) * HASH_FACTOR
    return int(product ^ (product >> 29))


@kernel
def fill_slots(slots: IntArray, hashes: IntArray, count: int) -> None:
    """Enter the numbers 0..count-1 into an empty hash table."""
    slots[:] = -1
    mask = len(slots) - 1
    for k in range(count):
        slot = hashes[k] & mask
        while slots[slot] >= 0:
            slot = (slot + 1) & mask
        slots[slot] = k


@kernel
def _new_local(net: Network, tape: Tape, states: StateArray, row: int, v: int) -> int:
    counts = tape.counts
    new = counts[LOCALS]
    counts[LOCALS] += 1
    tape.local_node[new], tape.local_row[new] = v, row
    tape.local_cell[new] = counts[CELLS]
    counts[CELLS] += net.n_states[v]
    for k in range(net.start[v], net.start[v + 1]):
        state = states[row, net.other[k]]
        if state >= 0:
            c = counts[CLAMPS]
            counts[CLAMPS] += 1
            tape.clamp_cell[c] = net.table[k] + state * net.other_stride[k]
            tape.clamp_stride[c] = net.own_stride[k]
    tape.first_clamp[new + 1] = counts[CLAMPS]
    return int(new)


@kernel
def _find_local(
    start: IntArray, other: IntArray, states: StateArray, row: int, v: int, hashed: int,
    slots: IntArray, node: IntArray, seen_in: IntArray,
) -> int:  # fmt: skip
    """Return the slot of the clamped values around v, or the empty one where they belong."""
    mask = len(slots) - 1
    slot = hashed & mask
    while slots[slot] >= 0:
        found = slots[slot]
        if node[found] == v:
            same = True
            for k in range(start[v], start[v + 1]):
                if states[seen_in[found], other[k]] != states[row, other[k]]:
                    same = False
                    break
            if same:
                break
        slot = (slot + 1) & mask
    return int(slot)


@kernel
def _find_record(
    local: int, inbox: IntArray, n: int, hashed: int, slots: IntArray, local_of: IntArray,
    n_messages: IntArray, first_input: IntArray, input_record: IntArray,
) -> int:  # fmt: skip
    """Return the slot of the message made of these parts, or the empty one where it belongs."""
    mask = len(slots) - 1
    slot = hashed & mask
    while slots[slot] >= 0:
        found = slots[slot]
        if local_of[found] == local and n_messages[found] == n:
            first = first_input[found + 1] - n
            same = True
            for k in range(n):
                if input_record[first + k] != inbox[k]:
                    same = False
                    break
            if same:
                break
        slot = (slot + 1) & mask
    return int(slot)


@kernel
def _insert(ascending: IntArray, n: int, value: int) -> int:
    """Put a value into the first n, in order, where it is not yet there; return how many."""
    k = n
    while k > 0 and ascending[k - 1] > value:
        k -= 1
    if k > 0 and ascending[k - 1] == value:
        return n
    for j in range(n, k, -1):
        ascending[j] = ascending[j - 1]
    ascending[k] = value
    return n + 1


@kernel
def _scope_of(
    net: Network, tape: Tape, states: StateArray, row: int, v: int, messages: IntArray
) -> IntArray:
    """Return the nodes still beside v, in the order of elimination."""
    ranks = np.empty(len(net.order), np.int64)
    n = 0
    for k in range(net.start[v], net.start[v + 1]):
        u = net.other[k]
        if states[row, u] < 0 and net.rank[u] > net.rank[v]:
            n = _insert(ranks, n, net.rank[u])
    for message in messages:
        for k in range(tape.first_scope[message] + 1, tape.first_scope[message + 1]):
            rank = net.rank[tape.scope[k]]
            n = _insert(ranks, n, rank)
    scope = np.empty(n, np.int64)
    for k in range(n):
        scope[k] = net.order[ranks[k]]
    return scope


@kernel
def _add_input(tape: Tape, cell: int, record: int, width: int) -> int:
    """Append an input whose strides are all 0; return the place of its first stride."""
    counts = tape.counts
    tape.input_cell[counts[INPUTS]] = cell
    tape.input_record[counts[INPUTS]] = record
    counts[INPUTS] += 1
    first = counts[STRIDES]
    for k in range(first, first + width):
        tape.stride[k] = 0
    counts[STRIDES] += width
    return int(first)


@kernel
def _place(scope: IntArray, node: int) -> int:
    place = 0
    while scope[place] != node:
        place += 1
    return place


@kernel
def _new_record(
    net: Network, tape: Tape, states: StateArray, row: int, v: int, local: int, messages: IntArray
) -> int:
    counts = tape.counts
    new = counts[RECORDS]
    counts[RECORDS] += 1
    scope = _scope_of(net, tape, states, row, v, messages)
    width = 1 + len(scope)
    tape.node[new], tape.local[new], tape.n_messages[new] = v, local, len(messages)
    tape.stride[_add_input(tape, tape.local_cell[local], -1, width)] = 1
    for k in range(net.start[v], net.start[v + 1]):
        u = net.other[k]
        if states[row, u] < 0 and net.rank[u] > net.rank[v]:
            first = _add_input(tape, net.table[k], -1, width)
            tape.stride[first] = net.own_stride[k]
            tape.stride[first + 1 + _place(scope, u)] = net.other_stride[k]
    for message in messages:
        first = _add_input(tape, tape.cell[message], message, width)
        step = 1
        for k in range(tape.first_scope[message + 1] - 1, tape.first_scope[message], -1):
            u = tape.scope[k]
            tape.stride[first + 1 + _place(scope, u)] = step
            step *= net.n_states[u]
        tape.stride[first] = step
    size = 1
    for u in scope:
        tape.scope[counts[SCOPES]] = u
        counts[SCOPES] += 1
        size *= net.n_states[u]
    tape.cell[new], tape.size[new] = counts[CELLS], size
    counts[CELLS] += size
    tape.first_input[new + 1] = counts[INPUTS]
    tape.first_stride[new + 1] = counts[STRIDES]
    tape.first_scope[new + 1] = counts[SCOPES]
    return int(new)


@kernel
def record_rows(
    net: Network, tape: Tape, states: StateArray, row_roots: IntArray, row: int, share: bool,
    room: IntArray, most_cells: int,
) -> int:  # fmt: skip
    """Write down the rows from ``row`` on; return the first for which there is no more room.

    ``room`` says how much of each array one row can need; ``row_roots[k + 1]`` is set to the
    number of roots up to row k. The tape as a whole is handed on only where something is new:
    passing its many arrays costs more than finding what is there.
    """
    counts, scope, first_scope, root = tape.counts, tape.scope, tape.first_scope, tape.root
    start, other = net.start, net.other
    received = np.zeros(len(net.n_states), np.int64)
    inbox = np.empty((len(net.n_states), len(net.n_states)), np.int64)
    limits = np.array([
        len(tape.local_node), len(tape.clamp_cell), len(tape.node), len(tape.input_cell),
        len(tape.stride), len(tape.scope), len(tape.root), most_cells,
    ])  # fmt: skip
    while row < len(states) and not (counts + room > limits).any():
        for v in net.order:
            if states[row, v] >= 0:
                continue
            hashed = mixed(17, v)
            if share:
                for k in range(start[v], start[v + 1]):
                    hashed = mixed(hashed, states[row, other[k]] + 2)
                slot = _find_local(
                    start, other, states, row, v, hashed, tape.local_slots, tape.local_node,
                    tape.local_row,
                )  # fmt: skip
                local = tape.local_slots[slot]
            else:
                hashed, local = mixed(hashed, row), -1
                slot = hashed & (len(tape.local_slots) - 1)
            if local < 0:
                local = _new_local(net, tape, states, row, v)
                tape.local_slots[slot], tape.local_hash[local] = local, hashed
            hashed = mixed(29, local)
            for k in range(received[v]):
                hashed = mixed(hashed, inbox[v, k])
            slot = _find_record(
                local, inbox[v], received[v], hashed, tape.record_slots, tape.local,
                tape.n_messages, tape.first_input, tape.input_record,
            )  # fmt: skip
            if tape.record_slots[slot] < 0:
                messages = inbox[v, : received[v]]
                tape.record_slots[slot] = _new_record(net, tape, states, row, v, local, messages)
                tape.record_hash[tape.record_slots[slot]] = hashed
            record = tape.record_slots[slot]
            received[v] = 0
            if first_scope[record] == first_scope[record + 1]:
                root[counts[ROOTS]] = record
                counts[ROOTS] += 1
            else:
                u = scope[first_scope[record]]
                inbox[u, received[u]] = record
                received[u] += 1
        row += 1
        row_roots[row] = counts[ROOTS]
    return row
