"""A graph and rows in, a fitted `Model` out: exact or loopy sums, scores (section 6.1)."""
