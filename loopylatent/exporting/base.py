"""What every exported file shares: its origin, what is known beside the edges, safe writing."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from loopylatent.distances.matrix import DistanceMatrix
from loopylatent.errors import DataError
from loopylatent.figures.inputs import Groups, groups_by_node, names_of_groups, node_labels
from loopylatent.graph import LatentGraph
from loopylatent.settings import __version__

Setting = str | float | int


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a graph came from; goes into every exported file."""

    settings: Mapping[str, Setting]
    data_digest: str
    graph_digest: str
    version: str = __version__
    created: str | None = None
    """A date or time. None by default, so that the same graph gives the same file."""

    def __post_init__(self) -> None:
        plain = {str(key): _plain_setting(key, self.settings[key]) for key in sorted(self.settings)}
        object.__setattr__(self, "settings", MappingProxyType(plain))

    @classmethod
    def of(
        cls,
        graph: LatentGraph,
        *,
        settings: Mapping[str, Setting],
        data_digest: str,
        created: str | None = None,
    ) -> Provenance:
        """Fill in this version and the graph's digest."""
        return cls(settings, data_digest, graph.digest, created=created)

    @property
    def summary(self) -> str:
        """The settings on one line."""
        return "; ".join(f"{key}={value}" for key, value in self.settings.items())

    def as_dict(self) -> dict[str, Any]:
        """Plain values, the settings as a dict of their own."""
        known = {
            "generator": "loopylatent",
            "version": self.version,
            "data_digest": self.data_digest,
            "graph_digest": self.graph_digest,
            "settings": dict(self.settings),
        }
        return known if self.created is None else known | {"created": self.created}


def _plain_setting(key: str, value: Any) -> Setting:
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, float) and not math.isfinite(plain):
        raise DataError(f"setting {key} = {plain} is not finite; a file cannot hold it.")
    if not isinstance(plain, str | float | int):
        raise DataError(f"setting {key} is a {type(value).__name__}; give text or a number.")
    return plain


@dataclass(frozen=True, slots=True, eq=False)
class Extras:
    """What may be known of a graph beside its edges; see `loopylatent.figures.network`."""

    positions: NDArray[np.floating] | None = None
    groups: Groups | None = None
    group_names: Sequence[str] | None = None
    signs: Sequence[int] | NDArray[np.integer] | None = None
    hidden_names: Mapping[int, str] = field(default_factory=dict)

    @property
    def looks(self) -> dict[str, Any]:
        """What colours and lines mean, as every drawing takes it."""
        return {"groups": self.groups, "group_names": self.group_names, "signs": self.signs}


NO_EXTRAS = Extras()


def attributed(graph: LatentGraph, extras: Extras, clean: Callable[[str], str]) -> nx.Graph[int]:
    """Everything that is known, as attributes of a networkx graph."""
    content = graph.to_networkx()
    for node, label in enumerate(node_labels(graph, extras.hidden_names)):
        content.nodes[node]["label"] = clean(label)
    group_of = groups_by_node(graph, extras.groups)
    names = names_of_groups(group_of, extras.group_names)
    for node, group in group_of.items():
        content.nodes[node].update(group=group, group_name=clean(names[group]))
    if extras.positions is not None:
        place = np.asarray(extras.positions, dtype=np.float64)
        if place.shape != (graph.n_nodes, 2) or not np.isfinite(place).all():
            raise DataError(
                f"positions must be ({graph.n_nodes}, 2) finite numbers; leave them out?"
            )
        for node, (x, y) in enumerate(place.tolist()):
            content.nodes[node].update(x=x, y=y)
    for _, _, values in content.edges(data=True):
        values["weight"] = math.exp(-values["distance"])
    if extras.signs is not None:
        n = len(extras.signs)
        if n != graph.n_edges:
            raise DataError(f"{n} signs for {graph.n_edges} edges; give one for each edge.")
        for (u, v), sign in zip(graph.edges.tolist(), extras.signs, strict=True):
            content.edges[u, v]["sign"] = int(np.sign(sign))
    return content


def edge_signs(graph: LatentGraph, D: DistanceMatrix) -> NDArray[np.int64] | None:
    """Return the signs of the correlations along edges between columns; 0 at hidden nodes."""
    if D.signs is None:
        return None
    signs = np.zeros(graph.n_edges, dtype=np.int64)
    between = (graph.edges < graph.n_observed).all(axis=1)
    u, v = graph.edges[between].T
    signs[between] = D.signs[u, v]
    return signs


def has_attribute(content: nx.Graph[int], name: str) -> bool:
    """Whether any node has an attribute of this name."""
    return any(name in values for _, values in content.nodes(data=True))
