"""The modules; each is imported when it is first used."""

from . import (
    circuit as circuit,
    climb as climb,
    columns as columns,
    cycles as cycles,
    draws as draws,
    graphs as graphs,
    grouping as grouping,
    initial as initial,
    learner as learner,
    pairwise as pairwise,
    products as products,
    support as support,
)
