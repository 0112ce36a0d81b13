"""The app in AppTest, and functions to read its pages."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

from streamlit.testing.v1 import AppTest

import loopylatent as ll
from loopylatent.ui.shell.background import Cancelled, Job
from loopylatent.ui.shell.session import Session

APP = Path(__file__).resolve().parents[2] / "app.py"


TIMEOUT = 180.0  # seconds for one run of the page, and for background work


RING = "latent_cycle"
"""A small sample for tests that do not depend on the data."""


def opened(**params: str) -> AppTest:
    """Open the page in a new session by a link."""
    page = AppTest.from_file(str(APP), default_timeout=TIMEOUT)
    for name, value in params.items():
        page.query_params[name] = value
    return ran(page)


def ran(page: Any) -> AppTest:
    """Run the page, or a changed widget, and check that there is no exception."""
    page = page.run()
    assert [error.value for error in page.exception] == []
    return page


def session_of(page: AppTest) -> Session:
    return page.session_state["loopylatent"]


def link_of(page: AppTest) -> dict[str, str]:
    """The link parameters of the page."""
    return {name: str(value) for name, value in page.query_params.items()}


def press(page: AppTest, label: str) -> AppTest:
    return ran(button(page, label).click())


def button(page: AppTest, label: str) -> Any:
    return next(one for one in page.button if one.label == label)


@cache
def distances(sample: str, metric: Any = "auto") -> ll.DistanceMatrix:
    return ll.information_distances(ll.load_sample(sample).observations, metric=metric)


def learned(page: AppTest) -> ll.LearnResult:
    """Return the result of the package for the settings in the link."""
    params = link_of(page)
    return ll.learn(
        distances(params["sample"], params["metric"]),
        r=float(params["r"]),
        Lambda=float(params["Lambda"]),
        tau=float(params["tau"]),
        method=params["method"],  # type: ignore[arg-type]
        order=params["order"],  # type: ignore[arg-type]
        seed=int(params["seed"]),
    )


def counts_of(graph: ll.LatentGraph) -> dict[str, int]:
    return {
        "observed": graph.n_observed,
        "hidden": graph.n_hidden,
        "edge": graph.n_edges,
        "cycle": graph.n_cycles,
        "component": graph.n_components,
    }


def counts_on(page: AppTest) -> dict[str, int]:
    """The counts in the summary line."""
    line = next(text.value for text in page.markdown if " edges" in text.value)
    found = re.findall(r"\*\*(\d+)\*\* (observed|hidden|edge|cycle|component)", line)
    return {what: int(number) for number, what in found}


def drawn(page: AppTest) -> dict[str, Any]:
    """The data that the page sends to the graph in the browser."""
    graph = next(one for one in page.get("bidi_component") if one.key == "graph")
    return json.loads(graph.proto.json)


def drawn_edges(page: AppTest) -> set[tuple[int, int]]:
    return {tuple(sorted((edge["from"], edge["to"]))) for edge in drawn(page)["edges"]}


def turn_to(page: AppTest, tab: str) -> AppTest:
    """Open a tab below the graph."""
    page.session_state["more"] = tab
    return ran(page)


TIMEOUT = 180.0


def used(page: AppTest, name: str, content: bytes) -> AppTest:
    """Open a file; the dialog closes after each run and is opened again."""
    asked(page).run()
    asked(page).file_uploader[0].set_value((name, content, "text/csv")).run()
    asked(page)
    next(one for one in page.button if one.label == "Use table").click()
    return page.run()


def asked(page: AppTest) -> AppTest:
    next(one for one in page.button if one.label == "Open file").click()
    return page


def stands_still(self: Job, done: int, total: int) -> None:
    """Make a job wait in the middle until it is cancelled."""
    self.done, self.total = done, total
    if done >= 1:
        assert self.cancelled.wait(TIMEOUT)
    if self.cancelled.is_set():
        raise Cancelled


BINARY = "ability16"
"""Binary columns with missing values."""


def finished(page: AppTest, kind: str) -> AppTest:
    """Wait for background work, then run the page again."""
    job = session_of(page).jobs.current(kind)
    assert job is not None
    assert job.finished.wait(TIMEOUT)
    return ran(page)


def probabilities(page: AppTest) -> AppTest:
    page.session_state["more"] = "Model fit"
    return ran(page)


def fitted(**params: str) -> AppTest:
    return finished(press(probabilities(opened(**params)), "Fit model"), "fit")
