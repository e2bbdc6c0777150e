"""Settings are plain data with a key: which fields count, as what, and which are left out."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

from gqlib.sweeps.setting import Setting, as_python, plain


@dataclass(frozen=True)
class Grown(Setting):
    """A setting that got two fields after it had results; one of its later names is of a field that it lost again."""

    LATER = ("ridge", "lost", "name")
    alpha: float = 0.1
    ridge: float = 0.0
    name: str = ""


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


def test_a_setting_imports_nothing_as_a_rule_and_has_no_later_fields() -> None:
    assert Grown().imported == ()
    assert Setting.LATER == ()
