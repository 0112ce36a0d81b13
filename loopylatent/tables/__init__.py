"""A file or a frame in, `Observations` out: typed columns with their names (section 2.1).

``read`` opens files of every format, ``kinds`` types columns, ``observations`` holds the result;
``blocks/`` does the same for files larger than memory.
"""
