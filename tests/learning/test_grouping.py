from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from helpers.local_trees import Neighbourhood, group
from helpers.strategies import distance_matrices
from hypothesis import given, strategies as st

from loopylatent.compute._kernels.grouping import LocalTree, contract, group_by_quartets
from loopylatent.errors import ThresholdError
from loopylatent.learning.grouping import quartets
from loopylatent.settings import LearnSettings, Thresholds

MARGIN = 1 + 1e-9


class PlainGrouping:
    """Recursive grouping as it is written down: every quartet of every pair, every time."""

    def __init__(self, distances, Lambda):
        self.m = len(distances)
        self.s = np.exp(-distances)
        self.Lambda = Lambda
        self.d = {(i, j): distances[i, j] for i in range(self.m) for j in range(self.m)}

    def declares(self, a, b, c, d):
        s, margin = self.s, self.Lambda
        product = max(s[a, b] - margin, 0) * max(s[c, d] - margin, 0)
        return all(
            product > (s[x] + margin) * (s[y] + margin) * MARGIN
            for x, y in (((a, c), (b, d)), ((a, d), (b, c)))
        )

    def judge(self, left, right):
        outside = [x for x in range(self.m) if x not in left and x not in right]
        separated = supported = False
        for a, b in itertools.product(left, right):
            for c, d in itertools.combinations(outside, 2):
                separated |= self.declares(a, c, b, d) or self.declares(a, d, b, c)
                supported |= self.declares(a, b, c, d)
        return separated, supported

    def run(self):
        leaves = {i: [i] for i in range(self.m)}
        active, joins = list(range(self.m)), []
        while len(active) > 2:
            candidates = []
            for i, j in itertools.combinations(sorted(active), 2):
                if math.isfinite(self.d[i, j]):
                    separated, supported = self.judge(leaves[i], leaves[j])
                    if not separated:
                        candidates.append((not supported, self.d[i, j], i, j))
            if not candidates:
                break
            unsupported, _, i, j = min(candidates)
            h = self.m + len(joins)
            active = [k for k in active if k not in (i, j)]
            joins.append((i, j, h, not unsupported, *self.join(i, j, h, active)))
            leaves[h] = leaves[i] + leaves[j]
            active.append(h)
        return joins

    def join(self, i, j, h, others):
        d = self.d
        both = [k for k in others if math.isfinite(d[i, k]) and math.isfinite(d[j, k])]
        if both:
            mean = sum(d[i, k] - d[j, k] for k in both) / len(both)
            to_i = min(max((d[i, j] + mean) / 2, 0.0), d[i, j])
        else:  # at the end with more, then nearer, reachable nodes
            reach = [[d[x, k] for k in others if math.isfinite(d[x, k])] for x in (i, j)]
            ends = [(-len(r), sum(r)) for r in reach]
            to_i = 0.0 if ends[0] <= ends[1] else d[i, j]
        for k in others:
            if k in both:
                d[h, k] = d[k, h] = max((d[i, k] + d[j, k] - d[i, j]) / 2, 0.0)
            else:
                d[h, k] = d[k, h] = min(d[i, k] + to_i, d[j, k] + d[i, j] - to_i)
        return to_i, d[i, j] - to_i


def neighbourhood(distances, hidden=None):
    m = len(distances)
    return Neighbourhood(
        tuple(range(m)),
        tuple(hidden or [False] * m),
        tuple(range(m)),
        np.asarray(distances, dtype=float),
        None,
        np.random.default_rng(0),
    )


@given(
    distance_matrices(min_columns=3, max_columns=8, ties=False),
    st.sampled_from([0.0, 0.005, 0.05, 0.2]),
)
def test_the_kernel_makes_the_joins_of_the_reference(D, Lambda):
    joins, lengths, _, _ = group_by_quartets(D.values, Lambda, 150)
    plain = PlainGrouping(D.values, Lambda).run()
    assert [tuple(row) for row in joins.tolist()] == [join[:4] for join in plain]
    assert np.allclose(lengths, np.array([join[4:] for join in plain]).reshape(-1, 2))


@pytest.mark.parametrize("Lambda", [0.1, 0.13])
@pytest.mark.parametrize("seed", range(40))
def test_what_is_known_of_two_nodes_is_all_that_is_passed_on_to_their_parent(seed, Lambda):
    """Quartets of one child say nothing where its witnesses have come under the parent."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(80, 3)) @ rng.normal(size=(3, 7)) + 0.5 * rng.normal(size=(80, 7))
    d = np.triu(-np.log(np.abs(np.corrcoef(rows.T)) + 1e-9), 1)
    d = np.maximum(d + d.T, 0.001) * (1 - np.eye(7))
    joins, *_ = group_by_quartets(d, Lambda, 150)
    assert [tuple(row) for row in joins.tolist()] == [
        join[:4] for join in PlainGrouping(d, Lambda).run()
    ]


@given(distance_matrices(min_columns=6, max_columns=10, ties=False, infinities=False))
def test_with_a_cap_only_the_nearest_outsiders_are_tested(D):
    """The first pair to be joined, with the two outsiders nearest to each of its nodes."""
    plain, d, cap = PlainGrouping(D.values, 0.02), D.values, 2

    def nearest(node, others):
        return sorted(others, key=lambda other: d[node, other])[:cap]

    def judge(i, j):
        outside = set(range(D.n_columns)) - {i, j}
        near = nearest(i, outside)
        separated = any(plain.declares(i, c, j, d) for c in near for d in nearest(j, outside - {c}))
        supported = any(plain.declares(i, j, c, d) for c in near for d in nearest(c, outside - {c}))
        return separated, supported

    verdicts = {pair: judge(*pair) for pair in itertools.combinations(range(D.n_columns), 2)}
    free = [pair for pair, (separated, _) in verdicts.items() if not separated]
    joins, *_ = group_by_quartets(D.values, 0.02, cap)
    expected = min(free, key=lambda pair: (not verdicts[pair][1], d[pair]), default=None)
    assert (tuple(joins[0, :2].tolist()) if len(joins) else None) == expected


@given(distance_matrices(min_columns=4, max_columns=7), st.sampled_from([0.0, 0.05]))
def test_listed_quartets_agree_with_the_plain_test(D, Lambda):
    plain = PlainGrouping(D.values, Lambda)
    listed = quartets(D.values, Lambda)
    assert len(listed) == math.comb(D.n_columns, 4)
    for quartet in listed:
        a, b, c, d = quartet.nodes
        declared = {
            "ab|cd": plain.declares(a, b, c, d),
            "ac|bd": plain.declares(a, c, b, d),
            "ad|bc": plain.declares(a, d, b, c),
        }
        assert sum(declared.values()) <= 1
        assert quartet.verdict == next((k for k, yes in declared.items() if yes), "⊥")
        assert quartet.products[0] == pytest.approx(math.exp(-D.values[a, b] - D.values[c, d]))


def test_a_margin_turns_a_weak_quartet_into_no_verdict():
    d = np.array([[0, 1, 1.2, 1.2], [1, 0, 1.2, 1.2], [1.2, 1.2, 0, 1], [1.2, 1.2, 1, 0]])
    assert quartets(d, Lambda=0.0)[0].verdict == "ab|cd"
    assert quartets(d, Lambda=0.1)[0].verdict == "⊥"


def test_too_many_quartets_to_list_are_rejected():
    number = f"100 nodes have {math.comb(100, 4):,} quartets"
    with pytest.raises(ThresholdError, match=f"{number}; .* Choose fewer nodes"):
        quartets(np.zeros((100, 100)), Lambda=0.0)


def test_equal_products_of_an_exact_star_declare_nothing():
    legs = np.array([0.31, 0.47, 0.53, 0.61, 0.77])
    star = legs[:, None] + legs
    np.fill_diagonal(star, 0)
    assert {quartet.verdict for quartet in quartets(star, Lambda=0.0)} == {"⊥"}


def test_a_star_becomes_one_hidden_node_with_its_true_lengths():
    legs = np.array([0.31, 0.47, 0.53, 0.61, 0.77])
    star = legs[:, None] + legs
    np.fill_diagonal(star, 0)
    tree = group(neighbourhood(star), LearnSettings(Thresholds(1, 0, 0.01)))
    hubs = {edge.v for edge in tree.edges}
    assert len(hubs) == 1
    assert [edge.length for edge in tree.edges] == pytest.approx(legs)
    assert not tree.stuck


def test_nodes_at_infinite_distance_are_never_joined_but_stay_connected():
    inf = math.inf
    d = np.array([[0, 1, 1.1, 1.2], [1, 0, inf, inf], [1.1, inf, 0, inf], [1.2, inf, inf, 0]])
    tree = group(neighbourhood(d), LearnSettings(Thresholds(2, 0, 0.0)))
    assert all(math.isfinite(edge.length) for edge in tree.edges)
    assert all(not {join.left, join.right} <= {1, 2, 3} for join in tree.joins)
    assert (
        len({edge.u for edge in tree.edges} | {edge.v for edge in tree.edges})
        == len(tree.edges) + 1
    )


def noisy_hub(rng, m, n=200):
    hub = rng.normal(size=(n, 1))
    rho = np.corrcoef((hub + rng.normal(size=(n, m))).T)
    d = -np.log(np.abs(rho))
    np.fill_diagonal(d, 0)
    return (d + d.T) / 2


def test_noise_at_Lambda_0_gets_a_large_hub_stuck_and_a_margin_frees_it(rng):
    d = noisy_hub(rng, 40)
    without = group(neighbourhood(d), LearnSettings(Thresholds(2, 0.0, 0.1)))
    with_margin = group(neighbourhood(d), LearnSettings(Thresholds(2, 0.2, 0.1)))
    assert without.stuck
    assert len(without.joins) < 5
    assert not with_margin.stuck
    assert len(with_margin.joins) == 38


def test_outsiders_are_capped_in_large_neighbourhoods_and_recorded(rng):
    d = noisy_hub(rng, 30)
    thresholds = Thresholds(2, 0.05, 0.1)
    capped = group(neighbourhood(d), LearnSettings(thresholds, max_outsiders=10))
    free = group(neighbourhood(d), LearnSettings(thresholds, max_outsiders=30))
    assert capped.capped
    assert not free.capped
    assert len(capped.joins) >= len(free.joins)


def contracted(edges, hidden, limit=0.1):
    """Edges (u, v, length) that remain, and contractions (gone, survivor, length)."""
    ends, lengths = np.array([edge[:2] for edge in edges]), np.array([edge[2] for edge in edges])
    n_new = int(ends.max()) + 1 - len(hidden)
    none = np.empty(0, np.int64), np.empty(0)
    tree = LocalTree(ends, lengths, len(ends), max(n_new, 0), False, False, *none)
    cut = contract(tree, np.array(hidden), limit)
    left = [(*pair, d) for pair, d in zip(cut.ends.tolist(), cut.lengths.tolist(), strict=True)]
    moves = [(*pair, d) for pair, d in zip(cut.moves.tolist(), cut.at.tolist(), strict=True)]
    return sorted(left), moves


def test_contraction_keeps_observed_ends_and_older_hidden_nodes():
    # positions 0, 1 observed, 2 an old hidden node, 3 and 4 new ones
    edges = [(0, 3, 0.05), (3, 4, 0.3), (1, 4, 0.5), (2, 4, 0.01)]
    left, contractions = contracted(edges, (False, False, True))
    assert contractions == [(4, 2, 0.01), (3, 0, 0.05)]
    assert left == [(0, 2, 0.3), (1, 2, 0.5)]


def test_two_observed_nodes_never_merge():
    left, _ = contracted([(0, 2, 0.01), (1, 2, 0.02)], (False, False))
    assert left == [(0, 1, 0.02)]
    assert contracted([(0, 1, 0.001)], (False, False)) == ([(0, 1, 0.001)], [])
