"""Results in a project file that pass all checks and are nonsense: no page breaks on them."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest
from helpers.app import TIMEOUT, ran
from helpers.saved_results import ROOT, blank, opened_again, project_of, tried, worked
from streamlit.testing.v1 import AppTest

from loopylatent.exporting.project.file import save_project
from loopylatent.exporting.project.results import Results, encoded, read_results
from loopylatent.ui.evaluate import page as evaluate
from loopylatent.ui.open.project import checked
from loopylatent.ui.shell.session import KEY
from loopylatent.ui.tune import page as tune

ODD = ("nan", "inf", "-inf", 1e308, -1e308, 1e-320, 0, 1, 2**53)


def numbers(value: Any, way: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The ways to all numbers but those of settings and of shapes."""
    if isinstance(value, dict):
        parts = [(k, v) for k, v in value.items() if k not in ("settings", "shape")]
    elif isinstance(value, list):
        parts = list(enumerate(value))
    else:
        is_number = value in ("nan", "inf", "-inf") or type(value) in (int, float)
        return [way] if is_number else []
    return [one for k, v in parts for one in numbers(v, (*way, k))]


def nonsense(kind: str, odd: Any) -> Results:
    """Results in which every kind of number is this one, as far as it can be and is let in."""
    s, source = worked(kind)
    project = project_of(s, source)
    decoded = json.loads(encoded(project.results))
    fields: dict[tuple[Any, ...], list[tuple[Any, ...]]] = {}
    for way in numbers(decoded["results"]):
        fields.setdefault(tuple(step for step in way if isinstance(step, str)), []).append(way)
    for ways in fields.values():
        before = [at(decoded["results"], way[:-1])[way[-1]] for way in ways]
        for way in ways:
            at(decoded["results"], way[:-1])[way[-1]] = odd
        _, error_text = tried(
            lambda: checked(dataclasses.replace(project, results=reread(decoded)), source)
        )
        if error_text is not None:
            for way, value in zip(ways, before, strict=True):
                at(decoded["results"], way[:-1])[way[-1]] = value
    return reread(decoded)


def reread(decoded: Any) -> Results:
    return read_results(json.dumps(decoded).encode())


def at(value: Any, way: tuple[Any, ...]) -> Any:
    for step in way:
        value = value[step]
    return value


TABS = {
    "app.py": ("more", ["Density curve", "Model fit", "Stability", "Tables"]),
    "pages/2_Tune.py": ("tune_tab", [tune.SWEEP, tune.GRID, tune.BARCODE, tune.TABLE]),
    "pages/3_Compare.py": ("compare_more", ["Numbers and scores", "Edges", "Hidden nodes"]),
    "pages/4_Evaluate.py": (
        "evaluate_tab",
        [evaluate.TOPICS, evaluate.OVERLAPS, evaluate.SCORES],
    ),
}


@pytest.mark.parametrize(
    "odd", [ODD[0], *(pytest.param(x, marks=pytest.mark.long) for x in ODD[1:])]
)
@pytest.mark.parametrize("kind", ["ising", pytest.param("gaussian", marks=pytest.mark.long)])
def test_nonsensical_results_break_no_page(kind, odd):
    s, source = worked(kind)
    project = dataclasses.replace(project_of(s, source), results=nonsense(kind, odd))
    t = blank()
    opened_again(save_project(project), t)
    page = AppTest.from_file(str(ROOT / "app.py"), default_timeout=TIMEOUT)
    page.session_state[KEY] = t
    for path in ("app.py", *(f"pages/{one.name}" for one in sorted((ROOT / "pages").glob("*.py")))):
        if path != "app.py":
            page.switch_page(path)
        key, tabs = TABS.get(path, (None, [None]))
        for tab in tabs:
            if key is not None:
                page.session_state[key] = tab
            ran(page)
    project_of(t, source)
