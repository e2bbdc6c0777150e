"""Checks that all the statistics share, on top of those of the library."""

import numpy as np
from numpy.typing import ArrayLike

from gqlib._validate import Array, array, dimensions, integer

# Scores whose squares can still be summed.
LARGEST_SCORE = 1e100


def sample_of_runs(name: str, value: ArrayLike, *, axis: int = 0, at_least: int = 2) -> Array:
    """Finite scores of any shape, with the runs moved from `axis` to the first axis."""
    result = array(name, value, (None,) * max(1, dimensions(value)), largest=LARGEST_SCORE)
    result = np.moveaxis(result, integer("axis", axis, low=-result.ndim, high=result.ndim - 1), 0)
    if result.shape[0] < at_least:
        raise ValueError(f"{name} holds {result.shape[0]} runs; it should hold at least {at_least}")
    return result
