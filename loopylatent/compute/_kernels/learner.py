"""The learner: a mutable graph, visits to its nodes, and the clean-up.

Distances are a matrix that grows with the graph, or none: then the caller computes those that a
visit needs (learning/node_distances.py).

Each node has a *slot* in the arrays of a `State`; slots of hidden nodes are in order of creation.
Its *working number* also counts the hidden nodes that were contracted at once and never had a slot.
An edge is a pair of half-edges 2k and 2k + 1, one in the list of each end.
"""

from __future__ import annotations

import heapq
from typing import NamedTuple

import numpy as np

from loopylatent.compute._kernels.grouping import (
    RELAXED,
    Contracted,
    LocalTree,
    Rules,
    block,
    contract,
    group,
    pairwise_sum,
)
from loopylatent.compute._kernels.jit import MANY, sized_kernel
from loopylatent.compute.values import FloatArray, IntArray

kernel = sized_kernel(MANY)
N_OBSERVED, N_NODES, NEXT_NUMBER, N_PAIRS, FREE, N_TOUCHED = 0, 1, 2, 3, 4, 5
N_VISITS, N_STUCK, N_CAPPED, N_INTS, N_FLOATS, RECORD, NOTE = 6, 7, 8, 9, 10, 11, 12
NUMBER, SURROGATE, ALIVE, PLACE, DEGREE, FIRST = 0, 1, 2, 3, 4, 5
FOLLOWING, PRECEDING, END = 0, 1, 2


class Graph(NamedTuple):
    """A mutable graph. Arrays have spare room."""

    counts: IntArray
    """(13,) indexed by N_OBSERVED, ..., NOTE; FREE is the first unused pair of half-edges; RECORD
    and NOTE say whether a record is kept and changes are noted."""
    nodes: IntArray
    """(slots, 6) working number, surrogate (the column whose visit created the node, or itself),
    whether it is in the graph, position in the neighbourhood during a visit (otherwise -1), degree,
    first half-edge (or -1)."""
    halves: IntArray
    """(half-edges, 3) the following and the preceding one of the same node (or -1), the node to
    which it leads. Unused pairs are chained by FOLLOWING."""
    lengths: FloatArray
    """(half-edges,)"""
    touched: IntArray
    """(changes, 2) ends of edges changed by the current step, if changes are noted."""
    change: FloatArray
    """(changes, 2) the length of the edge before and after; NaN: there was none."""


class State(NamedTuple):
    """A graph with the distances between its nodes, and the record."""

    graph: Graph
    distances: FloatArray
    """(slots, slots), or empty if the caller computes them."""
    gaps: FloatArray
    """(slots,) the distance to the surrogate at creation, in relaxed grouping."""
    ints: IntArray
    """The record; trace.py reads it."""
    floats: FloatArray


class GraphArrays(NamedTuple):
    """A graph read out of a state; hidden nodes are numbered from p on."""

    hidden: IntArray
    """(h,) the working number of each hidden node."""
    edges: IntArray
    """(m, 2) sorted, smaller node first."""
    lengths: FloatArray


class Learned(NamedTuple):
    """What a whole run of the learner gives."""

    graph: GraphArrays
    counts: IntArray
    """As in `Graph`."""
    ints: IntArray
    """The record, empty if none was wanted."""
    floats: FloatArray


@kernel
def learn_at_once(
    distances: FloatArray, edges: IntArray, lengths: FloatArray, order: IntArray, record: bool,
    rules: Rules, limit: float, rng: np.random.Generator,
) -> Learned:  # fmt: skip
    """Do everything in one call: without an ``order`` by degree; ``limit`` as in `clean_up`."""
    p = len(distances)
    if len(order) == 0:
        order = order_by_degree(p, edges, lengths)
    state = make_state(distances, p, edges, lengths, record)
    count = state.graph.counts
    state, _ = visit_some(state, order, count[N_VISITS], np.inf, rules, rng)
    state = clean_up(state, limit)
    ints, floats = state.ints[: count[N_INTS]].copy(), state.floats[: count[N_FLOATS]].copy()
    return Learned(read_graph(state.graph), count, ints, floats)


@kernel
def order_by_degree(p: int, edges: IntArray, lengths: FloatArray) -> IntArray:
    """The nodes of degree 2 or more by degree, descending, then sum of lengths, then number.

    ``edges`` are sorted, so that lengths are added in the order of the neighbours.
    """
    degree = np.zeros(p, np.int64)
    for e in range(len(edges)):
        degree[edges[e, 0]] += 1
        degree[edges[e, 1]] += 1
    start = np.zeros(p + 1, np.int64)
    start[1:] = np.cumsum(degree)
    slot, around = start[:p].copy(), np.empty(2 * len(edges), np.float64)
    for side in range(1, -1, -1):  # smaller neighbours, then larger ones
        for e in range(len(edges)):
            node = edges[e, side]
            around[slot[node]] = lengths[e]
            slot[node] += 1
    inner = np.flatnonzero(degree >= 2)
    reach = np.empty(len(inner), np.float64)
    for x in range(len(inner)):
        at, n = start[inner[x]], degree[inner[x]]
        reach[x] = around[at] + pairwise_sum(around, at + 1, n - 1)
    nearest = inner[np.argsort(reach, kind="mergesort")]
    return nearest[np.argsort(-degree[nearest], kind="mergesort")]


@kernel
def make_state(
    distances: FloatArray, p: int, edges: IntArray, lengths: FloatArray, record: bool
) -> State:
    """Make a state of an initial graph on p columns; ``distances`` may be empty."""
    n, n_pairs, n_record = p + p // 2 + 8, 2 * len(edges) + 2 * p + 32, 64 * p + 1024
    n_record = n_record if record else 0
    room = np.empty((0, 0), np.float64)
    if len(distances):
        room = np.empty((n, n), np.float64)
        room[:p, :p] = distances
    graph = Graph(
        np.zeros(13, np.int64), np.zeros((n, 6), np.int64), np.empty((2 * n_pairs, 3), np.int64),
        np.empty(2 * n_pairs, np.float64), np.empty((0, 2), np.int64),
        np.empty((0, 2), np.float64),
    )  # fmt: skip
    count = graph.counts
    count[N_OBSERVED] = count[N_NODES] = count[NEXT_NUMBER] = p
    count[FREE], count[RECORD], count[NOTE] = -1, int(record), int(record or len(room) == 0)
    for node in range(p):
        _set_node(graph.nodes, node, node, node)
    for e in range(len(edges)):
        _new_pair(graph, edges[e, 0], edges[e, 1], lengths[e])
    ints, floats = np.empty(n_record, np.int64), np.empty(n_record, np.float64)
    return State(graph, room, np.zeros(n, np.float64), ints, floats)


@kernel
def _set_node(nodes: IntArray, slot: int, number: int, surrogate: int) -> None:
    """Make a node without edges."""
    nodes[slot, NUMBER], nodes[slot, SURROGATE], nodes[slot, ALIVE] = number, surrogate, 1
    nodes[slot, PLACE], nodes[slot, DEGREE], nodes[slot, FIRST] = -1, 0, -1


@kernel
def visit_some(
    state: State, order: IntArray, begin: int, effort: float, rules: Rules,
    rng: np.random.Generator,
) -> tuple[State, int]:  # fmt: skip
    """Replace the neighbourhoods of nodes by their local latent trees, one after the other.

    Starts at ``begin`` and stops when the cubed sizes of neighbourhoods exceed ``effort``. Returns
    the state and the number of nodes done. With fewer than two neighbours there is nothing to
    group.
    """
    spent = 0.0
    for x in range(begin, len(order)):
        if spent > effort:
            return state, x
        node = order[x]
        members = closed_neighbourhood(state.graph, node)
        spent += float(len(members)) ** 3
        if len(members) < 3:
            continue
        distances = block(state.distances, members)
        if rules.method == RELAXED:
            gaps, surrogates = state.gaps[members], state.graph.nodes[members, SURROGATE]
            distances = bridge(block(state.distances, surrogates), gaps, distances)
        state, ids, cut = _visit(state, node, members, distances, rules, rng)
        _measure(state.graph.nodes, state.distances, members, ids, cut)
        for member in members:
            state.graph.nodes[member, PLACE] = -1
    return state, len(order)


class Placed(NamedTuple):
    """New hidden nodes in their local tree, and the edges of a visit."""

    members: IntArray
    """(m,) the members that remain after contraction."""
    new: IntArray
    """(h,) the new hidden nodes that remain."""
    paths: FloatArray
    """(h, m + h) path lengths from the new nodes to members and to new nodes."""
    ends: IntArray
    """(edges, 2) of each edge set by the visit, in order."""
    lengths: FloatArray
    """(edges,)"""


@kernel
def visit_one(
    state: State, node: int, members: IntArray, distances: FloatArray, rules: Rules,
    rng: np.random.Generator,
) -> tuple[State, Placed]:  # fmt: skip
    """Replace the neighbourhood of one node, with distances from the caller.

    ``distances`` are those between the members; in relaxed grouping, between their surrogates.
    """
    state, ids, cut = _visit(state, node, members, distances, rules, rng)
    m, graph = len(members), state.graph
    left = np.flatnonzero((ids >= 0) & (cut.survivor < 0))
    inside, new = left[left < m], left[left >= m]
    start, entry = _incident(len(ids), cut.ends)
    paths = np.empty((len(new), len(left)), np.float64)
    lengths, stack = np.empty(len(ids), np.float64), np.empty(len(ids), np.int64)
    for x in range(len(new)):
        _paths_from(new[x], start, entry, cut.ends, cut.lengths, lengths, stack)
        paths[x] = lengths[left]
    for member in members:
        graph.nodes[member, PLACE] = -1
    n = graph.counts[N_TOUCHED]
    is_set = np.flatnonzero(~np.isnan(graph.change[:n, 1]))
    return state, Placed(
        ids[inside], ids[new], paths, graph.touched[is_set], graph.change[is_set, 1]
    )


@kernel
def _visit(
    state: State, node: int, members: IntArray, distances: FloatArray, rules: Rules,
    rng: np.random.Generator,
) -> tuple[State, IntArray, Contracted]:  # fmt: skip
    """Replace a neighbourhood by its local latent tree.

    Returns also the slots of the nodes of the tree and its edges. Positions in the neighbourhood
    stay in PLACE.
    """
    count = state.graph.counts
    count[N_TOUCHED] = 0
    surrogates, gaps = members[:0], state.gaps[:0]
    if rules.method == RELAXED:
        surrogates, gaps = state.graph.nodes[members, SURROGATE], state.gaps[members]
    tree = group(distances, surrogates, gaps, rules, count[RECORD] == 1, rng)
    cut = contract(tree, members >= count[N_OBSERVED], rules.shortest_edge)
    n_changes = _most_changes(state.graph, members, cut) if count[NOTE] else 0
    state = _with_room(state, tree.n_new, len(cut.ends), n_changes)
    ids = _replace(state.graph, state.distances, members, node, cut)
    if rules.method == RELAXED:
        _set_gaps(state.gaps, ids, tree, len(members), state.graph.nodes[node, PLACE])
    count[N_VISITS] += 1
    count[N_STUCK] += int(tree.stuck)
    count[N_CAPPED] += int(tree.capped)
    if count[RECORD]:
        state = _record_visit(state, node, members, distances, surrogates, gaps, tree, cut)
    count[NEXT_NUMBER] += tree.n_new
    return state, ids, cut


@kernel
def clean_up(state: State, limit: float) -> State:
    """Contract edges below ``limit`` and drop hidden nodes of low degree."""
    state.graph.counts[N_TOUCHED] = 0
    state, merged, lengths = contract_graph(state, limit)
    state, dropped = drop_low_degree(state)
    if state.graph.counts[RECORD] == 1:
        state = _record_clean_up(state, dropped, merged, lengths)
    return state


# Half-edges ---------------------------------------------------------------------------------


@kernel
def _link(nodes: IntArray, halves: IntArray, node: int, half: int) -> None:
    """Put a half-edge into the list of its node."""
    head = nodes[node, FIRST]
    halves[half, FOLLOWING], halves[half, PRECEDING] = head, -1
    if head >= 0:
        halves[head, PRECEDING] = half
    nodes[node, FIRST] = half
    nodes[node, DEGREE] += 1


@kernel
def _unlink(nodes: IntArray, halves: IntArray, node: int, half: int) -> None:
    """Take a half-edge out of the list of its node."""
    preceding, following = halves[half, PRECEDING], halves[half, FOLLOWING]
    if preceding >= 0:
        halves[preceding, FOLLOWING] = following
    else:
        nodes[node, FIRST] = following
    if following >= 0:
        halves[following, PRECEDING] = preceding
    nodes[node, DEGREE] -= 1


@kernel
def _find(nodes: IntArray, halves: IntArray, u: int, v: int) -> int:
    """Return the half-edge from u to v; -1: there is none."""
    turned = nodes[v, DEGREE] < nodes[u, DEGREE]
    if turned:
        u, v = v, u
    half = nodes[u, FIRST]
    while half >= 0 and halves[half, END] != v:
        half = halves[half, FOLLOWING]
    return int(half ^ 1 if turned and half >= 0 else half)


@kernel
def _new_pair(graph: Graph, u: int, v: int, length: float) -> None:
    """Add an edge between nodes that have none."""
    count, halves = graph.counts, graph.halves
    half = count[FREE]
    if half >= 0:
        count[FREE] = halves[half, FOLLOWING]
    else:
        half = 2 * count[N_PAIRS]
        count[N_PAIRS] += 1
    halves[half, END], halves[half + 1, END] = v, u
    graph.lengths[half] = graph.lengths[half + 1] = length
    _link(graph.nodes, halves, u, half)
    _link(graph.nodes, halves, v, half + 1)


@kernel
def _remove_pair(graph: Graph, u: int, half: int) -> None:
    """Remove the edge of a half-edge of u."""
    _unlink(graph.nodes, graph.halves, u, half)
    _unlink(graph.nodes, graph.halves, graph.halves[half, END], half ^ 1)
    pair = half - half % 2
    graph.halves[pair, FOLLOWING] = graph.counts[FREE]
    graph.counts[FREE] = pair


@kernel
def _touch(graph: Graph, u: int, v: int, before: float, after: float) -> None:
    """Note that an edge changes, if changes are noted."""
    n = graph.counts[N_TOUCHED]
    if graph.counts[NOTE] == 1:
        graph.touched[n, 0], graph.touched[n, 1] = min(u, v), max(u, v)
        graph.change[n, 0], graph.change[n, 1] = before, after
        graph.counts[N_TOUCHED] += 1


@kernel
def _set_first(distances: FloatArray, u: int, v: int, length: float) -> None:
    """Give nodes infinitely far apart the length of their first edge as distance."""
    if len(distances) and not np.isfinite(distances[u, v]):
        distances[u, v] = distances[v, u] = length


@kernel
def _add_edge(graph: Graph, distances: FloatArray, u: int, v: int, length: float) -> None:
    """Add an edge; of parallel edges keep the shorter. A first edge gives a distance."""
    half, known = _find(graph.nodes, graph.halves, u, v), np.nan
    if half >= 0:
        known = graph.lengths[half]
    if known <= length:
        return
    _touch(graph, u, v, known, length)
    if half >= 0:
        graph.lengths[half] = graph.lengths[half ^ 1] = length
    else:
        _new_pair(graph, u, v, length)
    _set_first(distances, u, v, length)


@kernel
def _move_edges(graph: Graph, distances: FloatArray, goes: int, stays: int) -> None:
    """Move the edges of a contracted node to the survivor and remove the node."""
    half = graph.nodes[goes, FIRST]
    while half >= 0:
        following, end = graph.halves[half, FOLLOWING], graph.halves[half, END]
        length = graph.lengths[half]
        _touch(graph, goes, end, length, np.nan)
        _remove_pair(graph, goes, half)
        _add_edge(graph, distances, stays, end, length)
        half = following
    graph.nodes[goes, ALIVE] = 0


# A visit ------------------------------------------------------------------------------------


@kernel
def closed_neighbourhood(graph: Graph, node: int) -> IntArray:
    """Return ``node`` and its neighbours, ascending."""
    members = np.empty(graph.nodes[node, DEGREE] + 1, np.int64)
    members[0], n, half = node, 1, graph.nodes[node, FIRST]
    while half >= 0:
        members[n] = graph.halves[half, END]
        n += 1
        half = graph.halves[half, FOLLOWING]
    members.sort()
    return members


@kernel
def bridge(distances: FloatArray, gaps: FloatArray, through: FloatArray) -> FloatArray:
    """Return the distances between surrogates, without infinite ones where that is possible.

    If two surrogates are infinitely far apart, the path through their nodes is used, whose
    distances are ``through``.
    """
    for x in range(len(gaps)):
        for y in range(len(gaps)):
            if not np.isfinite(distances[x, y]):
                distances[x, y] = through[x, y] + gaps[x] + gaps[y]
    return distances


@kernel
def _most_changes(graph: Graph, members: IntArray, cut: Contracted) -> int:
    """Return the largest number of notes a visit can make: edges inside, moved and added."""
    degree, n = np.empty(len(members), np.int64), len(cut.ends)
    for x in range(len(members)):
        degree[x] = graph.nodes[members[x], DEGREE]
        n += degree[x]
    for k in range(len(cut.moves)):
        goes, stays = cut.moves[k, 0], cut.moves[k, 1]
        if goes < len(members):
            n += 2 * degree[goes]
            degree[stays] += degree[goes]
    return int(n)


@kernel
def _with_room(state: State, n_nodes: int, n_pairs: int, n_changes: int) -> State:
    """Return a state with room for more nodes, edges and notes."""
    graph, distances, gaps = state.graph, state.distances, state.gaps
    nodes, halves, lengths = graph.nodes, graph.halves, graph.lengths
    touched, change = graph.touched, graph.change
    size = graph.counts[N_NODES] + n_nodes
    if size > len(nodes):
        size += size // 2 + 8
        nodes, gaps = _more_rows(nodes, size), _more(gaps, size)
        if len(distances):
            distances = np.empty((size, size), np.float64)
            distances[: len(state.distances), : len(state.distances)] = state.distances
    size = 2 * (graph.counts[N_PAIRS] + n_pairs)
    if size > len(halves):
        halves, lengths = _more_rows(halves, 2 * size), _more(lengths, 2 * size)
    size = graph.counts[N_TOUCHED] + n_changes
    if size > len(touched):
        touched, noted = _more_rows(touched, 2 * size), change
        change = np.empty((2 * size, 2), np.float64)
        change[: len(noted)] = noted
    graph = Graph(graph.counts, nodes, halves, lengths, touched, change)
    return State(graph, distances, gaps, state.ints, state.floats)


@kernel
def _more_rows(values: IntArray, size: int) -> IntArray:
    """Return the rows with room for further ones."""
    more = np.zeros((size, values.shape[1]), np.int64)
    more[: len(values)] = values
    return more


@kernel
def _more(values: FloatArray, size: int) -> FloatArray:
    """Return the values with room for further ones."""
    more = np.zeros(size, np.float64)
    more[: len(values)] = values
    return more


@kernel
def _replace(
    graph: Graph, distances: FloatArray, members: IntArray, node: int, cut: Contracted
) -> IntArray:
    """Replace all edges between ``members`` by the local tree; return the slots of its nodes.

    Positions are those in ``members`` until PLACE is reset.
    """
    m = len(members)
    for x in range(m):
        graph.nodes[members[x], PLACE] = x
    _remove_inside(graph, members)
    for k in range(len(cut.moves)):
        if cut.moves[k, 0] < m:
            goes, stays = members[cut.moves[k, 0]], members[cut.moves[k, 1]]
            _move_edges(graph, distances, goes, stays)
    first_new = graph.counts[N_NODES]
    ids = np.full(len(cut.survivor), -1, np.int64)
    ids[:m] = members
    for x in range(m, len(ids)):
        if cut.survivor[x] < 0:
            ids[x] = graph.counts[N_NODES]
            _set_node(graph.nodes, ids[x], graph.counts[NEXT_NUMBER] + x - m, node)
            graph.counts[N_NODES] += 1
    for e in range(len(cut.ends)):
        u, v = ids[cut.ends[e, 0]], ids[cut.ends[e, 1]]
        _touch(graph, u, v, np.nan, cut.lengths[e])
        _new_pair(graph, u, v, cut.lengths[e])
        if v < first_new:  # those of new nodes follow
            _set_first(distances, u, v, cut.lengths[e])
    return ids


@kernel
def _remove_inside(graph: Graph, members: IntArray) -> None:
    """Remove the edges between the nodes of the neighbourhood."""
    for u in members:
        half = graph.nodes[u, FIRST]
        while half >= 0:
            following, v = graph.halves[half, FOLLOWING], graph.halves[half, END]
            if u < v and graph.nodes[v, PLACE] >= 0:
                _touch(graph, u, v, graph.lengths[half], np.nan)
                _remove_pair(graph, u, half)
            half = following


@kernel
def _set_gaps(gaps: FloatArray, ids: IntArray, tree: LocalTree, m: int, at: int) -> None:
    """Set the distances of new hidden nodes from the visited one, before contraction."""
    start, entry = _incident(len(ids), tree.ends)
    paths, stack = np.empty(len(ids)), np.empty(len(ids), np.int64)
    _paths_from(at, start, entry, tree.ends, tree.lengths, paths, stack)
    for x in range(m, len(ids)):
        if ids[x] >= 0:
            gaps[ids[x]] = paths[x] if np.isfinite(paths[x]) else 0.0


@kernel
def _incident(n: int, ends: IntArray) -> tuple[IntArray, IntArray]:
    """Return the edges at each of n nodes: where its list starts, and the lists."""
    start = np.zeros(n + 1, np.int64)
    for e in range(len(ends)):
        start[ends[e, 0] + 1] += 1
        start[ends[e, 1] + 1] += 1
    for x in range(n):
        start[x + 1] += start[x]
    slot, entry = start[:n].copy(), np.empty(2 * len(ends), np.int64)
    for e in range(len(ends)):
        for side in range(2):
            entry[slot[ends[e, side]]] = e
            slot[ends[e, side]] += 1
    return start, entry


@kernel
def _paths_from(
    source: int, start: IntArray, entry: IntArray, ends: IntArray, lengths: FloatArray,
    paths: FloatArray, stack: IntArray,
) -> None:  # fmt: skip
    """Write the path lengths in a forest; infinite to other trees."""
    paths[:] = np.inf
    paths[source], stack[0], height = 0.0, source, 1
    while height:
        height -= 1
        x = stack[height]
        for k in range(start[x], start[x + 1]):
            e = entry[k]
            y = ends[e, 0] + ends[e, 1] - x
            if paths[y] == np.inf:
                paths[y], stack[height] = paths[x] + lengths[e], y
                height += 1


@kernel
def _measure(
    nodes: IntArray, distances: FloatArray, members: IntArray, ids: IntArray, cut: Contracted
) -> None:
    """Set the distances of the new hidden nodes that remain after contraction.

    To nodes of the local tree: the path length. To a node k outside: the largest d(c, k) - d(c, h)
    over the remaining members c, at least 0; exact where the metric is additive, whichever side of
    the tree k is on.
    """
    m, d = len(members), distances
    start, entry = _incident(len(ids), cut.ends)
    paths, stack = np.empty(len(ids)), np.empty(len(ids), np.int64)
    n_outside, bounds = -1, paths[:0]
    for x in range(m, len(ids)):
        h = ids[x]
        if h < 0:
            continue
        if n_outside < 0:  # slots before the first new node
            n_outside, bounds = h, np.empty(h)
        _paths_from(x, start, entry, cut.ends, cut.lengths, paths, stack)
        bounds[:] = -np.inf
        d[h, h] = 0.0
        for y in range(x):
            if ids[y] >= 0 and cut.survivor[y] < 0:
                d[h, ids[y]] = d[ids[y], h] = paths[y]
                if y < m:
                    _raise_bounds(bounds, d[ids[y]], paths[y])
        for k in range(n_outside):
            if nodes[k, ALIVE] and nodes[k, PLACE] < 0:
                bound = bounds[k]
                d[h, k] = d[k, h] = np.inf if bound == -np.inf else max(bound, 0.0)


@kernel
def _raise_bounds(bounds: FloatArray, far: FloatArray, near: float) -> None:
    """Raise each bound to ``far - near`` where that is finite."""
    for k in range(len(bounds)):
        if far[k] < np.inf and far[k] - near > bounds[k]:
            bounds[k] = far[k] - near


# The end ------------------------------------------------------------------------------------


@kernel
def contract_graph(state: State, limit: float) -> tuple[State, IntArray, FloatArray]:
    """Contract the shortest edge below ``limit`` with a hidden end, until there is none.

    Of equally short ones, that of the oldest nodes. Returns also the slots (gone, stays) of each
    contraction, and the lengths.
    """
    p, n_slots = state.graph.counts[N_OBSERVED], state.graph.counts[N_NODES]
    merged, lengths, n = np.empty((n_slots, 2), np.int64), np.empty(n_slots, np.float64), 0
    short = [(np.inf, 0, 0)]
    for node in range(p, n_slots):
        for end in _ends(state.graph, node):
            if end < node:
                _offer(state.graph, short, end, node, limit)
    while True:
        length, stays, goes = heapq.heappop(short)
        if length == np.inf:
            return state, merged[:n], lengths[:n]
        half = _find(state.graph.nodes, state.graph.halves, goes, stays)
        if half < 0 or state.graph.lengths[half] != length:  # changed by a contraction
            continue
        merged[n, 0], merged[n, 1], lengths[n] = goes, stays, length
        n += 1
        state = _with_room(state, 0, 0, 2 * state.graph.nodes[goes, DEGREE])
        _touch(state.graph, stays, goes, length, np.nan)
        _remove_pair(state.graph, goes, half)
        moved = _ends(state.graph, goes)
        _move_edges(state.graph, state.distances, goes, stays)
        for end in moved:
            _offer(state.graph, short, min(stays, end), max(stays, end), limit)


@kernel
def _ends(graph: Graph, node: int) -> IntArray:
    """Return the neighbours of a node."""
    ends, half = np.empty(graph.nodes[node, DEGREE], np.int64), graph.nodes[node, FIRST]
    for x in range(len(ends)):
        ends[x] = graph.halves[half, END]
        half = graph.halves[half, FOLLOWING]
    return ends


@kernel
def _offer(
    graph: Graph, short: list[tuple[float, int, int]], older: int, younger: int, limit: float
) -> None:
    """Put an edge on the heap if it is short and has a hidden end."""
    length = graph.lengths[_find(graph.nodes, graph.halves, older, younger)]
    if length < limit and younger >= graph.counts[N_OBSERVED]:
        heapq.heappush(short, (length, older, younger))


@kernel
def drop_low_degree(state: State) -> tuple[State, IntArray]:
    """Remove hidden nodes of degree 0 and 1, bridge those of degree 2; return also their slots."""
    p, n = state.graph.counts[N_OBSERVED], state.graph.counts[N_NODES]
    state = _with_room(state, 0, 1, 3 * (n - p))
    nodes, dropped, n_dropped, before = state.graph.nodes, np.empty(n - p, np.int64), 0, -1
    while n_dropped > before:
        before = n_dropped
        for node in p + np.flatnonzero((nodes[p:n, ALIVE] == 1) & (nodes[p:n, DEGREE] <= 2)):
            _drop(state.graph, state.distances, node)
            dropped[n_dropped] = node
            n_dropped += 1
    return state, dropped[:n_dropped]


@kernel
def _drop(graph: Graph, distances: FloatArray, node: int) -> None:
    """Remove a hidden node of degree 2 or less; connect its two neighbours."""
    ends, length, n = np.zeros(2, np.int64), 0.0, 0
    while graph.nodes[node, DEGREE]:
        half = graph.nodes[node, FIRST]
        ends[n] = graph.halves[half, END]
        length += graph.lengths[half]
        n += 1
        _touch(graph, node, graph.halves[half, END], graph.lengths[half], np.nan)
        _remove_pair(graph, node, half)
    if n == 2:
        _add_edge(graph, distances, ends[0], ends[1], length)
    graph.nodes[node, ALIVE] = 0


@kernel
def read_graph(graph: Graph) -> GraphArrays:
    """Return the graph, with hidden nodes numbered in order of creation."""
    p, n = graph.counts[N_OBSERVED], graph.counts[N_NODES]
    alive = np.flatnonzero(graph.nodes[:n, ALIVE])
    index = np.full(n, -1, np.int64)
    index[alive] = np.arange(len(alive))
    n_edges = 0
    for node in alive:
        n_edges += graph.nodes[node, DEGREE]
    n_edges //= 2
    edges, lengths = np.empty((n_edges, 2), np.int64), np.empty(n_edges, np.float64)
    end = 0
    for k in range(len(alive)):
        begin, half = end, graph.nodes[alive[k], FIRST]
        while half >= 0:
            v, at = index[graph.halves[half, END]], end
            if v > k:
                while at > begin and edges[at - 1, 1] > v:
                    edges[at, 0], edges[at, 1] = k, edges[at - 1, 1]
                    lengths[at] = lengths[at - 1]
                    at -= 1
                edges[at, 0], edges[at, 1], lengths[at] = k, v, graph.lengths[half]
                end += 1
            half = graph.halves[half, FOLLOWING]
    return GraphArrays(graph.nodes[alive[p:], NUMBER], edges, lengths)


# The record ---------------------------------------------------------------------------------
# Each step starts with its numbers of integers and floats, and the visited node, or -1 for the
# clean-up; learning/trace.py reads the rest.


@kernel
def _record_room(state: State, n_ints: int, n_floats: int) -> State:
    """Return a state with room for a step of that size."""
    count, ints, floats = state.graph.counts, state.ints, state.floats
    if count[N_INTS] + n_ints > len(ints):
        ints = np.empty(2 * (count[N_INTS] + n_ints), np.int64)
        ints[: len(state.ints)] = state.ints
    if count[N_FLOATS] + n_floats > len(floats):
        floats = _more(floats, 2 * (count[N_FLOATS] + n_floats))
    return State(state.graph, state.distances, state.gaps, ints, floats)


@kernel
def _write_ints(state: State, values: IntArray) -> None:
    n = state.graph.counts[N_INTS]
    for k in range(len(values)):
        state.ints[n + k] = values[k]
    state.graph.counts[N_INTS] = n + len(values)


@kernel
def _write_floats(state: State, values: FloatArray) -> None:
    n = state.graph.counts[N_FLOATS]
    for k in range(len(values)):
        state.floats[n + k] = values[k]
    state.graph.counts[N_FLOATS] = n + len(values)


@kernel
def _record_visit(
    state: State, node: int, members: IntArray, distances: FloatArray, surrogates: IntArray,
    gaps: FloatArray, tree: LocalTree, cut: Contracted,
) -> State:  # fmt: skip
    """Append a visit to the record; without surrogates their arrays are empty."""
    removed, old, added, new = _take_changes(state.graph)
    m, n, c, s = len(members), len(tree.ends), len(cut.moves), len(surrogates)
    n_notes, n_numbers = len(tree.notes), len(tree.numbers)
    n_ints = 14 + m + 2 * (n + c + len(removed) + len(added)) + n_notes + s
    n_floats = m * m + n + c + len(removed) + len(added) + n_numbers + s
    state = _record_room(state, n_ints, n_floats)
    head = (
        n_ints, n_floats, node, m, n, tree.n_rest, c, len(removed), len(added), n_notes, n_numbers,
        int(tree.stuck), int(tree.capped), state.graph.counts[NEXT_NUMBER],
    )  # fmt: skip
    _write_ints(state, np.array(head, np.int64))
    _write_ints(state, state.graph.nodes[members, NUMBER])
    _write_ints(state, tree.ends.ravel())
    _write_ints(state, cut.moves.ravel())
    _write_ints(state, removed.ravel())
    _write_ints(state, added.ravel())
    _write_ints(state, tree.notes)
    _write_ints(state, surrogates)
    _write_floats(state, distances.ravel())
    _write_floats(state, tree.lengths)
    _write_floats(state, cut.at)
    _write_floats(state, old)
    _write_floats(state, new)
    _write_floats(state, tree.numbers)
    _write_floats(state, gaps)
    return state


@kernel
def _record_clean_up(
    state: State, dropped: IntArray, merged: IntArray, lengths: FloatArray
) -> State:
    """Append the clean-up to the record."""
    removed, old, added, new = _take_changes(state.graph)
    number = state.graph.nodes[:, NUMBER].copy()
    hidden = read_graph(state.graph).hidden
    n_ints = 8 + len(dropped) + len(hidden) + 2 * (len(merged) + len(removed) + len(added))
    n_floats = len(merged) + len(removed) + len(added)
    state = _record_room(state, n_ints, n_floats)
    head = (n_ints, n_floats, -1, len(dropped), len(hidden), len(merged), len(removed), len(added))
    _write_ints(state, np.array(head, np.int64))
    _write_ints(state, number[dropped])
    _write_ints(state, hidden)
    _write_ints(state, number[merged.copy().ravel()])
    _write_ints(state, removed.ravel())
    _write_ints(state, added.ravel())
    _write_floats(state, lengths)
    _write_floats(state, old)
    _write_floats(state, new)
    return state


@kernel
def _take_changes(graph: Graph) -> tuple[IntArray, FloatArray, IntArray, FloatArray]:
    """Return the edges removed and added by the current step, by working number, with lengths.

    Edges come in ascending order; unchanged ones are in neither list.
    """
    n = graph.counts[N_TOUCHED]
    key = graph.touched[:n, 0] * (1 << 31) + graph.touched[:n, 1]
    order = np.argsort(key, kind="mergesort")
    removed, added = np.empty((n, 2), np.int64), np.empty((n, 2), np.int64)
    old, new = np.empty(n, np.float64), np.empty(n, np.float64)
    n_removed = n_added = 0
    for x in range(n):
        if x and key[order[x]] == key[order[x - 1]]:
            continue
        u, v = graph.touched[order[x], 0], graph.touched[order[x], 1]
        before, now = graph.change[order[x], 0], np.nan
        half = _find(graph.nodes, graph.halves, u, v)
        if half >= 0:
            now = graph.lengths[half]
        if not np.isnan(before) and now != before:
            removed[n_removed, 0] = graph.nodes[u, NUMBER]
            removed[n_removed, 1] = graph.nodes[v, NUMBER]
            old[n_removed] = before
            n_removed += 1
        if not np.isnan(now) and now != before:
            added[n_added, 0], added[n_added, 1] = graph.nodes[u, NUMBER], graph.nodes[v, NUMBER]
            new[n_added] = now
            n_added += 1
    return removed[:n_removed], old[:n_removed], added[:n_added], new[:n_added]
