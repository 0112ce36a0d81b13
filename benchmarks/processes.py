"""Run a function in a separate process to measure its memory."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")


def in_a_process(work: Callable[..., T], *arguments: object) -> T:
    """Run a module-level function in a new process and return its result."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(work, *arguments).result()


def peak_megabytes() -> int:
    """Return the peak memory of this process.

    Not from ``getrusage``: there a new process starts with the peak of its parent.
    """
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) // 1024 for line in lines if line.startswith("VmHWM:"))
