"""The tables that come with the package, with what is known of their latent structure."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import pandas as pd

from loopylatent.compute.values import Shown
from loopylatent.errors import DataError, did_you_mean, quoted
from loopylatent.graph import LatentGraph
from loopylatent.tables.kinds import Kind
from loopylatent.tables.observations import Observations
from loopylatent.tables.read import read_frame


@dataclass(frozen=True, slots=True, repr=False)
class Sample(Shown):
    """A bundled table and what is known about it.

    Parameters
    ----------
    name : str
    title : str
    about : str
        What the table is, and what to look at.
    observations : Observations
    groups : dict or None
        The known group of each column, where there are groups.
    truth : LatentGraph or None
        The graph from which the rows were drawn, for made-up tables.
    labels : tuple of str
        Columns of ``observations.labels``: they describe rows and are not variables.
    opening : dict
        Thresholds at which there is something to see; those left out come from the default rule.
    """

    name: str
    title: str
    about: str
    observations: Observations
    groups: dict[str, str] | None
    truth: LatentGraph | None
    labels: tuple[str, ...]
    opening: dict[str, float]

    def __repr__(self) -> str:
        return f"Sample({self.name!r}, {self.observations})"


def sample_folder() -> Path:
    """Return the folder of the sample files: in the package, or beside it in a checkout."""
    folder = bundled("_samples", "sample_data", "samples.json")
    if folder is None:
        raise DataError(
            "the bundled tables are neither in the package nor in sample_data beside it; "
            "install the package again, or use a table of your own."
        )
    return folder


@cache
def sample_names() -> tuple[str, ...]:
    """Return the names that `load_sample` knows.

    Examples
    --------
    >>> "latent_cycle" in sample_names()
    True
    """
    return tuple(_catalogue(sample_folder()))


@cache
def sample_titles() -> dict[str, str]:
    """Return the title of every sample by its name, without reading the tables."""
    return {name: entry["title"] for name, entry in _catalogue(sample_folder()).items()}


def load_sample(name: str) -> Sample:
    """Read a bundled table.

    Parameters
    ----------
    name : str
        One of `sample_names`.

    Returns
    -------
    Sample

    Examples
    --------
    >>> sample = load_sample("latent_cycle")
    >>> sample.observations
    Observations(5000 rows, 20 columns: 20 binary)
    >>> sample.truth
    LatentGraph(20 observed, 10 hidden, 30 edges, 1 cycles)
    """
    folder = sample_folder()
    catalogue = _catalogue(folder)
    if name not in catalogue:
        raise DataError(f"there is no sample {quoted(name)}; {did_you_mean(name, list(catalogue))}")
    entry = catalogue[name]
    return Sample(
        name=name,
        title=entry["title"],
        about=entry["about"],
        observations=replace(_observations(folder, name)),
        groups=dict(entry["groups"]) if entry["groups"] else None,
        truth=_truth(folder / f"{name}_truth.json"),
        labels=tuple(entry["labels"]),
        opening=dict(entry.get("opening", {})),
    )


@lru_cache(maxsize=4)
def _observations(folder: Path, name: str) -> Observations:
    """Rows of a sample; all sessions of the app share its read-only arrays."""
    entry = _catalogue(folder)[name]
    labels = tuple(entry["labels"])
    frame = read_frame(folder / f"{name}.csv.gz")
    kinds: dict[str, Kind] = {n: entry["kind"] for n in frame.columns if n not in labels}
    return Observations.from_frame(frame, kinds=kinds, labels=labels)


def load_word_pmi() -> pd.DataFrame:
    """Return the PMI of the 100 newsgroup words in newspaper articles; empty where unknown."""
    return pd.read_csv(sample_folder() / "pmi_nyt.csv.gz", index_col=0)


@cache
def _catalogue(folder: Path) -> dict[str, Any]:
    file = folder / "samples.json"
    try:
        catalogue: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise DataError(
            f"the list of bundled tables {quoted(str(file))} cannot be read; "
            "install the package again, or use a table of your own."
        ) from None
    return catalogue


def _truth(path: Path) -> LatentGraph | None:
    if not path.is_file():
        return None
    parts = json.loads(path.read_text(encoding="utf-8"))
    return LatentGraph.build(parts["names"], parts["n_hidden"], parts["edges"], parts["lengths"])


def bundled(inside: str, beside: str, file: str) -> Path | None:
    """Return the folder that holds a file: in the package, or beside it in a checkout."""
    package = Path(__file__).resolve().parents[1]
    places = (package / inside, package.parent / beside)
    return next((folder for folder in places if (folder / file).is_file()), None)
