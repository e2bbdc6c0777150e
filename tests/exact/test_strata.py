"""The interquartile mean and its stratified interval, against sorting and against a bootstrap by hand."""

import numpy as np
import pytest

from gqlib.stats.strata import interquartile_mean, stratified_interval


def test_it_is_the_mean_of_the_middle_half():
    rng = np.random.default_rng(0)
    strata = [rng.exponential(size=40), 3.0 + rng.standard_normal(20), rng.random(60)]
    ordered = np.sort(np.concatenate(strata))
    assert interquartile_mean(strata) == pytest.approx(ordered[30:90].mean(), rel=1e-12)


@pytest.mark.slow
def test_the_interval_is_that_of_resampling_within_tasks():
    """Beside the same done by hand; and pooled resampling, which is not what is meant, is wider where tasks differ."""
    rng = np.random.default_rng(1)
    strata = [shift + rng.standard_normal(60) for shift in (0.0, 3.0, 8.0)]
    low, high = stratified_interval(strata, np.random.default_rng(2), resamples=4000)
    within, pooled, everything = [], [], np.concatenate(strata)
    for _ in range(2000):
        within.append(interquartile_mean([rng.choice(one, 60) for one in strata]))
        pooled.append(interquartile_mean([rng.choice(everything, 180)]))
    wanted, other = np.quantile(within, [0.025, 0.975]), np.quantile(pooled, [0.025, 0.975])
    np.testing.assert_allclose([low, high], wanted, atol=0.1 * np.ptp(wanted))
    assert np.ptp(other) > 1.5 * (high - low)


def test_it_covers():
    """Nineteen of twenty, up to what 200 repetitions can tell; the truth from a large sample."""
    rng = np.random.default_rng(3)

    def draw(runs):
        return [rng.exponential(size=runs), 1.0 + rng.random(runs)]

    truth, inside = interquartile_mean(draw(200_000)), 0
    for _ in range(200):
        low, high = stratified_interval(draw(50), rng, resamples=400)
        inside += low <= truth <= high
    assert 0.88 * 200 <= inside <= 0.99 * 200


def test_one_task_whose_runs_agree_does_not_make_the_others_certain():
    rng = np.random.default_rng(4)
    assert stratified_interval([[0.5] * 10, rng.random(10)], rng, resamples=50).width > 0.0
