"""Every Markdown page: its Python runs, its commands work, its links exist."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

import loopylatent as ll
from loopylatent.cli.main import _parser, main

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    path
    for pattern in ("*.md", "docs/**/*.md", "benchmarks/*.md", "sample_data/*.md")
    for path in ROOT.glob(pattern)
)
ELSEWHERE = {"docs/method/theory.md"}
"""Tested separately."""
LARGEST_PICTURE = 200_000
ANSWERS = "id,a,b,c,d\n" + "".join(
    f"{k},{k % 7},{k % 5 + k % 7},{k % 3},{k * k % 11}\n" for k in range(99)
)
ENTRIES = [
    f"{row + 1} {word + 1}\n"
    for row in range(99)
    for word in range(8)
    if (row + word // 4) % 3 == 0 or row % (word + 2) == 0
]
WORDS = "".join(
    ["%%MatrixMarket matrix coordinate pattern general\n", f"99 8 {len(ENTRIES)}\n", *ENTRIES]
)


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def blocks(path: Path, language: str) -> list[str]:
    text = path.read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)


def our_words(line: str) -> list[str] | None:
    """Return the arguments of our command, or None for other commands."""
    words = shlex.split(line, comments=True)
    for start in (["python", "-m", "loopylatent"], ["loopylatent"]):
        if words[: len(start)] == start:
            return words[len(start) :]
    return None


def commands() -> Iterator[tuple[str, str]]:
    """Yield the pages and the commands of ours in their blocks."""
    for path in PAGES:
        for block in blocks(path, "sh"):
            for line in block.replace("\\\n", " ").splitlines():
                if name_of(path) not in ELSEWHERE and our_words(line):
                    yield name_of(path), line


def mentioned() -> Iterator[tuple[str, str]]:
    """Yield commands inside sentences; they contain placeholders and are parsed, not run."""
    for path in PAGES:
        text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.S | re.M)
        for quoted in re.findall(r"(?<!`)`([^`]+)`(?!`)", text):
            line = " ".join(quoted.split())
            if re.match(r"(python -m )?loopylatent [a-z]+ \S", line):
                yield name_of(path), line


PYTHON = [path for path in PAGES if name_of(path) not in ELSEWHERE and blocks(path, "python")]


def in_a_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    Path("answers.csv").write_text(ANSWERS)
    Path("words.mtx").write_text(WORDS)
    Path("vocabulary.txt").write_text("".join(f"word{k}\n" for k in range(8)))


@pytest.mark.parametrize("path", PYTHON, ids=name_of)
def test_the_python_of_a_page_runs_from_top_to_bottom(path, tmp_path, monkeypatch, capsys):
    in_a_folder(tmp_path, monkeypatch)
    names: dict[str, object] = {"__name__": "__main__"}
    for block in blocks(path, "python"):
        exec(compile(block, name_of(path), "exec"), names)
        output = capsys.readouterr().out
        for expected in re.findall(r"# (LatentGraph\(.*\))", block):
            assert expected in output


def test_the_readme_shows_the_learned_graph():
    (example,) = blocks(ROOT / "README.md", "python")
    assert example.count("# LatentGraph(") == 1


@pytest.mark.parametrize("command", list(commands()), ids=": ".join)
def test_the_commands_of_a_page_run(command, tmp_path, monkeypatch, capsys):
    in_a_folder(tmp_path, monkeypatch)
    words = our_words(command[1])
    assert words
    if words[0] == "app":  # does not end; tests/repo/test_packaging.py starts it
        assert _parser().parse_args(words).run
    elif words == ["--help"]:
        with pytest.raises(SystemExit, match="0"):
            main(words)
    else:
        assert main(words) == 0, capsys.readouterr().err
        for target in (words[k + 1] for k, word in enumerate(words) if word == "-o"):
            assert Path(target).stat().st_size > 0


@pytest.mark.parametrize("command", sorted(set(mentioned())), ids=": ".join)
def test_the_commands_in_the_sentences_of_a_page_are_valid(command):
    words = our_words(command[1])
    assert words
    assert _parser().parse_args(words).run


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_the_files_that_a_page_links_to_exist(path):
    text = path.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", text):
        assert (path.parent / target).exists(), target


def test_the_modules_that_a_page_names_exist():
    """Except in the changelog, which may name old modules."""
    named = {
        (path.name, name)
        for path in PAGES
        if path.name != "CHANGELOG.md"
        for name in re.findall(r"`([a-z_]+(?:/[a-z_]+)+\.py)`", path.read_text(encoding="utf-8"))
    }
    assert len(named) > 10
    roots = [ROOT, ROOT / "loopylatent"]
    assert [one for one in named if not any((root / one[1]).exists() for root in roots)] == []


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_the_make_targets_that_a_page_names_exist(path):
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    text = path.read_text(encoding="utf-8")
    for target in re.findall(r"(?:^|`)make ([a-z][a-z-]*)", text, flags=re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE), target


def test_the_readme_has_the_two_commands_of_a_newcomer():
    lines = [line for block in blocks(ROOT / "README.md", "sh") for line in block.splitlines()]
    assert [line.split("#")[0].strip() for line in lines[:2]] == ["make run", "make test"]


def test_the_readme_links_to_every_page_of_docs():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    linked = set(re.findall(r"\]\((docs/[\w/-]+\.md)\)", readme))
    inner = {"docs/index.md", "docs/development/dependencies.md"}  # from CONTRIBUTING.md
    assert {name_of(path) for path in (ROOT / "docs").rglob("*.md")} == linked | inner


def test_the_reference_has_every_public_name():
    page = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    shown = {line.rpartition(".")[2] for line in page.splitlines() if line.startswith("::: ")}
    assert shown == set(ll.__all__) - {"__version__"}


def test_the_site_has_every_page():
    site = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    pages = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    assert set(re.findall(r": ([\w/-]+\.md)$", site, flags=re.MULTILINE)) == pages


def test_pictures_are_small():
    for path in (ROOT / "docs" / "images").iterdir():
        assert path.stat().st_size < LARGEST_PICTURE, path.name
