"""The page Laboratory."""
