"""Recovery of synthetic models: how much of the true graph is learned, from how many rows.

Hidden nodes are matched as for the structure error, so all numbers refer to one matching.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import product
from typing import Any, Literal, get_args

import networkx as nx
import numpy as np
import pandas as pd

from loopylatent.analysis.matching import column_order
from loopylatent.analysis.structure_error import StructureError, structure_error
from loopylatent.compute.values import (
    Check,
    FloatArray,
    IntArray,
    Progress,
    Range,
    check_choice,
    frozen_array,
)
from loopylatent.compute.workers import as_they_finish
from loopylatent.distances.matrix import DistanceMatrix, information_distances
from loopylatent.errors import DataError, InferenceError, LoopyLatentError, ThresholdError
from loopylatent.graph import LatentGraph
from loopylatent.learning.initial_graph import default_thresholds, loop_radius
from loopylatent.learning.learner import LearnResult, learn
from loopylatent.settings import LearnSettings, Method, Thresholds
from loopylatent.synthetic.families import (
    LENGTHS,
    Drawing,
    cage,
    from_skeleton,
    hidden_by_chance,
    latent_cycle,
    latent_tree,
    read_edges,
    regular_skeleton,
)
from loopylatent.synthetic.model import Drawn, Kind, SyntheticModel

Family = Literal["ring", "tree", "cage", "regular", "edges"]
MOST_COLUMNS = 400
"""Limit for a model built from a specification."""


@dataclass(frozen=True, slots=True)
class Specification:
    """A family of models, its parameters, and a seed.

    Parameters
    ----------
    family : {"ring", "tree", "cage", "regular", "edges"}
        A ring of hidden nodes; a random tree; a cage by name; a random regular graph without
        short cycles; a list of edges.
    girth : int
        Nodes on the ring; edges on the shortest cycle that a regular graph may have.
    leaves : int
        Columns on every hidden node (tree: at least; deep ring: on the lowest ones).
    depth : int
        Edges from the ring down to the columns.
    n_hidden, n_inner : int
        Hidden and observed inner nodes of a tree.
    cage : str
    n_nodes, degree : int
        Of a regular graph.
    share : float or None
        The probability with which each node of a cage or a regular graph is observed; None hides
        all nodes with at least three neighbours, including leaves.
    edges : str
        One edge per line, for the family "edges".
    hidden : str
        The names of the hidden nodes in that list.
    kind, n_states, lengths, potentials, fields, random_signs, seed
        As in `latent_cycle`.

    Examples
    --------
    >>> Specification("cage", cage="heawood", leaves=1).build().graph
    LatentGraph(14 observed, 14 hidden, 35 edges, 8 cycles)
    """

    family: Family = "ring"
    girth: int = 10
    leaves: int = 2
    depth: int = 1
    n_hidden: int = 6
    n_inner: int = 2
    cage: str = "petersen"
    n_nodes: int = 20
    degree: int = 3
    share: float | None = None
    edges: str = ""
    hidden: str = ""
    kind: Kind = "ising"
    n_states: int = 2
    lengths: Range = LENGTHS
    potentials: Range | None = None
    fields: Range | None = None
    random_signs: bool = False
    seed: int = 0

    @property
    def digest(self) -> str:
        """A fingerprint: equal specifications, and only those, have equal digests."""
        return hashlib.sha256(repr(self).encode()).hexdigest()[:16]

    def build(self) -> SyntheticModel:
        """Build the model; equal specifications give equal models."""
        check_choice("family", self.family, get_args(Family))
        states, ising = self.kind in ("symmetric", "tables"), self.kind == "ising"
        drawing = Drawing(
            lengths=self.lengths,
            potentials=self.potentials if ising else None,
            random_signs=self.random_signs and not states,
            fields=self.fields if ising else None,
            kind=self.kind,
            n_states=self.n_states if states else 2,
        )
        columns = {
            "ring": self.girth * float(self.leaves) ** self.depth,
            "tree": self.n_inner + self.n_hidden * max(self.leaves, 2),
        }.get(self.family, 0)
        if columns > MOST_COLUMNS:
            raise ThresholdError(
                f"The model would have about {columns:,.0f} columns; at most {MOST_COLUMNS} are "
                "allowed. Choose smaller numbers."
            )
        if self.family == "ring":
            model = latent_cycle(self.girth, self.leaves, self.depth, seed=self.seed, **drawing)
        elif self.family == "tree":
            sizes = (self.n_hidden, self.n_inner, self.leaves)
            model = latent_tree(*sizes, seed=self.seed, **drawing)
        else:
            model = self._on_skeleton(drawing)
        if model.graph.n_observed < 3:
            raise DataError(
                f"The model has {model.graph.n_observed} columns; at least 3 are needed. Add "
                "leaves, or hide fewer nodes."
            )
        return model

    def _on_skeleton(self, drawing: Drawing) -> SyntheticModel:
        leaves, own, skeleton = self.leaves, self.family == "edges", self._skeleton()
        if own:
            hidden = list(dict.fromkeys(re.findall(r"[^,;\s]+", self.hidden)))
        elif self.share is None:
            # after edges were removed, some nodes would not be identifiable if hidden
            hidden = [node for node, degree in skeleton.degree if degree + leaves >= 3]
        else:
            leaves, hidden = 0, hidden_by_chance(skeleton, self.share, seed=self.seed)
        n_columns = len(skeleton) + (leaves - 1) * len(hidden)
        if n_columns > MOST_COLUMNS:
            raise ThresholdError(
                f"The model would have {n_columns:,} columns; at most {MOST_COLUMNS} are allowed. "
                "Choose fewer leaves or a smaller graph."
            )
        return from_skeleton(skeleton, leaves, hidden, keep_names=own, seed=self.seed, **drawing)

    def _skeleton(self) -> nx.Graph[Any]:
        if self.family == "edges":
            return read_edges(self.edges)
        if self.family == "cage":
            return cage(self.cage)
        return regular_skeleton(self.n_nodes, self.degree, self.girth, seed=self.seed)


Rule = Literal["tree", "loops"]
"""The rule for r if no number is given: r_max, or the radius below which loops appear."""
Source = Literal["rows", "exact", "paths"]
"""Origin of distances: sampled rows, the exact model, or shortest path lengths."""
MISSED, FOUND, FALSE = -1, 0, 1


@dataclass(frozen=True, eq=False)
class Comparison:
    """A true graph and a learned one, matched.

    Parameters
    ----------
    truth, learned : LatentGraph
    error : StructureError
        The paper's edit distance: differing adjacency entries, two per edge.
    both : LatentGraph
        The union: columns, true hidden nodes, then learned hidden nodes without a match, and
        all edges.
    status : (edges of both,) int64 array
        -1 missed (only in the true graph), 0 found, 1 false (only in the learned one).
    nodes : (nodes of learned,) int64 array
        The node of ``both`` for each learned node.
    """

    truth: LatentGraph
    learned: LatentGraph
    error: StructureError
    both: LatentGraph = field(repr=False)
    status: IntArray = field(repr=False)
    nodes: IntArray = field(repr=False)

    @property
    def n_found(self) -> int:
        """True edges that were learned."""
        return int((self.status == FOUND).sum())

    @property
    def n_missed(self) -> int:
        return int((self.status == MISSED).sum())

    @property
    def n_false(self) -> int:
        return int((self.status == FALSE).sum())

    @property
    def precision(self) -> float:
        """Share of the learned edges that are true; 1 if none were learned."""
        return self.n_found / self.learned.n_edges if self.learned.n_edges else 1.0

    @property
    def recall(self) -> float:
        """Share of the true edges that were learned; 1 if there are none."""
        return self.n_found / self.truth.n_edges if self.truth.n_edges else 1.0

    @cached_property
    def n_hidden_found(self) -> int:
        """Hidden nodes that have exactly the neighbours of the true node they are matched to."""
        right = self.status == FOUND
        found, wrong = (self.both.edges[which].ravel() for which in (right, ~right))
        return len(set(self.truth.hidden_nodes).intersection(found).difference(wrong))

    @property
    def is_right(self) -> bool:
        """Whether the learned graph is the true one."""
        return self.error.value == 0

    def part(self, which: Literal["truth", "learned"]) -> LatentGraph:
        """Return one of the two graphs in the numbering of ``both``."""
        own = self.truth if which == "truth" else self.learned
        ends = own.edges if which == "truth" else self.nodes[own.edges]
        return LatentGraph.build(self.both.names, self.both.n_hidden, ends, own.lengths)

    def status_of(self, which: Literal["truth", "learned"]) -> IntArray:
        """(edges of that part,) the status of its edges, in their order."""
        own = self.status != (FALSE if which == "truth" else MISSED)
        return frozen_array(self.status[own], np.int64)


def compare(truth: LatentGraph, learned: LatentGraph) -> Comparison:
    """Compare a learned graph with the true one."""
    error = structure_error(learned, truth)
    p, n_true = truth.n_observed, truth.n_hidden
    true_edges = _lengths(truth.edges, truth.lengths)
    image = {column: k for k, column in enumerate(column_order(truth, learned).tolist())}
    image |= {p + k: p + other for k, other in enumerate(error.matching) if other < n_true}
    inside = [edge for edge in learned.edges.tolist() if image.keys() >= set(edge)]
    shared = [edge for edge in inside if tuple(sorted(image[end] for end in edge)) in true_edges]
    kept = {*range(p), *(end for edge in shared for end in edge)}
    # without a match, or without an edge in common with it
    unmatched = [h for h in learned.hidden_nodes if h not in kept]
    image |= {h: p + n_true + k for k, h in enumerate(unmatched)}
    nodes = frozen_array([image[node] for node in range(learned.n_nodes)], np.int64)
    new = _lengths(nodes[learned.edges], learned.lengths)
    union = new | true_edges
    both = LatentGraph.build(
        truth.names, n_true + len(unmatched), list(union), list(union.values())
    )
    status = [(edge in new) - (edge in true_edges) for edge in map(tuple, both.edges.tolist())]
    return Comparison(truth, learned, error, both, frozen_array(status, np.int64), nodes)


def _lengths(edges: IntArray, lengths: FloatArray) -> dict[tuple[int, int], float]:
    """Return edge lengths by their ends, the smaller one first."""
    pairs = [(u, v) for u, v in np.sort(edges, axis=1).tolist()]
    return dict(zip(pairs, lengths.tolist(), strict=True))


@dataclass(frozen=True, eq=False)
class Recovery:
    """The result of learning a model back."""

    comparison: Comparison
    result: LearnResult = field(repr=False)
    distances: DistanceMatrix = field(repr=False)
    source: Source
    drawn: Drawn | None = field(default=None, repr=False)
    """The sampled rows, if any."""

    @property
    def thresholds(self) -> Thresholds:
        return self.result.settings.thresholds


def distances_of(
    model: SyntheticModel, n: int | None, seed: int = 0, progress: Progress | None = None
) -> Measured:
    """Return distances from ``n`` rows or, for None, from infinitely many.

    If the latter are infeasible, shortest path lengths are returned.
    """
    if n is not None:
        drawn = model.draw(n, seed, progress)
        return Measured(information_distances(drawn.observations), "rows", drawn)
    try:
        return Measured(model.exact_distances(progress), "exact")
    except InferenceError:
        return Measured(model.distances(), "paths")


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """Distances and their origin."""

    distances: DistanceMatrix
    source: Source
    drawn: Drawn | None = None


def thresholds_of(
    D: DistanceMatrix,
    r: float | Rule = "tree",
    Lambda: float | None = None,
    tau: float | None = None,
) -> Thresholds:
    """Return thresholds by rule, except those given as numbers."""
    default = default_thresholds(D)
    if isinstance(r, str):
        if r not in ("tree", "loops"):
            raise ThresholdError(f"r = {r!r} is not a rule; use 'tree', 'loops' or a number.")
        r = default.r if r == "tree" else loop_radius(D)
    return Thresholds(
        r, default.Lambda if Lambda is None else Lambda, default.tau if tau is None else tau
    )


def learn_back(
    model: SyntheticModel,
    n: int | None = None,
    *,
    r: float | Rule = "loops",
    Lambda: float | None = None,
    tau: float | None = None,
    method: Method = "quartet",
    seed: int = 0,
    progress: Progress | None = None,
) -> Recovery:
    """Learn a model back from rows or exact distances, and compare.

    Parameters
    ----------
    model : SyntheticModel
    n : int, optional
        Rows to sample; without it the distances are exact.
    r : float, "tree" or "loops"
        A radius, or the rule for it.
    Lambda, tau : float, optional
        By the default rule if not given.
    method : {"quartet", "relaxed", "nj"}
    seed : int
        For the rows.
    progress : callable, optional
        Called during sampling, then during learning; may raise to stop.

    Examples
    --------
    >>> from loopylatent.synthetic import latent_cycle
    >>> found = learn_back(latent_cycle(girth=12, leaves=2, seed=1), 20_000).comparison
    >>> found.is_right, found.precision, found.recall
    (True, 1.0, 1.0)
    """
    measured = distances_of(model, n, seed, progress)
    thresholds = thresholds_of(measured.distances, r, Lambda, tau)
    settings = LearnSettings(thresholds, method)
    result = learn(measured.distances, settings, trace=False, progress=progress)
    found = compare(model.graph, result.graph)
    return Recovery(found, result, measured.distances, measured.source, measured.drawn)


# Curves ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Trial:
    """One sample of rows, and the radii to learn at."""

    n: int | None
    repeat: int
    radii: tuple[float | Rule, ...]


@dataclass(frozen=True, slots=True)
class TrialPoint:
    """One learned graph of a curve."""

    n: int | None
    repeat: int
    wanted: float | Rule
    """The requested radius or rule."""
    r: float
    precision: float
    recall: float
    structure_error: int
    n_hidden: int
    n_cycles: int
    is_right: bool


@dataclass(frozen=True, slots=True)
class FailedTrial:
    """The reason why a graph could not be learned or scored."""

    n: int | None
    repeat: int
    wanted: float | str
    reason: str


Tried = TrialPoint | FailedTrial


def against_n(
    rows: Sequence[int], n_repeats: int = 5, r: float | Rule = "loops"
) -> tuple[Trial, ...]:
    """Return the trials of a curve over the number of rows."""
    return tuple(Trial(n, k, (r,)) for n, k in product(rows, range(n_repeats)))


def against_r(radii: Sequence[float], n: int | None, n_repeats: int = 5) -> tuple[Trial, ...]:
    """Return the trials of a curve over the radius; rows are sampled once for all radii."""
    once = n_repeats if n is not None else 1
    return tuple(Trial(n, k, tuple(radii)) for k in range(once))


def iter_trials(
    model: SyntheticModel,
    trials: Sequence[Trial],
    *,
    method: Method = "quartet",
    seed: int = 0,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Iterator[tuple[Tried, ...]]:
    """Learn all trials in threads; yield the points of each when they are ready.

    Repeat k is sampled with the seed ``seed + k``, so the order and the number of threads have no
    effect. ``progress`` may raise to stop the work.
    """
    tasks = [partial(_tried, model, trial, method, seed) for trial in trials]
    for _, points in as_they_finish(tasks, progress, threads):
        yield points


def _tried(
    model: SyntheticModel, trial: Trial, method: Method, seed: int, check: Check
) -> tuple[Tried, ...]:
    check(0, 1)
    try:
        measured = distances_of(model, trial.n, seed + trial.repeat, check)
    except LoopyLatentError as error:
        return tuple(FailedTrial(trial.n, trial.repeat, r, str(error)) for r in trial.radii)
    found: list[Tried] = []
    for radius in trial.radii:
        try:
            thresholds = thresholds_of(measured.distances, radius)
            settings = LearnSettings(thresholds, method)
            graph = learn(measured.distances, settings, trace=False, progress=check).graph
            check(0, 1)
            with_truth = compare(model.graph, graph)
            rates = (with_truth.precision, with_truth.recall, with_truth.error.value)
            sizes = (graph.n_hidden, graph.n_cycles, with_truth.is_right)
            place = (trial.n, trial.repeat, radius, thresholds.r)
            found.append(TrialPoint(*place, *rates, *sizes))
        except LoopyLatentError as error:
            found.append(FailedTrial(trial.n, trial.repeat, radius, str(error)))
    return tuple(found)


MEASURES = ("precision", "recall", "structure_error", "n_hidden", "n_cycles", "is_right")


def summary(points: Sequence[Tried], by: Literal["n", "r"]) -> pd.DataFrame:
    """Return mean, minimum and maximum of every measure over the repeats, one row per n or r.

    Examples
    --------
    >>> from loopylatent.synthetic import latent_cycle
    >>> model = latent_cycle(girth=8, leaves=2, seed=1)
    >>> runs = iter_trials(model, against_n([200, 5000], n_repeats=3))
    >>> table = summary([point for points in runs for point in points], "n")
    >>> table["n"].tolist(), table["repeats"].tolist()
    ([200, 5000], [3, 3])
    """
    learned = [one for one in points if isinstance(one, TrialPoint)]
    places = [one.n if by == "n" else one.wanted for one in learned]
    values = {name: [float(getattr(one, name)) for one in learned] for name in MEASURES}
    frame = pd.DataFrame({by: places} | values)
    groups = frame.groupby(by, sort=True)
    table = groups.size().rename("repeats").reset_index()
    for name, how in product(MEASURES, ("mean", "min", "max")):
        table[f"{name} {how}"] = groups[name].agg(how).to_numpy()
    return table
