"""Rules that the reference and its compiled twin both obey, so that they take the same steps."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["DIVERGED_ABOVE", "LARGEST_WEIGHT", "TIE", "tied"]

# Greedy is the first action within `TIE` of the largest value: a lazy engine leaves rounding noise where the exact
# value is zero, and ties decide actions.
TIE = 1e-10
# In control, a TD error beyond this, or one that is NaN, counts as divergence, however the run would continue.
DIVERGED_ABOVE = 1e100
# In prediction, a weight beyond this has diverged: the run stops there and is counted.
LARGEST_WEIGHT = 1e10


def tied(values: ArrayLike) -> NDArray[np.intp]:
    """The actions whose values are within `TIE` of the largest, in order; the first is the greedy one.

    Examples
    --------
    >>> tied([1.0, 2.0, 2.0 + 1e-11]).tolist()
    [1, 2]
    """
    numbers = np.asarray(values)
    return np.flatnonzero(numbers >= numbers.max() - TIE)
