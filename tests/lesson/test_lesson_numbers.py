"""Numbers of a lesson: quartets, distances, presets, markup, the page."""

from __future__ import annotations

import json
import math
import re
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers.hostile import HOSTILE_NAMES, hostile_frame
from helpers.lessons import lesson_on, ring, small_lessons
from helpers.strategies import distance_matrices
from hypothesis import given, strategies as st

import loopylatent as ll
from loopylatent import lesson as lessons
from loopylatent.compute._kernels.grouping import list_quartets
from loopylatent.distances.files import read_distances
from loopylatent.distances.matrix import METRICS, DistanceMatrix
from loopylatent.errors import DataError, DistanceError
from loopylatent.exporting.graph_files import provenance
from loopylatent.exporting.project.file import digest_of
from loopylatent.figures.network import LABEL_BELOW
from loopylatent.learning.grouping import VERDICTS, quartets
from loopylatent.learning.learner import learn
from loopylatent.learning.trace import VisitStep
from loopylatent.lesson.cast import Name, caption_html, code_html, pseudocode, say
from loopylatent.lesson.chapters import closest_pair, heatmap_order, pair_view
from loopylatent.lesson.lesson import draw, lesson_data, to_page
from loopylatent.lesson.material import MAX_NODES, Frame, inspect, quartet_table
from loopylatent.lesson.presets import PRESETS, synthetic_data

# Quartets ----------------------------------------------------------------------------------


@st.composite
def four_distances(draw):
    lengths = [draw(st.floats(0.01, 4.0)) for _ in range(6)]
    values = np.zeros((4, 4))
    values[np.triu_indices(4, 1)] = lengths
    return values + values.T


@given(four_distances(), st.floats(0.0, 0.9))
def test_the_inspector_agrees_with_the_kernel(d, Lambda):
    seen = inspect(d, Lambda)
    (row,) = list_quartets(np.exp(-d), Lambda).tolist()
    assert seen.verdict == VERDICTS[row[4]]
    products = quartets(d, Lambda)[0].products
    assert [pairing.product for pairing in seen.pairings] == pytest.approx(products)
    for pairing in seen.pairings:
        assert pairing.product == pytest.approx(math.exp(-pairing.total))


@given(four_distances())
def test_the_verdict_changes_at_the_turning_point_and_nowhere_else(d):
    seen = inspect(d, 0.0)
    turn = seen.turning_point
    for Lambda in np.linspace(0.0, 0.99, 60):
        declared = inspect(d, float(Lambda)).verdict
        if abs(Lambda - turn) > 1e-9:
            assert declared == (seen.winner if Lambda < turn else "⊥")
    if turn > 1e-6:
        assert inspect(d, turn * (1 - 1e-7)).verdict == seen.winner
    if turn < 0.99:
        assert inspect(d, turn * (1 + 1e-7) + 1e-12).verdict == "⊥"


def test_equal_products_of_an_exact_metric_never_declare():
    star = np.full((4, 4), 2.0)
    np.fill_diagonal(star, 0.0)
    seen = inspect(star, 0.0)
    assert (seen.verdict, seen.turning_point) == ("⊥", 0.0)


@given(small_lessons())
def test_the_table_of_quartets_is_that_of_the_learner(lesson):
    for step in lesson.material.trace:
        if isinstance(step, VisitStep) and len(step.neighbourhood) >= 4:
            Lambda = lesson.material.thresholds.Lambda
            table = quartet_table(step.distances, Lambda)
            listed = quartets(step.distances, Lambda)
            assert [tuple(row) for row in table.nodes.tolist()] == [q.nodes for q in listed]
            assert [VERDICTS[k] for k in table.verdicts] == [q.verdict for q in listed]
            assert table.products == pytest.approx(np.array([q.products for q in listed]))
            declared = table.verdicts > 0
            assert ((table.lead > 0) | ~declared).all()
            assert (table.lead[~declared] <= 1e-9).all()


def test_the_caption_says_that_there_are_too_many_quartets():
    p = MAX_NODES + 2
    values = np.full((p, p), 2.0)
    values[0] = values[:, 0] = 1.0
    np.fill_diagonal(values, 0.0)
    lesson = lesson_on(DistanceMatrix.from_array(values), 2.0, 0.05, 0.1)
    frame = lesson.frame(lesson.find("visit-1-quartets"))
    assert "too many" in str(frame.caption)
    assert frame.caption.numbers[1].value == math.comb(p, 4)
    lesson.frame(lesson.find("visit-1-join-1"))


# Distances ---------------------------------------------------------------------------------


def table_with(metric: str, missing: bool, weighted: bool):
    rng = np.random.default_rng(5)
    level = rng.normal(size=(200, 1))
    if metric.startswith("determinant") or metric == "canonical":
        codes = np.digitize(level + rng.normal(size=(200, 3)), [-0.7, 0.7])
        frame = pd.DataFrame(np.array(list("abc"))[codes], columns=["x", "y", "z"])
    else:
        frame = pd.DataFrame((level + rng.normal(size=(200, 3))).round(1), columns=["x", "y", "z"])
    if missing:
        frame.iloc[::7, 0] = None
        frame.iloc[3::11, 1] = None
    weights = None
    if weighted:
        frame["w"] = 1 + np.arange(200) % 3
        weights = "w"
    return ll.Observations.from_frame(frame, weights=weights)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("metric", ["correlation", "rank", "determinant", "canonical"])
def test_the_numbers_behind_a_distance_give_that_distance(metric, missing, weighted):
    obs = table_with(metric, missing, weighted)
    D = ll.information_distances(obs, metric=metric)
    view = pair_view(D, obs, 0, 1)
    assert view.distance == D.values[0, 1]
    last = view.quantities[-1].value
    assert abs(last) == pytest.approx(view.strength, rel=1e-9)
    assert view.strength == pytest.approx(math.exp(-view.distance))
    rows = obs.n_samples if D.pair_counts is None else D.pair_counts[0, 1]
    if metric != "canonical":
        assert view.quantities[0].value == pytest.approx(rows)
    if view.table is not None:
        assert view.table.to_numpy().sum() == pytest.approx(rows)


def test_a_table_of_two_binary_columns_counts_their_rows():
    obs = ll.load_sample("latent_cycle").observations
    D = ll.information_distances(obs)
    view = pair_view(D, obs, 0, 1)
    frame = obs.to_frame()
    crossed = pd.crosstab(frame["a1"], frame["a2"])
    assert view.table.to_numpy().tolist() == crossed.to_numpy().tolist()
    assert view.points is None


def test_continuous_columns_are_shown_as_points_and_precomputed_distances_as_nothing():
    obs = ll.load_sample("irish_wind12").observations
    D = ll.information_distances(obs)
    view = pair_view(D, obs, 0, 1)
    assert view.table is None
    assert 500 < len(view.points) <= 1500
    precomputed = DistanceMatrix.from_array(D.values, D.names)
    assert pair_view(precomputed, None, 0, 1).quantities == ()


NUMBERS = (
    "bfi25",
    "holzinger24",
    "stocks20_monthly_1990_2007",
    "stocks_sp100_daily_2003_2007",
    "irish_wind12",
)
WITHOUT_DISTANCE = {
    *product(NUMBERS, ("determinant", "determinant-printed")),
    *product(("mammals47_dna",), ("correlation", "rank")),
}
"""Samples with column types that the metric does not accept."""


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("sample", ll.sample_names())
def test_every_sample_and_metric_begins_its_lesson(sample, metric):
    obs = ll.load_sample(sample).observations
    if (sample, metric) in WITHOUT_DISTANCE:
        with pytest.raises(DistanceError, match=f"metric '{metric}'"):
            ll.information_distances(obs, metric=metric)
        return
    D = ll.information_distances(obs, metric=metric)
    lesson = lesson_on(D, D.smallest, obs=obs)
    for index in range(12):
        assert str(lesson.frame(index).caption)
    for pair in {closest_pair(D), (0, 1), (D.n_columns - 2, D.n_columns - 1)}:
        view = pair_view(D, obs, *pair)
        names = [D.names[column] for column in pair]
        present = obs.to_frame()[names].notna().all(axis=1)
        assert (view.table is None) != (view.points is None)
        if view.table is not None:
            assert view.table.to_numpy().sum() == present.sum()
            assert min(view.table.shape) >= 2
        if metric == "rank":
            assert abs(view.quantities[-1].value) == pytest.approx(view.strength, abs=1e-6)


def test_a_table_by_ranks_counts_the_original_values():
    obs = ll.load_sample("housevotes84").observations
    by_rank, by_value = (
        pair_view(ll.information_distances(obs, metric=metric), obs, 0, 1)
        for metric in ("rank", "correlation")
    )
    pd.testing.assert_frame_equal(by_rank.table, by_value.table)


def test_columns_of_the_matrix_are_ordered_by_the_graph():
    graph = ring().material.result.graph
    order = heatmap_order(graph)
    assert sorted(order) == list(range(20))
    letters = [graph.names[column][0] for column in order]
    assert sum(a == b for a, b in pairwise(letters)) == 10
    apart = ll.LatentGraph.build("abcd", 0, [(0, 2), (1, 3)])
    a, b, c, d = (apart.names[column] for column in heatmap_order(apart))
    assert {frozenset((a, b)), frozenset((c, d))} == {frozenset("ac"), frozenset("bd")}


@given(distance_matrices())
def test_the_closest_pair_is_the_closest(D):
    i, j = closest_pair(D)
    assert i < j
    assert D.values[i, j] == D.smallest


# Presets -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name, one in PRESETS.items() if one.sample is None])
def test_synthetic_lessons_open_with_their_true_graph(name):
    data = synthetic_data(name)
    assert data.recipe.data_digest == digest_of(data.content)
    if data.recipe.source_kind == "distances":
        D = read_distances(data.content)
    else:
        D = ll.information_distances(ll.read_table(data.content))
    result = learn(D, data.recipe.settings)
    error = ll.structure_error(result.graph, data.truth)
    if name == "noisy":
        assert result.n_stuck > 0
        assert error.lower > 0
        with_margin = ll.learn(D, r=data.recipe.r, Lambda=0.035, tau=data.recipe.tau)
        assert with_margin.n_stuck == 0
        assert ll.structure_error(with_margin.graph, data.truth).upper < error.upper
    else:
        assert error.value == 0
        assert result.n_stuck == 0


def test_presets_on_bundled_tables_name_tables_that_exist():
    samples = {one.sample for one in PRESETS.values() if one.sample is not None}
    assert samples <= set(ll.sample_names())


# Markup -----------------------------------------------------------------------------------


def test_names_are_never_parsed_as_markup():
    for name in HOSTILE_NAMES:
        html = caption_html(say("{v} has {k}.", v=Name(name), k=2))
        assert not re.search(r"<(?!/?b[ >]|b>)", html)
        assert "<img" not in html
        assert "<script" not in html
    for line in range(1, len(pseudocode("quartet")) + 1):
        assert code_html(line).count("aria-current") == 1


def test_long_lists_of_names_are_cut_and_say_how_many_more():
    names = [Name(letter) for letter in "abcdefgh"]
    assert str(say("{names}", names=names)) == "a, b, c, d, e and 3 more"
    assert str(say("{names}", names=names[:3])) == "a, b and c"


def test_a_result_without_a_trace_or_with_other_distances_raises():
    m = ring().material
    bare = learn(m.D, m.result.settings, trace=False)
    with pytest.raises(DataError, match="no trace"):
        lessons.build(bare, m.D)
    other = DistanceMatrix.from_array(m.D.values * 2, m.D.names)
    with pytest.raises(DataError, match="not learned from these distances"):
        lessons.build(m.result, other)


def test_a_true_graph_on_other_columns_is_ignored():
    m = ring().material
    truth = ll.LatentGraph.build("abc", 1, [(0, 3), (1, 3), (2, 3)])
    assert lessons.build(m.result, m.D, truth=truth).cast.truth is None


# The page ----------------------------------------------------------------------------------


def drawn_by_the_page(data) -> list[dict[tuple[int, int], set[str]]]:
    """The edges of each step, rebuilt from the differences as the page does."""
    state: dict[int, str] = {}
    found = []
    for step in data["steps"]:
        for edge in step["drop"]:
            del state[edge]
        state.update(dict(step["draw"]))
        shown: dict[tuple[int, int], set[str]] = {}
        for edge, mark in state.items():
            shown.setdefault(tuple(data["edges"][edge][:2]), set()).add(mark)
        found.append(shown)
    return found


def shown_by(frame: Frame) -> dict[tuple[int, int], set[str]]:
    shown: dict[tuple[int, int], set[str]] = {}
    for edge in frame.edges:
        shown.setdefault((edge.u, edge.v), set()).add(edge.mark)
    return shown


@given(small_lessons())
def test_the_page_has_the_edges_and_the_caption_of_every_step(lesson):
    data = lesson_data(lesson)
    anchors = [lesson.places[k].anchor for k in lesson.finished]
    assert [step["at"] for step in data["steps"]] == anchors
    for index, drawn in enumerate(drawn_by_the_page(data)):
        frame = lesson.frame(index)
        assert drawn == shown_by(frame)
        for node in draw(lesson, frame).nodes:
            above = node["font"]["vadjust"] < LABEL_BELOW
            assert (data["nodes"][node["id"]][4] < LABEL_BELOW) == above
        step = data["steps"][index]
        said = "".join(part if isinstance(part, str) else part[1] for part in step["caption"])
        assert said == str(frame.caption)
        assert ("overview" in step) == lesson.places[index].is_coarse
        assert step["line"] == frame.line
    method = lesson.material.result.settings.method
    code = data["codes"][method]
    assert [text for _, text, _ in code] == [line.text for line in pseudocode(method)]
    assert method == "quartet" or not any("quartets" in visit for visit in data["visits"])


def test_the_page_is_complete_and_names_cannot_inject_markup():
    frame = hostile_frame()
    D = ll.information_distances(ll.Observations.from_frame(frame))
    result = ll.learn(D)
    page = to_page(lessons.build(result, D), provenance(result), title="</title><b>")
    assert "<b>" not in page.split("<script")[0].split("</style>")[1].replace("&lt;b&gt;", "")
    assert page.count("</script>") == 3
    assert "<img" not in page
    assert "<script>window" not in page
    text = re.search(r'id="lesson">(.*?)</script>', page, re.S).group(1)
    names = [row[0] for row in json.loads(text)["nodes"][: D.n_columns]]
    assert len(names) == D.n_columns
    assert "default-src &#39;none&#39;" in page


def test_the_page_is_deterministic():
    m = ring().material
    pages = [to_page(ring(), provenance(m.result)) for _ in range(2)]
    assert pages[0] == pages[1]


# The lesson plan ---------------------------------------------------------------------------


def test_the_numbers_of_the_lesson_plan_are_true():
    text = (Path(__file__).resolve().parents[2] / "docs" / "guide" / "lesson.md").read_text()
    lesson = ring()
    D, truth = lesson.material.D, lesson.cast.truth

    def said(anchor: str) -> list[str]:
        return [number.text for number in lesson.frame(lesson.find(anchor)).caption.numbers]

    assert said("data") == ["5,000", "20"]
    assert (truth.n_hidden, truth.n_edges) == (10, 30)
    assert said("pair") == ["0.641", "0.641", "0.444"]
    assert said("union")[1:3] == ["24", "5"]
    assert said("visit-1-quartets") == ["15", "0.00707", "12", "3"]
    assert said("visit-1-join-1")[-3:] == ["0.641", "0.401", "0.240"]
    assert said("visit-1-contract-2")[0] == "0.082"
    assert said("visit-1-replace") == ["8", "7", "23", "2"]
    assert said("compared")[:3] == ["30", "30", "0"]
    widest = ll.learn(D, r=D.r_max, tau=0.1).initial_graph
    assert (widest.n_edges, widest.n_cycles) == (19, 0)
    assert [ll.learn(D, r=1.5, tau=tau).graph.n_hidden for tau in (0.05, 0.3)] == [13, 2]
    for words in (
        "24 edges and 5 cycles",
        "0.401 to a1",
        "7 edges and 2 hidden nodes replace 8 edges",
    ):
        assert words in text
    for image in re.findall(r"\(\.\./(images/lesson-[a-z]+\.png)\)", text):
        file = Path(__file__).resolve().parents[2] / "docs" / image
        assert 0 < file.stat().st_size < 200_000


def test_the_noisy_lesson_fails_as_the_plan_says():
    data = synthetic_data("noisy")
    obs = ll.read_table(data.content)
    D = ll.information_distances(obs)
    found = []
    for Lambda in (0.0, 0.035):
        result = ll.learn(D, r=data.recipe.r, Lambda=Lambda, tau=data.recipe.tau)
        lesson = lessons.build(result, D, obs, data.truth)
        caption = lesson.frame(lesson.find("compared")).caption
        found.append(([n.value for n in caption.numbers][1:4], result.n_stuck))
    assert found == [([24, 7, 7], 1), ([24, 4, 4], 0)]
    stuck = [step.stuck for step in ll.learn(D, r=1.16, Lambda=0, tau=0.1).trace[1:-1]]
    assert stuck.index(True) == 2
