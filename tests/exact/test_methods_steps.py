"""Steps and runs of every method against one that is written with matrices, A_k, V_k and M_k of a step."""

import numpy as np
import pytest

from gqlib.mdp import FiniteMDP
from gqlib.methods import METHODS, Method, Task
from gqlib.methods.catalogue import coefficients
from gqlib.methods.mean import error_weights, next_features
from gqlib.methods.steps import Seen, Weights, gap, method_step, run_method
from gqlib.methods.task import Walks
from gqlib.rules import LARGEST_WEIGHT

LAM, ETA, ALPHAS = 0.6, 0.3, (0.05, 0.2)
STEPS, RUNS = 30, 3


def task(on, seed=0, idle=0):
    """Three states and an end, two actions, two features and so many that are always zero."""
    rng = np.random.default_rng(1)
    moves = np.zeros((4, 2, 4))
    moves[:3], moves[3, :, 3] = rng.dirichlet(np.ones(4), size=(3, 2)), 1.0
    features = np.random.default_rng(seed).standard_normal((4 if on == "states" else 8, 2))
    features[3 if on == "states" else 6 :] = 0.0
    mdp = FiniteMDP(moves, rng.standard_normal((4, 2)), 0.8, terminal=[3])
    mu, pi = np.tile([0.6, 0.4], (4, 1)), np.tile([0.3, 0.7], (4, 1))
    features, theta0 = np.pad(features, ((0, 0), (0, idle))), [1.0, -2.0, *[5.0] * idle]
    return Task("small", mdp, mu, pi, features, on=on, start=[0.5, 0.25, 0.25, 0.0], theta0=theta0)


TASKS = {on: task(on) for on in ("states", "pairs")}
CASES = [(name, on) for name, method in METHODS.items() for on in method.on]


def lam_of(method):
    return 0.0 if method.update == "direct" else LAM


def seen_along(the_task, method, walks, run):
    """(whether an episode begins, the fields of `Seen`) of one run, step by step."""
    c, _ = coefficients(the_task, method, lam_of(method))
    w, u, states = (
        error_weights(the_task, method),
        next_features(the_task, method),
        the_task.on == "states",
    )
    index, ends = walks.index[:, run], walks.ends[:, run]
    for k in range(len(ends)):
        i, j = index[k], index[k + 1]
        begins = k == 0 or bool(ends[k - 1])
        last = index[max(k - 1, 0)] if states else i
        goes = 0.0 if ends[k] else 1.0
        yield {
            "phi": the_task.phi[i], "reward": the_task.rewards[i], "u": goes * u[j], "after": goes * the_task.phi[j],
            "w": w[i], "c": c[last], "rho": the_task.rho[last], "onward": c[i] if states else c[j],
            "goes_on": 0.0 if begins else 1.0,
        }  # fmt: skip


def by_matrices(the_task, method, walks, run, alpha):
    """θ before the first step and after each."""
    gamma, reach = the_task.gamma, 1.0 if method.trace == "abtd" else lam_of(method)
    beta = gamma if method.beta is None else method.beta
    theta, omega = the_task.theta0.copy(), np.zeros(2)
    e, own, follow, a_sum, b_sum = np.zeros(2), np.zeros(2), 0.0, np.zeros((2, 2)), np.zeros(2)
    rows, steps = [theta], list(seen_along(the_task, method, walks, run))
    for k, s in enumerate(steps):
        follow = 1.0 + s["goes_on"] * beta * s["rho"] * follow
        m = reach + (1.0 - reach) * follow if method.emphasis else 1.0
        e = s["goes_on"] * gamma * reach * s["c"] * e + m * s["phi"]
        own = s["goes_on"] * gamma * reach * own + s["phi"]
        a = np.outer(e, s["w"] * (gamma * s["u"] - s["phi"]))
        b = s["w"] * s["reward"] * e
        v = gamma * np.outer(s["w"] * s["u"] - reach * s["onward"] * s["after"], e)
        a_mu = np.outer(own, gamma * s["after"] - s["phi"])
        gram = np.outer(s["phi"], s["phi"])
        if method.update == "least squares":
            a_sum, b_sum = a_sum + a, b_sum + b
            theta = -np.linalg.pinv(a_sum, rcond=1e-10) @ b_sum
        elif method.update == "semi-gradient":
            theta = theta + alpha * (a @ theta + b)
        elif method.update == "direct":
            then = steps[k - gap(k)]
            error = then["w"] * (then["reward"] + (gamma * then["u"] - then["phi"]) @ theta)
            theta = theta - alpha * np.outer(s["phi"], s["w"] * (gamma * s["u"] - s["phi"])).T @ (
                error * then["phi"]
            )
        elif method.update == "htd":
            theta, omega = (
                theta + alpha * (a @ theta + b - (a - a_mu).T @ omega),
                omega + ETA * alpha * (a @ theta + b + a_mu.T @ omega),
            )
        elif method.update in ("tdc", "tdrc"):
            theta, omega = (
                theta + alpha * (a @ theta + b - v @ omega),
                omega + ETA * alpha * (a @ theta + b - (gram + method.kappa * np.eye(2)) @ omega),
            )
        else:
            place = theta, omega
            for _ in range(2 if method.update == "proximal" else 1):
                place = (
                    theta + alpha * (gram - v) @ place[1],
                    omega + ETA * alpha * (a @ place[0] + b - gram @ place[1]),
                )
            theta, omega = place
        rows.append(theta)
    return np.array(rows)


@pytest.mark.parametrize(("name", "on"), CASES)
def test_runs_are_those_by_matrices(name, on):
    the_task, method = TASKS[on], METHODS[name]
    walks = the_task.walks(RUNS, STEPS, np.random.default_rng(2))
    assert walks.ends.sum() > 5
    given = {"lam": lam_of(method), "alphas": ALPHAS, "eta": ETA}
    found = run_method(the_task, method, walks, **given)
    assert found.theta.shape == (STEPS + 1, 2, RUNS, 2)
    for i, alpha in enumerate(ALPHAS):
        for run in range(RUNS):
            wanted = by_matrices(the_task, method, walks, run, alpha)
            np.testing.assert_allclose(found.theta[:, i, run], wanted, rtol=1e-8, atol=1e-10)
    assert found.diverged.tolist() == [[False] * RUNS] * 2
    some = run_method(the_task, method, walks, every=7, **given)
    np.testing.assert_array_equal(some.theta, found.theta[::7])
    whole = run_method([the_task] * RUNS, method, walks, every=STEPS, **given)
    np.testing.assert_array_equal(whole.theta, found.theta[[0, -1]])


@pytest.mark.parametrize(
    ("name", "on"), [case for case in CASES if METHODS[case[0]].update != "least squares"]
)
def test_steps_are_those_by_matrices(name, on):
    the_task, method = TASKS[on], METHODS[name]
    walks = the_task.walks(1, 12, np.random.default_rng(3))
    wanted = by_matrices(the_task, method, walks, 0, 0.2)
    weights = Weights.first(the_task.theta0)
    seen = [Seen(**fields) for fields in seen_along(the_task, method, walks, 0)]
    reach = 1.0 if method.trace == "abtd" else lam_of(method)
    for k, step in enumerate(seen):
        earlier = seen[k - gap(k)] if method.update == "direct" else None
        weights = method_step(
            method, step, weights, lam=reach, gamma=0.8, alpha=0.2, eta=ETA, earlier=earlier
        )
        np.testing.assert_allclose(weights.theta, wanted[k + 1], rtol=1e-9, atol=1e-12)


def test_without_more_said_the_ratio_is_one_and_the_earlier_step_is_this_one():
    fields = {
        "phi": [1.0, 2.0],
        "reward": 0.5,
        "u": [0.0, 1.0],
        "after": [3.0, 0.0],
        "w": 2.0,
        "c": 1.0,
    }
    seen, old = Seen(**fields, rho=1.0, onward=0.5), Weights.first([1.0, -1.0])
    rates = {"lam": 0.5, "gamma": 0.5, "alpha": 0.1}
    for name in ("TDC(λ)", "HTD(λ)", "GTD2(λ)"):
        given = method_step(METHODS[name], seen, old, eta=1.0, **rates)
        np.testing.assert_array_equal(
            method_step(METHODS[name], seen, old, **rates).omega, given.omega
        )
        assert given.omega.any()
    # δ = ½ − ½ + 1 = 1, and Âᵀg = −w²(φ − γu)δ‖φ‖² with w² = 4 and ‖φ‖² = 5.
    done = method_step(METHODS["AᵀTD"], seen, old, **rates).theta
    np.testing.assert_allclose(done, [1.0 + 0.1 * 4.0 * 5.0 * 1.0, -1.0 + 0.1 * 4.0 * 5.0 * 1.5])


def test_first_weights_are_theta_and_zeros():
    theta = np.arange(6.0).reshape(2, 3)
    first = Weights.first(theta)
    assert not np.shares_memory(first.theta, theta)
    np.testing.assert_array_equal(first.theta, theta)
    for zeros, shape in zip(
        (first.omega, first.trace, first.own, first.follow), [(2, 3)] * 3 + [(2, 1)], strict=True
    ):
        np.testing.assert_array_equal(zeros, np.zeros(shape), strict=True)


def test_a_run_beyond_the_largest_weight_stays_at_the_step_before():
    """One state, φ = 1, r = 0, γ = 0: θ ← (1 − α)θ, so it doubles in size at α = 3 and halves at α = ½."""
    one = Task(
        "one",
        FiniteMDP([[[1.0]]], [[0.0]], 0.0),
        [[1.0]],
        [[1.0]],
        [[1.0]],
        theta0=[LARGEST_WEIGHT / 8.0],
    )
    walks = Walks(np.zeros((6, 2), dtype=np.intp), np.zeros((5, 2), dtype=bool))
    found = run_method(one, METHODS["TD(λ)"], walks, lam=0.0, alphas=[3.0, 0.5])
    sizes = found.theta[:, :, 0, 0] / LARGEST_WEIGHT
    np.testing.assert_allclose(
        sizes[:, 0], [0.125, -0.25, 0.5, -1.0, -1.0, -1.0]
    )  # at the bound is not beyond it
    np.testing.assert_allclose(sizes[:, 1], 0.125 * 0.5 ** np.arange(6))
    assert found.diverged.tolist() == [[True, True], [False, False]]


def test_the_gap_grows_with_the_square_of_the_logarithm():
    assert [gap(k) for k in (0, 1, 2, 3, 10, 100, 10_000)] == [0, 0, 1, 1, 5, 21, 84]


TD = METHODS["TD(λ)"]
FIELDS = {
    "phi": [1.0],
    "reward": 0.0,
    "u": [1.0],
    "after": [1.0],
    "w": 1.0,
    "c": 1.0,
    "rho": 1.0,
    "onward": 1.0,
}


def test_what_overflows_is_named():
    big = Seen(**(FIELDS | {"phi": [1e200], "reward": 1e200}))
    with (
        np.errstate(all="ignore"),
        pytest.raises(ValueError, match=r"^theta overflows in this step"),
    ):
        method_step(TD, big, Weights.first([0.0]), lam=0.5, gamma=0.9, alpha=1.0)
    faster = {"lam": 0.5, "gamma": 0.9, "alpha": 1.0, "eta": 1e50}
    with (
        np.errstate(all="ignore"),
        pytest.raises(ValueError, match=r"^omega overflows in this step"),
    ):
        method_step(
            METHODS["TDRC(λ)"], Seen(**(FIELDS | {"reward": 1e280})), Weights.first([0.0]), **faster
        )
    old = Weights(*(np.array([x]) for x in (0.0, 0.0, 1e308, 0.0, 0.0)))
    with (
        np.errstate(all="ignore"),
        pytest.raises(ValueError, match=r"^trace overflows in this step"),
    ):
        method_step(
            Method(update="direct"),
            Seen(**(FIELDS | {"c": 1e3})),
            old,
            lam=0.5,
            gamma=0.9,
            alpha=0.1,
        )
