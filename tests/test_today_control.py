"""Control today: the learners that were added for it against steps from their own sources, and the study itself."""

import numpy as np
import pytest

from gqlib.domains.random_walk import random_walk
from gqlib.engine import EngineSetting, environments, run_setting
from gqlib.engine import runs as engine_runs
from gqlib.learners.gradient_td import maei_gq_step
from gqlib.learners.relatives import tree_backup_step
from gqlib.learners.textbook import textbook_gq_step

WALK = environments.chain(random_walk(5))
NUMBERS = {"alpha": 0.05, "lam": 0.8, "gamma": 0.9}
SIGMA, ETA, EPSILON, EPISODES = 0.3, 0.5, 0.3, 12


def by_the_book(learner, seed):
    """The same run by the dense steps of `gqlib.learners`, with the greedy target: θ, ω and how often it explored."""
    streams, share, beta = engine_runs.streams_of(seed, 0), EPSILON / 2, ETA * NUMBERS["alpha"]
    theta, omega, explored = np.zeros(14), np.zeros(14), 0
    ratio = 1.0 / (1.0 - share)  # of the greedy action

    def choose(state):
        q = theta[2 * state : 2 * state + 2]
        greedy, u = int(np.flatnonzero(q >= q.max() - 1e-10)[0]), engine_runs.uniform(streams.behaviour)
        return greedy, greedy if u >= EPSILON else int(u >= share)

    for _ in range(EPISODES):
        trace, state, done = np.zeros(14), WALK.start(WALK.data, streams.starts), False
        greedy, action = choose(state)
        while not done:
            phi, follows = np.eye(14)[2 * state + action], float(action == greedy)
            explored += action != greedy
            state, reward, done = WALK.step(WALK.data, state, action, streams.moves)
            best = carried = np.zeros(14)
            if not done:
                greedy, action = choose(state)
                best = np.eye(14)[2 * state + greedy]
                c = SIGMA * ratio + (1 - SIGMA) if action == greedy else 0.0
                carried = c * np.eye(14)[2 * state + action]
            if learner == "watkins":
                theta, trace, _ = tree_backup_step(theta, trace, phi, reward, best, probability=follows, **NUMBERS)
            elif learner == "greedy_gq":
                theta, omega, trace, _ = maei_gq_step(
                    theta, omega, trace, phi, reward, best, rho=follows * ratio, beta=beta, **NUMBERS
                )
            else:
                c_now = follows * (SIGMA * ratio + 1 - SIGMA)
                theta, omega, trace, _ = textbook_gq_step(
                    theta, omega, trace, phi, reward, best, carried, coefficient=c_now, beta=beta, **NUMBERS
                )
    return theta, omega, explored


@pytest.mark.parametrize("engine", ["reference", "fast"])
@pytest.mark.parametrize("learner", ["watkins", "greedy_gq", "textbook_gq"])
def test_learners_take_the_steps_of_their_sources(learner, engine):
    setting = EngineSetting(WALK, learner, eta=ETA, episodes=EPISODES, epsilon=EPSILON, sigma=SIGMA, **NUMBERS)
    found = run_setting(setting, 1, seed=3, engine=engine)
    theta, omega, explored = by_the_book(learner, 3)
    assert explored > 5 and not found.capped.any()
    np.testing.assert_allclose(found.theta[0], theta, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.omega[0], omega, rtol=0, atol=1e-12)
    assert np.abs(theta).max() > 0.01


def weights(learner, **numbers):
    done = run_setting(EngineSetting("mountain_car", learner, episodes=4, max_steps=400, **numbers), 2, 5)
    return done.theta


def test_special_cases_are_the_same_bits():
    """Q(λ) of Watkins is QRC without ω; Greedy-GQ at λ = 0 is QRC without a ridge."""
    assert (weights("watkins", lam=0.9) == weights("qrc", lam=0.9, eta=0.0, kappa=0.0)).all()
    assert (weights("greedy_gq", lam=0.0) == weights("qrc", lam=0.0, kappa=0.0)).all()
    assert (weights("greedy_gq", lam=0.9) != weights("qrc", lam=0.9, kappa=0.0)).any()
    assert (weights("watkins", lam=0.9) != weights("expected_sarsa", lam=0.9)).any()
