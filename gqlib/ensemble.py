r"""Many runs at once: semi-gradient Q(σ, λ) for a set of σ on a set of trajectories, all advanced together in NumPy.

The trace e_k = γλ e_{k−1} + φ_k does not depend on σ or θ, so that every σ shares it:

    θ[σ, run] ← θ[σ, run] + α δ[σ, run] e[run]                                  (the backward view of Eq. (10))

A run whose weights exceed a bound is stopped where it is and counted, never dropped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gqlib import _validate as check
from gqlib._validate import Array
from gqlib.domains.base import Domain, Trajectory


@dataclass(frozen=True)
class Ensemble:
    """Weights (kept steps, sigmas, runs, d) at `steps`, and which runs left the bound, (sigmas, runs)."""

    steps: NDArray[np.intp]
    theta: Array
    diverged: NDArray[np.bool_]


def trajectories(domain: Domain, runs: int, steps: int, rng: np.random.Generator) -> list[Trajectory]:
    """Independent trajectories, one after the other from the same generator."""
    return [domain.trajectory(steps, rng) for _ in range(check.integer("runs", runs, low=1))]


def semi_gradient_ensemble(
    paths: Sequence[Trajectory],
    theta0: ArrayLike,
    sigmas: ArrayLike,
    *,
    lam: float,
    gamma: float,
    alpha: float,
    every: int = 1,
    bound: float = 1e8,
) -> Ensemble:
    """Semi-gradient Q(σ, λ) with a constant step size on every path for every σ.

    Parameters
    ----------
    paths : sequence of Trajectory
        One for each run, all of the same length.
    theta0 : array_like, (d,)
    sigmas : array_like, (m,)
    lam, gamma, alpha : float
    every : int
        Keep the weights before the first step and after every `every` steps.
    bound : float
        A run whose largest weight exceeds it has diverged and stays where it is.

    Examples
    --------
    >>> from gqlib.domains import two_state
    >>> domain = two_state(0.9)
    >>> paths = trajectories(domain, 3, 100, np.random.default_rng(1))
    >>> runs = semi_gradient_ensemble(paths, domain.theta0, [0.0, 1.0], lam=0.5, gamma=0.9, alpha=0.01, every=50)
    >>> runs.theta.shape, int(runs.diverged.sum())
    ((3, 2, 3, 2), 0)
    """
    lengths = {len(path) for path in paths}
    if len(lengths) != 1:
        raise ValueError(f"paths have lengths {sorted(lengths)}; they should all have one length")
    (total,) = lengths
    first = check.array("theta0", theta0, (paths[0].phi.shape[1],))
    mix = check.array("sigmas", sigmas, (None,))[:, None]
    lam, gamma = check.scalar("lam", lam, low=0.0, high=1.0), check.scalar("gamma", gamma, low=0.0, high=1.0)
    alpha, bound = check.scalar("alpha", alpha, low=0.0), check.scalar("bound", bound, low=0.0, open_low=True)
    every = check.integer("every", every, low=1)
    # Time first, so that a step reads contiguous rows.
    phi, sampled, expected = (
        np.stack([getattr(path, name) for path in paths], axis=1) for name in ("phi", "phi_next", "phi_next_expected")
    )
    reward = np.stack([path.reward for path in paths], axis=1)
    goes_on = ~np.stack([path.ends for path in paths], axis=1)[:, :, None]
    theta = np.tile(first, (len(mix), len(paths), 1))
    trace = np.zeros(phi.shape[1:])
    active = np.ones((len(mix), len(paths)), dtype=bool)
    kept = [theta.copy()]
    for k in range(total):
        trace = gamma * lam * trace + phi[k]
        at_expected = np.einsum("srd,rd->sr", theta, expected[k])
        at_sampled = np.einsum("srd,rd->sr", theta, sampled[k])
        mixed = at_expected + mix * (at_sampled - at_expected)
        delta = reward[k] + gamma * mixed - np.einsum("srd,rd->sr", theta, phi[k])
        theta += (alpha * active * delta)[:, :, None] * trace
        active &= np.abs(theta).max(axis=2) <= bound
        trace = trace * goes_on[k]
        if (k + 1) % every == 0:
            kept.append(theta.copy())
    return Ensemble(np.arange(len(kept)) * every, np.array(kept), ~active)
