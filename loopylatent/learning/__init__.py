"""`DistanceMatrix` in, `LatentGraph` out: the paper's algorithm (section 4, Algorithms 1 to 3)."""
