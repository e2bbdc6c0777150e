"""The tile coder before tiles3: its reference indices, its geometry, and what its additive hash does."""

import json
from fractions import Fraction
from math import gcd
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gqlib.rltoolkit import get_tiles, hash_tile, hash_tiles, random_table, tile_coordinates

ORACLE = json.loads((Path(__file__).parents[1] / "oracles" / "rltoolkit_tiles.json").read_text())[
    "rltoolkit_tiles"
]
TABLE = random_table(Random(0))
DYADIC = st.integers(-(2**13), 2**13).map(
    lambda n: n / 2**10
)  # exact in steps of every tiling used below
TILINGS = st.sampled_from([1, 2, 4, 8, 16])


def slow_hash(coordinates, size, table):
    """The sum in Python's integers, of places that are moved into the table."""
    return sum(int(table[(c + 449 * k) % 2048]) for k, c in enumerate(coordinates)) % size


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


def test_table_is_the_one_of_the_reference():
    assert TABLE.shape == (2048,)
    assert TABLE.dtype == np.int64
    assert TABLE[:8].tolist() == ORACLE["random_table_first_8"]
    assert int(TABLE.sum()) == ORACLE["random_table_sum"]


def test_table_comes_from_the_generator_handed_in():
    rng, below = np.random.default_rng(5), 2**29 - 1
    first, second = random_table(rng), random_table(rng)
    assert (first == random_table(np.random.default_rng(5))).all()
    assert (first != second).any()
    assert (first.shape, first.dtype) == ((2048,), np.int64)
    assert 0 <= first.min() < 0.01 * below < 0.99 * below < first.max() < below


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


def test_small_cases():
    assert get_tiles(4, [0.3, 7.1], size=1, table=TABLE) == [0, 0, 0, 0]
    assert get_tiles(1, [], size=2**29, table=TABLE) == [int(TABLE[0])]
    assert tile_coordinates(3, [], [5]).tolist() == [[0, 5], [1, 5], [2, 5]]
    assert tile_coordinates(1, [-0.5]).tolist() == [[-1, 0]]
    # The largest floats: 2**53 steps, in which neighbours still differ by one.
    assert tile_coordinates(8, [2.0**50]).tolist()[0] == [2**53, 0]
    assert tile_coordinates(8, [-(2.0**50)]).tolist()[3] == [-(2**53) - 5, 3]
