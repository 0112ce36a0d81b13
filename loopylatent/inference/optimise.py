"""Uphill by L-BFGS, with a record of the way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.optimize import minimize

from loopylatent.compute.arrays import FloatArray, frozen_array

StepProgress = Callable[[int, float], None]
"""Called after each step with its number and the value reached; may raise to stop."""
MEMORY = 20
NO_GAIN = 1e-15
"""Relative improvement below which there is nothing left but rounding."""
SETTLED_STEPS = 20


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """A value and its gradient."""

    value: float
    gradient: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Climb:
    """Where a climb ended and how it got there."""

    point: FloatArray = field(repr=False)
    history: FloatArray = field(repr=False)
    """The value at the start and after each accepted step; it never falls."""
    largest_slope: float
    """The largest entry of the gradient at the end, by size."""
    converged: bool

    @property
    def value(self) -> float:
        return float(self.history[-1])


def climb(
    objective: Callable[[FloatArray], Value],
    start: FloatArray,
    *,
    max_steps: int,
    tolerance: float,
    settled: float = 0.0,
    progress: StepProgress | None = None,
    hopeless: Callable[[list[float]], bool] | None = None,
) -> Climb:
    """Maximise ``objective``.

    It has converged where no entry of the gradient is larger than ``tolerance``, or where the last
    20 steps together have gained less than ``settled``. ``hopeless`` is asked after each step, with
    the values so far, whether to give up.
    """
    history: list[float] = []
    best = start

    def downhill(x: FloatArray) -> tuple[float, FloatArray]:
        found = objective(x)
        if not history:
            history.append(found.value)
        return -found.value, -found.gradient

    def after_step(intermediate_result: Any) -> None:
        nonlocal best
        value = -float(intermediate_result.fun)
        if value < history[-1]:  # the gradient was not exact
            raise StopIteration
        history.append(value)
        best = np.array(intermediate_result.x)
        if progress is not None:
            progress(len(history) - 1, history[-1])
        if has_settled() or (hopeless is not None and hopeless(history)):
            raise StopIteration

    def has_settled() -> bool:
        enough = len(history) > SETTLED_STEPS
        return enough and history[-1] - history[-1 - SETTLED_STEPS] < settled

    if len(start) == 0 or max_steps == 0:
        found = objective(start)
        slope = float(np.abs(found.gradient).max(initial=0.0))
        return Climb(start, np.array([found.value]), slope, slope <= tolerance)
    limits = {"maxiter": max_steps, "maxfun": 20 * max_steps, "maxcor": MEMORY}
    options: Any = {**limits, "gtol": tolerance, "ftol": NO_GAIN}
    minimize(downhill, start, jac=True, method="L-BFGS-B", callback=after_step, options=options)
    slope = float(np.abs(objective(best).gradient).max())
    way = frozen_array(best, np.float64), frozen_array(history, np.float64)
    return Climb(*way, slope, slope <= tolerance or has_settled())
