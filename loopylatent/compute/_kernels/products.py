"""The sums of a tape as sums of products: no logarithm of each entry, so several times faster.

Each message is divided by its largest entry; the logarithm of what was divided out is kept. Where
a product leaves the range of floating-point numbers the value is not finite, and the callers fall
back to the sums of logarithms in ``circuit``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from loopylatent.compute._kernels.circuit import (
    _add,
    _advance,
    _block_offsets,
    _inner_nodes,
    _share_out_locals,
    _simple_inputs,
    _split_inputs,
)
from loopylatent.compute._kernels.jit import sized_kernel
from loopylatent.compute.tape import LOCALS, RECORDS, Network, Sums, Tape
from loopylatent.compute.values import FloatArray, IntArray

kernel = sized_kernel(0)  # exponentials: the last digits would differ interpreted


@kernel
def _product(cells: FloatArray, at: IntArray, stride: IntArray, width: int, k: int) -> float:
    product = 1.0
    for i in range(len(at)):
        product *= cells[at[i] + k * stride[i * width]]
    return product


@kernel
def _multiply(source: FloatArray, taken: IntArray, target: FloatArray, given: IntArray) -> None:
    """Multiply entries of one flat array by those of another."""
    for c in range(len(taken)):
        target[given[c]] *= source[taken[c]]


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


class Blocks(NamedTuple):
    """A message of many entries, in blocks in which only its inner nodes change their states."""

    simple: IntArray
    """(2, n) as `_simple_inputs`: the inputs that depend on one node of the scope or on none."""
    terms: FloatArray
    """(1 + scope, states, K) their products, for no node and for each node of the scope."""
    at: IntArray
    """(inputs,) where the other inputs stand in the present block."""
    steps: IntArray
    """(inputs * (1 + scope),) their strides."""
    offsets: IntArray
    """(inputs, entries of a block)"""
    runs: IntArray
    """(inputs,) as `_runs`."""
    inner: FloatArray
    """(K, entries of a block) as `_block_products`."""
    level: FloatArray
    """(1 + outer nodes, K) the products of the terms of the first outer nodes, of none first."""


@kernel
def _blocks_of(
    cells: FloatArray, n_states: IntArray, node: int, scope: IntArray, inputs: IntArray,
    stride: IntArray,
) -> Blocks:  # fmt: skip
    n, width = n_states[node], 1 + len(scope)
    depends = _split_inputs(inputs, stride, width)
    terms = np.ones((width, n_states[scope].max(), n))
    simple = _simple_inputs(inputs, stride, depends, n_states[scope], terms)
    _multiply(cells, simple[0], terms.ravel(), simple[1])
    several = depends == -2
    at, steps = inputs[several], stride[np.repeat(several, width)]
    outer = _inner_nodes(scope, n_states)
    size = 1
    for d in range(outer, len(scope)):
        size *= n_states[scope[d]]
    offsets = _block_offsets(scope, n_states, outer, size, steps, len(at))
    inner = _block_products(scope, n_states, outer, size, terms)
    level = np.ones((1 + outer, n))
    level[0] = terms[0, 0]
    return Blocks(simple, terms, at, steps, offsets, _runs(offsets), inner, level)


@kernel
def _multiply_block(
    cells: FloatArray, blocks: Blocks, digit: IntArray, moved: int, products: FloatArray
) -> None:
    """(K, entries) multiply all inputs of the present block; outer nodes from ``moved`` moved."""
    level, terms = blocks.level, blocks.terms
    for d in range(moved, len(level) - 1):
        for k in range(level.shape[1]):
            level[d + 1, k] = level[d, k] * terms[1 + d, digit[d], k]
    _block_of_products(
        cells, level[-1], blocks.inner, blocks.at, blocks.steps, len(terms), blocks.offsets,
        blocks.runs, products,
    )  # fmt: skip


@kernel
def _large_forward(
    cells: FloatArray, out: int, size: int, n_states: IntArray, node: int, scope: IntArray,
    inputs: IntArray, stride: IntArray,
) -> None:  # fmt: skip
    blocks = _blocks_of(cells, n_states, node, scope, inputs, stride)
    outer, width = len(blocks.level) - 1, len(blocks.terms)
    digit, products = np.zeros(len(scope), np.int64), np.empty_like(blocks.inner)
    moved = 0
    for first in range(out, out + size, products.shape[1]):
        _multiply_block(cells, blocks, digit, moved, products)
        for j in range(products.shape[1]):
            total = 0.0
            for k in range(len(products)):
                total += products[k, j]
            cells[first + j] = total
        moved = _advance(blocks.at, digit, scope[:outer], n_states, blocks.steps, width)


@kernel
def _large_backward(
    cells: FloatArray, adjoint: FloatArray, out: int, size: int, top: float, n_states: IntArray,
    node: int, scope: IntArray, inputs: IntArray, stride: IntArray,
) -> None:  # fmt: skip
    blocks = _blocks_of(cells, n_states, node, scope, inputs, stride)
    outer, width, n = len(blocks.level) - 1, len(blocks.terms), n_states[node]
    by_terms, by_inner = np.zeros(blocks.terms.shape), np.zeros(blocks.inner.shape)
    by_level = np.zeros(blocks.level.shape)
    digit, before = np.zeros(len(scope), np.int64), np.zeros(len(scope), np.int64)
    shares, weight = np.empty(blocks.inner.shape), np.empty(blocks.inner.shape[1])
    moved = 0
    for first in range(out, out + size, len(weight)):
        _multiply_block(cells, blocks, digit, moved, shares)
        for j in range(len(weight)):
            total = cells[first + j] * top
            weight[j] = adjoint[first + j] / total if total > 0 else 0.0
        for k in range(n):
            row = shares[k]
            for j in range(len(row)):
                row[j] *= weight[j]
        _share_out(
            adjoint, shares, blocks.at, blocks.steps, width, blocks.offsets, blocks.runs, by_inner,
            by_level[outer],
        )  # fmt: skip
        for d in range(outer):
            before[d] = digit[d]
        moved = _advance(blocks.at, digit, scope[:outer], n_states, blocks.steps, width)
        for d in range(outer - 1, max(moved, 0) - 1, -1):
            for k in range(n):
                by_terms[1 + d, before[d], k] += by_level[d + 1, k]
                by_level[d, k] += by_level[d + 1, k]
                by_level[d + 1, k] = 0.0
    by_terms[0, 0] = by_level[0]
    _fold_block(scope, n_states, outer, by_inner, by_terms)
    _add(by_terms.ravel(), blocks.simple[1], adjoint, blocks.simple[0])


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
    digit, place = np.zeros(64, np.int64), np.empty(sums.most_inputs, np.int64)
    value = 0.0
    for r in range(tape.counts[RECORDS]):
        node, out, size = tape.node[r], tape.cell[r], tape.size[r]
        n, inputs = n_states[node], tape.input_cell[first_input[r] : first_input[r + 1]]
        log = log_local[tape.local[r]]
        for i in range(first_input[r + 1] - tape.n_messages[r], first_input[r + 1]):
            log += logs[tape.input_record[i]]
        stride = tape.stride[first_stride[r] : first_stride[r + 1]]
        if size == 1:
            total = 0.0
            width = 1 + first_scope[r + 1] - first_scope[r]
            for k in range(n):
                total += _product(cells, inputs, stride, width, k)
            cells[out], tops[r], logs[r] = total, 1.0, log
            if not 0.0 < total < np.inf:
                return -np.inf
            if sums.weights[r] != 0.0:
                value += sums.weights[r] * (np.log(total) + log)
            continue
        scope = tape.scope[first_scope[r] : first_scope[r + 1]]
        if size >= large:
            _large_forward(cells, out, size, n_states, node, scope, inputs, stride)
        else:
            at, width = place[: len(inputs)], 1 + len(scope)
            at[:] = inputs
            for e in range(size):
                total = 0.0
                for k in range(n):
                    total += _product(cells, at, stride, width, k)
                cells[out + e] = total
                _advance(at, digit, scope, n_states, stride, width)
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
    digit, place = np.zeros(64, np.int64), np.empty(sums.most_inputs, np.int64)
    for r in range(tape.counts[RECORDS] - 1, -1, -1):
        node, out, size = tape.node[r], tape.cell[r], tape.size[r]
        n, inputs = n_states[node], tape.input_cell[first_input[r] : first_input[r + 1]]
        stride = tape.stride[first_stride[r] : first_stride[r + 1]]
        scope = tape.scope[first_scope[r] : first_scope[r + 1]]
        if sums.weights[r] != 0.0:
            adjoint[out] += sums.weights[r]
        if size >= large:
            _large_backward(
                cells, adjoint, out, size, tops[r], n_states, node, scope, inputs, stride
            )
            continue
        at, width = place[: len(inputs)], 1 + len(scope)
        at[:] = inputs
        for e in range(size):
            total = cells[out + e] * tops[r]
            if total > 0.0 and adjoint[out + e] != 0.0:
                weight = adjoint[out + e] / total
                for k in range(n):
                    share = weight * _product(cells, at, stride, width, k)
                    for i in range(len(at)):
                        adjoint[at[i] + k * stride[i * width]] += share
            if size > 1:
                _advance(at, digit, scope, n_states, stride, width)
    _share_out_locals(net, tape, adjoint)
