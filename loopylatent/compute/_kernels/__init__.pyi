"""The modules; each is imported when it is first used."""

from . import (
    circuit as circuit,
    circuit_run as circuit_run,
    evidence as evidence,
    families as families,
    gaps as gaps,
    gibbs as gibbs,
    layout as layout,
    near_pairs as near_pairs,
    neighbor_joining as neighbor_joining,
    node_distances as node_distances,
    propagation as propagation,
    quartets as quartets,
    spanning as spanning,
)
