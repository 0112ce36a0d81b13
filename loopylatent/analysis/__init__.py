"""Questions about learned graphs: how stable, at which thresholds, how good, how different.

Takes graphs, distances or rows; gives frozen results (section 6).
"""
