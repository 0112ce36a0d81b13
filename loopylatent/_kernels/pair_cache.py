"""A table of numbers by pair of nodes: open addressing, its size a power of two, half empty."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from loopylatent._kernels.jit import kernel

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

EMPTY = -1
LOWER = 0x7FFFFFFF
"""The bits of a key that hold the smaller node."""


@kernel
def pair_key(u: int, v: int) -> int:
    """One number for two nodes, whichever comes first."""
    return (max(u, v) << 31) | min(u, v)


@kernel
def slot_of(keys: IntArray, key: int) -> int:
    """Where ``key`` is, or where it would go."""
    mask = len(keys) - 1
    mixed = (key ^ (key >> 29)) * 0x9E3779B1
    slot = (mixed ^ (mixed >> 17)) & mask
    while keys[slot] != EMPTY and keys[slot] != key:
        slot = (slot + 1) & mask
    return int(slot)


@kernel
def enlarged(keys: IntArray, numbers: FloatArray, room: int) -> tuple[IntArray, FloatArray]:
    """The same table, at most half full with ``room`` entries."""
    if 2 * room <= len(keys):
        return keys, numbers
    size = len(keys)
    while size < 4 * room:
        size *= 2
    new_keys, new_numbers = np.full(size, EMPTY, np.int64), np.empty(size, np.float64)
    for slot in range(len(keys)):
        if keys[slot] != EMPTY:
            place = slot_of(new_keys, keys[slot])
            new_keys[place], new_numbers[place] = keys[slot], numbers[slot]
    return new_keys, new_numbers


@kernel
def put_numbers(
    keys: IntArray, numbers: FloatArray, n: int, pairs: IntArray, values: FloatArray
) -> tuple[IntArray, FloatArray, int]:
    """Write numbers by key; return the table and how many entries it has now."""
    keys, numbers = enlarged(keys, numbers, n + len(pairs))
    for k in range(len(pairs)):
        slot = slot_of(keys, pairs[k])
        n += keys[slot] == EMPTY
        keys[slot], numbers[slot] = pairs[k], values[k]
    return keys, numbers, n


@kernel
def number_of(keys: IntArray, numbers: FloatArray, u: int, v: int) -> float:
    """The number of two nodes; NaN where there is none."""
    key = pair_key(u, v)
    slot = slot_of(keys, key)
    return float(numbers[slot]) if keys[slot] == key else np.nan
