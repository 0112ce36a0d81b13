"""Loopy belief propagation on pairwise models, one row after the other, in logarithms.

Directed edges are numbered as the neighbours in ``Network``: number k, in the list of node v,
carries the message *to* v from ``other[k]``.
"""

from __future__ import annotations

import numpy as np

from loopylatent.compute._kernels.jit import kernel
from loopylatent.compute.arrays import FloatArray, IntArray, StateArray
from loopylatent.compute.tape import Network


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
