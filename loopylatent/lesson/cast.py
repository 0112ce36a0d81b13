"""Nodes of a lesson (number, label, position), captions, and the graph after each step.

Nodes of the learned graph keep their numbers. Temporary hidden nodes follow, then hidden nodes of
the true graph without a counterpart, then those that refinement creates.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from importlib.resources import files
from string import Formatter
from typing import Any, Literal

import numpy as np

from loopylatent.analysis.matching import match_hidden
from loopylatent.compute.values import FloatArray
from loopylatent.errors import DataError
from loopylatent.figures.layout import labels_above, shown_label
from loopylatent.graph import LatentGraph
from loopylatent.learning.learner import LearnResult
from loopylatent.learning.refinement import Refinement
from loopylatent.learning.trace import CleanUpStep, Edge, Family, InitialStep, Join, Step, VisitStep
from loopylatent.settings import Method
from loopylatent.tables.files import free_name

WORDS = tomllib.loads((files("loopylatent.lesson") / "words.toml").read_text(encoding="utf-8"))
GLOSSARY: Mapping[str, str] = WORDS["glossary"]
MOST_NAMES = 6

_TERM = re.compile(r"\[([^\]]+)\]")


@dataclass(frozen=True, slots=True)
class Text:
    """A part of a caption."""

    text: str


@dataclass(frozen=True, slots=True)
class Term(Text):
    """A term that the glossary explains."""

    key: str


class Name(Text):
    """The name of a node. It comes from the data, so it is never parsed as markup."""


@dataclass(frozen=True, slots=True)
class Number(Text):
    """A number and its formatted text."""

    value: float


@dataclass(frozen=True, slots=True)
class Caption:
    """A sentence or two about one step."""

    parts: tuple[Text, ...]

    def __str__(self) -> str:
        return "".join(part.text for part in self.parts)

    def __add__(self, other: Caption) -> Caption:
        return Caption((*self.parts, Text(" "), *other.parts))

    @property
    def numbers(self) -> tuple[Number, ...]:
        return tuple(part for part in self.parts if isinstance(part, Number))


def say(template: str, **values: Any) -> Caption:
    """Fill a template: terms in brackets; in braces numbers, names, lists of names, captions.

    Examples
    --------
    >>> caption = say("The [ball] of {v} contains {k} columns.", v=Name("a"), k=3)
    >>> str(caption)
    'The ball of a contains 3 columns.'
    >>> caption.numbers
    (Number(text='3', value=3.0),)
    """
    parts: list[Text] = []
    for words, value, spec, _ in Formatter().parse(template):
        for k, part in enumerate(_TERM.split(words)):
            shown, _, key = part.partition("|")
            if part:
                parts.append(Term(shown, key or shown) if k % 2 else Text(part))
        if value is not None:
            parts += _shown(values[value], spec or "")
    return Caption(tuple(parts))


def _shown(value: Any, spec: str) -> Sequence[Text]:
    if isinstance(value, Name):
        return [value]
    if isinstance(value, Caption):
        return value.parts
    if isinstance(value, str):
        return [Text(value)]
    if isinstance(value, Sequence):
        return _listed(value)
    text = format(value, spec or ("," if isinstance(value, int) else "g"))
    return [Number(re.sub("^-", "−", text), float(value))]


def _listed(names: Sequence[Name]) -> list[Text]:
    """Write "a, b and c", or the first few and how many more there are."""
    shown = names if len(names) <= MOST_NAMES else names[: MOST_NAMES - 1]
    more = len(names) - len(shown)
    parts: list[Text] = []
    for name in shown:
        parts += [Text(", "), name] if parts else [name]
    if more:
        return [*parts, Text(" and "), Number(str(more), more), Text(" more")]
    if len(shown) > 1:
        parts[-2] = Text(" and ")
    return parts


def joined(captions: Sequence[Caption]) -> Caption:
    """Concatenate captions, separated by commas."""
    parts = [part for caption in captions for part in (Text(", "), *caption.parts)]
    return Caption(tuple(parts[1:]))


def counted(number: int, thing: str, things: str | None = None) -> Caption:
    """Write a number with its noun: 1 edge, 2 edges."""
    return say("{n} " + (thing if number == 1 else things or f"{thing}s"), n=number)


def caption_html(caption: Caption) -> str:
    """Return HTML with names and numbers in bold and terms with their definition."""
    return "".join(_part_html(part) for part in caption.parts)


def _part_html(part: Text) -> str:
    text = escape(part.text)
    if isinstance(part, (Name, Number)):
        return f'<b class="{type(part).__name__.lower()}">{text}</b>'
    if isinstance(part, Term):
        meaning = escape(GLOSSARY[part.key])
        return f'<span class="term" tabindex="0" data-meaning="{meaning}">{text}</span>'
    return text


@dataclass(frozen=True, slots=True)
class CodeLine:
    """One line of pseudocode with its explanation."""

    indent: int
    text: str
    meaning: str


Code = Method | Literal["refinement"]


def pseudocode(of: Code) -> tuple[CodeLine, ...]:
    """Return the fifteen lines of a method, or the lines of refinement.

    Methods differ in how a neighbourhood is grouped.
    """
    lines = WORDS["pseudocode"][of]
    if of != "refinement":
        lines = WORDS["pseudocode"]["quartet"] | lines
    return tuple(CodeLine(*line) for line in lines.values())


def code_html(line: int, of: Code = "quartet") -> str:
    """Write the pseudocode with one line marked, counted from 1."""
    rows = ""
    for number, code in enumerate(pseudocode(of), start=1):
        here, current = (" here", ' aria-current="step"') if number == line else ("", "")
        rows += (
            f'<li class="indent{code.indent}{here}" title="{escape(code.meaning)}"{current}>'
            f"{escape(code.text)}</li>"
        )
    return f'<ol class="code">{rows}</ol>'


EdgeKey = tuple[int, int]

APART = 34.0
"""Minimum distance, in pixels, of a temporary node from other nodes."""
FAR_APART = 56.0
"""The same in the chapter on refinement, where such a node stays, with edges to its neighbours."""
CLEAR = 20.0
"""Distance, in pixels, of its edges from other nodes, if possible."""
MIN_COSINE = 0.5
"""Smallest cosine at which a hidden node of the true graph is matched to a learned one."""


@dataclass(frozen=True, eq=False)
class Cast:
    """All nodes of a lesson."""

    n_observed: int
    number: Mapping[int, int]
    """From the learner's working numbers to node numbers of the lesson."""
    labels: tuple[str, ...]
    places: FloatArray = field(repr=False)
    """(nodes, 2) pixels, the same in every step."""
    above: frozenset[int]
    """Nodes with the label above, in every step."""
    truth: LatentGraph | None
    truth_number: tuple[int, ...]
    """For each node of the true graph, its number in the lesson."""
    refined_number: Mapping[int, int] = field(default_factory=dict)
    """From the numbers that nodes keep during refinement to node numbers of the lesson."""
    refined_truth_number: tuple[int, ...] = ()
    """As ``truth_number``, by the best matching with the refined graph."""

    @property
    def n_nodes(self) -> int:
        return len(self.labels)

    @cached_property
    def short_labels(self) -> tuple[str, ...]:
        """Labels shortened to fit under a node."""
        return tuple(shown_label(label) for label in self.labels)

    def is_hidden(self, node: int) -> bool:
        return node >= self.n_observed

    def key(self, u: int, v: int) -> EdgeKey:
        """Return the edge between two working numbers as node numbers of the lesson."""
        a, b = self.number[u], self.number[v]
        return (a, b) if a < b else (b, a)

    @cached_property
    def truth_edges(self) -> dict[EdgeKey, float]:
        """Edges of the true graph, in node numbers of the lesson."""
        return self._edges_of_truth(self.truth_number)

    @cached_property
    def refined_truth_edges(self) -> dict[EdgeKey, float]:
        """The same edges, by the matching with the refined graph."""
        return self._edges_of_truth(self.refined_truth_number)

    def _edges_of_truth(self, number: Sequence[int]) -> dict[EdgeKey, float]:
        if self.truth is None:
            return {}
        pairs = ((number[u], number[v]) for u, v in self.truth.edges.tolist())
        keys = ((min(pair), max(pair)) for pair in pairs)
        return dict(zip(keys, self.truth.lengths.tolist(), strict=True))


def cast_of(
    result: LearnResult,
    places: FloatArray,
    truth: LatentGraph | None = None,
    hidden_names: Mapping[int, str] | None = None,
    refinement: Refinement | None = None,
) -> Cast:
    """Number, label and position every node of a traced result."""
    trace = checked_trace(result)
    graph = result.graph
    if places.shape != (graph.n_nodes, 2):
        raise DataError(
            f"places has shape {places.shape}, but the graph needs ({graph.n_nodes}, 2)."
        )
    temporary = _temporary_nodes(trace)
    last = trace[-1]
    assert isinstance(last, CleanUpStep)
    hidden = [*last.hidden_ids, *(node.join.parent for node in temporary)]
    number = {node: at for at, node in enumerate([*range(graph.n_observed), *hidden])}
    labels = _labels(graph, hidden_names or {})
    edges = np.concatenate([graph.edges, result.initial_graph.edges])
    above = frozenset(np.flatnonzero(labels_above(places, edges, labels)).tolist())
    labels += _free_labels("t", len(number) - graph.n_nodes, labels)
    where = _Positions(places)
    for node in temporary:
        near = [number[child] for child in node.join.children]
        where.add(near, graph.n_nodes, [node.overlaps(other) for other in temporary])
    of_truth: tuple[int, ...] = ()
    if truth is not None and set(truth.names) != set(graph.names):
        truth = None
    if truth is not None:
        of_truth = _truth_numbers(graph, truth, len(labels))
        _place_missed(where, truth, of_truth)
        labels += _free_labels("true ", len(where) - len(labels), labels)
    cast = Cast(graph.n_observed, number, tuple(labels), where.places, above, truth, of_truth)
    return cast if refinement is None else _with_refinement(cast, graph, refinement)


def _place_missed(
    where: _Positions, truth: LatentGraph, of_truth: Sequence[int], apart: float = APART
) -> None:
    """Place the hidden nodes of the true graph that have no counterpart."""
    for missed in (node for node, at in enumerate(of_truth) if at >= len(where)):
        ends = (of_truth[end] for end in truth.neighbours(missed))
        where.add([end for end in ends if end < len(where)], apart=apart)


def _with_refinement(cast: Cast, learned: LatentGraph, found: Refinement) -> Cast:
    """Add the hidden nodes that refinement creates, and those of the true graph that it misses."""
    where, number = _Positions(cast.places), {node: node for node in range(learned.n_nodes)}
    n_unseen = cast.n_nodes - learned.n_nodes
    for step in found.steps:
        ids = (*range(learned.n_observed), *step.hidden_ids)
        for place, node in enumerate(ids):
            if node in number:
                continue
            near = [ids[end] for end in step.graph.neighbours(place)]
            new = [True] * (len(where) - cast.n_nodes)
            where.add(
                [number[end] for end in near if end in number],
                learned.n_nodes, [False] * n_unseen + new, FAR_APART,
            )  # fmt: skip
            number[node] = len(where) - 1
    n_new = len(where) - cast.n_nodes
    numbered = LatentGraph.build(learned.names, learned.n_hidden + n_new, []).labels
    labels = list(cast.labels)
    for label in numbered[learned.n_nodes :]:
        labels.append(free_name(label, set(labels)))
    of_truth: tuple[int, ...] = ()
    if cast.truth is not None:
        own = [number[node] for node in (*range(learned.n_observed), *found.steps[-1].hidden_ids)]
        matched = _truth_numbers(found.graph, cast.truth, len(own))
        of_truth = tuple(
            own[at] if at < len(own) else len(labels) + at - len(own) for at in matched
        )
        _place_missed(where, cast.truth, of_truth, FAR_APART)
        known = sum(at >= learned.n_nodes for at in cast.truth_number)
        for k in range(len(where) - len(labels)):
            labels.append(free_name(f"true {known + k + 1}", set(labels)))
    return replace(
        cast, labels=tuple(labels), places=where.places, refined_number=number,
        refined_truth_number=of_truth,
    )  # fmt: skip


def checked_trace(result: LearnResult) -> Sequence[Step]:
    """Return the trace of a result; raise if it has none."""
    if result.trace is None:
        raise DataError("This result has no trace. Learn the graph again and keep its trace.")
    return result.trace


@dataclass(frozen=True, slots=True)
class _Temporary:
    """A hidden node that is removed again, with the steps between which it exists."""

    join: Join | Family
    created: int
    removed: int

    def overlaps(self, other: _Temporary) -> bool:
        return self.created <= other.removed and other.created <= self.removed


def _temporary_nodes(trace: Sequence[Step]) -> tuple[_Temporary, ...]:
    """List the hidden nodes that are not in the learned graph, oldest first."""
    last = trace[-1]
    assert isinstance(last, CleanUpStep)
    visits = [(at, step) for at, step in enumerate(trace) if isinstance(step, VisitStep)]
    survivors = set(last.hidden_ids)
    gone = {merged.removed: at for at, step in visits for merged in step.contractions}
    return tuple(
        _Temporary(join, at, gone.get(join.parent, len(trace)))
        for at, step in visits
        for join in step.joins
        if join.is_new and join.parent not in survivors
    )


def _labels(graph: LatentGraph, names: Mapping[int, str]) -> list[str]:
    """Return unique labels: a hidden node whose name is taken gets its number appended."""
    labels, taken = list(graph.labels), set(graph.labels)
    for node in graph.hidden_nodes:
        name = names.get(node, labels[node])
        if name != labels[node]:
            numbered = free_name(f"{name} ({labels[node]})", taken)
            labels[node] = numbered if name in taken else name
            taken.add(labels[node])
    return labels


def _free_labels(word: str, count: int, taken: list[str]) -> list[str]:
    """Return t1, t2, ..., avoiding labels in use."""
    known = set(taken)
    while any(f"{word}{k + 1}" in known for k in range(count)):
        word = "_" + word
    return [f"{word}{k + 1}" for k in range(count)]


def _truth_numbers(graph: LatentGraph, truth: LatentGraph, free: int) -> tuple[int, ...]:
    """Match columns by name and hidden nodes by profile; number unmatched ones from ``free``."""
    column = {name: node for node, name in enumerate(graph.names)}
    pairs = match_hidden(truth, graph, threshold=MIN_COSINE).pairs
    known = {pair.left: pair.right for pair in pairs}
    numbers = [column[name] for name in truth.names]
    for node in truth.hidden_nodes:
        if node not in known:
            known[node] = free
            free += 1
        numbers.append(known[node])
    return tuple(numbers)


class _Positions:
    """Node positions; each added node is put near its neighbours."""

    def __init__(self, places: FloatArray) -> None:
        self._rows = [tuple(row) for row in np.asarray(places, dtype=np.float64).tolist()]

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def places(self) -> FloatArray:
        found = np.array(self._rows, dtype=np.float64).reshape(-1, 2)
        found.setflags(write=False)
        return found

    def add(
        self, near: list[int], always: int = 0, overlaps: list[bool] | None = None,
        apart: float = APART,
    ) -> None:  # fmt: skip
        """Place a node amid ``near``, clear of the first ``always`` nodes and those it overlaps."""
        everyone = np.array(self._rows)
        middle = everyone[near].mean(axis=0) if near else everyone.mean(axis=0)
        seen = np.ones(len(everyone), dtype=bool)
        if overlaps is not None:
            seen[always:] = overlaps[: len(everyone) - always]
        taken = everyone[seen]
        tries = _around(middle, everyone[near], apart)
        room = np.hypot(*(tries[:, None] - taken).transpose(2, 0, 1)).min(axis=1)
        free = np.flatnonzero(room >= apart)
        if apart > APART and len(free):  # of equal ones, the first
            free = free[[_crowding(tries[free], everyone[near], taken).argmin()]]
        best = int(free[0]) if len(free) else int(room.argmax())
        self._rows.append(tuple(tries[best].tolist()))


def _around(middle: FloatArray, near: FloatArray, apart: float) -> FloatArray:
    """Candidate positions: off the line between two nodes, then on rings around its middle."""
    turns = np.arange(12) * (np.pi / 6)
    ring = np.column_stack([np.cos(turns), np.sin(turns)])
    rings = [middle + apart * k * ring for k in (1, 1.6, 2.4)]
    if len(near) != 2:
        return np.concatenate([middle[None], *rings])
    along = near[1] - near[0]
    length = float(np.hypot(*along)) or 1.0
    aside = np.array([-along[1], along[0]]) / length * np.clip(0.3 * length, 20, 50)
    return np.concatenate([[middle + aside, middle - aside], *rings])


def _crowding(tries: FloatArray, ends: FloatArray, taken: FloatArray) -> FloatArray:
    """Count for each candidate the nodes that its edges to ``ends`` would run across."""
    found = np.zeros(len(tries))
    for end in ends:
        along = end - tries
        to_nodes = taken - tries[:, None]
        share = (to_nodes * along[:, None]).sum(axis=2) / (along**2).sum(axis=1)[:, None]
        foot = np.clip(share, 0, 1)[:, :, None] * along[:, None]
        is_other = np.abs(taken - end).sum(axis=1) > 0
        found += ((np.hypot(*(to_nodes - foot).transpose(2, 0, 1)) < CLEAR) & is_other).sum(axis=1)
    return found


SPACING = 16
"""Steps between two checkpoints."""


class Replays:
    """Edges of the graph after each step, in node numbers of the lesson."""

    def __init__(self, trace: Sequence[Step], cast: Cast) -> None:
        self._trace = trace
        self._cast = cast
        self._checkpoints: list[dict[EdgeKey, float]] = []
        edges: dict[EdgeKey, float] = {}
        for at, step in enumerate(trace):
            self._apply(edges, step)
            if at % SPACING == 0:
                self._checkpoints.append(dict(edges))

    def after(self, step: int) -> dict[EdgeKey, float]:
        """Return the edges after a step of the trace; none for a negative step."""
        if step < 0:
            return {}
        edges = dict(self._checkpoints[step // SPACING])
        for later in self._trace[step - step % SPACING + 1 : step + 1]:
            self._apply(edges, later)
        return edges

    def _apply(self, edges: dict[EdgeKey, float], step: Step) -> None:
        if isinstance(step, InitialStep):
            pairs = zip(step.graph.edges.tolist(), step.graph.lengths.tolist(), strict=True)
            edges.update({(u, v): length for (u, v), length in pairs})
            return
        for edge in step.removed:
            del edges[self._cast.key(edge.u, edge.v)]
        for edge in step.added:
            edges[self._cast.key(edge.u, edge.v)] = edge.length


@dataclass(frozen=True, slots=True)
class Change:
    """What a step did to the edges. An edge with only a new length counts as kept."""

    removed: dict[EdgeKey, float]
    added: dict[EdgeKey, float]
    relengthened: dict[EdgeKey, float]
    """Kept edges with their previous lengths."""


def change_of(step: VisitStep | CleanUpStep, cast: Cast) -> Change:
    """Return which edges a step removed, added, or gave another length."""
    gone, new = edge_lengths(step.removed, cast), edge_lengths(step.added, cast)
    return Change(
        {edge: length for edge, length in gone.items() if edge not in new},
        {edge: length for edge, length in new.items() if edge not in gone},
        {edge: length for edge, length in gone.items() if edge in new},
    )


def edge_lengths(edges: tuple[Edge, ...], cast: Cast) -> dict[EdgeKey, float]:
    """Return edges of the trace in node numbers of the lesson."""
    return {cast.key(edge.u, edge.v): edge.length for edge in edges}
