"""Chapter 4: every visit, from its neighbourhood to the replaced edges, and guesses of joins."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from types import MappingProxyType

import numpy as np

from loopylatent.learning.trace import CleanUpStep, Family, Join, Round, VisitStep
from loopylatent.lesson.cast import Caption, EdgeKey, change_of, counted, joined, say
from loopylatent.lesson.material import (
    Frame,
    Mark,
    Material,
    Phase,
    Place,
    Visit,
    all_marked,
    drawn,
    ends_of,
)

ORDERS = {
    "degree": "columns with most neighbours first",
    "index": "in column order",
    "random": "in random order",
}
SKETCH: Mapping[Mark, str] = {"sketch": "local tree", "kept": "graph"}
CHANGED: Mapping[Mark, str] = {"added": "added", "removed": "removed", "kept": "graph"}
MAX_LENGTHS = 4
"""Largest number of children whose edge lengths a caption lists."""
MAX_SURROGATES = 3
MAX_PAIRS = 10
NEW = "a new hidden node"


def order_frame(m: Material, place: Place) -> Frame:
    """Which columns will be visited."""
    graph, visits = m.result.initial_graph, [s for s in m.trace if isinstance(s, VisitStep)]
    inner = [node for node in range(graph.n_observed) if graph.degrees[node] >= 2]
    caption = say(
        "{k} of {p} columns are not [leaves|leaf]. Their neighbourhoods are rebuilt one by one, "
        "{order}: {visits}.",
        k=len(inner), p=graph.n_observed, order=ORDERS[m.result.settings.order],
        visits=counted(len(visits), "visit"),
    )  # fmt: skip
    if visits:
        first = visits[0].node
        caption += say(
            "The first is {v}, with {n}.",
            v=m.name(first), n=counted(int(graph.degrees[first]), "neighbour"),
        )  # fmt: skip
    return Frame(place, caption, 6, m.columns, drawn(m.initial), focus=frozenset(inner))


def look_frame(visit: Visit, place: Place) -> Frame:
    """The neighbourhood A."""
    return _sketch_frame(visit, place, _look_caption(visit), 7)


def quartets_frame(visit: Visit, place: Place) -> Frame:
    """The quartets of A."""
    table, size = visit.quartets, len(visit.members)
    if table is None:
        caption = say(
            "A has {n} nodes and {q} [quartets|quartet], too many to list here. Each is "
            "[tested|quartet test] with [margin] Λ = {Lambda:.3g}.",
            n=size, q=math.comb(size, 4), Lambda=visit.m.thresholds.Lambda,
        )  # fmt: skip
    else:
        caption = say(
            "A has {quartets}. In [quartet tests|quartet test] with [margin] Λ = {Lambda:.3g}, "
            "{yes} declared and {no} have no verdict ([⊥]).",
            quartets=counted(table.n_quartets, "[quartet]", "[quartets|quartet]"),
            Lambda=visit.m.thresholds.Lambda, yes=counted(table.n_declared, "is", "are"),
            no=table.n_quartets - table.n_declared,
        )  # fmt: skip
    return _sketch_frame(visit, place, caption, 8)


def round_frame(visit: Visit, place: Place) -> Frame:
    """The active nodes are split into families."""
    sketch = visit.after_joins(visit.joins_before(place))
    return _sketch_frame(visit, place, _round_caption(visit, place), 9, sketch)


def join_frame(visit: Visit, place: Place) -> Frame:
    """Two nodes become siblings, or a family gets its parent."""
    join = visit.step.joins[place.part - 1]
    sketch = visit.after_joins(place.part)
    new = sketch.keys() - visit.after_joins(place.part - 1).keys()
    return _sketch_frame(visit, place, _join_caption(visit, join, place.part), 10, sketch, new)


def rest_frame(visit: Visit, place: Place) -> Frame:
    """The remaining nodes are connected."""
    new = tuple(visit.m.cast.key(edge.u, edge.v) for edge in visit.step.rest)
    return _sketch_frame(visit, place, _rest_caption(visit), 11, visit.complete, new)


def contract_frame(visit: Visit, place: Place) -> Frame:
    """An edge that is too short is contracted. It is still drawn."""
    m = visit.m
    contraction = visit.step.contractions[place.part - 1]
    goes, stays = m.cast.number[contraction.removed], m.cast.number[contraction.survivor]
    before = visit.after_contractions(place.part - 1)
    edge = (min(goes, stays), max(goes, stays))
    limit = "the [limit] of" if m.result.settings.method == "relaxed" else "τ ="
    caption = say(
        f"The distance of {{u}} and {{v}}, {{d:.3f}}, is less than {limit} {{tau:.3g}}: {{u}} is "
        "[contracted|contract] into {v}.",
        u=m.name(goes), v=m.name(stays), d=contraction.length, tau=m.result.settings.shortest_edge,
    )  # fmt: skip
    return _sketch_frame(visit, place, caption, 12, before, gone=edge)


def replace_frame(visit: Visit, place: Place) -> Frame:
    """The local tree replaces the edges inside A."""
    m = visit.m
    near = {*visit.members, *ends_of(change_of(visit.step, m.cast).added)}
    caption = _replace_caption(visit)
    frame = _changed_frame(m, place, visit.step, caption, 13)
    return replace(
        frame, focus=frozenset(near & {*frame.nodes}), centre=visit.node, shade=visit.shade,
        legend=CHANGED, overview=_visit_caption(visit) + caption,
    )  # fmt: skip


def cleanup_frame(m: Material, place: Place) -> Frame:
    """Hidden nodes with fewer than three edges are removed."""
    step = m.trace[place.step]
    assert isinstance(step, CleanUpStep)
    if step.contractions:
        caption = _merged_caption(m, step)
    elif step.removed_nodes:
        caption = say(
            "{n} fewer than three edges: {names}. With two edges it is bridged (its neighbours are "
            "connected directly), with one it is dropped.",
            n=_hidden_have(len(step.removed_nodes)),
            names=m.names([m.cast.number[node] for node in step.removed_nodes]),
        )
    else:
        caption = say(
            "Every [hidden] node has at least three edges, so none is removed. The graph has "
            "{hidden} and {edges}.",
            hidden=counted(m.result.graph.n_hidden, "hidden node"),
            edges=counted(len(m.replays.after(place.step)), "edge"),
        )
    frame = _changed_frame(m, place, step, caption, 14)
    return replace(frame, legend=CHANGED) if step.removed_nodes or step.contractions else frame


def _changed_frame(
    m: Material, place: Place, step: VisitStep | CleanUpStep, caption: Caption, line: int
) -> Frame:
    """The graph after a step of the trace, with the edges that the step added and removed."""
    change, after = change_of(step, m.cast), m.replays.after(place.step)
    gone = ends_of(change.removed) - {*m.shown(after)}
    edges = drawn(after, marks=all_marked(change.added, "added")) + drawn(change.removed, "removed")
    nodes = tuple(sorted({*m.shown(after), *gone}))
    return Frame(place, caption, line, nodes, edges, sketched=frozenset(gone))


def _merged_caption(m: Material, step: CleanUpStep) -> Caption:
    """Relaxed grouping contracts once more at the end."""
    gone = m.names([m.cast.number[merged.removed] for merged in step.contractions])
    caption = say(
        "In the whole graph, {edges} shorter than the [limit] of {tau:.3g}, so {names} "
        "{is_are} [contracted|contract].",
        edges=counted(len(gone), "edge is", "edges are"), tau=m.result.settings.shortest_edge,
        names=gone, is_are="is" if len(gone) == 1 else "are",
    )  # fmt: skip
    if not step.removed_nodes:
        return caption
    return caption + say(
        "{n} fewer than three edges and {is_are} bridged or dropped.",
        n=_hidden_have(len(step.removed_nodes)),
        is_are="is" if len(step.removed_nodes) == 1 else "are",
    )


def _hidden_have(number: int) -> Caption:
    return counted(number, "[hidden] node has", "[hidden] nodes have")


def _sketch_frame(
    visit: Visit,
    place: Place,
    caption: Caption,
    line: int,
    sketch: Mapping[EdgeKey, float] = MappingProxyType({}),
    new: Iterable[EdgeKey] = (),
    gone: EdgeKey | None = None,
) -> Frame:
    """The graph before the visit, overlaid with the local tree built so far."""
    before = visit.before
    marks = all_marked(new, "sketch-new") | all_marked([gone] if gone else [], "sketch-gone")
    in_graph = {*visit.m.shown(before)}
    sketched = ends_of(sketch) - in_graph
    legend = SKETCH if gone is None else {"sketch-gone": "contracted", **SKETCH}
    return Frame(
        place, caption, line, tuple(sorted(in_graph | sketched)),
        drawn(before) + drawn(sketch, "sketch", marks),
        focus=frozenset({*visit.members, *sketched}), centre=visit.node,
        sketched=frozenset(sketched), shade=visit.shade,
        legend=legend if sketch else {"kept": "graph"},
    )  # fmt: skip


def _look_caption(visit: Visit) -> Caption:
    m, members = visit.m, visit.members
    others = tuple(node for node in members if node != visit.node)
    hidden = sum(visit.step.hidden)
    caption = say(
        "Visit {t} of {T}: {v} and its {k}, {names}, form the [neighbourhood] A.",
        t=visit.number, T=m.result.n_visits, v=m.name(visit.node),
        k=counted(len(others), "neighbour"), names=m.names(others),
    )  # fmt: skip
    if hidden:
        caption += counted(hidden, "of them is [hidden].", "of them are [hidden].")
    if hidden and visit.step.surrogates:
        caption += _surrogates_caption(visit)
    if len(members) == 3 and m.result.settings.method == "quartet":
        caption += say("Three nodes have no [quartet], so no pair is separated.")
    return caption


def _join_caption(visit: Visit, join: Join | Family, part: int) -> Caption:
    if isinstance(join, Family):
        return _family_caption(visit, join)
    if join.q is not None:
        return _neighbors_caption(visit, join, part)
    m, tests = visit.m, visit.declared_quartets(part)
    i, j, h = (m.name(m.cast.number[node]) for node in (join.left, join.right, join.hidden))
    if tests is not None and tests.together:
        word = (
            "[quartet test] supports"
            if tests.together == 1
            else "[quartet tests|quartet test] support"
        )
        why = say("{n} " + word + " the pair, none separates it.", n=tests.together)
    elif join.supported:
        why = say("A [quartet test] supports the pair, none separates it.")
    else:
        why = say("No [quartet test] separates them; of such pairs they are the closest.")
    return say(
        "{i} and {j} become [siblings] under {h}{temporary}. {why} Their distance {d:.3f} is "
        "divided: {left:.3f} from {i} to {h}, {right:.3f} from {j}.",
        i=i, j=j, h=h, temporary=_temporary(visit, join), why=why,
        d=join.left_length + join.right_length, left=join.left_length, right=join.right_length,
    )  # fmt: skip


def _temporary(visit: Visit, join: Join | Family) -> Caption | str:
    stays = visit.m.cast.number[join.parent] < visit.m.result.graph.n_nodes
    return "" if stays else say(" ([temporary])")


def _rest_caption(visit: Visit) -> Caption:
    m, step = visit.m, visit.step
    if m.result.settings.method != "quartet":
        return _other_rest_caption(visit)
    left = m.names([m.cast.number[node] for node in visit.active(len(step.joins))])
    if step.stuck:
        return say(
            "[Stuck|stuck]: every pair of the {k} remaining nodes, {names}, is separated by a "
            "[quartet test]. Their [minimum spanning tree] connects them by {edges}.",
            k=len(left), names=left, edges=counted(len(step.rest), "edge"),
        )  # fmt: skip
    if not step.rest:
        return say("The last two nodes, {names}, are infinitely far apart and not connected.",
                   names=left)  # fmt: skip
    return say(
        "The last two nodes, {names}, are connected by an edge of length {d:.3f}. The [local tree] "
        "is complete.", names=left, d=step.rest[0].length,
    )  # fmt: skip


def _replace_caption(visit: Visit) -> Caption:
    m, change = visit.m, change_of(visit.step, visit.m.cast)
    after = m.replays.after(visit.at)
    hidden = len(m.shown(after)) - m.cast.n_observed
    if not change.added and not change.removed:
        same = "only lengths change" if change.relengthened else "the graph does not change"
        return say("The [local tree] has the same edges as before: {same}.", same=same)
    return say(
        "In the graph, {removed} removed and {added} added. It now has {edges} and {hidden}.",
        removed=counted(len(change.removed), "edge is", "edges are"), added=len(change.added),
        edges=counted(len(after), "edge"), hidden=counted(hidden, "hidden node"),
    )  # fmt: skip


def _visit_caption(visit: Visit) -> Caption:
    """A summary of the visit, without its changes to the graph."""
    m, step = visit.m, visit.step
    family = ("family", "families") if m.result.settings.method == "relaxed" else ("join", "joins")
    caption = say(
        "Visit {t} of {T}, at {v}: the {k} nodes of A are grouped by {joins} and {contractions}.",
        t=visit.number, T=m.result.n_visits, v=m.name(visit.node), k=len(step.neighbourhood),
        joins=counted(len(step.joins), *family),
        contractions=counted(len(step.contractions), "contraction"),
    )  # fmt: skip
    if step.stuck:
        caption += say("Then no further pair could be joined ([stuck]).")
    return caption


@dataclass(frozen=True, slots=True)
class Guesses:
    """A question, its options and the right answer."""

    question: Caption
    options: tuple[str, ...]
    answer: str


def guesses(m: Material, place: Place) -> Guesses:
    """Ask which pair is joined at a step, or which node is the parent of a family."""
    visit = Visit.of(m, place)
    join = visit.step.joins[place.part - 1]
    if isinstance(join, Family):
        return _parents(visit, join)
    return _pairs(visit, join, place.part - 1)


def _parents(visit: Visit, family: Family) -> Guesses:
    members = sorted((*family.children, *(() if family.is_new else (family.parent,))))
    question = say(
        "{members} are the next [family]. Which node becomes its [parent]? Guess, then reveal.",
        members=visit.names(members),
    )
    near = [family.candidate, *(member for member in members if member != family.candidate)]
    names = sorted(visit.name(member).text for member in near[: MAX_PAIRS - 1])
    answer = NEW if family.is_new else visit.name(family.parent).text
    return Guesses(question, (*dict.fromkeys(names), NEW), answer)


def _pairs(visit: Visit, join: Join, before: int) -> Guesses:
    every = combinations(visit.active(before), 2)
    few = sorted(every, key=lambda pair: (_apart(visit, before, *pair), pair))[:MAX_PAIRS]
    if {*join.children} not in map(set, few):
        few[-1] = (join.left, join.right)
    names = sorted(_name(visit.m, *pair) for pair in few)
    word = "[siblings]" if join.q is None else "neighbours under one new node"
    question = say(f"Which two nodes of A become {word} next? Guess, then reveal.")
    return Guesses(question, tuple(names), _name(visit.m, join.left, join.right))


def _name(m: Material, u: int, v: int) -> str:
    a, b = sorted((m.cast.number[u], m.cast.number[v]))
    return f"{m.name(a).text} – {m.name(b).text}"


def _apart(visit: Visit, joins: int, u: int, v: int) -> float:
    """Distance of the closest leaves under two nodes."""
    left, right = sorted(visit.leaves_under(u, joins)), sorted(visit.leaves_under(v, joins))
    return float(visit.step.distances[left][:, right].min())


# Relaxed grouping and neighbor joining -----------------------------------------------------


def _surrogates_caption(visit: Visit) -> Caption:
    step, m = visit.step, visit.m
    hidden = [k for k, is_hidden in enumerate(step.hidden) if is_hidden]
    named = [
        say("{column} for {h} (distance {gap:.3f})", column=m.name(step.surrogates[k]),
            h=visit.name(step.neighbourhood[k]), gap=step.gaps[k])
        for k in hidden[:MAX_SURROGATES]
    ]  # fmt: skip
    more = len(hidden) - len(named)
    return say(
        "{it_is} represented by a [surrogate]: {named}{more}.",
        it_is="It is" if len(hidden) == 1 else "Each is", named=joined(named),
        more=say(" and {n} more", n=more) if more else "",
    )  # fmt: skip


def _round_caption(visit: Visit, place: Place) -> Caption:
    found = visit.step.rounds[place.part - 1]
    caption = say(
        "Round {t}: {n} active nodes. {spreads}",
        t=place.part, n=len(found.active), spreads=_spreads(visit, found),
    )  # fmt: skip
    if found.silhouette is None:
        return caption + say("Three nodes always form one [family].")
    if math.isinf(found.least):
        return caption + say("All spreads are zero: all nodes form one [family].")
    if len(found.families) == 1:
        return caption + say(
            "No split exceeds the required mean [silhouette], {least:.3f}; the best has "
            "{best:.3f}. All form one [family].", least=found.least, best=found.silhouette,
        )  # fmt: skip
    alone = sum(len(family) == 1 for family in found.families)
    single = say(", {n} of them single nodes", n=alone) if alone else ""
    return caption + say(
        "The best split, into {k} [families|family]{single}, has mean [silhouette] {best:.3f}, "
        "above {least:.3f}.",
        k=len(found.families), single=single, best=found.silhouette, least=found.least,
    )  # fmt: skip


def _spreads(visit: Visit, found: Round) -> Caption:
    rows, columns = np.triu_indices(len(found.active), 1)
    values = found.spreads[rows, columns]
    low, high = int(values.argmin()), int(values.argmax())

    def pair(at: int) -> Caption:
        i, j = found.active[rows[at]], found.active[columns[at]]
        return say("{i} and {j}", i=visit.name(i), j=visit.name(j))

    if values[low] == values[high]:
        return say("All pairs have [spread] {s:.3f}.", s=float(values[low]))
    return say(
        "{near} have the smallest [spread], {low:.3f}; {apart} the largest, {high:.3f}.",
        near=pair(low), low=float(values[low]), apart=pair(high), high=float(values[high]),
    )  # fmt: skip


def _family_caption(visit: Visit, family: Family) -> Caption:
    children = visit.names(family.children)
    fit = {"misfit": family.misfit, "limit": family.limit}
    if family.is_new:
        caption = say(
            "{children} form a [family]. The best candidate for [parent] among them, {best}, has "
            "misfit {misfit:.3f}, not below {limit:.3f}: a new hidden node, {h}{temporary}, is the "
            "parent.",
            children=children, best=visit.name(family.candidate), h=visit.name(family.parent),
            temporary=_temporary(visit, family), **fit,
        )  # fmt: skip
    else:
        caption = say(
            "{p} is the [parent] of {children}: its misfit is {misfit:.3f}, below {limit:.3f}. "
            "{p} now represents them.",
            p=visit.name(family.parent), children=children, **fit,
        )  # fmt: skip
    return caption + _lengths(visit, family)


def _lengths(visit: Visit, family: Family) -> Caption:
    parent = visit.name(family.parent)
    if len(family.children) > MAX_LENGTHS:
        return say(
            "The edges to {p} have lengths from {low:.3f} to {high:.3f}.",
            p=parent, low=min(family.lengths), high=max(family.lengths),
        )  # fmt: skip
    named = [
        say("{d:.3f} to {child}", d=length, child=visit.name(child))
        for child, length in zip(family.children, family.lengths, strict=True)
    ]
    return say("Edge lengths from {p}: {named}.", p=parent, named=joined(named))


def _neighbors_caption(visit: Visit, join: Join, part: int) -> Caption:
    left = len(visit.active(part - 1))
    return say(
        "Of the {pairs} of active nodes, {i} and {j} have the smallest [Q], {q:.3f}. They are "
        "joined under {h}{temporary}. Their distance {d:.3f} is divided: {left:.3f} from {i} to "
        "{h}, {right:.3f} from {j}.",
        pairs=counted(left * (left - 1) // 2, "pair"), q=join.q, temporary=_temporary(visit, join),
        i=visit.name(join.left), j=visit.name(join.right), h=visit.name(join.hidden),
        d=join.left_length + join.right_length, left=join.left_length, right=join.right_length,
    )  # fmt: skip


def _other_rest_caption(visit: Visit) -> Caption:
    step = visit.step
    twins = [edge for edge in step.rest if _is_twin(visit, edge.u, edge.v)]
    shared = {edge.v for edge in twins}
    left = [node for node in visit.active(len(step.joins)) if node not in shared]
    edges = [edge for edge in step.rest if edge not in twins]
    if edges:
        caption = say(
            "The last two nodes, {names}, are connected by an edge of length {d:.3f}. The [local "
            "tree] is complete.", names=visit.names(left), d=edges[0].length,
        )  # fmt: skip
    else:
        caption = say("One node is left, {names}. The [local tree] is complete.",
                      names=visit.names(left))  # fmt: skip
    for edge in twins:
        caption += say(
            "{u} and {v} have the same [surrogate], so their distance is {zero}.",
            u=visit.name(edge.u), v=visit.name(edge.v), zero=0,
        )  # fmt: skip
    return caption


def _is_twin(visit: Visit, u: int, v: int) -> bool:
    column = dict(zip(visit.step.neighbourhood, visit.step.surrogates, strict=False))
    return u in column and column[u] == column.get(v)


def _in_visit(frame: Callable[[Visit, Place], Frame]) -> Callable[[Material, Place], Frame]:
    return lambda m, place: frame(Visit.of(m, place), place)


GROUPING_FRAMES: Mapping[Phase, Callable[[Material, Place], Frame]] = {
    "order": order_frame, "look": _in_visit(look_frame), "quartets": _in_visit(quartets_frame),
    "round": _in_visit(round_frame), "join": _in_visit(join_frame), "rest": _in_visit(rest_frame),
    "contract": _in_visit(contract_frame), "replace": _in_visit(replace_frame),
    "cleanup": cleanup_frame,
}  # fmt: skip
