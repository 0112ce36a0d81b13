"""The learner: visit neighbourhoods one after the other and add hidden nodes (Algorithm 3).

``iter_steps`` yields what happens as it happens; ``learn`` runs it to the end. The result is
determined by the distances and the settings.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from loopylatent.compute.arrays import Progress
from loopylatent.compute.shown import Shown
from loopylatent.distances.sparse import Distances
from loopylatent.errors import DataError
from loopylatent.graph import LatentGraph
from loopylatent.learning.grouping import BY_SURROGATES, group
from loopylatent.learning.grouping.base import Neighbourhood
from loopylatent.learning.initial_graph import check_radius, initial_graph
from loopylatent.learning.node_distances import node_distances
from loopylatent.learning.trace import CleanUpStep, Contraction, InitialStep, Step, VisitStep
from loopylatent.learning.workspace import Workspace
from loopylatent.settings import LearnSettings


@dataclass(frozen=True, eq=False, repr=False)
class LearnResult(Shown):
    """A learned graph, where it started from, and how it came about.

    Examples
    --------
    >>> import loopylatent as ll
    >>> D = ll.DistanceMatrix.from_array([[0, 2, 2], [2, 0, 2], [2, 2, 0]])
    >>> learn(D, LearnSettings(ll.Thresholds(r=2, Lambda=0, tau=0.1)))
    LearnResult(LatentGraph(3 observed, 1 hidden, 3 edges, 0 cycles), r=2, Lambda=0, tau=0.1)
    """

    graph: LatentGraph
    """What was learned."""
    initial_graph: LatentGraph
    """The union of the local trees, where it began."""
    settings: LearnSettings
    """With which it was learned."""
    metric: str
    """Of the distances."""
    data_digest: str
    """The digest of the distances."""
    n_visits: int
    """Neighbourhoods that were grouped."""
    n_stuck: int
    """Visits in which no pair could be joined any more; a larger Lambda leaves fewer."""
    n_capped: int
    """Visits to neighbourhoods so large that only the nearest outsiders were asked."""
    trace: tuple[Step, ...] | None = None
    """Every step, or None where the trace was not wanted."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.graph}, {self.settings.thresholds.in_short})"


def learn(
    D: Distances,
    settings: LearnSettings,
    *,
    start: LatentGraph | None = None,
    trace: bool = True,
    progress: Progress | None = None,
) -> LearnResult:
    """Learn a graph; ``start`` is the initial graph at r, where it is already known."""
    workspace = _prepare(D, settings, start)
    initial = workspace.graph()
    steps: list[Step] = []
    n_visits = n_stuck = n_capped = 0
    for step in _steps(workspace, initial, D, settings, progress):
        if trace:
            steps.append(step)
        if isinstance(step, VisitStep):
            n_visits += 1
            n_stuck += step.stuck
            n_capped += step.capped
    known = (workspace.graph(), initial, settings, D.metric, D.digest)
    return LearnResult(*known, n_visits, n_stuck, n_capped, tuple(steps) if trace else None)


def iter_steps(
    D: Distances,
    settings: LearnSettings,
    *,
    start: LatentGraph | None = None,
    progress: Progress | None = None,
) -> Iterator[Step]:
    """Yield the initial graph, each visit, and the clean-up at the end.

    Parameters
    ----------
    D : DistanceMatrix
    settings : LearnSettings
    start : LatentGraph, optional
        The initial graph, where it is already known.
    progress : callable, optional
        Called with the visits done and the visits in all.

    Returns
    -------
    iterator of Step

    Examples
    --------
    >>> import loopylatent as ll
    >>> D = ll.DistanceMatrix.from_array([[0, 2, 2], [2, 0, 2], [2, 2, 0]])
    >>> for step in iter_steps(D, LearnSettings(ll.Thresholds(r=2, Lambda=0, tau=0.1))):
    ...     print(step)
    InitialStep(graph=LatentGraph(3 observed, 0 hidden, 2 edges, 0 cycles))
    VisitStep(node=0, 3 in the neighbourhood, 1 joins, 0 contractions)
    CleanUpStep(0 hidden nodes removed, 1 left)
    """
    workspace = _prepare(D, settings, start)
    return _steps(workspace, workspace.graph(), D, settings, progress)


def visiting_order(initial: LatentGraph, settings: LearnSettings) -> tuple[int, ...]:
    """Return the nodes of the initial graph that are no leaves, in the order of their visits.

    By descending degree, then by the smaller sum of distances to the neighbours, then by index:
    renaming the columns does not change it.
    """
    inner = [node for node in range(initial.n_observed) if initial.degrees[node] >= 2]
    if settings.order == "degree":
        reach: list[float] = initial.adjacency.sum(axis=1).tolist()
        inner.sort(key=lambda node: (-initial.degrees[node], reach[node], node))
    elif settings.order == "random":
        np.random.default_rng(settings.seed).shuffle(inner)
    return tuple(inner)


def _prepare(D: Distances, settings: LearnSettings, start: LatentGraph | None) -> Workspace:
    return Workspace(start_graph(D, settings.thresholds.r, start), node_distances(D))


def start_graph(D: Distances, r: float, known: LatentGraph | None) -> LatentGraph:
    """Return the initial graph at r, or check the one that is known."""
    check_radius(D, r)
    initial = initial_graph(D, r) if known is None else known
    if initial.names != D.names or initial.n_hidden:
        raise DataError("the initial graph does not belong to these distances; leave it out.")
    return initial


def _steps(
    workspace: Workspace,
    initial: LatentGraph,
    D: Distances,
    settings: LearnSettings,
    progress: Progress | None,
) -> Iterator[Step]:
    yield InitialStep(initial)
    rng = np.random.default_rng(settings.seed)
    order = visiting_order(initial, settings)
    for done, node in enumerate(order):
        if progress is not None:
            progress(done, len(order))
        if len(workspace.neighbours[node]) >= 2:  # fewer leave nothing to group
            yield visit(workspace, node, D.n_samples, rng, settings)
    if progress is not None:
        progress(len(order), len(order))
    merged: tuple[Contraction, ...] = ()
    if settings.method == "relaxed":
        merged = workspace.contract_short_edges(settings.shortest_edge)
    gone = workspace.drop_idle_hidden()
    changes = workspace.take_changes()
    yield CleanUpStep(gone, changes.removed, changes.added, workspace.hidden_ids, merged)


def visit(
    workspace: Workspace,
    node: int,
    n_samples: int | None,
    rng: np.random.Generator,
    settings: LearnSettings,
) -> VisitStep:
    """Replace the neighbourhood of ``node`` by its local latent tree."""
    members = workspace.closed_neighbourhood(node)
    hidden = tuple(workspace.is_hidden(member) for member in members)
    surrogates = tuple(workspace.surrogates[member] for member in members)
    gaps = tuple(workspace.gaps[member] for member in members)
    distances = workspace.distances_between(members)
    distances.setflags(write=False)
    by_surrogates = settings.method in BY_SURROGATES
    between = workspace.distances_between_surrogates(members) if by_surrogates else distances
    between.setflags(write=False)
    around = Neighbourhood(members, hidden, surrogates, distances, n_samples, rng, between, gaps)
    tree = group(around, settings)
    ids = workspace.replace(members, tree, surrogate=node)
    changes = workspace.take_changes()
    joins = tuple(join.renamed(ids) for join in tree.joins)
    contractions = tuple(one.renamed(ids) for one in tree.contractions)
    rest = tuple(edge.renamed(ids) for edge in tree.rest)
    rounds = tuple(one.renamed(ids) for one in tree.rounds)
    stood_for = (surrogates, gaps) if by_surrogates else ((), ())
    return VisitStep(
        node, members, hidden, between, joins, contractions, changes.removed, changes.added,
        tree.stuck, tree.capped, rest, rounds, *stood_for,
    )  # fmt: skip
