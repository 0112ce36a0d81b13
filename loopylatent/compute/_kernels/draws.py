"""How often rows of equal weight are drawn in several bootstrap resamples, as by numpy.

``Generator.multinomial`` goes through the rows. Of the draws that are left, a row gets a binomial
number of times: as many as there are probabilities, of 0 times, of 1 and so on, whose sum is below
one uniform random number. Here the same uniform numbers are compared with the same sums, but for
their last digits. Where these could matter, the resample is left to numpy.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from loopylatent.compute._kernels.jit import kernel, kernel_or
from loopylatent.compute.values import BoolArray, FloatArray, IntArray

NEAR = 1e-10
"""Sums of probabilities have errors far below this."""
FEW = 0.25
"""Of the exponent that is summed up as a series."""
MOST = 30.0
"""Expected times from which numpy draws in another way."""
ROWS = 64
"""Whose random numbers are transposed at once."""


@kernel
def chances(n: int, share: float) -> FloatArray:
    """(n - 1, 3) of each row but the last, the chance of being drawn next if no earlier row is.

    Then the logarithm of its complement, and the probability that it is not drawn at all where as
    many draws are left as rows. ``share`` is about 1 / n; it is subtracted as numpy does.
    """
    found = np.empty((n - 1, 3))
    left = 1.0
    for row in range(n - 1):
        p = share / left
        found[row, 0], found[row, 1] = p, math.log1p(-p)
        found[row, 2] = math.exp((n - row) * found[row, 1])
        left -= share
    return found


@kernel
def _draw_row(
    left: FloatArray, n_rows: int, p: float, log: float, none: float, uniform: FloatArray,
    times: FloatArray, unsure: BoolArray,
) -> None:  # fmt: skip
    """Write how often a row is drawn in each resample, and where that is not sure.

    It is not where it was drawn more than three times. The loop has no branches, so that it is
    compiled for several resamples at once.
    """
    odds = p / (1.0 - p)
    for k in range(len(left)):
        m, u = left[k], uniform[k]
        x = 0.5 * log * (m - n_rows)
        xx = x * x
        series = 1.0 + x + xx * (1 / 2 + x * (1 / 6)) + xx * xx * (
            1 / 24 + x * (1 / 120) + xx * (1 / 720 + x * (1 / 5040)) + xx * xx * (1 / 40320)
        )  # fmt: skip
        zero = none * (series * series)
        # relative to the probability of 0
        one = m * odds
        two = one * ((m - 1.0) * (odds * (1 / 2)))
        three = two * ((m - 2.0) * (odds * (1 / 3)))
        four = three * ((m - 3.0) * (odds * (1 / 4)))
        above_0, above_1 = u - zero, u - zero * (1.0 + one)
        above_2, above_3 = u - zero * (1.0 + one + two), u - zero * (1.0 + one + two + three)
        above_4 = u - zero * (1.0 + one + two + three + four)
        times[k] = (
            (1.0 if above_0 > 0.0 else 0.0)
            + (1.0 if above_1 > 0.0 else 0.0)
            + (1.0 if above_2 > 0.0 else 0.0)
            + (1.0 if above_3 > 0.0 else 0.0)
        )
        unsure[k] = (
            (abs(above_0) < NEAR)
            | (abs(above_1) < NEAR)
            | (abs(above_2) < NEAR)
            | (abs(above_3) < NEAR)
            | (above_4 > -NEAR)
            | (abs(x) > FEW / 2)
        )


@kernel
def _times(m: int, p: float, u: float) -> int:
    """Return how often a row of chance p <= 1/2 is drawn; -1 if that is not sure."""
    if m * p > MOST:
        return -1
    q = 1.0 - p
    most = m * p + 10.0 * math.sqrt(m * p * q + 1.0) - 1.0  # beyond, numpy draws again
    probability = math.exp(m * math.log1p(-p))
    x = 0
    while u > probability + NEAR and x < min(m, most):
        x += 1
        u -= probability
        probability *= (m - x + 1) * p / (x * q)
    return x if abs(u - probability) > NEAR and u < probability else -1


def _leave_to_numpy(uniform: FloatArray, _: FloatArray, __: NDArray[np.int32]) -> IntArray:
    return np.full(len(uniform), -1)


@kernel_or(_leave_to_numpy)
def draw_rows(uniform: FloatArray, chance: FloatArray, counts: NDArray[np.int32]) -> IntArray:
    """Write the times (rows, resamples) that each row is drawn; return the numbers used of each.

    ``uniform`` has (resamples, rows - 1) random numbers below 1. -1: left to numpy.
    """
    n, size = counts.shape
    left, times = np.full(size, float(n)), np.empty(size)
    unsure, given_up = np.empty(size, np.bool_), np.zeros(size, np.bool_)
    part = np.empty((ROWS, size))
    for row in range(n - 1):
        if row % ROWS == 0:
            for k in range(size):
                for at in range(min(ROWS, n - 1 - row)):
                    part[at, k] = uniform[k, row + at]
        p, own = chance[row, 0], part[row % ROWS]
        _draw_row(left, n - row, p, chance[row, 1], chance[row, 2], own, times, unsure)
        some = p > 0.5
        for k in range(size):
            some |= unsure[k]
        if some:
            for k in range(size):
                m = int(left[k])
                if m == 0 or not (unsure[k] or p > 0.5):
                    continue
                x = _times(m, p, own[k]) if p <= 0.5 else _times(m, 1.0 - p, own[k])
                given_up[k] |= x < 0
                times[k] = 0 if x < 0 else x if p <= 0.5 else m - x
        for k in range(size):
            left[k] -= times[k]
            counts[row, k] = np.int32(times[k])
    return _numbers_used(left, given_up, counts)


@kernel
def _numbers_used(left: FloatArray, given_up: BoolArray, counts: NDArray[np.int32]) -> IntArray:
    """Write the times of the last row, and return how far the rows were gone through."""
    n, size = counts.shape
    used = np.full(size, -1)
    for k in range(size):
        counts[n - 1, k] = np.int32(left[k])
        if not given_up[k]:
            last = n - 1
            while counts[last, k] == 0:
                last -= 1
            used[k] = min(last + 1, n - 1)
    return used
