"""Results as pictures: positions, pyvis networks, plotly figures, SVG; no streamlit."""
