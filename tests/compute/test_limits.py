"""What may be taken, what will be taken, and what is said where that is too much."""

from __future__ import annotations

import itertools
import tracemalloc
from typing import get_args

import numpy as np
import pandas as pd
import pytest

import loopylatent as ll
from loopylatent.cli.main import main
from loopylatent.compute import limits
from loopylatent.compute.cache import size_of
from loopylatent.compute.limits import APP, LIMITS, MEMORY_VARIABLE, Estimate, Stage, estimate
from loopylatent.errors import LimitError, LoopyLatentError
from loopylatent.ui.open.dialog import opening_work
from loopylatent.ui.shell.results import Memo


@pytest.mark.parametrize("stage", get_args(Stage))
def test_more_columns_take_longer_and_more_memory(stage):
    sizes = [10, 100, 1_000, 10_000]
    found = [estimate(stage, 1_000, p) for p in sizes]
    for less, more in itertools.pairwise(found):
        assert less.seconds < more.seconds
        assert less.bytes < more.bytes


def test_estimates_add_up_and_repeat():
    once = Estimate(2.0, 10) + Estimate(3.0, 7)
    assert (once.seconds, once.bytes) == (5.0, 10)
    assert ((once * 4).seconds, (once * 4).bytes) == (20.0, 10)
    assert Estimate(0.4).words == "a moment"
    assert Estimate(41.0).words == "about 41 s"


def test_how_fast_this_machine_is_is_measured_once():
    limits.slowness.cache_clear()
    first = limits.slowness()
    assert 0.25 <= first <= 20
    assert limits.slowness() == first
    assert limits.slowness.cache_info().misses == 1


def test_too_many_columns_or_cells_are_rejected_with_what_would_fit():
    with pytest.raises(LimitError, match=f"use at most {APP.columns:,}"):
        limits.check_shape(10, APP.columns + 1, APP)
    with pytest.raises(LimitError, match="use at most 50,000 rows"):
        limits.check_shape(60_000, 1_000, APP)
    limits.check_shape(50_000, 1_000, APP)


def test_work_that_takes_too_long_is_rejected_with_what_would_fit():
    with pytest.raises(LimitError, match=r"100 runs take about 2 h 0 min.* at most 50 runs"):
        limits.check_time(Estimate(7200.0), 100, "runs", APP)
    with pytest.raises(LimitError, match="use fewer columns"):
        limits.check_time(Estimate(1e6), 1, "fit", APP)
    limits.check_time(Estimate(3599.0), 100, "runs", APP)


def test_distances_that_do_not_fit_into_memory_are_rejected_before_they_are_begun(monkeypatch):
    monkeypatch.setenv(MEMORY_VARIABLE, "50")
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(5, 1_200)))
    with pytest.raises(LimitError, match=r"1,200 columns .* use at most 7\d\d columns") as found:
        ll.information_distances(frame)
    fitting = int(str(found.value).split("at most ")[1].split()[0])
    assert ll.information_distances(frame.iloc[:, :fitting]).n_columns == fitting
    with pytest.raises(LimitError):
        ll.information_distances(frame.iloc[:, : fitting + 2])


@pytest.mark.parametrize("metric", ["correlation", "determinant", "canonical"])
@pytest.mark.parametrize("gaps", [False, True])
def test_distances_take_the_memory_that_is_said(monkeypatch, metric, gaps):
    monkeypatch.setattr("loopylatent.distances.strengths.NULL_PAIRS", 1)
    rng = np.random.default_rng(0)
    values = rng.integers(0, 2, size=(60, 300)).astype(float)
    values[rng.random(values.shape) < 0.1 * gaps] = np.nan
    obs = ll.Observations.from_array(values)
    said = []
    monkeypatch.setattr(limits, "free_bytes", lambda: said.append(1) or 1)
    with pytest.raises(LimitError, match=r"about \d+ MB") as rejected:
        ll.information_distances(obs, metric)
    monkeypatch.undo()
    monkeypatch.setattr("loopylatent.distances.strengths.NULL_PAIRS", 1)
    tracemalloc.start()
    try:
        ll.information_distances(obs, metric)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    needed = int(str(rejected.value).split("about ")[1].split()[0]) * 2**20
    assert 0.5 * needed < peak < 1.1 * needed


def test_the_command_line_rejects_what_does_not_fit_in_one_line(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv(MEMORY_VARIABLE, "1")
    rng = np.random.default_rng(0)
    pd.DataFrame(rng.normal(size=(5, 200))).to_csv(tmp_path / "wide.csv", index=False)
    assert main(["learn", str(tmp_path / "wide.csv")]) == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("loopylatent: 200 columns need about")


def test_the_command_line_says_how_long_it_will_take(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(limits, "slowness", lambda: 1e4)
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 30)))
    frame.to_csv(tmp_path / "table.csv", index=False)
    assert main(["learn", str(tmp_path / "table.csv")]) == 0
    assert "this takes about" in capsys.readouterr().err


@pytest.mark.parametrize("way", ["new", "old"])
@pytest.mark.parametrize("has_statistics", [True, False])
def test_cached_files_do_not_count_as_memory_that_a_container_uses(
    monkeypatch, tmp_path, way, has_statistics
):
    names = {
        "new": ("memory.max", "memory.current", "memory.stat", ""),
        "old": ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes",
                "memory/memory.stat", "total_"),
    }  # fmt: skip
    limit, use, statistics, prefix = names[way]
    (tmp_path / "memory").mkdir()
    (tmp_path / limit).write_text("1000000\n")
    (tmp_path / use).write_text("900000\n")
    if has_statistics:
        (tmp_path / statistics).write_text(
            f"anon 100000\n{prefix}inactive_file 500000\n{prefix}active_file 200000\n"
        )
    monkeypatch.setattr(limits, "GROUP", tmp_path)
    monkeypatch.delenv(MEMORY_VARIABLE, raising=False)
    allowed = 800_000 if has_statistics else 100_000
    assert limits._allowed_to_group() == allowed
    assert limits.free_bytes() == int(0.8 * allowed)


@pytest.mark.parametrize("limit", ["max", "", "12"])
def test_a_container_without_a_limit_or_beyond_it_is_no_error(monkeypatch, tmp_path, limit):
    (tmp_path / "memory.max").write_text(f"{limit}\n")
    (tmp_path / "memory.current").write_text("900000\n")
    monkeypatch.setattr(limits, "GROUP", tmp_path)
    assert limits._allowed_to_group() == (0 if limit == "12" else None)


@pytest.mark.parametrize("given", ["", "none", "-"])
def test_a_limit_that_is_no_number_is_not_taken(monkeypatch, given):
    monkeypatch.setenv(MEMORY_VARIABLE, given)
    assert limits.free_bytes() > 50 * limits.MEGABYTE


def test_a_name_may_be_long_but_not_endless():
    columns = ["x" * LIMITS.name_length, "b", "c"]
    values = np.random.default_rng(0).normal(size=(9, 3))
    assert ll.Observations.from_array(values, columns).n_columns == 3
    columns[0] += "x"
    with pytest.raises(LoopyLatentError, match="10,001 characters"):
        ll.Observations.from_array(values, columns)


# A session ---------------------------------------------------------------------------------


def test_a_session_forgets_the_oldest_results_when_they_take_too_much():
    memo = Memo(most=10, most_bytes=3_000)
    for k in range(6):
        memo.get("large", k, lambda: np.zeros(125))
    memo.get("small", 0, lambda: np.zeros(2))
    kept = [k for k in range(6) if memo.known("large", k) is not None]
    assert kept == [4, 5]
    assert memo.known("small", 0) is not None


def test_the_last_result_of_a_kind_is_kept_however_large():
    memo = Memo(most_bytes=10)
    assert memo.get("large", 1, lambda: np.zeros(100)).size == 100
    assert memo.known("large", 1) is not None


def test_the_size_of_a_result_is_that_of_its_arrays():
    D = ll.information_distances(ll.load_sample("irish_wind12").observations)
    assert size_of(D) >= D.values.nbytes
    assert size_of((D, D)) < 1.1 * size_of(D), "what is shared counts once"


def test_opening_a_larger_table_takes_longer():
    assert opening_work(1_000, 300).seconds > opening_work(1_000, 50).seconds
    assert opening_work(100, 4_000).words.startswith("about")
