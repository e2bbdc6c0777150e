r"""The live figure on the repair: where each σ leads, how much noise it makes, and which σ is best.

Two methods, GQ(σ, λ) of the paper and the same with the sampled feature weighted by ρ (`gqlib.learners.corrected`), for
three sets of features and ten values of λ. With a small step size α the weights stray around their fixed point θ_σ, and
the mean squared error against q^π is, to first order in α,

    Σ_i ξ_i (φ_iᵀθ_σ − q^π_i)² + α tr(MΣ),        JΣ + ΣJᵀ + Γ = 0,

with the long-run covariance Γ of `gqlib.long_run` and J = J(η) of (θ, ω) at η = 4. The first part is the bias, squared.
For the repaired method it is free of σ, and the second part is a parabola in σ.

There is no closed form short enough for a page, so the block holds numbers, at the σ and λ that the sliders can take.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from typing import Literal, get_args

import numpy as np

from gqlib import _validate as check
from gqlib._validate import Array
from gqlib.domains import random_mdp, random_policy
from gqlib.domains.machine import CREW, PLAN, machine, machine_mdp
from gqlib.learners.corrected import CorrectedProblem, variant_tables
from gqlib.long_run import joint_noise, long_run_covariance, stationary_error
from gqlib.mdp import FiniteMDP
from gqlib.prediction import PredictionProblem
from gqlib.stability import joint_matrix
from kit.explore import Explorable, Preset, Slider, _show

__all__ = [
    "CASES",
    "ETA",
    "LAMS",
    "SIGMAS",
    "Case",
    "case",
    "errors",
    "parabola",
    "show_best_sigma",
]

ETA = 4.0
SIGMAS = tuple(k / 20 for k in range(21))
LAMS = tuple(k / 10 for k in range(10))
CaseName = Literal["machine, table", "machine, three features", "random, three features"]
Compared = Literal["paper", "corrected"]
CASES, COMPARED = get_args(CaseName), get_args(Compared)
DIGITS = 6  # significant, of the numbers in the block


@dataclass(frozen=True)
class Case:
    """An MDP, its two policies, and the problem on pairs with its features.

    Examples
    --------
    >>> case("machine, table").problem.d
    6
    """

    mdp: FiniteMDP
    mu: Array
    pi: Array
    problem: PredictionProblem


def case(name: CaseName) -> Case:
    """One of the three cases of the figure.

    The random one has four states, two actions and three features; μ takes no action with a probability below 0.1.

    Parameters
    ----------
    name : str
        One of `CASES`.

    Examples
    --------
    >>> round(float(case("random, three features").mu.min()), 2) >= 0.1
    True
    """
    return _case(check.choice("name", name, CASES))


@cache
def _case(chosen: CaseName) -> Case:
    if chosen == CASES[2]:
        rng = np.random.default_rng(8)
        mdp = random_mdp(rng, 4, 2, 0.9, concentration=0.3)
        mu, pi = 0.1 + 0.8 * random_policy(rng, 4, 2), random_policy(rng, 4, 2, concentration=0.3)
        phi = rng.standard_normal((8, 3))
    else:
        mdp, mu, pi = machine_mdp(), CREW, PLAN
        phi = np.asarray(
            machine(features="table" if chosen == CASES[0] else "wear").problem.features
        )
    return Case(mdp, mu, pi, PredictionProblem.on_pairs(mdp, mu, pi, phi))


def errors(name: CaseName, variant: Compared, sigma: float, lam: float) -> tuple[float, float]:
    """Squared bias against q^π, and variance over α, of one method; both averaged over the visits of μ.

    Parameters
    ----------
    name : str
        One of `CASES`.
    variant : {"paper", "corrected"}
    sigma, lam : float

    Examples
    --------
    In a table the repaired method has no bias, and σ = 1 is far noisier than σ = 0.

    >>> [[round(x, 2) + 0.0 for x in errors("machine, table", "corrected", s, 0.0)] for s in (0.0, 1.0)]
    [[0.0, 0.53], [0.0, 840.41]]
    """
    chosen = case(name)
    variant = check.choice("variant", variant, COMPARED)
    problem, phi = chosen.problem, chosen.problem.features
    mean = CorrectedProblem.of(problem) if variant == "corrected" else problem
    theta = mean.fixed_point(sigma, lam)
    u = variant_tables(chosen.mdp, chosen.mu, chosen.pi, phi, sigma, variant).u
    gamma = long_run_covariance(problem, u, theta, lam)
    variance = stationary_error(
        problem, joint_matrix(mean, sigma, lam, ETA), joint_noise(gamma, ETA)
    )
    return float(problem.xi @ (phi @ theta - chosen.mdp.q(chosen.pi).ravel()) ** 2), variance


def parabola(name: CaseName, lam: float) -> tuple[float, float, float]:
    """The variance of the repaired method over α as c0 + c1 σ + c2 σ², from its values at σ = 0, ½ and 1.

    Parameters
    ----------
    name : str
        One of `CASES`.
    lam : float

    Examples
    --------
    >>> c0, c1, c2 = parabola("random, three features", 0.9)
    >>> round(-c1 / (2 * c2), 2)  # the σ of least noise
    0.49
    """
    low, middle, high = (errors(name, "corrected", sigma, lam)[1] for sigma in (0.0, 0.5, 1.0))
    c2 = 2.0 * (high - 2.0 * middle + low)
    return low, high - low - c2, c2


def _row(name: CaseName, lam: float) -> list[float]:
    """Squared bias and parabola of the repaired method, then squared bias and variance of the paper's for each σ."""
    paper = [number for sigma in SIGMAS for number in errors(name, "paper", sigma, lam)]
    row = [errors(name, "corrected", 0.0, lam)[0], *parabola(name, lam), *paper]
    # What is zero but for rounding is zero on the page, too: a curve that lies on zero should be seen to do so.
    least = 1e-9 * max(row)
    return [float(f"{x:.{DIGITS}g}") if abs(x) > least else 0.0 for x in row]


@cache
def best_sigma_explorable() -> Explorable:
    """Bias and variance of both methods at every λ of the slider, for the three cases."""
    formulas = {}
    for name in CASES:
        rows = [_row(name, lam) for lam in LAMS]
        formulas[name] = f"(lambda) => {json.dumps(rows)}[Math.round(10 * lambda)]"
    return Explorable(
        "best-sigma",
        "The paper's method and the repaired one: total error against σ with the bias in it, and the standard "
        "deviation of the repaired method with the σ at which it is least, for the σ, λ, α and features that are set",
        (
            Slider("sigma", "σ", 0.0, 1.0, 0.5, 0.05),
            Slider("lambda", "λ", 0.0, 0.9, 0.0, 0.1),
            Slider("alpha", "α", -4.0, -1.0, -2.0, 0.1, log=True),
        ),
        formulas,
        CASES,
        "Drag the point on the curve, or move it with the arrow keys.",
        "The paper's method and the repaired one at the λ, α and features that you set, η = 4, to first order in α. "
        "Total error: root mean square over visits of the learnt values against those of the target policy; the point "
        "is the repaired method at your σ. Bias: the same without noise. Noise of the repaired method, relative to "
        "σ = 0, and the σ at which it is least; where that is above 0 the panel ends at twice the noise of σ = 0.",
        (
            Preset(
                "a table: σ only makes noise",
                {"sigma": 0.5, "lambda": 0.0, "alpha": 0.01},
                CASES[0],
            ),
            Preset(
                "features: a small σ helps", {"sigma": 0.2, "lambda": 0.9, "alpha": 0.001}, CASES[2]
            ),
            Preset("the paper's α, λ near its 0.99", {"lambda": 0.9, "alpha": 0.001}, CASES[0]),
        ),
    )


def show_best_sigma(figure: str) -> None:
    """Make the static figure of this name live: bias and noise of both methods against σ.

    Examples
    --------
    >>> from contextlib import redirect_stdout
    >>> from io import StringIO
    >>> with redirect_stdout(StringIO()) as shown:
    ...     show_best_sigma("fig-noise")
    >>> 'data-figure="fig-noise"' in shown.getvalue()
    True
    """
    _show(best_sigma_explorable(), figure)
