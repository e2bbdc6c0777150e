"""Tile coding: the numbers of tiles3, and the look-up tables that repeat them."""

import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gqlib import rltoolkit, tiles3
from gqlib.control import tile_tables
from gqlib.control.tile_tables import make_coder, make_memory, scaled, tile_table
from gqlib.seeds import HASH, generator
from gqlib.tiles3 import IHT, tiles, tileswrap

ORACLE = json.loads((Path(__file__).parents[1] / "oracles" / "tiles3.json").read_text())["tiles3"]
CONFIGURATIONS = [(kind, name) for kind, outputs in ORACLE["outputs"].items() for name in outputs]


def test_line_of_suttons_own_test():
    assert tiles(500, 16, [0.3, 0.4, 0.5], [3, 6, 7]) == ORACLE["sutton_test_line"]["cpython>=3.8"]


@pytest.mark.parametrize(("kind", "name"), CONFIGURATIONS)
def test_reference_indices_of_the_state_box(kind, name):
    size, tilings = (int(part) for part in name.removeprefix("mem").split("_tilings"))
    memory = size if kind == "int" else IHT(size)
    got = [tiles(memory, tilings, scaled(x, v), [a]) for x, v, a in ORACLE["inputs_x_v_a"]]
    assert got == ORACLE["outputs"][kind][name]


def test_index_table_numbers_tiles_as_they_come_and_hashes_when_full():
    table = IHT(3)
    assert [table.getindex(t) for t in ("a", "b", "a", "c")] == [0, 1, 0, 2]
    assert (table.fullp(), table.count(), table.overfullCount) == (True, 3, 0)
    assert table.getindex("d", readonly=True) is None
    assert table.getindex((7, 7)) == hash((7, 7)) % 3
    assert (table.getindex("b"), table.overfullCount) == (1, 1)
    assert [table.getindex((k,)) for k in (1, 2)] == [hash((k,)) % 3 for k in (1, 2)]
    assert str(table) == "Collision table: size:3 overfullCount:3 dictionary:3 items"


def test_coordinates_without_a_memory_worked_by_hand():
    # floor(4 * 0.3) = 1, floor(4 * -0.3) = -2; the tilings are displaced by (t, 3t) quarters of a tile.
    assert tiles(None, 4, [0.3, -0.3], [5]) == [
        [0, 0, -1, 5],
        [1, 0, 0, 5],
        [2, 0, 1, 5],
        [3, 1, 1, 5],
    ]


def test_wrapping_worked_by_hand():
    # Displacements are taken modulo one tile: 3t mod 4 = 0, 3, 2, 1 quarters.
    assert tileswrap(None, 4, [0.3, -0.3], [None, 3]) == [
        [0, 0, 2],
        [1, 0, 0],
        [2, 0, 0],
        [3, 1, 2],
    ]
    assert tileswrap(None, 4, [0.3, -0.3], []) == [[0, 0, -1], [1, 0, 0], [2, 0, 0], [3, 1, -1]]
    assert tileswrap(None, 4, [0.3, -0.3], [False]) == tileswrap(None, 4, [0.3, -0.3], [None, 0])


@given(st.floats(-50, 50), st.integers(-3, 3), st.integers(1, 16))
def test_wrapped_coordinates_have_the_period(x, periods, tilings):
    # On a grid of 2**-10, so that adding a period does not round.
    x = round(x * 1024) / 1024
    assert tileswrap(None, tilings, [x], [5]) == tileswrap(None, tilings, [x + 5 * periods], [5])


@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=4), st.integers(1, 16))
def test_one_tile_per_tiling_and_a_move_of_one_tile_changes_all(floats, tilings):
    floats = [round(f * 1024) / 1024 for f in floats]
    here = tiles(None, tilings, floats)
    there = tiles(None, tilings, [floats[0] + 1, *floats[1:]])
    assert [c[0] for c in here] == list(range(tilings))
    assert all(b[1] - a[1] == 1 and b[2:] == a[2:] for a, b in zip(here, there, strict=True))


@pytest.mark.parametrize(
    ("p", "tilings", "memory"),
    [
        (512, 8, "int"),
        (2048, 8, "int"),
        (512, 8, "iht"),
        (2048, 8, "iht"),
        (300, 5, "int"),
        (1024, 16, "iht"),
    ],
)
def test_table_gives_the_indices_of_the_coder(p, tilings, memory):
    table, store = tile_table(p, tilings, memory), make_memory(memory, p, tilings)
    rng, index_rows = np.random.default_rng(6), table.index_rows()
    states = list(zip(rng.uniform(-1.2, 0.5, 300), rng.uniform(-0.07, 0.07, 300), strict=True))
    # Edges, and the last double before each: the hardest states.
    x, v = table.edges_x[1:-1], table.edges_v[1:-1]
    before = zip(np.nextafter(x, -9), np.nextafter(v, -9), strict=True)
    states += (
        [*zip(x, v, strict=True), *before, (-1.2, -0.07), (0.5, 0.07)] if len(x) == len(v) else []
    )
    for position, velocity in states:
        features = []
        for action in range(3):
            indices = tiles(store, tilings, scaled(position, velocity), [action])
            assert table.indices(position, velocity, action) == indices
            first = action * tilings
            assert (
                index_rows[table.cell(position, velocity), first : first + tilings].tolist()
                == indices
            )
            features.append(np.bincount(indices, minlength=p))
        products = table.rows[table.cell(position, velocity), 3 * tilings : 3 * tilings + 6]
        pairs = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
        assert products.tolist() == [features[a] @ features[b] for a, b in pairs]


@pytest.mark.parametrize(("tilings", "tiles_of_three_actions"), [(8, 1944), (16, 3888)])
def test_number_of_tiles_in_the_box(tilings, tiles_of_three_actions):
    expected = ORACLE["distinct_tiles_in_state_space"][str(tilings)]["three_actions"]
    assert expected == tiles_of_three_actions
    assert len(tile_table(4096, tilings, "iht").used) == tiles_of_three_actions


def test_collisions_of_each_memory():
    assert len(tile_table(2048, 8, "iht").used) == 1944  # no collision
    assert len(tile_table(1024, 8, "iht").used) == 1024  # full
    assert len(tile_table(2048, 8, "int").used) == 1136  # the 1944 tiles share 1136 indices


@pytest.mark.parametrize("memory", ["int", "salted"])
def test_another_tuple_hash_is_refused(monkeypatch, memory):
    monkeypatch.setattr(tile_tables, "TUPLE_HASH", 1)
    told = "tile indices need the tuple hash of 64-bit CPython 3.8 or later"
    with pytest.raises(RuntimeError, match=f"^{re.escape(told)}$"):
        tile_table(511, 7, memory)  # a table that no other test has made


@pytest.mark.parametrize("tilings", [1, 3, 8, 16])
def test_edges_are_the_first_doubles_that_the_coder_tells_from_the_last(tilings):
    table = tile_table(64, tilings)
    for axis, edges, ends in ((0, table.edges_x, (-1.2, 0.5)), (1, table.edges_v, (-0.07, 0.07))):

        def fine(value, axis=axis):
            return int(np.floor(tilings * scaled(value, value)[axis]))

        assert (edges[0], edges[-1]) == (ends[0], np.inf)
        assert [fine(edge) for edge in edges[:-1]] == [*range(fine(ends[0]), fine(ends[1]) + 1)]
        assert [fine(np.nextafter(edge, -9)) for edge in edges[1:-1]] == [
            fine(edge) for edge in edges[:-2]
        ]
    assert len(table.rows) == (len(table.edges_x) - 1) * (len(table.edges_v) - 1)


@pytest.mark.parametrize(
    "tilings", [1, 8, 9, 16]
)  # 9 tilings have 27 + 6 entries, one too many for a cache line
def test_rows_fill_whole_cache_lines_and_are_not_for_writing(tilings):
    table, active = tile_table(512, tilings), 3 * tilings
    assert table.rows.shape[1] == 32 * int(np.ceil((active + 6) / 32))
    assert not table.rows[:, active + 6 :].any()
    assert table.rows[:, :active].max() == len(table.used) - 1
    assert (table.rows.dtype, table.offsets.dtype, table.index_rows().dtype) == (np.uint16,) * 3
    assert (table.p, table.tilings, table.used.dtype) == (512, tilings, np.int64)
    np.testing.assert_array_equal(table.offsets[:, :active], 4 * table.rows[:, :active])
    for same in (table.offsets, table.index_rows()):
        np.testing.assert_array_equal(same[:, active:], table.rows[:, active:])
    assert (table.rows.flags.writeable, table.offsets.flags.writeable) == (False, False)


def test_what_is_not_said_of_a_table_is_eight_tilings_the_plain_hash_and_the_first_run():
    assert tile_table(300) is tile_table(300, 8, "int", seed=5, run=6)
    for memory in ("salted", "rltoolkit"):
        assert tile_table(300, memory=memory) is tile_table(300, 8, memory, seed=0, run=0)
        state, others = scaled(-0.5, 0.01), ({"seed": 1}, {"run": 1})
        first = [make_coder(memory, 300, 8)(state, a) for a in range(3)]
        assert first == [make_coder(memory, 300, 8, seed=0, run=0)(state, a) for a in range(3)]
        assert all(
            first != [make_coder(memory, 300, 8, **other)(state, a) for a in range(3)]
            for other in others
        )


def test_the_salt_of_a_run_is_one_more_coordinate_of_each_tile():
    salt, state = int(generator(3, 4, HASH).integers(2**31)), scaled(-0.5, 0.01)
    assert make_coder("salted", 300, 5, seed=3, run=4)(state, 2) == tiles(300, 5, state, [2, salt])
    numbers = rltoolkit.random_table(generator(3, 4, HASH))
    wanted = rltoolkit.get_tiles(5, state, [2], size=300, table=numbers)
    assert make_coder("rltoolkit", 300, 5, seed=3, run=4)(state, 2) == wanted


def test_wrapped_tiles_go_through_the_same_memory():
    table = IHT(50)
    seen = tileswrap(table, 4, [0.3, -0.3], [None, 3], [5])
    assert seen == [0, 1, 2, 3]
    assert table.count() == 4
    assert (
        tileswrap(table, 4, [0.3, 2.7], [None, 3], [5], readonly=True) == seen
    )  # a period further
    assert tileswrap(IHT(50), 4, [0.3, -0.3], [None, 3], readonly=True) == [None] * 4
    coordinates = tileswrap(None, 4, [0.3, -0.3], [None, 3], [5])
    assert tileswrap(64, 4, [0.3, -0.3], [None, 3], [5]) == [
        hash(tuple(c)) % 64 for c in coordinates
    ]


@pytest.mark.parametrize("memory", ["salted", "rltoolkit"])
def test_tables_that_are_drawn_hold_what_their_coder_says_and_differ_from_run_to_run(memory):
    rng = np.random.default_rng(8)
    tables = [tile_table(512, 8, memory, seed=3, run=run) for run in range(3)]
    for run, table in enumerate(tables):
        code = make_coder(memory, 512, 8, seed=3, run=run)
        for x, v, a in rng.random((60, 3)) * (1.7, 0.14, 3) - (1.2, 0.07, 0):
            assert table.indices(x, v, int(a)) == code(scaled(x, v), int(a))
    # Places are numbered as they first occur, so rows are equal only if the same tiles collide.
    assert not np.array_equal(tables[0].rows, tables[1].rows)
    assert tile_table(512, 8, memory, seed=3, run=1) is tables[1]


INTEGERS = (
    st.integers(-(2**70), 2**70)
    | st.integers(-9, 9)
    | st.sampled_from([2**61 - 1, 1 - 2**61, 2**61 - 2])
)


@pytest.mark.skipif(sys.hash_info.width != 64, reason="the hash to compare with has 64 bits")
@given(st.lists(INTEGERS, max_size=6).map(tuple))
def test_plain_hash_of_a_tile_is_that_of_python(tile):
    assert tiles3._long_tuple_hash(tile) == hash(tile)
