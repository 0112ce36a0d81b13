"""What the steps of the lesson show: the data, distances, balls and local trees, the result.

Chapter 4, on grouping, has a module of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from loopylatent.lesson.cast import Caption, counted, joined, say
from loopylatent.lesson.grouping_chapter import GROUPING_FRAMES
from loopylatent.lesson.material import (
    DrawnEdge,
    Frame,
    Mark,
    Material,
    Phase,
    Place,
    Shade,
    all_marked,
    drawn,
)
from loopylatent.lesson.pairs import closest_pair

MOST_EDGES = 3
"""New edges that a caption names."""


def data_frame(m: Material, place: Place) -> Frame:
    """Every column a dot, no edge."""
    p = m.D.n_columns
    if m.obs is None:
        caption = say(
            "Given are the distances between {p} [columns|column]. Each dot is a column; which of "
            "them belong together is what the learner has to find.", p=p,
        )  # fmt: skip
    else:
        caption = say(
            "A table of {n} rows and {p} [columns|column]. Each dot is a column; which of them "
            "belong together, and through which [hidden] variables, is what the learner has to "
            "find.", n=m.obs.n_rows, p=p,
        )  # fmt: skip
    return Frame(place, caption, 1, m.columns, ())


def truth_frame(m: Material, place: Place) -> Frame:
    """The graph from which the data were made."""
    truth = m.cast.truth
    assert truth is not None
    made = "distances were taken" if m.obs is None else "rows were drawn"
    caption = say(
        "These data are made up, so the truth is known. The {made} from this graph of {h} [hidden] "
        "nodes, {e} edges and {cycles}. The learner never sees it.",
        made=made, h=truth.n_hidden, e=truth.n_edges, cycles=_cycles(truth.n_cycles),
    )  # fmt: skip
    edges = m.cast.truth_edges
    return Frame(
        place, caption, 1, m.shown(edges), drawn(edges, "truth"), legend={"truth": "truth"}
    )


def pair_frame(m: Material, place: Place, pair: tuple[int, int] | None = None) -> Frame:
    """Two columns; the closest ones unless others are chosen."""
    i, j = closest_pair(m.D) if pair is None else pair
    d = float(m.D.values[i, j])
    a, b = m.name(i), m.name(j)
    if math.isinf(d):
        caption = say(
            "{a} and {b} look independent: their [distance] is infinite, and no edge ever joins "
            "them directly.", a=a, b=b,
        )  # fmt: skip
    else:
        chosen = "are the closest pair:" if pair is None else "have"
        caption = say(
            "{a} and {b} {chosen} [strength] {s:.3f}, and so the [distance] −log {s:.3f} = "
            "{d:.3f}. The larger the distance, the less one says about the other.",
            a=a, b=b, chosen=chosen, s=math.exp(-d), d=d,
        )  # fmt: skip
    return Frame(place, caption, 1, m.columns, (), focus=frozenset((i, j)))


def matrix_frame(m: Material, place: Place) -> Frame:
    """All distances."""
    p = m.D.n_columns
    caption = say(
        "All {pairs} [distances|distance], from {low:.2f} to {high:.2f}. Rows and columns stand in "
        "the order of the graph that will be learned, so that what belongs together makes blocks.",
        pairs=p * (p - 1) // 2, low=m.D.smallest, high=m.D.r_max,
    )  # fmt: skip
    if m.D.noise_floor is not None:
        caption += say(
            "Beyond the [noise floor], {floor:.2f}, chance alone makes such distances.",
            floor=m.D.noise_floor,
        )
    return Frame(place, caption, 1, m.columns, ())


def ball_frame(m: Material, place: Place) -> Frame:
    """The ball of a column, before its tree is drawn."""
    v = _node(place)
    before = drawn(m.balls.union(v - 1), notes=m.ball_notes)
    return _at_ball(m, place, _ball_caption(m, v), 3, before, {"kept": "union"})


def tree_frame(m: Material, place: Place) -> Frame:
    """The local tree of a column and what it adds to the union."""
    v = _node(place)
    union = m.balls.union(v)
    marks = all_marked(m.balls.tree(v), "tree") | all_marked(m.balls.adds(v), "added")
    caption = _tree_caption(m, v, len(union))
    legend: dict[Mark, str] = {"added": "tree, new", "tree": "tree, known", "kept": "union"}
    edges = drawn(union, marks=marks, notes=m.ball_notes)
    return _at_ball(m, place, caption, 4, edges, legend, _ball_caption(m, v) + caption)


def _at_ball(
    m: Material,
    place: Place,
    caption: Caption,
    line: int,
    edges: tuple[DrawnEdge, ...],
    legend: Mapping[Mark, str],
    overview: Caption | None = None,
) -> Frame:
    v = _node(place)
    ball = tuple(m.balls.members(v).tolist())
    return Frame(
        place, caption, line, m.columns, edges, focus=frozenset(ball), centre=v,
        shade=Shade(ball, m.balls.tree(v)), legend=legend, overview=overview,
    )  # fmt: skip


def union_frame(m: Material, place: Place) -> Frame:
    """The graph where grouping starts."""
    graph = m.result.initial_graph
    caption = say(
        "The [union] of the {p} local trees: {edges} and {cycles}, in {pieces}. From here grouping "
        "starts.",
        p=graph.n_observed, edges=counted(graph.n_edges, "edge"), cycles=_cycles(graph.n_cycles),
        pieces=counted(graph.n_components, "piece"),
    )  # fmt: skip
    return Frame(place, caption, 5, m.columns, drawn(m.initial, notes=m.ball_notes))


def _node(place: Place) -> int:
    assert place.node is not None
    return place.node


def _cycles(number: int) -> Caption:
    return counted(number, "cycle") if number else say("no [cycle]")


def _ball_caption(m: Material, v: int) -> Caption:
    ball = m.balls.members(v)
    lengths = m.D.values[v]
    if len(ball) == 1:
        others = np.delete(np.arange(m.D.n_columns), v)
        near = int(others[lengths[others].argmin()])
        return say(
            "The [ball] of {v} holds {v} alone: the nearest other column, {u}, is {d:.2f} away, "
            "beyond r = {r:.2f}.", v=m.name(v), u=m.name(near), d=float(lengths[near]), r=m.balls.r,
        )  # fmt: skip
    far = int(ball[lengths[ball].argmax()])
    return say(
        "The [ball] of {v}: {k} of {p} columns lie within r = {r:.2f} (itself included); the "
        "farthest is {u} at {d:.2f}.",
        v=m.name(v), k=len(ball), p=m.D.n_columns, r=m.balls.r, u=m.name(far),
        d=float(lengths[far]),
    )  # fmt: skip


def _tree_caption(m: Material, v: int, union: int) -> Caption:
    tree, new = m.balls.tree(v), m.balls.adds(v)
    if not tree:
        return say("A tree of one node has no edge; the [union] still has {n}.", n=union)
    total = float(sum(m.D.values[edge] for edge in tree))
    caption = say(
        "Its [local tree] has {edges} of total length {total:.2f}.",
        edges=counted(len(tree), "edge"), total=total,
    )  # fmt: skip
    if not new:
        return caption + say("All were there before: the [union] still has {n}.", n=union)
    named = [say("{a} – {b}", a=m.name(a), b=m.name(b)) for a, b in new[:MOST_EDGES]]
    more = len(new) - len(named)
    return caption + say(
        "{k} new ({named}{more}); the [union] now has {n}.",
        k=counted(len(new), "is", "are"), n=union, named=joined(named),
        more=say(" and {n} more", n=more) if more else "",
    )  # fmt: skip


def gained_frame(m: Material, place: Place) -> Frame:
    """The learned graph, and what grouping took away and put in."""
    graph, initial, learned = m.result.graph, m.initial, m.learned
    lost = {edge: length for edge, length in initial.items() if edge not in learned}
    marks = all_marked(learned.keys() - initial.keys(), "added")
    caption = say(
        "The result: {edges}, {hidden} and {cycles}. Of the {start} edges before grouping {kept} "
        "are still there, {lost} have gone, and {new} are new.",
        edges=counted(graph.n_edges, "edge"), hidden=counted(graph.n_hidden, "hidden node"),
        cycles=counted(graph.n_cycles, "cycle"), start=len(initial), lost=len(lost),
        kept=len(initial) - len(lost), new=len(marks),
    )  # fmt: skip
    legend: dict[Mark, str] = {
        "added": "put in by grouping", "removed": "taken away", "kept": "there from the start",
    }  # fmt: skip
    edges = drawn(learned, marks=marks) + drawn(lost, "removed")
    return Frame(place, caption, 15, m.shown(learned), edges, legend=legend)


def compared_frame(m: Material, place: Place) -> Frame:
    """The learned graph beside the truth."""
    learned, true, error = m.learned, m.cast.truth_edges, m.structure_error
    assert error is not None
    missed = {edge: length for edge, length in true.items() if edge not in learned}
    marks = all_marked(learned.keys() - true.keys(), "wrong")
    caption = say(
        "Against the truth: {found} of {n} edges found, {missed} missed, {wrong} that the truth "
        "does not have. The [structure error] is {bound}{error}.",
        found=len(true) - len(missed), n=len(true), missed=len(missed), wrong=len(marks),
        bound="" if error.is_exact else "at most ", error=error.value,
    )  # fmt: skip
    nodes = tuple(sorted({*m.shown(learned), *m.shown(missed)}))
    edges = drawn(learned, marks=marks) + drawn(missed, "removed")
    legend: dict[Mark, str] = {"kept": "found", "removed": "missed", "wrong": "not in the truth"}
    return Frame(place, caption, 15, nodes, edges, legend=legend)


FRAMES: Mapping[Phase, Callable[[Material, Place], Frame]] = {
    "data": data_frame, "truth": truth_frame, "pair": pair_frame, "matrix": matrix_frame,
    "ball": ball_frame, "tree": tree_frame, "union": union_frame, **GROUPING_FRAMES,
    "gained": gained_frame, "compared": compared_frame,
}  # fmt: skip
"""How each step is made."""
