"""What the statistics refuse: every message begins with the name of the argument and shows what it was."""

import re
from math import nan

import numpy as np
import pytest

from gqlib.stats import (
    bootstrap_interval,
    case_counts,
    case_null,
    grim,
    grim_counts,
    paired_difference,
    performance_profile,
    probability_of_improvement,
    student_interval,
    tolerance_interval,
    variance_interval,
)

HUGE = 2**40
PAIR = [1.0, 2.0], [2.0, 3.5]


def generator():
    return np.random.default_rng(0)


def bootstrap(sample=(1.0, 2.0, 4.0), **options):
    return bootstrap_interval(sample, generator(), **options)


def improvement(first=PAIR[0], second=PAIR[1], **options):
    return probability_of_improvement(first, second, generator(), **options)


REFUSALS = {
    "cases": [
        ("scores is 'many';", lambda: case_counts("many")),
        ("scores is 3.5; it should be an array", lambda: case_counts(3.5)),
        ("score_at_0 is 'low';", lambda: case_counts([1.0, 2.0], "low", 2.0)),
        ("score_at_1 is 'low';", lambda: case_counts([1.0, 2.0], 2.0, "low")),
        (
            "score_at_0 is 1.5 and score_at_1 None; both or neither",
            lambda: case_counts([1.0], 1.5, None),
        ),
        (
            "score_at_0 is None and score_at_1 2.5; both or neither",
            lambda: case_counts([1.0], None, 2.5),
        ),
        (
            "score_at_0 has shape () and score_at_1 (); they should be (2, 3),",
            lambda: case_counts(np.ones((2, 3, 4)), 1.0, 2.0),
        ),
        ("lower_is_better is 'yes';", lambda: case_counts([1.0, 2.0, 3.0], lower_is_better="yes")),
        ("n is 0;", lambda: case_null(0)),
        (f"n is {HUGE};", lambda: case_null(HUGE)),
        ("cells is 0;", lambda: case_null(3, cells=0)),
        (f"cells is {HUGE};", lambda: case_null(3, cells=HUGE)),
        ("size is 0;", lambda: case_null(3).simulate(0, generator())),
        (f"size is {HUGE};", lambda: case_null(3).simulate(HUGE, generator())),
        ("count is 4;", lambda: case_null(3).p_value(4)),
        ("count is -1;", lambda: case_null(3).p_value(-1)),
        ("count is 'two';", lambda: case_null(3).pmf("two")),
        ("better is 'a';", lambda: case_null(3).joint_pmf("a", 1, 1)),
        ("between is 'a';", lambda: case_null(3).joint_pmf(1, "a", 1)),
        ("worse is 'a';", lambda: case_null(3).joint_pmf(1, 1, "a")),
    ],
    "granularity": [
        ("denominators is 0;", lambda: grim(50.0, 0)),
        ("denominators is array(3);", lambda: grim(50.0, np.array(3))),
        (f"denominators is {10**9};", lambda: grim(50.0, 10**9)),
        ("decimals is 31;", lambda: grim(50.0, 2, 31)),
        ("percentages is '50';", lambda: grim_counts("50", 2)),
        ("percentages is 50.0;", lambda: grim_counts(50.0, 2)),
        ("denominator is 0;", lambda: grim_counts([50.0, 50.0], 0)),
        (f"denominator is {10**9};", lambda: grim_counts([50.0, 50.0], 10**9)),
        ("remainder is 2;", lambda: grim_counts([50.0, 50.0], 2, remainder=2)),
        ("remainder is -1;", lambda: grim_counts([50.0, 50.0], 2, remainder=-1)),
    ],
    "intervals": [
        ("axis is 1;", lambda: bootstrap(axis=1)),
        ("axis is -2;", lambda: bootstrap(axis=-2)),
        ("sample reaches 1e+101 in size;", lambda: bootstrap([1.0, 1e101])),
        ("resamples is 0;", lambda: bootstrap(resamples=0)),
        (f"resamples is {HUGE};", lambda: bootstrap(resamples=HUGE)),
        ("statistic is 'mean'; it should be a function", lambda: bootstrap(statistic="mean")),
        (
            "statistic is <ufunc 'sin'>; it should return one number",
            lambda: bootstrap(statistic=np.sin),
        ),
        ("statistic is <function", lambda: bootstrap(statistic=lambda runs: runs[99])),
        ("statistic is <function", lambda: bootstrap(statistic=lambda runs: f"{runs} runs")),
        ("statistic is <function", lambda: bootstrap(statistic=lambda: 1.0)),
        ("runs is 3;", lambda: variance_interval([1.0, 1.0, 1.0, 1.0], 3)),
        (f"runs is {HUGE};", lambda: variance_interval([1.0, 1.0, 1.0, 1.0], HUGE)),
        ("sums is 'four';", lambda: variance_interval("four", 5)),
        ("confidence is 0.0;", lambda: variance_interval([5.0, 5.0, 5.0, 5.0], 5, confidence=0.0)),
        ("runs is 1;", lambda: student_interval(1.0, 1.0, 1)),
        (f"runs is {HUGE};", lambda: student_interval(1.0, 1.0, HUGE)),
        ("mean is 'low';", lambda: student_interval("low", 1.0, 5)),
        ("mean reaches 1e+120 in size;", lambda: student_interval(1e120, 1.0, 5)),
        ("variance reaches 1e+120 in size;", lambda: student_interval(1.0, 1e120, 5)),
        ("variance has shape (2,);", lambda: student_interval([1.0], [1.0, 2.0], 5)),
        ("confidence is 1.0;", lambda: student_interval(1.0, 1.0, 5, confidence=1.0)),
        ("axis is -2;", lambda: tolerance_interval(np.arange(99.0), axis=-2)),
    ],
    "comparisons": [
        ("scores is 'many';", lambda: performance_profile("many", [1.0])),
        (
            "lower_is_better is 'yes';",
            lambda: performance_profile([1.0], [1.0], lower_is_better="yes"),
        ),
        ("confidence is 2.0;", lambda: performance_profile([1.0], [1.0], confidence=2.0)),
        ("lower_is_better is 'yes';", lambda: improvement(lower_is_better="yes")),
        ("paired is 'yes';", lambda: improvement(paired="yes")),
        ("resamples is 0;", lambda: improvement(resamples=0)),
        (f"resamples is {HUGE};", lambda: improvement(resamples=HUGE)),
        ("confidence is 0.0;", lambda: improvement(confidence=0.0)),
        ("first reaches 1e+120 in size;", lambda: improvement(first=[1e120, 2.0])),
        ("second reaches 1e+120 in size;", lambda: improvement(second=[1e120, 3.0])),
        ("second has shape (1, 2);", lambda: improvement(second=[[2.0, 3.0]])),
        ("first holds 1 runs;", lambda: improvement(first=[2.0])),
        ("second holds 1 runs;", lambda: improvement(second=[2.0])),
        ("first reaches 1e+101 in size;", lambda: paired_difference([1.0, 1e101], [2.0, 3.0])),
        ("second reaches 1e+101 in size;", lambda: paired_difference([1.0, 2.0], [1e101, 3.0])),
        ("second is nan at (1,);", lambda: paired_difference([1.0, 2.0], [2.0, nan])),
        ("confidence is 1.5;", lambda: paired_difference(*PAIR, confidence=1.5)),
        ("resamples is 0;", lambda: paired_difference(*PAIR, resamples=0)),
        ("resamples is 0;", lambda: paired_difference(*PAIR, generator(), resamples=0)),
        ("resamples is 2.5;", lambda: paired_difference(*PAIR, resamples=2.5)),
        ("method is 'z';", lambda: paired_difference(*PAIR, method="Z")),
    ],
}


@pytest.mark.parametrize(
    ("start", "call"), [entry for entries in REFUSALS.values() for entry in entries]
)
def test_what_is_refused_is_named_and_shown(start, call):
    with pytest.raises(ValueError, match="^" + re.escape(start)):
        call()


@pytest.mark.parametrize(
    ("size", "fits"),
    # 19 draws in 5 cells of 9 + 2 scores are 1,045 numbers, 18 draws 990.
    [(18, True), (19, False)],
)
def test_a_simulation_has_the_room_of_all_its_scores(monkeypatch, size, fits):
    monkeypatch.setattr("gqlib._validate.ROOM", 1000)
    if fits:
        assert case_null(9, cells=5).simulate(size, generator()).shape == (size, 3)
    else:
        with pytest.raises(ValueError, match=f"^size is {size};"):
            case_null(9, cells=5).simulate(size, generator())


def test_the_limits_themselves_are_allowed():
    assert case_null(3).simulate(1, generator()).sum() == 3
    assert grim_counts([100.0, 0.0], 1) == ((1, 0),)
    assert grim(50.0, 2, 30) == {2: (1,)}
    assert bootstrap(np.arange(6.0).reshape(3, 2), axis=-2, resamples=99).low.shape == (2,)
    # Two runs each at +-a with a^2 = 5e49: the sum of fourth powers is the largest allowed, and four runs the fewest.
    assert variance_interval([0.0, 2e50, 0.0, 1e100], 4)[0] == pytest.approx(4 / 3 * 5e49)


@pytest.mark.filterwarnings("ignore:Degrees of freedom", "ignore:invalid value")
def test_one_resample_is_a_point():
    for low, high in (bootstrap(resamples=1, method="percentile"), improvement(resamples=1)[1:]):
        assert low == high
    single = paired_difference(*PAIR, generator(), resamples=1, method="percentile")
    assert single.low == single.high
    assert paired_difference(*PAIR, resamples=1) == paired_difference(*PAIR)


def test_scores_up_to_1e100_are_taken():
    scale = 2.0**200  # about 1e60, and a power of two changes no digit
    x, y = np.array([1.0, 2.0, 4.0, 3.0]), np.array([0.0, 1.0, -1.0, 2.0])
    unit, large = paired_difference(x, y).interval, paired_difference(scale * x, scale * y).interval
    assert large == pytest.approx([scale * end for end in unit])
    assert improvement(scale * x, scale * y, resamples=99) == improvement(x, y, resamples=99)
    assert bootstrap(scale * x, resamples=99) == tuple(
        scale * end for end in bootstrap(x, resamples=99)
    )
    assert student_interval(scale, 0.0, 3) == (scale, scale)
    assert student_interval(0.0, scale, 4).high == pytest.approx(
        2.0**100 * student_interval(0.0, 1.0, 4).high
    )
