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
    errors = [
        np.abs(a - b).max()
        for a, b in ((learner.theta, theta), (learner.omega, omega), (learner.trace, trace))
    ]
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_work_per_step_does_not_grow_with_the_number_of_weights():
    def work(p):
        rng, learner = np.random.default_rng(1), SparseGQ(np.zeros(p))
        for x, reward, x_next, mean in stream(rng, 4_000, p):
            learner.step(
                x, reward, x_next, mean, sigma=0.5, lam=0.9, gamma=0.99, alpha=0.01, beta=0.01
            )
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
    good = {
        "phi": ([0], [1.0]),
        "reward": 0.0,
        "phi_next": ([1], [1.0]),
        "phi_next_expected": ([1], [1.0]),
    }
    settings = {"sigma": 0.5, "lam": 0.5, "gamma": 0.9, "alpha": 0.1, "beta": 0.1}
    with pytest.raises(ValueError, match=word):
        SparseGQ(np.zeros(P)).step(**(good | settings | change))


def test_a_bad_threshold_is_refused():
    with pytest.raises(ValueError, match="flush_below"):
        SparseGQ(np.zeros(P), flush_below=0.0)


def test_an_absent_next_feature_is_an_end():
    learner = SparseGQ([1.0, 2.0])
    none = ([], [])
    assert (
        learner.step(
            ([1], [1.0]), 5.0, none, none, sigma=0.5, lam=0.5, gamma=1.0, alpha=0.1, beta=0.0
        )
        == 3.0
    )


SETTINGS = {"sigma": 0.5, "lam": 0.5, "gamma": 0.9, "alpha": 0.1, "beta": 0.1}
GOOD = {
    "phi": ([0], [1.0]),
    "reward": 0.0,
    "phi_next": ([1], [1.0]),
    "phi_next_expected": ([1], [1.0]),
}


@pytest.mark.parametrize("name", ["phi", "phi_next", "phi_next_expected"])
@pytest.mark.parametrize(
    ("pair", "message"),
    [
        (3, r"is 3; it should be a pair: indices and values$"),
        ("ab", r"is 'ab'; it should be a pair: indices and values$"),
        (
            ([0], [1.0], [2.0]),
            r"is \(\[0\], \[1\.0\], \[2\.0\]\); it should be a pair: indices and values$",
        ),
        (([[0]], [1.0]), r"has indices \[\[0\]\]; they should be a list of whole numbers$"),
        ((0, [1.0]), r"has indices 0; they should be a list of whole numbers$"),
        (([0.5], [1.0]), r"has indices \[0\.5\]; they should be a list of whole numbers$"),
        (([0, 64], [1.0, 1.0]), r"has indices from 0 to 64; they should be in \[0, 64\)$"),
        (([63, -1], [1.0, 1.0]), r"has indices from -1 to 63; they should be in \[0, 64\)$"),
        (([0], [np.inf]), r"has values \[inf\]; there should be a finite one for each index$"),
        (([0, 1], [1.0]), r"has values \[1\.0\]; there should be a finite one for each index$"),
    ],
)
def test_features_are_refused_with_what_they_should_be(name, pair, message):
    learner = SparseGQ(np.zeros(P))
    with pytest.raises(ValueError, match=rf"^{name} {message}"):
        learner.step(**(GOOD | SETTINGS | {name: pair}))
    learner.step(
        **(GOOD | SETTINGS | {name: ([63, 0], [1.0, 2.0])})
    )  # the first index and the last are there


def test_numbers_and_beginnings_are_refused_by_name():
    for name, bad, span in (
        ("lam", 1.5, r"in \[0, 1\]"),
        ("gamma", 1.5, r"in \[0, 1\]"),
        ("alpha", -1.0, r"in \[0, inf\)"),
        ("beta", -1.0, r"in \[0, inf\)"),
        ("sigma", np.nan, "finite"),
        ("reward", np.inf, "finite"),
    ):
        with pytest.raises(ValueError, match=rf"^{name} is {bad}; it should be {span}$"):
            SparseGQ(np.zeros(P)).step(**(GOOD | SETTINGS | {name: bad}))
    for flush_below in (0.0, 1.5):
        with pytest.raises(
            ValueError, match=rf"^flush_below is {flush_below}; it should be in \(0, 1\]$"
        ):
            SparseGQ(np.zeros(P), flush_below)
    with pytest.raises(
        ValueError, match=r"^theta has shape \(1, 2\); it should have shape \(any,\)$"
    ):
        SparseGQ([[0.0, 1.0]])


def test_what_overflows_is_named():
    for change, name in (
        ({"phi": ([0], [1e200])}, "phi"),
        (
            {
                "reward": 1e308,
                "phi_next": ([1], [1e308]),
                "phi_next_expected": ([1], [1e308]),
                "gamma": 1.0,
            },
            "reward",
        ),
        ({"reward": 1e308, "alpha": 1e10}, "theta"),
        ({"reward": 1e308, "beta": 1e10}, "theta"),
    ):
        learner = SparseGQ(np.full(P, 2.0))
        with (
            np.errstate(all="ignore"),
            pytest.raises(ValueError, match=rf"^{name} overflows in this step"),
        ):
            learner.step(**(GOOD | SETTINGS | change))


@pytest.mark.parametrize(("flush_below", "flushes"), [(0.5, 0), (0.51, 2)])
def test_the_work_of_a_step_is_what_it_touches_and_what_a_flush_touches(flush_below, flushes):
    """γλ = ½: at a threshold of one half c is never below it after the first step, above it every step flushes."""
    learner = SparseGQ(np.zeros(4), flush_below)
    given = SETTINGS | {"lam": 0.5, "gamma": 1.0}
    for _ in range(2 if flushes else 1):
        learner.step(
            ([0, 1, 1], [1.0, 1.0, 1.0]), 1.0, ([2], [1.0]), ([2, 3, 0], [1.0, 1.0, 1.0]), **given
        )
    # 2·2 active of φ (one of them twice), one of φ' and three of the mean; a second flush has two entries to touch.
    assert learner.work == (8 if not flushes else 2 * 8 + 2)


def test_the_first_of_omega_is_kept_to_the_last_digits_however_small():
    """ω = βδφ after a step from nothing: as a sum of what is carried, terms of size one would swallow it."""
    learner = SparseGQ(np.zeros(4))
    delta = learner.step(
        ([0, 2], [1.0, 3.0]), 0.7, ([1], [1.0]), ([1], [1.0]), **(SETTINGS | {"beta": 1e-20})
    )
    np.testing.assert_allclose(
        learner.omega, 1e-20 * delta * np.array([1.0, 0.0, 3.0, 0.0]), rtol=1e-14, atol=0.0
    )


def test_a_threshold_does_not_change_what_is_learnt():
    for lam in (0.0, 0.9):
        for options in ({}, {"flush_below": 1.0}, {"flush_below": 1e-2}):
            error, _ = run_both(40, lam, resets=17, **options)
            assert error < 1e-12


def test_without_a_trace_nothing_is_kept_and_a_reset_forgets_all():
    learner = SparseGQ(np.ones(4))
    learner.step(([0], [2.0]), 1.0, ([1], [1.0]), ([1], [1.0]), **(SETTINGS | {"lam": 1.0}))
    assert learner.trace.tolist() == [2.0, 0.0, 0.0, 0.0]
    theta, omega = learner.theta, learner.omega
    learner.reset_trace()
    assert not learner.trace.any()
    np.testing.assert_array_equal(learner.theta, theta)
    np.testing.assert_array_equal(learner.omega, omega)
    fresh = SparseGQ(theta)
    fresh._W += omega
    for one in (learner, fresh):
        one.step(([0, 2], [1.0, 3.0]), 0.5, ([1], [1.0]), ([3], [1.0]), **SETTINGS)
    np.testing.assert_allclose(learner.theta, fresh.theta, rtol=1e-14)
    np.testing.assert_allclose(learner.omega, fresh.omega, rtol=1e-14)


def test_entries_of_a_trace_that_are_gone_are_forgotten():
    """γλ = 1/10 and one new entry per step: after twenty-one steps the first is below 1e-20 and no longer touched."""
    learner = SparseGQ(np.zeros(30), flush_below=0.5)
    given = SETTINGS | {"lam": 0.1, "gamma": 1.0}
    for k in range(28):
        learner.step(([k], [1.0]), 1.0, ([29], [1.0]), ([29], [1.0]), **given)
    left = np.flatnonzero(learner.trace)
    assert left[-1] == 27
    assert 20 <= len(left) <= 22
    np.testing.assert_allclose(learner.trace[left], 10.0 ** (left - 27.0), rtol=1e-12)
