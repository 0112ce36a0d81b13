"""What the colours of nodes can mean: the kind of node, groups found, groups known or brought."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from loopylatent.communities import Groups, communities, groups
from loopylatent.data import read_frame
from loopylatent.errors import DataError, LoopyLatentError
from loopylatent.graph import LatentGraph
from loopylatent.limits import APP
from loopylatent.ui.background import Job
from loopylatent.ui.refusal import said
from loopylatent.ui.stages import Source
from loopylatent.ui.state import Session, bound

KIND, FOUND = "colours: kind of node", "colours: groups found"
KNOWN, BROUGHT = "colours: known groups", "colours: my groups"


@dataclass(frozen=True, slots=True, eq=False)
class Colouring:
    """A group for each column, or None for the two colours of observed and hidden."""

    labels: NDArray[np.int64] | None = None
    names: tuple[str, ...] | None = None
    line: str | None = None
    """What is to be said about the groups."""
    job: Job | None = None
    """The consensus that is still being computed."""


def choose_colours(s: Session, source: Source, graph: LatentGraph) -> Colouring:
    """Draw the choice of colours and return what came of it."""
    options = [KIND, FOUND]
    if source.groups:
        options.append(KNOWN)
    options.append(BROUGHT)
    here = s.view.get("colours", KIND)

    def report(choice: str) -> None:
        s.view["colours"] = choice

    choice = st.selectbox(
        "Colours show",
        options,
        label_visibility="collapsed",
        width=190,
        **bound("colours", here if here in options else KIND, report),
    )
    if choice == KNOWN and source.groups:
        return _coloured(graph, source.groups, None)
    if choice == BROUGHT:
        return _brought(s, graph)
    if choice == FOUND:
        return _found(s, source, graph)
    return Colouring()


def _found(s: Session, source: Source, graph: LatentGraph) -> Colouring:
    """Consensus groups once they are there; until then the communities of this graph."""
    D = source.distances
    table = D if source.observations is None else source.observations
    metric = s.recipe.metric
    quick = communities(graph)
    if D.n_samples is None:
        line = "Groups of this graph alone: without the number of rows there is no consensus."
        return _numbered(quick, line)
    job = s.jobs.get(
        "groups", D.digest, lambda report: groups(table, metric=metric, progress=report)
    )
    if not job.finished.is_set():
        return _numbered(quick, None, job)
    if job.error is not None:
        return _numbered(quick, f"Groups of this graph alone: {said(job.error)}")
    found: Groups = job.result
    line = f"{found.n_groups} groups on which {found.n_resamples} resamples agree"
    if source.groups:
        line += f"; agreement with the known groups: {found.agreement(source.groups):.2f}"
        line += " (1 is equal, 0 is chance)"
    return _numbered(found, line + ".")


def _numbered(found: Groups, line: str | None, job: Job | None = None) -> Colouring:
    names = tuple(f"group {k + 1}" for k in range(found.n_groups))
    return Colouring(found.labels, names, line, job)


def _coloured(graph: LatentGraph, known: Mapping[str, str], line: str | None) -> Colouring:
    names = tuple(dict.fromkeys(known[name] for name in graph.names if name in known))
    number = {name: k for k, name in enumerate(names)}
    labels = np.array([number.get(known.get(name, ""), -1) for name in graph.names])
    found = communities(graph).agreement(known) if len(known) > 1 else None
    if line is None and found is not None:
        line = f"Communities of this graph agree with these groups to {found:.2f} (1 is equal)."
    return Colouring(labels.astype(np.int64), names, line)


def _brought(s: Session, graph: LatentGraph) -> Colouring:
    file = st.file_uploader(
        "A table with two columns: the column's name and its group",
        type=["csv", "tsv", "xlsx"],
        key="brought_groups",
    )
    if file is not None:
        try:
            s.view["brought"] = read_groups(file.getvalue(), file.name, graph)
        except LoopyLatentError as error:
            st.error(said(error))
    brought: dict[str, str] = s.view.get("brought", {})
    known = {name: group for name, group in brought.items() if name in graph.names}
    if len(known) < 2:
        return Colouring(line="No grouping yet: bring a table with a name and a group in each row.")
    return _coloured(graph, known, None)


def read_groups(content: bytes, file_name: str, graph: LatentGraph) -> dict[str, str]:
    """Read a grouping of the columns from a table of two columns."""
    frame = read_frame(content, name=file_name, max_cells=APP.cells)
    if len(frame.columns) != 2:
        raise DataError(f"a grouping has two columns, name and group; this has {frame.shape[1]}.")
    pairs: pd.DataFrame = frame.dropna().astype(str)
    found = dict(zip(pairs.iloc[:, 0], pairs.iloc[:, 1], strict=True))
    if not set(found) & set(graph.names):
        raise DataError("no name of the first column is a column of the table; check the spelling.")
    return found
