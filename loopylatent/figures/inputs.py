"""What may be given to draw a graph, checked: names, groups, positions, signs of edges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from loopylatent.errors import DataError, Remedy
from loopylatent.graph import LatentGraph

Groups = Mapping[int, int] | Sequence[int] | NDArray[np.integer]


def node_labels(
    graph: LatentGraph, hidden_names: Mapping[int, str] | None = None
) -> tuple[str, ...]:
    """Names of all nodes, with those that someone gave to hidden ones."""
    labels = list(graph.labels)
    for node, name in (hidden_names or {}).items():
        if node not in graph.hidden_nodes:
            raise DataError(
                f"node {node} is not a hidden node of this graph; hidden ones are "
                f"{graph.n_observed} to {graph.n_nodes - 1}."
            )
        labels[node] = str(name)
    return tuple(labels)


def groups_by_node(graph: LatentGraph, groups: Groups | None) -> dict[int, int]:
    """Group of each node that has one, whichever way it was given."""
    if groups is None:
        return {}
    if not isinstance(groups, Mapping):
        if len(groups) not in (graph.n_observed, graph.n_nodes):
            raise DataError(
                f"{len(groups)} groups for {graph.n_observed} observed and {graph.n_hidden} "
                f"hidden nodes; give one for each observed node or one for each node."
            )
        groups = dict(enumerate(groups))
    outside = [node for node in groups if not 0 <= node < graph.n_nodes]
    if outside:
        raise DataError(f"node {outside[0]} has a group but does not exist; leave it out.")
    return {int(node): int(group) for node, group in sorted(groups.items()) if group >= 0}


def names_of_groups(group_of: Mapping[int, int], names: Sequence[str] | None) -> dict[int, str]:
    """Name of each group that occurs: the given one, or its number counted from 1."""
    numbers = sorted(set(group_of.values()))
    if names is None:
        return {group: f"group {group + 1}" for group in numbers}
    if numbers and numbers[-1] >= len(names):
        raise DataError(
            f"group {numbers[-1]} has no name; {len(names)} names are given, for groups from 0."
        )
    return {group: str(names[group]) for group in numbers}


def checked_positions(graph: LatentGraph, positions: NDArray[np.floating]) -> list[list[int]]:
    """Whole pixels for every node, after checking that there are some for every node."""
    place = np.asarray(positions, dtype=np.float64)
    if place.shape != (graph.n_nodes, 2):
        raise DataError(
            f"positions have shape {place.shape}; this graph needs ({graph.n_nodes}, 2)."
        )
    if not np.isfinite(place).all():
        use = Remedy("call", "layout.positions(graph)")
        raise DataError("positions hold NaN or infinite numbers; use ", use, ".")
    whole: list[list[int]] = np.rint(place).astype(np.int64).tolist()
    return whole


def checked_signs(
    graph: LatentGraph, signs: Sequence[int] | NDArray[np.integer] | None
) -> NDArray[np.int64]:
    """-1, 0 or 1 for every edge; 0 where the sign is not known."""
    if signs is None:
        return np.zeros(graph.n_edges, dtype=np.int64)
    if len(signs) != graph.n_edges:
        raise DataError(f"{len(signs)} signs for {graph.n_edges} edges; give one for each edge.")
    return np.sign(np.asarray(signs, dtype=np.int64))
