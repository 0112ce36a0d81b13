"""The README's examples run, and give what they say."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def test_the_python_example_runs_and_prints_what_it_says(tmp_path):
    (code,) = blocks("python")
    script = tmp_path / "example.py"
    script.write_text(code, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(script)],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    promised = re.search(r"# (LatentGraph\(.*\))", code)
    assert promised is not None
    assert promised.group(1) in done.stdout
    assert (tmp_path / "traits.graphml").exists()


@pytest.mark.parametrize(
    "line",
    [line for block in blocks("sh") for line in block.splitlines() if "-m loopylatent" in line],
)
def test_the_command_lines_run(line, tmp_path):
    words = shlex.split(line)
    assert words[0] == "python"
    (tmp_path / "answers.csv").write_text(
        "id,a,b,c,d\n"
        + "".join(f"{k},{k % 7},{k % 5 + k % 7},{k % 3},{k * k % 11}\n" for k in range(99))
    )
    done = subprocess.run(
        [sys.executable, *words[1:]],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_files_that_the_readme_names_exist():
    for target in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / target).exists(), target


def test_the_two_commands_are_in_the_makefile():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for command in ("run", "test", "test-long"):
        assert f"make {command}" in README
        assert re.search(rf"^{command}:", makefile, flags=re.MULTILINE)
