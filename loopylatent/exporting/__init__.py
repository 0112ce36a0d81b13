"""Export of graphs and results: graph files, project files, reports, notebook views."""
