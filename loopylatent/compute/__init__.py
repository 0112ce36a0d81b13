"""How work is done: compiled kernels, threads, a cluster, limits, checkpoints, caches, files.

Takes arrays, tasks and paths; gives results. Knows nothing of graphs or tables.
"""
