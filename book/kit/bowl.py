r"""MSPBE as a bowl, live for two weights: its level lines, and two ways from the same start. See Eqs. (18)–(19).

With g = A_σθ + b and M = ΦᵀΞΦ the objective is ½ gᵀM⁻¹g. The semi-gradient learner follows θ̇ = g, whether or not that
leads down; the other one follows θ̇ = −A_σᵀM⁻¹g, straight downhill (Eq. (21) without its ½). Three problems:

    machine, run and repair    the machine, φ = (1, 0) for a run and (0, 1) for a repair; from θ = 0
    machine, 1 and repair      the same guesses, φ = (1, 0) for a run and (1, 1) for a repair; from θ = 0
    two states                 the paper's example, continuing, all rewards zero; from θ = (2, 0)

`bowl.js` among the book's static files draws the live figure with the tools of `explorables.js`.
"""

from __future__ import annotations

from functools import cache
from typing import Literal, get_args

from gqlib import _validate as check
from gqlib import symbolic
from gqlib.domains.machine import CREW, PLAN, machine_mdp
from gqlib.domains.two_state import two_state
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

__all__ = ["BOWLS", "bowl_problem", "show_bowl"]

Bowl = Literal["machine, run and repair", "machine, 1 and repair", "two states"]
BOWLS = get_args(Bowl)
_LEANING = ((1.0, 0.0), (1.0, 1.0)) * 3


def bowl_problem(name: Bowl, gamma: float = 0.95) -> PredictionProblem:
    """One of the three problems with two weights.

    Parameters
    ----------
    name : {"machine, run and repair", "machine, 1 and repair", "two states"}
    gamma : float in [0, 1)

    Examples
    --------
    >>> for name in BOWLS:
    ...     print(name, round(bowl_problem(name).mspbe([2.0, 1.0], 0.0, 0.0), 3))
    machine, run and repair 1.097
    machine, 1 and repair 3.289
    two states 0.061
    """
    kind = check.choice("name", name, BOWLS)
    if kind == "two states":
        problem = two_state(gamma).problem
        assert isinstance(
            problem, PredictionProblem
        )  # on a finite index set, unlike the problem of a general domain
        return problem
    features = FLAGS if kind == BOWLS[0] else _LEANING
    return PredictionProblem.on_pairs(machine_mdp(gamma), CREW, PLAN, features)


@cache
def bowl_explorable() -> Explorable:
    """A_σ (four entries, by rows), b (two) and M (four) of each problem, as functions of σ, λ and γ."""
    formulas = {}
    for name in BOWLS:
        twin = symbolic.twin(bowl_problem(name), largest_denominator=_DENOMINATOR)
        formulas[name] = to_javascript([SIGMA, LAM, GAMMA], [*twin.A(), *twin.b(), *twin.M])
    return Explorable(
        "bowl",
        "MSPBE of two weights: level lines of the bowl with the way of the semi-gradient learner and the way downhill, "
        "and the objective along both ways over time, for the σ, λ, γ and problem that are set",
        (
            Slider("sigma", "σ", 0.0, 1.0, 0.0),
            Slider("lambda", "λ", 0.0, 1.0, 0.0),
            Slider("gamma", "γ", 0.5, 0.99, 0.95),
        ),
        formulas,
        BOWLS,
        "",
        "The problem at the σ, λ and γ that you set. Level lines of MSPBE in the plane of the two weights, each a "
        "quarter of the next; from the start (orange) the way of the mean semi-gradient step and the way straight "
        "downhill; the dot in the colour of the letters is where both come to rest, if they do. MSPBE along the two "
        "ways, as a share of that at the start, against time; both axes are logarithmic.",
        (
            Preset("the machine", {"sigma": 0.0, "lambda": 0.0, "gamma": 0.95}, BOWLS[0]),
            Preset("a long trace", {"sigma": 0.0, "lambda": 0.9, "gamma": 0.95}, BOWLS[0]),
            Preset("a spiral outwards", {"sigma": 0.0, "lambda": 1.0, "gamma": 0.99}, BOWLS[1]),
            Preset("two states, no trace", {"sigma": 0.0, "lambda": 0.0, "gamma": 0.99}, BOWLS[2]),
            Preset("the paper's γ and λ", {"sigma": 0.0, "lambda": 0.99, "gamma": 0.99}, BOWLS[2]),
        ),
    )


def show_bowl(figure: str) -> None:
    """Make the static figure of this name live: MSPBE of two weights, and two ways to go (Eqs. (18)–(19)).

    Examples
    --------
    >>> from contextlib import redirect_stdout
    >>> from io import StringIO
    >>> with redirect_stdout(StringIO()) as shown:
    ...     show_bowl("fig-hill")
    >>> 'data-figure="fig-hill"' in shown.getvalue()
    True
    """
    _show(bowl_explorable(), figure)
