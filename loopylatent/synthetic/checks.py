"""What every made-up model checks of what it is given, and how it draws from a range."""

from __future__ import annotations

from operator import index

import numpy as np

from loopylatent.compute.arrays import FloatArray
from loopylatent.errors import Remedy, ThresholdError

Range = tuple[float, float]

LENGTHS = (0.2, 0.4)
"""The range from which edge lengths are drawn unless another one is given."""
STRONGEST_POTENTIAL = 10.0
"""Its length is 4e-9: two nodes joined more strongly are one node in any table."""


def count(name: str, value: int, least: int) -> int:
    """Return a whole number of at least ``least``, or say in one line that it is none."""
    try:
        number = index(value)
    except TypeError:
        raise ThresholdError(Remedy("setting", name, repr(value)), " is no whole number.") from None
    if number < least:
        raise ThresholdError(
            Remedy("setting", name, number), f" is too few; give at least {least}."
        )
    return number


def generator(seed: int) -> np.random.Generator:
    """Return the source of random numbers that belongs to a seed."""
    return np.random.default_rng(count("seed", seed, 0))


def ends(name: str, limits: Range) -> Range:
    """Return the two ends of a range as numbers."""
    try:
        low, high = (float(limit) for limit in limits)
    except (TypeError, ValueError):
        raise ThresholdError(f"{name} = {limits!r} is no range; give two numbers.") from None
    return low, high


def positive(
    name: str, limits: Range, largest: float, size: int, rng: np.random.Generator
) -> FloatArray:
    """Draw uniformly from a range above 0."""
    low, high = ends(name, limits)
    if not 0 < low <= high <= largest or not np.isfinite(high):
        bound = f" of at most {largest:g}" if np.isfinite(largest) else ""
        raise ThresholdError(
            f"{name} = ({low:g}, {high:g}) is no range above 0; give two numbers{bound}, "
            "the smaller one first."
        )
    return rng.uniform(low, high, size)


def signed(
    name: str, limits: Range, largest: float, size: int, rng: np.random.Generator
) -> FloatArray:
    """Draw uniformly from a range that may hold negative numbers."""
    low, high = ends(name, limits)
    if not -largest <= low <= high <= largest:
        raise ThresholdError(
            f"{name} = ({low:g}, {high:g}) is no range within {-largest:g} to {largest:g}; give "
            "two numbers, the smaller one first."
        )
    return rng.uniform(low, high, size)
