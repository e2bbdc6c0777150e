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


def test_scaling_is_the_one_of_the_reference_call():
    for x, v, _ in ORACLE["inputs_x_v_a"]:
        assert scaled(x, v) == (8 * x / (0.5 + 1.2), 8 * v / (0.07 + 0.07))


def test_index_table_numbers_tiles_as_they_come_and_hashes_when_full():
    table = IHT(3)
    assert [table.getindex(t) for t in ("a", "b", "a", "c")] == [0, 1, 0, 2]
    assert table.fullp()
    assert table.count() == 3
    assert table.overfullCount == 0
    assert table.getindex((7, 7)) == hash((7, 7)) % 3
    assert table.getindex("b") == 1
    assert table.overfullCount == 1
    assert str(table) == "Collision table: size:3 overfullCount:1 dictionary:3 items"


def test_readonly_leaves_the_table_alone():
    table = IHT(10)
    assert tiles(table, 2, [0.1], readonly=True) == [None, None]
    assert table.count() == 0
    seen = tiles(table, 2, [0.1])
    assert tiles(table, 2, [0.1], readonly=True) == seen
    full = IHT(1)
    full.getindex("a")
    assert full.getindex("b", readonly=True) is None
    assert full.overfullCount == 0


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
    ("call", "message"),
    [
        (lambda: IHT(0), "sizeval is 0"),
        (lambda: tiles(0, 8, [0.1]), "ihtORsize is 0"),
        (lambda: tiles(True, 8, [0.1]), "ihtORsize is True"),
        (lambda: tiles(2.5, 8, [0.1]), "ihtORsize is 2.5"),
        (lambda: tiles(10, 0, [0.1]), "numtilings is 0"),
        (lambda: tiles(10, 8, [np.nan]), "floats is nan"),
        (lambda: tileswrap(10, 8, [0.1], [1, 2]), "wrapwidths has 2 entries"),
        (lambda: tileswrap(10, 8, [0.1], [-1]), "wrapwidths is -1"),
        (lambda: tile_table(0), "p is 0"),
        (lambda: tile_table(70000), "p is 70000"),
        (lambda: tile_table(512, 33), "tilings is 33"),
        (lambda: tile_table(512, 8, "dict"), "memory is 'dict'"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


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


def test_filling_order_is_the_stated_one():
    table, store = tile_table(2048, 8, "iht"), IHT(2048)
    for x in table.edges_x[:-1]:
        for v in table.edges_v[:-1]:
            for action in range(3):
                tiles(store, 8, scaled(x, v), [action])
    assert store.dictionary == make_memory("iht", 2048, 8).dictionary


@pytest.mark.parametrize("memory", ["int", "salted"])
def test_another_tuple_hash_is_refused(monkeypatch, memory):
    monkeypatch.setattr(tile_tables, "TUPLE_HASH", 1)
    told = "tile indices need the tuple hash of 64-bit CPython 3.8 or later"
    with pytest.raises(RuntimeError, match=f"^{re.escape(told)}$"):
        tile_table(511, 7, memory)  # a table that no other test has made


SIZES = {
    "tile_table": lambda p=512, tilings=8: tile_table(p, tilings),
    "table that is drawn": lambda p=512, tilings=8: tile_table(p, tilings, "rltoolkit"),
    "make_memory": lambda p=512, tilings=8: make_memory("int", p, tilings),
    "coder of the plain hash": lambda p=512, tilings=8: make_coder("int", p, tilings),
    "coder with a salt": lambda p=512, tilings=8: make_coder("salted", p, tilings),
    "coder of the toolkit": lambda p=512, tilings=8: make_coder("rltoolkit", p, tilings),
}


@pytest.mark.parametrize("made", SIZES)
def test_sizes_of_memories_have_two_ends_and_a_refusal_names_them(monkeypatch, made):
    for maker in ("_tile_table", "_drawn_table"):  # the largest takes seconds
        monkeypatch.setattr(tile_tables, maker, lambda *given: given)
    make = SIZES[made]
    for name, most in (("p", 65536), ("tilings", 32)):
        assert make(**{name: 1})
        assert make(**{name: most})
        for wrong in (0, most + 1):
            with pytest.raises(
                ValueError, match=f"^{name} is {wrong}; it should be from 1 to {most}$"
            ):
                make(**{name: wrong})
        with pytest.raises(ValueError, match=rf"^{name} is 2\.5; it should be a whole number$"):
            make(**{name: 2.5})


EVERY = "'int', 'iht', 'salted', 'rltoolkit'"
REFUSED = [
    (lambda: tile_table(64, seed=-1), "seed is -1; it should be at least 0"),
    (lambda: tile_table(64, run=-1), "run is -1; it should be at least 0"),
    (lambda: tile_table(64, memory="salted", seed=0.5), "seed is 0.5; it should be a whole number"),
    (lambda: tile_table(64, memory="salted", run=0.5), "run is 0.5; it should be a whole number"),
    (lambda: make_coder("salted", 64, 8, seed=-1), "seed is -1; it should be at least 0"),
    (lambda: make_coder("rltoolkit", 64, 8, run=-1), "run is -1; it should be at least 0"),
    (lambda: tile_table(64, memory="dict"), f"memory is 'dict'; it should be one of {EVERY}"),
    (lambda: make_coder("dict", 64, 8), f"memory is 'dict'; it should be one of {EVERY}"),
    (lambda: make_memory("salted", 64, 8), "memory is 'salted'; it should be one of 'int', 'iht'"),
    (lambda: scaled("left", 0.0), "position is 'left'; it should be a real number"),
    (lambda: scaled(0.0, "slow"), "velocity is 'slow'; it should be a real number"),
]


@pytest.mark.parametrize(
    ("call", "told"), REFUSED, ids=[f"{told[:24]}-{k}" for k, (_, told) in enumerate(REFUSED)]
)
def test_tables_and_coders_say_what_they_expect(call, told):
    with pytest.raises(ValueError, match=f"^{re.escape(told)}$"):
        call()


def test_a_table_knows_the_box_and_nothing_beyond_it():
    table = tile_table(512)
    cells_v = len(table.edges_v) - 1
    assert (table.cell(-1.2, -0.07), table.cell(-1.2, 0.07)) == (0, cells_v - 1)
    assert (table.cell(0.5, -0.07), table.cell(0.5, 0.07)) == (
        len(table.rows) - cells_v,
        len(table.rows) - 1,
    )
    for position in (np.nextafter(-1.2, -2.0), np.nextafter(0.5, 1.0)):
        told = rf"^position is {re.escape(str(position))}; it should be in \[-1\.2, 0\.5\]$"
        with pytest.raises(ValueError, match=told):
            table.cell(float(position), 0.0)
        with pytest.raises(ValueError, match=told):
            table.indices(float(position), 0.0, 0)
    for velocity in (np.nextafter(-0.07, -1.0), np.nextafter(0.07, 1.0)):
        told = rf"^velocity is {re.escape(str(velocity))}; it should be in \[-0\.07, 0\.07\]$"
        with pytest.raises(ValueError, match=told):
            table.cell(0.0, float(velocity))
    for action in (-1, 3):
        with pytest.raises(ValueError, match=f"^action is {action}; it should be from 0 to 2$"):
            table.indices(0.0, 0.0, action)


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


def test_state_is_measured_in_tiles_eight_to_a_side_of_the_box():
    for position, velocity in ((-1.2, -0.07), (0.5, 0.07), (0.0, 0.0), (-0.3, 0.02)):
        assert scaled(position, velocity) == pytest.approx(
            (position / 1.7 * 8, velocity / 0.14 * 8), rel=1e-15
        )


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


def test_in_a_memory_of_one_place_all_tiles_collide():
    table = tile_table(1, 8)
    assert table.used.tolist() == [0]
    assert not table.rows[:, :24].any()
    assert (table.rows[:, 24:30] == 64).all()


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


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: IHT(5).getindex([1, 2]), r"^obj is \[1, 2\]; it should be hashable"),
        (lambda: tiles(10, 8, 0.1), r"^floats is 0\.1; it should be a sequence"),
        (lambda: tiles(10, 8, "ab"), r"^floats is 'ab'"),
        (lambda: tiles(10, 8, {0: 0.1}), r"^floats is \{0: 0\.1\}"),
        (lambda: tiles(10, 8, {0.1}), r"^floats is \{0\.1\}"),
        (lambda: tiles(10, 8, [0.1], 3), r"^ints is 3; it should be a sequence"),
        (lambda: tiles(10, 8, [0.1], [0.5]), r"^ints is 0\.5"),
        (lambda: tiles(10, 8, [0.1], readonly=1), r"^readonly is 1"),
        (lambda: tiles(10, 2**40, [0.1]), r"^numtilings is 1099511627776; it should be smaller"),
        (lambda: tileswrap(10, 8, 0.1, [1]), r"^floats is 0\.1; it should be a sequence"),
        (lambda: tileswrap(10, 8, [0.1], 1), r"^wrapwidths is 1; it should be a sequence"),
        (lambda: tileswrap(10, 8, [0.1], [2.5]), r"^wrapwidths is 2\.5"),
        (
            lambda: tileswrap(10, 8, [0.1], np.array(3)),
            r"^wrapwidths is array\(3\); it should be a sequence",
        ),
        (lambda: tiles(10, 8, np.array(0.1)), r"^floats is array\(0\.1\); it should be a sequence"),
    ],
)
def test_what_is_no_sequence_of_numbers_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int64])
def test_widths_and_integers_of_few_bits_are_numbers_like_others(kind):
    for x in (1000.0, -5.0, 1e30):
        assert tileswrap(None, 4, [x], np.array([3], dtype=kind)) == tileswrap(None, 4, [x], [3])
    assert tiles(None, 4, [0.5], np.array([3], dtype=kind)) == tiles(None, 4, [0.5], [3])


def test_flags_count_as_integers_among_the_coordinates():
    assert tiles(None, 2, [0.1], [True, 0]) == tiles(None, 2, [0.1], [1, False])


def test_a_full_table_counts_every_tile_that_came_too_late():
    table = IHT(1)
    assert table.getindex((0,)) == 0
    assert [table.getindex((k,)) for k in (1, 2, 3)] == [0, 0, 0]
    assert table.overfullCount == 3
    with pytest.raises(ValueError, match=r"^readonly is 1; it should be True or False"):
        table.getindex((0,), 1)


def test_a_memory_of_one_place_holds_everything():
    assert tiles(1, 4, [0.3, 7.1]) == [0, 0, 0, 0]


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


def test_drawn_memories_have_no_table_of_their_own():
    with pytest.raises(ValueError, match="memory is 'salted'"):
        make_memory("salted", 512, 8)


INTEGERS = (
    st.integers(-(2**70), 2**70)
    | st.integers(-9, 9)
    | st.sampled_from([2**61 - 1, 1 - 2**61, 2**61 - 2])
)


@pytest.mark.skipif(sys.hash_info.width != 64, reason="the hash to compare with has 64 bits")
@given(st.lists(INTEGERS, max_size=6).map(tuple))
def test_plain_hash_of_a_tile_is_that_of_python(tile):
    assert tiles3._long_tuple_hash(tile) == hash(tile)


def test_plain_hash_is_used_where_words_are_short_and_refuses_what_is_no_tile(monkeypatch):
    wide = tiles(500, 8, [0.3, 0.4], [1])
    monkeypatch.setattr(tiles3, "hash", None, raising=False)  # as if Python's own were of no use
    monkeypatch.setattr(tiles3.sys, "hash_info", type("Short", (), {"width": 32}))
    assert tiles(500, 8, [0.3, 0.4], [1]) == wide
    for wrong, told in ((("a", 1), r"\('a', 1\)"), (3, "3"), (((1, 2),), r"\(\(1, 2\),\)")):
        with pytest.raises(
            ValueError, match=rf"^coordinates is {told}; it should be a tuple of integers$"
        ):
            tiles3.tile_hash(wrong)


@pytest.mark.parametrize("width", [32, 64])
def test_what_has_no_hash_is_named_whatever_the_words(monkeypatch, width):
    monkeypatch.setattr(tiles3.sys, "hash_info", type("Words", (), {"width": width}))
    with pytest.raises(
        ValueError, match=r"^coordinates is \(\[1, 2\],\); it should be a tuple of integers$"
    ):
        tiles3.tile_hash(([1, 2],))


def test_a_hash_that_would_be_minus_one_is_the_number_that_python_has_instead(monkeypatch):
    monkeypatch.setattr(tiles3, "_LENGTH_MIX", 2**64 - 1)  # then the empty tuple has all bits
    assert tiles3._long_tuple_hash(()) == 1546275796
