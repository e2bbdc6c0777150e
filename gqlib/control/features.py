r"""Features for control: which few of many binary features are active for each action in a state.

A coder maps a state to indices (A, K), one row of K active features for each of A actions, out of `size` features.
`gqlib.control.agent.Agent` works on the indices alone, at a cost of O(K·A) per step; as a function, a coder returns
the same features as a dense array φ(s, ·), (A, size), which is what equations are about.

``TileCoder``   for points in a box, by the tiles of `gqlib.tiles3`
``TableCoder``  for states that can be numbered: one feature for each pair of state and action
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gqlib import _validate as check
from gqlib._validate import Array
from gqlib.fast import _tiles

__all__ = ["TableCoder", "TileCoder"]

Rows = NDArray[np.int64]
_FIRST_ROOM = 1024  # tiles that a table has room for at first; it doubles
_WHOLE = 2**53  # beyond it, float64 does not hold every whole number


class Coder:
    """What coders share; `_key` and `_found` are their own."""

    actions: int
    size: int

    def __setattr__(self, name: str, value: Any) -> None:
        """What says how many features there are is said once: compiled code goes by it, in arrays of that size."""
        if not name.startswith("_") and name in vars(self):
            raise AttributeError(
                f"{name} of a {type(self).__name__} cannot change; make another one"
            )
        super().__setattr__(name, value)

    def __copy__(self) -> Self:
        """A coder with memory of its own: two that share one would number different tiles alike."""
        return copy.deepcopy(self)

    def _key(self, state: Any) -> tuple[Any, Any]:
        """A state, checked: something equal for equal states, and what `_found` takes."""
        raise NotImplementedError

    def _found(self, point: Any, *, peek: bool) -> Rows:
        """Indices of the active features, (A, K); where they `peek`, −1 for one that was never met."""
        raise NotImplementedError

    def active(self, state: Any) -> Rows:
        """Indices of the active features, (A, K)."""
        return self._found(self._key(state)[1], peek=False)

    def __call__(self, state: Any) -> Array:
        """φ(s, a) for every action, (A, d); an index that occurs twice counts twice."""
        return self._dense(self.active(state))

    def peek(self, state: Any) -> Array:
        """φ(s, ·), taking no memory for features that were not met before: they are zero, like their weights.

        Evaluation looks; only learning numbers tiles.
        """
        return self._dense(self._found(self._key(state)[1], peek=True))

    def _dense(self, rows: Rows) -> Array:
        phi = np.zeros((self.actions, self.size))
        where, _ = np.nonzero(rows >= 0)
        np.add.at(phi, (where, rows[rows >= 0]), 1.0)
        return phi


class TileCoder(Coder):
    """Binary features of a point in a box, for each of a few actions, by `gqlib.tiles3`.

    Parameters
    ----------
    low, high : array_like, (n,)
        Corners of the box, finite; points outside are moved to its edge.
    actions : int
        Number of actions; they share no tile.
    tiles_per_side : int or array_like of int, (n,)
        How many tiles span the box along each dimension.
    tilings : int
        Number of tilings, and so of active features; a power of two that is at least 4n is advised.
    size : int
        Number of features d. Tiles are numbered as they are met; beyond `size` of them, they share (`overfull`), which
        is warned of once.

    Examples
    --------
    >>> coder = TileCoder([0.0], [1.0], 2, tiles_per_side=4, tilings=2, size=16)
    >>> coder
    TileCoder(1 dimension, 2 actions, 2 tilings of 4 tiles, 0 of 16 features in use)
    >>> coder([0.3]).sum(axis=1).tolist(), coder.size, coder.overfull
    ([2.0, 2.0], 16, 0)
    >>> coder.active([0.3]).shape, coder.used  # two actions, two tilings
    ((2, 2), 4)
    >>> coder.tiles_met.tolist()  # tiling, coordinate, action
    [[0, 1, 0], [1, 1, 0], [0, 1, 1], [1, 1, 1]]
    >>> coder.peek([0.3]).sum(axis=1).tolist(), coder.peek([0.9]).sum(axis=1).tolist()  # the second was never met
    ([2.0, 2.0], [0.0, 0.0])
    """

    def __init__(
        self,
        low: ArrayLike,
        high: ArrayLike,
        actions: int,
        *,
        tiles_per_side: ArrayLike = 8,
        tilings: int = 8,
        size: int = 4096,
    ) -> None:
        self.low = check.frozen(check.array("low", low, (None,)))
        self.high = check.frozen(check.array("high", high, self.low.shape))
        if not (self.low < self.high).all():
            raise ValueError(
                f"high is {check.brief(high)}; every entry should be above that of low"
            )
        given = check.reals("tiles_per_side", tiles_per_side)
        shape = self.low.shape
        sides = check.array(
            "tiles_per_side", np.broadcast_to(given, shape) if given.ndim == 0 else given, shape
        )
        if (sides < 1).any() or (sides != np.round(sides)).any():
            raise ValueError(
                f"tiles_per_side is {check.brief(tiles_per_side)}; it should be whole and at least 1"
            )
        if not ((self.high - self.low) * check.LARGEST > 1.0).all():
            raise ValueError(
                f"high is {check.brief(high)}; it should be above low by more than 1e-50"
            )
        self.tiles_per_side = check.frozen(sides)
        self.actions = check.integer("actions", actions, low=1)
        self.tilings = check.integer("tilings", tilings, low=1)
        self.size = check.integer("size", size, low=1)
        check.room("size", self.size, self.size)
        check.room("actions", self.actions, self.actions * self.size)
        check.room("tilings", self.tilings, self.actions * self.tilings)
        if not (sides * self.tilings < _WHOLE).all():
            raise ValueError(
                f"tiles_per_side is {check.brief(tiles_per_side)}; it should be below 2**53 / tilings"
            )
        self._box = np.stack([self.low, self.high, sides / (self.high - self.low)])
        self._row = np.zeros(len(self.low) + 2, dtype=np.int64)
        self._counts = np.zeros(
            2, dtype=np.int64
        )  # tiles numbered, look-ups that a full table answered
        self._warned = False
        self._make_room(_FIRST_ROOM, np.zeros((0, len(self._row)), dtype=np.int64))

    def _make_room(self, room: int, known: NDArray[np.int64]) -> None:
        """A table for `room` tiles, of which the first are known."""
        self._keys = np.zeros((room, len(self._row)), dtype=np.int64)
        self._keys[: len(known)] = known
        self._slots = np.zeros(
            2 ** (2 * room - 1).bit_length(), dtype=np.int64
        )  # at most half full
        _tiles.put_all(self._slots, self._keys, len(known))

    @property
    def used(self) -> int:
        """How many features have a tile."""
        return int(self._counts[0])

    @property
    def overfull(self) -> int:
        """How many look-ups of a tile were answered by a feature in use, because the memory was full."""
        return int(self._counts[1])

    @property
    def tiles_met(self) -> NDArray[np.int64]:
        """The tile of each feature in use, (used, n + 2): tiling, coordinates, action."""
        return self._keys[: self.used].copy()

    def _meet(self, tiles: ArrayLike, *, overfull: int = 0) -> None:
        """Number these tiles first, as `tiles_met` gives them; only a coder that has met none can."""
        whole = (
            check.array("tiles", tiles, (None, len(self._row)))
            if np.size(tiles)
            else np.zeros((0, len(self._row)))
        )
        known = whole.astype(np.int64)
        counted = (
            self.used == 0
            and len(known) <= self.size
            and len(np.unique(known, axis=0)) == len(known)
        )
        if not counted or (known != whole).any() or (known < 0).any() or (known > _WHOLE).any():
            raise ValueError(
                f"tiles is {check.brief(tiles)}; it should be the tiles_met of a coder like this one"
            )
        self._make_room(max(_FIRST_ROOM, 2 * len(known)), known)
        self._counts[:] = len(known), check.integer("overfull", overfull, low=0, high=_WHOLE)
        self._warned = overfull > 0

    def _key(self, state: ArrayLike) -> tuple[bytes, Array]:
        """The point as bytes, and as an array."""
        if (
            type(state) is np.ndarray
            and state.dtype.kind in "fiu"
            and state.shape == self.low.shape
        ):
            point = state.astype(np.float64)  # what `_found` is going to check
        else:
            point = check.array("state", state, self.low.shape)
        return point.tobytes(), point

    def _found(self, point: Array, *, peek: bool) -> Rows:
        """Indices of the active features, (A, tilings); where they `peek`, −1 for a tile that was never met."""
        rows = np.empty((self.actions, self.tilings), dtype=np.int64)
        if self._counts[0] + rows.size > len(self._keys):
            self._make_room(2 * (len(self._keys) + rows.size), self.tiles_met)
        inside = _tiles.find_tiles(
            point,
            self._box,
            self.tilings,
            self.size,
            self._slots,
            self._keys,
            self._counts,
            self._row,
            rows,
            peek,
        )
        if not inside:
            check.array("state", point, self.low.shape)
        if self._counts[1] and not self._warned:
            self._warned = True
            warnings.warn(
                f"size is {self.size}, and more tiles than that were met; from now on they share features",
                stacklevel=4,
            )
        return rows

    def __repr__(self) -> str:
        dims = len(self.low)
        sides = "×".join(f"{int(side)}" for side in self.tiles_per_side)
        return (
            f"TileCoder({dims} dimension{'s' * (dims > 1)}, {self.actions} actions, {self.tilings} tilings of "
            f"{sides} tiles, {self.used} of {self.size} features in use)"
        )


class TableCoder(Coder):
    """One feature for each pair of state and action, where states can be numbered.

    Parameters
    ----------
    sizes : int or sequence of int
        How many states there are; or, where a state is a tuple of whole numbers, how many values each of them has.
    actions : int
    first : int or sequence of int
        The least state, or the least value of each of its numbers.

    Examples
    --------
    >>> coder = TableCoder((3, 2), 2)
    >>> coder.active((1, 0)).tolist(), coder.size
    ([[4], [5]], 12)
    >>> coder((0, 0))[:, :3].tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    >>> TableCoder(5, 2, first=1)
    TableCoder(5 states, 2 actions)
    """

    def __init__(
        self, sizes: int | Sequence[int], actions: int, *, first: int | Sequence[int] = 0
    ) -> None:
        self.sizes = _whole_numbers("sizes", sizes, low=1)
        self.actions = check.integer("actions", actions, low=1)
        firsts = _whole_numbers("first", first)
        self.first = firsts * len(self.sizes) if len(firsts) == 1 else firsts
        if len(self.first) != len(self.sizes):
            raise ValueError(
                f"first is {check.brief(first)}; it should have one entry, or one for each of sizes"
            )
        size = self.actions
        for (
            factor
        ) in self.sizes:  # a product of very many would take hours, and is refused long before
            check.room("sizes", sizes, (size := size * factor) * self.actions)
        self.size = size

    def _key(self, state: Any) -> tuple[int, int]:
        """The number of the state, twice."""
        numbers = state if isinstance(state, list | tuple) else np.ravel(state)
        if len(numbers) != len(self.sizes):
            raise ValueError(
                f"state is {check.brief(state)}; it should have {len(self.sizes)} whole numbers"
            )
        index = 0
        for number, size, first in zip(numbers, self.sizes, self.first, strict=True):
            whole = int(number) if isinstance(number, bool | np.bool_) else number
            index = (
                index * size
                + check.integer("state", whole, low=first, high=first + size - 1)
                - first
            )
        return index, index

    def _found(self, point: int, *, peek: bool) -> Rows:
        """Indices of the active features, (A, 1)."""
        return np.arange(point * self.actions, (point + 1) * self.actions, dtype=np.int64)[:, None]

    def __repr__(self) -> str:
        return f"TableCoder({'×'.join(map(str, self.sizes))} states, {self.actions} actions)"


def _whole_numbers(name: str, value: Any, low: int | None = None) -> tuple[int, ...]:
    many = isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.ndim == 1)
    entries = value if many else [value]
    if len(entries) == 0:
        raise ValueError(f"{name} is {check.brief(value)}; it should have an entry")
    return tuple(check.integer(name, entry, low=low) for entry in entries)
