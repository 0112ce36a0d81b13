"""Everything that determines a made-up model, as plain values: for a page or a command line."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Any, Literal, get_args

import networkx as nx

from loopylatent.compute.checks import Range, check_choice
from loopylatent.errors import DataError, ThresholdError
from loopylatent.synthetic.families import (
    LENGTHS,
    Drawing,
    from_skeleton,
    latent_cycle,
    latent_tree,
)
from loopylatent.synthetic.model import Kind, SyntheticModel
from loopylatent.synthetic.skeletons import cage, hidden_by_chance, read_edges, regular_skeleton

Family = Literal["ring", "tree", "cage", "regular", "edges"]
MOST_COLUMNS = 400
"""Columns of a model that is made from a specification."""


@dataclass(frozen=True, slots=True)
class Specification:
    """A family of models, its parameters, and a seed.

    Parameters
    ----------
    family : {"ring", "tree", "cage", "regular", "edges"}
        A ring of hidden nodes; a random tree; a cage by name; a random regular graph without
        short cycles; a list of edges.
    girth : int
        Nodes on the ring; edges on the shortest cycle that a regular graph may have.
    leaves : int
        Columns on every hidden node (of a tree: at least; of a deep ring: on the lowest ones).
    depth : int
        Edges from the ring down to the columns.
    n_hidden, n_inner : int
        Hidden and observed inner nodes of a tree.
    cage : str
    n_nodes, degree : int
        Of a regular graph.
    share : float or None
        The probability with which each node of a cage or a regular graph is observed; None hides
        all that have three neighbours, leaves counted.
    edges : str
        One edge a line, of the family "edges".
    hidden : str
        The hidden nodes of that list, by name.
    kind, n_states, lengths, potentials, fields, random_signs, seed
        As in `latent_cycle`.

    Examples
    --------
    >>> Specification("cage", cage="heawood", leaves=1).build().graph
    LatentGraph(14 observed, 14 hidden, 35 edges, 8 cycles)
    """

    family: Family = "ring"
    girth: int = 10
    leaves: int = 2
    depth: int = 1
    n_hidden: int = 6
    n_inner: int = 2
    cage: str = "petersen"
    n_nodes: int = 20
    degree: int = 3
    share: float | None = None
    edges: str = ""
    hidden: str = ""
    kind: Kind = "ising"
    n_states: int = 2
    lengths: Range = LENGTHS
    potentials: Range | None = None
    fields: Range | None = None
    random_signs: bool = False
    seed: int = 0

    @property
    def digest(self) -> str:
        """A fingerprint: equal specifications, and only those, have equal digests."""
        return hashlib.sha256(repr(self).encode()).hexdigest()[:16]

    def build(self) -> SyntheticModel:
        """Make the model; the same specification gives the same one."""
        check_choice("family", self.family, get_args(Family))
        states, ising = self.kind in ("symmetric", "tables"), self.kind == "ising"
        drawing = Drawing(
            lengths=self.lengths,
            potentials=self.potentials if ising else None,
            random_signs=self.random_signs and not states,
            fields=self.fields if ising else None,
            kind=self.kind,
            n_states=self.n_states if states else 2,
        )
        columns = {
            "ring": self.girth * float(self.leaves) ** self.depth,
            "tree": self.n_inner + self.n_hidden * max(self.leaves, 2),
        }.get(self.family, 0)
        if columns > MOST_COLUMNS:
            raise ThresholdError(
                f"the model would have about {columns:,.0f} columns; at most {MOST_COLUMNS} are "
                "made here. Choose smaller numbers."
            )
        if self.family == "ring":
            model = latent_cycle(self.girth, self.leaves, self.depth, seed=self.seed, **drawing)
        elif self.family == "tree":
            sizes = (self.n_hidden, self.n_inner, self.leaves)
            model = latent_tree(*sizes, seed=self.seed, **drawing)
        else:
            model = self._on_skeleton(drawing)
        if model.graph.n_observed < 3:
            raise DataError(
                f"the model has {model.graph.n_observed} columns; at least 3 are needed. Give "
                "more leaves, or hide fewer nodes."
            )
        return model

    def _on_skeleton(self, drawing: Drawing) -> SyntheticModel:
        leaves, own, skeleton = self.leaves, self.family == "edges", self._skeleton()
        if own:
            hidden = list(dict.fromkeys(re.findall(r"[^,;\s]+", self.hidden)))
        elif self.share is None:
            # removed edges can leave nodes that no column could show: those are observed
            hidden = [node for node, degree in skeleton.degree if degree + leaves >= 3]
        else:
            leaves, hidden = 0, hidden_by_chance(skeleton, self.share, seed=self.seed)
        n_columns = len(skeleton) + (leaves - 1) * len(hidden)
        if n_columns > MOST_COLUMNS:
            raise ThresholdError(
                f"the model would have {n_columns:,} columns; at most {MOST_COLUMNS} are made "
                "here. Choose fewer leaves or a smaller graph."
            )
        return from_skeleton(skeleton, leaves, hidden, keep_names=own, seed=self.seed, **drawing)

    def _skeleton(self) -> nx.Graph[Any]:
        if self.family == "edges":
            return read_edges(self.edges)
        if self.family == "cage":
            return cage(self.cage)
        return regular_skeleton(self.n_nodes, self.degree, self.girth, seed=self.seed)
