r"""The exact mean of every method: A, b, the correction V, the hybrid's A_μ, and the joint matrix J(η).

Let K_ij = P_ij c (c of i on states, of j on pairs), κ the decay of the trace (γλ), w_i the weight of the error (ρ_i or
min(1, ρ_i) on states, 1 on pairs), N_i = Σ_j P_ij u_j what is bootstrapped from, f the follow-on. One solve gives the
trace weights X_j = ξ_j E[e_k | j], and sums over pairs the rest:

    f = (I − βK_ρᵀ)⁻¹ ξ,      m = λξ + (1−λ)f  with emphasis,  ξ without,
    X = (I − κKᵀ)⁻¹ diag(m) Φ,
    A = Xᵀ diag(w)(γN − Φ),      b = Xᵀ diag(w) r,      V = (γ diag(w) N − κKΦ)ᵀ X.

V is the mean of what TDC subtracts, w_k u_{k+1} − (what the trace carries on): it is M + Aᵀ wherever the first factor
of the trace is φ itself, as in Proposition 1. The mean motion of (θ, ω) with β = ηα is J(η), in blocks:

    semi-gradient   [A]                    GTD2, proximal   [[0, M − V], [ηA, −ηM]]
    TDC             [[A, −V], [ηA, −ηM]]   HTD              [[A, −(A − A_μ)ᵀ], [ηA, ηA_μᵀ]]
    TDRC            the same, M + κ_rI     A_tᵀTD           [−AᵀA]            LSTD   [−I]

A_μ = E[e^μ(γφ' − φ)ᵀ], e^μ = γλe^μ + φ, is on-policy TD(λ)'s own matrix, whatever π is. On pairs HTD samples φ' there:
our choice, since it was published on states. All blocks are on the row space of the features (`Task.basis`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from gqlib import _validate as check
from gqlib._validate import Array
from gqlib.learners.gq import mix
from gqlib.methods.catalogue import Method, coefficients
from gqlib.methods.task import Task
from gqlib.variance import MARGIN

__all__ = ["Means", "carried", "fixed_point", "followon", "joint_of", "means", "next_features"]


@dataclass(frozen=True)
class Means:
    """X (n, d), and A, b, V and A_μ of a method on a task at one λ.

    Examples
    --------
    >>> from gqlib.domains import collision
    >>> from gqlib.methods.catalogue import METHODS
    >>> task = Task.of(collision())
    >>> given = means(task, METHODS["TDC(λ)"], 0.5)
    >>> bool(np.allclose(given.V, task.M + given.A.T))
    True
    """

    X: Array
    A: Array
    b: Array
    V: Array
    A_mu: Array


def carried(task: Task, c: ArrayLike) -> Array:
    """K_ij = P_ij c, (n, n): c of the earlier pair on states, of the later one on pairs.

    Examples
    --------
    >>> from gqlib.domains import five_state_walk
    >>> task = Task.of(five_state_walk())
    >>> bool(np.allclose(carried(task, task.rho).sum(axis=1)[4:10], task.rho[4:10]))  # no end next to these states
    True
    """
    check.instance("task", task, Task)
    weights = check.array("c", c, (task.n,))
    return np.asarray(task.chain * (weights[:, None] if task.on == "states" else weights))


def _resolvent(name: str, kept: Array, right: Array) -> Array:
    """(I − keptᵀ)⁻¹ right, refused where the sum behind it is infinite."""
    radius = float(np.abs(np.linalg.eigvals(kept)).max())
    if not radius < 1.0 - MARGIN:
        raise ValueError(
            f"{name} carries on {radius:.4g} of itself in the mean; it should be less than 1"
        )
    return np.asarray(np.linalg.solve(np.eye(len(kept)) - kept.T, right))


def followon(task: Task, method: Method) -> Array:
    """f_j = ξ_j E[F_k | j], (n,), of F_k = 1 + βρF_{k−1}; ξ for a method without emphasis.

    Examples
    --------
    >>> from gqlib.domains import collision
    >>> from gqlib.methods.catalogue import METHODS
    >>> task = Task.of(collision())
    >>> f = followon(task, METHODS["ETD(λ)"]).reshape(-1, 2).sum(axis=1)[:8] / task.xi.reshape(-1, 2).sum(axis=1)[:8]
    >>> f.round(3).tolist()  # E[F] grows on the way to the wall
    [1.0, 1.45, 1.87, 2.262, 3.036, 6.465, 12.637, 23.746]
    """
    check.instance("method", method, Method)
    check.instance("task", task, Task)
    if not method.emphasis:
        return task.xi
    beta = task.gamma if method.beta is None else method.beta
    return _resolvent("beta", beta * carried(task, task.rho), task.xi)


def next_features(task: Task, method: Method) -> Array:
    """What the error bootstraps from, by the next pair, (n, d).

    Examples
    --------
    >>> from gqlib.domains import five_state_walk
    >>> from gqlib.methods.catalogue import METHODS
    >>> task = Task.of(five_state_walk(), on="pairs")
    >>> next_features(task, METHODS["TD(λ)"])[2].tolist()[:2]  # E_πφ of the first state, with one block per action
    [0.4, 0.0]
    """
    check.instance("task", task, Task)
    check.instance("method", method, Method)
    if method.error == "mixed":
        return np.asarray(mix(method.sigma, task.phi, task.u))
    if method.error == "weighted":
        return np.asarray(mix(method.sigma, task.rho[:, None] * task.phi, task.u))
    return task.u


def error_weights(task: Task, method: Method) -> Array:
    """Weights of the error by pair, (n,): ρ or min(1, ρ) on states, 1 on pairs."""
    if task.on == "pairs":
        return np.ones(task.n)
    return np.minimum(1.0, task.rho) if method.error == "clipped" else task.rho


def means(task: Task, method: Method, lam: float) -> Means:
    """Everything about the mean, by enumeration; for ABTD `lam` is ζ.

    Raises
    ------
    ValueError
        Where the trace has no finite mean.

    Examples
    --------
    >>> from gqlib.domains import collision
    >>> from gqlib.methods.catalogue import METHODS
    >>> task = Task.of(collision())
    >>> given = means(task, METHODS["TD(λ)"], 1.0)
    >>> np.linalg.solve(given.A, -given.b).round(4).tolist()  # with a table: the values
    [0.4783, 0.5314, 0.5905, 0.6561, 0.729, 0.81, 0.9, 1.0]
    """
    c, decay = coefficients(task, method, lam)
    kept = decay * carried(task, c)
    m = task.xi
    if method.emphasis:
        m = lam * task.xi + (1.0 - lam) * followon(task, method)
    x = _resolvent("trace", kept, m[:, None] * task.phi)
    w, after = error_weights(task, method)[:, None], task.chain @ next_features(task, method)
    change = w * (task.gamma * after - task.phi)
    by_itself = x
    if method.update == "htd":
        by_itself = _resolvent("trace", task.gamma * lam * task.chain, task.xi[:, None] * task.phi)
    return Means(
        X=x,
        A=np.asarray(x.T @ change),
        b=np.asarray(x.T @ (w[:, 0] * task.rewards)),
        V=np.asarray((task.gamma * w * after - kept @ task.phi).T @ x),
        A_mu=np.asarray(by_itself.T @ (task.gamma * (task.chain @ task.phi) - task.phi)),
    )


def joint_of(task: Task, method: Method, given: Means, eta: float) -> Array:
    """J(η) on the row space of the features, (r, r) or (2r, 2r).

    Examples
    --------
    >>> from gqlib.domains import collision
    >>> from gqlib.methods.catalogue import METHODS
    >>> task, td, tdc = Task.of(collision()), METHODS["TD(λ)"], METHODS["TDC(λ)"]
    >>> [joint_of(task, method, means(task, method, 0.5), 2.0).shape for method in (td, tdc)]
    [(8, 8), (16, 16)]
    """
    check.instance("task", task, Task)
    check.instance("method", method, Method)
    check.instance("given", given, Means)
    eta = check.scalar("eta", eta, low=0.0)
    rows = task.basis
    if not len(rows):
        raise ValueError("task has no feature but zero where it goes; it should have some")
    a, v, m, a_mu = (
        np.asarray(rows @ matrix @ rows.T) for matrix in (given.A, given.V, task.M, given.A_mu)
    )
    if method.update == "semi-gradient":
        return a
    if method.update == "least squares":
        return -np.eye(len(a))
    if method.update == "direct":
        return np.asarray(-a.T @ a)
    if method.update == "htd":
        return np.block([[a, (a_mu - a).T], [eta * a, eta * a_mu.T]])
    if method.update in ("gtd2", "proximal"):
        return np.block([[np.zeros_like(a), m - v], [eta * a, -eta * m]])
    return np.block([[a, -v], [eta * a, -eta * (m + method.kappa * np.eye(len(m)))]])


def fixed_point(task: Task, given: Means) -> Array:
    """The least-norm θ with Aθ + b = 0 on the row space of the features, (d,).

    Raises
    ------
    ValueError
        Where A is singular there to rounding.

    Examples
    --------
    >>> from gqlib.domains import five_state_walk
    >>> from gqlib.methods.catalogue import METHODS
    >>> task = Task.of(five_state_walk())
    >>> fixed_point(task, means(task, METHODS["Tree Backup(λ)"], 0.9)).round(4).tolist()
    [-0.2692, 0.218, 0.5429, 0.7594, 0.9038]
    """
    check.instance("task", task, Task)
    check.instance("given", given, Means)
    rows = task.basis
    a = rows @ given.A @ rows.T
    if not len(a) or np.linalg.cond(a) > 1.0 / np.sqrt(np.finfo(float).eps):
        raise ValueError(
            "given has an A that is singular to rounding on the row space; it should be regular"
        )
    return np.asarray(0.0 - rows.T @ np.linalg.solve(a, rows @ given.b))
