"""Work in a process of its own, so that its memory can be told from that of others."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")


def in_a_process(work: Callable[..., T], *arguments: object) -> T:
    """Run a function of a module in a fresh process and return what it returns."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(work, *arguments).result()


def peak_megabytes() -> int:
    """Return the most memory that this process has held at once.

    The figure of ``getrusage`` would not do: a new process begins with that of its parent.
    """
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) // 1024 for line in lines if line.startswith("VmHWM:"))
