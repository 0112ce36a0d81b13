"""Refinement: a search from learned graphs that climbs the likelihood of the whole model.

The learner decides by local distances, once. Here small moves change the graph as long as one of
them raises the score: the log-likelihood minus a price for parameters and cycles. The score matrix
of the fitted model says which moves are worth a trial.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
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
from loopylatent.inference.trials import WINDOW
from loopylatent.learning.completion import completed, has_missing
from loopylatent.learning.initial_graph import loop_radius, settings_for
from loopylatent.learning.learner import LearnResult
from loopylatent.learning.moves import (
    Batch,
    Detour,
    Edge,
    Kind,
    Move,
    SearchGraph,
    moves_of,
    splits_of,
)
from loopylatent.learning.part_evidence import Evidence, evidence_of
from loopylatent.learning.refits import (
    Price,
    Stand,
    Trials,
    parameters_of_edges,
    with_fitted_lengths,
)
from loopylatent.learning.score_matrix import ScoreMatrix, edge_losses
from loopylatent.settings import FitSettings, Goal, LearnSettings, Method, Order
from loopylatent.tables.observations import Observations

A = TypeVar("A")
Change = Move | Batch | Detour
T = TypeVar("T")
START_STEPS, TRIAL_STEPS, BATCH_STEPS, CONFIRM_STEPS, LAST_STEPS = 300, 25, 80, 80, 1000
TOLERANCE = 1e-4
MIN_GAIN = 0.1
"""Moves that gain less are not taken."""
HOPELESS = 10.0
"""Moves that lost more are tried again only where the graph has changed around them."""
SCREEN = 0.5
"""A pair that a move brings together must promise this gain for each parameter of its edge."""
FAR = 0.25
"""Pairs anywhere are joined on trial from this gain, in units of log n for each parameter."""
SLOW_WINDOW = 10
"""Steps before which trials of new edges between hidden nodes are not abandoned."""
DETOURS = 6
"""If no single move gains, so many that lose least are each followed by a second one."""
DETOUR_LOSS, DETOUR_GAIN = 15.0, 1.0
"""The first of two moves may not lose more; both must gain as much."""
LOG2_TABLE = 12.0
MANY_MOVES = 40
"""Trials in a round, the most promising first, for tables of many columns."""
MANY_COLUMNS = 60
MAX_ROUNDS = 300
BATCH = 20
"""Edges added or removed together, at most."""
ADD_FROM, DROP_BELOW = 1.3, 0.7
"""Estimated gains at which edges are added or removed in batches, in prices of a parameter."""
ADDITIONS = 2
"""Batches of additions before one of removals."""
SMALL_GAIN = 10.0
"""Batches end where a round of them gains less."""
COMPLETION = 2027
"""Seed of the draws of missing values."""
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
    log_likelihood: float
    """Before the penalties that the score takes off."""
    change: Change | None = None
    """The move, in the numbers that nodes keep; None for the start."""


OnRound = Callable[[RefinedStep], bool | None]
"""Called after each round with the best graph so far; True ends the search with it."""


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
    misfit: ScoreMatrix = field(repr=False)
    """The score matrix of the start."""
    evidence: tuple[Evidence, ...] | None = field(default=None, repr=False)
    """For each edge, hidden node and cycle of the graph; None if it was not asked for."""
    start: int = field(default=0, repr=False)
    """Which of several start graphs had the best score."""
    is_complete: bool = field(default=True, repr=False)
    """Whether the search went on until no move gained; False if ``on_round`` ended it."""

    @property
    def score_history(self) -> tuple[float, ...]:
        """The score of the start and after each move taken; it never falls."""
        return tuple(step.score for step in self.steps)

    def __repr__(self) -> str:
        return (
            f"Refinement({self.graph}, {self.goal}, score {self.score_history[0]:.1f} to "
            f"{self.score_history[-1]:.1f} in {len(self.steps) - 1} moves)"
        )


@dataclass(frozen=True, eq=False, repr=False)
class RefinedResult(LearnResult):
    """A learned graph after refinement; everything else is that of the learner it began with."""

    refinement: Refinement | None = None
    """The moves that led from the learned graph to this one, and the evidence."""

    @classmethod
    def of(cls, learned: LearnResult, refinement: Refinement) -> RefinedResult:
        """Put a refined graph in the place of the learned one."""
        known = {name: getattr(learned, name) for name in LearnResult.__dataclass_fields__}
        return cls(**{**known, "graph": refinement.graph}, refinement=refinement)

    @property
    def _found(self) -> Refinement:
        assert self.refinement is not None
        return self.refinement

    def after(self, n_moves: int) -> RefinedResult:
        """Return the result with the graph after the first moves only; evidence is left out."""
        steps = self._found.steps
        if not 0 <= n_moves < len(steps):
            raise InferenceError(f"There are {len(steps) - 1} moves; {n_moves} is not among them.")
        return replace(self, graph=steps[n_moves].graph)

    @property
    def learned_graph(self) -> LatentGraph:
        """The graph before refinement, without hidden nodes of low degree."""
        return self._found.steps[0].graph

    @property
    def model(self) -> Model:
        return self._found.model

    @property
    def score_history(self) -> tuple[float, ...]:
        return self._found.score_history

    @property
    def moves(self) -> tuple[TriedMove, ...]:
        return self._found.moves

    @property
    def evidence(self) -> tuple[Evidence, ...] | None:
        return self._found.evidence if self.graph == self._found.graph else None


def refine(
    graph: LatentGraph,
    obs: Observations,
    goal: Goal = "structure",
    *,
    progress: Progress | None = None,
    on_round: OnRound | None = None,
    evidence: bool | None = None,
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
        Called after each round with the best graph so far, a ``RefinedStep``; if it returns True,
        the search ends with that graph. May raise to stop without a result.
    evidence : bool, optional
        Whether to measure the evidence for each part of the graph; by default with the goal
        ``"structure"``.
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
    return refine_best(
        [graph], obs, goal, progress=progress, on_round=on_round, evidence=evidence, threads=threads
    )


def start_settings(
    D: DistanceMatrix,
    r: float | None = None,
    Lambda: float | None = None,
    tau: float | None = None,
    *,
    method: Method | None = None,
    order: Order = "degree",
    seed: int = 0,
) -> list[LearnSettings]:
    """Return the settings of the graphs to start from: two radii, three methods unless given."""
    radii = (D.r_max, loop_radius(D)) if r is None else (r,)
    methods: Sequence[Method] = get_args(Method) if method is None else (method,)
    return [
        settings_for(D, radius, Lambda, tau, method=one, order=order, seed=seed)
        for radius in dict.fromkeys(radii)
        for one in methods
    ]


def refine_best(
    graphs: Sequence[LatentGraph],
    obs: Observations,
    goal: Goal = "structure",
    *,
    progress: Progress | None = None,
    on_round: OnRound | None = None,
    evidence: bool | None = None,
    threads: int | None = None,
) -> Refinement:
    """Fit some graphs on the same columns and refine the one with the best score."""
    check_choice("goal", goal, get_args(Goal))
    with one_thread():
        names = graphs[0].names
        family = family_of(obs, names, FitSettings())
        if family.rows.total_weight <= 0:
            raise InferenceError("The table has no rows of positive weight to fit.")
        price = price_of(goal, obs, names, family.rows.total_weight)
        search = _Search(Trials(family, names, price, LOG2_TABLE), progress, on_round, threads)
        search.begin(graphs)
        if goal == "structure" or len(names) < MANY_COLUMNS:
            search.climb()
        if goal == "prediction" and not search.ended:
            search.climb_in_batches()
        search.finish()
        wanted = goal == "structure" if evidence is None else evidence
        return search.result(obs, goal, search.evidence() if wanted else None)


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
        self._done = self._round = self._start = 0
        self._known: dict[Move, _Known] = {}
        self._tried: list[_Tried] = []
        self._taken: list[tuple[Change | None, Stand]] = []
        self._misfit: ScoreMatrix | None = None
        self.ended = False
        """Whether ``on_round`` ended the search."""

    @property
    def now(self) -> Stand:
        return self._taken[-1][1]

    @property
    def version(self) -> int:
        """How many changes led to the present graph."""
        return len(self._taken)

    def begin(self, graphs: Sequence[LatentGraph]) -> None:
        """Take the graph with the best score of those that can be fitted exactly."""
        start_of: dict[frozenset[Edge], int] = {}
        distinct = []
        for k, graph in enumerate(SearchGraph.of(graph) for graph in graphs):
            if graph.edges not in start_of:
                start_of[graph.edges] = k
                distinct.append(graph)
        fits = self._on_threads(lambda graph: self._trials.fit(graph, START_STEPS), distinct)
        stands = [stand for stand in fits if stand is not None]
        if not stands:
            raise InferenceError(
                f"Exact inference needs tables of more than 2^{LOG2_TABLE:.0f} entries on this "
                "graph, too many for a search; use a graph with fewer cycles (a larger r)."
            )
        best = max(stands, key=lambda one: one.score)
        self._start = start_of[best.graph.edges]
        self._taken.append((None, with_fitted_lengths(best)))

    def climb(self) -> None:
        """Take moves until none gains: first those near the last changes, in the end all."""
        best_first = len(self._trials.names) >= MANY_COLUMNS
        changed: set[int] = set()
        sweep = False
        while self._round < MAX_ROUNDS:
            self._round += 1
            quick = self._quick()
            matrix = self._matrix(quick)
            moves = self._offers(self.now.graph, matrix)
            new = [move for move in moves if self._is_open(move, changed, sweep)]
            left = len(new)
            if best_first and left > MANY_MOVES:
                promise = {move: self._promise(move, matrix) for move in new}
                new = sorted(new, key=lambda move: -promise[move])[:MANY_MOVES]
            self._try(new, quick)
            changed = self._accept(moves)
            if self._is_enough():
                return
            if changed:
                sweep = False
            elif len(new) == left:
                if not sweep:
                    sweep = True
                elif best_first or not (changed := self._take_detour(quick)):
                    return
                else:
                    sweep = False

    def climb_in_batches(self) -> None:
        """Add and remove several edges at once until that gains little."""
        gained = math.inf
        while gained > SMALL_GAIN and self._round < MAX_ROUNDS:
            before = self.now.score
            for _ in range(ADDITIONS):
                self._round += 1
                taken = self._take_batch("add")
                if self._is_enough():
                    return
                if not taken:
                    break
            self._round += 1
            self._take_batch("drop")
            if self._is_enough():
                return
            gained = self.now.score - before

    def finish(self) -> None:
        """Fit the final graph to the end."""
        change, stand = self._taken[-1]
        self._taken[-1] = (change, with_fitted_lengths(self._trials.settled(stand, LAST_STEPS)))

    def evidence(self) -> tuple[Evidence, ...]:
        """Measure the evidence for each part of the final graph."""
        known = {move: one.gain for move, one in self._known.items() if one.gain > -math.inf}
        if has_missing(self._trials.family):
            known = {}  # measured on a completed table
        thorough = len(self._trials.names) < MANY_COLUMNS
        return evidence_of(
            self.now, self._trials, known, self._labels(), self._on_threads, thorough
        )

    def result(
        self, obs: Observations, goal: Goal, evidence: tuple[Evidence, ...] | None
    ) -> Refinement:
        """Put everything into words."""
        label = self._labels()
        fitted = self.now.fitted
        end = maximise_likelihood(
            fitted.problem, fitted.point, max_steps=LAST_STEPS, tolerance=TOLERANCE
        )
        model = model_at(self._trials.family, fitted.problem, end, obs)
        steps = tuple(
            self._step(change.words(label) if change else "", stand, change)
            for change, stand in self._taken
        )
        tried = tuple(
            TriedMove(one.round, one.change.kind, one.change.words(label), one.gain, one.taken)
            for one in self._tried
        )
        graph = self.now.graph.graph(self._trials.names)
        price = self._trials.price
        assert self._misfit is not None
        return Refinement(
            graph, model, goal, price, steps, tried, self._misfit, evidence, self._start,
            not self.ended,
        )  # fmt: skip

    def _quick(self) -> _Quick:
        """Return the trials of this round: on a completed table if values are missing."""
        family = self._trials.family
        if not has_missing(family):
            return _Quick(self._trials, self.now)
        rng = np.random.default_rng([COMPLETION, self._round])
        trials = replace(self._trials, family=completed(family, self.now.fitted, rng))
        stand = trials.refit(self.now, self.now.graph, CONFIRM_STEPS)
        assert stand is not None  # sums over fewer nodes need smaller tables
        return _Quick(trials, stand)

    def _matrix(self, quick: _Quick) -> ScoreMatrix:
        """Compute the score matrix of the present graph; keep that of the start."""
        matrix = ScoreMatrix.of(quick.stand.fitted, self._threads)
        self._misfit = self._misfit or matrix
        return matrix

    def _is_open(self, move: Move, changed: set[int], sweep: bool) -> bool:
        """Whether a move is to be tried now."""
        known = self._known.get(move)
        if known is None:
            return True
        again = sweep and known.gain > -HOPELESS
        return known.version < self.version and (again or not changed.isdisjoint(move.nodes))

    def _offers(self, graph: SearchGraph, matrix: ScoreMatrix) -> list[Move]:
        """Return the moves that the score matrix lets through."""
        place = {v: k for k, v in enumerate(graph.ids)}
        per_parameter = matrix.gains / matrix.parameters
        few = len(self._trials.names) < MANY_COLUMNS

        def promises(move: Move) -> bool:
            if not move.created or (move in self._known and self._known[move].gain > MIN_GAIN):
                return True
            if (move.kind == "slide" and _frees(graph, move)) or (few and _is_slow(graph, move)):
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
        if move.kind == "split":
            side = [place[v] for v in move.nodes[1:]]
            return float(matrix.gains[np.ix_(side, side)].max()) - price
        if move.kind == "contract":
            return 3.0 - 5.0 * graph.length(*move.nodes)
        if move.kind == "drop":
            return graph.length(*move.nodes) - 1.0
        if not gains:
            return 4.0  # stars and triangles are few
        if move.kind in ("slide", "swap"):
            return sum(gains)
        return max(gains) - price

    def _try(self, moves: Sequence[Move], quick: _Quick) -> None:
        """Measure the gain of each move; graphs that two moves lead to are fitted once."""
        now = quick.stand
        changed: dict[Move, SearchGraph] = {}
        seen: set[frozenset[Edge]] = set()
        for move in moves:
            graph = move(now.graph)
            self._known[move] = _Known(-math.inf, self.version)
            if graph is not None and graph.edges not in seen:
                seen.add(graph.edges)
                changed[move] = graph

        def gain(move: Move) -> float:
            window = _window(now.graph, move)
            found = quick.trials.refit(now, changed[move], TRIAL_STEPS, now.score, window)
            return -math.inf if found is None else found.score - now.score

        gains = self._on_threads(gain, list(changed))
        for move, value in zip(changed, gains, strict=True):
            self._known[move] = _Known(value, self.version)
            self._tried.append(_Tried(self._round, move, value, False))

    def _accept(self, moves: Iterable[Move]) -> set[int]:
        """Take the moves that gain, best first, that touch no node touched before."""
        gain_of = {move: self._known[move].gain for move in moves if move in self._known}
        touched: set[int] = set()
        for move in sorted(gain_of, key=lambda move: -gain_of[move]):
            now = self.now
            if gain_of[move] <= MIN_GAIN:
                break
            graph = move(now.graph) if touched.isdisjoint(move.nodes) else None
            if graph is not None and self._take(move, graph):
                touched |= _touched(move, now.graph, graph)
            elif graph is not None:
                self._known[move] = _Known(-1.0, self.version)
        return touched

    def _take_detour(self, quick: _Quick) -> set[int]:
        """Take two moves of which only both together gain; return the nodes touched."""
        now = self.now
        gain_of = {
            move: one.gain for move, one in self._known.items() if one.version == self.version
        }
        firsts = sorted(gain_of, key=lambda move: -gain_of[move])[:DETOURS]
        found = self._on_threads(lambda first: self._best_after(first, quick), firsts)
        gaining = [(gain, change) for gain, change in found if change is not None]
        for _, change in sorted(gaining, key=lambda one: -one[0]):
            graph = change(now.graph)
            if graph is not None and self._take(change, graph):
                return _touched(change.second, now.graph, graph)
        return set()

    def _best_after(self, first: Move, quick: _Quick) -> tuple[float, Detour | None]:
        """Return the largest gain of two moves of which the first is given, and both."""
        now = quick.stand
        best: tuple[float, Detour | None] = (DETOUR_GAIN, None)
        graph = first(now.graph)
        stand = None if graph is None else quick.trials.refit(now, graph, CONFIRM_STEPS)
        if stand is None or stand.score < now.score - DETOUR_LOSS:
            return best
        near = _touched(first, now.graph, stand.graph)
        for move in self._offers(stand.graph, ScoreMatrix.of(stand.fitted, 1)):
            changed = None if near.isdisjoint(move.nodes) else move(stand.graph)
            if changed is not None:
                window, target = _window(stand.graph, move), now.score + best[0]
                after = quick.trials.refit(stand, changed, TRIAL_STEPS, target, window)
                if after is not None and after.score > target:
                    best = (after.score - now.score, Detour(first, move))
        return best

    def _take(self, change: Change, graph: SearchGraph) -> bool:
        """Refit a changed graph; keep it if the score rises."""
        now = self.now
        target = now.score + MIN_GAIN
        max_steps = BATCH_STEPS if isinstance(change, Batch) else CONFIRM_STEPS
        stand = self._trials.refit(now, graph, max_steps, target, _window(now.graph, change))
        taken = stand is not None and stand.score > target
        if stand is not None:
            self._tried.append(_Tried(self._round, change, stand.score - now.score, taken))
            if taken:
                self._taken.append((change, with_fitted_lengths(stand)))
        return taken

    def _take_batch(self, kind: Literal["add", "drop"]) -> bool:
        """Add or remove several edges; half of them, and so on, if the score does not rise."""
        edges = self._edges_to_add() if kind == "add" else self._edges_to_drop()
        while edges:
            batch = Batch(kind, tuple(edges))
            if self._take(batch, batch(self.now.graph)):
                return True
            edges = edges[: len(edges) // 2]
        return False

    def _edges_to_add(self) -> list[Edge]:
        """Return the pairs with the largest estimated gains, one for each node."""
        graph = self.now.graph
        matrix = self._matrix(self._quick())
        surplus = np.triu(
            matrix.gains - ADD_FROM * self._trials.price.parameter * matrix.parameters
        )
        pairs = np.argwhere(surplus > 0)
        order = np.argsort(-surplus[pairs[:, 0], pairs[:, 1]], kind="stable")
        used: set[int] = set()
        found: list[Edge] = []
        for a, b in pairs[order].tolist():
            edge = (graph.ids[a], graph.ids[b])
            if graph.has(*edge) or not used.isdisjoint(edge):
                continue
            if self._trials.problem(Batch("add", (*found, edge))(graph)) is not None:
                used.update(edge)
                found.append(edge)
            if len(found) == BATCH:
                break
        return found

    def _edges_to_drop(self) -> list[Edge]:
        """Return the edges with the smallest estimated losses."""
        ids, fitted = self.now.graph.ids, self._quick().stand.fitted
        losses, edges = edge_losses(fitted), fitted.problem.graph.edges
        sizes = parameters_of_edges(fitted.problem)
        cost = DROP_BELOW * self._trials.price.parameter * sizes
        order = [k for k in np.argsort(losses, kind="stable").tolist() if losses[k] < cost[k]]
        return [(ids[edges[k, 0]], ids[edges[k, 1]]) for k in order[:BATCH]]

    def _is_enough(self) -> bool:
        """Report a round; return whether the search is to end."""
        if self._on_round is not None:
            self.ended = bool(self._on_round(self._step("", self.now)))
        return self.ended

    def _step(self, words: str, stand: Stand, change: Change | None = None) -> RefinedStep:
        graph, fitted = stand.graph, stand.fitted
        hidden = graph.ids[graph.n_observed :]
        likelihood = fitted.problem.total_weight * fitted.value
        named = graph.graph(self._trials.names)
        return RefinedStep(words, stand.score, named, hidden, likelihood, change)

    def _labels(self) -> Callable[[int], str]:
        """Name hidden nodes as in the final graph; those that are gone get higher numbers."""
        graph = self.now.graph
        gone = sorted(set(range(graph.n_observed, graph.next_id)).difference(graph.ids))
        all_ids = [*graph.ids, *gone]
        blank = LatentGraph.build(self._trials.names, len(all_ids) - graph.n_observed, [])
        return dict(zip(all_ids, blank.labels, strict=True)).__getitem__

    def _on_threads(self, work: Callable[[A], T], tasks: Sequence[A]) -> list[T]:
        def report(done: int, _: int) -> None:
            if self._progress is not None:
                self._progress(self._done + done, self._done + len(tasks))

        runs = OnThreads(self._threads)(lambda _, task, __: work(task), None, tasks, report)
        found = list(in_order(runs))
        self._done += len(tasks)
        return found


@dataclass(frozen=True, slots=True)
class _Known:
    """The gain of a move, measured on the graph after so many changes."""

    gain: float
    version: int


@dataclass(frozen=True, slots=True)
class _Tried:
    """A change that was tried, before it is put into words."""

    round: int
    change: Change
    gain: float
    taken: bool


@dataclass(frozen=True, slots=True, eq=False)
class _Quick:
    """The trials of a round, and the present graph fitted to the same rows."""

    trials: Trials
    stand: Stand


def _frees(graph: SearchGraph, move: Move) -> bool:
    """Whether a slide takes a neighbour from a hidden node that has only three."""
    left = move.nodes[1]
    return graph.is_hidden(left) and len(graph.neighbours[left]) <= 3


def _is_slow(graph: SearchGraph, move: Move) -> bool:
    """Whether a move joins two hidden nodes.

    Their other edges have taken over what the new one would explain: the estimated gain is small
    and a trial rises slowly at first, whatever it gains in the end.
    """
    return move.kind == "add" and all(graph.is_hidden(node) for node in move.nodes)


def _window(graph: SearchGraph, change: Change) -> int:
    """Return after how many steps a trial may be abandoned."""
    slow = isinstance(change, Detour) or (isinstance(change, Move) and _is_slow(graph, change))
    return SLOW_WINDOW if slow else WINDOW


def _touched(move: Move, before: SearchGraph, after: SearchGraph) -> set[int]:
    """Return the nodes of the changed graph that the move concerned."""
    changed = {node for edge in before.edges ^ after.edges for node in edge}
    return {node for node in changed.union(move.nodes) if node in after.neighbours}
