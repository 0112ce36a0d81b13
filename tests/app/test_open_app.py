"""Opening distances, projects and weighted tables in the app: the limits hold for all of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers.app import asked, opened, session_of
from helpers.nasty import csv_of, numbers
from helpers.uploads import BUTTONS, RING, pressed, shown
from streamlit.testing.v1 import AppTest

import loopylatent as ll
from loopylatent.compute import limits
from loopylatent.compute.limits import APP
from loopylatent.distances import files as distance_files
from loopylatent.exporting.project.file import Project, Recipe, digest_of, save_project
from loopylatent.tables.read import read_frame
from loopylatent.ui.explore.stability import work_of
from loopylatent.ui.open import dialog as open_data
from loopylatent.ui.open.dialog import DISTANCES, PROJECT, TABLE
from loopylatent.ui.shell import results

GO_ON = "Use settings of the link"


def distance_file() -> bytes:
    D = ll.information_distances(numbers())
    return csv_of(pd.DataFrame(D.values, columns=list(D.names)))


def recipe_of(content: bytes) -> Recipe:
    return Recipe(
        source="mine.csv", source_kind="distances", data_digest=digest_of(content),
        r=2.0, Lambda=0.1, tau=0.05,
    )  # fmt: skip


def said(page: AppTest) -> list[str]:
    assert [one.value for one in page.exception] == []
    return [one.value.replace("\\", "") for one in page.error]


def uploaded(content: bytes) -> AppTest:
    return shown(opened(sample=RING), DISTANCES, "mine.csv", content)


def linked(content: bytes) -> AppTest:
    page = opened(sample=RING)
    session_of(page).open(recipe_of(content))
    return pressed(shown(page, DISTANCES, "mine.csv", content), GO_ON)


def saved(content: bytes) -> AppTest:
    file = save_project(Project(recipe_of(content), data=content))
    page = shown(opened(sample=RING), PROJECT, "mine.loopylatent", file)
    return pressed(page, BUTTONS[PROJECT])


WAYS = pytest.mark.parametrize("way", [uploaded, linked, saved])


@WAYS
def test_distances_within_the_limits_are_taken(way: Callable[[bytes], AppTest]) -> None:
    assert said(way(distance_file())) == []


@WAYS
def test_distances_of_too_many_columns_are_rejected(
    way: Callable[[bytes], AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (open_data, results):
        monkeypatch.setattr(module, "APP", replace(APP, columns=5))
    assert "6 columns are more than the limit" in " ".join(said(way(distance_file())))


@WAYS
def test_distances_that_cannot_be_learned_from_in_memory_are_rejected(
    way: Callable[[bytes], AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    def check(n_columns: int, stage: limits.Stage) -> None:
        limits.check_memory(n_columns * 1_000_000, stage)

    monkeypatch.setattr(open_data, "check_memory", check)
    assert "6,000,000 columns need about" in " ".join(said(way(distance_file())))


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of the files that were parsed."""
    found: list[int] = []

    def counted(content: bytes, **options: Any) -> pd.DataFrame:
        found.append(len(content))
        return read_frame(content, **options)

    for module in (distance_files, results):
        monkeypatch.setattr(module, "read_frame", counted)
    return found


def test_distances_are_read_once(read: list[int]) -> None:
    page = uploaded(distance_file())
    asked(page).run()
    asked(page).number_input[0].set_value(100).run()
    pressed(page, BUTTONS[DISTANCES])
    assert len(read) == 1
    assert session_of(page).recipe.source == "mine.csv"


def test_a_table_is_read_once(read: list[int]) -> None:
    content = csv_of(numbers())
    page = shown(opened(sample=RING), TABLE, "mine.csv", content)
    page = pressed(page, BUTTONS[TABLE])
    s = session_of(page)
    s.change(drop=(numbers().columns[0],))
    page.run()
    assert (
        results.source_of(s.memo, s.uploads, s.recipe).distances.n_columns == numbers().shape[1] - 1
    )
    assert read == [len(content)]


def test_large_weights_do_not_make_a_table_long(monkeypatch: pytest.MonkeyPatch) -> None:
    asked_for: list[int] = []
    estimate = limits.estimate

    def noted(stage: limits.Stage, n_rows: int, n_columns: int) -> limits.Estimate:
        asked_for.append(n_rows)
        return estimate(stage, n_rows, n_columns)

    for module in (open_data, limits):
        monkeypatch.setattr(module, "estimate", noted)
    content = csv_of(numbers().assign(w=np.full(60, 1e12)))
    weighted = replace(recipe_of(content), source_kind="table", weights="w")
    page = shown(opened(sample=RING), PROJECT, "mine.loopylatent",
                 save_project(Project(weighted, data=content)))  # fmt: skip
    page = pressed(page, BUTTONS[PROJECT])
    assert said(page) == []
    assert session_of(page).recipe.weights == "w"
    assert max(asked_for) <= 300, "rows of the file or of the sample, not the sum of weights"


def test_large_weights_do_not_make_runs_long() -> None:
    obs = ll.Observations.from_frame(numbers().assign(w=1e12), weights="w")
    source = results.Source("mine", "", ll.information_distances(obs), obs, None, None)
    assert work_of(source, 10) == limits.rerun(60, 6, 10)


@pytest.mark.parametrize(
    ("content", "never"),
    [(b"a b c\n1 2 3\n2 3 1\n", "delimiter="), (csv_of(numbers()) * 3, "max_bytes")],
)
def test_no_line_advises_what_the_page_does_not_offer(
    content: bytes, never: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_data, "APP", replace(APP, file_bytes=5_000))
    lines = said(shown(opened(sample=RING), TABLE, "mine.csv", content))
    assert len(lines) == 1
    assert "Python" not in lines[0]
    assert never not in lines[0]


def test_an_error_is_shown_above_what_has_to_be_corrected() -> None:
    page = shown(opened(sample=RING), TABLE, "few.csv", b"a,b,c\n1,2,3\n1,x,3\n1,2,3\n")
    assert "found 1" in said(page)[0]
    drawn = [node.type for node in page._tree if node.type in ("error", "checkbox")]
    assert drawn == ["error", "checkbox"]
