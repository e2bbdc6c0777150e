"""What a learner sees and says, in named tuples: the compiler knows the type of every field."""

from __future__ import annotations

from typing import NamedTuple


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
