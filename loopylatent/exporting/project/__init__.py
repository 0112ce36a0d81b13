"""Project files: everything that determines a graph, and the results computed from it."""
