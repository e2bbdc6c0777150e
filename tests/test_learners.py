"""The reference updates, against recorded traces of independent programs and against the equations written out."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from gqlib.domains import two_state
from gqlib.domains.base import Trajectory
from gqlib.learners import gq_step, gq_step_lagged, gq_steps, semi_gradient_step
from gqlib.learners.ensemble import semi_gradient_ensemble, trajectories
from gqlib.learners.sigma import Schedule

ORACLE = json.loads((Path(__file__).parent / "oracles" / "gq_traces.json").read_text())["gq_traces"]
PHI = {
    (1, "right"): [1.0, 0.0],
    (2, "right"): [2.0, 0.0],
    (1, "left"): [0.0, 1.0],
    (2, "left"): [0.0, 2.0],
}


def steps_of(record):
    """(k, θ, ω, e, δ) after every step of a recorded trajectory, by our updates."""
    setting = {
        "sigma": record["sigma"],
        "lam": record["lambda"],
        "gamma": record["gamma"],
        "alpha": record["alpha"],
    }
    theta, omega, trace, v = np.array([2.0, 0.0]), np.zeros(2), np.zeros(2), np.zeros((2, 2))
    for k, step in enumerate(ORACLE["trajectory"], start=1):
        seen = (
            PHI[step["s"], step["a"]],
            step["r"],
            PHI[step["s_next"], step["a_next"]],
            PHI[step["s_next"], "right"],
        )
        if record["mode"] == "semi":
            theta, trace, delta = semi_gradient_step(theta, trace, *seen, **setting)
        elif record["mode"] == "equation":
            theta, omega, trace, delta = gq_step(
                theta, omega, trace, *seen, beta=record["beta"], **setting
            )
        else:
            theta, omega, trace, v, delta = gq_step_lagged(
                theta, omega, trace, v, *seen, beta=record["beta"], **setting
            )
        yield k, {"theta": theta, "omega": omega, "e": trace, "delta": delta}


@pytest.mark.parametrize(
    "record", ORACLE["records"], ids=lambda r: f"{r['mode']}-{r['sigma']}-{r['lambda']}"
)
def test_recorded_traces_are_met_to_twelve_digits(record):
    expected = {step["k"]: step for step in record["steps"]}
    compared = 0
    for k, ours in steps_of(record):
        if k in expected:
            for name in set(expected[k]) - {"k"}:
                np.testing.assert_allclose(
                    ours[name], expected[k][name], rtol=1e-12, atol=1e-12, err_msg=f"{name} {k}"
                )
                compared += 1
    assert compared >= 3 * len(expected)


def test_modes_of_algorithm_1_differ_from_the_first_corrected_step_on():
    pairs = {r["mode"]: r for r in ORACLE["records"] if (r["sigma"], r["lambda"]) == (0.25, 0.5)}
    last = {mode: list(steps_of(record))[-1][1]["theta"] for mode, record in pairs.items()}
    assert np.abs(last["equation"] - last["algorithm1_literal_lagged_v"]).max() > 1e-4
    assert np.abs(last["equation"] - last["semi"]).max() > 1e-4


SETTING = {"lam": 0.7, "gamma": 0.9, "alpha": 0.1}


def random_step(seed):
    rng = np.random.default_rng(seed)
    theta, omega, trace, phi, sampled, expected = rng.standard_normal((6, 5))
    return theta, omega, trace, phi, rng.standard_normal(), sampled, expected


def test_a_gq_step_is_equations_25_and_26_with_the_matrix_v():
    theta, omega, trace, phi, reward, sampled, expected = random_step(1)
    sigma, lam, gamma, alpha, beta = 0.3, 0.7, 0.9, 0.1, 0.05
    e = gamma * lam * trace + phi
    delta = reward + gamma * (sigma * sampled + (1 - sigma) * expected) @ theta - phi @ theta
    v = np.outer((1 - sigma) * (expected - lam * sampled) + sigma * (1 - lam) * sampled, e)
    got = gq_step(
        theta, omega, trace, phi, reward, sampled, expected, sigma=sigma, beta=beta, **SETTING
    )
    np.testing.assert_allclose(got[0], theta + alpha * (delta * e - gamma * v @ omega), rtol=1e-12)
    np.testing.assert_allclose(
        got[1], omega + beta * (delta * e - np.outer(phi, phi) @ omega), rtol=1e-12
    )
    np.testing.assert_allclose(got[2], e, rtol=1e-15)
    assert got[3] == pytest.approx(delta, rel=1e-13)


def test_without_a_correction_gq_is_the_semi_gradient_step():
    theta, _, trace, phi, reward, sampled, expected = random_step(2)
    with_omega = gq_step(
        theta, np.zeros(5), trace, phi, reward, sampled, expected, sigma=0.4, beta=0.0, **SETTING
    )
    without = semi_gradient_step(theta, trace, phi, reward, sampled, expected, sigma=0.4, **SETTING)
    np.testing.assert_array_equal(with_omega[0], without[0])


def test_sigma_drops_out_to_the_bit_where_sample_and_expectation_agree():
    theta, _, trace, phi, reward, sampled, _ = random_step(3)
    results = [
        semi_gradient_step(theta, trace, phi, reward, sampled, sampled, sigma=sigma, **SETTING)[0]
        for sigma in (0.0, 0.1, 1 / 3, 0.7, 1.0, 1.3)
    ]
    for other in results[1:]:
        np.testing.assert_array_equal(results[0], other)


def test_steps_do_not_touch_their_arguments():
    theta, omega, trace, phi, reward, sampled, expected = random_step(4)
    before = [x.copy() for x in (theta, omega, trace, phi, sampled, expected)]
    gq_step(theta, omega, trace, phi, reward, sampled, expected, sigma=0.5, beta=0.1, **SETTING)
    for array, copy in zip((theta, omega, trace, phi, sampled, expected), before, strict=True):
        np.testing.assert_array_equal(array, copy)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"lam": 1.5}, "lam is 1.5"),
        ({"gamma": -0.1}, "gamma is -0.1"),
        ({"alpha": -1.0}, "alpha is -1.0"),
        ({"sigma": float("inf")}, "sigma is inf"),
        ({"beta": float("nan")}, "beta is nan"),
    ],
)
def test_bad_settings_are_named(change, message):
    theta, omega, trace, phi, reward, sampled, expected = random_step(5)
    with pytest.raises(ValueError, match=message):
        gq_step(
            theta,
            omega,
            trace,
            phi,
            reward,
            sampled,
            expected,
            **({"sigma": 0.5, "beta": 0.1} | SETTING | change),
        )


def test_bad_vectors_are_named():
    theta, omega, trace, phi, reward, sampled, expected = random_step(6)
    with pytest.raises(ValueError, match=r"phi_next has shape \(4,\)"):
        semi_gradient_step(theta, trace, phi, reward, sampled[:4], expected, sigma=0.5, **SETTING)
    with pytest.raises(ValueError, match=r"v has shape \(5,\)"):
        gq_step_lagged(
            theta,
            omega,
            trace,
            theta,
            phi,
            reward,
            sampled,
            expected,
            sigma=0.5,
            beta=0.1,
            **SETTING,
        )


@pytest.mark.parametrize("reading", ["continuing", "bootstrap", "terminal"])
def test_the_ensemble_is_the_reference_step_run_by_run(reading):
    domain = two_state(0.9, reading, rewards=[[1.0, 0.0], [0.5, -1.0]])
    paths = trajectories(domain, 3, 60, np.random.default_rng(2))
    sigmas = [0.0, 0.3, 1.0]
    got = semi_gradient_ensemble(
        paths, domain.theta0, sigmas, lam=0.8, gamma=0.9, alpha=0.05, every=20
    )
    assert got.steps.tolist() == [0, 20, 40, 60]
    for i, sigma in enumerate(sigmas):
        for run, path in enumerate(paths):
            theta, trace = domain.theta0, np.zeros(2)
            for k in range(60):
                theta, trace, _ = semi_gradient_step(
                    theta,
                    trace,
                    path.phi[k],
                    path.reward[k],
                    path.phi_next[k],
                    path.phi_next_expected[k],
                    sigma=sigma,
                    lam=0.8,
                    gamma=0.9,
                    alpha=0.05,
                )
                trace = trace * (not path.ends[k])
            np.testing.assert_allclose(got.theta[-1, i, run], theta, rtol=1e-12, atol=1e-14)
    assert not got.diverged.any()


def test_a_diverged_run_is_counted_and_stays_where_it_left():
    domain = two_state(0.99, "bootstrap")
    paths = trajectories(domain, 4, 3000, np.random.default_rng(5))
    got = semi_gradient_ensemble(
        paths, domain.theta0, [0.0], lam=0.99, gamma=0.99, alpha=0.1, every=1000, bound=1e4
    )
    assert got.diverged.all()
    assert np.isfinite(got.theta).all()
    np.testing.assert_array_equal(got.theta[-1], got.theta[-2])


def test_a_run_of_the_ensemble_at_the_bound_goes_on_and_one_beyond_it_stays():
    """One feature, r = 1, γ = 0, α = ½: θ is 1 − 2^−k after k steps, so it is 0.875 after three and would go on."""
    steps = np.ones((6, 1))
    path = Trajectory(steps, steps[:, 0], steps, steps, np.zeros(6, dtype=bool))
    rates = {"lam": 0.0, "gamma": 0.0, "alpha": 0.5}
    for bound, stays in ((0.875, 0.9375), (np.nextafter(0.875, 0.0), 0.875)):
        got = semi_gradient_ensemble([path], [0.0], [0.3], bound=bound, **rates)
        assert (
            got.theta[:, 0, 0, 0].tolist() == np.minimum(1.0 - 0.5 ** np.arange(7), stays).tolist()
        )
        assert got.diverged.all()
    assert not semi_gradient_ensemble([path], [0.0], [0.3], bound=1.0, **rates).diverged.any()


def test_the_ensemble_refuses_paths_of_unequal_length():
    domain = two_state()
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match=r"paths have lengths \[3, 4\]"):
        semi_gradient_ensemble(
            [domain.trajectory(3, rng), domain.trajectory(4, rng)],
            domain.theta0,
            [0.0],
            lam=0.5,
            gamma=0.9,
            alpha=0.1,
        )


def test_a_lagged_step_takes_whatever_v_one_has_returned():
    zero, setting = [0.0], {"sigma": 0.0, "lam": 0.0, "gamma": 0.9, "alpha": 0.1, "beta": 0.1}
    first = gq_step_lagged(zero, zero, zero, [[0.0]], [1e40], 0.0, zero, [1e40], **setting)
    assert first[3].item() == pytest.approx(1e80)
    assert gq_step_lagged(*first[:4], [1.0], 0.0, zero, zero, **setting)[4] == 0.0


def test_a_step_that_overflows_is_refused_by_name():
    zero, one, setting = [0.0], [1.0], {"sigma": 0.0, "lam": 0.0, "gamma": 0.9}
    with np.errstate(over="ignore", invalid="ignore"):
        with pytest.raises(ValueError, match=r"^theta overflows"):
            semi_gradient_step(zero, zero, one, 1e10, zero, zero, alpha=1e308, **setting)
        for step, v in ((gq_step, ()), (gq_step_lagged, ([[0.0]],))):
            with pytest.raises(ValueError, match=r"^theta overflows"):
                step(zero, zero, zero, *v, one, 1e10, zero, zero, alpha=1e308, beta=0.0, **setting)
            with pytest.raises(ValueError, match=r"^omega overflows"):
                step(zero, zero, zero, *v, one, 1e10, zero, zero, alpha=0.0, beta=1e308, **setting)
        with pytest.raises(ValueError, match=r"^v overflows"):
            gq_step_lagged(
                zero,
                zero,
                zero,
                [[0.0]],
                [1e200],
                0.0,
                zero,
                [1e200],
                alpha=0.1,
                beta=0.1,
                **setting,
            )
        with pytest.raises(
            ValueError, match=r"^theta overflows"
        ):  # where an infinite trace shows, even if α = 0
            semi_gradient_step(
                zero,
                [1.7e308],
                [1.7e308],
                0.0,
                zero,
                zero,
                alpha=0.0,
                sigma=0.0,
                lam=1.0,
                gamma=1.0,
            )


@pytest.mark.parametrize(
    "schedule", [Schedule(0.5, noise=0.4), Schedule(0.5, noise=0.4, clipped=True, decay=0.9)]
)
def test_a_schedule_gives_the_same_sigma_step_by_step_and_at_once(schedule):
    draws, ends = np.random.default_rng(7).standard_normal(50), np.arange(50) % 7 == 6
    means = schedule.means(ends)
    by_steps = [schedule.at(mean, draw) for mean, draw in zip(means, draws, strict=True)]
    np.testing.assert_array_equal(schedule.values(ends, draws), by_steps)
    assert schedule.clipped == (min(by_steps) >= 0.0 and max(by_steps) <= 1.0)


@pytest.mark.parametrize("sigma", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("broken", [False, True])
def test_many_steps_at_once_are_the_single_steps_to_the_bit(sigma, broken):
    rng, d, steps = np.random.default_rng(5), 6, 80
    phi, phi_next, expected = rng.standard_normal((3, steps, d))
    reward, ends = rng.standard_normal(steps), rng.random(steps) < 0.2
    theta, omega, trace = rng.standard_normal((3, d))
    rates = {"sigma": sigma, "lam": 0.9, "gamma": 0.95, "alpha": 0.02, "beta": 0.01}
    seen = (phi, reward, phi_next, expected)
    thetas, last_omega, last_trace, deltas = gq_steps(
        theta, omega, trace, *seen, ends if broken else None, **rates
    )
    for k in range(steps):
        theta, omega, trace, delta = gq_step(
            theta, omega, trace, *(part[k] for part in seen), **rates
        )
        np.testing.assert_array_equal(thetas[k], theta)
        assert deltas[k] == delta
        if broken and ends[k]:
            trace = np.zeros(d)
    np.testing.assert_array_equal(last_omega, omega)
    np.testing.assert_array_equal(last_trace, trace)


def test_many_steps_that_overflow_name_the_step_and_bad_ends_are_refused():
    phi = np.ones((400, 1))
    arguments = ([1.0], [0.0], [0.0], phi, np.ones(400), 2.0 * phi, 2.0 * phi)
    rates = {"sigma": 1.0, "lam": 0.0, "gamma": 1.0, "alpha": 100.0, "beta": 0.0}
    one = [np.array([x]) for x in (1.0, 0.0, 0.0)]
    taken = []

    def until_it_overflows():
        weights = one
        while len(taken) < 400:
            *weights, _ = gq_step(*weights, phi[0], 1.0, 2.0 * phi[0], 2.0 * phi[0], **rates)
            taken.append(weights[0])

    with np.errstate(all="ignore"), pytest.raises(ValueError, match="theta overflows"):
        until_it_overflows()
    with pytest.raises(ValueError, match=f"theta overflows in step {len(taken)};"):
        gq_steps(*arguments, **rates)
    with pytest.raises(ValueError, match="ends is"):
        gq_steps(*arguments, [0, 1], **rates)
