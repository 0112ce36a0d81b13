"""Run the tests without a browser on every supported Python of this computer.

Interpreters are searched for on PATH, with pyenv and with uv; missing ones are reported. Each has
its own environment in .pythons/. Arguments after -- replace the default arguments of pytest:
python tools/test_pythons.py 3.12 -- tests/test_graph.py
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VERSIONS = ("3.11", "3.12", "3.13")
FOLDER = ROOT / ".pythons"
CORE = ("-q", "-m", "not long and not browser", "-n", "2", "--dist", "loadgroup")
REQUIREMENTS = ROOT / "requirements-dev.txt"


def candidates(version: str) -> Iterator[Path]:
    """Yield possible interpreters of this version."""
    on_path = shutil.which(f"python{version}")
    if on_path:
        yield Path(on_path)
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    yield from sorted(pyenv.glob(f"versions/{version}.*/bin/python{version}"), reverse=True)
    if shutil.which("uv"):
        done = subprocess.run(
            ["uv", "python", "find", "--no-python-downloads", version],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode == 0:
            yield Path(done.stdout.strip())


def interpreter(version: str) -> Path | None:
    """Return the first interpreter of this version that can create environments."""
    probe = "import sys, venv, ensurepip; print('%d.%d' % sys.version_info[:2])"
    for path in candidates(version):
        done = subprocess.run([str(path), "-c", probe], capture_output=True, text=True, check=False)
        if done.returncode == 0 and done.stdout.strip() == version:
            return path
    return None


def environment(version: str, python: Path) -> Path:
    """Create or update the environment of a version and return its interpreter."""
    folder = FOLDER / version
    inner, mark = folder / "bin" / "python", folder / ".installed"
    required = REQUIREMENTS.read_text() + (ROOT / "requirements.txt").read_text()
    if mark.exists() and mark.read_text() == required:
        return inner
    print(f"Python {version}: installing into {folder.relative_to(ROOT)} ...", flush=True)
    subprocess.run([str(python), "-m", "venv", str(folder)], check=True)
    pip = [str(inner), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    subprocess.run([*pip, "-r", str(REQUIREMENTS)], check=True)
    subprocess.run([*pip, "--no-deps", "--no-build-isolation", "-e", str(ROOT)], check=True)
    mark.write_text(required)
    return inner


def main() -> int:
    """Test every requested version that is found; fail if one fails or none is found."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("versions", nargs="*", default=list(VERSIONS), metavar="VERSION")
    own, for_pytest = _split(sys.argv[1:])
    outcomes: dict[str, str] = {}
    for version in parser.parse_args(own).versions:
        python = interpreter(version)
        if python is None:
            outcomes[version] = "not found"
            continue
        command = [str(environment(version, python)), "-m", "pytest", *(for_pytest or CORE)]
        print(f"Python {version}: {python}", flush=True)
        done = subprocess.run(command, cwd=ROOT, check=False)
        outcomes[version] = "passed" if done.returncode == 0 else "FAILED"
    print("\n".join(f"Python {version}: {outcome}" for version, outcome in outcomes.items()))
    return 1 if "FAILED" in outcomes.values() or set(outcomes.values()) == {"not found"} else 0


def _split(arguments: list[str]) -> tuple[list[str], list[str]]:
    """Return the arguments for this program and those for pytest."""
    at = arguments.index("--") if "--" in arguments else len(arguments)
    return arguments[:at], arguments[at + 1 :]


if __name__ == "__main__":
    sys.exit(main())
