"""Small examples of inner functions, with what they give."""

from __future__ import annotations

import numpy as np
import pytest

from loopylatent.compute.cache import Checkpoint, ResultCache, size_of
from loopylatent.compute.limits import duration, estimate, size
from loopylatent.compute.values import check_seed, wrong_type
from loopylatent.compute.workers import OnThreads, Window, as_they_finish, in_order, runner
from loopylatent.errors import (
    LoopyLatentError,
    Remedy,
    ThresholdError,
    did_you_mean,
    in_words,
    listed,
    quoted,
)


def test_example_of_checkpoint(tmp_path):
    file = Checkpoint(tmp_path / "so_far.npz", "these data")
    file.save(3, {"sums": np.ones(2)})
    assert Checkpoint(file.path, "these data").load().done == 3


def test_example_of_runner():
    with runner() as run:
        assert sorted(run(lambda base, k, _: base * k, 10, [1, 2])) == [(0, 10), (1, 20)]


def test_example_of_estimate():
    assert estimate("distances", 10, 10_000).bytes // 10**9 == 9


def test_example_of_duration():
    assert (duration(7.4), duration(95), duration(4000)) == ("7 s", "1 min 35 s", "1 h 6 min")


def test_example_of_size():
    assert (size(8e9), size(52_428_800)) == ("7.5 GB", "50 MB")


def test_example_of_as_they_finish():
    squares = as_they_finish([lambda _, k=k: k * k for k in range(4)], threads=2)
    assert sorted(squares) == [(0, 0), (1, 1), (2, 4), (3, 9)]


def test_example_of_window():
    window = Window(5, ahead=2, most=8)
    assert (window.begin(), window.begin(), window.end(1), window.begin()) == ([0, 1], [], None, [])
    assert (window.end(0), window.begin(), window.n_left) == (None, [2, 3], 3)


def test_example_of_onthreads():
    found = sorted(OnThreads(2)(lambda base, k, _: base + k, 10, [1, 2, 3]))
    assert found == [(0, 11), (1, 12), (2, 13)]


def test_example_of_in_order():
    assert list(in_order(pair for pair in [(1, "b"), (0, "a"), (2, "c")])) == ["a", "b", "c"]


def test_example_of_a_remedy():
    assert Remedy("setting", "n_states", 1).worded({"setting n_states": "--states {1}"}) == (
        "--states 1"
    )
    error = LoopyLatentError("not with ", Remedy("bic"))
    assert in_words(error, {"bic": "--regularize bic"}) == "not with --regularize bic"


def test_example_of_names_in_messages():
    assert quoted("two\nlines") == r"'two\nlines'"
    assert len(quoted("x" * 1000)) == 62
    assert listed(["a", "b", "c"], most=2) == "'a', 'b' and 1 more"
    assert did_you_mean("aeg", ["age", "sex"]) == "did you mean 'age'?"
    assert did_you_mean("height", ["age", "sex"]) == "known names: 'age', 'sex'."


def test_example_of_a_wrong_type():
    said = str(LoopyLatentError(*wrong_type("a LatentGraph", 3, "result.graph")))
    assert said == "Expected a LatentGraph, not a int; use result.graph."
    with pytest.raises(ThresholdError, match=r"seed = 1\.5 is not a whole number of at least 0\."):
        check_seed(1.5)


def test_example_of_a_cache():
    cache = ResultCache(most=2)
    for key in "abc":
        cache.put(key, key.upper())
    assert (cache.get("a"), cache.get("c")) == (None, "C")
    cache = ResultCache(most_bytes=5)
    for word in ("abc", "de", "f"):
        cache.put(word, word)
    assert (cache.get("abc"), cache.get("f")) == (None, "f")
    assert size_of((np.zeros(100), {"text": b"abc"})) == 803
