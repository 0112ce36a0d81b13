"""Recovery of known synthetic graphs: ours and other packages that find hidden nodes or groups."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import networkx as nx

import loopylatent as ll
from benchmarks.peers.groups import (
    Known,
    exploratory_graph_groups,
    nearest_hidden,
    refined_graph,
    topic_labels,
)
from benchmarks.peers.peers import (
    LIMIT,
    OURS,
    SKLEARN,
    Comparison,
    Found,
    Method,
    compare,
    elsewhere,
    pinned,
    published,
)
from benchmarks.quality.groups import rotated_factors
from benchmarks.quality.refinement import WEAK
from loopylatent.learning.initial_graph import loop_radius
from loopylatent.synthetic.model import Kind, SyntheticModel

N_ROWS = 2000
SEEDS = range(300, 304)
KINDS: Mapping[str, Kind] = {"binary": "ising", "Gaussian": "gaussian"}
FAMILIES: Mapping[str, Callable[[int, Kind], SyntheticModel]] = {
    "ring": lambda seed, kind: ll.synthetic.latent_cycle(10, 2, seed=seed, kind=kind),
    "tree": lambda seed, kind: ll.synthetic.latent_tree(8, 3, 2, seed=seed, kind=kind),
    "weak ring": lambda seed, kind: ll.synthetic.latent_cycle(
        10, 2, seed=seed, kind=kind, lengths=WEAK
    ),
    "weak tree": lambda seed, kind: ll.synthetic.latent_tree(
        8, 3, 2, seed=seed, kind=kind, lengths=WEAK
    ),
}


@dataclass(frozen=True, slots=True, eq=False)
class Sampled:
    """A known graph and rows of its model."""

    truth: ll.LatentGraph
    known: Known

    @classmethod
    def of(cls, model: SyntheticModel, seed: int) -> Sampled:
        known = Known(model.sample(N_ROWS, seed=100 + seed), nearest_hidden(model.graph).tolist())
        return cls(model.graph, known)

    @property
    def obs(self) -> ll.Observations:
        return self.known.obs

    @property
    def is_binary(self) -> bool:
        return set(self.obs.kinds) == {"binary"}

    def error(self, graph: ll.LatentGraph) -> float:
        """Structure error over twice the true edges."""
        return ll.structure_error(graph, self.truth).value / (2 * self.truth.n_edges)

    def scored(self, graph: ll.LatentGraph) -> Found:
        return Found((self.error(graph), self.known.agreement(nearest_hidden(graph))))


def _quartet(one: Sampled) -> Found:
    """Learn at the radius that is right for the family."""
    D = ll.information_distances(one.obs)
    r = loop_radius(D) if one.truth.n_cycles else D.r_max
    return one.scored(ll.learn(D, r=r, trace=False).graph)


def _rlcd(one: Sampled) -> Found:
    answer = elsewhere("rlcd", {"rows": one.obs.dense()})
    n_hidden = answer.found["n_nodes"] - one.obs.n_columns
    graph = ll.LatentGraph.build(one.obs.names, n_hidden, answer.found["edges"])
    return answer.scored(*one.scored(graph).scores)


def _gin(one: Sampled) -> Found:
    answer = elsewhere("gin", {"rows": one.obs.dense()})
    labels = list(range(one.obs.n_columns))
    for group in answer.found:
        for column in group:
            labels[column] = group[0]
    return answer.scored(None, one.known.agreement(labels))


def _topics(one: Sampled) -> Found:
    answer = topic_labels(one.known)
    return answer.scored(None, one.known.agreement(answer.found))


REFINED = "refined, structure"
METHODS = (
    Method("quartet tests, right radius", OURS, _quartet),
    Method(REFINED, OURS, lambda one: one.scored(refined_graph(one.obs))),
    Method("`groups`", OURS,
           lambda one: Found((None, one.known.agreement(ll.groups(one.obs).labels)))),
    Method("exploratory graph analysis, eBIC, Louvain", f"{SKLEARN}, networkx {nx.__version__}",
           lambda one: Found((None, one.known.agreement(
               exploratory_graph_groups(one.obs.dense()))))),
    Method("factor analysis, varimax, number given", SKLEARN,
           lambda one: Found((None, one.known.agreement(
               rotated_factors(one.obs, one.known.n_groups))))),
)  # fmt: skip
TOPICS = Method("total correlation, number given", pinned("corextopic"), _topics)
RLCD = Method("RLCD, rank 1", pinned("causal-learn"), _rlcd)
GIN = Method("GIN, HSIC", pinned("causal-learn"), _gin)


def methods(one: Sampled) -> Sequence[Method]:
    """Return the methods for a kind of columns."""
    if one.is_binary:
        return (*METHODS, TOPICS)
    return (*METHODS, RLCD) if one.truth.n_cycles else (*METHODS, RLCD, GIN)


def tables(seeds: Sequence[int]) -> Iterator[tuple[str, Sampled]]:
    for title, kind in KINDS.items():
        for family, build in FAMILIES.items():
            for seed in seeds:
                yield f"{family}, {title}", Sampled.of(build(seed, kind), seed)


def report(seeds: Sequence[int] = SEEDS) -> str:
    results = compare(tables(seeds), methods)
    scores = ("structure error", "adjusted Rand index")
    found = Comparison(scores, (-1, 1), 3, REFINED, results)
    text = (
        f"Rings and trees as in docs/method/refinement.md, {N_ROWS:,} rows, means over "
        f"{len(seeds)} seeds. Structure error over twice the number of true edges; agreement of "
        "the groups of columns with those of the true graph, in which columns with the same "
        "nearest hidden node form a group. Two methods are given the true number of groups. RLCD "
        "and GIN assume linear models and get Gaussian rows, corextopic binary ones; GIN was tried "
        f"on trees only. A package is stopped after {LIMIT} s of processor time. Bold: better than "
        "our refined graph."
    )
    return published("peers_recovery", "recovery", text, found)
