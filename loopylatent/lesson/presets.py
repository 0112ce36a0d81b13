"""Lessons for a class: data with something to see, three of them made up here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

import networkx as nx
import pandas as pd

from loopylatent.exporting.project.recipe import Recipe, digest_of
from loopylatent.graph import LatentGraph
from loopylatent.synthetic.families import from_skeleton, latent_cycle, latent_tree
from loopylatent.synthetic.model import SyntheticModel

LETTERS = "abcdefgijkmnpqrstuvwxyz"
"""Without h, the letter of hidden nodes, and without those that look like digits."""


@dataclass(frozen=True, slots=True)
class Preset:
    """A lesson to choose."""

    title: str
    look_at: str
    """What there is to see, in a sentence or two."""
    sample: str | None = None
    """The bundled table that it is on; None for data that are made up."""


PRESETS: Mapping[str, Preset] = {
    "cycle": Preset(
        "Cycle",
        "Ten hidden nodes in a ring, two columns on each, 5,000 rows. Watch the ring close in the "
        "union of the local trees; the learner finds it all.",
        "latent_cycle",
    ),
    "tree": Preset(
        "Tree",
        "Five hidden nodes and a column inside a tree, 5,000 rows. Every ball is the whole table, "
        "so every local tree is the same.",
    ),
    "cage": Preset(
        "Cage",
        "The Petersen graph, the smallest in which every node has three neighbours and no cycle "
        "is shorter than five. All its nodes are hidden; known are the exact distances of two "
        "columns on each.",
    ),
    "noisy": Preset(
        "Noisy cycle",
        "A ring of eight hidden nodes, but 200 rows only, and Λ = 0: chance decides votes, a visit "
        "gets stuck, edges go wrong. Raise Λ to 0.035 and see which mistakes go.",
    ),
    "words": Preset(
        "Words",
        "100 words in newsgroup posts. Look for hidden nodes that a topic would explain.",
        "newsgroups100_roweislike",
    ),
    "dna": Preset(
        "DNA",
        "The letters of 47 mammals at 3,179 places of their DNA. Hidden nodes are ancestors.",
        "mammals47_dna",
    ),
}


@dataclass(frozen=True, slots=True, eq=False)
class MadeUp:
    """Data that were made up for a lesson, as a file and the recipe to open it."""

    recipe: Recipe
    content: bytes
    truth: LatentGraph


@cache
def made_up(name: str) -> MadeUp:
    """Return the data of a preset that is no bundled table.

    Examples
    --------
    >>> cage = made_up("cage")
    >>> cage.recipe.source_kind, cage.truth
    ('distances', LatentGraph(20 observed, 10 hidden, 35 edges, 6 cycles))
    """
    return _MAKERS[name]()


def made_up_files(digest: str | None) -> dict[str, bytes]:
    """Return the file of a preset by its digest; nothing where no preset has it.

    Examples
    --------
    >>> list(made_up_files(made_up("cage").recipe.data_digest)) == [
    ...     made_up("cage").recipe.data_digest
    ... ]
    True
    >>> made_up_files(None)
    {}
    """
    files = [] if digest is None else [made_up(name) for name in _MAKERS]
    by_digest = {str(one.recipe.data_digest): one.content for one in files}
    return {known: content for known, content in by_digest.items() if known == digest}


def _tree() -> MadeUp:
    model = _lettered(latent_tree(5, 1, leaves=2, lengths=(0.25, 0.5), seed=9))
    return _table("made-up tree.csv", model, n=5000, seed=9, r=2.6, Lambda=0.007, tau=0.15)


def _noisy() -> MadeUp:
    model = _lettered(latent_cycle(girth=8, leaves=2, seed=5))
    return _table("made-up noisy cycle.csv", model, n=200, seed=5, r=1.16, Lambda=0.0, tau=0.1)


def _cage() -> MadeUp:
    model = _lettered(from_skeleton(nx.petersen_graph(), leaves=2, lengths=(0.5, 0.6)))
    content = model.distances().to_frame().to_csv(index_label="column").encode()
    radius = round(3.1 * float(model.graph.lengths.max()), 2)
    recipe = Recipe(
        source="made-up cage.csv", source_kind="distances", data_digest=digest_of(content),
        r=radius, Lambda=0.0, tau=0.05,
    )  # fmt: skip
    return MadeUp(recipe, content, model.graph)


_MAKERS: Mapping[str, Callable[[], MadeUp]] = {"tree": _tree, "noisy": _noisy, "cage": _cage}


def _table(
    source: str, model: SyntheticModel, *, n: int, seed: int, r: float, Lambda: float, tau: float
) -> MadeUp:
    obs = model.sample(n, seed=seed)
    frame = pd.DataFrame(obs.dense().astype(int), columns=list(obs.names))
    content = frame.to_csv(index=False).encode()
    recipe = Recipe(
        source=source, source_kind="table", data_digest=digest_of(content),
        r=r, Lambda=Lambda, tau=tau,
    )  # fmt: skip
    return MadeUp(recipe, content, model.graph)


def _lettered(model: SyntheticModel) -> SyntheticModel:
    """Name the columns after the hidden node they hang on: a1, a2, b1, ..."""
    graph = model.graph
    letters = dict(zip(graph.hidden_nodes, LETTERS, strict=False))
    names: list[str] = []
    for column in range(graph.n_observed):
        owners = [end for end in graph.neighbours(column) if end in letters]
        letter = letters[owners[0]] if len(graph.neighbours(column)) == 1 and owners else "x"
        names.append(f"{letter}{1 + sum(name[0] == letter for name in names)}")
    renamed = LatentGraph.build(names, graph.n_hidden, graph.edges, graph.lengths)
    return SyntheticModel(renamed, model.signs)
