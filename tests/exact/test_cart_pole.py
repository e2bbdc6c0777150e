"""Cart-pole: checked against reference values computed elsewhere, and against simulation."""

import json
from pathlib import Path

import numpy as np
import pytest

from gqlib.domains import cart_pole
from gqlib.domains.cart_pole import (
    ACTION_COST,
    BEHAVIOUR_VARIANCE,
    NOISE_DEVIATION,
    NOISE_VARIANCE,
    PAIRS,
    PUBLIC_GAIN,
    START,
    STATE_COST,
    TARGET_VARIANCE,
    F,
    G,
    covariance,
    exp_of_negative,
    riccati_gain,
)

ORACLE = json.loads((Path(__file__).parents[1] / "oracles" / "cart_pole.json").read_text())[
    "cart_pole"
]
AT_95 = ORACLE["gamma_0.95"]
SETTINGS = {"off_policy behaviour var .01 target var .001": "off", "on_policy action var 0": "on"}
FEATURES = {
    "(1,s1^2..s4^2)": "printed",
    "(s1^2..s4^2) [tdlearn squared_diag, unnormalised]": "squares",
}


def test_dynamics_of_the_public_code():
    np.testing.assert_allclose(F, ORACLE["A"], rtol=1e-15)
    np.testing.assert_allclose(G, ORACLE["B"], rtol=1e-15)
    assert abs(NOISE_DEVIATION**2 - NOISE_VARIANCE) < 1e-17


def test_gain_by_the_riccati_solver():
    np.testing.assert_allclose(PUBLIC_GAIN, AT_95["gain_theta (a = theta s)"], rtol=1e-12)
    np.testing.assert_allclose(riccati_gain(0.95), PUBLIC_GAIN, rtol=1e-10)


@pytest.mark.parametrize("gamma", [0.5, 0.9, 0.99])
def test_gain_is_optimal_for_its_discount(gamma):
    """One step of policy improvement on v^π returns the same gain."""
    pole = cart_pole(gamma=gamma, policy="on")
    quadratic = np.zeros((4, 4))
    for coefficient, (i, j) in zip(pole.truth[1:], PAIRS, strict=True):
        quadratic[i, j] += coefficient / 2
        quadratic[j, i] += coefficient / 2
    improved = gamma * G @ quadratic @ F / (0.1 - gamma * G @ quadratic @ G)
    np.testing.assert_allclose(improved, pole.walker.gain, rtol=1e-9)


@pytest.mark.parametrize("variance", ["0", "0.001", "0.01"])
def test_stationary_covariance_and_value_constant(variance):
    want = AT_95["by_action_noise_variance"][variance]
    _, stationary = covariance(np.array(AT_95["closed_loop_S=A+B theta"]), float(variance))
    np.testing.assert_allclose(stationary, want["stationary_covariance"], rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize(("policy", "variance"), [("off", "0.001"), ("on", "0")])
def test_true_value_is_the_quadratic_of_the_riccati_equation(policy, variance):
    truth = cart_pole(policy=policy).truth
    want = AT_95["by_action_noise_variance"][variance][
        "V_constant_b_for_policy_with_this_action_variance"
    ]
    assert truth[0] == pytest.approx(want, rel=1e-10)
    matrix = np.array(AT_95["P (V = s'Ps + b)"])
    np.testing.assert_allclose(
        truth[1:], [matrix[i, j] * (1 + (i != j)) for i, j in PAIRS], rtol=1e-10
    )


@pytest.mark.parametrize(
    "row",
    AT_95["A_b_M_state_features"],
    ids=lambda row: f"{row['setting']}-{row['features']}-{row['lambda']}-{row['sigma']}",
)
def test_reference_moments(row):
    options = {"features": FEATURES[row["features"]], "policy": SETTINGS[row["setting"]]}
    lam = row["lambda"]
    sigmas = (0.0, 0.6, 1.0) if row["sigma"] == "any" else (row["sigma"],)
    for sigma in sigmas:
        problem = cart_pole(reading="expected", **options).problem
        np.testing.assert_allclose(problem.A(sigma, lam), row["A"], rtol=1e-10, atol=1e-13)
        np.testing.assert_allclose(problem.b(sigma, lam), row["b"], rtol=1e-10)
        np.testing.assert_allclose(problem.M, row["M"], rtol=1e-10)
        np.testing.assert_allclose(problem.fixed_point(sigma, lam), row["theta_star"], rtol=1e-10)
        assert problem.mspbe(np.zeros(problem.d), sigma, lam) == pytest.approx(
            row["MSPBE_half_at_theta_0"], rel=1e-10
        )
    if row["sigma"] == 1.0:
        literal = cart_pole(reading="literal", **options).problem
        for sigma in (0.0, 0.37, 1.0):
            np.testing.assert_allclose(literal.A(sigma, lam), row["A"], rtol=1e-10, atol=1e-13)


def test_public_features_are_scaled_squares_with_the_same_fixed_point():
    squares, public = (cart_pole(features=f, reading="expected") for f in ("squares", "public"))
    scale = public.walker.scale
    assert scale.shape == (4,)
    np.testing.assert_allclose(
        public.problem.fixed_point(0.5, 0.5) / scale,
        squares.problem.fixed_point(0.5, 0.5),
        rtol=1e-9,
    )
    # scaled by the deviation under the behaviour: every feature has variance one
    m, mean = public.problem.M, public.problem.xi[0] @ public.problem.features
    np.testing.assert_allclose(np.diag(m) - mean**2, 1.0, rtol=1e-5)


def density(noise, variance):
    return np.exp(-0.5 * noise**2 / variance) / np.sqrt(2.0 * np.pi * variance)


@pytest.mark.parametrize(("start", "skipped"), [("public", 0), ("stationary", 400)])
@pytest.mark.parametrize("features", ["printed", "squares", "public"])
@pytest.mark.parametrize("reading", ["literal", "expected"])
def test_a_learner_sees_the_walk_of_the_linear_system(start, skipped, features, reading):
    pole = cart_pole(features=features, policy="off", reading=reading, start=start)
    seen = pole.trajectory(6, np.random.default_rng(3))
    normals = np.random.default_rng(3).standard_normal((skipped + 6, 2))
    state, states, costs, ratios = START, [START], [], []
    for z, w in normals:
        noise = np.sqrt(BEHAVIOUR_VARIANCE) * z
        action = PUBLIC_GAIN @ state + noise
        costs.append(STATE_COST @ state**2 + ACTION_COST * action**2)
        ratios.append(density(noise, TARGET_VARIANCE) / density(noise, BEHAVIOUR_VARIANCE))
        state = F @ state + G * action + np.array([0.0, 0.0, 0.0, NOISE_DEVIATION * w])
        states.append(state)
    states = np.array(states[skipped:])
    phi = np.column_stack(
        [np.ones((7, int(features == "printed"))), states**2 / pole.walker.scale[-4:]]
    )
    np.testing.assert_allclose(seen.phi, phi[:-1], rtol=1e-9)
    np.testing.assert_allclose(seen.phi_next, phi[1:], rtol=1e-9)
    np.testing.assert_allclose(seen.reward, -np.array(costs[skipped:]), rtol=1e-9)
    np.testing.assert_allclose(seen.rho, ratios[skipped:], rtol=1e-9)
    assert (seen.ends.tolist(), seen.ends.dtype) == ([False] * 6, bool)
    # E_π s'ᵢ², of a normal variable: its mean squared and its variance
    means = states[:-1] @ (F + np.outer(G, PUBLIC_GAIN)).T
    variances = G**2 * TARGET_VARIANCE + np.array([0.0, 0.0, 0.0, NOISE_VARIANCE])
    expected = (means**2 + variances) / pole.walker.scale[-4:]
    wanted = phi[1:, -4:] if reading == "literal" else expected
    np.testing.assert_allclose(seen.phi_next_expected[:, -4:], wanted, rtol=1e-9)


def test_exponential_without_a_library():
    x = -np.concatenate([np.linspace(0.0, 3.0, 1001), np.geomspace(1e-9, 200.0, 1000)])
    np.testing.assert_allclose(exp_of_negative(x), np.exp(x), rtol=1e-14)
