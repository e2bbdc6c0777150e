"""What is written in the compiler's own language does what its definition in Python does, to the bit."""

import os
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest

from gqlib.control.setting import LARGEST_MEMORY, MOST_TILINGS
from gqlib.control.tile_tables import tile_table
from gqlib.fast import _lines, _lowered
from gqlib.fast._jit import COMPILED, njit

NAMES = ("sum_rows", "add_row", "flush_row", "likely", "early")
LOWERED = COMPILED and not os.environ.get("NUMBA_BOUNDSCHECK")


def plain(function):
    return getattr(function, "py_func", function)


def callers(sum_rows, add_row, flush_row, likely, early):
    """Compiled functions that do nothing but call the five."""

    @njit
    def sums(weights, table, first, shape):
        return sum_rows(weights, table, first, shape)

    @njit
    def adds(weights, places, t, e, w):
        new = np.empty(places.size, dtype=np.bool_)
        for k in range(places.size):
            new[k] = add_row(weights, places[k], t, e, w)
        return new

    @njit
    def flush(weights, places, g, h, scale, floor):
        above = np.empty(places.size, dtype=np.bool_)
        for k in range(places.size):
            above[k] = flush_row(weights, places[k], g, h, scale, floor)
        return above

    @njit
    def choice(number, bound):
        if likely(number > bound):
            return 1
        return 0

    @njit
    def before(number, count):
        product = early(number * 1.5)
        total = 0.0
        for k in range(count):
            total += k
        return product + total

    return SimpleNamespace(sums=sums, adds=adds, flush=flush, choice=choice, before=before)


def stub(name):
    """A function of which the compiler knows nothing yet; what it says itself does not matter."""

    def function(*arguments):
        raise AssertionError(f"{name} is called in Python")

    return function


@cache
def as_loaded():
    return callers(*(getattr(_lowered, name) for name in NAMES))


@pytest.fixture(params=["as loaded", "told again"])
def compiled(request):
    """The callers, of the functions as they are and of others that the compiler is told of only now."""
    if request.param == "as loaded":
        return as_loaded()
    if not LOWERED:
        pytest.skip("nothing is told to a compiler here")
    functions = [stub(name) for name in NAMES]
    _lowered._lower(*functions)
    return callers(*functions)


def bits(numbers):
    return np.asarray(numbers).tobytes()


@pytest.mark.parametrize(
    ("tilings", "kind"), [(1, np.uint16), (3, np.uint32), (8, np.uint16), (16, np.int64)]
)
def test_sums_of_rows_are_those_of_the_definition(compiled, tilings, kind):
    rng = np.random.default_rng(tilings)
    weights = rng.normal(size=4 * 50) * 10.0 ** rng.integers(
        -8, 9, size=200
    )  # where the order of additions shows
    table, shape = 4 * rng.integers(0, 50, size=40).astype(kind), (0,) * tilings
    for first in range(20):
        want = plain(_lowered.sum_rows)(weights, table, first, shape)
        assert bits(compiled.sums(weights, table, first, shape)) == bits(want)
        rows = weights.reshape(-1, 4)[table[first : first + tilings] // 4, :2]
        assert np.allclose(want, rows.sum(axis=0))
    zeros = compiled.sums(np.full(200, -0.0), table, 0, shape)
    assert bits(zeros) == bits(plain(_lowered.sum_rows)(np.full(200, -0.0), table, 0, shape))


def test_an_addition_to_rows_changes_three_numbers_and_counts_in_the_mark(compiled):
    rng = np.random.default_rng(3)
    first = rng.normal(size=24)
    first[3::4] = 0.0, 2.0, 0.0, 0.0, 0.0, 7.0
    places = np.array([8, 0, 8, 20, 8])  # one row three times, as in a collision
    got, wanted = first.copy(), first.copy()
    new = compiled.adds(got, places, 0.1, 1e-17, -0.3)
    assert new.tolist() == [
        plain(_lowered.add_row)(wanted, int(i), 0.1, 1e-17, -0.3) for i in places
    ]
    assert new.tolist() == [True, True, False, False, False]
    assert bits(got) == bits(wanted)
    assert got[3::4].tolist() == [1.0, 2.0, 3.0, 0.0, 0.0, 8.0]
    assert got[8] == first[8] + 0.1 + 0.1 + 0.1
    assert bits(got[[4, 5, 6]]) == bits(first[[4, 5, 6]])


def test_a_flushed_row_keeps_its_trace_above_the_floor_and_nothing_below(compiled):
    rng = np.random.default_rng(4)
    first = rng.normal(size=(9, 4))
    first[:, 1] = (
        3.0,
        -3.0,
        0.2,
        -0.2,
        0.4,
        0.0,
        np.nan,
        np.inf,
        1e-300,
    )  # at the floor, half of 0.4 is not above it
    first[:, 3] = np.arange(1.0, 10.0)
    got, wanted, places = first.ravel().copy(), first.ravel().copy(), 4 * np.arange(9)
    above = compiled.flush(got, places, 0.1, -0.7, 0.5, 0.2)
    assert above.tolist() == [
        plain(_lowered.flush_row)(wanted, int(i), 0.1, -0.7, 0.5, 0.2) for i in places
    ]
    assert above.tolist() == [True, True, False, False, False, False, False, True, False]
    assert bits(got) == bits(wanted)
    rows = got.reshape(-1, 4)
    assert rows[:, 3].tolist() == [1.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 8.0, 0.0]
    assert rows[:3, 1].tolist() == [1.5, -1.5, 0.0]
    np.testing.assert_array_equal(
        rows[:6, [0, 2]], first[:6, [0, 2]] + first[:6, [1]] * [0.1, -0.7]
    )


def test_a_likely_condition_is_the_condition(compiled):
    assert [compiled.choice(number, 1.0) for number in (0.0, 1.0, 2.0, np.nan)] == [0, 0, 1, 0]
    assert plain(_lowered.likely)(False) is False


def test_a_number_that_is_computed_early_is_the_number(compiled):
    assert compiled.before(3.0, 4) == 4.5 + 6.0
    assert bits(compiled.before(-0.0, 0)) == bits(0.0)  # -0.0 and the sum over nothing
    assert np.isnan(compiled.before(np.nan, 0))
    assert plain(_lowered.early)(2.0) == 2.0


@pytest.mark.skipif(not LOWERED, reason="nothing is told to a compiler here")
def test_what_is_computed_early_stands_before_the_loop(compiled):
    compiled.before(3.0, 4)
    (code,) = compiled.before.inspect_llvm().values()
    lines = [line.strip() for line in code.splitlines()]
    product = next(k for k, line in enumerate(lines) if "fmul double" in line)
    needed = next(k for k, line in enumerate(lines) if "asm sideeffect" in line)
    total = next(k for k, line in enumerate(lines) if "fadd double" in line)
    assert product < needed < total


@pytest.mark.skipif(not LOWERED, reason="nothing is told to a compiler here")
def test_rows_are_added_up_as_vectors(compiled):
    compiled.sums(np.zeros(8), np.zeros(8, dtype=np.uint16), 0, (0,) * 8)
    compiled.adds(np.zeros(8), np.zeros(1, dtype=np.int64), 0.0, 0.0, 0.0)
    compiled.flush(np.zeros(8), np.zeros(1, dtype=np.int64), 0.0, 0.0, 0.0, 0.0)
    for function, count in ((compiled.sums, 2), (compiled.adds, 2), (compiled.flush, 4)):
        assert any(f"fadd <{count} x double>" in code for code in function.inspect_llvm().values())


@pytest.mark.slow
@pytest.mark.parametrize(("p", "tilings"), [(1024, 8), (LARGEST_MEMORY, MOST_TILINGS)])
def test_offsets_are_four_times_the_places_and_the_products_stay(p, tilings):
    table, active = tile_table(p, tilings), 3 * tilings
    assert len(table.used) <= 3 * 81 * tilings  # tiles that touch the box: at most 7776
    assert np.array_equal(table.offsets[:, :active], 4 * table.rows[:, :active].astype(np.int64))
    assert np.array_equal(table.offsets[:, active:], table.rows[:, active:])
    assert not table.offsets.flags.writeable


@pytest.mark.parametrize("shape", [(1, 4), (1944, 4), (7, 32)])
@pytest.mark.parametrize("kind", [np.float64, np.uint16])
def test_rows_begin_at_a_cache_line(shape, kind):
    made = [_lines.zeros_in_lines(shape, kind) for _ in range(5)]
    for array in made:
        assert (array.shape, array.dtype, array.flags.c_contiguous) == (shape, kind, True)
        assert not array.any()
        assert array.ctypes.data % 64 == 0
        array[...] = 1  # the last entry, too, is in the array's own memory
    assert all(array.sum() == array.size for array in made)


def test_the_tables_of_the_car_begin_at_a_cache_line():
    table = tile_table(512)
    assert [rows.ctypes.data % 64 for rows in (table.rows, table.offsets)] == [0, 0]
    assert table.rows.strides == table.offsets.strides == (64, 2)
