"""A module imports only from rows above its own (docs/architecture.md)."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "loopylatent"

ROWS: tuple[tuple[str, ...], ...] = (
    ("errors", "_version", "_kernels", "_kernels.jit"),
    ("_kernels.extension", "_kernels.spanning"),
    ("_kernels.quartets",),
    ("settings", "graph"),
    ("trace",),
    ("tables",),
    ("kinds",),
    ("intake",),
    ("data",),
    ("samples", "strengths"),
    ("distances",),
    ("initial_graph", "thresholds"),
    ("grouping.base",),
    ("grouping.quartet",),
    ("grouping",),
    ("workspace",),
    ("learn",),
    ("communities", "matching"),
    ("synthetic",),
    ("layout",),
    ("figures.network",),
    ("figures",),
    ("export",),
    ("api",),
    ("estimator", "cli"),
    ("__init__",),
    ("__main__", "ui", "ui.graph_view"),
)
"""From the top of the house down; modules of one row do not import each other.

The package itself stands above ``ui``, so that ``import loopylatent`` cannot bring in streamlit.
"""

SIDEWAYS: frozenset[tuple[str, str]] = frozenset()
"""Pairs (importer, imported) of one row that are allowed all the same."""

ROW = {module: row for row, modules in enumerate(ROWS) for module in modules}
NO_ARITHMETIC = ("numpy", "scipy")


def module_name(path: Path) -> str:
    """The name of a module of the package without the package's own: ``grouping.base``."""
    parts = path.relative_to(ROOT / PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


FILES = {module_name(path): path for path in sorted((ROOT / PACKAGE).rglob("*.py"))}
PAGES = sorted([*ROOT.glob("app.py"), *(ROOT / "pages").glob("*.py")])


def imported(source: str, module: str, known: set[str]) -> Iterator[str]:
    """All that a module imports, wherever in it: modules of the package by their short names."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (short_name(alias.name, known) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            origin = node.module or ""
            if node.level:
                package = f"{PACKAGE}.{module}".split(".")[: -node.level]
                origin = ".".join([*package, *origin.split(".")]).rstrip(".")
            for alias in node.names:
                whole = short_name(f"{origin}.{alias.name}", known)
                if whole in known:
                    yield whole
                if whole not in known or origin == PACKAGE:  # a name of the package may be either
                    yield short_name(origin, known)


def short_name(name: str, known: set[str]) -> str:
    """``loopylatent.graph`` as ``graph``, the package itself as ``__init__``, others unchanged."""
    if name == PACKAGE:
        return "__init__"
    inside = name.removeprefix(f"{PACKAGE}.")
    return inside if inside in known else name


def may_import(importer: str, other: str) -> bool:
    return ROW[other] < ROW[importer] or (importer, other) in SIDEWAYS


def wrong_imports(source: str, module: str, known: set[str]) -> list[str]:
    found = sorted(known.intersection(imported(source, module, known)))
    return [name for name in found if name != module and not may_import(module, name)]


def foreign_packages(path: Path) -> set[str]:
    source = path.read_text(encoding="utf-8")
    return {name.split(".")[0] for name in imported(source, path.stem, set())}


@pytest.mark.parametrize("module", FILES)
def test_module_has_a_row(module: str):
    assert module in ROW, (
        f"{PACKAGE}.{module} has no row: put it into ROWS of {Path(__file__).name}, below "
        "everything that it imports, and into docs/architecture.md"
    )


def test_every_row_names_modules_that_exist():
    listed = [module for row in ROWS for module in row]
    assert sorted(set(listed)) == sorted(listed), "a module is listed twice"
    assert set(listed) <= set(FILES), f"gone: {sorted(set(listed) - set(FILES))}"


@pytest.mark.parametrize("module", [module for module in FILES if module in ROW])
def test_module_imports_only_from_rows_above(module: str):
    source = FILES[module].read_text(encoding="utf-8")
    wrong = wrong_imports(source, module, set(ROW))
    assert not wrong, f"{PACKAGE}.{module} imports from its own row or from below: {wrong}"


@pytest.mark.parametrize("module", [name for name in FILES if name.split(".")[0] != "ui"])
def test_streamlit_stays_outside_the_core(module: str):
    assert "streamlit" not in foreign_packages(FILES[module])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_page_does_no_arithmetic(page: Path):
    assert not foreign_packages(page) & set(NO_ARITHMETIC)


@pytest.mark.parametrize(
    ("source", "module", "wrong"),
    [
        ("from loopylatent.learn import learn", "graph", ["learn"]),
        ("from loopylatent import learn", "graph", ["__init__", "learn"]),
        ("from loopylatent import read_table", "graph", ["__init__"]),
        ("import loopylatent.learn as inner", "graph", ["learn"]),
        ("from .base import LocalTree", "grouping.quartet", []),
        ("from ..learn import learn", "grouping.base", ["learn"]),
        ("def f():\n    from loopylatent import graph", "settings", ["__init__", "graph"]),
        ("from loopylatent.errors import DataError\nimport numpy as np", "graph", []),
    ],
)
def test_checker_sees_every_form_of_import(source: str, module: str, wrong: list[str]):
    assert wrong_imports(source, module, set(ROW)) == wrong
