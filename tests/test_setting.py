"""Settings are plain data with a key: which fields count, as what, and which are left out."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pytest

from gqlib.sweeps.setting import (
    CheckedSetting,
    Count,
    Fraction,
    NonNegative,
    Setting,
    as_python,
    later,
    plain,
)


@dataclass(frozen=True)
class Grown(Setting):
    """A setting that got two fields after it had results."""

    alpha: float = 0.1
    ridge: float = later(0.0)
    name: str = later("")


@dataclass(frozen=True)
class Foreign:
    """A user's own dataclass, which derives from nothing of ours."""

    alpha: float = 0.1


def test_later_fields_are_left_out_while_they_have_their_defaults() -> None:
    assert plain(Grown()) == {"alpha": 0.1}
    assert plain(Grown(ridge=0.5)) == {"alpha": 0.1, "ridge": 0.5}
    assert plain(Grown(name="a")) == {"alpha": 0.1, "name": "a"}
    assert list(plain(Grown(0.2, 0.5, "a"))) == ["alpha", "ridge", "name"]


def test_other_fields_are_kept_at_their_defaults() -> None:
    assert plain(Foreign()) == {"alpha": 0.1}
    assert "alpha" in plain(Grown(0.1, 0.5))


def test_numbers_of_numpy_become_those_of_python_and_nothing_else_changes() -> None:
    for value, kind in (
        (np.float64(0.5), float),
        (np.int32(3), int),
        (np.bool_(True), bool),
        (np.str_("a"), str),
    ):
        assert type(as_python(value)) is kind
        assert as_python(value) == value
    assert type(plain(Grown(np.float64(0.3)))["alpha"]) is float
    own = (1, 2)
    assert as_python(own) is own
    assert as_python(None) is None


def test_a_key_is_the_digest_of_the_fields_that_count() -> None:
    assert Grown().key == hashlib.sha256(b'{"alpha":0.1}').hexdigest()
    assert Grown(0.25, 2.0).key == hashlib.sha256(b'{"alpha":0.25,"ridge":2.0}').hexdigest()
    assert Grown(np.float64(0.25), 2.0).key == Grown(0.25, 2.0).key


def test_a_setting_imports_nothing_as_a_rule() -> None:
    assert Grown().imported == ()


@dataclass(frozen=True)
class Declared(CheckedSetting):
    """One field of each kind."""

    share: Fraction = 0.5
    size: NonNegative = 1.0
    steps: Count = 1
    word: Literal["a", "b"] = "a"
    name: str = ""
    maybe: Fraction | None = None
    many: tuple[Count, ...] = (1,)
    pairs: tuple[tuple[float, Fraction], ...] = ((1.0, 0.5),)


@pytest.mark.parametrize(("field", "given", "kept"), [
    ("share", 1, 1.0), ("size", np.float32(0.5), 0.5), ("steps", np.int64(3), 3), ("word", "b", "b"),
    ("name", "x", "x"), ("maybe", None, None), ("maybe", 1, 1.0), ("many", [2, 3], (2, 3)), ("many", 4, (4,)),
    ("many", np.array([2, 3]), (2, 3)), ("pairs", [[2, 0]], ((2.0, 0.0),)),
])  # fmt: skip
def test_a_declared_field_is_converted(field: str, given: Any, kept: Any) -> None:
    found = getattr(Declared(**{field: given}), field)
    assert found == kept
    assert type(found) is type(kept)
    json = Declared(**{field: given}).key
    assert json == Declared(**{field: kept}).key


@pytest.mark.parametrize(("field", "wrong", "told"), [
    ("share", 1.1, r"\[0, 1\]"), ("share", "a", "a real number"), ("size", -0.1, ""), ("steps", 0, ""),
    ("steps", 1.5, ""), ("word", "c", "one of 'a', 'b'"), ("name", 3, ""), ("maybe", 2.0, r"\[0, 1\]"),
    ("many", (), "at least one"), ("many", (1, 0), ""), ("pairs", ((1.0, 0.5, 0.2),), "it should hold 2"),
    ("pairs", ((1.0, 2.0),), r"\[0, 1\]"), ("pairs", (0.1, 0.2), "it should hold 2"),
])  # fmt: skip
def test_a_declared_field_is_refused_by_name(field: str, wrong: Any, told: str) -> None:
    with pytest.raises(ValueError, match=rf"^{field} .*{told}"):
        Declared(**{field: wrong})
