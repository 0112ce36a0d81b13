"""The report: its numbers equal fresh computations, names cannot run, its script gives the graph.

Its appearance in a browser and in print is tested in test_report_browser.py.
"""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from helpers.hostile import HOSTILE_NAMES, hostile_frame

import loopylatent as ll
from loopylatent.analysis.matching import name_node
from loopylatent.analysis.stability.loop_test import loop_test
from loopylatent.analysis.stability.runs import scale
from loopylatent.cli.main import main
from loopylatent.errors import DataError
from loopylatent.exporting.graph_files import Extras
from loopylatent.exporting.project.file import Recipe, digest_of
from loopylatent.exporting.report import page as report_page
from loopylatent.exporting.report.findings import (
    SHARES,
    Findings,
    HeldOut,
    Known,
    Skipped,
    examine,
    part_at,
)
from loopylatent.exporting.report.page import to_report
from loopylatent.figures.charts import WIDTH, curve_svg
from loopylatent.learning.learner import learn
from loopylatent.tables.files import xml_text

ROOT = Path(__file__).resolve().parents[2]
RUNS = 4
"""Enough resamples to see that support is printed."""
VOID = {"meta", "br", "img", "input", "link", "rect", "circle", "path", "line", "polygon"}


class Page(HTMLParser):
    """A parsed page: text by id, cells by table, tags."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.text: dict[str, str] = {}
        self.tables: dict[str, list[list[str]]] = {}
        self.tags: list[str] = []
        self.policy = ""
        self._open: list[tuple[str, str | None]] = []
        self._table: str | None = None
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.tags.append(tag)
        if values.get("http-equiv") == "Content-Security-Policy":
            self.policy = values["content"]
        if tag not in VOID:
            self._open.append((tag, values.get("id")))
        if tag == "table" and values.get("id"):
            self._table = values["id"]
            self.tables[self._table] = []
        if tag == "tr" and self._table:
            self.tables[self._table].append([])
        if tag in ("td", "th") and self._table:
            self.tables[self._table][-1].append("")

    def handle_endtag(self, tag):
        while self._open and self._open.pop()[0] != tag:
            pass
        if tag == "table":
            self._table = None

    def handle_data(self, data):
        for _, name in self._open:
            if name:
                self.text[name] = self.text.get(name, "") + data
        in_cell = any(tag in ("td", "th") for tag, _ in self._open)
        if self._table and in_cell:
            self.tables[self._table][-1][-1] += data

    def rows(self, table: str) -> list[list[str]]:
        return [[" ".join(cell.split()) for cell in row] for row in self.tables[table]]

    def body(self, table: str) -> list[list[str]]:
        return self.rows(table)[1:]

    def facts(self, table: str) -> dict[str, str]:
        return {row[0]: row[1] for row in self.rows(table)}


def recipe_for(sample: str, **settings) -> Recipe:
    D = ll.information_distances(ll.load_sample(sample).observations)
    chosen = ll.settings_for(D, **settings).thresholds
    return Recipe(
        source=f"sample:{sample}",
        source_kind="sample",
        r=chosen.r,
        Lambda=chosen.Lambda,
        tau=chosen.tau,
    )


def found(recipe: Recipe, obs, D=None, **options) -> Findings:
    D = ll.information_distances(obs) if D is None else D
    options.setdefault("n_resamples", RUNS)
    return examine(recipe, D, learn(D, recipe.settings), obs, **options)


@pytest.fixture(scope="module")
def answers() -> ll.Observations:
    """Right and wrong answers with missing values: a binary table."""
    return ll.load_sample("ability16").observations


@pytest.fixture(scope="module")
def findings(answers) -> Findings:
    groups = ll.load_sample("ability16").groups
    return found(recipe_for("ability16", r=1.9), answers, known_groups=groups)


@pytest.fixture(scope="module")
def html(findings) -> str:
    node = findings.graph.n_observed
    return to_report(findings, Extras(hidden_names={node: "reasoning & more"}), title="Ability")


@pytest.fixture(scope="module")
def page(html) -> Page:
    return Page(html)


# Content -----------------------------------------------------------------------------------


def test_the_graph_is_the_one_that_the_package_learns(findings, page):
    recipe = findings.recipe
    D = ll.information_distances(ll.load_sample("ability16").observations)
    graph = ll.learn(D, r=recipe.r, Lambda=recipe.Lambda, tau=recipe.tau).graph
    assert findings.graph == graph
    assert graph.n_hidden > 1
    assert graph.n_cycles > 0
    drawn = json.loads(page.text["drawing"])
    assert {tuple(sorted((edge["from"], edge["to"]))) for edge in drawn["edges"]} == {
        tuple(edge) for edge in graph.edges.tolist()
    }
    assert graph.digest in page.text["same"]


def test_hidden_nodes_are_known_by_their_ten_nearest_columns(findings, page):
    graph = findings.graph
    lengths = dict(nx.all_pairs_dijkstra_path_length(graph.to_networkx(), weight="distance"))
    rows = page.body("topics")
    assert len(rows) == graph.n_hidden
    assert rows[0][0] == "reasoning & more"
    assert [row[0] for row in rows[1:]] == list(graph.labels[graph.n_observed + 1 :])
    for node, row in zip(graph.hidden_nodes, rows, strict=True):
        near = sorted(range(graph.n_observed), key=lambda k: (lengths[node][k], k))[:10]
        expected = " ".join(f"{graph.names[k]} {math.exp(-lengths[node][k]):.2f}" for k in near)
        assert row[1] == expected
        assert row[2] == str(len(list(graph.to_networkx()[node])))


def test_scores_are_those_of_a_fresh_fit_and_say_exact(findings, page, answers):
    model = ll.fit_parameters(findings.graph, answers)
    facts = page.facts("score-facts")
    assert facts["Inference"] == "exact"
    per_row = float(np.mean(model.log_likelihood(answers)))
    assert facts["Log-likelihood per row"] == f"{per_row:.4f}".replace("-", "−")
    assert facts["BIC"] == f"{model.train_bic:,.1f}".replace("-", "−")
    assert facts["Parameters"] == str(model.df)
    edges = {(row[0], row[1]): row for row in page.body("edge-table")}
    labels = list(findings.graph.labels)
    labels[findings.graph.n_observed] = "reasoning & more"
    assert len(edges) == findings.graph.n_edges
    pairs = zip(findings.graph.edges.tolist(), model.edge_strengths.tolist(), strict=True)
    for (u, v), strength in pairs:
        assert edges[labels[u], labels[v]][5] == f"{strength:.3f}".replace("-", "−")


def test_held_out_rows_are_not_used_to_learn_the_graph_that_predicts_them(findings, page, answers):
    held = findings.held_out
    assert isinstance(held, HeldOut)
    order = np.random.default_rng(0).permutation(answers.n_rows)
    n_test = round(0.3 * answers.n_rows)
    train, test = answers.take(np.sort(order[n_test:])), answers.take(np.sort(order[:n_test]))
    again = learn(ll.information_distances(train), findings.recipe.settings)
    scores = ll.fit_parameters(again.graph, train).scores(test)
    assert held.scores == scores
    assert (held.n_train, held.n_test) == (train.n_rows, test.n_rows)
    rows = page.body("held-out")
    assert rows[1][1] == f"{scores.perp_ll:.4f}"
    assert rows[0][1] == f"{scores.log_likelihood / n_test:.4f}".replace("-", "−")


def test_independent_columns_are_scored_by_their_frequencies(page, answers):
    order = np.random.default_rng(0).permutation(answers.n_rows)
    n_test = round(0.3 * answers.n_rows)
    values = answers.dense()
    share = np.nanmean(values[np.sort(order[n_test:])], axis=0)
    test = values[np.sort(order[:n_test])]
    per_row = np.nansum(test * np.log(share) + (1 - test) * np.log(1 - share)) / n_test
    shown = float(page.body("held-out")[0][2].replace("−", "-"))
    assert shown == pytest.approx(per_row, abs=1e-3)


def test_support_and_its_scale_are_printed(findings, page, answers):
    again = ll.stability(
        answers,
        r=findings.recipe.r,
        Lambda=findings.recipe.Lambda,
        tau=findings.recipe.tau,
        n_resamples=RUNS,
    )
    hidden = [row[3] for row in page.body("topics")]
    assert hidden == [f"{100 * share:.0f} %" for share in again.hidden]
    graph = findings.graph
    order = sorted(range(graph.n_edges), key=lambda k: (graph.lengths[k], k))
    assert [row[-1] for row in page.body("edge-table")] == [
        f"{100 * again.edges[k]:.0f} %" for k in order
    ]
    assert f"{again.instability:.2f}" in page.text["runs"]
    cycles = sorted((100 * share for share in again.cycles), reverse=True)
    assert [row[-1] for row in page.body("cycles")] == [f"{share:.0f} %" for share in cycles]
    highest = page.body("scale")[-1]
    steps = {kind: steps[-1] for kind, steps in scale().items()}
    assert highest[1:] == [f"{step.n_true / step.n_parts:.0%}" for step in steps.values()]
    n_high = int((again.hidden >= report_page.HIGH_SUPPORT).sum())
    counted = {row[0]: row[1:] for row in page.body("support")}
    assert counted["hidden node"] == [str(graph.n_hidden), str(n_high)]


def test_groups_and_their_agreement_with_known_ones_are_printed(findings, page, answers):
    again = ll.groups(answers)
    rows = page.rows("group-table")
    assert [row[1].split() for row in rows] == [
        [name for name, group in again.as_dict().items() if group == k]
        for k in range(again.n_groups)
    ]
    known = ll.load_sample("ability16").groups
    assert known is not None
    said = " ".join(report_page.group_sentences(findings))
    assert f"{again.agreement(known):.2f}" in said


def test_the_loop_test_is_a_fresh_one(findings, page):
    test = loop_test(findings.distances, findings.recipe.r)
    assert f"p\u00a0=\u00a0{test.p_value:.3g}" in page.text["loops"]
    assert f"compared with {test.mean_by_noise:.1f} on average" in page.text["loops"]


def test_the_data_are_described(findings, page, answers):
    facts = page.facts("data-facts")
    assert facts["Rows"] == f"{answers.n_rows:,}"
    assert facts["Columns"] == str(answers.n_columns)
    assert facts["Missing values"] == f"{int(np.isnan(answers.dense()).sum()):,}"
    D = findings.distances
    assert D.noise_floor is not None
    assert facts["Noise floor"] == f"{D.noise_floor:.4g}"
    assert (facts["r min"], facts["r max"]) == (f"{D.r_min:.4g}", f"{D.r_max:.4g}")
    columns = page.body("columns")
    apart = D.values + np.diag(np.full(D.n_columns, np.inf))
    for k, row in enumerate(columns):
        assert row[0] == D.names[k]
        assert row[3] == D.names[int(apart[k].argmin())]
        assert row[4] == f"{apart[k].min():.3f}"


def test_every_setting_is_explained(findings, page):
    rows = page.rows("setting-facts")
    assert {row[0] for row in rows} >= {
        *("Radius r", "Margin Λ", "Minimum edge length τ", "Grouping", "Seed"),
    }
    assert all(len(row[2]) > 20 for row in rows)
    assert page.facts("setting-facts")["Radius r"] == f"{findings.recipe.r:.6g}"
    default = ll.default_thresholds(findings.distances)
    assert f"The default is {default.r:.4g}." in rows[0][2]
    assert "This is the default." in rows[1][2]


@pytest.mark.parametrize(("method", "unused"), [("relaxed", 2), ("nj", 1)])
def test_thresholds_without_effect_say_so(findings, method, unused):
    other = replace(findings, recipe=replace(findings.recipe, method=method))
    meanings = [fact.meaning for fact in report_page.setting_facts(other)[:3]]
    no_effect = (report_page.NO_EFFECT, report_page.OWN_TAU)
    assert sum(any(word in meaning for word in no_effect) for meaning in meanings) == unused


# The curve ---------------------------------------------------------------------------------


def test_the_curve_passes_through_the_exact_counts(findings):
    curve = findings.curve
    picture = curve_svg(curve, findings.recipe.r)
    paths = dict(re.findall(r'class="line (\w+)" d="([^"]+)"', picture))
    heights = {}
    for name in ("edges", "cycles", "components"):
        steps = re.findall(r"H([\d.]+)V([\d.]+)", paths[name])
        assert all(0 <= float(x) <= WIDTH for x, _ in steps)
        heights[name] = np.array([float(y) for _, y in steps])
    assert len(heights["edges"]) == len(curve.r)
    every = np.concatenate([heights["edges"], heights["cycles"], heights["components"]])
    counts = np.concatenate([curve.n_edges, curve.n_cycles, curve.n_components])
    slope, base = np.polyfit(counts, every, 1)
    assert slope < 0
    assert np.abs(base + slope * counts - every).max() < 0.11  # rounded to tenths of a pixel
    now = re.search(r"At r = \S+ the initial graph has (\d+) edges", picture)
    assert now is not None
    assert int(now[1]) == ll.initial_graph(findings.distances, findings.recipe.r).n_edges


# Missing parts -----------------------------------------------------------------------------


def test_distances_alone_give_a_report_without_scores():
    D = ll.DistanceMatrix.from_array(
        [[0, 1, 2, 2.2], [1, 0, 1.5, 2], [2, 1.5, 0, 1], [2.2, 2, 1, 0]], list("abcd")
    )
    recipe = Recipe(source="d.csv", source_kind="distances", r=2.1, Lambda=0, tau=0.1)
    findings = found(recipe, None, D)
    page = Page(to_report(findings))
    assert "only distances" in page.text["no-scores"]
    assert isinstance(findings.loops, Skipped)
    assert isinstance(findings.stability, Skipped)
    assert page.text["no-support"]
    assert findings.groups.n_resamples == 0
    assert report_page.ONE_GRAPH in report_page.group_sentences(findings)
    assert page.facts("data-facts")["Rows"] == "unknown"
    assert "read_distances('d.csv')" in page.text["script"]


def test_distances_with_a_number_of_rows_have_support_and_a_loop_test(answers):
    D = ll.information_distances(answers)
    precomputed = ll.DistanceMatrix.from_array(D.values, D.names, n_samples=500)
    recipe = Recipe(
        source="d.csv", source_kind="distances", r=1.9, Lambda=0.02, tau=0.1, n_samples=500
    )
    findings = found(recipe, None, precomputed)
    assert not isinstance(findings.stability, Skipped)
    assert findings.stability.scheme == "noise"
    assert not isinstance(findings.loops, Skipped)


def test_mixed_column_types_are_reported_without_scores():
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=300)
    frame = pd.DataFrame({name: hidden + rng.normal(size=300) for name in "abc"})
    frame["d"] = np.where(hidden + rng.normal(size=300) > 0, "yes", "no")
    obs = ll.Observations.from_frame(frame)
    D = ll.information_distances(obs)
    recipe = Recipe(
        source="t.csv", source_kind="table", r=D.r_max, Lambda=0, tau=0.1, metric="auto"
    )
    page = Page(to_report(found(recipe, obs)))
    assert "mixed" in page.text["no-scores"]
    assert "score-facts" not in page.tables
    assert "no loops to test" in page.text["loops"]


def test_support_that_is_not_requested_is_left_out(answers):
    findings = found(recipe_for("ability16"), answers, n_resamples=0)
    page = Page(to_report(findings))
    assert "no-support" in page.text
    assert len(page.body("topics")[0]) == 3


def test_a_graph_of_other_data_or_settings_raises(findings, answers):
    other = replace(findings.recipe, tau=findings.recipe.tau + 0.1)
    with pytest.raises(DataError, match="other settings"):
        examine(other, findings.distances, findings.result, answers)
    half = ll.information_distances(answers.take(range(500)))
    with pytest.raises(DataError, match="not learned from these distances"):
        examine(findings.recipe, half, findings.result, answers)


# Progress-----------------------------------------------------------------------------------


def test_known_results_are_not_recomputed(findings, answers, monkeypatch):
    known = Known(
        curve=findings.curve,
        model=findings.model,
        groups=findings.groups,
        stability=findings.stability,
    )
    for name in ("edge_density", "groups", "stability"):
        monkeypatch.setattr(f"loopylatent.exporting.report.findings.{name}", None)
    D, recipe = findings.distances, findings.recipe
    again = examine(
        recipe, D, findings.result, answers, known=known, known_groups=findings.known_groups
    )
    assert to_report(again) == to_report(findings)


def test_progress_rises_to_the_end_and_can_stop_the_work(findings, answers):
    seen: list[tuple[int, int]] = []
    D, recipe = findings.distances, findings.recipe
    known = Known(model=findings.model, groups=findings.groups)
    examine(
        recipe, D, findings.result, answers, known=known, n_resamples=2,
        progress=lambda done, total: seen.append((done, total)),
    )  # fmt: skip
    total = sum(SHARES.values())
    assert {t for _, t in seen} == {total}
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert seen[-1][0] == total

    def stop(done: int, total: int) -> None:
        if done > total // 4:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        examine(recipe, D, findings.result, answers, known=known, progress=stop)


# Safety ------------------------------------------------------------------------------------


def test_the_page_forbids_requests_and_other_scripts(html, page):
    assert page.policy.startswith("default-src 'none'; script-src 'sha256-")
    assert page.policy.count("sha256-") == page.tags.count("script") - 1  # the data do not run
    assert not {"link", "iframe", "img", "object", "embed"} & set(page.tags)
    assert not re.search(r"""(src|href)\s*=\s*["']?(https?:|//)""", html)


def test_the_same_findings_give_the_same_page(findings, html):
    node = findings.graph.n_observed
    extras = Extras(hidden_names={node: "reasoning & more"})
    assert to_report(findings, extras, title="Ability") == html
    assert "2031-02-03" in to_report(findings, created="2031-02-03")


def test_hostile_names_are_text(html):
    frame = hostile_frame()
    obs = ll.Observations.from_frame(frame)
    D = ll.information_distances(obs)
    default = ll.default_thresholds(D)
    recipe = Recipe(
        source="</script><script>window.hacked=1</script>"[:30].replace("/", "_"),
        source_kind="table",
        r=default.r,
        Lambda=default.Lambda,
        tau=default.tau,
        drop=HOSTILE_NAMES[:3],
        labels=HOSTILE_NAMES[3:20],
    )
    findings = found(recipe, obs, n_resamples=2)
    names = {findings.graph.n_observed: HOSTILE_NAMES[1]}
    text = to_report(findings, Extras(hidden_names=names), title=HOSTILE_NAMES[0])
    text.encode()
    page = Page(text)
    plain_tags, tags = Page(html).tags, page.tags
    assert set(tags) <= set(plain_tags) | {"p"}, "a name became a tag"
    assert tags.count("script") == plain_tags.count("script")
    shown = [row[0] for row in page.body("columns")]
    assert shown == [" ".join(xml_text(name).split()) for name in D.names]
    assert page.body("topics")[0][0] == " ".join(HOSTILE_NAMES[1].split())


# Reproduction ------------------------------------------------------------------------------


def run_script(script: str, folder: Path) -> nx.Graph:
    (folder / "again.py").write_text(script, encoding="utf-8")
    environment = {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "HOME": str(folder)}
    done = subprocess.run(
        [sys.executable, "again.py"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return nx.read_graphml(folder / "graph.graphml", node_type=int)


def test_the_script_in_the_page_gives_the_same_graph(findings, page, tmp_path):
    read = run_script(page.text["script"], tmp_path)
    assert read.graph["graph_digest"] == findings.graph.digest


@pytest.fixture
def table(tmp_path) -> Path:
    rng = np.random.default_rng(5)
    hidden = rng.normal(size=(400, 2))
    values = np.repeat(hidden, 4, axis=1) + hidden[:, [0]] + 0.8 * rng.normal(size=(400, 8))
    frame = pd.DataFrame(values, columns=[*"abcdefg", "it's <b>"])
    frame["id"] = range(400)
    path = tmp_path / "my answers.csv"
    frame.to_csv(path, index=False)
    return path


def test_the_command_writes_a_report_whose_script_gives_its_graph(table, tmp_path, capsys):
    target = tmp_path / "report.html"
    options = ["--drop", "id", "--r", "1.2", "--resamples", "2", "--title", "Answers"]
    assert main(["report", str(table), *options, "-o", str(target)]) == 0
    shown = capsys.readouterr()
    assert shown.out == ""
    assert f"wrote {target}" in shown.err
    page = Page(target.read_text(encoding="utf-8"))
    D = ll.information_distances(ll.read_table(table, drop=["id"]))
    graph = ll.learn(D, r=1.2).graph
    assert graph.digest in page.text["same"]
    assert digest_of(table.read_bytes()) in page.text["script"]
    assert run_script(page.text["script"], tmp_path).graph["graph_digest"] == graph.digest


def test_learn_writes_the_graph_and_the_report_at_once(table, tmp_path, capsys):
    graph, report = tmp_path / "graph.graphml", tmp_path / "report.html"
    options = ["--drop", "id", "--resamples", "0", "--report", str(report)]
    assert main(["learn", str(table), *options, "-o", str(graph)]) == 0
    assert capsys.readouterr().out == ""
    digest = nx.read_graphml(graph).graph["graph_digest"]
    assert digest in Page(report.read_text(encoding="utf-8")).text["same"]


def test_a_penalised_graph_with_a_limit_is_reproduced_by_its_script(table, tmp_path):
    report = tmp_path / "report.html"
    options = ["--drop", "id", "--regularize", "bic", "--max-hidden", "1"]
    assert main(["report", str(table), *options, "-o", str(report)]) == 0
    page = Page(report.read_text(encoding="utf-8"))
    assert "max_hidden=1" in page.text["script"]
    assert "--max-hidden=1" in page.text["command"]
    assert page.facts("setting-facts")["Maximum number of hidden nodes"] == "1"
    assert "score-facts" in page.tables
    assert page.text["no-held-out"]
    assert "resample" in page.text["no-support"]
    digest = run_script(page.text["script"], tmp_path).graph["graph_digest"]
    assert digest in page.text["same"]


def test_names_come_from_a_project(table, tmp_path):
    D = ll.information_distances(ll.read_table(table, drop=["id"]))
    result = ll.learn(D)
    assert result.graph.n_hidden
    named = name_node(result.graph, result.graph.n_observed, "what they share")
    thresholds = result.settings.thresholds
    recipe = Recipe(
        source=table.name,
        source_kind="table",
        r=thresholds.r,
        Lambda=thresholds.Lambda,
        tau=thresholds.tau,
        drop=("id",),
        data_digest=digest_of(table.read_bytes()),
    )
    project = tmp_path / "study.loopylatent"
    ll.write_project(ll.Project(recipe, names=(named,)), project)
    report = tmp_path / "report.html"
    command = ["report", str(table), "--drop", "id", "--resamples", "0", "--names", str(project)]
    assert main([*command, "-o", str(report)]) == 0
    assert Page(report.read_text(encoding="utf-8")).body("topics")[0][0] == "what they share"


def test_precomputed_distances_are_reported_from_the_command_line(table, tmp_path):
    matrix, report = tmp_path / "d.csv", tmp_path / "report.html"
    assert main(["distances", str(table), "--drop", "id", "-o", str(matrix)]) == 0
    command = ["report", str(matrix), "--from-distances", "--n-samples", "400"]
    assert main([*command, "--resamples", "2", "-o", str(report)]) == 0
    page = Page(report.read_text(encoding="utf-8"))
    assert page.facts("data-facts")["Rows"] == "400"
    assert run_script(page.text["script"], tmp_path).graph["graph_digest"] in page.text["same"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-o", "report.pdf"], ".html"),
        (["-o", "no/such/folder/report.html"], "folder"),
        (["--resamples", "1", "-o", "r.html"], "--resamples 1"),
        (["--names", "nowhere.loopylatent", "-o", "r.html"], "nowhere"),
    ],
)
def test_invalid_options_of_a_report_raise_in_one_line(
    options, message, capsys, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    command = ["report", "sample:latent_cycle"]
    resamples = [] if "--resamples" in options else ["--resamples", "0"]
    assert main([*command, *resamples, *options]) == 2
    last = capsys.readouterr().err.strip().splitlines()[-1]
    assert last.startswith("loopylatent: ")
    assert message in last
    assert list(tmp_path.iterdir()) == []


def test_the_help_of_the_command_has_an_example(capsys):
    with pytest.raises(SystemExit) as caught:
        main(["report", "--help"])
    assert caught.value.code == 0
    assert "Example: loopylatent report" in capsys.readouterr().out


def test_the_current_part_is_named():
    total = sum(SHARES.values())
    assert (part_at(0), part_at(total)) == (next(iter(SHARES)), list(SHARES)[-1])
