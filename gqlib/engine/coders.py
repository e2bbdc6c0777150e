r"""From states to active indices: tile coding of a box, or features of your own.

A coder gives K active features per state and action, each 1; the features of different actions do not meet.
`Tiles` divides a box of D coordinates into K tilings of n_1 × … × n_D tiles, displaced as in tiles3: with

    q_i = ⌊K n_i (x_i − low_i)/(high_i − low_i)⌋,   clipped to 0 … K n_i,

tiling k has the tile with coordinates ⌊(q_i + k(2i + 1) mod K)/K⌋, and every tile has an index of its own: nothing is
hashed. Where the fine cells are few, as in two dimensions, their indices are looked up in a table; otherwise they are
computed at every step. Both give the same indices. For a kernel they are multiplied by `stride`, the numbers that it
keeps side by side for each of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import prod
from typing import Any

import numpy as np

from gqlib import _validate as check
from gqlib.control.setting import LARGEST_MEMORY, MEMORIES, MOST_TILINGS, Memory
from gqlib.control.tile_tables import TileTable, tile_table
from gqlib.domains.mountain_car import POSITION_MAX, POSITION_MIN, VELOCITY_MAX
from gqlib.engine._kernel import LOST, NO_STATE
from gqlib.engine._records import Codes
from gqlib.fast import COMPILE
from gqlib.fast._jit import COMPILED, is_jitted, njit
from gqlib.fast._lowered import likely, natural
from gqlib.fast._sound import finite

__all__ = ["CarTable", "Features", "Tiles"]

LARGEST_TABLE = 2**17  # fine cells
LARGEST_P = 2**24
SLOTS = 3  # states whose features a buffer holds: see `gqlib.engine._kernel`
ALL = slice(None)
OPTIONS = COMPILE | {"cache": False}


@dataclass(frozen=True)
class Tiles:
    """Tile coding of a box.

    Parameters
    ----------
    low, high : tuple of float
        The box; coordinates outside it count as on its edge.
    tiles : tuple of int
        Tiles per dimension.
    tilings : int
        Number of tilings, K.

    Examples
    --------
    >>> coder = Tiles((0.0, 0.0), (1.0, 1.0), (2, 2), 4)
    >>> coder.size, coder.active, coder.indices((0.5, 0.1))
    (36, 4, [3, 12, 21, 30])
    >>> coder.indices((0.5, 0.9))
    [4, 14, 23, 32]
    """

    low: tuple[float, ...]
    high: tuple[float, ...]
    tiles: tuple[int, ...]
    tilings: int = 8

    def __post_init__(self) -> None:
        low = check.array("low", self.low, (None,))
        high = check.array("high", self.high, low.shape)
        if not (low < high).all():
            raise ValueError(
                f"high is {check.brief(self.high)}; it should be above low, {check.brief(self.low)}"
            )
        tiles: Any = self.tiles
        tiles = tiles.tolist() if isinstance(tiles, np.ndarray) else tiles
        if not isinstance(tiles, tuple | list) or len(tiles) != len(low):
            raise ValueError(
                f"tiles is {check.brief(self.tiles)}; it should hold a number for each of {len(low)} axes"
            )
        object.__setattr__(self, "low", tuple(low.tolist()))
        object.__setattr__(self, "high", tuple(high.tolist()))
        object.__setattr__(
            self, "tiles", tuple(check.integer("tiles", n, low=1, high=1024) for n in tiles)
        )
        object.__setattr__(self, "tilings", check.integer("tilings", self.tilings, low=1, high=64))
        if self.size > LARGEST_P:
            raise ValueError(f"tiles is {self.tiles}; with {self.tilings} tilings that makes {self.size} features, "
                             f"and it should make at most {LARGEST_P}")  # fmt: skip

    @property
    def size(self) -> int:
        """Number of features of a state."""
        return self.tilings * prod(n + 1 for n in self.tiles)

    @property
    def active(self) -> int:
        """Number of active features."""
        return self.tilings

    def _fine(self, state: tuple[float, ...]) -> list[int]:
        """The numbers q_i of a state."""
        grid, found = self._grid(), []
        for i, x in enumerate(
            check.array("state", state, (len(self.low),), largest=np.inf).tolist()
        ):
            low, scale, top = grid[3 * i : 3 * i + 3].tolist()
            found.append(int(min(max((x - low) * scale, 0.0), top)))
        return found

    def indices(self, state: tuple[float, ...]) -> list[int]:
        """The active features of a state, one for each tiling."""
        return self._indices(self._fine(state))

    def _indices(self, q: Any) -> list[int]:
        found = []
        for k in range(self.tilings):
            index = k
            for i, n in enumerate(self.tiles):
                index = index * (n + 1) + (q[i] + k * (2 * i + 1) % self.tilings) // self.tilings
            found.append(index)
        return found

    def _grid(self) -> Any:
        """low, scale and top of each axis, one after the other."""
        rows = [
            (low, self.tilings * n / (high - low), float(self.tilings * n))
            for low, high, n in zip(self.low, self.high, self.tiles, strict=True)
        ]
        return np.array(rows).ravel()

    def _rows(self, actions: int) -> int:
        """Number of weights."""
        return self.size * actions

    def _used(self, seed: int, run: int) -> Any:
        """The weights that occur: all."""
        return ALL

    def _codes(self, actions: int, stride: int, seed: int = 0, run: int = 0) -> Codes:
        """The table or buffer of a run, and the numbers that go with it."""
        if not self._few_cells():
            return Codes(np.zeros(SLOTS * actions * self.tilings, dtype=np.int64), self._grid())
        return _tile_table(self, actions, stride)

    def _functions(self, actions: int, observe: Any, stride: int) -> tuple[Any, Any]:
        """`locate` and `dot`, compiled."""
        return _tile_functions(
            self.tiles, self.tilings, actions, self._few_cells(), observe, stride
        )

    def _few_cells(self) -> bool:
        """Whether the fine cells are few enough for a table."""
        return prod(self.tilings * n + 1 for n in self.tiles) <= LARGEST_TABLE


@lru_cache(maxsize=16)
def _tile_table(tiles: Tiles, actions: int, stride: int) -> Codes:
    fine = [range(tiles.tilings * n + 1) for n in tiles.tiles]
    states = np.array([tiles._indices(q) for q in product(*fine)])
    rows = stride * (states[:, None, :] * actions + np.arange(actions)[:, None]).ravel()
    kind = np.uint16 if stride * tiles.size * actions <= 2**16 else np.int64
    return Codes(rows.astype(kind), tiles._grid())


@lru_cache(maxsize=32)
def _tile_functions(
    tiles: tuple[int, ...], tilings: int, actions: int, table: bool, observe: Any, stride: int
) -> tuple[Any, Any]:
    axes, width, norm = len(tiles), tilings * actions, float(tilings)
    sides = tuple(tilings * n + 1 for n in tiles)
    counts = tuple(n + 1 for n in tiles)
    shifts = tuple(tuple(k * (2 * i + 1) % tilings for k in range(tilings)) for i in range(axes))
    flat = np.array(shifts, dtype=np.int64).ravel()

    @njit(forceinline=True, **OPTIONS)
    def fine(grid: Any, x: Any, i: Any) -> Any:
        value = (x - grid[3 * i]) * grid[3 * i + 1]
        value = (
            value if value > 0.0 else 0.0
        )  # NaN becomes zero too: nothing leaves the table before it is told
        top = grid[3 * i + 2]
        return natural(np.int64(value if value < top else top))

    @njit(forceinline=True, **OPTIONS)
    def looked_up(active: Any, grid: Any, data: Any, state: Any, slot: Any) -> Any:
        seen = observe(data, state)
        if len(seen) != axes:  # of an array only a run knows; of a tuple the compiler does
            return LOST
        cell = natural(0)
        for i in range(axes):
            cell = cell * sides[i] + fine(grid, seen[i], i)
        if not likely(finite(seen)):
            return NO_STATE
        return natural(cell * width)

    @njit(forceinline=True, **OPTIONS)
    def computed(active: Any, grid: Any, data: Any, state: Any, slot: Any) -> Any:
        seen = observe(data, state)
        if len(seen) != axes:
            return LOST
        row = natural(slot * width)
        for k in range(tilings):
            active[row + k] = k
        for i in range(axes):
            q, count = fine(grid, seen[i], i), counts[i]
            for k in range(tilings):
                active[row + k] = active[row + k] * count + (q + flat[i * tilings + k]) // tilings
        for k in range(tilings):
            index = active[row + k] * actions
            for a in range(actions):
                active[row + a * tilings + k] = stride * (index + a)
        if not likely(finite(seen)):
            return NO_STATE
        return row

    @njit(forceinline=True, **OPTIONS)
    def dot(active: Any, row: Any, a: Any, b: Any) -> Any:
        return norm if a == b else 0.0

    return (looked_up if table else computed), dot


@dataclass(frozen=True)
class Features:
    """Features of your own: a compiled function fills in which of `size` binary features are active in a state.

    Parameters
    ----------
    fill : compiled function
        ``fill(data, state, out)`` writes `active` different whole numbers from 0 to size − 1 into `out`.
    size, active : int

    Examples
    --------
    A table over ten states, which are whole numbers:

    >>> @njit
    ... def fill(data, state, out):
    ...     out[0] = state
    >>> Features(fill, size=10, active=1).indices(3)
    [3]
    """

    fill: Callable[..., Any]
    size: int
    active: int = 1

    def __post_init__(self) -> None:
        if not is_jitted(check.takes("fill", self.fill, "data", "state", "out")) and COMPILED:
            raise ValueError("fill is a plain function; it should be compiled by numba.njit")
        object.__setattr__(self, "size", check.integer("size", self.size, low=1, high=LARGEST_P))
        object.__setattr__(
            self, "active", check.integer("active", self.active, low=1, high=min(self.size, 1024))
        )

    def indices(self, state: Any, data: Any = ()) -> list[int]:
        """The active features of a state."""
        out = np.full(self.active, -1, dtype=np.int64)
        try:
            self.fill.py_func(data, state, out)  # type: ignore[attr-defined]
        except (TypeError, ValueError, LookupError, ArithmeticError, AttributeError) as error:
            raise ValueError(
                f"state is {check.brief(state)}, which fill cannot take: {error}"
            ) from error
        found: list[int] = out.tolist()
        if min(found) < 0 or max(found) >= self.size or len(set(found)) < self.active:
            raise ValueError(f"state is {check.brief(state)}, for which fill gives {found}; "
                             f"it should give {self.active} different numbers below {self.size}")  # fmt: skip
        return found

    def _rows(self, actions: int) -> int:
        """Number of weights."""
        return self.size * actions

    def _used(self, seed: int, run: int) -> Any:
        """The weights that occur: all."""
        return ALL

    def _codes(self, actions: int, stride: int, seed: int = 0, run: int = 0) -> Codes:
        """The buffer of a run."""
        return Codes(np.zeros(SLOTS * actions * self.active, dtype=np.int64), np.zeros(1))

    def _functions(self, actions: int, observe: Any, stride: int) -> tuple[Any, Any]:
        """`locate` and `dot`, compiled."""
        return _feature_functions(self.fill, self.size, self.active, actions, stride)


@lru_cache(maxsize=32)
def _feature_functions(
    fill: Any, size: int, count: int, actions: int, stride: int
) -> tuple[Any, Any]:
    width, norm = count * actions, float(count)

    @njit(**OPTIONS)
    def locate(active: Any, grid: Any, data: Any, state: Any, slot: Any) -> Any:
        if not finite(state):
            return NO_STATE
        row = slot * width
        out = active[row : row + count]
        fill(data, state, out)
        for k in range(count - 1, -1, -1):
            index = out[k]
            if index < 0 or index >= size:
                return LOST
            for other in range(k):
                if out[other] == index:
                    return LOST
        for k in range(count):
            index = out[k] * actions
            for a in range(actions - 1, -1, -1):
                active[row + a * count + k] = stride * (index + a)
        return row

    @njit(forceinline=True, **OPTIONS)
    def dot(active: Any, row: Any, a: Any, b: Any) -> Any:
        return norm if a == b else 0.0

    return locate, dot


@dataclass(frozen=True)
class CarTable:
    """The tile coding of the paper's mountain car, with hashing and collisions: `gqlib.control.tile_tables`.

    It is for states (position, velocity) in the car's box and for its three actions.

    Parameters
    ----------
    p, tilings, memory, tiles_of
        As of a `ControlSetting`.

    Examples
    --------
    >>> CarTable(512).active
    8
    """

    p: int = 1024
    tilings: int = 8
    memory: Memory = "int"
    tiles_of: int = -1

    def __post_init__(self) -> None:
        check.choice("memory", self.memory, MEMORIES)
        tiles_of = check.integer("tiles_of", self.tiles_of, low=-1, high=2**31 - 1)
        object.__setattr__(self, "tiles_of", tiles_of)
        object.__setattr__(self, "p", check.integer("p", self.p, low=1, high=LARGEST_MEMORY))
        tilings = check.integer("tilings", self.tilings, low=1, high=MOST_TILINGS)
        object.__setattr__(self, "tilings", tilings)

    def _table(self, seed: int = 0, run: int = 0) -> TileTable:
        """The table of a run."""
        run = run if self.tiles_of < 0 else self.tiles_of
        return tile_table(self.p, self.tilings, self.memory, seed=seed, run=run)

    @property
    def active(self) -> int:
        """Number of active features."""
        return self.tilings

    def _rows(self, actions: int) -> int:
        """Number of weights."""
        return self.p

    def _used(self, seed: int, run: int) -> Any:
        """The indices that occur in a run, in the order in which their weights are kept."""
        return self._table(seed, run).used

    def _codes(self, actions: int, stride: int, seed: int = 0, run: int = 0) -> Codes:
        """The table of a run, and the edges of its cells."""
        table = self._table(seed, run)
        return Codes((table.rows if stride == 1 else table.offsets).ravel(), table.grid)

    def _functions(self, actions: int, observe: Any, stride: int) -> tuple[Any, Any]:
        """`locate` and `dot`, compiled."""
        box = tile_table(1, self.tilings)  # whose cells are those of every memory
        return _car_functions(
            self.tilings, box.rows.shape[1], len(box.edges_x), len(box.edges_v), observe
        )


@lru_cache(maxsize=8)
def _car_functions(
    tilings: int, width: int, edges_x: int, edges_v: int, observe: Any
) -> tuple[Any, Any]:
    first_v, cells = 4 + edges_x, edges_v - 1

    @njit(forceinline=True, **OPTIONS)
    def locate(active: Any, grid: Any, data: Any, state: Any, slot: Any) -> Any:
        x, v = observe(data, state)
        # The table ends with the box, which an environment of one's own may leave; what is no number is not in it.
        # `likely`, since a choice of the row by comparison would have to be waited for (5 ns).
        if not likely(
            x >= POSITION_MIN and x <= POSITION_MAX and v >= -VELOCITY_MAX and v <= VELOCITY_MAX
        ):
            return LOST if finite((x, v)) else NO_STATE
        i, j = natural(np.int64(x * grid[0] + grid[1])), natural(np.int64(v * grid[2] + grid[3]))
        if x < grid[4 + i]:
            i -= 1
        elif x >= grid[5 + i]:
            i += 1
        if v < grid[first_v + j]:
            j -= 1
        elif v >= grid[first_v + j + 1]:
            j += 1
        return natural((i * cells + j) * width)

    @njit(forceinline=True, **OPTIONS)
    def dot(active: Any, row: Any, a: Any, b: Any) -> Any:
        # The squares of the three actions, then the products (0, 1), (0, 2), (1, 2).
        return np.float64(active[natural(row + 3 * tilings + (a if a == b else 2 + a + b))])

    return locate, dot
