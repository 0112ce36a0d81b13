"""Matrix products on one thread, for work that is itself shared out to threads."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from threadpoolctl import OpenBLASController, ThreadpoolController


class _Limit:
    """How many blocks want one thread now, and what takes the limit off again."""

    lock = threading.Lock()
    wanted = 0
    off: Any = None


@contextmanager
def one_thread() -> Iterator[None]:
    """Run matrix products on one thread, in the whole process, while any such block runs.

    The matrices are small, so that several threads only get into each other's way; and the last
    digits of a product may depend on their number. The first block sets the limit and the last
    one lifts it, in whatever order they end.
    """
    with _Limit.lock:
        _Limit.wanted += 1
        if _Limit.wanted == 1:
            _free_control()
            _Limit.off = _controller().limit(limits=1, user_api="blas")
    try:
        yield
    finally:
        with _Limit.lock:
            _Limit.wanted -= 1
            if _Limit.wanted == 0:
                _free_control()
                _Limit.off.restore_original_limits()
                _free_control()


def _free_control() -> None:
    """Let this thread set the limit; threadpoolctl leaves that to the thread that did it first."""
    free = getattr(OpenBLASController, "clear_controlling_thread", None)
    if free is not None:
        free(force=True)


@cache
def _controller() -> ThreadpoolController:
    """Looked for once: it takes longer than many a product."""
    return ThreadpoolController()
