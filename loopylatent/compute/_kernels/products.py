"""The sums over hidden and missing values as sums of products: each different product once.

A row clamps some nodes; the others are summed out in a fixed order, each leaving a message to the
next node of its scope. Rows are handled together, node after node: those with the same values next
to a node share a local table, those that also received the same messages share the record of a
message, and records of the same shape share a scheme.

No logarithm is taken of single entries, so this is several times faster than ``circuit``. A message
is divided by its largest entry where that is far from 1. Where a product still leaves the range of
floating-point numbers the value is not finite, and the callers fall back to ``circuit``.
"""

from __future__ import annotations

from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from loopylatent.compute._kernels.circuit import HASH_FACTOR, _insert
from loopylatent.compute._kernels.jit import sized_kernel
from loopylatent.compute.tape import Network, Sums
from loopylatent.compute.values import BoolArray, FloatArray, IntArray, StateArray

A = TypeVar("A", bound=np.generic)
kernel = sized_kernel(0)  # exponentials: the last digits would differ interpreted
SMALL_TABLE = 2**16
"""Pairs are numbered by a table up to this many, else by a hash table."""
FAR_FROM_1 = 1e8


@kernel
def _number_pairs(
    group: IntArray, n: int, value: IntArray, n_values: int, rows: IntArray, first: IntArray
) -> int:
    """Split the n groups of some rows by a value; return how many there are.

    Groups are numbered as they appear; ``first`` gets the first row of each.
    """
    direct, slots = n * n_values <= SMALL_TABLE, 16
    while slots < 2 * len(rows):
        slots *= 2
    keys = np.full(0 if direct else slots, -1, np.int64)
    number = np.full(n * n_values if direct else slots, -1, np.int64)
    found = 0
    for row in rows:
        key = group[row] * n_values + value[row]
        slot = key
        if not direct:
            product = key * HASH_FACTOR
            slot = (product ^ (product >> 29)) & (slots - 1)
            while number[slot] >= 0 and keys[slot] != key:
                slot = (slot + 1) & (slots - 1)
            keys[slot] = key
        if number[slot] < 0:
            number[slot] = found
            first[found] = row
            found += 1
        group[row] = number[slot]
    return found


@kernel
def _append(array: NDArray[A], used: int, more: NDArray[A]) -> NDArray[A]:
    """Put more entries after those used; return the array, or a larger one."""
    n = used + len(more)
    if n > len(array):
        larger = np.empty(2 * n, array.dtype)
        larger[:used] = array[:used]
        array = larger
    array[used:n] = more
    return array


class Rows(NamedTuple):
    """The rows in which a node is unknown, and arrays to group them in."""

    here: IntArray
    group: IntArray
    """(all rows,)"""
    value: IntArray
    first: IntArray
    """(all rows,) the first row of each group."""


@kernel
def _group_by_states(net: Network, states: StateArray, v: int, rows: Rows) -> int:
    """Group rows by the states of the neighbours of v; return the number of groups."""
    rows.group[rows.here] = 0
    rows.first[0] = rows.here[0]
    n = 1
    for k in range(net.start[v], net.start[v + 1]):
        near = states[net.other[k]]
        for row in rows.here:
            rows.value[row] = near[row] + 1
        most = net.n_states[net.other[k]] + 1
        n = _number_pairs(rows.group, n, rows.value, most, rows.here, rows.first)
    return n


class Mail(NamedTuple):
    """The messages sent so far."""

    sent: IntArray
    """(steps, rows) the record of each node that was summed out, -1 where it was known."""
    first: IntArray
    """(steps + 1,) the first record of each step."""
    sends: BoolArray
    """(steps, nodes) whether some message went from one to the other."""


@kernel
def _group_by_messages(
    mail: Mail, goal: IntArray, v: int, senders: IntArray, rows: Rows, n: int
) -> int:
    """Split the groups of rows by the messages that v received; return the number of groups.

    ``goal`` has for each record the node that it goes to.
    """
    for w in senders:
        low, sent = mail.first[w], mail.sent[w]
        for row in rows.here:
            got = sent[row]
            rows.value[row] = got - low + 1 if got >= 0 and goal[got] == v else 0
        most = mail.first[w + 1] - low + 1
        n = _number_pairs(rows.group, n, rows.value, most, rows.here, rows.first)
    return n


@kernel
def _group_by_shape(
    net: Network, states: StateArray, v: int, inbox: IntArray, scheme: IntArray, rows: Rows
) -> int:
    """Group rows by what is unknown around v and by the schemes of the messages received."""
    rows.group[rows.here] = 0
    rows.first[0] = rows.here[0]
    n = 1
    for k in range(net.start[v], net.start[v + 1]):
        for row in rows.here:
            rows.value[row] = 1 if states[net.other[k], row] < 0 else 0
        n = _number_pairs(rows.group, n, rows.value, 2, rows.here, rows.first)
    for i in range(inbox.shape[1]):
        most = 1
        for j in range(len(rows.here)):
            kind = scheme[inbox[j, i]] + 1 if inbox[j, i] >= 0 else 0
            rows.value[rows.here[j]] = kind
            most = max(most, kind + 1)
        n = _number_pairs(rows.group, n, rows.value, most, rows.here, rows.first)
    return n


@kernel
def _inbox(mail: Mail, goal: IntArray, v: int, senders: IntArray, rows: IntArray) -> IntArray:
    """(rows, senders) the records that v received in some rows; -1 for none."""
    found = np.full((len(rows), len(senders)), -1, np.int64)
    for i in range(len(senders)):
        sent = mail.sent[senders[i]]
        for j in range(len(rows)):
            got = sent[rows[j]]
            if got >= 0 and goal[got] == v:
                found[j, i] = got
    return found


@kernel
def _offsets(n_states: IntArray, v: int, scope: IntArray, received: IntArray) -> IntArray:
    """(K * entries,) where a message with scope ``received``, v first, is read."""
    stride, step = np.zeros(1 + len(scope), np.int64), 1
    for k in range(len(received) - 1, 0, -1):
        for d in range(len(scope)):
            if scope[d] == received[k]:
                stride[1 + d] = step
        step *= n_states[received[k]]
    stride[0] = step
    size = n_states[v]
    for u in scope:
        size *= n_states[u]
    found, m = np.zeros(size, np.int64), 1
    for d in range(len(scope), -1, -1):
        n = n_states[scope[d - 1]] if d > 0 else n_states[v]
        for s in range(1, n):
            for j in range(m):
                found[s * m + j] = found[j] + s * stride[d]
        m *= n
    return found


class Locals(NamedTuple):
    """The tables of unknown nodes, each for some states of their neighbours."""

    used: IntArray
    """(2,) how many there are, and how many clamps."""
    node: IntArray
    n_clamps: IntArray
    clamp_cell: IntArray
    clamp_stride: IntArray


@kernel
def _add_locals(known: Locals, net: Network, states: StateArray, v: int, rows: IntArray) -> Locals:
    """Add the tables of v in some rows."""
    first, end = net.start[v], net.start[v + 1]
    n, c = np.zeros(len(rows), np.int64), 0
    cell, stride = np.empty((2, len(rows) * (end - first)), np.int64)
    for j in range(len(rows)):
        for k in range(first, end):
            state = states[net.other[k], rows[j]]
            if state >= 0:
                cell[c] = net.table[k] + state * net.other_stride[k]
                stride[c] = net.own_stride[k]
                c += 1
                n[j] += 1
    used, clamps = known.used
    known.used[:] = used + len(rows), clamps + c
    return Locals(
        known.used, _append(known.node, used, np.full(len(rows), v)),
        _append(known.n_clamps, used, n), _append(known.clamp_cell, clamps, cell[:c]),
        _append(known.clamp_stride, clamps, stride[:c]),
    )  # fmt: skip


class Schemes(NamedTuple):
    """What the records of one shape have in common; see `Sums`."""

    used: IntArray
    """(3,) how many there are, nodes in their scopes, offsets."""
    node: IntArray
    size: IntArray
    first_scope: IntArray
    scope: IntArray
    link_cell: IntArray
    link_own: IntArray
    link_other: IntArray
    n_offsets: IntArray
    offset: IntArray


@kernel
def _scope_of(
    known: Schemes, net: Network, states: StateArray, v: int, row: int, received: IntArray
) -> IntArray:
    """Return the nodes that the message of v depends on, given the schemes of those received."""
    ranks, n = np.empty(len(net.order), np.int64), 0
    for k in range(net.start[v], net.start[v + 1]):
        u = net.other[k]
        if states[u, row] < 0 and net.rank[u] > net.rank[v]:
            n = _insert(ranks, n, net.rank[u])
    for one in received:
        for u in known.scope[known.first_scope[one] + 1 : known.first_scope[one + 1]]:
            n = _insert(ranks, n, net.rank[u])
    return net.order[ranks[:n]]


@kernel
def _add_scheme(
    known: Schemes, net: Network, states: StateArray, v: int, row: int, received: IntArray
) -> Schemes:
    """Add the scheme of the message of v in a row, given the schemes of those received."""
    scope = _scope_of(known, net, states, v, row, received)
    link = np.full((3, len(scope)), -1, np.int64)
    for k in range(net.start[v], net.start[v + 1]):
        for d in range(len(scope)):
            if scope[d] == net.other[k]:
                link[0, d], link[1, d] = net.table[k], net.own_stride[k]
                link[2, d] = net.other_stride[k]
    size = 1
    for u in scope:
        size *= net.n_states[u]
    entries = size * net.n_states[v]
    offset = np.empty(len(received) * entries, np.int64)
    for i in range(len(received)):
        inner = known.scope[known.first_scope[received[i]] : known.first_scope[received[i] + 1]]
        offset[i * entries : (i + 1) * entries] = _offsets(net.n_states, v, scope, inner)
    used, nodes, places = known.used
    known.used[:] = used + 1, nodes + len(scope), places + len(offset)
    return Schemes(
        known.used, _append(known.node, used, np.full(1, v)),
        _append(known.size, used, np.full(1, size)),
        _append(known.first_scope, used + 1, np.full(1, nodes + len(scope))),
        _append(known.scope, nodes, scope), _append(known.link_cell, nodes, link[0]),
        _append(known.link_own, nodes, link[1]), _append(known.link_other, nodes, link[2]),
        _append(known.n_offsets, used, np.full(1, len(offset))),
        _append(known.offset, places, offset),
    )  # fmt: skip


class Records(NamedTuple):
    """The different messages; see `Sums`."""

    used: IntArray
    """(2,) how many there are, and how many inputs."""
    scheme: IntArray
    local: IntArray
    goal: IntArray
    """The node that receives it; -1 for none."""
    n_inputs: IntArray
    inputs: IntArray


@kernel
def _add_records(
    known: Records, scheme: IntArray, local: IntArray, goal: IntArray, inbox: IntArray
) -> Records:
    """Add the messages of one node."""
    used, n_inputs = known.used
    received = inbox.ravel()[inbox.ravel() >= 0]
    known.used[:] = used + len(scheme), n_inputs + len(received)
    return Records(
        known.used, _append(known.scheme, used, scheme), _append(known.local, used, local),
        _append(known.goal, used, goal),
        _append(known.n_inputs, used, (inbox >= 0).sum(axis=1)),
        _append(known.inputs, n_inputs, received),
    )  # fmt: skip


@kernel
def _starts(lengths: IntArray) -> IntArray:
    """Return where each item begins, and where the last ends."""
    found = np.zeros(len(lengths) + 1, np.int64)
    for k in range(len(lengths)):
        found[k + 1] = found[k] + lengths[k]
    return found


@kernel
def _sums(
    net: Network, locals_: Locals, schemes: Schemes, records: Records, mail: Mail,
    weights: FloatArray, first_cell: int,
) -> Sums:  # fmt: skip
    """Put everything together: cells of the potentials, of the locals, of the messages."""
    local_weight, weight = np.zeros(locals_.used[0]), np.zeros(records.used[0])
    for t in range(len(mail.sent)):
        for row in range(len(weights)):
            if mail.sent[t, row] >= 0:
                weight[mail.sent[t, row]] += weights[row]
    scheme, local = records.scheme[: len(weight)], records.local[: len(weight)]
    for r in range(len(weight)):
        local_weight[local[r]] += weight[r]
    n = schemes.used[0]
    node, size, widest = schemes.node[:n], schemes.size[:n], 1
    for k in net.n_states:
        widest = max(widest, k)
    cell = first_cell + widest * len(local_weight) + _starts(size[scheme])
    return Sums(
        net.n_states, net.node_cell, widest, locals_.node[: len(local_weight)], local_weight,
        _starts(locals_.n_clamps[: len(local_weight)]), locals_.clamp_cell, locals_.clamp_stride,
        node, schemes.first_scope[: n + 1], schemes.scope, schemes.link_cell, schemes.link_own,
        schemes.link_other, _starts(net.n_states[node] * size), _starts(schemes.n_offsets[:n]),
        schemes.offset, scheme, local, weight, cell, _starts(records.n_inputs[: len(weight)]),
        cell[records.inputs[: records.used[1]]],
    )  # fmt: skip


@kernel
def record_products(net: Network, states: StateArray, weights: FloatArray, first_cell: int) -> Sums:
    """Write down the sums of weighted rows; states are (nodes, rows), negative where unknown."""
    order, none = net.order, np.empty(0, np.int64)
    locals_ = Locals(np.zeros(2, np.int64), none, none, none, none)
    begin = np.zeros(1, np.int64)
    schemes = Schemes(
        np.zeros(3, np.int64), none, none, begin, none, none, none, none, none, none
    )  # fmt: skip
    records = Records(np.zeros(2, np.int64), none, none, none, none, none)
    mail = Mail(
        np.full((len(order), len(weights)), -1, np.int64), np.zeros(len(order) + 1, np.int64),
        np.zeros((len(order), len(net.n_states)), np.bool_),
    )  # fmt: skip
    group, value, first, local_of = np.zeros((4, len(weights)), np.int64)
    for t in range(len(order)):
        v = order[t]
        mail.first[t] = records.used[0]
        rows = Rows(np.flatnonzero(states[v] < 0), group, value, first)
        if len(rows.here) == 0:
            continue
        n = _group_by_states(net, states, v, rows)
        local_of[rows.here] = locals_.used[0] + group[rows.here]
        locals_ = _add_locals(locals_, net, states, v, first[:n])
        senders = np.flatnonzero(mail.sends[:t, v])
        n = _group_by_messages(mail, records.goal, v, senders, rows, n)
        mail.sent[t][rows.here] = records.used[0] + group[rows.here]
        some = Rows(first[:n].copy(), group, value, first)  # a row for each record
        inbox = _inbox(mail, records.goal, v, senders, some.here)
        n = _group_by_shape(net, states, v, inbox, records.scheme, some)
        scheme = schemes.used[0] + group[some.here]
        goal = np.full(n, -1, np.int64)
        for j in range(len(scheme)):
            if scheme[j] == schemes.used[0]:  # the first of its shape
                received = records.scheme[inbox[j][inbox[j] >= 0]]
                schemes = _add_scheme(schemes, net, states, v, some.here[j], received)
                scope = schemes.scope[schemes.first_scope[scheme[j]] : schemes.used[1]]
                if len(scope) > 0:
                    goal[group[some.here[j]]] = scope[0]
                    mail.sends[t, scope[0]] = True
        to = goal[group[some.here]]
        records = _add_records(records, scheme, local_of[some.here], to, inbox)
    mail.first[len(order)] = records.used[0]
    return _sums(net, locals_, schemes, records, mail, weights, first_cell)


@kernel
def _weigh_locals(sums: Sums, tables: FloatArray, cells: FloatArray) -> float:
    """Compute the local tables, their largest entries 1; return what was taken off."""
    value = 0.0
    for j in range(len(sums.local_node)):
        v, cell, top = sums.local_node[j], len(tables) + sums.widest * j, -np.inf
        for k in range(sums.n_states[v]):
            total = tables[sums.node_cell[v] + k]
            for c in range(sums.first_clamp[j], sums.first_clamp[j + 1]):
                total += tables[sums.clamp_cell[c] + k * sums.clamp_stride[c]]
            cells[cell + k] = total
            top = max(top, total)
        for k in range(sums.n_states[v]):
            cells[cell + k] = np.exp(cells[cell + k] - top)
        value += sums.local_weight[j] * top
    return value


@kernel
def _share_out_locals(sums: Sums, n_tables: int, adjoint: FloatArray) -> None:
    """Add the derivatives by the locals to those by the potentials that they sum."""
    for j in range(len(sums.local_node)):
        v, cell = sums.local_node[j], n_tables + sums.widest * j
        for k in range(sums.n_states[v]):
            share = adjoint[cell + k]
            adjoint[sums.node_cell[v] + k] += share
            for c in range(sums.first_clamp[j], sums.first_clamp[j + 1]):
                adjoint[sums.clamp_cell[c] + k * sums.clamp_stride[c]] += share


@kernel
def _multiply_links(sums: Sums, cells: FloatArray, entries: FloatArray) -> None:
    """Compute for each scheme the products of the edges of its node, in all states of its scope."""
    for g in range(len(sums.node)):
        n = sums.n_states[sums.node[g]]
        size = (sums.first_entry[g + 1] - sums.first_entry[g]) // n
        for k in range(n):
            row, m = entries[sums.first_entry[g] + k * size :][:size], 1
            row[0] = 1.0
            for d in range(sums.first_scope[g + 1] - 1, sums.first_scope[g] - 1, -1):
                at, n_other = sums.link_cell[d], sums.n_states[sums.scope[d]]
                for s in range(n_other - 1, -1, -1):
                    factor = 1.0
                    if at >= 0:
                        factor = cells[at + k * sums.link_own[d] + s * sums.link_other[d]]
                    for j in range(m):
                        row[s * m + j] = row[j] * factor
                m *= n_other


@kernel
def _share_out_links(sums: Sums, by_entries: FloatArray, adjoint: FloatArray) -> None:
    """Add the derivatives by the products of edges to those by the edges; uses them up."""
    for g in range(len(sums.node)):
        n = sums.n_states[sums.node[g]]
        size = (sums.first_entry[g + 1] - sums.first_entry[g]) // n
        for k in range(n):
            row, m = by_entries[sums.first_entry[g] + k * size :][:size], size
            for d in range(sums.first_scope[g], sums.first_scope[g + 1]):
                at, n_other = sums.link_cell[d], sums.n_states[sums.scope[d]]
                m //= n_other
                for s in range(n_other if at >= 0 else 0):
                    total = 0.0
                    for j in range(m):
                        total += row[s * m + j]
                    adjoint[at + k * sums.link_own[d] + s * sums.link_other[d]] += total
                for s in range(1, n_other):
                    for j in range(m):
                        row[j] += row[s * m + j]


@kernel
def _multiply_inputs(
    cells: FloatArray, inputs: IntArray, offset: IntArray, first: int, step: int, row: FloatArray
) -> None:
    """Multiply a row by the messages received; the offsets of the next begin ``step`` later."""
    for at in inputs:
        places = offset[first : first + len(row)]
        for c in range(len(row)):
            row[c] *= cells[at + places[c]]
        first += step


@kernel
def multiply_forward(
    sums: Sums, tables: FloatArray, cells: FloatArray, entries: FloatArray, tops: FloatArray
) -> float:
    """Return the weighted sum of the logarithms of all sums; not finite out of range.

    ``cells`` gets the potentials, locals and messages, each divided by its ``tops``; ``entries``
    the products of edges.
    """
    for c in range(len(tables)):
        cells[c] = np.exp(tables[c])
    value = _weigh_locals(sums, tables, cells)
    _multiply_links(sums, cells, entries)
    room = np.empty(len(entries))
    for r in range(len(sums.scheme)):
        g, message = sums.scheme[r], cells[sums.cell[r] : sums.cell[r + 1]]
        size, first = len(message), sums.first_entry[g]
        n, step = sums.n_states[sums.node[g]], sums.first_entry[g + 1] - first
        inputs = sums.input_cell[sums.first_input[r] : sums.first_input[r + 1]]
        own, row = len(tables) + sums.widest * sums.local[r], room[:size]
        message[:] = 0.0
        for k in range(n):
            factor, links = cells[own + k], entries[first + k * size :][:size]
            for c in range(size):
                row[c] = factor * links[c]
            _multiply_inputs(cells, inputs, sums.offset, sums.first_offset[g] + k * size, step, row)
            for c in range(size):
                message[c] += row[c]
        top = 0.0
        for entry in message:
            if not entry <= top:
                top = entry
        if not 0.0 < top < np.inf:
            return -np.inf
        tops[r] = 1.0
        if size == 1 or not 1 / FAR_FROM_1 < top < FAR_FROM_1:
            tops[r] = top
            value += sums.weight[r] * np.log(top)
            for c in range(size):
                message[c] /= top
    return value


@kernel
def multiply_backward(
    sums: Sums, n_tables: int, cells: FloatArray, entries: FloatArray, tops: FloatArray,
    adjoint: FloatArray, by_entries: FloatArray,
) -> None:  # fmt: skip
    """Write the derivatives of the weighted sum by the logarithms of all cells."""
    adjoint[: sums.cell[-1]] = 0.0
    by_entries[: sums.first_entry[-1]] = 0.0
    room = np.empty(len(entries))
    for r in range(len(sums.scheme) - 1, -1, -1):
        g, message = sums.scheme[r], cells[sums.cell[r] : sums.cell[r + 1]]
        size, first = len(message), sums.first_entry[g]
        n, step = sums.n_states[sums.node[g]], sums.first_entry[g + 1] - first
        inputs = sums.input_cell[sums.first_input[r] : sums.first_input[r + 1]]
        own, row = n_tables + sums.widest * sums.local[r], room[:size]
        share = adjoint[sums.cell[r] : sums.cell[r + 1]]
        if size == 1:
            share[0] = sums.weight[r]
        for c in range(size):
            total = message[c] * tops[r]
            share[c] = share[c] / total if total > 0.0 else 0.0
        for k in range(n):
            factor, begin = cells[own + k], first + k * size
            links, by_links = entries[begin : begin + size], by_entries[begin : begin + size]
            for c in range(size):
                row[c] = factor * links[c] * share[c]
            place = sums.first_offset[g] + k * size
            _multiply_inputs(cells, inputs, sums.offset, place, step, row)
            whole = 0.0
            for c in range(size):
                by_links[c] += row[c]
                whole += row[c]
            adjoint[own + k] += whole
            for at in inputs:
                places = sums.offset[place : place + size]
                for c in range(size):
                    adjoint[at + places[c]] += row[c]
                place += step
    _share_out_links(sums, by_entries, adjoint)
    _share_out_locals(sums, n_tables, adjoint)
