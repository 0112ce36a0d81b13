"""Other packages on the same rows; those that we do not depend on have their own environment.

They solve different tasks, which the table names: the times give an order of magnitude, not a
ranking.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
import venv
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from sklearn.covariance import GraphicalLassoCV
from sklearn.decomposition import LatentDirichletAllocation

import loopylatent as ll
from benchmarks import markdown_table
from benchmarks.folder import peers_folder

HERE = Path(__file__).resolve().parent
REQUIREMENTS = HERE / "requirements-peers.txt"
SAMPLE = "newsgroups100_roweislike"
TOPICS = 20
TASKS = {
    "pgmpy": "Chow-Liu tree by mutual information: no hidden nodes, no cycles",
    "corextopic": "20 topics by total correlation: hidden nodes above words, topics not linked",
}


class NoPeers(Exception):  # noqa: N818  (not an error)
    """Why the environment cannot be created."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A package, its task and its times."""

    name: str
    task: str
    seconds: float
    cpu: float

    @property
    def cells(self) -> list[str]:
        return [self.name, self.task, f"{self.seconds:,.2f}", f"{self.cpu:,.2f}"]


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
        raise NoPeers("the packages of requirements-peers.txt cannot be installed here")
    note.write_text(required, encoding="utf-8")
    return python


def elsewhere(obs: ll.Observations, repeats: int) -> dict[str, Any]:
    """Run the peers on the rows in their own environment."""
    python = environment()
    with TemporaryDirectory() as folder:
        path = Path(folder) / "rows.npz"
        np.savez(path, rows=obs.dense().astype(np.int8), names=np.array(obs.names))
        command = [str(python), str(HERE / "peer_worker.py"), str(path), str(repeats)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    if done.returncode:
        raise NoPeers("they fail here: " + done.stderr.strip().splitlines()[-1])
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def here(name: str, task: str, run: Callable[[], object], repeats: int) -> Entry:
    """Time a function in this environment, after a run to warm up."""
    run()
    seconds, cpu = [], []
    for _ in range(repeats):
        start, start_cpu = time.perf_counter(), time.process_time()
        run()
        seconds.append(time.perf_counter() - start)
        cpu.append(time.process_time() - start_cpu)
    return Entry(name, task, statistics.median(seconds), statistics.median(cpu))


def report(repeats: int = 3) -> str:
    before = os.getloadavg()[0]
    obs = ll.load_sample(SAMPLE).observations
    values = obs.dense()
    standard = (values - values.mean(axis=0)) / values.std(axis=0)
    D = ll.information_distances(obs)
    ours = f"loopylatent {ll.__version__}"
    tree = ll.initial_graph(D, D.r_max)
    entries = [
        here(ours, "spanning tree by correlation: no hidden nodes, no cycles",
             lambda: ll.initial_graph(ll.information_distances(obs), D.r_max), repeats),
        here(ours, "hidden nodes and cycles, r = 5",
             lambda: ll.learn(ll.information_distances(obs), r=5.0, trace=False), repeats),
        here(f"scikit-learn {version('scikit-learn')}",
             "graphical lasso, penalty by cross-validation: cycles, no hidden nodes",
             lambda: GraphicalLassoCV().fit(standard), 1),
        here(f"scikit-learn {version('scikit-learn')}",
             f"LDA, {TOPICS} topics, 10 passes: words of each topic, no graph",
             lambda: LatentDirichletAllocation(TOPICS, random_state=0).fit(values), 1),
    ]  # fmt: skip
    notes = []
    try:
        found = elsewhere(obs, 1)
    except NoPeers as reason:
        notes.append(f"Without pgmpy and corextopic: {reason}.")
    else:
        for name, one in found.items():
            if "error" in one:
                notes.append(f"{name} {one['version']} fails on these rows: {one['error']}.")
                continue
            times = (statistics.median(one[key]) for key in ("seconds", "cpu"))
            entries.append(Entry(f"{name} {one['version']}", TASKS[name], *times))
        notes.extend(_shared_edges(tree, found))
    head = ["package", "task", "seconds", "CPU seconds"]
    return "\n\n".join(
        [
            "## Peers",
            f"Newsgroup sample, {obs.n_rows:,} rows, {obs.n_columns} columns; Python "
            f"{sys.version_info.major}.{sys.version_info.minor}; load average "
            f"{before:.1f} before and {os.getloadavg()[0]:.1f} after.",
            markdown_table(head, [entry.cells for entry in entries]),
            *notes,
        ]
    )


def _shared_edges(tree: ll.LatentGraph, found: dict[str, Any]) -> list[str]:
    theirs = {tuple(edge) for edge in found["pgmpy"].get("found", [])}
    if not theirs:
        return []
    names = tree.names
    ours = {tuple(sorted((names[u], names[v]))) for u, v in tree.edges.tolist()}
    return [f"Our spanning tree and pgmpy's share {len(ours & theirs)} of {len(ours)} edges."]


if __name__ == "__main__":
    print(report())
