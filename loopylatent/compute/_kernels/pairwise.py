"""Pairwise models: known values of rows, loopy belief propagation, Gibbs sampling."""

from __future__ import annotations

import numpy as np

from loopylatent.compute._kernels.circuit import mixed
from loopylatent.compute._kernels.jit import sized_kernel
from loopylatent.compute.tape import Network
from loopylatent.compute.values import BoolArray, FloatArray, IntArray, StateArray

kernel = sized_kernel(0)  # exponentials: the last digits would differ interpreted


@kernel
def group_rows(states: StateArray, columns: IntArray) -> tuple[IntArray, IntArray]:
    """Group the rows that are equal in ``columns``.

    Returns the group of each row, numbered by first appearance, and the first row of each group.
    """
    n = len(states)
    size = 2
    while size < 2 * n:
        size *= 2
    slots, group, first = np.full(size, -1), np.empty(n, np.int64), np.empty(n, np.int64)
    found = 0
    for row in range(n):
        hashed = 17
        for j in columns:
            hashed = mixed(hashed, states[row, j] + 2)
        slot = hashed & (size - 1)
        while slots[slot] >= 0:
            other = first[slots[slot]]
            same = True
            for j in columns:
                if states[row, j] != states[other, j]:
                    same = False
                    break
            if same:
                break
            slot = (slot + 1) & (size - 1)
        if slots[slot] < 0:
            slots[slot] = found
            first[found] = row
            found += 1
        group[row] = slots[slot]
    return group, first[:found].copy()


@kernel
def sum_clamped(
    states: StateArray, tables: FloatArray, node_cell: IntArray, edges: IntArray,
    edge_cell: IntArray, n_states: IntArray,
) -> FloatArray:  # fmt: skip
    """(rows,) the log-potentials of known nodes and of edges between known nodes, summed."""
    sums = np.zeros(len(states))
    for row in range(len(states)):
        for v in range(states.shape[1]):
            if states[row, v] >= 0:
                sums[row] += tables[node_cell[v] + states[row, v]]
        for e in range(len(edges)):
            u, v = edges[e, 0], edges[e, 1]
            if states[row, u] >= 0 and states[row, v] >= 0:
                cell = edge_cell[e] + states[row, u] * n_states[v] + states[row, v]
                sums[row] += tables[cell]
    return sums


@kernel
def _missing_pairs(linked: BoolArray, nodes: IntArray) -> int:
    """Count the pairs of ``nodes`` that are not linked."""
    missing = 0
    for a in range(len(nodes)):
        for b in range(a):
            if not linked[nodes[a], nodes[b]]:
                missing += 1
    return missing


@kernel
def _cheapest_node(
    active: BoolArray, fill: IntArray, log_size: FloatArray, burden: FloatArray
) -> int:
    """Return the node with the fewest missing pairs, then the smallest table, then burden."""
    best = -1
    for v in range(len(active)):
        if not active[v] or (best >= 0 and fill[v] > fill[best]):
            continue
        if (
            best < 0
            or fill[v] < fill[best]
            or log_size[v] < log_size[best] - 1e-9
            or (log_size[v] < log_size[best] + 1e-9 and burden[v] < burden[best])
        ):
            best = v
    return best


@kernel
def eliminate_by_fill(
    linked: BoolArray, active: BoolArray, log_states: FloatArray, burden: FloatArray
) -> tuple[IntArray, IntArray, FloatArray]:
    """Eliminate the active nodes one by one.

    Returns their order and, for each of them, how many neighbours it still had and the
    logarithm of the table over it and those. ``linked`` and ``active`` are used up. ``burden``
    breaks ties: small burdens go first and are passed on to the neighbours.
    """
    total = int(active.sum())
    order, width, log_table = np.empty(total, np.int64), np.empty(total, np.int64), np.empty(total)
    load, changed = burden.copy(), active.copy()
    fill, log_size = np.zeros(len(active), np.int64), np.zeros(len(active))
    for step in range(total):
        for v in range(len(active)):
            if changed[v] and active[v]:
                around = np.flatnonzero(linked[v] & active)
                fill[v] = _missing_pairs(linked, around)
                log_size[v] = log_states[v] + log_states[around].sum()
        v = _cheapest_node(active, fill, log_size, load)
        active[v] = False
        around = np.flatnonzero(linked[v] & active)
        order[step], width[step], log_table[step] = v, len(around), log_size[v]
        changed[:] = False
        for a in around:
            load[a] += load[v]
            changed[a] = True
            for b in around:
                if a != b and not linked[a, b]:
                    linked[a, b] = True
                    changed |= linked[a]
    return order, width, log_table


@kernel
def _log_sum(values: FloatArray) -> float:
    top = values[0]
    for value in values:
        top = max(top, value)
    total = 0.0
    for value in values:
        total += np.exp(value - top)
    return float(top + np.log(total))


@kernel
def _fields(net: Network, states: StateArray, tables: FloatArray, fields: FloatArray) -> float:
    """Write the potential of each open node given the known ones; return that of the known."""
    known = 0.0
    for v in range(len(net.n_states)):
        cell = net.node_cell[v]
        if states[v] >= 0:
            known += tables[cell + states[v]]
            for k in range(net.start[v], net.start[v + 1]):
                u = net.other[k]
                if u < v and states[u] >= 0:
                    at = net.table[k] + states[v] * net.own_stride[k]
                    known += tables[at + states[u] * net.other_stride[k]]
            continue
        for s in range(net.n_states[v]):
            fields[v, s] = tables[cell + s]
            for k in range(net.start[v], net.start[v + 1]):
                state = states[net.other[k]]
                if state >= 0:
                    at = net.table[k] + state * net.other_stride[k]
                    fields[v, s] += tables[at + s * net.own_stride[k]]
    return known


@kernel
def _send(
    net: Network, states: StateArray, tables: FloatArray, fields: FloatArray, back: IntArray,
    messages: FloatArray, v: int, damping: float,
) -> float:  # fmt: skip
    """Send the messages of node v to all open nodes next to it; return the largest change."""
    most = 0.0
    total = fields[v].copy()
    for k in range(net.start[v], net.start[v + 1]):
        if states[net.other[k]] < 0:
            for s in range(net.n_states[v]):
                total[s] += messages[k, s]
    n = net.n_states[v]
    values = np.empty(n)
    fresh = np.empty(messages.shape[1])
    for k in range(net.start[v], net.start[v + 1]):
        u = net.other[k]
        if states[u] >= 0:
            continue
        for t in range(net.n_states[u]):
            for s in range(n):
                cell = net.table[k] + s * net.own_stride[k] + t * net.other_stride[k]
                values[s] = total[s] - messages[k, s] + tables[cell]
            fresh[t] = _log_sum(values)
        level = _log_sum(fresh[: net.n_states[u]])
        for t in range(net.n_states[u]):
            old = messages[back[k], t]
            most = max(most, abs(fresh[t] - level - old))
            messages[back[k], t] = damping * old + (1.0 - damping) * (fresh[t] - level)
    return most


@kernel
def _collect(
    net: Network, states: StateArray, tables: FloatArray, fields: FloatArray, back: IntArray,
    messages: FloatArray, weight: float, beliefs: FloatArray,
) -> float:  # fmt: skip
    """Add the weighted beliefs to ``beliefs``; return the Bethe value of the open nodes."""
    bethe = 0.0
    totals = fields.copy()
    for v in range(len(net.n_states)):
        for k in range(net.start[v], net.start[v + 1]):
            if states[v] < 0 and states[net.other[k]] < 0:
                for s in range(net.n_states[v]):
                    totals[v, s] += messages[k, s]
    for v in range(len(net.n_states)):
        n = net.n_states[v]
        if states[v] >= 0:
            beliefs[net.node_cell[v] + states[v]] += weight
            for k in range(net.start[v], net.start[v + 1]):
                u = net.other[k]
                if u < v and states[u] >= 0:
                    at = net.table[k] + states[v] * net.own_stride[k]
                    beliefs[at + states[u] * net.other_stride[k]] += weight
            continue
        level = _log_sum(totals[v, :n])
        degree = 0
        for k in range(net.start[v], net.start[v + 1]):
            u = net.other[k]
            if states[u] >= 0:
                at = net.table[k] + states[u] * net.other_stride[k]
                for s in range(n):
                    beliefs[at + s * net.own_stride[k]] += weight * np.exp(totals[v, s] - level)
                continue
            degree += 1
            if u > v:
                continue
            pair = np.empty((n, net.n_states[u]))
            for s in range(n):
                for t in range(net.n_states[u]):
                    cell = net.table[k] + s * net.own_stride[k] + t * net.other_stride[k]
                    cavity = totals[v, s] - messages[k, s] + totals[u, t] - messages[back[k], t]
                    pair[s, t] = cavity + tables[cell]
            together = _log_sum(pair.ravel())
            bethe += together
            for s in range(n):
                for t in range(net.n_states[u]):
                    cell = net.table[k] + s * net.own_stride[k] + t * net.other_stride[k]
                    beliefs[cell] += weight * np.exp(pair[s, t] - together)
        bethe -= (degree - 1) * level
        for s in range(n):
            beliefs[net.node_cell[v] + s] += weight * np.exp(totals[v, s] - level)
    return bethe


@kernel
def propagate(
    net: Network, states: StateArray, tables: FloatArray, back: IntArray, messages: FloatArray,
    damping: float, tolerance: float, most_rounds: int, weight: float, beliefs: FloatArray,
) -> tuple[float, float, int]:  # fmt: skip
    """Run belief propagation on one row until no message changes by more than ``tolerance``.

    A round goes through the open nodes in the order of elimination and back, which settles a tree
    at once where nothing is damped. ``messages`` is the starting point and is overwritten.
    Returns the Bethe estimate of the row's log-sum, the last change and the number of rounds.
    """
    fields = np.zeros((len(net.n_states), messages.shape[1]))
    known = _fields(net, states, tables, fields)
    change, rounds = np.inf, 0
    while change > tolerance and rounds < most_rounds:
        change = 0.0
        for direction in (1, -1):
            for v in net.order[::direction]:
                if states[v] < 0:
                    moved = _send(net, states, tables, fields, back, messages, v, damping)
                    change = max(change, moved)
        rounds += 1
    bethe = _collect(net, states, tables, fields, back, messages, weight, beliefs)
    return known + bethe, change, rounds


@kernel
def sweep_nodes(
    network: Network, tables: FloatArray, states: StateArray, uniforms: FloatArray
) -> None:
    """Draw every node of every chain anew, once for each of the sweeps, in place.

    ``states`` is (chains, nodes), ``uniforms`` (sweeps, chains, nodes) random numbers below 1.
    """
    n_sweeps, n_chains, n_nodes = uniforms.shape
    weights = np.empty(network.n_states.max())
    for sweep in range(n_sweeps):
        for chain in range(n_chains):
            for node in range(n_nodes):
                size = network.n_states[node]
                largest = -np.inf
                for k in range(size):
                    level = tables[network.node_cell[node] + k]
                    for e in range(network.start[node], network.start[node + 1]):
                        level += tables[
                            network.table[e]
                            + k * network.own_stride[e]
                            + states[chain, network.other[e]] * network.other_stride[e]
                        ]
                    weights[k] = level
                    largest = max(largest, level)
                total = 0.0
                for k in range(size):
                    total += np.exp(weights[k] - largest)
                    weights[k] = total
                wanted = uniforms[sweep, chain, node] * total
                drawn = 0
                while drawn < size - 1 and weights[drawn] <= wanted:
                    drawn += 1
                states[chain, node] = drawn
