"""What a setting of an experiment is: frozen, plain data with a key.

A subclass of `Setting` that is a frozen dataclass with fields that JSON can hold works in a sweep:

    @dataclass(frozen=True)
    class Mine(Setting):
        alpha: float = 0.1

A field added once results exist would change the key of every setting, and the results would be lost. Name it in
`LATER`: while it has its default value it is left out, and existing settings keep their keys.
"""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from gqlib.sweeps.store import canonical_json

__all__ = ["Setting", "plain"]


@dataclass(frozen=True)
class Setting:
    """The base of every setting: a frozen dataclass of plain values, and the key that names it on every machine.

    Examples
    --------
    >>> @dataclass(frozen=True)
    ... class Mine(Setting):
    ...     alpha: float = 0.1
    >>> len(Mine().key), Mine(0.1).key == Mine().key, Mine(0.2).key == Mine().key
    (64, True, False)
    >>> Mine().imported
    ()
    """

    LATER: ClassVar[tuple[str, ...]] = ()

    @cached_property
    def key(self) -> str:
        """SHA-256 of the fields as canonical JSON: the same in every process and on every machine."""
        return hashlib.sha256(canonical_json(plain(self)).encode()).hexdigest()

    @property
    def imported(self) -> tuple[str, ...]:
        """Names of code outside gqlib that this setting would make its runner import: none, as a rule.

        A setting that comes from a file is run only if the caller allows each of these by name.
        """
        return ()


def plain(setting: Any) -> dict[str, Any]:
    """Return the fields of a setting as plain values, without those of `LATER` that have their default value.

    Examples
    --------
    >>> @dataclass(frozen=True)
    ... class Mine(Setting):
    ...     LATER = ("ridge",)
    ...     alpha: float = 0.1
    ...     ridge: float = 0.0
    >>> plain(Mine()), plain(Mine(ridge=1.0))
    ({'alpha': 0.1}, {'alpha': 0.1, 'ridge': 1.0})
    """
    later = getattr(setting, "LATER", ())
    defaults = {field.name: field.default for field in fields(setting)}
    left_out = [
        name for name in later if name in defaults and getattr(setting, name) == defaults[name]
    ]
    return {
        name: as_python(value) for name, value in asdict(setting).items() if name not in left_out
    }


def as_python(value: Any) -> Any:
    """A number of NumPy as one of Python: grids are often made by `numpy.arange`."""
    return value.item() if isinstance(value, np.generic) else value
