"""The modules; each is imported when it is first used."""

from . import (
    circuit as circuit,
    columns as columns,
    cycles as cycles,
    graphs as graphs,
    grouping as grouping,
    initial as initial,
    pairwise as pairwise,
)
