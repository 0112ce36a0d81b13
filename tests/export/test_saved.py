"""Results in project files, and what a session puts into such a file and takes out again."""

from __future__ import annotations

import dataclasses
import hashlib
import io
import json
import math
import random
import zipfile
import zlib
from typing import Any

import numpy as np
import pytest
from helpers.app import TIMEOUT, ran
from helpers.saved_results import (
    CHOICE,
    ROOT,
    blank,
    board_of,
    opened_again,
    project_of,
    recipe_of,
    table,
    tried,
    worked,
)
from hypothesis import given, settings, strategies as st
from streamlit.testing.v1 import AppTest

import loopylatent as ll
from loopylatent.analysis.sweep.points import PointKey, SweepPoint, along_r
from loopylatent.analysis.sweep.scores import ScoreKey
from loopylatent.compute.limits import APP
from loopylatent.errors import DataError, InferenceError, LoopyLatentError
from loopylatent.exporting.project.file import (
    MAX_RESULTS,
    VERSION,
    Project,
    open_project,
    save_project,
)
from loopylatent.exporting.project.results import (
    Places,
    Results,
    decoded,
    encoded,
    plain_size,
    read_results,
    within,
)
from loopylatent.inference.model import SavedModel
from loopylatent.settings import FitSettings, LearnSettings, Thresholds
from loopylatent.ui.evaluate.scores import entries_of
from loopylatent.ui.explore.stability import support_of
from loopylatent.ui.open.project import RESERVE, checked, saving, take
from loopylatent.ui.shell.results import AlongKey, ComparedKey, LoopsKey, TableKey, learned
from loopylatent.ui.shell.session import GROUPS, KEY, Session
from loopylatent.ui.shell.widgets import fitted_of
from loopylatent.ui.tune.state import JOBS


def same(one: Any, other: Any) -> None:
    """That two results are equal in every number."""
    assert encoded(one) == encoded(other)


@pytest.mark.parametrize("kind", ["ising", "gaussian"])
def test_a_project_restores_all_results(kind):
    s, source = worked(kind)
    content = save_project(project_of(s, source))
    t = blank()
    again = opened_again(content, t)
    D, obs, here = again.distances, again.observations, t.recipe.settings
    assert (t.recipe, t.pins, t.view[GROUPS]) == (s.recipe, s.pins, s.view[GROUPS])
    assert t.uploads == s.uploads
    assert t.view | s.view == t.view
    graph = learned(t.memo, D, t.recipe).graph
    np.testing.assert_array_equal(t.place(graph, graph.labels), s.place(graph, graph.labels))
    for key, value in s.swept.items():
        is_point = isinstance(key, PointKey) and key.distances == D.digest
        if is_point or isinstance(key, AlongKey | LoopsKey | ScoreKey):
            same(t.swept.get(key), value)
    assert t.swept.get(TableKey(D.digest, obs.digest))
    same(support_of(t, again, graph), support_of(s, source, graph))
    key = CHOICE.split_key(obs, t.recipe.metric)
    chosen = CHOICE.contestants(t.recipe)
    entries = entries_of(board_of(t), key, chosen, False)
    assert len(entries) == 2
    same(tuple(entries), tuple(entries_of(board_of(s), key, chosen, False)))
    assert t.memo.known("scores", ComparedKey(obs.digest, graph.digest, here)) is not None
    job, before = t.jobs.current("groups"), s.jobs.current("groups")
    job.finished.wait()
    assert job.key == D.digest
    np.testing.assert_array_equal(job.result.labels, before.result.labels)
    t.jobs.current("fit").finished.wait()
    new, old = fitted_of(t, again, graph), fitted_of(s, source, graph)
    np.testing.assert_array_equal(new.model.edge_strengths, old.model.edge_strengths)
    np.testing.assert_array_equal(new.posteriors, old.posteriors)
    assert new.model.train_bic == old.model.train_bic
    assert t.memo.computed["learned"] == 1
    assert project_of(t, again).results.summary == project_of(s, source).results.summary


def test_the_pages_show_restored_results_without_learning():
    s, source = worked("ising")
    t = blank()
    opened_again(save_project(project_of(s, source)), t)
    page = AppTest.from_file(str(ROOT / "app.py"), default_timeout=TIMEOUT)
    page.session_state[KEY] = t
    page.session_state["more"] = "Stability"
    page = ran(page)
    assert any("3 resamples" in one.value for one in page.markdown)
    page = ran(page.switch_page("pages/2_Tune.py"))
    assert [t.jobs.current(kind) for kind in JOBS] == [None] * len(JOBS)
    page = ran(page.switch_page("pages/3_Compare.py"))
    assert {"here", "other <b>"} <= set(page.selectbox(key="compare_left").options)
    page = ran(page.switch_page("pages/4_Evaluate.py"))
    assert t.jobs.current("evaluate") is None


def state_of(s: Session) -> Any:
    """What must not change where opening fails."""
    kept = (s.now, list(s.before), list(s.after), dict(s.uploads), s.pins, dict(s.view))
    return (*kept, s.placed, s.opened, s.selected, len(s.swept.items()), len(s.scored.items()))


def lied(name: str, value: Any) -> bytes:
    """A file whose results say something else, with all digests put right."""
    s, source = worked("ising")
    project = project_of(s, source)
    decoded = json.loads(encoded(project.results))
    part: Any = decoded
    *way, last = name.split(".")
    for step in way:
        part = part[int(step)] if isinstance(part, list) else part[step]
    part[int(last) if isinstance(part, list) else last] = value
    return saved_with(project, json.dumps(decoded).encode())


def saved_with(project: Project, results: bytes) -> bytes:
    """A project file with other results."""
    fingerprint = {"bytes": len(results), "sha256": hashlib.sha256(results).hexdigest()}
    with zipfile.ZipFile(io.BytesIO(save_project(project))) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    values = json.loads(members["project.json"]) | {"results": fingerprint}
    members |= {"project.json": json.dumps(values).encode(), "results.json": results}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, one in members.items():
            archive.writestr(name, one)
    return buffer.getvalue()


INVALID = [
    ("graphs", {}, "`array`, got `object` - at `$.graphs`"),
    ("graphs.0.edges.0", 10**6, "outside"),
    ("graphs.0.edges.0", 0.5, "`int`, got `float` - at `$.graphs[0].edges[0]`"),
    ("graphs.0.lengths.0", -1, ">= 0.0 - at `$.graphs[0].lengths[0]`"),
    ("graphs.0.lengths.0", "nan", "got `str` - at `$.graphs[0].lengths[0]`"),
    ("graphs.0.n_hidden", 10**12, "a graph"),
    ("names.0.0", "other", "inconsistent"),
    ("results.distances", 5, "`str`, got `int` - at `$.distances`"),
    ("names.0.0", "\ud800", "its results are invalid"),
    ("names.0.0", 5, "`str`, got `int`"),
    ("graphs.0.names", 1, "no names"),
    ("graphs.0.names", -1, ">= 0"),
    ("graphs.0.names", True, "got `bool`"),
    ("names", {}, "`array`, got `object`"),
    ("names.0", ["a", "a"], "a graph"),
    ("results.is", "os.system", "Invalid value 'os.system'"),
    ("results.wings", 4, "unknown field `wings`"),
    ("results.points.0.graph", 10**6, "no such graph - at `$.points[0].graph`"),
    ("results.points.0.graph", -1, ">= 0"),
    ("results.points.0.n_visits", -1, "n_visits"),
    ("results.points.0.n_capped", -1, "n_capped"),
    ("results.points.0.n_visits", True, "got `bool`"),
    ("results.points.0.settings.method", "magic", "Invalid enum value"),
    ("results.points.0.settings.thresholds.r", "inf", "not finite"),
    ("results.points.0.settings.thresholds.Lambda", 2, "outside"),
    ("results.support.0.found.edges.values.0", 2, "a support"),
    ("results.support.0.found.edges.values", [], "cannot reshape"),
    ("results.support.0.found.edges.shape", [-1, -1], ">= 0"),
    ("results.support.0.found.tally.edges.values.0", 10**6, "outside"),
    ("results.support.0.found.scheme", ["x"], "got `array`"),
    ("results.places.positions.values.0", "inf", "position"),
    ("results.places.selected", 10**6, "position"),
    ("results.groups.labels.values.0", 99, "a grouping"),
    ("results.groups.labels.values.0", 2**53, "a grouping"),
    ("results.models.0.values.values.0", "nan", "not finite"),
    ("results.models.0.values", {"shape": [1], "values": [1]}, "do not belong"),
    ("results.models.0.data_digest", "x", "other rows"),
    ("results.models.0.history", {"shape": [0], "values": []}, "a fit"),
    ("results.evaluations.0.entry.is", "Path", "Invalid value 'Path'"),
    ("results.evaluations.0.entry.top_columns", [[99]], "columns that its data lack"),
    ("results.bars.0.bars", [1], "Expected `"),
    ("results.loops.0.test", None, "Expected `"),
    ("results.loops.0.test.p_value", "nan", "p_value"),
    ("results.loops.0.test.n_simulations", -1, "n_simulations"),
    ("results.bars.0.bars.0.end", "inf", "bars[0].end"),
    ("results.scores.0.n_train", -210, "n_train"),
    ("results.scores.0.seconds", "nan", "seconds"),
    ("results.scores.0.test.n_samples", 0, "n_samples"),
    ("results.models.0.n_samples", "-inf", "n_samples"),
    ("results.support.0.found.instability", 2, "instability"),
    ("results.evaluations.0.entry.df", -1, "entry.df"),
    ("results.places.positions.values.0", 1e300, "position"),
    ("results.places", {"is": []}, "Expected `"),
    ("results.places", {"is": {}}, "Expected `"),
    ("results.places.positions", {"shape": [1] * 100, "values": [1.0]}, "length <= 8"),
    ("results.places.positions", {"shape": [0, 2**53, 2**53], "values": []}, "too big"),
]


@pytest.mark.parametrize(("name", "value", "message"), INVALID, ids=range(len(INVALID)))
def test_invalid_results_raise_and_the_session_stays(name, value, message):
    s = blank()
    before = state_of(s)
    with pytest.raises(LoopyLatentError) as caught:
        opened_again(lied(name, value), s)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert state_of(s) == before


@pytest.mark.parametrize("error", [TypeError, ValueError, OverflowError])
def test_unforeseen_errors_in_results_raise_in_one_line(error, monkeypatch):
    def broken(_: Any) -> Results:
        raise error("unhashable type: 'list'")

    monkeypatch.setattr("loopylatent.exporting.project.results._value", broken)
    s, source = worked("ising")
    with pytest.raises(DataError, match="cannot be opened: its results are invalid: unhash"):
        open_project(save_project(project_of(s, source)))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(["flip", "cut", "swap", "insert"]), st.integers(1, 9))
def test_a_damaged_file_opens_equal_or_raises(seed, how, times):
    s, source = worked("ising")
    content = save_project(project_of(s, source))
    rng = random.Random(seed)
    damaged = bytearray(content)
    for _ in range(times):
        at = rng.randrange(len(damaged))
        if how == "flip":
            damaged[at] ^= 1 << rng.randrange(8)
        elif how == "cut":
            del damaged[at : at + rng.randrange(1, 2000)]
        elif how == "swap":
            damaged[at:], damaged[:at] = damaged[:at], damaged[at:]
        else:
            damaged[at:at] = rng.randbytes(rng.randrange(1, 40))
        if not damaged:
            break
    again, message_of = tried(lambda: open_project(bytes(damaged)))
    if message_of is None:
        assert save_project(again) == content
    else:
        assert message_of.startswith("the project cannot be opened: ")


def leaves(value: Any, way: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The ways to all single values."""
    if isinstance(value, dict):
        return [one for k, v in value.items() for one in leaves(v, (*way, k))]
    if isinstance(value, list):
        return [one for k, v in enumerate(value[:3]) for one in leaves(v, (*way, k))]
    return [way]


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text()),
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(st.text(), inner)),
    max_leaves=3,
)


@settings(max_examples=60, deadline=None)
@given(st.randoms(use_true_random=False), JSON)
def test_results_with_one_changed_value_are_read_or_raise(rng, value):
    s, source = worked("ising")
    decoded = json.loads(encoded(project_of(s, source).results))
    way = rng.choice(leaves(decoded))
    part = decoded
    for step in way[:-1]:
        part = part[step]
    part[way[-1]] = value
    project = dataclasses.replace(project_of(s, source), results=None)
    results, message_of = tried(lambda: read_results(json.dumps(decoded).encode()))
    if message_of is None:
        tried(lambda: checked(dataclasses.replace(project, results=results), source))


def test_results_of_other_data_are_ignored():
    s, source = worked("ising")
    project = project_of(s, source)
    results = dataclasses.replace(project.results, distances="0" * 16)
    opened = checked(dataclasses.replace(project, results=results), source)
    assert opened.results is None
    t = blank()
    take(t, opened)
    assert t.swept.items() == []
    assert t.pins == s.pins


def test_results_on_other_columns_raise():
    s, source = worked("ising")
    graph = ll.LatentGraph.build("ab", 0, [(0, 1)])
    results = project_of(s, source).results
    lying = dataclasses.replace(results, places=Places(graph, np.zeros((2, 2))))
    project = dataclasses.replace(project_of(s, source), results=lying)
    with pytest.raises(DataError, match="other columns"):
        checked(project, source)


def test_values_that_no_widget_can_show_are_ignored():
    s, source = worked("ising")
    view = {"sure_runs": "many", "least_support": 1, "score share": 99, "score kinds": ("x",),
            "score lda": (True,), "part": "<b>", "new in version 9": 1, "cycles": "yes",
            "sure_scheme": (1,)}  # fmt: skip
    t = blank()
    take(t, checked(dataclasses.replace(project_of(s, source), view=view), source))
    assert set(t.view) == {GROUPS}


def test_data_of_pins_beyond_the_limit_are_not_saved(monkeypatch):
    s, source = worked("ising")
    monkeypatch.setattr(
        "loopylatent.ui.open.project.MAX_BYTES", len(next(iter(s.uploads.values()))) + 10
    )
    project = project_of(s, source)
    assert project.pinned_data == ()
    assert len(project.pins) == 2


def test_saved_parameters_are_used_only_on_their_own_rows():
    s, source = worked("gaussian")
    model = fitted_of(s, source, learned(s.memo, source.distances, s.recipe).graph).model
    saved = SavedModel.of(model)
    np.testing.assert_array_equal(
        saved.on(source.observations).distribution.precision, model.distribution.precision
    )
    with pytest.raises(InferenceError, match="other rows"):
        saved.on(source.observations.take(np.arange(200)))
    wrong = saved.values.copy()
    wrong[source.distances.n_columns] = -1.0
    with pytest.raises(InferenceError, match="not positive definite"):
        dataclasses.replace(saved, values=wrong).on(source.observations)


def test_numbers_that_json_cannot_represent_are_restored():
    for value in (math.nan, math.inf, -math.inf, 0.1, -0.0, 5e-324):
        (again,) = decoded(tuple[float, ...], encoded((value,)))
        assert repr(again) == repr(value)


def test_an_empty_graph_is_restored():
    assert decoded(ll.LatentGraph, encoded(ll.LatentGraph.build("", 0, []))).n_nodes == 0


def test_positions_of_a_part_are_restored():
    graph = ll.LatentGraph.build("abc", 0, [(0, 1), (1, 2)])
    places = np.array([[0.0, 1.0], [np.nan, np.nan], [2.0, 3.0]])
    results = Results("", "x", Places(graph, places, (0,), 2))
    again = read_results(encoded(results)).places
    np.testing.assert_array_equal(again.positions, places)
    assert (again.opened, again.selected, again.graph) == ((0,), 2, graph)


def test_a_fit_with_other_settings_is_not_shown():
    s, source = worked("ising")
    project = project_of(s, source)
    (model,) = project.results.models
    other = dataclasses.replace(model, settings=FitSettings(largest_table=2**40))
    results = dataclasses.replace(project.results, models=(other,))
    assert checked(dataclasses.replace(project, results=results), source).models == ()


# Room --------------------------------------------------------------------------------------


def second_version(project: Project) -> bytes:
    """The file that version 2 of the format wrote: every graph brings its names."""
    decoded = json.loads(encoded(project.results))
    names = decoded.pop("names")
    for graph in decoded["graphs"]:
        graph["names"] = names[graph["names"]]
    content = saved_with(project, json.dumps(decoded).encode())
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    values = json.loads(members["project.json"]) | {"version": 2}
    members["project.json"] = json.dumps(values).encode()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, one in members.items():
            archive.writestr(name, one)
    return buffer.getvalue()


@pytest.mark.parametrize("kind", ["ising", "gaussian"])
def test_version_2_still_opens_with_its_results(kind):
    project = project_of(*worked(kind))
    again = open_project(second_version(project))
    assert again.version == VERSION
    assert save_project(again) == save_project(project)


def sweep_of(n_columns: int, n_graphs: int) -> Results:
    """Many graphs on columns with long names."""
    names = [f"a column with quite a long name, number {k}" for k in range(n_columns)]
    edges = [(k, k + 1) for k in range(n_columns - 1)]
    rng = np.random.default_rng(0)
    graphs = [
        ll.LatentGraph.build(names, 0, edges, rng.random(len(edges))) for _ in range(n_graphs)
    ]
    here = LearnSettings(Thresholds(1.0, 0.0, 0.1))
    points = along_r(here, np.arange(1.0, n_graphs + 1))
    sizes = (n_columns, 1, 0, 0)
    return Results(
        "d", "m", points=tuple(map(lambda s, g: SweepPoint(s, g, *sizes), points, graphs))
    )


def test_names_are_written_once_for_all_graphs():
    content = encoded(sweep_of(50, 20))
    assert content.count(b'number 7"') == 1
    assert [one.graph for one in read_results(content).points] == [
        one.graph for one in sweep_of(50, 20).points
    ]


def test_a_shared_list_of_names_cannot_exhaust_memory(monkeypatch):
    content = encoded(sweep_of(50, 20))
    monkeypatch.setattr("loopylatent.exporting.project.results.MOST_NAMED", 999)
    with pytest.raises(DataError, match="too many graphs of this many columns"):
        read_results(content)


@pytest.mark.parametrize("kind", ["ising", "gaussian"])
def test_results_take_no_more_than_the_bound(kind):
    results = project_of(*worked(kind)).results
    content = encoded(results)
    bound = plain_size(results, set()) + 100
    assert len(content) <= bound <= 6 * len(content)
    assert within(results, bound + 100).left_out.summary == ()


def test_results_beyond_the_limit_are_left_out_and_the_others_fit():
    results = sweep_of(50, 20)
    most = len(encoded(results))
    seen = []
    for share in (0.1, 0.5, 1.0, 4.0):
        chosen = within(results, int(share * most))
        n_kept = len(chosen.kept.points)
        assert n_kept + len(chosen.left_out.points) == 20
        assert chosen.kept.points == results.points[:n_kept], "the newest stay"
        assert len(encoded(chosen.kept)) <= share * most
        seen.append(n_kept)
    assert seen == sorted(seen)
    assert 0 <= seen[0] < seen[1] < seen[3] == 20


def test_a_full_sweep_of_the_widest_table_can_be_saved_and_opened():
    results = sweep_of(APP.columns, 124)
    assert within(results, MAX_RESULTS).left_out.summary == (), "all results of Tune fit"
    few = within(results, MAX_RESULTS // 8)
    assert few.left_out.summary
    project = open_project(save_project(Project(recipe_of(b"x", 1.0), results=few.kept)))
    assert project.results.summary == few.kept.summary


def test_a_saved_project_can_be_opened_and_says_what_it_left_out():
    s, source = worked("ising")
    whole = saving(s, source)
    assert whole.left_out is None
    own = len(s.uploads[s.recipe.data_digest])
    packed = zlib.compress(s.uploads[s.recipe.data_digest])
    for room in (len(packed), 3 * own, 10 * own, 1_000_000):
        most = room + RESERVE
        found = saving(s, source, most)
        assert found.project.data == whole.project.data
        assert len(save_project(found.project)) <= most
    none = saving(s, source, len(packed) + RESERVE)
    assert none.project.pinned_data == ()
    assert "graphs of a sweep" in none.left_out
    assert "the data of a pin" in none.left_out
    assert "\n" not in none.left_out
    too_large = saving(s, source, len(packed) + RESERVE - 1)
    assert too_large.project is None
    assert "fewer rows or columns" in too_large.left_out


def test_the_page_says_what_a_project_leaves_out_and_disables_the_button(monkeypatch):
    s, source = worked("ising")
    t = blank()
    opened_again(save_project(project_of(s, source)), t)
    for most, off in ((len(zlib.compress(table("ising"))) + 2_000, False), (10, True)):
        monkeypatch.setattr("loopylatent.ui.explore.downloads.MEGABYTE", most)
        monkeypatch.setattr("loopylatent.ui.open.project.RESERVE", 0)
        page = AppTest.from_file(str(ROOT / "app.py"), default_timeout=TIMEOUT)
        page.session_state[KEY] = t
        page.session_state["more"] = "Export"
        monkeypatch.setattr("streamlit.get_option", lambda _: 1)
        page = ran(page)
        said = [
            one.value for one in page.caption if "left out" in one.value or "fewer" in one.value
        ]
        assert len(said) == 1
        (button,) = [
            one for one in page.get("download_button") if one.proto.label == "Save project"
        ]
        assert button.proto.disabled == off
