"""The compiled tabular learners do what the reference does, step for step."""

import numpy as np
import pytest

from gqlib import tabular
from gqlib.domains.gridworld import windy_gridworld
from gqlib.domains.random_walk import random_walk
from gqlib.fast import _tabular as kernel
from gqlib.fast import tabular as fast
from gqlib.fast.rng import uniform
from gqlib.seeds import TRAJECTORY, words
from gqlib.tabular.errors import rms_error

# Discounted, or a kernel that forgets to would do the same.
WALK, WINDY = random_walk(7), windy_gridworld(gamma=0.9)
PI = np.full((9, 2), [0.4, 0.6])
CONTROL = {"alpha": 0.4, "epsilon": 0.1}


@pytest.fixture
def episodes():
    rng = np.random.default_rng(0)
    return [WALK.episode(PI, rng), WALK.episode(PI, rng, max_steps=3)]


@pytest.mark.parametrize("sigma", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("n", [1, 3, 100])
def test_n_step_kernel_equals_the_reference(episodes, n, sigma):
    for episode in episodes:
        first = np.random.default_rng(1).normal(size=(9, 2))
        reference = tabular.n_step_q_sigma(
            first, episode, PI, n=n, sigma=sigma, gamma=0.9, alpha=0.4
        )
        fast.n_step_episode(first, episode, PI, n, sigma=sigma, gamma=0.9, alpha=0.4)
        np.testing.assert_allclose(first, reference, rtol=0, atol=1e-13)


@pytest.mark.parametrize("sigma", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("lam", [0.0, 0.5, 1.0])
def test_trace_kernel_equals_the_reference(episodes, lam, sigma):
    for episode in episodes:
        first = np.random.default_rng(2).normal(size=(9, 2))
        reference = tabular.q_sigma_lambda(
            first, episode, PI, lam=lam, sigma=sigma, gamma=0.9, alpha=0.4
        )
        fast.trace_episode(first, episode, PI, lam, sigma=sigma, gamma=0.9, alpha=0.4)
        np.testing.assert_allclose(first, reference, rtol=0, atol=1e-13)


@pytest.mark.parametrize(
    ("learner", "parameter"), [(fast.n_step_episode, 3), (fast.trace_episode, 0.5)]
)
def test_tables_of_many_runs_are_those_of_single_episodes(learner, parameter):
    rng, rates = np.random.default_rng(3), {"sigma": 0.3, "gamma": 0.9, "alpha": 0.4}
    runs = [
        [WALK.episode(PI, rng), WALK.episode(PI, rng, max_steps=3), WALK.episode(PI, rng)]
        for _ in range(4)
    ]
    tables = fast.learn_tables(learner, runs, PI, parameter, **rates)
    for run, episodes in enumerate(runs):
        q = np.zeros((9, 2))
        for number, episode in enumerate(episodes):
            learner(q, episode, PI, parameter, **rates)
            assert (tables[run, number] == q).all()


def test_the_largest_uniform_number_finds_a_state_where_a_law_falls_short_of_one():
    law = np.cumsum(np.full(10, 0.1))
    largest = np.array([0, 0, 0, 2**64 - 1], dtype=np.uint64)  # the next word has all bits set
    assert law[-1] <= uniform(largest.copy()) == 1.0 - 2.0**-53
    assert kernel.draw(law, largest) == 9


def test_a_number_on_the_border_belongs_to_what_comes_next():
    """A draw of one half is in the second half of a law, and does not undercut an ε of one half."""
    half = np.array([0, 0, 0, 2**40], dtype=np.uint64)  # the next number is ½
    assert uniform(half.copy()) == 0.5
    assert kernel.draw(np.array([0.5, 1.0]), half.copy()) == 1
    assert kernel.act(np.array([0.0, 1.0]), 0.5, half.copy()) == 1
    assert kernel.look(np.array([0.0, 2.0, 2.0, 1.0]), 1, 0.2) == pytest.approx((1.85, 0.85))


def test_control_returns_are_those_of_single_runs():
    sigmas = np.array([0.0, 0.5, 1.0])
    for learner, parameter in ((fast.n_step_run, 2), (fast.trace_run, 0.7)):
        returns = fast.control_returns(
            learner, WINDY, parameter, sigmas, **CONTROL, runs=(5, 2), seed=8
        )
        for row, run in zip(returns, (5, 2), strict=True):
            single, _ = learner(
                WINDY, parameter, sigmas, **CONTROL, stream=words(8, run, TRAJECTORY)
            )
            assert (row == single).all()


def test_one_step_control_and_control_without_trace_are_the_same_algorithm():
    sigmas = np.full(5, 0.5)
    one, q_one = fast.n_step_run(WINDY, 1, sigmas, **CONTROL, stream=words(5, 0, 0))
    none, q_none = fast.trace_run(WINDY, 0.0, sigmas, **CONTROL, stream=words(5, 0, 0))
    assert (one == none).all()
    np.testing.assert_allclose(q_one, q_none, rtol=0, atol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("learner", "settings"),
    [
        (fast.n_step_episode, {0.0: (4, 1.0), 0.5: (8, 1.0), 1.0: (8, 0.4)}),
        (fast.trace_episode, {0.0: (0.8, 0.8), 0.25: (0.8, 0.9), 1.0: (0.8, 0.6)}),
    ],
    ids=["n-step", "traces"],
)
def test_an_intermediate_sigma_beats_both_ends_on_the_19_state_walk(learner, settings):
    """The claim of De Asis et al. (2018) and Yang et al. (2018), at the settings that the chapters choose."""
    walk = random_walk()
    even, exact = walk.uniform_policy(), walk.mdp.q(walk.uniform_policy())
    runs = [
        [walk.episode(even, stream) for _ in range(10)]
        for stream in np.random.default_rng(6).spawn(60)
    ]
    tables = {
        sigma: fast.learn_tables(
            learner, runs, even, parameter, sigma=sigma, gamma=1.0, alpha=alpha
        )
        for sigma, (parameter, alpha) in settings.items()
    }
    errors = {
        sigma: rms_error(values, exact, ceiling=1.0).mean(axis=1)
        for sigma, values in tables.items()
    }
    low, middle, high = errors.values()
    for end in (low, high):
        difference = middle - end
        assert difference.mean() < -2 * difference.std(ddof=1) / np.sqrt(len(difference))


@pytest.mark.parametrize("runs", [b"1", "1", np.array(0.5), np.array([[1]])])
def test_numbers_of_runs_are_a_row_of_them(runs):
    with pytest.raises(ValueError, match=r"runs is .+; it should hold numbers of runs"):
        fast.control_returns(
            fast.trace_run, random_walk(1), 0.9, [0.5], runs=runs, alpha=0.5, epsilon=0.0, seed=0
        )
