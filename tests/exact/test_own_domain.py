"""Policy evaluation on a problem of one's own: terminal states, ratios, indices, and learners beside GQ(σ, λ)."""

import sys
from dataclasses import replace
from functools import partial
from types import ModuleType

import numpy as np
import pytest

from gqlib import FiniteMDP
from gqlib.domains import (
    own_domain,
    random_policy,
    two_state,
)
from gqlib.domains.base import Domain, Trajectory
from gqlib.evaluation import PredictionSetting, run_prediction
from gqlib.evaluation.curves import curve_runs
from gqlib.learners.texts import LEARNERS


def maze(reading="pairs", d=4, gamma=0.95):
    """Four states and an end, three actions, random features that cannot represent q."""
    rng = np.random.default_rng(5)
    moves = rng.dirichlet(np.ones(5), size=(5, 3))
    moves[4] = 0.0
    mdp = FiniteMDP(moves, rng.standard_normal((5, 3)), gamma, terminal=[4])
    mu, pi = (random_policy(rng, 5, 3) for _ in range(2))
    features = rng.standard_normal((15 if reading == "pairs" else 5, d))
    return own_domain(mdp, mu, pi, features, start=[0.5, 0.5, 0, 0, 0], reading=reading)


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


@pytest.fixture
def module(monkeypatch):
    made = ModuleType("my_study")
    made.maze, made.tdrc, made.word = maze, LEARNERS["tdrc"], "nothing to call"
    monkeypatch.setitem(sys.modules, "my_study", made)
    return made


def test_names_of_ones_own_are_as_good_as_objects(module):
    named = settings("my_study:maze", "my_study:tdrc", options=(("reading", "expected"),))
    assert named.imported == ("my_study:maze", "my_study:tdrc")
    assert len(named.key) == 64
    by_name = curve_runs(named, 2, 0, first_run=0)
    by_object = curve_runs(settings(maze("expected"), LEARNERS["tdrc"]), 2, 0, first_run=0)
    for name in ("mspbe", "error"):
        np.testing.assert_array_equal(by_name[name], by_object[name])


def _path(steps, rng, **changes):
    none = np.zeros((steps, 2))
    return Trajectory(**({"phi": none, "reward": np.zeros(steps), "phi_next": none, "phi_next_expected": none,
                          "ends": np.zeros(steps, dtype=bool)} | changes))  # fmt: skip


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
