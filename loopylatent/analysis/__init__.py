"""Analysis of learned graphs: stability, sweeps, evaluation, comparison (section 6).

Takes graphs, distances or rows; returns frozen results.
"""
