"""Graphs and scores at many thresholds, and which thresholds to choose (section 6.1)."""
