"""Arrays that begin at a cache line.

NumPy begins an array wherever memory is free, at a multiple of 16 bytes. A row of four weights is 32 bytes long, and a
row of the car's table 64; in such an array every second row of weights, or every row of the table, would lie in two
lines of 64 bytes, and it would be up to chance whether a step of the learner costs a tenth more.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

LINE = 64  # bytes, of nearly every processor


def zeros_in_lines(shape: tuple[int, ...], dtype: DTypeLike = np.float64) -> NDArray[Any]:
    """Zeros, the first of which begins a cache line.

    Examples
    --------
    >>> weights = zeros_in_lines((3, 4))
    >>> weights.shape, bool(weights.any()), weights.ctypes.data % LINE, weights.flags.c_contiguous
    ((3, 4), False, 0, True)
    """
    kind = np.dtype(dtype)
    size = prod(shape) * kind.itemsize
    room = np.zeros(size + LINE, dtype=np.uint8)
    first = -room.ctypes.data % LINE
    return room[first : first + size].view(kind).reshape(shape)
