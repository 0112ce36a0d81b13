"""The steps of a refinement: labels, changes, tables."""

from __future__ import annotations

import io

import pandas as pd
import pytest

import loopylatent as ll
from loopylatent.analysis.refined_steps import (
    changes_from,
    evidence_csv,
    evidence_frame,
    gains,
    has_short_cycles,
    hidden_labels,
    labels_by_id,
    move_frame,
    supported_line,
    with_names,
)
from loopylatent.graph import LatentGraph
from loopylatent.learning.part_evidence import Evidence
from loopylatent.learning.refinement import RefinedStep

NAMES = ("a", "b", "c", "d")


@pytest.fixture(scope="module")
def found() -> ll.Refinement:
    truth = ll.synthetic.latent_tree(n_hidden=2, n_observed_inner=0, leaves=4, seed=1)
    rows = truth.sample(400)
    start = ll.learn(ll.information_distances(rows), tau=0.1).graph
    ring = [(k, (k + 1) % 8) for k in range(8)] + [(8, k) for k in (0, 2, 4)]
    hub = LatentGraph.build(start.names, 1, ring, [0.8] * len(ring))
    return ll.refine(hub, rows)


def step(edges: list[tuple[int, int]], hidden_ids: tuple[int, ...]) -> RefinedStep:
    graph = LatentGraph.build(NAMES, len(hidden_ids), edges, [0.5] * len(edges))
    return RefinedStep("", 0.0, graph, hidden_ids, 0.0)


def test_moves_name_hidden_nodes_as_the_labels_of_their_steps_do(found):
    label = hidden_labels(found)
    final = dict(zip(found.steps[-1].hidden_ids, found.graph.labels[8:], strict=True))
    assert {node: label[node] for node in final} == final
    assert len(set(label.values())) == len(label)
    for before, after in zip(found.steps, found.steps[1:], strict=False):
        known = {label[node] for node in (*before.hidden_ids, *after.hidden_ids)}
        words = after.words.replace(",", " ").replace(":", " ").split()
        assert {word for word in words if word in label.values()} <= known


def test_gains_add_up_to_the_rise_of_the_score(found):
    assert sum(gains(found)) == pytest.approx(found.score_history[-1] - found.score_history[0])
    assert move_frame(found)["change"].tolist() == [one.words for one in found.steps[1:]]
    assert len(found.steps) > 2


def test_names_replace_labels_in_words_unless_a_column_has_the_same_word(found):
    label = found.graph.labels[8]
    named = with_names(found, {label: "Verbal"})
    before, after = (" ".join(one.words for one in each.steps) for each in (found, named))
    assert label in before.replace(",", " ").split()
    assert after == " ".join(before.replace(label, "Verbal").split(" "))
    assert with_names(found, {"x1": "Verbal"}) is found
    assert with_names(found, {}) is found


def test_changes_follow_hidden_nodes_by_their_numbers():
    before = step([(0, 4), (1, 4), (2, 4), (2, 3)], (4,))
    after = step([(0, 4), (1, 4), (3, 4), (2, 3)], (6,))
    changes = changes_from(before.graph, after)
    assert changes.hidden_ids == (6, 4)
    assert changes.hidden.tolist() == [1, -1]
    status = dict(
        zip(map(tuple, changes.graph.edges.tolist()), changes.edges.tolist(), strict=True)
    )
    gone, new = {(0, 5), (1, 5), (2, 5)}, {(0, 4), (1, 4), (3, 4)}
    assert status == dict.fromkeys(gone, -1) | dict.fromkeys(new, 1) | {(2, 3): 0}
    same = changes_from(before.graph, before)
    assert not same.edges.any()
    assert same.graph == before.graph


def test_labels_by_number_leave_gaps_and_avoid_columns():
    assert labels_by_id(NAMES, (4, 6)) == {4: "h1", 6: "h3"}
    assert labels_by_id(("h1", "x"), (2,)) == {2: "_h1"}
    assert labels_by_id(NAMES, ()) == {}


def test_evidence_is_listed_strongest_first_and_is_safe_in_a_spreadsheet():
    evidence = (
        Evidence("edge", (0, 1), 1.5, "removed the edge", supported=False),
        Evidence("hidden", (1,), 9.0, "merged", supported=True),
        Evidence("cycle", (0, 1, 2), 4.0, "=cmd", supported=True),
    )
    labels = ("=a", "h1", "c")
    assert evidence_frame(evidence, labels)["nats"].tolist() == [9.0, 4.0, 1.5]
    assert evidence_frame(evidence, labels, 2)["nodes"].tolist() == ["=a – h1 – c"]
    rows = pd.read_csv(io.StringIO(evidence_csv(evidence, labels)))
    assert not rows["nodes"].str.startswith("=").any()
    assert not rows["best graph without it"].str.startswith("=").any()
    assert supported_line(evidence) == "0 of 1 edge, 1 of 1 hidden node and 1 of 1 cycle"


def test_cycles_of_up_to_five_edges_are_short():
    ring = [(k, (k + 1) % 6) for k in range(6)]
    names = [f"x{k}" for k in range(6)]
    assert not has_short_cycles(LatentGraph.build(names, 0, ring, [1.0] * 6))
    assert has_short_cycles(LatentGraph.build(names, 0, [*ring, (0, 2)], [1.0] * 7))
    assert not has_short_cycles(LatentGraph.build(names, 0, ring[:5], [1.0] * 5))
