"""Chapters 1 to 3: the data, a distance, balls and local trees.

The distance of two columns, from their rows to the number (section 3.1).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.cluster.hierarchy import leaves_list, linkage, optimal_leaf_ordering
from scipy.spatial.distance import squareform

from loopylatent.compute.arrays import FloatArray, IntArray
from loopylatent.distances.matrix import DistanceMatrix
from loopylatent.graph import LatentGraph
from loopylatent.lesson.captions import Caption, counted, is_or_are, joined, say
from loopylatent.lesson.cast import EdgeKey
from loopylatent.lesson.frames import Detail, Frame, Key, Mark, Place, Shade, drawn
from loopylatent.lesson.material import Material
from loopylatent.tables.observations import Observations

MOST_EDGES = 3
"""New edges that a caption names."""


def data_frame(m: Material, place: Place) -> Frame:
    """Every column a dot, no edge."""
    p = m.D.n_columns
    if m.obs is None:
        caption = say(
            "Given are the distances between {p} [columns|column]. Each dot is a column; which of "
            "them belong together is what the learner has to find.", p=p,
        )  # fmt: skip
    else:
        caption = say(
            "A table of {n} rows and {p} [columns|column]. Each dot is a column; which of them "
            "belong together, and through which [hidden] variables, is what the learner has to "
            "find.", n=m.obs.n_rows, p=p,
        )  # fmt: skip
    return Frame(place, caption, 1, m.columns, ())


def truth_frame(m: Material, place: Place) -> Frame:
    """The graph from which the data were made."""
    truth = m.cast.truth
    assert truth is not None
    made = "distances were taken" if m.obs is None else "rows were drawn"
    caption = say(
        "These data are made up, so the truth is known. The {made} from this graph of {h} [hidden] "
        "nodes, {e} edges and {cycles}. The learner never sees it.",
        made=made, h=truth.n_hidden, e=truth.n_edges, cycles=_cycles(truth.n_cycles),
    )  # fmt: skip
    edges = m.cast.truth_edges
    shown = drawn(edges, "truth")
    return Frame(place, caption, 1, m.shown(edges), shown, legend=(Key("truth", "truth"),))


def pair_frame(m: Material, place: Place, pair: tuple[int, int] | None = None) -> Frame:
    """Two columns; the closest ones unless others are chosen."""
    i, j = closest_pair(m.D) if pair is None else pair
    d = float(m.D.values[i, j])
    a, b = m.name(i), m.name(j)
    if math.isinf(d):
        caption = say(
            "{a} and {b} look independent: their [distance] is infinite, and no edge ever joins "
            "them directly.", a=a, b=b,
        )  # fmt: skip
    else:
        chosen = "are the closest pair:" if pair is None else "have"
        caption = say(
            "{a} and {b} {chosen} [strength] {s:.3f}, and so the [distance] −log {s:.3f} = "
            "{d:.3f}. The larger the distance, the less one says about the other.",
            a=a, b=b, chosen=chosen, s=math.exp(-d), d=d,
        )  # fmt: skip
    return Frame(place, caption, 1, m.columns, (), focus=frozenset((i, j)))


def matrix_frame(m: Material, place: Place) -> Frame:
    """All distances."""
    p = m.D.n_columns
    caption = say(
        "All {pairs} [distances|distance], from {low:.2f} to {high:.2f}. Rows and columns stand in "
        "the order of the graph that will be learned, so that what belongs together makes blocks.",
        pairs=p * (p - 1) // 2, low=m.D.smallest, high=m.D.r_max,
    )  # fmt: skip
    if m.D.noise_floor is not None:
        caption += say(
            "Beyond the [noise floor], {floor:.2f}, chance alone makes such distances.",
            floor=m.D.noise_floor,
        )
    return Frame(place, caption, 1, m.columns, ())


def ball_frame(m: Material, place: Place) -> Frame:
    """The ball of a column, before its tree is drawn."""
    v = _node(place)
    before = m.balls.union(v - 1)
    return Frame(
        place,
        _ball_caption(m, v),
        3,
        m.columns,
        drawn(before, notes=m.ball_notes),
        focus=_ball(m, v),
        centre=v,
        shade=_ball_shade(m, v),
        legend=(Key("kept", "union"),),
    )


def tree_frame(m: Material, place: Place, detail: Detail) -> Frame:
    """The local tree of a column and what it adds to the union."""
    v = _node(place)
    tree, new = m.balls.tree(v), set(m.balls.adds(v))
    union = m.balls.union(v)
    marks: dict[EdgeKey, Mark] = {e: "added" if e in new else "tree" for e in tree}
    caption = _tree_caption(m, v, len(union))
    return Frame(
        place,
        caption if detail == "fine" else _ball_caption(m, v) + caption,
        4,
        m.columns,
        drawn(union, marks=marks, notes=m.ball_notes),
        focus=_ball(m, v),
        centre=v,
        shade=_ball_shade(m, v),
        legend=(
            Key("added", "tree, new"),
            Key("tree", "tree, known"),
            Key("kept", "union"),
        ),
    )


def union_frame(m: Material, place: Place) -> Frame:
    """The graph where grouping starts."""
    graph = m.result.initial_graph
    caption = say(
        "The [union] of the {p} local trees: {edges} and {cycles}, in {pieces}. From here grouping "
        "starts.",
        p=graph.n_observed,
        edges=counted(graph.n_edges, "edge"),
        cycles=_cycles(graph.n_cycles),
        pieces=counted(graph.n_components, "piece"),
    )
    return Frame(place, caption, 5, m.columns, drawn(m.initial, notes=m.ball_notes))


def _node(place: Place) -> int:
    assert place.node is not None
    return place.node


def _cycles(number: int) -> Caption:
    return counted(number, "cycle") if number else say("no [cycle]")


def _ball(m: Material, v: int) -> frozenset[int]:
    return frozenset(m.balls.members(v).tolist())


def _ball_shade(m: Material, v: int) -> Shade:
    return Shade(tuple(m.balls.members(v).tolist()), m.balls.tree(v))


def _ball_caption(m: Material, v: int) -> Caption:
    ball = m.balls.members(v)
    lengths = m.D.values[v]
    if len(ball) == 1:
        others = np.delete(np.arange(m.D.n_columns), v)
        near = int(others[lengths[others].argmin()])
        return say(
            "The [ball] of {v} holds {v} alone: the nearest other column, {u}, is {d:.2f} away, "
            "beyond r = {r:.2f}.", v=m.name(v), u=m.name(near), d=float(lengths[near]), r=m.balls.r,
        )  # fmt: skip
    far = int(ball[lengths[ball].argmax()])
    return say(
        "The [ball] of {v}: {k} of {p} columns lie within r = {r:.2f} (itself included); the "
        "farthest is {u} at {d:.2f}.",
        v=m.name(v), k=len(ball), p=m.D.n_columns, r=m.balls.r, u=m.name(far),
        d=float(lengths[far]),
    )  # fmt: skip


def _tree_caption(m: Material, v: int, union: int) -> Caption:
    tree, new = m.balls.tree(v), m.balls.adds(v)
    if not tree:
        return say("A tree of one node has no edge; the [union] still has {n}.", n=union)
    total = float(sum(m.D.values[edge] for edge in tree))
    caption = say(
        "Its [local tree] has {edges} of total length {total:.2f}.",
        edges=counted(len(tree), "edge"), total=total,
    )  # fmt: skip
    if not new:
        return caption + say("All were there before: the [union] still has {n}.", n=union)
    named = [say("{a} – {b}", a=m.name(a), b=m.name(b)) for a, b in new[:MOST_EDGES]]
    more = len(new) - len(named)
    return caption + say(
        "{k} new ({named}{more}); the [union] now has {n}.",
        k=is_or_are(len(new)), n=union, named=joined(named),
        more=say(" and {n} more", n=more) if more else "",
    )  # fmt: skip


MOST_STATES = 12
"""Columns with at most so many values are shown as a table of counts."""
MOST_POINTS = 1500
MOST_ORDERED = 300
"""Columns up to which the rows of the matrix are ordered as well as can be."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number on the way to the distance."""

    name: str
    value: float
    meaning: str

    @property
    def shown(self) -> str:
        """The number with four digits that mean something, so that they stand below each other.

        Examples
        --------
        >>> Quantity("rows", 5000.0, "").shown, Quantity("spread", 0.5, "").shown
        ('5,000', '0.5000')
        """
        if abs(self.value) >= 1000 or (self.value >= 1 and self.value.is_integer()):
            return f"{self.value:,.0f}"
        return f"{self.value:#.4g}"


@dataclass(frozen=True, slots=True, eq=False)
class CountTable:
    """How often each two values occur together."""

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    counts: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Points:
    """Some of the rows, as points."""

    x: FloatArray
    y: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class PairView:
    """Two columns, and how their distance comes about."""

    names: tuple[str, str]
    distance: float
    strength: float
    metric: str
    table: CountTable | None
    points: Points | None
    quantities: tuple[Quantity, ...]


def pair_view(D: DistanceMatrix, obs: Observations | None, i: int, j: int) -> PairView:
    """Look at two columns by their numbers in the distance matrix."""
    distance = float(D.values[i, j])
    names = (D.names[i], D.names[j])
    strength = math.exp(-distance)
    if obs is None or D.metric == "given":
        return PairView(names, distance, strength, D.metric, None, None, ())
    rows = _Rows.of(obs, names, as_ranks=D.metric == "rank")
    table = rows.table()
    if D.metric.startswith("determinant") and table is not None:
        quantities = _determinants(table.counts, normalised=D.metric == "determinant")
    elif D.metric in ("correlation", "rank"):
        quantities = _moments(rows)
    else:
        meaning = "the largest correlation that weighting the values of each column can give"
        quantities = (Quantity("canonical correlation", strength, meaning),)
    points = None if table is not None else rows.points()
    return PairView(names, distance, strength, D.metric, table, points, quantities)


def closest_pair(D: DistanceMatrix) -> tuple[int, int]:
    """Return the two columns at the smallest distance.

    Examples
    --------
    >>> closest_pair(DistanceMatrix.from_array([[0, 1, 3], [1, 0, 0.5], [3, 0.5, 0]]))
    (1, 2)
    """
    masked = D.values + np.diag(np.full(D.n_columns, np.inf))
    i, j = divmod(int(masked.argmin()), D.n_columns)
    return min(i, j), max(i, j)


def heatmap_order(graph: LatentGraph) -> tuple[int, ...]:
    """Order the columns so that those near each other in the graph stand together.

    Examples
    --------
    >>> path = LatentGraph.build("abc", 0, [(0, 2), (1, 2)])
    >>> sorted(heatmap_order(path)), heatmap_order(path)[1]
    ([0, 1, 2], 2)
    """
    p = graph.n_observed
    lengths = graph.path_lengths(range(p))[:, :p]
    reach = lengths[np.isfinite(lengths)].max()
    lengths = np.where(np.isfinite(lengths), lengths, 2 * reach + 1)
    condensed = squareform((lengths + lengths.T) / 2, checks=False)
    tree = linkage(condensed, "average")
    if p <= MOST_ORDERED:
        tree = optimal_leaf_ordering(tree, condensed)
    return tuple(int(column) for column in leaves_list(tree))


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """The rows in which both columns are present."""

    values: FloatArray
    """(rows, 2): states by their codes."""
    numbers: FloatArray
    """(rows, 2): what the distance is taken of, the values or their ranks."""
    weights: FloatArray
    states: tuple[tuple[str, ...], tuple[str, ...]]

    @classmethod
    def of(cls, obs: Observations, names: tuple[str, str], *, as_ranks: bool) -> _Rows:
        i, j = (obs.names.index(name) for name in names)
        values = obs.dense()[:, [i, j]]
        present = np.isfinite(values)
        weights = np.ones(len(values)) if obs.weights is None else np.asarray(obs.weights)
        numbers = values.copy()
        if as_ranks:  # within a column, over all rows that have it
            for k in range(2):
                here = present[:, k]
                numbers[here, k] = _ranks(values[here, k], weights[here])
        both = present.all(axis=1)
        states = (obs.columns[i].states, obs.columns[j].states)
        return cls(values[both], numbers[both], weights[both], states)

    def table(self) -> CountTable | None:
        """Counts of every two values, where there are few of them."""
        if any(len(states) > MOST_STATES for states in self.states):
            return None
        x, x_names = _levels(self.values[:, 0], self.states[0])
        y, y_names = _levels(self.values[:, 1], self.states[1])
        if max(len(x_names), len(y_names)) > MOST_STATES:
            return None
        counts = np.zeros((len(x_names), len(y_names)))
        np.add.at(counts, (x, y), self.weights)
        return CountTable(x_names, y_names, counts)

    def points(self) -> Points:
        """At most ``MOST_POINTS`` rows, evenly taken."""
        step = max(1, -(-len(self.numbers) // MOST_POINTS))
        return Points(self.numbers[::step, 0], self.numbers[::step, 1])


def _levels(values: FloatArray, states: tuple[str, ...]) -> tuple[IntArray, tuple[str, ...]]:
    """Number the values: by the states of the column, else by size."""
    if states:
        return values.astype(np.int64), states
    found, codes = np.unique(values, return_inverse=True)
    return codes.astype(np.int64), tuple(f"{value:g}" for value in found)


def _ranks(values: FloatArray, weights: FloatArray) -> FloatArray:
    """Middle ranks: how much lies below a value, and half of what equals it."""
    _, level = np.unique(values, return_inverse=True)
    mass = np.bincount(level, weights)
    middle: FloatArray = (np.cumsum(mass) - mass / 2)[level]
    return middle


def _moments(rows: _Rows) -> tuple[Quantity, ...]:
    """Means, spreads, covariance and correlation."""
    w = rows.weights / rows.weights.sum()
    mean_x, mean_y = (w @ rows.numbers).tolist()
    dx, dy = (rows.numbers - (mean_x, mean_y)).T
    sd_x, sd_y = math.sqrt(w @ dx**2), math.sqrt(w @ dy**2)
    covariance = float(w @ (dx * dy))
    rho = covariance / (sd_x * sd_y) if sd_x * sd_y > 0 else 0.0
    return (
        Quantity("rows", float(rows.weights.sum()), "in which both columns are present"),
        Quantity("mean of the first", mean_x, ""),
        Quantity("mean of the second", mean_y, ""),
        Quantity("spread of the first", sd_x, "standard deviation"),
        Quantity("spread of the second", sd_y, "standard deviation"),
        Quantity("covariance", covariance, "mean product of the deviations from the means"),
        Quantity("correlation ρ", rho, "covariance divided by both spreads"),
    )


def _determinants(counts: FloatArray, *, normalised: bool) -> tuple[Quantity, ...]:
    """Determinants of the joint table and of the two margins."""
    joint = counts / counts.sum()
    det = float(np.linalg.det(joint))
    parts = [
        Quantity("rows", float(counts.sum()), "in which both columns are present"),
        Quantity("det P(i,j)", det, "of the table of shares"),
    ]
    if normalised:
        det_i, det_j = float(joint.sum(axis=1).prod()), float(joint.sum(axis=0).prod())
        strength = abs(det) / math.sqrt(det_i * det_j) if det_i * det_j > 0 else 0.0
        parts += [
            Quantity("det P(i)", det_i, "product of the shares of the first column"),
            Quantity("det P(j)", det_j, "product of the shares of the second column"),
            Quantity("strength", strength, "|det P(i,j)| / √(det P(i) · det P(j))"),
        ]
    return tuple(parts)
