"""Predict, then reveal: which pair of a neighbourhood is joined next? Who is the parent?"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

from loopylatent.lesson.material import Material
from loopylatent.lesson.places import Place
from loopylatent.lesson.visits import Visit
from loopylatent.lesson.words import Caption, say
from loopylatent.trace import Family, Join

MOST_PAIRS = 10
NEW = "a new hidden node"


@dataclass(frozen=True, slots=True)
class Guesses:
    """What to choose from, and what is right."""

    question: Caption
    options: tuple[str, ...]
    answer: str


def guesses(m: Material, place: Place) -> Guesses:
    """Ask for the pair that is joined at a step, or for the parent of a family."""
    visit = Visit.of(m, place)
    join = visit.step.joins[place.part - 1]
    if isinstance(join, Family):
        return _parents(visit, join)
    return _pairs(visit, join, place.part - 1)


def _parents(visit: Visit, family: Family) -> Guesses:
    members = sorted((*family.children, *(() if family.is_new else (family.parent,))))
    question = say(
        "{members} are the next [family]. Who becomes its [parent]? Guess, then reveal.",
        members=visit.names(members),
    )
    near = [family.candidate, *(member for member in members if member != family.candidate)]
    names = sorted(visit.name(member).text for member in near[: MOST_PAIRS - 1])
    answer = NEW if family.is_new else visit.name(family.parent).text
    return Guesses(question, (*dict.fromkeys(names), NEW), answer)


def _pairs(visit: Visit, join: Join, before: int) -> Guesses:
    """List the closest pairs, the right one among them."""
    right = frozenset(join.children)
    near = sorted(
        combinations(visit.active(before), 2),
        key=lambda pair: (_apart(visit, before, *pair), pair),
    )
    few = near[:MOST_PAIRS]
    if not any(right == frozenset(pair) for pair in few):
        few[-1] = (join.left, join.right)
    names = sorted(_name(visit.m, *pair) for pair in few)
    word = "[siblings]" if join.q is None else "neighbours under one new node"
    question = say(f"Which two nodes of A become {word} next? Guess, then reveal.")
    return Guesses(question, tuple(names), _name(visit.m, join.left, join.right))


def _name(m: Material, u: int, v: int) -> str:
    a, b = sorted((m.cast.number[u], m.cast.number[v]))
    return f"{m.name(a).text} – {m.name(b).text}"


def _apart(visit: Visit, joins: int, u: int, v: int) -> float:
    """How far the closest leaves under two nodes are from each other."""
    left, right = sorted(visit.leaves_under(u, joins)), sorted(visit.leaves_under(v, joins))
    return float(visit.step.distances[left][:, right].min())
