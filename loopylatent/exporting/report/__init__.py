"""A report on a learned graph as one HTML page: results, stability, how to reproduce it.

``findings`` computes its content, ``page`` writes it.
"""
