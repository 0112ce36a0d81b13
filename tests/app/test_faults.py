"""What goes wrong around the program: full disks, closed folders, damaged caches, lost samples."""

from __future__ import annotations

import gc
import importlib.util
import os
import select
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from helpers.app import TIMEOUT, stands_still, used
from helpers.tune_page import opened as opened_tune
from streamlit.testing.v1 import AppTest

import loopylatent as ll
from loopylatent.cli.main import main
from loopylatent.compute._kernels.jit import FunctionCache
from loopylatent.compute.cache import Checkpoint
from loopylatent.distances.files import read_npz
from loopylatent.errors import DataError, DistanceError
from loopylatent.exporting.project.file import (
    Project,
    Recipe,
    digest_of,
    open_project,
    write_project,
)
from loopylatent.exporting.report.findings import Findings, examine
from loopylatent.exporting.report.page import write_report
from loopylatent.synthetic.families import latent_cycle
from loopylatent.tables import samples
from loopylatent.ui.shell.background import Job, Jobs

ROOT = Path(__file__).resolve().parents[2]
RING = "latent_cycle"
NOBODY = 65534


# A full disk -------------------------------------------------------------------------------


@contextmanager
def full_disk(size: int) -> Iterator[None]:
    """No file may grow beyond some bytes, by order of the system."""
    limits = pytest.importorskip("resource")
    soft, hard = limits.getrlimit(limits.RLIMIT_FSIZE)
    limits.setrlimit(limits.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        limits.setrlimit(limits.RLIMIT_FSIZE, (soft, hard))


@cache
def ring() -> tuple[Recipe, ll.LearnResult]:
    sample = ll.load_sample(RING)
    recipe = Recipe(source=f"sample:{RING}", source_kind="sample", r=2.0, Lambda=0.0, tau=0.1)
    return recipe, ll.learn(ll.information_distances(sample.observations), 2.0, 0.0, 0.1)


@cache
def findings() -> Findings:
    recipe, result = ring()
    return examine(recipe, ll.information_distances(ll.load_sample(RING).observations), result)


def command(*arguments: str) -> Callable[[Path], object]:
    """A command that writes a file; its error message is raised as an error."""

    def run(path: Path) -> None:
        if main([*arguments, "-o", str(path)]) != 0:
            raise DataError("the command failed; see its message.")

    return run


WRITERS: dict[str, Callable[[Path], object]] = {
    "graph.graphml": lambda path: ll.export(ring()[1], path),
    "graph.html": lambda path: ll.export(ring()[1], path),
    "mine.loopylatent": lambda path: write_project(Project(ring()[0], title="x" * 9000), path),
    "report.html": lambda path: write_report(findings(), path),
    "so_far.npz": lambda path: Checkpoint(path, "these").save(1, {"sums": np.ones(5000)}),
    "graph.csv": command("learn", f"sample:{RING}"),
    "distances.csv": command("distances", f"sample:{RING}"),
    "distances.npz": command("distances", f"sample:{RING}"),
}


@pytest.mark.parametrize("name", WRITERS)
def test_a_full_disk_leaves_the_old_file_and_one_line(name, tmp_path, capsys):
    target = tmp_path / name
    target.write_bytes(b"old")
    findings()
    with pytest.raises(DataError) as caught, full_disk(200):
        WRITERS[name](target)
    said = capsys.readouterr().err.splitlines()
    line = next((one for one in said if "Cannot write" in one), str(caught.value))
    assert "Cannot write" in line
    assert "\n" not in line
    assert target.read_bytes() == b"old"
    assert [one.name for one in tmp_path.iterdir()] == [name], "nothing half-written is left"
    target.unlink()
    WRITERS[name](target)
    assert target.stat().st_size > 200, "the limit was met"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_full_disk_behind_the_standard_output_is_said_in_one_line(capfd):
    output = os.dup(1)
    full = os.open("/dev/full", os.O_WRONLY)
    try:
        os.dup2(full, 1)
        with os.fdopen(os.dup(1), "w") as sys.stdout:
            status = main(["samples"])
    finally:
        sys.stdout = sys.__stdout__
        os.dup2(output, 1)
        os.close(full)
        os.close(output)
    assert status == 2
    (line,) = capfd.readouterr().err.splitlines()
    assert "Cannot write to standard output: No space left on device" in line


# Files that may not be read ----------------------------------------------------------------


@contextmanager
def somebody_else() -> Iterator[None]:
    """Without administrator rights, which override file permissions."""
    is_root = hasattr(os, "geteuid") and os.geteuid() == 0
    if is_root:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        if is_root:
            os.seteuid(0)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that everybody may look into."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    (folder / "closed").chmod(0o700) if (folder / "closed").exists() else None
    shutil.rmtree(folder)


@pytest.mark.skipif(os.name != "posix", reason="rights are another thing there")
@pytest.mark.parametrize("name", ["table.csv", "closed/table.csv"])
def test_a_file_that_may_not_be_read_is_rejected_in_one_line(open_folder, name, capsys):
    file = open_folder / name
    file.parent.mkdir(exist_ok=True)
    file.write_text("a,b,c\n1,2,3\n", encoding="utf-8")
    (file if file.parent == open_folder else file.parent).chmod(0)
    with somebody_else():
        status = main(["learn", str(file)])
        with pytest.raises(DataError, match="Permission denied"):
            open_project(file)
        with pytest.raises(DataError, match="Permission denied"):
            ll.scan_table(file)
        with pytest.raises(DataError):
            Checkpoint(file, "these").load()
        with pytest.raises(DistanceError, match="Permission denied"):
            read_npz(file)
    assert status == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert ": Permission denied" in line


@pytest.mark.skipif(os.name != "posix", reason="rights are another thing there")
def test_a_folder_that_may_not_be_written_is_rejected_in_one_line(open_folder):
    ring()
    with somebody_else(), pytest.raises(DataError, match="Permission denied") as caught:
        ll.export(ring()[1], open_folder / "graph.json")
    assert "\n" not in str(caught.value)
    assert list(open_folder.iterdir()) == []


# Compiled functions on disk ----------------------------------------------------------------

TINY = """
from loopylatent.compute._kernels.jit import kernel

@kernel
def double(x):
    return 2 * x
"""


def loaded(file: Path) -> ModuleType:
    """Import a file anew, as another process would."""
    specification = importlib.util.spec_from_file_location("tiny", file)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def from_disk(module: ModuleType) -> int:
    """How many compiled functions came from the disk."""
    return sum(module.double.stats.cache_hits.values())


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    file = tmp_path / "tiny.py"
    file.write_text(TINY, encoding="utf-8")
    return file


def kept(file: Path, ending: str) -> list[Path]:
    return list((file.parent / "__pycache__").glob(f"*.{ending}"))


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
@pytest.mark.parametrize("content", [b"", b"no pickle", "half"], ids=["empty", "foreign", "half"])
def test_a_damaged_cache_is_made_anew(tiny, ending, content):
    assert loaded(tiny).double(2) == 4
    (damaged,) = kept(tiny, ending)
    whole = damaged.read_bytes()
    damaged.write_bytes(whole[: len(whole) // 2] if content == "half" else content)
    again = loaded(tiny)
    assert again.double(2) == 4
    assert from_disk(again) == 0
    third = loaded(tiny)
    assert third.double(2) == 4
    assert from_disk(third) == 1, "it is kept again"


def test_a_full_disk_does_not_stop_a_compiled_function(tiny):
    module = loaded(tiny)
    with full_disk(0):
        assert module.double(2) == 4
    assert kept(tiny, "nbc") == []
    assert module.double(2.5) == 5.0


def test_without_any_folder_functions_are_compiled_each_time(tiny, monkeypatch):
    monkeypatch.setattr(FunctionCache._impl_class, "_locator_classes", [])
    assert loaded(tiny).double(2) == 4
    assert kept(tiny, "nbi") == []


# The bundled tables are gone ---------------------------------------------------------------


def forget_samples() -> None:
    samples.sample_names.cache_clear()
    samples.sample_titles.cache_clear()


@pytest.fixture
def no_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    forget_samples()
    monkeypatch.setattr(samples, "bundled", lambda *_: None)


def said_on(page: AppTest) -> list[str]:
    assert [one.value for one in page.exception] == []
    return [one.value.replace("\\", "") for one in page.error]


@pytest.mark.usefixtures("no_samples")
def test_without_samples_the_command_line_says_so(capsys):
    for arguments in (["learn", "sample:bfi25"], ["samples"]):
        assert main(arguments) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert "The bundled tables are missing" in line


@pytest.mark.usefixtures("no_samples")
@pytest.mark.parametrize(
    "path", ["app.py", *(f"pages/{one.name}" for one in sorted((ROOT / "pages").glob("*.py")))]
)
def test_without_samples_every_page_opens(path):
    page = AppTest.from_file(str(ROOT / "app.py"), default_timeout=TIMEOUT)
    if path != "app.py":
        page.switch_page(path)
    said = said_on(page.run())
    assert len(said) <= 1
    assert all("The bundled tables are missing" in line for line in said)


@pytest.mark.usefixtures("no_samples")
def test_without_samples_a_table_of_ones_own_is_learned():
    page = AppTest.from_file(str(ROOT / "app.py"), default_timeout=TIMEOUT).run()
    (line,) = said_on(page)
    assert "use your own table" in line
    content = latent_cycle(5, 2, seed=1).sample(300, seed=1).to_frame().to_csv(index=False)
    page = used(page, "own.csv", content.encode())
    assert said_on(page) == []
    assert page.session_state["loopylatent"].recipe.source == "own.csv"
    assert any("**10** observed" in one.value for one in page.markdown)


def test_a_sample_that_is_gone_is_said_and_the_graph_stays(monkeypatch, tmp_path):
    page = AppTest.from_file(str(ROOT / "app.py"), default_timeout=TIMEOUT)
    page.query_params["sample"] = RING
    page.run()
    before = page.session_state["loopylatent"].recipe
    folder = samples.sample_folder()
    shutil.copy(folder / "samples.json", tmp_path)
    monkeypatch.setattr(samples, "bundled", lambda *_: tmp_path)
    page.selectbox(key="data").set_value("bfi25").run()
    assert said_on(page) == []
    assert page.session_state["loopylatent"].recipe == before
    assert any("There is no file" in one.value for one in page.info)


@pytest.mark.parametrize("content", ["", "{", "\ud800"])
def test_a_damaged_list_of_samples_is_said_in_one_line(content, tmp_path, monkeypatch):
    (tmp_path / "samples.json").write_text(content, encoding="utf-8", errors="surrogatepass")
    forget_samples()
    monkeypatch.setattr(samples, "bundled", lambda *_: tmp_path)
    with pytest.raises(DataError, match="Reinstall the package"):
        ll.sample_names()


# Cancel ------------------------------------------------------------------------------------


def explore() -> AppTest:
    page = AppTest.from_file(str(ROOT / "app.py"), default_timeout=TIMEOUT)
    page.query_params["sample"] = RING
    return page.run()


def begin_sure(page: AppTest) -> AppTest:
    page.session_state["more"] = "Stability"
    page.run()
    return page.button(key="resample").click().run()


def begin_bic(page: AppTest) -> AppTest:
    return page.toggle(key="bic").set_value(True).run()


LONG: dict[str, tuple[Callable[[], AppTest], Callable[[AppTest], Any], str]] = {
    "sweep": (lambda: opened_tune(sample=RING), lambda p: move_margin(p), "tune_cancel"),
    "sweep scores": (
        lambda: opened_tune(sample=RING),
        lambda p: p.button(key="tune_suggest").click().run(),
        "tune_cancel",
    ),
    "loops": (
        lambda: opened_tune(sample=RING, r="1.5"),
        lambda p: p.button(key="tune_loops").click().run(),
        "tune_cancel",
    ),
    "support": (explore, begin_sure, "cancel_support"),
    "bic": (explore, begin_bic, "cancel_bic"),
}


def move_margin(page: AppTest) -> AppTest:
    page.session_state["loopylatent"].change(Lambda=0.05)
    return page.run()


@pytest.mark.parametrize("kind", LONG)
def test_cancel_in_the_middle_leaves_the_page_as_it_was(kind, monkeypatch):
    opened, begin, button = LONG[kind]
    page = opened()
    session = page.session_state["loopylatent"]
    monkeypatch.setattr(Job, "report", stands_still)
    begin(page)
    job = session.jobs.current(kind)
    while job.done < 1:
        assert not job.finished.wait(0.01), job.error
    recipe = session.recipe
    page.run()
    page.button(key=button).click().run()
    assert job.finished.wait(TIMEOUT)
    monkeypatch.undo()
    page.run()
    assert [one.value for one in page.exception] == []
    assert session.recipe.settings == recipe.settings
    page = page.switch_page("app.py").run()
    assert [one.value for one in page.exception] == []
    fresh = ll.learn(ll.information_distances(ll.load_sample(RING).observations),
                     *(getattr(recipe, name) for name in ("r", "Lambda", "tau"))).graph  # fmt: skip
    line = next(one.value for one in page.markdown if "** hidden" in one.value)
    assert f"**{fresh.n_hidden}** hidden · **{fresh.n_edges}** edges" in line


def test_jobs_of_a_session_that_is_gone_are_stopped():
    jobs = Jobs()

    def endless(report: Callable[[int, int], None]) -> None:
        while True:
            report(0, 1)

    job = jobs.get("endless", "key", endless)
    assert not job.finished.is_set()
    del jobs
    gc.collect()
    assert job.finished.wait(TIMEOUT)
    assert job.error == "stopped"


# A project and a file that is cut off ------------------------------------------------------


def test_a_project_that_is_written_again_and_again_is_whole_at_every_moment(tmp_path):
    """What a killed program leaves under the name of the file is the old or the new one."""
    content = b"a,b,c\n" + b"1,2,3\n" * 1000
    recipe = Recipe(
        source="own.csv", source_kind="table", data_digest=digest_of(content), r=1, Lambda=0, tau=0
    )
    file = tmp_path / "mine.loopylatent"
    write_project(Project(recipe, content, title="first"), file)
    child = os.fork() if hasattr(os, "fork") else pytest.skip("there is no fork")
    if child == 0:
        while True:
            write_project(Project(recipe, content, title="again"), file)
    try:
        titles = {open_project(file).title for _ in range(20)}
    finally:
        os.kill(child, 9)
        os.waitpid(child, 0)
    assert titles <= {"first", "again"}
    assert open_project(file).data == content


# A command that is killed ------------------------------------------------------------------


def killed_at(line: list[str], mark: bytes) -> int:
    """Run a command on a terminal and kill it once a text is shown; return its exit status."""
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    try:
        with subprocess.Popen(line, stdout=theirs, stderr=theirs, cwd=ROOT) as process:
            said = b""
            while mark not in said and process.poll() is None:
                if select.select([ours], [], [], 0.2)[0]:
                    said += os.read(ours, 4096)
            process.kill()
    finally:
        os.close(ours)
        os.close(theirs)
    assert mark in said, said.decode()
    return process.returncode


@pytest.mark.long
@pytest.mark.skipif(os.name != "posix", reason="there are no terminals of this kind")
def test_a_sweep_that_is_killed_leaves_the_old_file_and_runs_again(tmp_path):
    target = tmp_path / "sweep.csv"
    target.write_bytes(b"old")
    line = ["sweep", f"sample:{RING}", "--score", "--most", "8", "-o", str(target)]
    status = killed_at([sys.executable, "-m", "loopylatent", *line], b"1 of ")
    assert status == -9, "it was in the middle of its work"
    assert target.read_bytes() == b"old"
    assert [one.name for one in tmp_path.iterdir()] == ["sweep.csv"], "nothing half-written is left"
    assert main(line) == 0
    assert len(target.read_text(encoding="utf-8").splitlines()) == 9
