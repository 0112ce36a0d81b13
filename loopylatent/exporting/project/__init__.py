"""Project files: the recipe of a graph, its data and results."""
