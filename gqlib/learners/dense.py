r"""The dense carrier: what a learner says (`gqlib.learners.texts`), carried out on whole vectors, as the paper writes it.

    e ← decay·e + gain·φ
    θ ← θ + trace·e + here·φ + chosen·φ' + expected·φ̄' + traced·E_μφ(S', ·)
    ω ← shrink·ω + β(omega_trace·e + on_phi·φ),                                  φ̄' = E_πφ(S', ·)

`step` is one step in plain NumPy, of the same text uncompiled; `loop_of` compiles a loop over a whole trajectory, whose
sums run in index order, without fastmath, so that its bits are the same everywhere. The lazy carrier, which does the same
at O(K |A|) per step, is `gqlib.engine._kernel`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

from gqlib._validate import Array
from gqlib.fast import COMPILE
from gqlib.fast._jit import njit
from gqlib.fast._kept import keep
from gqlib.learners._records import Before, Rates, Seen
from gqlib.learners.texts import Learner

__all__: list[str] = []  # arguments are checked by the steps and runs that stand on it


class Ratios(NamedTuple):
    """What a step knows of the two policies: ρ and π of its own action, and of the next one.

    Examples
    --------
    >>> Ratios(rho=2.0).rho_next
    1.0
    """

    rho: float = 1.0
    pi: float = 1.0
    rho_next: float = 1.0
    pi_next: float = 1.0


BARE = Ratios()


class Weights(NamedTuple):
    """θ, ω, the trace e, what the learner remembers within an episode, and what θ still has to gain.

    Examples
    --------
    >>> from gqlib.learners.texts import LEARNERS
    >>> begin(LEARNERS["gq"], [1.0, 2.0], rates(lam=0.5)).omega.tolist()
    [0.0, 0.0]
    """

    theta: Array
    omega: Array
    trace: Array
    memory: Any = (0.0,)
    due: Array | float = 0.0


def rates(
    *,
    lam: float = 0.0,
    gamma: float = 1.0,
    alpha: float = 0.0,
    beta: float = 0.0,
    kappa: float = 0.0,
) -> Rates:
    """The numbers of a learner off a control task, where expected features are given as they are.

    Examples
    --------
    >>> rates(alpha=0.1, beta=0.2).eta
    2.0
    """
    eta = beta / alpha if alpha else 0.0
    return Rates(lam, gamma, alpha, eta, beta, kappa, on_greedy=1.0, on_each=0.0)


@lru_cache(maxsize=256)
def plain(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same text uncompiled, with what it calls.

    Examples
    --------
    >>> from gqlib.learners.texts import LEARNERS
    >>> plain(LEARNERS["gq"].before)((0.0,), Before(0.0, 2.0, 0.0, 1.0, 1.0, 1.0), rates(lam=0.5))
    (0.5, 1.0, 1.0, -2.0)
    """
    text: Any = getattr(function, "py_func", function)
    called = {
        name: plain(text.__globals__[name])
        for name in text.__code__.co_names
        if hasattr(text.__globals__.get(name), "py_func")
    }
    around = text.__globals__ | called
    return FunctionType(text.__code__, around, text.__name__, text.__defaults__, text.__closure__)


def begin(learner: Learner, theta: Any, numbers: Rates) -> Weights:
    """θ as given, zeros, and what the learner remembers when an episode begins."""
    start = np.array(theta, dtype=float)
    none = np.zeros_like(start)
    return Weights(start, none, none, plain(learner.begin)(numbers), none)


def again(learner: Learner, weights: Weights, numbers: Rates) -> Weights:
    """The weights when the next episode begins: what was remembered within the last is forgotten, what is due is not.

    Examples
    --------
    >>> from gqlib.learners.texts import LEARNERS
    >>> ended = begin(LEARNERS["gq"], [1.0], rates())._replace(omega=np.ones(1), trace=np.ones(1))
    >>> again(LEARNERS["gq"], ended, rates())[:3]
    (array([1.]), array([1.]), array([0.]))
    """
    return begin(learner, weights.theta, numbers)._replace(omega=weights.omega, due=weights.due)


@np.errstate(over="ignore", invalid="ignore")  # what overflows is refused, or counted, by who asks
def step(
    learner: Learner,
    weights: Weights,
    phi: Array,
    reward: float,
    phi_next: Array,
    phi_next_expected: Array,
    numbers: Rates,
    *,
    sigma: float = 0.0,
    ratios: Ratios = BARE,
    phi_next_traced: Array | None = None,
) -> tuple[Weights, float]:
    """One step on vectors, which are not inspected; where an episode ends, those of the next pair are zero.

    `phi_next_traced` is E_μφ(S', ·), which few learners need, and by default φ'.

    Returns
    -------
    weights, delta

    Examples
    --------
    >>> from gqlib.learners.texts import LEARNERS
    >>> one, learner, numbers = np.ones(1), LEARNERS["gq"], rates(alpha=0.1, beta=0.1)
    >>> weights = begin(learner, one, numbers)._replace(omega=one)
    >>> weights, delta = step(learner, weights, one, 1.0, 2.0 * one, 2.0 * one, numbers, sigma=0.5)
    >>> weights.theta.round(4).tolist(), weights.omega.tolist(), delta
    ([1.0], [1.1], 2.0)
    """
    theta, omega, trace, memory, due = weights
    value, phi_omega = float(theta @ phi), float(phi @ omega)
    known = Before(value, phi_omega, float(trace @ phi), float(phi @ phi), ratios.rho, ratios.pi)
    decay, gain, shrink, on_phi = plain(learner.before)(memory, known, numbers)
    trace = decay * trace + gain * phi
    seen = Seen(
        reward,
        value,
        float(theta @ phi_next),
        float(theta @ phi_next_expected),
        sigma,
        ratios.rho_next,
        phi_omega,
        float(trace @ omega),
        float(trace @ trace),
        float(trace @ phi),
        ratios.pi_next,
        ratios.rho,
    )
    memory, change = plain(learner.after)(memory, seen, numbers)
    theta = theta + change.trace * trace
    if learner.here:
        theta = theta + change.here * phi
    if learner.gradient:
        omega = shrink * omega + numbers.beta * (change.omega_trace * trace + on_phi * phi)
        gained = change.chosen * phi_next + change.expected * phi_next_expected
        if learner.traced:
            gained = gained + change.traced * (
                phi_next if phi_next_traced is None else phi_next_traced
            )
        theta, due = theta + (due if learner.late else gained), gained
    return Weights(theta, omega, trace, memory, due), change.delta


@lru_cache(maxsize=64)
def loop_of(learner: Learner) -> Callable[..., tuple[Array, int]]:
    """The compiled learner on T steps: weights before the first and after every `every`, and the step of divergence.

    The loop takes φ, φ', φ̄' (T, d), a tuple of R, σ, ρ, π, ρ' and π' (T,), whether an episode ends (T,), θ_0, `Rates`,
    `every` and the bound beyond which a weight has diverged; the step is −1 where none has, and rows after it are NaN.
    """
    begins, before, after = learner.begin, learner.before, learner.after
    gradient, here, late = learner.gradient, learner.here, learner.late
    traced = learner.traced

    @njit(nogil=True, **COMPILE | {"cache": False})
    def run(
        phis: Any, nexts: Any, expecteds: Any, numbers: Any, ends: Any, theta0: Any, rates: Any, every: Any, bound: Any
    ) -> Any:  # fmt: skip
        rewards, sigmas, rhos, pis, rho_nexts, pi_nexts = numbers
        steps, size = phis.shape
        kept = np.full((steps // every + 1, size), np.nan)
        theta, omega, trace, due = theta0.copy(), np.zeros(size), np.zeros(size), np.zeros(size)
        memory = begins(rates)
        kept[0] = theta
        for k in range(steps):
            phi, following, expected = phis[k], nexts[k], expecteds[k]
            value, phi_omega, phi_trace, norm = 0.0, 0.0, 0.0, 0.0
            for i in range(size):
                value += theta[i] * phi[i]
                phi_omega += phi[i] * omega[i]
                phi_trace += phi[i] * trace[i]
                norm += phi[i] * phi[i]
            decay, gain, shrink, on_phi = before(
                memory, Before(value, phi_omega, phi_trace, norm, rhos[k], pis[k]), rates
            )
            sampled, awaited, along, trace_norm, phi_trace = 0.0, 0.0, 0.0, 0.0, 0.0
            for i in range(size):
                trace[i] = decay * trace[i] + gain * phi[i]
                sampled += theta[i] * following[i]
                awaited += theta[i] * expected[i]
                along += trace[i] * omega[i]
                trace_norm += trace[i] * trace[i]
                phi_trace += trace[i] * phi[i]
            seen = Seen(
                rewards[k], value, sampled, awaited, sigmas[k], rho_nexts[k],
                phi_omega, along, trace_norm, phi_trace, pi_nexts[k], rhos[k],
            )  # fmt: skip
            memory, change = after(memory, seen, rates)
            alive = True
            for i in range(size):
                gained = change.trace * trace[i]
                if here:
                    gained += change.here * phi[i]
                if gradient:
                    ahead = change.chosen * following[i] + change.expected * expected[i]
                    if traced:
                        ahead += change.traced * following[i]
                    gained += due[i] if late else ahead
                    due[i] = ahead
                    moved = change.omega_trace * trace[i] + on_phi * phi[i]
                    omega[i] = shrink * omega[i] + rates.beta * moved
                theta[i] += gained
                alive = alive and abs(theta[i]) <= bound
            if not alive:
                return kept, k + 1
            if ends[k]:
                trace[:] = 0.0
                memory = begins(rates)
            if (k + 1) % every == 0:
                kept[(k + 1) // every] = theta
        return kept, -1

    compiled: Callable[..., tuple[Array, int]] = keep(run)
    return compiled
