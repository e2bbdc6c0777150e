"""The live figures of the book, each declared once (`kit.live`): sliders, a sheet of cells, panels and read-outs.

======================  ========================================================================================
`two-state`             the two-state example: eigenvalues of A, the unstable region, mean weights (Figures 1–2)
`bias-variance`         bias and variance of a λ-return against σ on `examples.small_mdp`
`time-scales`           eigenvalues of J(η) and the path of (θ, ω) (Theorem 1)
`repair`                where each σ leads, and how much noise it makes, in the paper's method and the repaired one
`mspbe`                 MSPBE of two weights, and two ways from the same start (Eqs. (18)–(19))
`one-update`            one update of Q(σ) (Eq. (5))
`credit`                who is paid for three errors (Eqs. (6)–(7))
`chance`                the share of one case, if σ had no effect (Tables 1 and 2)
`two-readings`          one logbook read with Eqs. (25)–(26), with Algorithm 1 as printed, without correction
`mean-field`            the field of the mean update on the machine with two weights (Eqs. (12)–(15))
`resting-point`         where the weights come to rest on the machine (Eq. (16))
`method-map`            method × λ × problem: stable or not, and the error of the fixed point, from ``today.npz``
======================  ========================================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import sympy as sp
from sympy.printing.jscode import jscode

from gqlib import domains, symbolic
from gqlib.domains.two_state import ENDINGS
from gqlib.experiments.printed import PAPER_TABLE_1
from gqlib.prediction import PredictionProblem
from gqlib.symbolic import GAMMA, LAM, SIGMA
from kit import examples
from kit.live import (
    Axis,
    Cell,
    Figure,
    Handle,
    Mark,
    Panel,
    Preset,
    Slider,
    constant,
    eigenvalues,
    flow,
    fold,
    formula,
    least,
    put,
    roots,
    row,
    rows,
    summed,
    sweep,
    table,
)

RESULTS = Path(__file__).resolve().parents[2] / "results"
ETA, ALPHA, N, T = sp.symbols("eta alpha n t")
LAW = 25520  # the denominator of the crew's stationary law; see the chapter on the expected update
GAP = sp.Symbol("NaN")  # where a stroke ends
DASH, DOTS = "7 4", "2 4"
SETTING = [SIGMA, LAM, GAMMA]
HERE = "sigma lambda gamma"
DRAG = "Drag the point on the curve, or move it with the arrow keys."
UNIT_TICKS = (0, 0.25, 0.5, 0.75, 1)
AGAINST_SIGMA = Axis("σ", ticks=UNIT_TICKS)
DIGITS = 6  # significant, of the numbers in a table


# ---------------------------------------------------------------- tools


def js(arguments: Sequence[Any], expressions: Sequence[Any]) -> str:
    """A JavaScript function of symbols, or lists of them, that returns a list; shared parts are computed once.

    Examples
    --------
    >>> print(js([GAMMA, letters("a", 2)], [GAMMA / 3]))
    (gamma, a0, a1) => {
    return [(1/3)*gamma];
    }
    """
    given = [symbol for one in arguments for symbol in (one if isinstance(one, tuple) else [one])]
    free = set[Any]().union(*(sp.sympify(expression).free_symbols for expression in expressions))
    unknown = sorted(map(str, free - {*given, GAP}))
    if unknown:
        raise ValueError(
            f"expressions contain {', '.join(unknown)}; every symbol should be among the arguments"
        )
    shared, reduced = sp.cse(list(expressions), symbols=sp.numbered_symbols("x"))
    lines = [f"const {name} = {jscode(value)};" for name, value in shared]
    lines.append(f"return [{', '.join(jscode(value) for value in reduced)}];")
    return f"({', '.join(map(str, given))}) => {{\n" + "\n".join(lines) + "\n}"


def letters(name: str, count: int) -> tuple[Any, ...]:
    """Symbols that stand for the numbers of a cell."""
    made: tuple[Any, ...] = sp.symbols(f"{name}:{count}")
    return made


def twin(problem: Any) -> symbolic.SymbolicProblem:
    """The exact twin of a problem of this module."""
    assert isinstance(problem, PredictionProblem)  # on a finite index set
    return symbolic.twin(problem, largest_denominator=LAW)


def line(of: str, x: int, y: int, colour: str = "blue", dashes: str = "") -> Mark:
    """A stroke through the rows of a cell."""
    return Mark("line", of, x, y, colour, dashes)


def dots(
    *points: Any, of: str = "", x: int = 0, y: int = 1, colour: str = "mark", size: float = 5
) -> Mark:
    """Dots at points, or at the rows of a cell."""
    return Mark("dots", of, x, y, colour, size=size, points=points)


def box(*ends: Any) -> Mark:
    """A shaded box: left, right, low, high."""
    return Mark("box", points=ends)


def power(
    name: str, label: str, low: float, high: float, value: float, step: float, **options: bool
) -> Slider:
    """A slider on a logarithmic scale."""
    return Slider(name, label, low, high, value, step, log=True, **options)


def root_of(square: Any) -> Any:
    """A root whose square may be below zero by rounding."""
    return sp.sqrt(sp.Max(square, 0))


def dot(one: Sequence[Any], other: Sequence[Any]) -> Any:
    """Σ one_i other_i."""
    return sum(a * b for a, b in zip(one, other, strict=True))


def rest_of(a: Sequence[Any], b: Sequence[Any]) -> list[Any]:
    """−A⁻¹b by Cramer's rule, A by rows."""
    matrix, right = sp.Matrix(len(b), len(b), list(a)), -sp.Matrix(list(b))
    return list(matrix.adjugate() * right / matrix.det())


def homogeneous(a: Sequence[Any], b: Sequence[Any]) -> list[Any]:
    """The matrix of θ̇ = Aθ + b as one of (θ, 1), by rows, two weights."""
    return [a[0], a[1], b[0], a[2], a[3], b[1], 0, 0, 0]


def sliders(gamma: float, low: float, high: float, sigma: float = 0.0) -> tuple[Slider, ...]:
    """Of σ, λ and γ."""
    return (
        Slider("sigma", "σ", 0.0, 1.0, sigma),
        Slider("lambda", "λ", 0.0, 1.0, 0.0),
        Slider("gamma", "γ", low, high, gamma),
    )


def at(
    sigma: float | None = None,
    lam: float | None = None,
    gamma: float | None = None,
    **others: float,
) -> dict[str, float]:
    """Settings of a preset."""
    given = {"sigma": sigma, "lambda": lam, "gamma": gamma} | others
    return {name: value for name, value in given.items() if value is not None}


# ---------------------------------------------------------------- the figures


def two_state() -> Figure:
    """A_σ by rows, its two eigenvalues, and θ(t) = exp(tA) θ_0, in each reading."""
    a = letters("a", 4)
    half, turn = (a[0] + a[3]) / 2, root_of(((a[0] - a[3]) / 2) ** 2 + a[1] * a[2])
    matrices = {
        reading: twin(domains.two_state(reading=reading).problem).A() for reading in ENDINGS
    }
    cells = {
        "A": formula(
            HERE, {reading: js(SETTING, list(matrix)) for reading, matrix in matrices.items()}
        ),
        "eigenvalues": formula("A", js([a], [half + turn, half - turn])),
        "against_sigma": sweep("eigenvalues", "sigma", 0, 1, 81),
        "plane": sweep("against_sigma", "lambda", 0, 1, 201),
        "start": constant([2, 0]),
        "weights": flow("A", "start"),
        "over_time": sweep("weights", "t", 0, 20, 201),
        "end": put("weights", t=20),
    }
    larger, smaller = ("blue", "", "larger"), ("red", DASH, "smaller")
    decades = (-1000, -100, -10, -1, 0, 1, 10, 100, 1000)
    panels = (
        Panel("Eigenvalues of A against σ", AGAINST_SIGMA, Axis("eigenvalues of A", -3.1, 0.6, (-3, -2, -1, 0, 0.5)),
              (box(0, 1, 0, 0.6), line("against_sigma", 0, 1), line("against_sigma", 0, 2, "red", DASH),
               dots(("sigma", "eigenvalues.0"), ("sigma", "eigenvalues.1"))), (larger, smaller)),
        Panel("Unstable region of σ and λ", AGAINST_SIGMA, Axis("λ", ticks=UNIT_TICKS),
              (Mark("region", "plane", size=1 / 200),), (("shade", "", "unstable"),),
              Handle("Point in the phase diagram", ("sigma", "lambda"), ("sigma", "lambda"))),
        Panel("Mean weights over time", Axis("t", 0, 20), Axis("θ(t)", -1000, 1000, decades, "symlog", 0.5),
              (line("over_time", 0, 1), line("over_time", 0, 2, "red", DASH)),
              (("blue", "", "θ₁(t)"), ("red", DASH, "θ₂(t)"))),
    )  # fmt: skip
    return Figure(
        "two-state",
        "The two-state example: eigenvalues of A against σ, the region of instability in σ and λ, and the mean "
        "weights over time, for the σ, λ, γ and reading that are set",
        sliders(0.99, 0.0, 0.99),
        cells,
        panels,
        "{eigenvalues.0:stable|unstable}",
        (("eigenvalues", "eigenvalues of A:", "{eigenvalues}"), ("theta", "θ(20) =", "({end})")),
        "The two-state example at the σ, λ, γ and reading that you set. Eigenvalues of A against σ, with dots at your "
        "σ: where the larger one is above zero (shaded), the mean weights diverge. The square of σ and λ: shaded where "
        "that happens. θ(t): the mean weights from θ(0) = (2, 0), on a scale that is linear near zero and logarithmic "
        "beyond.",
        "Drag the point in the square, or move it with the arrow keys.",
        ENDINGS,
        "reading",
        (
            Preset("the paper's γ and λ", at(0.0, 0.99, 0.99), "continuing"),
            Preset("the same, bootstrap", at(0.0, 0.99, 0.99), "bootstrap"),
            Preset("no trace", at(0.0, 0.0, 0.99), "continuing"),
        ),
    )


def bias_variance() -> Figure:
    """bias², variance and the four values q^{ν_σ} of `examples.small_mdp`."""
    squared, variance, value = examples.bias_and_variance()
    m = letters("m", 6)
    cells = {
        "moments": formula(HERE, js(SETTING, [squared, variance, *value])),
        "errors": formula(
            "moments n", js([m, N], [root_of(x) for x in (m[0] + m[1] / N, m[0], m[1] / N)])
        ),
        "curves": sweep("errors", "sigma", 0, 1, 101),
        "values": sweep("moments", "sigma", 0, 1, 101),
        "best": least("curves", 1),
    }
    looks = [("blue", ""), ("red", DASH), ("green", DOTS), ("pink", "9 3 2 3")]
    pairs = ("(1, keep)", "(1, toss)", "(2, keep)", "(2, toss)")
    panels = (
        Panel("Errors against σ", AGAINST_SIGMA, Axis("error", fit=(("curves", 1),), include=(0,)),
              tuple(line("curves", 0, k + 1, *looks[k]) for k in range(3)),
              tuple((*looks[k], name) for k, name in enumerate(("total", "bias", "standard deviation"))),
              Handle("Total error at σ", ("sigma",), ("sigma", "errors.0"))),
        Panel("Values of the mixture policy against σ", AGAINST_SIGMA,
              Axis("q of the mixture policy", fit=tuple(("values", k) for k in range(3, 7))),
              (*(line("values", 0, k + 3, *look) for k, look in enumerate(looks)),
               dots(*(("sigma", f"moments.{k}") for k in range(2, 6)), size=4)),
              tuple((*look, pair) for look, pair in zip(looks, pairs, strict=True))),
    )  # fmt: skip
    return Figure(
        "bias-variance",
        "A small MDP: bias, standard deviation and total error of the mean of n λ-returns against σ, and the values "
        "of the mixture policy against σ, for the σ, λ, γ and n that are set",
        (*sliders(0.9, 0.0, 0.99, sigma=0.5), power("n", "n", 0.0, 4.0, 0.0, 0.1, whole=True)),
        cells,
        panels,
        "least total at σ = {best.0}",
        (
            ("total", "total", "{errors.0}"),
            ("bias", "bias", "{errors.1}"),
            ("deviation", "standard deviation", "{errors.2}"),
        ),
        "The small MDP at the σ, λ, γ and n that you set. Errors of the mean of n λ-returns at their fixed "
        "point, against σ: bias (root mean square over pairs), standard deviation, and the total, the root of the sum "
        "of their squares. Values of the mixture policy, to which the bias is due, for the four pairs; at σ = 0 they "
        "are those of the target policy.",
        DRAG,
        presets=(
            Preset("one return", at(n=1.0)),
            Preset("a hundred returns", at(n=100.0)),
            Preset("long traces", at(lam=0.9, n=1.0)),
        ),
    )


def time_scales() -> Figure:
    """J(η) by rows, and the coefficients of det(sI − J) from the pencil s²I + s(ηM − A) + ηAAᵀ."""
    problem = twin(domains.two_state().problem)
    a, m, v = problem.A(), problem.M, problem.gamma_v()
    joint = sp.Matrix(sp.BlockMatrix([[a, -v], [ETA * a, -ETA * m]]))
    # Letters stand for the entries of A until the powers of s are collected: shorter, and no digits cancel.
    s, entries = sp.Symbol("s"), sp.Matrix(2, 2, letters("a", 4))
    pencil = s**2 * sp.eye(2) + s * (ETA * m - entries) + ETA * entries * entries.T
    known = dict(zip(entries, a, strict=True))
    polynomial = [sp.factor(c).subs(known) for c in sp.Poly(pencil.det(), s).all_coeffs()[1:]]
    cells = {
        "J": formula(f"{HERE} eta", js([*SETTING, ETA], list(joint))),
        "polynomial": formula(f"{HERE} eta", js([*SETTING, ETA], polynomial)),
        "eigenvalues": roots("polynomial"),
        "largest": row("eigenvalues", 0),
        "all_eigenvalues": sweep("eigenvalues", "eta", -3, 1, 161, log=True),
        "all_largest": sweep("largest", "eta", -3, 1, 161, log=True),
        "start": constant([2, 0, 0, 0]),
        "weights": flow("J", "start"),
        "path": sweep("weights", "t", 0, 200, 401),
        "end": put("weights", t=200),
    }
    small = (-100, -10, -1, -0.1, 0, 0.1, 1, 10, 100)
    panels = (
        Panel("Eigenvalues of J in the complex plane",
              Axis("real part", -15, 2, (-10, -1, -0.1, 0, 0.1, 1), "symlog", 0.03),
              Axis("imaginary part", -500, 500, small, "symlog", 0.03),
              (box(0, 2, -500, 500), dots(of="all_eigenvalues", x=1, y=2, colour="faint", size=1.2),
               dots(of="eigenvalues")),
              (("mark", "", "at this η"), ("faint", "1 4", "for other η"), ("shade", "", "unstable"))),
        Panel("Largest real part against η", Axis("η", 0.001, 10, (0.001, 0.01, 0.1, 1, 10), "log"),
              Axis("largest real part", -1.5, 0.5, (-1, -0.1, -0.01, 0, 0.01, 0.1), "symlog", 0.005),
              (box(0.001, 10, 0, 0.5), line("all_largest", 0, 1)),
              handle=Handle("Step ratio η", ("eta",), ("eta", "largest.0"))),
        Panel("Path of θ₁ and ω₁", Axis("θ₁", fit=(("path", 1),), most=30), Axis("ω₁", fit=(("path", 3),), most=30),
              (line("path", 1, 3), dots(("start.0", "start.2"), colour="start", size=4), dots(("end.0", "end.2"))),
              (("blue", "", "path"), ("start", "", "start"), ("mark", "", "end"))),
    )  # fmt: skip
    return Figure(
        "time-scales",
        "The joint system of θ and ω on the two-state example: eigenvalues of J in the complex plane, their largest "
        "real part against η, and the path of θ₁ and ω₁, for the η, σ, λ and γ that are set",
        (power("eta", "η", -3.0, 1.0, -0.9, 0.02), *sliders(0.99, 0.0, 0.99)),
        cells,
        panels,
        "{largest.0:stable|unstable}",
        (
            ("abscissa", "largest real part", "{largest.0}"),
            ("eigenvalues", "eigenvalues of J:", "{eigenvalues}"),
            ("end", "at the end (θ₁, ω₁) =", "({end.0}, {end.2})"),
        ),
        "The joint system of θ and ω on the two-state example, continuing chain, at the η, σ, λ and γ that you "
        "set. Eigenvalues of J(η) in the complex plane, large dots at your η: one in the shaded half means divergence. "
        "The largest real part against η. The path of θ₁ and ω₁ from θ = (2, 0), ω = (0, 0), over 200 units of time, as "
        "far as it stays within fifteen times its start. Scales are linear near zero and logarithmic beyond, but for "
        "the path.",
        DRAG,
        presets=(
            Preset("just unstable", at(0.0, 0.0, 0.99, eta=10**-0.9)),
            Preset("just stable", at(0.0, 0.0, 0.99, eta=10**-0.8)),
            Preset("the paper's least η", {"eta": 2.0**-10}),
        ),
    )


def rounded(values: Any, zero: float = 0.0) -> Any:
    """Numbers as the page holds them; what is not above `zero` in size is zero."""
    return (
        [rounded(x, zero) for x in values]
        if np.ndim(values)
        else float(f"{values:.{DIGITS}g}")
        if abs(values) > zero
        else 0.0
    )


@cache
def repair_tables() -> tuple[dict[str, Any], dict[str, Any]]:
    """By case and λ: at each σ squared bias and variance over α, repaired and paper's; and the repaired's parabola."""
    both: dict[str, Any] = {}
    parabolas: dict[str, Any] = {}
    for name in examples.CASES:
        curves = [examples.parabola(name, lam) for lam in examples.LAMS]
        parabolas[name] = [rounded(one, 1e-9 * max(one)) for one in curves]
        both[name] = []
        for lam in examples.LAMS:
            pairs = [
                [
                    *examples.errors(name, "corrected", sigma, lam),
                    *examples.errors(name, "paper", sigma, lam),
                ]
                for sigma in examples.SIGMAS
            ]
            # What is zero but for rounding is zero on the page, too: a curve that lies on zero should be seen to do so.
            both[name].append(rounded(pairs, 1e-9 * np.max(pairs)))
    return both, parabolas


def repair() -> Figure:
    """Bias and variance of both methods at every λ of the slider, for three cases."""
    both, parabolas = repair_tables()
    e, c = letters("e", 4), letters("c", 3)
    inside = sp.Max(0, sp.Min(1, -c[1] / (2 * c[2])))

    def noise(sigma: Any) -> Any:
        return sp.sqrt((c[0] + sigma * (c[1] + sigma * c[2])) / c[0])

    top = sp.Float(1.1) * sp.Max(1, noise(1))
    low, x = noise(inside), sp.Piecewise((sp.Min(2, top), inside > 0), (top, True))
    cells = {
        "errors": table({"choice": None, "lambda": examples.LAMS, "sigma": examples.SIGMAS}, both),
        "total": formula("errors alpha", js([e, ALPHA], [root_of(e[0] + ALPHA * e[1]), root_of(e[2] + ALPHA * e[3]),
                                                         root_of(e[0]), root_of(e[2])])),
        "curves": sweep("total", "sigma", 0, 1, len(examples.SIGMAS)),
        "parabola": table({"choice": None, "lambda": examples.LAMS}, parabolas),
        "noise": formula("parabola sigma", js([c, SIGMA], [noise(SIGMA)])),
        "noise_curve": sweep("noise", "sigma", 0, 1, 101),
        "least": formula("parabola", js([c], [inside, low, 100 * (1 - low**2), x])),
        "level": constant([[0, 1], [1, 1]]),
    }  # fmt: skip
    key = (("blue", "", "repaired"), ("red", DASH, "the paper's"))

    def against(
        title: str, label: str, columns: tuple[int, int], handle: Handle | None = None
    ) -> Panel:
        marks = (line("curves", 0, columns[0]), line("curves", 0, columns[1], "red", DASH))
        fit = tuple(("curves", column) for column in columns)
        return Panel(
            title,
            AGAINST_SIGMA,
            Axis(label, fit=fit, include=(0,), margin=0.06),
            marks,
            key,
            handle,
        )

    handle = Handle("Total error of the repaired method at σ", ("sigma",), ("sigma", "total.0"))
    panels = (
        against("Total error against σ", "total error", (1, 2), handle),
        against("Bias against σ", "bias", (3, 4)),
        Panel("Noise of the repaired method against σ", AGAINST_SIGMA, Axis("noise / noise at σ = 0", 0, "least.3"),
              (line("noise_curve", 0, 1), line("level", 0, 1, "faint", DOTS), dots(("least.0", "least.1"))),
              (("blue", "", "repaired"), ("mark", "", "least"), ("faint", DOTS, "σ = 0"))),
    )  # fmt: skip
    return Figure(
        "repair",
        "The paper's method and the repaired one: total error against σ with the bias in it, and the standard "
        "deviation of the repaired method with the σ at which it is least, for the σ, λ, α and features that are set",
        (
            Slider("sigma", "σ", 0.0, 1.0, 0.5, 0.05),
            Slider("lambda", "λ", 0.0, 0.9, 0.0, 0.1),
            power("alpha", "α", -4.0, -1.0, -2.0, 0.1),
        ),
        cells,
        panels,
        "repaired: least noise at σ = {least.0}",
        (
            ("saved", "variance saved there", "{least.2}\u00a0%"),
            ("repaired", "total error at your σ: repaired", "{total.0}"),
            ("paper", "the paper's", "{total.1}"),
        ),
        "The paper's method and the repaired one at the λ, α and features that you set, η = 4, to first order in α. "
        "Total error: root mean square over visits of the learnt values against those of the target policy; the point "
        "is the repaired method at your σ. Bias: the same without noise. Noise of the repaired method, relative to "
        "σ = 0, and the σ at which it is least; where that is above 0 the panel ends at twice the noise of σ = 0.",
        DRAG,
        examples.CASES,
        "features",
        (
            Preset("a table: σ only makes noise", at(0.5, 0.0, alpha=0.01), examples.CASES[0]),
            Preset("features: a small σ helps", at(0.2, 0.9, alpha=0.001), examples.CASES[2]),
            Preset("the paper's α, λ near its 0.99", at(lam=0.9, alpha=0.001), examples.CASES[0]),
        ),
    )


def mspbe() -> Figure:
    """With g = Aθ + b: MSPBE is ½ gᵀM⁻¹g; one learner follows θ̇ = g, the other θ̇ = −AᵀM⁻¹g, straight downhill."""
    a, b, m = letters("a", 4), letters("b", 2), letters("m", 4)
    matrix, vector, gram = sp.Matrix(2, 2, a), sp.Matrix(b), sp.Matrix(2, 2, m)
    system, theta, top = (*a, *b, *m), letters("w", 3), sp.Symbol("height")
    inverse = gram.adjugate() / gram.det()
    steep, shift = -matrix.T * inverse * matrix, -matrix.T * inverse * vector

    def height(where: Sequence[Any]) -> Any:
        g = matrix * sp.Matrix(where[:2]) + vector
        return (g.T * inverse * g)[0] / 2

    # A level line: θ_* + A⁻¹Lu, with LLᵀ = 2·value·M and u on the unit circle; each a quarter of the next.
    angle, k = sp.symbols("angle k")
    value = top * 4 ** (2 - k)
    first = sp.sqrt(2 * value * m[0])
    lower = 2 * value * m[2] / first
    g = sp.Matrix(
        [
            first * sp.cos(angle),
            lower * sp.cos(angle) + root_of(2 * value * m[3] - lower**2) * sp.sin(angle),
        ]
    )
    ring = sp.Matrix(rest_of(a, b)) + matrix.adjugate() * g / matrix.det()
    source, starts = {}, {}
    for name in examples.BOWLS:
        one = twin(examples.bowl_problem(name))
        source[name] = js(SETTING, [*one.A(), *one.b(), *one.M])
        starts[name] = [2, 0, 1] if name == "two states" else [0, 0, 1]
    cells: dict[str, Cell] = {
        "system": formula(HERE, source),
        "start": table({"choice": None}, starts),
        "rest": formula("system", js([system], rest_of(a, b))),
        "top": formula("system start", js([system, theta], [height(theta)])),
        "ring": formula("system top angle k", js([system, top, angle, k], list(ring))),
        "circle": sweep("ring", "angle", 0, 2 * np.pi, 73),
        "rings": sweep("circle", "k", 0, 7, 8),
    }
    for way, (drift, push) in {"semi": (a, b), "down": (list(steep), list(shift))}.items():
        share = sp.Max(height(theta) / top, sp.Float(1e-14))
        cells |= {
            way: formula("system", js([system], drift)),
            f"{way}_matrix": formula("system", js([system], homogeneous(drift, push))),
            f"{way}_place": flow(f"{way}_matrix", "start"),
            f"{way}_point": formula(
                f"system top {way}_place", js([system, top, theta], [theta[0], theta[1], share])
            ),
            f"{way}_way": sweep(f"{way}_point", "t", -2, 4.4, 161, log=True),
            **eigenvalues(way),
        }

    def around(label: str, k: int) -> Axis:
        seen = (("down_way", k + 1), ("start", k), ("rest", k))
        return Axis(label, fit=seen, margin=0.35)

    key = (("red", DASH, "semi-gradient"), ("blue", "", "downhill"))
    panels = (
        Panel("Level lines and two ways", around("first weight", 0), around("second weight", 1),
              (line("rings", 2, 3, "faint", DOTS), line("semi_way", 1, 2, "red", DASH), line("down_way", 1, 2),
               dots(("rest.0", "rest.1")), dots(("start.0", "start.1"), colour="start")),
              (("faint", DOTS, "levels"), *key)),
        Panel("MSPBE over time", Axis("t", 0.01, 1e4, (0.01, 1, 100), "log"),
              Axis("MSPBE, as a share of that at the start", 1e-9, 100, (1e-4, 1), "log"),
              (line("semi_way", 0, 3, "red", DASH), line("down_way", 0, 3)), key),
    )  # fmt: skip
    machine, leaning, states = examples.BOWLS
    return Figure(
        "mspbe",
        "MSPBE of two weights: level lines of the bowl with the way of the semi-gradient learner and the way downhill, "
        "and the objective along both ways over time, for the σ, λ, γ and problem that are set",
        sliders(0.95, 0.5, 0.99),
        cells,
        panels,
        "semi-gradient {semi_eigenvalues.0.0:comes home|runs away}",
        (
            ("semi", "largest real part: semi-gradient", "{semi_eigenvalues.0.0}"),
            ("downhill", "downhill", "{down_eigenvalues.0.0}"),
            ("mspbe", "MSPBE at the start", "{top.0}"),
            ("rest", "rest", "({rest})"),
        ),
        "The problem at the σ, λ and γ that you set. Level lines of MSPBE in the plane of the two weights, each a "
        "quarter of the next; from the start (orange) the way of the mean semi-gradient step and the way straight "
        "downhill; the dot in the colour of the letters is where both come to rest, if they do. MSPBE along the two "
        "ways, as a share of that at the start, against time; both axes are logarithmic.",
        "",
        examples.BOWLS,
        "problem",
        (
            Preset("the machine", at(0.0, 0.0, 0.95), machine),
            Preset("a long trace", at(0.0, 0.9, 0.95), machine),
            Preset("a spiral outwards", at(0.0, 1.0, 0.99), leaning),
            Preset("two states, no trace", at(0.0, 0.0, 0.99), states),
            Preset("the paper's γ and λ", at(0.0, 0.99, 0.99), states),
        ),
    )


def one_update() -> Figure:
    """The line *worn, run, 2, broken, run* of the machine's logbook: target, error and new guess, from a guess of 30."""
    run, repaired = sp.symbols("run repair")
    target = 2 + sp.Rational(19, 20) * (SIGMA * run + (1 - SIGMA) * repaired)
    # A branch as long as its weight: what counts more reaches further towards its action.
    half, tenth = sp.Rational(1, 2), sp.Rational(1, 10)
    ends = [[half - 3 * tenth * SIGMA, half - 4 * tenth * SIGMA]]
    ends += [[half + 3 * tenth * (1 - SIGMA), half - 4 * tenth * (1 - SIGMA)]]
    cells = {
        "update": formula("sigma run repair alpha", js([SIGMA, run, repaired, ALPHA], [
            target, target - 30, 30 + ALPHA * (target - 30), SIGMA, 1 - SIGMA])),
        "errors": sweep("update", "sigma", 0, 1, 2),
        "taken": formula("sigma", js([SIGMA], [*ends[0], half, half])),
        "prescribed": formula("sigma", js([SIGMA], [*ends[1], half, half])),
        "run_branch": rows("taken", 2),
        "repair_branch": rows("prescribed", 2),
        "stem": constant([[0.5, 0.9], [0.5, 0.5]]),
        "pairs": constant([[0.5, 0.9], [0.2, 0.1], [0.8, 0.1]]),
    }  # fmt: skip
    panels = (
        Panel("Backup diagram", Axis("left: run, the crew’s · right: repair, the plan’s", ticks=()),
              Axis("(worn, run) on top, broken in the middle", ticks=()),
              (line("stem", 0, 1), line("run_branch", 0, 1), line("repair_branch", 0, 1, "red", DASH),
               dots(of="pairs", size=6), dots((0.5, 0.5), colour="start", size=9)),
              (("blue", "", "taken"), ("red", DASH, "prescribed"))),
        Panel("Error of the update against σ", AGAINST_SIGMA,
              Axis("error δ", fit=(("errors", 2),), include=(-5, 5), margin=0.08), (line("errors", 0, 2),),
              handle=Handle("Error at σ", ("sigma",), ("sigma", "update.1"))),
    )  # fmt: skip
    return Figure(
        "one-update",
        "One update of Q(σ) on the line worn, run, 2, broken, run: the backup diagram with its weights, and the error "
        "against σ, for the σ, the two guesses and the step size that are set",
        (
            Slider("sigma", "σ", 0.0, 1.0, 0.5),
            Slider("run", "Q(broken, run)", 0.0, 60.0, 20.0, 1.0),
            Slider("repair", "Q(broken, repair)", 0.0, 60.0, 40.0, 1.0),
            Slider("alpha", "α", 0.0, 1.0, 0.1),
        ),
        cells,
        panels,
        "the guess {update.1:falls|rises|stays}",
        (
            ("weights", "weights of run and repair", "{update.3}, {update.4}"),
            ("target", "target", "{update.0}"),
            ("error", "error", "{update.1}"),
            ("guess", "30 becomes", "{update.2}"),
        ),
        "One update of Q(σ) at the σ, guesses and step size that you set. The backup diagram: the pair on top, "
        "the state reached, its two actions with their weights; solid what the crew did, dashed what the plan would "
        "do. The error of the update against σ: above zero the guess of 30 rises, below it falls.",
        "Drag the point on the line, or move it with the arrow keys.",
        presets=(
            Preset("Expected Sarsa", at(0.0, run=20.0, repair=40.0)),
            Preset("Sarsa", at(1.0, run=20.0, repair=40.0)),
            Preset("the paper's middle, σ = ½", at(0.5, run=20.0, repair=40.0)),
        ),
    )


def credit() -> Figure:
    """Three days with the errors 3 + 4γ − 10, 2 + 6γ − 4 and −2 + 10γ − 6; day j is paid Σ_{k≥j} (γλ)^{k−j} δ_k."""
    errors, fade, day = (
        [3 + 4 * GAMMA - 10, 2 + 6 * GAMMA - 4, -2 + 10 * GAMMA - 6],
        GAMMA * LAM,
        sp.Symbol("day"),
    )
    paid = [
        sum((fade ** (k - j) * errors[k] for k in range(j, 3)), sp.Integer(0)) for j in range(3)
    ]
    bars = [x for j in range(3) for x in (j, 0, j, paid[j], GAP, GAP)]
    own = [x for j in range(3) for x in (j + sp.Rational(3, 20), errors[j])]
    cells = {
        "errors": formula("lambda gamma", js([LAM, GAMMA], errors)),
        "paid": formula("lambda gamma", js([LAM, GAMMA], paid)),
        "reach": formula("lambda gamma", js([LAM, GAMMA], [1 / (1 - fade)])),
        "left": formula("lambda gamma day", js([LAM, GAMMA, day], [fade**day])),
        "fading": sweep("left", "day", 0, 24, 25),
        "next": put("left", day=1),
        "first": sweep("paid", "lambda", 0, 1, 51),
        "bar_ends": formula("lambda gamma", js([LAM, GAMMA], bars)),
        "bars": rows("bar_ends", 2),
        "own_ends": formula("gamma", js([GAMMA], own)),
        "own": rows("own_ends", 2),
    }
    panels = (
        Panel("Credit of one visit", Axis("days since the visit", 0, 24), Axis("credit", 0, 1.05, UNIT_TICKS),
              (line("fading", 0, 1), dots((1, "next.0")))),
        Panel("What each pair is paid", Axis("day of the visit", -0.5, 2.5, (0, 1, 2)),
              Axis("paid", fit=(("bars", 1), ("own", 1)), include=(0,)),
              (line("bars", 0, 1), dots(*((j, f"paid.{j}") for j in range(3))), dots(of="own", colour="start")),
              (("blue", "", "with the trace"), ("start", "", "own day alone"))),
        Panel("What the first pair is paid, against λ", Axis("λ", ticks=UNIT_TICKS),
              Axis("paid to (new, run)", fit=(("first", 1),), include=(0,)), (line("first", 0, 1),),
              handle=Handle("Paid to the first pair at λ", ("lambda",), ("lambda", "paid.0"))),
    )  # fmt: skip
    return Figure(
        "credit",
        "Three days of the machine: what is left of the credit of one visit against the days since, what each of the "
        "three pairs is paid, and what the first is paid against λ, for the λ and γ that are set",
        (Slider("lambda", "λ", 0.0, 1.0, 0.5), Slider("gamma", "γ", 0.5, 1.0, 1.0)),
        cells,
        panels,
        "the credit of a visit, in days: {reach.0}",
        (("errors", "errors", "{errors}"), ("paid", "paid", "{paid}")),
        "Three days of the machine at the λ and γ that you set. What is left of the credit of one visit, day "
        "by day, with a dot at the day after. What each pair is paid: bars for all errors that reach it, dots beside "
        "them for the error of its own day alone; day 0 is (new, run), day 1 (worn, run), day 2 (broken, repair). "
        "What the first pair is paid, against λ.",
        DRAG,
        presets=(
            Preset("no trace", at(lam=0.0, gamma=1.0)),
            Preset("by hand: γλ = ½", at(lam=0.5, gamma=1.0)),
            Preset("the paper's γ = λ = 0.99", at(lam=0.99, gamma=0.99)),
        ),
    )


def chance() -> Figure:
    """If σ has no effect, k of n values of σ of a cell are one case with probability 2(n + 1 − k)/((n + 1)(n + 2))."""
    share, count, all_cells = sp.symbols("share k cells")
    best = PAPER_TABLE_1["I"]
    total = N * all_cells
    spread = 100 * sp.sqrt(all_cells * N * (N + 3) / 18) / total
    cells = {
        "one": formula("n k", js([N, count], [2 * (N + 1 - count) / ((N + 1) * (N + 2))])),
        "single": sweep("one", "k", 0, "n", 0),
        "law": summed("single", "cells"),
        "count": formula("share cells n", js([share, all_cells, N], [
            sp.floor(share / 100 * total + sp.Rational(1, 2)), total, total / 3, spread])),
        "seen": row("law", "count"),
        "third": constant([[100 / 3, 0], [100 / 3, 1]]),
    }  # fmt: skip
    per = Axis("share of one case, %", 0, 100, (0, 25, 50, 75, 100))
    panels = (
        Panel("Law of the share", per, Axis("probability", fit=(("law", 1),), include=(0,), margin=0.15),
              (line("law", 0, 1), line("third", 0, 1, "faint", DOTS), dots(("seen.0", "seen.1"))),
              (("blue", "", "by chance"), ("mark", "", "observed"), ("faint", DOTS, "a third"))),
        Panel("Probability of a share at least as large", per, Axis("probability of as much or more", ticks=UNIT_TICKS),
              (line("law", 0, 2),), handle=Handle("Observed share", ("share",), ("seen.0", "seen.2"))),
    )  # fmt: skip
    return Figure(
        "chance",
        "The table of cases if σ had no effect: the law of the share of one case, and the probability of a share at "
        "least as large, against the share, for the number of cells and of values of σ that are set",
        (
            Slider("share", "share of one case, %", 0.0, 100.0, best, 0.1),
            Slider("cells", "cells", 1.0, 6.0, 6.0, 1.0),
            Slider("n", "values of σ in a cell", 1.0, 99.0, 49.0, 1.0),
        ),
        cells,
        panels,
        "as much or more by chance: {seen.2}",
        (
            ("count", "count", "{count.0} of {count.1}"),
            ("expected", "expected", "{count.2}"),
            ("sd", "standard deviation of the share", "{count.3} %"),
        ),
        "The share of one case, any of the three, if σ had no effect, for the cells and values of σ that you "
        "set. The law of the share, with the observed one marked. The probability of a share at least as large by "
        "chance alone. A third is expected; one cell scatters so widely because all its values share two ends.",
        DRAG,
        presets=(
            Preset("the paper's Table 1", {"share": best, "cells": 6.0, "n": 49.0}),
            Preset("one cell alone", {"share": best, "cells": 1.0, "n": 49.0}),
            Preset("nine values of σ", {"share": best, "cells": 6.0, "n": 9.0}),
        ),
    )


def two_readings() -> Figure:
    """GQ(σ, λ) with the correction of the present step, with that of the step before, and without any, side by side.

    With u = (σ − λ)φ' + (1−σ)φ̄ a step is

        e ← γλe + φ      δ = R + γθᵀ(σφ' + (1−σ)φ̄) − θᵀφ      ω ← ω + β(δe − φφᵀω)      θ ← θ + α(δe − γu(eᵀω))

    and as printed u and e in the last product are those of the step before, zero at first. The state is θ and ω of each
    of the three, the u and e of the step before, and how far the first two θ are apart.
    """
    state, x = letters("s", 17), letters("x", 7)
    phi, reward, after, mean = x[:2], x[2], x[3:5], x[5:]
    e = [GAMMA * LAM * old + new for old, new in zip(state[14:16], phi, strict=True)]
    ahead = [SIGMA * one + (1 - SIGMA) * other for one, other in zip(after, mean, strict=True)]
    u = [one - LAM * other for one, other in zip(ahead, after, strict=True)]
    made: list[Any] = []
    for k, (way, memory) in enumerate(((u, e), (state[12:14], state[14:16]), (u, (0, 0)))):
        theta, omega = state[4 * k : 4 * k + 2], state[4 * k + 2 : 4 * k + 4]
        delta = reward + GAMMA * dot(theta, ahead) - dot(theta, phi)
        back, foreseen = GAMMA * dot(memory, omega), dot(phi, omega)
        made += [t + ALPHA * (delta * a - back * b) for t, a, b in zip(theta, e, way, strict=True)]
        made += [
            w + ETA * ALPHA * (delta * a - foreseen * b)
            for w, a, b in zip(omega, e, phi, strict=True)
        ]
    apart = sp.sqrt((made[0] - made[4]) ** 2 + (made[1] - made[5]) ** 2)
    starts = {name: [*(*theta, 0, 0) * 3, *[0] * 5] for name, theta in examples.STARTS.items()}
    cells = {
        "step": formula(
            f"state line {HERE} alpha eta",
            js([state, x, *SETTING, ALPHA, ETA], [*made, *u, *e, apart]),
        ),
        "start": table({"choice": None}, starts),
        "lines": table(
            {"choice": None}, {name: examples.logbook(name).tolist() for name in examples.LOGBOOKS}
        ),
        "course": fold("step", "start", "lines"),
        "end": row("course", 60),
    }
    looks, lines = (
        (("blue", ""), ("red", DASH), ("green", DOTS)),
        Axis("line of the logbook", 0, 60),
    )
    names = ("same step", "as printed", "no correction")

    def over_lines(title: str, label: str, columns: tuple[int, ...]) -> Panel:
        marks = tuple(
            line("course", 0, column, *look) for column, look in zip(columns, looks, strict=False)
        )
        key = tuple((*look, name) for _, look, name in zip(columns, looks, names, strict=False))
        return Panel(
            title,
            lines,
            Axis(label, fit=tuple(("course", k) for k in columns), most=1e6),
            marks,
            key,
        )

    panels = (
        over_lines("First weight", "first weight", (1, 5, 9)),
        over_lines("First auxiliary weight", "first auxiliary weight", (3, 7)),
        Panel("Distance between the two", lines, Axis("distance", 1e-4, 1e4, (1e-4, 0.01, 1, 100, 1e4), "log"),
              (line("course", 0, 17),), (("blue", "", "distance in θ"),)),
    )  # fmt: skip
    return Figure(
        "two-readings",
        "One logbook, three learners: the first weight, the first auxiliary weight and the distance between the two "
        "readings of Algorithm 1, step by step, for the σ, λ, γ, α, η and logbook that are set",
        (
            Slider("sigma", "σ", 0.0, 1.0, 0.5),
            Slider("lambda", "λ", 0.0, 1.0, 0.99),
            Slider("gamma", "γ", 0.5, 0.99, 0.99),
            power("alpha", "α", -4.0, -1.0, -2.0, 0.05),
            power("eta", "η", -1.0, 1.0, -0.3, 0.05),
        ),
        cells,
        panels,
        "after sixty lines",
        (
            ("same", "same step θ =", "({end.1}, {end.2})"),
            ("late", "as printed θ =", "({end.5}, {end.6})"),
            ("none", "no correction θ =", "({end.9}, {end.10})"),
        ),
        "The logbook at the σ, λ, γ, α and η = β/α that you set, sixty lines of it. The first weight: with the "
        "correction of the same step, Eq. (26); with that of the step before, Algorithm 1 as printed; and without any. "
        "The first auxiliary weight in the first two. Distance between the two, over both weights, on a logarithmic "
        "axis.",
        "",
        examples.LOGBOOKS,
        "logbook",
        (
            Preset(
                "the paper's γ = λ = 0.99", at(0.5, 0.99, 0.99, alpha=0.01, eta=0.5), "two states"
            ),
            Preset("λ = 0.5", at(0.25, 0.5, 0.99, alpha=0.01, eta=0.5), "two states"),
            Preset("small steps", at(0.5, 0.99, 0.99, alpha=0.001, eta=0.5), "two states"),
            Preset("the machine", at(0.0, 0.9, 0.95, alpha=0.01, eta=1.0), "machine"),
        ),
    )


def mean_field() -> Figure:
    """A_σ by rows and b of the machine with two weights; b, the arrow at the origin, does not contain σ."""
    problem = twin(examples.machine_weights("two weights"))
    a, b, r, place = letters("a", 4), letters("b", 2), letters("r", 2), sp.symbols("x y")
    step = [dot(a[:2], place) + b[0], dot(a[2:], place) + b[1]]
    level = [0, r[0], 60, r[0], GAP, GAP, 0, r[1], 60, r[1]]
    cells = {
        "A": formula(HERE, js(SETTING, list(problem.A()))),
        "b": formula("lambda gamma", js([LAM, GAMMA], list(problem.b()))),
        "rest": formula("A b", js([a, b], rest_of(a, b))),
        "rests": sweep("rest", "sigma", 0, 1, 81),
        "step": formula("A b x y", js([a, b, *place], step)),
        "matrix": formula("A b", js([a, b], homogeneous(a, b))),
        "zero": constant([0, 0, 1]),
        "weights": flow("matrix", "zero"),
        "over_time": sweep("weights", "t", 0, 60, 121),
        "way": sweep("weights", "t", -2, 2.3, 161, log=True),
        "level_ends": formula("rest", js([r], level)),
        "levels": rows("level_ends", 2),
        **eigenvalues("A"),
    }
    # One window for all σ, so that what moves is the field and not the axes.
    window: dict[str, Any] = {"fit": (("rests", 1), ("rests", 2)), "include": (0,), "margin": 0.15}
    motion = Axis(
        "θ(t)",
        fit=(("rests", 1), ("rests", 2), ("over_time", 1), ("over_time", 2)),
        include=(0,),
        margin=0.15,
    )
    both = (("blue", "", "run"), ("red", DASH, "repair"))
    panels = (
        Panel("Field of the mean update", Axis("weight of run", **window), Axis("weight of repair", **window),
              (Mark("arrows", "step", colour="faint", size=9), Mark("arrows", "b", colour="red", size=1),
               line("way", 1, 2), dots(("rest.0", "rest.1"))),
              (("blue", "", "path"), ("mark", "", "rest"), ("red", "", "b"))),
        Panel("Resting weights against σ", AGAINST_SIGMA, Axis("resting weights", **window),
              (line("rests", 0, 1), line("rests", 0, 2, "red", DASH)), both,
              Handle("Resting weight of run at σ", ("sigma",), ("sigma", "rest.0"))),
        Panel("Weights over time", Axis("t", 0, 60), motion,
              (line("levels", 0, 1, "faint", DOTS), line("over_time", 0, 1), line("over_time", 0, 2, "red", DASH)), both),
    )  # fmt: skip
    return Figure(
        "mean-field",
        "The machine with two weights: the field of the mean update with its arrow at the origin and a path, where the "
        "weights come to rest against σ, and the weights over time, for the σ, λ and γ that are set",
        sliders(0.95, 0.5, 0.95),
        cells,
        panels,
        "{A_eigenvalues.0.0:stable|unstable}",
        (
            ("b", "b =", "({b})"),
            ("eigenvalues", "eigenvalues of A:", "{A_eigenvalues}"),
            ("rest", "rest", "({rest})"),
        ),
        "The machine with two weights at the σ, λ and γ that you set. The field of arrows Aθ + b, as long as "
        "the root of the step; orange, the direction of the arrow at the origin, b, which σ does not turn; the path "
        "from zero, and where it comes to rest. The resting weights against σ: moving the point moves σ. The weights "
        "over time, one unit being 1/α mornings; dotted, where they come to rest.",
        DRAG,
        presets=(
            Preset("no trace, the plan", at(0.0, 0.0, 0.95)),
            Preset("no trace, the crew", at(1.0, 0.0, 0.95)),
            Preset("the paper's λ = 0.99", at(lam=0.99, gamma=0.95)),
        ),
    )


def resting_point() -> Figure:
    """q^{ν_σ} of the machine, and A_σ, b and the features with each kind of weights.

    The error against the plan has two parts, Φθ_* − q^π = (Φθ_* − q^{ν_σ}) + (q^{ν_σ} − q^π): the fit and the bias of the
    target, both measured by ‖x‖² = Σ_i ξ_i x_i², with ξ the crew's shares of visits.
    """
    exact = twin(examples.machine_weights("table"))
    mixed = exact.p_pi + SIGMA * (exact.p_mu - exact.p_pi)
    values = list(symbolic.solve(sp.eye(6) - GAMMA * mixed, exact.rewards).applyfunc(sp.factor))
    matrices, vectors, held = {}, {}, {}
    for kind in examples.WEIGHTS:
        problem = twin(examples.machine_weights(kind))
        a, b = letters("a", problem.b().rows ** 2), letters("b", problem.b().rows)
        matrices[kind] = js(SETTING, list(problem.A()))
        vectors[kind] = js([LAM, GAMMA], list(problem.b()))
        lot = values if kind == "table" else list(problem.features * sp.Matrix(rest_of(a, b)))
        held[kind] = js([a, b, SIGMA, GAMMA], lot)
    h, mixture, plan, crew = (letters(name, 6) for name in "hmpc")

    def norm(one: Sequence[Any], other: Sequence[Any]) -> Any:
        return sp.sqrt(
            sum(share * (x - y) ** 2 for share, x, y in zip(exact.xi, one, other, strict=True))
        )

    half = sp.Rational(7, 20)
    steps = {
        name: [x for i in range(6) for x in (i - half, of[i], i + half, of[i], GAP, GAP)]
        for name, of in (("plan", plan), ("crew", crew))
    }
    cells = {
        "values": formula("sigma gamma", js([SIGMA, GAMMA], values)),
        "plan": put("values", sigma=0),
        "crew": put("values", sigma=1),
        "A": formula(HERE, matrices),
        "b": formula("lambda gamma", vectors),
        "held": formula("A b sigma gamma", held),
        "errors": formula("held values plan", js([h, mixture, plan], [
            norm(h, plan), norm(mixture, plan), norm(h, mixture)])),
        "holds": sweep("held", "sigma", 0, 1, 101),
        "parts": sweep("errors", "sigma", 0, 1, 101),
        "bounds_ends": formula("plan crew", js([plan, crew], [0, plan[0], 1, plan[0], GAP, GAP, 0, crew[0], 1, crew[0]])),
        "bounds": rows("bounds_ends", 2),
        "plan_ends": formula("plan", js([plan], steps["plan"])),
        "plan_steps": rows("plan_ends", 2),
        "crew_ends": formula("crew", js([crew], steps["crew"])),
        "crew_steps": rows("crew_ends", 2),
        **eigenvalues("A"),
    }  # fmt: skip
    panels = (
        Panel("Held for (new, run) against σ", AGAINST_SIGMA,
              Axis("held for (new, run)", fit=(("holds", 1), ("bounds", 1)), include=(0,), trim=0.05),
              (line("bounds", 0, 1, "faint", DOTS), line("holds", 0, 1)),
              (("blue", "", "held"), ("faint", DOTS, "plan, crew")),
              Handle("Held for (new, run) at σ", ("sigma",), ("sigma", "held.0"))),
        Panel("Error against the plan", AGAINST_SIGMA,
              Axis("error against the plan", fit=tuple(("parts", k) for k in (1, 2, 3)), include=(0, 1), trim=0.03),
              (line("parts", 0, 1), line("parts", 0, 2, "red", DASH), line("parts", 0, 3, "green", DOTS),
               dots(*(("sigma", f"errors.{k}") for k in range(3)), size=4)),
              (("blue", "", "total"), ("red", DASH, "bias"), ("green", DOTS, "fit"))),
        Panel("All six pairs", Axis("new, worn, broken: each run, then repair", -0.6, 5.6, ()),
              Axis("values", fit=(("plan_steps", 1), ("crew_steps", 1), *(("held", k) for k in range(6))),
                   include=(0,), most=120),
              (line("plan_steps", 0, 1), line("crew_steps", 0, 1, "red", DASH),
               dots(*((i, f"held.{i}") for i in range(6)))),
              (("mark", "", "held"), ("blue", "", "plan"), ("red", DASH, "crew"))),
    )  # fmt: skip
    return Figure(
        "resting-point",
        "The machine: what the learner holds for running a new machine against σ, between the plan's value and the "
        "crew's; its error against the plan in two parts; and all six pairs, for the σ, λ, γ and weights that are set",
        sliders(0.95, 0.5, 0.95),
        cells,
        panels,
        "it {A_eigenvalues.0.0:comes to rest|runs away from its resting point}",
        (
            ("held", "holds for (new, run)", "{held.0}"),
            ("total", "error", "{errors.0}"),
            ("bias", "bias", "{errors.1}"),
            ("fit", "fit", "{errors.2}"),
        ),
        "The machine at the σ, λ, γ and weights that you set. What the learner holds for (new, run) when it has come "
        "to rest, against σ; dotted, the plan's value and the crew's. Its error against the plan, root mean square "
        "over the crew's visits, with the two parts: bias of the target, and fit. All six pairs: what is held (dots), "
        "the plan's values (solid) and the crew's (dashed).",
        DRAG,
        examples.WEIGHTS,
        "features",
        (
            Preset("a table, the plan", at(0.0, 0.0, 0.95), "table"),
            Preset("a table, the crew", at(1.0, 0.0, 0.95), "table"),
            Preset("two weights", at(0.5, 0.0, 0.95), "two weights"),
            Preset("one weight, near the hole", at(0.44, 0.0, 0.95), "one weight"),
            Preset("the paper's λ = 0.99", at(0.5, 0.99, 0.95), "three weights"),
        ),
    )


def map_tables(maps: Any) -> tuple[dict[str, Any], ...]:
    """By problem, ratio and method: rows [λ, error, error if stable]; the usual method's; counts by method, and of them.

    A mean converges if the spectral abscissa of its joint matrix is negative; the error, root mean square over the
    behaviour's visits, does not depend on η. Four digits of each are kept.
    """
    drawn: dict[str, Any] = {}
    for k, (problem, method) in enumerate(
        zip(maps["problem"].values, maps["method"].values, strict=True)
    ):
        lam, error = float(maps["lam"].values[k]), float(f"{maps['error'].values[k, 0, 0]:.4g}")
        for level, abscissa in zip(
            drawn.setdefault(str(problem), [{} for _ in maps["eta"]]),
            maps["abscissa"].values[k, 0],
            strict=True,
        ):
            level.setdefault(str(method), []).append(
                [lam, error, error if abscissa < 0.0 else float("nan")]
            )
    usual = {
        problem: levels[0].get("TD(λ)") or levels[0]["Tree Backup(λ)"]
        for problem, levels in drawn.items()
    }
    counts = {
        problem: [{method: count(found) for method, found in level.items()} for level in levels]
        for problem, levels in drawn.items()
    }
    everywhere = {
        problem: [[sum(one[0] == one[1] for one in level.values()), len(level)] for level in levels]
        for problem, levels in counts.items()
    }
    return drawn, usual, counts, everywhere


def count(found: Sequence[Sequence[float]]) -> list[float]:
    """At how many λ of how many a method is stable, and its least error there."""
    stable = [row[2] for row in found if row[2] == row[2]]
    return [len(stable), len(found), min(stable, default=float("nan"))]


def method_map() -> Figure:
    """The numbers of ``today.npz``, which are exact and committed; nothing is computed in the page."""
    from gqlib.sweeps.results import load_results

    maps = load_results(RESULTS / "today.npz")
    drawn, usual, counts, everywhere = map_tables(maps)
    etas, powers = maps["eta"].values.tolist(), np.log10(maps["eta"].values).round(3).tolist()
    at_eta = {"choice": None, "eta": etas}
    cells = {
        "map": table(at_eta, drawn),
        "picked": row("map", "pick"),
        "usual": table({"choice": None}, usual),
        "all_counts": table(at_eta, counts),
        "counts": row("all_counts", "pick"),
        "everywhere": table(at_eta, everywhere),
    }
    panels = (
        Panel("Error of the fixed point against λ", Axis("λ", ticks=UNIT_TICKS),
              Axis("value error", fit=(("picked", 1), ("usual", 1)), include=(0,)),
              (line("picked", 0, 1), line("usual", 0, 1, "faint", DASH), dots(of="picked", x=0, y=2)),
              (("blue", "", "picked"), ("mark", "", "stable"), ("faint", DASH, "TD or Tree Backup"))),
    )  # fmt: skip
    return Figure(
        "method-map",
        "Methods by λ on a problem: for each, whether its mean converges at the ratio η that is set, and the value "
        "error of its fixed point; and that error against λ for the method that is picked",
        (power("eta", "η", powers[0], powers[-1], 0.0, round(powers[1] - powers[0], 3)),),
        cells,
        panels,
        "{pick}: stable at {counts.0} of {counts.1} λ",
        (
            ("least", "least error there", "{counts.2}"),
            ("everywhere", "methods stable at every λ here", "{everywhere.0} of {everywhere.1}"),
        ),
        "Method × λ at the problem and the ratio η that you set. A number is the value error of the fixed point where "
        "the mean of the method converges; a cross on shaded ground says that it does not. (On the star and the two "
        "states all rewards are zero, and so is every error.) For ABTD the column is ζ. Beside it, the error against λ "
        "of the method that you pick (line; dots where stable) and of TD(λ) or, on pairs, Tree Backup(λ) (dashed).",
        "Pick a method by its button; problem and η are above.",
        tuple(drawn),
        "problem",
        (
            Preset("the star at η = 1", {"eta": 1.0}, "star"),
            Preset("the paper's two states", {"eta": 1.0}, "two-state"),
            Preset("a slow ω on the star", {"eta": 0.125}, "star"),
            Preset("Collision", {"eta": 1.0}, "Collision"),
        ),
        "TDC(λ)",
    )


FIGURES: Mapping[str, Callable[[], Figure]] = {
    "two-state": two_state,
    "bias-variance": bias_variance,
    "time-scales": time_scales,
    "repair": repair,
    "mspbe": mspbe,
    "one-update": one_update,
    "credit": credit,
    "chance": chance,
    "two-readings": two_readings,
    "mean-field": mean_field,
    "resting-point": resting_point,
    "method-map": method_map,
}
"""Every live figure, by the name that `kit.live.show` takes."""
