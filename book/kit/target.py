r"""Where the weights come to rest, live on the machine: with a table, and with three, two weights or one. See Eq. (16).

With a table the resting point is q^{ν_σ}, the values of ν_σ = (1−σ)π + σμ, whatever λ is. With fewer weights it is
Φθ_*, where A_σθ_* + b = 0 and Φ holds the features of the six pairs:

    three weights   a constant; *is it a repair?*; how worn the machine is when it runs (0, ½, 1)
    two weights     *does it run?*; *is it a repair?*
    one weight      2 where the plan would do the same, 1 elsewhere

The error against the plan has two parts, Φθ_* − q^π = (Φθ_* − q^{ν_σ}) + (q^{ν_σ} − q^π): the fit and the bias of the
target, both measured by ‖x‖² = Σ_i ξ_i x_i², with ξ the crew's shares of visits.

`target.js` among the book's static files draws the live figure with the tools of `explorables.js`.
"""

from __future__ import annotations

from functools import cache
from typing import Literal, get_args

import numpy as np
import sympy as sp

from gqlib import _validate as check
from gqlib import symbolic
from gqlib._validate import Array
from gqlib.domains.machine import CREW, PLAN, machine_mdp
from gqlib.prediction import PredictionProblem
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
from kit.mean_field import _DENOMINATOR, FLAGS

__all__ = ["WEIGHTS", "machine_weights", "show_target"]

_WEAR = (
    (1.0, 0.0, 0.0),
    (1.0, 1.0, 0.0),
    (1.0, 0.0, 0.5),
    (1.0, 1.0, 0.0),
    (1.0, 0.0, 1.0),
    (1.0, 1.0, 0.0),
)
_ALIKE = tuple((2.0,) if planned else (1.0,) for planned in PLAN.ravel())
Weights = Literal["table", "three weights", "two weights", "one weight"]
WEIGHTS = get_args(Weights)
_FEATURES = dict(zip(WEIGHTS, (np.eye(6).tolist(), _WEAR, FLAGS, _ALIKE), strict=True))


def machine_weights(weights: Weights, gamma: float = 0.95) -> PredictionProblem:
    """The machine with a table, or with three, two weights or one.

    Parameters
    ----------
    weights : {"table", "three weights", "two weights", "one weight"}
    gamma : float in [0, 1)

    Examples
    --------
    The guess for running a new machine, where the plan's value is 45.03:

    >>> for weights in WEIGHTS:
    ...     problem = machine_weights(weights)
    ...     print(weights, (problem.features @ problem.fixed_point(0.0, 0.0))[0].round(2))
    table 45.03
    three weights 44.27
    two weights 22.99
    one weight -16.93
    """
    kind = check.choice("weights", weights, WEIGHTS)
    return PredictionProblem.on_pairs(machine_mdp(gamma), CREW, PLAN, _FEATURES[kind])


def _rows(rows: Array) -> str:
    """A JavaScript function without arguments that returns these rows."""
    return f"() => {np.asarray(rows).tolist()}"


@cache
def target_explorable() -> Explorable:
    """q^{ν_σ} of the machine, A_σ (by rows) and b with each kind of weights, the features and ξ."""
    table = symbolic.twin(machine_weights("table"), largest_denominator=_DENOMINATOR)
    mixed = table.p_pi + SIGMA * (table.p_mu - table.p_pi)
    values = symbolic.solve(sp.eye(6) - GAMMA * mixed, table.rewards).applyfunc(sp.factor)
    formulas = {
        "values": to_javascript([SIGMA, GAMMA], list(values)),
        "xi": _rows(machine_weights("table").xi),
    }
    for kind in WEIGHTS:
        twin = symbolic.twin(machine_weights(kind), largest_denominator=_DENOMINATOR)
        formulas[kind] = to_javascript([SIGMA, LAM, GAMMA], [*twin.A(), *twin.b()])
        formulas[f"{kind}: features"] = _rows(np.asarray(_FEATURES[kind]))
    return Explorable(
        "target",
        "The machine: what the learner holds for running a new machine against σ, between the plan's value and the "
        "crew's; its error against the plan in two parts; and all six pairs, for the σ, λ, γ and weights that are set",
        (
            Slider("sigma", "σ", 0.0, 1.0, 0.0),
            Slider("lambda", "λ", 0.0, 1.0, 0.0),
            Slider("gamma", "γ", 0.5, 0.95, 0.95),
        ),
        formulas,
        WEIGHTS,
        "Drag the point on the curve, or move it with the arrow keys.",
        "The machine at the σ, λ, γ and weights that you set. What the learner holds for (new, run) when it has come "
        "to rest, against σ; dotted, the plan's value and the crew's. Its error against the plan, root mean square "
        "over the crew's visits, with the two parts: bias of the target, and fit. All six pairs: what is held (dots), "
        "the plan's values (solid) and the crew's (dashed).",
        (
            Preset("a table, the plan", {"sigma": 0.0, "lambda": 0.0, "gamma": 0.95}, "table"),
            Preset("a table, the crew", {"sigma": 1.0, "lambda": 0.0, "gamma": 0.95}, "table"),
            Preset("two weights", {"sigma": 0.5, "lambda": 0.0, "gamma": 0.95}, "two weights"),
            Preset(
                "one weight, near the hole",
                {"sigma": 0.44, "lambda": 0.0, "gamma": 0.95},
                "one weight",
            ),
            Preset(
                "the paper's λ = 0.99",
                {"sigma": 0.5, "lambda": 0.99, "gamma": 0.95},
                "three weights",
            ),
        ),
    )


def show_target(figure: str) -> None:
    """Make the static figure of this name live: where the weights come to rest on the machine (Eq. (16)).

    Examples
    --------
    >>> from contextlib import redirect_stdout
    >>> from io import StringIO
    >>> with redirect_stdout(StringIO()) as shown:
    ...     show_target("fig-goal")
    >>> 'data-figure="fig-goal"' in shown.getvalue()
    True
    """
    _show(target_explorable(), figure)
