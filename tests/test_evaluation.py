"""Prediction settings, the paper's measures, and what they mean."""

import json
from dataclasses import asdict, replace

import numpy as np
import pytest

from gqlib._objects import html_table
from gqlib.domains import baird_star, boyan_chain, cart_pole, two_state
from gqlib.domains.base import Domain, Trajectory
from gqlib.domains.finite import WeightedTrajectory
from gqlib.evaluation import PredictionSetting, run_prediction
from gqlib.evaluation.grids import GridSetting
from gqlib.evaluation.measures import (
    discounted_traces,
    empirical_moments,
    empirical_mspbe,
    exact_mspbe,
    lstd,
    mixture_value,
    value_error,
)
from gqlib.evaluation.run import measured_problem, prepare
from gqlib.fast import prediction as fast
from gqlib.fast._jit import njit
from gqlib.learners.sigma import Schedule
from gqlib.learners.texts import Change, Learner
from gqlib.prediction import PredictionProblem
from gqlib.sweeps.store import canonical_json

BOYAN = PredictionSetting(
    "boyan_chain", options=(("reading", "expected"),), alpha=0.1, lam=0.5, steps=200, kept=4
)
DOMAINS = [
    baird_star(features="classical", reading="stacked"),
    boyan_chain(),
    cart_pole(reading="expected"),
]


class TestSetting:
    def test_survives_json(self):
        again = PredictionSetting(**json.loads(canonical_json(asdict(BOYAN))))
        assert again == BOYAN
        assert again.key == BOYAN.key

    def test_key_changes_with_every_field(self):
        keys = {BOYAN.key} | {
            PredictionSetting(**(asdict(BOYAN) | {name: value})).key
            for name, value in [
                ("domain", "baird_star"), ("options", ()), ("learner", "tdc"), ("sigma", 0.1), ("sigma_noise", 0.1),
                ("sigma_drawn", "run"), ("sigma_clipped", True), ("sigma_ramp_to", 0.9), ("sigma_decay", 0.9),
                ("lam", 0.1), ("alpha", 0.2), ("eta", 2.0), ("steps", 400), ("kept", 2),
            ]
        }  # fmt: skip
        assert len(keys) == 15

    @pytest.mark.parametrize(
        ("changes", "named"),
        [
            ({"domain": "acrobot"}, "domain is 'acrobot'"),
            ({"learner": "sarsa"}, "learner is 'sarsa'"),
            ({"alpha": -1.0}, "alpha is -1"),
            ({"lam": 1.1}, "lam is 1.1"),
            ({"eta": float("inf")}, "eta is inf"),
            ({"steps": 201}, "steps is 201"),
            ({"kept": 0}, "kept is 0"),
            ({"sigma_drawn": "day"}, "drawn is 'day'"),
        ],
    )
    def test_refusals_name_the_argument(self, changes, named):
        with pytest.raises(ValueError, match=named):
            PredictionSetting(**(asdict(BOYAN) | changes))

    def test_run_refuses_an_unknown_engine_and_no_runs(self):
        with pytest.raises(ValueError, match="engine is 'gpu'"):
            run_prediction(BOYAN, 1, 0, engine="gpu")
        with pytest.raises(ValueError, match="runs is 0"):
            run_prediction(BOYAN, 0, 0)


@pytest.mark.parametrize("domain", DOMAINS, ids=lambda domain: domain.name)
class TestMeasures:
    def test_exact_mspbe_is_the_problems(self, domain):
        theta = np.random.default_rng(0).normal(size=(3, 2, domain.problem.d))
        values = exact_mspbe(domain.problem, theta, 0.3, 0.5)
        for index in np.ndindex(3, 2):
            assert values[index] == pytest.approx(
                domain.problem.mspbe(theta[index], 0.3, 0.5), rel=1e-9
            )

    @pytest.mark.slow
    def test_empirical_mspbe_goes_to_the_exact_one(self, domain):
        """Over a long walk; the printed sign b̂ − Âθ goes somewhere else."""
        sigma, lam = 0.4, 0.5
        path = fast.trajectory(domain, 200_000, 1, 0)
        a, b, m = empirical_moments(path, sigma, lam, domain.problem.gamma)
        theta = domain.theta0 + 0.5
        exact = domain.problem.mspbe(theta, sigma, lam)
        assert float(empirical_mspbe((a, b, m), theta)) == pytest.approx(exact, rel=0.1)
        if b.any():
            at_zero = float(empirical_mspbe((a, b, m), np.zeros(domain.problem.d)))
            solved = lstd((a, b, m))
            assert float(empirical_mspbe((a, b, m), solved)) < 1e-9 * at_zero
            assert float(empirical_mspbe((-a, b, m), solved)) == pytest.approx(
                4 * at_zero, rel=1e-6
            ), "as printed"

    def test_error_at_the_truth_is_zero_and_elsewhere_the_weighted_norm(self, domain):
        problem = domain.problem
        theta = np.random.default_rng(1).normal(size=problem.d)
        own = problem.features @ theta
        assert float(value_error(problem, theta, own)) == pytest.approx(0.0, abs=1e-7)
        shift = np.zeros(problem.n)
        if problem.xi.ndim == 1:
            shift[:] = 2.0
        else:
            shift[0] = 2.0  # the constant function
        assert float(value_error(problem, theta, own + shift)) == pytest.approx(2.0, rel=1e-9)

    def test_mixture_value_at_zero_is_the_truth_up_to_the_reward(self, domain):
        if domain.reading == "literal":
            want = domain.truth  # one action: both policies are the same
        elif domain.reading == "stacked":
            want = domain.truth
        else:  # cart-pole keeps the behaviour's reward: lower by 0.1(0.01 − 0.001), for ever
            want = domain.truth - np.eye(11)[0] * 0.1 * 0.009 / 0.05
        np.testing.assert_allclose(mixture_value(domain.problem, 0.0), want, rtol=1e-8, atol=1e-8)


def test_fixed_point_minimises_the_error_to_the_mixture_where_features_suffice():
    """Printed Baird features are a table: MSPBE zero is error zero, to the mixture's value, for every σ."""
    star = baird_star(reading="expected")
    for sigma in (0.0, 0.5, 1.0):
        theta = star.problem.fixed_point(sigma, 0.9)
        assert float(value_error(star.problem, theta, mixture_value(star.problem, sigma))) < 1e-9


def test_traces_restart_after_an_end():
    phi = np.array([[1.0], [2.0], [3.0], [4.0]])
    ends = np.array([False, True, False, True])
    np.testing.assert_array_equal(discounted_traces(phi, ends, 0.5)[:, 0], [1.0, 2.5, 3.0, 5.5])


def random_path(steps=40, d=3):
    rng = np.random.default_rng(6)
    features, reward = rng.standard_normal((3, steps, d)), rng.standard_normal(steps)
    return Trajectory(features[0], reward, *features[1:], rng.random(steps) < 0.2), rng.random(
        steps
    )


def test_empirical_moments_are_means_over_the_steps():
    path, sigma = random_path()
    lam, gamma = 0.7, 0.9
    a, b, m, trace = np.zeros((3, 3)), np.zeros(3), np.zeros((3, 3)), np.zeros(3)
    for k in range(40):
        trace = gamma * lam * trace + path.phi[k]
        mixed = sigma[k] * path.phi_next[k] + (1.0 - sigma[k]) * path.phi_next_expected[k]
        a += np.outer(trace, gamma * mixed - path.phi[k]) / 40
        b += path.reward[k] * trace / 40
        m += np.outer(path.phi[k], path.phi[k]) / 40
        trace = trace * (not path.ends[k])
    for mine, theirs in zip((a, b, m), empirical_moments(path, sigma, lam, gamma), strict=True):
        np.testing.assert_allclose(theirs, mine, atol=1e-13)
    with pytest.raises(ValueError, match=r"^sigma has shape \(39,\)"):
        empirical_moments(path, sigma[1:], lam, gamma)


def test_measures_of_features_that_are_not_independent():
    """With φ twice over, M̂ and Â have no inverse: LSTD is the shortest solution, and the measure that of φ once."""
    path, sigma = random_path(d=2)
    once = empirical_moments(path, sigma, 0.5, 0.9)
    double = [np.hstack([x, x]) for x in (path.phi, path.phi_next, path.phi_next_expected)]
    twice = empirical_moments(
        Trajectory(double[0], path.reward, *double[1:], path.ends), sigma, 0.5, 0.9
    )
    np.testing.assert_allclose(lstd(twice), np.tile(lstd(once) / 2.0, 2), atol=1e-12)
    theta = np.array([[1.0, -2.0], [0.5, 0.0]])
    found = empirical_mspbe(twice, np.hstack([theta, np.zeros((2, 2))]))
    np.testing.assert_allclose(found, empirical_mspbe(once, theta), rtol=1e-10)
    residual = once[0] @ theta[0] + once[1]
    assert found[0] == pytest.approx(0.5 * residual @ np.linalg.solve(once[2], residual))


def test_what_measures_cannot_take_is_refused_by_name():
    moments = empirical_moments(*random_path(), 0.5, 0.9)
    for wrong in (moments[:2], list(moments)):
        with pytest.raises(ValueError, match=r"^moments is .* three arrays"):
            lstd(wrong)
    with pytest.raises(ValueError, match=r"^moments has shape \(2, 3\)"):
        empirical_mspbe((moments[0][1:], *moments[1:]), np.ones(3))
    for theta in (1.0, np.ones((3, 2)), [0.0, 0.0, 1.1e50]):
        with pytest.raises(ValueError, match=r"^theta is .* 3 weights"):
            empirical_mspbe(moments, theta)
    assert np.isnan(empirical_mspbe(moments, [[np.nan, 0.0, 1e50]])).all()


def test_the_reward_of_a_mixture_lies_between_those_of_its_policies():
    """One state for ever, γ = ½, which pays 1 under π and 4 under μ: the mixture is paid 1 + 3σ, twice over."""
    problem = PredictionProblem([[1.0]], [[1.0]], [[1.0]], [4.0], [1.0], 0.5, rewards_pi=[1.0])
    for sigma, value in ((0.0, 2.0), (0.5, 5.0), (1.0, 8.0)):
        np.testing.assert_allclose(mixture_value(problem, sigma), [value], rtol=1e-14)


def test_a_mixture_beyond_both_policies_may_have_no_value():
    """Stay or swap, γ = ½: on (1, −1) the matrix is 1 − ½(1 − 2σ), which is zero at σ = −½."""
    swap = [[0.0, 1.0], [1.0, 0.0]]
    problem = PredictionProblem(np.eye(2), swap, np.eye(2), [1.0, -1.0], [0.5, 0.5], 0.5)
    with pytest.raises(ValueError, match=r"^sigma is -0\.5; "):
        mixture_value(problem, -0.5)
    np.testing.assert_allclose(mixture_value(problem, 0.5), [1.0, -1.0], rtol=1e-14)


@pytest.mark.parametrize("lam", [0.0, 0.9])
def test_lstd_goes_to_the_fixed_point(lam):
    chain = boyan_chain(gamma=0.95, terminal_features="zero")
    moments = empirical_moments(fast.trajectory(chain, 100_000, 4, 0), 0.5, lam, 0.95)
    np.testing.assert_allclose(
        lstd(moments), chain.problem.fixed_point(0.5, lam), rtol=0.05, atol=0.3
    )


def test_dynamic_sigma_is_measured_at_its_mean_of_the_time():
    ramp = PredictionSetting(
        **(asdict(BOYAN) | {"sigma": 0.02, "sigma_ramp_to": 0.98, "sigma_noise": 0.01})
    )
    means = run_prediction(ramp, 1, 0).sigma_means
    np.testing.assert_array_equal(means, [0.02, 0.26, 0.5, 0.74, 0.98])
    star = PredictionSetting(
        "baird_star", options=(("reading", "stacked"),), sigma=0.02, sigma_ramp_to=0.98, steps=100
    )
    result = run_prediction(star, 1, 0)
    problem = star.make_domain().problem
    assert result.mspbe()[0, 25] == pytest.approx(
        problem.mspbe(result.theta[0, 25], result.sigma_means[25], 0.0)
    )


def test_a_sigma_that_decays_by_episodes_has_no_mean_that_all_runs_share():
    star = PredictionSetting(
        "baird_star", sigma=0.8, sigma_decay=0.5, steps=4, kept=2
    )  # no episodes: by steps
    np.testing.assert_array_equal(run_prediction(star, 1, 0).sigma_means, [0.8, 0.4, 0.1])
    chain = PredictionSetting("boyan_chain", sigma=0.8, sigma_decay=0.5, steps=200, kept=2)
    result = run_prediction(chain, 2, 0)
    assert np.isfinite(result.error()).all()
    with pytest.raises(ValueError, match=r"^sigma_decay is 0\.5; .* so it should be 1$"):
        result.mspbe()


def test_empirical_measure_uses_each_runs_own_data():
    result = run_prediction(BOYAN, 3, seed=2, first_run=5)
    values = result.empirical_mspbe(seed=2, first_run=5)
    path = fast.trajectory(BOYAN.make_domain(), 200, 2, 6)
    sigma = np.full(200, 0.5)
    want = empirical_mspbe(empirical_moments(path, sigma, 0.5, 0.99), result.theta[1])
    np.testing.assert_allclose(values[1], want, rtol=1e-12)


@pytest.mark.parametrize(
    "domain", [baird_star(reading="expected"), cart_pole(reading="expected", start="stationary")]
)
def test_importance_weights_aim_at_the_target_policy(domain):
    """The mean of ρφ(γφ' − φ)ᵀ, what TDC follows, is A of the expected reading at σ = 0, within five errors."""
    path = fast.trajectory(domain, 40_000, 6, 0)
    rows = np.einsum(
        "k,ki,kj->kij", path.rho, path.phi, domain.problem.gamma * path.phi_next - path.phi
    )
    # ρ weights the next state, and in the mean leaves φφᵀ as it is
    batches = rows.reshape(100, 400, *rows.shape[1:]).mean(axis=1)
    error = batches.std(axis=0, ddof=1) / 10 + 1e-12
    assert (np.abs(batches.mean(axis=0) - domain.problem.A(0.0, 0.0)) < 5 * error).all()


def test_the_reference_takes_the_steps_of_tdrc():
    """Written out from its definition, with a ridge, along the walk that belongs to the seed and the run."""
    setting = PredictionSetting(
        "boyan_chain",
        (("reading", "expected"),),
        "tdrc",
        kappa=2.0,
        alpha=0.1,
        eta=0.5,
        lam=0.5,
        steps=40,
        kept=4,
    )
    found = run_prediction(setting, 1, seed=3, first_run=2, engine="reference")
    domain, (alpha, beta, kappa, lam) = setting.make_domain(), (0.1, 0.05, 2.0, 0.5)
    path, gamma = fast.trajectory(domain, 40, 3, 2), domain.problem.gamma
    theta, omega, trace, kept = np.array(domain.theta0), np.zeros(4), np.zeros(4), [domain.theta0]
    for k in range(40):
        phi, after = path.phi[k], path.phi_next[k]
        trace = path.rho[k] * (gamma * lam * trace + phi)
        delta = path.reward[k] + gamma * theta @ after - theta @ phi
        theta = theta + alpha * (delta * trace - gamma * (1.0 - lam) * (trace @ omega) * after)
        omega = omega + beta * (delta * trace - (phi @ omega) * phi - kappa * omega)
        trace = np.zeros(4) if path.ends[k] else trace
        if (k + 1) % 10 == 0:
            kept.append(theta)
    np.testing.assert_allclose(found.theta[0], kept, rtol=1e-12, atol=1e-13)
    assert found.setting is setting


@njit
def count_begin(rates):
    return (10.0,)


@njit
def count_before(memory, seen, rates):
    return 0.0, 1.0, 1.0, 0.0


@njit
def count_after(memory, seen, rates):
    """θ gains (count + β)φ, and the count is of steps of the episode, weighted by ρ, ρ' and 1 where a number is NaN."""
    unknown = 1.0 if seen.pi != seen.pi else 0.0
    gain = memory[0] + rates.beta + 100.0 * seen.rho_now + 1000.0 * seen.rho + 1e4 * unknown
    return (memory[0] + 1.0,), Change(0.0, gain, 0.0, 0.0, 0.0, 0.0)


@pytest.mark.parametrize("engine", ["fast", "reference"])
def test_a_learner_of_ones_own_sees_its_memory_and_the_ratios(engine):
    """Its θ is the sum of what it saw: ρ of the step, ρ of the next (1 at an end), no π, and its memory by episode."""
    mine = Learner(count_begin, count_before, count_after, gradient=False)
    one, rho = np.ones((6, 1)), np.array([2.0, 3.0, 4.0, 5.0, 6.0, 7.0])
    ends = np.array([False, False, True, False, False, False])
    path = WeightedTrajectory(0.25 * one, rho, one, one, ends, rho)
    domain = Domain(
        "one",
        PredictionProblem([[1.0]], [[1.0]], [[1.0]], [0.0], [1.0], 0.5),
        [8.0],
        lambda steps, rng: path,
    )
    setting = PredictionSetting(domain, learner=mine, alpha=0.25, eta=2.0, steps=6, kept=6)
    found = run_prediction(setting, 1, seed=0, engine=engine).theta[0, :, 0]
    count, rho_next = (
        np.array([10.0, 11.0, 12.0, 10.0, 11.0, 12.0]),
        np.array([3.0, 4.0, 1.0, 6.0, 7.0, 1.0]),
    )
    gains = count + 0.5 + 100.0 * rho + 1000.0 * rho_next + 1e4
    np.testing.assert_array_equal(found, 8.0 + np.cumsum(np.append(0.0, 0.25 * gains)))


@pytest.mark.parametrize("lam", [0.0, 0.5])
def test_on_policy_all_learners_solve_one_problem(lam):
    """Boyan's chain has one policy, so that what TDC is measured by is the domain's own problem at any σ."""
    setting = PredictionSetting("boyan_chain", (("reading", "expected"),), "tdc", lam=lam)
    target, sigma = measured_problem(setting)
    own = setting.make_domain().problem
    assert sigma == 0.0
    np.testing.assert_allclose(target.A(0.0, lam), own.A(0.3, lam), atol=1e-13)
    np.testing.assert_allclose(target.b(0.0, lam), own.b(0.3, lam), atol=1e-12)
    np.testing.assert_array_equal(target.p_trace, own.p_trace)
    assert (own.p_trace != own.p_pi).any()


def test_a_domain_that_says_nothing_of_its_features_is_read_literally():
    """Of states, without P^π: what weights by ρ has no problem to be measured by there."""
    with pytest.raises(
        ValueError, match=r"^learner is 'tdc'; it should go with reading 'expected' or with pairs"
    ):
        measured_problem(PredictionSetting(two_state(0.9), learner="tdc"))
    assert measured_problem(PredictionSetting(two_state(0.9), sigma=0.25))[1] == 0.25


def test_a_result_as_a_table_has_the_errors_of_a_domain_that_knows_them():
    """Of two runs; where one is lost there is no mean, and no interval."""
    told = [
        ("domain", boyan_chain(reading="expected").name),
        ("learner", "gq"),
        ("runs", "2"),
        ("steps of each", "1,000"),
    ]
    setting = PredictionSetting("boyan_chain", (("reading", "expected"),), kept=1)
    found = run_prediction(setting, 2, seed=0)
    (first, one), (_, other) = found.error()
    mean, half = (
        (one + other) / 2.0,
        12.7062047362 * abs(one - other) / 2.0,
    )  # Student's t with one degree of freedom
    errors = [("error at the start", f"{first:.4g}"), ("mean error at the end", f"{mean:.4g}")]
    rows = [
        *told,
        ("diverged runs", "0"),
        *errors,
        ("its 95% interval", f"{mean - half:.4g} to {mean + half:.4g}"),
    ]
    assert found._repr_html_() == html_table("PredictionResult", rows)
    lost = replace(found, theta=found.theta * [[[1.0]], [[np.nan]]], diverged_at=np.array([-1, 7]))
    rows = [*told, ("diverged runs", "1"), errors[0], ("mean error at the end", "nan")]
    assert lost._repr_html_() == html_table("PredictionResult", rows)
    bare = run_prediction(PredictionSetting(two_state(0.9), alpha=0.0, steps=1, kept=1), 1, seed=0)
    assert "error" not in bare._repr_html_()


def test_lstd_is_prepared_once_and_does_not_depend_on_step_sizes():
    """Every kept row solves the sums of the data so far: A θ + b = 0 with traces by ρ."""
    setting = PredictionSetting(
        "boyan_chain", (("reading", "expected"),), "lstd", lam=0.5, steps=400, kept=2
    )
    domain = setting.make_domain()
    path, gamma = fast.trajectory(domain, 400, 3, 2), domain.problem.gamma
    learn = prepare(setting, path, np.zeros(400))
    (kept, step), (again, _) = learn(0.1, 1.0), learn(5.0, 0.0)
    assert (step, kept.shape) == (-1, (3, 4))
    np.testing.assert_array_equal(kept, again)
    np.testing.assert_array_equal(kept, run_prediction(setting, 1, seed=3, first_run=2).theta[0])
    a, b, trace = np.zeros((4, 4)), np.zeros(4), np.zeros(4)
    for k in range(400):
        trace = path.rho[k] * (gamma * 0.5 * trace + path.phi[k])
        a += np.outer(trace, gamma * path.phi_next[k] - path.phi[k])
        b += path.reward[k] * trace
        trace = np.zeros(4) if path.ends[k] else trace
    np.testing.assert_allclose(kept[-1], np.linalg.solve(a, -b), rtol=1e-9)
    with pytest.raises(ValueError, match=r"^setting is 3; "):
        prepare(3, path, np.zeros(400))
    with pytest.raises(
        ValueError, match=r"^path has features \(400, 4\); they should be \(200, 4\)$"
    ):
        prepare(BOYAN, path, np.zeros(400))


@pytest.mark.parametrize(
    ("phi", "ends", "told"),
    [
        (None, [False], "phi is None; it should be an array of real numbers"),
        ([[np.nan]], [False], "phi is nan at"),
        ([1.0, 2.0], [False, True], "phi has shape"),
        ([[1.0], [2.0]], [False], "ends has shape"),
        ([[1.0], [2.0]], None, "ends is None; it should be an array of real numbers"),
        ([[1.0], [2.0]], np.array(0.5), "ends has shape"),
    ],
)
def test_discounted_traces_refuse_what_is_no_trajectory(phi, ends, told):
    with pytest.raises(ValueError, match=told):
        discounted_traces(phi, ends, 0.5)


def test_a_ramp_counts_no_more_levels_than_it_can():
    """Beyond it their number times that of the steps would not be a whole number of 64 bits."""
    for fields in (
        {"sigma_ramp_to": 1e7},
        {"sigma_ramp_to": -1e19},
        {"sigma": 1e7, "sigma_ramp_to": 1.0},
    ):
        with pytest.raises(ValueError, match=r"it should be at most 1e\+06 in size"):
            PredictionSetting("boyan_chain", **fields)
    for given in ({"ramp_to": 1e19, "sigmas": (0.5,)}, {"ramp_to": 1.0, "sigmas": (0.5, 1e7)}):
        with pytest.raises(ValueError, match=r"at most 1e\+06"):
            GridSetting("boyan_chain", alphas=(0.1,), etas=(1.0,), **given)
    with pytest.raises(
        ValueError, match=r"mean is 10000000\.0; it should be at most 1e\+06 in size"
    ):
        Schedule(1e7, ramp_to=0.0)
    assert Schedule(0.0, ramp_to=1e6).means([False] * 4).tolist() == [
        0.0,
        250000.0,
        500000.0,
        750000.0,
    ]
