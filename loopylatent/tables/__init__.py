"""Turns a file or a data frame into `Observations`: named, typed columns (section 2.1).

``read`` opens files of every format, ``kinds`` determines column types, ``observations`` holds the
result; ``blocks/`` does the same for files larger than memory.
"""
