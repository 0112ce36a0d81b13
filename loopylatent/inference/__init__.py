"""Fitting a graph to rows: exact inference or loopy belief propagation, scores (section 6.1)."""
