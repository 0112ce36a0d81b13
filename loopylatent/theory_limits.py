"""How deep chance hides nodes, and how many rows any learner needs (Lemma 1, Theorem 3).

The exponent under uniform sampling is 2; the paper prints 4.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from loopylatent.errors import ThresholdError


@dataclass(frozen=True, slots=True)
class DepthBound:
    """Lemma 1: the depth stays below `depth` with at least this probability."""

    depth: float
    probability: float


def sampled_depth(
    n_nodes: int,
    share: float,
    degree_min: int,
    degree_max: int,
    girth: float,
    epsilon: float | None = None,
) -> DepthBound:
    """Lemma 1: depth when every node is observed with probability ``share``.

    ``epsilon`` is between 0 and max(0, epsilon_0); the largest one up to 1 where none is given.

    Examples
    --------
    >>> sampled_depth(1000, 0.5, 3, 3, girth=20).depth < sampled_depth(1000, 0.1, 3, 3, 20).depth
    True
    """
    if not 0 < share < 1 or degree_min < 3 or degree_max < degree_min or n_nodes < 2:
        raise ThresholdError(
            "Lemma 1 needs a share between 0 and 1, degrees of at least 3 and two nodes; got "
            f"{share:g}, {degree_min} to {degree_max}, {n_nodes}."
        )
    decline = abs(math.log1p(-share))
    reached = (degree_min - 1) ** (girth / 2) if girth < 2000 else math.inf
    largest = (reached * decline - math.log(4 * n_nodes * degree_max)) / math.log(n_nodes)
    chosen = min(1.0, max(0.0, largest)) if epsilon is None else epsilon
    if not 0 <= chosen <= max(0.0, largest):
        raise ThresholdError(
            f"epsilon = {chosen:g} is outside 0 to {max(0.0, largest):g}, its limits here."
        )
    log = math.log(4 * degree_max) + (1 + chosen) * math.log(n_nodes)
    found = math.log(log / decline) / math.log(degree_min - 1)
    return DepthBound(found, 1 - n_nodes**-chosen)


def sampled_growth(n_observed: int, share: float, degree_min: int, degree_max: int) -> float:
    """Rows under uniform sampling at best, up to a constant.

    Delta_max^2 (log p / |log(1-share)|)^(2 log Delta_max / log(Delta_min - 1)) log p; for equal
    degrees close to Delta^2 share^-2 (log p)^3. The paper prints the exponent 4.
    """
    if not 0 < share < 1 or degree_min < 3 or n_observed < 2:
        raise ThresholdError("needs a share between 0 and 1, degrees of at least 3, two columns.")
    power = 2 * math.log(degree_max) / math.log(degree_min - 1)
    logs = math.log(n_observed)
    return degree_max**2 * bounded_exp(power * math.log(logs / abs(math.log1p(-share)))) * logs


def failure_bound(
    n: float,
    n_nodes: int,
    n_observed: int,
    degree_min: int,
    degree_max: int,
    girth: float,
    epsilon: float = 0.0,
    n_states: int = 2,
) -> float:
    """Theorem 3: the least chance that *any* learner errs by more than epsilon m entries.

    It is 0, and says nothing, from `necessary_samples` rows on.
    """
    _check_counting(n_nodes, degree_max, girth)
    log_ratio = n * n_observed * math.log(n_states) - _log_graphs(
        n_nodes, degree_min, degree_max, girth, epsilon
    )
    return max(0.0, -math.expm1(min(log_ratio, 0.0)))


def necessary_samples(
    n_nodes: int,
    n_observed: int,
    degree_min: int,
    degree_max: int,
    girth: float,
    epsilon: float = 0.0,
    n_states: int = 2,
) -> float:
    """Theorem 3: with fewer rows than this every learner must fail on some graph.

    Examples
    --------
    >>> n = necessary_samples(10_000, 100, 3, 3, girth=5)
    >>> failure_bound(n / 2, 10_000, 100, 3, 3, 5) > 0.99, failure_bound(n, 10_000, 100, 3, 3, 5)
    (True, 0.0)
    """
    _check_counting(n_nodes, degree_max, girth)
    logs = _log_graphs(n_nodes, degree_min, degree_max, girth, epsilon)
    return max(0.0, logs / (n_observed * math.log(n_states)))


def _check_counting(n_nodes: int, degree_max: int, girth: float) -> None:
    if girth * bounded_exp(girth * math.log(degree_max)) >= n_nodes:
        raise ThresholdError(
            f"Theorem 3 counts graphs of more than g Δ_max^g nodes; {n_nodes} are too few for "
            f"girth {girth:g} and degree {degree_max}."
        )


def _log_graphs(m: int, degree_min: int, degree_max: int, girth: float, epsilon: float) -> float:
    """log of how many graphs there are, less how many lie within epsilon m of one of them."""
    rest = math.log(m - girth * degree_max**girth)
    graphs = 0.5 * degree_min * m * (math.log(m) + rest)
    return graphs - (2 * epsilon + 1) * m * math.log(m) - epsilon * m * math.log(3)


def bounded_exp(log: float) -> float:
    """Return e^log, infinite instead of an overflow."""
    return math.inf if log > 700 else math.exp(log)
