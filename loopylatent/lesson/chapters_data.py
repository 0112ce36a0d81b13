"""Chapters 1 to 3: the data, a distance, balls and local trees."""

from __future__ import annotations

import math

import numpy as np

from loopylatent.lesson.cast import EdgeKey
from loopylatent.lesson.frames import Frame, Key, Mark, Shade, drawn
from loopylatent.lesson.material import Material
from loopylatent.lesson.pairs import closest_pair
from loopylatent.lesson.places import Detail, Place
from loopylatent.lesson.words import Caption, counted, is_or_are, joined, say

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
    shown = drawn(edges, "truth")
    return Frame(place, caption, 1, m.shown(edges), shown, legend=(Key("truth", "truth"),))


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
    before = m.balls.union(v - 1)
    return Frame(
        place,
        _ball_caption(m, v),
        3,
        m.columns,
        drawn(before, notes=m.ball_notes),
        focus=_ball(m, v),
        centre=v,
        shade=_ball_shade(m, v),
        legend=(Key("kept", "union"),),
    )


def tree_frame(m: Material, place: Place, detail: Detail) -> Frame:
    """The local tree of a column and what it adds to the union."""
    v = _node(place)
    tree, new = m.balls.tree(v), set(m.balls.adds(v))
    union = m.balls.union(v)
    marks: dict[EdgeKey, Mark] = {e: "added" if e in new else "tree" for e in tree}
    caption = _tree_caption(m, v, len(union))
    return Frame(
        place,
        caption if detail == "fine" else _ball_caption(m, v) + caption,
        4,
        m.columns,
        drawn(union, marks=marks, notes=m.ball_notes),
        focus=_ball(m, v),
        centre=v,
        shade=_ball_shade(m, v),
        legend=(
            Key("added", "tree, new"),
            Key("tree", "tree, known"),
            Key("kept", "union"),
        ),
    )


def union_frame(m: Material, place: Place) -> Frame:
    """The graph where grouping starts."""
    graph = m.result.initial_graph
    caption = say(
        "The [union] of the {p} local trees: {edges} and {cycles}, in {pieces}. From here grouping "
        "starts.",
        p=graph.n_observed,
        edges=counted(graph.n_edges, "edge"),
        cycles=_cycles(graph.n_cycles),
        pieces=counted(graph.n_components, "piece"),
    )
    return Frame(place, caption, 5, m.columns, drawn(m.initial, notes=m.ball_notes))


def _node(place: Place) -> int:
    assert place.node is not None
    return place.node


def _cycles(number: int) -> Caption:
    return counted(number, "cycle") if number else say("no [cycle]")


def _ball(m: Material, v: int) -> frozenset[int]:
    return frozenset(m.balls.members(v).tolist())


def _ball_shade(m: Material, v: int) -> Shade:
    return Shade(tuple(m.balls.members(v).tolist()), m.balls.tree(v))


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
        k=is_or_are(len(new)), n=union, named=joined(named),
        more=say(" and {n} more", n=more) if more else "",
    )  # fmt: skip
