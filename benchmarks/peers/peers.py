"""What the comparisons with other packages share: runs in their environment, times, tables."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import venv
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import loopylatent as ll
from benchmarks import markdown_table
from benchmarks.folder import peers_folder
from benchmarks.results import put
from loopylatent.compute.limits import one_thread

HERE = Path(__file__).resolve().parent
REQUIREMENTS = HERE / "requirements-peers.txt"
PAGE = HERE.parents[1] / "docs" / "method" / "refinement.md"
LIMIT = 60
"""Seconds of processor time that one run of another package may take."""
OURS = f"loopylatent {ll.__version__}"
SKLEARN = f"scikit-learn {version('scikit-learn')}"


class NoResult(Exception):  # noqa: N818  (not an error of ours)
    """Why a package has no result."""


@dataclass(frozen=True, slots=True)
class Found:
    """The qualities that a method reached, None where it has none, and its times if known."""

    scores: tuple[float | None, ...]
    note: str = ""
    seconds: float | None = None
    cpu: float | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What a package found in its own environment."""

    found: Any
    seconds: float
    cpu: float

    def scored(self, *scores: float | None, note: str = "") -> Found:
        return Found(scores, note, self.seconds, self.cpu)


@dataclass(frozen=True, slots=True)
class Method:
    """A task of a package, and how to do it on one table."""

    task: str
    package: str
    run: Callable[[Any], Found]


@dataclass(frozen=True, slots=True)
class Result:
    """A row of a comparison: means over the tables of one name."""

    data: str
    task: str
    package: str
    scores: tuple[float | None, ...]
    seconds: float | None
    cpu: float | None
    note: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """All rows of a comparison. ``signs`` is 1 if larger scores are better, else -1."""

    scores: tuple[str, ...]
    signs: tuple[int, ...]
    digits: int
    ours: str
    """The task of ours that the other packages are compared with."""
    results: tuple[Result, ...]

    def table(self) -> str:
        """Return all rows with their times."""
        head = ("data", "package", "task", *self.scores, "seconds", "CPU seconds", "note")
        rows = []
        for one in self.results:
            times = ["" if x is None else f"{x:,.1f}" for x in (one.seconds, one.cpu)]
            cells = [self.cell(one, k) for k in range(len(self.scores))]
            rows.append([one.data, one.package, one.task, *cells, *times, one.note])
        return markdown_table(head, rows)

    def summary(self) -> str:
        """Return a table of methods and data for each score, and where ours is not the best."""
        data = tuple(dict.fromkeys(one.data for one in self.results))
        named = {(one.task, one.data): one for one in self.results}
        parts = []
        for k, score in enumerate(self.scores):
            rows = []
            for task in dict.fromkeys(task for task, _ in named):
                cells = [self.cell(named[task, x], k) if (task, x) in named else "" for x in data]
                if any(cells):
                    rows.append([task, *cells])
            parts.append(markdown_table((score, *data), rows))
        return "\n\n".join([*parts, *self.lost()])

    def cell(self, result: Result, k: int) -> str:
        """Return a score, bold if another package is better than ours."""
        score = result.scores[k] if result.scores else None
        text = "" if score is None else f"{score:.{self.digits}f}"
        return f"**{text}**" if text and self.is_better(result, k) else text

    def is_better(self, result: Result, k: int) -> bool:
        """Whether another package beats ours, in the digits shown."""
        score, reference = (
            one.scores[k] if one.scores else None for one in (result, self.reference(result.data))
        )
        if score is None or reference is None or result.package == OURS:
            return False
        gain = self.signs[k] * (round(score, self.digits) - round(reference, self.digits))
        return gain > 0

    def reference(self, data: str) -> Result:
        """Return the row of ours that the others are compared with."""
        return next(one for one in self.results if (one.data, one.task) == (data, self.ours))

    def lost(self) -> list[str]:
        """Return a sentence for each score about where another package is better than ours."""
        sentences = []
        for k, name in enumerate(self.scores):
            cases = []
            for data in dict.fromkeys(one.data for one in self.results):
                rows = [one for one in self.results if one.data == data]
                better = [one for one in rows if self.is_better(one, k)]
                if better:
                    best = max(better, key=lambda one: self.signs[k] * (one.scores[k] or 0.0))
                    figures = " against ".join(
                        f"{one.scores[k]:.{self.digits}f}" for one in (best, self.reference(data))
                    )
                    cases.append(f"{data} ({best.task}: {figures})")
            beaten = f"other packages are better on {'; '.join(cases)}"
            sentences.append(f"By {name}, {beaten if cases else 'no other package is better'}.")
        return sentences


def compare(
    tables: Iterable[tuple[str, Any]], methods: Callable[[Any], Sequence[Method]]
) -> tuple[Result, ...]:
    """Run all methods on all tables; results of tables with one name are averaged.

    A method that reaches the limit on one table is not run on others of that name.
    """
    _warm_up()
    runs: dict[tuple[str, str, str], list[Found]] = {}
    for name, table in tables:
        for method in methods(table):
            known = runs.setdefault((name, method.task, method.package), [])
            if not any(one.note.startswith("not finished") for one in known):
                known.append(measured(method, table))
                print(f"{name}, {method.task}: {known[-1].scores}", file=sys.stderr, flush=True)
    return tuple(Result(*key, *averaged(found)) for key, found in runs.items())


def _warm_up() -> None:
    """Load our compiled code, so that no time includes that."""
    for kind in ("ising", "gaussian"):
        obs = ll.synthetic.latent_cycle(4, 2, kind=kind).sample(200)
        D = ll.information_distances(obs)
        ll.learn(D, obs=obs, regularize="bic")
        ll.fit_parameters(ll.learn(D, obs=obs, refine="structure").graph, obs)
        ll.groups(obs, n_resamples=2)


def measured(method: Method, table: Any) -> Found:
    """Run a method and measure its times, unless it did so itself."""
    start, start_cpu = time.perf_counter(), time.process_time()
    try:
        with one_thread():
            found = method.run(table)
    except NoResult as reason:
        return Found((), str(reason))
    if found.seconds is not None:
        return found
    seconds, cpu = time.perf_counter() - start, time.process_time() - start_cpu
    return Found(found.scores, found.note, seconds, cpu)


def averaged(found: Sequence[Found]) -> tuple[Any, ...]:
    """Return the mean scores and times of the runs with a result, and their notes."""
    done = [one for one in found if one.scores]
    notes = list(dict.fromkeys(one.note for one in found if one.note))
    if done and len(done) < len(found):
        notes.append(f"{len(done)} of {len(found)} runs")
    columns = zip(*(one.scores for one in done), strict=True)
    scores = tuple(None if None in column else fmean(column) for column in columns)
    times = [[getattr(one, key) for one in done] for key in ("seconds", "cpu")]
    return (scores, *(fmean(one) if one else None for one in times), "; ".join(notes))


def pinned(name: str) -> str:
    """Return a package of the peers' environment with its version."""
    found = re.search(rf"^{name}==(\S+)$", REQUIREMENTS.read_text(encoding="utf-8"), re.MULTILINE)
    if found is None:
        raise ValueError(f"{name} is not in {REQUIREMENTS.name}")
    return f"{name} {found[1]}"


@cache
def environment() -> Path:
    """Return the Python of the peers' environment; create it if needed."""
    folder = peers_folder() / "environment"
    required = REQUIREMENTS.read_text(encoding="utf-8")
    note = folder / "installed.txt"
    python = folder / "bin" / "python"
    if note.exists() and note.read_text(encoding="utf-8") == required:
        return python
    venv.create(folder, with_pip=True, clear=True)
    install = [str(python), "-m", "pip", "install", "--quiet", "-r", str(REQUIREMENTS)]
    done = subprocess.run(install, capture_output=True, text=True, check=False)
    if done.returncode:
        raise NoResult(f"the packages of {REQUIREMENTS.name} cannot be installed here")
    note.write_text(required, encoding="utf-8")
    return python


def elsewhere(program: str, table: Mapping[str, Any]) -> Answer:
    """Run a program of ``peer_worker.py`` on a table."""
    python = environment()
    with TemporaryDirectory() as folder:
        path = Path(folder) / "table.npz"
        np.savez(path, **table)
        command = [str(python), str(HERE / "peer_worker.py"), program, str(path), str(LIMIT)]
        one_core = os.environ | {"OMP_NUM_THREADS": "1", "LOKY_MAX_CPU_COUNT": "1"}
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, cwd=folder, env=one_core
        )
    if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        raise NoResult(f"not finished after {LIMIT} s of processor time")
    if done.returncode:
        raise NoResult("fails: " + done.stderr.strip().splitlines()[-1])
    return Answer(**json.loads(done.stdout.splitlines()[-1]))


def published(name: str, title: str, text: str, comparison: Comparison) -> str:
    """Write the summary into the docs, and return the section of the results."""
    put(PAGE, name, comparison.summary())
    return "\n\n".join([f"## Peers: {title}", text, comparison.table(), *comparison.lost()])
