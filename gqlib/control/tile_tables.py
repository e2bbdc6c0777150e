r"""Tile coding of the car's state box as one look-up table.

With K tilings of 8 x 8 tiles the coder sees a state only through :math:`q_x = \lfloor K f_x \rfloor` and
:math:`q_v = \lfloor K f_v \rfloor`, :math:`f = (8x/1.7,\ 8v/0.14)`: the box divides into about
:math:`(8K + 1)^2` *fine cells*, and all states of a cell have the same tiles. A row of the table holds, for its
cell, the K indices of each of the three actions and the inner products of their features: an index may occur twice
(collision), so a feature is the number of tilings that hit it, and :math:`\|\phi\|^2` is not always K.

Two memories are the same in every run:

- ``"int"``: ``hash(tile) % p``, as :func:`gqlib.tiles3.tiles` with an int;
- ``"iht"``: as with an :class:`~gqlib.tiles3.IHT` of size p that has been filled by visiting every fine cell
  once: positions from left to right, for each position velocities upwards, for each state actions 0, 1, 2, for
  each action tilings in order. The order matters: it determines the indices, and which tiles collide once the
  table is full.

Two are drawn for each run, from its seed and index (`gqlib.seeds.HASH`), so that which tiles collide is a matter of
chance, as it should be when a result is meant to hold for tile coding and not for one hash function:

- ``"salted"``: the hash of tiles3 with a random number, the *salt*, as a further coordinate of every tile;
- ``"rltoolkit"``: the coder named in the paper's footnote (:mod:`gqlib.rltoolkit`), with its table of random numbers.

Only some of the p indices occur, so rows hold *places*: the occurring indices are numbered in the order
of filling, neighbours in the box next to each other in memory, and `used` gives the index of each place.
The cost of a step then does not depend on how far apart hashing throws the indices.

Cells are found exactly: a product in place of the division guesses the cell, and the guess is corrected by comparing
with the cell's edges, the smallest doubles that the coder maps to it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import floor, inf, nextafter

import numpy as np
from numpy.typing import NDArray

from gqlib import _validate as check
from gqlib import rltoolkit
from gqlib.control.setting import (
    FIXED_MEMORIES,
    LARGEST_MEMORY,
    MEMORIES,
    MOST_TILINGS,
    FixedMemory,
    Memory,
)
from gqlib.domains import mountain_car as car
from gqlib.fast._lines import LINE, zeros_in_lines
from gqlib.seeds import HASH, generator
from gqlib.tiles3 import IHT, tile_hash, tiles

__all__ = ["MEMORIES", "TileTable", "make_coder", "make_memory", "scaled", "tile_table"]

TILES_PER_SIDE = 8
ROW_ALIGNMENT = LINE // 2  # entries of 2 bytes in a cache line
ROW_OF_WEIGHTS = (
    4  # numbers side by side for each place: T, E, W and a mark (`gqlib.fast._lowered`)
)
SALTS = 2**31  # different salts
KEPT_TABLES = 64  # of runs; a task has ten runs at a time, and goes through all settings with them
TUPLE_HASH = 7081850399381545063  # of (0, -3, 2, 1), on machines that hash tiles as tiles3 does


def scaled(position: float, velocity: float) -> tuple[float, float]:
    """State in units of tile widths, as passed to the tile coder.

    Examples
    --------
    >>> scaled(0.425, -0.035)
    (2.0, -2.0)
    """
    return _scaled(check.scalar("position", position), check.scalar("velocity", velocity))


def _scaled(position: float, velocity: float) -> tuple[float, float]:
    return (
        TILES_PER_SIDE * position / (car.POSITION_MAX - car.POSITION_MIN),
        TILES_PER_SIDE * velocity / (car.VELOCITY_MAX + car.VELOCITY_MAX),
    )


@dataclass(frozen=True, eq=False)
class TileTable:
    """The look-up table of one memory.

    Attributes
    ----------
    rows : ndarray of uint16, shape (cells, width)
        Places of action 0, of action 1, of action 2, then the inner products (0,0), (1,1), (2,2), (0,1), (0,2),
        (1,2) of the features; padded with zeros to whole cache lines. Cells are ordered by position, then velocity.
    edges_x, edges_v : ndarray
        Smallest double of each fine interval, and infinity at the end.
    used : ndarray of int64
        The index of each place.
    p, tilings : int
        Size of the memory and number of tilings.

    Examples
    --------
    >>> table = tile_table(512)
    >>> table.cell(-1.2, -0.07), table.p, len(table.indices(-0.5, 0.0, 1)), table.index_rows().shape == table.rows.shape
    (0, 512, 8, True)
    >>> len(table.grid) == 4 + len(table.edges_x) + len(table.edges_v)
    True
    >>> [int(place) for place in table.offsets[0, :3]] == [4 * int(place) for place in table.rows[0, :3]]
    True
    """

    rows: NDArray[np.uint16]
    edges_x: NDArray[np.float64]
    edges_v: NDArray[np.float64]
    used: NDArray[np.int64]
    p: int
    tilings: int

    def cell(self, position: float, velocity: float) -> int:
        """Row of a state in the box."""
        x = check.scalar("position", position, low=car.POSITION_MIN, high=car.POSITION_MAX)
        v = check.scalar("velocity", velocity, low=-car.VELOCITY_MAX, high=car.VELOCITY_MAX)
        i = int(np.searchsorted(self.edges_x, x, side="right")) - 1
        j = int(np.searchsorted(self.edges_v, v, side="right")) - 1
        return i * (len(self.edges_v) - 1) + j

    def indices(self, position: float, velocity: float, action: int) -> list[int]:
        """Tile indices of a state and action, as :func:`gqlib.tiles3.tiles` returns them."""
        action = check.integer("action", action, low=0, high=car.ACTIONS - 1)
        row = self.rows[self.cell(position, velocity)]
        return [
            int(self.used[place])
            for place in row[action * self.tilings : (action + 1) * self.tilings]
        ]

    @cached_property
    def grid(self) -> NDArray[np.float64]:
        """What a kernel finds a cell by: scale and offset of x and of v, by which it guesses, then the edges of both."""
        guess: list[float] = []
        for edges in (self.edges_x, self.edges_v):
            inner = edges[1:-1]
            scale = (len(inner) - 1) / (inner[-1] - inner[0])
            guess += [scale, 1.0 - inner[0] * scale]
        return np.concatenate([guess, self.edges_x, self.edges_v])

    @cached_property
    def offsets(self) -> NDArray[np.uint16]:
        """The rows with four times the places, for code that has four numbers for each place in memory.

        The three actions of `MOST_TILINGS` tilings have 7776 tiles in the box, so 16 bits are enough.
        """
        rows = zeros_in_lines(self.rows.shape, np.uint16)
        rows[:] = self.rows
        rows[:, : car.ACTIONS * self.tilings] *= ROW_OF_WEIGHTS
        rows.setflags(write=False)
        return rows

    def index_rows(self) -> NDArray[np.uint16]:
        """The rows with indices instead of places, for code that has all p weights in memory."""
        rows = self.rows.copy()
        active = slice(None, car.ACTIONS * self.tilings)
        rows[:, active] = self.used[rows[:, active]]
        return rows


def _edges(quantise_axis: int, low: float, high: float, tilings: int) -> NDArray[np.float64]:
    """Smallest doubles of the fine intervals of one axis between `low` and `high`, found by bisection."""

    def quantised(value: float) -> int:
        return floor(_scaled(value, value)[quantise_axis] * tilings)

    first, last = quantised(low), quantised(high)
    edges = [low]
    for q in range(first + 1, last + 1):
        below, above = edges[-1], high
        while nextafter(below, inf) < above:
            middle = below + (above - below) / 2
            if quantised(middle) < q:
                below = middle
            else:
                above = middle
        edges.append(above)
    return np.array([*edges, inf])


@lru_cache(maxsize=8)
def _fill_order(tilings: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Edges of both axes, whose pairs give one state in every fine cell."""
    return (
        _edges(0, car.POSITION_MIN, car.POSITION_MAX, tilings),
        _edges(1, -car.VELOCITY_MAX, car.VELOCITY_MAX, tilings),
    )


@lru_cache(maxsize=8)
def _coordinates(
    tilings: int, older: bool = False
) -> tuple[list[tuple[int, ...]], NDArray[np.int64]]:
    """All tiles in the order of filling, and for (cell, action, tiling) the number of its tile in that order.

    Tiles are named as by tiles3, or as by the older coder, which counts and shifts differently.
    """
    edges_x, edges_v = _fill_order(tilings)
    q_x = np.array([floor(_scaled(x, 0.0)[0] * tilings) for x in edges_x[:-1]])
    q_v = np.array([floor(_scaled(0.0, v)[1] * tilings) for v in edges_v[:-1]])
    tiling = np.arange(tilings)
    if older:
        x = q_x[:, None] - (q_x[:, None] - tiling) % tilings
        v = q_v[:, None] - (q_v[:, None] - 3 * tiling) % tilings
    else:
        x = (q_x[:, None] + tiling) // tilings
        v = (q_v[:, None] + 3 * tiling) // tilings
    shape = (len(q_x), len(q_v), car.ACTIONS, tilings)
    x, v, action = x[:, None, None, :], v[None, :, None, :], np.arange(car.ACTIONS)[:, None]
    parts = (x, v, tiling, action) if older else (tiling, x, v, action)
    flat = np.stack([np.broadcast_to(part, shape).ravel() for part in parts])
    lowest = flat.min(axis=1)
    code = np.ravel_multi_index(tuple(flat - lowest[:, None]), tuple(flat.max(axis=1) - lowest + 1))
    _, first, number = np.unique(code, return_index=True, return_inverse=True)
    distinct = flat[:, first].T
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    names = [tuple(int(c) for c in tile) for tile in distinct[order]]
    return names, rank[number].reshape(-1, car.ACTIONS * tilings)


def make_memory(memory: FixedMemory, p: int, tilings: int) -> IHT | int:
    """The tiles3 memory behind a table: the int `p`, or an IHT of size `p` filled in the stated order.

    Examples
    --------
    >>> make_memory("int", 512, 8), make_memory("iht", 2048, 8).count()
    (512, 1944)
    """
    check.choice("memory", memory, FIXED_MEMORIES)
    p = check.integer("p", p, low=1, high=LARGEST_MEMORY)
    tilings = check.integer("tilings", tilings, low=1, high=MOST_TILINGS)
    if memory == "int":
        return p
    table = IHT(p)
    for name in _coordinates(tilings)[0]:
        table.getindex(name)
    return table


def make_coder(
    memory: Memory, p: int, tilings: int, *, seed: int = 0, run: int = 0
) -> Callable[[Sequence[float], int], list[int]]:
    """The coder of a run as a function of a state in units of tile widths and an action.

    Examples
    --------
    >>> code = make_coder("rltoolkit", 512, 8, seed=1, run=2)
    >>> len(code(scaled(-0.5, 0.0), 1))
    8
    >>> make_coder("int", 512, 8)(scaled(-0.5, 0.0), 1) == tiles(512, 8, scaled(-0.5, 0.0), [1])
    True
    """
    chosen = check.choice("memory", memory, MEMORIES)
    p = check.integer("p", p, low=1, high=LARGEST_MEMORY)
    tilings = check.integer("tilings", tilings, low=1, high=MOST_TILINGS)
    if chosen in FIXED_MEMORIES:
        store = make_memory(chosen, p, tilings)
        return lambda state, action: tiles(store, tilings, state, [action])
    drawn = generator(seed, run, HASH)
    if memory == "salted":
        salt = int(drawn.integers(SALTS))
        return lambda state, action: tiles(p, tilings, state, [action, salt])
    numbers = rltoolkit.random_table(drawn)
    return lambda state, action: rltoolkit.get_tiles(
        tilings, state, [action], size=p, table=numbers
    )


def tile_table(
    p: int, tilings: int = 8, memory: Memory = "int", *, seed: int = 0, run: int = 0
) -> TileTable:
    """Look-up table of the car's state box.

    Parameters
    ----------
    p : int
        Size of the memory, at most 65536.
    tilings : int
        Number of tilings of 8 x 8 tiles, at most 32.
    memory : {"int", "iht", "salted", "rltoolkit"}
        See the module.
    seed, run : int
        For the memories that are drawn for each run; the others do not depend on them.

    Returns
    -------
    TileTable

    Examples
    --------
    >>> from gqlib.tiles3 import tiles
    >>> tile_table(1024).indices(-0.5, 0.0, 1) == tiles(1024, 8, scaled(-0.5, 0.0), [1])
    True
    >>> len(tile_table(2048).used), len(tile_table(2048, memory="iht").used)
    (1136, 1944)
    """
    p = check.integer("p", p, low=1, high=LARGEST_MEMORY)
    tilings = check.integer("tilings", tilings, low=1, high=MOST_TILINGS)
    seed, run = check.integer("seed", seed, low=0), check.integer("run", run, low=0)
    kind = check.choice("memory", memory, MEMORIES)
    return (
        _tile_table(p, tilings, kind)
        if kind in FIXED_MEMORIES
        else _drawn_table(p, tilings, kind, seed, run)
    )


@lru_cache(maxsize=16)
def _tile_table(p: int, tilings: int, memory: FixedMemory) -> TileTable:
    _need_tuple_hash()
    store = make_memory(memory, p, tilings)
    names, number = _coordinates(tilings)
    if isinstance(store, IHT):
        index = [store.getindex(name) for name in names]
    else:
        index = [tile_hash(name) % store for name in names]
    return _table_of(np.array(index), number, p, tilings)


@lru_cache(maxsize=KEPT_TABLES)
def _drawn_table(p: int, tilings: int, memory: Memory, seed: int, run: int) -> TileTable:
    drawn = generator(seed, run, HASH)
    if memory == "rltoolkit":
        names, number = _coordinates(tilings, older=True)
        index = rltoolkit.hash_tiles(names, p, rltoolkit.random_table(drawn))
    else:
        _need_tuple_hash()
        salt = (int(drawn.integers(SALTS)),)
        names, number = _coordinates(tilings)
        index = np.array([tile_hash(name + salt) % p for name in names])
    return _table_of(index, number, p, tilings)


def _need_tuple_hash() -> None:
    if tile_hash((0, -3, 2, 1)) != TUPLE_HASH:
        raise RuntimeError("tile indices need the tuple hash of 64-bit CPython 3.8 or later")


def _table_of(
    index: NDArray[np.int64], number: NDArray[np.int64], p: int, tilings: int
) -> TileTable:
    """The table, given the index of each tile and the numbers of the tiles of each cell."""
    used = np.array(list(dict.fromkeys(index.tolist())))
    place = np.empty(p, dtype=np.int64)
    place[used] = np.arange(len(used))
    places = place[index[number]].reshape(len(number), car.ACTIONS, tilings)
    width = -(-(car.ACTIONS * tilings + 6) // ROW_ALIGNMENT) * ROW_ALIGNMENT
    rows = zeros_in_lines((len(number), width), np.uint16)
    rows[:, : car.ACTIONS * tilings] = places.reshape(len(number), -1)
    for column, (a, b) in enumerate(((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))):
        equal = places[:, a, :, None] == places[:, b, None, :]
        rows[:, car.ACTIONS * tilings + column] = equal.sum(axis=(1, 2))
    rows.setflags(write=False)
    edges_x, edges_v = _fill_order(tilings)
    return TileTable(rows, edges_x, edges_v, used, p, tilings)
