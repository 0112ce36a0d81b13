"""The paper's guarantees as tables and curves: quantities with explanations, rows against p."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from loopylatent.errors import ThresholdError
from loopylatent.settings import Thresholds
from loopylatent.theory.ensemble import (
    KAPPA,
    Ensemble,
    fewest_samples,
    necessary_samples,
    sampled_depth,
    sampled_growth,
)

Axis = Literal["p", "depth", "eta"]
Row = tuple[str, str, float | None, str]
"""The fields of a `Quantity`."""
LARGEST_GIRTH = 4096
"""Largest girth that `applicable_girth` tries."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """A quantity of the paper with an explanation; ``value`` is None if it does not apply."""

    symbol: str
    name: str
    value: float | None
    sentence: str


def applicable_girth(e: Ensemble) -> int | None:
    """Return the smallest girth at which Theorem 2 requires finitely many rows, if any."""
    if not (e.alpha < 1 and math.isfinite(e.depth)):
        return None

    def applies(girth: int) -> bool:
        return math.isfinite(fewest_samples(replace(e, girth=girth)).n)

    high = 4
    while not applies(high):
        high *= 2
        if high > LARGEST_GIRTH:
            return None
    return high // 2 + 1 + bisect_left(range(high // 2 + 1, high), True, key=applies)


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """Required rows at one point of a curve; None if a theorem does not apply."""

    x: float
    girth: float
    theorem_2: float | None
    theorem_1: float
    """Up to an unknown constant."""
    theorem_3: float | None


def along(e: Ensemble, axis: Axis, values: Sequence[float]) -> tuple[CurvePoint, ...]:
    """Return the rows that the theorems require as a function of one parameter.

    The number of nodes grows with the columns. A girth too small for Theorem 2 is replaced by the
    smallest at which it applies.
    """
    return tuple(_curve_point(_changed(e, axis, value), value) for value in values)


def _curve_point(e: Ensemble, x: float) -> CurvePoint:
    need, girth = fewest_samples(e).n, e.girth
    if math.isinf(need):
        enough = applicable_girth(e)
        girth = e.girth if enough is None else float(enough)
        need = fewest_samples(replace(e, girth=girth)).n
    return CurvePoint(x, girth, None if math.isinf(need) else need, e.growth, _lower_bound(e))


def _changed(e: Ensemble, axis: Axis, value: float) -> Ensemble:
    if axis == "p":
        p = round(value)
        return replace(e, n_observed=p, n_nodes=max(p, round(p * e.n_nodes / e.n_observed)))
    if axis == "depth":
        return replace(e, depth=value)
    if value < 1:
        raise ThresholdError(f"eta = {value:g} is below 1. Give at least 1: eta is d_max / d_min.")
    # Invert d_max = -log tanh(theta_min).
    return replace(e, theta_min=min(e.theta_max, math.atanh(math.exp(-value * e.d_min))))


def _lower_bound(e: Ensemble) -> float | None:
    if math.isinf(e.girth):
        return None
    try:
        return necessary_samples(e.n_nodes, e.n_observed, e.degree_min, e.degree_max, e.girth)
    except ThresholdError:
        return None


# Explanations ------------------------------------------------------------------------------


def quantities(
    e: Ensemble, thresholds: Thresholds | None = None, kappa: float = KAPPA
) -> tuple[Quantity, ...]:
    """Return every quantity of the theory, at the r of ``thresholds`` or at the best radius."""
    r = fewest_samples(e).r if thresholds is None else thresholds.r
    inside, girth, lower = e.radius, applicable_girth(e), _lower_bound(e)
    empty = " The interval is empty." if inside.is_empty else ""
    rows: tuple[Row, ...] = (
        ("p", "columns", e.n_observed, "Number of observed variables."),
        ("m", "nodes", e.n_nodes, "Number of observed and hidden variables."),
        ("Δ_min", "smallest degree of a hidden node", e.degree_min,
         "A hidden node is identifiable only with at least three neighbours."),
        ("Δ_max", "largest degree", e.degree_max, "Largest number of neighbours of any node."),
        ("g", "girth", e.girth, "Number of edges of the shortest cycle; infinite for a tree."),
        ("δ", "depth", e.depth,
         "Largest number of edges from a hidden node to the columns that reveal it."),
        ("θ_min", "smallest potential", e.theta_min, "Potential of the weakest edge."),
        ("θ_max", "largest potential", e.theta_max, "Potential of the strongest edge."),
        ("θ*", "critical potential atanh(1/Δ_max)", e.critical_potential,
         "If all potentials are below it, correlations decay with distance."),
        ("α", "decay Δ_max tanh θ_max", e.alpha,
         "Correlations change by at most this factor per step; it must be below 1."),
        ("α^(g/2)/θ_min^(η(η+1)+2)", "correlation decay (A3)", e.decay,
         "Effect of the shortest cycle relative to the weakest edge; it must be tiny."),
        ("d_min", "shortest edge", e.d_min, "Length of the strongest edge."),
        ("d_max", "longest edge", e.d_max, "Length of the weakest edge."),
        ("η", "ratio d_max/d_min", e.eta, "1 if all edges are equally strong."),
        ("g/4 − δη(η+1)", "girth compared with depth (A4)", e.slack,
         "Cycles must be long compared with the depth; it must be positive."),
        ("δ(η+1)d_max", "lower bound on r", inside.low,
         f"A ball must contain the columns that reveal its hidden nodes.{empty}"),
        ("(g/4)d_min", "upper bound on r", inside.high,
         f"A ball must not contain a cycle.{empty}"),
        ("r", "radius", r, "The quantities below are computed at this r."),
        ("Λ(r)", "margin (B4)", e.margin(r), "Margin of the quartet test in the theorem."),
        ("τ", "minimum edge length (B5)", e.shortest_edge,
         "Shorter edges at hidden nodes are contracted. If not positive, no guarantee."),
        ("υ(r)", "tolerance (B3)", e.upsilon(r),
         "Tolerated error of a distance, without distortion by cycles."),
        ("υ − |X|²ζ", "tolerance minus distortion by cycles", e.tolerance(r),
         "If not positive, cycles distort distances more than is tolerated."),
        ("n(r)", "rows by Theorem 2 at this r", e.samples(r, kappa),
         f"With this many rows the graph is recovered with probability {1 - kappa:g}."),
        ("n", "rows by Theorem 2 at the best r", fewest_samples(e, kappa).n,
         "Minimum over all radii. If infinite, the theorem does not apply at this girth."),
        ("g₂", "smallest girth at which Theorem 2 applies", girth,
         "For shorter cycles it requires infinitely many rows." if girth is not None else
         "None: correlations do not decay, or hidden nodes are too deep."),
        ("θ_min^(−δη(η+1)−2) log p", "rows by Theorem 1, up to a constant", e.growth,
         "How the required rows grow with the graph; the paper gives no constant."),
        *_uniform_sampling(e),
        ("n₃", "rows below which every learner fails (Theorem 3)", lower,
         "With fewer rows, every method fails on some graph of this class."
         if lower is not None else
         "Theorem 3 requires more than g Δ_max^g nodes; this graph has fewer."),
    )  # fmt: skip
    return tuple(
        Quantity(symbol, name, None if value is None or math.isnan(value) else float(value), text)
        for symbol, name, value, text in rows
    )


def _uniform_sampling(e: Ensemble) -> tuple[Row, Row]:
    depth = growth = None
    bound = rate = "Requires hidden nodes, and degrees of at least 3."
    share = e.n_observed / e.n_nodes
    if share < 1 and e.degree_min >= 3:
        found = sampled_depth(e.n_nodes, share, e.degree_min, e.degree_max, e.girth)
        depth = found.depth
        bound = (
            f"If each node is observed with probability {share:.2g}, the depth is below this with "
            f"probability {found.probability:.2g}."
        )
        growth = sampled_growth(e.n_observed, share, e.degree_min, e.degree_max)
        rate = "How the required rows grow if nodes are observed at random and edges are equal."
    return (
        ("δ_ρ", "depth under uniform sampling (Lemma 1)", depth, bound),
        ("n_ρ", "rows under uniform sampling, up to a constant", growth, rate),
    )
