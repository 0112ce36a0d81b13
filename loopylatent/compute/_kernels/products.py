"""The sums of a tape as sums of products: no logarithm of each entry, so several times faster.

Each message is divided by its largest entry; the logarithm of what was divided out is kept. Where
a product leaves the range of floating-point numbers the value is not finite, and the callers fall
back to the sums of logarithms in ``circuit``.
"""

from __future__ import annotations

import numpy as np

from loopylatent.compute._kernels.circuit import (
    _add,
    _simple_inputs,
    _split_inputs,
)
from loopylatent.compute._kernels.jit import sized_kernel
from loopylatent.compute.tape import LOCALS, RECORDS, Network, Sums, Tape
from loopylatent.compute.values import FloatArray, IntArray

kernel = sized_kernel(0)  # exponentials: the last digits would differ interpreted
LARGE = 32
"""Entries from which blocks pay."""
BLOCK = 64
"""Entries of a block, at most."""


@kernel
def _inner_nodes(scope: IntArray, n_states: IntArray) -> int:
    """Return how many nodes at the front of the scope stay outside of a block of entries."""
    outer, size = len(scope), 1
    while outer > 0 and size * n_states[scope[outer - 1]] <= BLOCK:
        outer -= 1
        size *= n_states[scope[outer]]
    return outer


@kernel
def _advance(
    at: IntArray, n: int, digit: IntArray, scope: IntArray, n_states: IntArray, stride: IntArray,
) -> int:  # fmt: skip
    """Move n inputs to the next entry, whose last node runs fastest; return the node moved."""
    width = 1 + len(scope)
    for d in range(len(scope) - 1, -1, -1):
        last = n_states[scope[d]] - 1
        if digit[d] < last:
            digit[d] += 1
            for i in range(n):
                at[i] += stride[i * width + 1 + d]
            return d
        digit[d] = 0
        for i in range(n):
            at[i] -= last * stride[i * width + 1 + d]
    return -1


@kernel
def _product(
    cells: FloatArray, at: IntArray, n: int, stride: IntArray, width: int, k: int
) -> float:
    product = 1.0
    for i in range(n):
        product *= cells[at[i] + k * stride[i * width]]
    return product


@kernel
def _multiply(source: FloatArray, taken: IntArray, target: FloatArray, given: IntArray) -> None:
    """Multiply entries of one flat array by those of another."""
    for c in range(len(taken)):
        target[given[c]] *= source[taken[c]]


@kernel
def _block_offsets(
    scope: IntArray, n_states: IntArray, outer: int, size: int, steps: IntArray, n: int
) -> IntArray:
    """(inputs, entries of a block) where each input stands, counted from the block's start."""
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
def _runs(offsets: IntArray) -> IntArray:
    """(inputs,) 0 where an input stands still in a block, 1 where it runs along, 2 otherwise."""
    found = np.empty(len(offsets), np.int64)
    last = offsets.shape[1] - 1
    for i in range(len(offsets)):
        step = offsets[i, min(1, last)]
        found[i] = step if step <= 1 else 2
        for j in range(last + 1):
            if offsets[i, j] != step * j:
                found[i] = 2
                break
    return found


@kernel
def _block_products(
    scope: IntArray, n_states: IntArray, outer: int, size: int, terms: FloatArray
) -> FloatArray:
    """(K, entries of a block) the products of the simple inputs of the inner nodes."""
    products = np.ones((terms.shape[2], size))
    for k in range(len(products)):
        row, m = products[k], 1
        for d in range(len(scope) - 1, outer - 1, -1):
            for s in range(n_states[scope[d]] - 1, -1, -1):
                factor = terms[1 + d, s, k]
                for j in range(m):
                    row[s * m + j] = row[j] * factor
            m *= n_states[scope[d]]
    return products


@kernel
def _fold_block(
    scope: IntArray, n_states: IntArray, outer: int, by_inner: FloatArray, by_terms: FloatArray
) -> None:
    """Add the shares of the entries of a block to the terms of its inner nodes; uses them up."""
    for k in range(len(by_inner)):
        row, m = by_inner[k], by_inner.shape[1]
        for d in range(outer, len(scope)):
            n = n_states[scope[d]]
            m //= n
            for s in range(n):
                total = 0.0
                for j in range(m):
                    total += row[s * m + j]
                by_terms[1 + d, s, k] += total
            for s in range(1, n):
                for j in range(m):
                    row[j] += row[s * m + j]


@kernel
def _block_of_products(
    cells: FloatArray, level: FloatArray, inner: FloatArray, at: IntArray, steps: IntArray,
    width: int, offsets: IntArray, runs: IntArray, products: FloatArray,
) -> None:  # fmt: skip
    """(K, entries of a block) multiply all inputs of the present block."""
    m = products.shape[1]
    for k in range(len(products)):
        row, simple, factor = products[k], inner[k], level[k]
        for i in range(len(at)):
            if runs[i] == 0:
                factor *= cells[at[i] + k * steps[i * width]]
        for j in range(len(row)):
            row[j] = factor * simple[j]
        for i in range(len(at)):
            first = at[i] + k * steps[i * width]
            if runs[i] == 1:
                along = cells[first : first + m]
                for j in range(len(row)):
                    row[j] *= along[j]
            elif runs[i] == 2:
                places = offsets[i]
                for j in range(len(row)):
                    row[j] *= cells[first + places[j]]


@kernel
def _share_out(
    adjoint: FloatArray, shares: FloatArray, at: IntArray, steps: IntArray, width: int,
    offsets: IntArray, runs: IntArray, by_inner: FloatArray, by_level: FloatArray,
) -> None:  # fmt: skip
    """Add the shares of the present block to what its entries were made of."""
    m = shares.shape[1]
    for k in range(len(shares)):
        row, inside = shares[k], by_inner[k]
        whole = 0.0
        for j in range(len(row)):
            inside[j] += row[j]
            whole += row[j]
        by_level[k] += whole
        for i in range(len(at)):
            first = at[i] + k * steps[i * width]
            if runs[i] == 0:
                adjoint[first] += whole
            elif runs[i] == 1:
                along = adjoint[first : first + m]
                for j in range(len(row)):
                    along[j] += row[j]
            else:
                places = offsets[i]
                for j in range(len(row)):
                    adjoint[first + places[j]] += row[j]


@kernel
def _large_forward(
    cells: FloatArray, out: int, size: int, n_states: IntArray, node: int, scope: IntArray,
    inputs: IntArray, stride: IntArray,
) -> None:  # fmt: skip
    n, width = n_states[node], 1 + len(scope)
    depends = _split_inputs(inputs, stride, width)
    terms = np.ones((width, n_states[scope].max(), n))
    simple = _simple_inputs(inputs, stride, depends, n_states[scope], terms)
    _multiply(cells, simple[0], terms.ravel(), simple[1])
    several = depends == -2
    at, steps = inputs[several], stride[np.repeat(several, width)]
    outer = _inner_nodes(scope, n_states)
    block = 1
    for d in range(outer, len(scope)):
        block *= n_states[scope[d]]
    offsets = _block_offsets(scope, n_states, outer, block, steps, len(at))
    runs = _runs(offsets)
    inner = _block_products(scope, n_states, outer, block, terms)
    level = np.ones((1 + outer, n))
    level[0] = terms[0, 0]
    digit = np.zeros(len(scope), np.int64)
    products = np.empty(inner.shape)
    moved = 0
    for first in range(out, out + size, block):
        for d in range(moved, outer):
            for k in range(n):
                level[d + 1, k] = level[d, k] * terms[1 + d, digit[d], k]
        _block_of_products(cells, level[outer], inner, at, steps, width, offsets, runs, products)
        for j in range(block):
            total = 0.0
            for k in range(n):
                total += products[k, j]
            cells[first + j] = total
        moved = _advance_outer(at, digit, outer, scope, n_states, steps, width)


@kernel
def _advance_outer(
    at: IntArray, digit: IntArray, outer: int, scope: IntArray, n_states: IntArray,
    steps: IntArray, width: int,
) -> int:  # fmt: skip
    """Move all inputs to the next block; return the node moved."""
    for d in range(outer - 1, -1, -1):
        last = n_states[scope[d]] - 1
        if digit[d] < last:
            digit[d] += 1
            for i in range(len(at)):
                at[i] += steps[i * width + 1 + d]
            return d
        digit[d] = 0
        for i in range(len(at)):
            at[i] -= last * steps[i * width + 1 + d]
    return -1


@kernel
def _large_backward(
    cells: FloatArray, adjoint: FloatArray, out: int, size: int, top: float, n_states: IntArray,
    node: int, scope: IntArray, inputs: IntArray, stride: IntArray,
) -> None:  # fmt: skip
    n, width = n_states[node], 1 + len(scope)
    depends = _split_inputs(inputs, stride, width)
    terms = np.ones((width, n_states[scope].max(), n))
    simple = _simple_inputs(inputs, stride, depends, n_states[scope], terms)
    _multiply(cells, simple[0], terms.ravel(), simple[1])
    by_terms = np.zeros(terms.shape)
    several = depends == -2
    at, steps = inputs[several], stride[np.repeat(several, width)]
    outer = _inner_nodes(scope, n_states)
    block = 1
    for d in range(outer, len(scope)):
        block *= n_states[scope[d]]
    offsets = _block_offsets(scope, n_states, outer, block, steps, len(at))
    runs = _runs(offsets)
    inner = _block_products(scope, n_states, outer, block, terms)
    by_inner = np.zeros(inner.shape)
    level, by_level = np.ones((1 + outer, n)), np.zeros((1 + outer, n))
    level[0] = terms[0, 0]
    digit, before = np.zeros(len(scope), np.int64), np.zeros(len(scope), np.int64)
    shares, weight = np.empty(inner.shape), np.empty(block)
    moved = 0
    for first in range(out, out + size, block):
        for d in range(moved, outer):
            for k in range(n):
                level[d + 1, k] = level[d, k] * terms[1 + d, digit[d], k]
        _block_of_products(cells, level[outer], inner, at, steps, width, offsets, runs, shares)
        for j in range(block):
            total = cells[first + j] * top
            weight[j] = adjoint[first + j] / total if total > 0 else 0.0
        for k in range(n):
            row = shares[k]
            for j in range(len(row)):
                row[j] *= weight[j]
        _share_out(adjoint, shares, at, steps, width, offsets, runs, by_inner, by_level[outer])
        for d in range(outer):
            before[d] = digit[d]
        moved = _advance_outer(at, digit, outer, scope, n_states, steps, width)
        for d in range(outer - 1, max(moved, 0) - 1, -1):
            for k in range(n):
                by_terms[1 + d, before[d], k] += by_level[d + 1, k]
                by_level[d, k] += by_level[d + 1, k]
                by_level[d + 1, k] = 0.0
    by_terms[0, 0] = by_level[0]
    _fold_block(scope, n_states, outer, by_inner, by_terms)
    _add(by_terms.ravel(), simple[1], adjoint, simple[0])


@kernel
def _weigh_locals(
    net: Network, tape: Tape, tables: FloatArray, cells: FloatArray, log_local: FloatArray
) -> None:
    for j in range(tape.counts[LOCALS]):
        v, cell = tape.local_node[j], tape.local_cell[j]
        top = -np.inf
        for k in range(net.n_states[v]):
            total = tables[net.node_cell[v] + k]
            for c in range(tape.first_clamp[j], tape.first_clamp[j + 1]):
                total += tables[tape.clamp_cell[c] + k * tape.clamp_stride[c]]
            cells[cell + k] = total
            top = max(top, total)
        log_local[j] = top
        for k in range(net.n_states[v]):
            cells[cell + k] = np.exp(cells[cell + k] - top)


@kernel
def multiply_forward(
    sums: Sums, tables: FloatArray, cells: FloatArray, tops: FloatArray, logs: FloatArray,
    log_local: FloatArray, large: int,
) -> float:  # fmt: skip
    """Return the weighted sum of the logarithms of the roots.

    ``cells`` gets the potentials, locals and messages, each divided by its ``tops``; ``logs`` what
    was divided out. Messages with ``large`` entries or more, at least 2, are computed in blocks.
    """
    net, tape = sums.net, sums.tape
    first_input, first_scope, first_stride = tape.first_input, tape.first_scope, tape.first_stride
    n_states = net.n_states
    for c in range(len(tables)):
        cells[c] = np.exp(tables[c])
    _weigh_locals(net, tape, tables, cells, log_local)
    digit, at = np.zeros(64, np.int64), np.empty(sums.most_inputs, np.int64)
    value = 0.0
    for r in range(tape.counts[RECORDS]):
        node, out, size = tape.node[r], tape.cell[r], tape.size[r]
        n, inputs = n_states[node], first_input[r + 1] - first_input[r]
        log = log_local[tape.local[r]]
        for i in range(first_input[r + 1] - tape.n_messages[r], first_input[r + 1]):
            log += logs[tape.input_record[i]]
        stride = tape.stride[first_stride[r] : first_stride[r + 1]]
        if size == 1:
            total = 0.0
            at[:inputs] = tape.input_cell[first_input[r] : first_input[r + 1]]
            width = 1 + first_scope[r + 1] - first_scope[r]
            for k in range(n):
                total += _product(cells, at, inputs, stride, width, k)
            cells[out], tops[r], logs[r] = total, 1.0, log
            if not 0.0 < total < np.inf:
                return -np.inf
            if sums.weights[r] != 0.0:
                value += sums.weights[r] * (np.log(total) + log)
            continue
        scope = tape.scope[first_scope[r] : first_scope[r + 1]]
        if size >= large:
            inputs_of = tape.input_cell[first_input[r] : first_input[r + 1]]
            _large_forward(cells, out, size, n_states, node, scope, inputs_of, stride)
        else:
            at[:inputs] = tape.input_cell[first_input[r] : first_input[r + 1]]
            for e in range(size):
                total = 0.0
                for k in range(n):
                    total += _product(cells, at, inputs, stride, 1 + len(scope), k)
                cells[out + e] = total
                _advance(at, inputs, digit, scope, n_states, stride)
        top = 0.0
        message = cells[out : out + size]
        for entry in message:
            if not entry <= top:
                top = entry
        if not 0.0 < top < np.inf:
            return -np.inf
        unit = 1.0 / top
        for e in range(len(message)):
            message[e] *= unit
        tops[r], logs[r] = top, log + np.log(top)
    return value


@kernel
def multiply_backward(
    sums: Sums, cells: FloatArray, tops: FloatArray, adjoint: FloatArray, large: int
) -> None:
    """Write the derivatives of the weighted sum by the logarithms of all cells."""
    net, tape = sums.net, sums.tape
    first_input, first_scope, first_stride = tape.first_input, tape.first_scope, tape.first_stride
    n_states = net.n_states
    adjoint[:] = 0.0
    digit, at = np.zeros(64, np.int64), np.empty(sums.most_inputs, np.int64)
    for r in range(tape.counts[RECORDS] - 1, -1, -1):
        node, out, size = tape.node[r], tape.cell[r], tape.size[r]
        n, inputs = n_states[node], first_input[r + 1] - first_input[r]
        stride = tape.stride[first_stride[r] : first_stride[r + 1]]
        scope = tape.scope[first_scope[r] : first_scope[r + 1]]
        if sums.weights[r] != 0.0:
            adjoint[out] += sums.weights[r]
        if size >= large:
            inputs_of = tape.input_cell[first_input[r] : first_input[r + 1]]
            _large_backward(
                cells, adjoint, out, size, tops[r], n_states, node, scope, inputs_of, stride
            )
            continue
        at[:inputs] = tape.input_cell[first_input[r] : first_input[r + 1]]
        width = 1 + len(scope)
        for e in range(size):
            total = cells[out + e] * tops[r]
            if total > 0.0 and adjoint[out + e] != 0.0:
                weight = adjoint[out + e] / total
                for k in range(n):
                    share = weight * _product(cells, at, inputs, stride, width, k)
                    for i in range(inputs):
                        adjoint[at[i] + k * stride[i * width]] += share
            if size > 1:
                _advance(at, inputs, digit, scope, n_states, stride)
    for j in range(tape.counts[LOCALS]):
        v, cell = tape.local_node[j], tape.local_cell[j]
        for k in range(n_states[v]):
            share = adjoint[cell + k]
            adjoint[net.node_cell[v] + k] += share
            for c in range(tape.first_clamp[j], tape.first_clamp[j + 1]):
                adjoint[tape.clamp_cell[c] + k * tape.clamp_stride[c]] += share
