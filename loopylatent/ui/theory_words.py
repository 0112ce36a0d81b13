"""What the page Theory says, and how it writes numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass

from loopylatent.additivity import Distortion
from loopylatent.distances import DistanceMatrix
from loopylatent.theory import Ensemble
from loopylatent.theory_tables import fewest_samples, speaking_girth

SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
ABOUT = (
    "The paper proves that the method finds the graph if the numbers of the model are kind enough "
    "and rows are many enough. Here they are for {whose}."
)
VERDICTS = {
    "holds": (":material/check_circle:", "green", "holds"),
    "fails": (":material/cancel:", "orange", "fails"),
    "not decided": (":material/help:", "gray", "no constant given, so no verdict"),
}
CONSTANTS = (
    "C is the constant of ζ(l) = C·αˡ, how much the graph beyond l steps can still change a pair "
    "of columns; the paper gives none. κ is the chance of failure that Theorem 2 allows."
)
CANNOT = (
    "How many neighbours hidden nodes have, how deep they lie, how long the shortest cycle is and "
    "how strong every edge is: these belong to the true graph, which data do not show. So no "
    "condition of the theorems, and no number of rows, can be checked on data. What the *learned* "
    "graph says of them is no check: it holds only if that graph is right."
)


def lowered(text: str) -> str:
    """Write indices below the line, as in print.

    Examples
    --------
    >>> lowered("Δ_max tanh θ_min")
    'Δₘₐₓ tanh θₘᵢₙ'
    """
    return text.replace("_min", "ₘᵢₙ").replace("_max", "ₘₐₓ").replace("_ρ", "ᵨ")


def shown(value: float | None) -> str:
    """Return a number as a person writes it.

    Examples
    --------
    >>> shown(3.14159), shown(42.0), shown(1234567.0), shown(2e-7), shown(None)
    ('3.14', '42', '1.23·10⁶', '2·10⁻⁷', '–')
    """
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value != 0 and (abs(value) >= 1e6 or abs(value) < 1e-3):
        power = math.floor(math.log10(abs(value)))
        return f"{value / 10**power:.3g}·10{str(power).translate(SUPERSCRIPTS)}".replace("-", "−")
    text = f"{value:,.0f}" if value == round(value) or abs(value) >= 1000 else f"{value:.3g}"
    return text.replace("-", "−")


def promise(e: Ensemble, kappa: float) -> str:
    """Say what Theorem 2 asks for.

    Examples
    --------
    >>> e = Ensemble(0.3, 0.3, 3, 4, girth=10, depth=2, n_observed=20, n_nodes=30)
    >>> promise(e, 0.05)[:48]
    '**Theorem 2 is silent** at any girth: influence '
    """
    need = fewest_samples(e, kappa)
    if math.isfinite(need.n):
        return (
            f"**Theorem 2 asks for {shown(need.n)} rows** (at r = {shown(need.r)}) to find the "
            f"graph with probability {1 - kappa:g}."
        )
    girth = speaking_girth(e)
    if girth is None:
        return (
            f"**Theorem 2 is silent** at any girth: influence does not die out (α = "
            f"{shown(e.alpha)}), or a hidden node is out of reach of the columns."
        )
    return (
        f"**Theorem 2 is silent**: cycles of {shown(e.girth)} edges are too short for it. It "
        f"speaks from {girth} edges on."
    )


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that data can show."""

    name: str
    value: str
    sentence: str


def checks(D: DistanceMatrix, r: float, bent: Distortion) -> tuple[Check, ...]:
    """Return what can be checked on data."""
    finite = D.values[D.values < math.inf]
    floor = D.noise_floor
    found = [
        Check(
            "Distances",
            f"{shown(D.smallest)} to {shown(D.r_max)}",
            "The nearest and the farthest two columns; the theory speaks of these distances.",
        ),
        Check(
            "Additive metric",
            "yes" if D.is_additive else "no",
            "The theorems need distances that add up along the paths of a tree."
            if D.is_additive
            else "These do not add up along the paths of a tree, so no theorem applies.",
        ),
    ]
    if floor is None:
        found.append(Check("Noise floor", "–", "How many rows there are is not known."))
    else:
        share = float((finite > floor).mean())
        inside = "inside" if r <= floor else "beyond"
        found.append(
            Check(
                "Noise floor",
                shown(floor),
                f"{share:.0%} of the distances are longer and cannot be told from independence; "
                f"your r = {shown(r)} lies {inside} it.",
            )
        )
    found.append(_bending(r, bent))
    return tuple(found)


def _bending(r: float, bent: Distortion) -> Check:
    name = "Four-point distortion"
    if len(bent.columns) == 0:
        return Check(name, "–", f"No ball of radius {shown(r)} holds four columns.")
    ratio = bent.typical / bent.typical_inner if bent.typical_inner > 0 else math.inf
    verdict = (
        "small beside it: neighbourhoods look like trees"
        if ratio < 0.5
        else "not small beside it: noise or short cycles bend the neighbourhoods"
    )
    return Check(
        name,
        shown(bent.typical),
        f"In {len(bent.columns)} balls of radius {shown(r)} ({bent.n_quartets:,} quartets) a "
        f"typical quartet is this far from a tree; its inner path is {shown(bent.typical_inner)} "
        f"long. It is {verdict}.",
    )
