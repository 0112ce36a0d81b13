"""Sums over hidden and missing values of many rows: what there is to compute, each thing once.

A row clamps some nodes; the others are summed out in a fixed order. Summing out node v makes a
message: a table over its remaining neighbours (its scope). It is determined by the clamped values
next to v and by the messages that v receives. ``record_rows`` walks through the rows and writes
down each *different* message once. Its place among the cells is fixed then: the log-potentials come
first, after them, as they are met, the sums of clamped potentials ("locals") and the messages.
"""

from __future__ import annotations

import numpy as np

from loopylatent.compute._kernels.jit import sized_kernel
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
from loopylatent.compute.values import FloatArray, IntArray, StateArray

kernel = sized_kernel(0)  # exponentials: the last digits would differ interpreted
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
    """Return the remaining neighbours of v, in the order of elimination."""
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


LARGE = 32
"""Entries from which levels and blocks pay."""
BLOCK = 64
"""Entries of a block, at most: its inner states are worked out once for a table."""


@kernel
def _advance(
    at: IntArray, digit: IntArray, scope: IntArray, n_states: IntArray, stride: IntArray,
    width: int,
) -> int:  # fmt: skip
    """Move all inputs to the next entry, whose last node runs fastest; return the node moved."""
    for d in range(len(scope) - 1, -1, -1):
        last = n_states[scope[d]] - 1
        if digit[d] < last:
            digit[d] += 1
            for i in range(len(at)):
                at[i] += stride[i * width + 1 + d]
            return d
        digit[d] = 0
        for i in range(len(at)):
            at[i] -= last * stride[i * width + 1 + d]
    return -1


@kernel
def _gather(cells: FloatArray, at: IntArray, stride: IntArray, width: int, k: int) -> float:
    total = 0.0
    for i in range(len(at)):
        total += cells[at[i] + k * stride[i * width]]
    return total


@kernel
def _log_sum(values: FloatArray) -> float:
    if len(values) == 2:
        return float(max(values[0], values[1]) + np.log1p(np.exp(-abs(values[1] - values[0]))))
    top = values[0]
    for value in values:
        top = max(top, value)
    total = 0.0
    for value in values:
        total += np.exp(value - top)
    return float(top + np.log(total))


@kernel
def _split_inputs(at: IntArray, stride: IntArray, width: int) -> IntArray:
    """For each input the one node of the scope that it depends on; -1 for none, -2 for more."""
    depends = np.full(len(at), -1, np.int64)
    for i in range(len(at)):
        for d in range(width - 1):
            if stride[i * width + 1 + d] != 0:
                depends[i] = d if depends[i] == -1 else -2
    return depends


@kernel
def _simple_inputs(
    at: IntArray, stride: IntArray, depends: IntArray, n_states: IntArray, terms: FloatArray
) -> IntArray:
    """(2, n) each cell of a simple input, and which of the terms it is part of, counted flat.

    terms[0] has the inputs of no node, terms[1 + d, s] those of node d of the scope in state s.
    """
    width, most, n = terms.shape
    found = np.empty((2, len(at) * most * n), np.int64)
    c = 0
    for i in range(len(at)):
        d = depends[i]
        if d == -2:
            continue
        for s in range(n_states[d] if d >= 0 else 1):
            step = s * stride[i * width + 1 + d] if d >= 0 else 0
            for k in range(n):
                found[0, c] = at[i] + step + k * stride[i * width]
                found[1, c] = ((1 + d) * most + s) * n + k
                c += 1
    return found[:, :c]


@kernel
def _add(source: FloatArray, taken: IntArray, target: FloatArray, given: IntArray) -> None:
    """Add entries of one flat array to those of another."""
    for c in range(len(taken)):
        target[given[c]] += source[taken[c]]


@kernel
def _inner_nodes(scope: IntArray, n_states: IntArray) -> int:
    """Return how many nodes at the front of the scope stay outside of a block of entries."""
    outer, size = len(scope), 1
    while outer > 0 and size * n_states[scope[outer - 1]] <= BLOCK:
        outer -= 1
        size *= n_states[scope[outer]]
    return outer


@kernel
def _block_digits(scope: IntArray, n_states: IntArray, outer: int) -> IntArray:
    """(entries of a block, inner nodes) the states of the inner nodes in each entry."""
    size = 1
    for d in range(outer, len(scope)):
        size *= n_states[scope[d]]
    digits = np.empty((size, len(scope) - outer), np.int64)
    for j in range(size):
        rest = j
        for d in range(len(scope) - 1, outer - 1, -1):
            digits[j, d - outer] = rest % n_states[scope[d]]
            rest //= n_states[scope[d]]
    return digits


@kernel
def _block_offsets(
    scope: IntArray, n_states: IntArray, outer: int, size: int, steps: IntArray, n: int
) -> IntArray:
    """(inputs, entries of a block) where each of n inputs stands, from the start of the block."""
    width = 1 + len(scope)
    offsets = np.zeros((n, size), np.int64)
    for i in range(n):
        row, m = offsets[i], 1
        for d in range(len(scope) - 1, outer - 1, -1):
            step = steps[i * width + 1 + d]
            for s in range(1, n_states[scope[d]]):
                for j in range(m):
                    row[s * m + j] = row[j] + s * step
            m *= n_states[scope[d]]
    return offsets


@kernel
def _block_terms(digits: IntArray, terms: FloatArray, outer: int) -> FloatArray:
    """(entries of a block, K) the sums of the simple inputs of the inner nodes."""
    sums = np.zeros((len(digits), terms.shape[2]))
    for j in range(len(digits)):
        for d in range(digits.shape[1]):
            for k in range(terms.shape[2]):
                sums[j, k] += terms[1 + outer + d, digits[j, d], k]
    return sums


@kernel
def _large_forward(
    cells: FloatArray, out: int, size: int, n_states: IntArray, node: int, scope: IntArray,
    inputs: IntArray, stride: IntArray,
) -> None:  # fmt: skip
    n, width = n_states[node], 1 + len(scope)
    depends = _split_inputs(inputs, stride, width)
    terms = np.zeros((width, n_states[scope].max(), n))
    simple = _simple_inputs(inputs, stride, depends, n_states[scope], terms)
    _add(cells, simple[0], terms.ravel(), simple[1])
    several = depends == -2
    at, steps = inputs[several], stride[np.repeat(several, width)]
    outer = _inner_nodes(scope, n_states)
    digits = _block_digits(scope, n_states, outer)
    offsets = _block_offsets(scope, n_states, outer, len(digits), steps, len(at))
    inner = _block_terms(digits, terms, outer)
    level = np.zeros((1 + outer, n))
    for k in range(n):
        level[0, k] = terms[0, 0, k]
    digit = np.zeros(len(scope), np.int64)
    values = np.empty(n)
    moved = 0
    for first in range(out, out + size, len(digits)):
        for d in range(moved, outer):
            for k in range(n):
                level[d + 1, k] = level[d, k] + terms[1 + d, digit[d], k]
        for j in range(len(digits)):
            for k in range(n):
                values[k] = level[outer, k] + inner[j, k]
                for i in range(len(at)):
                    values[k] += cells[at[i] + offsets[i, j] + k * steps[i * width]]
            cells[first + j] = _log_sum(values)
        moved = _advance(at, digit, scope[:outer], n_states, steps, width)


@kernel
def _large_backward(
    cells: FloatArray, adjoint: FloatArray, out: int, size: int, n_states: IntArray, node: int,
    scope: IntArray, inputs: IntArray, stride: IntArray,
) -> None:  # fmt: skip
    n, width = n_states[node], 1 + len(scope)
    depends = _split_inputs(inputs, stride, width)
    terms = np.zeros((width, n_states[scope].max(), n))
    simple = _simple_inputs(inputs, stride, depends, n_states[scope], terms)
    _add(cells, simple[0], terms.ravel(), simple[1])
    by_terms = np.zeros(terms.shape)
    several = depends == -2
    at, steps = inputs[several], stride[np.repeat(several, width)]
    outer = _inner_nodes(scope, n_states)
    digits = _block_digits(scope, n_states, outer)
    offsets = _block_offsets(scope, n_states, outer, len(digits), steps, len(at))
    inner = _block_terms(digits, terms, outer)
    by_inner = np.zeros(inner.shape)
    level, by_level = np.zeros((1 + outer, n)), np.zeros((1 + outer, n))
    for k in range(n):
        level[0, k] = terms[0, 0, k]
    digit, before = np.zeros(len(scope), np.int64), np.zeros(len(scope), np.int64)
    moved = 0
    for first in range(out, out + size, len(digits)):
        for d in range(moved, outer):
            for k in range(n):
                level[d + 1, k] = level[d, k] + terms[1 + d, digit[d], k]
        for j in range(len(digits)):
            weight, total = adjoint[first + j], cells[first + j]
            for k in range(n):
                share = level[outer, k] + inner[j, k] - total
                for i in range(len(at)):
                    share += cells[at[i] + offsets[i, j] + k * steps[i * width]]
                # the share of a state, small or not, is computed directly
                share = weight * np.exp(share)
                by_inner[j, k] += share
                by_level[outer, k] += share
                for i in range(len(at)):
                    adjoint[at[i] + offsets[i, j] + k * steps[i * width]] += share
        for d in range(outer):
            before[d] = digit[d]
        moved = _advance(at, digit, scope[:outer], n_states, steps, width)
        for d in range(outer - 1, max(moved, 0) - 1, -1):
            for k in range(n):
                by_terms[1 + d, before[d], k] += by_level[d + 1, k]
                by_level[d, k] += by_level[d + 1, k]
                by_level[d + 1, k] = 0.0
    for k in range(n):
        by_terms[0, 0, k] = by_level[0, k]
    for j in range(len(digits)):
        for d in range(digits.shape[1]):
            for k in range(n):
                by_terms[1 + outer + d, digits[j, d], k] += by_inner[j, k]
    _add(by_terms.ravel(), simple[1], adjoint, simple[0])


@kernel
def run_forward(net: Network, tape: Tape, cells: FloatArray, large: int) -> None:
    """Compute every local and every message from the log-potentials in the first cells.

    Messages with ``large`` entries or more, at least 2, are computed in blocks.
    """
    for j in range(tape.counts[LOCALS]):
        v, cell = tape.local_node[j], tape.local_cell[j]
        for k in range(net.n_states[v]):
            total = cells[net.node_cell[v] + k]
            for c in range(tape.first_clamp[j], tape.first_clamp[j + 1]):
                total += cells[tape.clamp_cell[c] + k * tape.clamp_stride[c]]
            cells[cell + k] = total
    digit = np.zeros(64, np.int64)
    values = np.empty(np.append(net.n_states, 1).max())
    for r in range(tape.counts[RECORDS]):
        scope = tape.scope[tape.first_scope[r] : tape.first_scope[r + 1]]
        stride = tape.stride[tape.first_stride[r] : tape.first_stride[r + 1]]
        inputs = tape.input_cell[tape.first_input[r] : tape.first_input[r + 1]]
        node, out, size = tape.node[r], tape.cell[r], tape.size[r]
        if size >= large:
            _large_forward(cells, out, size, net.n_states, node, scope, inputs, stride)
            continue
        at, n, width = inputs.copy(), net.n_states[node], 1 + len(scope)
        for e in range(size):
            for k in range(n):
                values[k] = _gather(cells, at, stride, width, k)
            cells[out + e] = _log_sum(values[:n])
            _advance(at, digit, scope, net.n_states, stride, width)


@kernel
def _share_out_locals(net: Network, tape: Tape, adjoint: FloatArray) -> None:
    """Add the derivatives by the locals to those by the potentials that they sum."""
    for j in range(tape.counts[LOCALS]):
        v, cell = tape.local_node[j], tape.local_cell[j]
        for k in range(net.n_states[v]):
            share = adjoint[cell + k]
            adjoint[net.node_cell[v] + k] += share
            for c in range(tape.first_clamp[j], tape.first_clamp[j + 1]):
                adjoint[tape.clamp_cell[c] + k * tape.clamp_stride[c]] += share


@kernel
def run_backward(
    net: Network, tape: Tape, cells: FloatArray, adjoint: FloatArray, large: int
) -> None:
    """Turn the derivatives by the roots, given in ``adjoint``, into those by all cells."""
    digit = np.zeros(64, np.int64)
    for r in range(tape.counts[RECORDS] - 1, -1, -1):
        scope = tape.scope[tape.first_scope[r] : tape.first_scope[r + 1]]
        stride = tape.stride[tape.first_stride[r] : tape.first_stride[r + 1]]
        inputs = tape.input_cell[tape.first_input[r] : tape.first_input[r + 1]]
        node, out, size = tape.node[r], tape.cell[r], tape.size[r]
        if size >= large:
            _large_backward(cells, adjoint, out, size, net.n_states, node, scope, inputs, stride)
            continue
        at, n, width = inputs.copy(), net.n_states[node], 1 + len(scope)
        for e in range(size):
            weight, total = adjoint[out + e], cells[out + e]
            for k in range(n):
                share = weight * np.exp(_gather(cells, at, stride, width, k) - total)
                for i in range(len(at)):
                    adjoint[at[i] + k * stride[i * width]] += share
            _advance(at, digit, scope, net.n_states, stride, width)
    _share_out_locals(net, tape, adjoint)
