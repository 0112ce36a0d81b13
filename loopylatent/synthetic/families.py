"""Families of models with a known graph: rings, trees, and any skeleton."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypedDict, Unpack, get_args

import networkx as nx
import numpy as np

from loopylatent.compute.values import (
    FloatArray,
    Range,
    check_choice,
    count,
    frozen_array,
    range_above_0,
    range_within,
)
from loopylatent.errors import DataError, Remedy, ThresholdError, did_you_mean, quoted
from loopylatent.graph import LatentGraph
from loopylatent.inference.parameters import Layout
from loopylatent.synthetic.closed_forms import GaussianLaw
from loopylatent.synthetic.discrete import DiscreteLaw
from loopylatent.synthetic.model import LETTERS, Kind, SyntheticModel

MOST_NODES = 2000
"""Limit for graphs read from text or drawn at random."""
BALABAN_11 = """
44 26 -47 -15 35 -39 11 -27 38 -37 43 14 28 51 -29 -16 41 -11 -26 15 22 -51 -35 36 52 -14 -33
-26 -46 52 26 16 43 33 -15 17 -53 23 -42 -35 -28 30 -22 45 -44 16 -38 -16 50 -55 20 28 -17 -43
47 34 -26 -41 11 -36 -23 -16 41 17 -51 26 -33 47 17 -11 -20 -30 21 29 36 -43 -52 10 39 -28 -17
-52 51 26 37 -17 10 -10 -45 -34 17 -26 27 -21 46 53 -10 29 -50 35 15 -47 -29 -41 26 33 55 -17
42 -26 -36 16
"""


def _by_shifts(shifts: list[int], repeats: int) -> Callable[[], nx.Graph[Any]]:
    return lambda: nx.LCF_graph(len(shifts) * repeats, shifts, repeats)


CAGES: Mapping[str, Callable[[], nx.Graph[Any]]] = {
    "petersen": nx.petersen_graph,
    "heawood": nx.heawood_graph,
    "mcgee": _by_shifts([12, 7, -7], 8),
    "tutte-coxeter": _by_shifts([-13, -9, 7, -7, 9, 13], 5),
    "harries": _by_shifts([-29, -19, -13, 13, 21, -27, 27, 33, -13, 13, 19, -21, -33, 29], 5),
    "balaban 11": _by_shifts([int(shift) for shift in BALABAN_11.split()], 1),
    "tutte 12": _by_shifts(
        [17, 27, -13, -59, -35, 35, -11, 13, -53, 53, -27, 21, 57, 11, -21, -57, 59, -17], 7
    ),
    "hoffman-singleton": nx.hoffman_singleton_graph,
}
"""The smallest graphs of their degree and girth; all cubic, except the last (degree 7)."""


def cage(name: str) -> nx.Graph[Any]:
    """Return a smallest regular graph of its girth, by name (see ``CAGES``).

    Examples
    --------
    >>> [(name, len(cage(name)), nx.girth(cage(name))) for name in ("petersen", "mcgee")]
    [('petersen', 10, 5), ('mcgee', 24, 7)]
    """
    if name not in CAGES:
        raise DataError(f"No cage is called {quoted(name)}; {did_you_mean(name, list(CAGES))}")
    return CAGES[name]()


def regular_skeleton(
    n_nodes: int = 30, degree: int = 3, girth: int = 5, *, seed: int = 0
) -> nx.Graph[int]:
    """Return a random regular graph without short cycles.

    A regular graph is drawn uniformly. Its edges are visited in random order and removed if they
    lie on a cycle shorter than ``girth``; removed edges that would close no such cycle at the end
    are restored. The ends of removed edges have a smaller degree; no removal disconnects the graph.

    Parameters
    ----------
    n_nodes, degree : int
        Their product must be even.
    girth : int
        Minimum length of the remaining cycles, in edges.
    seed : int

    Examples
    --------
    >>> graph = regular_skeleton(40, 3, girth=7, seed=1)
    >>> len(graph), nx.girth(graph) >= 7, max(d for _, d in graph.degree)
    (40, True, 3)
    """
    size, each = count("n_nodes", n_nodes, 4), count("degree", degree, 2)
    shortest = count("girth", girth, 3)
    if size > MOST_NODES or each >= size or size * each % 2:
        raise ThresholdError(
            f"No graph has {size} nodes of degree {each}; the degree must be below the number of "
            f"nodes, their product even, and the number of nodes at most {MOST_NODES:,}."
        )
    rng = np.random.default_rng(count("seed", seed, 0))
    drawn: nx.Graph[int] = nx.random_regular_graph(each, size, seed=int(rng.integers(2**31)))
    graph: nx.Graph[int] = nx.Graph()
    graph.add_nodes_from(range(size))
    edges = sorted((min(edge), max(edge)) for edge in drawn.edges)
    graph.add_edges_from(edges)
    shuffled = [edges[k] for k in rng.permutation(len(edges)).tolist()]

    def closes(u: int, v: int) -> bool:
        return v in nx.single_source_shortest_path_length(graph, u, cutoff=shortest - 2)

    for u, v in shuffled:
        graph.remove_edge(u, v)
        if not closes(u, v):
            graph.add_edge(u, v)
    for u, v in shuffled:  # later removals may have made an edge admissible
        if not graph.has_edge(u, v) and not closes(u, v):
            graph.add_edge(u, v)
    return graph


def hidden_by_chance(skeleton: nx.Graph[Any], share: float, *, seed: int = 0) -> list[Hashable]:
    """Return the hidden nodes if each node is observed with probability ``share``.

    Nodes with fewer than three neighbours are always observed: hidden, they would not be
    identifiable.

    Examples
    --------
    >>> len(hidden_by_chance(cage("tutte 12"), 0.5, seed=1))
    65
    """
    if not 0 < share < 1:
        raise ThresholdError(f"share = {share:g} is not between 0 and 1.")
    seen = np.random.default_rng(count("seed", seed, 0)).random(len(skeleton)) < share
    pairs = zip(skeleton.degree, seen.tolist(), strict=True)
    return [node for (node, degree), observed in pairs if not observed and degree >= 3]


def read_edges(text: str) -> nx.Graph[str]:
    """Read a graph from lines with the two ends of an edge, separated by a comma or space.

    Empty lines and lines that start with # are skipped.

    Examples
    --------
    >>> sorted(read_edges("a, b\\nb c\\n# a comment").edges)
    [('a', 'b'), ('b', 'c')]
    """
    graph: nx.Graph[str] = nx.Graph()
    for number, line in enumerate(text.splitlines(), start=1):
        words = re.findall(r"[^,;\s]+", line)
        if not words or words[0].startswith("#"):
            continue
        if len(words) != 2:
            raise DataError(
                f"Line {number} of the edge list has {len(words)} names ({quoted(line.strip())}); "
                "give two, separated by a comma or a space."
            )
        if words[0] == words[1]:
            raise DataError(f"Line {number} connects {quoted(words[0])} to itself; remove it.")
        graph.add_edge(*words)
        if len(graph) > MOST_NODES:
            raise DataError(f"The edge list has more than {MOST_NODES:,} nodes; use fewer.")
    if len(graph) == 0:
        raise DataError("The edge list is empty; give one edge per line, such as: a b")
    return graph


LENGTHS = (0.2, 0.4)
"""Default range of edge lengths."""
STRONGEST_POTENTIAL = 10.0
"""Its length is 4e-9: with a larger one, two nodes are equal in any table."""
TABLE_NOISE = 0.5
"""Standard deviation of the noise added to the log-potentials of random tables."""


class Drawing(TypedDict, total=False):
    """Optional keywords of every family."""

    lengths: Range
    potentials: Range | None
    random_signs: bool
    fields: Range | None
    kind: Kind
    n_states: int


@dataclass(frozen=True, slots=True)
class Choice:
    """How the parameters of a model are drawn; see `latent_cycle`."""

    lengths: Range = LENGTHS
    potentials: Range | None = None
    random_signs: bool = False
    fields: Range | None = None
    kind: Kind = "ising"
    n_states: int = 2

    def __post_init__(self) -> None:
        check_choice("kind", self.kind, get_args(Kind))
        if self.fields is not None and self.kind != "ising":
            raise ThresholdError(f"fields need kind 'ising', not {self.kind!r}.")
        if count("n_states", self.n_states, 2) > len(LETTERS):
            raise ThresholdError(
                Remedy("setting", "n_states", self.n_states),
                f" is too many; use at most {len(LETTERS)}.",
            )
        states = self.kind in ("symmetric", "tables")
        if self.n_states > 2 and not states:
            raise ThresholdError(
                Remedy("setting", "n_states", self.n_states),
                f" needs kind 'symmetric' or 'tables', not {self.kind!r}.",
            )
        if self.random_signs and states:
            raise ThresholdError(
                "Categorical nodes have no sign; ", Remedy("signs"), " needs 'ising' or 'gaussian'."
            )
        if self.potentials is not None and self.kind != "ising":
            raise ThresholdError("potentials need kind 'ising'; use lengths instead.")


def latent_cycle(
    girth: int = 10, leaves: int = 2, depth: int = 1, *, seed: int = 0, **drawing: Unpack[Drawing]
) -> SyntheticModel:
    """Return a ring of hidden nodes, each with observed leaves or a tree below it.

    Parameters
    ----------
    girth : int
        Hidden nodes on the ring, at least 3.
    leaves : int
        Columns on each of them, at least 1.
    depth : int
        Edges from the ring down to the columns. With 2 or more, each ring node has ``leaves``
        hidden children, each of them has ``leaves`` children, and so on down to the columns;
        ``leaves`` must then be at least 2.
    seed : int

    Other Parameters
    ----------------
    lengths : pair of float
        Edge lengths are drawn uniformly from this range (default: 0.2 to 0.4).
    potentials : pair of float, optional
        Draw the Ising potentials of the edges instead; their lengths are -log tanh(theta). The
        paper uses 0.05 to 0.2.
    random_signs : bool
        Whether the correlation of an edge is negative with probability one half (default: no).
    fields : pair of float, optional
        Draw a potential of every node uniformly from this range; Ising models only.
    kind : {"ising", "symmetric", "tables", "gaussian"}
        Binary; ``n_states`` states, where an edge keeps the state or draws any other with equal
        probability; the same with noise in the tables; continuous. The default is "ising".
    n_states : int
        States of every node, if ``kind`` is "symmetric" or "tables" (default: 2).

    Examples
    --------
    >>> latent_cycle(girth=8, leaves=3).graph
    LatentGraph(24 observed, 8 hidden, 32 edges, 1 cycles)
    """
    ring: nx.Graph[int] = nx.cycle_graph(count("girth", girth, 3))
    on_each, steps = count("leaves", leaves, 1), count("depth", depth, 1)
    if steps > 1 and on_each < 2:
        raise ThresholdError(
            f"leaves = {on_each} with depth = {steps} gives hidden nodes with two neighbours, "
            "which are not identifiable; use at least 2 leaves."
        )
    lowest = list(ring)
    for _ in range(steps - 1):
        below = range(len(ring), len(ring) + on_each * len(lowest))
        ring.add_edges_from((lowest[k // on_each], new) for k, new in enumerate(below))
        lowest = list(below)
    graph = _with_leaves(ring, set(ring), dict.fromkeys(lowest, on_each))
    return _with_law(graph, Choice(**drawing), np.random.default_rng(count("seed", seed, 0)))


def latent_tree(
    n_hidden: int = 6,
    n_observed_inner: int = 2,
    leaves: int = 0,
    *,
    seed: int = 0,
    **drawing: Unpack[Drawing],
) -> SyntheticModel:
    """Return a random tree whose inner nodes are hidden or observed.

    The inner nodes form a tree drawn uniformly from all trees. Then observed leaves are added:
    ``leaves`` to every hidden node, more if its degree would be below 3, and to observed inner
    nodes as many as make them inner.

    Parameters
    ----------
    n_hidden, n_observed_inner : int
        Numbers of inner nodes, together at least 1.
    leaves : int
        Minimum number of leaves per hidden node.
    seed : int
    **drawing
        ``lengths``, ``potentials``, ``random_signs``, ``fields``, ``kind`` and ``n_states``, as in
        `latent_cycle`.

    Examples
    --------
    >>> tree = latent_tree(n_hidden=3, n_observed_inner=1, seed=4).graph
    >>> tree.n_hidden, tree.n_cycles, [len(tree.neighbours(h)) for h in tree.hidden_nodes]
    (3, 0, [3, 3, 3])
    """
    hiding = count("n_hidden", n_hidden, 0)
    n_inner = hiding + count("n_observed_inner", n_observed_inner, 0)
    least = count("leaves", leaves, 0)
    if n_inner == 0:
        raise ThresholdError(Remedy("no_inner_node"), "; a tree needs an inner node.")
    rng = np.random.default_rng(count("seed", seed, 0))
    inner: nx.Graph[int] = nx.path_graph(n_inner)
    if n_inner > 2:
        inner = nx.from_prufer_sequence(rng.integers(n_inner, size=n_inner - 2).tolist())
    hidden = set(rng.choice(n_inner, hiding, replace=False).tolist())
    needed = {
        node: max(least, 3 - degree) if node in hidden else max(0, 2 - degree)
        for node, degree in inner.degree
    }
    return _with_law(_with_leaves(inner, hidden, needed), Choice(**drawing), rng)


def from_skeleton(
    nx_graph: nx.Graph[Any],
    leaves: int = 1,
    hidden: Iterable[Hashable] | None = None,
    *,
    keep_names: bool = False,
    seed: int = 0,
    **drawing: Unpack[Drawing],
) -> SyntheticModel:
    """Return the given graph with hidden nodes, each with observed leaves.

    Parameters
    ----------
    nx_graph : networkx.Graph
        The skeleton; edge attributes are ignored.
    leaves : int
        Columns on each hidden node.
    hidden : iterable of nodes, optional
        The hidden nodes (default: all). The others are the first columns.
    keep_names : bool
        Whether columns keep their names in the skeleton, and leaves are named after their node;
        otherwise x1, x2, ...
    seed : int
    **drawing
        ``lengths``, ``potentials``, ``random_signs``, ``fields``, ``kind`` and ``n_states``, as in
        `latent_cycle`.

    Raises
    ------
    DataError
        If the skeleton is not a simple graph, or a hidden node has a degree below 3.

    Examples
    --------
    >>> import networkx as nx
    >>> from_skeleton(nx.petersen_graph(), leaves=2).graph
    LatentGraph(20 observed, 10 hidden, 35 edges, 6 cycles)
    """
    on_each = count("leaves", leaves, 0)
    if nx_graph.is_directed() or nx_graph.is_multigraph():
        raise DataError("The skeleton is directed or has parallel edges; give a networkx.Graph.")
    if len(nx_graph) == 0:
        raise DataError("The skeleton has no nodes; give a graph with at least one.")
    for node in nx.nodes_with_selfloops(nx_graph):
        raise DataError(
            f"Node {quoted(str(node))} of the skeleton has an edge to itself; remove it."
        )
    chosen = dict.fromkeys(nx_graph if hidden is None else hidden)
    for node in (node for node in chosen if node not in nx_graph):
        raise DataError(
            f"Hidden node {quoted(str(node))} is not in the skeleton; choose among its nodes."
        )
    for node, degree in nx_graph.degree:
        if node in chosen and degree + on_each < 3:
            raise DataError(
                f"Hidden node {quoted(str(node))} has {degree} neighbours and {on_each} leaves, "
                "together below 3; add leaves or make it observed."
            )
    graph = _with_leaves(nx_graph, set(chosen), dict.fromkeys(chosen, on_each), keep_names)
    return _with_law(graph, Choice(**drawing), np.random.default_rng(count("seed", seed, 0)))


def _with_leaves(
    inner: nx.Graph[Any],
    hidden: Collection[Hashable],
    leaves: Mapping[Any, int],
    keep_names: bool = False,
) -> LatentGraph:
    """Number the observed inner nodes, then the leaves, then the hidden nodes; lengths are 1."""
    owners = [(node, k + 1) for node in inner for k in range(leaves.get(node, 0))]
    observed = [node for node in inner if node not in hidden]
    p = len(observed) + len(owners)
    number = {node: k for k, node in enumerate(observed)}
    number |= {node: p + k for k, node in enumerate(n for n in inner if n in hidden)}
    edges = [(number[u], number[v]) for u, v in inner.edges]
    edges += [(len(observed) + k, number[owner]) for k, (owner, _) in enumerate(owners)]
    names = [f"x{k + 1}" for k in range(p)]
    if keep_names:
        names = [*map(str, observed), *(f"{owner}.{k}" for owner, k in owners)]
        if len(set(names)) < len(names):
            raise DataError("Two columns would have the same name; rename the nodes.")
    return LatentGraph.build(names, len(hidden), edges)


def _with_law(plan: LatentGraph, choice: Choice, rng: np.random.Generator) -> SyntheticModel:
    """Draw a length and a sign for each edge, in edge order, then the other parameters."""
    if choice.potentials is None:
        lengths = rng.uniform(*range_above_0("lengths", choice.lengths), plan.n_edges)
    else:
        ends = range_above_0("potentials", choice.potentials, STRONGEST_POTENTIAL)
        lengths = -np.log(np.tanh(rng.uniform(*ends, plan.n_edges)))
    signs = rng.choice([-1, 1], plan.n_edges) if choice.random_signs else np.ones(plan.n_edges)
    graph = _with_lengths(plan, lengths)
    law: DiscreteLaw | GaussianLaw | None = None
    if choice.kind == "gaussian":
        law = GaussianLaw.of(graph, signs * np.exp(-lengths))
    elif choice.kind != "ising":
        law = _states(graph, choice, rng)
    elif choice.fields is not None:
        ends = range_within("fields", choice.fields, STRONGEST_POTENTIAL)
        fields = rng.uniform(*ends, plan.n_nodes)
        law = DiscreteLaw.ising(graph, signs * np.arctanh(np.exp(-lengths)), fields)
    if isinstance(law, DiscreteLaw) and choice.kind != "symmetric":
        graph = _with_lengths(plan, law.edge_distances)
    return SyntheticModel(graph, frozen_array(signs, np.int64), choice.kind, law)


def _with_lengths(plan: LatentGraph, lengths: FloatArray) -> LatentGraph:
    return LatentGraph.build(plan.names, plan.n_hidden, plan.edges, lengths)


def _states(graph: LatentGraph, choice: Choice, rng: np.random.Generator) -> DiscreteLaw:
    """Return tables in which edges keep a state with the probability that gives their length."""
    # if the ends agree beyond chance in a share s of the rows, the determinant is s^(K-1)
    size = choice.n_states
    layout = Layout(graph, frozen_array(np.full(graph.n_nodes, size), np.int64))
    share = np.exp(-graph.lengths / (size - 1))
    bonus = np.log1p(size * share / (1 - share))
    cells = np.zeros(layout.n_cells)
    cells[size * graph.n_nodes :] = np.outer(bonus, np.eye(size).ravel()).ravel()
    if choice.kind == "tables":
        cells[size * graph.n_nodes :] += rng.normal(0, TABLE_NOISE, size**2 * graph.n_edges)
    return DiscreteLaw(layout, frozen_array(cells, np.float64))
