"""What is said of a visit by relaxed grouping or by neighbor joining."""

from __future__ import annotations

import math

import numpy as np

from loopylatent.learning.trace import Family, Join, Round
from loopylatent.lesson.captions import Caption, counted, joined, say
from loopylatent.lesson.frames import Place
from loopylatent.lesson.visits import Visit

MOST_LENGTHS = 4
"""Children whose lengths a caption names one by one."""
MOST_STAND_INS = 3


def stand_ins_caption(visit: Visit) -> Caption:
    """Which columns stand for the hidden nodes of A."""
    step, m = visit.step, visit.m
    hidden = [k for k, is_hidden in enumerate(step.hidden) if is_hidden]
    named = [
        say(
            "{column} for {h} ({gap:.3f} apart)",
            column=m.name(step.surrogates[k]),
            h=visit.name(step.neighbourhood[k]),
            gap=step.gaps[k],
        )
        for k in hidden[:MOST_STAND_INS]
    ]
    more = len(hidden) - len(named)
    return say(
        "A [stand-in] takes {place}: {named}{more}.",
        place="its place" if len(hidden) == 1 else "the place of each", named=joined(named),
        more=say(" and {n} more", n=more) if more else "",
    )  # fmt: skip


def round_caption(visit: Visit, place: Place) -> Caption:
    """How the nodes that are left were split."""
    found = visit.step.rounds[place.part - 1]
    caption = say(
        "Round {t}: {n} nodes are left. {spreads}",
        t=place.part, n=len(found.active), spreads=_spreads(visit, found),
    )  # fmt: skip
    if found.silhouette is None:
        return caption + say("Three nodes are always one [family].")
    if math.isinf(found.least):
        return caption + say("Nothing tells them apart: all are one [family].")
    if len(found.families) == 1:
        return caption + say(
            "No split reaches the mean [silhouette] that counts, {least:.3f}; the best has "
            "{best:.3f}. All are one [family].", least=found.least, best=found.silhouette,
        )  # fmt: skip
    alone = sum(len(family) == 1 for family in found.families)
    single = say(", {n} of them single nodes", n=alone) if alone else ""
    return caption + say(
        "The best split, into {k} [families|family]{single}, has the mean [silhouette] {best:.3f}, "
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
        return say("Every pair has the [spread] {s:.3f}.", s=float(values[low]))
    return say(
        "Of all pairs {near} have the smallest [spread], {low:.3f}; {apart} the largest, "
        "{high:.3f}.",
        near=pair(low), low=float(values[low]), apart=pair(high), high=float(values[high]),
    )  # fmt: skip


def family_caption(visit: Visit, family: Family, passing: Caption | str) -> Caption:
    """Who became the parent of a family, and why."""
    children = visit.names(family.children)
    fit = {"misfit": family.misfit, "limit": family.limit}
    if family.is_new:
        caption = say(
            "{children} are a [family]. The best [parent] among them, {best}, misses by "
            "{misfit:.3f}, not below {limit:.3f}: a new hidden node, {h}{passing}, is their "
            "parent.",
            children=children, best=visit.name(family.candidate), h=visit.name(family.parent),
            passing=passing, **fit,
        )  # fmt: skip
    else:
        caption = say(
            "{p} is the [parent] of {children}: it misses by {misfit:.3f}, below {limit:.3f}. "
            "From now on {p} stands for them.",
            p=visit.name(family.parent), children=children, **fit,
        )  # fmt: skip
    return caption + _lengths(visit, family)


def _lengths(visit: Visit, family: Family) -> Caption:
    parent = visit.name(family.parent)
    if len(family.children) > MOST_LENGTHS:
        return say(
            "The edges to {p} are {low:.3f} to {high:.3f} long.",
            p=parent, low=min(family.lengths), high=max(family.lengths),
        )  # fmt: skip
    named = [
        say("{d:.3f} to {child}", d=length, child=visit.name(child))
        for child, length in zip(family.children, family.lengths, strict=True)
    ]
    return say("From {p} it is {named}.", p=parent, named=joined(named))


def neighbors_caption(visit: Visit, join: Join, part: int, passing: Caption | str) -> Caption:
    """Which pair had the smallest Q."""
    left = len(visit.active(part - 1))
    return say(
        "Of the {pairs} of nodes that are left, {i} and {j} have the smallest [Q], {q:.3f}. They "
        "are joined under {h}{passing}; the {d:.3f} between them are shared out: {left:.3f} from "
        "{i} to {h}, {right:.3f} from {j}.",
        pairs=counted(left * (left - 1) // 2, "pair"), q=join.q, passing=passing,
        i=visit.name(join.left), j=visit.name(join.right), h=visit.name(join.hidden),
        d=join.left_length + join.right_length, left=join.left_length, right=join.right_length,
    )  # fmt: skip


def rest_caption(visit: Visit) -> Caption:
    """What connects the nodes that are left."""
    step = visit.step
    twins = [edge for edge in step.rest if _is_twin(visit, edge.u, edge.v)]
    shared = {edge.v for edge in twins}
    left = [node for node in visit.active(len(step.joins)) if node not in shared]
    edges = [edge for edge in step.rest if edge not in twins]
    if edges:
        caption = say(
            "Two nodes are left, {names}. An edge of length {d:.3f} connects them, and the local "
            "tree is complete.", names=visit.names(left), d=edges[0].length,
        )  # fmt: skip
    else:
        caption = say("One node is left, {names}, and the local tree is complete.",
                      names=visit.names(left))  # fmt: skip
    for edge in twins:
        caption += say(
            "{u} and {v} have one [stand-in] and so the distance {zero}.",
            u=visit.name(edge.u), v=visit.name(edge.v), zero=0,
        )  # fmt: skip
    return caption


def _is_twin(visit: Visit, u: int, v: int) -> bool:
    """Whether two nodes of A are represented by the same column."""
    column = dict(zip(visit.step.neighbourhood, visit.step.surrogates, strict=False))
    return u in column and v in column and column[u] == column[v]
