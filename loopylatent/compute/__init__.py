"""How work is done: compiled kernels, threads, a cluster, limits, checkpoints, caches, files."""
