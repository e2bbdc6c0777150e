"""Checks of arguments: every refusal names the argument, what it was and what it should be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

# How far a row of probabilities may be from summing to one: rounding of inputs typed in decimal.
PROBABILITY_TOLERANCE = 1e-9


def brief(value: Any) -> str:
    """A short picture of a value for an error message."""
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def scalar(
    name: str,
    value: Any,
    *,
    low: float = -np.inf,
    high: float = np.inf,
    open_low: bool = False,
    open_high: bool = False,
) -> float:
    """A finite real number between `low` and `high`."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} is {brief(value)}; it should be a real number") from None
    below = number <= low if open_low else number < low
    above = number >= high if open_high else number > high
    if not np.isfinite(number) or below or above:
        left, right = "(["[not open_low], ")]"[not open_high]
        span = "finite" if low == -np.inf and high == np.inf else f"in {left}{low:g}, {high:g}{right}"
        raise ValueError(f"{name} is {brief(value)}; it should be {span}")
    return number


def integer(name: str, value: Any, *, low: int | None = None, high: int | None = None) -> int:
    """A whole number between `low` and `high`, both included."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer):
        raise ValueError(f"{name} is {brief(value)}; it should be a whole number")
    number = int(value)
    if (low is not None and number < low) or (high is not None and number > high):
        span = f"at least {low}" if high is None else f"from {low} to {high}"
        raise ValueError(f"{name} is {number}; it should be {span}")
    return number


def choice(name: str, value: Any, options: Sequence[str]) -> str:
    """One of a few names."""
    if value not in options:
        known = ", ".join(repr(option) for option in options)
        raise ValueError(f"{name} is {brief(value)}; it should be one of {known}")
    return str(value)


def generator(name: str, value: Any) -> np.random.Generator:
    """A numpy Generator, handed in by the caller."""
    if not isinstance(value, np.random.Generator):
        raise ValueError(f"{name} is {brief(value)}; it should be a numpy.random.Generator")
    return value


def array(name: str, value: ArrayLike, shape: tuple[int | None, ...]) -> Array:
    """A finite float64 array of the given shape; None stands for any size of at least one."""
    try:
        result = np.array(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} is {brief(value)}; it should be an array of real numbers") from None
    fits = result.ndim == len(shape) and all(
        size >= 1 if want is None else size == want for size, want in zip(result.shape, shape, strict=True)
    )
    if not fits:
        wanted = "(" + ", ".join("any" if want is None else str(want) for want in shape) + ")"
        raise ValueError(f"{name} has shape {result.shape}; it should have shape {wanted}")
    if not np.isfinite(result).all():
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(result))[0])
        raise ValueError(f"{name} is {result[where]} at {where}; every entry should be finite")
    return result


def distributions(
    name: str, value: ArrayLike, shape: tuple[int | None, ...], *, allow_less: bool = False
) -> Array:
    """Probabilities along the last axis, which sum to one (or to at most one)."""
    result = array(name, value, shape)
    if (result < 0).any():
        where = tuple(int(i) for i in np.argwhere(result < 0)[0])
        raise ValueError(f"{name} is {result[where]:g} at {where}; probabilities should not be negative")
    totals = np.asarray(result.sum(axis=-1))
    excess = totals - 1.0
    wrong = excess > PROBABILITY_TOLERANCE if allow_less else np.abs(excess) > PROBABILITY_TOLERANCE
    if wrong.any():
        where = tuple(int(i) for i in np.argwhere(wrong)[0])
        should = "at most 1" if allow_less else "1"
        place = f" at {where}" if where else ""
        raise ValueError(f"{name} sums to {totals[where]:.10g}{place}; it should sum to {should}")
    return result


def frozen(value: Array) -> Array:
    """The same array, made read-only, so that an object that holds it stays what it was."""
    value.setflags(write=False)
    return value
