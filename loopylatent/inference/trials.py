"""Trials: a changed graph is refitted from the parameters of a fitted one, for a few steps.

A search over graphs makes thousands of them. With exact sums a trial runs in one compiled function
that does not hold the interpreter's lock, so that several run at once.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from loopylatent.compute import _kernels
from loopylatent.compute.tape import Limits
from loopylatent.compute.values import BoolArray, FloatArray
from loopylatent.inference.discrete import DiscreteProblem
from loopylatent.inference.fit import SETTLED_TOTAL, maximise_likelihood
from loopylatent.inference.problems import Fitted, Problem

TOLERANCE = 1e-4
WINDOW, EXTRAPOLATION = 5, 4.0
"""A trial is abandoned if this many times the gain of the last steps would not reach the target."""


@dataclass(frozen=True, slots=True)
class Effort:
    """How long a trial may take."""

    max_steps: int
    target: float = -np.inf
    """The mean log-likelihood to reach."""
    stop: BoolArray = field(default_factory=lambda: np.zeros(1, np.bool_), repr=False)
    """(1,) True ends the trial after the present step."""
    window: int = WINDOW
    """Abandoned after so many steps at the earliest."""

    def limits(self, problem: Problem) -> Limits:
        settled = SETTLED_TOTAL / problem.total_weight
        return Limits(
            self.max_steps, TOLERANCE, settled, self.target, self.window, EXTRAPOLATION, self.stop
        )  # fmt: skip


def climb(problem: Problem, start: FloatArray, effort: Effort) -> Fitted:
    """Maximise the likelihood from a start, within the limits of the effort."""
    if isinstance(problem, DiscreteProblem) and problem.likelihood is not None and len(start):
        point, history, _ = _kernels.climb.climb(problem.likelihood, start, effort.limits(problem))
        if np.isfinite(history[0]):
            return Fitted(problem, point, float(history[-1]))
    found = maximise_likelihood(
        problem,
        start,
        max_steps=effort.max_steps,
        tolerance=TOLERANCE,
        give_up=lambda values: bool(effort.stop[0]) or cannot_reach(values, effort),
    )
    return Fitted(problem, found.point, found.value)


def cannot_reach(values: list[float], effort: Effort) -> bool:
    """Whether the values, extrapolated, stay below the target; the same rule as when compiled."""
    if len(values) <= effort.window:
        return False
    rise = values[-1] - values[-1 - effort.window]
    return values[-1] + EXTRAPOLATION * rise < effort.target


def gradients_at(problem: DiscreteProblem, points: FloatArray) -> FloatArray:
    """(points, parameters) the gradient of the likelihood at several points."""
    if problem.likelihood is not None:
        found = _kernels.climb.gradients_at(problem.likelihood, points)
        if np.isfinite(found).all():
            return found
    return np.array([problem.evaluate(point).gradient for point in points])


def node_marginals_at(problem: DiscreteProblem, points: FloatArray) -> FloatArray:
    """(points, states of all nodes) the marginals of the nodes at several points."""
    n = int(problem.layout.n_states.sum())
    if problem.likelihood is not None:
        found = _kernels.climb.marginals_at(problem.likelihood, points, n)
        if np.isfinite(found).all():
            return found
    return np.array([problem.marginals(point)[:n] for point in points])
