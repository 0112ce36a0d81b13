"""Fixtures that several test files use."""

from __future__ import annotations

import os
import sys
from functools import cache
from pathlib import Path
from typing import Any

import hypothesis
import numpy as np
import pandas as pd
import pytest
from xdist.scheduler import LoadScopeScheduling

from loopylatent.tables.observations import Observations

# What is compiled is tested compiled, whatever its size; jit.py reads this when it is first used.
os.environ.setdefault("LOOPYLATENT_COMPILE", "always")
pytest_plugins = ["helpers.browser", "helpers.app_server"]

hypothesis.settings.register_profile(
    "steady",
    derandomize=True,
    deadline=None,
    max_examples=60,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.register_profile(
    "fresh",
    deadline=None,
    max_examples=500,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
"""Other examples at every run: make test-long."""
hypothesis.settings.load_profile("steady")


class BrowserOnOneWorker(LoadScopeScheduling):
    """Gives the folder of browser tests to one worker, files that share a server likewise.

    Two browsers at once are slow. The largest group begins first, so that no worker waits for it.
    """

    TOGETHER = ("tests/browser/", "tests/compute/test_cluster.py", "tests/repo/test_packaging.py")

    def _split_scope(self, nodeid: str) -> str:
        return next((group for group in self.TOGETHER if nodeid.startswith(group)), nodeid)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> BrowserOnOneWorker:
    return BrowserOnOneWorker(config, log)


@pytest.fixture(scope="session", autouse=True)
def pages_open_fast() -> None:
    """Spare tests of pages what costs time in them and shows nothing."""
    if "streamlit.testing.v1" not in sys.modules:
        return
    from streamlit.components.v2 import manifest_scanner as scanner

    from loopylatent.ui.explore import page

    # AppTest reads the metadata of every installed package for each app that it opens, 0.2 s; they
    # stay the same while the tests run.
    scanner.scan_component_manifests = cache(scanner.scan_component_manifests)
    page.HEAD_START = 0.0  # no browser to send the graph to


def replication_file(name: str) -> Path:
    """A file of the paper's own data, or a skip that says why."""
    folder = os.environ.get("LOOPYLATENT_REPLICATION")
    if not folder:
        pytest.skip("LOOPYLATENT_REPLICATION is not set: the paper's own data is not here")
    path = Path(folder) / name
    if not path.exists():
        pytest.skip(f"{name} is not in the folder that LOOPYLATENT_REPLICATION names")
    return path


@pytest.fixture(scope="session")
def newsgroup_frame() -> pd.DataFrame:
    return pd.read_csv(replication_file("newsgroups_choi_split.csv.gz"))


@pytest.fixture(scope="session")
def newsgroup_train(newsgroup_frame: pd.DataFrame) -> Observations:
    half = newsgroup_frame[newsgroup_frame["choi_split"] == "train"]
    return Observations.from_frame(half, labels=["choi_split", "newsgroup"])


@pytest.fixture(scope="session")
def stock_returns() -> Observations:
    frame = pd.read_csv(replication_file("sp100_monthly_returns_1990_2007.csv.gz"), index_col=0)
    return Observations.from_frame(frame.select_dtypes("number"))


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)
