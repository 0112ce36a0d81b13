"""What goes wrong around the program, done for real: killed, no space, no rights, files gone.

Every trial says what was done and what came of it; one that ends otherwise than it should ends the
run. Trials that this computer does not permit are listed as not tried.
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
PATIENCE = 900.0
NOBODY = "65534"
WORDS = "newsgroups100_roweislike"
CANCEL = ".st-key-tune_cancel button"


class NotTried(Exception):  # noqa: N818  (nothing went wrong)
    """This computer does not permit a trial."""


def check(holds: object, what: str) -> None:
    """End the run where something is not as it should be."""
    if not holds:
        raise RuntimeError(f"not as it should be: {what}")


# Running commands --------------------------------------------------------------------------


def command(*arguments: str, root: Path = ROOT, before: Sequence[str] = ()) -> list[str]:
    """Return a command line of the package that lies in a folder."""
    start = (
        f"import sys; sys.path.insert(0, {str(root)!r}); from loopylatent.cli.main import main; "
    )
    return [*before, sys.executable, "-P", "-c", start + "sys.exit(main())", *arguments]


def run(
    line: list[str], surroundings: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    return subprocess.run(
        line,
        cwd="/",
        env=os.environ | dict(surroundings or {}),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def refusal(line: list[str], surroundings: Mapping[str, str] | None = None) -> str:
    """Return the one line with which a command is refused."""
    done = run(line, surroundings)
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
    """Kill a sweep in the middle; what was there before stays, and it runs again."""
    target = folder / "sweep.csv"
    target.write_text("old\n", encoding="utf-8")
    line = command("sweep", str(answers(folder)), "-o", str(target))
    with subprocess.Popen(line, stderr=subprocess.PIPE, cwd="/") as process:
        assert process.stderr is not None
        process.stderr.readline()  # it has read the table and is at work
        process.send_signal(signal.SIGKILL)
    check(target.read_text(encoding="utf-8") == "old\n", "the old file is whole")
    check(run(line).returncode == 0, "it runs again")
    check(target.read_text(encoding="utf-8") != "old\n", "the file is there")
    return "the old file was whole; the same command then wrote the new one"


def killed_server(folder: Path) -> str:
    """Kill the app while it sweeps; the open page goes on when the server is back."""
    file = folder / "mine.loopylatent"
    content = answers(folder).read_bytes()
    recipe = Recipe(
        source="answers.csv", source_kind="table", data_digest=digest_of(content),
        r=1.5, Lambda=0, tau=0.1,
    )  # fmt: skip
    write_project(Project(recipe, content, title="mine"), file)
    whole = file.read_bytes()
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
    check(file.read_bytes() == whole and open_project(file).data == content, "the project is whole")
    return "the page connected again by itself and swept to the end; the project file was whole"


@contextmanager
def window() -> Iterator[Page]:
    """A page in Chromium."""
    found = next((path for name in EXECUTABLES if (path := shutil.which(name))), None)
    if found is None:
        raise NotTried("there is no Chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=list(ARGUMENTS))
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.set_default_timeout(1000 * PATIENCE)
        yield page
        browser.close()


# No space ----------------------------------------------------------------------------------


@contextmanager
def tiny_disk(folder: Path, size: str) -> Iterator[Path]:
    """A disk of its own that is soon full."""
    place = folder / "tiny"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size},mode=777", "none", str(place)]
    if shutil.which("mount") is None or run(mount).returncode != 0:
        raise NotTried("mounting a small disk needs more rights")
    try:
        yield place
    finally:
        run(["umount", str(place)])


def full_disk(*arguments: str) -> Callable[[Path], str]:
    """Have a command write to a full disk; its last argument is the name of the file."""

    def trial(folder: Path) -> str:
        with tiny_disk(folder, "16k") as place:
            line = command(*arguments[:-1], str(place / arguments[-1]))
            said = refusal(line).replace(str(place), "…")
            check("No space left" in said, said)
            check(list(place.iterdir()) == [], "nothing is left behind")
        return f"“{said}”; no file was left"

    return trial


def full_disk_project(folder: Path) -> str:
    """Save a project where there is no room; the older one stays."""
    recipe = Recipe(source=f"sample:{WORDS}", source_kind="sample", r=5, Lambda=0, tau=0.1)
    with tiny_disk(folder, "16k") as place:
        file = write_project(Project(recipe, title="old"), place / "mine.loopylatent")
        view = {f"setting {k}": os.urandom(200).hex() for k in range(150)}
        try:
            write_project(Project(recipe, view=view, title="new"), file)
        except Exception as error:
            said = str(error).replace(str(place), "…")
        check("No space left" in said, said)
        check(open_project(file).title == "old", "the older project is whole")
        check(list(place.iterdir()) == [file], "nothing is left behind")
    return f"“{said}”; the older project was whole"


def full_output(_: Path) -> str:
    """Print to a full disk."""
    if not Path("/dev/full").exists():
        raise NotTried("there is no /dev/full")
    line = ["sh", "-c", 'exec "$@" > /dev/full', "sh", *command("samples")]
    return f"“{refusal(line)}”"


def full_cache(folder: Path) -> str:
    """Let there be no room for compiled functions."""
    with tiny_disk(folder, "256k") as place:
        learns(folder, ROOT, {"NUMBA_CACHE_DIR": str(place)})
    return "learned as ever; what found no room was compiled and not kept"


def learns(folder: Path, root: Path, surroundings: Mapping[str, str] | None = None) -> None:
    """Learn a small table and see that a graph comes."""
    done = run(command("learn", str(answers(folder)), root=root), surroundings)
    check(done.returncode == 0, done.stderr[-500:])
    check(len(done.stdout.splitlines()) > 10, done.stdout[-500:])


# Gone, closed, damaged ---------------------------------------------------------------------


def copied(folder: Path) -> Path:
    """A copy of the package and the app without the bundled tables."""
    root = folder / "copy"
    for name in ("loopylatent", "pages", ".streamlit"):
        shutil.copytree(ROOT / name, root / name)
    shutil.copy(ROOT / "app.py", root)
    return root


def no_samples(folder: Path) -> str:
    """Remove the bundled tables; the command line says so, and other tables are learned."""
    root = copied(folder)
    said = refusal(command("learn", "sample:bfi25", root=root))
    learns(folder, root)
    return f"“{said}”; a table of one's own was learned"


def no_samples_app(folder: Path) -> str:
    """The same for the app."""
    root = copied(folder)
    with window() as page:
        server = started(root / "app.py", folder)
        try:
            page.goto(server.address)
            page.get_by_text("the bundled tables are neither").wait_for()
            page.get_by_role("button", name="Open a file").click()
            chosen = page.locator(".st-key-open_A-table input[type=file]")
            chosen.wait_for(state="attached")
            chosen.set_input_files(str(answers(folder)))
            page.get_by_role("button", name="Use this table").click()
            page.get_by_text("10 observed").wait_for()
            check(page.locator("[data-testid=stException]").count() == 0, "no error is shown")
        finally:
            server.stop()
    return "the page said so in one line; a table was opened in it and drawn"


def damaged_cache(folder: Path) -> str:
    """Overwrite everything that is kept of compiled functions."""
    root = copied(folder)
    files = [*root.rglob("*.nbi"), *root.rglob("*.nbc")]
    for file in files:
        file.write_bytes(b"no longer what it was")
    learns(folder, root)
    return f"{len(files)} files were damaged; learned as ever, and compiled anew"


def closed_file(folder: Path) -> str:
    """Read a file without the right to."""
    file = answers(folder)
    folder.chmod(0o755)
    file.chmod(0)
    said = refusal(command("learn", str(file), before=other_user()), {"HOME": "/nonexistent"})
    return f"“{said.replace(str(folder), '…')}”"


def closed_cache(folder: Path) -> str:
    """Learn where no folder can be written, neither beside the program nor at home."""
    file = answers(folder)
    folder.chmod(0o755)
    line = command("learn", str(file), before=other_user())
    done = run(line, {"HOME": "/nonexistent"})
    check(done.returncode == 0, done.stderr[-500:])
    return "learned as ever; compiled each time"


def other_user() -> list[str]:
    """The beginning of a command that runs without the rights of an administrator."""
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        raise NotTried("this takes an administrator who lets somebody else run a command")
    return ["setpriv", "--reuid", NOBODY, "--regid", NOBODY, "--clear-groups"]


TRIALS: dict[str, Callable[[Path], str]] = {
    "a command is killed in the middle of a sweep": killed_command,
    "the app is killed in the middle of a sweep and started again": killed_server,
    "full disk: an exported graph": full_disk("learn", "sample:latent_cycle", "-o", "graph.html"),
    "full disk: a report": full_disk("report", "sample:latent_cycle", "-o", "report.html"),
    "full disk: distances": full_disk("distances", f"sample:{WORDS}", "-o", "distances.npz"),
    "full disk: a project is saved over an older one": full_disk_project,
    "full disk behind the standard output": full_output,
    "full disk: compiled functions": full_cache,
    "the bundled tables are gone: command line": no_samples,
    "the bundled tables are gone: app": no_samples_app,
    "compiled functions on disk are damaged": damaged_cache,
    "a file that may not be read": closed_file,
    "no folder can be written": closed_cache,
}


def tried(name: str) -> str:
    """Do one trial in a folder of its own; return what came of it."""
    with TemporaryDirectory() as folder:
        try:
            return TRIALS[name](Path(folder))
        except NotTried as reason:
            return f"not tried: {reason}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help="trials whose name holds this; the page stays as it is")
    options = parser.parse_args()
    rows = []
    for name in TRIALS:
        if options.only is None or options.only in name:
            begun = time.monotonic()
            rows.append(f"| {name} | {tried(name)} |")
            print(f"{rows[-1]}  ({time.monotonic() - begun:.0f} s)", flush=True)
    if options.only is None:
        start, end = "<!-- tried -->", "<!-- end -->"
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(start)
        table = "\n".join(["| what was done | what happened |", "| --- | --- |", *rows])
        after = rest.partition(end)[2]
        PAGE.write_text(f"{before}{start}\n{table}\n{end}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
