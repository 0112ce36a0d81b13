"""The page Tune."""
