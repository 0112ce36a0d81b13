"""The learner with a BIC penalty: processor time and BIC, now and in an older checkout."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks import markdown_table
from benchmarks.speed.fit import newsgroup_posts
from benchmarks.speed.kernels import OLDER, ONE_THREAD, ROOT

R, LAMBDA, TAU = 5.0, 0.0, 0.4
WORKER = (
    "import sys, loopylatent; sys.path.insert(0, sys.argv[1]); "
    "from benchmarks.speed.regularized import work; work(sys.argv[2])"
)
"""The package comes from the working directory, the measured case from the folder named."""


@dataclass(frozen=True, slots=True)
class Found:
    """Time and quality of one run."""

    seconds: float
    """Of the processor, on all threads."""
    wall: float
    bic: float
    n_hidden: int
    n_edges: int
    n_refits: int


def tables() -> tuple[str, ...]:
    """Return the bundled sample and, if available, the training half of the paper's data."""
    paper = newsgroup_posts().title
    return ("sample", "paper") if "paper" in paper else ("sample",)


def work(table: str) -> None:
    """Learn in this process and print the result as JSON."""
    import loopylatent as ll
    from loopylatent.learning import regularized

    posts = newsgroup_posts().rows
    sample = ll.load_sample("newsgroups100_roweislike").observations
    obs = posts if table == "paper" else sample
    D = ll.information_distances(obs)
    case = {"obs": obs, "r": R, "Lambda": LAMBDA, "tau": TAU, "regularize": "bic"}
    ll.learn(D, **{**case, "r": D.r_max}, max_hidden=1)  # compiles
    counted = regularized._Run._refitted  # noqa: SLF001
    n_refits = 0

    def counting(*arguments: object) -> object:
        nonlocal n_refits
        n_refits += 1
        return counted(*arguments)  # type: ignore[arg-type]

    regularized._Run._refitted = counting  # type: ignore[assignment, method-assign]  # noqa: SLF001
    processor, wall = time.process_time(), time.perf_counter()
    found = ll.learn(D, **case)
    seconds = (time.process_time() - processor, time.perf_counter() - wall)
    graph = found.graph
    result = (*seconds, found.model.train_bic, graph.n_hidden, graph.n_edges, n_refits)
    print(json.dumps(result))


def in_checkout(folder: Path, table: str) -> Found:
    """Learn with the package of a folder, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", WORKER, str(ROOT), table],
        cwd=folder,
        env=os.environ | ONE_THREAD | {"PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=True,
    )
    return Found(*json.loads(done.stdout.splitlines()[-1]))


def report(against: str | None = None) -> str:
    """Compare with an older checkout, if one is named."""
    older = against or os.environ.get(OLDER)
    folders = {"now": ROOT} | ({"older checkout": Path(older).resolve()} if older else {})
    titles = {"sample": "newsgroup sample", "paper": "paper's training half"}
    rows = []
    for table in tables():
        found = {name: in_checkout(folder, table) for name, folder in folders.items()}
        for name, one in found.items():
            ratio = one.seconds / found["now"].seconds
            rows.append(
                [f"{titles[table]}, {name}", f"{one.seconds:.1f}", f"{one.wall:.1f}",
                 f"{ratio:.2f}", str(one.n_refits), str(one.n_hidden), str(one.n_edges),
                 f"{one.bic:,.1f}"]
            )  # fmt: skip
    head = ("table", "processor s", "wall s", "ratio", "refits", "hidden", "edges", "training BIC")
    return (
        "## BIC penalty\n\n"
        f'`regularize="bic"` at r = {R:g}, Λ = {LAMBDA:g}, τ = {TAU:g}, each run in its own '
        "process, after one that compiles.\n\n" + markdown_table(head, rows)
    )


if __name__ == "__main__":
    print(report())
