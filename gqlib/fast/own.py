r"""Prediction learners as data: a learner is two functions, and runs on any trajectory, compiled or not.

    start(d)                               what it keeps beside θ: an array, or a tuple of arrays
    step(theta, memory, seen, rates)       (theta, memory) after one step

`seen` (`Step`) is what a trajectory shows of the step, `rates` (`Numbers`) holds λ, γ, α, β and κ. Functions that are
compiled by ``numba.njit`` run in a compiled loop; plain Python functions run step by step. Two are here:

    TDRC(λ)      TDC(λ) with a ridge κ on ω (Ghiassian et al. 2020; `gqlib.ridge`), ω += β(δe − φφᵀω − κω)
    emphatic     emphatic TD(λ) with interest 1 (Sutton, Mahmood and White 2016; `gqlib.emphatic`)

Both weight by ρ and so aim at π. On pairs the first action is given and needs no weight:

                 on states                                   on pairs
    e_k          ρ_k(γλ e_{k−1} + w_k φ_k)                   γλρ_k e_{k−1} + w_k φ_k
    δ_k          R + γθᵀφ_{k+1} − θᵀφ_k                       R + γθᵀE_πφ(S_{k+1}, ·) − θᵀφ_k
    F_k          γρ_{k−1}F_{k−1} + 1                         γρ_k F_{k−1} + 1

with w_k = 1 for TDRC and w_k = λ + (1−λ)F_k for emphatic TD. An end resets e and F.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gqlib import _validate as check
from gqlib._validate import Array
from gqlib.domains.base import Trajectory
from gqlib.domains.finite import WeightedTrajectory
from gqlib.fast import COMPILE
from gqlib.fast._jit import is_jitted, njit
from gqlib.rules import LARGEST_WEIGHT

__all__ = ["EMPHATIC", "TDRC", "Learner", "Numbers", "Step"]


class Step(NamedTuple):
    """What a learner sees of one step.

    Parameters
    ----------
    phi, phi_next, phi_next_expected : ndarray, (d,)
        Features of the step, of the next pair, and those expected for it under the target policy.
    reward, rho, sigma : float
    ends : bool
        Whether an episode ends with the step: what the learner carries over should then be reset.

    Examples
    --------
    >>> Step(np.ones(1), 1.0, np.ones(1), np.ones(1), 2.0, 0.5, False).rho
    2.0
    """

    phi: Array
    reward: float
    phi_next: Array
    phi_next_expected: Array
    rho: float
    sigma: float
    ends: bool


class Numbers(NamedTuple):
    """The numbers of a learner: λ, γ, α, β = ηα and the ridge κ; and whether features are those of pairs.

    Examples
    --------
    >>> Numbers(0.9, 0.99, 0.1, 0.1, 1.0, True).pairs
    True
    """

    lam: float
    gamma: float
    alpha: float
    beta: float
    kappa: float
    pairs: bool


@dataclass(frozen=True)
class Learner:
    """A learner: `start(d)` gives its memory, `step(theta, memory, seen, rates)` returns θ and the memory afterwards.

    Parameters
    ----------
    start, step : callable
        See the module. Both compiled by ``numba.njit``, or both plain. They should not change arrays in place.
    target : bool
        Whether it weights by ρ and so aims at the value of π: its MSPBE is then that of π.

    Examples
    --------
    Semi-gradient TD(0) from sampled next features:

    >>> from numba import njit
    >>> from gqlib.domains import boyan_chain
    >>> from gqlib.evaluation import PredictionSetting, run_prediction
    >>> start = njit(lambda d: np.zeros(d))
    >>> @njit
    ... def step(theta, memory, seen, rates):
    ...     delta = seen.reward + rates.gamma * (theta @ seen.phi_next) - theta @ seen.phi
    ...     return theta + rates.alpha * delta * seen.phi, memory
    >>> mine, same = Learner(start, step), "semi-gradient"
    >>> results = [
    ...     run_prediction(PredictionSetting(boyan_chain(), learner=learner, alpha=0.1, steps=100, kept=2), 3, seed=0)
    ...     for learner in (mine, same)]
    >>> bool(np.allclose(results[0].theta, results[1].theta)), results[0].theta.shape
    (True, (3, 3, 4))
    >>> mine.plain().step is step.py_func
    True
    """

    start: Callable[[int], Any]
    step: Callable[..., Any]
    target: bool = False

    def __post_init__(self) -> None:
        check.function("start", self.start)
        check.function("step", self.step)
        check.flag("target", self.target)
        if is_jitted(self.start) != is_jitted(self.step):
            raise ValueError(
                "step is compiled and start is not, or the reverse; they should be of one kind"
            )

    def plain(self) -> Learner:
        """The same learner as plain Python."""
        if not is_jitted(self.step):
            return self
        compiled: tuple[Any, Any] = self.start, self.step
        return Learner(compiled[0].py_func, compiled[1].py_func, self.target)


@njit(**COMPILE)
def _two_vectors(d: Any) -> Any:
    return np.zeros(d), np.zeros(d)


@njit(**COMPILE)
def _tdrc_step(theta: Any, memory: Any, seen: Any, rates: Any) -> Any:
    """One step of TDRC(λ): see the module."""
    omega, trace = memory
    first = 1.0 if rates.pairs else seen.rho
    after = seen.phi_next_expected if rates.pairs else seen.phi_next
    trace = rates.gamma * rates.lam * seen.rho * trace + first * seen.phi
    delta = seen.reward + rates.gamma * (theta * after).sum() - (theta * seen.phi).sum()
    along, projected = (trace * omega).sum(), (seen.phi * omega).sum()
    theta = theta + rates.alpha * (delta * trace - rates.gamma * (1.0 - rates.lam) * along * after)
    omega = omega + rates.beta * (delta * trace - projected * seen.phi - rates.kappa * omega)
    return theta, (omega, (0.0 if seen.ends else 1.0) * trace)


@njit(**COMPILE)
def _emphatic_step(theta: Any, memory: Any, seen: Any, rates: Any) -> Any:
    """One step of emphatic TD(λ): the memory holds e and, in its first entry, F times the ρ that is due."""
    carried, trace = memory
    weight = seen.rho if rates.pairs else 1.0
    follow_on = rates.gamma * weight * carried[0] + 1.0
    emphasis = rates.lam + (1.0 - rates.lam) * follow_on
    first = 1.0 if rates.pairs else seen.rho
    after = seen.phi_next_expected if rates.pairs else seen.phi_next
    trace = rates.gamma * rates.lam * seen.rho * trace + first * emphasis * seen.phi
    delta = seen.reward + rates.gamma * (theta * after).sum() - (theta * seen.phi).sum()
    theta = theta + rates.alpha * delta * trace
    kept = 0.0 if seen.ends else 1.0
    due = follow_on if rates.pairs else seen.rho * follow_on
    return theta, (np.full(len(carried), kept * due), kept * trace)


TDRC = Learner(_two_vectors, _tdrc_step, target=True)
EMPHATIC = Learner(_two_vectors, _emphatic_step, target=True)


def _loop(start: Any, step: Any) -> Callable[..., Any]:
    """The loop over a trajectory for one learner; it compiles if both functions are compiled."""

    def loop(seen: Any, theta0: Any, rates: Any, every: Any, bound: Any) -> Any:
        phi, reward, following, expected, rho, sigma, ends = seen
        steps, size = phi.shape
        kept = np.full((steps // every + 1, size), np.nan)
        theta, memory = theta0.copy(), start(size)
        kept[0] = theta
        for k in range(steps):
            what = Step(phi[k], reward[k], following[k], expected[k], rho[k], sigma[k], ends[k])
            theta, memory = step(theta, memory, what, rates)
            if not (np.abs(theta) <= bound).all():
                return kept, k + 1
            if (k + 1) % every == 0:
                kept[(k + 1) // every] = theta
        return kept, -1

    return loop


@lru_cache(maxsize=32)
def _compiled(start: Any, step: Any) -> Callable[..., Any]:
    options = COMPILE | {
        "cache": False
    }  # a closure over functions that were handed in has no file to be kept by
    found: Callable[..., Any] = njit(**options)(_loop(start, step))
    return found


def prepared(
    path: Trajectory,
    sigma: Array,
    theta0: Array,
    learner: Learner,
    *,
    pairs: bool,
    lam: float,
    gamma: float,
    kappa: float,
    every: int,
    bound: float = LARGEST_WEIGHT,
) -> Callable[[float, float], tuple[Array, int]]:
    """A learner on a trajectory as a function of (α, β), as `gqlib.fast.prediction.prepared`.

    Where the trajectory has no ρ, learners that aim at π are refused, and others see ρ = 1.

    Examples
    --------
    >>> from gqlib.domains import boyan_chain
    >>> domain = boyan_chain()
    >>> path = domain.trajectory(100, np.random.default_rng(0))
    >>> learn = prepared(path, np.zeros(100), domain.theta0, TDRC, pairs=False, lam=0.5, gamma=1.0, kappa=1.0, every=50)
    >>> weights, step = learn(0.1, 0.1)
    >>> weights.shape, step
    ((3, 4), -1)
    """
    check.instance("path", path, Trajectory)
    check.instance("learner", learner, Learner)
    phi = check.array("path.phi", path.phi, (None, None))
    steps, size = phi.shape
    if isinstance(path, WeightedTrajectory):
        rho = check.array("path.rho", path.rho, (steps,))
    elif learner.target:
        raise ValueError(
            "path has no ratios rho; for a learner that aims at the target policy it should"
        )
    else:
        rho = np.ones(steps)
    ends: NDArray[np.bool_] = np.asarray(path.ends)
    if ends.dtype != np.bool_ or ends.shape != (steps,):
        raise ValueError(f"path.ends is {check.brief(path.ends)}; it should hold {steps} flags")
    seen = (
        phi,
        check.array("path.reward", path.reward, (steps,)),
        check.array("path.phi_next", path.phi_next, (steps, size)),
        check.array("path.phi_next_expected", path.phi_next_expected, (steps, size)),
        rho,
        check.array("sigma", sigma, (steps,)),
        ends,
    )
    first = check.array("theta0", theta0, (size,))
    pairs = check.flag("pairs", pairs)
    lam, gamma = (
        check.scalar("lam", lam, low=0.0, high=1.0),
        check.scalar("gamma", gamma, low=0.0, high=1.0),
    )
    kappa = check.scalar("kappa", kappa, low=0.0)
    every = check.integer("every", every, low=1, high=steps)
    bound = check.scalar("bound", bound, low=0.0, largest=np.inf)
    loop = (_compiled if is_jitted(learner.step) else _loop)(learner.start, learner.step)

    def learn(alpha: float, beta: float) -> tuple[Array, int]:
        alpha, beta = check.numbers(alpha=alpha, beta=beta)
        with np.errstate(over="ignore", invalid="ignore"):  # divergence is counted, not warned of
            kept, step = loop(
                seen, first, Numbers(lam, gamma, alpha, beta, kappa, pairs), every, bound
            )
        return np.asarray(kept), int(step)

    return learn
