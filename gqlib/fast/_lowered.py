"""Things that Numba cannot be told in Python, for the lazy kernel (`gqlib.engine`).

- A *row* holds T, E, W and a mark of one feature side by side; the mark is zero where there is no trace. Sums over
  rows, additions to a row and its flush are made for two or four numbers at once: as many IEEE operations, in the same
  order for each number, hence the same bits. Left to itself the compiler takes the numbers one by one, and its own
  search for vectors finds them in some places only: a pair that is read just after its halves were stored one by one
  makes the processor wait.
- `likely` keeps a branch a branch. A choice between two numbers is otherwise computed without one; the processor then
  has to wait for the action values before it can drive the car, instead of guessing the action and carrying on.
- `early` keeps a number where it is written. The compiler would move it to its use, the slope under the car to the end
  of the loop, too late for the processor to begin with it while it learns.

These are written out in Python as well. That is what runs without Numba, and what is compiled where indices are checked
(``NUMBA_BOUNDSCHECK``); it is the definition, and `tests/test_lowered.py` compares. Two need no instructions of their own:

- `natural` is a number of which the compiler knows that it is not negative: no check for negative indices.
- `put` is a tuple with another number at a place: numbers by action that stay in registers, as an array does not.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

import numpy as np

from gqlib.fast import COMPILE
from gqlib.fast._jit import COMPILED, njit


def sum_rows(weights: Any, table: Any, first: Any, shape: Any) -> Any:
    """Sums of T and of E over the rows of one action, whose places in the weights the table has from `first` on.

    Examples
    --------
    >>> [float(total) for total in sum_rows(np.arange(12.0), np.array([0, 8, 4]), 1, (0, 0))]
    [12.0, 14.0]
    """
    # Two partial sums each, since an addition has to wait for the one before it; -0.0 added to a number is that number.
    tilings = len(shape)
    t, e, other_t, other_e = -0.0, -0.0, -0.0, -0.0
    for k in range(0, tilings - 1, 2):
        i, j = np.int64(table[first + k]), np.int64(table[first + k + 1])
        t += weights[i]
        e += weights[i + 1]
        other_t += weights[j]
        other_e += weights[j + 1]
    if tilings % 2:
        i = np.int64(table[first + tilings - 1])
        t += weights[i]
        e += weights[i + 1]
    return t + other_t, e + other_e


def add_row(weights: Any, i: Any, t: Any, e: Any, w: Any) -> Any:
    """Add to T, E and W of the row that begins at `i`, and one to its mark; returns whether it had none.

    Examples
    --------
    >>> weights = np.zeros(8)
    >>> bool(add_row(weights, 4, 1.0, 2.0, 3.0)), weights[4:].tolist()
    (True, [1.0, 2.0, 3.0, 1.0])
    >>> bool(add_row(weights, 4, 1.0, 2.0, 3.0)), weights[4:].tolist()
    (False, [2.0, 4.0, 6.0, 2.0])
    """
    before = weights[i + 3]
    weights[i] += t
    weights[i + 1] += e
    weights[i + 2] += w
    weights[i + 3] = before + 1.0
    return before == 0.0


def flush_row(weights: Any, i: Any, g: Any, h: Any, scale: Any, floor: Any) -> Any:
    """T += gE, W += hE, E *= scale in the row that begins at `i`; returns whether |E| is still above a floor.

    If it is not, E and the mark become zero.

    Examples
    --------
    >>> weights = np.array([1.0, 2.0, 3.0, 7.0])
    >>> bool(flush_row(weights, 0, 10.0, 100.0, 0.5, 0.1)), weights.tolist()
    (True, [21.0, 1.0, 203.0, 7.0])
    >>> bool(flush_row(weights, 0, 0.0, 0.0, 0.01, 0.1)), weights.tolist()
    (False, [21.0, 0.0, 203.0, 0.0])
    """
    e = weights[i + 1]
    weights[i] += g * e
    weights[i + 2] += h * e
    e *= scale
    above = abs(e) > floor
    weights[i + 1] = e if above else 0.0
    if not above:
        weights[i + 3] = 0.0
    return above


def likely(condition: Any) -> Any:
    """The condition itself, which nearly always holds, or nearly always does what it did the last time.

    Examples
    --------
    >>> likely(2 > 1)
    True
    """
    return condition


def early(number: Any) -> Any:
    """The number itself, computed here and not where it is used.

    Examples
    --------
    >>> early(2.5)
    2.5
    """
    return number


@njit(forceinline=True, **COMPILE)
def natural(n: Any) -> Any:
    """The same number, not negative, in a form that tells the compiler so.

    Examples
    --------
    >>> int(natural(3))
    3
    """
    return np.int64(np.uint32(n))


def put(numbers: Any, place: Any, number: Any) -> Any:
    """The tuple with another number at a place.

    Examples
    --------
    >>> put((0.0, 0.0, 0.0), 1, 2.5)
    (0.0, 2.5, 0.0)
    """
    return (*numbers[:place], number, *numbers[place + 1 :])


def _lower(sum_rows: Any, add_row: Any, flush_row: Any, likely: Any, early: Any) -> None:
    """Tell Numba what to make of the five functions."""
    ir, types, cgutils = (
        import_module(name) for name in ("llvmlite.ir", "numba.core.types", "numba.core.cgutils")
    )
    extending = import_module("numba.extending")
    lower_builtin, type_callable = extending.lower_builtin, extending.type_callable
    bit, double, word = ir.IntType(1), ir.DoubleType(), ir.IntType(64)
    zero = ir.Constant(double, 0.0)

    def data(context: Any, builder: Any, kind: Any, array: Any) -> Any:
        return context.make_array(kind)(context, builder, array).data

    def lanes(builder: Any, start: Any, place: Any, count: int) -> Any:
        """Pointer to some numbers at a place, as one vector."""
        return builder.bitcast(
            builder.gep(start, [place]), ir.VectorType(double, count).as_pointer()
        )

    def lane(builder: Any, row: Any, k: int) -> Any:
        return builder.extract_element(row, ir.Constant(word, k))

    def vector(builder: Any, numbers: list[Any]) -> Any:
        made = ir.Constant(ir.VectorType(double, len(numbers)), ir.Undefined)
        for k, number in enumerate(numbers):
            made = builder.insert_element(made, number, ir.Constant(word, k))
        return made

    two = types.UniTuple(types.float64, 2)
    type_callable(sum_rows)(lambda context: lambda weights, table, first, shape: two)

    @lower_builtin(sum_rows, types.Array, types.Array, types.Integer, types.BaseTuple)
    def lower_sum(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        weights, table = (
            data(context, builder, *pair)
            for pair in zip(signature.args[:2], arguments[:2], strict=True)
        )
        first = context.cast(builder, arguments[2], signature.args[2], types.int64)
        sums: list[Any] = [None, None]
        tilings = len(signature.args[3])
        for k in range(tilings):
            entry = builder.load(builder.gep(table, [builder.add(first, ir.Constant(word, k))]))
            place = context.cast(builder, entry, signature.args[1].dtype, types.int64)
            row = builder.load(lanes(builder, weights, place, 2), align=8)
            which = 0 if tilings % 2 and k == tilings - 1 else k % 2
            sums[which] = row if sums[which] is None else builder.fadd(sums[which], row)
        total = sums[0] if sums[1] is None else builder.fadd(*sums)
        return context.make_tuple(
            builder, signature.return_type, [lane(builder, total, k) for k in range(2)]
        )

    type_callable(add_row)(lambda context: lambda weights, i, t, e, w: types.boolean)

    @lower_builtin(add_row, types.Array, types.Integer, types.Float, types.Float, types.Float)
    def lower_add(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array, i, t, e, w = arguments
        place = context.cast(builder, i, signature.args[1], types.int64)
        start = data(context, builder, signature.args[0], array)
        # Two halves: T and E of the next state are wanted before W is known.
        first = lanes(builder, start, place, 2)
        second = lanes(builder, start, builder.add(place, ir.Constant(word, 2)), 2)
        builder.store(
            builder.fadd(builder.load(first, align=8), vector(builder, [t, e])), first, align=8
        )
        # The mark as a whole number, which one instruction compares where a double takes five; it is never -0.0.
        mark = builder.bitcast(
            builder.gep(start, [builder.add(place, ir.Constant(word, 3))]), word.as_pointer()
        )
        without = builder.icmp_signed("==", builder.load(mark), ir.Constant(word, 0))
        change = vector(builder, [w, ir.Constant(double, 1.0)])
        builder.store(builder.fadd(builder.load(second, align=8), change), second, align=8)
        return without

    type_callable(flush_row)(lambda context: lambda weights, i, g, h, scale, floor: types.boolean)

    @lower_builtin(
        flush_row, types.Array, types.Integer, types.Float, types.Float, types.Float, types.Float
    )
    def lower_flush(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array, i, g, h, scale, floor = arguments
        place = context.cast(builder, i, signature.args[1], types.int64)
        pointer = lanes(builder, data(context, builder, signature.args[0], array), place, 4)
        row = builder.load(pointer, align=8)
        e, mark = lane(builder, row, 1), lane(builder, row, 3)
        changed = builder.fadd(
            row, builder.fmul(vector(builder, [e] * 4), vector(builder, [g, zero, h, zero]))
        )
        scaled = builder.fmul(e, scale)
        size = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(double, [double]), "llvm.fabs.f64"
        )
        above = builder.fcmp_ordered(">", builder.call(size, [scaled]), floor)
        for k, number in ((1, scaled), (3, mark)):
            changed = builder.insert_element(
                changed, builder.select(above, number, zero), ir.Constant(word, k)
            )
        builder.store(changed, pointer, align=8)
        return above

    type_callable(likely)(lambda context: lambda condition: types.boolean)

    @lower_builtin(likely, types.Boolean)
    def lower_likely(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        expect = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(bit, [bit, bit]), "llvm.expect.i1"
        )
        return builder.call(expect, [arguments[0], ir.Constant(bit, 1)])

    type_callable(early)(lambda context: lambda number: types.float64)

    @lower_builtin(early, types.Float)
    def lower_early(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        # No instruction at all, of which the compiler must think that it needs the number and may change it.
        needed = ir.InlineAsm(ir.FunctionType(double, [double]), "", "=x,0", side_effect=True)
        return builder.call(needed, arguments)


if COMPILED:
    _put_compiled = import_module("numba.cpython.unsafe.tuple").tuple_setitem

    @import_module("numba.extending").overload(put, jit_options={"forceinline": True})
    def _put_overload(numbers, place, number):  # type: ignore[no-untyped-def]
        return lambda numbers, place, number: _put_compiled(numbers, place, number)


if COMPILED and not os.environ.get("NUMBA_BOUNDSCHECK"):
    _lower(sum_rows, add_row, flush_row, likely, early)
else:
    sum_rows, add_row, flush_row, likely, early = (
        njit(forceinline=True, **COMPILE)(each)
        for each in (sum_rows, add_row, flush_row, likely, early)
    )
