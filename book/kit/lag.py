r"""One and the same logbook, read by three learners: GQ(σ, λ) with the correction of the present step, with that of the
step before, and without any; live. The first is Eqs. (25)–(26), the second Algorithm 1 as printed, the third the
semi-gradient.

With u = (σ − λ)φ' + (1−σ)φ̄ a step is

    e ← γλe + φ        δ = R + γθᵀ(σφ' + (1−σ)φ̄) − θᵀφ        ω ← ω + β(δe − φφᵀω)        θ ← θ + α(δe − γu(eᵀω))

and as printed u and e in the last product are those of the step before, zero at first. Two logbooks of sixty steps,
both with two weights: the machine's (φ = (1, 0) for a run, (0, 1) for a repair), and a fixed walk of the two-state
example.

`lag.js` among the book's static files runs the three learners in the browser, with the step that sympy printed.
"""

from __future__ import annotations

import itertools
from functools import cache
from typing import Literal, get_args

import numpy as np
import sympy as sp

from gqlib import _validate as check
from gqlib._validate import Array
from gqlib.domains.machine import CREW, PLAN, machine_mdp
from gqlib.domains.random_problems import domain_on_pairs
from kit.explore import (
    GAMMA,
    LAM,
    SIGMA,
    Explorable,
    Preset,
    Slider,
    _show,
    to_javascript,
)
from kit.mean_field import FLAGS

__all__ = ["LOGBOOKS", "STARTS", "WALK", "logbook", "show_lag"]

WALK = "lrlrrrlrrrrllrrrlrrrrlrrrrllrrlrrrlrrrrlllllllrrrrlllllrrlrlr"
"""The actions of the fixed walk of the two-state example; the last one is looked at and not taken."""
Logbook = Literal["two states", "machine"]
LOGBOOKS = get_args(Logbook)
STARTS = {"two states": (2.0, 0.0), "machine": (10.0, 20.0)}
_STEPS, _SEED = 60, 1


def logbook(name: Logbook) -> Array:
    """Sixty lines of φ (two numbers), R, φ' (two) and E_πφ(S', ·) (two).

    Parameters
    ----------
    name : {"two states", "machine"}

    Examples
    --------
    >>> logbook("two states")[0].tolist()  # in state 1: left, −½; then right
    [0.0, 1.0, -0.5, 1.0, 0.0, 1.0, 0.0]
    """
    if check.choice("name", name, LOGBOOKS) == "machine":
        domain = domain_on_pairs(machine_mdp(), CREW, PLAN, FLAGS)
        log = domain.trajectory(_STEPS, np.random.default_rng(_SEED))
        return np.column_stack([log.phi, log.reward, log.phi_next, log.phi_next_expected])
    lines, state = [], 1
    for action, following in itertools.pairwise(WALK):
        after, reward = (2, 1.0) if action == "r" else (1, -0.5)
        pairs = ((state, action), (after, following))
        here, there = ([float(s), 0.0] if a == "r" else [0.0, float(s)] for s, a in pairs)
        lines.append([*here, reward, *there, float(after), 0.0])
        state = after
    return np.array(lines)


def _pair(name: str) -> tuple[sp.Symbol, sp.Symbol]:
    first, second = sp.symbols(f"{name}1 {name}2")
    return first, second


@cache
def _step() -> str:
    """One step as a function: θ with the present correction and with the one before, ω, e and u (two numbers each)."""
    theta, omega, e, phi, nxt, mean, u_old, e_old = map(
        _pair, ("t", "w", "e", "x", "y", "z", "u", "p")
    )
    reward, alpha, beta = sp.symbols("R alpha beta")
    both = range(2)
    trace = [GAMMA * LAM * e[k] + phi[k] for k in both]
    ahead = [SIGMA * nxt[k] + (1 - SIGMA) * mean[k] for k in both]
    delta = reward + sum(theta[k] * (GAMMA * ahead[k] - phi[k]) for k in both)
    u = [ahead[k] - LAM * nxt[k] for k in both]
    foreseen = sum(phi[k] * omega[k] for k in both)
    now, late = (sum(a[k] * omega[k] for k in both) for a in (trace, e_old))
    same = [theta[k] + alpha * (delta * trace[k] - GAMMA * u[k] * now) for k in both]
    printed = [theta[k] + alpha * (delta * trace[k] - GAMMA * u_old[k] * late) for k in both]
    learnt = [omega[k] + beta * (delta * trace[k] - foreseen * phi[k]) for k in both]
    given = [
        *theta,
        *omega,
        *e,
        *phi,
        reward,
        *nxt,
        *mean,
        *u_old,
        *e_old,
        SIGMA,
        LAM,
        GAMMA,
        alpha,
        beta,
    ]
    return to_javascript(given, [*same, *printed, *learnt, *trace, *u])


@cache
def lag_explorable() -> Explorable:
    """The step, and both logbooks."""
    formulas = {"step": _step()}
    for name in LOGBOOKS:
        formulas[name] = f"() => {logbook(name).tolist()}"
    return Explorable(
        "lag",
        "One logbook, three learners: the first weight, the first auxiliary weight and the distance between the two "
        "readings of Algorithm 1, step by step, for the σ, λ, γ, α, η and logbook that are set",
        (
            Slider("sigma", "σ", 0.0, 1.0, 0.5),
            Slider("lambda", "λ", 0.0, 1.0, 0.99),
            Slider("gamma", "γ", 0.5, 0.99, 0.99),
            Slider("alpha", "α", -4.0, -1.0, -2.0, 0.05, log=True),
            Slider("eta", "η", -1.0, 1.0, -0.3, 0.05, log=True),
        ),
        formulas,
        LOGBOOKS,
        "",
        "The logbook at the σ, λ, γ, α and η = β/α that you set, sixty lines of it. The first weight: with the "
        "correction of the same step, Eq. (26); with that of the step before, Algorithm 1 as printed; and without any. "
        "The first auxiliary weight in the first two. Distance between the two, over both weights, on a logarithmic "
        "axis.",
        (
            Preset("the paper's γ = λ = 0.99", {"sigma": 0.5, "lambda": 0.99, "gamma": 0.99, "alpha": 0.01, "eta": 0.5},
                   "two states"),
            Preset("λ = 0.5", {"sigma": 0.25, "lambda": 0.5, "gamma": 0.99, "alpha": 0.01, "eta": 0.5}, "two states"),
            Preset("small steps", {"sigma": 0.5, "lambda": 0.99, "gamma": 0.99, "alpha": 0.001, "eta": 0.5},
                   "two states"),
            Preset("the machine", {"sigma": 0.0, "lambda": 0.9, "gamma": 0.95, "alpha": 0.01, "eta": 1.0}, "machine"),
        ),
    )  # fmt: skip


def show_lag(figure: str) -> None:
    """Make the static figure of this name live: Eq. (26), Algorithm 1 as printed, and no correction, on one logbook.

    Examples
    --------
    >>> from contextlib import redirect_stdout
    >>> from io import StringIO
    >>> with redirect_stdout(StringIO()) as shown:
    ...     show_lag("fig-late")
    >>> 'data-figure="fig-late"' in shown.getvalue()
    True
    """
    _show(lag_explorable(), figure)
