"""Several sessions at once, and what a link brings back of a file that was forgotten."""

from __future__ import annotations

import gc
import json
import time
import weakref
from collections.abc import Callable
from dataclasses import replace
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import pytest
from helpers.app import (
    APP,
    TIMEOUT,
    asked,
    counts_of,
    counts_on,
    link_of,
    opened,
    ran,
    session_of,
    used,
)
from helpers.sessions import GO_ON, answers
from helpers.tune_page import settled
from hypothesis import given, strategies as st
from streamlit.testing.v1 import AppTest

import loopylatent as ll
from loopylatent.analysis.sweep.points import PointKey
from loopylatent.analysis.sweep.scores import Split
from loopylatent.compute.cache import ResultCache, size_of
from loopylatent.compute.limits import APP as APP_LIMITS
from loopylatent.exporting.project.file import Recipe, digest_of
from loopylatent.lesson.presets import synthetic_data
from loopylatent.tables.observations import Observations
from loopylatent.ui.evaluate.scores import JOB, Choice, Scoreboard, begin_scores
from loopylatent.ui.page import Present
from loopylatent.ui.shell import session
from loopylatent.ui.shell.background import Cancelled, Job
from loopylatent.ui.shell.results import EvaluationKey, Memo, curve_of, learned, source_of
from loopylatent.ui.shell.session import Moment, Session
from loopylatent.ui.tune.state import SCORES, Tuning, plan_of, results_of, score_points

RING = "latent_cycle"


def own_graph(page: AppTest, content: bytes) -> ll.LatentGraph:
    """What the package gives for a file and the settings of a page."""
    recipe = session_of(page).recipe
    obs = ll.read_table(content, drop=recipe.drop, labels=recipe.labels, on_degenerate="drop")
    return ll.learn(ll.information_distances(obs), recipe.r, recipe.Lambda, recipe.tau).graph


# At once -----------------------------------------------------------------------------------


def test_sessions_at_once_see_each_their_own_table_and_thresholds():
    pages = [used(opened(sample=RING), "answers.csv", answers(k)) for k in range(3)]
    for step in range(3):
        for k, page in enumerate(pages):
            session_of(page).change(r=session_of(page).recipe.r * (0.9 - 0.05 * k))
            pages[k] = ran(page)
        for k, page in enumerate(pages):
            graph = own_graph(page, answers(k))
            assert counts_on(page) == counts_of(graph), f"session {k}, step {step}"
            assert graph.n_observed == 2 * (5 + k)
            assert list(session_of(page).uploads) == [digest_of(answers(k))]


# What a session keeps ----------------------------------------------------------------------


def session_on(content: bytes) -> tuple[Session, Observations]:
    """A session on a file of one's own, without a page."""
    recipe = Recipe(
        source="answers.csv", source_kind="table", data_digest=digest_of(content), labels=("who",),
        r=9.0, Lambda=0.02, tau=0.05,
    )  # fmt: skip
    s = Session(Moment(recipe, recipe), uploads={digest_of(content): content})
    obs = source_of(s.memo, s.uploads, recipe).observations
    assert obs is not None
    return s, obs


def held(root: Any, kind: type) -> list[Any]:
    """Everything of a kind that can be reached from the results of a session."""
    seen: dict[int, Any] = {}
    stack = [root]
    while stack:
        one = stack.pop()
        if id(one) in seen or isinstance(one, type | ModuleType | FunctionType):
            continue
        seen[id(one)] = one
        stack.extend(gc.get_referents(one))
    return [one for one in seen.values() if isinstance(one, kind)]


def test_many_choices_of_rows_keep_one_copy_of_the_table():
    s, obs = session_on(answers(1))
    board = Scoreboard(s.scored)
    for seed in range(6):
        choice = Choice(kinds=("independent",), share=0.3, seed=seed)
        begin_scores(s, board, obs, choice)
        job = s.jobs.current(JOB)
        assert job.finished.wait(60)
        assert job.error is None
    assert len([key for key, _ in s.scored.items() if isinstance(key, EvaluationKey)]) == 6
    assert held([value for _, value in s.scored.items()], Observations) == []
    assert len(held([value for _, value in s.split.items()], Split)) == 1


def test_a_sweep_keeps_no_copy_of_the_table():
    s, _ = session_on(answers(1))
    source = source_of(s.memo, s.uploads, s.recipe)
    now = Present(
        s, source, curve_of(s.memo, source.distances), learned(s.memo, source.distances, s.recipe)
    )
    t = Tuning(s.swept)
    plan = plan_of(s, now, now.curve)
    plan = replace(plan, along=plan.along[-2:])
    score_points(s, t, plan, SCORES)
    job = s.jobs.current(SCORES)
    assert job.finished.wait(60)
    assert job.error is None
    assert results_of(t, plan, plan.along).has_all_scores
    assert held([value for _, value in s.swept.items()], Observations) == []


def test_results_of_a_page_stay_within_bytes():
    known = ResultCache(most_bytes=10_000)
    for k in range(50):
        known.put(k, np.zeros(100))
        assert sum(size_of(one) for _, one in known.items()) <= 10_000
    assert [key for key, _ in known.items()] == list(range(49, 37, -1))
    known.put("large", np.zeros(10_000))
    assert known.get("large") is not None, "the last one stays, however large"
    assert len(known.items()) == 1
    for one in (session_on(answers(1))[0].swept, session_on(answers(1))[0].scored):
        assert one._kept.maxsize <= APP_LIMITS.session_bytes // 4


def test_a_file_that_is_kept_again_drops_no_other():
    s, _ = session_on(answers(1))
    s.uploads = {}
    for name in "ABCDD":
        s.keep_upload(name, name.encode())
    assert list(s.uploads) == ["A", "B", "C", "D"]
    s.keep_upload("A", b"A")
    s.keep_upload("E", b"E")
    assert list(s.uploads) == ["C", "D", "A", "E"]


# One after the other -----------------------------------------------------------------------


def endless(self: Job, done: int, total: int) -> None:
    """Work that goes on until it is cancelled."""
    self.done, self.total = done, total
    while not self.cancelled.wait(0.01):
        pass
    raise Cancelled


def soon(is_so: Callable[[], bool]) -> bool:
    """Whether something comes true once the threads that ran the page are gone, too."""
    deadline = time.monotonic() + TIMEOUT
    while not is_so() and time.monotonic() < deadline:
        gc.collect()
        time.sleep(0.02)
    return is_so()


def on_page(name: str | None, content: bytes, **state: str) -> AppTest:
    """A page on a file of one's own."""
    page = used(opened(sample=RING), "answers.csv", content)
    for key, value in state.items():
        page.session_state[key] = value
    return ran(page if name is None else page.switch_page(f"pages/{name}.py"))


def begin_scores_of_pins(k: int) -> AppTest:
    page = on_page("3_Compare", answers(k))
    page = ran(page.button(key="pin_tree_and_loops").click())
    return page.button(key="score_pins").click().run()


BUSY: dict[str, Callable[[int], AppTest]] = {
    "fit": lambda k: (
        buttons(on_page(None, answers(k), more="Model fit"))["Fit model"].click().run()
    ),
    "support": lambda k: (
        on_page(None, answers(k), more="Stability").button(key="resample").click().run()
    ),
    "report": lambda k: (
        on_page(None, answers(k), more="Export").button(key="make_report").click().run()
    ),
    "bic": lambda k: on_page(None, answers(k)).toggle(key="bic").set_value(True).run(),
    "sweep": lambda k: on_page("2_Tune", answers(k)),
    "compare": begin_scores_of_pins,
    "evaluate": lambda k: (
        on_page("4_Evaluate", answers(k), evaluate_tab="Scores")
        .button(key="score_begin")
        .click()
        .run()
    ),
    "lab learn": lambda k: on_page("5_Laboratory", answers(k)),
}
"""What begins each kind of job, for a session on table k."""


@pytest.mark.parametrize("kind", BUSY)
def test_a_session_that_ends_is_forgotten_and_its_work_stops(kind, monkeypatch):
    monkeypatch.setattr("loopylatent.ui.shell.laboratory.QUICK", 0.01)
    monkeypatch.setattr(Job, "report", endless)
    page = BUSY[kind](list(BUSY).index(kind))
    s = session_of(page)
    job = s.jobs.current(kind)
    assert not job.finished.is_set(), job.error
    parts = (s, s.memo, s.swept, s.scored, s.split, *held(s.memo, Observations))
    gone = [weakref.ref(one) for one in parts]
    del page, s, parts
    assert soon(job.cancelled.is_set), "nobody waits for it any more"
    assert job.finished.wait(TIMEOUT)
    assert soon(lambda: all(one() is None for one in gone))


def moved(page: AppTest, r: float) -> AppTest:
    session_of(page).change(r=r)
    return ran(page)


def test_two_sessions_in_turn_see_nothing_of_each_other():
    tables = (answers(1), answers(3))
    pages = [used(opened(sample=RING), "answers.csv", content) for content in tables]
    for step, r in enumerate((1.9, 1.5, 1.2)):
        for k in (0, 1):
            pages[k] = moved(pages[k], r + 0.05 * k)
            mine, other = (session_of(pages[one]) for one in (k, 1 - k))
            assert mine.recipe.r == r + 0.05 * k
            assert other.recipe.r != mine.recipe.r
            assert counts_on(pages[k]) == counts_of(own_graph(pages[k], tables[k])), f"step {step}"
            assert set(mine.uploads) & set(other.uploads) == set()
    for k in (0, 1):
        pages[k] = settled(ran(pages[k].switch_page("pages/2_Tune.py")))
    digests = [
        {key.distances for key, _ in session_of(page).swept.items() if isinstance(key, PointKey)}
        for page in pages
    ]
    assert all(len(own) == 1 for own in digests)
    assert digests[0] != digests[1]
    names = [{one.graph.names for key, one in session_of(page).swept.items()
              if isinstance(key, PointKey)} for page in pages]  # fmt: skip
    assert names[0] != names[1]


# A file that was forgotten -----------------------------------------------------------------


@pytest.fixture(scope="module")
def shown() -> AppTest:
    """A page on a file of one's own, with settings of one's own."""
    page = used(opened(sample=RING), "answers.csv", answers(1))
    session_of(page).change(r=1.4, tau=0.05, order="index")
    return ran(page)


def reloaded(page: AppTest) -> AppTest:
    """Another session at the address of a page, as after a reload or a restart of the server."""
    again = AppTest.from_file(str(APP), default_timeout=60)
    for name, value in link_of(page).items():
        again.query_params[name] = value.removeprefix("['").removesuffix("']")
    return ran(again)


def chosen(page: AppTest, content: bytes) -> AppTest:
    """Put a file into the dialog."""
    asked(page).run()
    return ran(asked(page).file_uploader[0].set_value(("renamed.csv", content, "text/csv")))


def buttons(page: AppTest) -> dict[str, Any]:
    return {one.label: one for one in page.button}


def test_the_same_file_brings_everything_back(shown):
    page = reloaded(shown)
    (line,) = [one.value.replace("\\", "") for one in page.error]
    assert "'answers.csv' is not loaded" in line
    assert "choose it again" in line
    assert link_of(page) == link_of(shown), "a second reload asks for the same"
    page = chosen(page, answers(1))
    assert GO_ON in buttons(page)
    asked(page)
    page = ran(buttons(page)[GO_ON].click())
    assert [one.value for one in page.error] == []
    assert session_of(page).recipe == session_of(shown).recipe
    assert counts_on(page) == counts_on(shown)
    assert link_of(page) == link_of(shown)


def test_another_file_opens_as_any_other(shown):
    page = chosen(reloaded(shown), answers(2))
    assert GO_ON not in buttons(page)
    asked(page)
    page = ran(buttons(page)["Use table"].click())
    assert session_of(page).recipe.data_digest == digest_of(answers(2))
    assert counts_on(page) == counts_of(own_graph(page, answers(2)))


def test_a_bundled_table_can_be_chosen_instead(shown):
    page = ran(reloaded(shown).selectbox(key="data").set_value("bfi25"))
    assert [one.value for one in page.error] == []
    assert link_of(page)["sample"] == "bfi25"


def test_a_link_that_does_not_fit_the_file_is_rejected_in_one_line(shown):
    page = AppTest.from_file(str(APP), default_timeout=60)
    for name, value in link_of(shown).items():
        page.query_params[name] = value.removeprefix("['").removesuffix("']")
    page.query_params["reading"] = json.dumps({"drop": ["nowhere"]})
    page = chosen(ran(page), answers(1))
    asked(page)
    page = ran(buttons(page)[GO_ON].click())
    said = [one.value for one in page.error]
    assert any("nowhere" in line for line in said)
    assert all("\n" not in line for line in said)
    assert session_of(page).uploads == {}


def test_synthetic_data_of_a_lesson_are_restored_automatically():
    recipe = synthetic_data("cage").recipe
    page = opened(**session.params_of(recipe))
    assert [one.value for one in page.error] == []
    assert session_of(page).recipe == recipe


# Links -------------------------------------------------------------------------------------

NAMES = st.text(min_size=1, max_size=8).filter(lambda name: name.strip() and name.isprintable())


@given(
    drop=st.frozensets(NAMES, max_size=3),
    kinds=st.dictionaries(NAMES, st.sampled_from(["binary", "continuous"]), max_size=3),
    degenerate=st.booleans(),
    r=st.floats(0.01, 1e6),
)
def test_a_link_says_how_a_file_is_read(drop, kinds, degenerate, r):
    recipe = Recipe(
        source="own.csv", source_kind="table", data_digest=digest_of(b"x"), r=r, Lambda=0, tau=0.1,
        drop=tuple(drop), kinds=tuple(kinds.items()), drop_degenerate=degenerate,
    )  # fmt: skip
    opening = session.opening_of(session.params_of(recipe), RING, Memo())
    assert (opening.recipe, opening.fresh, opening.notice) == (recipe, recipe, None)


def test_a_link_holds_no_data_and_is_not_made_where_it_would_be_long():
    recipe = Recipe(
        source="own.csv", source_kind="table", data_digest=digest_of(b"secret"), r=1, Lambda=0,
        tau=0, drop=tuple(f"a long name of a column {k}" for k in range(200)),
    )  # fmt: skip
    assert session.params_of(recipe) == {}
    assert session.params_of(session.NOTHING) == {}


FILE = {"file": "own.csv", "kind": "table", "digest": "0" * 16, "r": "1", "Lambda": "0", "tau": "0"}


@pytest.mark.parametrize(
    "change",
    [
        {"digest": "../../etc"},
        {"file": "../../etc/passwd"},
        {"file": ""},
        {"kind": "sample", "file": "sample:bfi25"},
        {"kind": "magic"},
        {"reading": "{"},
        {"reading": "[" * 50_000},
        {"reading": '["drop"]'},
        {"reading": '{"r": 5}'},
        {"reading": '{"drop": 5}'},
        {"reading": '{"n_samples": 5}'},
        {"r": "nan"},
        {"r": "", "tau": "<script>"},
        {"metric": "magic"},
        {"seed": "1.5"},
    ],
)
def test_a_link_of_a_file_that_cannot_be_used_gives_a_sample_and_one_line(change):
    opening = session.opening_of(FILE | change, RING, Memo())
    assert opening.recipe.sample_name == RING
    assert opening.notice
    assert "\n" not in opening.notice


@pytest.mark.parametrize("missing", ["file", "kind", "r", "Lambda", "tau"])
def test_a_link_of_a_file_must_be_whole(missing):
    told = {name: value for name, value in FILE.items() if name != missing}
    assert session.opening_of(told, RING, Memo()).notice
