"""Where the sliders begin and end: read off the data."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from loopylatent.distances import DistanceMatrix
from loopylatent.initial_graph import EdgeDensity
from loopylatent.thresholds import default_thresholds, loop_radius

CLOSE = 0.2
"""Marks nearer than this share of the slider would overlap."""


@dataclass(frozen=True, slots=True)
class Range:
    """A slider's limits and step."""

    low: float
    high: float
    step: float

    def holding(self, value: float) -> Range:
        """Return a range that also holds ``value``."""
        return Range(min(self.low, value), max(self.high, value), self.step)

    def share(self, value: float) -> float:
        """How far along the slider a value stands, from 0 to 1."""
        return (value - self.low) / (self.high - self.low)


@dataclass(frozen=True, slots=True)
class Mark:
    """A place on the slider of r that means something."""

    name: str
    value: float
    share: float
    row: int = 0
    """Marks that stand close together are written in rows below each other."""


def radius_range(D: DistanceMatrix) -> Range:
    """From just above the smallest distance to a little beyond r_max."""
    spread = max(D.r_max - D.smallest, 1e-3)
    step = _step(spread / 400)
    return Range(math.ceil(D.smallest / step) * step, D.r_max + max(0.03 * spread, step), step)


def margin_range(D: DistanceMatrix) -> Range:
    """From 0 to a dozen times the default margin."""
    high = 0.2 if D.n_samples is None else min(0.5, max(0.02, 6 / math.sqrt(D.n_samples)))
    step = _step(high / 200)
    return Range(0.0, round(high / step) * step, step)


def contraction_range(D: DistanceMatrix) -> Range:
    """From 0 to somewhat more than the median edge of the shortest tree."""
    typical = 5 * default_thresholds(D).tau
    step = _step(max(typical, 1e-3) / 100)
    return Range(0.0, max(math.ceil(1.2 * typical / step) * step, step), step)


def radius_marks(D: DistanceMatrix, within: Range) -> tuple[Mark, ...]:
    """Where r_min, r_max and the noise floor stand, as far as they lie on the slider."""
    named = {"r min": D.r_min, "noise": D.noise_floor, "r max": D.r_max}
    there = sorted(
        (value, name)
        for name, value in named.items()
        if value is not None and within.low <= value <= within.high
    )
    marks: list[Mark] = []
    for value, name in there:
        share = within.share(value)
        close = bool(marks) and share - marks[-1].share < CLOSE
        marks.append(Mark(name, value, share, (marks[-1].row + 1) % 3 if close else 0))
    return tuple(marks)


def preset_radius(name: str, D: DistanceMatrix, curve: EdgeDensity | None) -> float:
    """Return r for "Tree", "Few loops" or, from the curve, "Dense"."""
    if name == "Tree":
        return D.r_max
    if name == "Few loops":
        return loop_radius(D)
    assert curve is not None, "only the curve knows where it is densest"
    return max(float(curve.r[int(np.argmax(curve.n_edges))]), D.smallest)


def preset_radii(D: DistanceMatrix, curve: EdgeDensity | None) -> dict[str, float]:
    """Return the radii to start from by name; the densest one is known with the curve."""
    names = ("Tree", "Few loops") if curve is None else ("Tree", "Few loops", "Dense")
    return {name: preset_radius(name, D, curve) for name in names}


def decimals(step: float) -> int:
    """How many decimals show every step."""
    return max(0, -math.floor(math.log10(step)))


def _step(about: float) -> float:
    """Return 1, 2 or 5 times a power of ten near ``about``."""
    power = 10.0 ** math.floor(math.log10(about))
    return float(min((1, 2, 5, 10), key=lambda k: abs(k * power - about)) * power)
