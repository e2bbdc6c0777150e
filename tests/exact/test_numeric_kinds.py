"""Numbers of every kind: the same values give the same result, to the bit and to the type, or the same refusal.

Each public callable is called as `fuzz_calls` derives it, with its numbers as integers of 8 to 64 bits, signed or not,
as floating-point numbers narrower and wider than float64, as numpy scalars, and with its arrays in Fortran order, as
strided views, read-only, and as lists. Narrow and unsigned integers are where a missing conversion shows: sums and
products of the integers used here overflow 8 bits, and their differences are negative.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from fuzz_calls import UNSPOILT, call, keys, public

INTEGERS = (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64)
FLOATS = (np.float16, np.float32, np.float64, np.longdouble)
LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "Fortran order": lambda x: np.array(x, order="F"),
    "a strided view": lambda x: np.repeat(x, 2, axis=-1)[..., ::2],
    "read-only": lambda x: _fixed(x),
    "a list": lambda x: x.tolist(),
}
Outcome = tuple[str, Any]


def _fixed(x: np.ndarray) -> np.ndarray:
    (x := x.copy()).setflags(write=False)
    return x


def is_number(value: Any) -> bool:
    return (
        isinstance(value, int | float) and not isinstance(value, bool) and bool(np.isfinite(value))
    )


def is_numeric(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "iuf" and value.size > 0
    entries = value if isinstance(value, list | tuple) else [value]
    return any(map(is_number, entries)) and all(
        entry is None or is_number(entry) for entry in entries
    )


def convert(value: Any, kind: type) -> Any:
    """The same value in numbers of that kind; what that kind cannot hold stays as it is."""
    if isinstance(value, np.ndarray):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            narrow = value.astype(kind)
        return (
            narrow
            if (narrow == value).all() and (narrow >= 0).tolist() == (value >= 0).tolist()
            else value
        )
    if isinstance(value, list | tuple):
        return type(value)(convert(entry, kind) for entry in value)
    return convert(np.array(value), kind)[()] if is_number(value) else value


def is_whole(value: Any) -> bool:
    """Whether a value consists of integers, so that floating-point numbers may be refused in its place."""
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "iu"
    return all(
        v is None or isinstance(v, int)
        for v in (value if isinstance(value, list | tuple) else [value])
    )


def one_hot(x: np.ndarray) -> np.ndarray:
    return np.eye(x.shape[-1])[x.argmax(axis=-1)] if x.ndim else np.ones(())


def whole(name: str, value: Any) -> Iterator[Any]:
    """Whole numbers in place of a value, the more telling ones first."""
    if isinstance(value, int):  # 12·12 leaves 8 bits, and so does 120 + 12
        larger = {"first_run": (120,), "run": (120,), "seed": (120,), "workers": ()}
        yield from (*larger.get(name, (12,)), value) if value < 12 else (value,)
    elif isinstance(value, float):
        yield from (100.0, 1.0)
    elif isinstance(value, np.ndarray) and not is_whole(value):
        size = np.abs(value)
        yield from (np.rint(100.0 * size / (size.max() or 1.0)), np.rint(size))
        yield from (one_hot(value), np.rint(value))
    else:
        yield value


def outcome(key: str, changes: dict[str, Any]) -> Outcome:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            result = public()[key](**(call(key) | changes))
            return "taken", list(itertools.islice(result, 50)) if isinstance(
                result, Iterator
            ) else result
        except Exception as error:
            return f"refused, {type(error).__name__}", str(error).split()[0]


def difference(a: Any, b: Any, where: str = "") -> str:
    """Where two results differ in type or bits, and how; empty if they are the same."""
    if type(a) is not type(b):
        return f"{where}: {str(b)[:80]}, a {type(b).__name__}, instead of {str(a)[:80]}, a {type(a).__name__}"
    parts = None
    if isinstance(a, np.ndarray):
        parts = [(a.dtype, b.dtype), (a.shape, b.shape)]
        if not np.array_equal(a, b, equal_nan=a.dtype.kind in "fc"):
            parts += [(a.tolist(), b.tolist())]
    elif isinstance(a, list | tuple):
        parts = [(len(a), len(b)), *zip(a, b, strict=False)]
    elif isinstance(a, dict):
        parts = [(list(a), list(b)), *zip(a.values(), b.values(), strict=False)]
    elif isinstance(a, np.random.SeedSequence):
        parts = [(a.state, b.state)]
    elif isinstance(a, np.random.Generator):
        parts = [(a.bit_generator.state, b.bit_generator.state)]
    elif isinstance(a, functools.partial):
        parts = [(a.func, b.func), (a.args, b.args), (a.keywords, b.keywords)]
    elif type(a).__module__.startswith("gqlib") and hasattr(a, "__dict__"):
        where, parts = f"{where} {type(a).__name__}", [(vars(a), vars(b))]
    if parts is not None:
        return next(
            filter(None, itertools.starmap(functools.partial(difference, where=where), parts)), ""
        )
    equal = (
        a.identical(b)
        if hasattr(a, "data_vars")
        else inspect.isroutine(a) or a == b or (a != a and b != b)
    )
    return "" if equal else f"{where}: {str(b)[:80]} instead of {str(a)[:80]}"


def variants(key: str) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """What is varied, the arguments in plain numbers, and the same values otherwise."""
    good = {
        name: value for name, value in call(key).items() if name != "self" and is_numeric(value)
    }
    base: dict[str, Any] = {}
    for name, value in good.items():
        for candidate in whole(name, value):
            if outcome(key, base | {name: candidate})[0] == "taken":
                base[name] = candidate
                break
            yield (
                f"{name} as int8",
                base | {name: candidate},
                base | {name: convert(candidate, np.int8)},
            )
        else:
            if isinstance(value, float):
                yield f"{name} as uint64", base | {name: 0.0}, base | {name: np.uint64(0)}
    for kind in INTEGERS:
        yield kind.__name__, base, {name: convert(value, kind) for name, value in base.items()}
    for kind in FLOATS:
        parts = {name: value for name, value in good.items() if not is_whole(value)}
        yield kind.__name__, parts, {name: convert(value, kind) for name, value in parts.items()}
    for layout, change in LAYOUTS.items():
        arrays = {name: value for name, value in good.items() if isinstance(value, np.ndarray)}
        yield layout, arrays, {name: change(value) for name, value in arrays.items()}


@pytest.mark.slow
@pytest.mark.parametrize("key", [key for key in keys() if key not in UNSPOILT])
def test_numbers_of_every_kind_give_the_same(key):
    wrong, known = [], {}
    for what, plain, other in variants(key):
        if any(other[name] is not value for name, value in plain.items()):
            expected = known.setdefault(id(plain), (plain, outcome(key, plain)))[1]
            if told := difference(expected, outcome(key, other)):
                wrong.append(f"{what}{told}")
    assert not wrong, "\n".join([key, *wrong])
