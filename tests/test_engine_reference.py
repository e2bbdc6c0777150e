"""The engine's dense reference against the steps that read like the paper, forward views and published programs."""

import numpy as np
import pytest

from gqlib.domains.random_walk import random_walk
from gqlib.engine import EngineSetting, environments, run, run_setting
from gqlib.engine import runs as runs_module
from gqlib.learners import gq_step, gq_step_lagged, semi_gradient_step
from gqlib.learners.corrected import corrected_gq_step
from gqlib.seeds import SIGMA, words


def steps_of_the_paper(setting, environment, seed, run, draw=None):
    """A run by the dense steps of `gqlib.learners`, for those learners that have one: θ and ω.

    `draw(episode, k)` says what σ is in a step; without it, σ is that of the setting.
    """
    numbers = {
        "sigma": setting.sigma,
        "lam": setting.lam,
        "gamma": setting.gamma,
        "alpha": setting.alpha,
    }
    beta, actions = setting.eta * setting.alpha, environment.actions
    streams = runs_module.streams_of(seed, run)
    p = environment.coder._rows(actions)
    theta, omega, nothing = np.zeros(p), np.zeros(p), np.zeros(p)
    share = setting.epsilon / actions
    on_each = share if setting.target == "epsilon-greedy" else 0.0

    def choose(phis):
        q = phis @ theta
        greedy = int(np.flatnonzero(q >= q.max() - 1e-10)[0])
        u = runs_module.uniform(streams.behaviour)
        return greedy, greedy if u >= setting.epsilon else sum(
            u >= a * share for a in range(1, actions)
        )

    v = np.zeros((p, p))
    for episode in range(setting.episodes):
        trace = np.zeros(p)
        state = environment.start(environment.data, streams.starts)
        phis = runs_module._features(environment, state)
        _, action = choose(phis)
        phi = phis[action]
        for k in range(setting.max_steps):
            numbers["sigma"] = draw(episode, k) if draw else setting.sigma
            state, reward, done = environment.step(environment.data, state, action, streams.moves)
            phi_next = expected = nothing
            rho = 0.0
            if not done:
                phis = runs_module._features(environment, state)
                greedy, action = choose(phis)
                law = np.full(actions, on_each)
                law[greedy] += 1.0 - actions * on_each
                phi_next, expected = phis[action], law @ phis
                rho = law[action] / (share + (1.0 - setting.epsilon) * (action == greedy))
            seen = phi, reward, phi_next, expected
            if setting.learner == "gq":
                theta, omega, trace, _ = gq_step(theta, omega, trace, *seen, beta=beta, **numbers)
            elif setting.learner == "corrected_gq":
                theta, omega, trace, _ = corrected_gq_step(
                    theta, omega, trace, *seen, rho_next=rho, beta=beta, **numbers
                )
            elif setting.learner == "gq_lagged":
                theta, omega, trace, v, _ = gq_step_lagged(
                    theta, omega, trace, v, *seen, beta=beta, **numbers
                )
            else:
                given = {"q_sigma": setting.sigma, "sarsa": 1.0, "expected_sarsa": 0.0}[
                    setting.learner
                ]
                theta, trace, _ = semi_gradient_step(
                    theta, trace, *seen, **(numbers | {"sigma": given})
                )
            phi = phi_next
            if done:
                break
    return theta, omega


@pytest.mark.parametrize("target", ["greedy", "epsilon-greedy"])
@pytest.mark.parametrize(
    "learner", ["gq", "gq_lagged", "corrected_gq", "q_sigma", "sarsa", "expected_sarsa"]
)
def test_the_reference_takes_the_steps_that_read_like_the_paper(learner, target):
    walk = environments.chain(random_walk(5))
    setting = EngineSetting(
        walk,
        learner,
        target=target,
        alpha=0.05,
        eta=0.5,
        lam=0.8,
        gamma=0.9,
        episodes=12,
        max_steps=9,  # so that some are cut off
        sigma=0.3,
    )
    found = run_setting(setting, 1, seed=3, engine="reference")
    theta, omega = steps_of_the_paper(setting, walk, 3, 0)
    np.testing.assert_allclose(found.theta[0], theta, rtol=0, atol=1e-13)
    np.testing.assert_allclose(found.omega[0], omega, rtol=0, atol=1e-13)
    assert np.abs(theta).max() > 0.01


def test_true_online_sarsa_is_the_online_lambda_return():
    """Its weights after an episode are those of the forward view, horizon by horizon (van Seijen et al. 2016)."""
    walk, alpha, lam, gamma = environments.chain(random_walk(5)), 0.1, 0.7, 0.9
    setting = EngineSetting(
        walk,
        "true_online_sarsa",
        alpha=alpha,
        lam=lam,
        gamma=gamma,
        episodes=1,
        epsilon=1.0,
        max_steps=200,
    )
    found = run_setting(setting, 1, seed=1, engine="reference")
    # The same episode: with epsilon = 1 actions do not depend on weights.
    streams, path = runs_module.streams_of(1, 0), []
    state, done = walk.start(walk.data, streams.starts), False
    while not done:
        u = runs_module.uniform(streams.behaviour)
        action = int(u >= 0.5)
        following, reward, done = walk.step(walk.data, state, action, streams.moves)
        path.append((state * 2 + action, reward))
        state = following
    assert len(path) > 5
    pairs, rewards = [pair for pair, _ in path], [reward for _, reward in path]
    history = [np.zeros(14)]  # the weights that the value of each step's next pair is taken from
    for horizon in range(1, len(path) + 1):
        theta = np.zeros(14)
        for t in range(horizon):
            target = 0.0
            for n in range(1, horizon - t + 1):
                last = t + n == horizon
                weight = lam ** (n - 1) * (1.0 if last else 1.0 - lam)
                ret = sum(gamma**i * rewards[t + i] for i in range(n))
                if t + n < len(path):
                    ret += gamma**n * history[t + n - 1][pairs[t + n]]
                target += weight * ret
            theta[pairs[t]] += alpha * (target - theta[pairs[t]])
        history.append(theta)
    np.testing.assert_allclose(found.theta[0], history[-1], atol=1e-12)


def test_qrc_is_that_of_its_authors():
    """Written out on the walk as in their published program: a scalar trace of h, and the gradient of δ."""
    walk, alpha, beta, kappa, lam, gamma = (
        environments.chain(random_walk(5)),
        0.05,
        0.025,
        2.0,
        0.8,
        0.9,
    )
    setting = EngineSetting(
        walk,
        "qrc",
        alpha=alpha,
        eta=0.5,
        kappa=kappa,
        lam=lam,
        gamma=gamma,
        episodes=6,
        max_steps=50,
        epsilon=0.4,
    )
    found = run_setting(setting, 1, seed=2, engine="reference")
    streams, theta, omega = runs_module.streams_of(2, 0), np.zeros(14), np.zeros(14)

    def choose(state):
        q = theta[2 * state : 2 * state + 2]
        greedy, u = int(q[1] > q[0] + 1e-10), runs_module.uniform(streams.behaviour)
        return greedy, greedy if u >= 0.4 else int(u >= 0.2)

    for _ in range(6):
        trace, scalar, state, done = np.zeros(14), 0.0, walk.start(walk.data, streams.starts), False
        greedy, action = choose(state)
        for _ in range(50):
            phi = np.eye(14)[2 * state + action]
            keeps, h = gamma * lam * (action == greedy), phi @ omega
            trace, scalar = keeps * trace + phi, keeps * scalar + h
            state, reward, done = walk.step(walk.data, state, action, streams.moves)
            best = np.zeros(14)
            if not done:
                greedy, action = choose(state)
                best = np.eye(14)[2 * state + greedy]
            delta, slope = reward + gamma * theta @ best - theta @ phi, gamma * best - phi
            theta = theta + alpha * (delta * trace - h * phi - scalar * slope)
            omega = omega + beta * (delta * trace - h * phi - kappa * omega)
            if done:
                break
    np.testing.assert_allclose(found.theta[0], theta, atol=1e-13)
    np.testing.assert_allclose(found.omega[0], omega, atol=1e-13)
    assert np.abs(omega).max() > 1e-4


@pytest.mark.parametrize("drawn", ["step", "episode", "run"])
def test_a_random_sigma_is_drawn_as_often_as_it_should_be(drawn):
    """The next normal number of its own stream for every step, or episode, or once; the mean decays by episodes."""
    walk = environments.chain(random_walk(5))
    setting = EngineSetting(
        walk,
        "gq",
        alpha=0.05,
        eta=0.5,
        lam=0.8,
        gamma=0.9,
        episodes=6,
        max_steps=9,
        sigma=0.6,
        sigma_noise=0.5,
        sigma_drawn=drawn,
        sigma_decay=0.5,
        sigma_clipped=drawn != "run",
    )
    found = run_setting(setting, 1, seed=3, first_run=1, engine="reference")
    stream, seen = words(3, 1, SIGMA), {}

    def draw(episode, k):
        place = {"step": (episode, k), "episode": episode, "run": 0}[drawn]
        if place not in seen:
            seen[place] = runs_module.normal(stream)
        sigma = 0.6 * 0.5**episode + 0.5 * seen[place]
        return sigma if drawn == "run" else min(max(sigma, 0.0), 1.0)

    theta, omega = steps_of_the_paper(setting, walk, 3, 1, draw)
    np.testing.assert_allclose(found.theta[0], theta, rtol=0, atol=1e-13)
    np.testing.assert_allclose(found.omega[0], omega, rtol=0, atol=1e-13)


def test_a_run_is_known_by_its_number_and_a_call_passes_on_what_it_is_given():
    numbers = {"episodes": 3, "max_steps": 30, "alpha": 0.1, "lam": 0.5}
    walk = environments.chain(random_walk(5))
    all_of_them = run(walk, runs=4, seed=2, engine="reference", **numbers)
    last = run(walk, "gq", runs=2, seed=2, first_run=2, engine="reference", **numbers)
    for name in ("steps", "returns", "theta", "omega"):
        np.testing.assert_array_equal(getattr(all_of_them, name)[2:], getattr(last, name))
    assert len(np.unique(all_of_them.theta, axis=0)) == 4
    assert all_of_them.setting == EngineSetting(walk, "gq", **numbers)
    with pytest.raises(
        ValueError, match=r"^numbers is 'seeds'; it should be one of .*'lam', 'gamma'"
    ):
        run(walk, runs=1, seed=2, engine="reference", seeds=3)


def test_a_run_that_diverges_keeps_what_it_did_before():
    """Steps count as the limit and returns are missing from that episode on, in that run alone."""
    walk = environments.chain(random_walk(5))
    setting = EngineSetting(walk, "sarsa", alpha=1e6, lam=1.0, episodes=40, max_steps=60)
    found = run_setting(setting, 3, seed=0, engine="reference")
    assert found.diverged.all()
    for steps, returns, capped in zip(found.steps, found.returns, found.capped, strict=True):
        at = int(np.flatnonzero(np.isnan(returns))[0])
        assert 0 < at < 40
        assert np.isnan(returns[at:]).all()
        assert (steps[at:] == 60).all()
        assert capped[at:].all()
        assert (steps[:at] <= 60).all()
    mixed = run_setting(
        EngineSetting(walk, "sarsa", alpha=0.1, episodes=2, max_steps=60), 2, 0, engine="reference"
    )
    assert not mixed.diverged.any()
    assert np.isfinite(mixed.returns).all()
