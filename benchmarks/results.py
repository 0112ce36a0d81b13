"""RESULTS.md in sections between marks, so that one can be updated without the others."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

RESULTS = Path(__file__).resolve().parent / "RESULTS.md"
HEAD = (
    "# Latest results\n\nWritten by `make bench`, section by section. "
    "[README.md](README.md) describes the benchmarks.\n"
)


def marked(name: str, text: str) -> str:
    """Put a text between the marks of a section."""
    return f"<!-- {name} -->\n{text.strip()}\n<!-- /{name} -->"


def sections(text: str) -> dict[str, str]:
    """Return the sections by name."""
    found = re.findall(r"<!-- (\w+) -->\n(.*?)\n?<!-- /\1 -->", text, flags=re.DOTALL)
    return dict(found)


def put(page: Path, name: str, text: str) -> None:
    """Replace an existing section of a page."""
    old = page.read_text(encoding="utf-8")
    before, rest = old.split(f"<!-- {name} -->\n")
    _, after = rest.split(f"<!-- /{name} -->")
    page.write_text(f"{before}{marked(name, text)}{after}", encoding="utf-8")


def write_section(name: str, text: str, order: Sequence[str], path: Path = RESULTS) -> None:
    """Add or replace one section of the results, keeping the order."""
    known = sections(path.read_text(encoding="utf-8")) if path.exists() else {}
    known[name] = text
    kept = [marked(one, known[one]) for one in order if one in known]
    path.write_text("\n\n".join([HEAD.strip(), *kept]) + "\n", encoding="utf-8")
