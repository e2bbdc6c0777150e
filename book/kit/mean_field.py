r"""The field of the mean update, θ̇ = A_σθ + b: drawn, and live on the machine with two weights. See Eqs. (12)–(15).

The two weights say what *running* and what *repairing* is worth, whatever the state. Then A_σ is 2 × 2, its entries are
rational functions of σ, λ and γ, and b, the arrow at the origin, does not contain σ:

    A_σ = ΦᵀΞ(I − γλP^μ)⁻¹(γ[(1−σ)P^π + σP^μ] − I)Φ,        b = ΦᵀΞ(I − γλP^μ)⁻¹r.

`mean_field.js` among the book's static files draws the live figure with the tools of `explorables.js`.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

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
from kit.figures import BLACK, BLUE, RED

__all__ = ["FLAGS", "draw_field", "machine_flags", "show_mean_field"]

FLAGS = ((1.0, 0.0), (0.0, 1.0)) * 3
# The stationary law of the crew has this denominator; see the chapter.
_DENOMINATOR = 25520
_ARROWS, _STEPS, _FIRST = 9, 400, 0.15


def machine_flags(gamma: float = 0.95) -> PredictionProblem:
    """The machine with two weights: φ = (1, 0) for a pair that runs, (0, 1) for one that repairs.

    Parameters
    ----------
    gamma : float in [0, 1)

    Examples
    --------
    >>> machine_flags().fixed_point(0.0, 0.0).round(2).tolist()
    [22.99, 20.45]
    """
    return PredictionProblem.on_pairs(machine_mdp(gamma), CREW, PLAN, FLAGS)


def draw_field(axes: Any, matrix: ArrayLike, vector: ArrayLike, size: float) -> Array:
    """Arrows Aθ + b over the square [0, size]², the one at the origin in orange, and the path from zero with its end.

    Arrows are as long as the square root of the step, so that slow ones can be seen beside fast ones; the orange one
    shows the direction only.
    Returns the resting point −A⁻¹b, (2,).

    Parameters
    ----------
    axes : matplotlib axes
    matrix : array_like, (2, 2)
    vector : array_like, (2,)
    size : float
        The side of the square.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> problem = machine_flags()
    >>> draw_field(Figure().subplots(), problem.A(1.0, 0.0), problem.b(1.0, 0.0), 30.0).round(2).tolist()
    [25.81, 22.24]
    """
    a, b = check.array("matrix", matrix, (2, 2)), check.array("vector", vector, (2,))
    size = check.scalar("size", size, low=0.0, open_low=True)
    values, vectors = np.linalg.eig(a)
    if values.real.max() >= 0.0:
        raise ValueError(
            f"matrix has eigenvalues {values.round(4).tolist()}; their real parts should be negative"
        )
    rest = np.linalg.solve(a, -b)
    ticks = np.linspace(0.0, size, _ARROWS)
    places = np.array([(x, y) for y in ticks for x in ticks])
    steps = places @ a.T + b
    lengths = np.maximum(np.linalg.norm(steps, axis=1, keepdims=True), 1e-12)
    arrows = 0.9 * size / (_ARROWS - 1) * steps / np.sqrt(lengths * lengths.max())
    look = {"angles": "xy", "scale_units": "xy", "scale": 1.0, "width": 0.006}
    axes.quiver(*places[1:].T, *arrows[1:].T, color="0.55", **look)
    first = _FIRST * size * steps[:1] / lengths[0]
    axes.quiver(*places[:1].T, *first.T, color=RED, zorder=4, **{**look, "width": 0.012})
    # The path, by the eigenvectors of A: θ(t) = θ_* − V exp(tκ) V⁻¹θ_*.
    times = np.geomspace(1e-3, 200.0, _STEPS)
    shares = np.linalg.solve(vectors, rest.astype(vectors.dtype))
    path = rest[:, None] - (vectors @ (shares[:, None] * np.exp(np.outer(values, times)))).real
    axes.plot(*path, "-", color=BLUE)
    axes.plot(*rest, "o", color=BLACK, markersize=6)
    margin = 0.08 * size
    axes.set(xlim=(-margin, size + margin), ylim=(-margin, size + margin))
    return np.asarray(rest)


@cache
def mean_field_explorable() -> Explorable:
    """A_σ (four entries, by rows) and b (two) of the machine with two weights, as functions of σ, λ and γ."""
    twin = symbolic.twin(machine_flags(), largest_denominator=_DENOMINATOR)
    return Explorable(
        "mean-field",
        "The machine with two weights: the field of the mean update with its arrow at the origin and a path, where the "
        "weights come to rest against σ, and the weights over time, for the σ, λ and γ that are set",
        (
            Slider("sigma", "σ", 0.0, 1.0, 0.0),
            Slider("lambda", "λ", 0.0, 1.0, 0.0),
            Slider("gamma", "γ", 0.5, 0.95, 0.95),
        ),
        {"field": to_javascript([SIGMA, LAM, GAMMA], [*twin.A(), *twin.b()])},
        note="Drag the point on the curve, or move it with the arrow keys.",
        caption="The machine with two weights at the σ, λ and γ that you set. The field of arrows Aθ + b, as long as "
        "the root of the step; orange, the direction of the arrow at the origin, b, which σ does not turn; the path "
        "from zero, and where it comes to rest. The resting weights against σ: moving the point moves σ. The weights "
        "over time, one unit being 1/α mornings; dotted, where they come to rest.",
        presets=(
            Preset("no trace, the plan", {"sigma": 0.0, "lambda": 0.0, "gamma": 0.95}),
            Preset("no trace, the crew", {"sigma": 1.0, "lambda": 0.0, "gamma": 0.95}),
            Preset("the paper's λ = 0.99", {"lambda": 0.99, "gamma": 0.95}),
        ),
    )


def show_mean_field(figure: str) -> None:
    """Make the static figure of this name live: the field of the mean update on the machine with two weights.

    Examples
    --------
    >>> from contextlib import redirect_stdout
    >>> from io import StringIO
    >>> with redirect_stdout(StringIO()) as shown:
    ...     show_mean_field("fig-field")
    >>> 'data-figure="fig-field"' in shown.getvalue()
    True
    """
    _show(mean_field_explorable(), figure)
