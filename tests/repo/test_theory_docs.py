"""The examples of docs/method/theory.md print what the page says; its commands run."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pandas as pd
import pytest

import loopylatent as ll
from loopylatent.cli.main import main

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "method" / "theory.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, flags=re.DOTALL)


def commands() -> list[str]:
    return [line for block in blocks("sh") for line in block.splitlines()]


def test_the_python_examples_print_what_the_page_says(capsys):
    names: dict[str, object] = {}
    checked = 0
    for block in blocks("python"):
        exec(compile(block, "docs/method/theory.md", "exec"), names)
        output = capsys.readouterr().out
        for expected in re.findall(r"^\S*print\(.*?\)\s+# (.+)$", block, flags=re.MULTILINE):
            assert expected.split(":")[0] in output
            checked += 1
    assert checked == 5


@pytest.mark.parametrize("line", commands())
def test_the_commands_run(line, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    words = shlex.split(line)
    assert words[0] == "loopylatent"
    assert main(words[1:]) == 0
    capsys.readouterr()
    if "-o" in words:
        assert len(pd.read_csv(tmp_path / words[-1])) > 5


def test_files_that_the_page_names_exist():
    targets = re.findall(r"\]\(([^)#:]+)\)", PAGE)
    assert targets
    for target in targets:
        assert (ROOT / "docs" / "method" / target).exists(), target


def test_the_picture_is_small_and_has_a_line_for_each_size_in_both_panels():
    picture = (ROOT / "docs" / "images" / "experiment.svg").read_text(encoding="utf-8")
    assert len(picture) < 200_000
    assert picture.count('fill="none"') == 12


# The command line --------------------------------------------------------------------------


def run(*words: str) -> int:
    return main(list(words))


def test_synthetic_writes_the_rows_of_the_model_and_its_graph(tmp_path, capsys):
    table, truth = tmp_path / "rows.csv", tmp_path / "truth.json"
    assert run("synthetic", "--girth", "6", "--seed", "3", "-n", "200", "--row-seed", "4",
               "--truth", str(truth), "-o", str(table)) == 0  # fmt: skip
    model = ll.synthetic.latent_cycle(6, 2, seed=3)
    found = ll.read_table(table)
    assert (found.dense() == model.sample(200, seed=4).dense()).all()
    assert truth.exists()
    assert "12 observed, 6 hidden" in capsys.readouterr().err


def test_synthetic_distances_can_be_learned_from(tmp_path, capsys):
    file = tmp_path / "d.csv"
    assert run("synthetic", "--family", "tree", "--distances", "-o", str(file)) == 0
    D = ll.read_distances(file)
    assert (abs(D.values - ll.synthetic.latent_tree(6, 2, 2).exact_distances().values) < 1e-9).all()
    assert run("learn", str(file), "--from-distances") == 0
    capsys.readouterr()


def test_learning_back_reports_the_recovery(capsys):
    assert run("synthetic", "-n", "20000", "--seed", "1", "--learn") == 0
    message = capsys.readouterr().err
    found = ll.laboratory.learn_back(ll.synthetic.latent_cycle(10, 2, seed=1), 20_000).comparison
    assert f"structure error {found.error.value}, precision {found.precision:.3f}" in message


def test_rows_by_gibbs_sampling_come_with_diagnostics(capsys):
    assert run("synthetic", "--family", "cage", "--cage", "hoffman-singleton", "--leaves", "1",
               "--lengths", "2", "2.5", "-n", "100") == 0  # fmt: skip
    out = capsys.readouterr()
    assert "rows by Gibbs sampling: R-hat" in out.err
    assert len(out.out.splitlines()) == 101


def test_an_edge_list_is_read_from_a_file(tmp_path, capsys):
    edges = tmp_path / "edges.txt"
    edges.write_text("h a\nh b\nh c\n")
    assert run("synthetic", "--edges", str(edges), "--hide", "h", "--leaves", "1", "-n", "50") == 0
    assert capsys.readouterr().out.splitlines()[0] == "a,b,c,h.1"


def test_theory_of_values_equals_theory_of_their_model(tmp_path):
    model, numbers = tmp_path / "m.csv", tmp_path / "n.csv"
    e = ll.theory.ensemble_of(ll.synthetic.latent_cycle(40, 2, potentials=(0.15, 0.15)))
    assert run("theory", "--girth", "40", "--potentials", "0.15", "0.15", "-o", str(model)) == 0
    assert run("theory", "--theta", str(e.theta_min), str(e.theta_max), "--degrees", "4", "4",
               "--girth", "40", "--depth", "2", "--columns", "80", "--nodes", "120",
               "-o", str(numbers)) == 0  # fmt: skip
    left, right = pd.read_csv(model), pd.read_csv(numbers)
    assert left["name"].tolist() == right["name"].tolist()
    pd.testing.assert_frame_equal(left, right, rtol=1e-6)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("synthetic", "--girth", "2"), "girth = 2 is too small"),
        (("synthetic", "--learn", "--r", "x"), "must be a number, tree or loops"),
        (("synthetic", "--edges", "/no/such/file"), "as text. Use a file"),
        (("theory", "--kind", "gaussian"), "has no Ising potentials"),
        (("theory", "--theta", "0.2", "0.1"), "the smaller one first"),
    ],
)
def test_errors_are_one_line(words, message, capsys):
    assert run(*words) == 2
    printed = capsys.readouterr().err.strip()
    assert message in printed
    assert "\n" not in printed
