"""docs/api.md is what the docstrings say now, and the docstrings say everything."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

import pytest

import loopylatent as ll

ROOT = Path(__file__).resolve().parent.parent
TOOL: dict[str, Any] = runpy.run_path(str(ROOT / "tools" / "api_reference.py"))
PAGE = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")


def test_every_public_name_parameter_and_result_is_described():
    assert TOOL["gaps"]() == []


def test_the_page_is_what_the_tool_writes_now():
    assert TOOL["page"]() == PAGE, "run: python tools/api_reference.py"


def test_the_page_has_every_public_name_once():
    headings = re.findall(r"^### `(\w+)`$", PAGE, flags=re.MULTILINE)
    assert sorted(headings) == sorted(set(ll.__all__) - {"__version__"})


def test_the_links_of_the_contents_lead_to_headings():
    headings = re.findall(r"^##+ (.+)$", PAGE, flags=re.MULTILINE)
    seen: list[str] = []
    for heading in headings:  # as GitHub names them
        name = re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")
        earlier = sum(re.fullmatch(rf"{name}(-\d+)?", one) is not None for one in seen)
        seen.append(f"{name}-{earlier}" if earlier else name)
    links = re.findall(r"\]\(#([\w-]+)\)", PAGE)
    assert len(links) == len(set(ll.__all__)) - 1
    assert set(links) <= set(seen)


def function_without_words(left: int, right: int = 2) -> int:
    """Add.

    Parameters
    ----------
    left : int
    wrong : int
    """
    return left + right


def test_the_check_sees_what_is_missing():
    doc = TOOL["Doc"].of(function_without_words)
    assert list(TOOL["call_gaps"](function_without_words, doc)) == [
        "parameter right is not described",
        "describes wrong, which is no parameter",
        "does not say what it returns",
    ]


@pytest.mark.parametrize(("name", "words"), [("n_stuck", "larger Lambda"), ("trace", "Every step")])
def test_fields_that_are_described_below_their_lines_are_found(name, words):
    found = {one.names[0]: one.text for one in TOOL["field_entries"](ll.LearnResult)}
    assert words in found[name]
    assert name in {one.names[0] for one in TOOL["field_entries"](ll.RegularizedResult)}


def test_a_long_call_has_a_line_for_each_parameter():
    lines = TOOL["signature"]("learn", ll.learn).splitlines()
    assert lines[0] == "learn("
    assert "    Lambda: float | None = None," in lines
    assert lines[-1] == ") -> LearnResult"
