"""Which parts of a graph come back on resampled rows; groups; whether cycles are real."""
