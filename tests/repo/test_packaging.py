"""The wheel is complete, and the installed package works without the checkout."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from helpers.app_server import _answers, _free_port, _stop
from helpers.browser import AppTab, WatchedPage, visiting

ROOT = Path(__file__).resolve().parents[2]
SOURCES = (
    "LICENSE", "MANIFEST.in", "README.md", "CHANGELOG.md", "app.py", "pyproject.toml",
    "requirements.txt", "setup.py", ".streamlit", "loopylatent", "pages", "sample_data",
)  # fmt: skip
LEFT_OUT = ("__pycache__", "*.pyc", "*.nbi", "*.nbc")
BUILD = "import sys; from setuptools import build_meta as b; getattr(b, sys.argv[1])(sys.argv[2])"


@dataclass(frozen=True)
class Installed:
    """An environment with the wheel, and a working folder outside the checkout."""

    environment: Path
    folder: Path
    compiles: bool

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(self.environment / "bin" / words[0]), *words[1:]],
            cwd=self.folder,
            env=self.variables,
            capture_output=True,
            text=True,
            check=False,
        )

    @property
    def variables(self) -> dict[str, str]:
        """Variables without the checkout and the user's settings."""
        numba = {} if self.compiles else {"NUMBA_DISABLE_JIT": "1"}
        return {"PATH": "/usr/bin:/bin", "HOME": str(self.folder)} | numba

    @contextmanager
    def serving(self) -> Iterator[str]:
        port = _free_port()
        log = self.folder / "server.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                [self.environment / "bin" / "loopylatent", "app", "--headless", f"--port={port}"],
                cwd=self.folder,
                env=self.variables,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        try:
            assert _answers(process, port), log.read_text(encoding="utf-8")
            address = f"http://127.0.0.1:{port}"
            assert f"loopylatent is running at {address}" in log.read_text(encoding="utf-8")
            yield address
        finally:
            _stop(process)


def build(what: str, source: Path, target: Path) -> Path:
    done = subprocess.run(
        [sys.executable, "-c", BUILD, what, str(target)],
        cwd=source,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (built,) = target.iterdir()
    return built


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel from the source archive, so that both must be complete."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    source.mkdir()
    for name in SOURCES:
        if (ROOT / name).is_dir():
            ignored = shutil.ignore_patterns(*LEFT_OUT)
            shutil.copytree(ROOT / name, source / name, ignore=ignored)
        else:
            shutil.copy(ROOT / name, source / name)
    for name in ("archive", "unpacked", "wheel"):
        (folder / name).mkdir()
    with tarfile.open(build("build_sdist", source, folder / "archive")) as archive:
        archive.extractall(folder / "unpacked", filter="data")
    (unpacked,) = (folder / "unpacked").iterdir()
    return build("build_wheel", unpacked, folder / "wheel")


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """Install the wheel alone; its dependencies come from this environment."""
    place = tmp_path_factory.mktemp("installed")
    environment = empty_environment(place)
    own = site_packages(environment)
    shared = [folder for folder in sys.path if folder.endswith("site-packages")]
    own.joinpath("dependencies.pth").write_text("\n".join(shared) + "\n")
    pip_install(environment, "--no-deps", "--no-index", str(wheel))
    folder = place / "elsewhere"
    folder.mkdir()
    return Installed(environment, folder, compiles=False)


def empty_environment(place: Path) -> Path:
    environment = place / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
    return environment


def site_packages(environment: Path) -> Path:
    (found,) = environment.glob("lib/python3*/site-packages")
    return found


def pip_install(environment: Path, *words: str) -> None:
    python = str(environment / "bin" / "python")
    done = subprocess.run(
        [sys.executable, "-m", "pip", "--python", python, "install", "-q", *words],
        env=os.environ | {"PIP_DISABLE_PIP_VERSION_CHECK": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def files_of(folder: Path) -> set[str]:
    """Return the files that belong into a wheel, without caches."""
    kept = (path for path in folder.rglob("*") if path.is_file())
    return {
        path.relative_to(folder).as_posix()
        for path in kept
        if "__pycache__" not in path.parts and path.suffix != ".pyc"
    }


def test_the_wheel_contains_package_app_and_samples(wheel):
    inside = {name for name in zipfile.ZipFile(wheel).namelist() if "dist-info" not in name}
    package = {f"loopylatent/{name}" for name in files_of(ROOT / "loopylatent")}
    pages = {f"loopylatent/_app/pages/{name}" for name in files_of(ROOT / "pages")}
    settings = {"loopylatent/_app/app.py", "loopylatent/_app/.streamlit/config.toml"}
    samples = {
        f"loopylatent/_samples/{name}"
        for name in files_of(ROOT / "sample_data")
        if not name.endswith(".py")
    }
    assert inside == package | pages | settings | samples


def test_the_files_of_the_app_are_those_of_the_checkout(wheel):
    with zipfile.ZipFile(wheel) as packed:
        for path in (ROOT / "app.py", ROOT / ".streamlit" / "config.toml"):
            name = path.relative_to(ROOT).as_posix()
            assert packed.read(f"loopylatent/_app/{name}") == path.read_bytes()


def check_learning(installed: Installed) -> None:
    code = "import loopylatent as ll; print(len(ll.sample_names())); print(ll.__file__)"
    done = installed.run("python", "-c", code)
    assert done.returncode == 0, done.stderr
    n_samples, where = done.stdout.splitlines()
    assert int(n_samples) == len(list((ROOT / "sample_data").glob("*.csv.gz"))) - 1  # word pairs
    assert Path(where).is_relative_to(installed.environment)
    words = ("learn", "sample:latent_cycle", "--r", "1.5", "--tau", "0.1", "-o", "ring.graphml")
    done = installed.run("loopylatent", *words)
    assert done.returncode == 0, done.stderr
    assert "20 observed, 10 hidden, 30 edges, 1 cycles" in done.stderr
    assert (installed.folder / "ring.graphml").stat().st_size > 0


def check_app(installed: Installed, app_page: WatchedPage, *pages: str) -> None:
    """The pages draw without errors, and with the app's settings: no page list of Streamlit."""
    with installed.serving() as address:
        port = address.rpartition(":")[2]
        again = installed.run("loopylatent", "app", "--headless", "--port", port)
        assert again.returncode == 2
        assert len(again.stderr.splitlines()) == 1
        assert f"port {port} is taken" in again.stderr
        for tab in visiting(AppTab(app_page, address)):
            for page in pages:
                tab.go(page, sample="latent_cycle")
                assert tab.page.locator('[data-testid="stException"]').count() == 0
                assert tab.page.locator('[data-testid="stAlertContentError"]').count() == 0
                assert tab.page.locator('[data-testid="stSidebarNav"]').count() == 0
                assert tab.page.locator(".st-key-pages a").count() == N_PAGES


N_PAGES = 1 + len(list((ROOT / "pages").glob("*.py")))


def test_the_installed_command_learns_a_sample(installed):
    check_learning(installed)


@pytest.mark.long
@pytest.mark.browser
def test_the_installed_app_serves_its_first_page(installed, app_page):
    check_app(installed, app_page, "")


@pytest.mark.long
@pytest.mark.browser
def test_an_empty_environment_gets_everything_from_the_wheel(wheel, app_page, tmp_path):
    """With the dependencies declared by the wheel, from the index that pip uses."""
    environment = empty_environment(tmp_path)
    pip_install(environment, str(wheel))
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    installed = Installed(environment, folder, compiles=True)
    check_learning(installed)
    pages = [path.stem.partition("_")[2] for path in sorted((ROOT / "pages").glob("*.py"))]
    check_app(installed, app_page, "", *pages)
