"""Layers import in one direction (import-linter, pyproject.toml); pages draw, not compute."""

from __future__ import annotations

import ast
from pathlib import Path

from importlinter import cli

ROOT = Path(__file__).resolve().parents[2]
MOST_FILES = 8
"""Files at the top level of the package."""


def imported(path: Path) -> set[str]:
    """Return the packages that a file imports anywhere."""
    found = set[str]()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add((node.module or "").split(".")[0] if not node.level else "." * node.level)
    return found


def test_layers_import_in_one_direction(monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    assert cli.lint_imports(no_cache=True) == 0, capsys.readouterr().out


def test_pages_do_no_arithmetic():
    pages = [ROOT / "app.py", *(ROOT / "pages").glob("*.py")]
    assert {page.name: imported(page) & {"numpy", "scipy"} for page in pages} == {
        page.name: set() for page in pages
    }


def test_modules_are_imported_by_their_full_names():
    relative = [path for path in (ROOT / "loopylatent").rglob("*.py") if "." in imported(path)]
    assert not relative


def test_the_package_has_few_top_level_files():
    files = [path for path in (ROOT / "loopylatent").iterdir() if path.is_file()]
    assert len(files) <= MOST_FILES, sorted(path.name for path in files)


def test_every_subpackage_has_a_docstring():
    folders = [path.parent for path in (ROOT / "loopylatent").rglob("*.py")]
    without = [
        folder
        for folder in set(folders)
        if not ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8")))
    ]
    assert not without
