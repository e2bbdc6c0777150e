"""An interior σ against both ends: every number by scipy's own test, a loop over runs, or hand."""

import numpy as np
import pytest
import xarray
from scipy import stats

from gqlib.stats import case_counts, holm
from gqlib.stats.ends import (
    Repetitions,
    better_than_both,
    block_repetitions,
    cell,
    compare_with_ends,
    confirm_winner,
    paired_p_values,
    repeat_procedure,
    sign_p_values,
    signed_rank_p_values,
    verdict,
)

RNG = np.random.default_rng(21)
FIRST, SECOND = RNG.normal(0.0, 1.0, (2, 3, 12)), RNG.normal(0.3, 1.0, (3, 12))
INF = np.inf
WHOLE = RNG.integers(0, 6, (5, 8))
TESTS = {"t": paired_p_values, "signed rank": signed_rank_p_values, "sign": sign_p_values}


# ---------------------------------------------------------------- three tests


def each(function):
    return np.array([[function(FIRST[i, j], SECOND[j]) for j in range(3)] for i in range(2)])


def test_paired_p_values_are_scipys():
    expected = each(lambda x, y: stats.ttest_rel(x, y, alternative="less").pvalue)
    np.testing.assert_allclose(paired_p_values(FIRST, SECOND), expected, rtol=1e-12)
    for scale in (1e-200, 1e90):  # squares would be lost
        np.testing.assert_allclose(
            paired_p_values(scale * FIRST, scale * SECOND), expected, rtol=1e-9
        )


def test_differences_that_are_all_alike_leave_nothing_to_estimate():
    found = paired_p_values([[1.0, 2.0, 3.0], [3.0, 4.0, 5.0], [4.0, 5.0, 6.0]], [3.0, 4.0, 5.0])
    assert found.tolist() == [0.0, 1.0, 1.0]


def test_signed_ranks_are_scipys():
    expected = each(
        lambda x, y: (
            stats.wilcoxon(
                x, y, "zsplit", correction=False, alternative="less", method="asymptotic"
            ).pvalue
        )
    )
    np.testing.assert_allclose(signed_rank_p_values(FIRST, SECOND), expected, rtol=1e-12)


def test_signed_ranks_with_ties_and_infinities_by_hand():
    # differences −1, −1, 2, 0, −inf: ranks 2.5, 2.5, 4, 1, 5; lower ones have 2.5 + 2.5 + 5 + ½ of 15
    found = signed_rank_p_values([1.0, 2.0, 5.0, 3.0, 4.0], [2.0, 3.0, 3.0, 3.0, INF])
    spread = np.sqrt(2.5**2 + 2.5**2 + 4**2 + 5**2) / 2
    assert found == pytest.approx(stats.norm.sf((10.5 - 7.5) / spread), rel=1e-12)
    assert signed_rank_p_values([INF, INF], [INF, INF]) == 1.0
    assert signed_rank_p_values([INF, 1.0], [1.0, INF]) == 0.5


def test_signs_are_scipys_and_equal_runs_do_not_count():
    first = np.array([1.0, 1.0, 5.0, 2.0, INF, 1.0, 0.0])
    second = np.array([2.0, 3.0, 1.0, 2.0, INF, INF, 1.0])
    expected = stats.binomtest(4, 5, alternative="greater").pvalue
    assert sign_p_values(first, second) == pytest.approx(expected, rel=1e-12)
    assert sign_p_values([first, second], [second, first]) == pytest.approx(
        [expected, stats.binomtest(1, 5, alternative="greater").pvalue], rel=1e-12
    )
    assert sign_p_values(first, first) == 1.0


@pytest.mark.parametrize("test", TESTS)
def test_better_than_both_is_the_worse_of_two(test):
    middle, zero, one = (
        RNG.normal(0.0, 1.0, (4, 9)),
        RNG.normal(0.4, 1.0, 9),
        RNG.normal(0.4, 1.0, 9),
    )
    found = better_than_both(middle, zero, one, test=test)
    for row, p_value in zip(middle, found, strict=True):
        assert p_value == max(TESTS[test](row, zero), TESTS[test](row, one))
    if test == "t":
        assert (better_than_both(middle, zero, one) == found).all()


def test_infinite_scores_are_for_ranks_and_signs_only():
    middle, end = [1.0, 2.0, 3.0], [2.0, INF, INF]
    with pytest.raises(ValueError, match=r"^at_one is "):
        better_than_both(middle, [2.0, 3.0, 4.0], end)
    assert better_than_both(middle, end, end, test="sign") == 0.125


# ---------------------------------------------------------------- a cell


def test_a_cell_is_compared_row_by_row():
    scores = RNG.normal([[1.0], [0.2], [1.5], [3.0], [2.0]], 0.5, (5, 20))
    found = compare_with_ends(scores)

    def less(x, y):
        return stats.ttest_rel(x, y, alternative="less").pvalue

    zero, one = scores[0], scores[-1]
    rows = scores[1:-1]
    better = [max(less(row, zero), less(row, one)) for row in rows]
    worse = [max(less(zero, row), less(one, row)) for row in rows]
    between = [
        2 * min(max(less(row, zero), less(one, row)), max(less(zero, row), less(row, one)))
        for row in rows
    ]
    np.testing.assert_allclose(found.p_better, holm(better), rtol=1e-9)
    np.testing.assert_allclose(found.p_worse, holm(worse), rtol=1e-9)
    np.testing.assert_allclose(found.p_between, holm([min(p, 1.0) for p in between]), rtol=1e-9)
    np.testing.assert_allclose(found.difference, [np.mean(row - zero) for row in rows])
    np.testing.assert_allclose(found.error, [stats.sem(row - zero) for row in rows])
    assert found.counts == case_counts(scores.sum(axis=1)) == (1, 1, 1)
    assert found.shown() == (1, 1, 1)
    assert found.p_between[1] < 0.05 < found.p_between[[0, 2]].min()
    turned = compare_with_ends(scores[::-1])
    np.testing.assert_allclose(
        turned.difference[::-1], found.difference
    )  # the better end, wherever it is
    np.testing.assert_allclose(turned.p_between[::-1], found.p_between, rtol=1e-9)


def test_what_is_shown_depends_on_the_level():
    found = compare_with_ends(RNG.normal([[1.0], [0.2], [1.5], [3.0], [2.0]], 1.0, (5, 12)))
    for level in (1e-6, 0.05, 0.4, float(found.p_better[0])):
        better, worse = (found.p_better <= level).sum(), (found.p_worse <= level).sum()
        assert found.shown(level) == (better, 3 - better - worse, worse)
    assert found.shown() == found.shown(0.05)


# ---------------------------------------------------------------- repetitions


def test_repetitions_are_those_of_the_runs_that_were_drawn():
    found = repeat_procedure(WHOLE, 6, 40, np.random.default_rng(2))
    drawn = np.random.default_rng(2).multinomial(6, [1 / 8] * 8, 40)
    for often, counts, winner in zip(drawn, found.counts, found.winner, strict=True):
        totals = [sum(int(n) * int(x) for n, x in zip(often, row, strict=True)) for row in WHOLE]
        assert (tuple(counts), winner) == (case_counts(totals), totals.index(min(totals)))


def test_blocks_are_disjoint_and_in_order():
    found = block_repetitions(WHOLE, 3)
    totals = [WHOLE[:, 3 * block : 3 * block + 3].sum(axis=1) for block in range(2)]
    assert found.counts.tolist() == [list(case_counts(total)) for total in totals]
    assert found.winner.tolist() == [int(total.argmin()) for total in totals]
    assert len(block_repetitions(WHOLE, 8).winner) == 1
    assert len(block_repetitions(WHOLE, 1).winner) == 8


def test_who_leads_and_how_often_two_repetitions_disagree():
    made = Repetitions(
        np.array([[3, 1, 1], [2, 2, 1], [0, 1, 4], [1, 3, 1], [1, 2, 2]]), np.array([0, 2, 2, 5, 2])
    )
    assert made.leading.tolist() == [0, -1, 2, 1, -1]
    pairs = [(i, j) for i in range(5) for j in range(5) if i != j]
    assert made.disagreement == pytest.approx(
        sum(made.winner[i] != made.winner[j] for i, j in pairs) / len(pairs)
    )


# ---------------------------------------------------------------- confirmation


@pytest.mark.parametrize("turn", [1, -1])
def test_the_winner_of_the_even_runs_is_judged_on_the_odd_ones(turn):
    scores = RNG.normal([[2.0], [1.0], [0.8], [3.0]], 1.0, (4, 11))[::turn]
    found = confirm_winner(scores)
    even, odd = scores[:, [0, 2, 4, 6, 8, 10]], scores[:, [1, 3, 5, 7, 9]]
    row = min((1, 2), key=lambda k: even[k].mean())
    end = min((0, 3), key=lambda k: even[k].mean())
    assert found.row == row
    assert found.chosen == pytest.approx(even[row].mean() - even[end].mean())
    assert found.confirmed == pytest.approx(odd[row].mean() - odd[end].mean())
    worst = max(stats.ttest_rel(odd[row], odd[k], alternative="less").pvalue for k in (0, 3))
    assert found.p_value == pytest.approx(worst)


def test_a_tie_of_the_ends_goes_to_the_first_and_few_runs_cannot_be_split():
    found = confirm_winner([[1, 5, 1, 6], [0, 1, 0, 2], [1, 7, 1, 8]])
    assert (found.row, found.chosen, found.confirmed) == (1, -1.0, -4.0)


# ---------------------------------------------------------------- verdicts and cells of a result


def test_a_verdict_needs_both_intervals():
    low, middle, high = (level + RNG.normal(size=30) for level in (0.0, 5.0, 10.0))
    named = {
        "better than both": [(low, middle, high), (low, high, middle)],
        "between the ends": [(middle, low, high), (middle, high, low)],
        "worse than both": [(high, low, middle), (high, middle, low)],
        "not decided": [(low, low, high), (low, high, low), (high, high, low), (low, low, low)],
    }
    for word, cases in named.items():
        for case in cases:
            assert verdict(*case) == word


def test_runs_that_diverged_are_worse():
    one, two, none = [INF, 1.0, 1.0], [INF, INF, 1.0], [9.0, 9.0, 9.0]
    trios = (one, two, two), (one, none, two), (two, none, one), (one, one, two)
    words = ["better than both", "between the ends", "worse than both", "not decided"]
    assert [verdict(*trio) for trio in trios] == words


def test_a_cell_of_a_result_is_in_the_order_of_sigma():
    labels = {
        "p": [512, 512, 1024, 512],
        "kind": ["a", "b", "a", "a"],
        "sigma": [1.0, 0.0, 0.5, 0.2],
    }
    data = xarray.Dataset(
        {"score": ("setting", [30, 10, 20, 40])},
        {name: ("setting", given) for name, given in labels.items()},
    )
    assert cell(data, p=512)["score"].values.tolist() == [10, 40, 30]
    assert cell(data, p=512, kind="a")["score"].values.tolist() == [40, 30]
    assert cell(data)["score"].values.tolist() == [10, 40, 20, 30]
    assert cell(data, p=np.int64(1024))["score"].values.tolist() == [20]
