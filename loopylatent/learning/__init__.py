"""From a `DistanceMatrix` to a `LatentGraph` (section 4, Algorithms 1 to 3)."""
