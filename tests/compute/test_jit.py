"""Kernels are interpreted until they are compiled: same results, compiled once, nobody waits."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from helpers import compiled

from loopylatent.compute._kernels import jit

HERE = Path(__file__).resolve().parents[1]
TIMEOUT = 120
TINY = """
from loopylatent.compute._kernels.jit import kernel, sized_kernel

@kernel
def half(x):
    return x / 2

@kernel
def total(values):
    found = 0.0
    for value in values:
        found += half(value)
    return found

@sized_kernel(0)
def exact(values):
    return len(values)
"""
LARGE = jit.SMALL * jit.WHILE_COMPILING + 1
RESULTS = "import json; from helpers import compiled; print(json.dumps(compiled.results()))"


def loaded(file: Path) -> ModuleType:
    """Import a file anew, as another process would."""
    specification = importlib.util.spec_from_file_location("tiny_kernels", file)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Kernels that are not compiled, in a process that compiles only what is worth it."""
    monkeypatch.setattr(jit, "ALWAYS", False)
    file = tmp_path / "tiny_kernels.py"
    file.write_text(TINY, encoding="utf-8")
    return loaded(file)


def in_a_process(cache: Path, *command: str, folder: Path | None = None) -> str:
    """Run Python with a folder for compiled functions; compile only what is worth it."""
    surroundings = dict(os.environ) | {
        "PYTHONPATH": os.pathsep.join([str(HERE), str(HERE.parent)]),
        "NUMBA_CACHE_DIR": str(cache),
        "LOOPYLATENT_COMPILE": "",
    }
    done = subprocess.run(
        [sys.executable, *command],
        env=surroundings,
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def n_files(folder: Path) -> int:
    return sum(one.is_file() for one in folder.rglob("*"))


# Results -----------------------------------------------------------------------------------


def test_interpreted_results_are_identical_and_nothing_is_compiled(tmp_path):
    interpreted = json.loads(in_a_process(tmp_path, "-c", RESULTS))
    assert n_files(tmp_path) == 0
    assert interpreted == compiled.results()


def test_the_command_that_learns_a_small_table_compiles_nothing(tmp_path):
    cache, folder = tmp_path / "cache", tmp_path / "folder"
    folder.mkdir()
    command = ("-m", "loopylatent", "learn", "sample:bfi25", "-o", "graph.json")
    in_a_process(cache, *command, folder=folder)
    assert (folder / "graph.json").exists()
    assert n_files(cache) == 0


INEXACT = frozenset(("exp", "log", "log1p", "expm1", "sum", "mean", "dot", "power", "std", "var"))
"""Compiled and in numpy, their last digits differ."""


def test_kernels_that_may_be_interpreted_compute_the_same_digits():
    found = []
    for name, kernel in compiled.kernels().items():
        if kernel.small == 0:
            continue
        tree = ast.parse(inspect.getsource(kernel.py_func))
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and node.attr in INEXACT:
                owner = ast.unparse(node.value)
                found += [f"{name}: {owner}.{node.attr}"] if owner != "math" else []
    assert found == []


def test_an_interpreted_result_is_a_python_number(tiny):
    assert type(tiny.total(np.ones(3))) is float
    assert type(tiny.half(np.float64(3))) is float
    assert tiny.total.signatures == []


# Interpret or compile ----------------------------------------------------------------------


def test_a_small_call_is_interpreted_and_a_large_one_compiled(tiny):
    assert tiny.total(np.ones(4)) == 2
    assert tiny.total.signatures == tiny.half.signatures == []
    assert tiny.total(np.ones(LARGE)) == LARGE / 2
    assert len(tiny.total.signatures) == len(tiny.half.signatures) == 1


def test_a_kernel_that_takes_long_is_compiled(tiny, monkeypatch):
    monkeypatch.setattr(jit, "INTERPRETED_SECONDS", 0.0)
    assert tiny.total(np.ones(4)) == 2
    assert len(tiny.total.signatures) == 1


def test_a_kernel_without_a_size_is_always_compiled(tiny):
    assert tiny.exact(np.ones(1)) == 1
    assert len(tiny.exact.signatures) == 1


def test_what_is_on_disk_is_loaded_and_not_interpreted(tiny):
    tiny.total(np.ones(LARGE))
    again = loaded(Path(tiny.__file__))
    assert again.total(np.ones(2)) == 1
    assert sum(again.total.stats.cache_hits.values()) == 1


def test_what_is_on_disk_is_compiled_again_when_another_file_of_the_folder_changes(tiny):
    tiny.total(np.ones(LARGE))
    Path(tiny.__file__).with_name("other.py").write_text("", encoding="utf-8")
    again = loaded(Path(tiny.__file__))
    again.total(np.ones(LARGE))
    assert sum(again.total.stats.cache_hits.values()) == 0


def test_read_only_and_writable_arrays_share_one_version(tiny):
    fixed, free = np.ones(LARGE), np.ones(LARGE)
    fixed.setflags(write=False)
    assert tiny.total(fixed) == tiny.total(free) == tiny.total(fixed) == LARGE / 2
    assert len(tiny.total.signatures) == 1


# Threads -----------------------------------------------------------------------------------


def test_eight_threads_compile_a_kernel_once(tiny):
    together = threading.Barrier(8)

    def call(_: int) -> float:
        together.wait(TIMEOUT)
        result: float = tiny.total(np.ones(LARGE))
        return result

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(call, range(8))) == {LARGE / 2}
    assert len(tiny.total.signatures) == 1
    assert sum(tiny.total.stats.cache_misses.values()) == 1


def in_another_thread(work: Callable[[], object]) -> tuple[threading.Thread, list[object]]:
    found: list[object] = []
    thread = threading.Thread(target=lambda: found.append(work()), daemon=True)
    thread.start()
    return thread, found


def test_while_another_thread_compiles_a_small_call_does_not_wait(tiny):
    with jit.compiling(), jit._lock:
        thread, found = in_another_thread(lambda: tiny.total(np.ones(4)))
        thread.join(TIMEOUT)
        assert found == [2.0]
    assert tiny.total.signatures == []


def test_while_another_thread_compiles_a_large_call_waits_for_its_version(tiny):
    with jit.compiling() as look_again:
        thread, found = in_another_thread(lambda: tiny.total(np.ones(LARGE)))
        assert tiny.total(np.ones(4)) == 2
        look_again()
        thread.join(TIMEOUT)
        assert found == [LARGE / 2]
    assert sum(tiny.total.stats.cache_misses.values()) == 1


def test_a_large_call_compiles_itself_when_nobody_else_does_any_more(tiny):
    with jit.compiling():
        thread, found = in_another_thread(lambda: tiny.total(np.ones(LARGE)))
    thread.join(TIMEOUT)
    assert found == [LARGE / 2]
