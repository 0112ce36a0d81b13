"""The learner: visits neighbourhoods one after the other and adds hidden nodes (Algorithm 3)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from loopylatent.compute import _kernels
from loopylatent.compute.values import IntArray, Progress, Shown
from loopylatent.distances.matrix import DistanceMatrix
from loopylatent.distances.sparse import Distances
from loopylatent.errors import DataError
from loopylatent.graph import LatentGraph
from loopylatent.learning.grouping import grouping_rules
from loopylatent.learning.initial_graph import check_radius, initial_graph
from loopylatent.learning.trace import InitialStep, Record, Step, VisitStep
from loopylatent.learning.workspace import Counts, Workspace, graph_of
from loopylatent.settings import LearnSettings

if TYPE_CHECKING:
    from loopylatent.compute._kernels.learner import Learned

EFFORT = 2e3
"""Visits between two calls of ``progress``: until the cubed sizes of neighbourhoods exceed this."""
FEW_COLUMNS = 300
"""With so few columns learning takes milliseconds, and ``progress`` is called before and after."""
NO_ORDER = np.empty(0, np.int64)
UNUSED = np.random.default_rng(0)
"""Passed where no random numbers are drawn; a new generator would take as long as a visit."""


@dataclass(frozen=True, eq=False, repr=False)
class LearnResult(Shown):
    """A learned graph, its initial graph, and the trace of the learner.

    Examples
    --------
    >>> import loopylatent as ll
    >>> D = ll.DistanceMatrix.from_array([[0, 2, 2], [2, 0, 2], [2, 2, 0]])
    >>> learn(D, LearnSettings(ll.Thresholds(r=2, Lambda=0, tau=0.1)))
    LearnResult(LatentGraph(3 observed, 1 hidden, 3 edges, 0 cycles), r=2, Lambda=0, tau=0.1)
    """

    graph: LatentGraph
    """The learned graph."""
    initial_graph: LatentGraph
    """The union of the local minimum spanning trees."""
    settings: LearnSettings
    """Settings of the learner."""
    metric: str
    """Metric of the distances."""
    data_digest: str
    """Digest of the distances."""
    n_visits: int
    """Neighbourhoods that were grouped."""
    n_stuck: int
    """Visits that ended with no pair left to join; a larger Lambda leaves fewer."""
    n_capped: int
    """Visits to neighbourhoods so large that only the nearest outsiders were tested."""
    trace: Sequence[Step] | None = None
    """Every step, or None if no trace was requested."""

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
    """Learn a graph; ``start`` is the initial graph at r, if already known."""
    initial = start_graph(D, settings.thresholds.r, start)
    if isinstance(D, DistanceMatrix) and (progress is None or D.n_columns <= FEW_COLUMNS):
        return _learn_at_once(D, settings, initial, trace, progress)
    workspace = Workspace(initial, D, record=trace)
    for _ in _visits(workspace, _order(initial, settings), D.n_samples, settings, progress):
        pass
    record = workspace.take_steps(initial, settings.method) if trace else None
    known = (workspace.graph(), initial, settings, D.metric, D.digest)
    return LearnResult(*known, *workspace.counts, record)


def learn_graph(
    D: DistanceMatrix, settings: LearnSettings, initial: LatentGraph, progress: Progress
) -> LatentGraph:
    """Learn no more than the graph."""
    if D.n_columns > FEW_COLUMNS:
        return learn(D, settings, start=initial, trace=False, progress=progress).graph
    progress(0, 1)
    return graph_of(D.names, _at_once(D, settings, initial, trace=False).graph)


def _at_once(
    D: DistanceMatrix, settings: LearnSettings, initial: LatentGraph, *, trace: bool
) -> Learned:
    """Learn in one call without the interpreter lock."""
    order = NO_ORDER if settings.order == "degree" else _order(initial, settings)
    return _kernels.learner.learn_at_once(
        D.values, initial.edges, initial.lengths, order, trace,
        grouping_rules(settings, D.n_samples), _last_contraction(settings), _rng(settings),
    )  # fmt: skip


def _learn_at_once(
    D: DistanceMatrix, settings: LearnSettings, initial: LatentGraph, trace: bool,
    progress: Progress | None,
) -> LearnResult:  # fmt: skip
    n_visits = int(np.count_nonzero(initial.degrees >= 2))
    if progress is not None:
        progress(0, n_visits)
    found = _at_once(D, settings, initial, trace=trace)
    if progress is not None:
        progress(n_visits, n_visits)
    record = Record(initial, settings.method, D.n_columns, found.ints, found.floats)
    known = (graph_of(D.names, found.graph), initial, settings, D.metric, D.digest)
    return LearnResult(*known, *Counts.of(found.counts), record if trace else None)


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
        The initial graph, if already known.
    progress : callable, optional
        Called with the number of visits done and the total.

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
    initial = start_graph(D, settings.thresholds.r, start)
    return _steps(D, initial, settings, progress)


def visiting_order(initial: LatentGraph, settings: LearnSettings) -> tuple[int, ...]:
    """Return the nodes of the initial graph that are not leaves, in the order of their visits.

    By descending degree, then by the smaller sum of distances to the neighbours, then by index; so
    without ties the order of the columns has no effect.
    """
    return tuple(_order(initial, settings).tolist())


def _order(initial: LatentGraph, settings: LearnSettings) -> IntArray:
    if settings.order == "degree":
        edges, lengths = initial.edges.copy(), initial.lengths.copy()
        return _kernels.learner.order_by_degree(initial.n_observed, edges, lengths)
    inner: list[int] = np.flatnonzero(initial.degrees[: initial.n_observed] >= 2).tolist()
    if settings.order == "random":
        np.random.default_rng(settings.seed).shuffle(inner)
    return np.array(inner, np.int64)


def start_graph(D: Distances, r: float, known: LatentGraph | None) -> LatentGraph:
    """Return the initial graph at r, or check ``known``."""
    check_radius(D, r)
    initial = initial_graph(D, r) if known is None else known
    if initial.names != D.names or initial.n_hidden:
        raise DataError("The initial graph does not belong to these distances; omit it.")
    return initial


def _steps(
    D: Distances, initial: LatentGraph, settings: LearnSettings, progress: Progress | None
) -> Iterator[Step]:
    yield InitialStep(initial)
    workspace, order = Workspace(initial, D), _order(initial, settings)
    for _ in _visits(workspace, order, D.n_samples, settings, progress, effort=EFFORT):
        yield from workspace.take_steps(None, settings.method)


def _visits(
    workspace: Workspace, order: IntArray, n_samples: int | None, settings: LearnSettings,
    progress: Progress | None, effort: float = math.inf,
) -> Iterator[None]:  # fmt: skip
    """Do some visits at a time, then the clean-up; pause after each."""
    rules, rng = grouping_rules(settings, n_samples), _rng(settings)
    done = 0
    while done < len(order):
        if progress is not None:
            progress(done, len(order))
            effort = EFFORT
        done = workspace.visit(order, done, effort, rules, rng)
        yield
    if progress is not None:
        progress(len(order), len(order))
    workspace.clean_up(_last_contraction(settings))
    yield


def _last_contraction(settings: LearnSettings) -> float:
    """Return the length below which edges are contracted after the last visit."""
    return settings.shortest_edge if settings.method == "relaxed" else 0.0


def _rng(settings: LearnSettings) -> np.random.Generator:
    """Return the random numbers of the visits, which only relaxed grouping draws."""
    return np.random.default_rng(settings.seed) if settings.method == "relaxed" else UNUSED


def visit(
    workspace: Workspace,
    node: int,
    n_samples: int | None,
    rng: np.random.Generator,
    settings: LearnSettings,
) -> VisitStep:
    """Replace the neighbourhood of ``node``, which has two neighbours or more."""
    workspace.visit(np.array([node]), 0, math.inf, grouping_rules(settings, n_samples), rng)
    (step,) = workspace.take_steps(None, settings.method)
    assert isinstance(step, VisitStep)
    return step
