"""Argument checks: every refusal names the argument, what it was and what it should be."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Chosen = TypeVar("Chosen", bound=str)

# How far the sum of a row of probabilities may be from one: room for inputs typed as rounded decimals.
PROBABILITY_TOLERANCE = 1e-9
# The largest size of a number, unless a caller has reason to allow larger ones: a product of six is still finite.
LARGEST = 1e50
# The most numbers that the arrays asked for may hold, 16 GiB of float64: a larger size is a slip.
ROOM = 2**31

# What a learner's step accepts. Any finite sigma, since the paper's dynamic sigma can leave [0, 1].
RANGES = {
    "sigma": (-np.inf, np.inf),
    "reward": (-np.inf, np.inf),
    "lam": (0.0, 1.0),
    "gamma": (0.0, 1.0),
    "probability": (0.0, 1.0),
    "alpha": (0.0, np.inf),
    "beta": (0.0, np.inf),
    "rho": (0.0, np.inf),
    "rho_next": (0.0, np.inf),
    "trace_weight": (0.0, np.inf),
    "coefficient": (0.0, np.inf),
}


def brief(value: Any) -> str:
    """A short rendering of a value for an error message."""
    try:
        text = " ".join(repr(value).split())
    except Exception:  # a whole number of very many digits, or an object that cannot say what it is
        text = f"{'a very long number' if isinstance(value, int) else object.__repr__(value)}"
    return text if len(text) <= 80 else text[:77] + "..."


def scalar(
    name: str,
    value: Any,
    *,
    low: float = -np.inf,
    high: float = np.inf,
    open_low: bool = False,
    open_high: bool = False,
    largest: float = LARGEST,
) -> float:
    """A finite real number between `low` and `high`, of size at most `largest`."""
    try:
        if not _is_real(value) or getattr(value, "ndim", 0) > 0:
            raise TypeError
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} is {brief(value)}; it should be a real number") from None
    below = number <= low if open_low else number < low
    above = number >= high if open_high else number > high
    if not np.isfinite(number) or below or above:
        left, right = "[("[open_low or low == -np.inf], "])"[open_high or high == np.inf]
        span = (
            "finite" if low == -np.inf and high == np.inf else f"in {left}{low:g}, {high:g}{right}"
        )
        raise ValueError(f"{name} is {brief(value)}; it should be {span}")
    if abs(number) > largest:
        raise ValueError(f"{name} is {brief(value)}; it should be at most {largest:g} in size")
    return number


def _is_real(value: Any) -> bool:
    """Whether a value can hold real numbers: not text, a complex number or a date, even if numpy would cast it."""
    kind = getattr(getattr(value, "dtype", None), "kind", "f")
    return kind in "biufO" and not isinstance(value, str | bytes | Decimal)


def _holds_other(given: NDArray[Any]) -> bool:
    """Whether an array of objects has some that NumPy would make numbers of, None and text, though they are none."""
    return given.dtype == object and any(
        entry is None or isinstance(entry, str | bytes) for entry in given.flat
    )


def numbers(**values: Any) -> list[float]:
    """The numbers that a learner's step takes, by name, each within its own entry of `RANGES`."""
    return [
        scalar(name, value, low=RANGES[name][0], high=RANGES[name][1], largest=np.inf)
        for name, value in values.items()
    ]


def fraction(name: str, value: float) -> float:
    """A number strictly between 0 and 1: a level of confidence, a share of a population."""
    return scalar(name, value, low=0.0, high=1.0, open_low=True, open_high=True)


def integer(name: str, value: Any, *, low: int | None = None, high: int | None = None) -> int:
    """A whole number between `low` and `high`, both included."""
    if isinstance(value, bool | np.bool_ | np.timedelta64) or not isinstance(
        value, int | np.integer
    ):
        raise ValueError(f"{name} is {brief(value)}; it should be a whole number")
    number = int(value)
    if (low is not None and number < low) or (high is not None and number > high):
        least, most = brief(low), brief(high)  # which may be very long numbers, too
        span = (
            f"at least {least}"
            if high is None
            else f"at most {most}"
            if low is None
            else f"from {least} to {most}"
        )
        raise ValueError(f"{name} is {brief(number)}; it should be {span}")
    return number


def room(name: str, value: Any, numbers: int) -> None:
    """Refuse a size that asks for arrays of more than `ROOM` numbers."""
    if numbers > ROOM:
        raise ValueError(
            f"{name} is {brief(value)}; it should be smaller, so that arrays hold at most {ROOM} numbers"
        )


def flag(name: str, value: Any) -> bool:
    """True or False, and nothing that merely counts as such."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} is {brief(value)}; it should be True or False")
    return bool(value)


def instance(name: str, value: Any, *kinds: type, where: str = "") -> None:
    """An object of one of a few classes; `where` is the module that has them, if a refusal should say so."""
    if not isinstance(value, kinds):
        wanted = " or ".join(kind.__name__ for kind in kinds)
        place = f" of {where}" if where else ""
        article = "an" if wanted[0] in "AEIOU" else "a"
        raise ValueError(f"{name} is {brief(value)}; it should be {article} {wanted}{place}")


def function(name: str, value: Any) -> Callable[..., Any]:
    """Something that can be called."""
    if not callable(value):
        raise ValueError(f"{name} is {brief(value)}; it should be a function")
    result: Callable[..., Any] = value
    return result


def takes(name: str, value: Any, *arguments: str) -> Callable[..., Any]:
    """A function, compiled or not, that can be called with these arguments, one after the other."""
    called = function(name, value)
    try:
        signature = inspect.signature(getattr(called, "py_func", called))
    except ValueError:  # one that cannot say what it takes
        return called
    try:
        signature.bind(*arguments)
    except TypeError:
        raise ValueError(
            f"{name} takes {signature}; it should take ({', '.join(arguments)})"
        ) from None
    return called


def path(name: str, value: Any) -> Path:
    """The name of a file or directory."""
    if not isinstance(value, str | os.PathLike) or "\0" in str(value):
        raise ValueError(f"{name} is {brief(value)}; it should be a path")
    return Path(value)


def members(name: str, value: Any, *needed: str) -> Mapping[str, Any]:
    """A mapping that has the entries `needed`."""
    if not isinstance(value, Mapping) or not all(key in value for key in needed):
        raise ValueError(
            f"{name} is {brief(value)}; it should be a mapping with {', '.join(needed) or 'names'}"
        )
    return value


def runs(name: str, value: Any, **axes: int) -> None:
    """Arrays by name, each with this many axes, the first of which counts the runs."""
    found = members(name, value, *axes)
    for entry, wanted in axes.items():
        rows = found[entry]
        if (
            not isinstance(rows, np.ndarray)
            or rows.dtype.kind not in "biuf"
            or rows.ndim != wanted
            or not rows.size
        ):
            raise ValueError(
                f"{name} has {entry} {brief(rows)}; it should be numbers with {wanted} axes, runs first"
            )
    if len({len(found[entry]) for entry in axes}) > 1:
        raise ValueError(
            f"{name} differ in the number of runs; {', '.join(axes)} should have one row for each"
        )


def labelled(name: str, value: Any, *needed: str) -> None:
    """A labelled result (an xarray.Dataset) that has the variables and coordinates `needed`."""
    if not hasattr(value, "data_vars") or not all(key in value.variables for key in needed):
        wanted = f" with {', '.join(needed)}" if needed else ""
        raise ValueError(f"{name} is {brief(value)}; it should be an xarray.Dataset{wanted}")


def choice(name: str, value: Any, options: Sequence[Chosen], *, others: str = "") -> Chosen:
    """One of a few names; `others` says, in a refusal, what else would have done."""
    if not isinstance(value, str) or value not in options:
        known = ", ".join(repr(option) for option in options)
        raise ValueError(
            f"{name} is {brief(value)}; it should be one of {known}{others and f', or {others}'}"
        )
    return options[options.index(value)]  # and not an equal text of another class


def generator(name: str, value: Any) -> np.random.Generator:
    """A numpy Generator, handed in by the caller."""
    if not isinstance(value, np.random.Generator):
        raise ValueError(f"{name} is {brief(value)}; it should be a numpy.random.Generator")
    return value


def reals(name: str, value: ArrayLike) -> Array:
    """A new float64 array of any shape, in C order, with any numbers, including NaN and infinities."""
    try:
        given = np.asarray(value)
        if not _is_real(given) or np.ma.is_masked(value) or _holds_other(given):
            raise TypeError
        return np.array(
            given, dtype=np.float64, order="C"
        )  # so that rounding does not depend on the caller's layout
    except (TypeError, ValueError, OverflowError):
        raise ValueError(
            f"{name} is {brief(value)}; it should be an array of real numbers"
        ) from None


def array(
    name: str, value: ArrayLike, shape: tuple[int | None, ...], *, largest: float = LARGEST
) -> Array:
    """A float64 array of the given shape, finite and at most `largest` in size; None stands for any length from 1."""
    result = reals(name, value)
    fits = result.ndim == len(shape) and all(
        size >= 1 if want is None else size == want
        for size, want in zip(result.shape, shape, strict=True)
    )
    if not fits:
        lengths = ["any" if want is None else str(want) for want in shape]
        wanted = (
            f"({lengths[0]},)" if len(lengths) == 1 else f"({', '.join(lengths)})"
        )  # as Python writes a tuple
        raise ValueError(f"{name} has shape {result.shape}; it should have shape {wanted}")
    if not np.isfinite(result).all():
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(result))[0])
        raise ValueError(f"{name} is {result[where]} at {where}; every entry should be finite")
    if np.abs(result).max(initial=0.0) > largest:
        raise ValueError(
            f"{name} reaches {np.abs(result).max():g} in size; every entry should be at most {largest:g}"
        )
    return result


class Diverged(ValueError):
    """A step of a learner left the range of floating-point numbers."""


def finite(**results: Any) -> None:
    """Refuse a step whose results, given by name, leave the range of floating-point numbers."""
    for name, value in results.items():
        if not np.isfinite(value).all():
            raise Diverged(
                f"{name} overflows in this step; weights, features and rates should be smaller"
            )


def dimensions(value: Any) -> int:
    """How many axes an argument has; 0 where it is not an array at all."""
    try:
        return np.ndim(value)
    except ValueError:  # rows of different lengths
        return 0


def vectors(**values: ArrayLike) -> list[Array]:
    """Finite vectors by name, all as long as the first."""
    first, *others = values
    result = [array(first, values[first], (None,), largest=np.inf)]
    return result + [array(name, values[name], result[0].shape, largest=np.inf) for name in others]


def distributions(
    name: str, value: ArrayLike, shape: tuple[int | None, ...], *, allow_less: bool = False
) -> Array:
    """Probabilities along the last axis, which sum to one (or to at most one)."""
    result = array(name, value, shape)
    if (result < 0).any():
        where = tuple(int(i) for i in np.argwhere(result < 0)[0])
        raise ValueError(
            f"{name} is {result[where]:g} at {where}; probabilities should not be negative"
        )
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


@contextmanager
def package(name: str, extra: str) -> Iterator[None]:
    """Around an import: a missing package is told together with the extra of gqlib that brings it."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != name:
            raise
        raise ModuleNotFoundError(
            f"this needs the package {name}: install gqlib[{extra}]", name=name
        ) from error
