"""Whether a state consists of finite numbers: asked at every step, so answered by the compiler as far as types go.

A whole number is finite, and costs nothing to ask; a float x is where x − x is 0; a tuple or an array is where its
entries are. What is none of these is not looked into.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from gqlib.fast._jit import COMPILED


def finite(state: Any) -> bool:
    """Whether there is no infinity and no NaN in a number, an array or a tuple of such.

    Examples
    --------
    >>> finite((3, 0.5)), finite((3, float("nan"))), finite(np.array([0.0, np.inf])), finite("anything else")
    (True, False, False, True)
    """
    if isinstance(state, tuple):
        return all(finite(part) for part in state)
    try:
        return bool(np.isfinite(state).all())
    except (TypeError, ValueError):  # not numbers, or rows of different lengths
        return True


def _for_the_compiler() -> None:
    types = import_module("numba.core.types")

    @import_module("numba.extending").overload(finite, jit_options={"forceinline": True})
    def finite_compiled(state):  # type: ignore[no-untyped-def]  # annotated, it would differ from what it returns
        if isinstance(state, types.Float):
            return lambda state: state - state == 0.0
        if isinstance(state, types.BaseTuple) and len(state):
            if len(state) == 1:
                return lambda state: finite(state[0])
            return lambda state: finite(state[0]) and finite(state[1:])
        if isinstance(state, types.Array) and isinstance(state.dtype, types.Float):
            return lambda state: np.isfinite(state).all()
        return lambda state: True


if COMPILED:
    _for_the_compiler()
