"""The lock files name every dependency with its version and the hashes of its files."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
FILES = ("requirements", "requirements-dev")
PINNED = re.compile(r"([A-Za-z0-9._-]+)==([A-Za-z0-9.!+]+)")
HASH = re.compile(r"--hash=sha256:[0-9a-f]{64}")


def normalised(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def required(file: str) -> dict[str, str]:
    """Names and versions of a requirements file and of those that it includes."""
    found: dict[str, str] = {}
    for line in (ROOT / f"{file}.txt").read_text(encoding="utf-8").splitlines():
        text = line.partition("#")[0].strip()
        if text.startswith("-r "):
            found |= required(text[3:].strip().removesuffix(".txt"))
        elif text:
            match = PINNED.match(text)
            assert match, f"{text} is not pinned to one version"
            found[normalised(match[1])] = match[2]
    return found


def locked(file: str) -> dict[str, tuple[str, int]]:
    """Names, versions and numbers of hashes of a lock file."""
    text = (ROOT / f"{file}.lock").read_text(encoding="utf-8").replace("\\\n", " ")
    found: dict[str, tuple[str, int]] = {}
    for line in text.splitlines():
        match = PINNED.match(line)
        if match:
            found[normalised(match[1])] = (match[2], len(HASH.findall(line)))
        else:
            assert line.startswith("#"), line
    return found


@pytest.mark.parametrize("file", FILES)
def test_everything_required_is_locked_at_the_same_version(file: str) -> None:
    lock = locked(file)
    for name, version in required(file).items():
        assert name in lock, f"{name} is not in {file}.lock; run make lock"
        assert lock[name][0] == version, f"{name} is locked at another version; run make lock"


@pytest.mark.parametrize("file", FILES)
def test_every_locked_package_has_hashes_and_no_url(file: str) -> None:
    lock = locked(file)
    assert len(lock) > len(required(file)), "indirect dependencies are locked too"
    assert [name for name, (_, n_hashes) in lock.items() if n_hashes == 0] == []
    text = (ROOT / f"{file}.lock").read_text(encoding="utf-8")
    assert not re.search(r"://|--index|--find-links|@ ", text)


def test_both_lock_files_agree() -> None:
    run, check = (locked(file) for file in FILES)
    assert {name: run[name] for name in run} == {name: check.get(name) for name in run}


@pytest.mark.parametrize(
    ("found", "status", "text"),
    [
        ([{"name": "a", "version": "1", "vulns": []}], 0, "no known vulnerability"),
        ([{"name": "a", "skip_reason": "not found"}], 0, "skipped"),
        (
            [{"name": "a", "version": "1", "vulns": [{"id": "X-1", "fix_versions": ["2"]}]}],
            1,
            "a 1 has X-1; fixed in 2",
        ),
    ],
)
def test_an_audit_prints_what_it_found(
    found: list[dict[str, Any]], status: int, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    verdict = runpy.run_path(str(ROOT / "tools" / "audit.py"))["verdict"]
    assert verdict("some.lock", found) == status
    assert text in capsys.readouterr().out
