"""The one switch between compiled kernels and the same source run by Python itself.

Where Numba is missing, as in a browser, or the variable ``GQLIB_NO_NUMBA`` is set (to anything), `njit` compiles
nothing: a kernel is then the function as it is written. The bits are the same, because kernels use IEEE operations in
the order in which they are written, and unsigned words of NumPy wrap around as compiled ones do; it takes a few hundred
times longer. Every kernel imports `njit` from here.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

COMPILED = not os.environ.get("GQLIB_NO_NUMBA") and find_spec("numba") is not None


_silenced = (
    False  # whether a kernel is running, so that those which it calls need not silence NumPy again
)


def plain_njit(function: Callable[..., Any] | None = None, /, **_: Any) -> Any:
    """In the place of ``numba.njit``, with its options or without: the function itself, as silent as compiled code.

    Words that wrap around and weights that overflow are no mistakes here, so NumPy does not warn of them.

    Examples
    --------
    >>> add = plain_njit(cache=True)(lambda a, b: a + b)
    >>> int(add(np.uint64(2**64 - 1), np.uint64(3)))
    2
    >>> plain_njit(len)("abc")
    3
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def silent(*arguments: Any) -> Any:
            global _silenced
            if _silenced:
                return function(*arguments)
            _silenced = True
            try:
                with np.errstate(all="ignore"):
                    return function(*arguments)
            finally:
                _silenced = False

        silent.py_func = function  # type: ignore[attr-defined]  # the name that Numba has for it
        return silent

    return decorate if function is None else decorate(function)


@contextmanager
def on_compile(call: Callable[[], object]) -> Iterator[None]:
    """Call a function, once, if Numba begins to compile; it does not where the code is on disk, nor without Numba.

    Examples
    --------
    >>> with on_compile(lambda: print("compiling")):
    ...     pass
    """
    if not COMPILED:
        yield
        return
    from numba.core.event import Listener, install_listener

    class Once(Listener):  # type: ignore[misc]
        called = False

        def on_start(self, event: object) -> None:
            """Something is compiled; parts of it follow."""
            if not self.called:
                self.called = True
                call()

        def on_end(self, event: object) -> None:
            """It is done."""

    with install_listener("numba:compile", Once()):
        yield


njit: Any = import_module("numba").njit if COMPILED else plain_njit


def is_jitted(function: object) -> bool:
    """Whether Numba has compiled a function, or will; never without Numba.

    Examples
    --------
    >>> is_jitted(len)
    False
    """
    return COMPILED and bool(import_module("numba.extending").is_jitted(function))


def _started_by_another() -> bool:
    from multiprocessing import parent_process  # here, since a browser has no processes

    return parent_process() is not None


@contextmanager
def notice(text: str, after: float = 1.0) -> Iterator[None]:
    """On a terminal, say so if something is compiled and takes longer than `after` seconds; elsewhere, stay silent.

    Processes that another one has started, as a sweep does, are silent too: each of them would say it.
    """
    timer = threading.Timer(
        after, print, args=(f"gqlib: {text}",), kwargs={"file": sys.stderr, "flush": True}
    )
    timer.daemon = True
    if not sys.stderr.isatty() or _started_by_another():
        yield
        return
    try:
        with on_compile(timer.start):
            yield
    finally:
        timer.cancel()
