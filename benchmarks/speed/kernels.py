"""Every kernel: compiled, interpreted, and as in an older checkout.

Each variant runs in a separate process, on one thread. Results are compared by their hashes.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal
from unittest import mock

import numpy as np

from benchmarks import Variant, markdown_table
from benchmarks.results import put
from benchmarks.speed.kernel_cases import CASES, Case

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "development" / "scale.md"
OLDER = "LOOPYLATENT_BEFORE"
"""Names the folder of an older checkout."""
ENOUGH = 0.5
"""CPU seconds after which a case is not repeated."""
FEWEST, MOST = 3, 100
"""Repeats of short cases."""
LONG = 2.0
"""Cases that take longer run once."""
ROUNDING = 1e-6
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
WORKER = (
    "import sys, loopylatent; sys.path.insert(0, sys.argv[1]); "
    "from benchmarks.speed.kernels import work; work(sys.argv[2])"
)
"""The package comes from the working directory, the cases from the folder named."""

Which = Literal["small", "large"]


@dataclasses.dataclass(frozen=True, slots=True)
class Found:
    """Time and result of one case."""

    seconds: float
    digest: str
    """Hash of all numbers, to the last digit."""
    size: int
    sums: tuple[float, float]
    """Nearly unchanged if only the last digits differ."""


# In the measured process --------------------------------------------------------------------


def work(which: Which) -> None:
    """Run every case at one size and print the results as JSON; null if a case is missing."""
    with mock.patch("os.cpu_count", return_value=1):
        found = {case.name: measured(case, getattr(case, which)) for case in CASES}
    print(json.dumps({name: one and dataclasses.asdict(one) for name, one in found.items()}))


def measured(case: Case, size: int) -> Found | None:
    """Run one case; None if this checkout does not have it."""
    try:
        once = case.prepare(size)
    except ImportError:
        return None
    flat = np.concatenate([np.zeros(0), *numbers(once())])
    finite = np.where(np.isfinite(flat), flat, 0.0)
    sums = float(np.abs(finite).sum()), float(finite @ np.cos(np.arange(len(flat))))
    digest = hashlib.sha256(flat.tobytes()).hexdigest()
    return Found(least_seconds(once), digest, len(flat), sums)


def least_seconds(once: Variant) -> float:
    """Return the minimum CPU seconds over a few runs."""
    taken: list[float] = []
    while len(taken) < FEWEST or (sum(taken) < ENOUGH and len(taken) < MOST):
        start = time.process_time()
        once()
        taken.append(time.process_time() - start)
        if taken[-1] > LONG:
            break
    return min(taken)


def numbers(result: Any) -> Iterator[Any]:
    """Yield all numbers of a result as flat arrays, field by field; skip texts."""
    if isinstance(result, np.ndarray | np.generic | bool | int | float):
        yield np.asarray(result, dtype=np.float64).ravel()
    elif dataclasses.is_dataclass(result):
        for field in dataclasses.fields(result):
            yield from numbers(getattr(result, field.name))
    elif isinstance(result, list | tuple):
        for one in result:
            yield from numbers(one)


# The report --------------------------------------------------------------------------------


def in_checkout(folder: Path, which: Which, *, compiled: bool = True) -> Mapping[str, Found | None]:
    """Run all cases at one size with the package of a folder."""
    environment = os.environ | ONE_THREAD | {"PYTHONPATH": str(folder)}
    if not compiled:
        environment |= {"NUMBA_DISABLE_JIT": "1", "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(
        [sys.executable, "-c", WORKER, str(ROOT), which],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    found = json.loads(done.stdout)
    return {name: None if one is None else Found(**one) for name, one in found.items()}


def same(one: Found, other: Found) -> str:
    """Compare two results."""
    if one.digest == other.digest:
        return "same"
    near = one.size == other.size and all(
        math.isclose(a, b, rel_tol=ROUNDING, abs_tol=ROUNDING * one.sums[0])
        for a, b in zip(one.sums, other.sums, strict=True)
    )
    return "same up to rounding" if near else "**differs**"


def cells(now: Found, other: Found | None) -> list[str]:
    """Return both times in milliseconds, the speed-up, and whether the results agree."""
    if other is None:
        return [digits(1000 * now.seconds), "new", "", ""]
    times = (1000 * now.seconds, 1000 * other.seconds, other.seconds / now.seconds)
    return [*map(digits, times), same(now, other)]


def digits(number: float) -> str:
    """Format with three significant digits, but never cut a whole number."""
    return f"{number:.3g}" if number < 999.5 else f"{number:,.0f}"


def report(older: str | None = None) -> str:
    """Measure all kernels and write the table in docs/development/scale.md."""
    before = os.getloadavg()[0]
    small, large = in_checkout(ROOT, "small"), in_checkout(ROOT, "large")
    interpreted = in_checkout(ROOT, "small", compiled=False)
    earlier = in_checkout(Path(older).resolve(), "large") if older else {}
    head = ["task", "kernels", "input", "compiled", "interpreted", "speed-up", "results"]
    head += ["input", "now", *(["before", "speed-up", "results"] if older else [])]
    rows = []
    for case in CASES:
        here, there = small[case.name], large[case.name]
        if here is None or there is None:
            raise LookupError(f"{case.name}: not in this checkout")
        row = [case.name, ", ".join(case.kernels), f"{case.small:,} {case.unit}"]
        row += [*cells(here, interpreted[case.name]), f"{case.large:,} {case.unit}"]
        rows.append(row + cells(there, earlier.get(case.name))[: 4 if older else 1])
    text = "\n\n".join(
        [
            "CPU milliseconds on one thread, minimum of a few runs; load average "
            f"{before:.1f} before and {os.getloadavg()[0]:.1f} after, {os.cpu_count()} cores."
            + (f" Before: commit {commit(Path(older))}." if older else ""),
            markdown_table(head, rows),
        ]
    )
    put(PAGE, "kernels", text)
    return f"## Kernels\n\n{text}"


def commit(folder: Path) -> str:
    """Return the short hash of the commit in a folder."""
    command = ["git", "-C", str(folder), "rev-parse", "--short", "HEAD"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


if __name__ == "__main__":
    print(report(os.environ.get(OLDER)))
