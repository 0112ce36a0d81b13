"""What leaves the program: graph files, project files, reports, notebook views.

Takes graphs and results; gives bytes and files.
"""
