"""The O(K) step against the dense one, on features like a tile coder's: few, and sometimes the same index twice."""

import numpy as np
import pytest

from gqlib.learners import gq_step
from gqlib.learners.sparse import SparseGQ

P, K = 64, 4


def dense(pair, p=P):
    vector = np.zeros(p)
    np.add.at(vector, pair[0], pair[1])
    return vector


def stream(rng, steps, p=P):
    """Random sparse transitions; indices are drawn with replacement, so that some repeat."""
    here = (rng.integers(p, size=K), np.ones(K))
    for _ in range(steps):
        there = (rng.integers(p, size=K), np.ones(K))
        mean = (rng.integers(p, size=2 * K), rng.random(2 * K))
        yield here, float(rng.standard_normal()), there, mean
        here = there


def run_both(steps, lam, gamma=0.9, sigma=0.3, alpha=0.01, beta=0.02, resets=0, **options):
    rng = np.random.default_rng(5)
    learner = SparseGQ(np.ones(P), **options)
    theta, omega, trace = np.ones(P), np.zeros(P), np.zeros(P)
    settings = {"sigma": sigma, "lam": lam, "gamma": gamma, "alpha": alpha, "beta": beta}
    worst, repeats = 0.0, 0
    for count, (x, reward, x_next, mean) in enumerate(stream(rng, steps), 1):
        repeats += len(set(x[0])) < K
        theta, omega, trace, delta = gq_step(
            theta, omega, trace, dense(x), reward, dense(x_next), dense(mean), **settings
        )
        found = learner.step(x, reward, x_next, mean, **settings)
        worst = max(worst, abs(found - delta))
        if resets and count % resets == 0:
            trace = np.zeros(P)
            learner.reset_trace()
    errors = [np.abs(a - b).max() for a, b in ((learner.theta, theta), (learner.omega, omega), (learner.trace, trace))]
    assert np.isfinite(theta).all()
    assert np.abs(theta - 1).max() > 0.01, "nothing was learnt, so nothing was compared"
    return max([worst, *errors]), repeats


@pytest.mark.slow
@pytest.mark.parametrize("lam", [0.0, 0.95, 1.0])
def test_sparse_equals_dense_over_ten_thousand_steps(lam):
    error, repeats = run_both(10_000, lam)
    assert repeats > 500
    assert error < 1e-10


def test_sparse_equals_dense_without_any_decay():
    error, _ = run_both(300, 1.0, gamma=1.0, alpha=1e-4, beta=1e-4)
    assert error < 1e-10


def test_sparse_equals_dense_with_episodes_and_sigma_outside_the_unit_interval():
    for sigma in (0.0, 1.0, 1.1):
        error, _ = run_both(2_000, 0.9, sigma=sigma, resets=97)
        assert error < 1e-10


@pytest.mark.slow
def test_a_late_flush_loses_digits_to_cancellation_long_before_underflow():
    early, _ = run_both(2_000, 0.95, flush_below=1e-4)
    late, _ = run_both(2_000, 0.95, flush_below=1e-12)
    assert late > 1e3 * early
    assert late > 1e-9


def test_work_per_step_does_not_grow_with_the_number_of_weights():
    def work(p):
        rng, learner = np.random.default_rng(1), SparseGQ(np.zeros(p))
        for x, reward, x_next, mean in stream(rng, 4_000, p):
            learner.step(x, reward, x_next, mean, sigma=0.5, lam=0.9, gamma=0.99, alpha=0.01, beta=0.01)
        return learner.work / 4_000

    small, large = work(1_000), work(100_000)
    assert large < 1.5 * small
    assert large < 12 * K


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"phi": ([P], [1.0])}, "phi has indices"),
        ({"phi": ([-1], [1.0])}, "phi has indices"),
        ({"phi": ([0.5], [1.0])}, "whole numbers"),
        ({"phi_next": ([0], [np.nan])}, "phi_next has values"),
        ({"phi_next_expected": ([0, 1], [1.0])}, "phi_next_expected has values"),
        ({"lam": 1.5}, "lam"),
        ({"alpha": -1.0}, "alpha"),
        ({"reward": np.inf}, "reward"),
    ],
)
def test_bad_input_is_refused_by_name(change, word):
    good = {"phi": ([0], [1.0]), "reward": 0.0, "phi_next": ([1], [1.0]), "phi_next_expected": ([1], [1.0])}
    settings = {"sigma": 0.5, "lam": 0.5, "gamma": 0.9, "alpha": 0.1, "beta": 0.1}
    with pytest.raises(ValueError, match=word):
        SparseGQ(np.zeros(P)).step(**(good | settings | change))


def test_a_bad_threshold_is_refused():
    with pytest.raises(ValueError, match="flush_below"):
        SparseGQ(np.zeros(P), flush_below=0.0)


def test_an_absent_next_feature_is_an_end():
    learner = SparseGQ([1.0, 2.0])
    none = ([], [])
    assert learner.step(([1], [1.0]), 5.0, none, none, sigma=0.5, lam=0.5, gamma=1.0, alpha=0.1, beta=0.0) == 3.0
