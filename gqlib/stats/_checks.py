"""Checks that every statistic shares, on top of those of the library."""

import numpy as np
from numpy.typing import ArrayLike

from gqlib._validate import Array, array, integer, scalar


def sample_of_runs(name: str, value: ArrayLike, *, axis: int = 0, at_least: int = 2) -> Array:
    """Finite scores of any shape, with the runs moved from `axis` to the first axis."""
    result = array(name, value, (None,) * max(1, np.ndim(value)))
    integer("axis", axis, low=-result.ndim, high=result.ndim - 1)
    result = np.moveaxis(result, axis, 0)
    if result.shape[0] < at_least:
        raise ValueError(f"{name} holds {result.shape[0]} runs; it should hold at least {at_least}")
    return result


def fraction(name: str, value: float) -> float:
    """A number strictly between 0 and 1: a level of confidence, a share of a population."""
    return scalar(name, value, low=0, high=1, open_low=True, open_high=True)
