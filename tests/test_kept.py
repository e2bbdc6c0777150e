"""Kernels made of functions that are handed in: found on disk again, and never one that is not the same."""

import os
import subprocess
import sys
from collections import namedtuple
from functools import partial

import numpy as np
import pytest
from numba import njit

from gqlib.engine import _kernel
from gqlib.fast._kept import fingerprint

WALK = """
from numba import njit
from gqlib.engine import Environment, Features, run
from gqlib.engine._kernel import kernel_of
from gqlib.engine.runs import parts_of
from gqlib.learners.texts import LEARNERS

PRICE = {price}

@njit
def start(data, stream):
    return 0

@njit
def step(data, state, action, stream):
    return state + 1, -PRICE, state == 3

@njit
def fill(data, state, out):
    out[0] = state

walk = Environment(start, step, 2, Features(fill, size=5))
result = run(walk, "sarsa", runs=1, seed=0, episodes=2)
stats = kernel_of(parts_of(walk, LEARNERS["sarsa"], "greedy")).stats
print(len(stats.cache_hits), len(stats.cache_misses), result.returns[0, 0])
"""


@pytest.mark.thorough
def test_a_kernel_is_compiled_once_until_something_in_it_changes(tmp_path):
    """In new processes, as a user starts them; the number that changes is one that a function names, not its text."""
    surroundings = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}

    def told(price):
        work = [sys.executable, "-c", WALK.format(price=price)]
        done = subprocess.run(work, env=surroundings, capture_output=True, text=True, check=True)
        return done.stdout.split()

    assert told(1.0) == ["0", "1", "-4.0"]
    assert told(1.0) == ["1", "0", "-4.0"]
    assert told(2.0) == ["0", "1", "-8.0"]
    assert told(1.0) == ["1", "0", "-4.0"]


def made(inner=1.0, options=None, default=0.0, table=(1.0, 2.0)):
    array = np.array(table)

    @njit(**(options or {}))
    def helper(x):
        return x * inner

    @njit
    def outer(x, y=default):
        total = y
        for value in array:
            total += helper(x) * value
        return np.sqrt(total) + _kernel.LOST

    return outer


def test_fingerprints_are_equal_for_equal_functions_alone():
    marks = [fingerprint(function) for function in (made(), made(2.0), made(options={"fastmath": True}),
                                                    made(default=1.0), made(table=(1.0, 3.0)))]  # fmt: skip
    assert None not in marks
    assert len(set(marks)) == 5
    assert fingerprint(made()) == marks[0]


def test_a_function_found_through_a_module_counts(monkeypatch):
    before = fingerprint(made())
    monkeypatch.setattr(_kernel, "LOST", -7)
    assert fingerprint(made()) != before


def test_classes_of_one_name_differ_by_their_fields():
    """What a step returns may be a tuple with names; the same function with other names is another one."""
    marks = [
        fingerprint(namedtuple("Change", fields, module="mine"))
        for fields in ("theta omega", "theta trace")
    ]
    assert None not in marks
    assert len(set(marks)) == 2
    assert fingerprint(namedtuple("Change", "theta omega", module="mine")) == marks[0]


def test_a_set_in_a_function_may_hold_what_has_no_order():
    one, same, other = (
        (lambda x: x in {1, "one"}),
        (lambda x: x in {"one", 1}),
        (lambda x: x in {1, "two"}),
    )
    assert fingerprint(one) not in (None, fingerprint(other))
    assert fingerprint(one) == fingerprint(same)


def test_functions_that_call_each_other_end():
    def even(n):
        return n == 0 or odd(n - 1)

    def odd(n):
        return n != 0 and even(n - 1)

    assert fingerprint(even) not in (None, fingerprint(odd))


@pytest.mark.parametrize("value", [object(), partial(max, 1), {1: 2}])
def test_what_is_not_understood_has_no_fingerprint(value):
    assert fingerprint(lambda: value) is None
