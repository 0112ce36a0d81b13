"""Chapter 6: refinement of the learned graph by likelihood, which the paper does not have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from loopylatent.learning.moves import Kind
from loopylatent.learning.refinement import SCREEN, Refinement
from loopylatent.lesson.cast import Caption, EdgeKey, counted, joined, say
from loopylatent.lesson.material import (
    CHAPTERS,
    DrawnEdge,
    Frame,
    Mark,
    Material,
    Phase,
    Place,
    all_marked,
    drawn,
    ends_of,
)

LAST_CHAPTER = max(CHAPTERS)
MOST_PAIRS = 5
"""Pairs of the score matrix that are marked."""
_CHANGES: Mapping[Mark, str] = {"added": "added", "removed": "removed", "kept": "kept"}
_KINDS: Mapping[Kind, str] = {
    "add": "[edge|edges] added", "drop": "[edge|edges] removed", "slide": "[end|ends] moved",
    "graft": "[end|ends] moved", "swap": "[exchange|exchanges]", "contract": "[merger|mergers]",
    "pair": "new hidden [node|nodes]", "split": "new hidden [node|nodes]",
    "star": "new hidden [node|nodes]", "triangle": "new hidden [node|nodes]",
}  # fmt: skip
"""What moves did, to be counted."""


@dataclass(frozen=True, slots=True)
class PairGain:
    """A pair of nodes without an edge and what an edge is estimated to gain."""

    edge: EdgeKey
    words: str
    gain: float
    """In the log-likelihood."""


def best_pairs(m: Material) -> tuple[PairGain, ...]:
    """Return the pairs of the start that the model explains worst."""
    found = _found(m)
    start, gains = found.steps[0], np.triu(found.misfit.gains, 1)
    gains[tuple(start.graph.edges.T)] = 0.0
    node = [m.cast.refined_number[one] for one in (*m.columns, *start.hidden_ids)]
    order = np.argsort(-gains, axis=None, kind="stable")[:MOST_PAIRS].tolist()
    pairs = []
    for u, v in (divmod(k, len(node)) for k in order):
        edge = (min(node[u], node[v]), max(node[u], node[v]))
        words = " – ".join(m.name(end).text for end in edge)
        if gains[u, v] > SCREEN * found.misfit.parameters[u, v]:
            pairs.append(PairGain(edge, words, float(gains[u, v])))
    return tuple(pairs)


def move_words(m: Material, number: int) -> str:
    """Return a move in words, with the names of the lesson."""
    return str(_move(m, number))


def _move(m: Material, number: int) -> Caption:
    change = _found(m).steps[number].change
    assert change is not None
    known = m.cast.refined_number
    template = change.words(
        lambda node: f"{{node{node}}}" if node in known else "a passing hidden node"
    )
    names = {f"node{node}": m.name(at) for node, at in known.items()}
    return say(template[0].upper() + template[1:], **names)


def _found(m: Material) -> Refinement:
    assert m.refinement is not None
    return m.refinement


def refine_frame(m: Material, place: Place) -> Frame:
    """The score of the learned graph, or what this chapter will show."""
    if m.refinement is None:
        return Frame(place, _invitation(m), 1, m.shown(m.learned), drawn(m.learned))
    edges = m.refined(0)
    return Frame(place, _score_caption(m), 1, m.shown(edges), drawn(edges))


def _invitation(m: Material) -> Caption:
    caption = say(
        "The paper's algorithm ends with the learned graph, which was decided by local distances. "
        "[Refinement|refinement] goes on from there: it takes [moves|move] that raise the "
        "[score] of the whole model."
    )
    if m.obs is None:
        return caption + say(
            "It needs the rows of the table, and here only their distances are known. So this "
            "lesson ends without it."
        )
    return caption + say("It is computed on request, from all {n} rows.", n=m.obs.n_rows)


def _score_caption(m: Material) -> Caption:
    found = _found(m)
    start, price = found.steps[0], found.price
    n_cycles, cycles = start.graph.n_cycles, price.cycle * start.graph.n_cycles
    parameters = start.log_likelihood - start.score - cycles
    caption = say(
        "The learned graph has the [score] {score:,.1f}. That is its log-[likelihood], "
        "{likelihood:,.1f}, minus {parameters:,.1f} for {n} parameters ({each:.2f} each)",
        score=start.score, likelihood=start.log_likelihood, parameters=parameters,
        n=round(parameters / price.parameter), each=price.parameter,
    )  # fmt: skip
    end = say(" and {cost:,.1f} for {n}.", cost=cycles, n=counted(n_cycles, "cycle"))
    caption = Caption((*caption.parts, *(end if n_cycles else say(".")).parts))
    if not price.free_hidden:
        return caption
    return caption + say(
        "Correlations are weak for so few rows, so only edges are charged, not hidden nodes."
    )


def pairs_frame(m: Material, place: Place) -> Frame:
    """The pairs of nodes that the model explains worst."""
    edges, pairs = m.refined(0), best_pairs(m)
    caption = say(
        "The [score matrix] estimates what a further edge would add to the log-likelihood, for "
        "each pair of nodes."
    )
    if pairs:
        named = [
            say("{u} – {v} ({gain:.1f})", u=m.name(u), v=m.name(v), gain=pair.gain)
            for pair in pairs for u, v in [pair.edge]
        ]  # fmt: skip
        caption += say(
            "The model explains {these} worst: {named}. An edge {pays}.",
            these="this pair" if len(pairs) == 1 else "these pairs", named=joined(named),
            pays=_what_pays(m, pairs),
        )  # fmt: skip
    else:
        caption += say("Here no pair has a large one: the model explains all of them.")
    marked = tuple(
        DrawnEdge(*pair.edge, 1.0, "pair", f"estimated gain {pair.gain:.1f}") for pair in pairs
    )
    legend: dict[Mark, str] = {"pair": "explained badly", "kept": "learned graph"}
    return Frame(
        place, caption, 3, m.shown(edges), drawn(edges) + marked,
        focus=frozenset(ends_of(pair.edge for pair in pairs)), legend=legend,
    )  # fmt: skip


def _what_pays(m: Material, pairs: tuple[PairGain, ...]) -> Caption:
    """Compare the estimated gains with the price of an edge of one parameter."""
    price = _found(m).price.parameter
    if pairs[0].gain > price:
        return say("costs {price:.2f} or more; another [move] there can gain more", price=price)
    return say(
        "costs {price:.2f} or more, so none of them pays; another [move] there still may",
        price=price,
    )  # fmt: skip


def move_frame(m: Material, place: Place) -> Frame:
    """One move and the graph after it."""
    steps, number = _found(m).steps, place.part
    before, after = steps[number - 1], steps[number]
    caption = _move(m, number)
    created = [node for node in after.hidden_ids if node not in before.hidden_ids]
    gone = [node for node in before.hidden_ids if node not in after.hidden_ids]
    is_merger = after.change is not None and after.change.kind == "contract"
    caption = Caption((*caption.parts, *say(".").parts))
    if created:
        caption += say("New: {names}.", names=m.names([m.cast.refined_number[v] for v in created]))
    if gone and not is_merger:
        names = m.names([m.cast.refined_number[node] for node in gone])
        goes = "goes" if len(gone) == 1 else "go"
        caption += say("With fewer than three edges, {names} {goes}.", names=names, goes=goes)
    caption += say(
        "The [score] rises by {gain:.1f} to {score:,.1f}.",
        gain=after.score - before.score, score=after.score,
    )  # fmt: skip
    return _changed(m, place, caption, 5, number - 1, number)


def moves_frame(m: Material, place: Place) -> Frame:
    """The moves that have no step of their own, together."""
    steps, first = _found(m).steps, place.part
    gains = np.diff([step.score for step in steps[first - 1 :]])
    kinds = Counter(_KINDS[step.change.kind] for step in steps[first:] if step.change is not None)
    named = [_counted_kind(words, count) for words, count in kinds.items()]
    caption = say(
        "And {n} more [moves|move]: {named}. Together they raise the [score] by {gain:.1f} to "
        "{score:,.1f}, none of them by more than {most:.1f}.",
        n=len(gains), named=joined(named), gain=float(gains.sum()), score=steps[-1].score,
        most=float(gains.max()),
    )  # fmt: skip
    return _changed(m, place, caption, 5, first - 1, len(steps) - 1)


def _counted_kind(words: str, count: int) -> Caption:
    """Write "1 edge added" or "2 edges added"."""
    head, _, rest = words.partition("[")
    nouns, _, tail = rest.partition("]")
    return say(f"{{n}} {head}{nouns.split('|')[count != 1]}{tail}", n=count)


def refined_frame(m: Material, place: Place) -> Frame:
    """The refined graph compared with the learned one."""
    found = _found(m)
    before, after = found.steps[0], found.steps[-1]
    n_moves = len(found.steps) - 1
    if n_moves == 0:
        caption = say(
            "No [move] raises the [score]: of {n} that were tried, none was taken. Refinement "
            "keeps the learned graph.", n=len(found.moves),
        )  # fmt: skip
    else:
        caption = say(
            "No further [move] raises the [score]. {moves} raised it by {gain:.1f}: from {sizes} "
            "to {new_sizes}.",
            moves=counted(n_moves, "move"), gain=after.score - before.score,
            sizes=_sizes(before.graph), new_sizes=_sizes(after.graph),
        )  # fmt: skip
    return _changed(m, place, caption, 6, 0, n_moves)


def _sizes(graph: object) -> Caption:
    return joined(
        [
            counted(getattr(graph, f"n_{name}"), word)
            for name, word in (("edges", "edge"), ("hidden", "hidden node"), ("cycles", "cycle"))
        ]
    )


def judged_frame(m: Material, place: Place) -> Frame:
    """The refined graph compared with the true graph, next to the learned one."""
    refined, true = m.refined(-1), m.cast.refined_truth_edges
    missed = {edge: length for edge, length in true.items() if edge not in refined}
    marks = all_marked(refined.keys() - true.keys(), "wrong")
    learned_found = len(m.learned.keys() & m.cast.truth_edges.keys())
    errors = (m.structure_error, m.refined_error)
    before, after = (
        say("{bound}{value}", bound="" if error.is_exact else "at most ", value=error.value)
        for error in errors
        if error is not None
    )
    caption = say(
        "Compared with the true graph: {found} of {n} edges recovered, {missed} missed, {wrong} "
        "false. The learned graph had {old} of them, and {old_wrong} false. The [structure error] "
        "was {before} and is {after} after refinement.",
        found=len(true) - len(missed), n=len(true), missed=len(missed), wrong=len(marks),
        old=learned_found, old_wrong=len(m.learned) - learned_found, before=before, after=after,
    )  # fmt: skip
    nodes = tuple(sorted({*m.shown(refined), *m.shown(missed)}))
    edges = drawn(refined, marks=marks) + drawn(missed, "removed")
    legend: dict[Mark, str] = {"kept": "recovered", "removed": "missed", "wrong": "false"}
    return Frame(place, caption, 7, nodes, edges, legend=legend)


def _changed(
    m: Material, place: Place, caption: Caption, line: int, first: int, last: int
) -> Frame:
    """The graph after some moves, with the edges that they added and removed."""
    before, after = m.refined(first), m.refined(last)
    removed = {edge: length for edge, length in before.items() if edge not in after}
    added = after.keys() - before.keys()
    gone = ends_of(removed) - {*m.shown(after)}
    nodes = tuple(sorted({*m.shown(after), *gone}))
    near = ends_of(removed) | ends_of(added) if place.phase == "move" else set()
    edges = drawn(after, marks=all_marked(added, "added")) + drawn(removed, "removed")
    return Frame(
        place, caption, line, nodes, edges, focus=frozenset(near), sketched=frozenset(gone),
        legend=_CHANGES,
    )  # fmt: skip


REFINEMENT_FRAMES: Mapping[Phase, Callable[[Material, Place], Frame]] = {
    "refine": refine_frame, "pairs": pairs_frame, "move": move_frame, "moves": moves_frame,
    "refined": refined_frame, "judged": judged_frame,
}  # fmt: skip
