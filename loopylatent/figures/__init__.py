"""Results as pictures: a pyvis network now, plotly figures beside it; no streamlit."""

from loopylatent.figures.looks import LegendItem, Theme
from loopylatent.figures.network import legend, network, network_data, vis_bundle

__all__ = ["LegendItem", "Theme", "legend", "network", "network_data", "vis_bundle"]
