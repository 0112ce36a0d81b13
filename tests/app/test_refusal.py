"""Refusals speak of buttons and fields on a page, and never of Python."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers import laboratory_page as laboratory
from helpers.app import button, finished, opened, probabilities, ran, session_of
from helpers.nasty import csv_of, numbers
from helpers.uploads import BUTTONS, RING, pressed, shown
from streamlit.testing.v1 import AppTest

from loopylatent.ui.open.dialog import DISTANCES, TABLE
from loopylatent.ui.shell.messages import IN_PAGE_WORDS, in_page_words
from loopylatent.ui.theory.page import OWN

PACKAGE = Path(__file__).resolve().parents[2] / "loopylatent"
PYTHON = re.compile(
    r"""
    \w\(                                # a call
    | \w=[\w'"{\[(]                     # a keyword
    | \b[A-Za-z]+_\w+                   # a name in code
    | \b[A-Za-z]\w*\.[a-z]\w+           # an attribute
    | \bNone\b
    | \b(?:[Uu]se|[Gg]ive|choose|or)\ ' # a value in quotes
    """,
    re.VERBOSE,
)
"""What only a program can follow, or a person who reads one."""
COMMAND_LINE = "cli"
"""Modules of the command line, which has words of its own."""

NOT_CALLED = "no page calls it"
NO_SUCH_CHOICE = "no page gives this choice a value of its own"
LIMITED = "the field or list on the page offers no such value"
OF_A_FILE = "names a part of a link, a project or the installation as it stands there"
UNREACHABLE = {
    "max_hidden is for": NOT_CALLED,
    "regularize = ": NOT_CALLED,
    "regularize='bic'": NOT_CALLED,
    "a LearnResult is wanted": NOT_CALLED,
    "a DistanceMatrix is wanted": NOT_CALLED,
    "block_rows = ": NOT_CALLED,
    "engine='dask'": NOT_CALLED,
    "Observations.from_": NOT_CALLED,
    "read_table(path)": NOT_CALLED,
    "use from_array for arrays": NOT_CALLED,
    "read in blocks": NOT_CALLED,
    "result.graph": NOT_CALLED,
    "learn(D).graph": NOT_CALLED,
    "use read_distances": NOT_CALLED,
    "Matrix Market": NOT_CALLED,
    "have no correlation": NOT_CALLED,
    "try delimiter=": NO_SUCH_CHOICE,
    "n_simulations = ": NO_SUCH_CHOICE,
    "max_hidden = ": NO_SUCH_CHOICE,
    "n_seeds = ": NO_SUCH_CHOICE,
    "max_outsiders = ": NO_SUCH_CHOICE,
    "most_drawn = ": NO_SUCH_CHOICE,
    "test_share = ": NO_SUCH_CHOICE,
    "n_resamples = ": LIMITED,
    "on_degenerate = ": LIMITED,
    "is no rule": LIMITED,
    "'noise' or 'orders'": LIMITED,
    "n_states": LIMITED,
    "random_signs": LIMITED,
    "written_by": OF_A_FILE,
    "data_digest is": OF_A_FILE,
    "sample_data": OF_A_FILE,
    "samples.json": OF_A_FILE,
    "layout.positions(graph)": "pages draw at places that the layout gave",
    "beyond the cut-off": "pages keep all distances",
    "recipe.settings": "the page learns with the recipe that it reports",
    "out of reach": "the Laboratory takes lengths of paths instead",
}
"""What advises Python where no page can come, and why."""
CHECKED = {
    "drop_degenerate": OF_A_FILE,
    "source_kind": OF_A_FILE,
    "largest_table": NO_SUCH_CHOICE,
    "max_steps": NO_SUCH_CHOICE,
    "n_starts": NO_SUCH_CHOICE,
    "n_hidden": LIMITED,
    "n_nodes": LIMITED,
    "n_observed_inner": LIMITED,
    "n_states": LIMITED,
}
"""Names in code that a function which checks any number or word puts into its refusal."""


# All texts of the package ------------------------------------------------------------------


def strings(node: ast.AST) -> Iterator[str]:
    """Texts in a piece of code; what is put into them is a 7."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    if not isinstance(node, ast.JoinedStr):
        for child in ast.iter_child_nodes(node):
            yield from strings(child)
        return
    yield "".join(str(p.value) if isinstance(p, ast.Constant) else "7" for p in node.values)
    for part in node.values:
        if isinstance(part, ast.FormattedValue):
            yield from strings(part.value)


def error_texts(tree: ast.AST) -> Iterator[str]:
    """What is raised, what functions that return errors say, and the parts that these name."""
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        gives_error = function.returns is not None and "Error" in ast.unparse(function.returns)
        ends = ast.Raise | ast.Return if gives_error else ast.Raise
        raised = [node for node in ast.walk(function) if isinstance(node, ends)]
        named = {n.id for node in raised for n in ast.walk(node) if isinstance(n, ast.Name)}
        for node in raised:
            yield from strings(node)
        for given in ast.walk(function):
            if isinstance(given, ast.Assign) and named & {ast.unparse(t) for t in given.targets}:
                yield from strings(given.value)
        for call in ast.walk(function):  # parts that another function puts into its message
            if isinstance(call, ast.Call) and ast.unparse(call.func) in ("_finite", "check_time"):
                yield from strings(call)


def trees() -> Iterator[ast.AST]:
    for path in sorted(PACKAGE.rglob("*.py")):
        if not path.name.startswith(COMMAND_LINE):
            yield ast.parse(path.read_text(encoding="utf-8"))


def advice_in_python() -> list[str]:
    texts = dict.fromkeys(text for tree in trees() for text in error_texts(tree))
    return [text for text in texts if PYTHON.search(text)]


def test_the_texts_are_found() -> None:
    texts = advice_in_python()
    assert len(texts) > 40
    assert any("select()" in text for text in texts)
    assert any("D.r_max" in text for text in texts)


@pytest.mark.parametrize("text", advice_in_python())
def test_advice_in_python_is_in_the_table_or_no_page_can_reach_it(text: str) -> None:
    out_of_reach = any(part in text for part in UNREACHABLE)
    assert out_of_reach or not PYTHON.search(in_page_words(text)), (
        "say in ui/refusal.py what a person does on the page instead"
    )


def test_names_that_checks_put_into_their_refusals_are_in_the_table_or_out_of_reach() -> None:
    functions = [f for tree in trees() for f in ast.walk(tree) if isinstance(f, ast.FunctionDef)]
    checks = {
        f.name: text
        for f in functions
        for raised in ast.walk(f)
        if isinstance(raised, ast.Raise)
        for text in strings(raised)
        if re.match(r"7 (=|is) [7(]", text)
    }
    calls = [call for tree in trees() for call in ast.walk(tree) if isinstance(call, ast.Call)]
    texts = {
        first.value: checks[ast.unparse(call.func)].replace("7", first.value, 1)
        for call in calls
        if ast.unparse(call.func) in checks and call.args
        for first in call.args[:1]
        if isinstance(first, ast.Constant) and isinstance(first.value, str) and "_" in first.value
    }
    in_table = {name for name, text in texts.items() if not PYTHON.search(
        in_page_words(text.replace("from 7 on", "from 3 on")))}  # fmt: skip
    assert in_table == {"n_samples"}
    assert set(texts) - in_table == set(CHECKED)


def test_every_text_that_is_listed_as_out_of_reach_is_still_there() -> None:
    texts = advice_in_python()
    assert [part for part in UNREACHABLE if not any(part in text for text in texts)] == []


def test_every_line_of_the_table_changes_some_text_of_the_package() -> None:
    texts = [text for tree in trees() for text in strings(tree)]
    texts = [text.replace("metric 7", "metric 'rank'") for text in texts]
    texts.append("n_samples is 2; it must be a whole number from 3 on.")  # of a check of any name
    table = {pattern for pattern, _ in IN_PAGE_WORDS}
    texts = [text for text in texts if text not in table]
    idle = [p for p, _ in IN_PAGE_WORDS if not any(re.search(p, text) for text in texts)]
    assert idle == []


def test_no_page_shows_a_refusal_without_the_table() -> None:
    bare = re.compile(r"\bplain\((?:str\()?[\w.\[\]]*(?:error|reason|refus|notice)\w*\b")
    for path in sorted((PACKAGE / "ui").glob("*.py")):
        assert not bare.search(path.read_text(encoding="utf-8")), path.name


# On the pages ------------------------------------------------------------------------------


def table(**more: list[str]) -> bytes:
    return csv_of(numbers().assign(**more))


def letters(n: int = 3) -> list[str]:
    return list(np.array(["a", "b", "c"][:n])[np.arange(len(numbers())) ** 2 % 7 % n])


def used(content: bytes) -> AppTest:
    page = shown(opened(sample=RING), TABLE, "mine.csv", content)
    return pressed(page, BUTTONS[TABLE])


def mixed_columns() -> AppTest:
    page = probabilities(ran(used(table(yes=letters(2)))))
    return finished(ran(button(page, "Fit probabilities").click()), "fit")


def repeated_column() -> AppTest:
    frame = numbers()
    content = csv_of(frame.assign(again=frame.iloc[:, 0]))
    page = shown(opened(sample=RING), TABLE, "mine.csv", content)
    next(one for one in page.button if one.label == "Open a file").click()
    next(one for one in page.checkbox if one.label.startswith("Leave out columns")).uncheck()
    page.run()
    return pressed(page, BUTTONS[TABLE])


def another_distance(metric: str) -> Callable[[], AppTest]:
    def page() -> AppTest:
        found = ran(used(table(letter=letters())))
        return ran(next(one for one in found.selectbox if one.label == "Distance").select(metric))

    return page


def two_rows_behind() -> AppTest:
    square = np.abs(np.subtract.outer(np.arange(4.0), np.arange(4.0)))
    content = csv_of(pd.DataFrame(square, columns=list("abcd")))
    page = shown(opened(sample=RING), DISTANCES, "d.csv", content)
    next(one for one in page.button if one.label == "Open a file").click()
    next(one for one in page.number_input if one.label.startswith("Rows behind")).set_value(2)
    return page.run()


def table_for_distances() -> AppTest:
    return shown(opened(sample=RING), DISTANCES, "d.csv", table())


def other_mark() -> AppTest:
    return shown(opened(sample=RING), TABLE, "t.csv", b"a~b~c\n1~2~3\n3~2~1\n2~1~3\n")


def link(**params: str) -> Callable[[], AppTest]:
    return lambda: opened(sample=RING, **params)


def own_numbers() -> AppTest:
    page = laboratory.opened(laboratory.THEORY)
    page = ran(next(o for o in page.radio if o.label.startswith("The numbers")).set_value(OWN))
    return ran(next(one for one in page.number_input if one.label == "θ min").set_value(3.0))


def model_of_numbers() -> AppTest:
    page = laboratory.opened(laboratory.LABORATORY)
    laboratory.lab_of(page).change(kind="gaussian")
    return ran(page.switch_page(laboratory.THEORY))


def tree_without_inside() -> AppTest:
    page = laboratory.opened(laboratory.LABORATORY)
    laboratory.lab_of(page).change(family="tree", n_inner=0)
    return ran(next(one for one in ran(page).number_input if one.label == "Hidden").set_value(0))


SAID: list[tuple[Callable[[], AppTest], str]] = [
    (mixed_columns, "press Columns and leave out those of other sorts, or make columns with two"),
    (repeated_column, "or tick the box that leaves such columns out (button Columns)"),
    (another_distance("rank"), "unordered states; the one by the kinds of the columns takes them."),
    (another_distance("determinant"), "The canonical correlation takes them."),
    (two_rows_behind, "2 rows behind the distances are too few; give at least 3, or 0 if that is"),
    (table_for_distances, "If it is a table of observations, choose A table above."),
    (other_mark, "put commas between the columns."),
    (link(r="-1"), "r = -1 is negative; a radius is at least the smallest distance."),
    (link(r="0.001"), "Use r of at least r min = "),
    (link(Lambda="2"), "Λ = 2 is not from 0 to below 1; try 0.5 / √n"),
    (link(tau="-1"), "τ = -1 is negative"),
    (own_numbers, "θ min = 3, θ max = "),
    (model_of_numbers, "has no Ising potentials."),
    (tree_without_inside, "Hidden and Inner are both 0; a tree needs an inner node."),
]


@pytest.mark.parametrize(("page", "says"), SAID, ids=[says[:24] for _, says in SAID])
def test_a_page_refuses_in_its_own_words(page: Callable[[], AppTest], says: str) -> None:
    found = page()
    assert [one.value for one in found.exception] == []
    texts = [one.value.replace("\\", "") for one in [*found.error, *found.info, *found.warning]]
    refused = [text for text in texts if says in text]
    assert refused, texts
    assert not PYTHON.search(refused[0].replace(".csv", ""))


def test_what_stands_in_quotes_stays() -> None:
    assert session_of(opened(sample=RING)).notice is None
    assert in_page_words("column 'Lambda = x' is constant") == "column 'Lambda = x' is constant"
