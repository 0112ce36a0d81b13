"""Refinement: a search from learned graphs that climbs the likelihood of the whole model.

The learner decides by local distances, once. Here small moves change the graph as long as one of
them raises the score: the log-likelihood minus a price for parameters and cycles. The score matrix
of the fitted model says which moves are worth a trial.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeVar, get_args

import numpy as np

from loopylatent.compute.limits import one_thread
from loopylatent.compute.values import Progress, Shown, check_choice
from loopylatent.compute.workers import OnThreads, in_order
from loopylatent.distances.matrix import DistanceMatrix, information_distances
from loopylatent.errors import InferenceError
from loopylatent.graph import LatentGraph, check_graph
from loopylatent.inference.fit import maximise_likelihood, model_at
from loopylatent.inference.model import Model
from loopylatent.inference.problems import family_of
from loopylatent.learning.moves import Edge, Kind, Move, SearchGraph, moves_of, splits_of
from loopylatent.learning.refits import Effort, Price, Stand, Trials, with_fitted_lengths
from loopylatent.learning.score_matrix import ScoreMatrix
from loopylatent.settings import FitSettings
from loopylatent.tables.observations import Observations

A = TypeVar("A")
T = TypeVar("T")
Goal = Literal["structure", "prediction"]
GOALS: tuple[Goal, ...] = get_args(Goal)
START, TRIAL, CONFIRM = Effort(300, 1e-4), Effort(25, 1e-3), Effort(80, 3e-4)
LAST = Effort(1000, 1e-4)
MIN_GAIN = 0.1
"""Moves that gain less are not taken."""
SCREEN = 0.5
"""A pair that a move brings together must promise this gain for each parameter of its edge."""
FAR = 0.25
"""Pairs anywhere are joined on trial from this gain, in units of log n for each parameter."""
LOG2_TABLE = 12.0
MANY_MOVES = 40
"""Trials in a round, the most promising first, for tables of many columns."""
MANY_COLUMNS = 60
MAX_ROUNDS = 300
WEAK = 10.0
"""Hidden nodes are not charged where n s^4 is smaller, with s the typical largest correlation."""


@dataclass(frozen=True, slots=True)
class TriedMove:
    """A move that was tried, taken or not."""

    round: int
    """From 1."""
    kind: Kind
    words: str
    """The move in words; hidden nodes that are not in the final graph have higher numbers."""
    gain: float
    """In the score; minus infinity if the graph was not fitted."""
    taken: bool


@dataclass(frozen=True, slots=True, eq=False)
class RefinedStep:
    """The graph after a move was taken; the first one is the start."""

    words: str
    score: float
    graph: LatentGraph
    hidden_ids: tuple[int, ...]
    """Of each hidden node a number that it keeps from step to step."""


OnRound = Callable[[RefinedStep], None]
"""Called after each round with the best graph so far; may raise to stop."""


@dataclass(frozen=True, eq=False)
class Refinement(Shown):
    """A refined graph with its model and the moves that led to it."""

    graph: LatentGraph
    model: Model = field(repr=False)
    goal: Goal
    price: Price
    steps: tuple[RefinedStep, ...] = field(repr=False)
    """The start and the graph after each move that was taken."""
    moves: tuple[TriedMove, ...] = field(repr=False)
    """Every move taken or tried."""

    @property
    def score_history(self) -> tuple[float, ...]:
        """The score of the start and after each move taken; it never falls."""
        return tuple(step.score for step in self.steps)

    def __repr__(self) -> str:
        return (
            f"Refinement({self.graph}, {self.goal}, score {self.score_history[0]:.1f} to "
            f"{self.score_history[-1]:.1f} in {len(self.steps) - 1} moves)"
        )


def refine(
    graph: LatentGraph,
    obs: Observations,
    goal: Goal = "structure",
    *,
    progress: Progress | None = None,
    on_round: OnRound | None = None,
    threads: int | None = None,
) -> Refinement:
    """Improve a graph by moves that raise the likelihood of the whole model.

    Parameters
    ----------
    graph : LatentGraph
        Any graph on columns of ``obs``.
    obs : Observations
        As for ``fit_parameters``.
    goal : {"structure", "prediction"}
        Whether cycles are charged more than their parameters, to find the true graph, or BIC alone
        decides, to predict new rows.
    progress : callable, optional
        Called with the trials done and those known so far; may raise to stop.
    on_round : callable, optional
        Called after each round with the best graph so far, a ``RefinedStep``.
    threads : int, optional
        Has no effect on the result.

    Returns
    -------
    Refinement

    Examples
    --------
    >>> import loopylatent as ll
    >>> truth = ll.synthetic.latent_tree(n_hidden=2, n_observed_inner=0, leaves=3, seed=1)
    >>> rows = truth.sample(2000)
    >>> start = ll.learn(ll.information_distances(rows), Lambda=0.3).graph
    >>> found = refine(start, rows)
    >>> found.graph.n_hidden, ll.structure_error(found.graph, truth.graph).value
    (2, 0)
    """
    check_graph(graph)
    return refine_best([graph], obs, goal, progress, on_round, threads)


def refine_best(
    graphs: Sequence[LatentGraph],
    obs: Observations,
    goal: Goal,
    progress: Progress | None = None,
    on_round: OnRound | None = None,
    threads: int | None = None,
) -> Refinement:
    """Fit some graphs on the same columns and refine the one with the best score."""
    check_choice("goal", goal, GOALS)
    with one_thread():
        names = graphs[0].names
        family = family_of(obs, names, FitSettings())
        if family.rows.total_weight <= 0:
            raise InferenceError("The table has no rows of positive weight to fit.")
        price = price_of(goal, obs, names, family.rows.total_weight)
        search = _Search(Trials(family, names, price, LOG2_TABLE), progress, on_round, threads)
        search.begin(graphs)
        search.climb()
        return search.result(obs, goal)


def price_of(goal: Goal, obs: Observations, names: Sequence[str], n: float) -> Price:
    """Return what the score charges for this goal and table."""
    parameter = 0.5 * math.log(n)
    if goal == "prediction":
        return Price(parameter)
    table = obs if obs.names == tuple(names) else obs.select(list(names))
    cycle = 2 * math.log(1.5 * len(names))
    return Price(parameter, cycle, is_weak(information_distances(table), n))


def is_weak(D: DistanceMatrix, n: float) -> bool:
    """Whether correlations are so weak, for so many rows, that BIC would delete hidden nodes.

    Two columns with correlation s are joined by a hidden node if products of two such correlations
    can be told from 0: their squared error 1/n is small against s^4.
    """
    away = D.values + np.diag(np.full(D.n_columns, np.inf))
    strength = math.exp(-float(np.median(away.min(axis=1))))
    return n * strength**4 < WEAK


class _Search:
    """The state of a search: the best graph so far and the gains of the moves known."""

    def __init__(
        self, trials: Trials, progress: Progress | None, on_round: OnRound | None,
        threads: int | None,
    ) -> None:  # fmt: skip
        self._trials, self._threads = trials, threads
        self._progress, self._on_round = progress, on_round
        self._done = 0
        self._round = 0
        self._known: dict[Move, float] = {}
        self._tried: list[tuple[int, Move, float, bool]] = []
        self._taken: list[tuple[Move | None, Stand]] = []

    @property
    def now(self) -> Stand:
        return self._taken[-1][1]

    def begin(self, graphs: Sequence[LatentGraph]) -> None:
        """Take the graph with the best score of those that can be fitted exactly."""
        distinct = {one.edges: one for one in (SearchGraph.of(graph) for graph in graphs)}
        fits = self._on_threads(
            lambda graph: self._trials.fit(graph, START), list(distinct.values())
        )
        stands = [stand for stand in fits if stand is not None]
        if not stands:
            raise InferenceError(
                f"Exact inference needs tables of more than 2^{LOG2_TABLE:.0f} entries on this "
                "graph, too many for a search; use a graph with fewer cycles (a larger r)."
            )
        self._taken.append((None, with_fitted_lengths(max(stands, key=lambda one: one.score))))

    def climb(self) -> None:
        """Take moves until none gains: first those near the last changes, in the end all again."""
        best_first = len(self._trials.names) >= MANY_COLUMNS
        changed: set[int] = set()
        last_change = swept_from = 0
        while self._round < MAX_ROUNDS:
            self._round += 1
            matrix = ScoreMatrix.of(self.now.fitted, self._threads)
            moves = self._offers(matrix)
            new = [m for m in moves if m not in self._known or not changed.isdisjoint(m.nodes)]
            left = len(new)
            if best_first and left > MANY_MOVES:
                promise = {move: self._promise(move, matrix) for move in new}
                new = sorted(new, key=lambda move: -promise[move])[:MANY_MOVES]
            self._try(new)
            changed = self._accept(moves)
            if changed:
                last_change = self._round
            if self._on_round is not None:
                self._on_round(self._step("", self.now))
            if changed or len(new) < left:
                continue
            if last_change <= swept_from:
                return
            swept_from = self._round
            self._known.clear()

    def result(self, obs: Observations, goal: Goal) -> Refinement:
        """Fit the final graph to the end, and put everything into words."""
        label = self._labels()
        fitted = self.now.fitted
        problem = fitted.problem
        end = maximise_likelihood(
            problem, fitted.point, max_steps=LAST.max_steps, tolerance=LAST.tolerance
        )
        model = model_at(self._trials.family, problem, end, obs)
        steps = [
            self._step(move.words(label) if move else "", stand) for move, stand in self._taken
        ]
        tried = tuple(
            TriedMove(number, move.kind, move.words(label), gain, taken)
            for number, move, gain, taken in self._tried
        )
        graph = self.now.graph.graph(self._trials.names)
        return Refinement(graph, model, goal, self._trials.price, tuple(steps), tried)

    def _offers(self, matrix: ScoreMatrix) -> list[Move]:
        """Return the moves that the score matrix lets through."""
        graph = self.now.graph
        place = {v: k for k, v in enumerate(graph.ids)}
        per_parameter = matrix.gains / matrix.parameters

        def promises(move: Move) -> bool:
            if self._known.get(move, 0.0) > MIN_GAIN or not move.created:
                return True
            if move.kind == "slide" and _frees(graph, move):
                return True
            return any(per_parameter[place[u], place[v]] > SCREEN for u, v in move.created)

        far = FAR * math.log(self.now.fitted.problem.total_weight)
        pairs = np.argwhere(np.triu(per_parameter, 1) > far).tolist()
        ends = [(graph.ids[a], graph.ids[b]) for a, b in pairs]
        anywhere = [Move("add", edge) for edge in ends if not graph.has(*edge)]
        found = [*moves_of(graph), *splits_of(graph, matrix.attraction), *anywhere]
        return [move for move in dict.fromkeys(found) if promises(move)]

    def _promise(self, move: Move, matrix: ScoreMatrix) -> float:
        """Guess the gain of a move, only to order trials."""
        graph = self.now.graph
        place = {v: k for k, v in enumerate(graph.ids)}
        gains = [float(matrix.gains[place[u], place[v]]) for u, v in move.created]
        price = self._trials.price.parameter
        if move.kind in ("add", "pair"):
            return gains[0] - price
        if move.kind == "slide":
            return gains[0]
        if move.kind == "swap":
            return sum(gains)
        if move.kind == "graft":
            return max(gains) - price
        if move.kind == "split":
            side = [place[v] for v in move.nodes[1:]]
            return float(matrix.gains[np.ix_(side, side)].max()) - price
        if move.kind == "contract":
            return 3.0 - 5.0 * graph.length(*move.nodes)
        return graph.length(*move.nodes) - 1.0 if move.kind == "drop" else 4.0

    def _try(self, moves: Sequence[Move]) -> None:
        """Measure the gain of each move; graphs that two moves lead to are fitted once."""
        now = self.now
        changed: dict[Move, SearchGraph] = {}
        seen: set[frozenset[Edge]] = set()
        for move in moves:
            graph = move(now.graph)
            self._known[move] = -math.inf
            if graph is not None and graph.edges not in seen:
                seen.add(graph.edges)
                changed[move] = graph
        stands = self._on_threads(
            lambda graph: _score(self._trials.refit(now, graph, TRIAL, now.score)),
            list(changed.values()),
        )
        for move, score in zip(changed, stands, strict=True):
            gain = score - now.score
            self._known[move] = gain
            self._tried.append((self._round, move, gain, False))

    def _accept(self, moves: Iterable[Move]) -> set[int]:
        """Take the moves that gain, best first, that touch no node touched before."""
        gaining = [move for move in moves if self._known.get(move, -math.inf) > MIN_GAIN]
        touched: set[int] = set()
        for move in sorted(gaining, key=lambda move: -self._known[move]):
            now = self.now
            graph = None if not touched.isdisjoint(move.nodes) else move(now.graph)
            if graph is None:
                continue
            target = now.score + MIN_GAIN
            stand = self._trials.refit(now, graph, CONFIRM, target)
            if stand is None or stand.score <= target:
                self._known[move] = -1.0
                continue
            self._tried.append((self._round, move, stand.score - now.score, True))
            self._taken.append((move, with_fitted_lengths(stand)))
            touched |= _touched(move, now.graph, graph)
        return touched

    def _step(self, words: str, stand: Stand) -> RefinedStep:
        graph = stand.graph
        hidden = graph.ids[graph.n_observed :]
        return RefinedStep(words, stand.score, graph.graph(self._trials.names), hidden)

    def _labels(self) -> Callable[[int], str]:
        """Name hidden nodes as in the final graph; those that are gone get higher numbers."""
        ids = self.now.graph.ids
        n_old = self._taken[0][1].graph.next_id
        n_all = max(n_old, self.now.graph.next_id)
        gone = [v for v in range(self.now.graph.n_observed, n_all) if v not in set(ids)]
        all_ids = [*ids, *gone]
        blank = LatentGraph.build(self._trials.names, len(all_ids) - len(self._trials.names), [])
        labels = dict(zip(all_ids, blank.labels, strict=True))
        return labels.__getitem__

    def _on_threads(self, work: Callable[[A], T], pieces: Sequence[A]) -> list[T]:
        def report(done: int, _: int) -> None:
            if self._progress is not None:
                self._progress(self._done + done, self._done + len(pieces))

        runs = OnThreads(self._threads)(lambda _, piece, __: work(piece), None, pieces, report)
        found = list(in_order(runs))
        self._done += len(pieces)
        return found


def _score(stand: Stand | None) -> float:
    return -math.inf if stand is None else stand.score


def _frees(graph: SearchGraph, move: Move) -> bool:
    """Whether a slide takes a neighbour from a hidden node that has only three."""
    left = move.nodes[1]
    return graph.is_hidden(left) and len(graph.neighbours[left]) <= 3


def _touched(move: Move, before: SearchGraph, after: SearchGraph) -> set[int]:
    """Return the nodes of the changed graph that the move concerned."""
    changed = {node for edge in before.edges ^ after.edges for node in edge}
    return {node for node in changed.union(move.nodes) if node in after.neighbours}
