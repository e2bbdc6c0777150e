"""Every learner, as one text: its two dense carriers agree, and its mean is the exact one, which was not made from it.

The lazy carrier is held to the dense one in `tests/test_engine.py`, learner by learner.
"""

from functools import partial

import numpy as np
import pytest

from gqlib import PredictionProblem
from gqlib.domains import random_mdp, random_policy
from gqlib.emphatic import emphatic_matrix, emphatic_vector
from gqlib.learners import dense, gq_step_lagged
from gqlib.learners.corrected import CorrectedProblem, importance_ratios
from gqlib.learners.textbook import TextbookProblem, TracedProblem, trace_coefficients
from gqlib.learners.texts import LEARNERS

GAMMA, LAM, SIGMA, KAPPA = 0.8, 0.5, 0.3, 2.0


@pytest.mark.parametrize("name", LEARNERS)
def test_the_compiled_loop_takes_the_steps_of_numpy(name):
    learner, rng, steps = LEARNERS[name], np.random.default_rng(0), 40
    phi, after, expected = rng.normal(size=(3, steps, 5))
    seen = rng.random((6, steps)) + 0.1  # rewards, σ, ρ, π, ρ', π'
    rewards, sigmas, *ratios = seen
    ends = rng.random(steps) < 0.1
    numbers = dense.rates(lam=0.7, gamma=0.9, alpha=0.05, beta=0.1, kappa=0.5)
    kept, when = dense.loop_of(learner)(
        phi, after, expected, tuple(seen), ends, np.ones(5), numbers, 10, 1e9
    )
    weights = dense.begin(learner, np.ones(5), numbers)
    for k in range(steps):
        weights, _ = dense.step(
            learner, weights, phi[k], rewards[k], after[k], expected[k], numbers,
            sigma=sigmas[k], ratios=dense.Ratios(*(column[k] for column in ratios)),
        )  # fmt: skip
        if ends[k]:
            weights = dense.again(learner, weights, numbers)
        if (k + 1) % 10 == 0:
            np.testing.assert_allclose(
                kept[(k + 1) // 10], weights.theta, rtol=0, atol=1e-14 * np.abs(kept[-1]).max()
            )
    assert when == -1
    assert (kept[-1] != 1.0).all()
    assert (weights.omega != 0.0).all() == learner.gradient


class World:
    """Four states and two actions, for ever; what is seen of each pair, and in the mean by state."""

    def __init__(self):
        rng = np.random.default_rng(3)
        self.mdp = random_mdp(rng, 4, 2, GAMMA)
        self.mu, self.pi = random_policy(rng, 4, 2), random_policy(rng, 4, 2)
        self.rho = importance_ratios(self.mu, self.pi).ravel()
        self.pairs = PredictionProblem.on_pairs(self.mdp, self.mu, self.pi, rng.normal(size=(8, 3)))
        xi, rewards = self.pairs.xi, self.pairs.rewards.reshape(4, 2)
        chain, law = self.mdp.state_chain(self.pi), xi.reshape(4, 2).sum(axis=1)
        features, paid = rng.normal(size=(4, 3)), (self.pi * rewards).sum(axis=1)
        self.states = PredictionProblem(features, chain, chain, paid, law, GAMMA)

    def traced(self, c):
        return TracedProblem.of(self.pairs, c)

    def features(self, on):
        """φ of every pair, or that of its state, and E_πφ(S', ·) for the state in which a pair begins."""
        phi = self.pairs.features if on == "pairs" else np.repeat(self.states.features, 2, axis=0)
        mean = np.einsum("sa,sad->sd", self.pi, phi.reshape(4, 2, 3))
        return phi, np.repeat(mean, 2, axis=0)


@pytest.fixture(scope="module")
def world():
    return World()


THETA, OMEGA = np.array([1.0, -2.0, 0.5]), np.array([0.3, 0.1, -0.4])


def mean_change(world, learner, on, omega):
    """What θ and ω gain in the mean at step sizes 1, with the mean of e and of the memory, by pair, over all the past.

    A step is linear in e and memory together, so their means given the present pair, which are found by carrying them
    on from pair to pair, are all that the mean of a step needs.
    """
    numbers = dense.rates(lam=LAM, gamma=GAMMA, alpha=1.0, beta=1.0, kappa=KAPPA)
    p, (phi, expected), pi = world.pairs, world.features(on), world.pi.ravel()
    first = dense.begin(learner, THETA, numbers)._replace(omega=omega)
    means = [first] * 8
    backward = p.xi[:, None] * p.p_mu / p.xi  # P(i before | j now)
    for last in [False] * 160 + [True]:
        moved = np.zeros((2, 3))
        traces, memories = np.zeros((8, 3)), np.zeros((8, len(first.memory)))
        for i in range(8):
            for j in range(8):
                ratios = dense.Ratios(world.rho[i], pi[i], world.rho[j], pi[j])
                new, _ = dense.step(
                    learner, means[i], phi[i], p.rewards[i], phi[j], expected[j], numbers,
                    sigma=SIGMA, ratios=ratios,
                )  # fmt: skip
                traces[j] += backward[i, j] * new.trace
                memories[j] += backward[i, j] * np.array(new.memory)
                moved += p.xi[i] * p.p_mu[i, j] * np.array([new.theta - THETA, new.omega - omega])
        if last:
            return moved
        means = [
            first._replace(trace=e, memory=tuple(m)) for e, m in zip(traces, memories, strict=True)
        ]
    return None


def of(problem, sigma=0.0, lam=LAM):
    return problem.A(sigma, lam), problem.b(sigma, lam), problem.gamma_v(sigma, lam)


def one_step(problem):
    a, b, _ = of(problem, lam=0.0)
    return 0.0 * a, 0.0 * b, a.T, a, b


def emphatic(problem):
    return emphatic_matrix(problem, LAM), emphatic_vector(problem, LAM), None


def ratio_like(world, rule, **numbers):
    return world.traced(trace_coefficients(world.mu, world.pi, rule, **numbers))


# On pairs or on states, and A, b and the matrix that takes ω from θ; GTD2 gives its δe to ω alone.
EXACT = {
    "gq": ("pairs", lambda w: of(w.pairs, SIGMA)),
    "corrected_gq": ("pairs", lambda w: of(CorrectedProblem.of(w.pairs))),
    "expected_gq": ("pairs", lambda w: of(CorrectedProblem.of(w.pairs))),
    "weighted_gq": ("pairs", lambda w: of(CorrectedProblem.of(w.pairs, "weighted"))),
    "maei_gq": ("pairs", lambda w: of(CorrectedProblem.of(w.pairs, "weighted"))),
    "q_sigma": ("pairs", lambda w: of(w.pairs, SIGMA)),
    "sarsa": ("pairs", lambda w: of(w.pairs, 1.0)),
    "expected_sarsa": ("pairs", lambda w: of(w.pairs, 0.0)),
    "qrc": ("pairs", lambda w: of(ratio_like(w, "retrace"))),
    "watkins": ("pairs", lambda w: of(w.traced((w.rho > 0.0).astype(float)))),
    "greedy_gq": ("pairs", lambda w: of(w.traced(w.rho))),
    "textbook_gq": ("pairs", lambda w: of(TextbookProblem.of(w.pairs, w.mu, w.pi, SIGMA), SIGMA)),
    "td": ("states", lambda w: of(w.states)),
    "tdc": ("states", lambda w: of(w.states)),
    "tdrc": ("states", lambda w: of(w.states)),
    "gtd2": ("states", lambda w: one_step(w.states)),
    "emphatic_td": ("states", lambda w: emphatic(w.states)),
    "tdc_pairs": ("pairs", lambda w: of(w.traced(w.rho))),
    "tdrc_pairs": ("pairs", lambda w: of(w.traced(w.rho))),
    "gtd2_pairs": ("pairs", lambda w: one_step(w.traced(w.rho))),
    "emphatic_td_pairs": ("pairs", lambda w: emphatic(w.pairs)),
}
# Not linear in what they remember; other witnesses: Algorithm 1 with its matrix v, and the λ-return of true online Sarsa.
OTHER = {"gq_lagged", "true_online_sarsa"}


@pytest.mark.parametrize("name", EXACT)
def test_the_mean_of_a_step_is_the_exact_one(world, name):
    on, exact = EXACT[name]
    a, b, correction, *own = exact(world)
    learner = LEARNERS[name]
    omega = OMEGA if learner.gradient else np.zeros(3)
    theta_moves, omega_moves = mean_change(world, learner, on, omega)
    ridge = KAPPA if learner.ridge else 0.0
    gain = a @ THETA + b
    if learner.gradient:
        gain = gain - correction @ omega
        follows, towards = own or (a, b)
        m = (world.pairs if on == "pairs" else world.states).M
        wanted = follows @ THETA + towards - m @ omega - ridge * omega
        np.testing.assert_allclose(omega_moves, wanted, rtol=0, atol=1e-12)
    np.testing.assert_allclose(theta_moves, gain, rtol=0, atol=1e-12)
    assert np.abs(theta_moves).max() > 1e-2


def test_every_learner_has_a_witness():
    """Whoever adds a learner says what it is in the mean, in `EXACT`, or what else holds it, in `OTHER`."""
    assert set(EXACT) | OTHER == set(LEARNERS)


def test_algorithm_1_needs_no_matrix():
    """The text "gq_lagged" keeps what θ still has to gain, a vector, in place of v."""
    rng, learner = np.random.default_rng(1), LEARNERS["gq_lagged"]
    theta, omega, trace, v = np.ones(4), np.zeros(4), np.zeros(4), np.zeros((4, 4))
    numbers = {"lam": 0.7, "gamma": 0.9, "alpha": 0.05, "beta": 0.1}
    weights = dense.begin(learner, theta, dense.rates(**numbers))
    for _ in range(30):
        phi, after, expected = rng.normal(size=(3, 4))
        reward, sigma = rng.normal(), rng.random()
        seen = (phi, reward, after, expected)
        theta, omega, trace, v, _ = gq_step_lagged(
            theta, omega, trace, v, *seen, sigma=sigma, **numbers
        )
        weights, _ = dense.step(learner, weights, *seen, dense.rates(**numbers), sigma=sigma)
        np.testing.assert_allclose(weights.theta, theta, rtol=0, atol=1e-13)
        np.testing.assert_allclose(weights.omega, omega, rtol=0, atol=1e-13)


def test_true_online_sarsa_is_the_online_lambda_return():
    """θ after t steps is that of t updates towards interim λ-returns (van Seijen et al. 2016, Eq. 15)."""
    rng, steps, alpha = np.random.default_rng(2), 12, 0.1
    phi, rewards, first = (
        rng.normal(size=(steps + 1, 4)),
        rng.normal(size=steps),
        rng.normal(size=4),
    )
    learner, numbers = LEARNERS["true_online_sarsa"], dense.rates(lam=0.7, gamma=0.9, alpha=alpha)
    weights, before = (
        dense.begin(learner, first, numbers),
        [first],
    )  # θ_{t−1}, which R_t's return bootstraps from
    step = partial(dense.step, learner)
    for t in range(1, steps + 1):
        weights, _ = step(weights, phi[t - 1], rewards[t - 1], phi[t], phi[t], numbers)
        theta = first
        for k in range(t):
            returns, discounted = [], 0.0
            for n in range(1, t - k + 1):
                discounted += 0.9 ** (n - 1) * rewards[k + n - 1]
                returns.append(discounted + 0.9**n * before[k + n - 1] @ phi[k + n])
            mixed = 0.3 * sum(0.7 ** (n - 1) * g for n, g in enumerate(returns[:-1], start=1))
            target = mixed + 0.7 ** (t - k - 1) * returns[-1]
            theta = theta + alpha * (target - theta @ phi[k]) * phi[k]
        np.testing.assert_allclose(weights.theta, theta, rtol=0, atol=1e-12)
        before.append(theta)
