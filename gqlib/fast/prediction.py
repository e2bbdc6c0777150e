r"""Compiled walks of the domains, the twins of those of `gqlib.domains`.

A prediction run is two passes. The first makes the trajectory from the stream `TRAJECTORY` and σ_k from the stream
`SIGMA`; it depends on (domain, seed, run) alone, so every setting sees the same data in a given run. The second learns on
it: `gqlib.evaluation.run`.

Arguments are checked here, before the kernels (`gqlib.fast._prediction`) see them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gqlib import _validate as check
from gqlib._validate import Array
from gqlib.domains.base import Domain, Trajectory
from gqlib.domains.cart_pole import START, CartPole, G, Walker
from gqlib.domains.finite import Chain, FiniteDomain, Path, WeightedTrajectory
from gqlib.fast import _prediction as kernel
from gqlib.seeds import SIGMA, TRAJECTORY, generator, words

__all__ = ["trajectory"]

_FLOAT, _BOOL = np.dtype(np.float64), np.dtype(np.bool_)


def _rows(name: str, value: Any, shape: tuple[int, ...], dtype: np.dtype[Any] = _FLOAT) -> None:
    """Refuse what is not an array of this form; its numbers are not inspected."""
    if type(value) is not np.ndarray or value.dtype != dtype or value.shape != shape:
        raise ValueError(
            f"{name} is {check.brief(value)}; it should be an array of {dtype} of shape {shape}"
        )


def _sound(chain: Any) -> None:
    """Refuse a chain on which a walk could leave its tables."""
    check.instance("chain", chain, Chain)
    start, mu, after = chain.cumulative
    if np.ndim(mu) != 2 or 0 in np.shape(mu):
        raise ValueError(
            f"chain.mu is {check.brief(chain.mu)}; it should have a row for each state"
        )
    n_states, n_actions = mu.shape
    _rows("chain.mu", mu, (n_states, n_actions))
    _rows("chain.start", start, (n_states,))
    _rows("chain.transitions", after, (n_states, n_actions, n_states))
    _rows("chain.ends_on", chain.ends_on, (n_states,), _BOOL)
    check.integer("chain.horizon", chain.horizon, low=0)
    for name, last in (
        ("start", start[-1]),
        ("mu", mu[:, -1].min()),
        ("transitions", after[:, :, -1].min()),
    ):
        if not last == 1.0:
            raise ValueError(f"chain.{name} sums to {last:g}; it should sum to 1")


def walk_chain(chain: Chain, draws: Array) -> Path:
    """The compiled twin of `Chain.walk`, on (T + 1, 3) uniform numbers in [0, 1).

    Examples
    --------
    >>> moves, only, first = np.array([[[0.0, 1.0]], [[1.0, 0.0]]]), np.ones((2, 1)), np.array([1.0, 0.0])
    >>> chain = Chain(moves, only, first, np.array([False, False]))
    >>> walk_chain(chain, np.full((5, 3), 0.5)).states.tolist()
    [0, 1, 0, 1]
    """
    _sound(chain)
    numbers = check.array("draws", draws, (None, 3))
    if numbers.min() < 0.0 or numbers.max() >= 1.0:
        raise ValueError(
            f"draws go from {numbers.min():g} to {numbers.max():g}; they should be in [0, 1)"
        )
    return _walked(chain, numbers)


def _walked(chain: Chain, draws: Array) -> Path:
    (states, actions, arrivals, next_actions), ends = kernel.walk_chain(
        draws, *chain.cumulative, chain.ends_on, chain.horizon
    )
    return Path(states, actions, arrivals, next_actions, ends)


def walk_pole(walker: Walker, draws: Array) -> tuple[Array, Array, Array]:
    """The compiled twin of `Walker.walk`, on (T, 2) standard normal numbers.

    Examples
    --------
    >>> from gqlib.domains import cart_pole
    >>> states, means, rewards = walk_pole(cart_pole().walker, np.zeros((3, 2)))
    >>> bool((states[1:] == means).all())  # without noise a state is the mean that it comes from
    True
    """
    check.instance("walker", walker, Walker)
    gain = check.array("walker.gain", walker.gain, (4,))
    deviation = check.scalar("walker.action_deviation", walker.action_deviation, low=0.0)
    numbers = check.array("draws", draws, (None, 2))
    states, means, rewards = kernel.walk_pole(
        numbers, START, walker.closed_loop, gain, G, deviation
    )
    return states, means, rewards


def trajectory(domain: Domain, steps: int, seed: int, run: int) -> Trajectory:
    """The trajectory of one run: domain, seed and run determine every bit; a longer one begins like a shorter one.

    Finite domains and the cart-pole walk compiled; any other `Domain` samples by its own function, from a generator.

    Examples
    --------
    >>> from gqlib.domains import boyan_chain
    >>> short, long = (trajectory(boyan_chain(), steps, seed=0, run=0) for steps in (5, 8))
    >>> bool((long.phi[:5] == short.phi).all())
    True
    """
    check.instance("domain", domain, Domain)
    steps = check.integer("steps", steps, low=1)
    check.room("steps", steps, steps * 4 * domain.problem.d)
    state = words(seed, run, TRAJECTORY)
    if isinstance(domain, FiniteDomain):
        _sound(domain.chain)
        return domain.tables.trajectory(_walked(domain.chain, kernel.uniforms(state, steps + 1, 3)))
    if not isinstance(domain, CartPole):
        return domain.trajectory(steps, generator(seed, run, TRAJECTORY))
    warm_up = check.integer("domain.walker.warm_up", domain.walker.warm_up, low=0)
    draws = kernel.normals(state, warm_up + steps, 2)
    return domain.walker.see(draws, walk_pole(domain.walker, draws))


def sigma_normals(steps: int, seed: int, run: int) -> Array:
    """One standard normal number per step for σ, from a stream of its own.

    Examples
    --------
    >>> bool((sigma_normals(8, seed=0, run=0)[:5] == sigma_normals(5, seed=0, run=0)).all())
    True
    """
    steps = check.integer("steps", steps, low=1)
    check.room("steps", steps, steps)
    return np.asarray(kernel.normals(words(seed, run, SIGMA), steps, 1)[:, 0])


def sound_path(path: Trajectory) -> None:
    """Refuse a trajectory whose arrays do not fit together: a compiled loop would leave them."""
    check.instance("path", path, Trajectory)
    if np.ndim(path.phi) != 2:
        raise ValueError(f"path.phi is {check.brief(path.phi)}; it should have a row for each step")
    shape = path.phi.shape
    for name in ("phi", "phi_next", "phi_next_expected"):
        _rows(f"path.{name}", getattr(path, name), shape)
    _rows("path.reward", path.reward, shape[:1])
    _rows("path.ends", path.ends, shape[:1], _BOOL)
    if isinstance(path, WeightedTrajectory):
        _rows("path.rho", path.rho, shape[:1])
