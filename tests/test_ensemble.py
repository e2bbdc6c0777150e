"""Many runs at once against loops over runs, steps and entries, on small chains with numbers at random."""

import re

import numpy as np
import pytest

from gqlib import PredictionProblem
from gqlib.domains import two_state
from gqlib.domains.base import Trajectory
from gqlib.learners.corrected import VariantTables
from gqlib.learners.ensemble import gq_ensemble, pair_walks, semi_gradient_ensemble, trajectories

LAM, GAMMA, ALPHA, BETA = 0.7, 0.8, 0.05, 0.2
CHAIN = np.array([[0.1, 0.6, 0.3], [0.5, 0.2, 0.3], [0.75, 0.25, 0.0]])


def path(seed, steps=7, d=2):
    rng = np.random.default_rng(seed)
    phi, after, mean = rng.standard_normal((3, steps, d))
    return Trajectory(
        phi, rng.standard_normal(steps), after, mean, np.arange(steps) % 3 == seed % 3
    )


def semi_gradient(one, theta, sigma, bound=1e8):
    """θ before the first step and after each, entry by entry; stands still once beyond the bound."""
    theta, trace, rows, out = list(theta), [0.0] * len(theta), [list(theta)], False
    for k in range(len(one.reward)):
        trace = [GAMMA * LAM * e + x for e, x in zip(trace, one.phi[k], strict=True)]
        now, sampled, mean = (
            sum(a * b for a, b in zip(theta, x, strict=True))
            for x in (one.phi[k], one.phi_next[k], one.phi_next_expected[k])
        )
        delta = one.reward[k] + GAMMA * (sigma * sampled + (1 - sigma) * mean) - now
        if not out:
            theta = [a + ALPHA * delta * e for a, e in zip(theta, trace, strict=True)]
        out = out or max(map(abs, theta)) > bound
        if one.ends[k]:
            trace = [0.0] * len(theta)
        rows.append(theta)
    return rows, out


def test_every_run_and_sigma_is_the_loop():
    paths, first, sigmas = [path(seed) for seed in range(3)], [1.0, -2.0], [0.0, 0.4, 1.0, 1.3]
    given = {"lam": LAM, "gamma": GAMMA, "alpha": ALPHA}
    found = semi_gradient_ensemble(paths, first, sigmas, **given)
    assert found.steps.tolist() == list(range(8))
    assert found.theta.shape == (8, 4, 3, 2)
    for i, sigma in enumerate(sigmas):
        for run, one in enumerate(paths):
            np.testing.assert_allclose(
                found.theta[:, i, run], semi_gradient(one, first, sigma)[0], rtol=1e-12
            )
    assert not found.diverged.any()
    thirds = semi_gradient_ensemble(paths, first, sigmas, every=3, **given)
    assert thirds.steps.tolist() == [0, 3, 6]
    np.testing.assert_array_equal(thirds.theta, found.theta[::3])
    for every in (8, 10**30):  # beyond the last step, as far as one likes
        seldom = semi_gradient_ensemble(paths, first, sigmas, every=every, **given)
        assert (seldom.steps.tolist(), len(seldom.theta)) == ([0], 1)


def test_a_run_beyond_the_bound_stands_still_and_the_others_go_on():
    paths, first, sigmas = [path(seed) for seed in range(4)], [1.0, -2.0], [0.0, 1.0]
    bound = 2.02
    found = semi_gradient_ensemble(
        paths, first, sigmas, lam=LAM, gamma=GAMMA, alpha=ALPHA, bound=bound
    )
    for i, sigma in enumerate(sigmas):
        for run, one in enumerate(paths):
            rows, out = semi_gradient(one, first, sigma, bound)
            np.testing.assert_allclose(found.theta[:, i, run], rows, rtol=1e-12)
            assert found.diverged[i, run] == out
    assert 0 < found.diverged.sum() < 8


@pytest.mark.parametrize(("size", "diverged"), [(0.9e8, False), (1.1e8, True)])
def test_a_weight_of_a_hundred_million_has_diverged_where_nothing_is_said(size, diverged):
    one = Trajectory(
        np.ones((2, 1)), np.zeros(2), np.ones((2, 1)), np.ones((2, 1)), np.zeros(2, dtype=bool)
    )
    found = semi_gradient_ensemble([one], [size], [0.5], lam=0.0, gamma=1.0, alpha=0.1)
    assert found.diverged.tolist() == [[diverged]]
    p = PredictionProblem([[1.0]], [[1.0]], [[1.0]], [0.0], [1.0], 1.0)
    tables = VariantTables(np.ones((1, 1)), np.ones((1, 1)), np.ones(1))
    _, out = gq_ensemble(
        p, tables, np.zeros((1, 3), dtype=int), [size], lam=0.0, alpha=0.1, beta=0.1
    )
    assert out.tolist() == [diverged]


def problem(mass=1.0):
    rng = np.random.default_rng(4)
    law = np.linalg.matrix_power(CHAIN, 200)[0]
    return PredictionProblem(
        rng.standard_normal((3, 2)), CHAIN, CHAIN, [1.0, -2.0, 0.5], mass * law, GAMMA
    )


def tables():
    rng = np.random.default_rng(5)
    return VariantTables(
        rng.standard_normal((3, 2)), rng.standard_normal((3, 2)), np.array([0.5, 1.5, 0.25])
    )


def test_any_variant_of_gq_is_the_loop():
    p, t = problem(), tables()
    walks = pair_walks(p, 3, 9, np.random.default_rng(6))
    free, _ = gq_ensemble(p, t, walks, [1.0, -1.0], lam=LAM, alpha=ALPHA, beta=BETA)
    middle = float(
        np.sort(np.abs(free).max(axis=(0, 2)))[1]
    )  # which the second run reaches, and the third exceeds
    for bound in (1e300, middle):
        found, out = gq_ensemble(
            p, t, walks, [1.0, -1.0], lam=LAM, alpha=ALPHA, beta=BETA, bound=bound
        )
        thirds, _ = gq_ensemble(
            p, t, walks, [1.0, -1.0], lam=LAM, alpha=ALPHA, beta=BETA, bound=bound, every=3
        )
        np.testing.assert_array_equal(thirds, found[::3])
        for run, walk in enumerate(walks):
            theta, omega, e, beyond = np.array([1.0, -1.0]), np.zeros(2), np.zeros(2), False
            for k in range(9):
                i, j = walk[k], walk[k + 1]
                phi, u, w = p.features[i], t.u[j], t.w[j]
                e = GAMMA * LAM * t.c[i] * e + phi
                delta = p.rewards[i] + GAMMA * u @ theta - phi @ theta
                if not beyond:
                    theta, omega = (
                        theta + ALPHA * (delta * e - GAMMA * (e @ omega) * (u - LAM * w)),
                        omega + BETA * (delta * e - (phi @ omega) * phi),
                    )
                beyond = beyond or np.abs(theta).max() > bound
                np.testing.assert_allclose(found[k + 1, run], theta, rtol=1e-11)
            assert out[run] == beyond
        assert found[0].tolist() == [[1.0, -1.0]] * 3
        assert out.sum() == (bound == middle)


@pytest.mark.parametrize("mass", [1.0, 7.0])
def test_walks_are_what_their_numbers_say(mass):
    p = problem(mass)
    walks = pair_walks(p, 50, 20, np.random.default_rng(7))
    draws = np.random.default_rng(7).random((21, 50))
    law = p.xi / p.xi.sum()
    for run in range(50):
        here = next(i for i in range(3) if draws[0, run] < law[: i + 1].sum())
        assert walks[run, 0] == here
        for k in range(20):
            here = next(
                i for i in range(3) if draws[k + 1, run] < CHAIN[here, : i + 1].sum() or i == 2
            )
            assert walks[run, k + 1] == here
    assert walks.dtype == np.intp
    assert set(walks.ravel()) == {0, 1, 2}


class Scripted(np.random.Generator):
    """A generator that gives the numbers it was made with."""

    def random(self, size):
        assert size == (4, 1)
        return np.array([0.0, 0.5, 0.25, 0.0])[:, None]


def test_a_number_on_a_border_belongs_to_what_comes_next_and_no_more_are_drawn():
    p = PredictionProblem(
        [[1.0]] * 2, [[0.5, 0.5], [0.25, 0.75]], [[0.5, 0.5]] * 2, [0.0] * 2, [1 / 3, 2 / 3], 0.5
    )
    assert pair_walks(p, 1, 3, Scripted(np.random.PCG64(0))).tolist() == [[0, 1, 1, 0]]
    used, fresh = np.random.default_rng(9), np.random.default_rng(9)
    pair_walks(p, 5, 3, used)
    fresh.random((4, 5))
    assert used.random() == fresh.random()


def test_trajectories_are_drawn_one_after_the_other():
    domain, rng = two_state(0.9), np.random.default_rng(8)
    for found in trajectories(domain, 3, 5, np.random.default_rng(8)):
        wanted = domain.trajectory(5, rng)
        for name in ("phi", "reward", "phi_next", "phi_next_expected", "ends"):
            np.testing.assert_array_equal(getattr(found, name), getattr(wanted, name))


SEMI = {
    "paths": [path(0)],
    "theta0": [1.0, 2.0],
    "sigmas": [0.5],
    "lam": 0.5,
    "gamma": 0.9,
    "alpha": 0.1,
}
GQ = {
    "problem": problem(),
    "tables": tables(),
    "pairs": [[0, 1, 2]],
    "theta0": [1.0, 2.0],
    "lam": 0.5,
    "alpha": 0.1,
}
GQ |= {"beta": 0.1}
WALKS = {"problem": problem(), "runs": 2, "steps": 3, "rng": np.random.default_rng(0)}
DRAWN = {"domain": two_state(0.9), "runs": 2, "steps": 3, "rng": np.random.default_rng(0)}
ENDS = PredictionProblem([[1.0]], [[0.5]], [[0.5]], [0.0], [1.0], 0.9)
RATES = [
    ({"lam": 1.5}, r"^lam is 1\.5; it should be in \[0, 1\]$"),
    ({"lam": -0.5}, r"^lam is -0\.5; it should be in \[0, 1\]$"),
    ({"alpha": -0.5}, r"^alpha is -0\.5; it should be in \[0, inf\)$"),
    ({"bound": 0.0}, r"^bound is 0\.0; it should be in \(0, inf"),
    ({"every": 0}, r"^every is 0; it should be at least 1$"),
    ({"theta0": [1.0]}, r"^theta0 has shape \(1,\); it should have shape \(2,\)$"),
]
REFUSED = [
    *((semi_gradient_ensemble, SEMI, change, message) for change, message in RATES),
    (semi_gradient_ensemble, SEMI, {"gamma": 1.5}, r"^gamma is 1\.5; it should be in \[0, 1\]$"),
    (semi_gradient_ensemble, SEMI, {"gamma": -0.5}, r"^gamma is -0\.5; it should be in \[0, 1\]$"),
    (semi_gradient_ensemble, SEMI, {"sigmas": 0.5}, r"^sigmas has shape \(\); it should have shape \(any,\)$"),
    (semi_gradient_ensemble, SEMI, {"paths": 3}, r"^paths is 3; it should be a sequence of Trajectory$"),
    (semi_gradient_ensemble, SEMI, {"paths": [3]}, r"^paths is \[3\]; it should be a sequence of Trajectory$"),
    (semi_gradient_ensemble, SEMI, {"paths": []}, r"^paths have lengths \[\]; they should all have one length$"),
    (
        semi_gradient_ensemble, SEMI, {"paths": [path(0), path(0, 4)]},
        r"^paths have lengths \[4, 7\]; they should all have one length$",
    ),
    *((gq_ensemble, GQ, change, message) for change, message in RATES),
    (gq_ensemble, GQ, {"beta": -0.5}, r"^beta is -0\.5; it should be in \[0, inf\)$"),
    (gq_ensemble, GQ, {"problem": None}, r"^problem is None; it should be a PredictionProblem$"),
    (gq_ensemble, GQ, {"tables": None}, r"^tables is None; it should be a VariantTables$"),
    (gq_ensemble, GQ, {"pairs": [0, 1]}, r"^pairs has shape \(2,\); it should have shape \(any, any\)$"),
    *(
        (gq_ensemble, GQ, {"pairs": [[0, bad]]},
         rf"^pairs is {re.escape(str([[0, bad]]))}; it should hold whole numbers in \[0, 3\)$")
        for bad in (-1, 3, 0.5)
    ),
    *(
        (gq_ensemble, GQ, {"tables": VariantTables(np.ones(u), np.ones(w), np.ones(c))},
         rf"^tables has u of shape {re.escape(str(u))}; it should be \(3, 2\) for problem$")
        for u, w, c in (((3, 1), (3, 2), 3), ((3, 2), (2, 2), 3), ((3, 2), (3, 2), 2))
    ),
    (pair_walks, WALKS, {"problem": None}, r"^problem is None; it should be a PredictionProblem$"),
    (
        pair_walks, WALKS, {"problem": ENDS},
        r"^problem has rows of p_mu that sum to less than 1; the chain should be a continuing one$",
    ),
    (trajectories, DRAWN, {"domain": None}, r"^domain is None; it should be a Domain$"),
    *(
        (call, good, change, message)
        for call, good in ((pair_walks, WALKS), (trajectories, DRAWN))
        for change, message in (
            ({"runs": 0}, r"^runs is 0; it should be at least 1$"),
            ({"steps": 0}, r"^steps is 0; it should be at least 1$"),
            ({"rng": 3}, r"^rng is 3; it should be a "),
        )
    ),
]  # fmt: skip


@pytest.mark.parametrize(("call", "good", "change", "message"), REFUSED)
def test_bad_input_is_refused_by_name(call, good, change, message):
    with pytest.raises(ValueError, match=message):
        call(**(good | change))
