"""The one place that owns the compiler's settings.

No ``fastmath`` (it would reorder sums) and no ``parallel`` (two threads inside one parallel
kernel abort the process); kernels release the interpreter lock, so that callers can run several
in a thread pool.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
from numba.core import caching

F = TypeVar("F", bound=Callable[..., object])
FunctionCache: Any = caching.FunctionCache
log = logging.getLogger(__name__)


class KernelCache(FunctionCache):  # type: ignore[misc]
    """Compiled functions on disk, a convenience: where the disk fails, they are compiled again."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return what is kept; where it is damaged, forget it."""
        try:
            return super().load_overload(sig, target_context)
        except Exception as error:  # whatever a damaged file makes the reader raise
            log.info("a compiled function cannot be read again: %s", error)
            with contextlib.suppress(OSError):
                self.flush()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a compiled function; where that does not work, do without."""
        try:
            super().save_overload(sig, data)
        except Exception as error:  # no space, no permission, a damaged list of what is kept
            log.info("a compiled function cannot be kept: %s", error)
            self.disable()


def kernel(function: F) -> F:
    """Compile a function once, keep it on disk, release the interpreter lock while it runs."""
    compiled: Any = numba.njit(nogil=True)(function)
    with contextlib.suppress(RuntimeError):  # there is no folder to keep it in
        compiled._cache = KernelCache(function)  # noqa: SLF001  (numba has no other way)
    return cast(F, compiled)
