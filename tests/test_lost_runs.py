"""Runs of which only their divergence is known, beside runs of which everything is."""

import numpy as np
import pytest

from gqlib.sweeps._lost import filled, is_lost, joined

LOST = {"diverged": np.array([True, True])}
WHOLE = {
    "theta": np.arange(6.0, dtype=np.float32).reshape(1, 2, 3),
    "steps": np.array([7]),
    "roots": np.array([1 + 2j]),
    "told": np.array(["walk"]),
    "bytes": np.array([b"walk"]),
    "ended": np.array([True]),
    "diverged": np.array([False]),
}


@pytest.mark.parametrize(
    ("arrays", "wanted"),
    [
        (LOST, True),
        ({"diverged": np.array([True, False])}, False),
        (WHOLE, False),
        ({"steps": np.array([1])}, False),
        ({"diverged": np.array([True]), "steps": np.array([1])}, False),
    ],
)
def test_runs_are_lost_if_only_their_divergence_is_known(arrays, wanted):
    assert is_lost(arrays) is wanted


def test_lost_runs_get_the_arrays_of_others_with_nothing_in_them():
    found = filled(LOST, WHOLE)
    assert list(found) == list(WHOLE)
    assert {name: array.dtype for name, array in found.items()} == {
        "theta": np.dtype(np.float32),
        "steps": np.dtype(np.float64),
        "roots": np.dtype(np.complex128),
        "told": np.dtype("<U4"),
        "bytes": np.dtype("S4"),
        "ended": np.dtype(np.float64),
        "diverged": np.dtype(np.bool_),
    }
    assert {name: array.shape for name, array in found.items()} == {
        name: (2, *array.shape[1:]) for name, array in WHOLE.items()
    }
    for name in ("theta", "steps", "roots", "ended"):
        assert np.isnan(found[name]).all(), name
    assert found["told"].tolist() == ["", ""]
    assert found["bytes"].tolist() == [b"", b""]
    assert found["diverged"].all()


def test_parts_are_joined_in_their_order_wherever_the_lost_ones_stand():
    other = {name: array + 1 if name == "theta" else array for name, array in WHOLE.items()}
    found = joined([LOST, WHOLE, other])
    assert found["diverged"].tolist() == [True, True, False, False]
    np.testing.assert_array_equal(found["theta"][2:], [WHOLE["theta"][0], other["theta"][0]])
    np.testing.assert_array_equal(found["steps"], [np.nan, np.nan, 7, 7])
    assert joined([WHOLE, LOST])["told"].tolist() == ["walk", "", ""]


def test_one_part_is_the_whole():
    assert [joined([WHOLE])[name].tolist() for name in WHOLE] == [
        array.tolist() for array in WHOLE.values()
    ]
    assert joined([LOST])["diverged"].tolist() == [True, True]


def test_what_is_lost_as_a_whole_or_not_at_all_is_joined_as_it_is():
    assert joined([LOST, LOST])["diverged"].tolist() == [True] * 4
    assert list(joined([LOST, LOST])) == ["diverged"]
    whole = joined([WHOLE, WHOLE])
    assert whole["steps"].dtype == np.int64
    assert whole["ended"].dtype == np.bool_
