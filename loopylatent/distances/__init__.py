"""`Observations` in, `DistanceMatrix` out: the information distance of every pair (section 3.1).

``strengths`` sums over rows and turns the sums into correlations, ``matrix`` holds the
distances; ``sparse`` is the same for tables with many columns.
"""
