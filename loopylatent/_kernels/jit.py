"""The one place that owns the compiler's settings.

No ``fastmath`` (it would reorder sums) and no ``parallel`` (two threads inside one parallel
kernel abort the process); kernels release the interpreter lock, so that callers can run several
in a thread pool.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., object])


def kernel(function: F) -> F:
    """Compile a function once, keep it on disk, release the interpreter lock while it runs."""
    return cast(F, numba.njit(nogil=True, cache=True)(function))
