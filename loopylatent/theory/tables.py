"""The paper's guarantees as tables and curves: every quantity with a sentence, rows against p."""

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
"""How far a girth is sought at which Theorem 2 says something."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """One number of the paper, in its symbols and in plain words; None where it does not apply."""

    symbol: str
    name: str
    value: float | None
    sentence: str


def speaking_girth(e: Ensemble) -> int | None:
    """Return the smallest girth at which Theorem 2 asks for a finite number of rows, if any."""
    if not (e.alpha < 1 and math.isfinite(e.depth)):
        return None

    def speaks(girth: int) -> bool:
        return math.isfinite(fewest_samples(replace(e, girth=girth)).n)

    high = 4
    while not speaks(high):
        high *= 2
        if high > LARGEST_GIRTH:
            return None
    return high // 2 + 1 + bisect_left(range(high // 2 + 1, high), True, key=speaks)


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """Rows at one place of a curve; None where a theorem says nothing."""

    x: float
    girth: float
    theorem_2: float | None
    theorem_1: float
    """Up to a constant that the paper does not give."""
    theorem_3: float | None


def along(e: Ensemble, axis: Axis, values: Sequence[float]) -> tuple[CurvePoint, ...]:
    """Return the rows that the theorems ask for as one number changes and the others stay."""
    # nodes grow with the columns; a girth too small for Theorem 2 becomes the first that is not
    return tuple(_curve_point(_changed(e, axis, value), value) for value in values)


def _curve_point(e: Ensemble, x: float) -> CurvePoint:
    need, girth = fewest_samples(e).n, e.girth
    if math.isinf(need):
        enough = speaking_girth(e)
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
        raise ThresholdError(f"eta = {value:g} is below 1; no longest edge is below the shortest.")
    # the potential whose edge, without node potentials, has this length
    return replace(e, theta_min=min(e.theta_max, math.atanh(math.exp(-value * e.d_min))))


def _lower_bound(e: Ensemble) -> float | None:
    if math.isinf(e.girth):
        return None
    try:
        return necessary_samples(e.n_nodes, e.n_observed, e.degree_min, e.degree_max, e.girth)
    except ThresholdError:
        return None


# In words ----------------------------------------------------------------------------------


def quantities(
    e: Ensemble, thresholds: Thresholds | None = None, kappa: float = KAPPA
) -> tuple[Quantity, ...]:
    """Return every quantity of the theory; those that depend on r at the given or best radius."""
    r = fewest_samples(e).r if thresholds is None else thresholds.r
    inside, girth, lower = e.radius, speaking_girth(e), _lower_bound(e)
    empty = " The interval is empty." if inside.is_empty else ""
    rows: tuple[Row, ...] = (
        ("p", "columns", e.n_observed, "How many variables are seen."),
        ("m", "nodes", e.n_nodes, "Seen and hidden variables together."),
        ("Δ_min", "smallest degree of a hidden node", e.degree_min,
         "A hidden node needs three neighbours to show itself."),
        ("Δ_max", "largest degree", e.degree_max, "The most neighbours that any node has."),
        ("g", "girth", e.girth, "Edges on the shortest cycle; infinite for a tree."),
        ("δ", "depth", e.depth,
         "Edges from the worst placed hidden node to the columns that show it."),
        ("θ_min", "weakest potential", e.theta_min, "The weakest edge, as the model has it."),
        ("θ_max", "strongest potential", e.theta_max, "The strongest edge."),
        ("θ*", "critical potential atanh(1/Δ_max)", e.critical_potential,
         "Below it, the influence of a column dies out with distance in every such graph."),
        ("α", "decay Δ_max tanh θ_max", e.alpha,
         "By at most this factor influence changes with each step; it has to be below 1."),
        ("α^(g/2)/θ_min^(η(η+1)+2)", "correlation decay (A3)", e.decay,
         "What comes around the shortest cycle beside the weakest edge; has to be tiny."),
        ("d_min", "shortest edge", e.d_min, "Distance along the strongest edge."),
        ("d_max", "longest edge", e.d_max, "Distance along the weakest edge."),
        ("η", "unevenness d_max/d_min", e.eta, "1 where all edges are equally strong."),
        ("g/4 − δη(η+1)", "girth against depth (A4)", e.slack,
         "Cycles have to be long beside the depth; above 0 at least."),
        ("δ(η+1)d_max", "r has to be above", inside.low,
         f"A ball has to reach the columns that show its hidden nodes.{empty}"),
        ("(g/4)d_min", "r has to be below", inside.high,
         f"A ball must not see around a cycle.{empty}"),
        ("r", "radius", r, "Where the numbers below are taken."),
        ("Λ(r)", "margin (B4)", e.margin(r), "The margin of the quartet test that is proved."),
        ("τ", "shortest edge (B5)", e.shortest_edge,
         "Hidden nodes nearer than this are merged; not above 0: nothing is proved."),
        ("υ(r)", "tolerance (B3)", e.upsilon(r), "Error of a distance that does no harm."),
        ("υ − |X|²ζ", "what cycles leave of it", e.tolerance(r),
         "Not above 0: cycles bend distances by more than the learner is proved to stand."),
        ("n(r)", "rows by Theorem 2 at this r", e.samples(r, kappa),
         f"With so many rows the graph is found with probability {1 - kappa:g}."),
        ("n", "rows by Theorem 2 at the best r", fewest_samples(e, kappa).n,
         "The fewest rows over all radii; infinite: the theorem is silent at this girth."),
        ("g₂", "girth from which Theorem 2 speaks", girth,
         "At shorter cycles it asks for infinitely many rows." if girth is not None else
         "No girth is enough: correlations do not die out, or hidden nodes are too deep."),
        ("θ_min^(−δη(η+1)−2) log p", "rows by Theorem 1, up to a constant", e.growth,
         "How rows have to grow with the graph; the constant is not given."),
        *_by_chance(e),
        ("n₃", "rows below which every learner fails (Theorem 3)", lower,
         "With fewer rows some graph of this kind is missed, whatever the method."
         if lower is not None else
         "It counts graphs with more than g Δ_max^g nodes; this one has fewer."),
    )  # fmt: skip
    return tuple(
        Quantity(symbol, name, None if value is None or math.isnan(value) else float(value), text)
        for symbol, name, value, text in rows
    )


def _by_chance(e: Ensemble) -> tuple[Row, Row]:
    depth = growth = None
    bound = rate = "It needs hidden nodes, and degrees of at least 3."
    share = e.n_observed / e.n_nodes
    if share < 1 and e.degree_min >= 3:
        found = sampled_depth(e.n_nodes, share, e.degree_min, e.degree_max, e.girth)
        depth = found.depth
        bound = (
            f"If each node were seen with probability {share:.2g}, depth would stay below this "
            f"with probability {found.probability:.2g}."
        )
        growth = sampled_growth(e.n_observed, share, e.degree_min, e.degree_max)
        rate = "How rows grow if nodes are seen by chance and edges even."
    return (
        ("δ_ρ", "depth under uniform sampling (Lemma 1)", depth, bound),
        ("n_ρ", "rows under uniform sampling, up to a constant", growth, rate),
    )
