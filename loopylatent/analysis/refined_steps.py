"""The steps of a refinement: labels that stay, what changed, tables of moves and evidence."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pandas as pd

from loopylatent.compute.values import IntArray, frozen_array
from loopylatent.graph import LatentGraph
from loopylatent.learning.part_evidence import Evidence, PartKind
from loopylatent.learning.refinement import RefinedStep, Refinement
from loopylatent.tables.files import name_to_csv

PARTS: Mapping[PartKind, str] = {"edge": "edge", "hidden": "hidden node", "cycle": "cycle"}
SHORT_CYCLE = 5
"""Edges of a cycle up to which the search is known to fail at times."""
WITHOUT, SUPPORTED = "best graph without it", "supported by likelihood"


def hidden_labels(found: Refinement) -> dict[int, str]:
    """Return the label of every hidden node of any step, by its number; moves use the same ones.

    Nodes of the final graph have its labels, those that are gone have higher numbers.
    """
    p, final = found.graph.n_observed, found.steps[-1].hidden_ids
    last = max((node for step in found.steps for node in step.hidden_ids), default=p - 1)
    ids = [*final, *(node for node in range(p, last + 1) if node not in set(final))]
    blank = LatentGraph.build(found.graph.names, len(ids), [])
    return dict(zip(ids, blank.labels[p:], strict=True))


def labels_by_id(names: Sequence[str], hidden_ids: Sequence[int]) -> dict[int, str]:
    """Return labels of hidden nodes by their number alone, as in the graph of the start."""
    p = len(names)
    blank = LatentGraph.build(names, max(hidden_ids, default=p - 1) + 1 - p, [])
    return {node: blank.labels[node] for node in hidden_ids}


def with_names(found: Refinement, names: Mapping[str, str]) -> Refinement:
    """Put names for labels of hidden nodes into the words of moves and evidence.

    A label that also occurs as a word in the name of a column stays.
    """
    columns = " ".join(found.graph.names)
    known = [one for one in names if not _as_word([one]).search(columns)]
    if not known:
        return found
    pattern = _as_word(known)

    def told(words: str) -> str:
        return pattern.sub(lambda match: names[match[0]], words)

    return replace(
        found,
        steps=tuple(replace(one, words=told(one.words)) for one in found.steps),
        moves=tuple(replace(one, words=told(one.words)) for one in found.moves),
        evidence=found.evidence
        and tuple(replace(one, without=told(one.without)) for one in found.evidence),
    )


def _as_word(labels: Sequence[str]) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, labels))})(?!\w)")


def gains(found: Refinement) -> tuple[float, ...]:
    """Return how much each move that was taken raised the score."""
    scores = found.score_history
    return tuple(after - before for before, after in pairwise(scores))


@dataclass(frozen=True, slots=True, eq=False)
class StepChanges:
    """The union of two steps with the status of each edge and hidden node."""

    graph: LatentGraph
    """The nodes of the later step, then the hidden nodes that only the earlier one has."""
    hidden_ids: tuple[int, ...]
    edges: IntArray
    """(edges,) -1 removed, 0 kept, 1 added."""
    hidden: IntArray
    """(hidden nodes,) the same."""


def changes_from(learned: LatentGraph, after: RefinedStep) -> StepChanges:
    """Return what moves changed in the graph they began with, whose nodes keep their numbers."""
    before = tuple(learned.hidden_nodes)
    gone = tuple(node for node in before if node not in set(after.hidden_ids))
    ids = (*after.hidden_ids, *gone)
    start = _lengths(learned, before, ids)
    end = _lengths(after.graph, after.hidden_ids, ids)
    edges = start | end
    both = LatentGraph.build(after.graph.names, len(ids), edges, edges.values())
    status = [(edge in end) - (edge in start) for edge in map(tuple, both.edges.tolist())]
    new = [(one in after.hidden_ids) - (one in before) for one in ids]
    return StepChanges(both, ids, frozen_array(status, np.int64), frozen_array(new, np.int64))


def _lengths(
    graph: LatentGraph, own: Sequence[int], ids: Sequence[int]
) -> dict[tuple[int, int], float]:
    """Return the edges of a graph, whose hidden nodes are ``own``, in the numbers of a union."""
    p = graph.n_observed
    place = {node: p + k for k, node in enumerate(ids)}
    here = [*range(p), *(place[node] for node in own)]
    ends = [sorted((here[u], here[v])) for u, v in graph.edges.tolist()]
    pairs = [(u, v) for u, v in ends]
    return dict(zip(pairs, graph.lengths.tolist(), strict=True))


def move_frame(found: Refinement) -> pd.DataFrame:
    """Return a row for each move that was taken: its number, its words, its gain, the score."""
    rows = zip(found.steps[1:], gains(found), strict=True)
    taken = [(k, step.words, gain, step.score) for k, (step, gain) in enumerate(rows, start=1)]
    return pd.DataFrame(taken, columns=["move", "change", "gain", "score"])


def move_csv(found: Refinement) -> str:
    """Return every move that was tried as CSV, safe in spreadsheets."""
    rows = [
        (one.round, one.kind, name_to_csv(one.words), one.gain, one.taken) for one in found.moves
    ]
    heads = ["round", "kind", "change", "gain", "taken"]
    return pd.DataFrame(rows, columns=heads).to_csv(index=False)


def evidence_frame(
    evidence: Sequence[Evidence], labels: Sequence[str], node: int | None = None
) -> pd.DataFrame:
    """Return a row for each part, or for those at a node, the strongest evidence first."""
    rows = [
        (PARTS[one.part], part_name(one, labels), one.nats, one.without, one.supported)
        for one in sorted(evidence, key=lambda one: -one.nats)
        if node is None or node in one.nodes
    ]
    return pd.DataFrame(rows, columns=["part", "nodes", "nats", WITHOUT, SUPPORTED])


def evidence_csv(evidence: Sequence[Evidence], labels: Sequence[str]) -> str:
    """Return the evidence as CSV, safe in spreadsheets."""
    frame = evidence_frame(evidence, labels)
    for column in ("nodes", WITHOUT):
        frame[column] = [name_to_csv(text) for text in frame[column]]
    return frame.to_csv(index=False)


def part_name(one: Evidence, labels: Sequence[str]) -> str:
    """Name the nodes of a part."""
    return " – ".join(labels[node] for node in one.nodes)


def supported_line(evidence: Sequence[Evidence]) -> str:
    """Count the parts that are supported.

    Examples
    --------
    >>> supported_line([Evidence("edge", (0, 1), 7.0, "", supported=True)])
    '1 of 1 edge'
    """
    every = Counter(one.part for one in evidence)
    good = Counter(one.part for one in evidence if one.supported)
    counts = [
        f"{good[part]} of {every[part]} {name}{'s' * (every[part] > 1)}"
        for part, name in PARTS.items()
        if every[part]
    ]
    return " and ".join([", ".join(counts[:-1]), counts[-1]]) if len(counts) > 1 else counts[0]


def has_short_cycles(graph: LatentGraph) -> bool:
    """Whether a cycle is so short that the search is known to fail at times."""
    return not math.isinf(graph.girth) and graph.girth <= SHORT_CYCLE
