"""A learner of one's own along a trajectory: what it sees at each step, what is kept, and what is refused by name."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gqlib.domains.base import Trajectory
from gqlib.domains.finite import WeightedTrajectory
from gqlib.fast._jit import njit
from gqlib.fast.own import Learner, Numbers, prepared

RNG = np.random.default_rng(0)
PATH = WeightedTrajectory(
    phi=RNG.random((6, 2)),
    reward=RNG.random(6),
    phi_next=RNG.random((6, 2)),
    phi_next_expected=RNG.random((6, 2)),
    ends=np.array([False, False, True, False, False, True]),
    rho=RNG.random(6),
)
BARE = Trajectory(PATH.phi, PATH.reward, PATH.phi_next, PATH.phi_next_expected, PATH.ends)
SIGMA = np.linspace(0.0, 1.0, 6)
NUMBERS: dict[str, Any] = {"pairs": True, "lam": 0.5, "gamma": 0.9, "kappa": 2.0, "every": 2}


def watched(*, target: bool = False) -> tuple[Learner, list[Any]]:
    """A learner that adds one to its weights at every step and writes down what it sees."""
    seen: list[Any] = []

    def step(theta: Any, memory: int, what: Any, rates: Any) -> Any:
        seen.append((memory, what, rates))
        return theta + 1.0, memory + 1

    return Learner(lambda d: 10 * d, step, target=target), seen


@pytest.mark.parametrize(("path", "rho"), [(PATH, PATH.rho), (BARE, np.ones(6))])
def test_a_learner_sees_its_step_the_numbers_and_its_memory(path: Trajectory, rho: Any) -> None:
    learner, seen = watched()
    kept, diverged = prepared(path, SIGMA, np.array([0.5, -0.5]), learner, **NUMBERS)(0.1, 0.2)
    assert diverged == -1
    assert kept.tolist() == [[0.5, -0.5], [2.5, 1.5], [4.5, 3.5], [6.5, 5.5]]
    assert len(seen) == 6
    for k, (memory, what, rates) in enumerate(seen):
        assert memory == 20 + k
        np.testing.assert_array_equal(what.phi, PATH.phi[k])
        np.testing.assert_array_equal(what.phi_next, PATH.phi_next[k])
        np.testing.assert_array_equal(what.phi_next_expected, PATH.phi_next_expected[k])
        assert (what.reward, what.rho, what.sigma, what.ends) == (
            PATH.reward[k],
            rho[k],
            SIGMA[k],
            PATH.ends[k],
        )
        assert rates == Numbers(0.5, 0.9, 0.1, 0.2, 2.0, True)


def test_a_compiled_learner_is_plain_by_the_functions_that_were_compiled() -> None:
    def start(d: Any) -> Any:
        return np.zeros(d)

    def step(theta: Any, memory: Any, seen: Any, rates: Any) -> Any:
        return theta, memory

    plain = Learner(njit(start), njit(step), target=True).plain()
    assert (plain.start, plain.step, plain.target) == (start, step, True)
    assert plain.plain() is plain


@pytest.mark.parametrize(
    ("bound", "diverged", "rows"), [(3.0, 4, 2), (2.9, 3, 2), (6.0, -1, 4), (0.0, 1, 1)]
)
def test_a_run_stops_where_a_weight_is_beyond_the_bound(
    bound: float, diverged: int, rows: int
) -> None:
    learner, _ = watched()
    kept, step = prepared(PATH, SIGMA, np.zeros(2), learner, bound=bound, **NUMBERS)(0.1, 0.2)
    assert step == diverged
    assert np.isfinite(kept).all(axis=1).tolist() == [True] * rows + [False] * (4 - rows)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"path": 3}, r"^path is 3; it should be "),
        ({"path": replace(PATH, phi=PATH.phi[0])}, r"^path\.phi has shape \(2,\)"),
        ({"path": replace(PATH, rho=PATH.rho[:5])}, r"^path\.rho has shape \(5,\)"),
        ({"path": replace(PATH, reward=PATH.reward[:5])}, r"^path\.reward has shape \(5,\)"),
        (
            {"path": replace(PATH, phi_next=PATH.phi_next[:5])},
            r"^path\.phi_next has shape \(5, 2\)",
        ),
        ({"path": replace(PATH, phi_next_expected=PATH.phi)}, None),
        (
            {"path": replace(PATH, phi_next_expected=PATH.phi[:, :1])},
            r"^path\.phi_next_expected has shape \(6, 1\)",
        ),
        (
            {"path": replace(PATH, ends=PATH.ends[:5])},
            r"^path\.ends is .*; it should hold 6 flags$",
        ),
        ({"path": replace(PATH, ends=np.zeros(6))}, r"^path\.ends is .*; it should hold 6 flags$"),
        ({"sigma": SIGMA[:5]}, r"^sigma has shape \(5,\)"),
        ({"theta0": np.zeros(3)}, r"^theta0 has shape \(3,\)"),
        ({"learner": 3}, r"^learner is 3; it should be "),
        ({"pairs": 1}, r"^pairs is 1"),
        ({"lam": -0.1}, r"^lam is -0\.1"),
        ({"lam": 1.1}, r"^lam is 1\.1"),
        ({"lam": 0.0}, None),
        ({"gamma": -0.1}, r"^gamma is -0\.1"),
        ({"gamma": 1.1}, r"^gamma is 1\.1"),
        ({"gamma": 0.0}, None),
        ({"kappa": -0.1}, r"^kappa is -0\.1"),
        ({"kappa": 0.0}, None),
        ({"every": 0}, r"^every is 0"),
        ({"every": 7}, r"^every is 7"),
        ({"every": 6}, None),
        ({"bound": -1.0}, r"^bound is -1"),
        ({"bound": 1e300}, None),
        (
            {"path": BARE, "learner": watched(target=True)[0]},
            r"^path has no ratios rho; for a learner that aims at the target policy it should$",
        ),
    ],
)
def test_what_does_not_fit_is_refused_by_name(changes: dict[str, Any], told: str | None) -> None:
    given = {
        "path": PATH,
        "sigma": SIGMA,
        "theta0": np.zeros(2),
        "learner": watched()[0],
        **NUMBERS,
    } | changes
    if told is None:
        prepared(**given)
        return
    with pytest.raises(ValueError, match=told):
        prepared(**given)


def test_step_sizes_and_the_parts_of_a_learner_are_checked() -> None:
    learn = prepared(PATH, SIGMA, np.zeros(2), watched()[0], **NUMBERS)
    for name, sizes in (("alpha", (np.nan, 0.1)), ("beta", (0.1, np.nan))):
        with pytest.raises(ValueError, match=rf"^{name} is nan"):
            learn(*sizes)
    for name in ("start", "step"):
        with pytest.raises(ValueError, match=rf"^{name} is 3"):
            Learner(**({"start": lambda d: 0, "step": lambda *seen: seen} | {name: 3}))
    with pytest.raises(ValueError, match=r"^target is 1"):
        Learner(lambda d: 0, lambda *seen: seen, target=1)
    assert Learner(lambda d: 0, lambda *seen: seen).target is False
