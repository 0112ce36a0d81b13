"""After a warm-up nothing is compiled any more, neither in this process nor in the next one."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from helpers import compiled

import loopylatent
from loopylatent.ui.shell.warm_up import warm_up_steps

HERE = Path(__file__).resolve().parents[1]
SCRIPT = """
import json, sys
from pathlib import Path
from helpers import compiled
from loopylatent.ui.shell.warm_up import warm_up

def files():
    folder = Path(sys.argv[1])
    return len([one for one in folder.rglob("*") if one.is_file()]) if folder.name else 0

if sys.argv[2] == "warm":
    warm_up()
before = compiled.signatures(), files(), compiled.n_compiled()
for name in compiled.SAMPLES:
    compiled.use(name)
compiled.use_sparse()
after = compiled.signatures(), files(), compiled.n_compiled()
new = {name: sorted(after[0][name] - before[0][name]) for name in after[0]}
print(json.dumps({
    "new": {name: kinds for name, kinds in new.items() if kinds},
    "known": sorted(name for name, kinds in before[0].items() if kinds),
    "kinds": {name: sorted(kinds) for name, kinds in after[0].items()},
    "files": [before[1], after[1]],
    "compiled": [before[2], after[2]],
}))
"""


def in_a_process(cache: Path | None, how: str) -> dict[str, Any]:
    """Use the package in a process of its own; say what was compiled before and then."""
    surroundings = dict(os.environ) | {"PYTHONPATH": os.pathsep.join([str(HERE), str(HERE.parent)])}
    if cache is not None:
        surroundings["NUMBA_CACHE_DIR"] = str(cache)
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(cache or ""), how],
        env=surroundings,
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module")
def warmed() -> dict[str, Any]:
    """What a process that was warmed up knows, with all kernels loaded from disk.

    A process that compiles also holds the versions of helpers that were compiled into others.
    """
    found = in_a_process(None, "warm")
    return in_a_process(None, "warm") if found["compiled"][1] else found


def test_the_steps_come_in_the_order_of_need():
    steps = list(warm_up_steps())
    assert steps[:3] == ["curve", "quartet", "cycles"]
    assert {
        "relaxed",
        "nj",
        "fit of continuous",
        "fit of binary",
        "fit of continuous, missing values",
    } <= set(steps)


def called_from_python() -> set[str]:
    """The compiled functions that a module which is not compiled brings in."""
    found = set()
    for path in Path(loopylatent.__file__).parent.rglob("*.py"):
        if path.parent.name == "_kernels":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and "._kernels." in (node.module or ""):
                found |= {f"{node.module.rpartition('.')[2]}.{name.name}" for name in node.names}
            if isinstance(node, ast.Attribute) and ast.unparse(node).startswith("_kernels."):
                found.add(ast.unparse(node).removeprefix("_kernels."))
    return found & set(compiled.kernels())


def test_a_warm_up_runs_every_compiled_function(warmed):
    assert called_from_python() - set(warmed["known"]) == set()


def test_after_a_warm_up_samples_bring_no_new_kind_of_argument(warmed):
    assert warmed["new"] == {}
    used = {"learner.visit_some", "learner.visit_one", "learner.clean_up", "learner.bridge"}
    used |= {"initial.curve_by_pairs", "circuit.run_backward"}
    assert used <= set(warmed["known"])


def test_each_function_called_from_python_has_one_compiled_version(warmed):
    several = {name: kinds for name, kinds in warmed["kinds"].items() if len(kinds) > 1}
    assert several == {}


@pytest.mark.long
def test_nothing_is_compiled_after_a_warm_up_and_nothing_at_all_in_the_next_process(tmp_path):
    first = in_a_process(tmp_path, "warm")
    assert first["compiled"][0] > 20, "the cache was empty"
    assert first["compiled"][1] == first["compiled"][0]
    assert first["files"][0] > 20
    assert first["files"][1] == first["files"][0]
    second = in_a_process(tmp_path, "cold")
    assert second["compiled"] == [0, 0]
    assert second["files"] == [first["files"][1]] * 2
