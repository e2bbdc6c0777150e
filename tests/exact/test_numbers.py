"""float64 against 50 digits on ill-conditioned problems: the documented bounds hold, or the result is refused.

The reference is written in mpmath from the definitions, and takes the float64 inputs of a problem as exact.
"""

from __future__ import annotations

import re

import mpmath
import numpy as np
import pytest
from mpmath import mp

from gqlib import FiniteMDP, PredictionProblem, stationary_distribution
from gqlib.domains import random_mdp, random_policy
from gqlib.rounding import TOLERATED, Rounding, refuse_resolvent, resolvent_error, unit
from gqlib.stability import joint_matrix, spectral_abscissa

DIGITS = 50
EPS = np.finfo(float).eps
SIGMA = 0.3
THETA = np.array([0.5, -2.0, 1.0])
POWERS = range(1, 16)


def exact(array):
    return mpmath.matrix(np.asarray(array, dtype=float).tolist())


def difference(got, want):
    """|float64 − reference|, entry by entry, subtracted in 50 digits."""
    got = np.asarray(got, dtype=float)
    flat = [abs(mpmath.mpf(float(g)) - w) for g, w in zip(got.ravel(), want, strict=True)]
    return np.array([float(x) for x in flat]).reshape(got.shape)


class Reference:
    """A_σ, b, M, the fixed point, MSPBE and its gradient by their definitions, in 50 digits."""

    def __init__(self, problem, sigma, lam):
        phi, weights = (
            exact(problem.features),
            mpmath.diag([mpmath.mpf(float(x)) for x in problem.xi]),
        )
        gamma, sigma, lam = (mpmath.mpf(float(x)) for x in (problem.gamma, sigma, lam))
        one = mpmath.eye(problem.n)
        mixed = (1 - sigma) * exact(problem.p_pi) + sigma * exact(problem.p_mu)
        inverse = mpmath.inverse(one - gamma * lam * exact(problem.p_trace))
        self.X = (phi.T * weights * inverse).T
        self.A = self.X.T * (gamma * mixed - one) * phi
        self.b = self.X.T * exact(problem.rewards)
        self.M = phi.T * weights * phi
        bootstrap = ((1 - sigma) * exact(problem.p_pi) + (sigma - lam) * exact(problem.p_mu)) * phi
        self.gamma_v = gamma * bootstrap.T * self.X

    def joint(self, eta):
        """J of the mean (θ, ω), block by block."""
        d = self.A.rows
        result = mpmath.zeros(2 * d)
        for i in range(d):
            for j in range(d):
                result[i, j], result[i, d + j] = self.A[i, j], -self.gamma_v[i, j]
                result[d + i, j], result[d + i, d + j] = eta * self.A[i, j], -eta * self.M[i, j]
        return result

    def fixed_point(self):
        return -mpmath.lu_solve(self.A, self.b)

    def mspbe(self, theta):
        residual = self.A * exact(theta) + self.b
        return (residual.T * mpmath.lu_solve(self.M, residual))[0] / 2

    def gradient(self, theta):
        return self.A.T * mpmath.lu_solve(self.M, self.A * exact(theta) + self.b)


@pytest.fixture(autouse=True)
def fifty_digits():
    with mp.workdps(DIGITS):
        yield


def parts(gamma, seed=1, states=3):
    rng = np.random.default_rng(seed)
    mdp = random_mdp(rng, states, 2, gamma)
    mu, pi = (random_policy(rng, states, 2) for _ in range(2))
    return mdp, mu, pi, rng.standard_normal((2 * states, 3))


def gamma_to_one(k, lam):
    return PredictionProblem.on_pairs(*parts(1.0 - 10.0**-k)), lam


def both_to_one(k):
    return gamma_to_one(k, 1.0 - 10.0**-k)


def constant_feature(k):
    """The slow mode of the chain is a feature: A has an entry of size 1 − γ between entries of size one."""
    mdp, mu, pi, features = parts(1.0 - 10.0**-k)
    features[:, 0] = 1.0
    return PredictionProblem.on_pairs(mdp, mu, pi, features), 0.5


def collinear(k):
    mdp, mu, pi, features = parts(0.9)
    features[:, 1] = features[:, 0] + 10.0**-k * features[:, 1]
    return PredictionProblem.on_pairs(mdp, mu, pi, features), 0.7


def rare_action_table(k):
    """One-hot features of three pairs, one of them hardly ever seen."""
    mdp, _, pi, _ = parts(0.9)
    mu = np.array([[1.0 - 10.0**-k, 10.0**-k], [0.5, 0.5], [0.25, 0.75]])
    return PredictionProblem.on_pairs(mdp, mu, pi, np.eye(6)[:, [0, 1, 4]]), 0.7


def long_episodes(k):
    """γ = λ = 1 and an end that is reached with probability 10^-k a step."""
    mdp, mu, pi, features = parts(0.9)
    moves = np.zeros((4, 2, 4))
    moves[:3, :, :3] = mdp.transitions * (1.0 - 10.0**-k)
    moves[:3, :, 3] = 1.0 - moves[:3, :, :3].sum(axis=2)
    rewards = np.vstack([mdp.rewards, [[0.0, 0.0]]])
    episodic = FiniteMDP(moves, rewards, 1.0, terminal=[3])
    mu, pi = (np.vstack([policy, [[0.5, 0.5]]]) for policy in (mu, pi))
    start = [1.0, 0.0, 0.0, 0.0]
    return PredictionProblem.on_pairs(
        episodic, mu, pi, np.vstack([features, np.zeros((2, 3))]), start=start
    ), 1.0


# Each with the last power at which a fixed point must be given, and the first from which it must be refused.
FAMILIES = {
    "gamma, lambda 0": (lambda k: gamma_to_one(k, 0.0), 15, 16),
    "gamma, lambda 1": (lambda k: gamma_to_one(k, 1.0), 9, 12),
    "gamma and lambda": (both_to_one, 9, 12),
    "constant feature": (constant_feature, 9, 12),
    "collinear": (collinear, 4, 6),
    "rare action, table": (rare_action_table, 9, 12),
    "long episodes": (long_episodes, 9, 10),
}


def matrices_hold(problem, lam, ref):
    """A, b, X, M, γE[v] and J are within their bounds."""
    bound = problem.rounding(SIGMA, lam)
    a = problem.A(SIGMA, lam)
    assert (difference(a, ref.A) <= bound.A).all()
    assert (difference(problem.b(SIGMA, lam), ref.b) <= bound.b).all()
    traces = problem.trace_weights(lam)
    relative = difference(traces, ref.X).sum(axis=0) / np.abs(traces).sum(axis=0)
    assert (relative <= resolvent_error(problem.p_trace, problem.gamma * lam)).all()
    phi = np.abs(problem.features)
    gram = unit(problem.n) * (phi.T * problem.xi) @ phi
    assert (difference(problem.M, ref.M) <= gram).all()
    joint = difference(joint_matrix(problem, SIGMA, lam, 0.5), ref.joint(mpmath.mpf(0.5)))
    assert (joint[3:, :3] <= 0.5 * bound.A).all()
    assert (joint[3:, 3:] <= 0.5 * gram).all()
    reach = unit(problem.n) * 8.0 * resolvent_error(problem.p_trace, problem.gamma * lam) / EPS
    assert (joint[:3, 3:] <= reach * np.outer(phi.max(axis=0), np.abs(traces).sum(axis=0))).all()


def objective_holds(problem, lam, ref):
    """MSPBE, its gradient and M⁻¹g are within their bounds."""
    bound = problem.rounding(SIGMA, lam)
    root = mpmath.sqrt(2 * mpmath.mpf(problem.mspbe(THETA, SIGMA, lam))) - mpmath.sqrt(
        2 * ref.mspbe(THETA)
    )
    assert abs(root) <= bound.residual(THETA)
    gradient = difference(problem.mspbe_gradient(THETA, SIGMA, lam), ref.gradient(THETA))
    assert (gradient <= bound.gradient(THETA)).all()
    scale = np.linalg.svd(np.sqrt(problem.xi)[:, None] * problem.features, compute_uv=False)
    solved = np.linalg.norm(
        difference(problem.solve_M(THETA), mpmath.lu_solve(ref.M, exact(THETA)))
    )
    limit = 4.0 * unit(problem.n) * scale[0] / scale[-1] * np.linalg.norm(THETA) / scale[-1] ** 2
    assert solved <= limit


def fixed_point_holds(problem, lam, ref):
    theta = problem.fixed_point(SIGMA, lam)
    y = problem.rounding(SIGMA, lam).y
    inverse = np.linalg.pinv(
        y.T @ (problem.gamma * problem.next_features(SIGMA) - problem.features), rcond=0.0
    )
    error = np.linalg.norm(difference(theta, ref.fixed_point()))
    assert error <= problem.rounding(SIGMA, lam).fixed_point(theta, inverse)
    assert error <= TOLERATED * np.linalg.norm(theta)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_bounds_hold_or_the_result_is_refused(family):
    make, last_given, first_refused = FAMILIES[family]
    given, refusals = [], []
    for k in POWERS:
        try:
            problem, lam = make(k)
            problem.rounding(SIGMA, lam)
        except ValueError as refusal:
            refusals.append(str(refusal))
            continue
        ref = Reference(problem, SIGMA, lam)
        if (
            problem.rank_M < problem.d
        ):  # said, not hidden: M counts as singular, and the problem is another one
            assert family == "collinear"
            assert k >= 13
            continue
        matrices_hold(problem, lam, ref)
        objective_holds(problem, lam, ref)
        try:
            fixed_point_holds(problem, lam, ref)
        except np.linalg.LinAlgError as refusal:
            refusals.append(str(refusal))
        else:
            given.append(k)
    assert set(range(1, last_given + 1)) <= set(given)
    assert all(k < first_refused for k in given)
    assert all(
        re.search("near to singular|collinear|no solution|never ends", text) for text in refusals
    ), refusals


@pytest.mark.parametrize("k", POWERS)
def test_values_lose_what_the_condition_number_says_or_are_refused(k):
    mdp, mu, *_ = parts(1.0 - 10.0**-k)
    if k >= 12:
        with pytest.raises(
            ValueError, match=r"gamma is 0\.99999999.*; .* rounding may take the whole result"
        ):
            mdp.q(mu)
        return
    chain = mdp.pair_chain(mu)
    want = mpmath.lu_solve(
        mpmath.eye(6) - mpmath.mpf(mdp.gamma) * exact(chain), exact(mdp.rewards.ravel())
    )
    got = mdp.q(mu).ravel()
    bound = resolvent_error(chain, mdp.gamma)
    assert difference(got, want).max() <= bound * np.abs(got).max()
    assert bound <= TOLERATED


def exact_law(chain):
    """The law of the chain with these off-diagonal entries, the diagonal being what is left of one."""
    rates = exact(chain)
    n = rates.rows
    for i in range(n):
        rates[i, i] = -mpmath.fsum(rates[i, j] for j in range(n) if j != i)
    system = rates.T.copy()
    for j in range(n):
        system[n - 1, j] = 1
    return mpmath.lu_solve(system, mpmath.matrix([0] * (n - 1) + [1]))


@pytest.mark.parametrize("k", [1, 5, 10, 15, 30, 60])
def test_every_entry_of_a_stationary_law_is_right_however_nearly_absorbing_the_chain(k):
    rng = np.random.default_rng(k)
    tiny = 10.0**-k
    chains = [rng.dirichlet(np.ones(4), size=4) for _ in range(2)]
    apart = np.zeros((8, 8))  # two blocks that hardly meet
    apart[:4, :4], apart[4:, 4:] = chains
    apart[0, 5], apart[6, 2] = tiny, 3.0 * tiny
    apart[[0, 6]] /= apart[[0, 6]].sum(axis=1, keepdims=True)
    sticky = chains[0] * np.array(
        [[1.0], [tiny], [tiny**2], [1.0]]
    )  # states that are hardly ever left
    sticky += np.diag(1.0 - sticky.sum(axis=1))
    with mp.workdps(DIGITS + 8 * k):
        for chain in (apart, sticky):
            law, want = stationary_distribution(chain), exact_law(chain)
            relative = [abs(mpmath.mpf(x) / w - 1) for x, w in zip(law.tolist(), want, strict=True)]
            assert max(relative) <= 2 * len(chain) ** 3 * EPS


def right_most(matrix):
    """The spectral abscissa and |y*x| of its eigenvalue, unit vectors y and x, in 50 digits."""
    values, left, right = mpmath.eig(exact(matrix), left=True, right=True)
    at = max(range(len(values)), key=lambda i: mpmath.re(values[i]))
    y, x = left[at, :], right[:, at]
    return mpmath.re(values[at]), abs((y * x)[0]) / (mpmath.norm(y) * mpmath.norm(x))


@pytest.mark.parametrize("k", [1, 3, 6, 9])
def test_spectral_abscissa_is_as_good_as_its_eigenvalue_is_conditioned(k):
    for make in (both_to_one, constant_feature, rare_action_table):
        problem, lam = make(k)
        for matrix in (problem.A(SIGMA, lam), joint_matrix(problem, SIGMA, lam, 0.5)):
            want, overlap = right_most(matrix)
            rounding = 10 * len(matrix) * EPS * np.linalg.norm(matrix, 2)
            assert abs(mpmath.mpf(spectral_abscissa(matrix)) - want) <= rounding / overlap


# ---------------------------------------------------------------- the bounds, entry by entry


def near(bound, relative=1e-12):
    """Bounds are of the size of eps, far below the absolute tolerance that approx has by itself."""
    return pytest.approx(bound, rel=relative, abs=0.0)


def made_bounds():
    """Bounds with numbers at random in every field, so that no two of them can be exchanged unseen."""
    rng = np.random.default_rng(3)
    n, d = 4, 2
    fields = {
        "system": np.eye(n) + 0.1 * rng.standard_normal((n, n)),
        "x": rng.standard_normal((n, d)),
        "y": rng.standard_normal((n, d)),
        "features": rng.standard_normal((n, d)),
        "change": rng.standard_normal((n, d)),
        "reward": rng.standard_normal(n),
        "spread": np.array([1.0, 7.0]),
        "mass": 1.5,
    }
    return Rounding(**fields), fields


def seen(fields, column, size):
    """u·(‖S‖|S⁻¹ column| + 4·size), by the inverse and by rows."""
    system = fields["system"]
    norm = max(sum(abs(entry) for entry in row) for row in system)
    ahead = np.linalg.inv(system) @ column
    return 5 * len(system) * EPS * (norm * max(abs(ahead)) + 4 * size)


def test_bounds_on_matrix_and_vector_are_those_of_the_formulas():
    bound, fields = made_bounds()
    x, phi, change, reward = (fields[name] for name in ("x", "features", "change", "reward"))
    for i in range(2):
        total = sum(abs(x[:, i]))
        for j in range(2):
            expected = total * seen(fields, change[:, j], max(abs(phi[:, j])))
            assert bound.A[i, j] == near(expected)
        assert bound.b[i] == near(total * seen(fields, reward, max(abs(reward))))
    assert bound.A.shape == (2, 2)
    assert bound.b.shape == (2,)


def test_bounds_on_residual_and_gradient_are_those_of_the_formulas():
    bound, fields = made_bounds()
    y, phi, change, reward = (fields[name] for name in ("y", "features", "change", "reward"))
    theta = np.array([2.0, -3.0])
    white = np.hypot(*(sum(abs(y[:, i])) for i in range(2))) + 1.5 * np.hypot(1.0, 7.0)
    changes = [seen(fields, change[:, j], max(abs(phi[:, j]))) for j in range(2)]
    residual = white * (
        seen(fields, reward, max(abs(reward))) + 2.0 * changes[0] + 3.0 * changes[1]
    )
    assert bound.residual(theta) == near(residual)
    size = np.linalg.norm(y.T @ (change @ theta + reward))
    for j in range(2):
        slope = np.hypot(*(y.T @ change[:, j]))
        assert bound.gradient(theta)[j] == near(white * changes[j] * size + slope * residual)


def test_the_bound_on_a_fixed_point_is_that_of_the_formula():
    bound, fields = made_bounds()
    y, phi, change, reward = (fields[name] for name in ("y", "features", "change", "reward"))
    theta, inverse = np.array([2.0, -3.0]), np.array([[1.0, 0.5], [-2.0, 4.0]])
    sizes = max(abs(reward)) + 2.0 * max(abs(phi[:, 0])) + 3.0 * max(abs(phi[:, 1]))
    known = np.sqrt(sum(sum(abs(y @ row)) ** 2 for row in inverse))
    unknown = 1.5 * np.sqrt(
        1.0**2 + 3.5**2 + 2.0**2 + 28.0**2
    )  # columns of the inverse, times 1 and 7
    products = 4 * sizes * np.hypot(*(sum(abs(y[:, i])) for i in range(2)))
    products += np.sqrt(((y.T @ change) ** 2).sum()) * np.sqrt(13.0)
    expected = seen(fields, reward + change @ theta, sizes) * (known + unknown)
    expected += 5 * 4 * EPS * products * np.sqrt(1.0 + 0.25 + 4.0 + 16.0)
    assert bound.fixed_point(theta, inverse) == near(expected)


def test_the_error_of_a_resolvent_is_bounded_by_the_series_or_by_the_condition_number():
    chain = np.array([[0.5, 0.5], [0.2, 0.8]])
    assert resolvent_error(chain, 0.5) == near(2 * 10 * EPS * 1.5 / 0.5)
    assert resolvent_error(-chain, 0.5) == near(2 * 10 * EPS * 1.5 / 0.5)
    assert resolvent_error(np.eye(2), 0.99) == near(
        2 * 10 * EPS * 199, 1e-9
    )  # the series, at its limit
    system = np.eye(2) - 0.999 * chain
    norm, inverse = (max(abs(rows).sum(axis=1)) for rows in (system, np.linalg.inv(system)))
    assert resolvent_error(chain, 0.999) == near(2 * 10 * EPS * norm * inverse, 1e-9)


def test_a_refused_resolvent_says_what_it_was_and_what_to_do():
    refuse_resolvent("lam", np.eye(2), 0.5, "lam should be smaller")
    with pytest.raises(ValueError, match=r"^lam is 1\.0; I - lam·P is so near to singular that rounding may take the "
                                         r"whole result \(bound inf > 0\.01\); lam should be smaller$"):  # fmt: skip
        refuse_resolvent("lam", np.eye(2), 1.0, "lam should be smaller")
