"""Intervals, comparisons, cases I-III and granularity against closed forms, scipy and published examples."""

import warnings
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from itertools import combinations, permutations
from math import comb, nan, sqrt

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
from gqlib.stats.ends import better_than_both, paired_p_values, sign_p_values, signed_rank_p_values
from gqlib.stats.granularity import _CONVENTIONS
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


def covered(interval, truth):
    """Share of intervals that hold the truth."""
    return np.mean((interval.low <= truth) & (truth <= interval.high))


class TestBootstrapInterval:
    def test_efron_tibshirani_variance_example(self, rng):
        # Their Table 14.2: 90% intervals from 2,000 resamples, percentile (100.8, 233.9) and BCa (115.8, 259.6).
        assert np.var(SPATIAL_A) == pytest.approx(171.5, abs=0.05)
        settings = {"statistic": np.var, "confidence": 0.9, "resamples": 20000}
        percentile = bootstrap_interval(SPATIAL_A, rng, method="percentile", **settings)
        bca = bootstrap_interval(SPATIAL_A, rng, method="BCa", **settings)
        np.testing.assert_allclose(percentile, (100.8, 233.9), atol=4)
        np.testing.assert_allclose(bca, (115.8, 259.6), atol=4)

    @pytest.mark.parametrize("method", ["percentile", "BCa", "basic"])
    def test_equals_scipy_with_the_same_generator(self, method):
        sample = np.random.default_rng(1).exponential(size=30)
        ours = bootstrap_interval(sample, np.random.default_rng(2), method=method, resamples=500)
        theirs = stats.bootstrap(
            (sample,), np.mean, method=method, n_resamples=500, rng=np.random.default_rng(2)
        ).confidence_interval
        assert tuple(ours) == pytest.approx(tuple(theirs), rel=1e-14)

    def test_large_samples_of_normals_agree_with_student(self, rng):
        sample = rng.normal(5.0, 2.0, size=2000)
        exact = student_interval(sample.mean(), sample.var(ddof=1), sample.size)
        for method in ("percentile", "BCa"):
            np.testing.assert_allclose(
                bootstrap_interval(sample, rng, method=method), exact, atol=0.01
            )

    def test_curves_get_one_interval_per_episode(self, rng):
        runs = rng.normal(size=(25, 4)) + np.arange(4)
        low, high = bootstrap_interval(runs, rng, resamples=300)
        assert low.shape == high.shape == (4,)
        assert np.all((low < runs.mean(axis=0)) & (runs.mean(axis=0) < high))
        turned = bootstrap_interval(runs.T, np.random.default_rng(3), resamples=300, axis=-1)
        np.testing.assert_array_equal(
            turned, bootstrap_interval(runs, np.random.default_rng(3), resamples=300)
        )

    def test_the_generator_decides_every_bit(self):
        first, second = (bootstrap_interval(SPATIAL_A, np.random.default_rng(9)) for _ in range(2))
        assert first == second
        assert first != bootstrap_interval(SPATIAL_A, np.random.default_rng(10))

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

    @pytest.mark.parametrize("numbers", [1, 26, 260])
    def test_no_batch_is_larger_than_it_has_to_be(self, rng, monkeypatch, numbers):
        sizes = []

        def mean(runs, axis=-1):
            sizes.append(np.size(runs))
            return np.mean(runs, axis=axis)

        monkeypatch.setattr("gqlib.stats.intervals.BATCH_NUMBERS", numbers)
        bootstrap_interval(SPATIAL_A, rng, statistic=mean, resamples=40)
        assert max(sizes) == max(numbers, len(SPATIAL_A))

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

    @pytest.mark.parametrize(
        ("kind", "words"),
        [(UserWarning, "rough"), (RuntimeWarning, "rough"), (UserWarning, "invalid value")],
    )
    def test_warnings_of_a_statistic_are_not_swallowed(self, rng, kind, words):
        def mean(runs, axis=-1):
            if np.ndim(runs) > 1:  # not in the first call, for the sample itself
                warnings.warn(words, kind, stacklevel=1)
            return np.mean(runs, axis=axis)

        with pytest.warns(kind, match=words):
            bootstrap_interval(SPATIAL_A, rng, statistic=mean, resamples=20)

    def test_statistic_without_axis(self, rng):
        interval = bootstrap_interval(
            SPATIAL_A, rng, statistic=lambda x: float(np.median(x)), resamples=200
        )
        assert interval.low < np.median(SPATIAL_A) < interval.high

    @pytest.mark.filterwarnings("error")
    def test_no_bca_where_no_single_run_matters(self, rng):
        tied = [0.0, 0.0, 0.0, 1.0, 2.0]
        with pytest.raises(ValueError, match=r"^method is 'BCa'"):
            bootstrap_interval(tied, rng, statistic=np.min)
        assert bootstrap_interval(tied, rng, statistic=np.min, method="percentile") == Interval(
            0.0, 0.0
        )

    @pytest.mark.parametrize(
        ("arguments", "name"),
        [
            ({"sample": [1.0]}, "sample"),
            ({"sample": [1.0, nan]}, "sample"),
            ({"sample": 3.0}, "sample"),
            ({"sample": []}, "sample"),
            ({"rng": 0}, "rng"),
            ({"rng": None}, "rng"),
            ({"confidence": 1.0}, "confidence"),
            ({"confidence": 95}, "confidence"),
            ({"method": "magic"}, "method"),
            ({"resamples": 0}, "resamples"),
            ({"axis": 1}, "axis"),
        ],
    )
    def test_refusals_name_the_argument(self, rng, arguments, name):
        with pytest.raises(ValueError, match=f"^{name} "):
            bootstrap_interval(**({"sample": [1.0, 2.0, 4.0], "rng": rng} | arguments))

    def test_coverage_in_short(self, rng):
        # 1,000 samples of 40 normals: nominal 0.95; the standard error of the estimate is 0.007.
        samples = rng.normal(size=(40, 1000))
        for method in ("percentile", "BCa"):
            assert (
                0.92
                < covered(bootstrap_interval(samples, rng, method=method, resamples=499), 0.0)
                < 0.97
            )

    @pytest.mark.thorough
    @pytest.mark.parametrize("method", ["percentile", "BCa"])
    @pytest.mark.parametrize(
        ("draw", "truth"),
        [
            (lambda rng, shape: rng.normal(size=shape), 0.0),
            (lambda rng, shape: rng.exponential(size=shape), 1.0),
            (lambda rng, shape: rng.random(shape) ** 2, 1 / 3),
        ],
        ids=["normal", "exponential", "squared uniform"],
    )
    def test_coverage_of_the_mean(self, rng, method, draw, truth):
        # 100 runs, as in the paper; 4,000 samples, standard error 0.004 at 0.94.
        interval = bootstrap_interval(draw(rng, (100, 4000)), rng, method=method, resamples=999)
        assert 0.93 < covered(interval, truth) < 0.965

    @pytest.mark.thorough
    def test_coverage_of_a_variance_is_good_for_normals_and_poor_for_skewed_scores(self, rng):
        normal = bootstrap_interval(
            rng.normal(size=(100, 4000)), rng, statistic=np.var, resamples=999
        )
        skewed = bootstrap_interval(
            rng.exponential(size=(100, 4000)), rng, statistic=np.var, resamples=999
        )
        assert 0.92 < covered(normal, 1.0) < 0.97
        assert 0.85 < covered(skewed, 1.0) < 0.92


class TestStudentInterval:
    def test_equals_scipy(self, rng):
        sample = rng.normal(size=12)
        ours = student_interval(sample.mean(), sample.var(ddof=1), 12, confidence=0.9)
        theirs = stats.ttest_1samp(sample, 0.0).confidence_interval(0.9)
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)

    def test_coverage_is_exact_for_normals(self, rng):
        samples = rng.normal(size=(8, 20000))
        interval = student_interval(samples.mean(axis=0), samples.var(axis=0, ddof=1), 8)
        assert covered(interval, 0.0) == pytest.approx(0.95, abs=0.006)

    def test_two_runs_and_runs_that_are_equal(self):
        # The 97.5% quantile of Student's law with one degree of freedom is 12.706.
        assert student_interval(0.0, 2.0, 2).high == pytest.approx(12.706, abs=5e-4)
        assert student_interval([3.0, 4.0], [0.0, 1.0], 5).low[0] == 3.0

    @pytest.mark.parametrize(
        ("arguments", "name"),
        [((1.0, -1.0, 9), "variance"), ((1.0, [1.0, 2.0], 9), "variance"), ((1.0, 1.0, 1), "runs")],
    )
    def test_refusals_name_the_argument(self, arguments, name):
        with pytest.raises(ValueError, match=f"^{name} "):
            student_interval(*arguments)


class TestToleranceInterval:
    @pytest.mark.parametrize(
        ("coverage", "confidence", "runs"), [(0.95, 0.95, 93), (0.9, 0.95, 46), (0.9, 0.9, 38)]
    )
    def test_sample_sizes_of_wilks(self, coverage, confidence, runs):
        sample = np.arange(float(runs))
        assert tolerance_interval(sample, coverage, confidence) == Interval(0.0, runs - 1.0)
        asked = f"for coverage {coverage:g} with confidence {confidence:g}"
        with pytest.raises(
            ValueError,
            match=f"^sample holds {runs - 1} runs; it should hold at least {runs} {asked}$",
        ):
            tolerance_interval(sample[:-1], coverage, confidence)

    def test_a_level_that_is_hit_exactly_is_enough(self):
        # The share between the ends of three runs has the law Beta(2, 2), with median 1/2.
        assert tolerance_interval([1.0, 2.0, 3.0], 0.5, 0.5) == Interval(1.0, 3.0)
        with pytest.raises(ValueError, match=r"^sample holds 2 runs; it should hold at least 3 "):
            tolerance_interval([1.0, 2.0], 0.5, 0.5)

    def test_how_many_runs_are_needed_is_found_at_once_for_any_coverage(self):
        # n runs leave out a share with the law Beta(2, n - 1), nearly Gamma(2) / n; its 95% quantile is 4.7439.
        with pytest.raises(ValueError, match=r"at least 47438646\d\d for coverage"):
            tolerance_interval([1.0, 2.0, 3.0], 1 - 1e-9, 0.95)

    @pytest.mark.parametrize("runs", [60, 100, 333])
    def test_rank_agrees_with_the_binomial_form(self, runs):
        # 2r runs left out are allowed as long as at least 2r of n fall outside with the wanted probability.
        allowed = [m for m in range(runs) if stats.binom.sf(m - 1, runs, 0.1) >= 0.95]
        rank = max(allowed) // 2
        assert tolerance_interval(np.arange(1.0, runs + 1)) == Interval(
            float(rank), float(runs + 1 - rank)
        )

    def test_order_and_axis_do_not_matter(self, rng):
        runs = rng.normal(size=(3, 100))
        low, high = tolerance_interval(runs, axis=1)
        for row, l, h in zip(runs, low, high, strict=True):  # noqa: E741
            assert tolerance_interval(row[::-1]) == Interval(l, h)

    @pytest.mark.parametrize("draw", ["normal", "exponential"])
    def test_covers_the_population_as_often_as_promised(self, rng, draw):
        law = {"normal": stats.norm, "exponential": stats.expon}[draw]
        low, high = tolerance_interval(law.rvs(size=(100, 4000), random_state=rng), 0.9, 0.95)
        held = law.cdf(high) - law.cdf(low) >= 0.9
        exact = stats.beta.sf(0.9, 101 - 2 * 2, 2 * 2)  # r = 2 at n = 100
        assert exact > 0.95
        assert held.mean() == pytest.approx(exact, abs=0.015)

    @pytest.mark.parametrize(
        ("arguments", "name"),
        [
            ({"coverage": 1.0}, "coverage"),
            ({"confidence": 0.0}, "confidence"),
            ({"sample": [nan] * 99}, "sample"),
        ],
    )
    def test_refusals_name_the_argument(self, arguments, name):
        with pytest.raises(ValueError, match=f"^{name} "):
            tolerance_interval(**({"sample": np.arange(99.0)} | arguments))


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

    @pytest.mark.parametrize("method", ["BCa", "percentile", "basic"])
    def test_level_method_and_resamples_reach_the_bootstrap(self, rng, method):
        x, y = rng.exponential(size=(2, 10))
        options = {"method": method, "confidence": 0.8, "resamples": 60}
        result = paired_difference(x, y, np.random.default_rng(6), **options)
        assert result.interval == bootstrap_interval(x - y, np.random.default_rng(6), **options)

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

    def test_sign_is_first_minus_second(self):
        lower, higher = [0.7, -1.6, -0.2, 3.4], [1.9, 0.8, 0.1, 4.4]
        forward, back = paired_difference(lower, higher), paired_difference(higher, lower)
        assert forward.mean == -back.mean < 0
        assert forward.low == pytest.approx(-back.high)

    def test_common_random_numbers_shrink_the_interval(self, rng):
        shared = rng.normal(scale=3.0, size=200)
        x, y = shared + rng.normal(size=200), shared + rng.normal(size=200) + 0.5
        paired = paired_difference(x, y)
        crossed = paired_difference(x, rng.permutation(y))
        assert paired.variance_ratio == pytest.approx(1 / 10, rel=0.3)
        assert crossed.variance_ratio == pytest.approx(1.0, rel=0.3)
        assert paired.interval.width < 0.5 * crossed.interval.width

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

    @pytest.mark.parametrize(
        ("pairs", "error"), [(300, 0.04), pytest.param(3000, 0.015, marks=pytest.mark.thorough)]
    )
    def test_level_of_the_tests_and_coverage_of_the_interval(self, rng, pairs, error):
        x, y = rng.normal(size=(2, pairs, 15))
        results = [paired_difference(a, b) for a, b in zip(x, y, strict=True)]
        assert np.mean([r.low <= 0 <= r.high for r in results]) == pytest.approx(0.95, abs=error)
        assert np.mean([r.p_value < 0.05 for r in results]) == pytest.approx(0.05, abs=error)
        assert np.mean([r.p_signed_rank < 0.05 for r in results]) == pytest.approx(0.05, abs=error)

    @pytest.mark.thorough
    def test_coverage_of_the_bootstrap(self, rng):
        x = rng.exponential(size=(1500, 60))
        y = x + rng.exponential(size=(1500, 60)) - 1.0
        held = [paired_difference(a, b, rng, resamples=999) for a, b in zip(x, y, strict=True)]
        assert np.mean([r.low <= 0 <= r.high for r in held]) == pytest.approx(0.94, abs=0.02)

    @pytest.mark.parametrize(
        ("arguments", "name"),
        [
            (([1.0, 2.0], [1.0]), "second"),
            (([1.0], [1.0]), "first"),
            (([[1.0, 2.0]], [[1.0, 2.0]]), "first"),
            (([1.0, nan], [1.0, 2.0]), "first"),
            (([1.0, 2.5], [1.0, 2.0], 7), "rng"),
        ],
    )
    def test_refusals_name_the_argument(self, arguments, name):
        with pytest.raises(ValueError, match=f"^{name} "):
            paired_difference(*arguments)

    def test_refuses_a_bootstrap_without_a_generator(self):
        with pytest.raises(ValueError, match=r"^rng is None"):
            paired_difference(SLEEP_1, SLEEP_2, method="BCa")
        with pytest.raises(ValueError, match=r"^method "):
            paired_difference(SLEEP_1, SLEEP_2, method="z")


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

    def test_extremes(self, rng):
        assert probability_of_improvement([1.0, 2.0], [3.0, 4.0], rng) == (1.0, 1.0, 1.0)
        assert probability_of_improvement([3.0, 3.0], [3.0, 3.0], rng) == (0.5, 0.5, 0.5)

    @pytest.mark.parametrize("runs", [60, pytest.param(200, marks=pytest.mark.thorough)])
    def test_coverage(self, rng, runs):
        # X ~ N(0, 1) and Y ~ N(1, 1): P(X < Y) = Phi(1 / sqrt 2).
        truth = stats.norm.cdf(1 / sqrt(2))
        results = [
            probability_of_improvement(
                rng.normal(size=runs), rng.normal(1.0, size=runs), rng, resamples=299
            )
            for _ in range(200)
        ]
        assert np.mean([r.low <= truth <= r.high for r in results]) == pytest.approx(0.94, abs=0.04)

    def test_refusals_name_the_argument(self, rng):
        with pytest.raises(ValueError, match=r"^second holds 3 runs"):
            probability_of_improvement([1.0, 2.0], [1.0, 2.0, 3.0], rng, paired=True)
        with pytest.raises(ValueError, match=r"^rng "):
            probability_of_improvement([1.0, 2.0], [1.0, 2.0], None)
        with pytest.raises(ValueError, match=r"^first "):
            probability_of_improvement([1.0], [1.0, 2.0], rng)


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

    def test_band_holds_at_all_thresholds_at_once(self, rng):
        grid = np.linspace(0, 1, 201)
        held = 0
        for _ in range(1000):
            profile = performance_profile(rng.random(50), grid, confidence=0.9)
            held += bool(np.all((profile.low <= grid) & (grid <= profile.high)))
        assert 0.88 < held / 1000 < 0.97
        half = sqrt(np.log(2 / 0.1) / 100)
        middle = performance_profile(np.linspace(0, 1, 50), [0.5], confidence=0.9)
        assert middle.high - middle.share == pytest.approx(half)
        assert middle.share - middle.low == pytest.approx(half)

    def test_band_is_cut_at_0_and_1_and_the_thresholds_come_back(self):
        profile = performance_profile([1.0, 2.0, 4.0], [0.5, 3.0, 9.0])
        np.testing.assert_array_equal(profile.thresholds, [0.5, 3.0, 9.0])
        np.testing.assert_array_equal(profile.share, [0.0, 2 / 3, 1.0])
        assert (profile.low[0], profile.high[1], profile.high[2]) == (0.0, 1.0, 1.0)

    def test_scores_and_thresholds_of_any_size_are_compared_as_they_are(self):
        assert performance_profile([1.7e308], [1e308, 1.7e308]).share.tolist() == [0.0, 1.0]
        assert performance_profile(
            [1e308], [1e308, 1.7e308], lower_is_better=False
        ).share.tolist() == [1.0, 0.0]

    def test_refusals_name_the_argument(self):
        with pytest.raises(ValueError, match=r"^scores "):
            performance_profile([[1.0]], [1.0])
        with pytest.raises(ValueError, match=r"^scores "):
            performance_profile([nan, 1.0], [1.0])
        with pytest.raises(ValueError, match=r"^thresholds "):
            performance_profile([1.0], [nan])


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

    def test_keeps_the_familywise_level(self, rng):
        # 49 correlated tests under the null, as in a comparison of 49 settings with one end.
        shared = rng.normal(size=(2000, 1))
        z = (shared + rng.normal(size=(2000, 49))) / sqrt(2)
        p = 2 * stats.norm.sf(np.abs(z))
        wrong = np.mean([holm(row).min() < 0.05 for row in p])
        assert np.mean(p.min(axis=1) < 0.05) > 0.5
        assert wrong < 0.06

    @pytest.mark.parametrize("bad", [[], [0.5, 1.2], [-0.1], [nan], 0.5])
    def test_refusals_name_the_argument(self, bad):
        with pytest.raises(ValueError, match=r"^p_values "):
            holm(bad)


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

    def test_one_cell_gives_integers_and_a_row_of_cells_arrays(self):
        assert all(type(count) is int for count in case_counts([2.0, 1.0, 4.0, 3.0]))
        better, between, worse = case_counts([[1.0, 5.0], [2.5, 9.0]], [2.0, 3.0], [4.0, 2.0])
        np.testing.assert_array_equal((better, between, worse), [[1, 0], [0, 1], [1, 1]])

    @pytest.mark.parametrize(
        ("arguments", "name"),
        [
            ((1.0,), "scores"),
            (([1.0, 2.0],), "scores"),
            (([], 1.0, 2.0), "scores"),
            (([1.0, nan], 1.0, 2.0), "scores"),
            (([1.0], 1.0, nan), "scores"),
            (([1.0], 1.0), "score_at_0"),
            (([[1.0], [2.0]], 1.0, 2.0), "score_at_0"),
        ],
    )
    def test_refusals_name_the_argument(self, arguments, name):
        with pytest.raises(ValueError, match=f"^{name} "):
            case_counts(*arguments)


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
        assert null.share_mean == pytest.approx(1 / 3)
        assert null.share_sd == pytest.approx(sqrt(52 / 49 / 18))
        assert round(null.share_sd, 2) == 0.24
        assert null.p_value(27) == pytest.approx(276 / 1275)
        assert null.p_value(0) == pytest.approx(1.0)
        assert null.p_value(14, "two-sided") == 1.0
        assert null.p_value(0, "two-sided") == pytest.approx(2 * 50 / 1275)
        assert null.p_value(48, "two-sided") == pytest.approx(2 * 3 / 1275)

    def test_simulation_agrees_cell_by_cell(self, rng):
        null = case_null(5)
        draws = null.simulate(21000, rng)
        assert (draws.sum(axis=1) == 5).all()
        _, observed = np.unique(draws, axis=0, return_counts=True)
        assert observed.size == 21
        assert stats.chisquare(observed).pvalue > 1e-3

    def test_pooled_cells(self, rng):
        null = case_null(49, cells=6)
        assert null.total == 294
        assert null.probabilities.sum() == pytest.approx(1.0)
        assert null.support @ null.probabilities == pytest.approx(null.mean) == 98
        assert (null.support - 98) ** 2 @ null.probabilities == pytest.approx(null.variance)
        assert null.share_sd == pytest.approx(case_null().share_sd / sqrt(6))
        draws = null.simulate(4000, rng)
        assert (draws.sum(axis=1) == 294).all()
        for case in range(3):
            assert draws[:, case].mean() == pytest.approx(98, abs=3)
            assert np.mean(draws[:, case] >= 124) == pytest.approx(null.p_value(124), abs=0.03)

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

    def test_refusals_name_the_argument(self, rng):
        for arguments, name in [((0,), "n"), ((2.5,), "n"), ((49, 0), "cells")]:
            with pytest.raises(ValueError, match=f"^{name} "):
                case_null(*arguments)
        with pytest.raises(ValueError, match=r"^count "):
            case_null(3).p_value(4)
        with pytest.raises(ValueError, match=r"^alternative "):
            case_null(3).p_value(3, "more")
        with pytest.raises(ValueError, match=r"^cells "):
            case_null(3, 2).joint_pmf(3, 3, 0)
        with pytest.raises(ValueError, match=r"^rng "):
            case_null(3).simulate(5, 0)
        with pytest.raises(ValueError, match=r"^confidence "):
            case_null(3).interval(1.5)


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

    def test_only_numerators_near_the_printed_number_are_looked_at(self, monkeypatch):
        seen = []

        def rounded(number):
            seen.append(number)
            return {round(number)}

        monkeypatch.setitem(_CONVENTIONS, "half-even", rounded)
        assert grim(20.4, 3000, rounding="half-even") == {3000: (611, 612, 613)}
        assert (min(seen), max(seen), len(seen)) == (
            203,
            205,
            7,
        )  # in last digits, from 609/3000 to 615/3000

    def test_a_float_is_read_as_the_decimal_it_shows(self):
        assert grim(0.1 + 0.2, 1000, decimals=17) == {}
        assert grim(0.3, 1000) == grim("0.3", 1000) == {1000: (3,)}

    def test_whole_columns(self):
        assert grim_counts([20.4, 36.7, 42.9], 49) == ((10, 18, 21),)
        assert grim_counts([20.4, 36.7, 42.9], 51) == ()
        assert grim_counts([33.3, 33.3, 33.4], 3) == ()
        assert grim_counts([33.3, 33.3, 33.4], 3, remainder=2) == ((1, 1, 1),)
        assert grim_counts([33.3, 33.3, 33.3], 3, remainder=2) == ()

    @pytest.mark.parametrize(
        ("arguments", "name"),
        [
            ({"percentage": 101.0}, "percentage"),
            ({"percentage": -1.0}, "percentage"),
            ({"percentage": 20.44}, "percentage"),
            ({"percentage": nan}, "percentage"),
            ({"percentage": "a third"}, "percentage"),
            ({"denominators": 0}, "denominators"),
            ({"denominators": [4.5]}, "denominators"),
            ({"decimals": -1}, "decimals"),
            ({"rounding": "up"}, "rounding"),
        ],
    )
    def test_refusals_name_the_argument(self, arguments, name):
        with pytest.raises(ValueError, match=f"^{name} "):
            grim(**({"percentage": 20.4, "denominators": 49} | arguments))

    def test_refuses_a_remainder_that_is_no_cell(self):
        with pytest.raises(ValueError, match=r"^remainder "):
            grim_counts([50.0, 50.0], 2, remainder=2)

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


def test_variance_interval_covers_a_known_variance():
    rng = np.random.default_rng(4)
    x = rng.normal(0, 2.0, (200, 1000))
    _, low, high = variance_interval([(x**k).sum(axis=0) for k in (1, 2, 3, 4)], 200)
    assert 0.92 < np.mean((low < 4) & (high > 4)) < 0.97


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


@pytest.mark.parametrize("sums", [np.ones(3), 5.0])
def test_variance_interval_refuses_other_sums(sums):
    with pytest.raises(ValueError, match="sums"):
        variance_interval(sums, 10)


def test_impossible_sums_of_powers_are_refused():
    x = np.array([1.0, 2.0, 3.0, 4.0, 10.0])
    sums = [float((x**k).sum()) for k in (1, 2, 3, 4)]
    assert variance_interval(sums, 5)[0] == pytest.approx(x.var(ddof=1))
    # A negative variance, and a fourth moment that five runs cannot have.
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
    with pytest.raises(
        ValueError, match=r"^sums is \[.*1e\+120\]; it should hold finite sums of powers"
    ):
        variance_interval([*sums[:3], 1e120], 5)
    wider, narrower = (variance_interval(sums, 5, confidence=level) for level in (0.99, 0.5))
    assert wider[1] < narrower[1] < narrower[0] < narrower[2] < wider[2]


def test_the_interval_of_a_variance_scales_with_the_scores():
    x = np.array([1.0, 2.0, 3.0, 4.0, 10.0])

    def ends(scale):
        return np.array(variance_interval([((scale * x) ** k).sum() for k in (1, 2, 3, 4)], 5))

    np.testing.assert_allclose(ends(0.01), 1e-4 * ends(1.0), rtol=1e-6)
    np.testing.assert_allclose(ends(100.0), 1e4 * ends(1.0), rtol=1e-6)


def test_the_bootstrap_of_small_numbers_is_that_of_large_ones():
    x = np.random.default_rng(1).random(30)
    small, large = (
        bootstrap_interval(s * x, np.random.default_rng(2), resamples=500) for s in (0.1, 10.0)
    )
    assert small.low < small.high
    np.testing.assert_allclose(np.array(large), 100 * np.array(small))


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

    def test_it_covers_where_students_interval_does_not(self):
        """A mean of which half comes from one run in a hundred; 100 runs."""
        rng = np.random.default_rng(4)
        draws = np.where(rng.random((100, 500)) < 0.01, 1.0, 0.01)
        truth, n = 0.01 * 1.0 + 0.99 * 0.01, 100
        student = student_interval(draws.mean(axis=0), draws.var(axis=0, ddof=1), n)
        bounded = bounded_interval(draws, rng, low=0.0, high=1.0, resamples=2000)
        shares = [np.mean((low <= truth) & (truth <= high)) for low, high in (student, bounded)]
        assert shares[0] < 0.75
        assert shares[1] > 0.95

    @pytest.mark.parametrize(("low", "high"), [(0.2, 1.0), (0.0, 0.5), (1.0, 0.0), (0.0, np.inf)])
    def test_bounds_that_do_not_hold_are_refused(self, low, high):
        with pytest.raises(ValueError, match=r"low|high"):
            bounded_interval([0.1, 0.9], np.random.default_rng(0), low=low, high=high)


class TestPairedRatio:
    def test_of_equal_runs_is_one_to_the_last_digit(self, rng):
        scores = rng.lognormal(size=30)
        assert paired_ratio(scores, scores) == (1.0, 1.0, 1.0)

    def test_covers_the_ratio_of_two_means_as_often_as_it_says(self, rng):
        """Log-normal runs that share most of their noise: means in the ratio exp(-0.2)."""
        shared, own = rng.normal(size=(2, 2000, 100))
        first = np.exp(0.5 * shared + 0.1 * own - 0.2)
        second = np.exp(0.5 * shared + 0.1 * rng.normal(size=shared.shape))
        _, low, high = paired_ratio(first, second)
        assert 0.93 < ((low < np.exp(-0.2)) & (np.exp(-0.2) < high)).mean() < 0.97
        apart = paired_ratio(first, second[::-1])  # other runs: nothing cancels
        assert np.median(np.log(high / low)) < 0.3 * np.median(np.log(apart.high / apart.low))

    def test_agrees_with_the_paired_difference_where_both_are_small(self, rng):
        second = rng.normal(10.0, 0.5, 200)
        first = second + rng.normal(-0.05, 0.1, 200)
        difference, found = paired_difference(first, second), paired_ratio(first, second)
        want = np.array([difference.mean, *difference.interval]) / 10
        np.testing.assert_allclose(np.array(found) - 1, want, rtol=0.02)

    @pytest.mark.parametrize(
        ("first", "second", "named"),
        [
            ([1.0, 0.0], [1.0, 2.0], "first is"),
            ([1.0, 2.0], [1.0, np.inf], "second is"),
            ([1.0], [1.0], "first is"),
            ([1.0, 2.0], [1.0, 2.0, 3.0], "second has shape"),
        ],
    )
    def test_refusals_name_the_argument(self, first, second, named):
        with pytest.raises(ValueError, match=f"^{named}"):
            paired_ratio(first, second)


class TestRanksAndSigns:
    """Paired tests that take runs which diverged."""

    def test_signed_ranks_are_those_of_scipy(self, rng):
        first, second = rng.normal(size=(2, 3, 60))
        pairs = zip(first, second, strict=True)
        want = [
            stats.wilcoxon(x, y, alternative="less", method="asymptotic").pvalue for x, y in pairs
        ]
        np.testing.assert_allclose(signed_rank_p_values(first, second), want, rtol=1e-12)

    def test_signs_are_a_binomial_test(self, rng):
        first, second = rng.normal(size=(2, 40))
        second[:5] = first[:5]  # equal scores decide nothing
        lower = int((first < second).sum())
        want = stats.binomtest(lower, 35, alternative="greater").pvalue
        assert float(sign_p_values(first, second)) == pytest.approx(want, rel=1e-12)

    @pytest.mark.parametrize("test", [signed_rank_p_values, sign_p_values])
    def test_a_run_that_diverged_is_worse_than_any_other_and_equal_to_its_like(self, test):
        low, high = np.arange(12.0), np.arange(12.0) + 1.0
        lost = np.where(np.arange(12) < 4, np.inf, high)
        assert float(test(low, lost)) == float(test(low, np.where(np.isinf(lost), low + 1e6, lost)))
        assert float(test(lost, low)) > 0.95
        assert float(test(np.full(12, np.inf), np.full(12, np.inf))) == 1.0

    def test_equal_scores_count_half_on_either_side(self):
        """Five runs lower, five equal: the equal ones take the lowest ranks and say nothing."""
        first = np.concatenate([np.zeros(5), np.zeros(5)])
        second = np.concatenate([np.zeros(5), np.arange(1.0, 6.0)])
        ranks = np.arange(6, 11)
        want = stats.norm.sf(ranks.sum() / 2 / np.sqrt((ranks**2).sum() / 4))
        assert float(signed_rank_p_values(first, second)) == pytest.approx(want, rel=1e-12)

    @pytest.mark.parametrize("test", ["t", "signed rank", "sign"])
    def test_better_than_both_is_the_larger_of_two(self, rng, test):
        zero, one, middle = rng.normal([[1.0], [0.3], [0.0]], 1.0, (3, 50))
        one_sided = {
            "t": paired_p_values,
            "signed rank": signed_rank_p_values,
            "sign": sign_p_values,
        }[test]
        want = max(float(one_sided(middle, end)) for end in (zero, one))
        assert (
            float(better_than_both(middle, zero, one, test=test))
            == want
            > float(one_sided(middle, zero))
        )

    def test_level_where_the_middle_is_no_better_than_one_end(self, rng):
        """An intersection-union test errs least often; with one end far away it errs as often as its level says."""
        zero, middle = rng.normal(size=(2, 2000, 40))
        for test in ("t", "signed rank", "sign"):
            share = (better_than_both(middle, zero, zero + 9.0, test=test) <= 0.05).mean()
            assert share < 0.065, test

    @pytest.mark.parametrize(
        ("call", "named"),
        [
            (lambda: sign_p_values([1.0, nan], [1.0, 2.0]), "first is"),
            (lambda: signed_rank_p_values([1.0, 2.0], [1.0, -np.inf]), "second is"),
            (lambda: sign_p_values([1.0, 2.0], [1.0, 2.0, 3.0]), "second has shape"),
            (lambda: sign_p_values(1.0, [1.0]), "first is"),
            (lambda: better_than_both([1.0], [1.0], [1.0], test="z"), "test is 'z'"),
            (lambda: better_than_both([1.0], [1.0], [1.0]), "middle is"),
            (lambda: better_than_both([1.0, 2.0], [1.0, np.inf], [1.0, 2.0]), "at_zero is"),
            (
                lambda: better_than_both([1.0, 2.0], [1.0, 2.0], [1.0, nan], test="sign"),
                "at_one is",
            ),
            (lambda: better_than_both([1.0, 2.0], [1.0, 2.0], [1.0, 2.0, 3.0]), "at_one has shape"),
        ],
    )
    def test_refusals_name_the_argument(self, call, named):
        with pytest.raises(ValueError, match=f"^{named}"):
            call()
