"""Execution: compiled kernels, threads, a cluster, limits, checkpoints, caches, files."""
