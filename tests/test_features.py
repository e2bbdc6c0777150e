"""Methods refuse by the name of the argument, as functions do (`tests/exact/test_ranges.py`)."""

import re

import numpy as np
import pytest

from gqlib.control.features import Coder, TableCoder, TileCoder
from gqlib.control.tile_tables import make_memory, tile_table
from gqlib.domains import machine

CODER = TileCoder([0.0, 0.0], [1.0, 1.0], actions=2)
TABLE = tile_table(512, 8, "int")

REFUSED = {
    "position": (lambda: TABLE.cell(9.0, 0.0), r"position is 9\.0"),
    "velocity": (lambda: TABLE.cell(0.0, 9.0), r"velocity is 9\.0"),
    "action": (lambda: TABLE.indices(0.0, 0.0, 3), r"action is 3"),
    "state of a coder": (lambda: CODER([0.5]), r"state has shape \(1,\); it should have shape"),
    "state that is peeked at": (
        lambda: CODER.peek([0.5, 0.5, 0.5]),
        r"state has shape \(3,\); it should have shape",
    ),
    "high of a coder": (lambda: TileCoder([0.0], [0.0], actions=2), r"high is \[0\.0\]"),
    "memory": (lambda: make_memory("hash", 512, 8), r"memory is 'hash'"),
    "p": (lambda: make_memory("int", 0, 8), r"p is 0"),
    "tilings": (lambda: make_memory("int", 512, 0), r"tilings is 0"),
    "steps of a walk": (
        lambda: machine().trajectory(10**12, np.random.default_rng(0)),
        r"steps is 1000000000000",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_method_names_what_it_refuses(name):
    call, message = REFUSED[name]
    with pytest.raises(ValueError, match=f"^{message}"):
        call()


def coder(low=(0.0,), high=(1.0,), actions=1, **options):
    return TileCoder(list(low), list(high), actions, **options)


def met(tiles, overfull=0, **options):
    fresh = coder(**options)
    fresh._meet(tiles, overfull=overfull)
    return fresh


TOO_MANY = "it should be smaller, so that arrays hold at most 2147483648 numbers"
NOT_MET = "it should be the tiles_met of a coder like this one"
OF_A_CODER = [
    (lambda: coder(low=()), "low has shape (0,); it should have shape (any,)"),
    (lambda: coder(low=("a",)), "low is ['a']; it should be an array of real numbers"),
    (lambda: coder(high=(1.0, 1.0)), "high has shape (2,); it should have shape (1,)"),
    (lambda: coder(high=(np.inf,)), "high is inf at (0,); every entry should be finite"),
    (lambda: coder((0.0, 0.0), (1.0, 0.0)), "high is [1.0, 0.0]; every entry should be above that of low"),
    (lambda: coder((0.0, 0.0), (1.0, -1.0)), "high is [1.0, -1.0]; every entry should be above that of low"),
    (lambda: coder((0.0, 0.0), (1.0, 1e-50)), "high is [1.0, 1e-50]; it should be above low by more than 1e-50"),
    (lambda: coder(tiles_per_side="a"), "tiles_per_side is 'a'; it should be an array of real numbers"),
    (lambda: coder(tiles_per_side=[2, 2]), "tiles_per_side has shape (2,); it should have shape (1,)"),
    (lambda: coder(tiles_per_side=[[2]]), "tiles_per_side has shape (1, 1); it should have shape (1,)"),
    (lambda: coder(tiles_per_side=0), "tiles_per_side is 0; it should be whole and at least 1"),
    (lambda: coder(tiles_per_side=1.5), "tiles_per_side is 1.5; it should be whole and at least 1"),
    (lambda: coder((0, 0), (1, 1), tiles_per_side=[2, 0]),
     "tiles_per_side is [2, 0]; it should be whole and at least 1"),
    (lambda: coder(tiles_per_side=2**50), f"tiles_per_side is {2**50}; it should be below 2**53 / tilings"),
    (lambda: coder((0, 0), (1, 1), tiles_per_side=[1, 2**53], tilings=1),
     f"tiles_per_side is [1, {2**53}]; it should be below 2**53 / tilings"),
    (lambda: coder(actions=0), "actions is 0; it should be at least 1"),
    (lambda: coder(tilings=0), "tilings is 0; it should be at least 1"),
    (lambda: coder(size=0), "size is 0; it should be at least 1"),
    (lambda: coder(size=2**31 + 1), f"size is {2**31 + 1}; {TOO_MANY}"),
    (lambda: coder(actions=3, size=2**30), f"actions is 3; {TOO_MANY}"),
    (lambda: coder(actions=3, size=1, tilings=2**30), f"tilings is {2**30}; {TOO_MANY}"),
    (lambda: coder()([0.5, 0.5]), "state has shape (2,); it should have shape (1,)"),
    (lambda: coder()(["a"]), "state is ['a']; it should be an array of real numbers"),
    (lambda: coder()([np.nan]), "state is nan at (0,); every entry should be finite"),
    (lambda: coder()(np.array([1e51])), "state reaches 1e+51 in size; every entry should be at most 1e+50"),
    (lambda: coder((0, 0), (1, 1)).active(np.array([0.5, np.inf])),
     "state is inf at (1,); every entry should be finite"),
    (lambda: coder().peek(np.array([np.nan])), "state is nan at (0,); every entry should be finite"),
    (lambda: coder().peek(np.array([0.5, 0.5])), "state has shape (2,); it should have shape (1,)"),
    (lambda: coder()(np.array(["a"])), "state is array(['a'], dtype='<U1'); it should be an array of real numbers"),
    (lambda: met([[0, 1]]), "tiles has shape (1, 2); it should have shape (any, 3)"),
    (lambda: met([[0, 1, 0], [0, 1, 0]]), f"tiles is [[0, 1, 0], [0, 1, 0]]; {NOT_MET}"),
    (lambda: met([[0, 1, 0], [1, 1, 0]], size=1), f"tiles is [[0, 1, 0], [1, 1, 0]]; {NOT_MET}"),
    (lambda: met([[0, 1.5, 0]]), f"tiles is [[0, 1.5, 0]]; {NOT_MET}"),
    (lambda: met([[0, -1, 0]]), f"tiles is [[0, -1, 0]]; {NOT_MET}"),
    (lambda: met([[0, 2**54, 0]]), f"tiles is [[0, {2**54}, 0]]; {NOT_MET}"),
    (lambda: met([[0, 0, 0]])._meet([[1, 0, 0]]), f"tiles is [[1, 0, 0]]; {NOT_MET}"),
    (lambda: met([[0, 0, 0]], -1), f"overfull is -1; it should be from 0 to {2**53}"),
    (lambda: met([[0, 0, 0]], 2**53 + 1), f"overfull is {2**53 + 1}; it should be from 0 to {2**53}"),
    (lambda: TableCoder(0, 2), "sizes is 0; it should be at least 1"),
    (lambda: TableCoder((3, 0), 2), "sizes is 0; it should be at least 1"),
    (lambda: TableCoder((), 2), "sizes is (); it should have an entry"),
    (lambda: TableCoder(np.array([]), 2), "sizes is array([], dtype=float64); it should have an entry"),
    (lambda: TableCoder(np.array([[2]]), 2), "sizes is array([[2]]); it should be a whole number"),
    (lambda: TableCoder(2.0, 2), "sizes is 2.0; it should be a whole number"),
    (lambda: TableCoder(2, 0), "actions is 0; it should be at least 1"),
    (lambda: TableCoder(2, 2, first=0.5), "first is 0.5; it should be a whole number"),
    (lambda: TableCoder(2, 2, first=[]), "first is []; it should have an entry"),
    (lambda: TableCoder((3, 2), 2, first=(0, 0, 0)),
     "first is (0, 0, 0); it should have one entry, or one for each of sizes"),
    (lambda: TableCoder(2, 2, first=(0, 1)), "first is (0, 1); it should have one entry, or one for each of sizes"),
    (lambda: TableCoder(2**29 + 1, 2), f"sizes is {2**29 + 1}; {TOO_MANY}"),
    (lambda: TableCoder((2**15, 2**15), 2), f"sizes is (32768, 32768); {TOO_MANY}"),
    (lambda: TableCoder((3, 2), 2)(1), "state is 1; it should have 2 whole numbers"),
    (lambda: TableCoder(3, 2)((1, 1)), "state is (1, 1); it should have 1 whole numbers"),
    (lambda: TableCoder(3, 2)(0.5), "state is np.float64(0.5); it should be a whole number"),
    (lambda: TableCoder(3, 2)(3), "state is 3; it should be from 0 to 2"),
    (lambda: TableCoder(3, 2)(-1), "state is -1; it should be from 0 to 2"),
    (lambda: TableCoder((3, 2), 2, first=(5, 1))((5, 0)), "state is 0; it should be from 1 to 2"),
    (lambda: TableCoder((3, 2), 2, first=(5, 1)).peek((8, 1)), "state is 8; it should be from 5 to 7"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "told"), OF_A_CODER, ids=[told for _, told in OF_A_CODER])
def test_a_coder_says_in_full_what_it_refuses(call, told):
    with pytest.raises(ValueError, match=f"^{re.escape(told)}$"):
        call()


def test_a_coder_takes_what_lies_just_within_its_limits():
    assert coder(high=(1.1e-50,)).high.tolist() == [1.1e-50]
    assert coder(tiles_per_side=2**50 - 1).tiles_per_side.tolist() == [2**50 - 1]
    assert coder(size=2**31).size == coder(actions=2, size=2**30).actions * 2**30 == 2**31
    assert coder(actions=2, size=1, tilings=2**30).tilings == 2**30
    assert met([[0, 2**53, 0], [1, 0, 0]], 2**53, size=2).tiles_met.tolist() == [
        [0, 2**53, 0],
        [1, 0, 0],
    ]
    assert TableCoder(2**29, 2).size == 2**30
    assert TableCoder((1, 1), 1)((0, 0)).tolist() == [[1.0]]
    assert (coder([0.0], [3.0]).active([1e50]) == [range(8)]).all()


def test_a_coder_has_the_defaults_that_its_signature_shows():
    assert (
        repr(CODER)
        == "TileCoder(2 dimensions, 2 actions, 8 tilings of 8×8 tiles, 0 of 4096 features in use)"
    )
    assert TableCoder((3, 2), 1).first == (0, 0)
    assert TableCoder((3, 2), 1, first=4).first == (4, 4)
    assert repr(TableCoder([3, 2], 4)) == "TableCoder(3×2 states, 4 actions)"


def test_a_coder_keeps_its_own_copy_of_the_box():
    low = np.zeros(2)
    kept = TileCoder(low, [1.0, 1.0], 1)
    low[:] = 0.5
    assert kept.low.tolist() == [0.0, 0.0]
    for array in (kept.low, kept.high, kept.tiles_per_side):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0.5


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int32, np.uint8, bool, list])
def test_a_state_may_have_any_kind_of_number(kind):
    state = [1, 0] if kind is list else np.array([1, 0], dtype=kind)
    key, point = CODER._key(state)
    assert point.dtype == np.float64
    assert point.tolist() == [1.0, 0.0]
    assert key == np.array([1.0, 0.0]).tobytes()
    assert point is not state


def test_a_table_numbers_states_as_numpy_does():
    sizes, first = (3, 2, 4), (5, 0, -2)
    table = TableCoder(sizes, 3, first=first)
    assert table.size == 72
    for index, where in enumerate(np.ndindex(sizes)):
        state = np.add(where, first)
        for same in (state, tuple(state), state.tolist()):
            assert table.active(same).tolist() == [[3 * index], [3 * index + 1], [3 * index + 2]]
        assert table._key(state) == (index, index)
        np.testing.assert_array_equal(table(state), np.eye(72)[3 * index : 3 * index + 3])
    assert TableCoder(np.array([2, 2]), 1).active((True, np.True_)).tolist() == [[3]]


def test_a_table_of_tiles_grows_and_forgets_none():
    one, many = (coder(actions=2, tiles_per_side=600, tilings=4, size=8192) for _ in range(2))
    assert (len(one._keys), len(one._slots)) == (1024, 2048)
    points = np.linspace(0.0, 1.0, 700)[:, None]
    rows = [one.active(point).tolist() for point in points]
    assert 4 * 1024 < one.used <= 8192
    assert (
        len(np.unique(one.tiles_met, axis=0)) == one.used == len(one.tiles_met) == 1 + np.max(rows)
    )
    many._meet(one.tiles_met)
    assert [many.active(point).tolist() for point in points] == rows
    assert [one.active(point).tolist() for point in points] == rows
    assert many.used == one.used
    assert 4 * len(one._keys) > len(one._slots) >= 2 * len(one._keys) >= 2 * one.used
    assert (one._slots > 0).sum() == one.used


def test_tiles_that_were_met_are_numbered_first_and_a_warning_is_not_repeated():
    known = met([], size=2)
    assert (known.used, known.overfull, known._warned) == (0, 0, False)
    known = met([[1, 0, 0], [0, 0, 0]], tilings=2, size=2)
    assert (known.used, known.overfull, known._warned) == (2, 0, False)
    assert known.active([0.0]).tolist() == [[1, 0]]
    told = "size is 2, and more tiles than that were met; from now on they share features"
    with pytest.warns(UserWarning, match=f"^{told}$"):
        known([1.0])
    again = met([[1, 0, 0], [0, 0, 0]], known.overfull, tilings=2, size=2)
    assert again.active([1.0]).tolist() == known.active([1.0]).tolist()
    assert again.overfull == known.overfull == 4
    assert met([[0, 0, 0]], 1)._warned is True


def test_what_coders_share_has_no_features_of_its_own():
    for call in (lambda: Coder()._key(0), lambda: Coder()._found(0, peek=True)):
        with pytest.raises(NotImplementedError):
            call()
