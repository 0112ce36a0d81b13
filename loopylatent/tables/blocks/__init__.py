"""Tables larger than memory: the rows of many files, a block at a time."""
