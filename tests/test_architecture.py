"""A module imports only from rows above its own (docs/architecture.md)."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "loopylatent"

ROWS: tuple[tuple[str, ...], ...] = (
    ("errors", "_version", "_kernels", "_kernels.jit", "blas", "bundled", "cycle_basis", "pool"),
    (
        "_kernels.circuit",
        "_kernels.clamped",
        "_kernels.elimination",
        "_kernels.extension",
        "_kernels.families",
        "_kernels.gaps",
        "_kernels.layout",
        "_kernels.near_pairs",
        "_kernels.neighbor_joining",
        "_kernels.pair_cache",
        "_kernels.spanning",
    ),
    (
        "_kernels.circuit_run",
        "_kernels.gibbs",
        "_kernels.lazy_distances",
        "_kernels.list_trees",
        "_kernels.propagation",
        "_kernels.quartets",
    ),
    ("amounts", "settings", "graph", "limits"),
    ("files", "headers", "long_numbers", "plain_values", "project_archive", "trace"),
    ("delimited", "parquet", "workbook"),
    ("tables",),
    ("kinds",),
    ("intake",),
    ("data",),
    (
        "block_parquet",
        "block_text",
        "checkpoint",
        "cluster",
        "column_scan",
        "moments",
        "sparse_files",
    ),
    ("block_files", "column_coding"),
    ("block_table",),
    ("block_scan", "block_sums"),
    ("samples", "strengths"),
    ("distance_checks", "noise_floor"),
    ("distances",),
    ("distance_files",),
    ("sparse_distances",),
    (
        "inference.elimination",
        "inference.evidence",
        "inference.layout",
        "inference.optimise",
        "scoring",
    ),
    ("inference.circuit", "inference.start"),
    ("inference.exact", "inference.gaussian", "inference.lbp"),
    ("inference.discrete",),
    ("inference.families",),
    ("inference.model",),
    ("inference.fit",),
    ("inference",),
    ("saved_model",),
    ("additivity", "initial_graph", "thresholds"),
    ("grouping.base", "waiting"),
    ("grouping.quartet", "grouping.relaxed", "grouping.neighbor_joining"),
    ("grouping",),
    ("node_distances",),
    ("workspace",),
    ("learn",),
    ("regularize",),
    ("resampling",),
    ("communities", "loops", "matching"),
    ("structure_error", "support"),
    ("compare", "consensus"),
    ("seeds",),
    ("stability",),
    ("sweep_points",),
    ("barcode", "sweep_scores"),
    ("compare_scores", "sweep"),
    ("suggest",),
    ("belief_estimate", "coherence", "cycle_groups", "lda_parameters", "topics"),
    ("lda",),
    ("evaluate",),
    ("results",),
    ("synthetic.checks", "synthetic.discrete", "synthetic.gaussian", "synthetic.one_cycle"),
    ("synthetic.gibbs", "synthetic.skeletons"),
    ("synthetic.model",),
    ("synthetic.families",),
    ("synthetic.specification",),
    ("synthetic",),
    ("laboratory", "theory_limits"),
    ("theory_ensemble",),
    ("theory",),
    ("experiment", "theory_tables"),
    ("layout_packing", "simplify"),
    ("layout",),
    ("label_sides",),
    ("figures.given", "figures.looks"),
    ("figures.network",),
    (
        "figures.curve",
        "figures.described",
        "figures.difference",
        "figures.distribution",
        "figures.svg",
        "figures.sweep",
    ),
    (
        "figures.barcode",
        "figures.grid",
        "figures.curve_svg",
        "figures.comparison",
        "figures.recovery",
        "figures.support",
    ),
    ("figures.bounds",),
    ("figures",),
    ("nodes", "warm_up"),
    ("export.base", "overview"),
    ("export.formats", "export.page"),
    ("export",),
    ("support_table",),
    ("escapes", "recipe_checks"),
    ("recipe",),
    ("project_checks",),
    ("project",),
    ("report", "report.words"),
    ("report.findings",),
    ("report.rows",),
    ("report.content",),
    ("report.page",),
    (
        "lesson.words",
        "lesson.pseudocode",
        "lesson.cast",
        "lesson.balls",
        "lesson.quartets",
        "lesson.pairs",
        "lesson.presets",
    ),
    ("lesson.places", "lesson.replaying", "lesson.markup", "lesson.heatmap"),
    ("lesson.frames", "lesson.material"),
    ("lesson.visits",),
    ("lesson.chapters_data", "lesson.chapter_methods", "lesson.chapter_result"),
    ("lesson.chapter_grouping", "lesson.guesses"),
    ("lesson.lesson",),
    ("lesson.drawing",),
    ("lesson.page",),
    ("lesson",),
    ("cli_blocks", "cli_output", "cli_sparse", "cli_words"),
    (
        "api",
        "cli_app",
        "cli_input",
        "cli_laboratory",
        "cli_options",
        "cli_report",
        "cli_sweep",
        "notebook",
    ),
    ("cli_stability",),
    ("estimator", "cli"),
    ("__init__",),
    ("__main__", "ui"),
    ("ui.plain", "ui.upkeep"),
    ("ui.refusal",),
    (
        "ui.background",
        "ui.evaluate_words",
        "ui.graph_view",
        "ui.lesson_bound",
        "ui.lesson_keys",
        "ui.memo",
        "ui.ranges",
        "ui.tune_keys",
        "ui.words",
    ),
    (
        "ui.lab_words",
        "ui.patience",
        "ui.stages",
        "ui.theory_words",
        "ui.tune_words",
        "ui.understanding",
    ),
    ("ui.link",),
    ("ui.state", "ui.lesson_style"),
    ("ui.evaluate_state", "ui.lab_state", "ui.lesson_state"),
    (
        "ui.chance",
        "ui.fit",
        "ui.lab_controls",
        "ui.large",
        "ui.lesson_inspector",
        "ui.lesson_why",
        "ui.opening",
        "ui.sure",
    ),
    ("ui.saved",),
    ("ui.colours", "ui.open_data", "ui.panel"),
    ("ui.controls", "ui.pins", "ui.scene"),
    ("ui.page", "ui.report", "ui.take_away"),
    (
        "ui.compare_state",
        "ui.evaluate_scores",
        "ui.evaluate_topics",
        "ui.explore",
        "ui.help",
        "ui.lab",
        "ui.lesson_controls",
        "ui.lesson_details",
        "ui.theory_page",
        "ui.tune_state",
    ),
    ("ui.compare_tables", "ui.evaluate_meet", "ui.lesson", "ui.tune_panel"),
    ("ui.compare", "ui.evaluate", "ui.tune"),
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


def imported(source: str) -> Iterator[str]:
    """Everything that a module imports, wherever in it, by its full name."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            origin = "." * node.level + (node.module or "")
            yield origin
            yield from (f"{origin}.{alias.name}" for alias in node.names)


def may_import(importer: str, other: str) -> bool:
    return ROW[other] < ROW[importer] or (importer, other) in SIDEWAYS


def wrong_imports(source: str, module: str) -> list[str]:
    """Modules of the package that ``module`` may not import but does, and relative imports."""
    names = set(imported(source))
    inside = [other for other in ROW if full_name(other) in names and other != module]
    relative = [name for name in names if name.startswith(".")]
    return sorted([other for other in inside if not may_import(module, other)] + relative)


def full_name(module: str) -> str:
    return PACKAGE if module == "__init__" else f"{PACKAGE}.{module}"


def packages_used(path: Path) -> set[str]:
    return {name.split(".")[0] for name in imported(path.read_text(encoding="utf-8"))}


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
    wrong = wrong_imports(source, module)
    assert not wrong, f"{PACKAGE}.{module} imports from its own row or from below: {wrong}"


@pytest.mark.parametrize("module", [name for name in FILES if name.split(".")[0] != "ui"])
def test_streamlit_stays_outside_the_core(module: str):
    assert "streamlit" not in packages_used(FILES[module])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_page_does_no_arithmetic(page: Path):
    assert not packages_used(page) & set(NO_ARITHMETIC)


@pytest.mark.parametrize(
    ("source", "module", "wrong"),
    [
        ("from loopylatent.learn import learn", "graph", ["learn"]),
        ("from loopylatent import learn", "graph", ["__init__", "learn"]),
        ("from loopylatent import read_table", "graph", ["__init__"]),
        ("import loopylatent.learn as inner", "graph", ["learn"]),
        ("import loopylatent as ll", "cli", ["__init__"]),
        ("from .base import LocalTree", "grouping.quartet", [".base", ".base.LocalTree"]),
        ("def f():\n    from loopylatent import graph", "settings", ["__init__", "graph"]),
        ("from loopylatent.errors import DataError\nimport trace", "graph", []),
        ("import loopylatent as ll", "ui", []),
    ],
)
def test_checker_sees_every_form_of_import(source: str, module: str, wrong: list[str]):
    assert wrong_imports(source, module) == wrong
