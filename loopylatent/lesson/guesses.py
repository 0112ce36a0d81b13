"""Predict, then reveal: which pair of a neighbourhood is joined next?"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

from loopylatent.lesson.chapter_grouping import Visit
from loopylatent.lesson.material import Material
from loopylatent.lesson.places import Place

MOST_PAIRS = 10


@dataclass(frozen=True, slots=True)
class Guesses:
    """Pairs to choose from, and the one that is right."""

    pairs: tuple[str, ...]
    answer: str


def guesses(m: Material, place: Place) -> Guesses:
    """List the pairs that may be joined at a step: the closest ones, the right one among them."""
    visit = Visit.of(m, place)
    join = visit.step.joins[place.part - 1]
    right = frozenset((join.left, join.right))
    near = sorted(
        combinations(visit.active(place.part - 1), 2),
        key=lambda pair: (_apart(visit, place.part - 1, *pair), pair),
    )
    few = near[:MOST_PAIRS]
    if not any(right == frozenset(pair) for pair in few):
        few[-1] = (join.left, join.right)
    names = sorted(_name(m, *pair) for pair in few)
    return Guesses(tuple(names), _name(m, join.left, join.right))


def _name(m: Material, u: int, v: int) -> str:
    a, b = sorted((m.cast.number[u], m.cast.number[v]))
    return f"{m.name(a).text} – {m.name(b).text}"


def _apart(visit: Visit, joins: int, u: int, v: int) -> float:
    """How far the closest leaves under two nodes are from each other."""
    left, right = sorted(visit.leaves_under(u, joins)), sorted(visit.leaves_under(v, joins))
    return float(visit.step.distances[left][:, right].min())
