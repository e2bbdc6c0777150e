r"""Live figures of the first two chapters and of the table of cases: σ in an update, λ in a payment, chance in a count.

*The dial of one update* (Eq. (5)). The line *worn, run, 2, broken, run* of the machine's logbook, with γ = 19/20:

    target = 2 + γ[σ Q(broken, run) + (1−σ) Q(broken, repair)],    δ = target − 30,    new guess = 30 + α δ.

*The dial of one payment* (Eqs. (6)–(7)). Three days with the errors δ_0 = 3 + 4γ − 10, δ_1 = 2 + 6γ − 4 and
δ_2 = −2 + 10γ − 6; the pair of day j is paid Σ_{k≥j} (γλ)^{k−j} δ_k, and the credit of a visit adds up to 1/(1 − γλ).

*The table of cases under the null* (Tables 1 and 2). If σ has no effect, the number of the n interior values of σ
that fall into one case is k with probability 2(n + 1 − k)/((n + 1)(n + 2)), in each cell; cells add up.
"""

from __future__ import annotations

from functools import cache

import sympy as sp

from gqlib.experiments.printed import PAPER_TABLE_1
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

__all__ = ["show_backup", "show_credit", "show_null"]

ALPHA, RUN, REPAIR, COUNT, N = sp.symbols("alpha run repair k n")
REWARD, GUESS, DISCOUNT = 2, 30, sp.Rational(19, 20)


@cache
def backup_explorable() -> Explorable:
    """Target, error and new guess of one update of Q(σ) on the machine."""
    target = REWARD + DISCOUNT * (SIGMA * RUN + (1 - SIGMA) * REPAIR)
    error = target - GUESS
    return Explorable(
        "backup",
        "One update of Q(σ) on the line worn, run, 2, broken, run: the backup diagram with its weights, and the error "
        "against σ, for the σ, the two guesses and the step size that are set",
        (
            Slider("sigma", "σ", 0.0, 1.0, 0.5),
            Slider("run", "Q(broken, run)", 0.0, 60.0, 20.0, 1.0),
            Slider("repair", "Q(broken, repair)", 0.0, 60.0, 40.0, 1.0),
            Slider("alpha", "α", 0.0, 1.0, 0.1),
        ),
        {
            "update": to_javascript(
                [SIGMA, RUN, REPAIR, ALPHA], [target, error, GUESS + ALPHA * error]
            )
        },
        note="Drag the point on the line, or move it with the arrow keys.",
        caption="One update of Q(σ) at the σ, guesses and step size that you set. The backup diagram: the pair on top, "
        "the state reached, its two actions with their weights; solid what the crew did, dashed what the plan would "
        "do. The error of the update against σ: above zero the guess of 30 rises, below it falls.",
        presets=(
            Preset("Expected Sarsa", {"sigma": 0.0, "run": 20.0, "repair": 40.0}),
            Preset("Sarsa", {"sigma": 1.0, "run": 20.0, "repair": 40.0}),
            Preset("the paper's middle, σ = ½", {"sigma": 0.5, "run": 20.0, "repair": 40.0}),
        ),
    )


@cache
def credit_explorable() -> Explorable:
    """The three errors, what the three pairs are paid, and the reach of a visit."""
    errors = [3 + 4 * GAMMA - 10, 2 + 6 * GAMMA - 4, -2 + 10 * GAMMA - 6]
    fade = GAMMA * LAM
    paid = [
        sum((fade ** (k - j) * errors[k] for k in range(j, 3)), sp.Integer(0)) for j in range(3)
    ]
    return Explorable(
        "credit",
        "Three days of the machine: what is left of the credit of one visit against the days since, what each of the "
        "three pairs is paid, and what the first is paid against λ, for the λ and γ that are set",
        (Slider("lambda", "λ", 0.0, 1.0, 0.5), Slider("gamma", "γ", 0.5, 1.0, 1.0)),
        {
            "credit": to_javascript([LAM, GAMMA], [*errors, *paid]),
            "fade": to_javascript([LAM, GAMMA], [fade]),
        },
        note="Drag the point on the curve, or move it with the arrow keys.",
        caption="Three days of the machine at the λ and γ that you set. What is left of the credit of one visit, day "
        "by day, with a dot at the day after. What each pair is paid: bars for all errors that reach it, dots beside "
        "them for the error of its own day alone; day 0 is (new, run), day 1 (worn, run), day 2 (broken, repair). "
        "What the first pair is paid, against λ.",
        presets=(
            Preset("no trace", {"lambda": 0.0, "gamma": 1.0}),
            Preset("by hand: γλ = ½", {"lambda": 0.5, "gamma": 1.0}),
            Preset("the paper's γ = λ = 0.99", {"lambda": 0.99, "gamma": 0.99}),
        ),
    )


@cache
def null_explorable() -> Explorable:
    """Probability of k of n interior values of σ in one case of one cell, if σ has no effect."""
    best = PAPER_TABLE_1["I"]
    return Explorable(
        "null",
        "The table of cases if σ had no effect: the law of the share of one case, and the probability of a share at "
        "least as large, against the share, for the number of cells and of values of σ that are set",
        (
            Slider("share", "share of one case, %", 0.0, 100.0, best, 0.1),
            Slider("cells", "cells", 1.0, 6.0, 6.0, 1.0),
            Slider("n", "values of σ in a cell", 1.0, 99.0, 49.0, 1.0),
        ),
        {"single": to_javascript([N, COUNT], [2 * (N + 1 - COUNT) / ((N + 1) * (N + 2))])},
        note="Drag the point on the curve, or move it with the arrow keys.",
        caption="The share of one case, any of the three, if σ had no effect, for the cells and values of σ that you "
        "set. The law of the share, with the observed one marked. The probability of a share at least as large by "
        "chance alone. A third is expected; one cell scatters so widely because all its values share two ends.",
        presets=(
            Preset("the paper's Table 1", {"share": best, "cells": 6.0, "n": 49.0}),
            Preset("one cell alone", {"share": best, "cells": 1.0, "n": 49.0}),
            Preset("nine values of σ", {"share": best, "cells": 6.0, "n": 9.0}),
        ),
    )


def show_backup(figure: str) -> None:
    """Make the static figure of this name live: one update of Q(σ), with its dial.

    Examples
    --------
    >>> from contextlib import redirect_stdout
    >>> from io import StringIO
    >>> with redirect_stdout(StringIO()) as shown:
    ...     show_backup("fig-dial")
    >>> 'data-figure="fig-dial"' in shown.getvalue()
    True
    """
    _show(backup_explorable(), figure)


def show_credit(figure: str) -> None:
    """Make the static figure of this name live: who is paid for three errors, with the dial λ.

    Examples
    --------
    >>> from contextlib import redirect_stdout
    >>> from io import StringIO
    >>> with redirect_stdout(StringIO()) as shown:
    ...     show_credit("fig-credit")
    >>> 'data-figure="fig-credit"' in shown.getvalue()
    True
    """
    _show(credit_explorable(), figure)


def show_null(figure: str) -> None:
    """Make the static figure of this name live: the share of one case if σ had no effect.

    Examples
    --------
    >>> from contextlib import redirect_stdout
    >>> from io import StringIO
    >>> with redirect_stdout(StringIO()) as shown:
    ...     show_null("fig-null")
    >>> 'data-figure="fig-null"' in shown.getvalue()
    True
    """
    _show(null_explorable(), figure)
