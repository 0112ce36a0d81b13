"""The bundled tables, with their known groups or graphs."""

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
        What the table contains and shows.
    observations : Observations
    groups : dict or None
        The known group of each column, if there are groups.
    truth : LatentGraph or None
        The graph from which the rows were sampled, for synthetic tables.
    labels : tuple of str
        Columns of ``observations.labels``, which describe rows but are not variables.
    opening : dict
        Recommended thresholds; omitted ones come from the default rule.
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
    """Return the folder of the sample files: in the package, or next to it in a checkout."""
    folder = bundled("_samples", "sample_data", "samples.json")
    if folder is None:
        raise DataError(
            "The bundled tables are missing. Reinstall the package, or use your own table."
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
        raise DataError(f"There is no sample {quoted(name)}; {did_you_mean(name, list(catalogue))}")
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
    """Return the PMI of the 100 newsgroup words in newspaper articles; empty if unknown."""
    return pd.read_csv(sample_folder() / "pmi_nyt.csv.gz", index_col=0)


@cache
def _catalogue(folder: Path) -> dict[str, Any]:
    file = folder / "samples.json"
    try:
        catalogue: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise DataError(
            f"Cannot read the list of bundled tables, {quoted(str(file))}. Reinstall the package, "
            "or use your own table."
        ) from None
    return catalogue


def _truth(path: Path) -> LatentGraph | None:
    if not path.is_file():
        return None
    parts = json.loads(path.read_text(encoding="utf-8"))
    return LatentGraph.build(parts["names"], parts["n_hidden"], parts["edges"], parts["lengths"])


def bundled(installed: str, checkout: str, file: str) -> Path | None:
    """Return the folder with a file: in the package, or next to it in a checkout."""
    package = Path(__file__).resolve().parents[1]
    places = (package / installed, package.parent / checkout)
    return next((folder for folder in places if (folder / file).is_file()), None)
