"""The first page: a learned graph of a bundled table."""

import streamlit as st

import loopylatent as ll
from loopylatent.layout import positions
from loopylatent.ui.graph_view import graph_view, picture

st.set_page_config(page_title="loopylatent", page_icon="◆", layout="wide")

name = st.sidebar.selectbox("Table", ll.sample_names(), format_func=lambda n: n.replace("_", " "))
sample = ll.load_sample(name)
distances = ll.information_distances(sample.observations)
result = ll.learn(distances)
graph = result.graph

st.subheader(sample.title, anchor=False)
st.caption(sample.about)
graph_view(picture(graph, positions(graph)), key="graph", subject=name)
st.caption(
    f"{graph.n_observed} observed · {graph.n_hidden} hidden · {graph.n_edges} edges · "
    f"{graph.n_cycles} cycles"
)
