"""A learned graph as one page for people: what was found, how sure it is, how to get it again.

``findings`` computes, ``content`` says it in words and rows, ``page`` writes it.
"""
