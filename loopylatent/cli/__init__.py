"""The command line: ``python -m loopylatent``."""
