"""Discrete and Gaussian models behind one interface: likelihood, starts, fitted model."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, Protocol

import numpy as np

from loopylatent.compute.values import BoolArray, FloatArray, IntArray, frozen_array
from loopylatent.errors import InferenceError, Remedy, listed
from loopylatent.graph import LatentGraph
from loopylatent.inference.discrete import (
    DiscreteModel,
    DiscreteProblem,
    Method,
    layout_of,
    oriented,
    signs_towards_columns,
    strengths_of,
)
from loopylatent.inference.evidence import Rows, encode, pick
from loopylatent.inference.gaussian import (
    EdgeParts,
    GaussianModel,
    GaussianProblem,
    GaussianRows,
    Scale,
    assembled,
    normalised,
    start_correlations,
)
from loopylatent.inference.optimise import Anchors, DiscreteStart, Value, representatives
from loopylatent.settings import FitSettings
from loopylatent.tables.kinds import Column
from loopylatent.tables.observations import Observations

Kind = Literal["binary", "discrete", "gaussian"]
LEAST_PROBABILITY = 1e-9


class Problem(Protocol):
    """The likelihood on one graph as a function of the parameters."""

    @property
    def graph(self) -> LatentGraph: ...

    @property
    def total_weight(self) -> float: ...

    @property
    def df(self) -> int: ...

    def evaluate(self, point: FloatArray) -> Value: ...


@dataclass(frozen=True, eq=False)
class Fitted:
    """A problem with fitted parameters."""

    problem: Problem
    point: FloatArray
    value: float
    """The mean log-likelihood of a row."""

    @cached_property
    def kept(self) -> Kept:
        """What fits of changed graphs start from; discrete models only."""
        assert isinstance(self.problem, DiscreteProblem)
        layout = self.problem.layout
        graph = layout.graph
        marginals = np.maximum(self.problem.marginals(self.point), LEAST_PROBABILITY)
        parts = tuple(
            _parts_of_edge(layout.edge_table(marginals, edge)) for edge in range(graph.n_edges)
        )
        signs = signs_towards_columns(graph, strengths_of(layout, marginals))
        shares = tuple(_normed(layout.node_table(marginals, v)) for v in range(graph.n_nodes))
        edge_of = {(u, v): edge for edge, (u, v) in enumerate(graph.edges.tolist())}
        return Kept(parts, shares, Anchors(representatives(graph), signs), edge_of)


@dataclass(frozen=True, slots=True, eq=False)
class Kept:
    """The parts of a fitted discrete model that a changed graph can take over."""

    parts_of_edges: tuple[tuple[FloatArray, FloatArray], ...]
    """What each edge contributes to the tables of its ends."""
    shares: tuple[FloatArray, ...]
    """For each node the probabilities of its states."""
    anchors: Anchors
    edge_of: dict[tuple[int, int], int]


@dataclass(frozen=True, eq=False)
class DiscreteFamily:
    """Pairwise models of a table of binary and categorical columns."""

    columns: tuple[Column, ...]
    rows: Rows = field(repr=False)
    settings: FitSettings

    @property
    def kind(self) -> Kind:
        return "binary" if all(len(c.states) == 2 for c in self.columns) else "discrete"

    note = ""

    def problem(self, graph: LatentGraph) -> DiscreteProblem:
        layout = layout_of(graph, self.columns)
        chosen = Method.choose(layout, self.settings.inference, self.settings.largest_table)
        return DiscreteProblem(layout, self.rows, chosen)

    def start(self, problem: Problem) -> FloatArray:
        assert isinstance(problem, DiscreteProblem)
        first = DiscreteStart.of(problem.layout, self.rows)
        return problem.basis.parameters(first.cells())

    def continued(self, old: Fitted, problem: Problem, origin: IntArray) -> FloatArray:
        """Return a start that keeps unchanged parts; ``origin`` has old node numbers, or -1."""
        # contributions of removed edges are subtracted; new edges start as on a tree
        assert isinstance(problem, DiscreteProblem)
        assert isinstance(old.problem, DiscreteProblem)
        before, after = old.problem.layout, problem.layout
        kept, is_new = old.kept, origin < 0
        near = representatives(after.graph, np.flatnonzero(is_new))
        column = np.where(is_new, near, kept.anchors.column[origin])
        sign = np.where(is_new, 1.0, kept.anchors.sign[origin])
        start = DiscreteStart(after, self.rows, Anchors(column, sign))
        shares = tuple(
            start.share(v) if w < 0 else kept.shares[w] for v, w in enumerate(origin.tolist())
        )
        basis, point = problem.basis, np.zeros(after.n_parameters)
        for v, w in enumerate(origin.tolist()):
            own = point[basis.fields(v)]
            own[:] = (
                basis.field_of(v, np.log(shares[v])) if w < 0
                else old.point[old.problem.basis.fields(w)]
            )  # fmt: skip
        node_of = {w: v for v, w in enumerate(origin.tolist()) if w >= 0}
        removed = set(range(before.graph.n_edges))
        for edge, (u, v) in enumerate(after.graph.edges.tolist()):
            a, b = int(origin[u]), int(origin[v])
            known = kept.edge_of.get((min(a, b), max(a, b)))
            if known is None:
                table = start.edge_table(edge, shares)
                point[basis.couplings(edge)] = basis.coupling_of(edge, table)
                point[basis.fields(u)] += basis.field_of(u, table.mean(axis=1))
                point[basis.fields(v)] += basis.field_of(v, table.mean(axis=0))
                continue
            removed.discard(known)
            same = old.point[old.problem.basis.couplings(known)]
            if a > b:
                same = same.reshape(after.n_states[v] - 1, -1).T.ravel()
            point[basis.couplings(edge)] = same
        for edge in removed:
            ends = zip(before.graph.edges[edge].tolist(), kept.parts_of_edges[edge], strict=True)
            for w, part in ends:
                if w in node_of:
                    point[basis.fields(node_of[w])] -= basis.field_of(node_of[w], part)
        return point

    def perturbed(
        self, problem: Problem, point: FloatArray, rng: np.random.Generator
    ) -> FloatArray:
        """Return another start, with random changes to the couplings of hidden nodes."""
        assert isinstance(problem, DiscreteProblem)
        layout = problem.layout
        free = layout.n_states - 1
        u, v = layout.graph.edges.T
        touched = np.repeat(v >= layout.graph.n_observed, free[u] * free[v])
        change = rng.normal(scale=self.settings.spread, size=len(point))
        change[: int(free.sum())] = 0.0
        change[int(free.sum()) :] *= touched
        return point + change

    def model(self, problem: Problem, point: FloatArray) -> DiscreteModel:
        assert isinstance(problem, DiscreteProblem)
        layout = problem.layout
        cells = problem.basis.cells(point)
        cells = oriented(layout, cells, strengths_of(layout, problem.marginals(point)))
        limit = self.settings.largest_table
        return DiscreteModel(layout, self.columns, frozen_array(cells, np.float64), limit)


@dataclass(frozen=True, eq=False)
class GaussianFamily:
    """Gaussian models of a table of continuous and ordinal columns."""

    columns: tuple[Column, ...]
    scale: Scale = field(repr=False)
    rows: GaussianRows = field(repr=False)
    settings: FitSettings

    @property
    def kind(self) -> Kind:
        return "gaussian"

    @property
    def note(self) -> str:
        ordinal = [column.name for column in self.columns if column.kind == "ordinal"]
        return f"ordinal columns are treated as continuous: {listed(ordinal)}" if ordinal else ""

    def problem(self, graph: LatentGraph) -> GaussianProblem:
        return GaussianProblem(graph, self.rows)

    def start(self, problem: Problem) -> FloatArray:
        assert isinstance(problem, GaussianProblem)
        graph = problem.graph
        variance = np.ones(graph.n_nodes)
        correlation = start_correlations(graph, self.rows, Anchors.of(graph))
        parts = EdgeParts.of(graph, variance, correlation)
        return problem.point(assembled(graph, 1 / variance, parts), np.zeros(graph.n_observed))

    def continued(self, old: Fitted, problem: Problem, origin: IntArray) -> FloatArray:
        """Return a start that keeps unchanged parts; see `DiscreteFamily.continued`."""
        assert isinstance(problem, GaussianProblem)
        assert isinstance(old.problem, GaussianProblem)
        graph, old_graph = problem.graph, old.problem.graph
        precision = old.problem.precision(old.point)
        covariance: FloatArray = np.linalg.inv(precision).astype(np.float64)
        old_parts, own = _gaussian_parts(old_graph, precision, covariance)
        is_new = origin < 0
        variance = np.where(is_new, 1.0, np.diag(covariance)[origin])
        towards = covariance[np.arange(old_graph.n_nodes), representatives(old_graph)]
        anchors = _kept_anchors(old_graph, np.where(towards < 0, -1.0, 1.0), graph, origin)
        parts = EdgeParts.of(graph, variance, start_correlations(graph, self.rows, anchors))
        known = {tuple(edge): k for k, edge in enumerate(old_graph.edges.tolist())}
        for edge, (u, v) in enumerate(graph.edges.tolist()):
            k = known.get(tuple(sorted((int(origin[u]), int(origin[v])))))
            if k is not None:
                ends = [old_parts.first[k], old_parts.second[k]]
                parts.first[edge], parts.second[edge] = ends[:: 1 if origin[u] < origin[v] else -1]
                parts.between[edge] = old_parts.between[k]
        matrix = assembled(graph, np.where(is_new, 1.0, own[origin]), parts)
        return problem.point(matrix, old.problem.mean(old.point))

    def perturbed(
        self, problem: Problem, point: FloatArray, rng: np.random.Generator
    ) -> FloatArray:
        assert isinstance(problem, GaussianProblem)
        graph = problem.graph
        correlation = start_correlations(graph, self.rows, Anchors.of(graph))
        touched = graph.edges[:, 1] >= graph.n_observed
        change = self.settings.spread * rng.normal(size=graph.n_edges) * touched
        moved = np.tanh(np.arctanh(correlation) + change)
        parts = EdgeParts.of(graph, np.ones(graph.n_nodes), moved)
        return problem.point(assembled(graph, np.ones(graph.n_nodes), parts), problem.mean(point))

    def model(self, problem: Problem, point: FloatArray) -> GaussianModel:
        assert isinstance(problem, GaussianProblem)
        precision = normalised(problem.graph, problem.precision(point))
        values = (frozen_array(one, np.float64) for one in (problem.mean(point), precision))
        return GaussianModel(problem.graph, self.columns, self.scale, *values)


Family = DiscreteFamily | GaussianFamily


def family_of(obs: Observations, names: tuple[str, ...], settings: FitSettings) -> Family:
    """Return the model family for the named columns of a table."""
    chosen = pick(obs, names)
    kinds = Counter(chosen.kinds)
    n_numeric = kinds["ordinal"] + kinds["continuous"]
    if n_numeric == 0:
        return DiscreteFamily(chosen.columns, encode(chosen, chosen.columns), settings)
    if n_numeric < len(names):
        shown = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
        raise InferenceError(
            f"Discrete and continuous columns cannot be mixed in one fit ({shown}); ",
            Remedy("one_sort"),
            ".",
        )
    scale = Scale.of(chosen)
    return GaussianFamily(chosen.columns, scale, scale.rows(chosen), settings)


def _parts_of_edge(joint: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return what an edge with these marginals contributes to its ends, as on a tree."""
    ratio = np.log(joint / np.outer(joint.sum(axis=1), joint.sum(axis=0)))
    return ratio.mean(axis=1), ratio.mean(axis=0)


def _kept_anchors(
    old: LatentGraph, signs: FloatArray, new: LatentGraph, origin: IntArray
) -> Anchors:
    """Keep the representative and the sign of old nodes."""
    is_new: BoolArray = origin < 0
    column = np.where(is_new, representatives(new), representatives(old)[origin])
    return Anchors(column, np.where(is_new, 1.0, signs[origin]))


def _gaussian_parts(
    graph: LatentGraph, precision: FloatArray, covariance: FloatArray
) -> tuple[EdgeParts, FloatArray]:
    """Split a precision matrix into the contributions of edges as on a tree, and the remainder."""
    u, v = graph.edges.T
    variance = np.diag(covariance)
    correlation = np.clip(covariance[u, v] / np.sqrt(variance[u] * variance[v]), -0.999, 0.999)
    parts = EdgeParts.of(graph, variance, correlation)
    own = np.diag(precision).copy()
    np.subtract.at(own, u, parts.first)
    np.subtract.at(own, v, parts.second)
    return EdgeParts(parts.first, parts.second, precision[u, v]), own


def _normed(table: FloatArray) -> FloatArray:
    kept = np.maximum(table, 1e-3)
    result: FloatArray = kept / kept.sum()
    return result
