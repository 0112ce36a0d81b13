"""Limits for tables, sessions and tasks, and estimates of the time and memory they need."""

from __future__ import annotations

import contextlib
import os
import threading
import timeit
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np

from loopylatent.errors import LimitError, Remedy

Stage = Literal["distances", "curve", "learn", "loops", "fit", "bic", "refine", "draw", "compare"]
MEGABYTE, GIGABYTE = 2**20, 2**30


@dataclass(frozen=True, slots=True)
class Limits:
    """The largest accepted sizes."""

    file_bytes: int
    """Size of a file after decompression."""
    columns: int
    cells: int
    """Rows times columns."""
    seconds: float
    """Duration of one task."""
    session_bytes: int
    """Memory of a session: uploaded files and cached results."""
    name_length: int = 10_000
    """Characters in a column name."""


LIMITS = Limits(512 * MEGABYTE, 100_000, 200_000_000, 24 * 3600, 4 * GIGABYTE)
"""In Python and on the command line."""
APP = Limits(512 * MEGABYTE, 5_000, 50_000_000, 3600, GIGABYTE)
"""In one browser session, which shares its machine with others."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """Rough time and peak memory of a task."""

    seconds: float
    bytes: int = 0

    def __add__(self, other: Estimate) -> Estimate:
        return Estimate(self.seconds + other.seconds, max(self.bytes, other.bytes))

    def __mul__(self, times: float) -> Estimate:
        return Estimate(self.seconds * times, self.bytes)

    @property
    def words(self) -> str:
        """The time in words, for a caption next to a button."""
        return "a moment" if self.seconds < 2 else f"about {duration(self.seconds)}"


def estimate(stage: Stage, n_rows: int, n_columns: int) -> Estimate:
    """Estimate the cost of a stage for a table of this size."""
    n, p = n_rows, n_columns
    seconds, matrices = {
        "distances": (2e-10 * n * p**2 + 2e-7 * p**2 + 4e-8 * n * p, 12),
        "curve": (1.5e-9 * p**3, 4),
        "learn": (1.6e-6 * p**2, 24),
        "loops": (7e-5 * p**2, 24),
        "fit": (0.1 + 6e-7 * p**3 + 2e-6 * n * p, 4),
        "bic": (1.0 + 8e-5 * p**2 * n**0.5 + 6e-6 * p**3, 4),
        "refine": (1.0 + 3e-4 * p**2 * n**0.5 + 6e-6 * p**3, 4),
        "draw": (3e-7 * n * p, 1),
        "compare": (2.5e-5 * p**2, 4),
    }[stage]
    return Estimate(seconds * slowness(), matrices * 8 * p**2)


def rerun(n_rows: int, n_columns: int, times: int, *, fit: bool = False) -> Estimate:
    """Estimate the cost of learning from the rows ``times`` times, with or without a fit."""
    once = estimate("distances", n_rows, n_columns) + estimate("learn", n_rows, n_columns)
    return (once + estimate("fit", n_rows, n_columns) if fit else once) * times


def examination(n_rows: int, n_columns: int, n_groupings: int, n_resamples: int) -> Estimate:
    """Estimate the cost of a report: fits, loop test, groups and support."""
    fits = estimate("fit", n_rows, n_columns) * 3 + estimate("loops", n_rows, n_columns)
    return fits + rerun(n_rows, n_columns, n_groupings + n_resamples)


def comparison(n_rows: int, n_columns: int, *, bic: bool = False) -> Estimate:
    """Estimate the cost of scoring one setting: a fit to all rows, and one to the training rows."""
    once = estimate("fit", n_rows, n_columns) + rerun(n_rows, n_columns, 1, fit=True)
    return once + estimate("bic", n_rows, n_columns) if bic else once


def recovery(n_rows: int, n_columns: int, n_graphs: int = 1) -> Estimate:
    """Estimate the cost of sampling a synthetic table and learning ``n_graphs`` graphs from it."""
    once = estimate("learn", n_rows, n_columns) + estimate("compare", n_rows, n_columns)
    table = estimate("draw", n_rows, n_columns) + estimate("distances", n_rows, n_columns)
    return table + once * n_graphs


REFERENCE_SECONDS = 0.006


@cache
def slowness() -> float:
    """Return how many times slower this machine is than the reference machine."""
    matrix = np.random.default_rng(0).normal(size=(300, 300))

    def work() -> None:  # on one thread, so that the result varies little
        for _ in range(3):
            np.exp(np.sort(matrix, axis=1)).cumsum(axis=0)
        sum(k * k for k in range(20_000))

    best = min(timeit.repeat(work, number=1))
    return min(max(best / REFERENCE_SECONDS, 0.25), 20.0)


def duration(seconds: float) -> str:
    """Return a time with its units."""
    whole = max(1, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def size(n_bytes: float) -> str:
    """Return a number of bytes in MB or GB."""
    if n_bytes >= GIGABYTE:
        return f"{n_bytes / GIGABYTE:.1f} GB"
    return f"{max(1, round(n_bytes / MEGABYTE)):,} MB"


def check_shape(n_rows: int, n_columns: int, limits: Limits) -> None:
    """Raise if a table has too many columns or cells."""
    if n_columns > limits.columns:
        raise LimitError(
            f"{n_columns:,} columns are more than the limit; use at most {limits.columns:,}."
        )
    if n_rows * n_columns > limits.cells:
        raise LimitError(
            f"{n_rows:,} rows times {n_columns:,} columns are more than the limit of "
            f"{limits.cells:,} cells; use at most {limits.cells // n_columns:,} rows."
        )


def check_memory(n_columns: int, stage: Stage = "distances", width: float = 1.0) -> None:
    """Raise if a stage needs more memory than is free, with ``width`` numbers per column."""
    needed, free = int(estimate(stage, 0, n_columns).bytes * width**2), free_bytes()
    if needed > free:
        fitting = int(n_columns * (free / needed) ** 0.5)
        raise LimitError(
            f"{n_columns:,} columns need about {size(needed)} of memory, but only {size(free)} "
            f"are available; use at most {max(3, fitting):,} columns, or a larger machine."
        )


def check_time(work: Estimate, times: int, what: str, limits: Limits) -> None:
    """Raise if a task of ``times`` ``what`` (resamples, graphs) takes longer than the limit."""
    if work.seconds <= limits.seconds:
        return
    fitting = int(times * limits.seconds / work.seconds)
    remedy = f"use at most {fitting} {what}" if fitting else "use fewer columns"
    subject = "This takes" if times == 1 else f"{times} {what} take"
    raise LimitError(
        f"{subject} {work.words}, more than the limit of {duration(limits.seconds)} per task; "
        f"{remedy}",
        Remedy("command_line"),
        ".",
    )


MEMORY_VARIABLE = "LOOPYLATENT_MEMORY_MB"
"""The environment variable that sets the available memory in megabytes."""
_UNKNOWN = 4 * GIGABYTE
_SHARE = 0.8


def free_bytes() -> int:
    """Return the usable memory: 80 % of what is free, or what MEMORY_VARIABLE says."""
    with contextlib.suppress(KeyError, ValueError):
        return int(os.environ[MEMORY_VARIABLE]) * MEGABYTE
    found = [value for value in (_available(), _allowed_to_group()) if value is not None]
    return int(_SHARE * min(found, default=_UNKNOWN))


def _available() -> int | None:
    with contextlib.suppress(OSError, ValueError):
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    with contextlib.suppress(OSError, ValueError, AttributeError):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    return None


GROUP = Path("/sys/fs/cgroup")
_FILES = (
    ("", "memory.max", "memory.current", ""),
    ("memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_"),
)
"""Files with a container's memory limit and use, and the prefix of its cache: cgroup v2 and v1."""


def _allowed_to_group() -> int | None:
    """Memory that a container may still use; the file cache counts as free."""
    for folder, limit, use, prefix in _FILES:
        group = GROUP / folder
        with contextlib.suppress(OSError, ValueError):
            most = int((group / limit).read_text(encoding="ascii"))
            used = int((group / use).read_text(encoding="ascii"))
            return max(0, most - max(0, used - _cached(group / "memory.stat", prefix)))
    return None


def _cached(stat: Path, prefix: str) -> int:
    """Bytes in the file cache."""
    wanted = {f"{prefix}inactive_file", f"{prefix}active_file"}
    with contextlib.suppress(OSError, ValueError):
        lines = [line.split() for line in stat.read_text(encoding="ascii").splitlines()]
        return sum(int(line[1]) for line in lines if len(line) == 2 and line[0] in wanted)
    return 0


# Blocks of rows ---------------------------------------------------------------------------

BLOCK_CELLS = 1 << 22
"""Cells in one block of rows (32 MB of doubles)."""
BLOCKS_A_PORTION = 8
"""Blocks that are summed before their sum is added to the total."""


def block_rows(n_columns: int) -> int:
    """Return the number of rows in a block."""
    return max(1, BLOCK_CELLS // max(1, n_columns))


def portions(n_rows: int, rows_a_block: int) -> list[range]:
    """Return the rows of each portion."""
    step = BLOCKS_A_PORTION * rows_a_block
    return [range(start, min(start + step, n_rows)) for start in range(0, n_rows, step)]


def blocks(rows: range, rows_a_block: int) -> Iterator[slice]:
    """Yield the rows of each block of a portion."""
    for start in range(rows.start, rows.stop, rows_a_block):
        yield slice(start, min(start + rows_a_block, rows.stop))


# Threads of matrix products ----------------------------------------------------------------


class _Limit:
    """The number of active `one_thread` blocks, and the object that lifts the limit."""

    lock = threading.Lock()
    wanted = 0
    off: Any = None


@contextmanager
def one_thread() -> Iterator[None]:
    """Run matrix products of the whole process on one thread while any such block is active.

    Their last digits may depend on the number of threads. The first block sets the limit and the
    last one lifts it.
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
    """Let this thread set the limit; threadpoolctl reserves that for the first that did."""
    from threadpoolctl import OpenBLASController

    free = getattr(OpenBLASController, "clear_controlling_thread", None)
    if free is not None:
        free(force=True)


@cache
def _controller() -> Any:
    """Cached, because finding the libraries is slow."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
