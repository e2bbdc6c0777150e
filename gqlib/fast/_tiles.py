"""The tiles of a point: those of `gqlib.tiles3` with an index table.

They are numbered as they are met and, once the table is full, hashed as CPython hashes a tuple of whole numbers. The
table is one of open addressing; ``slots`` holds 1 + the number of a tile, and 0 where nothing is.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gqlib.fast import COMPILE
from gqlib.fast._jit import njit

LARGEST = 1e50  # of a coordinate, as in gqlib._validate

# CPython's hash of a tuple: one round of xxHash for each entry.
_ACROSS, _INTO, _FIRST = (
    np.uint64(p) for p in (11400714785074694791, 14029467366897019727, 2870177450012600261)
)
_LENGTH = np.uint64(2870177450012600261 ^ 3527539)
_LEFT, _RIGHT = np.uint64(31), np.uint64(33)
_RESERVED = np.uint64(2**64 - 1)  # −1, which CPython keeps for errors


@njit(**COMPILE)
def hash_of(row: Any) -> Any:
    """hash(tuple(row)) of whole numbers from 0 on."""
    acc = _FIRST
    for value in row:
        acc += np.uint64(value) * _INTO
        acc = (acc << _LEFT) | (acc >> _RIGHT)
        acc *= _ACROSS
    acc += np.uint64(len(row)) ^ _LENGTH
    return np.int64(acc) if acc != _RESERVED else np.int64(1546275796)


@njit(**COMPILE)
def place_of(row: Any, slots: Any, keys: Any) -> Any:
    """Where a tile is in the table, or the empty place where it would be."""
    mask = len(slots) - 1
    place = hash_of(row) & mask
    while slots[place] > 0:
        known = keys[slots[place] - 1]
        same = True
        for i in range(len(row)):
            if known[i] != row[i]:
                same = False
                break
        if same:
            return place
        place = (place + 1) & mask
    return place


@njit(**COMPILE)
def put_all(slots: Any, keys: Any, count: Any) -> None:
    """Fill an empty table with the tiles that have numbers."""
    for number in range(count):
        slots[place_of(keys[number], slots, keys)] = number + 1


@njit(**COMPILE)
def find_tiles(
    point: Any,
    box: Any,
    tilings: Any,
    size: Any,
    slots: Any,
    keys: Any,
    counts: Any,
    row: Any,
    rows: Any,
    peek: Any,
) -> Any:
    """Fill ``rows`` (A, K) with the tiles of a point; False, and nothing done, where the point is no point.

    ``box`` (3, n) holds the lower and upper corner and the tiles per unit; ``counts`` the tiles numbered and the
    look-ups that a full table answered. To ``peek`` numbers nothing: −1 stands for a tile that was never met.
    """
    dims, actions = len(point), len(rows)
    for i in range(dims):
        if not abs(point[i]) <= LARGEST:
            return False
    quantised = np.empty(dims, dtype=np.int64)
    for i in range(dims):
        inside = min(max(point[i], box[0, i]), box[1, i])
        quantised[i] = np.int64(np.floor((inside - box[0, i]) * box[2, i] * tilings))
    for action in range(actions):
        row[1 + dims] = action
        for tiling in range(tilings):
            row[0] = tiling
            for i in range(dims):
                row[1 + i] = (quantised[i] + (2 * i + 1) * tiling) // tilings
            place = place_of(row, slots, keys)
            if slots[place] > 0:
                rows[action, tiling] = slots[place] - 1
            elif counts[0] >= size:
                rows[action, tiling] = hash_of(row) % size
                counts[1] += 0 if peek else 1
            elif peek:
                rows[action, tiling] = -1
            else:
                keys[counts[0]] = row
                slots[place] = counts[0] + 1
                rows[action, tiling] = counts[0]
                counts[0] += 1
    return True
