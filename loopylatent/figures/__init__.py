"""Results as pictures: a pyvis network now, plotly figures beside it; no streamlit."""

from loopylatent.figures.network import (
    LegendItem,
    Theme,
    legend,
    network,
    network_data,
    vis_bundle,
)

__all__ = ["LegendItem", "Theme", "legend", "network", "network_data", "vis_bundle"]
