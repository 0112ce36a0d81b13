"""Chapters 1 to 3 and 5: the data, distances (section 3.1), balls and local trees, the result."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from html import escape

import numpy as np
import pandas as pd
from scipy.cluster.hierarchy import leaves_list, linkage, optimal_leaf_ordering
from scipy.spatial.distance import squareform

from loopylatent.compute.values import FloatArray
from loopylatent.distances.matrix import DistanceMatrix
from loopylatent.figures import charts
from loopylatent.figures.layout import shown_label
from loopylatent.figures.network import THEMES, ThemeName
from loopylatent.graph import LatentGraph
from loopylatent.lesson.cast import Caption, counted, joined, say
from loopylatent.lesson.grouping_chapter import GROUPING_FRAMES
from loopylatent.lesson.material import (
    DrawnEdge,
    Frame,
    Mark,
    Material,
    Phase,
    Place,
    Shade,
    all_marked,
    drawn,
)
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
    legend: dict[Mark, str] = {"truth": "truth"}
    return Frame(place, caption, 1, m.shown(edges), drawn(edges, "truth"), legend=legend)


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
    before = drawn(m.balls.union(v - 1), notes=m.ball_notes)
    return _at_ball(m, place, _ball_caption(m, v), 3, before, {"kept": "union"})


def tree_frame(m: Material, place: Place) -> Frame:
    """The local tree of a column and what it adds to the union."""
    v = _node(place)
    union = m.balls.union(v)
    marks = all_marked(m.balls.tree(v), "tree") | all_marked(m.balls.adds(v), "added")
    caption = _tree_caption(m, v, len(union))
    legend: dict[Mark, str] = {"added": "tree, new", "tree": "tree, known", "kept": "union"}
    edges = drawn(union, marks=marks, notes=m.ball_notes)
    return _at_ball(m, place, caption, 4, edges, legend, _ball_caption(m, v) + caption)


def _at_ball(
    m: Material,
    place: Place,
    caption: Caption,
    line: int,
    edges: tuple[DrawnEdge, ...],
    legend: Mapping[Mark, str],
    overview: Caption | None = None,
) -> Frame:
    v = _node(place)
    ball = tuple(m.balls.members(v).tolist())
    return Frame(
        place, caption, line, m.columns, edges, focus=frozenset(ball), centre=v,
        shade=Shade(ball, m.balls.tree(v)), legend=legend, overview=overview,
    )  # fmt: skip


def union_frame(m: Material, place: Place) -> Frame:
    """The graph where grouping starts."""
    graph = m.result.initial_graph
    caption = say(
        "The [union] of the {p} local trees: {edges} and {cycles}, in {pieces}. From here grouping "
        "starts.",
        p=graph.n_observed, edges=counted(graph.n_edges, "edge"), cycles=_cycles(graph.n_cycles),
        pieces=counted(graph.n_components, "piece"),
    )  # fmt: skip
    return Frame(place, caption, 5, m.columns, drawn(m.initial, notes=m.ball_notes))


def _node(place: Place) -> int:
    assert place.node is not None
    return place.node


def _cycles(number: int) -> Caption:
    return counted(number, "cycle") if number else say("no [cycle]")


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
        k=counted(len(new), "is", "are"), n=union, named=joined(named),
        more=say(" and {n} more", n=more) if more else "",
    )  # fmt: skip


def gained_frame(m: Material, place: Place) -> Frame:
    """The learned graph, and what grouping took away and put in."""
    graph, initial, learned = m.result.graph, m.initial, m.learned
    lost = {edge: length for edge, length in initial.items() if edge not in learned}
    marks = all_marked(learned.keys() - initial.keys(), "added")
    caption = say(
        "The result: {edges}, {hidden} and {cycles}. Of the {start} edges before grouping {kept} "
        "are still there, {lost} have gone, and {new} are new.",
        edges=counted(graph.n_edges, "edge"), hidden=counted(graph.n_hidden, "hidden node"),
        cycles=counted(graph.n_cycles, "cycle"), start=len(initial), lost=len(lost),
        kept=len(initial) - len(lost), new=len(marks),
    )  # fmt: skip
    legend: dict[Mark, str] = {
        "added": "put in by grouping", "removed": "taken away", "kept": "there from the start",
    }  # fmt: skip
    edges = drawn(learned, marks=marks) + drawn(lost, "removed")
    return Frame(place, caption, 15, m.shown(learned), edges, legend=legend)


def compared_frame(m: Material, place: Place) -> Frame:
    """The learned graph beside the truth."""
    learned, true, error = m.learned, m.cast.truth_edges, m.structure_error
    assert error is not None
    missed = {edge: length for edge, length in true.items() if edge not in learned}
    marks = all_marked(learned.keys() - true.keys(), "wrong")
    caption = say(
        "Against the truth: {found} of {n} edges found, {missed} missed, {wrong} that the truth "
        "does not have. The [structure error] is {bound}{error}.",
        found=len(true) - len(missed), n=len(true), missed=len(missed), wrong=len(marks),
        bound="" if error.is_exact else "at most ", error=error.value,
    )  # fmt: skip
    nodes = tuple(sorted({*m.shown(learned), *m.shown(missed)}))
    edges = drawn(learned, marks=marks) + drawn(missed, "removed")
    legend: dict[Mark, str] = {"kept": "found", "removed": "missed", "wrong": "not in the truth"}
    return Frame(place, caption, 15, nodes, edges, legend=legend)


FRAMES: Mapping[Phase, Callable[[Material, Place], Frame]] = {
    "data": data_frame, "truth": truth_frame, "pair": pair_frame, "matrix": matrix_frame,
    "ball": ball_frame, "tree": tree_frame, "union": union_frame, **GROUPING_FRAMES,
    "gained": gained_frame, "compared": compared_frame,
}  # fmt: skip
"""How each step is made."""


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
        """The number with four digits that mean something: 5,000 or 0.5000."""
        if abs(self.value) >= 1000 or (self.value >= 1 and self.value.is_integer()):
            return f"{self.value:,.0f}"
        return f"{self.value:#.4g}"


@dataclass(frozen=True, slots=True, eq=False)
class PairView:
    """Two columns, and how their distance comes about."""

    names: tuple[str, str]
    distance: float
    table: pd.DataFrame | None = None
    """How often each two values occur together, where there are few of them."""
    points: FloatArray | None = None
    """(rows, 2) some of the rows, where there is no table."""
    quantities: tuple[Quantity, ...] = ()

    @property
    def strength(self) -> float:
        return math.exp(-self.distance)


def pair_view(D: DistanceMatrix, obs: Observations | None, i: int, j: int) -> PairView:
    """Look at two columns by their numbers in the distance matrix."""
    names, distance = (D.names[i], D.names[j]), float(D.values[i, j])
    if obs is None or D.metric == "given":
        return PairView(names, distance)
    at = [obs.names.index(name) for name in names]
    values = obs.dense()[:, at]
    present = np.isfinite(values)
    both = present.all(axis=1)
    weights = np.ones(len(values)) if obs.weights is None else np.asarray(obs.weights)
    table = _table(values[both], weights[both], [obs.columns[k].states for k in at])
    if D.metric == "rank":  # within a column, over all rows that have it
        for k, here in enumerate(present.T):
            values[here, k] = _ranks(values[here, k], weights[here])
    numbers = values[both]
    if D.metric.startswith("determinant") and table is not None:
        quantities = _determinants(table.to_numpy(), normalised=D.metric == "determinant")
    elif D.metric in ("correlation", "rank"):
        quantities = _moments(numbers, weights[both])
    else:
        meaning = "the largest correlation that weighting the values of each column can give"
        quantities = (Quantity("canonical correlation", math.exp(-distance), meaning),)
    step = max(1, -(-len(numbers) // MOST_POINTS))
    return PairView(names, distance, table, numbers[::step] if table is None else None, quantities)


def closest_pair(D: DistanceMatrix) -> tuple[int, int]:
    """Return the two columns at the smallest distance."""
    masked = D.values + np.diag(np.full(D.n_columns, np.inf))
    i, j = divmod(int(masked.argmin()), D.n_columns)
    return min(i, j), max(i, j)


def heatmap_order(graph: LatentGraph) -> tuple[int, ...]:
    """Order the columns so that those near each other in the graph stand together."""
    p = graph.n_observed
    lengths = graph.path_lengths(range(p))[:, :p]
    reach = lengths[np.isfinite(lengths)].max()
    lengths = np.where(np.isfinite(lengths), lengths, 2 * reach + 1)
    condensed = squareform((lengths + lengths.T) / 2, checks=False)
    tree = linkage(condensed, "average")
    if p <= MOST_ORDERED:
        tree = optimal_leaf_ordering(tree, condensed)
    return tuple(int(column) for column in leaves_list(tree))


def _table(
    values: FloatArray, weights: FloatArray, states: list[tuple[str, ...]]
) -> pd.DataFrame | None:
    """Count every two values: by the states of a column, else by size."""
    codes, levels = [], []
    for column, named in zip(values.T, states, strict=True):
        found, code = np.unique(column, return_inverse=True)
        codes.append(column.astype(np.int64) if named else code)
        levels.append(named or tuple(f"{value:g}" for value in found))
    if max(map(len, levels)) > MOST_STATES:
        return None
    counts = np.zeros((len(levels[0]), len(levels[1])))
    np.add.at(counts, tuple(codes), weights)
    return pd.DataFrame(counts, index=levels[0], columns=levels[1])


def _ranks(values: FloatArray, weights: FloatArray) -> FloatArray:
    """Middle ranks: how much lies below a value, and half of what equals it."""
    _, level = np.unique(values, return_inverse=True)
    mass = np.bincount(level, weights)
    middle: FloatArray = (np.cumsum(mass) - mass / 2)[level]
    return middle


def _moments(numbers: FloatArray, weights: FloatArray) -> tuple[Quantity, ...]:
    w = weights / weights.sum()
    mean_x, mean_y = (w @ numbers).tolist()
    dx, dy = (numbers - (mean_x, mean_y)).T
    sd_x, sd_y = math.sqrt(w @ dx**2), math.sqrt(w @ dy**2)
    covariance = float(w @ (dx * dy))
    rho = covariance / (sd_x * sd_y) if sd_x * sd_y > 0 else 0.0
    return (
        Quantity("rows", float(weights.sum()), "in which both columns are present"),
        Quantity("mean of the first", mean_x, ""),
        Quantity("mean of the second", mean_y, ""),
        Quantity("spread of the first", sd_x, "standard deviation"),
        Quantity("spread of the second", sd_y, "standard deviation"),
        Quantity("covariance", covariance, "mean product of the deviations from the means"),
        Quantity("correlation ρ", rho, "covariance divided by both spreads"),
    )


def _determinants(counts: FloatArray, *, normalised: bool) -> tuple[Quantity, ...]:
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


MOST_TICKS = 60
"""Columns up to which each row of the matrix has its name beside it."""
SHADES = {
    "light": ["#0B3C5D", "#2C7FB8", "#A6CDE3", "#F4F7FA"],
    "dark": ["#BFE3F8", "#56B4E9", "#1F5C85", "#161C25"],
}
"""From near to far."""


def matrix_figure(
    D: DistanceMatrix, order: tuple[int, ...], theme: ThemeName = "light", height: int = 520
) -> charts.Figure:
    """Draw all distances, rows and columns in the given order; the nearer, the stronger."""
    index = np.asarray(order)
    values = D.values[index[:, None], index].copy()
    np.fill_diagonal(values, np.nan)
    values[~np.isfinite(values)] = np.nan
    names = [escape(shown_label(D.names[column], 18)) for column in order]
    places, shades = list(range(len(order))), SHADES[theme]
    drawn = {
        "type": "heatmap",
        "z": values,
        "x": places,
        "y": places,
        "text": [[f"{a} – {b}" for b in names] for a in names],
        "hovertemplate": "%{text}<br>distance %{z:.3f}<extra></extra>",
        "colorscale": [[k / (len(shades) - 1), shade] for k, shade in enumerate(shades)],
        "colorbar": {"title": {"text": "d", "side": "top"}, "thickness": 10, "outlinewidth": 0},
        **dict.fromkeys(("xgap", "ygap"), int(len(order) <= 40)),
    }
    ticks = {"tickvals": places if len(order) <= MOST_TICKS else [], "ticktext": names}
    ticks |= {"showgrid": False, "zeroline": False, "fixedrange": True, "constrain": "domain"}
    across, down = {"tickangle": -90}, {"autorange": "reversed", "scaleanchor": "x"}
    axes = {"xaxis": ticks | across, "yaxis": ticks | down}
    return charts.figure_of([drawn], charts.bare(theme, height, 6) | axes)


def points_figure(
    points: FloatArray, names: tuple[str, str], theme: ThemeName = "light", height: int = 300
) -> charts.Figure:
    """Draw two columns of numbers against each other."""
    drawn = {
        "type": "scattergl",
        "x": points[:, 0],
        "y": points[:, 1],
        "mode": "markers",
        "marker": {"size": 4, "color": THEMES[theme].observed, "opacity": 0.45},
        "hovertemplate": "%{x:.4g}, %{y:.4g}<extra></extra>",
    }
    axis = {"zeroline": False, "fixedrange": True, "gridcolor": "rgba(128,128,128,0.2)"}
    titles = [{"title": {"text": escape(shown_label(name, 30))}} for name in names]
    axes = {name: axis | title for name, title in zip(("xaxis", "yaxis"), titles, strict=True)}
    return charts.figure_of([drawn], charts.bare(theme, height, 6) | axes)
