r"""Live figures of the book: closed forms from sympy, printed as JavaScript, beside a static figure.

A call such as ``show_two_state("fig-phase")`` shows a small block of HTML: sliders as data, and functions that sympy's
JavaScript printer wrote from the expressions of `gqlib.symbolic`. The book's one script, `explorables.js` among its
static files, turns it into an SVG figure with a caption of its own, in place of the static figure of that name, which
stays a click away.
Where no script runs (JupyterLab, print, a browser without JavaScript) the static figure is all there is.

*Two states* (Figures 1–2): A_σ and its eigenvalues in each reading; θ(t) = exp(tA_σ) θ_0.

*Bias and variance*: with ν_σ = (1−σ)π + σμ the fixed point is q^{ν_σ} (after Eq. (16)), so

    bias²    = Σ_i ξ_i (q^{ν_σ}_i − q^π_i)²,
    variance = Σ_i ξ_i Var(δ | i) / (1 − γ²λ²),    Var(δ | i) = γ² Var[σq(S', A') + (1−σ)Σ_a π(a|S') q(S', a) | i],

the second being that of one λ-return, Eq. (11): at the fixed point its errors δ_k have mean zero given the past, and
ξ is stationary, so their variances add up with weights (γλ)^{2k}.

*Time scales* (Theorem 1): J(η) of (θ, ω) and the coefficients of det(sI − J).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import sympy as sp
from sympy.printing.jscode import jscode

from gqlib import _validate as check
from gqlib import domains, symbolic
from gqlib.domains.two_state import ENDINGS, Ending
from gqlib.mdp import FiniteMDP
from gqlib.prediction import PredictionProblem
from gqlib.symbolic import GAMMA, LAM, SIGMA

__all__ = [
    "COIN",
    "GAMMA",
    "KEEP",
    "LAM",
    "SIGMA",
    "Explorable",
    "Preset",
    "Slider",
    "bias_and_variance",
    "show_bias_variance",
    "show_time_scales",
    "show_two_state",
    "small_mdp",
    "to_javascript",
]

ETA, S = sp.symbols("eta s")
COIN = ((0.5, 0.5), (0.5, 0.5))
KEEP = ((1.0, 0.0), (1.0, 0.0))


@dataclass(frozen=True)
class Slider:
    """A native range input; with `log`, it moves log₁₀ of what it shows.

    Examples
    --------
    >>> Slider("eta", "η", -3.0, 1.0, 0.0, log=True)  # from 0.001 to 10
    Slider(name='eta', label='η', low=-3.0, high=1.0, value=0.0, step=0.01, log=True)
    """

    name: str
    label: str
    low: float
    high: float
    value: float
    step: float = 0.01
    log: bool = False


@dataclass(frozen=True)
class Preset:
    """A button that sets some sliders, to what they show, and perhaps the choice.

    Examples
    --------
    >>> Preset("a hundred returns", {"n": 100.0})
    Preset(label='a hundred returns', values={'n': 100.0}, choice='')
    """

    label: str
    values: Mapping[str, float]
    choice: str = ""


@dataclass(frozen=True)
class Explorable:
    """One live figure: a name, a description for those who cannot see it, sliders, a choice, and formulas.

    The caption says what the live figure shows; it replaces that of the static one, which goes where that goes.

    Examples
    --------
    >>> half = Explorable("half", "Half of γ", (Slider("gamma", "γ", 0.0, 1.0, 0.5),), {"y": "(gamma) => [gamma/2]"})
    >>> half.javascript().splitlines()[-1]
    '"y": (gamma) => [gamma/2]}}'
    >>> half.html("fig-half").splitlines()[0]
    '<div class="gq-explorable" data-explorable="half" data-figure="fig-half">'
    """

    name: str
    label: str
    sliders: tuple[Slider, ...]
    formulas: Mapping[str, str]
    choices: tuple[str, ...] = ()
    note: str = ""
    caption: str = ""
    presets: tuple[Preset, ...] = ()

    def javascript(self) -> str:
        """An object literal with the settings and the generated functions."""
        settings = {
            "label": self.label,
            "sliders": [vars(slider) for slider in self.sliders],
            "choices": list(self.choices),
            "note": self.note,
            "caption": self.caption,
            "presets": [vars(preset) for preset in self.presets],
        }
        lines = [f'"{name}": {source}' for name, source in self.formulas.items()]
        return (
            f"{json.dumps(settings, ensure_ascii=False)[:-1]},\n"
            + '"formulas": {\n'
            + ",\n".join(lines)
            + "}}"
        )

    def html(self, figure: str) -> str:
        """The block that the book's script turns into a live figure in place of the static `figure`."""
        if not isinstance(figure, str) or not figure.replace("-", "").isalnum():
            raise ValueError(
                f"figure is {check.brief(figure)}; it should be the name of a figure, such as 'fig-phase'"
            )
        return (
            f'<div class="gq-explorable" data-explorable="{self.name}" data-figure="{figure}">\n'
            f'<p class="gq-note">{PLAIN}</p>\n'
            f'<script>\n(window.gqExplorables = window.gqExplorables || {{}})["{self.name}"] =\n'
            f"{self.javascript()};\n</script>\n</div>"
        )


PLAIN = "In the HTML edition this figure is live where JavaScript runs."


def to_javascript(arguments: Sequence[sp.Symbol], expressions: Sequence[sp.Expr]) -> str:
    """A JavaScript function of the arguments that returns the list of expressions, shared parts computed once.

    Examples
    --------
    >>> print(to_javascript([GAMMA], [GAMMA / 3]))
    (gamma) => {
    return [(1/3)*gamma];
    }
    """
    free = set().union(*(sp.sympify(expression).free_symbols for expression in expressions))
    if not free <= set(arguments):
        unknown = sorted(map(str, free - set(arguments)))
        raise ValueError(
            f"expressions contain {', '.join(unknown)}; every symbol should be among the arguments"
        )
    shared, reduced = sp.cse(list(expressions), symbols=sp.numbered_symbols("x"))
    lines = [f"const {name} = {jscode(value)};" for name, value in shared]
    lines.append(f"return [{', '.join(jscode(value) for value in reduced)}];")
    return f"({', '.join(map(str, arguments))}) => {{\n" + "\n".join(lines) + "\n}"


SIGMA_SLIDER = Slider("sigma", "σ", 0.0, 1.0, 0.0)
LAM_SLIDER = Slider("lambda", "λ", 0.0, 1.0, 0.0)
GAMMA_SLIDER = Slider("gamma", "γ", 0.0, 0.99, 0.99)


def _two_state_twin(reading: Ending) -> symbolic.SymbolicProblem:
    problem = domains.two_state(reading=reading).problem
    assert isinstance(
        problem, PredictionProblem
    )  # on a finite index set: only such a problem has an exact twin
    return symbolic.twin(problem)


@cache
def two_state_explorable() -> Explorable:
    """Figures 1–2: A_σ (four entries, by rows) and its two eigenvalues for each reading."""
    arguments = [SIGMA, LAM, GAMMA]
    formulas = {}
    for reading in ENDINGS:
        matrix = _two_state_twin(reading).A()
        formulas[reading] = to_javascript(arguments, [*matrix, *symbolic.eigenvalues(matrix)])
    return Explorable(
        "two-state",
        "The two-state example: eigenvalues of A against σ, the region of instability in σ and λ, and the mean "
        "weights over time, for the σ, λ, γ and reading that are set",
        (SIGMA_SLIDER, LAM_SLIDER, GAMMA_SLIDER),
        formulas,
        ENDINGS,
        "Drag the point in the square, or move it with the arrow keys.",
        "The two-state example at the σ, λ, γ and reading that you set. Eigenvalues of A against σ, with dots at your "
        "σ: where the larger one is above zero (shaded), the mean weights diverge. The square of σ and λ: shaded where "
        "that happens. θ(t): the mean weights from θ(0) = (2, 0), on a scale that is linear near zero and logarithmic "
        "beyond.",
        (
            Preset(
                "the paper's γ and λ", {"sigma": 0.0, "lambda": 0.99, "gamma": 0.99}, "continuing"
            ),
            Preset(
                "the same, bootstrap", {"sigma": 0.0, "lambda": 0.99, "gamma": 0.99}, "bootstrap"
            ),
            Preset("no trace", {"sigma": 0.0, "lambda": 0.0, "gamma": 0.99}, "continuing"),
        ),
    )


def small_mdp(gamma: float = 0.9) -> FiniteMDP:
    """Two states, two actions: *keep* stays with probability ¾, *toss* lands in either state with probability ½.

    Keeping pays 0 in state 1 and 1 in state 2, tossing the other way round: keeping (the target policy) makes
    the two states as different as they can be, and choosing by a coin (the behaviour) makes them alike.

    Examples
    --------
    >>> small_mdp().q(KEEP).round(4).tolist()
    [[4.0909, 5.5], [5.9091, 4.5]]
    """
    transitions = [[[0.75, 0.25], [0.5, 0.5]], [[0.25, 0.75], [0.5, 0.5]]]
    return FiniteMDP(transitions, [[0.0, 1.0], [1.0, 0.0]], gamma)


@cache
def bias_and_variance() -> tuple[sp.Expr, sp.Expr, sp.ImmutableMatrix]:
    """bias² and variance of the λ-return of `small_mdp` as functions of σ, λ and γ, and q^{ν_σ}; μ = COIN, π = KEEP.

    Examples
    --------
    >>> bias, variance, _ = bias_and_variance()
    >>> bias.subs(SIGMA, 0), sp.cancel(variance.subs(SIGMA, 0)) == 0  # at σ = 0 no bias, but S' is still random
    (0, False)
    """
    table = [[float(i == j) for j in range(4)] for i in range(4)]
    twin = symbolic.twin(PredictionProblem.on_pairs(small_mdp(0.5), COIN, KEEP, table))

    def q(sigma: Any) -> sp.Matrix:
        mixed = twin.p_pi + sigma * (twin.p_mu - twin.p_pi)
        return symbolic.solve(sp.eye(4) - GAMMA * mixed, twin.rewards)

    value = q(SIGMA)
    bias = (value - q(sp.Integer(0))).applyfunc(sp.factor)
    # What stands in for the next pair (s', a') in δ: σq(s', a') + (1−σ)Σ_a π(a|s') q(s', a), and π always keeps.
    target = sp.Matrix([SIGMA * value[i] + (1 - SIGMA) * value[i - i % 2] for i in range(4)])
    mean = twin.p_mu * target
    spread = sum(
        twin.xi[i] * twin.p_mu[i, j] * sp.factor(target[j] - mean[i]) ** 2
        for i in range(4)
        for j in range(4)
    )
    squared = sum(twin.xi[i] * bias[i] ** 2 for i in range(4))
    variance = GAMMA**2 * sp.factor(spread) / (1 - GAMMA**2 * LAM**2)
    return sp.factor(squared), variance, sp.ImmutableMatrix(value.applyfunc(sp.factor))


@cache
def bias_variance_explorable() -> Explorable:
    """bias², variance and the four values q^{ν_σ} of `small_mdp`."""
    squared, variance, value = bias_and_variance()
    return Explorable(
        "bias-variance",
        "A small MDP: bias, standard deviation and total error of the mean of n λ-returns against σ, and the values "
        "of the mixture policy against σ, for the σ, λ, γ and n that are set",
        (
            Slider("sigma", "σ", 0.0, 1.0, 0.5),
            LAM_SLIDER,
            Slider("gamma", "γ", 0.0, 0.99, 0.9),
            Slider("n", "n", 0.0, 4.0, 0.0, 0.1, log=True),
        ),
        {"moments": to_javascript([SIGMA, LAM, GAMMA], [squared, variance, *value])},
        note="Drag the point on the curve, or move it with the arrow keys.",
        caption="The small MDP at the σ, λ, γ and n that you set. Errors of the mean of n λ-returns at their fixed "
        "point, against σ: bias (root mean square over pairs), standard deviation, and the total, the root of the sum "
        "of their squares. Values of the mixture policy, to which the bias is due, for the four pairs; at σ = 0 they "
        "are those of the target policy.",
        presets=(
            Preset("one return", {"n": 1.0}),
            Preset("a hundred returns", {"n": 100.0}),
            Preset("long traces", {"lambda": 0.9, "n": 1.0}),
        ),
    )


@cache
def joint_polynomial() -> tuple[sp.ImmutableMatrix, tuple[sp.Expr, ...]]:
    """J(η) of the two-state example, and the coefficients of det(sI − J) from s³ down to s⁰ (that of s⁴ is 1).

    The determinant is that of the quadratic pencil s²I + s(ηM − A) + ηAAᵀ.
    """
    twin = _two_state_twin("continuing")
    a, m, v = twin.A(), twin.M, twin.gamma_v()
    joint = sp.Matrix(sp.BlockMatrix([[a, -v], [ETA * a, -ETA * m]]))
    # Letters stand for the entries of A until the powers of s are collected: shorter, and no digits cancel.
    letters = sp.Matrix(2, 2, sp.symbols("a:4"))
    pencil = S**2 * sp.eye(2) + S * (ETA * m - letters) + ETA * letters * letters.T
    coefficients = sp.Poly(pencil.det(), S).all_coeffs()[1:]
    entries = dict(zip(letters, a, strict=True))
    return sp.ImmutableMatrix(joint), tuple(sp.factor(c).subs(entries) for c in coefficients)


@cache
def time_scales_explorable() -> Explorable:
    """Theorem 1 on the two-state example: J(η), sixteen entries by rows, and the coefficients of det(sI − J)."""
    joint, coefficients = joint_polynomial()
    arguments = [SIGMA, LAM, GAMMA, ETA]
    return Explorable(
        "time-scales",
        "The joint system of θ and ω on the two-state example: eigenvalues of J in the complex plane, their largest "
        "real part against η, and the path of θ₁ and ω₁, for the η, σ, λ and γ that are set",
        (
            Slider("eta", "η", -3.0, 1.0, -0.9, 0.02, log=True),
            SIGMA_SLIDER,
            LAM_SLIDER,
            GAMMA_SLIDER,
        ),
        {
            "J": to_javascript(arguments, list(joint)),
            "coefficients": to_javascript(arguments, list(coefficients)),
        },
        note="Drag the point on the curve, or move it with the arrow keys.",
        caption="The joint system of θ and ω on the two-state example, continuing chain, at the η, σ, λ and γ that you "
        "set. Eigenvalues of J(η) in the complex plane, large dots at your η: one in the shaded half means divergence. "
        "The largest real part against η. The path of θ₁ and ω₁ from θ = (2, 0), ω = (0, 0), over 200 units of time or "
        "until it has grown fifteenfold. Scales are linear near zero and logarithmic beyond, but for the path.",
        presets=(
            Preset("just unstable", {"eta": 10**-0.9, "sigma": 0.0, "lambda": 0.0, "gamma": 0.99}),
            Preset("just stable", {"eta": 10**-0.8, "sigma": 0.0, "lambda": 0.0, "gamma": 0.99}),
            Preset("the paper's least η", {"eta": 2.0**-10}),
        ),
    )


def _show(explorable: Explorable, figure: str) -> None:
    """Hand the block to the notebook, if there is one; outside HTML, one sentence stands in for it."""
    html = explorable.html(figure)
    try:
        from IPython.display import display
    except ImportError:
        return
    display({"text/html": html, "text/plain": PLAIN}, raw=True)  # type: ignore[no-untyped-call,unused-ignore]


def show_two_state(figure: str) -> None:
    """Make the static figure of this name live: the two-state example with σ, λ, γ and the reading (Figures 1–2).

    Examples
    --------
    >>> from contextlib import redirect_stdout
    >>> from io import StringIO
    >>> with redirect_stdout(StringIO()) as shown:
    ...     show_two_state("fig-phase")
    >>> 'data-figure="fig-phase"' in shown.getvalue()
    True
    """
    _show(two_state_explorable(), figure)


def show_bias_variance(figure: str) -> None:
    """Make the static figure of this name live: bias and variance of a λ-return against σ on `small_mdp`.

    Examples
    --------
    >>> from contextlib import redirect_stdout
    >>> from io import StringIO
    >>> with redirect_stdout(StringIO()) as shown:
    ...     show_bias_variance("fig-bias")
    >>> 'data-figure="fig-bias"' in shown.getvalue()
    True
    """
    _show(bias_variance_explorable(), figure)


def show_time_scales(figure: str) -> None:
    """Make the static figure of this name live: eigenvalues of J(η) and the path of (θ, ω) (Theorem 1).

    Examples
    --------
    >>> from contextlib import redirect_stdout
    >>> from io import StringIO
    >>> with redirect_stdout(StringIO()) as shown:
    ...     show_time_scales("fig-eta")
    >>> 'data-figure="fig-eta"' in shown.getvalue()
    True
    """
    _show(time_scales_explorable(), figure)
