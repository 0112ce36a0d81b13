"""Turns `Observations` into a `DistanceMatrix` of information distances (section 3.1).

``strengths`` sums over rows and turns the sums into correlations, ``matrix`` holds the
distances; ``sparse`` does the same for sparse tables with many columns.
"""
