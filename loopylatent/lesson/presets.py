"""Lessons to choose from; three use synthetic data generated here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import networkx as nx
import pandas as pd

from loopylatent.exporting.project.file import Recipe, digest_of
from loopylatent.graph import LatentGraph
from loopylatent.lesson.cast import WORDS
from loopylatent.synthetic.families import from_skeleton, latent_cycle, latent_tree
from loopylatent.synthetic.model import SyntheticModel

LETTERS = "abcdefgijkmnpqrstuvwxyz"
"""Without h, the letter of hidden nodes, and without letters that look like digits."""


@dataclass(frozen=True, slots=True)
class Preset:
    """A lesson to choose."""

    title: str
    look_at: str
    """One or two sentences on what to look for."""
    sample: str | None = None
    """Its bundled table; None for synthetic data."""


PRESETS: Mapping[str, Preset] = {name: Preset(**one) for name, one in WORDS["presets"].items()}


@dataclass(frozen=True, slots=True, eq=False)
class SyntheticData:
    """Synthetic data of a preset: a file and the recipe to open it."""

    recipe: Recipe
    content: bytes
    truth: LatentGraph


@cache
def synthetic_data(name: str) -> SyntheticData:
    """Return the data of a preset without a bundled table."""
    if name == "cage":
        model = _lettered(from_skeleton(nx.petersen_graph(), leaves=2, lengths=(0.5, 0.6)))
        content = model.distances().to_frame().to_csv(index_label="column").encode()
        r = round(3.1 * float(model.graph.lengths.max()), 2)
        settings: dict[str, Any] = {"source_kind": "distances", "r": r, "Lambda": 0.0, "tau": 0.05}
        return _opened(model, content, "cage", **settings)
    if name == "tree":
        model = _lettered(latent_tree(5, 1, leaves=2, lengths=(0.25, 0.5), seed=9))
        content = _rows(model, n=5000, seed=9)
        return _opened(model, content, "tree", r=2.6, Lambda=0.007, tau=0.15)
    model = _lettered(latent_cycle(girth=8, leaves=2, seed=5))
    content = _rows(model, n=200, seed=5)
    return _opened(model, content, "noisy cycle", r=1.16, Lambda=0.0, tau=0.1)


def synthetic_files(digest: str | None) -> dict[str, bytes]:
    """Return the file of the preset with this digest, if any."""
    names = [] if digest is None else [name for name, one in PRESETS.items() if one.sample is None]
    by_digest = {
        str((data := synthetic_data(name)).recipe.data_digest): data.content for name in names
    }
    return {known: content for known, content in by_digest.items() if known == digest}


def _rows(model: SyntheticModel, n: int, seed: int) -> bytes:
    obs = model.sample(n, seed=seed)
    frame = pd.DataFrame(obs.dense().astype(int), columns=list(obs.names))
    return frame.to_csv(index=False).encode()


def _opened(model: SyntheticModel, content: bytes, source: str, **settings: Any) -> SyntheticData:
    settings = {"source_kind": "table", "data_digest": digest_of(content), **settings}
    recipe = Recipe(source=f"synthetic {source}.csv", **settings)
    return SyntheticData(recipe, content, model.graph)


def _lettered(model: SyntheticModel) -> SyntheticModel:
    """Name the columns after the hidden node they are attached to: a1, a2, b1, ..."""
    graph = model.graph
    letters = dict(zip(graph.hidden_nodes, LETTERS, strict=False))
    names: list[str] = []
    for column in range(graph.n_observed):
        owners = [end for end in graph.neighbours(column) if end in letters]
        letter = letters[owners[0]] if len(graph.neighbours(column)) == 1 and owners else "x"
        names.append(f"{letter}{1 + sum(name[0] == letter for name in names)}")
    renamed = LatentGraph.build(names, graph.n_hidden, graph.edges, graph.lengths)
    return SyntheticModel(renamed, model.signs)
