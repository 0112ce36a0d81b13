"""Gibbs sampling of pairwise models: each node in turn is drawn anew, given its neighbours."""

from __future__ import annotations

import numpy as np

from loopylatent.compute._kernels.jit import kernel
from loopylatent.compute.arrays import FloatArray, StateArray
from loopylatent.compute.tape import Network


@kernel
def sweep_nodes(
    network: Network, tables: FloatArray, states: StateArray, uniforms: FloatArray
) -> None:
    """Draw every node of every chain anew, once for each of the sweeps, in place.

    ``states`` is (chains, nodes), ``uniforms`` (sweeps, chains, nodes) random numbers below 1.
    """
    n_sweeps, n_chains, n_nodes = uniforms.shape
    weights = np.empty(network.n_states.max())
    for sweep in range(n_sweeps):
        for chain in range(n_chains):
            for node in range(n_nodes):
                size = network.n_states[node]
                largest = -np.inf
                for k in range(size):
                    level = tables[network.node_cell[node] + k]
                    for e in range(network.start[node], network.start[node + 1]):
                        level += tables[
                            network.table[e]
                            + k * network.own_stride[e]
                            + states[chain, network.other[e]] * network.other_stride[e]
                        ]
                    weights[k] = level
                    largest = max(largest, level)
                total = 0.0
                for k in range(size):
                    total += np.exp(weights[k] - largest)
                    weights[k] = total
                wanted = uniforms[sweep, chain, node] * total
                drawn = 0
                while drawn < size - 1 and weights[drawn] <= wanted:
                    drawn += 1
                states[chain, node] = drawn
