"""What the kernel takes and what learners see, in named tuples: the compiler knows the type of every field."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gqlib._validate import Array

Words = NDArray[np.uint64]


class Rates(NamedTuple):
    """The numbers of a learner, all float.

    Parameters
    ----------
    lam, gamma, alpha, eta, beta, kappa : float
        λ, γ, the step size of θ, the ratio β/α, the step size β of ω, and the ridge on ω.
    on_greedy, on_each : float
        The target policy: E_πφ(s, ·) = on_greedy·φ(s, greedy) + on_each·Σ_a φ(s, a).

    Examples
    --------
    >>> Rates(0.9, 0.99, 0.1, 1.0, 0.1, 0.0, 1.0, 0.0).gamma
    0.99
    """

    lam: float
    gamma: float
    alpha: float
    eta: float
    beta: float
    kappa: float
    on_greedy: float
    on_each: float


class Before(NamedTuple):
    """What is known before the next state: the value of the pair, φᵀω, eᵀφ, ‖φ‖², and ρ and π of the action taken.

    Examples
    --------
    >>> Before(value=-1.0, phi_omega=0.0, phi_trace=0.0, norm=8.0, rho=1.0, pi=0.5).norm
    8.0
    """

    value: float
    phi_omega: float
    phi_trace: float
    norm: float
    rho: float
    pi: float


class Seen(NamedTuple):
    """What is known after it; ω and θ are those before the update, e that after its own.

    Parameters
    ----------
    reward, value : float
        R, and θᵀφ of the pair.
    sampled, expected : float
        θᵀφ', and its expectation under the target policy; zero where the episode has ended.
    sigma, rho : float
        σ of the step, and ρ of the next action.
    phi_omega, trace_omega : float
        φᵀω and eᵀω.
    trace_norm, trace_phi : float
        ‖e‖² and eᵀφ.
    pi : float
        π of the next action.
    rho_now : float
        ρ of the action of the step itself.

    Examples
    --------
    >>> Seen(-1.0, 0.0, 0.0, 0.0, 0.5, 1.0, 0.0, 0.0, 8.0, 8.0, 1.0, 1.0).reward
    -1.0
    """

    reward: float
    value: float
    sampled: float
    expected: float
    sigma: float
    rho: float
    phi_omega: float
    trace_omega: float
    trace_norm: float
    trace_phi: float
    pi: float
    rho_now: float


class Change(NamedTuple):
    """What a learner adds to θ and ω once it knows the next state.

    Parameters
    ----------
    delta : float
        The TD error; the run has diverged where it is beyond `gqlib.rules.DIVERGED_ABOVE`.
    trace : float
        θ gains this multiple of e.
    omega_trace : float
        ω gains β times this multiple of e.
    chosen, expected : float
        θ gains these multiples of the next state's φ(s', a') and E_πφ(s', ·).
    here : float
        θ gains this multiple of φ(s, a), the features of the step itself; used if the learner has `here`.
    traced : float
        θ gains this multiple of E_μφ(s', ·), the mean under the behaviour policy; used if the learner has `traced`.

    Examples
    --------
    >>> Change(1.0, 0.1, 0.0, 0.0, 0.0, 0.0).trace
    0.1
    """

    delta: float
    trace: float
    omega_trace: float
    chosen: float
    expected: float
    here: float
    traced: float = 0.0


class Sigma(NamedTuple):
    """How σ behaves: a mean that decays, and normal noise around it.

    Parameters
    ----------
    mean, noise : float
        Mean in the first episode, and standard deviation.
    drawn : int
        When the noise is drawn: one of the numbers in `gqlib.engine._kernel.DRAWN`.
    clipped : bool
        Whether the sum is clipped to [0, 1].
    decay : float
        What the mean is multiplied by after each episode.
    stream : ndarray of uint64, (4,)
        Where the noise comes from; advanced in place.
    """

    mean: float
    noise: float
    drawn: int
    clipped: bool
    decay: float
    stream: Words


class Streams(NamedTuple):
    """The random numbers of a run: states of generators, advanced in place.

    Parameters
    ----------
    starts, behaviour, moves, ties : ndarray of uint64, (4,)
        Where episodes start, what the behaviour policy chooses, chance in the environment, and which of several greedy
        actions is taken.
    """

    starts: Words
    behaviour: Words
    moves: Words
    ties: Words


class Codes(NamedTuple):
    """What a coder reads and writes.

    Parameters
    ----------
    active : ndarray of whole numbers
        A table of active indices, or a buffer for those of three states.
    grid : ndarray of float64
        The numbers by which a state is found in it.
    """

    active: NDArray[np.integer]
    grid: Array


class Memory(NamedTuple):
    """What a run writes to.

    Parameters
    ----------
    weights : ndarray of float64
        T, E, W and a mark, which is not zero if the row is listed as live, for each weight.
    live : ndarray of int64
        Room for every row that has a trace, and for one more.
    steps, returns : ndarray
        Receive, for each episode, the number of steps (negative where it was cut off) and the sum of rewards.
    """

    weights: Array
    live: NDArray[np.int64]
    steps: NDArray[np.int64]
    returns: Array


class Limits(NamedTuple):
    """Steps after which an episode is cut off, exploration, and the value of c below which the sums are flushed."""

    max_steps: int
    epsilon: float
    flush_below: float
