"""Any table whatever goes from a file to an exported graph, or ends in one line."""

from __future__ import annotations

import io
import json
import re
from typing import Literal, get_args

import hypothesis
import networkx as nx
import numpy as np
import pandas as pd
import pytest
from helpers.tables import WEIGHTS, tables, weights_of
from hypothesis import strategies as st

import loopylatent as ll
from loopylatent.errors import LoopyLatentError
from loopylatent.exporting.graph_files import WRITERS, provenance, render
from loopylatent.settings import Method
from loopylatent.tables.files import name_from_csv, xml_text
from loopylatent.tables.read import read_frame

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")

Form = Literal["csv", "semicolons", "parquet", "frame"]
MORE = 10_000
"""Tables of make test-long."""
CHUNKS = 10


def written(frame: pd.DataFrame, form: Form) -> bytes | None:
    """The table as a file; None where this format cannot hold it, or is not asked for."""
    if form == "frame":
        return None
    if form == "parquet":
        buffer = io.BytesIO()
        try:
            frame.to_parquet(buffer)
        except Exception:  # mixed columns, repeated names, half characters
            return None
        return buffer.getvalue()
    text = frame.to_csv(index=False, sep="," if form == "csv" else ";")
    return text.encode("utf-8", "replace")


def observed(frame: pd.DataFrame, form: Form, how: str, drop: bool) -> ll.Observations:
    content = written(frame, form)
    table = frame if content is None else read_frame(content)
    return ll.Observations.from_frame(
        table, weights=weights_of(table, how), on_degenerate="drop" if drop else "error"
    )


def assert_is_proper(graph: ll.LatentGraph) -> None:
    assert graph.n_observed >= 3
    assert np.isfinite(graph.lengths).all()
    assert (graph.lengths >= 0).all()
    assert (graph.degrees[graph.n_observed :] >= 3).all()
    ends = graph.edges
    assert (ends[:, 0] < ends[:, 1]).all()
    assert len(np.unique(ends, axis=0)) == len(ends)
    assert nx.number_connected_components(graph.to_networkx()) == graph.n_components
    assert graph.n_cycles == graph.n_edges - graph.n_nodes + graph.n_components


def assert_reads_back(result: ll.LearnResult) -> None:
    graph, origin = result.graph, provenance(result)
    files = {form: render(form, graph, origin) for form in WRITERS if form != "html"}
    again = nx.node_link_graph(json.loads(files["json"]), edges="edges")
    rebuilt = ll.LatentGraph.build(
        [again.nodes[k]["label"] for k in range(graph.n_observed)],
        graph.n_hidden,
        [(min(u, v), max(u, v)) for u, v in again.edges],
        [d for _, _, d in again.edges(data="distance")],
    )
    assert rebuilt == graph
    for read in (nx.parse_graphml, lambda text: nx.read_gexf(io.BytesIO(text.encode()))):
        form = "graphml" if read is nx.parse_graphml else "gexf"
        assert nx.utils.edges_equal(
            [(int(u), int(v)) for u, v in read(files[form].decode()).edges],
            [tuple(edge) for edge in graph.edges.tolist()],
        )
    nodes = pd.read_csv(io.BytesIO(files["nodes.csv"]), keep_default_na=False, dtype={"label": str})
    shown = [name_from_csv(label) for label in nodes["label"]]
    plain = [re.sub("[\x7f-\x9f]", "\ufffd", xml_text(label)) for label in graph.labels]
    assert shown == [label.replace("\r\n", "\n").replace("\r", "\n") for label in plain]


def check(frame: pd.DataFrame, form: Form, how: str, drop: bool, method: Method) -> None:
    error_text = ""
    try:
        obs = observed(frame, form, how, drop)
        D = ll.information_distances(obs, on_degenerate="drop" if drop else "error")
        result = ll.learn(D, method=method)
    except LoopyLatentError as error:
        error_text = str(error)
    if error_text:
        assert error_text.isprintable()
        assert 10 < len(error_text) < 500
        return
    assert not np.isnan(D.values).any()
    assert np.array_equal(D.values, D.values.T)
    assert_is_proper(result.graph)
    assert_reads_back(result)


def checked(n_tables: int, seed: int) -> None:
    """Make so many tables and check each."""
    every = hypothesis.given(
        tables(),
        st.sampled_from(get_args(Form)),
        st.sampled_from(("none", "none", *WEIGHTS)),
        st.sampled_from((True, True, False)),
        st.sampled_from(get_args(Method)),
    )
    few = hypothesis.settings(
        max_examples=n_tables,
        derandomize=False,
        database=None,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    few(hypothesis.seed(seed)(every(check)))()


def test_any_table_gives_a_proper_graph_or_one_line() -> None:
    checked(80, seed=0)


@pytest.mark.long
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_ten_thousand_tables(chunk: int) -> None:
    checked(MORE // CHUNKS, seed=1 + chunk)
