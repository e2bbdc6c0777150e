"""The argument checks themselves: what passes unchanged, what is refused, and that a refusal says all it should.

`tests/exact/test_ranges.py` shows that every public function uses them under the right names.
"""

import importlib
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import xarray

from gqlib import _validate as check

NAN, INF, LONG = math.nan, math.inf, 10**5000
RNG, GIVEN = np.random.default_rng(0), np.asfortranarray(np.arange(6).reshape(2, 3))
RUNS = {"steps": np.zeros((2, 3)), "ends": np.zeros(2)}
DATA = xarray.Dataset({"score": ("run", [1.0])}, coords={"run": [0]})
NEAR, FAR = 0.5 + 0.9e-9, 0.5 + 1.1e-9


class Mute:
    def __repr__(self):
        raise KeyError("text")


# Check, arguments after the name, options, and the refusal; one that ends in "…" goes on.
REFUSED = [
    *(
        (check.scalar, [wrong], limits, f"x is {wrong}; it should be {told}")
        for limits, told in (
            ({}, "finite"),
            ({"low": 0.0}, "in [0, inf)"),
            ({"low": 0.0, "open_low": True}, "in (0, inf)"),
            ({"high": 1.0}, "in (-inf, 1]"),
            ({"low": 0.0, "high": 1.0, "open_high": True}, "in [0, 1)"),
        )
        for wrong in (NAN, INF, -INF)
    ),
    *(
        (check.scalar, [wrong], {}, f"x is {check.brief(wrong)}; it should be a real number")
        for wrong in ("0.25", b"1", None, 1j, [1], np.array([1.0]), np.datetime64("2019"), 10**400)
    ),
    *(
        (check.scalar, [wrong], {}, f"x is {wrong}; it should be at most 1e+50 in size")
        for wrong in (1.1e50, -1.1e50)
    ),
    *(
        (check.integer, [wrong], {}, f"x is {check.brief(wrong)}; it should be a whole number")
        for wrong in (True, np.False_, 1.0, "1", None, np.timedelta64(5), np.timedelta64(5, "s"))
    ),
    (check.integer, [0], {"low": 1}, "x is 0; it should be at least 1"),
    (check.integer, [-1], {"low": 0, "high": 2}, "x is -1; it should be from 0 to 2"),
    (check.integer, [3], {"low": 0, "high": 2}, "x is 3; it should be from 0 to 2"),
    (check.integer, [LONG], {"high": 3}, "x is a very long number; it should be at most 3"),
    (check.integer, [1], {"low": LONG}, "x is 1; it should be at least a very long number"),
    (check.room, [5, check.ROOM + 1], {}, "x is 5; it should be smaller…"),
    (check.flag, [1], {}, "x is 1; it should be True or False"),
    (check.function, [1], {}, "x is 1; it should be a function"),
    (check.takes, [1], {}, "x is 1; it should be a function"),
    (check.takes, [lambda a: a, "a", "b"], {}, "x takes (a); it should take (a, b)"),
    (check.takes, [lambda a, b: a, "a"], {}, "x takes (a, b); it should take (a)"),
    *(
        (check.path, [wrong], {}, f"x is {wrong!r}; it should be a path")
        for wrong in (1, "a\0b", b"a")
    ),
    *(
        (check.choice, [wrong, "ab"], {}, f"x is {wrong!r}; it should be one of 'a', 'b'")
        for wrong in ("c", 1, ["a"])
    ),
    (check.choice, [1, "a"], {"others": "z"}, "x is 1; it should be one of 'a', or z"),
    (check.instance, [1, str, list], {}, "x is 1; it should be a str or list"),
    (check.instance, [1, Exception], {}, "x is 1; it should be an Exception"),
    (check.instance, [1, str], {"where": "y"}, "x is 1; it should be a str of y"),
    (check.generator, [7], {}, "x is 7; it should be a numpy.random.Generator"),
    *(
        (check.array, [GIVEN, shape], {}, f"x has shape (2, 3); it should have shape {told}")
        for shape, told in (
            ((3, None), "(3, any)"),
            ((None,), "(any,)"),
            ((2,), "(2,)"),
            ((), "()"),
            ((2, 3, 1), "(2, 3, 1)"),
        )
    ),
    (check.array, [np.zeros((0, 2)), (None, 2)], {}, "x has shape (0, 2); it should have shape…"),
    (check.array, [[0.0, NAN, INF], (3,)], {}, "x is nan at (1,); every entry should be finite"),
    (check.array, [[0.0, -1.1e50], (2,)], {}, "x reaches 1.1e+50 in size; every entry…"),
    *(
        (check.reals, [wrong], {}, f"x is {check.brief(wrong)}; it should be an array of real…")
        for wrong in (
            *(["a"], [[1.0], [1.0, 2.0]], [1j], LONG, None, [1.0, None], np.ma.masked),
            np.ma.array([1.0, 2.0], mask=[False, True]),
            *(np.array([text, 2.0], dtype=object) for text in ("1", b"1")),
        )
    ),
    (check.distributions, [[1.5, -0.5], (2,)], {}, "x is -0.5 at (1,); probabilities should not…"),
    (check.distributions, [[1.0, 0.5], (2,)], {}, "x sums to 1.5; it should sum to 1"),
    *(
        (check.distributions, [[[0, 1], row], (2, 2)], {}, "x sums to…")
        for row in ([0.5, FAR], [0.5, 1.0 - FAR])
    ),
    (check.distributions, [[0.5, FAR], (2,)], {"allow_less": True}, "x sums to…"),
    (check.fraction, [1.0], {}, "x is 1.0; it should be in (0, 1)"),
    (check.members, [{}, "a", "b"], {}, "x is {}; it should be a mapping with a, b"),
    (check.members, [3], {}, "x is 3; it should be a mapping with names"),
    *(
        (check.runs, [RUNS | {"ends": wrong}], {"steps": 2, "ends": 1}, "x has ends…")
        for wrong in ([0.0, 0.0], np.zeros((2, 1)), np.zeros(0), np.array(["a", "b"]))
    ),
    (check.runs, [RUNS | {"ends": np.zeros(3)}], {"steps": 2, "ends": 1}, "x differ in the…"),
    (check.labelled, [3, "score"], {}, "x is 3; it should be an xarray.Dataset with score"),
    (check.labelled, [DATA, "steps"], {}, "x is <xarray.Dataset>…"),
]


@pytest.mark.parametrize("case", range(len(REFUSED)))
def test_a_refusal_tells_the_name_the_value_and_what_it_should_be(case):
    call, arguments, options, told = REFUSED[case]
    with pytest.raises(ValueError) as refused:  # noqa: PT011
        call("x", *arguments, **options)
    whole = str(refused.value)
    assert whole == told or (told.endswith("…") and whole.startswith(told[:-1]))


def test_what_passes_is_what_it_was():
    for found, wanted in [
        *((check.scalar("x", x), 0.25) for x in (0.25, np.float32(0.25), Fraction(1, 4))),
        (check.scalar("x", np.array(0.25)), 0.25),
        (check.scalar("x", True), 1.0),
        *((check.scalar("x", x), x) for x in (1e50, -1e50)),
        (check.scalar("x", 1.1e50, largest=INF), 1.1e50),
        (check.numbers(lam=1, sigma=-1e60), [1.0, -1e60]),
        *((check.integer("x", n, low=-1, high=2), n) for n in (-1, 2)),
        (check.integer("x", np.uint8(2)), 2),
        (check.room("x", 5, check.ROOM), None),
        *((check.flag("x", x), bool(x)) for x in (True, np.False_)),
        *((check.function("x", x), x) for x in (len, check.brief)),
        *((check.takes("x", x, "a", "b"), x) for x in (divmod, max)),
        *((check.path("x", x), Path("a/b")) for x in ("a/b", Path("a/b"))),
        (check.choice("x", np.str_("b"), ("a", "b")), "b"),
        (check.instance("x", 1, str, int), None),
        (check.generator("x", RNG), RNG),
        (check.array("x", [1e50, -1e50], (2,)).tolist(), [1e50, -1e50]),
        ([check.dimensions(x) for x in (1.0, [1.0], np.eye(2), [[1], [1, 2]])], [0, 1, 2, 0]),
        (check.frozen(np.zeros(2)).flags.writeable, False),
        (check.reals("x", np.ma.array([1.0, 2.0])).tolist(), [1.0, 2.0]),
        (check.reals("x", np.array([1, 2.5, True], dtype=object)).tolist(), [1.0, 2.5, 1.0]),
        ([x.tolist() for x in check.vectors(a=[1, 2], b=[1e60, 0.0])], [[1, 2], [1e60, 0.0]]),
        (check.finite(a=1.0, b=np.ones(2)), None),
        *(
            (check.distributions("x", [row], (None, 2)).tolist(), [row])
            for row in ([0.5, NEAR], [0.5, 1.0 - NEAR])
        ),
        (check.distributions("x", [0.25, NEAR], (2,), allow_less=True).tolist(), [0.25, NEAR]),
        *((check.fraction("x", x), x) for x in (1e-300, 0.5)),
        (check.members("x", RUNS, "steps"), RUNS),
        (check.runs("x", RUNS, steps=2, ends=1), None),
        (check.labelled("x", DATA, "score", "run"), None),
        (check.brief("a" * 78), repr("a" * 78)),
        (check.brief("a" * 79), "'" + "a" * 76 + "..."),
        (check.brief(np.eye(2)), "array([[1., 0.], [0., 1.]])"),
        (check.brief(Mute())[:15], f"<{__name__}."[:15]),
    ]:
        assert (type(found), found) == (type(wanted), wanted)


def test_what_is_checked_is_a_new_array_in_c_order_and_the_callers_stays_the_callers():
    """Objects make theirs read-only and steps change theirs: neither may reach what was handed in."""
    for made in (
        check.reals("x", GIVEN),
        check.array("x", GIVEN, (2, None)),
        check.distributions("x", GIVEN / GIVEN.sum(axis=1, keepdims=True), (2, 3)),
        check.vectors(row=GIVEN[0])[0],
    ):
        assert (made.dtype, made.flags.c_contiguous) == (np.float64, True)
        assert not np.shares_memory(made, GIVEN)


def test_a_second_vector_a_number_by_name_and_an_overflow_are_named():
    with pytest.raises(ValueError, match=r"^b has shape \(3,\); it should have shape \(2,\)$"):
        check.vectors(a=[1, 2], b=[1, 2, 3])
    with pytest.raises(ValueError, match=r"^rho is -1; it should be in \[0, inf\)$"):
        check.numbers(lam=0.5, rho=-1)
    with pytest.raises(check.Diverged, match=r"^b overflows in this step"):
        check.finite(a=1.0, b=np.array([1.0, INF]))


@pytest.mark.parametrize(
    ("name", "told"),
    [
        *(
            (name, r"^this needs the package no_such_package: install gqlib\[extra\]$")
            for name in ("no_such_package", "no_such_package.part")
        ),
        ("another_one", r"^No module named 'another_one'$"),
    ],
)
def test_a_package_that_is_missing_is_told_with_what_brings_it(name, told):
    with (
        pytest.raises(ModuleNotFoundError, match=told),
        check.package("no_such_package", "extra"),
    ):
        importlib.import_module(name)
