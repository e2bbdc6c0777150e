r"""The kernels' random numbers for Python: uniform and normal numbers that are the same on every machine.

A stream is the state of a xoshiro256++ generator, four words from `gqlib.seeds.words`, which every function advances
in place by one word for each number. `gqlib.fast._rng` explains how the numbers are made.

>>> from gqlib import seeds
>>> state = seeds.words(7, 0, seeds.START)
>>> 0.0 <= uniform(state) < 1.0
True
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gqlib import _validate as check
from gqlib._validate import Array
from gqlib.fast import _rng

__all__ = [
    "fill_normal",
    "integers",
    "next_u64",
    "normal",
    "normal_quantile",
    "uniform",
]

_SMALLEST = 2.0**-63  # the logarithm of the tails is exact above it
_MOST = 2**53  # the most integers that a uniform double can tell apart


def checked_stream(name: str, value: Any) -> NDArray[np.uint64]:
    """The state of a generator, checked: four words that are not all zero, in an array that can be changed.

    Parameters
    ----------
    name : str
        What a refusal calls the argument.
    value : ndarray of uint64, (4,)

    Examples
    --------
    >>> checked_stream("state", np.zeros(4, dtype=np.uint64))
    Traceback (most recent call last):
    ...
    ValueError: state is array([0, 0, 0, 0], dtype=uint64); it should be four writeable words of uint64, not all zero
    """
    fits = type(value) is np.ndarray and value.dtype == np.uint64 and value.shape == (4,)
    if not fits or not value.flags.writeable or not value.any():
        raise ValueError(
            f"{name} is {check.brief(value)}; it should be four writeable words of uint64, not all zero"
        )
    words: NDArray[np.uint64] = value
    return words


def next_u64(state: NDArray[np.uint64]) -> int:
    """Next 64-bit word of xoshiro256++.

    Examples
    --------
    >>> next_u64(np.array([1, 2, 3, 4], dtype=np.uint64))
    41943041
    """
    return int(_rng.next_u64(checked_stream("state", state)))


def uniform(state: NDArray[np.uint64]) -> float:
    """Next uniform double in [0, 1): a multiple of 2**-53.

    Examples
    --------
    >>> state = np.array([1, 2, 3, 4], dtype=np.uint64)
    >>> uniform(state) == (41943041 >> 11) * 2.0**-53
    True
    """
    return float(_rng.uniform(checked_stream("state", state)))


def integers(state: NDArray[np.uint64], n: int) -> int:
    """Next integer in 0..n-1, from one uniform double (its bias is below n * 2**-53).

    Examples
    --------
    >>> from gqlib import seeds
    >>> state = seeds.words(7, 0, seeds.START)
    >>> {integers(state, 3) for _ in range(50)}
    {0, 1, 2}
    """
    return int(
        _rng.integers(checked_stream("state", state), check.integer("n", n, low=1, high=_MOST))
    )


def normal_quantile(u: float) -> float:
    """Quantile of the standard normal law for 2**-63 < u < 1 (Wichura 1988, AS 241).

    Examples
    --------
    >>> round(normal_quantile(0.975), 4)
    1.96
    """
    number = check.scalar("u", u, low=_SMALLEST, high=1.0, open_low=True, open_high=True)
    return float(_rng.normal_quantile(number))


def normal(state: NDArray[np.uint64]) -> float:
    """Next standard normal double, from one word.

    Examples
    --------
    >>> from gqlib import seeds
    >>> one, same = seeds.words(7, 0, seeds.SIGMA), seeds.words(7, 0, seeds.SIGMA)
    >>> abs(normal(one) - normal_quantile(uniform(same))) < 1e-12
    True
    """
    return float(_rng.normal(checked_stream("state", state)))


def fill_normal(state: NDArray[np.uint64], out: Array) -> None:
    """The next ``out.size`` normal doubles, the same as from :func:`normal`, faster in blocks.

    Examples
    --------
    >>> from gqlib import seeds
    >>> block, single = np.empty(3), seeds.words(7, 0, seeds.SIGMA)
    >>> fill_normal(seeds.words(7, 0, seeds.SIGMA), block)
    >>> block.tolist() == [normal(single) for _ in range(3)]
    True
    """
    words = checked_stream("state", state)
    if (
        type(out) is not np.ndarray
        or out.dtype != np.float64
        or out.ndim != 1
        or not out.flags.writeable
    ):
        raise ValueError(
            f"out is {check.brief(out)}; it should be an array of float64 with one axis, not read-only"
        )
    _rng.fill_normal(words, out)
