"""Maximum likelihood by L-BFGS, all in one compiled function, so that many can run at once.

It is never interpreted: a fit of a few steps would take minutes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from loopylatent.compute._kernels.jit import sized_kernel
from loopylatent.compute._kernels.products import multiply_backward, multiply_forward
from loopylatent.compute.tape import Likelihood, Limits, Sparse, Sums
from loopylatent.compute.values import FloatArray

kernel = sized_kernel(0)  # exponentials: the last digits would differ interpreted
MEMORY = 20
SETTLED_STEPS = 20
ENOUGH_RISE, ENOUGH_BEND = 1e-4, 0.9
"""The two conditions on the length of a step, by Wolfe."""
MOST_LENGTHS = 20
NO_GAIN = 1e-15
"""Smaller relative improvements are rounding errors."""


@kernel
def _times(matrix: Sparse, vector: FloatArray, result: FloatArray) -> None:
    for row in range(len(result)):
        total = 0.0
        for k in range(matrix.first[row], matrix.first[row + 1]):
            total += matrix.value[k] * vector[matrix.column[k]]
        result[row] = total


@kernel
def _dot(a: FloatArray, b: FloatArray) -> float:
    total = 0.0
    for k in range(len(a)):
        total += a[k] * b[k]
    return total


class Room(NamedTuple):
    """Arrays in which the likelihood of one point is computed."""

    cells: FloatArray
    adjoint: FloatArray
    tops: FloatArray
    entries: FloatArray
    by_entries: FloatArray
    tables: FloatArray
    by_tables: FloatArray


@kernel
def _room_for(problem: Likelihood) -> Room:
    rows, whole, n = problem.rows, problem.whole, len(problem.clamped)
    cells, adjoint = np.empty((2, max(rows.cell[-1], whole.cell[-1], n)))
    entries, by_entries = np.empty((2, max(rows.first_entry[-1], whole.first_entry[-1])))
    tops = np.empty(max(len(rows.scheme), len(whole.scheme)))
    return Room(cells, adjoint, tops, entries, by_entries, np.empty(n), np.empty(n))


@kernel
def _multiply(sums: Sums, room: Room) -> float:
    """Return the weighted sum of logarithms at ``room.tables``; not finite out of range.

    ``room.adjoint`` gets the derivatives.
    """
    tables, cells, entries, tops = room.tables, room.cells, room.entries, room.tops
    value = multiply_forward(sums, tables, cells, entries, tops)
    if np.isfinite(value):
        multiply_backward(sums, len(tables), cells, entries, tops, room.adjoint, room.by_entries)
    return value


@kernel
def _value_and_gradient(
    problem: Likelihood, point: FloatArray, room: Room, gradient: FloatArray
) -> float:
    """Return the mean log-likelihood, and write its gradient."""
    tables, by_tables, total = room.tables, room.by_tables, problem.total_weight
    _times(problem.basis, point, tables)
    value = _dot(problem.clamped, tables)
    value += _multiply(problem.rows, room)
    if not np.isfinite(value):
        return -np.inf
    for c in range(len(tables)):
        by_tables[c] = (problem.clamped[c] + room.adjoint[c]) / total
    log_z = _multiply(problem.whole, room)
    if not np.isfinite(log_z):
        return -np.inf
    for c in range(len(tables)):
        by_tables[c] -= room.adjoint[c]
    _times(problem.transposed, by_tables, gradient)
    return float(value / total - log_z)


@kernel
def _direction(
    gradient: FloatArray, moves: FloatArray, bends: FloatArray, first: int, n: int
) -> FloatArray:
    """Return where to go: the gradient times the inverse curvature of the last n steps."""
    result = gradient.copy()
    shares = np.empty(n)
    for k in range(n - 1, -1, -1):
        s, y = moves[(first + k) % MEMORY], bends[(first + k) % MEMORY]
        shares[k] = _dot(s, result) / _dot(s, y)
        for j in range(len(result)):
            result[j] -= shares[k] * y[j]
    if n > 0:
        s, y = moves[(first + n - 1) % MEMORY], bends[(first + n - 1) % MEMORY]
        unit = _dot(s, y) / _dot(y, y)
        for j in range(len(result)):
            result[j] *= unit
    for k in range(n):
        s, y = moves[(first + k) % MEMORY], bends[(first + k) % MEMORY]
        back = shares[k] - _dot(y, result) / _dot(s, y)
        for j in range(len(result)):
            result[j] += back * s[j]
    return result


@kernel
def _next_length(
    low: float, low_value: float, low_slope: float, high: float, high_value: float
) -> float:
    """Return a length between two, by the parabola through them, away from both ends."""
    width = high - low
    step = 0.5 * width
    if np.isfinite(high_value):
        fall = low_value + low_slope * width - high_value
        if fall > 0.0:
            step = 0.5 * low_slope * width * width / fall
    return float(low + min(max(step, 0.1 * width), 0.9 * width))


@kernel
def _is_hopeless(history: FloatArray, n: int, limits: Limits) -> bool:
    if n <= limits.window:
        return False
    rise = history[n - 1] - history[n - 1 - limits.window]
    return bool(history[n - 1] + limits.extrapolation * rise < limits.target)


@kernel
def climb(
    problem: Likelihood, start: FloatArray, limits: Limits
) -> tuple[FloatArray, FloatArray, float]:
    """Return the best point, the value at the start and after each step, and the largest slope.

    A step is long enough where it raises the value and its slope has fallen (the weak conditions
    of Wolfe). The value at the start is not finite where products leave the range of numbers.
    """
    room = _room_for(problem)
    m = len(start)
    point, gradient, trial, slopes = start.copy(), np.zeros(m), np.empty(m), np.zeros(m)
    moves, bends = np.empty((MEMORY, m)), np.empty((MEMORY, m))
    history = np.empty(limits.max_steps + 1)
    value = _value_and_gradient(problem, point, room, gradient)
    history[0] = value
    n_steps, first, kept = 0, 0, 0
    while n_steps < limits.max_steps and np.abs(gradient).max() > limits.tolerance:
        if not np.isfinite(value) or limits.stop[0] or _is_hopeless(history, n_steps + 1, limits):
            break
        if (
            n_steps >= SETTLED_STEPS
            and history[n_steps] - history[n_steps - SETTLED_STEPS] < limits.settled
        ):
            break
        direction = _direction(gradient, moves, bends, first, kept)
        slope = _dot(direction, gradient)
        if not slope > 0.0:
            if kept == 0:
                break
            first, kept = 0, 0
            continue
        low, low_value, low_slope, high, high_value = 0.0, value, slope, np.inf, 0.0
        length = min(1.0, 1.0 / np.sqrt(_dot(gradient, gradient))) if kept == 0 else 1.0
        found, end = False, value
        for _ in range(MOST_LENGTHS):
            for j in range(m):
                trial[j] = point[j] + length * direction[j]
            end = _value_and_gradient(problem, trial, room, slopes)
            if not end >= value + ENOUGH_RISE * length * slope:
                high, high_value = length, end
            else:
                bend = _dot(slopes, direction)
                found = True
                if bend <= ENOUGH_BEND * slope:
                    break
                low, low_value, low_slope = length, end, bend
            if np.isfinite(high):
                length = _next_length(low, low_value, low_slope, high, high_value)
            else:
                length *= 4.0
        if not found or not end > value:
            break
        for j in range(m):
            trial[j] -= point[j]
            gradient[j] -= slopes[j]
        if _dot(trial, gradient) > 1e-14 * _dot(gradient, gradient):
            place = (first + kept) % MEMORY
            moves[place], bends[place] = trial, gradient
            if kept < MEMORY:
                kept += 1
            else:
                first = (first + 1) % MEMORY
        for j in range(m):
            point[j] += trial[j]
            gradient[j] = slopes[j]
        gained = end - value
        value = end
        n_steps += 1
        history[n_steps] = value
        if gained <= NO_GAIN * max(abs(value), 1.0):
            break
    return point, history[: n_steps + 1].copy(), float(np.abs(gradient).max())


@kernel
def gradients_at(problem: Likelihood, points: FloatArray) -> FloatArray:
    """(points, parameters) the gradient at each point; NaN where products leave the range."""
    room = _room_for(problem)
    found = np.empty(points.shape)
    for k in range(len(points)):
        if not np.isfinite(_value_and_gradient(problem, points[k], room, found[k])):
            found[k] = np.nan
    return found


@kernel
def marginals_at(problem: Likelihood, points: FloatArray, n: int) -> FloatArray:
    """(points, n) the first n marginals at each point; NaN where products leave the range."""
    room, found = _room_for(problem), np.full((len(points), n), np.nan)
    for k in range(len(points)):
        _times(problem.basis, points[k], room.tables)
        if np.isfinite(_multiply(problem.whole, room)):
            found[k] = room.adjoint[:n]
    return found
