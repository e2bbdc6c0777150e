"""What a setting of an experiment is: frozen, plain data with a key.

A subclass of `Setting` that is a frozen dataclass with fields that JSON can hold works in a sweep:

    @dataclass(frozen=True)
    class Mine(Setting):
        alpha: float = 0.1

A field added once results exist would change the key of every setting, and the results would be
lost. Give it its default by `later`: while it has that value it is left out, and existing settings
keep their keys.

The fields of a `CheckedSetting` say in their annotations what they may be.
"""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass, field, fields
from functools import cache, cached_property
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import numpy as np

from gqlib import _validate as check
from gqlib.sweeps.store import canonical_json

__all__ = ["CheckedSetting", "Count", "Fraction", "NonNegative", "Setting", "later", "plain"]

Fraction = Annotated[float, ("low", 0.0), ("high", 1.0)]
NonNegative = Annotated[float, ("low", 0.0)]
Count = Annotated[int, ("low", 1)]


def later(default: Any) -> Any:
    """The default of a field that a setting got after it had results.

    Examples
    --------
    >>> @dataclass(frozen=True)
    ... class Mine(Setting):
    ...     alpha: float = 0.1
    ...     ridge: float = later(0.0)
    >>> plain(Mine()), plain(Mine(ridge=1.0))
    ({'alpha': 0.1}, {'alpha': 0.1, 'ridge': 1.0})
    """
    return field(default=default, metadata={"later": True})


@dataclass(frozen=True)
class Setting:
    """The base of every setting: a frozen dataclass of plain values, and the key that names it.

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

    @cached_property
    def key(self) -> str:
        """SHA-256 of the fields as canonical JSON: the same in every process, on every machine."""
        return hashlib.sha256(canonical_json(plain(self)).encode()).hexdigest()

    @property
    def imported(self) -> tuple[str, ...]:
        """Names of code outside gqlib that this setting would make its runner import: none, as a rule.

        A setting that comes from a file is run only if the caller allows each of these by name.
        """
        return ()


@dataclass(frozen=True)
class CheckedSetting(Setting):
    """A setting whose annotations say what its fields may be; what comes from JSON is converted.

    Annotations are numbers within a range (`Fraction`, `NonNegative`, `Count`), the words of a
    ``Literal``, one of these or None, or tuples of them, for which a single value will do.

    Examples
    --------
    >>> @dataclass(frozen=True)
    ... class Mine(CheckedSetting):
    ...     sigmas: tuple[Fraction, ...]
    ...     reading: Literal["literal", "expected"] = "expected"
    >>> Mine([0, 1]), Mine(0.5).sigmas
    (Mine(sigmas=(0.0, 1.0), reading='expected'), (0.5,))
    """

    def __post_init__(self) -> None:
        cls: Any = type(self)
        for name, kind in _kinds(cls).items():
            object.__setattr__(self, name, _checked(name, getattr(self, name), kind))


@cache
def _kinds(setting: Any) -> dict[str, Any]:
    return get_type_hints(setting, include_extras=True)


def _checked(name: str, value: Any, kind: Any) -> Any:
    """The value of a field as its annotation has it, or a refusal."""
    origin, inner = get_origin(kind), get_args(kind)
    if type(None) in inner:
        return None if value is None else _checked(name, value, inner[0])
    limits: dict[str, Any] = {}
    if origin is Annotated:
        kind, limits = inner[0], dict(inner[1:])
    if origin is Literal:
        return check.choice(name, value, inner)
    if origin is tuple:
        several = isinstance(value, list | tuple) or (
            isinstance(value, np.ndarray) and value.ndim > 0
        )
        given = value if several else (value,)
        kinds = inner[:1] * len(given) if inner[-1] is ... else inner
        if not len(given) or len(kinds) != len(given):
            wanted = len(inner) if inner[-1] is not ... else "at least one"
            raise ValueError(f"{name} is {check.brief(value)}; it should hold {wanted}")
        return tuple(_checked(name, one, each) for one, each in zip(given, kinds, strict=True))
    if kind is str:
        check.instance(name, value, str)
        return value
    return (check.integer if kind is int else check.scalar)(name, value, **limits)


def plain(setting: Any) -> dict[str, Any]:
    """The fields of a setting as plain values, without later ones that have their default value.

    Examples
    --------
    >>> @dataclass(frozen=True)
    ... class Mine(Setting):
    ...     alpha: float = 0.1
    >>> plain(Mine(np.float64(0.2)))
    {'alpha': 0.2}
    """
    left_out = [
        one.name
        for one in fields(setting)
        if one.metadata.get("later") and getattr(setting, one.name) == one.default
    ]
    return {
        name: as_python(value) for name, value in asdict(setting).items() if name not in left_out
    }


def as_python(value: Any) -> Any:
    """A number of NumPy as one of Python: grids are often made by `numpy.arange`."""
    return value.item() if isinstance(value, np.generic) else value
