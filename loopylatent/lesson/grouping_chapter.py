"""Chapter 4: the visits, each from its neighbourhood to the replacement in the graph.

Predict, then reveal: which pair of a neighbourhood is joined next? Who is the parent?
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

from loopylatent.learning.trace import CleanUpStep, Family, Join, VisitStep
from loopylatent.lesson.captions import Caption, counted, is_or_are, say
from loopylatent.lesson.cast import EdgeKey, change_of
from loopylatent.lesson.frames import Detail, DrawnEdge, Frame, Key, Mark, Place, drawn, ends_of
from loopylatent.lesson.material import Material
from loopylatent.lesson.methods_chapter import (
    family_caption,
    neighbors_caption,
    rest_caption,
    round_caption,
    stand_ins_caption,
)
from loopylatent.lesson.visits import Visit, n_quartets

ORDERS = {
    "degree": "the best connected ones first",
    "index": "in the order of the columns",
    "random": "in a random order",
}
SKETCH_KEYS = (Key("sketch", "local tree"), Key("kept", "graph"))


def order_frame(m: Material, place: Place) -> Frame:
    """Which columns will be visited."""
    graph, visits = m.result.initial_graph, [s for s in m.trace if isinstance(s, VisitStep)]
    inner = [node for node in range(graph.n_observed) if graph.degrees[node] >= 2]
    caption = say(
        "{k} of {p} columns are no [leaves|leaf]. Their neighbourhoods are rebuilt one after the "
        "other, {order}: {visits}.",
        k=len(inner), p=graph.n_observed, order=ORDERS[m.result.settings.order],
        visits=counted(len(visits), "visit"),
    )  # fmt: skip
    if visits:
        first = visits[0].node
        caption += say(
            "First comes {v} with {n}.",
            v=m.name(first), n=counted(int(graph.degrees[first]), "neighbour"),
        )  # fmt: skip
    return Frame(place, caption, 6, m.columns, drawn(m.initial), focus=frozenset(inner))


def look_frame(m: Material, place: Place) -> Frame:
    """The neighbourhood A."""
    visit = Visit.of(m, place)
    return _sketch_frame(visit, place, _look_caption(visit), 7, {}, ())


def quartets_frame(m: Material, place: Place) -> Frame:
    """The quartets of A."""
    visit = Visit.of(m, place)
    table, size = visit.quartets, len(visit.members)
    if table is None:
        caption = say(
            "A has {n} nodes and so {q} [quartets|quartet], too many to list here. Each is asked "
            "with [margin] Λ = {Lambda:.3g}.",
            n=size, q=n_quartets(size), Lambda=m.thresholds.Lambda,
        )  # fmt: skip
    else:
        caption = say(
            "A has {quartets}. Asked with [margin] Λ = {Lambda:.3g}, {yes} declared and {no} "
            "without a verdict ([⊥]).",
            quartets=counted(table.n_quartets, "quartet"), Lambda=m.thresholds.Lambda,
            yes=is_or_are(table.n_declared), no=table.n_quartets - table.n_declared,
        )  # fmt: skip
    return _sketch_frame(visit, place, caption, 8, {}, ())


def round_frame(m: Material, place: Place) -> Frame:
    """The nodes that are left are split into families."""
    visit = Visit.of(m, place)
    sketch = visit.sketch.after_joins(visit.joins_before(place))
    return _sketch_frame(visit, place, round_caption(visit, place), 9, sketch, ())


def join_frame(m: Material, place: Place) -> Frame:
    """Two nodes become siblings, or a family gets its parent."""
    visit = Visit.of(m, place)
    join = visit.step.joins[place.part - 1]
    sketch = visit.sketch.after_joins(place.part)
    older = visit.sketch.after_joins(place.part - 1)
    new = tuple(edge for edge in sketch if edge not in older)
    return _sketch_frame(visit, place, _join_caption(visit, join, place.part), 10, sketch, new)


def rest_frame(m: Material, place: Place) -> Frame:
    """What no join has taken is connected."""
    visit = Visit.of(m, place)
    new = tuple(m.cast.key(edge.u, edge.v) for edge in visit.step.rest)
    return _sketch_frame(visit, place, _rest_caption(visit), 11, visit.sketch.complete, new)


def contract_frame(m: Material, place: Place) -> Frame:
    """An edge that is too short is contracted; it is drawn once more."""
    visit = Visit.of(m, place)
    contraction = visit.step.contractions[place.part - 1]
    goes, stays = m.cast.number[contraction.removed], m.cast.number[contraction.survivor]
    before = visit.sketch.after_contractions(place.part - 1)
    edge = (goes, stays) if goes < stays else (stays, goes)
    limit = "the [limit] of" if m.result.settings.method == "relaxed" else "τ ="
    caption = say(
        f"{{u}} and {{v}} are {{d:.3f}} apart, less than {limit} {{tau:.3g}}: {{u}} is "
        "[contracted|contract] into {v}.",
        u=m.name(goes), v=m.name(stays), d=contraction.length, tau=m.result.settings.shortest_edge,
    )  # fmt: skip
    return _sketch_frame(visit, place, caption, 12, before, (), gone=edge)


def replace_frame(m: Material, place: Place, detail: Detail) -> Frame:
    """The local tree takes the place of the edges inside A."""
    visit = Visit.of(m, place)
    change = change_of(visit.step, m.cast)
    after = m.replays.after(visit.at)
    marks: dict[EdgeKey, Mark] = dict.fromkeys(change.added, "added")
    edges = drawn(after, marks=marks) + drawn(change.removed, "removed")
    there = set(m.shown(after))
    gone = ends_of(change.removed) - there
    return Frame(
        place,
        _replace_caption(visit) if detail == "fine" else _visit_caption(visit),
        13,
        tuple(sorted(there | gone)),
        edges,
        focus=frozenset({*visit.members, *ends_of(change.added)} & (there | gone)),
        centre=visit.node,
        sketched=frozenset(gone),
        shade=visit.shade,
        legend=(Key("added", "put in"), Key("removed", "taken away"), Key("kept", "graph")),
    )


def cleanup_frame(m: Material, place: Place) -> Frame:
    """Hidden nodes that explain nothing go."""
    step = m.trace[place.step]
    assert isinstance(step, CleanUpStep)
    change = change_of(step, m.cast)
    after = m.replays.after(place.step)
    if step.contractions:
        caption = _merged_caption(m, step)
    elif step.removed_nodes:
        caption = say(
            "{n} fewer than three edges and so explains nothing that an edge could not: {names}. "
            "With two edges it is bridged, with one it goes.",
            n=_hidden_have(len(step.removed_nodes)),
            names=m.names([m.cast.number[node] for node in step.removed_nodes]),
        )
    else:
        caption = say(
            "Every [hidden] node has at least three edges, so none is removed. The graph has "
            "{hidden} and {edges}.",
            hidden=counted(m.result.graph.n_hidden, "hidden node"),
            edges=counted(len(after), "edge"),
        )
    there = set(m.shown(after))
    gone = ends_of(change.removed) - there
    marks: dict[EdgeKey, Mark] = dict.fromkeys(change.added, "added")
    return Frame(
        place,
        caption,
        14,
        tuple(sorted(there | gone)),
        drawn(after, marks=marks) + drawn(change.removed, "removed"),
        sketched=frozenset(gone),
        legend=(Key("added", "put in"), Key("removed", "taken away"), Key("kept", "graph"))
        if step.removed_nodes or step.contractions
        else (),
    )


def _merged_caption(m: Material, step: CleanUpStep) -> Caption:
    """Relaxed grouping contracts once more at the end."""
    gone = m.names([m.cast.number[merged.removed] for merged in step.contractions])
    caption = say(
        "In the whole graph {edges} below the [limit] of {tau:.3g}, and {names} "
        "{is_are} [contracted|contract].",
        edges=counted(len(gone), "edge is", "edges are"), tau=m.result.settings.shortest_edge,
        names=gone, is_are="is" if len(gone) == 1 else "are",
    )  # fmt: skip
    if not step.removed_nodes:
        return caption
    return caption + say(
        "{n} fewer than three edges and explain nothing: bridged or dropped.",
        n=_hidden_have(len(step.removed_nodes)),
    )


def _hidden_have(number: int) -> Caption:
    one = "{n} [hidden] node has" if number == 1 else "{n} [hidden] nodes have"
    return say(one, n=number)


def _sketch_frame(
    visit: Visit,
    place: Place,
    caption: Caption,
    line: int,
    sketch: dict[EdgeKey, float],
    new: tuple[EdgeKey, ...],
    gone: EdgeKey | None = None,
) -> Frame:
    """The graph as it was before the visit, and over it the local tree as far as it is."""
    before = visit.before
    marks: dict[EdgeKey, Mark] = dict.fromkeys(new, "sketch-new")
    if gone is not None:
        marks[gone] = "sketch-gone"
    edges: list[DrawnEdge] = [*drawn(before), *drawn(sketch, "sketch", marks=marks)]
    in_graph = set(visit.m.shown(before))
    sketched = ends_of(sketch) - in_graph
    legend = SKETCH_KEYS if gone is None else (Key("sketch-gone", "too short"), *SKETCH_KEYS)
    return Frame(
        place,
        caption,
        line,
        tuple(sorted(in_graph | sketched)),
        tuple(edges),
        focus=frozenset({*visit.members, *sketched}),
        centre=visit.node,
        sketched=frozenset(sketched),
        shade=visit.shade,
        legend=legend if sketch else (Key("kept", "graph"),),
    )


def _look_caption(visit: Visit) -> Caption:
    m, members = visit.m, visit.members
    others = tuple(node for node in members if node != visit.node)
    hidden = sum(visit.step.hidden)
    caption = say(
        "Visit {t} of {T}: {v} and its {k}, {names}, are the [neighbourhood] A.",
        t=visit.number, T=m.result.n_visits, v=m.name(visit.node),
        k=counted(len(others), "neighbour"), names=m.names(others),
    )  # fmt: skip
    if hidden:
        one = "{n} of them is [hidden]." if hidden == 1 else "{n} of them are [hidden]."
        caption += say(one, n=hidden)
    if hidden and visit.step.surrogates:
        caption += stand_ins_caption(visit)
    if len(members) == 3 and m.result.settings.method == "quartet":
        caption += say("Three nodes make no [quartet]: nothing can separate a pair.")
    return caption


def _join_caption(visit: Visit, join: Join | Family, part: int) -> Caption:
    if isinstance(join, Family):
        return family_caption(visit, join, _passing(visit, join))
    if join.q is not None:
        return neighbors_caption(visit, join, part, _passing(visit, join))
    m, votes = visit.m, visit.votes(part)
    i, j, h = (m.name(m.cast.number[node]) for node in (join.left, join.right, join.hidden))
    if votes is not None and votes.together:
        word = "quartet keeps" if votes.together == 1 else "quartets keep"
        why = say("{n} declared {word} them together, none separates them.",
                  n=votes.together, word=word)  # fmt: skip
    elif join.supported:
        why = say("A declared quartet keeps them together, none separates them.")
    else:
        why = say("No declared quartet separates them; of such pairs they are the closest.")
    return say(
        "{i} and {j} become [siblings] under {h}{passing}. {why} Their distance {d:.3f} is shared "
        "out: {left:.3f} from {i} to {h}, {right:.3f} from {j}.",
        i=i, j=j, h=h, passing=_passing(visit, join), why=why,
        d=join.left_length + join.right_length, left=join.left_length, right=join.right_length,
    )  # fmt: skip


def _passing(visit: Visit, join: Join | Family) -> Caption | str:
    stays = visit.m.cast.number[join.parent] < visit.m.result.graph.n_nodes
    return "" if stays else say(" ([passing])")


def _rest_caption(visit: Visit) -> Caption:
    m, step = visit.m, visit.step
    if m.result.settings.method != "quartet":
        return rest_caption(visit)
    left = m.names([m.cast.number[node] for node in visit.active(len(step.joins))])
    if step.stuck:
        return say(
            "[Stuck|stuck]: every pair of the {k} nodes that are left, {names}, is separated by "
            "some quartet. Their shortest tree connects them by {edges}.",
            k=len(left), names=left, edges=counted(len(step.rest), "edge"),
        )  # fmt: skip
    if not step.rest:
        return say("Two nodes are left, {names}, infinitely far apart: they stay apart.",
                   names=left)  # fmt: skip
    return say(
        "Two nodes are left, {names}. An edge of length {d:.3f} connects them, and the local tree "
        "is complete.", names=left, d=step.rest[0].length,
    )  # fmt: skip


def _replace_caption(visit: Visit) -> Caption:
    m, change = visit.m, change_of(visit.step, visit.m.cast)
    after = m.replays.after(visit.at)
    hidden = len(m.shown(after)) - m.cast.n_observed
    if not change.added and not change.removed:
        same = "only lengths change" if change.relengthened else "nothing changes in the graph"
        return say("The tree has the edges that were there before: {same}.", same=same)
    return say(
        "In the whole graph {gone} and {come}. It now has {edges} and {hidden}.",
        gone=_go(len(change.removed)), come=_come(len(change.added)),
        edges=counted(len(after), "edge"), hidden=counted(hidden, "hidden node"),
    )  # fmt: skip


def _go(number: int) -> Caption:
    return say("{n} edge goes" if number == 1 else "{n} edges go", n=number)


def _come(number: int) -> Caption:
    return say("{n} comes" if number == 1 else "{n} come", n=number)


def _visit_caption(visit: Visit) -> Caption:
    """The whole visit in two sentences."""
    m, step = visit.m, visit.step
    caption = say(
        "Visit {t} of {T}, at {v}: the {k} nodes of A are grouped by {joins} and {contractions}.",
        t=visit.number, T=m.result.n_visits, v=m.name(visit.node), k=len(step.neighbourhood),
        joins=counted(len(step.joins), "join")
        if m.result.settings.method != "relaxed"
        else counted(len(step.joins), "family", "families"),
        contractions=counted(len(step.contractions), "contraction"),
    )  # fmt: skip
    if step.stuck:
        caption += say("Then no pair could be joined any more ([stuck]).")
    return caption + _replace_caption(visit)


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
