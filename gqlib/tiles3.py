r"""Tile coding with the interface and the numbers of tiles3 (Sutton; Sutton and Barto 2018, Section 9.5.4).

A point :math:`f \in \mathbb{R}^d`, in units of tile widths, is seen by :math:`K` tilings, each offset from the
others. With :math:`q_i = \lfloor K f_i \rfloor` the tile of tiling :math:`t` has the coordinates

.. math::
   \Bigl(t,\ \Bigl\lfloor \frac{q_1 + t}{K} \Bigr\rfloor,\ \Bigl\lfloor \frac{q_2 + 3t}{K} \Bigr\rfloor,\
   \Bigl\lfloor \frac{q_3 + 5t}{K} \Bigr\rfloor,\ \dots,\ \text{ints}\Bigr),

that is, displacements by the first odd numbers, so that the tilings do not line up along a diagonal. A *memory* turns
coordinates into an index:

- an ``int`` *m*: ``hash(coordinates) % m``, with collisions from the first tile on;
- an :class:`IHT`: the number of different tiles seen before, so that indices depend on the order of visits
  and nothing collides until the table is full; from then on, unseen tiles are hashed as above;
- ``None``: the coordinates themselves.

The hash of a tuple of integers is that of CPython 3.8 and later on 64-bit machines, where it does
not depend on the process; where words are shorter, as in a browser, `tile_hash` computes it in plain integers.

>>> tiles(500, 4, [0.3, 0.4])
[226, 486, 268, 42]
>>> iht = IHT(500)
>>> tiles(iht, 4, [0.3, 0.4]), tiles(iht, 4, [0.3, 0.9])
([0, 1, 2, 3], [0, 1, 4, 5])
"""

from __future__ import annotations

import sys
from collections.abc import Hashable, Sequence
from itertools import zip_longest
from math import floor
from operator import index as integer
from typing import Any

from gqlib import _validate as check

__all__ = ["IHT", "tile_hash", "tiles", "tileswrap"]

# Of CPython's tuples (Objects/tupleobject.c, after xxHash), of its integers, and the width of what it makes.
_PRIME_1, _PRIME_2, _PRIME_5 = 11400714785074694791, 14029467366897019727, 2870177450012600261
_LENGTH_MIX, _INSTEAD_OF_MINUS_ONE = 3527539, 1546275796
_INTEGERS_MODULO = 2**61 - 1
_WORD, _ROTATION = 64, 31
_ALL = 2**_WORD - 1


def tile_hash(coordinates: Hashable) -> int:
    """The hash of a tile as CPython 3.8 and later computes it with 64-bit words, whatever this machine has.

    Raises
    ------
    ValueError
        Where the tile has no hash, or words are shorter and it is not a tuple of integers.

    Examples
    --------
    >>> tile_hash((0, -3, 2, 1))
    7081850399381545063
    """
    if sys.hash_info.width != _WORD:
        return _long_tuple_hash(coordinates)
    try:
        return hash(coordinates)
    except TypeError:
        raise ValueError(
            f"coordinates is {check.brief(coordinates)}; it should be a tuple of integers"
        ) from None


def _long_tuple_hash(coordinates: Any) -> int:
    """The same in plain integers."""
    try:
        numbers: list[int] = [integer(number) for number in coordinates]
    except TypeError:
        raise ValueError(
            f"coordinates is {check.brief(coordinates)}; it should be a tuple of integers"
        ) from None
    total: int = _PRIME_5
    for number in numbers:
        own = abs(number) % _INTEGERS_MODULO
        own = -own if number < 0 else own
        total = (total + (-2 if own == -1 else own) * _PRIME_2) & _ALL
        total = ((total << _ROTATION) | (total >> (_WORD - _ROTATION))) & _ALL
        total = total * _PRIME_1 & _ALL
    total = (total + (len(numbers) ^ _PRIME_5 ^ _LENGTH_MIX)) & _ALL
    if total == _ALL:
        return _INSTEAD_OF_MINUS_ONE
    return total - 2**_WORD if total >> (_WORD - 1) else total


class IHT:
    """Index hash table: hands out 0, 1, 2, ... to tiles as they appear, and hashes once it is full.

    Parameters
    ----------
    sizeval : int
        Number of indices; at least 1.

    Attributes
    ----------
    size : int
        Number of indices.
    overfullCount : int
        How many look-ups were answered by hashing because the table was full.
    dictionary : dict
        Index of each stored tile.

    Examples
    --------
    >>> table = IHT(2)
    >>> [table.getindex(tile) for tile in [(0, 0), (0, 1), (0, 0)]]
    [0, 1, 0]
    >>> table.count(), table.fullp(), table.overfullCount
    (2, True, 0)
    >>> table.getindex((5, 5)) in range(2), table.overfullCount
    (True, 1)
    """

    def __init__(self, sizeval: int) -> None:
        self.size = check.integer("sizeval", sizeval, low=1)
        self.overfullCount = 0
        self.dictionary: dict[Hashable, int] = {}

    def __str__(self) -> str:
        return (
            f"Collision table: size:{self.size} overfullCount:{self.overfullCount} "
            f"dictionary:{len(self.dictionary)} items"
        )

    def count(self) -> int:
        """Return the number of stored tiles."""
        return len(self.dictionary)

    def fullp(self) -> bool:
        """Return whether every index has been handed out."""
        return len(self.dictionary) >= self.size

    def getindex(self, obj: Hashable, readonly: bool = False) -> int | None:
        """Index of a tile; a new one is stored, unless `readonly` (then None) or the table is full (then hashed)."""
        check.flag("readonly", readonly)
        try:
            index = self.dictionary.get(obj)
        except TypeError:
            raise ValueError(
                f"obj is {check.brief(obj)}; it should be hashable, as a tuple of numbers is"
            ) from None
        if index is not None or readonly:
            return index
        index = len(self.dictionary)
        if index >= self.size:
            self.overfullCount += 1
            return tile_hash(obj) % self.size
        self.dictionary[obj] = index
        return index


def tiles(
    ihtORsize: IHT | int | None,
    numtilings: int,
    floats: Sequence[float],
    ints: Sequence[int] = (),
    readonly: bool = False,
) -> list[Any]:
    """Tiles that contain a point, one per tiling.

    Parameters
    ----------
    ihtORsize : IHT, int or None
        The memory (see the module).
    numtilings : int
        Number of tilings; a power of 2 that is at least 4 times the number of floats is recommended.
    floats : sequence of float
        The point, in units of tile widths.
    ints : sequence of int, optional
        Further coordinates, such as an action: different values share no tile.
    readonly : bool, optional
        With an IHT: leave unseen tiles out of the table and return None for them.

    Returns
    -------
    list
        `numtilings` indices, or coordinates if the memory is None. An index may occur twice (collision).

    Examples
    --------
    >>> tiles(None, 2, [0.6], [7])
    [[0, 0, 7], [1, 1, 7]]
    """
    return _tiles(ihtORsize, numtilings, floats, None, ints, readonly)


def tileswrap(
    ihtORsize: IHT | int | None,
    numtilings: int,
    floats: Sequence[float],
    wrapwidths: Sequence[int | None],
    ints: Sequence[int] = (),
    readonly: bool = False,
) -> list[Any]:
    """Tiles of a point in a space that wraps around along some dimensions.

    Parameters
    ----------
    ihtORsize, numtilings, floats, ints, readonly
        As in :func:`tiles`.
    wrapwidths : sequence of int or None
        Period of each dimension in tile widths; None, 0 or a missing entry where it does not wrap.

    Returns
    -------
    list
        As in :func:`tiles`.

    Examples
    --------
    >>> tileswrap(None, 2, [0.6], [3]) == tileswrap(None, 2, [3.6], [3])
    True
    """
    _sequence("floats", floats)
    if len(_sequence("wrapwidths", wrapwidths)) > len(floats):
        raise ValueError(
            f"wrapwidths has {len(wrapwidths)} entries; it should have at most {len(floats)}"
        )
    widths = [None if width is None else _whole("wrapwidths", width, low=0) for width in wrapwidths]
    return _tiles(ihtORsize, numtilings, floats, widths, ints, readonly)


def _tiles(
    memory: IHT | int | None,
    numtilings: int,
    floats: Sequence[float],
    wrapwidths: Sequence[int | None] | None,
    ints: Sequence[int],
    readonly: bool,
) -> list[Any]:
    if memory is not None and not isinstance(memory, IHT):
        memory = check.integer("ihtORsize", memory, low=1)
    count = check.integer("numtilings", numtilings, low=1)
    check.flag("readonly", readonly)
    check.room("numtilings", numtilings, count)
    quantised = [floor(check.scalar("floats", f) * count) for f in _sequence("floats", floats)]
    whole = [_whole("ints", value) for value in _sequence("ints", ints)]
    result = []
    for tiling in range(count):
        coordinates: list[Any] = [tiling]
        shift = tiling
        for q, width in zip_longest(quantised, wrapwidths or ()):
            # In a space that wraps around, a tiling is shifted by less than one tile.
            coordinate = (q + (shift if wrapwidths is None else shift % count)) // count
            coordinates.append(coordinate % width if width else coordinate)
            shift += 2 * tiling
        coordinates.extend(whole)
        result.append(_index(memory, coordinates, readonly))
    return result


def _whole(name: str, value: Any, low: int | None = None) -> int:
    """A number of Python's: one of NumPy's would not do with numbers beyond its own bits."""
    return check.integer(name, int(value) if isinstance(value, bool) else value, low=low)


def _sequence(name: str, value: Any) -> Any:
    listed = (
        hasattr(value, "__len__")
        and hasattr(value, "__getitem__")
        and getattr(value, "ndim", 1) > 0
    )
    if isinstance(value, str | bytes | dict) or not listed:
        raise ValueError(f"{name} is {check.brief(value)}; it should be a sequence of numbers")
    return value


def _index(memory: IHT | int | None, coordinates: list[Any], readonly: bool) -> Any:
    if memory is None:
        return coordinates
    if isinstance(memory, IHT):
        return memory.getindex(tuple(coordinates), readonly)
    return tile_hash(tuple(coordinates)) % memory
