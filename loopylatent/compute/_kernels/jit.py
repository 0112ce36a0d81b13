"""The one place that owns the compiler's settings, and decides whether to compile or interpret.

No ``fastmath`` (it would reorder sums) and no ``parallel`` (two threads inside one parallel
kernel abort the process); kernels release the interpreter lock, so that callers can run several
in a thread pool.

Compiling takes seconds, so a kernel that is not compiled yet runs as plain Python where that is
quicker: see `Kernel`. ``LOOPYLATENT_COMPILE=always`` compiles at the first call, and
``NUMBA_DISABLE_JIT=1`` never.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from types import FunctionType
from typing import Any, ClassVar, TypeVar, cast

import numpy as np
from numba.core import caching, config, types as numba_types
from numba.core.dispatcher import OmittedArg
from numba.core.registry import CPUDispatcher

F = TypeVar("F", bound=Callable[..., object])
FunctionCache: Any = caching.FunctionCache  # numba has no type annotations
types: Any = numba_types
settings: Any = config
Dispatcher: Any = CPUDispatcher
Types = tuple[Any, ...]
log = logging.getLogger(__name__)

SMALL = 32_768
"""Numbers in the largest argument up to which a call is interpreted rather than compiled: the
distances of 180 columns, with which either takes a few seconds."""
MANY = 2**20
"""The same for kernels that take a few seconds interpreted with the distances of 1,000 columns."""
WHILE_COMPILING = 4
"""Times as many numbers are interpreted if the call would have to wait for the compiler."""
INTERPRETED_SECONDS = 2.0
"""Seconds of processor time that a kernel may spend interpreted before it is compiled."""
ALWAYS = os.environ.get("LOOPYLATENT_COMPILE") == "always"


class KernelCache(FunctionCache):  # type: ignore[misc]
    """Compiled functions on disk, a convenience: where the disk fails, they are compiled again."""

    def __init__(self, function: Callable[..., object]) -> None:
        super().__init__(function)
        # A compiled function contains those that it calls, also from other files of the folder.
        folder = Path(function.__code__.co_filename).parent
        files = [one.stat() for one in sorted(folder.glob("*.py"))]
        stamp = tuple((one.st_mtime, one.st_size) for one in files)
        self._cache_file._source_stamp = stamp  # noqa: SLF001  (numba has no other way)

    def _kept(self) -> dict[Any, str]:
        try:
            kept: dict[Any, str] = self._cache_file._load_index()  # noqa: SLF001
        except Exception:  # whatever a damaged file makes the reader raise
            return {}
        return kept

    def holds_any(self) -> bool:
        """Return whether a current version of the function is on disk."""
        return bool(self._kept())

    def holds(self, wanted: Types, target_context: Any) -> bool:
        """Return whether the function is on disk for these argument types."""
        return self._index_key(wanted, target_context.codegen()) in self._kept()

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


class _Elsewhere:
    """What another process or thread is compiling; callers look again when a step is done."""

    def __init__(self) -> None:
        self.condition = threading.Condition()
        self.is_running = False
        self.n_steps = 0
        self.here = threading.local()

    def wait(self) -> bool:
        """Wait for a step; return False if there is nothing to wait for."""
        with self.condition:
            if not self.is_running or self.compiles_here:
                return False
            self.condition.wait()
            return True

    @property
    def compiles_here(self) -> bool:
        return ALWAYS or getattr(self.here, "compiles", False)

    def step(self, *, is_running: bool = True) -> None:
        with self.condition:
            self.is_running = is_running
            self.n_steps += 1
            self.condition.notify_all()


_elsewhere = _Elsewhere()
_lock = threading.RLock()
"""Held while a kernel is loaded or compiled."""


@contextlib.contextmanager
def compiling() -> Iterator[Callable[[], None]]:
    """Compile what this thread calls, while other threads interpret or wait.

    Yields a function to call when something new is compiled or on disk.
    """
    _elsewhere.step()
    _elsewhere.here.compiles = True
    try:
        yield _elsewhere.step
    finally:
        _elsewhere.here.compiles = False
        _elsewhere.step(is_running=False)


class Kernel(Dispatcher):  # type: ignore[misc]
    """A function for numba, run as plain Python until it is compiled.

    A compiled version in memory is called directly, and one on disk is loaded. Where there is
    none, a call with small arguments is interpreted: always while `compiling` runs in another
    thread, otherwise for `INTERPRETED_SECONDS`. A larger call waits for `compiling`, or compiles.
    Both ways give the same digits; kernels for which they do not have ``small`` = 0.

    Read-only arrays are compiled as writable ones, because numba would compile a second version;
    the interpreted version raises an error if it writes into them.
    """

    all: ClassVar[list[Kernel]] = []
    small = SMALL

    def __init__(self, py_func: Any, *arguments: Any, **named: Any) -> None:
        super().__init__(py_func, *arguments, **named)
        self._seconds = 0.0
        self._looked: dict[Types, int] = {}
        self._taken: set[Types] = set()
        with contextlib.suppress(RuntimeError):  # there is no folder to keep it in
            self._cache = KernelCache(py_func)
        Kernel.all.append(self)

    @classmethod
    def can_be_kept(cls) -> bool:
        """Return whether there is a folder for compiled functions."""
        return all(isinstance(one._cache, KernelCache) for one in cls.all)  # noqa: SLF001

    @classmethod
    def are_kept(cls) -> bool:
        """Return whether all kernels imported so far are compiled and on disk."""
        return all(one._cache.holds_any() for one in cls.all)  # noqa: SLF001

    @cached_property
    def interpreted(self) -> Callable[..., Any]:
        """The function in plain Python; the kernels that it calls are interpreted too."""
        function = self.py_func
        names = function.__globals__.get("_interpreted")
        if names is None:
            names = function.__globals__["_interpreted"] = dict(function.__globals__)
            for name, value in list(names.items()):
                if isinstance(value, Kernel):
                    names[name] = value.interpreted
        defaults, closure = function.__defaults__, function.__closure__
        return FunctionType(function.__code__, names, function.__name__, defaults, closure)

    def _compile_for_args(self, *args: Any) -> Callable[..., Any]:
        """Return what to call; numba asks when it knows no version for the types of ``args``."""
        given = tuple(map(self._type_of, args))
        self._types_active_call.clear()
        wanted = tuple(map(_writable, given))
        found = self._found(wanted, self._may_interpret(args))
        if found is None:
            return self._interpret
        with _lock:
            if given != wanted and given not in self._taken:
                self._taken.add(given)
                self._insert([one._code for one in given], found, False)  # noqa: SLF001
        return found

    def _type_of(self, value: Any) -> Any:
        if isinstance(value, OmittedArg):
            return types.Omitted(value.value)
        return self.typeof_pyval(value)

    def _may_interpret(self, args: tuple[Any, ...]) -> bool:
        if _elsewhere.compiles_here:
            return False
        if _elsewhere.is_running:
            return _size(args) <= self.small * WHILE_COMPILING
        return self._seconds < INTERPRETED_SECONDS and _size(args) <= self.small

    def _found(self, wanted: Types, may_interpret: bool) -> Callable[..., Any] | None:
        """Return a compiled version; None if the call is better interpreted."""
        while True:
            if not _lock.acquire(blocking=not may_interpret):
                return None
            try:
                ready = wanted in self.overloads or self._is_on_disk(wanted)
                if ready:
                    return cast(Callable[..., Any], self.compile(wanted))  # found, not compiled
            finally:
                _lock.release()
            if may_interpret:
                return None
            if not _elsewhere.wait():
                break
        self._compilation_chain_init_hook()
        with _lock:
            return cast(Callable[..., Any], self.compile(wanted))

    def _is_on_disk(self, wanted: Types) -> bool:
        """Look on the disk, once for each step of what is compiled elsewhere."""
        if self._looked.get(wanted) == _elsewhere.n_steps or not self._cache.cache_path:
            return False
        self._looked[wanted] = _elsewhere.n_steps
        return bool(self._cache.holds(wanted, self.targetctx))

    def _interpret(self, *args: Any) -> Any:
        began = time.thread_time()
        with np.errstate(all="ignore"):  # compiled code does not warn either
            result = self.interpreted(*args)
        self._seconds += time.thread_time() - began
        return _python(result)


def _writable(kind: Any) -> Any:
    """The type of the same argument with all arrays writable."""
    if isinstance(kind, types.Array) and not kind.mutable:
        return kind.copy(readonly=False)
    if isinstance(kind, types.NamedTuple | types.NamedUniTuple):
        return types.BaseTuple.from_types(tuple(map(_writable, kind)), kind.instance_class)
    if isinstance(kind, types.BaseTuple):
        return types.BaseTuple.from_types(tuple(map(_writable, kind)))
    return kind


def _size(arguments: tuple[Any, ...]) -> int:
    """Return how many numbers the largest array has, also inside tuples."""
    sizes = (_size(one) if isinstance(one, tuple) else getattr(one, "size", 1) for one in arguments)
    return max(sizes, default=0)


def _python(result: Any) -> Any:
    """Return Python's numbers in the place of numpy's, as compiled code does."""
    if isinstance(result, np.generic):
        return result.item()
    return tuple(map(_python, result)) if type(result) is tuple else result


def kernel(function: F, *, small: int = SMALL) -> F:
    """Compile a function once, keep it on disk, release the interpreter lock while it runs.

    A call with at most ``small`` numbers in an array is interpreted until the function is compiled.
    """
    if settings.DISABLE_JIT:
        return function
    made: Any = Kernel(function, targetoptions={"nopython": True, "nogil": True})
    made.small = small
    return cast(F, made)


def kernel_or(plain: Callable[..., object]) -> Callable[[F], F]:
    """Return `kernel` for a function that has a faster version in plain Python and numpy."""

    def made(function: F) -> F:
        found: Any = kernel(function)
        if not isinstance(found, Kernel):
            return cast(F, plain)
        found.interpreted = plain
        return cast(F, found)

    return made


def sized_kernel(small: int) -> Callable[[F], F]:
    """Return `kernel` for another size; 0 for functions whose last digits differ interpreted."""
    return lambda function: kernel(function, small=small)
