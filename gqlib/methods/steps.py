r"""One sampled step of every method, for one run or for many at once, and runs of it on walks of a task.

A step sees what `gqlib.methods.task` lists. With e_k = κc e_{k−1} + m_kφ_k, w the weight of the error, u what it
bootstraps from, z = w_ke_k and y_k = w_ku_{k+1} − (what the trace carries on, over γ),

    semi-gradient   θ += αδz
    TDC, TDRC       θ += α(δz − γ(eᵀω)y),              ω += ηα(δz − φφᵀω − κ_rω)
    GTD2            θ += α(φφᵀω − γ(eᵀω)y),            ω += ηα(δz − φφᵀω)
    proximal GTD2   the same step twice, the second from (θ, ω) after the first, applied to (θ, ω) before it
    HTD             θ += α(δz + (φ − γu)(zᵀω) − (φ − γφ')(e^μᵀω)),     ω += ηα(δz − (φ − γφ')(e^μᵀω))
    A_tᵀTD          θ += α w(φ − γu)(φᵀg), g = wδφ of an earlier step whose δ is of the present θ

For c = ρ on states, y = (1−λ)ρφ' and z = ρ(γλz + φ): the textbook forms. A_tᵀTD pairs step k with an earlier one, and
the gap grows like ln²k. LSTD keeps Σz(φ − γu)ᵀ and Σzr and is solved where it is kept.
Arrays have shape (..., d), so one text serves one run and a thousand; nothing is drawn here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gqlib import _validate as check
from gqlib._validate import Array
from gqlib.methods.catalogue import Method, coefficients
from gqlib.methods.mean import error_weights, next_features
from gqlib.methods.task import Task, Walks
from gqlib.rules import LARGEST_WEIGHT

__all__ = ["Ensemble", "Seen", "Weights", "gap", "method_step", "run_method"]

GAP_SCALE = 1.0
# Singular values of LSTD's matrix below this share of the largest count as zero: directions not seen yet.
SINGULAR = 1e-10


@dataclass(frozen=True)
class Weights:
    """θ, ω, the trace e, the behaviour's own trace e^μ, each (..., d), and the follow-on F, (..., 1).

    Examples
    --------
    >>> Weights.first([1.0, 2.0]).omega.tolist()
    [0.0, 0.0]
    """

    theta: Array
    omega: Array
    trace: Array
    own: Array
    follow: Array

    @classmethod
    def first(cls, theta0: ArrayLike) -> Weights:
        """θ_0, and zeros."""
        theta = check.array("theta0", theta0, (None,) * max(1, check.dimensions(theta0))).copy()
        zero = np.zeros_like(theta)
        return cls(theta, zero, zero, zero, np.zeros((*theta.shape[:-1], 1)))


@dataclass(frozen=True)
class Seen:
    """What a step sees: φ, r, u' and φ' (zero where the episode ends), w, and the coefficients on either side of φ.

    `goes_on` is 0 at the first step of an episode and 1 at others; `c` and `rho` belong to the action between the last
    feature and this one, `onward` is the c between this feature and the next.

    Examples
    --------
    >>> Seen([1.0], 0.0, [1.0], [1.0], w=2.0, c=1.0, rho=2.0, onward=2.0, goes_on=0.0).phi
    [1.0]
    """

    phi: ArrayLike
    reward: ArrayLike
    u: ArrayLike
    after: ArrayLike
    w: ArrayLike
    c: ArrayLike
    rho: ArrayLike
    onward: ArrayLike
    goes_on: ArrayLike = 1.0


def _dot(one: Array, other: Array) -> Array:
    return np.asarray((one * other).sum(axis=-1, keepdims=True))


def gap(step: int) -> int:
    """⌊ln²(k + 1)⌋, at most k: how far back A_tᵀTD reaches at step k.

    Examples
    --------
    >>> [gap(k) for k in (0, 1, 100, 10_000)]
    [0, 0, 21, 84]
    """
    k = check.integer("step", step, low=0, high=2**63 - 1)
    return min(k, int(GAP_SCALE * np.log(k + 1.0) ** 2))


def method_step(
    method: Method,
    seen: Seen,
    weights: Weights,
    *,
    lam: float,
    gamma: float,
    alpha: ArrayLike,
    eta: float = 1.0,
    earlier: Seen | None = None,
) -> Weights:
    """One step of a method; for ABTD, whose c says how far the trace reaches, `lam` is 1.

    Parameters
    ----------
    alpha : array_like
        One step size, or an array that broadcasts against θ.
    earlier : Seen, optional
        For A_tᵀTD: the step whose error is used, by default this one.

    Examples
    --------
    >>> from gqlib.methods.catalogue import METHODS
    >>> seen = Seen([1.0], 0.5, [2.0], [2.0], w=2.0, c=1.0, rho=2.0, onward=2.0, goes_on=0.0)
    >>> first = Weights(*(np.array([x]) for x in (1.0, 1.0, 0.0, 0.0, 0.0)))
    >>> done = method_step(METHODS["TDC(λ)"], seen, first, lam=0.0, gamma=1.0, alpha=0.1)
    >>> done.theta.round(4).tolist(), done.omega.round(4).tolist(), done.trace.tolist()
    ([0.9], [1.2], [1.0])
    """
    check.instance("method", method, Method)
    check.instance("seen", seen, Seen)
    check.instance("weights", weights, Weights)
    lam, gamma = (
        check.scalar("lam", lam, low=0.0, high=1.0),
        check.scalar("gamma", gamma, low=0.0, high=1.0),
    )
    eta = check.scalar("eta", eta, low=0.0)
    step, then = check.reals("alpha", alpha), seen if earlier is None else earlier
    check.instance("earlier", then, Seen)
    new = _step(method, _arrays(seen), weights, lam, gamma, step, eta, _arrays(then))
    check.finite(theta=new.theta, omega=new.omega, trace=new.trace)
    return new


class _Arrays(NamedTuple):
    """The fields of `Seen` as arrays; those with one number per run have a last axis of length one."""

    phi: Array
    reward: Array
    u: Array
    after: Array
    w: Array
    c: Array
    rho: Array
    onward: Array
    goes_on: Array


def _arrays(seen: Seen) -> _Arrays:
    given = {
        field.name: check.reals(field.name, getattr(seen, field.name)) for field in fields(Seen)
    }
    return _Arrays(
        **{name: x if name in ("phi", "u", "after") else x[..., None] for name, x in given.items()}
    )


def _step(
    method: Method,
    seen: _Arrays,
    old: Weights,
    lam: float,
    gamma: float,
    alpha: Array,
    eta: float,
    earlier: _Arrays,
) -> Weights:
    phi, reward, u, after, w, c, rho, onward, goes_on = seen
    follow, emphasis = old.follow, np.ones(1)
    if method.emphasis:
        follow = 1.0 + (gamma if method.beta is None else method.beta) * goes_on * rho * old.follow
        emphasis = lam + (1.0 - lam) * follow
    e = gamma * lam * goes_on * c * old.trace + emphasis * phi
    theta, omega, own = old.theta, old.omega, old.own
    delta = reward + gamma * _dot(theta, u) - _dot(theta, phi)
    along = w * delta * e
    if method.update == "semi-gradient":
        return Weights(theta + alpha * along, omega, e, own, follow)
    if method.update == "direct":
        error = earlier.w * (
            earlier.reward + gamma * _dot(theta, earlier.u) - _dot(theta, earlier.phi)
        )
        move = w * (phi - gamma * u) * (_dot(phi, earlier.phi) * error)
        return Weights(theta + alpha * move, omega, e, own, follow)
    if method.update == "htd":
        own = gamma * lam * goes_on * old.own + phi
        pulled = (phi - gamma * after) * _dot(own, omega)
        theta = theta + alpha * (along + w * (phi - gamma * u) * _dot(e, omega) - pulled)
        return Weights(theta, omega + eta * alpha * (along - pulled), e, own, follow)
    y = w * u - lam * onward * after
    correction = gamma * _dot(e, omega) * y
    projected = phi * _dot(phi, omega)
    if method.update in ("tdc", "tdrc"):
        ridge = method.kappa * omega
        moved = theta + alpha * (along - correction)
        return Weights(moved, omega + eta * alpha * (along - projected - ridge), e, own, follow)
    moved, turned = (
        theta + alpha * (projected - correction),
        omega + eta * alpha * (along - projected),
    )
    if method.update == "proximal":
        delta = reward + gamma * _dot(moved, u) - _dot(moved, phi)
        projected = phi * _dot(phi, turned)
        correction = gamma * _dot(e, turned) * y
        moved = theta + alpha * (projected - correction)
        turned = omega + eta * alpha * (w * delta * e - projected)
    return Weights(moved, turned, e, own, follow)


@dataclass(frozen=True)
class Ensemble:
    """θ before the first step and after every `every` steps, (kept, alphas, runs, d), and which runs diverged.

    A run with a weight beyond `gqlib.rules.LARGEST_WEIGHT` has diverged and stays where it was last below it.

    Examples
    --------
    >>> from gqlib.domains import five_state_walk
    >>> from gqlib.methods.catalogue import METHODS
    >>> task = Task.of(five_state_walk())
    >>> walks = task.walks(4, 1000, np.random.default_rng(0))
    >>> runs = run_method(task, METHODS["TDRC(λ)"], walks, lam=0.0, alphas=[0.05, 0.1], every=500)
    >>> runs.theta.shape, int(runs.diverged.sum())
    ((3, 2, 4, 5), 0)
    """

    theta: Array
    diverged: NDArray[np.bool_]


def _tables(tasks: list[Task], method: Method) -> tuple[Array, Array]:
    """φ and u by run and pair, (runs or 1, n, d)."""
    return np.stack([task.phi for task in tasks]), np.stack(
        [next_features(task, method) for task in tasks]
    )


def run_method(
    task: Task | list[Task],
    method: Method,
    walks: Walks,
    *,
    lam: float,
    alphas: ArrayLike,
    eta: float = 1.0,
    every: int = 1,
) -> Ensemble:
    """A method on every walk with every step size.

    Parameters
    ----------
    task : gqlib.methods.task.Task, or a list of them
        One for all runs, or one for each: then they share the chain and differ in features.
    method : Method
        One of `gqlib.methods.METHODS`, or one of your own.
    walks : Walks
        From `Task.walks`.
    lam : float
        λ; for ABTD ζ.
    alphas : array_like, (alphas,)
        Step sizes of θ, none negative; each runs on every walk. Least squares has none, and gives the same for all.
    eta : float
        The step size of ω divided by that of θ, where there is an ω.
    every : int
        θ is kept after so many steps, and again; what is left of a walk after the last of them is not seen.

    Examples
    --------
    >>> from gqlib.domains import collision
    >>> from gqlib.methods.catalogue import METHODS
    >>> task = Task.of(collision())
    >>> walks = task.walks(5, 4000, np.random.default_rng(0))
    >>> done = run_method(task, METHODS["LSTD(λ)"], walks, lam=0.0, alphas=[1.0], every=4000).theta[-1, 0]
    >>> bool(max(task.error(theta) for theta in done) < 0.1)
    True
    """
    tasks = task if isinstance(task, list) else [task]
    if not tasks:
        raise ValueError("task is []; it should be a Task, or a list of one or of one for each run")
    for each in tasks:
        check.instance("task", each, Task)
    first = tasks[0]
    check.instance("walks", walks, Walks)
    check.instance("method", method, Method)
    steps, runs = walks.ends.shape
    alike = all(np.array_equal(each.chain, first.chain) and each.d == first.d for each in tasks)
    if len(tasks) not in (1, runs) or not alike:
        raise ValueError(
            f"task holds {len(tasks)}; it should hold one, or one for each of {runs} runs on one chain"
        )
    every = check.integer("every", every, low=1, high=steps)
    sizes = check.array("alphas", alphas, (None,))[:, None, None]
    if (sizes < 0).any():
        raise ValueError(f"alphas is {check.brief(alphas)}; no entry should be negative")
    eta, lam = check.scalar("eta", eta, low=0.0), check.scalar("lam", lam, low=0.0, high=1.0)
    c, _ = coefficients(first, method, lam)
    reach = 1.0 if method.trace == "abtd" else lam
    phi, u = _tables(tasks, method)
    w, rho, states = error_weights(first, method), first.rho, first.on == "states"
    here = np.zeros(runs, dtype=np.intp) if len(tasks) == 1 else np.arange(runs)
    check.room("walks", steps, 8 * len(sizes) * runs * first.d)

    def seen_at(k: int) -> _Arrays:
        now, then, goes = (
            walks.index[k],
            walks.index[k + 1],
            np.where(walks.ends[k], 0.0, 1.0)[:, None],
        )
        begins = np.zeros(runs) if k == 0 else np.where(walks.ends[k - 1], 0.0, 1.0)
        linked = walks.index[max(k - 1, 0)] if states else now
        between, onward = c[linked], c[now if states else then]
        columns = (x[:, None] for x in (w[now], between, rho[linked], onward, begins))
        rewards = first.rewards[now][:, None]
        return _Arrays(
            phi[here, now], rewards, goes * u[here, then], goes * phi[here, then], *columns
        )

    theta = np.tile(first.theta0, (len(sizes), runs, 1))
    # A trace does not depend on the step size.
    weights = Weights(
        theta, np.zeros_like(theta), *(np.zeros((runs, size)) for size in (first.d, first.d, 1))
    )
    kept, alive = [theta.copy()], np.ones((len(sizes), runs, 1), dtype=bool)
    if method.update == "least squares":
        return Ensemble(
            _least_squares(first, walks, seen_at, reach, len(sizes), every), ~alive[..., 0]
        )
    for k in range(steps):
        seen = seen_at(k)
        earlier = seen_at(k - gap(k)) if method.update == "direct" else seen
        with np.errstate(over="ignore", invalid="ignore"):
            new = _step(method, seen, weights, reach, first.gamma, sizes * alive, eta, earlier)
            alive &= (np.abs(new.theta).max(axis=-1) <= LARGEST_WEIGHT)[..., None]
        theta, omega = (
            np.where(alive, x, y)
            for x, y in ((new.theta, weights.theta), (new.omega, weights.omega))
        )
        weights = Weights(theta, omega, new.trace, new.own, new.follow)
        if (k + 1) % every == 0:
            kept.append(theta.copy())
    return Ensemble(np.array(kept), ~alive[..., 0])


def _least_squares(
    task: Task, walks: Walks, seen_at: Callable[[int], _Arrays], lam: float, copies: int, every: int
) -> Array:
    """θ of LSTD(λ) where it is kept, (kept, copies, runs, d): the same for every step size."""
    runs, d = walks.ends.shape[1], task.d
    trace, right, system = np.zeros((runs, d)), np.zeros((runs, d)), np.zeros((runs, d, d))
    kept = [np.tile(task.theta0, (copies, runs, 1))]
    for k in range(len(walks.ends)):
        seen = seen_at(k)
        trace = task.gamma * lam * seen.goes_on * seen.c * trace + seen.phi
        system += trace[:, :, None] * (seen.w * (seen.phi - task.gamma * seen.u))[:, None, :]
        right += seen.w * seen.reward * trace
        if (k + 1) % every == 0:
            solved = np.einsum("rij,rj->ri", np.linalg.pinv(system, rcond=SINGULAR), right)
            kept.append(np.tile(solved, (copies, 1, 1)))
    return np.array(kept)
