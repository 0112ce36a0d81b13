"""Small examples of inner functions, with what they give."""

from __future__ import annotations

import numpy as np

from loopylatent.compute.files import Checkpoint
from loopylatent.compute.limits import duration, estimate, size
from loopylatent.compute.workers import OnThreads, Window, as_they_finish, in_order, runner


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
