r"""Tile coding with the numbers of the coder before tiles3, that of the RLtoolkit (Sutton; software version 2.1).

A point :math:`f \in \mathbb{R}^d`, in units of tile widths, is seen by :math:`K` tilings. With
:math:`q_i = \lfloor K f_i \rfloor`, tiling :math:`t` is displaced along dimension :math:`i = 0, 1, \dots` by
:math:`b_i = t\,(1 + 2i)` steps of :math:`1/K` of a tile, and a coordinate is the lower edge of the tile, in such steps:

.. math::
   c_i = q_i - \bigl((q_i - b_i) \bmod K\bigr), \qquad
   \text{tile} = (c_0, \dots, c_{d-1},\ t,\ \text{ints}),

where mod has its values in :math:`\{0, \dots, K-1\}` for negative numbers too, so that tiles keep their
width at zero. The index in a memory of size *m* is a sum over a table :math:`R` of 2048 random numbers,

.. math::
   h(c) = \Bigl(\sum_j R\bigl[(c_j + 449\,j) \bmod 2048\bigr]\Bigr) \bmod m,

with *j* counting all coordinates of the tile. The table is drawn once, in the original on
import: the indices, and with them the collisions, are random from process to process unless it is seeded.

Compared with :mod:`gqlib.tiles3`:

- *Geometry.* tiles3 shifts the other way, :math:`\lfloor (q_i + b_i)/K \rfloor`. Tiling *t* here cuts space as
  tiling :math:`-t \bmod K` does there, so both coders have the same K grids and, without collisions, the same
  features up to their numbering.
- *Coordinates.* Here they count steps of :math:`1/K` tile, there whole tiles; here the tiling comes after the
  floats, there it comes first.
- *Hash.* There the hash of a tuple, a fixed function; here a sum of random numbers. A sum has its price. Coordinates
  2048 apart are one and the same, so space closes on itself after :math:`2048/\gcd(K, 2048)` tiles. Changing
  an int shifts every index by the same number modulo *m*: tiles that collide under one action collide under all, and
  two actions whose entries agree modulo *m*, which has a probability of about :math:`1/m`, share every tile.

Left out: the collision tables of the original ("safe", "super safe"), which prevent collisions until the memory is
full, its version in C++, which computes in single precision, and input that wraps around. A memory is only a size here.

>>> table = random_table(Random(0))
>>> get_tiles(4, [0.3, -0.4], [1], size=500, table=table)
[1, 402, 346, 285]
"""

from __future__ import annotations

from collections.abc import Sequence
from math import floor
from random import Random
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gqlib import _validate as check

__all__ = ["get_tiles", "hash_tile", "hash_tiles", "random_table", "tile_coordinates"]

ENTRIES = 2048  # in the table; a power of 2, so that a remainder is a mask
STRIDE = 449  # places in the table from one coordinate's window to the next
DRAW_BELOW = 2**29 - 1  # entries are drawn from 0 up to, but not including, this
LARGEST = 2**32  # size of a memory, and above every entry of a table: sums stay well within 64 bits
FINEST = 2.0**53  # steps of 1/K tile from zero, the most that a double can tell apart


def random_table(rng: np.random.Generator | Random) -> NDArray[np.int64]:
    """Draw the table of random numbers: 2048 of them, uniform on 0, ..., 2**29 - 2.

    Parameters
    ----------
    rng : numpy.random.Generator or random.Random
        Where they come from. A ``random.Random(s)`` gives the table that the original has if Python's generator
        is seeded with *s* just before it is imported.

    Returns
    -------
    ndarray of int64, shape (2048,)

    Examples
    --------
    >>> random_table(np.random.default_rng(0)).shape
    (2048,)
    >>> random_table(Random(0))[:3].tolist()
    [453345529, 206826999, 406923669]
    """
    check.instance("rng", rng, np.random.Generator, Random)
    if isinstance(rng, np.random.Generator):
        return rng.integers(DRAW_BELOW, size=ENTRIES)
    return np.array([rng.randrange(DRAW_BELOW) for _ in range(ENTRIES)], dtype=np.int64)


def tile_coordinates(
    num_tilings: int, floats: Sequence[float], ints: Sequence[int] = ()
) -> NDArray[np.int64]:
    r"""Coordinates of the tiles that contain a point, one row per tiling.

    Parameters
    ----------
    num_tilings : int
        Number of tilings, K; a power of 2 is recommended.
    floats : sequence of float
        The point, in units of tile widths.
    ints : sequence of int, optional
        Further coordinates, such as an action: tiles with different values are different.

    Returns
    -------
    ndarray of int64, shape (num_tilings, len(floats) + 1 + len(ints))
        Lower edges in steps of 1/K tile, the tiling, the ints.

    Notes
    -----
    For the mountain car, with two floats and the action, rows are :math:`(c_x, c_v, t, a)`. A state enters only
    through :math:`q_x` and :math:`q_v`, so a table of the whole box follows from

    .. math::
       c_x = q_x - \bigl((q_x - t) \bmod K\bigr), \qquad c_v = q_v - \bigl((q_v - 3t) \bmod K\bigr).

    With 8 x 8 tiles, :math:`f = (8x/1.7,\ 8v/0.14)`, and K = 8, :math:`q_x` runs from -46 to 18 and :math:`q_v` from
    -32 to 32, and there are 1944 tiles with :math:`c_x` from -53 to 18 and :math:`c_v` from -39 to 32. The four
    coordinates then read disjoint parts of the table of random numbers, as they still do for K = 32, but not for
    K = 64.

    Examples
    --------
    >>> tile_coordinates(4, [0.3, -0.4], [7]).tolist()
    [[0, -4, 0, 7], [1, -5, 1, 7], [-2, -2, 2, 7], [-1, -3, 3, 7]]
    """
    count = check.integer("num_tilings", num_tilings, low=1)
    _sequence("floats", floats)
    _sequence("ints", ints)
    check.room("num_tilings", num_tilings, count * (len(floats) + 1 + len(ints)))
    steps = [floor(check.scalar("floats", f, largest=FINEST / count) * count) for f in floats]
    whole = [check.integer("ints", value, low=-(2**63), high=2**63 - 1) for value in ints]
    q = np.array(steps, dtype=np.int64)
    tiling = np.arange(count, dtype=np.int64)[:, None]
    displacement = tiling * (1 + 2 * np.arange(len(q)))
    edges = q - (q - displacement) % count
    constant = np.broadcast_to(np.array(whole, dtype=np.int64), (count, len(whole)))
    return np.hstack([edges, tiling, constant])


def hash_tile(coordinates: Sequence[int], size: int, table: ArrayLike) -> int:
    """Index of one tile: the definition, in Python's integers.

    Parameters
    ----------
    coordinates : sequence of int
        At least one; of any sign and size.
    size : int
        Number of indices, at most 2**32.
    table : array_like of int, shape (2048,)
        The random numbers, from 0 to 2**32 - 1.

    Returns
    -------
    int
        From 0 to ``size - 1``.

    Examples
    --------
    >>> hash_tile([3, -1], 1000, np.arange(2048))  # 3 + 448
    451
    """
    numbers = _table(table)
    modulus = check.integer("size", size, low=1, high=LARGEST)
    if len(_sequence("coordinates", coordinates)) == 0:
        raise ValueError("coordinates is empty; it should hold at least one whole number")
    whole = [check.integer("coordinates", value) for value in coordinates]
    return sum(int(numbers[(c + STRIDE * j) % ENTRIES]) for j, c in enumerate(whole)) % modulus


def hash_tiles(coordinates: ArrayLike, size: int, table: ArrayLike) -> NDArray[np.int64]:
    """Indices of many tiles, each as :func:`hash_tile` gives it.

    Parameters
    ----------
    coordinates : array_like of int, shape (n, d)
        One tile per row, in numbers of at most 64 bits.
    size, table
        As in :func:`hash_tile`.

    Returns
    -------
    ndarray of int64, shape (n,)

    Examples
    --------
    >>> hash_tiles([[3, -1], [2051, 0]], 1000, np.arange(2048)).tolist()
    [451, 452]
    """
    tiles = _whole_numbers("coordinates", coordinates)
    if tiles.ndim != 2 or tiles.size == 0:
        raise ValueError(f"coordinates has shape {tiles.shape}; it should have shape (any, any)")
    modulus = check.integer("size", size, low=1, high=LARGEST)
    numbers = _table(table)
    # Masked twice, so that no coordinate, however large, overflows on the way.
    places = (tiles.astype(np.int64) & (ENTRIES - 1)) + STRIDE * np.arange(tiles.shape[1])
    total: NDArray[np.int64] = numbers[places & (ENTRIES - 1)].sum(axis=1)
    return total % modulus


def get_tiles(
    num_tilings: int,
    floats: Sequence[float],
    ints: Sequence[int] = (),
    *,
    size: int,
    table: ArrayLike,
) -> list[int]:
    """Indices of the tiles that contain a point, one per tiling.

    Parameters
    ----------
    num_tilings, floats, ints
        As in :func:`tile_coordinates`.
    size : int
        Number of indices, at most 2**32.
    table : array_like of int, shape (2048,)
        The random numbers; see :func:`random_table`.

    Returns
    -------
    list of int
        `num_tilings` indices. An index may occur twice (collision).

    Examples
    --------
    The older coder itself, seeded with 0, has these tiles for the mountain car at rest at -0.5, action 1:

    >>> get_tiles(8, [-0.5 / (1.7 / 8), 0.0], [1], size=512, table=random_table(Random(0)))
    [304, 330, 103, 1, 320, 181, 463, 164]
    """
    size = check.integer("size", size, low=1, high=LARGEST)
    indices: list[int] = hash_tiles(
        tile_coordinates(num_tilings, floats, ints), size, table
    ).tolist()
    return indices


def _table(table: ArrayLike) -> NDArray[np.int64]:
    numbers = _whole_numbers("table", table)
    if numbers.shape != (ENTRIES,):
        raise ValueError(f"table has shape {numbers.shape}; it should have shape ({ENTRIES},)")
    low, high = int(numbers.min()), int(numbers.max())
    if low < 0 or high >= LARGEST:
        wrong = low if low < 0 else high
        raise ValueError(
            f"table has the entry {wrong}; every entry should be from 0 to {LARGEST - 1}"
        )
    return numbers.astype(np.int64, copy=False)


def _whole_numbers(name: str, value: ArrayLike) -> NDArray[np.integer[Any]]:
    try:
        result = np.asarray(value)
    except (TypeError, ValueError, OverflowError):  # rows of different lengths, for example
        result = np.empty(0)
    if result.dtype.kind not in "iu":
        raise ValueError(
            f"{name} is {check.brief(value)}; it should be an array of whole numbers of at most 64 bits"
        )
    return result


def _sequence(name: str, value: Any) -> Any:
    try:
        if isinstance(value, str | bytes | dict) or not hasattr(value, "__getitem__"):
            raise TypeError
        len(value)  # an array without axes has the method, but no length
    except (TypeError, OverflowError):
        raise ValueError(
            f"{name} is {check.brief(value)}; it should be a sequence of numbers"
        ) from None
    return value
