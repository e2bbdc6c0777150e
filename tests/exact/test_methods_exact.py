"""Means, noise and limits of the methods against recursions along the chain, exactly and on small tasks."""

import numpy as np
import pytest

from gqlib.domains import five_state_walk
from gqlib.mdp import FiniteMDP
from gqlib.methods import (
    METHODS,
    Method,
    Task,
    fixed_point,
    increment_covariance,
    joint_of,
    limits,
    means,
)
from gqlib.methods.catalogue import coefficients
from gqlib.methods.limits import error_after, eta_star, largest_step, ratio_windows
from gqlib.methods.mean import error_weights, followon, next_features
from gqlib.methods.noise import trace_moments

STEPS = 250  # after which the trace has forgotten how it began, on the tasks below


def continuing(on):
    rng = np.random.default_rng(0)
    moves, mu = (
        rng.dirichlet(np.ones(3), size=(3, 2)),
        np.array([[0.6, 0.4], [0.3, 0.7], [0.5, 0.5]]),
    )
    pi = np.array([[0.4, 0.6], [0.5, 0.5], [0.3, 0.7]])
    mdp = FiniteMDP(moves, rng.standard_normal((3, 2)), 0.6)
    return Task(
        "continuing", mdp, mu, pi, rng.standard_normal((3 if on == "states" else 6, 2)), on=on
    )


def episodic(on):
    """Three states and an end; episodes begin in the first two, and the end is reached from any state."""
    rng = np.random.default_rng(1)
    moves = np.zeros((4, 2, 4))
    moves[:3], moves[3, :, 3] = rng.dirichlet(np.ones(4), size=(3, 2)), 1.0
    rewards = np.vstack(
        [rng.standard_normal((3, 2)), [[5.0, 5.0]]]
    )  # what an end pays does not count
    mu, pi = np.tile([0.6, 0.4], (4, 1)), np.tile([0.45, 0.55], (4, 1))
    features = rng.standard_normal((4 if on == "states" else 8, 2))
    features[3 if on == "states" else 6 :] = 0.0
    return Task("episodic", FiniteMDP(moves, rewards, 0.8, terminal=[3]), mu, pi, features, on=on,
                start=[0.25, 0.75, 0.0, 0.0])  # fmt: skip


TASKS = {
    (kind.__name__, on): kind(on) for kind in (continuing, episodic) for on in ("states", "pairs")
}
NAMES = ("TD(λ)", "Tree Backup(λ)", "V-trace(λ)", "ABTD(ζ)", "ETD(λ)", "ETD(λ, β)", "GQ(½, λ) printed",
         "GQ(½, λ) repaired", "GQ(½, λ) textbook")  # fmt: skip
CASES = [(name, kind, on) for name in NAMES for kind, on in TASKS if on in METHODS[name].on]


class Recursion:
    """What a walk of the chain with restarts does to e, F and their products, in the mean, step by step."""

    def __init__(self, task, method, lam):
        self.task, self.lam = task, lam
        c, self.decay = coefficients(task, method, lam)
        self.beta = (task.gamma if method.beta is None else method.beta) if method.emphasis else 0.0
        by_earlier = task.on == "states"
        n, chain = task.n, task.chain
        self.ends = np.maximum(1.0 - chain.sum(axis=1), 0.0) if task.start.any() else np.zeros(n)
        self.closed = chain + np.outer(self.ends, task.start)
        rho = task.rho
        self.c = np.array([[c[i] if by_earlier else c[j] for j in range(n)] for i in range(n)])
        self.rho = np.array(
            [[rho[i] if by_earlier else rho[j] for j in range(n)] for i in range(n)]
        )
        self.keep = lam if method.emphasis else 1.0  # m = keep + follow·F
        self.follow = 1.0 - lam if method.emphasis else 0.0

    def after(self, chain, mass, f, e):
        """One step further for (E[x; i], E[xF; i], E[xeᵀ; i]) of any x known before, along `chain` within episodes."""
        phi = self.task.phi
        mass = np.einsum("ij,i...->j...", chain + self.begun, mass)
        f = mass + self.beta * np.einsum("ij,i...->j...", chain * self.rho, f)
        m = self.keep * mass + self.follow * f
        e = self.decay * np.einsum("ij,i...->j...", chain * self.c, e)
        return (
            mass,
            f,
            e + m[..., None] * phi.reshape(len(phi), *([1] * (m.ndim - 1)), phi.shape[1]),
        )

    @property
    def begun(self):
        return np.outer(self.ends, self.task.start)

    def moments(self):
        """ξE[F], ξE[e], ξE[F²], ξE[Fe] and ξE[eeᵀ] by pair."""
        task, phi, chain = self.task, self.task.phi, self.task.chain
        n, d = phi.shape
        f, e, ff, fe, ee = (
            np.zeros(n),
            np.zeros((n, d)),
            np.zeros(n),
            np.zeros((n, d)),
            np.zeros((n, d, d)),
        )
        for _ in range(STEPS):
            b, k = self.beta * self.rho, self.decay * self.c
            f_old, e_old, ff_old, fe_old = f, e, ff, fe
            f = task.xi + (chain * b).T @ f_old
            ff = task.xi + 2.0 * (chain * b).T @ f_old + (chain * b**2).T @ ff_old
            carried_e = (chain * k).T @ e_old
            m, mf = self.keep * task.xi + self.follow * f, self.keep * f + self.follow * ff
            e = carried_e + m[:, None] * phi
            fe = carried_e + (chain * b * k).T @ fe_old + mf[:, None] * phi
            # What is carried of e meets m = keep + follow·(1 + bF) of the next step.
            meets = (self.keep + self.follow) * carried_e + self.follow * (chain * b * k).T @ fe_old
            mm = self.keep**2 * task.xi + 2.0 * self.keep * self.follow * f + self.follow**2 * ff
            cross = meets[:, :, None] * phi[:, None, :]
            ee = np.einsum("ij,iab->jab", chain * k**2, ee) + cross + cross.transpose(0, 2, 1)
            ee += mm[:, None, None] * phi[:, :, None] * phi[:, None, :]
        return f, e, ff, fe, ee


@pytest.mark.parametrize(("name", "kind", "on"), CASES)
def test_means_moments_and_noise_are_those_of_the_recursion(name, kind, on):
    task, method, lam = TASKS[kind, on], METHODS[name], 0.7
    walk = Recursion(task, method, lam)
    f, e, ff, fe, ee = walk.moments()
    np.testing.assert_allclose(walk.closed.T @ task.xi, task.xi, atol=1e-12)
    given = means(task, method, lam)
    np.testing.assert_allclose(given.X, e, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(followon(task, method), f, rtol=1e-9)
    second, mixed, squared = trace_moments(task, method, lam)
    np.testing.assert_allclose(second, ee, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(mixed, fe, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(squared, ff, rtol=1e-9)
    # A θ + b = E[d e], step by step.
    w, u = error_weights(task, method), next_features(task, method)
    theta = fixed_point(task, given)
    for place in (theta, np.array([1.0, -2.0])):
        inside = w[:, None] * (
            task.rewards[:, None] + task.gamma * u @ place - (task.phi @ place)[:, None]
        )
        last = w * (task.rewards - task.phi @ place)
        mean = (task.chain * inside).sum(axis=1) + walk.ends * last
        np.testing.assert_allclose(given.A @ place + given.b, e.T @ mean, atol=1e-11)
        if place is theta:
            np.testing.assert_allclose(e.T @ mean, 0.0, atol=1e-11)
            errors, at_end, expected = inside, last, mean
    # Σ_l E[g_0 g_lᵀ]: first a step weighed by its error, then along the chain.
    weighed = task.chain * errors
    mass = weighed.T @ e + np.outer(task.start, (walk.ends * at_end) @ e)
    follow = mass + walk.beta * (weighed * walk.rho).T @ fe
    m = walk.keep * mass + walk.follow * follow
    trace = (
        walk.decay * np.einsum("ij,iab->jab", weighed * walk.c, ee)
        + m[:, :, None] * task.phi[:, None, :]
    )
    lagged = np.zeros((2, 2))
    for _ in range(150):
        lagged += np.einsum("jab,j->ab", trace, expected)
        mass, follow, trace = walk.after(task.chain, mass, follow, trace)
    now = np.einsum("i,iab->ab", (task.chain * errors**2).sum(axis=1) + walk.ends * at_end**2, ee)
    exact = now + lagged + lagged.T
    np.testing.assert_allclose(
        increment_covariance(task, method, lam), exact, rtol=1e-8, atol=1e-11
    )
    np.testing.assert_allclose(
        increment_covariance(task, method, lam, theta), exact, rtol=1e-8, atol=1e-11
    )


@pytest.mark.parametrize(("kind", "on"), TASKS)
def test_noise_of_two_samples_far_apart_is_the_sum_over_lags_of_products(kind, on):
    """AᵀTD, in loops: v_0(v_l)ᵀ of one stretch of the walk, weighed by φ_0ᵀE[g_0 g_lᵀ]φ_l of another."""
    task, method = TASKS[kind, on], METHODS["AᵀTD"]
    walk = Recursion(task, method, 0.0)
    theta = fixed_point(task, means(task, method, 0.0))
    w, u, phi, n = error_weights(task, method), next_features(task, method), task.phi, task.n
    # Steps are numbered by the pair and what follows it, an end (with its restart) being another way to go.
    ways = [
        (i, j, task.chain[i, j], w[i] * (task.gamma * u[j] - phi[i]))
        for i in range(n)
        for j in range(n)
    ]
    ways += [
        (i, j, walk.ends[i] * task.start[j], -w[i] * phi[i]) for i in range(n) for j in range(n)
    ]
    ways = [way for way in ways if way[2] > 0.0 and task.xi[way[0]] > 0.0]
    first, then = (np.array([way[k] for way in ways]) for k in (0, 1))
    share = np.array([task.xi[i] * p for i, _, p, _ in ways])
    move = np.array([v for *_, v in ways])
    g = (w[first] * task.rewards[first] + move @ theta)[:, None] * phi[first]
    np.testing.assert_allclose(share @ g, 0.0, atol=1e-11)
    chance = np.array([p for _, _, p, _ in ways])  # of a way, given where it starts
    ahead, total = np.eye(n), np.zeros((2, 2))
    at = phi[first]
    for lag in range(100):
        if lag == 0:
            both = np.diag(share)
        else:
            both = share[:, None] * ahead[then][:, first] * chance
            ahead = ahead @ walk.closed
        r = g.T @ both @ g
        term = move.T @ (both * (at @ r @ at.T)) @ move
        total += term if lag == 0 else term + term.T
    np.testing.assert_allclose(
        increment_covariance(task, method, 0.0), total, rtol=1e-8, atol=1e-11
    )


@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_a_fixed_point_is_held_to_half_the_digits_in_any_units(factor):
    base, td = TASKS["continuing", "states"], METHODS["TD(λ)"]
    mdp = FiniteMDP(base.mdp.transitions, factor * base.mdp.rewards, base.gamma)
    task = Task("scaled", mdp, base.mu, base.pi, base.phi[::2])
    theta = fixed_point(task, means(task, td, 0.5))
    increment_covariance(task, td, 0.5, theta * (1.0 + 1e-10))
    with pytest.raises(ValueError, match=r"^theta leaves a mean step of size"):
        increment_covariance(task, td, 0.5, theta * (1.0 + 1e-5))


def test_the_matrix_of_the_hybrid_is_td_of_the_behaviour():
    for (kind, on), task in TASKS.items():
        given = means(task, METHODS["HTD(λ)"], 0.7)
        trace = np.zeros_like(task.phi)
        for _ in range(400):
            trace = task.gamma * 0.7 * task.chain.T @ trace + task.xi[:, None] * task.phi
        exact = trace.T @ (task.gamma * task.chain @ task.phi - task.phi)
        np.testing.assert_allclose(given.A_mu, exact, rtol=1e-9, err_msg=f"{kind} on {on}")


def test_the_correction_is_what_the_trace_does_not_carry():
    for name, kind, on in CASES:
        task, method = TASKS[kind, on], METHODS[name]
        walk, given = Recursion(task, method, 0.7), means(task, method, 0.7)
        w, u = error_weights(task, method), next_features(task, method)
        total = np.zeros((2, 2))
        for i in range(task.n):
            for j in range(task.n):
                pull = task.gamma * w[i] * u[j] - walk.decay * walk.c[i, j] * task.phi[j]
                total += task.chain[i, j] * np.outer(pull, given.X[i])
        np.testing.assert_allclose(given.V, total, rtol=1e-9, atol=1e-13)


def test_the_joint_matrix_has_the_blocks_of_the_table():
    task, eta = TASKS["continuing", "states"], 0.3
    rows, zero, eye = task.basis, np.zeros((2, 2)), np.eye(2)
    blocks = {
        "TD(λ)": lambda a, v, m, h: a,
        "LSTD(λ)": lambda a, v, m, h: -eye,
        "AᵀTD": lambda a, v, m, h: -a.T @ a,
        "TDC(λ)": lambda a, v, m, h: [[a, -v], [eta * a, -eta * m]],
        "TDRC(λ)": lambda a, v, m, h: [[a, -v], [eta * a, -eta * (m + eye)]],
        "GTD2(λ)": lambda a, v, m, h: [[zero, m - v], [eta * a, -eta * m]],
        "Proximal GTD2(λ)": lambda a, v, m, h: [[zero, m - v], [eta * a, -eta * m]],
        "HTD(λ)": lambda a, v, m, h: [[a, -(a - h).T], [eta * a, eta * h.T]],
    }
    for name, made in blocks.items():
        given = means(task, METHODS[name], 0.0)
        turned = [rows @ matrix @ rows.T for matrix in (given.A, given.V, task.M, given.A_mu)]
        np.testing.assert_allclose(
            joint_of(task, METHODS[name], given, eta), np.block(made(*turned)), atol=1e-14
        )


def test_only_the_errors_of_v_trace_are_clipped():
    mdp = FiniteMDP(np.ones((1, 2, 1)), np.zeros((1, 2)), 0.9)
    task = Task("half", mdp, [[0.5, 0.5]], [[0.75, 0.25]], [[1.0]])
    assert error_weights(task, METHODS["V-trace(λ)"]).tolist() == [1.0, 0.5]
    assert error_weights(task, METHODS["TD(λ)"]).tolist() == [1.5, 0.5]


# ---------------------------------------------------------------- limits


def test_prices_of_one_feature_by_hand():
    """A = a, Γ = g: N = mg/(2|a|) for TD, and m g/a² for LSTD; GTD2, TDC by Lyapunov's equation written out."""
    rng = np.random.default_rng(3)
    task = Task("line", continuing("states").mdp, continuing("states").mu, continuing("states").pi,
                rng.standard_normal((3, 1)))  # fmt: skip
    g = increment_covariance(task, METHODS["TD(λ)"], 0.5)[0, 0]
    a, m = means(task, METHODS["TD(λ)"], 0.5).A[0, 0], task.M[0, 0]
    assert a < 0.0
    found = limits(task, METHODS["TD(λ)"], 0.5)
    assert (found.abscissa, found.step) == pytest.approx((a, -2.0 / a))
    assert found.price == pytest.approx(m * g / (2.0 * a**2))
    assert limits(task, METHODS["LSTD(λ)"], 0.5).price == pytest.approx(m * g / a**2)
    for name, moves in (
        ("GTD2(λ)", 0.0),
        ("TDC(λ)", 1.0),
        ("Proximal GTD2(λ)", 0.0),
        ("TDRC(λ)", 1.0),
    ):
        eta, method = 0.7, METHODS[name]
        j = joint_of(task, method, means(task, method, 0.5), eta)
        system = np.kron(j, np.eye(2)) + np.kron(np.eye(2), j)
        noise = g * np.array([[moves * moves, moves * eta], [moves * eta, eta * eta]])
        sigma = np.linalg.solve(system, -noise.ravel()).reshape(2, 2)
        found = limits(task, method, 0.5, eta)
        rate = np.linalg.eigvals(j).real.max()
        assert found.abscissa == pytest.approx(rate)
        assert found.price == pytest.approx(m * sigma[0, 0] / -rate)
        assert found.error == pytest.approx(task.error(fixed_point(task, means(task, method, 0.5))))


@pytest.mark.parametrize("name", ["TD(λ)", "TDC(λ)", "GTD2(λ)", "Proximal GTD2(λ)", "ETD(λ)"])
def test_the_error_after_some_steps_is_that_of_the_steps(name):
    """Mean and covariance, one step after the other."""
    base, method, eta, lam = TASKS["episodic", "states"], METHODS[name], 0.4, 0.5
    task = Task(
        "begun",
        base.mdp,
        base.mu,
        base.pi,
        base.phi[::2],
        start=[0.25, 0.75, 0.0, 0.0],
        theta0=[3.0, -1.0],
    )
    given = means(task, method, lam)
    j, rows, point = joint_of(task, method, given, eta), task.basis, fixed_point(task, given)
    gamma = rows @ increment_covariance(task, method, lam) @ rows.T
    if method.has_ratio:
        top = 0.0 if "GTD2" in name else 1.0
        gamma = np.block([[top * gamma, top * eta * gamma], [top * eta * gamma, eta**2 * gamma]])
    alphas = [0.05, 0.3, 1e3]
    found = error_after(task, method, lam, alphas, 4, eta)
    for alpha, got in zip(alphas[:2], found, strict=False):
        once = np.eye(len(j)) + alpha * j + (alpha**2 * j @ j if "Proximal" in name else 0.0)
        place, spread = np.zeros(len(j)), np.zeros_like(j)
        place[:2] = rows @ (np.array([3.0, -1.0]) - point)
        for _ in range(16):
            place, spread = once @ place, once @ spread @ once.T + alpha**2 * gamma
        theta = point + rows.T @ place[:2]
        mean = sum(
            x * (phi @ theta - v) ** 2
            for x, phi, v in zip(task.xi, task.phi, task.truth, strict=True)
        )
        assert got == pytest.approx(
            mean + np.trace(rows @ task.M @ rows.T @ spread[:2, :2]), rel=1e-9
        )
    assert found[2] == np.inf
    start = error_after(task, method, lam, [0.0], 0, eta)
    assert start == pytest.approx(task.error([3.0, -1.0]) ** 2)


def test_largest_steps_by_hand():
    """|1 + αs| = 1 at α = −2 Re s/|s|², the least of all s; zero to rounding is not negative."""
    assert largest_step(np.diag([-1.0, -4.0])) == 0.5
    assert largest_step([[-1.0, 3.0], [-3.0, -1.0]]) == pytest.approx(0.2)  # s = −1 ± 3i
    assert largest_step(np.diag([-1.0, -1e-17])) == 0.0
    assert largest_step(np.diag([-1.0, 0.0]), extragradient=True) == 0.0
    for s in (-1.0 + 3.0j, -0.2 + 1.0j, -2.0 + 0.5j):
        spiral = np.array([[s.real, s.imag], [-s.imag, s.real]])
        step = largest_step(np.kron(np.diag([1.0, 0.1]), spiral), extragradient=True)
        assert abs(1.0 + step * s + (step * s) ** 2) == pytest.approx(1.0)
        inside = np.linspace(1e-3, 0.999, 50) * step
        assert (np.abs(1.0 + inside * s + (inside * s) ** 2) < 1.0).all()


@pytest.mark.parametrize("scale", [1e-5, 1.0, 1e5])
def test_windows_do_not_depend_on_the_units_of_the_features(scale):
    """The rare action of `gqlib.timescales`: stable up to one ratio and again from another; and one feature by hand."""
    swap = np.zeros((2, 2, 2))
    swap[0, :, 1] = swap[1, :, 0] = 1.0
    rows = np.array([[1.0, 0.0], [1.25, 1.5], [0.0, 0.2], [0.75, -0.25]])
    rare = Task("rare", FiniteMDP(swap, np.zeros((2, 2)), 0.99), [[0.99, 0.01]] * 2, [[0.0, 1.0]] * 2, scale * rows,
                on="pairs")  # fmt: skip
    low, high = ratio_windows(rare, METHODS["TDC(λ)"], 0.0)
    assert (low[0], high[1]) == (0.0, np.inf)
    assert (low[1], high[0]) == pytest.approx((0.05465534, 1.2752137), rel=1e-6)
    assert eta_star(rare, METHODS["TDC(λ)"], 0.0) == high[0]
    # w → 2w: a = 3γ − 5/2 and m = 5/2, so TDC asks for η > a/m, and no η helps where the ridge exceeds a.
    moves = np.zeros((2, 2, 2))
    moves[:, 0, 1] = moves[:, 1, 0] = 1.0
    double = Task("double", FiniteMDP(moves, np.zeros((2, 2)), 0.95), [[0.5, 0.5]] * 2, [[1.0, 0.0]] * 2,
                  [[scale], [2.0 * scale]])  # fmt: skip
    assert ratio_windows(double, METHODS["TDC(λ)"], 0.0) == [(pytest.approx(0.14), np.inf)]
    assert ratio_windows(double, METHODS["GTD2(λ)"], 0.0) == [(0.0, np.inf)]
    assert eta_star(double, METHODS["GTD2(λ)"], 0.0) == 0.0
    ridge = Method(update="tdrc", kappa=0.5 * scale**2)
    assert ratio_windows(double, ridge, 0.0) == []
    assert eta_star(double, ridge, 0.0) == np.inf
    less = Method(update="tdrc", kappa=0.25 * scale**2)
    assert ratio_windows(double, less, 0.0) == [(pytest.approx(0.35 / 2.75), np.inf)]


def test_limits_are_those_of_the_joint_matrix_and_nan_where_there_is_none():
    task = TASKS["continuing", "states"]
    for name, method in METHODS.items():
        if "states" not in method.on:
            continue
        lam = 0.0 if method.update == "direct" else 0.5
        given = means(task, method, lam)
        joint = joint_of(task, method, given, 0.7)
        found = limits(task, method, lam, 0.7, noise=False)
        assert found.abscissa == np.linalg.eigvals(joint).real.max(), name
        assert found.step == largest_step(joint, extragradient=name.startswith("Proximal")), name
        assert found.error == task.error(fixed_point(task, given)), name
        assert np.isnan(found.price), name
        plain = limits(task, method, lam)
        assert plain == limits(task, method, lam, 1.0)
        assert np.isfinite(plain.price) == (plain.step > 0.0), name
    assert (
        len(
            {limits(task, METHODS[name], 0.5, 0.7).step for name in ("GTD2(λ)", "Proximal GTD2(λ)")}
        )
        == 2
    )
    # States that swap, φ(s, 0) = e_s and φ(s, 1) = 2e_s, which π takes: A ∝ [[−5, 6γ], [6γ, −5]], singular at γ = 5/6.
    swap = np.zeros((2, 2, 2))
    swap[0, :, 1] = swap[1, :, 0] = 1.0
    flat = Task("flat", FiniteMDP(swap, np.ones((2, 2)), 5.0 / 6.0), [[0.5, 0.5]] * 2, [[0.0, 1.0]] * 2,
                np.kron(np.eye(2), [[1.0], [2.0]]), on="pairs")  # fmt: skip
    found = limits(flat, METHODS["TD(λ)"], 0.0)
    assert abs(found.abscissa) < 1e-15
    assert found.step == 0.0
    assert np.isnan([found.error, found.price]).all()


# ---------------------------------------------------------------- tasks


def test_a_task_on_states_and_on_pairs_by_hand():
    """Two states and an end: action 0 moves on, action 1 stays or ends; μ is even, π prefers to move on."""
    moves = np.zeros((3, 2, 3))
    moves[0, 0, 1] = moves[1, 0, 0] = moves[2, :, 2] = 1.0
    moves[0, 1, [0, 2]] = moves[1, 1, [1, 2]] = 0.5
    mdp = FiniteMDP(moves, [[1.0, 2.0], [3.0, 4.0], [9.0, 9.0]], 0.5, terminal=[2])
    mu, pi = [[0.5, 0.5]] * 3, [[0.75, 0.25]] * 3
    states = Task(
        "by hand", mdp, mu, pi, [[1.0, 0.0], [2.0, 1.0], [0.0, 0.0]], start=[0.5, 0.25, 0.25]
    )
    assert (states.name, states.on, states.n, states.d, states.gamma) == (
        "by hand",
        "states",
        6,
        2,
        0.5,
    )
    assert states.phi.tolist() == [[1, 0], [1, 0], [2, 1], [2, 1], [0, 0], [0, 0]]
    assert states.u.tolist() == states.phi.tolist()
    assert states.rewards.tolist() == [1.0, 2.0, 3.0, 4.0, 0.0, 0.0]
    np.testing.assert_allclose(states.rho, [1.5, 0.5] * 3)
    np.testing.assert_allclose(states.start, np.array([2.0, 2.0, 1.0, 1.0, 0.0, 0.0]) / 6.0)
    assert states.theta0.tolist() == [0.0, 0.0]
    # v_s = Σ_a π(a)(r + ½ Σ P v): v_0 = 1.25 + ⅜v_1 + ¹⁄₁₆v_0, v_1 = 3.25 + ⅜v_0 + ¹⁄₁₆v_1
    v = np.linalg.solve([[15.0 / 16.0, -0.375], [-0.375, 15.0 / 16.0]], [1.25, 3.25])
    np.testing.assert_allclose(states.truth, [v[0], v[0], v[1], v[1], 0.0, 0.0], atol=1e-15)
    off = states.phi @ [1.0, 2.0] - states.truth
    assert states.error([1.0, 2.0]) == pytest.approx(np.sqrt((states.xi * off**2).sum()))

    rows = np.array([[1.0], [2.0], [3.0], [4.0], [0.0], [0.0]])
    pairs = Task("pairs", mdp, mu, pi, rows, on="pairs", start=[1.0, 0.0, 0.0], theta0=[7.0])
    assert pairs.phi.tolist() == rows.tolist()
    assert pairs.u.ravel().tolist() == [1.25, 1.25, 3.25, 3.25, 0.0, 0.0]
    q = [1.0 + 0.5 * v[1], 2.0 + 0.25 * v[0], 3.0 + 0.5 * v[0], 4.0 + 0.25 * v[1], 0.0, 0.0]
    np.testing.assert_allclose(pairs.truth, q, atol=1e-15)
    assert pairs.theta0.tolist() == [7.0]
    assert pairs.start.tolist() == [0.5, 0.5, 0.0, 0.0, 0.0, 0.0]
    for fixed in (
        pairs.theta0,
        pairs.start,
        pairs.truth,
        pairs.rho,
        pairs.rewards,
        pairs.u,
        states.theta0,
    ):
        assert not fixed.flags.writeable


def test_the_task_of_a_domain_stacks_features_by_action():
    walk = five_state_walk("dependent")
    states, pairs = Task.of(walk), Task.of(walk, on="pairs")
    assert (states.name, pairs.on, states.d, pairs.d) == (walk.name, "pairs", 3, 6)
    for pair, (row, alone) in enumerate(zip(pairs.phi, states.phi, strict=True)):
        action = pair % 2
        np.testing.assert_array_equal(row[3 * action : 3 * action + 3], alone)
        assert not row[3 * (1 - action) : 3 * (1 - action) + 3].any()
    np.testing.assert_array_equal(pairs.theta0, np.tile(states.theta0, 2))
    np.testing.assert_allclose(
        states.mu * states.rho.reshape(states.mu.shape), states.pi, atol=1e-15
    )


def test_walks_follow_their_numbers_by_hand():
    """Of the pairs 0 and 1 of one state: 1 ends, 0 goes to either with probability one half."""
    moves = np.zeros((2, 2, 2))
    moves[0, 0, 0] = moves[0, 1, 1] = moves[1, :, 1] = 1.0
    task = Task("short", FiniteMDP(moves, np.zeros((2, 2)), 1.0, terminal=[1]), [[0.5, 0.5]] * 2, [[0.5, 0.5]] * 2,
                [[1.0], [0.0]], start=[1.0, 0.0])  # fmt: skip
    draws = np.zeros((5, 2, 2))
    draws[0, 0], draws[1, 0], draws[2, 0] = [0.0, 0.5], [0.25, 0.25], [0.5, 0.75]
    draws[:, 1] = [
        [0.25, 0.75],
        [0.25, 0.25],
        [0.75, 0.75],
        [0.5, 0.25],
        [0.25, 0.75],
    ]  # which pair after an end
    walks = task.follow(draws)
    assert walks.index[:, 0].tolist() == [0, 0, 1, 1, 0]
    assert walks.index[:, 1].tolist() == [1, 0, 1, 0, 0]
    assert walks.ends.T.tolist() == [[False, False, True, True], [True, False, True, False]]
    assert walks.ends.dtype == bool
    same = task.walks(2, 4, np.random.default_rng(5))
    again = task.follow(np.random.default_rng(5).random((5, 2, 2)))
    assert (same.index == again.index).all()
    assert (same.ends == again.ends).all()
