r"""The noise of every method at its fixed point, exactly: the long-run covariance of its increments.

The increment of the semi-gradient is g_k = d_ij e_k, d_ij = w_i(r_i + γθᵀu_j − θᵀφ_i), and

    Γ = Σ_{l ∈ ℤ} E[g_k g_{k+l}ᵀ].

Given (j, F, e) at some time, the sum of what all later increments are expected to be is linear, h_j e + y_jF + q_j:

    h_j = d̄_j + κ Σ K_jm h_m                                  a unit of trace,
    y_j = β Σ K^ρ_jm {(1−λ)h_mφ_m + y_m}                        a unit of follow-on (zero without emphasis),
    q_j = Σ_m T_jm {h_mφ_m + y_m + q_m}                         all that is still to come (Poisson's equation),

with T the chain closed by restarts. The covariance then needs only first and second moments of (F, e), which obey
linear equations of their own. What is new against `gqlib.long_run`: state values, restarts and emphasis. As there, the
noise of (θ, ω) is [1, η; η, η²] ⊗ Γ where both move along δe, and [0, 0; 0, η²] ⊗ Γ for GTD2, whose θ moves along ω.

A_tᵀTD multiplies g_k with Â_{k+gap}ᵀ; as the gap grows the two become independent, and lags of one meet lags of the
other: Γ = Σ_l E[v_0 v_lᵀ (φ_0ᵀ R_l φ_l)], v_k = w_k(γu_{k+1} − φ_k), R_l = E[g_0 g_lᵀ].
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from gqlib import _validate as check
from gqlib._validate import Array
from gqlib.methods.catalogue import Method, coefficients
from gqlib.methods.mean import (
    Means,
    carried,
    error_weights,
    fixed_point,
    followon,
    means,
    next_features,
)
from gqlib.methods.task import Task
from gqlib.variance import MARGIN

__all__ = ["increment_covariance", "trace_moments"]

# Lags of A_tᵀTD are summed until they add less than this share, or up to so many.
SHARE, LAGS = 1e-12, 10_000


def _solve(kept: Array, right: Array, what: str, lam: float) -> Array:
    radius = float(np.abs(np.linalg.eigvals(kept)).max())
    if not radius < 1.0 - MARGIN:
        raise ValueError(f"lam is {lam:g}: {what} grows by {radius:.4g} in a step; it should shrink, "
                         "or the noise is infinite")  # fmt: skip
    flat = np.linalg.solve(np.eye(len(kept)) - kept.T, right.reshape(len(kept), -1))
    return np.asarray(flat.reshape(right.shape))


def _weighed(chain: Array, table: Array) -> Array:
    """Σ_i chain_ij table_i, for a table of any shape."""
    return np.asarray(np.tensordot(chain.T, table, axes=1))


def trace_moments(task: Task, method: Method, lam: float) -> tuple[Array, Array, Array]:
    """ξ_j E[eeᵀ | j] (n, d, d), ξ_j E[Fe | j] (n, d) and ξ_j E[F² | j] (n,); without emphasis F is 1.

    Raises
    ------
    ValueError
        Where a second moment is infinite.

    Examples
    --------
    >>> from gqlib.domains import five_state_walk
    >>> from gqlib.methods.catalogue import METHODS
    >>> task = Task.of(five_state_walk())
    >>> second, _, _ = trace_moments(task, METHODS["TD(λ)"], 0.0)
    >>> bool(np.allclose(second.sum(axis=0), task.M))  # without trace e is φ
    True
    """
    lam = check.scalar("lam", lam, low=0.0, high=1.0)
    given = means(task, method, lam)
    c, decay = coefficients(task, method, lam)
    once, twice = carried(task, c), carried(task, c**2)
    xi, phi = task.xi, task.phi
    f, pulled, squared = xi, given.X, xi
    weight, mixed = 0.0, np.zeros_like(given.X)
    m_squared = xi
    if method.emphasis:
        beta = task.gamma if method.beta is None else method.beta
        f, weight = followon(task, method), (1.0 - lam) * beta
        squared = _solve(
            beta**2 * twice, xi + 2.0 * beta * _weighed(once, f), "the square of the follow-on", lam
        )
        source = decay * _weighed(once, given.X) + (lam * f + (1.0 - lam) * squared)[:, None] * phi
        pulled = mixed = _solve(decay * beta * twice, source, "the follow-on times the trace", lam)
        m_squared = lam**2 * xi + 2.0 * lam * (1.0 - lam) * f + (1.0 - lam) ** 2 * squared
    cross = decay * (_weighed(once, given.X) + weight * _weighed(twice, mixed))
    outer = cross[:, :, None] * phi[:, None, :]
    source = (
        outer + outer.transpose(0, 2, 1) + (m_squared[:, None] * phi)[:, :, None] * phi[:, None, :]
    )
    return _solve(decay**2 * twice, source, "the square of the trace", lam), pulled, squared


def _closed(task: Task) -> tuple[Array, Array]:
    """The chain with restarts, and the share of each pair after which an episode ends."""
    ends = (
        np.clip(1.0 - task.chain.sum(axis=1), 0.0, None) if task.start.any() else np.zeros(task.n)
    )
    return np.asarray(task.chain + ends[:, None] * task.start), ends


def _errors(task: Task, method: Method, theta: Array) -> tuple[Array, Array]:
    """d_ij (n, n), and its value where the episode ends, (n,)."""
    w, u = error_weights(task, method), next_features(task, method)
    last = w * (task.rewards - task.phi @ theta)
    return last[:, None] + task.gamma * w[:, None] * (u @ theta), last


def increment_covariance(
    task: Task, method: Method, lam: float, theta: ArrayLike | None = None
) -> Array:
    """Γ of the semi-gradient's increments, or of A_tᵀTD's, (d, d), at `theta`, by default the fixed point.

    Raises
    ------
    ValueError
        If the increments have a mean at `theta`, or their covariance is infinite.

    Examples
    --------
    One state whose two actions pay 1 and −1: the noise of a step is 1, and steps are independent.

    >>> from gqlib.mdp import FiniteMDP
    >>> from gqlib.methods.catalogue import METHODS
    >>> half = [[0.5, 0.5]]
    >>> task = Task("coin", FiniteMDP(np.ones((1, 2, 1)), [[1.0, -1.0]], 0.0), half, half, [[1.0]])
    >>> increment_covariance(task, METHODS["TD(λ)"], 0.0).round(9).tolist()
    [[1.0]]
    """
    given = means(task, method, lam)
    point = fixed_point(task, given) if theta is None else check.array("theta", theta, (task.d,))
    d, last = _errors(task, method, point)
    closed, ends = _closed(task)
    weighted = task.chain * d
    mean = weighted.sum(axis=1) + ends * last
    drift = np.abs(given.A @ point + given.b).max()
    size = np.abs(given.X).T @ ((task.chain * np.abs(d)).sum(axis=1) + ends * np.abs(last))
    if drift > np.sqrt(np.finfo(float).eps) * size.max():
        raise ValueError(
            f"theta leaves a mean step of size {drift:.3g}; it should be the fixed point"
        )
    if method.update == "direct":
        return _direct(task, method, given, closed, d, last, mean)
    c, decay = coefficients(task, method, lam)
    once, phi = carried(task, c), task.phi
    second, mixed, _ = trace_moments(task, method, lam)
    collects = np.linalg.solve(np.eye(task.n) - decay * once, mean)
    ahead = collects[:, None] * phi
    y = np.zeros_like(phi)
    beta = 0.0
    if method.emphasis:
        beta = task.gamma if method.beta is None else method.beta
        y = np.asarray(
            beta * np.linalg.solve(np.eye(task.n) - beta * once, (1.0 - lam) * once @ ahead)
        )
    later = np.linalg.solve(np.eye(task.n) - closed + task.xi, ahead + y)
    now = np.einsum("i,iab->ab", (weighted * d).sum(axis=1) + ends * last**2, second)
    then = decay * np.einsum("i,iab->ab", (once * d) @ collects, second)
    then += given.X.T @ (weighted @ later + (ends * last)[:, None] * (task.start @ later))
    if method.emphasis:
        then += beta * mixed.T @ (once * d) @ ((1.0 - lam) * ahead + y)
    return np.asarray(now + then + then.T)


def _direct(
    task: Task, method: Method, given: Means, closed: Array, d: Array, last: Array, mean: Array
) -> Array:
    """Γ of Âᵀ_{k+gap} g_k for a gap so long that the two are independent; λ = 0, so that e = φ."""
    xi, phi, (_, ends) = task.xi, task.phi, _closed(task)
    w = error_weights(task, method)[:, None]
    u, restart = next_features(task, method), task.start
    moved = w * (task.gamma * task.chain @ u - phi)  # E[v | i]
    now = np.einsum(
        "i,ia,ib->ab", xi * ((task.chain * d**2).sum(axis=1) + ends * last**2), phi, phi
    )
    total = np.einsum("ij,ija,ijb->ab", xi[:, None] * task.chain * np.einsum("ia,ab,ib->i", phi, now, phi)[:, None],
                      _moves(task, w, u), _moves(task, w, u))  # fmt: skip
    left = -w * phi
    total += np.einsum(
        "i,ia,ib->ab", xi * ends * np.einsum("ia,ab,ib->i", phi, now, phi), left, left
    )
    # g_0 and v_0 by the pair that follows: first for the error, then for the move.
    error_to = task.chain * d + (ends * last)[:, None] * restart
    move_to = (
        task.chain[:, :, None] * _moves(task, w, u)
        + (ends[:, None] * left)[:, None, :] * restart[:, None]
    )
    target, power = mean[:, None] * phi, np.eye(task.n)
    for _ in range(LAGS):
        lagged = (xi[:, None] * phi).T @ error_to @ power @ target  # R_l
        kernel = phi @ lagged @ phi.T
        term = np.einsum(
            "ija,im,jm,mb->ab", move_to, xi[:, None] * kernel, power, moved, optimize=True
        )
        total = total + term + term.T
        if np.abs(term).max() <= SHARE * np.abs(total).max():
            return np.asarray(total)
        power = power @ closed
    raise ValueError(
        f"task has a chain whose memory lasts longer than {LAGS} steps; it should mix sooner"
    )


def _moves(task: Task, w: Array, u: Array) -> Array:
    """v_ij = w_i(γu_j − φ_i), (n, n, d)."""
    return np.asarray(w[:, None] * (task.gamma * u[None, :, :] - task.phi[:, None, :]))
