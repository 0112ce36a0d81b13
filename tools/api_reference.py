"""Write docs/api.md from the docstrings of the public names: python tools/api_reference.py

``--check`` writes nothing and says what lacks a description, and whether the page is up to date.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import re
import sys
import textwrap
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import loopylatent  # noqa: E402  (from this checkout)

PAGE = ROOT / "docs" / "api.md"
HEAD = """# The Python names

Everything that `import loopylatent as ll` gives. Written by `python tools/api_reference.py` from
the docstrings; a test sees that it is up to date. The examples run in the tests.
"""
CHAPTERS = {
    "Data": (
        "read_table", "Observations", "read_sparse", "scan_table", "BlockTable", "load_sample",
        "sample_names", "Sample",
    ),
    "Distances": (
        "information_distances", "DistanceMatrix", "read_distances", "sparse_distances",
        "SparseDistances",
    ),
    "Learning": (
        "learn", "LearnResult", "RegularizedResult", "LatentGraph", "LocalCLGrouping",
        "initial_graph", "edge_density", "EdgeDensity", "iter_steps", "replay",
    ),
    "Thresholds": (
        "default_thresholds", "loop_radius", "settings_for", "Thresholds", "LearnSettings",
        "suggest", "Suggestion", "sweep", "Sweep", "SweepPoint", "PointScores", "barcode", "Bar",
    ),
    "How sure": ("stability", "Stability", "over_seeds", "SeedEffect"),
    "Groups and topics": (
        "groups", "Groups", "communities", "cycle_groups", "topics", "Topic", "shared_columns",
        "coherence",
    ),
    "Probabilities and scores": (
        "fit_parameters", "Model", "FitSettings", "Scores", "contestants", "Contestant",
        "iter_evaluations", "fit_lda",
    ),
    "Comparing graphs": ("structure_error", "match_hidden"),
    "Taking it away": (
        "export", "examine", "Findings", "to_report", "write_report", "Recipe", "Project",
        "open_project", "write_project",
    ),
    "Made-up models": ("synthetic", "laboratory", "theory"),
    "Errors": (
        "LoopyLatentError", "DataError", "DistanceError", "ThresholdError", "InferenceError",
        "LimitError",
    ),
}  # fmt: skip
REST = "More"
WIDTH = 100
_UNDERLINE = re.compile(r"^(\w[\w ]*)\n-{3,}\n", flags=re.MULTILINE)
_ENTRY = re.compile(r"^(\*{0,2}\w[\w, *]*?)(?: ?: ?(.*))?$")
_RETURNING = re.compile(r"(Return|Yield)s? ")


@dataclass(frozen=True)
class Entry:
    """What a docstring says of one or several parameters, or of a result."""

    names: tuple[str, ...]
    kind: str
    text: str


@dataclass(frozen=True)
class Doc:
    """A docstring in its parts."""

    words: str
    parts: dict[str, str]

    @classmethod
    def of(cls, thing: Any) -> Doc:
        """Split the docstring of something at its underlined titles."""
        pieces = _UNDERLINE.split(own_doc(thing))
        titles, texts = pieces[1::2], pieces[2::2]
        return cls(
            pieces[0].strip(),
            {title: text.rstrip() for title, text in zip(titles, texts, strict=True)},
        )

    @property
    def summary(self) -> str:
        """The first sentence."""
        return " ".join(self.words.split("\n\n")[0].split())

    def entries(self, part: str) -> list[Entry]:
        """The entries of one part, such as Parameters."""
        found: list[Entry] = []
        for block in re.split(r"\n(?=\S)", self.parts.get(part, "").strip("\n")):
            first, _, rest = block.partition("\n")
            match = _ENTRY.match(first)
            if match and part != "Returns":
                names = tuple(name.strip(" *") for name in match.group(1).split(","))
                found.append(Entry(names, match.group(2) or "", flowed(rest)))
            elif first:
                found.append(Entry((), first, flowed(rest)))
        return found


def own_doc(thing: Any) -> str:
    """The docstring of something; what a class inherits from elsewhere does not count."""
    text = thing.__doc__ if isinstance(thing, type) else inspect.getdoc(thing)
    return inspect.cleandoc(text or "")


def flowed(text: str) -> str:
    """One line of Markdown."""
    return markdown(" ".join(text.split()))


def markdown(text: str) -> str:
    """The marks of a docstring as Markdown: names in single backquotes."""
    text = re.sub(r":\w+:(?=`)", "", text)
    return text.replace("``", "`").replace("<", "&lt;")


def public_names() -> list[str]:
    """All public names but the version."""
    return [name for name in loopylatent.__all__ if name != "__version__"]


def chapters() -> dict[str, list[str]]:
    """The public names by chapter; those that no chapter has come last."""
    public = set(public_names())
    found = {title: [n for n in names if n in public] for title, names in CHAPTERS.items()}
    placed = {name for names in found.values() for name in names}
    rest = sorted(public - placed)
    return found | ({REST: rest} if rest else {})


def parameters(thing: Any) -> dict[str, inspect.Parameter]:
    """What something is called with."""
    return dict(inspect.signature(thing).parameters)


def signature(name: str, thing: Any) -> str:
    """The call in one line, or with a line for each parameter."""
    given = inspect.signature(thing)
    if isinstance(thing, type):
        given = given.replace(return_annotation=inspect.Signature.empty)
    text = f"{name}{given}"
    text = re.sub(r"(: |-> )'([^']*(?:'[^']*'[^']*)*?)'(?=[,)= ]|$)", r"\1\2", text)
    if len(text) <= WIDTH:
        return text
    opening, closing = text.index("("), text.rindex(")")
    inside = split_at_commas(text[opening + 1 : closing])
    lines = "".join(f"    {part},\n" for part in inside)
    return f"{text[:opening]}(\n{lines}){text[closing + 1 :]}"


def split_at_commas(text: str) -> list[str]:
    """Split at the commas that stand in no bracket."""
    parts, depth = [""], 0
    for character in text:
        depth += (character in "([{") - (character in ")]}")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts]


def members(thing: type) -> Iterator[tuple[str, Any]]:
    """The public methods and properties that a class has from this package, by name."""
    found: dict[str, Any] = {}
    for owner in reversed(thing.__mro__):
        if owner.__module__.startswith("loopylatent") and not issubclass(owner, Exception):
            found |= {
                name: value
                for name, value in vars(owner).items()
                if not name.startswith("_")
                and (
                    callable(value) or isinstance(value, (classmethod, property)) or is_lazy(value)
                )
            }
    yield from sorted(found.items())


def is_lazy(value: Any) -> bool:
    """Whether it is a property that is computed once."""
    return type(value).__name__ == "cached_property"


def entry(name: str) -> str:
    """The part of the page about one name."""
    thing = getattr(loopylatent, name)
    if isinstance(thing, ModuleType):
        return f"### `{name}`\n\n{module_text(thing)}"
    doc = Doc.of(thing)
    parts = [f"### `{name}`"]
    if not (isinstance(thing, type) and issubclass(thing, Exception)):
        parts.append(f"```text\n{signature(name, thing)}\n```")
    parts.append(markdown(doc.words))
    parts += [listed(part, doc.entries(part)) for part in doc.parts if part != "Examples"]
    if fields := field_entries(thing):
        parts.append(listed("Fields", fields))
    if isinstance(thing, type):
        parts += member_table(thing)
    if "Examples" in doc.parts:
        parts.append(examples(doc.parts["Examples"]))
    return "\n\n".join(parts)


def listed(title: str, entries: list[Entry]) -> str:
    """Entries as a list under a title."""
    rows = []
    for one in entries:
        names = ", ".join(f"`{name}`" for name in one.names)
        head = " : ".join(filter(None, (names, markdown(one.kind))))
        rows.append(f"- {head}" + (f". {one.text}" if one.text else ""))
    return f"**{title}**\n\n" + "\n".join(rows)


def member_table(thing: type) -> list[str]:
    """Methods and properties with what they say of themselves."""
    rows = []
    for name, value in members(thing):
        inner = value.__func__ if isinstance(value, classmethod) else value
        is_call = inspect.isfunction(inner)
        said = markdown(Doc.of(inner.fget if isinstance(inner, property) else inner).summary)
        called = call(name, inner) if is_call else name
        rows.append(f"| `{called}` | {said.replace('|', chr(92) + '|')} |")
    if not rows:
        return []
    return ["| member | |\n|---|---|\n" + "\n".join(rows)]


def call(name: str, function: Any) -> str:
    """A method with the names of its parameters."""
    names = [one for one in parameters(function) if one not in ("self", "cls")]
    return f"{name}({', '.join(names)})"


def examples(text: str) -> str:
    """The examples as they stand, words between them as words."""
    parts: list[str] = []
    for block in text.strip("\n").split("\n\n"):
        is_code = block.lstrip().startswith(">>>")
        parts.append(f"```pycon\n{block}\n```" if is_code else markdown(block))
    return "**Examples**\n\n" + "\n\n".join(parts)


def module_text(module: ModuleType) -> str:
    """A module: what it is, and a line for each of its names."""
    rows = [
        f"| `{module.__name__.rpartition('.')[2]}.{name}` | {said.replace('|', chr(92) + '|')} |"
        for name, value in module_members(module)
        if (said := markdown(Doc.of(value).summary))
    ]
    return f"{markdown(Doc.of(module).words)}\n\n| name | |\n|---|---|\n" + "\n".join(rows)


def module_members(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """The public functions and classes of a module."""
    names = getattr(module, "__all__", None) or sorted(vars(module))
    for name in names:
        value = getattr(module, name)
        is_own = str(getattr(value, "__module__", "")).startswith(module.__name__)
        if (
            not name.startswith("_")
            and is_own
            and (inspect.isfunction(value) or isinstance(value, type))
        ):
            yield name, value


def gaps() -> list[str]:
    """What the docstrings of the public names leave out."""
    found: list[str] = []
    for name in public_names():
        thing = getattr(loopylatent, name)
        doc = Doc.of(thing)
        if not doc.summary:
            found.append(f"{name} has no docstring")
        if is_called(thing):
            found += [f"{name}: {gap}" for gap in call_gaps(thing, doc)]
    return found


def is_called(thing: Any) -> bool:
    """Whether it is a function or a class that people make things of."""
    is_error = isinstance(thing, type) and issubclass(thing, Exception)
    return not isinstance(thing, ModuleType) and not is_error


def call_gaps(thing: Any, doc: Doc) -> Iterator[str]:
    """What a docstring leaves out of a call, and what it says of parameters that are not there."""
    described = {name for one in doc.entries("Parameters") for name in one.names}
    fields = {name for one in field_entries(thing) for name in one.names}
    for name in parameters(thing):
        if name not in described | fields:
            yield f"parameter {name} is not described"
    for name in sorted(described - set(parameters(thing))):
        yield f"describes {name}, which is no parameter"
    says = "Returns" in doc.parts or "Yields" in doc.parts or _RETURNING.match(doc.summary)
    if not isinstance(thing, type) and not says:
        yield "does not say what it returns"


def field_entries(thing: Any) -> list[Entry]:
    """The fields of a class that are described below their own lines, inherited ones first."""
    found: dict[str, Entry] = {}
    for owner in reversed(getattr(thing, "__mro__", ())):
        if not owner.__module__.startswith("loopylatent"):
            continue
        (tree,) = ast.parse(textwrap.dedent(inspect.getsource(owner))).body
        assert isinstance(tree, ast.ClassDef)
        for line, below in pairwise(tree.body):
            if isinstance(line, ast.AnnAssign) and isinstance(below, ast.Expr):
                name, kind = ast.unparse(line.target), ast.unparse(line.annotation)
                text = inspect.cleandoc(ast.literal_eval(below.value))
                found[name] = Entry((name,), f"`{kind}`", flowed(text))
    return list(found.values())


def anchors() -> dict[str, str]:
    """Where the links to the names lead: headings alike but for capitals are numbered."""
    seen: Counter[str] = Counter()
    found: dict[str, str] = {}
    for title, names in chapters().items():
        seen[title.lower().replace(" ", "-")] += 1
        for name in names:
            heading = name.lower()
            found[name] = f"{heading}-{seen[heading]}" if seen[heading] else heading
            seen[heading] += 1
    return found


def page() -> str:
    """The whole page."""
    where = anchors()
    contents = [
        f"- **{title}:** " + ", ".join(f"[`{name}`](#{where[name]})" for name in names)
        for title, names in chapters().items()
    ]
    bodies = [
        f"## {title}\n\n" + "\n\n".join(map(entry, names)) for title, names in chapters().items()
    ]
    return "\n".join([HEAD, *contents]) + "\n\n" + "\n\n".join(bodies) + "\n"


def main() -> int:
    """Write the page, or check it."""
    parser = argparse.ArgumentParser(description=__doc__.split(":")[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="write nothing, say what is wrong")
    if not parser.parse_args().check:
        PAGE.write_text(page(), encoding="utf-8")
        return 0
    wrong = gaps()
    if not PAGE.exists() or PAGE.read_text(encoding="utf-8") != page():
        wrong.append("docs/api.md is out of date; run: python tools/api_reference.py")
    print("\n".join(wrong) or "docs/api.md is up to date and complete")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
