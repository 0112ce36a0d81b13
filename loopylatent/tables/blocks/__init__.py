"""Tables larger than memory: the rows of one or more files, read in blocks."""
