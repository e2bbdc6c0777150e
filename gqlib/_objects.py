"""What objects have in common: a small table of themselves in a notebook, and equality by what they hold."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

import numpy as np


def html_table(title: str, rows: Iterable[Sequence[object]], head: Sequence[object] = ()) -> str:
    """A table as HTML; the first entry of a row is its head.

    Examples
    --------
    >>> html_table("A & B", [("n", 3)])
    '<table><caption>A &amp; B</caption><tbody><tr><th scope="row">n</th><td>3</td></tr></tbody></table>'
    """
    top = "".join(
        f'<th scope="col">{escape(str(cell))}</th>' if cell else "<td></td>" for cell in head
    )
    body = "".join(
        f'<tr><th scope="row">{escape(str(first))}</th>'
        + "".join(f"<td>{escape(str(c))}</td>" for c in rest)
        + "</tr>"
        for first, *rest in rows
    )
    above = f"<thead><tr>{top}</tr></thead>" if top else ""
    return f"<table><caption>{escape(title)}</caption>{above}<tbody>{body}</tbody></table>"


def signature(value: Any) -> Any:
    """Something that can be hashed, and is equal for two values exactly when they hold the same, bit for bit.

    Examples
    --------
    >>> signature([np.arange(2), {"a": 1.0}]) == signature([np.arange(2), {"a": 1.0}])
    True
    >>> signature(np.zeros(2)) == signature(np.zeros((2, 1)))
    False
    """
    if isinstance(value, np.ndarray):
        return (value.dtype.str, value.shape, value.tobytes())
    if isinstance(value, Mapping):
        return tuple((key, signature(entry)) for key, entry in value.items())
    if isinstance(value, list | tuple):
        return (type(value).__name__, *map(signature, value))
    if isinstance(value, functools.partial):
        return (value.func, signature(value.args), signature(value.keywords))
    return value


class ByValue:
    """Equal to another of its class that holds the same, bit for bit, and hashed accordingly.

    A dataclass that is one has ``eq=False``; another class says in `_held` what it holds.
    """

    def _held(self) -> Any:
        fields = dataclasses.fields(self)  # type: ignore[arg-type]
        return tuple(getattr(self, field.name) for field in fields if field.compare)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return bool(signature(self._held()) == signature(other._held()))

    def __hash__(self) -> int:
        return hash((type(self).__name__, signature(self._held())))


class Fixed(ByValue):
    """An object that does not change once it is made: `_fix` says when, and makes its arrays read-only."""

    _fixed = False

    def _fix(self) -> None:
        for value in vars(self).values():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)
        self._fixed = True

    def __setattr__(self, name: str, value: Any) -> None:
        if self._fixed:
            raise AttributeError(
                f"{type(self).__name__} does not change; {name} should be given when it is made"
            )
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        raise AttributeError(
            f"{type(self).__name__} does not change; {name} should be left as it is"
        )
