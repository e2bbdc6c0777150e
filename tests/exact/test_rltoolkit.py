"""The tile coder before tiles3: its reference indices, its geometry, and what its additive hash does."""

import json
import time
from fractions import Fraction
from itertools import product
from math import gcd
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gqlib import _validate as check
from gqlib.rltoolkit import get_tiles, hash_tile, hash_tiles, random_table, tile_coordinates

ORACLE = json.loads((Path(__file__).parents[1] / "oracles" / "rltoolkit_tiles.json").read_text())[
    "rltoolkit_tiles"
]
TABLE = random_table(Random(0))
DYADIC = st.integers(-(2**13), 2**13).map(
    lambda n: n / 2**10
)  # exact in steps of every tiling used below
TILINGS = st.sampled_from([1, 2, 4, 8, 16])


def in_tile_widths(x, v):
    """The scaling that the reference file states."""
    return [x / (1.7 / 8), v / (0.14 / 8)]


def slow_coordinates(tilings, floats, ints):
    """Tiles by walking down to the edge: fractions, one step at a time, no remainder of a negative number."""
    base, found = [0] * len(floats), []
    for tiling in range(tilings):
        edges = []
        for f, b in zip(floats, base, strict=True):
            edge = b  # an edge of this tiling; move it by whole tiles until the point is in [edge, edge + K)
            point = Fraction(f) * tilings
            while point < edge:
                edge -= tilings
            while point >= edge + tilings:
                edge += tilings
            edges.append(edge)
        found.append([*edges, tiling, *ints])
        base = [b + odd for b, odd in zip(base, range(1, 2 * len(base), 2), strict=True)]
    return found


def slow_hash(coordinates, size, table):
    """The sum with a remainder at every step and a place that is moved into the table by hand."""
    total, offset = 0, 0
    for coordinate in coordinates:
        place = coordinate + offset
        while place < 0:
            place += 2048
        while place > 2047:
            place -= 2048
        total = (total + int(table[place])) % size
        offset += 449
    return total


def test_table_is_the_one_of_the_reference():
    assert TABLE.shape == (2048,)
    assert TABLE.dtype == np.int64
    assert TABLE[:8].tolist() == ORACLE["random_table_first_8"]
    assert int(TABLE.sum()) == ORACLE["random_table_sum"]


def test_table_comes_from_the_generator_handed_in():
    rng = np.random.default_rng(5)
    first, second = random_table(rng), random_table(rng)
    assert (first == random_table(np.random.default_rng(5))).all()
    assert (first != second).any()
    assert first.shape == (2048,)
    assert first.dtype == np.int64
    # Uniform below 2**29 - 1: the mean within four standard errors, the extremes near the ends.
    below = 2**29 - 1
    assert abs(first.mean() / below - 0.5) < 4 / np.sqrt(12 * 2048)
    assert 0 <= first.min() < 0.01 * below
    assert 0.99 * below < first.max() < below


def test_reference_file_has_what_is_tested():
    assert {len(rows) for rows in ORACLE["int"].values()} == {len(ORACLE["inputs_x_v_a"])} == {20}
    assert set(ORACLE["int"]) == {"mem512_tilings8", "mem1024_tilings8", "mem2048_tilings8"}


@pytest.mark.parametrize("name", ORACLE["int"])
def test_reference_indices(name):
    size, tilings = (int(part) for part in name.removeprefix("mem").split("_tilings"))
    for (x, v, action), expected in zip(ORACLE["inputs_x_v_a"], ORACLE["int"][name], strict=True):
        floats = in_tile_widths(x, v)
        assert get_tiles(tilings, floats, [action], size=size, table=TABLE) == expected
        rows = tile_coordinates(tilings, floats, [action])
        assert [hash_tile(row.tolist(), size, TABLE) for row in rows] == expected
        assert [
            slow_hash(row, size, TABLE) for row in slow_coordinates(tilings, floats, [action])
        ] == expected


def test_coordinates_worked_by_hand():
    # K = 4, q = (1, -2, 8); displacements (t, 3t, 5t). For t = 2, 8 - ((8 - 10) mod 4) = 6.
    expected = [[0, -4, 8, 0, 7], [1, -5, 5, 1, 7], [-2, -2, 6, 2, 7], [-1, -3, 7, 3, 7]]
    coordinates = tile_coordinates(4, [0.3, -0.4, 2.0], [7])
    assert coordinates.tolist() == expected
    assert coordinates.dtype == np.int64


@given(
    TILINGS,
    st.lists(DYADIC, max_size=4),
    st.lists(st.integers(-3000, 3000), max_size=2),
    st.integers(1, 5000),
)
def test_agrees_with_the_slow_coder(tilings, floats, ints, size):
    expected = slow_coordinates(tilings, floats, ints)
    assert tile_coordinates(tilings, floats, ints).tolist() == expected
    indices = [slow_hash(row, size, TABLE) for row in expected]
    assert get_tiles(tilings, floats, ints, size=size, table=TABLE) == indices


@pytest.mark.parametrize("tilings", [3, 5, 6, 12])
def test_numbers_of_tilings_that_are_no_power_of_2(tilings):
    for floats in ([-1.0, 0.5], [0.25, -2.75], [3.5, 0.0]):
        assert tile_coordinates(tilings, floats, [2]).tolist() == slow_coordinates(
            tilings, floats, [2]
        )


@given(TILINGS, st.lists(DYADIC, min_size=1, max_size=3))
def test_tiles_are_as_wide_below_zero_as_above(tilings, floats):
    coordinates = tile_coordinates(tilings, floats)[:, : len(floats)]
    inside = np.array(floats) * tilings - coordinates
    assert ((inside >= 0) & (inside < tilings)).all()
    odd = 1 + 2 * np.arange(len(floats))
    assert ((coordinates - np.arange(tilings)[:, None] * odd) % tilings == 0).all()


@given(TILINGS, DYADIC, DYADIC, st.integers(-300, 300), st.integers(-300, 300))
def test_whole_tiles_move_the_coordinates_by_whole_tiles(tilings, x, y, m, n):
    here, there = (
        tile_coordinates(tilings, [x, y], [1]),
        tile_coordinates(tilings, [x + m, y + n], [1]),
    )
    assert (there - here == [m * tilings, n * tilings, 0, 0]).all()


@pytest.mark.parametrize("tilings", [4, 6, 8, 16])
def test_space_closes_where_the_table_does(tilings):
    period = 2048 // gcd(tilings, 2048)
    call = {"size": 2**20, "table": TABLE}
    here = get_tiles(tilings, [0.25, -0.75], [1], **call)
    assert get_tiles(tilings, [0.25 + period, -0.75 - 3 * period], [1], **call) == here
    for tiles in range(1, period):
        assert get_tiles(tilings, [0.25 + tiles, -0.75], [1], **call) != here


@given(
    st.lists(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=3, max_size=3), min_size=1),
    st.integers(1, 2**32),
)
def test_hash_of_many_is_the_hash_of_each(rows, size):
    found = hash_tiles(rows, size, TABLE)
    assert found.shape == (len(rows),)
    assert found.dtype == np.int64
    assert found.tolist() == [hash_tile(row, size, TABLE) for row in rows]


@pytest.mark.parametrize(
    "kind", [np.int8, np.uint8, np.int16, np.int32, np.uint32, np.int64, np.uint64]
)
def test_hash_takes_whole_numbers_of_every_width(kind):
    ends = np.iinfo(kind)
    rows = np.array([[0, ends.max], [ends.max, 1], [ends.min, ends.min]], dtype=kind)
    assert hash_tiles(rows, 997, TABLE).tolist() == [
        hash_tile([int(c) for c in row], 997, TABLE) for row in rows
    ]


def test_largest_table_and_memory_do_not_overflow():
    table = np.full(2048, 2**32 - 1, dtype=np.uint64)
    rows = np.zeros((2, 4096), dtype=np.int64)
    assert hash_tiles(rows, 2**32, table).tolist() == [4096 * (2**32 - 1) % 2**32] * 2


def test_an_action_shifts_every_index_by_the_same_number():
    rng = np.random.default_rng(7)
    points = rng.uniform(-6, 4, (200, 2))
    for action in (1, 2):
        shift = int(TABLE[3 * 449 + action]) - int(TABLE[3 * 449])
        for point in points:
            plain = get_tiles(8, point, [0], size=512, table=TABLE)
            assert get_tiles(8, point, [action], size=512, table=TABLE) == [
                (i + shift) % 512 for i in plain
            ]


def test_actions_whose_entries_agree_share_every_tile():
    table = TABLE.copy()
    table[3 * 449 + 1] = table[3 * 449] + 5 * 512
    for point in np.random.default_rng(8).uniform(-6, 4, (50, 2)):
        here, other, third = (get_tiles(8, point, [a], size=512, table=table) for a in range(3))
        assert here == other != third


@pytest.mark.parametrize("tilings", [4, 8, 6])
def test_grids_are_those_of_tiles3_in_another_order(tilings):
    points = np.random.default_rng(9).uniform(-3, 3, (400, 2))
    here = np.array([tile_coordinates(tilings, point)[:, :2] for point in points])
    q = np.floor(points * tilings).astype(np.int64)
    for t in range(tilings):
        there = (
            q + (-t % tilings) * np.array([1, 3])
        ) // tilings  # floor((q + b) / K), as tiles3 has it
        pairs = {
            (tuple(a), tuple(b)) for a, b in zip(here[:, t].tolist(), there.tolist(), strict=True)
        }
        assert len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs})


def box_of_the_car(tilings):
    """All tiles of the mountain car's box from the two formulas of the notes, columns x, v, tiling, action."""
    q_x = range(int(np.floor(8 * -1.2 / 1.7 * tilings)), int(np.floor(8 * 0.5 / 1.7 * tilings)) + 1)
    q_v = range(-4 * tilings, 4 * tilings + 1)
    tiles = []
    for t in range(tilings):
        edges_x = sorted({q - (q - t) % tilings for q in q_x})
        edges_v = sorted({q - (q - 3 * t) % tilings for q in q_v})
        tiles += list(product(edges_x, edges_v, [t], range(3)))
    return np.array(tiles)


def test_box_of_the_car_is_as_described():
    box = box_of_the_car(8)
    assert len(box) == 1944
    assert (box[:, 0].min(), box[:, 0].max()) == (-53, 18)
    assert (box[:, 1].min(), box[:, 1].max()) == (-39, 32)
    assert [np.floor(8 * 8 * x / 1.7) for x in (-1.2, 0.5)] == [-46, 18]
    assert [np.floor(8 * 8 * v / 0.14) for v in (-0.07, 0.07)] == [-32, 32]
    known = {tuple(row) for row in box.tolist()}
    seen = set()
    for x in np.linspace(-1.2, 0.5, 150):
        for v in np.linspace(-0.07, 0.07, 150):
            seen |= {
                tuple(row) for row in tile_coordinates(8, [8 * x / 1.7, 8 * v / 0.14], [2]).tolist()
            }
    assert seen == {row for row in known if row[3] == 2}


@pytest.mark.parametrize(("tilings", "disjoint"), [(8, True), (32, True), (64, False)])
def test_parts_of_the_table_that_the_box_of_the_car_reads(tilings, disjoint):
    places = (box_of_the_car(tilings) + 449 * np.arange(4)) % 2048
    parts = [set(column.tolist()) for column in places.T]
    assert (len(set.union(*parts)) == sum(len(part) for part in parts)) is disjoint


def test_two_thousand_tiles_take_less_than_a_millisecond():
    box = np.resize(box_of_the_car(8), (2000, 4))
    durations = []
    for _ in range(50):
        start = time.perf_counter()
        hash_tiles(box, 1024, TABLE)
        durations.append(time.perf_counter() - start)
    assert min(durations) < 1e-3


def test_room_is_that_of_the_whole_result(monkeypatch):
    monkeypatch.setattr(check, "ROOM", 40)
    assert tile_coordinates(10, [0.1, 0.2], [1]).size == 40
    monkeypatch.setattr(check, "ROOM", 39)
    with pytest.raises(ValueError, match=r"^num_tilings is 10; it should be smaller"):
        tile_coordinates(10, [0.1, 0.2], [1])


def test_entries_of_a_table_at_the_ends_of_their_range():
    table = np.zeros(2048, dtype=np.int64)
    assert hash_tile([5], 2**32, table) == 0
    table[5] = 2**32 - 1
    assert hash_tile([5], 2**32, table) == 2**32 - 1
    for wrong in (-1, 2**32):
        table[5] = wrong
        with pytest.raises(
            ValueError,
            match=f"^table has the entry {wrong}; every entry should be from 0 to 4294967295",
        ):
            hash_tile([5], 2**32, table)


def test_inputs_stay_as_they_were():
    table, rows = TABLE.copy(), np.array([[-5, 3], [2, 1]])
    table.setflags(write=False)
    rows.setflags(write=False)
    hash_tiles(rows, 10, table)
    assert (table == TABLE).all()
    assert rows.tolist() == [[-5, 3], [2, 1]]


def test_small_cases():
    assert get_tiles(4, [0.3, 7.1], size=1, table=TABLE) == [0, 0, 0, 0]
    assert get_tiles(1, [], size=2**29, table=TABLE) == [int(TABLE[0])]
    assert tile_coordinates(3, [], [5]).tolist() == [[0, 5], [1, 5], [2, 5]]
    assert tile_coordinates(1, [-0.5]).tolist() == [[-1, 0]]
    # The largest floats: 2**53 steps, in which neighbours still differ by one.
    assert tile_coordinates(8, [2.0**50]).tolist()[0] == [2**53, 0]
    assert tile_coordinates(8, [-(2.0**50)]).tolist()[3] == [-(2**53) - 5, 3]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: random_table(0), r"^rng is 0; it should be a Generator or Random"),
        (lambda: random_table(np.random.RandomState(0)), r"^rng is RandomState"),
        (lambda: random_table(None), r"^rng is None"),
        (lambda: tile_coordinates(0, [0.1]), r"^num_tilings is 0; it should be at least 1"),
        (
            lambda: tile_coordinates(2.0, [0.1]),
            r"^num_tilings is 2\.0; it should be a whole number",
        ),
        (lambda: tile_coordinates(True, [0.1]), r"^num_tilings is True"),
        (
            lambda: tile_coordinates(2**31, [0.1]),
            r"^num_tilings is 2147483648; it should be smaller",
        ),
        (lambda: tile_coordinates(8, 0.1), r"^floats is 0\.1; it should be a sequence of numbers"),
        (lambda: tile_coordinates(8, "ab"), r"^floats is 'ab'"),
        (lambda: tile_coordinates(8, {0: 0.1}), r"^floats is \{0: 0\.1\}"),
        (lambda: tile_coordinates(8, {0.1}), r"^floats is \{0\.1\}"),
        (
            lambda: tile_coordinates(8, np.array(0.1)),
            r"^floats is array\(0\.1\); it should be a sequence",
        ),
        (lambda: tile_coordinates(8, range(2**70)), r"^floats is range"),
        (lambda: tile_coordinates(8, list), r"^floats is <class 'list'>"),
        (lambda: tile_coordinates(8, [[0.1]]), r"^floats is \[0\.1\]; it should be a real number"),
        (lambda: tile_coordinates(8, [np.nan]), r"^floats is nan; it should be finite"),
        (lambda: tile_coordinates(8, [np.inf]), r"^floats is inf; it should be finite"),
        (lambda: tile_coordinates(8, ["1"]), r"^floats is '1'"),
        (
            lambda: tile_coordinates(8, [2.0**50 * 1.001]),
            r"^floats is .*; it should be at most 1\.1259e\+15 in size",
        ),
        (lambda: tile_coordinates(8, [0.1], 3), r"^ints is 3; it should be a sequence of numbers"),
        (lambda: tile_coordinates(8, [0.1], [0.5]), r"^ints is 0\.5; it should be a whole number"),
        (lambda: tile_coordinates(8, [0.1], [True]), r"^ints is True; it should be a whole number"),
        (
            lambda: tile_coordinates(8, [0.1], [2**63]),
            r"^ints is 9223372036854775808; it should be from",
        ),
        (lambda: hash_tile([], 10, TABLE), r"^coordinates is empty"),
        (lambda: hash_tile(3, 10, TABLE), r"^coordinates is 3; it should be a sequence"),
        (lambda: hash_tile([1.0], 10, TABLE), r"^coordinates is 1\.0; it should be a whole number"),
        (lambda: hash_tile([1], 0, TABLE), r"^size is 0; it should be from 1 to 4294967296"),
        (lambda: hash_tile([1], 2**32 + 1, TABLE), r"^size is 4294967297"),
        (
            lambda: hash_tile([1], 10, TABLE[:-1]),
            r"^table has shape \(2047,\); it should have shape \(2048,\)",
        ),
        (
            lambda: hash_tiles([1, 2], 10, TABLE),
            r"^coordinates has shape \(2,\); it should have shape \(any, any\)",
        ),
        (
            lambda: hash_tiles(np.zeros((0, 4), dtype=int), 10, TABLE),
            r"^coordinates has shape \(0, 4\)",
        ),
        (
            lambda: hash_tiles(np.zeros((4, 0), dtype=int), 10, TABLE),
            r"^coordinates has shape \(4, 0\)",
        ),
        (
            lambda: hash_tiles([[1.0]], 10, TABLE),
            r"^coordinates is \[\[1\.0\]\]; it should be an array of whole",
        ),
        (lambda: hash_tiles([[True]], 10, TABLE), r"^coordinates is \[\[True\]\]"),
        (lambda: hash_tiles([[1], [2, 3]], 10, TABLE), r"^coordinates is \[\[1\], \[2, 3\]\]"),
        (lambda: hash_tiles([[2**64]], 10, TABLE), r"^coordinates is .*of at most 64 bits"),
        (lambda: hash_tiles([[1]], 0, TABLE), r"^size is 0"),
        (lambda: hash_tiles([[1]], 2**32 + 1, TABLE), r"^size is 4294967297"),
        (lambda: hash_tiles([[1]], 10.0, TABLE), r"^size is 10\.0"),
        (lambda: hash_tiles([[1]], 10, TABLE[None]), r"^table has shape \(1, 2048\)"),
        (
            lambda: hash_tiles([[1]], 10, TABLE * 1.0),
            r"^table is .*; it should be an array of whole numbers",
        ),
        (lambda: hash_tiles([[1]], 10, None), r"^table is None"),
        (
            lambda: hash_tiles([[1]], 10, TABLE - TABLE.max()),
            r"^table has the entry -\d+; every entry should be from 0",
        ),
        (
            lambda: hash_tiles([[1]], 10, TABLE + 2**32),
            r"^table has the entry \d+; .* to 4294967295",
        ),
        (lambda: get_tiles(8, [0.1], size=0, table=TABLE), r"^size is 0; it should be from 1"),
        (lambda: get_tiles(8, [0.1], size=2**32 + 1, table=TABLE), r"^size is 4294967297"),
        (
            lambda: get_tiles(8, [0.1], size=None, table=TABLE),
            r"^size is None; it should be a whole number",
        ),
        (lambda: tile_coordinates(1, [0.1], [-(2**63) - 1]), r"^ints is -9223372036854775809; "),
        (lambda: tile_coordinates(1, [0.1], [2**63]), r"^ints is 9223372036854775808; "),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
