"""Bootstrap support of a graph, groups of columns, and a test for loops."""
