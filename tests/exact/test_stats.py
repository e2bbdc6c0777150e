"""Intervals, comparisons, cases I-III and granularity against closed forms, scipy and published examples."""

from decimal import ROUND_DOWN, ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from itertools import combinations, permutations
from math import comb, sqrt

import numpy as np
import pytest
from scipy import stats

from gqlib.stats import (
    Interval,
    bootstrap_interval,
    bounded_interval,
    case_counts,
    case_null,
    grim,
    grim_counts,
    holm,
    paired_difference,
    paired_ratio,
    performance_profile,
    probability_of_improvement,
    student_interval,
    tolerance_interval,
)
from gqlib.stats.intervals import variance_interval

# Efron and Tibshirani, An Introduction to the Bootstrap (1993), Table 14.1: the spatial test, first column.
SPATIAL_A = [48, 36, 20, 29, 42, 42, 20, 42, 22, 41, 45, 14, 6]
SPATIAL_A += [0, 33, 28, 34, 4, 32, 24, 47, 41, 24, 26, 30, 41]

# Student (1908): additional hours of sleep of ten patients under two drugs.
SLEEP_1 = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
SLEEP_2 = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]


@pytest.fixture
def rng():
    return np.random.default_rng(20190906)


class TestBootstrapInterval:
    @pytest.mark.parametrize("method", ["percentile", "BCa", "basic"])
    def test_equals_scipy_with_the_same_generator(self, method):
        sample = np.random.default_rng(1).exponential(size=30)
        ours = bootstrap_interval(sample, np.random.default_rng(2), method=method, resamples=500)
        theirs = stats.bootstrap(
            (sample,), np.mean, method=method, n_resamples=500, rng=np.random.default_rng(2)
        ).confidence_interval
        assert tuple(ours) == pytest.approx(tuple(theirs), rel=1e-14)

    def test_equal_runs_give_a_point_and_leave_others_alone(self, rng):
        runs = np.column_stack([np.full(10, 7.0), np.arange(10.0)])
        low, high = bootstrap_interval(runs, rng)
        assert low[0] == high[0] == 7.0
        assert low[1] < 4.5 < high[1]
        assert bootstrap_interval([3.0, 3.0, 3.0], rng) == Interval(3.0, 3.0)

    def test_batches_do_not_change_the_result(self, monkeypatch):
        whole = bootstrap_interval(SPATIAL_A, np.random.default_rng(4), resamples=400)
        monkeypatch.setattr("gqlib.stats.intervals.BATCH_NUMBERS", 260)
        assert bootstrap_interval(SPATIAL_A, np.random.default_rng(4), resamples=400) == whole

    def test_the_method_may_be_written_in_any_case(self):
        for method in ("BCa", "percentile", "basic"):
            spellings = {method, method.lower(), method.upper()}
            calls = {
                bootstrap_interval(SPATIAL_A, np.random.default_rng(4), method=m, resamples=99)
                for m in spellings
            }
            assert len(calls) == 1

    def test_many_axes_are_those_of_the_single_settings(self, rng):
        runs = rng.normal(size=(12, 2, 3))
        runs[:, 1, 0] = 7.0
        low, high = bootstrap_interval(
            runs, np.random.default_rng(5), resamples=200, method="percentile"
        )
        flat = bootstrap_interval(
            runs.reshape(12, 6), np.random.default_rng(5), resamples=200, method="percentile"
        )
        np.testing.assert_array_equal((low.ravel(), high.ravel()), flat)
        assert low[1, 0] == high[1, 0] == 7.0
        assert ((low < high) == [[True] * 3, [False, True, True]]).all()

    @pytest.mark.parametrize("method", ["percentile", "BCa", "basic"])
    def test_a_statistic_may_count(self, method):
        def above(runs, axis=-1):
            return np.sum(runs > 30, axis=axis)

        def interval(statistic):
            options = {"confidence": 0.6, "resamples": 8, "method": method}
            return bootstrap_interval(
                SPATIAL_A, np.random.default_rng(3), statistic=statistic, **options
            )

        expected = interval(lambda runs, axis=-1: above(runs, axis).astype(float))
        assert (
            expected.low % 1 or expected.high % 1
        )  # between two counts, so that cutting to integers would be seen
        assert interval(above) == interval(lambda runs: int(above(runs))) == expected

    @pytest.mark.filterwarnings("error")
    def test_no_bca_where_no_single_run_matters(self, rng):
        tied = [0.0, 0.0, 0.0, 1.0, 2.0]
        with pytest.raises(ValueError, match=r"^method is 'BCa'"):
            bootstrap_interval(tied, rng, statistic=np.min)
        assert bootstrap_interval(tied, rng, statistic=np.min, method="percentile") == Interval(
            0.0, 0.0
        )


class TestStudentInterval:
    def test_equals_scipy(self, rng):
        sample = rng.normal(size=12)
        ours = student_interval(sample.mean(), sample.var(ddof=1), 12, confidence=0.9)
        theirs = stats.ttest_1samp(sample, 0.0).confidence_interval(0.9)
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)

    def test_two_runs_and_runs_that_are_equal(self):
        # The 97.5% quantile of Student's law with one degree of freedom is 12.706.
        assert student_interval(0.0, 2.0, 2).high == pytest.approx(12.706, abs=5e-4)
        assert student_interval([3.0, 4.0], [0.0, 1.0], 5).low[0] == 3.0


class TestToleranceInterval:
    @pytest.mark.parametrize(
        ("coverage", "confidence", "runs"), [(0.95, 0.95, 93), (0.9, 0.95, 46), (0.5, 0.5, 3)]
    )
    def test_sample_sizes_of_wilks(self, coverage, confidence, runs):
        sample = np.arange(float(runs))
        assert tolerance_interval(sample, coverage, confidence) == Interval(0.0, runs - 1.0)
        with pytest.raises(ValueError, match=f"^sample .* it should hold at least {runs} "):
            tolerance_interval(sample[:-1], coverage, confidence)

    def test_order_and_axis_do_not_matter(self, rng):
        runs = rng.normal(size=(3, 100))
        low, high = tolerance_interval(runs, axis=1)
        for row, l, h in zip(runs, low, high, strict=True):  # noqa: E741
            assert tolerance_interval(row[::-1]) == Interval(l, h)


class TestPairedDifference:
    def test_student_sleep_example(self):
        result = paired_difference(SLEEP_1, SLEEP_2)
        assert result.mean == pytest.approx(-1.58)
        assert tuple(result.interval) == pytest.approx((-2.4598858, -0.7001142), abs=1e-6)
        assert result.p_value == pytest.approx(0.002833, abs=1e-6)
        assert result.runs == 10

    def test_agrees_with_scipy(self, rng):
        x, y = rng.normal(size=(2, 40))
        result = paired_difference(x, y, confidence=0.8)
        test = stats.ttest_rel(x, y)
        assert result.p_value == pytest.approx(test.pvalue)
        assert tuple(result.interval) == pytest.approx(tuple(test.confidence_interval(0.8)))
        assert result.p_signed_rank == pytest.approx(stats.wilcoxon(x - y).pvalue)

    def test_bootstrap_comes_in_with_a_generator(self, rng):
        x, y = rng.normal(size=(2, 10))
        expected = bootstrap_interval(x - y, np.random.default_rng(5), resamples=800)
        result = paired_difference(x, y, np.random.default_rng(5), resamples=800)
        assert result.interval == expected
        assert (
            paired_difference(x, y, np.random.default_rng(5), resamples=800, method="BCa") == result
        )
        student = paired_difference(x, y, rng, method="student")
        assert student == paired_difference(x, y)

    def test_variance_ratio_by_hand(self):
        # Deviations of x are -1, 0, 1, of y -3, -1, 4 and of x - y 2, 1, -3: variances 1, 13 and 7.
        x, y = np.array([1.0, 2.0, 3.0]), np.array([0.0, 2.0, 7.0])
        for scale in (1.0, 1e-3, 1e3):
            assert paired_difference(scale * x, scale * y).variance_ratio == pytest.approx(
                7 / 14, rel=1e-12
            )
        assert np.isnan(paired_difference([2.0, 2.0, 2.0], [1.0, 1.0, 1.0]).variance_ratio)

    def test_zero_differences_keep_their_ranks(self):
        x, y = (
            np.array([1.0, 5.0, 3.0, 8.0, 4.0, 9.0, 2.0]),
            np.array([1.0, 3.0, 3.0, 5.0, 8.0, 4.0, 1.0]),
        )
        pratt, wilcox = (
            stats.wilcoxon(x - y, zero_method=zeros).pvalue for zeros in ("pratt", "wilcox")
        )
        assert (
            paired_difference(x, y).p_signed_rank
            == pytest.approx(pratt, rel=1e-12)
            != pytest.approx(wilcox)
        )

    def test_settings_that_agree_in_every_run(self):
        same = paired_difference([1.0, 2.0, 3.0], [1.0, 2.0, 3.0])
        assert (same.mean, same.low, same.high, same.p_value, same.p_signed_rank) == (
            0.0,
            0.0,
            0.0,
            1.0,
            1.0,
        )
        shifted = paired_difference([2.0, 3.0, 4.0], [1.0, 2.0, 3.0])
        assert (shifted.mean, shifted.low, shifted.high, shifted.p_value) == (1.0, 1.0, 1.0, 0.0)


class TestProbabilityOfImprovement:
    @pytest.mark.parametrize("lower_is_better", [True, False])
    def test_is_the_mann_whitney_statistic(self, rng, lower_is_better):
        x, y = rng.integers(0, 6, size=17).astype(float), rng.integers(1, 8, size=11).astype(float)
        result = probability_of_improvement(
            x, y, rng, lower_is_better=lower_is_better, resamples=200
        )
        wins = x[:, None] < y if lower_is_better else x[:, None] > y
        assert result.probability == pytest.approx(np.mean(wins + 0.5 * (x[:, None] == y)))
        statistic = stats.mannwhitneyu(*((y, x) if lower_is_better else (x, y))).statistic
        assert result.probability == pytest.approx(statistic / (17 * 11))
        assert result.low <= result.probability <= result.high

    def test_paired_runs_are_compared_one_by_one(self, rng):
        x, y = np.array([1.0, 12.0, 103.0, 4.0]), np.array([2.0, 13.0, 104.0, 4.0])
        assert probability_of_improvement(x, y, rng, paired=True).probability == 3.5 / 4
        assert probability_of_improvement(x, y, rng).probability == pytest.approx(9.5 / 16)
        # Pairs stay together when they are resampled: a setting that wins every pair always does.
        assert probability_of_improvement(x, x + 0.5, rng, paired=True, resamples=99) == (
            1.0,
            1.0,
            1.0,
        )


class TestPerformanceProfile:
    def test_is_the_empirical_distribution_function(self, rng):
        scores = rng.integers(100, 200, size=50).astype(float)
        thresholds = np.linspace(90, 210, 25)
        profile = performance_profile(scores, thresholds)
        np.testing.assert_allclose(profile.share, stats.ecdf(scores).cdf.evaluate(thresholds))
        assert profile.share[0] == 0.0
        assert profile.share[-1] == 1.0

    def test_returns_go_the_other_way_and_thresholds_count_as_reached(self):
        assert performance_profile(
            [-3.0, -2.0, -1.0, -1.0], [-2.0], lower_is_better=False
        ).share == [0.75]
        assert performance_profile([3.0, 2.0, 1.0, 1.0], [2.0]).share == [0.75]

    def test_diverged_runs_count_as_never(self):
        assert performance_profile([1.0, np.inf], [1e300]).share == [0.5]
        assert performance_profile([1.0, -np.inf], [-1e300], lower_is_better=False).share == [0.5]

    def test_band_is_that_of_dvoretzky_kiefer_and_wolfowitz(self):
        middle = performance_profile(np.linspace(0, 1, 50), [0.5], confidence=0.9)
        halves = np.array([middle.high - middle.share, middle.share - middle.low])
        np.testing.assert_allclose(halves, sqrt(np.log(2 / 0.1) / 100))
        profile = performance_profile([1.0, 2.0, 4.0], [0.5, 3.0, 9.0])
        assert (profile.low[0], profile.high[2], profile.thresholds[1]) == (0.0, 1.0, 3.0)

    def test_scores_and_thresholds_of_any_size_are_compared_as_they_are(self):
        assert performance_profile([1.7e308], [1e308, 1.7e308]).share.tolist() == [0.0, 1.0]
        assert performance_profile(
            [1e308], [1e308, 1.7e308], lower_is_better=False
        ).share.tolist() == [1.0, 0.0]


class TestHolm:
    def test_worked_example(self):
        np.testing.assert_allclose(holm([0.01, 0.04, 0.03, 0.005]), [0.03, 0.06, 0.06, 0.02])

    def test_is_the_closure_of_bonferroni(self, rng):
        p = rng.random(6) ** 3
        for index in range(6):
            families = [
                s for size in range(1, 7) for s in combinations(range(6), size) if index in s
            ]
            expected = max(min(1.0, len(s) * min(p[list(s)])) for s in families)
            assert holm(p)[index] == pytest.approx(expected)

    def test_one_test_and_ties_and_the_ceiling(self):
        assert holm([0.2]) == [0.2]
        np.testing.assert_allclose(holm([0.02, 0.02, 0.9]), [0.06, 0.06, 0.9])
        np.testing.assert_allclose(holm([0.6, 0.7]), [1.0, 1.0])
        np.testing.assert_array_equal(holm([1.0, 0.0, 0.0]), [1.0, 0.0, 0.0])


class TestCaseCounts:
    def test_counts_by_hand(self):
        scores = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
        assert case_counts(scores, 4.5, 2.5) == (2, 2, 2)
        assert case_counts(scores, 2.5, 4.5) == (2, 2, 2)
        assert case_counts(scores, 5.5, 2.5) == (2, 3, 1)
        assert case_counts(scores, 5.5, 2.5, lower_is_better=False) == (1, 3, 2)

    def test_ends_in_the_array(self):
        assert (
            case_counts([4.5, 1.0, 2.0, 3.0, 9.0, 2.5])
            == case_counts([1.0, 2.0, 3.0, 9.0], 4.5, 2.5)
            == (2, 1, 1)
        )

    def test_ties_with_an_end_are_case_two(self):
        assert case_counts([2.0, 4.0, 3.0], 2.0, 4.0) == (0, 3, 0)
        assert case_counts([2.0, 1.0, 3.0], 2.0, 2.0) == (1, 1, 1)
        assert case_counts([5.0, 5.0], 5.0, 5.0) == (0, 2, 0)

    def test_diverged_settings_are_worst(self):
        assert case_counts([1.0, np.inf], 2.0, 3.0) == (1, 0, 1)
        assert case_counts([1.0, -np.inf], 2.0, 3.0, lower_is_better=False) == (0, 0, 2)
        assert case_counts([np.inf, 3.0], np.inf, 2.0) == (0, 2, 0)

    def test_many_cells_at_once(self, rng):
        scores = rng.normal(size=(2, 3, 51))
        counts = case_counts(scores)
        assert counts.better.shape == (2, 3)
        for cell in np.ndindex(2, 3):
            single = case_counts(scores[cell][1:-1], scores[cell][0], scores[cell][-1])
            assert tuple(case[cell] for case in counts) == single
        np.testing.assert_array_equal(counts.total, 49)
        np.testing.assert_allclose(counts.percentages.sum(axis=0), 100.0)


class TestCaseNull:
    @pytest.mark.parametrize("n", [1, 2, 3, 4])
    def test_every_order_of_the_scores_enumerated(self, n):
        tally = {}
        orders = list(permutations(range(n + 2)))
        for order in orders:
            counts = tuple(case_counts(order))
            tally[counts] = tally.get(counts, 0) + 1
        compositions = {(a, b, n - a - b) for a in range(n + 1) for b in range(n + 1 - a)}
        assert set(tally) == compositions
        assert len(set(tally.values())) == 1
        null = case_null(n)
        for counts, times in tally.items():
            assert null.joint_pmf(*counts) == pytest.approx(times / len(orders), rel=1e-12)
        for case in range(3):
            for count in range(n + 1):
                exact = sum(
                    times for counts, times in tally.items() if counts[case] == count
                ) / len(orders)
                assert null.pmf(count) == pytest.approx(exact, rel=1e-12)

    @pytest.mark.parametrize("n", [1, 7, 49])
    def test_closed_forms(self, n):
        null, pairs = case_null(n), comb(n + 2, 2)
        np.testing.assert_allclose(
            null.pmf(null.support), (n - null.support + 1) / pairs, rtol=1e-12
        )
        assert null.mean == pytest.approx(null.support @ null.probabilities)
        assert null.variance == pytest.approx((null.support - null.mean) ** 2 @ null.probabilities)
        for count in range(n + 1):
            assert null.p_value(count) == pytest.approx(comb(n - count + 2, 2) / pairs)
            assert null.p_value(count, "less") == pytest.approx(1 - comb(n - count + 1, 2) / pairs)

    def test_the_paper_s_49_values(self):
        null = case_null()
        assert null == case_null(49, 1)
        assert (null.share_mean, null.share_sd) == pytest.approx((1 / 3, sqrt(52 / 49 / 18)))
        assert null.p_value(27) == pytest.approx(276 / 1275)
        sides = [null.p_value(count, "two-sided") for count in (14, 0, 48)]
        assert sides == pytest.approx([1.0, 2 * 50 / 1275, 2 * 3 / 1275])

    def test_simulation_agrees_cell_by_cell(self, rng):
        null = case_null(5)
        draws = null.simulate(21000, rng)
        assert (draws.sum(axis=1) == 5).all()
        _, observed = np.unique(draws, axis=0, return_counts=True)
        assert observed.size == 21
        assert stats.chisquare(observed).pvalue > 1e-3

    def test_pooled_cells(self, rng):
        null = case_null(49, cells=6)
        support, law = null.support, null.probabilities
        assert (null.total, law.sum()) == (294, pytest.approx(1.0))
        assert support @ law == pytest.approx(null.mean) == 98
        assert (support - 98) ** 2 @ law == pytest.approx(null.variance)
        assert null.share_sd == pytest.approx(case_null().share_sd / sqrt(6))
        draws = null.simulate(4000, rng)
        assert draws.mean(axis=0) == pytest.approx([98] * 3, abs=3)

    def test_interval_leaves_out_no_more_than_it_may(self):
        for null in (case_null(), case_null(49, 6)):
            low, high = null.interval(0.9)
            assert null.probabilities[:low].sum() <= 0.05 < null.probabilities[: low + 1].sum()
            assert null.probabilities[high + 1 :].sum() <= 0.05 < null.probabilities[high:].sum()

    def test_outside_the_support(self):
        null = case_null(3)
        np.testing.assert_array_equal(null.pmf([-1, 4, 1.5]), 0.0)
        assert type(null.pmf(1)) is type(null.pmf(7)) is float
        assert null.joint_pmf(1, 1, 2) == null.joint_pmf(4, 0, -1) == 0.0


class TestGrim:
    @pytest.mark.parametrize(
        ("rounding", "mode"),
        [("half-up", ROUND_HALF_UP), ("half-even", ROUND_HALF_EVEN), ("down", ROUND_DOWN)],
    )
    @pytest.mark.parametrize("decimals", [0, 1])
    def test_against_decimal_arithmetic(self, rounding, mode, decimals):
        unit = Decimal(1).scaleb(-decimals)
        for n in (7, 16, 40, 49):
            printed = {k: (Decimal(100 * k) / n).quantize(unit, mode) for k in range(n + 1)}
            for value in {*printed.values(), Decimal(33).quantize(unit)}:
                expected = tuple(k for k, shown in printed.items() if shown == value)
                found = grim(str(value), n, decimals, rounding=rounding)
                assert found == ({n: expected} if expected else {})

    def test_ties_may_go_either_way(self):
        # 1/16 = 6.25 %, printed 6.3 or 6.2
        assert grim(6.2, 16) == grim(6.3, 16) == {16: (1,)}
        assert grim(6.2, 16, rounding="half-even") == {16: (1,)}
        assert not grim(6.2, 16, rounding="half-up")
        assert not grim(6.3, 16, rounding="half-even")

    def test_many_denominators_and_many_numerators(self):
        assert sorted(grim(33.3, range(1, 11))) == [3, 6, 9]
        assert grim(50, 250, decimals=0) == {250: (124, 125, 126)}
        assert grim(0.0, [3]) == {3: (0,)}
        assert grim(100.0, np.array([3])) == {3: (3,)}
        assert grim(100.0, 2000, rounding="down") == {
            2000: (2000,)
        }  # though 2001 of 2000 would be cut to 100.0

    def test_a_float_is_read_as_the_decimal_it_shows(self):
        assert grim(0.1 + 0.2, 1000, decimals=17) == {}
        assert grim(0.3, 1000) == grim("0.3", 1000) == {1000: (3,)}

    def test_whole_columns(self):
        assert grim_counts([20.4, 36.7, 42.9], 49) == ((10, 18, 21),)
        assert grim_counts([20.4, 36.7, 42.9], 51) == ()
        assert grim_counts([33.3, 33.3, 33.4], 3) == ()
        assert grim_counts([33.3, 33.3, 33.4], 3, remainder=2) == ((1, 1, 1),)
        assert grim_counts([33.3, 33.3, 33.3], 3, remainder=2) == ()

    def test_decimals_and_rounding_reach_every_cell_of_a_column(self):
        assert grim_counts([33, 67], 3, 0) == ((1, 2),)
        assert grim_counts([33.3, 66.6], 3, rounding="down") == ((1, 2),)
        assert grim_counts([33.3, 66.6], 3) == ()

    def test_a_remainder_may_be_the_first_cell_nothing_or_all(self):
        assert grim_counts([8.1, 53.1, 38.8], 49, remainder=0) == ((4, 26, 19),)
        assert grim_counts([33.33, 66.67], 3, 2, remainder=1) == ((1, 2),)
        assert (
            grim_counts([0.0, 100.0], 5, remainder=0)
            == grim_counts([0.0, 100.0], 5, remainder=1)
            == ((0, 5),)
        )


def test_the_default_level_is_95_percent(rng):
    runs = rng.normal(size=60)
    assert case_null(30).interval() == case_null(30).interval(0.95) != case_null(30).interval(0.9)
    assert student_interval(1.0, 2.0, 5) == student_interval(1.0, 2.0, 5, confidence=0.95)
    assert tolerance_interval(runs) == tolerance_interval(runs, 0.9, 0.95)
    levels = ({}, {"confidence": 0.95})
    assert (
        len(
            {
                bootstrap_interval(runs, np.random.default_rng(1), resamples=99, **level)
                for level in levels
            }
        )
        == 1
    )


def test_the_default_number_of_resamples_is_9999(rng):
    x, y = rng.exponential(size=(2, 9))
    for call in (
        lambda **given: bootstrap_interval(x, np.random.default_rng(1), **given),
        lambda **given: paired_difference(x, y, np.random.default_rng(1), **given),
        lambda **given: probability_of_improvement(x, y, np.random.default_rng(1), **given),
    ):
        assert call() == call(resamples=9999) != call(resamples=10000)


def test_variance_from_sums_is_the_sample_variance_without_cancellation():
    rng = np.random.default_rng(3)
    x = 4990 + rng.integers(0, 5, (300, 7))
    variance, low, high = variance_interval([(x**k).sum(axis=0) for k in (1, 2, 3, 4)], 300)
    assert variance == pytest.approx(x.var(axis=0, ddof=1), rel=1e-12)
    fourth = ((x - x.mean(axis=0)) ** 4).mean(axis=0)
    error = np.sqrt((fourth - x.var(axis=0) ** 2 * 297 / 299) / 300)
    assert np.log(high / variance) == pytest.approx(
        stats.t.ppf(0.975, 299) * error / variance, rel=1e-9
    )
    assert np.log(variance / low) == pytest.approx(np.log(high / variance), rel=1e-9)


@pytest.mark.parametrize("score", [0, 7, 4990])
def test_variance_of_equal_runs_is_zero(score):
    sums = [np.array([10 * score**k]) for k in (1, 2, 3, 4)]
    assert [float(end[0]) for end in variance_interval(sums, 10)] == [0.0, 0.0, 0.0]


def test_equal_runs_that_are_no_integers_have_a_variance_of_rounding():
    for score in (0.1, 12345.678, 1e10 / 3):
        variance, low, high = variance_interval(
            [float((np.full(7, score) ** k).sum()) for k in (1, 2, 3, 4)], 7
        )
        assert 0 <= low <= variance <= high
        assert variance < 1e-12 * score**2


def test_sums_beyond_64_bits_are_exact_too():
    # The last sum of each is above 2**63; numpy would turn the first four, which have both signs, into floats.
    for scores in (
        [-36000 - k**2 for k in range(7)],
        [10**6 + k for k in range(7)],
        [-(10**7) - k for k in range(7)],
    ):
        ends = variance_interval([sum(score**k for score in scores) for k in (1, 2, 3, 4)], 7)
        near = [score - scores[0] for score in scores]
        assert ends == pytest.approx(
            variance_interval([sum(x**k for x in near) for k in (1, 2, 3, 4)], 7), rel=1e-14
        )


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_the_tolerance_for_rounding_in_sums_is_one_part_in_a_billion(scale):
    # A mean above 1 where the mean square is 1, and a fourth moment above 1,000, the most that 1,000 runs can have.
    def spoilt(error):
        for sums in ([1e3 * (1 + error), 1e3, 1e3, 1e3], [0.0, 1e3, 0.0, 1e6 * (1 + error)]):
            yield np.array(sums) * scale ** np.array([1, 2, 3, 4])

    assert [variance_interval(sums, 1000)[0] for sums in spoilt(1e-11)] == pytest.approx(
        [0.0, scale**2 * 1000 / 999]
    )
    for sums in spoilt(1e-7):
        with pytest.raises(ValueError, match=r"; no sample of 1000 runs has such sums of powers"):
            variance_interval(sums, 1000)


def test_impossible_sums_of_powers_are_refused():
    x = np.array([1.0, 2.0, 3.0, 4.0, 10.0])
    sums = [float((x**k).sum()) for k in (1, 2, 3, 4)]
    assert variance_interval(sums, 5)[0] == pytest.approx(x.var(ddof=1))
    # A mean beyond the spread; one beyond all precision; and fourth powers that are too large for the squares.
    for spoilt in (
        [100.0, *sums[1:]],
        [1e90, *sums[1:]],
        [10**90, 130, 1100, 10354],
        [*sums[:3], 1e9],
    ):
        with pytest.raises(
            ValueError, match=r"^sums is \[.*; no sample of 5 runs has such sums of powers"
        ):
            variance_interval(spoilt, 5)
    wider, narrower = (variance_interval(sums, 5, confidence=level) for level in (0.99, 0.5))
    assert wider[1] < narrower[1] < narrower[0] < narrower[2] < wider[2]


@pytest.mark.parametrize(
    ("count", "coverage", "confidence"),
    [(10, 0.2, 0.5), (11, 0.1, 0.6), (20, 0.5, 0.9), (9, 0.05, 0.5)],
)
def test_tolerance_takes_the_innermost_runs_that_will_do(count, coverage, confidence):
    runs = np.arange(1.0, count + 1)
    ranks = [
        r
        for r in range(1, count // 2 + 1)
        if stats.beta.sf(coverage, count - 2 * r + 1, 2 * r) >= confidence
    ]
    low, high = tolerance_interval(runs, coverage=coverage, confidence=confidence)
    assert (low, high) == (max(ranks), count + 1 - max(ranks))


class TestBounded:
    @pytest.mark.parametrize("failures", [0, 1, 7, 30])
    def test_for_two_values_it_is_the_interval_of_clopper_and_pearson(self, failures):
        runs = np.repeat([0.0, 1.0], [30 - failures, failures])
        low, high = bounded_interval(
            runs, np.random.default_rng(1), low=0.0, high=1.0, resamples=200_000
        )
        exact = stats.binomtest(failures, 30).proportion_ci(0.95, method="exact")
        assert abs(low - exact.low) < 0.003
        assert abs(high - exact.high) < 0.003

    def test_it_moves_with_the_scale_and_takes_every_axis_by_itself(self):
        runs = np.random.default_rng(2).uniform(size=(40, 3))
        unit = bounded_interval(runs, np.random.default_rng(3), low=0.0, high=1.0)
        scaled = bounded_interval(
            10 - 4 * runs.T, np.random.default_rng(3), low=6.0, high=10.0, axis=1
        )
        np.testing.assert_allclose(scaled.low, 10 - 4 * unit.high, rtol=1e-12)
        np.testing.assert_allclose(scaled.high, 10 - 4 * unit.low, rtol=1e-12)
        alone = bounded_interval(runs[:, 1], np.random.default_rng(3), low=0.0, high=1.0)
        np.testing.assert_allclose(alone, (unit.low[1], unit.high[1]), rtol=1e-12)


class TestPairedRatio:
    def test_of_equal_runs_is_one_to_the_last_digit(self, rng):
        scores = rng.lognormal(size=30)
        assert paired_ratio(scores, scores) == (1.0, 1.0, 1.0)

    def test_agrees_with_the_paired_difference_where_both_are_small(self, rng):
        second = rng.normal(10.0, 0.5, 200)
        first = second + rng.normal(-0.05, 0.1, 200)
        difference, found = paired_difference(first, second), paired_ratio(first, second)
        want = np.array([difference.mean, *difference.interval]) / 10
        np.testing.assert_allclose(np.array(found) - 1, want, rtol=0.02)


PAIR = [1.0, 2.0], [2.0, 3.5]


@pytest.mark.filterwarnings("ignore:Degrees of freedom", "ignore:invalid value")
def test_one_resample_is_a_point_and_other_limits_are_allowed(rng):
    alone = {"resamples": 1, "method": "percentile"}
    single = paired_difference(*PAIR, rng, **alone)
    assert single.low == single.high
    assert np.ptp(bootstrap_interval([1.0, 2.0, 4.0], rng, **alone)) == 0.0
    assert np.ptp(probability_of_improvement(*PAIR, rng, resamples=1)[1:]) == 0.0
    assert paired_difference(*PAIR, resamples=1) == paired_difference(*PAIR)
    assert case_null(3).simulate(1, rng).sum() == 3
    assert (grim_counts([100.0, 0.0], 1), grim(50.0, 2, 30)) == (((1, 0),), {2: (1,)})
    # Two runs each at ±a with a² = 5e49: the sum of fourth powers is the largest allowed, and four runs the fewest.
    assert variance_interval([0.0, 2e50, 0.0, 1e100], 4)[0] == pytest.approx(4 / 3 * 5e49)


def test_scores_up_to_1e100_are_taken():
    scale, (x, y) = 2.0**200, np.array([[1.0, 2.0, 4.0, 3.0], [0.0, 1.0, -1.0, 2.0]])
    for interval in (
        lambda first, second: paired_difference(first, second).interval,
        lambda first, _: bootstrap_interval(first, np.random.default_rng(0), resamples=99),
    ):
        large = interval(scale * x, scale * y)
        assert large == pytest.approx([scale * end for end in interval(x, y)])
    assert student_interval(scale, 0.0, 3) == (scale, scale)
