"""Chapters 1 to 3 and 5: data, distances (section 3.1), initial graph, result."""

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
from loopylatent.lesson.refinement_chapter import REFINEMENT_FRAMES
from loopylatent.tables.observations import Observations

MAX_NAMED_EDGES = 3


def data_frame(m: Material, place: Place) -> Frame:
    """All columns, no edges."""
    p = m.D.n_columns
    if m.obs is None:
        caption = say(
            "The distances between {p} [columns|column]. Each dot is a column. The learner has to "
            "find which of them belong together.", p=p,
        )  # fmt: skip
    else:
        caption = say(
            "A table of {n} rows and {p} [columns|column]. Each dot is a column. The learner has "
            "to find which of them belong together, and through which [hidden] variables.",
            n=m.obs.n_rows, p=p,
        )  # fmt: skip
    return Frame(place, caption, 1, m.columns, ())


def truth_frame(m: Material, place: Place) -> Frame:
    """The true graph of synthetic data."""
    truth = m.cast.truth
    assert truth is not None
    sampled = "distances were computed" if m.obs is None else "rows were sampled"
    caption = say(
        "These data are [synthetic], so the true graph is known. The {sampled} from this graph of "
        "{h} [hidden] nodes, {e} edges and {cycles}. The learner never sees it.",
        sampled=sampled, h=truth.n_hidden, e=truth.n_edges, cycles=_cycles(truth.n_cycles),
    )  # fmt: skip
    edges = m.cast.truth_edges
    legend: dict[Mark, str] = {"truth": "true graph"}
    return Frame(place, caption, 1, m.shown(edges), drawn(edges, "truth"), legend=legend)


def pair_frame(m: Material, place: Place, pair: tuple[int, int] | None = None) -> Frame:
    """Two columns, by default the closest pair."""
    i, j = closest_pair(m.D) if pair is None else pair
    d = float(m.D.values[i, j])
    a, b = m.name(i), m.name(j)
    if math.isinf(d):
        caption = say(
            "{a} and {b} appear independent: their [distance] is infinite, and no edge connects "
            "them directly.", a=a, b=b,
        )  # fmt: skip
    else:
        chosen = "are the closest pair:" if pair is None else "have"
        caption = say(
            "{a} and {b} {chosen} [strength] {s:.3f}, so their [distance] is −log {s:.3f} = "
            "{d:.3f}. A larger distance means a weaker association.",
            a=a, b=b, chosen=chosen, s=math.exp(-d), d=d,
        )  # fmt: skip
    return Frame(place, caption, 1, m.columns, (), focus=frozenset((i, j)))


def matrix_frame(m: Material, place: Place) -> Frame:
    """All distances."""
    p = m.D.n_columns
    caption = say(
        "All {pairs} [distances|distance], from {low:.2f} to {high:.2f}. Rows and columns are "
        "ordered by the graph that will be learned, so groups of columns form blocks.",
        pairs=p * (p - 1) // 2, low=m.D.smallest, high=m.D.r_max,
    )  # fmt: skip
    if m.D.noise_floor is not None:
        caption += say(
            "Beyond the [noise floor], {floor:.2f}, they cannot be distinguished from "
            "independence.",
            floor=m.D.noise_floor,
        )
    return Frame(place, caption, 1, m.columns, ())


def ball_frame(m: Material, place: Place) -> Frame:
    """The ball of a column."""
    v = _node(place)
    before = drawn(m.balls.union(v - 1), notes=m.ball_notes)
    return _at_ball(m, place, _ball_caption(m, v), 3, before, {"kept": "initial graph so far"})


def tree_frame(m: Material, place: Place) -> Frame:
    """The local MST of a column and the edges it adds."""
    v = _node(place)
    union = m.balls.union(v)
    marks = all_marked(m.balls.tree(v), "tree") | all_marked(m.balls.adds(v), "added")
    caption = _tree_caption(m, v, len(union))
    legend: dict[Mark, str] = {
        "added": "MST, new edge", "tree": "MST, known edge", "kept": "initial graph so far",
    }  # fmt: skip
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
    """The initial graph."""
    graph = m.result.initial_graph
    caption = say(
        "The [initial graph] is the union of the {p} [local MSTs|local MST]: {edges} and {cycles}, "
        "in {components}. Grouping starts here.",
        p=graph.n_observed, edges=counted(graph.n_edges, "edge"), cycles=_cycles(graph.n_cycles),
        components=counted(
            graph.n_components, "[connected component]",
            "[connected components|connected component]",
        ),
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
            "The [ball] of {v} contains only {v}: the nearest other column, {u}, is {d:.2f} away, "
            "more than r = {r:.2f}.",
            v=m.name(v), u=m.name(near), d=float(lengths[near]), r=m.balls.r,
        )  # fmt: skip
    far = int(ball[lengths[ball].argmax()])
    return say(
        "The [ball] of {v} contains {k} of {p} columns, those within r = {r:.2f} (including "
        "{v}). The farthest is {u} at {d:.2f}.",
        v=m.name(v), k=len(ball), p=m.D.n_columns, r=m.balls.r, u=m.name(far),
        d=float(lengths[far]),
    )  # fmt: skip


def _tree_caption(m: Material, v: int, n_edges: int) -> Caption:
    tree, new = m.balls.tree(v), m.balls.adds(v)
    edges_now = counted(n_edges, "edge")
    if not tree:
        return say("One node has no edges. The [initial graph] still has {n}.", n=edges_now)
    total = float(sum(m.D.values[edge] for edge in tree))
    caption = say(
        "Its [minimum spanning tree] has {edges} of total length {total:.2f}.",
        edges=counted(len(tree), "edge"), total=total,
    )  # fmt: skip
    if not new:
        return caption + say("All are known; the [initial graph] still has {n}.", n=edges_now)
    named = [say("{a} – {b}", a=m.name(a), b=m.name(b)) for a, b in new[:MAX_NAMED_EDGES]]
    more = len(new) - len(named)
    return caption + say(
        "{k} new ({named}{more}); the [initial graph] now has {n}.",
        k=counted(len(new), "is", "are"), n=edges_now, named=joined(named),
        more=say(" and {n} more", n=more) if more else "",
    )  # fmt: skip


def gained_frame(m: Material, place: Place) -> Frame:
    """The learned graph, and the edges that grouping removed and added."""
    graph, initial, learned = m.result.graph, m.initial, m.learned
    lost = {edge: length for edge, length in initial.items() if edge not in learned}
    marks = all_marked(learned.keys() - initial.keys(), "added")
    caption = say(
        "The result has {edges}, {hidden} and {cycles}. Of the {start} edges of the initial "
        "graph, {kept} were kept and {lost} removed; {new} are new.",
        edges=counted(graph.n_edges, "edge"), hidden=counted(graph.n_hidden, "hidden node"),
        cycles=counted(graph.n_cycles, "cycle"), start=len(initial), lost=len(lost),
        kept=len(initial) - len(lost), new=len(marks),
    )  # fmt: skip
    legend: dict[Mark, str] = {
        "added": "added by grouping", "removed": "removed", "kept": "in the initial graph",
    }  # fmt: skip
    edges = drawn(learned, marks=marks) + drawn(lost, "removed")
    return Frame(place, caption, 15, m.shown(learned), edges, legend=legend)


def compared_frame(m: Material, place: Place) -> Frame:
    """The learned graph compared with the true graph."""
    learned, true, error = m.learned, m.cast.truth_edges, m.structure_error
    assert error is not None
    missed = {edge: length for edge, length in true.items() if edge not in learned}
    marks = all_marked(learned.keys() - true.keys(), "wrong")
    caption = say(
        "Compared with the true graph: {found} of {n} edges recovered, {missed} missed, {wrong} "
        "false. The [structure error] is {bound}{error}.",
        found=len(true) - len(missed), n=len(true), missed=len(missed), wrong=len(marks),
        bound="" if error.is_exact else "at most ", error=error.value,
    )  # fmt: skip
    nodes = tuple(sorted({*m.shown(learned), *m.shown(missed)}))
    edges = drawn(learned, marks=marks) + drawn(missed, "removed")
    legend: dict[Mark, str] = {"kept": "recovered", "removed": "missed", "wrong": "false"}
    return Frame(place, caption, 15, nodes, edges, legend=legend)


FRAMES: Mapping[Phase, Callable[[Material, Place], Frame]] = {
    "data": data_frame, "truth": truth_frame, "pair": pair_frame, "matrix": matrix_frame,
    "ball": ball_frame, "tree": tree_frame, "union": union_frame, **GROUPING_FRAMES,
    "gained": gained_frame, "compared": compared_frame, **REFINEMENT_FRAMES,
}  # fmt: skip


MAX_STATES = 12
"""Columns with at most this many values are shown as a contingency table."""
MAX_POINTS = 1500
MAX_ORDERED = 300
"""Largest number of columns for which the leaf order of the matrix is optimised."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """An intermediate result of a distance."""

    name: str
    value: float
    meaning: str

    @property
    def shown(self) -> str:
        """The number with four significant digits: 5,000 or 0.5000."""
        if abs(self.value) >= 1000 or (self.value >= 1 and self.value.is_integer()):
            return f"{self.value:,.0f}"
        return f"{self.value:#.4g}"


@dataclass(frozen=True, slots=True, eq=False)
class PairView:
    """Two columns and how their distance is computed."""

    names: tuple[str, str]
    distance: float
    table: pd.DataFrame | None = None
    """Contingency table, if both columns have few values."""
    points: FloatArray | None = None
    """(rows, 2) some of the rows, if there is no table."""
    quantities: tuple[Quantity, ...] = ()

    @property
    def strength(self) -> float:
        return math.exp(-self.distance)


def pair_view(D: DistanceMatrix, obs: Observations | None, i: int, j: int) -> PairView:
    """Show how the distance of two columns is computed."""
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
        meaning = "the largest correlation over all scorings of the values of both columns"
        quantities = (Quantity("canonical correlation", math.exp(-distance), meaning),)
    step = max(1, -(-len(numbers) // MAX_POINTS))
    return PairView(names, distance, table, numbers[::step] if table is None else None, quantities)


def closest_pair(D: DistanceMatrix) -> tuple[int, int]:
    """Return the two columns at the smallest distance."""
    masked = D.values + np.diag(np.full(D.n_columns, np.inf))
    i, j = divmod(int(masked.argmin()), D.n_columns)
    return min(i, j), max(i, j)


def heatmap_order(graph: LatentGraph) -> tuple[int, ...]:
    """Order the columns so that columns close in the graph are adjacent."""
    p = graph.n_observed
    lengths = graph.path_lengths(range(p))[:, :p]
    reach = lengths[np.isfinite(lengths)].max()
    lengths = np.where(np.isfinite(lengths), lengths, 2 * reach + 1)
    condensed = squareform((lengths + lengths.T) / 2, checks=False)
    tree = linkage(condensed, "average")
    if p <= MAX_ORDERED:
        tree = optimal_leaf_ordering(tree, condensed)
    return tuple(int(column) for column in leaves_list(tree))


def _table(
    values: FloatArray, weights: FloatArray, states: list[tuple[str, ...]]
) -> pd.DataFrame | None:
    """Cross-tabulate two columns: in the order of their states, or by value."""
    codes, levels = [], []
    for column, named in zip(values.T, states, strict=True):
        found, code = np.unique(column, return_inverse=True)
        codes.append(column.astype(np.int64) if named else code)
        levels.append(named or tuple(f"{value:g}" for value in found))
    if max(map(len, levels)) > MAX_STATES:
        return None
    counts = np.zeros((len(levels[0]), len(levels[1])))
    np.add.at(counts, tuple(codes), weights)
    return pd.DataFrame(counts, index=levels[0], columns=levels[1])


def _ranks(values: FloatArray, weights: FloatArray) -> FloatArray:
    """Mid-ranks: the weight below a value plus half of the weight equal to it."""
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
        Quantity("rows", float(weights.sum()), "in which neither value is missing"),
        Quantity("mean of the first", mean_x, ""),
        Quantity("mean of the second", mean_y, ""),
        Quantity("standard deviation of the first", sd_x, ""),
        Quantity("standard deviation of the second", sd_y, ""),
        Quantity("covariance", covariance, "mean product of the deviations from the means"),
        Quantity("correlation ρ", rho, "covariance divided by both standard deviations"),
    )


def _determinants(counts: FloatArray, *, normalised: bool) -> tuple[Quantity, ...]:
    joint = counts / counts.sum()
    det = float(np.linalg.det(joint))
    parts = [
        Quantity("rows", float(counts.sum()), "in which neither value is missing"),
        Quantity("det P(i,j)", det, "of the table of relative frequencies"),
    ]
    if normalised:
        det_i, det_j = float(joint.sum(axis=1).prod()), float(joint.sum(axis=0).prod())
        strength = abs(det) / math.sqrt(det_i * det_j) if det_i * det_j > 0 else 0.0
        parts += [
            Quantity("det P(i)", det_i, "product of the relative frequencies of the first column"),
            Quantity("det P(j)", det_j, "product of the relative frequencies of the second column"),
            Quantity("strength", strength, "|det P(i,j)| / √(det P(i) · det P(j))"),
        ]
    return tuple(parts)


MAX_TICKS = 60
"""Largest number of columns for which the matrix has tick labels."""
SHADES = {
    "light": ["#0B3C5D", "#2C7FB8", "#A6CDE3", "#F4F7FA"],
    "dark": ["#BFE3F8", "#56B4E9", "#1F5C85", "#161C25"],
}
"""From near to far."""


def matrix_figure(
    D: DistanceMatrix, order: tuple[int, ...], theme: ThemeName = "light", height: int = 520
) -> charts.Figure:
    """Draw the distance matrix as a heat map, in the given order of columns."""
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
    ticks = {"tickvals": places if len(order) <= MAX_TICKS else [], "ticktext": names}
    ticks |= {"showgrid": False, "zeroline": False, "fixedrange": True, "constrain": "domain"}
    across, down = {"tickangle": -90}, {"autorange": "reversed", "scaleanchor": "x"}
    axes = {"xaxis": ticks | across, "yaxis": ticks | down}
    return charts.figure_of([drawn], charts.bare(theme, height, 6) | axes)


def points_figure(
    points: FloatArray, names: tuple[str, str], theme: ThemeName = "light", height: int = 300
) -> charts.Figure:
    """Draw a scatter plot of two columns."""
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
