"""Compiled closures, kept on disk.

Numba finds the code of a function again by the file in which it stands. A kernel that is made of functions which were
handed in (`gqlib.engine`) stands in one file and consists of several, so it is found by a fingerprint of all of them:
their instructions, constants and options, and those of every function that they call. Whatever changes in one of them,
in a module or in a cell of a notebook, makes another fingerprint, and the kernel is compiled anew.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from gqlib.fast._jit import COMPILED, is_jitted

__all__: list[str] = []

PLAIN = (bool, int, float, complex, str, bytes, type(None), type(Ellipsis), np.generic)
KNOWN = (
    "builtins",
    "math",
    "numba",
    "numpy",
)  # where a name and a version say what a function does


class _Unknown(TypeError):
    """Something whose fingerprint is not known."""


def fingerprint(*values: Any) -> str | None:
    """A text that is the same for equal functions and data, in every process; None where that cannot be promised.

    Examples
    --------
    >>> fingerprint(lambda x: x + 1) == fingerprint(lambda x: x + 1)
    True
    >>> fingerprint(lambda x: x + 1) == fingerprint(lambda x: x + 2)
    False
    >>> fingerprint(object()) is None
    True
    """
    try:
        words = "\n".join(_words(values, []))
    except _Unknown:
        return None
    return hashlib.sha256(words.encode()).hexdigest()


def _words(value: Any, open_functions: list[Any]) -> Iterator[str]:
    if isinstance(value, PLAIN):
        yield f"{type(value).__name__} {value!r}"
    elif isinstance(value, np.ndarray):
        yield f"array {value.dtype.str} {value.shape} {hashlib.sha256(value.tobytes()).hexdigest()}"
    elif isinstance(value, tuple | list | frozenset):
        members = sorted(value, key=repr) if isinstance(value, frozenset) else value
        yield f"{type(value).__name__} {len(value)}"
        for member in members:
            yield from _words(member, open_functions)
    elif _package(value) in KNOWN or isinstance(value, BuiltinFunctionType):
        yield f"{getattr(value, '__module__', '')} {getattr(value, '__qualname__', repr(value))}"
    elif isinstance(value, type):
        yield f"class {value.__module__} {value.__qualname__} {getattr(value, '_fields', ())}"
    elif is_jitted(value):
        yield f"compiled {sorted(value.targetoptions.items())}"
        yield from _words(value.py_func, open_functions)
    elif isinstance(value, FunctionType):
        yield from _of_function(value, open_functions)
    else:
        raise _Unknown


def _package(value: Any) -> str:
    if is_jitted(value):
        return ""
    module = (
        value.__name__
        if isinstance(value, ModuleType)
        else getattr(value, "__module__", None) or ""
    )
    return str(module).partition(".")[0]


def _of_function(function: FunctionType, open_functions: list[Any]) -> Iterator[str]:
    """Its instructions, and everything outside them that they name."""
    if function in open_functions:
        yield f"again {open_functions.index(function)}"
        return
    open_functions.append(function)
    codes = list(_codes(function.__code__))
    names = sorted({name for code in codes for name in code.co_names})
    for code in codes:
        yield f"code {code.co_code.hex()} {code.co_names} {code.co_varnames} {code.co_freevars}"
        yield from _words(
            [part for part in code.co_consts if not isinstance(part, CodeType)], open_functions
        )
    yield from _words(
        (function.__defaults__, sorted((function.__kwdefaults__ or {}).items())), open_functions
    )
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    outside = dict(zip(function.__code__.co_freevars, cells, strict=True))
    outside |= {name: function.__globals__[name] for name in names if name in function.__globals__}
    for name, value in outside.items():
        yield name
        if isinstance(value, ModuleType) and _package(value) not in KNOWN:
            yield from _words(
                [getattr(value, part) for part in names if hasattr(value, part)], open_functions
            )
        elif not isinstance(value, ModuleType):
            yield from _words(value, open_functions)


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield from _codes(part)


def keep(kernel: Any) -> Any:
    """Let a compiled function be kept on disk by its fingerprint, if it has one; returns it.

    Examples
    --------
    >>> from gqlib.fast._jit import njit
    >>> def adder(amount):
    ...     @njit
    ...     def add(x):
    ...         return x + amount
    ...     return keep(add)
    >>> adder(2)(1), adder(3)(1)
    (3, 4)
    """
    mark = fingerprint(kernel) if COMPILED else None
    if mark is not None:
        from numba.core.caching import FunctionCache

        class ByFingerprint(FunctionCache):  # type: ignore[misc]
            def _index_key(self, sig: Any, codegen: Any) -> Any:
                return sig, codegen.magic_tuple(), mark

        # Numba calls a kernel by its name and a number that begins again in every process: two that were compiled in two
        # processes would share what belongs to either, such as the types of arrays that it returns.
        kernel.py_func.__qualname__ += f"_{mark[:16]}"
        with contextlib.suppress(RuntimeError):  # there is no place for it on this disk
            kernel._cache = ByFingerprint(kernel.py_func)
    return kernel
