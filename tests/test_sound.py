"""Whether a state is finite: of each kind, and nested, in Python and compiled."""

import numpy as np
import pytest

from gqlib.fast import _sound
from gqlib.fast._jit import COMPILED, njit

INF, NAN = float("inf"), float("nan")
NUMBERS = [
    (3, True),
    (0.5, True),
    (-1.7976931348623157e308, True),
    (INF, False),
    (-INF, False),
    (NAN, False),
    ((), True),
    ((0.5,), True),
    ((NAN,), False),
    ((1, 2), True),
    ((1, 0.5, 2.0), True),
    ((1, 0.5, NAN), False),
    ((INF, 0.5, 1), False),
    ((1, (2.0, INF)), False),
    ((1, (2.0, 3)), True),
    (np.array([1.0, 2.0]), True),
    (np.array([[1.0, 2.0], [NAN, 0.0]]), False),
    (np.array([1, 2]), True),
    (np.empty(0), True),
    ((np.array([0.0, -INF]), 1), False),
    ((1, np.array([0.0, 1.0])), True),
]
IDS = [repr(state).replace("\n", "") for state, _ in NUMBERS]


@pytest.mark.parametrize(("state", "sound"), NUMBERS, ids=IDS)
def test_a_state_is_finite_if_all_its_numbers_are(state, sound):
    assert _sound.finite(state) is sound


@pytest.mark.parametrize(
    "state", ["words", None, object(), [[1.0], [2.0, 3.0]], ("words", 1.0), {"a": NAN}]
)
def test_what_is_no_number_is_not_looked_into(state):
    assert _sound.finite(state) is True


def test_beside_what_is_no_number_a_number_still_counts():
    assert _sound.finite(("words", NAN)) is False
    assert _sound.finite([1.0, INF]) is False


@njit
def _compiled(state):
    return _sound.finite(state)


@pytest.mark.slow
@pytest.mark.skipif(not COMPILED, reason="without Numba there is one answer")
@pytest.mark.parametrize(("state", "sound"), NUMBERS, ids=IDS)
def test_the_compiler_answers_alike(state, sound):
    assert _compiled(state) == sound


@pytest.mark.skipif(not COMPILED, reason="without Numba there is nothing to hand over")
def test_the_compiler_is_handed_an_answer_for_each_type(monkeypatch):
    """What is registered, by the types of Numba: the functions are ordinary ones before they are compiled."""
    from numba import extending, types

    given = []

    def overload(function, **options):
        return lambda made: given.append((function, options, made)) or made

    monkeypatch.setattr(extending, "overload", overload)
    _sound._for_the_compiler()
    ((function, options, made),) = given
    assert function is _sound.finite
    assert options == {"jit_options": {"forceinline": True}}
    answer = made(types.float64)
    assert [answer(x) for x in (0.0, -3.5, INF, -INF, NAN)] == [True, True, False, False, False]
    rows = made(types.float64[:])
    assert [bool(rows(np.array(x))) for x in ([], [1.0], [NAN], [0.0, INF])] == [
        True,
        True,
        False,
        False,
    ]
    for whole in (types.int64, types.int64[:], types.Tuple(()), types.unicode_type):
        assert made(whole)(NAN) is True  # nothing is looked at
    one = made(types.Tuple((types.float64,)))
    assert [one((0.5,)), one((NAN,)), one((0.5, NAN))] == [True, False, True]
    two = made(types.Tuple((types.float64, types.float64, types.float64)))
    assert [
        two((0.5, 1.0, 2.0)),
        two((NAN, 1.0, 2.0)),
        two((0.5, NAN, 2.0)),
        two((0.5, 1.0, NAN)),
    ] == [
        True,
        False,
        False,
        False,
    ]
