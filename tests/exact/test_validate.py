"""The argument checks themselves: what passes unchanged, what is refused, and that a refusal says all it should.

`tests/exact/test_ranges.py` shows that every public function uses them under the right names.
"""

import importlib
import math
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import xarray

from gqlib import _validate as check


def refused(call, *arguments, **options):
    """The text of the refusal."""
    with pytest.raises(ValueError) as told:  # noqa: PT011
        call("x", *arguments, **options)
    return str(told.value)


def test_a_long_value_is_told_in_eighty_characters():
    assert check.brief("a" * 78) == repr("a" * 78)
    assert check.brief("a" * 79) == "'" + "a" * 76 + "..."
    assert check.brief(np.eye(2)) == "array([[1., 0.], [0., 1.]])"  # on one line


@pytest.mark.parametrize(
    ("limits", "told"),
    [
        ({}, "finite"),
        ({"low": 0.0}, "in [0, inf)"),
        ({"low": 0.0, "open_low": True}, "in (0, inf)"),
        ({"high": 1.0}, "in (-inf, 1]"),
        ({"low": 0.0, "high": 1.0, "open_high": True}, "in [0, 1)"),
    ],
)
def test_a_refusal_tells_the_range_as_it_is(limits, told):
    """Infinity is refused, so that no range ends with it."""
    for wrong in (math.nan, math.inf, -math.inf):
        assert refused(check.scalar, wrong, **limits) == f"x is {wrong}; it should be {told}"


def test_a_number_is_real_and_no_larger_than_allowed():
    for given in (0.25, np.float32(0.25), Fraction(1, 4), np.array(0.25)):
        found = check.scalar("x", given)
        assert (type(found), found) == (float, 0.25)
    assert check.scalar("x", True) == 1.0
    for wrong in ("0.25", b"1", None, 1j, [0.25], np.array([0.25]), np.datetime64("2019"), 10**400):
        assert (
            refused(check.scalar, wrong) == f"x is {check.brief(wrong)}; it should be a real number"
        )
    assert (check.scalar("x", 1e50), check.scalar("x", -1e50)) == (1e50, -1e50)
    for wrong in (1.1e50, -1.1e50):
        assert refused(check.scalar, wrong) == f"x is {wrong}; it should be at most 1e+50 in size"
        assert check.scalar("x", wrong, largest=math.inf) == wrong
    assert check.numbers(lam=1, sigma=-1e60) == [1.0, -1e60]
    with pytest.raises(ValueError, match=r"^rho is -1; it should be in \[0, inf\)$"):
        check.numbers(lam=0.5, rho=-1)


def test_a_whole_number_is_no_flag_and_within_its_ends():
    assert [check.integer("x", n, low=-1, high=2) for n in (-1, np.uint8(2))] == [-1, 2]
    assert type(check.integer("x", np.int64(3))) is int
    for wrong in (True, np.False_, 1.0, "1", None, np.timedelta64(5), np.timedelta64(5, "s")):
        assert (
            refused(check.integer, wrong)
            == f"x is {check.brief(wrong)}; it should be a whole number"
        )
    assert refused(check.integer, 0, low=1) == "x is 0; it should be at least 1"
    for wrong in (-1, 3):
        assert (
            refused(check.integer, wrong, low=0, high=2)
            == f"x is {wrong}; it should be from 0 to 2"
        )
    check.room("x", 5, check.ROOM)
    assert refused(check.room, 5, check.ROOM + 1).startswith("x is 5; it should be smaller")


def test_flags_functions_paths_and_choices():
    assert [check.flag("x", value) for value in (True, np.False_)] == [True, False]
    assert refused(check.flag, 1) == "x is 1; it should be True or False"
    assert check.function("x", len) is len
    assert refused(check.function, 1) == "x is 1; it should be a function"
    assert check.takes("x", divmod, "a", "b") is divmod
    assert check.takes("x", lambda a, b=0: a, "a", "b")(1) == 1
    assert refused(check.takes, 1) == "x is 1; it should be a function"
    assert refused(check.takes, lambda a: a, "a", "b") == "x takes (a); it should take (a, b)"
    assert refused(check.takes, lambda a, b: a, "a") == "x takes (a, b); it should take (a)"
    assert check.path("x", "a/b") == check.path("x", Path("a/b")) == Path("a/b")
    for wrong in (1, "a\0b", b"a"):
        assert refused(check.path, wrong) == f"x is {wrong!r}; it should be a path"
    assert check.choice("x", "b", ("a", "b")) == "b"
    for wrong in ("c", 1, ["a"]):
        assert (
            refused(check.choice, wrong, ("a", "b"))
            == f"x is {wrong!r}; it should be one of 'a', 'b'"
        )
    assert (
        refused(lambda *a: check.choice(*a, others="a path"), 1, "a")
        == "x is 1; it should be one of 'a', or a path"
    )
    check.instance("x", 1, str, int)
    assert refused(check.instance, 1, str, list) == "x is 1; it should be a str or list"
    assert refused(check.instance, 1, Exception) == "x is 1; it should be an Exception"
    rng = np.random.default_rng(0)
    assert check.generator("x", rng) is rng
    assert refused(check.generator, 7) == "x is 7; it should be a numpy.random.Generator"


def test_arrays_have_a_shape_and_finite_entries():
    given = np.asfortranarray(np.arange(6).reshape(2, 3))
    found = check.array("x", given, (2, None))
    assert (found.dtype, found.flags.c_contiguous) == (np.float64, True)
    np.testing.assert_array_equal(found, given)
    found[0, 0] = 9.0
    assert given[0, 0] == 0  # it is a copy
    wanted = {
        (3, None): "(3, any)",
        (None,): "(any,)",
        (2,): "(2,)",
        (): "()",
        (2, 3, 1): "(2, 3, 1)",
    }
    for shape, told in wanted.items():
        assert (
            refused(check.array, given, shape) == f"x has shape (2, 3); it should have shape {told}"
        )
    assert (
        refused(check.array, np.zeros((0, 2)), (None, 2))
        == "x has shape (0, 2); it should have shape (any, 2)"
    )
    assert (
        refused(check.array, [0.0, math.nan, math.inf], (3,))
        == "x is nan at (1,); every entry should be finite"
    )
    np.testing.assert_array_equal(check.array("x", [1e50, -1e50], (2,)), [1e50, -1e50])
    assert refused(check.array, [0.0, -1.1e50], (2,)).startswith("x reaches 1.1e+50 in size; ")
    for wrong in (["a"], [[1.0], [1.0, 2.0]], [1j]):
        assert (
            refused(check.reals, wrong)
            == f"x is {check.brief(wrong)}; it should be an array of real numbers"
        )
    assert [check.dimensions(value) for value in (1.0, [1.0], np.eye(2), [[1.0], [1.0, 2.0]])] == [
        0,
        1,
        2,
        0,
    ]
    assert not check.frozen(np.zeros(2)).flags.writeable


def test_what_is_checked_is_a_new_array_and_the_callers_stays_the_callers():
    """Objects make theirs read-only and steps change theirs: neither may reach what was handed in."""
    given = np.array([[0.25, 0.75], [0.5, 0.5]])
    row = given[0]
    for made, source in (
        (check.reals("given", given), given),
        (check.array("given", given, (2, 2)), given),
        (check.distributions("given", given, (2, 2)), given),
        (check.vectors(row=row)[0], row),
    ):
        assert not np.shares_memory(made, source)
        check.frozen(made)
    given[:] = 7.0


def test_vectors_are_as_long_as_the_first():
    first, second = check.vectors(a=[1, 2], b=[1e60, 0.0])
    assert (first.tolist(), second.tolist()) == ([1.0, 2.0], [1e60, 0.0])
    with pytest.raises(ValueError, match=r"^b has shape \(3,\); it should have shape \(2,\)$"):
        check.vectors(a=[1, 2], b=[1, 2, 3])
    check.finite(a=1.0, b=np.ones(2))
    with pytest.raises(check.Diverged, match=r"^b overflows in this step"):
        check.finite(a=1.0, b=np.array([1.0, math.inf]))


def test_probabilities_sum_to_one_within_rounding():
    near, far = 0.5 + 0.9e-9, 0.5 + 1.1e-9
    for row in ([0.5, near], [0.5, 1.0 - near]):
        np.testing.assert_array_equal(check.distributions("x", [row], (None, 2)), [row])
    for row in ([0.5, far], [0.5, 1.0 - far]):
        told = refused(check.distributions, [[0, 1], row], (2, 2))
        assert re.match(r"x sums to .* at \(1,\); it should sum to 1$", told)
    assert (
        refused(check.distributions, [1.5, -0.5], (2,))
        == "x is -0.5 at (1,); probabilities should not be negative"
    )
    assert refused(check.distributions, [1.0, 0.5], (2,)) == "x sums to 1.5; it should sum to 1"
    assert check.distributions("x", [0.25, near], (2,), allow_less=True).tolist() == [0.25, near]
    assert refused(check.distributions, [0.5, far], (2,), allow_less=True).endswith(
        "it should sum to at most 1"
    )
    assert [check.fraction("x", share) for share in (1e-300, 0.5)] == [1e-300, 0.5]
    assert refused(check.fraction, 1.0) == "x is 1.0; it should be in (0, 1)"


def test_mappings_of_runs_and_labelled_results():
    runs = {"steps": np.zeros((2, 3)), "ends": np.zeros(2)}
    assert check.members("x", runs, "steps") is runs
    assert refused(check.members, {}, "a", "b") == "x is {}; it should be a mapping with a, b"
    assert refused(check.members, 3) == "x is 3; it should be a mapping with names"
    check.runs("x", runs, steps=2, ends=1)
    for wrong in ([0.0, 0.0], np.zeros((2, 1)), np.zeros(0), np.array(["a", "b"])):
        assert refused(check.runs, runs | {"ends": wrong}, steps=2, ends=1).startswith(
            "x has ends "
        )
    told = refused(check.runs, runs | {"ends": np.zeros(3)}, steps=2, ends=1)
    assert told == "x differ in the number of runs; steps, ends should have one row for each"
    data = xarray.Dataset({"score": ("run", [1.0])}, coords={"run": [0]})
    check.labelled("x", data, "score", "run")
    assert (
        refused(check.labelled, 3, "score") == "x is 3; it should be an xarray.Dataset with score"
    )
    assert refused(check.labelled, data, "steps").endswith(
        "it should be an xarray.Dataset with steps"
    )


def test_a_package_that_is_missing_is_told_with_what_brings_it():
    def wanted(name):
        with check.package("no_such_package", "extra"):
            importlib.import_module(name)

    told = r"^this needs the package no_such_package: install gqlib\[extra\]$"
    for name in ("no_such_package", "no_such_package.part"):
        with pytest.raises(ModuleNotFoundError, match=told):
            wanted(name)
    with pytest.raises(ModuleNotFoundError, match=r"^No module named 'another_one'$"):
        wanted("another_one")


def test_what_cannot_be_written_down_is_refused_by_its_name():
    class Mute:
        def __repr__(self):
            raise KeyError("text")

    assert check.brief(10**5000) == "a very long number"
    assert check.brief(Mute()).startswith("<test_validate.")
    assert refused(check.scalar, 10**5000) == "x is a very long number; it should be a real number"
    assert (
        refused(check.reals, 10**5000)
        == "x is a very long number; it should be an array of real numbers"
    )
    assert (
        refused(check.integer, 10**5000, high=3)
        == "x is a very long number; it should be at most 3"
    )
    assert (
        refused(check.integer, 1, low=10**5000)
        == "x is 1; it should be at least a very long number"
    )
    assert (
        refused(check.integer, -(10**5000), low=0)
        == "x is a very long number; it should be at least 0"
    )


def test_masked_entries_none_and_text_are_no_numbers():
    """NumPy would take what is behind the mask, NaN for None, and the number that a text spells."""
    values = np.ma.array([1.0, 2.0], mask=[False, True])
    texts = [np.array([text, 2.0], dtype=object) for text in ("1", b"1")]
    for wrong in (values, np.ma.masked, None, [1.0, None], *texts):
        assert refused(check.reals, wrong).endswith("; it should be an array of real numbers")
    assert check.reals("x", np.ma.array([1.0, 2.0])).tolist() == [1.0, 2.0]
    assert check.reals("x", np.array([1, 2.5, True], dtype=object)).tolist() == [1.0, 2.5, 1.0]
