"""Fault tests with the real program: killed processes, full disks, missing rights, missing files.

The run stops at the first unexpected outcome. Tests that this computer does not permit are listed
as not tested.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import Page, sync_playwright

from loopylatent.exporting.project.file import (
    Project,
    Recipe,
    digest_of,
    open_project,
    write_project,
)
from loopylatent.synthetic.families import latent_cycle
from tests.helpers.app_server import ROOT, started
from tests.helpers.browser import ARGUMENTS, EXECUTABLES

PAGE = ROOT / "docs" / "development" / "faults.md"
TIMEOUT = 900.0
NOBODY = "65534"
WORDS = "newsgroups100_roweislike"
CANCEL = ".st-key-tune_cancel button"


class NotTested(Exception):  # noqa: N818  (not an error)
    """This computer does not permit a test."""


def check(holds: object, what: str) -> None:
    """Stop the run if a condition fails."""
    if not holds:
        raise RuntimeError(f"check failed: {what}")


# Running commands --------------------------------------------------------------------------


def command(*arguments: str, root: Path = ROOT, before: Sequence[str] = ()) -> list[str]:
    """Return a command line of the package in the folder ``root``."""
    start = (
        f"import sys; sys.path.insert(0, {str(root)!r}); from loopylatent.cli.main import main; "
    )
    return [*before, sys.executable, "-P", "-c", start + "sys.exit(main())", *arguments]


def run(
    line: list[str], environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command and return its output."""
    return subprocess.run(
        line,
        cwd="/",
        env=os.environ | dict(environment or {}),
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )


def error_of(line: list[str], environment: Mapping[str, str] | None = None) -> str:
    """Return the one-line error message of a command."""
    done = run(line, environment)
    last = done.stderr.strip().splitlines()[-1] if done.stderr.strip() else ""
    check(done.returncode == 2, f"exit status {done.returncode}: {done.stderr[-500:]}")
    check("Traceback" not in done.stderr, done.stderr[-500:])
    return last.removeprefix("loopylatent: ")


def answers(folder: Path) -> Path:
    """Write a small table."""
    file = folder / "answers.csv"
    frame = latent_cycle(5, 2, seed=1).sample(300, seed=1).to_frame()
    file.write_text(frame.to_csv(index=False), encoding="utf-8")
    return file


# Killed ------------------------------------------------------------------------------------


def killed_command(folder: Path) -> str:
    """Kill a sweep; the previous file is kept, and the command can be repeated."""
    target = folder / "sweep.csv"
    target.write_text("old\n", encoding="utf-8")
    line = command("sweep", str(answers(folder)), "-o", str(target))
    with subprocess.Popen(line, stderr=subprocess.PIPE, cwd="/") as process:
        assert process.stderr is not None
        process.stderr.readline()  # it has read the table and is running
        process.send_signal(signal.SIGKILL)
    check(target.read_text(encoding="utf-8") == "old\n", "the old file is complete")
    check(run(line).returncode == 0, "the command can be repeated")
    check(target.read_text(encoding="utf-8") != "old\n", "the new file exists")
    return "the old file was kept; repeating the command wrote the new one"


def killed_server(folder: Path) -> str:
    """Kill the app during a sweep; the open page resumes after a restart."""
    file = folder / "mine.loopylatent"
    content = answers(folder).read_bytes()
    recipe = Recipe(
        source="answers.csv", source_kind="table", data_digest=digest_of(content),
        r=1.5, Lambda=0, tau=0.1,
    )  # fmt: skip
    write_project(Project(recipe, content, title="mine"), file)
    original = file.read_bytes()
    with window() as page:
        server = started(ROOT / "app.py", folder)
        try:
            page.goto(f"{server.address}/Tune?sample={WORDS}")
            page.locator(CANCEL).wait_for()
            before = page.url
            server.kill()
            page.locator("[data-test-connection-state=CONNECTED]").wait_for(state="detached")
            server = started(ROOT / "app.py", folder, server.port)
            page.locator("[data-test-connection-state=CONNECTED]").wait_for()
            page.locator(CANCEL).wait_for()
            page.locator(CANCEL).wait_for(state="detached")
            page.locator(".st-key-tune_panel").wait_for()
            check(page.url == before, "the link is the same")
            check(page.locator("[data-testid=stException]").count() == 0, "no error is shown")
        finally:
            server.stop()
    intact = file.read_bytes() == original and open_project(file).data == content
    check(intact, "the project is intact")
    return "the page reconnected automatically and finished the sweep; the project file was intact"


@contextmanager
def window() -> Iterator[Page]:
    """Open a page in Chromium."""
    found = next((path for name in EXECUTABLES if (path := shutil.which(name))), None)
    if found is None:
        raise NotTested("Chromium is not installed")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=list(ARGUMENTS))
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.set_default_timeout(1000 * TIMEOUT)
        yield page
        browser.close()


# Full disk ---------------------------------------------------------------------------------


@contextmanager
def tiny_disk(folder: Path, size: str) -> Iterator[Path]:
    """Mount a small disk."""
    place = folder / "tiny"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size},mode=777", "none", str(place)]
    if shutil.which("mount") is None or run(mount).returncode != 0:
        raise NotTested("mounting a small disk needs administrator rights")
    try:
        yield place
    finally:
        run(["umount", str(place)])


def full_disk(*arguments: str) -> Callable[[Path], str]:
    """Let a command write to a full disk; its last argument is the file name."""

    def test(folder: Path) -> str:
        with tiny_disk(folder, "16k") as place:
            line = command(*arguments[:-1], str(place / arguments[-1]))
            message = error_of(line).replace(str(place), "…")
            check("No space left" in message, message)
            check(list(place.iterdir()) == [], "nothing is left behind")
        return f"“{message}”; no file was left"

    return test


def full_disk_project(folder: Path) -> str:
    """Save a project to a full disk; the older one is kept."""
    recipe = Recipe(source=f"sample:{WORDS}", source_kind="sample", r=5, Lambda=0, tau=0.1)
    with tiny_disk(folder, "16k") as place:
        file = write_project(Project(recipe, title="old"), place / "mine.loopylatent")
        view = {f"setting {k}": os.urandom(200).hex() for k in range(150)}
        try:
            write_project(Project(recipe, view=view, title="new"), file)
        except Exception as error:
            message = str(error).replace(str(place), "…")
        check("No space left" in message, message)
        check(open_project(file).title == "old", "the older project is intact")
        check(list(place.iterdir()) == [file], "nothing is left behind")
    return f"“{message}”; the older project was intact"


def full_output(_: Path) -> str:
    """Print to a full disk."""
    if not Path("/dev/full").exists():
        raise NotTested("there is no /dev/full")
    line = ["sh", "-c", 'exec "$@" > /dev/full', "sh", *command("samples")]
    return f"“{error_of(line)}”"


def full_cache(folder: Path) -> str:
    """Leave no space for compiled functions."""
    with tiny_disk(folder, "256k") as place:
        learns(folder, ROOT, {"NUMBA_CACHE_DIR": str(place)})
    return "learned as usual; functions that did not fit were compiled and not cached"


def learns(folder: Path, root: Path, environment: Mapping[str, str] | None = None) -> None:
    """Check that a small table can be learned."""
    compiles = {"LOOPYLATENT_COMPILE": "always", **(environment or {})}
    done = run(command("learn", str(answers(folder)), root=root), compiles)
    check(done.returncode == 0, done.stderr[-500:])
    check(len(done.stdout.splitlines()) > 10, done.stdout[-500:])


# Missing, unreadable, damaged files ---------------------------------------------------------


def copied(folder: Path) -> Path:
    """Copy the package and the app without the bundled tables."""
    root = folder / "copy"
    for name in ("loopylatent", "pages", ".streamlit"):
        shutil.copytree(ROOT / name, root / name)
    shutil.copy(ROOT / "app.py", root)
    return root


def no_samples(folder: Path) -> str:
    """Run the command line without the bundled tables; other tables can be learned."""
    root = copied(folder)
    message = error_of(command("learn", "sample:bfi25", root=root))
    learns(folder, root)
    return f"“{message}”; another table was learned"


def no_samples_app(folder: Path) -> str:
    """Run the app without the bundled tables."""
    root = copied(folder)
    with window() as page:
        server = started(root / "app.py", folder)
        try:
            page.goto(server.address)
            page.get_by_text("the bundled tables are neither").wait_for()
            page.get_by_role("button", name="Open file").click()
            chosen = page.locator(".st-key-open_Table input[type=file]")
            chosen.wait_for(state="attached")
            chosen.set_input_files(str(answers(folder)))
            page.get_by_role("button", name="Use table").click()
            page.get_by_text("10 observed").wait_for()
            check(page.locator("[data-testid=stException]").count() == 0, "no error is shown")
        finally:
            server.stop()
    return "the page said so in one line; an uploaded table was learned and drawn"


def damaged_cache(folder: Path) -> str:
    """Overwrite all cached compiled functions."""
    root = copied(folder)
    files = [*root.rglob("*.nbi"), *root.rglob("*.nbc")]
    for file in files:
        file.write_bytes(b"damaged")
    learns(folder, root)
    return f"{len(files)} files were damaged; learned as usual, after compiling again"


def closed_file(folder: Path) -> str:
    """Read a file without permission."""
    file = answers(folder)
    folder.chmod(0o755)
    file.chmod(0)
    message = error_of(command("learn", str(file), before=other_user()), {"HOME": "/nonexistent"})
    return f"“{message.replace(str(folder), '…')}”"


def closed_cache(folder: Path) -> str:
    """Learn without a writable folder, in the package or at home."""
    file = answers(folder)
    folder.chmod(0o755)
    line = command("learn", str(file), before=other_user())
    done = run(line, {"HOME": "/nonexistent", "LOOPYLATENT_COMPILE": "always"})
    check(done.returncode == 0, done.stderr[-500:])
    return "learned as usual; compiled each time"


def other_user() -> list[str]:
    """Return the start of a command that runs it without administrator rights."""
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        raise NotTested("this needs administrator rights and setpriv")
    return ["setpriv", "--reuid", NOBODY, "--regid", NOBODY, "--clear-groups"]


TESTS: dict[str, Callable[[Path], str]] = {
    "command killed during a sweep": killed_command,
    "app killed during a sweep and restarted": killed_server,
    "full disk: exported graph": full_disk("learn", "sample:latent_cycle", "-o", "graph.html"),
    "full disk: report": full_disk("report", "sample:latent_cycle", "-o", "report.html"),
    "full disk: distances": full_disk("distances", f"sample:{WORDS}", "-o", "distances.npz"),
    "full disk: project saved over an older one": full_disk_project,
    "full disk: standard output": full_output,
    "full disk: compiled functions": full_cache,
    "bundled tables missing: command line": no_samples,
    "bundled tables missing: app": no_samples_app,
    "cached compiled functions damaged": damaged_cache,
    "file without read permission": closed_file,
    "no writable folder": closed_cache,
}


def outcome_of(name: str) -> str:
    """Run one test in a temporary folder and return its outcome."""
    with TemporaryDirectory() as folder:
        try:
            return TESTS[name](Path(folder))
        except NotTested as reason:
            return f"not tested: {reason}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help="run tests whose name contains this; do not write the page")
    options = parser.parse_args()
    rows = []
    for name in TESTS:
        if options.only is None or options.only in name:
            start = time.monotonic()
            rows.append(f"| {name} | {outcome_of(name)} |")
            print(f"{rows[-1]}  ({time.monotonic() - start:.0f} s)", flush=True)
    if options.only is None:
        start, end = "<!-- tests -->", "<!-- end -->"
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(start)
        table = "\n".join(["| fault | outcome |", "| --- | --- |", *rows])
        after = rest.partition(end)[2]
        PAGE.write_text(f"{before}{start}\n{table}\n{end}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
