"""Matrix products run on one thread as long as any block asks for it, and then as before."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np  # noqa: F401  (brings its library of matrix products)
import pytest
import scipy.linalg  # noqa: F401
from threadpoolctl import threadpool_info, threadpool_limits

from loopylatent.compute.limits import one_thread

TIMEOUT = 60


def numbers() -> set[int]:
    return {one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"}


@pytest.fixture(autouse=True)
def two():
    """Two threads, also where there is one core."""
    with threadpool_limits(limits=2, user_api="blas"):
        yield


def test_one_thread_inside_and_two_after():
    with one_thread():
        assert numbers() == {1}
        with one_thread():
            assert numbers() == {1}
        assert numbers() == {1}
    assert numbers() == {2}


def test_whoever_ends_first_takes_the_limit_from_nobody():
    """Three threads end one after the other; all see one thread until the last has ended."""
    begun, ended = Barrier(3), [Barrier(2), Barrier(2)]

    def work(k: int) -> list[set[int]]:
        seen = []
        with one_thread():
            begun.wait(TIMEOUT)
            if k > 0:
                ended[k - 1].wait(TIMEOUT)
            seen.append(numbers())
        if k < 2:
            ended[k].wait(TIMEOUT)
        return seen

    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(work, range(3)))
    assert found == [[{1}]] * 3
    assert numbers() == {2}


def test_a_thread_can_ask_after_another_one_did():
    with one_thread():
        pass

    def ask() -> set[int]:
        with one_thread():
            return numbers()

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(ask).result() == {1}
    assert numbers() == {2}


def test_an_error_lifts_the_limit():
    with pytest.raises(ZeroDivisionError), one_thread():
        1 / 0  # noqa: B018
    assert numbers() == {2}
