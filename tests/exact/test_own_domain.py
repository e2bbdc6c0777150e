"""Policy evaluation on a problem of one's own: terminal states, ratios, indices, and learners beside GQ(σ, λ)."""

import sys
from dataclasses import replace
from functools import partial
from types import ModuleType

import numpy as np
import pytest
from numba import njit

from gqlib import FiniteMDP
from gqlib.domains import (
    boyan_chain,
    domain_on_pairs,
    own_domain,
    random_mdp,
    random_policy,
    two_state,
)
from gqlib.domains.base import Domain, Trajectory
from gqlib.emphatic import emphatic_matrix, emphatic_vector
from gqlib.evaluation import PredictionSetting, measured_problem, run_prediction
from gqlib.evaluation.curves import curve_runs, run_curves
from gqlib.fast import own
from gqlib.fast import prediction as fast


def maze(reading="pairs", d=4, gamma=0.95):
    """Four states and an end, three actions, random features that cannot represent q."""
    rng = np.random.default_rng(5)
    moves = rng.dirichlet(np.ones(5), size=(5, 3))
    moves[4] = 0.0
    mdp = FiniteMDP(moves, rng.standard_normal((5, 3)), gamma, terminal=[4])
    mu, pi = (random_policy(rng, 5, 3) for _ in range(2))
    features = rng.standard_normal((15 if reading == "pairs" else 5, d))
    return own_domain(mdp, mu, pi, features, start=[0.5, 0.5, 0, 0, 0], reading=reading)


def within_five_errors(samples, exact):
    """Whether means over batches of a long walk lie within five standard errors of what they should be."""
    batches = samples.reshape(100, -1, *samples.shape[1:]).mean(axis=1)
    error = batches.std(axis=0, ddof=1) / 10.0 + 1e-12
    return (np.abs(batches.mean(axis=0) - exact) < 5 * error).all()


@pytest.mark.parametrize("reading", ["pairs", "literal", "expected", "stacked"])
def test_walks_sample_the_exact_problem(reading):
    domain = maze(reading)
    path = fast.trajectory(domain, 60_000, 1, 0)
    visited = path.states if reading in ("literal", "expected") else 3 * path.states + path.actions
    assert within_five_errors(np.eye(domain.problem.n)[visited], domain.problem.xi)
    mixed = path.phi_next_expected + 0.3 * (path.phi_next - path.phi_next_expected)
    steps = np.einsum("ki,kj->kij", path.phi, domain.problem.gamma * mixed - path.phi)
    assert within_five_errors(steps, domain.problem.A(0.3, 0.0))
    assert within_five_errors(path.reward[:, None] * path.phi, domain.problem.b(0.3, 0.0))
    assert not path.phi_next[path.ends].any()
    assert path.ends.mean() > 0.1


def test_pairs_in_blocks_are_the_stacked_reading():
    rng = np.random.default_rng(2)
    mdp, mu, pi = random_mdp(rng, 4, 2), random_policy(rng, 4, 2), random_policy(rng, 4, 2)
    states = rng.standard_normal((4, 3))
    stacked = own_domain(mdp, mu, pi, states, reading="stacked", theta0=[1.0, 2.0, 3.0])
    pairs = own_domain(mdp, mu, pi, stacked.problem.features, theta0=stacked.theta0)
    for name in ("features", "p_mu", "p_pi", "rewards", "xi"):
        np.testing.assert_array_equal(getattr(stacked.problem, name), getattr(pairs.problem, name))
    for one, other in zip(
        *(vars(fast.trajectory(d, 50, 0, 0)).values() for d in (stacked, pairs)), strict=True
    ):
        np.testing.assert_array_equal(one, other)


def settings(domain, learner, **changes):
    fields = {"alpha": 0.02, "lam": 0.6, "eta": 0.5, "sigma": 0.3, "steps": 400, "kept": 4}
    return PredictionSetting(domain, learner=learner, **(fields | changes))


@pytest.mark.slow
@pytest.mark.parametrize("reading", ["pairs", "expected"])
@pytest.mark.parametrize(
    "learner", ["gq", "semi-gradient", "tdc", "gtd2", "tdrc", "emphatic", "lstd"]
)
def test_learners_run_on_a_problem_of_ones_own(reading, learner):
    setting = settings(maze(reading), learner)
    compiled, reference = (
        run_prediction(setting, 2, seed=5, engine=engine) for engine in ("fast", "reference")
    )
    np.testing.assert_allclose(
        compiled.theta, reference.theta, rtol=0, atol=1e-12 * np.abs(reference.theta).max()
    )
    assert np.isfinite(compiled.theta).all()
    assert (compiled.theta[:, -1] != 0.0).all()
    assert np.isfinite(compiled.mspbe()).all()
    assert (compiled.error() > 0.0).all()


@pytest.mark.parametrize("reading", ["pairs", "expected"])
def test_without_a_ridge_tdrc_is_tdc(reading):
    tdrc, tdc = (
        run_prediction(settings(maze(reading), learner, kappa=0.0), 2, seed=1).theta
        for learner in ("tdrc", "tdc")
    )
    np.testing.assert_allclose(tdrc, tdc, rtol=1e-11, atol=1e-13)
    ridged = run_prediction(settings(maze(reading), "tdrc", kappa=1.0), 2, seed=1).theta
    assert np.abs(ridged - tdc).max() > 1e-6


def test_the_ridge_shrinks_omega():
    """One feature, φ = 1 and no reward: δ = (γ − 1)θ, and ω goes from ω to ω + β(δe − ω − κω)."""
    seen = own.Step(np.ones(1), 0.0, np.ones(1), np.ones(1), 1.0, 0.0, False)
    rates = own.Numbers(0.0, 0.5, 0.0, 0.1, 2.0, True)
    _, (omega, _) = own.TDRC.plain().step(
        np.array([4.0]), (np.array([10.0]), np.zeros(1)), seen, rates
    )
    assert omega[0] == pytest.approx(10.0 + 0.1 * (-2.0 - 10.0 - 20.0))


@pytest.mark.parametrize("lam", [0.0, 0.7])
def test_the_mean_of_an_emphatic_step_is_that_of_the_exact_matrices(lam):
    """Continuing, on pairs: δ_k e_k at fixed weights has the mean Aθ + b of `gqlib.emphatic`."""
    rng = np.random.default_rng(3)
    mdp = random_mdp(rng, 4, 2, 0.8)
    mu = random_policy(rng, 4, 2) * 0.5 + 0.25
    pi = 0.5 * mu + 0.5 * random_policy(rng, 4, 2)
    domain = own_domain(mdp, mu, pi, rng.standard_normal((8, 3)))
    path, theta = fast.trajectory(domain, 50_000, 2, 0), np.array([1.0, -0.5, 2.0])
    rates = own.Numbers(lam, 0.8, 1.0, 0.0, 0.0, True)
    memory, moves = own.EMPHATIC.start(3), np.empty((50_000, 3))
    for k in range(50_000):
        after = path.phi_next[k], path.phi_next_expected[k]
        seen = own.Step(path.phi[k], path.reward[k], *after, path.rho[k], 0.0, False)
        moved, memory = own.EMPHATIC.step(theta, memory, seen, rates)
        moves[k] = moved - theta
    exact = emphatic_matrix(domain.problem, lam) @ theta + emphatic_vector(domain.problem, lam)
    assert within_five_errors(moves, exact)
    wrong = domain.problem.A(0.0, lam) @ theta + domain.problem.b(
        0.0, lam
    )  # that of the unweighted update
    assert not within_five_errors(moves, wrong)


def test_an_end_resets_trace_and_follow_on():
    end = own.Step(np.ones(1), 1.0, np.zeros(1), np.zeros(1), 2.0, 0.0, True)
    rates, before = own.Numbers(0.5, 1.0, 0.1, 0.0, 0.0, True), (np.ones(1), np.ones(1))
    for learner in (own.TDRC, own.EMPHATIC):
        _, memory = learner.plain().step(np.zeros(1), before, end, rates)
        assert memory[1] == 0.0
    assert memory[0] == 0.0  # F


@pytest.mark.slow
@pytest.mark.parametrize("reading", ["pairs", "expected"])
@pytest.mark.parametrize("lam", [0.0, 0.8])
def test_lstd_goes_to_the_fixed_point_of_the_target_policy(reading, lam):
    setting = settings(maze(reading), "lstd", lam=lam, steps=80_000, kept=1)
    problem, sigma = measured_problem(setting)
    found = run_prediction(setting, 1, seed=0).theta[0, -1]
    np.testing.assert_allclose(found, problem.fixed_point(sigma, lam), atol=0.15)


def test_plain_domains_run_without_ratios():
    setting = settings(two_state(0.9, "bootstrap"), "gq", steps=100)
    compiled, reference = (
        run_prediction(setting, 2, seed=5, engine=engine) for engine in ("fast", "reference")
    )
    np.testing.assert_allclose(compiled.theta, reference.theta, rtol=1e-12)
    assert compiled.mspbe().shape == (2, 5)
    with pytest.raises(ValueError, match="target should be given"):
        compiled.error()
    with pytest.raises(ValueError, match="weights by rho"):
        run_prediction(replace(setting, learner="tdrc"), 1, 0)


def test_runs_on_domains_that_are_objects_share_their_walks():
    one, other = maze(), domain_on_pairs(*(lambda rng: (random_mdp(rng, 3, 2), [[0.5, 0.5]] * 3, [[1.0, 0.0]] * 3,
                                                        np.eye(6)))(np.random.default_rng(0)))  # fmt: skip
    several = {
        "one": settings(one, "gq"),
        "same": settings(one, "semi-gradient"),
        "other": settings(other, "gq"),
    }
    found = run_curves(several, 2, seed=0)
    for label, setting in several.items():
        np.testing.assert_array_equal(found[label].theta, run_prediction(setting, 2, seed=0).theta)


@pytest.fixture
def module(monkeypatch):
    made = ModuleType("my_study")
    made.maze, made.tdrc, made.word = maze, own.TDRC, "nothing to call"
    monkeypatch.setitem(sys.modules, "my_study", made)
    return made


def test_names_of_ones_own_are_as_good_as_objects(module):
    named = settings("my_study:maze", "my_study:tdrc", options=(("reading", "expected"),))
    assert named.imported == ("my_study:maze", "my_study:tdrc")
    assert len(named.key) == 64
    by_name = curve_runs(named, 2, 0, first_run=0)
    by_object = curve_runs(settings(maze("expected"), own.TDRC), 2, 0, first_run=0)
    for name in ("mspbe", "error"):
        np.testing.assert_array_equal(by_name[name], by_object[name])


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"domain": "my_study:nothing"}, "^domain is 'my_study:nothing', which cannot be imported"),
        ({"domain": "my_study:word"}, "^domain is "),
        ({"learner": "my_study:word"}, "^learner is "),
    ],
)
def test_names_that_lead_nowhere_are_refused(module, fields, message):
    with pytest.raises(ValueError, match=message):
        run_prediction(PredictionSetting(**({"domain": "boyan_chain", "steps": 50} | fields)), 1, 0)


def test_objects_have_no_key_and_no_options():
    for setting in (settings(maze(), "gq"), settings("boyan_chain", own.TDRC)):
        with pytest.raises(ValueError, match="should be 'module:name'"):
            _ = setting.key
    with pytest.raises(ValueError, match=r"^options is"):
        settings(maze(), "gq", options=(("reading", "pairs"),))
    with pytest.raises(ValueError, match=r"^learner is 3"):
        settings(maze(), 3)


@pytest.mark.slow
def test_a_learner_that_diverges_is_counted():
    blow_up = own.Learner(
        lambda d: 0, lambda theta, memory, seen, rates: (1e3 * theta + 1.0, memory)
    )
    start, step = (
        njit(lambda d: 0),
        njit(lambda theta, memory, seen, rates: (1e3 * theta + 1.0, memory)),
    )
    for learner in (blow_up, own.Learner(start, step)):
        result = run_prediction(settings(boyan_chain(), learner), 1, seed=0)
        assert result.diverged_at.tolist() == [5]  # 1, 1e3, 1e6, 1e9, 1e12
        assert np.isnan(result.theta[0, 1:]).all()


def test_a_learner_is_compiled_throughout_or_not_at_all():
    with pytest.raises(ValueError, match=r"^step is compiled and .* one kind"):
        own.Learner(njit(lambda d: 0), lambda *seen: seen)


MOVES = np.array([[[0.0, 1.0]] * 2, [[0.0, 1.0]] * 2])
ENDING = FiniteMDP(MOVES, np.ones((2, 2)), 1.0, terminal=[1])
COIN = np.full((2, 2), 0.5)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"start": None}, "^start is None"),
        ({"start": [0.5, 0.5]}, "no weight to a terminal state"),
        ({"mu": [[1.0, 0.0]] * 2}, "^mu never takes"),
        ({"features": np.eye(3)}, "^features has shape"),
        ({"reading": "none"}, "^reading is 'none'"),
        ({"theta0": [1.0]}, "^theta0"),
        ({"mdp": FiniteMDP([[[1.0, 0.0]] * 2] * 2, COIN, 0.5, terminal=[1])}, "^mu does not reach"),
    ],
)
def test_refusals_name_the_argument(changes, message):
    good = {"mdp": ENDING, "mu": COIN, "pi": COIN, "features": np.eye(4), "start": [1.0, 0.0]}
    assert own_domain(**good).truth.tolist() == [1.0, 1.0, 0.0, 0.0]
    with pytest.raises(ValueError, match=message):
        own_domain(**(good | changes))


def _path(steps, rng, **changes):
    none = np.zeros((steps, 2))
    return Trajectory(**({"phi": none, "reward": np.zeros(steps), "phi_next": none, "phi_next_expected": none,
                          "ends": np.zeros(steps, dtype=bool)} | changes))  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"name": 3}, r"^name is 3; it should be a str$"),
        ({"problem": np.eye(2)}, r"^problem is array.* a LinearPrediction$"),
        ({"theta0": [0.0]}, r"^theta0 has shape \(1,\); it should have shape \(2,\)$"),
        ({"theta0": [np.nan, 0.0]}, r"^theta0 is nan at \(0,\)"),
        ({"sampler": None}, r"^sampler is None; it should be a function$"),
        (
            {"sampler": lambda steps: None},
            r"^sampler takes \(steps\); it should take \(steps, rng\)$",
        ),
    ],
)
def test_a_plain_domain_names_what_it_refuses(changes, told):
    with pytest.raises(ValueError, match=told):
        Domain(
            **(
                {"name": "x", "problem": two_state(0.9).problem, "theta0": [0, 0], "sampler": _path}
                | changes
            )
        )


@pytest.mark.parametrize(
    ("sampler", "told"),
    [
        (lambda steps, rng: None, r"^sampler returned None; it should return a Trajectory$"),
        (
            lambda steps, rng: _path(steps - 1, rng),
            r"^sampler returned phi .* float64 of shape \(4, 2\)$",
        ),
        (
            partial(_path, reward=np.zeros((4, 1))),
            r"^sampler returned reward .* float64 of shape \(4,\)$",
        ),
        (partial(_path, reward=[0.0] * 4), r"^sampler returned reward .* float64 of shape \(4,\)$"),
        (
            partial(_path, phi_next=np.zeros((4, 2), dtype=int)),
            r"^sampler returned phi_next .* float64 of shape",
        ),
        (
            partial(_path, phi_next_expected=np.zeros((4, 3))),
            r"^sampler returned phi_next_expected .* of shape",
        ),
        (
            partial(_path, reward=np.full(4, np.nan)),
            r"^sampler returned reward with an entry that is not finite",
        ),
        (partial(_path, ends=np.zeros(4)), r"^sampler returned ends .* bool of shape \(4,\)$"),
        (
            partial(_path, ends=np.zeros(3, dtype=bool)),
            r"^sampler returned ends .* bool of shape \(4,\)$",
        ),
        (partial(_path, ends=[False] * 4), r"^sampler returned ends .* bool of shape \(4,\)$"),
    ],
)
def test_what_a_sampler_gets_wrong_is_no_divergence(sampler, told):
    domain = Domain("x", two_state(0.9).problem, [0.0, 0.0], sampler)
    setting = PredictionSetting(domain, lam=0.5, alpha=0.1, eta=1.0, steps=4, kept=2)
    for ask in (
        lambda: domain.trajectory(4, np.random.default_rng(0)),
        lambda: run_prediction(setting, 1, seed=0),
    ):
        with pytest.raises(ValueError, match=told):
            ask()
    assert len(replace(domain, sampler=_path).trajectory(4, np.random.default_rng(0))) == 4


def test_the_first_weights_are_the_domains_own():
    given = np.ones(2)
    domain = Domain("x", two_state(0.9).problem, given, _path)
    given[:] = 7.0
    np.testing.assert_array_equal(domain.theta0, [1.0, 1.0])
    assert not domain.theta0.flags.writeable
