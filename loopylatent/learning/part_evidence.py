"""Evidence for each part of a refined graph: how much worse the best graph without it is.

For an edge, a hidden node or a cycle, the moves that remove or replace it are refitted; the
evidence is the score of the graph minus the best score among them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from loopylatent.learning.moves import Move, SearchGraph, moves_of
from loopylatent.learning.refits import Stand, Trials

PartKind = Literal["edge", "hidden", "cycle"]
Part = tuple[PartKind, tuple[int, ...]]
SHORT_STEPS, FULL_STEPS = 8, 40
ALTERNATIVES = 1
"""Of each part so many moves, the best after a few steps, are fitted further."""
REMOVING = ("drop", "contract", "slide", "swap")
"""Moves that take something away without a new hidden node."""
FEW_REMOVING = ("drop", "contract")


@dataclass(frozen=True, slots=True)
class Evidence:
    """How much the likelihood says for one part of a graph."""

    part: PartKind
    nodes: tuple[int, ...]
    """Of the refined graph: both ends, the hidden node, or the cycle in order."""
    nats: float
    """The score minus that of the best graph without the part; may be infinite if none is known."""
    without: str
    """The move that leads to that graph, in words."""
    supported: bool
    """Whether that is more than the price of a parameter."""


@dataclass(frozen=True, eq=False)
class _Alternative:
    """A graph next to the refined one, and what it lacks."""

    move: Move
    graph: SearchGraph = field(repr=False)
    lacks: frozenset[Part]


Run = Callable[[Callable[[SearchGraph], float], Sequence[SearchGraph]], list[float]]
"""Applies a function to graphs, on threads, in order."""


def evidence_of(
    stand: Stand, trials: Trials, known: Mapping[Move, float], label: Callable[[int], str],
    run: Run, thorough: bool = True,
) -> tuple[Evidence, ...]:  # fmt: skip
    """Return the evidence for all edges, hidden nodes and cycles.

    ``known`` has the gains of moves already tried, to choose those that are refitted. Unless
    ``thorough``, only removals and mergers are weighed, not replacements.
    """
    graph = stand.graph
    parts = _parts(graph, trials.names)
    kinds = REMOVING if thorough else FEW_REMOVING
    near = _alternatives(graph, parts, [one for one in moves_of(graph) if one.kind in kinds])
    new = [one.graph for one in near if one.move not in known]
    short = iter(run(lambda one: _gain(trials, stand, one, SHORT_STEPS), new))
    first = {one: known[one.move] if one.move in known else next(short) for one in near}
    chosen: dict[_Alternative, None] = {}
    for part in parts:
        lacking = [one for one in near if part in one.lacks]
        best = sorted(lacking, key=lambda one: -first[one])[:ALTERNATIVES]
        chosen.update(dict.fromkeys(best))
    gains = run(lambda one: _gain(trials, stand, one, FULL_STEPS), [one.graph for one in chosen])
    final = dict(zip(chosen, gains, strict=True))
    return tuple(_evidence(part, graph, final, trials.price.parameter, label) for part in parts)


def _gain(trials: Trials, stand: Stand, graph: SearchGraph, max_steps: int) -> float:
    found = trials.refit(stand, graph, max_steps)
    return -math.inf if found is None else found.score - stand.score


def _parts(graph: SearchGraph, names: Sequence[str]) -> dict[Part, None]:
    """Return the edges, hidden nodes and cycles of a graph, by ids."""
    ids = graph.ids
    found: dict[Part, None] = {}
    found.update({("edge", edge): None for edge in graph.lengths})
    found.update({("hidden", (node,)): None for node in ids[graph.n_observed :]})
    cycles = graph.graph(names).cycles
    found.update({("cycle", tuple(ids[k] for k in cycle)): None for cycle in cycles})
    return found


def _alternatives(
    graph: SearchGraph, parts: Mapping[Part, None], moves: Sequence[Move]
) -> list[_Alternative]:
    found = []
    seen = set()
    for move in moves:
        changed = move(graph)
        if changed is None or changed.edges in seen:
            continue
        seen.add(changed.edges)
        gone = graph.edges - changed.edges
        fewer_cycles = _n_cycles(changed) < _n_cycles(graph)
        lacks: set[Part] = {("edge", edge) for edge in gone}
        lacks |= {("hidden", (node,)) for node in graph.ids if node not in changed.neighbours}
        for part, nodes in parts:
            if part == "cycle" and fewer_cycles and not gone.isdisjoint(_sides(nodes)):
                lacks.add((part, nodes))
        if lacks:
            found.append(_Alternative(move, changed, frozenset(lacks)))
    return found


def _sides(cycle: tuple[int, ...]) -> set[tuple[int, int]]:
    following = (*cycle[1:], cycle[0])
    return {(min(u, v), max(u, v)) for u, v in zip(cycle, following, strict=True)}


def _n_cycles(graph: SearchGraph) -> int:
    left = set(graph.neighbours)
    n_components = 0
    while left:
        n_components += 1
        left -= graph.near(min(left), len(graph.ids)).keys()
    return len(graph.edges) - len(graph.ids) + n_components


def _evidence(
    part: Part, graph: SearchGraph, gains: Mapping[_Alternative, float],
    price: float, label: Callable[[int], str],
) -> Evidence:  # fmt: skip
    place = {v: k for k, v in enumerate(graph.ids)}
    lacking = [(gain, -k, one) for k, (one, gain) in enumerate(gains.items()) if part in one.lacks]
    nodes = tuple(place[v] for v in part[1])
    if not lacking:
        return Evidence(part[0], nodes, math.inf, "", True)
    gain, _, best = max(lacking, key=lambda one: one[:2])
    return Evidence(part[0], nodes, -gain, best.move.words(label), -gain > price)
