"""The switch between compiled kernels and plain Python, and the fingerprints by which compiled code is found again."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pytest

from gqlib.fast import _jit, _kept
from gqlib.fast._kept import fingerprint, keep


class Pair(NamedTuple):
    first: int
    second: int


class Other(NamedTuple):
    first: int
    third: int


def test_a_plain_kernel_is_the_function_itself_and_silent() -> None:
    def add(a: Any, b: Any) -> Any:
        """Add."""
        return a + b

    made = _jit.plain_njit(cache=True)(add)
    assert made.py_func is add
    assert made.__name__ == "add"
    assert made.__doc__ == "Add."
    assert made(2, 3) == 5
    assert int(made(np.uint64(2**64 - 1), np.uint64(3))) == 2  # a warning would be an error here
    with pytest.raises(TypeError):
        made(2, "a")
    assert _jit._silenced is False  # also after an error


def test_kernels_that_call_kernels_are_silent_throughout() -> None:
    seen = []

    @_jit.plain_njit()
    def inner(x: Any) -> Any:
        seen.append(_jit._silenced)
        return x + np.uint64(1)

    @_jit.plain_njit()
    def outer(x: Any) -> Any:
        first = inner(x)
        seen.append(_jit._silenced)
        return first + inner(x)

    assert int(outer(np.uint64(2**64 - 1))) == 0
    assert seen == [True, True, True]
    assert _jit._silenced is False


def test_what_is_compiled_is_known() -> None:
    assert _jit.is_jitted(_jit.njit()(lambda x: x)) is _jit.COMPILED
    for plain in (len, math.sqrt, lambda x: x, 3, None):
        assert _jit.is_jitted(plain) is False


def test_without_numba_nothing_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = _jit.njit()(lambda x: x)
    monkeypatch.setattr(_jit, "COMPILED", False)
    assert _jit.is_jitted(compiled) is False


def mark(value: Any) -> str | None:
    return fingerprint(value)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, 2),
        (1, 1.0),
        (1, True),
        ("1", b"1"),
        (None, False),
        (np.float64(1.0), np.float32(1.0)),
        ((1, 2), [1, 2]),
        ((1, 2), (2, 1)),
        ((1, (2,)), (1, 2)),
        (((1,), 2), ((1, 2),)),
        (frozenset({1, 2}), frozenset({1, 3})),
        (np.array([1.0, 2.0]), np.array([1.0, 3.0])),
        (np.array([1.0, 2.0]), np.array([[1.0, 2.0]])),
        (np.array([0, 0]), np.array([0.0, 0.0])),
        (math.sqrt, math.exp),
        (np.sqrt, math.sqrt),
        (Pair, Other),
        (len, max),
        (np.ndarray, np.generic),
    ],
)
def test_what_differs_has_another_mark(one: Any, other: Any) -> None:
    assert None not in (mark(one), mark(other))
    assert mark(one) != mark(other)
    assert mark(one) == mark(one)
    assert len(mark(one) or "") == 64


def test_the_order_of_a_set_does_not_count() -> None:
    assert mark(frozenset(["b", "a", "c"])) == mark(frozenset(["c", "b", "a"]))


def scaled(factor: Any) -> Callable[..., Any]:
    return lambda x: x * factor


def with_default(value: Any) -> Callable[..., Any]:
    def function(x: float = value) -> float:
        return x

    return function


def with_keyword(value: Any) -> Callable[..., Any]:
    def function(*, x: float = value) -> float:
        return x

    return function


def calling(inner: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x: inner(x) + 1


def through_a_module(value: float) -> Callable[..., Any]:
    mine = ModuleType("mine")
    vars(mine)["inner"] = scaled(value)

    def function(x: float) -> Any:
        return mine.inner(x)

    return function


MAKERS = {
    "a number": scaled,
    "a default": with_default,
    "a keyword's default": with_keyword,
    "a function": lambda value: calling(scaled(value)),
    "a function as a default": lambda value: with_default(scaled(value)),
    "a function as a keyword's default": lambda value: with_keyword(scaled(value)),
    "a function of a module": through_a_module,
    "a function in a tuple": lambda value: scaled((scaled(value), 1)),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=list(MAKERS))
def test_a_function_is_known_by_what_it_takes_from_outside(make: Callable[[float], Any]) -> None:
    assert mark(make(2.0)) == mark(make(2.0)) is not None
    assert mark(make(2.0)) != mark(make(3.0))


NUMBER = 1.0


def takes_a_global(x: float) -> float:
    return x + NUMBER


def takes_one_in_an_inner_function(x: float) -> float:
    def inner() -> float:
        return NUMBER

    return x + inner()


@pytest.mark.parametrize("function", [takes_a_global, takes_one_in_an_inner_function])
def test_a_global_counts(function: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    before = mark(function)
    monkeypatch.setitem(globals(), "NUMBER", 2.0)
    assert mark(function) not in (None, before)
    monkeypatch.setitem(globals(), "NUMBER", object())
    assert mark(function) is None


def test_instructions_and_constants_count_and_names_of_functions_do_not() -> None:
    def plus(x: float) -> float:
        return x + 1

    def also(x: float) -> float:
        return x + 1

    def minus(x: float) -> float:
        return x - 1

    def two(x: float) -> float:
        return x + 2

    assert mark(plus) == mark(also)
    assert len({mark(plus), mark(minus), mark(two)}) == 3
    assert mark((plus, minus)) != mark((minus, plus))


def test_a_recursive_function_has_a_mark_and_its_depth_counts() -> None:
    def down(n: int) -> int:
        return 0 if n == 0 else down(n - 1)

    def other(n: int) -> int:
        return 0 if n == 0 else down(n - 1)

    assert mark(down) is not None
    assert mark(down) != mark(other)


def test_modules_that_are_known_count_by_name_and_others_by_what_is_taken_from_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def known(x: float) -> float:
        return math.sqrt(x)

    def ours(x: float) -> Any:
        return _kept.PLAIN, x

    before = mark(ours)
    assert None not in (mark(known), before)
    monkeypatch.setattr(_kept, "PLAIN", (int, *_kept.PLAIN[1:]))
    assert mark(ours) not in (None, before)


def test_packages_are_told_by_their_first_name() -> None:
    assert _kept._package(np.linalg.norm) == "numpy"
    assert _kept._package(np.linalg) == "numpy"
    assert _kept._package(math) == "math"
    assert _kept._package(len) == "builtins"
    assert _kept._package(Pair) == __name__.partition(".")[0]
    assert _kept._package(_jit) == "gqlib"
    assert _kept._package(3) == ""
    if _jit.COMPILED:
        assert (
            _kept._package(_jit.njit()(lambda x: x)) == ""
        )  # Numba's object, but a user's function


@pytest.mark.skipif(not _jit.COMPILED, reason="nothing is compiled")
def test_what_has_a_mark_is_kept_on_disk_by_it() -> None:
    from numba.core.caching import FunctionCache, NullCache

    kernel = _jit.njit()(lambda x: x + 1)
    name, own = kernel.py_func.__qualname__, mark(kernel)
    assert keep(kernel) is kernel
    assert kernel.py_func.__qualname__ == f"{name}_{own[:16]}"  # its symbols are no other kernel's
    assert isinstance(kernel._cache, FunctionCache)
    codegen = type("Codegen", (), {"magic_tuple": lambda self: ("machine",)})()
    assert kernel._cache._index_key("signature", codegen) == (
        "signature",
        ("machine",),
        mark(kernel),
    )
    strange = object()
    other = _jit.njit()(lambda x: (x, strange))
    assert keep(other) is other
    assert isinstance(other._cache, NullCache)


def test_without_numba_nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_kept, "COMPILED", False)

    def plain(x: float) -> float:
        return x

    assert keep(plain) is plain
    assert not hasattr(plain, "_cache")
