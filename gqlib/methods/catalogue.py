r"""The methods of today as three choices: how far the trace carries, what the error is, what keeps it stable.

With i → j a step of the behaviour, c the trace coefficient and F the follow-on trace,

    e_k = γλ c e_{k−1} + m_k φ_k,      the mean step of the semi-gradient is E[δe] = Aθ + b.

*Trace.* c is that of the action between the two features: on states the last one, c(S_{k−1}, A_{k−1}); on pairs the
present one. The rules are those of `gqlib.learners.textbook.trace_coefficients`; ABTD(ζ) has no λ but ψ(ζ).

*Error.* "full" is ρδ on states and the expected δ on pairs; "clipped" is min(1, ρ)δ (V-trace); "mixed" and "weighted"
bootstrap from φ̄ + σ(φ' − φ̄), as the paper prints, or from φ̄ + σ(ρ'φ' − φ̄), the first repair.

*Update.* What is done with A and b: nothing (semi-gradient), TDC, TDRC (a ridge κ on ω), GTD2 and its extragradient
form, HTD, A_tᵀTD, or the solution of the linear equations (LSTD). Emphasis, F_k = 1 + βρF_{k−1} with
m_k = λ + (1−λ)F_k, goes with the semi-gradient.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from gqlib import _validate as check
from gqlib._validate import Array
from gqlib.learners.textbook import trace_coefficients
from gqlib.methods.task import KINDS, Kind, Task

__all__ = ["METHODS", "Method", "coefficients", "psi_of_zeta"]

Trace = Literal["importance", "tree_backup", "retrace", "abtd", "textbook", "uncut"]
ErrorKind = Literal["full", "clipped", "mixed", "weighted"]
Update = Literal[
    "semi-gradient", "tdc", "tdrc", "gtd2", "proximal", "htd", "direct", "least squares"
]
TRACES, ERRORS, UPDATES = get_args(Trace), get_args(ErrorKind), get_args(Update)
# Updates with a second weight vector, and so with a ratio η of step sizes.
WITH_RATIO = ("tdc", "tdrc", "gtd2", "proximal", "htd")
CORRECTED = "weighted"  # an error with noise of ρ, whose mean is the expected one


_BOTH: tuple[Kind, ...] = KINDS
_PAIRS: tuple[Kind, ...] = ("pairs",)
_STATES: tuple[Kind, ...] = ("states",)


@dataclass(frozen=True)
class Method:
    """One choice in each column; `on` says where it is defined.

    Parameters
    ----------
    trace, error, update : str
    emphasis : bool
        Whether the trace is weighed by the follow-on.
    beta : float, optional
        Decay of the follow-on; γ by default, as in emphatic TD(λ).
    sigma : float
        σ of the textbook trace and of the mixed and weighted errors.
    kappa : float
        The ridge of TDRC.
    on : tuple of str
    source : str
        Where the method was published.

    Examples
    --------
    >>> METHODS["TDC(λ)"].update, METHODS["TDC(λ)"].has_ratio, METHODS["TD(λ)"].has_ratio
    ('tdc', True, False)
    """

    trace: Trace = "importance"
    update: Update = "semi-gradient"
    error: ErrorKind = "full"
    emphasis: bool = False
    beta: float | None = None
    sigma: float = 0.0
    kappa: float = 0.0
    on: tuple[Kind, ...] = _BOTH
    source: str = ""

    def __post_init__(self) -> None:
        check.choice("trace", self.trace, TRACES)
        check.choice("update", self.update, UPDATES)
        check.choice("error", self.error, ERRORS)
        check.flag("emphasis", self.emphasis)
        check.instance("source", self.source, str)
        check.instance("on", self.on, tuple)
        for place in self.on:
            check.choice("on", place, KINDS)
        object.__setattr__(self, "sigma", check.scalar("sigma", self.sigma, low=0.0, high=1.0))
        object.__setattr__(self, "kappa", check.scalar("kappa", self.kappa, low=0.0))
        if self.beta is not None:
            object.__setattr__(self, "beta", check.scalar("beta", self.beta, low=0.0, high=1.0))
        if self.emphasis and (self.trace, self.update, self.error) != (
            "importance",
            "semi-gradient",
            "full",
        ):
            raise ValueError(
                "emphasis is True; it should go with trace importance, update semi-gradient, error full"
            )

    @property
    def has_ratio(self) -> bool:
        """Whether there is a second weight vector, and so a ratio η of step sizes."""
        return self.update in WITH_RATIO


METHODS: dict[str, Method] = {
    "TD(λ)": Method(source="Precup et al. 2001"),
    "TDC(λ)": Method(update="tdc", source="Maei 2011; on pairs GQ(λ), Maei and Sutton 2010"),
    "GTD2(λ)": Method(update="gtd2", source="Sutton et al. 2009"),
    "TDRC(λ)": Method(update="tdrc", kappa=1.0, source="Ghiassian et al. 2020; on pairs QRC"),
    "HTD(λ)": Method(update="htd", source="White and White 2016"),
    "Proximal GTD2(λ)": Method(update="proximal", source="Liu et al. 2018"),
    "ETD(λ)": Method(emphasis=True, source="Sutton, Mahmood and White 2016"),
    "ETD(λ, β)": Method(emphasis=True, beta=0.5, source="Hallak et al. 2016"),
    "Tree Backup(λ)": Method(
        "tree_backup", source="Precup et al. 2000; on states Ghiassian and Sutton 2021"
    ),
    "V-trace(λ)": Method("retrace", error="clipped", on=_STATES, source="Espeholt et al. 2018"),
    "Retrace(λ)": Method("retrace", source="Munos et al. 2016"),
    "ABTD(ζ)": Method(
        "abtd", source="Mahmood, Yu and Sutton 2017; on states Ghiassian and Sutton 2021"
    ),
    "AᵀTD": Method(update="direct", source="Qian and Zhang 2023; λ = 0"),
    "LSTD(λ)": Method(update="least squares", source="Bradtke and Barto 1996; Yu 2010"),
    "GQ(½, λ) printed": Method(
        "uncut", "tdc", "mixed", sigma=0.5, on=_PAIRS, source="Yang et al. 2019"
    ),
    "GQ(½, λ) repaired": Method(
        "uncut", "tdc", "weighted", sigma=0.5, on=_PAIRS, source="this book"
    ),
    "GQ(½, λ) textbook": Method("textbook", "tdc", sigma=0.5, on=_PAIRS, source="this book"),
    "gradient Tree Backup(λ)": Method("tree_backup", "tdc", on=_PAIRS, source="Touati et al. 2018"),
    "gradient Retrace(λ)": Method("retrace", "tdc", on=_PAIRS, source="Touati et al. 2018"),
}


def psi_of_zeta(task: Task, zeta: float) -> float:
    """ψ(ζ) of ABQ: 0 at ζ = 0, ψ₀ = 1/max(μ ∨ π) at ½, ψ_max = 1/min(μ ∨ π) at 1, linear in between.

    The maximum and the minimum are over the pairs that the behaviour visits.

    Examples
    --------
    >>> from gqlib.domains import collision
    >>> [psi_of_zeta(Task.of(collision()), zeta) for zeta in (0.0, 0.25, 0.5, 1.0)]
    [0.0, 0.5, 1.0, 2.0]
    """
    check.instance("task", task, Task)
    zeta = check.scalar("zeta", zeta, low=0.0, high=1.0)
    larger = np.maximum(task.mu, task.pi).ravel()[task.xi > 0.0]
    least, most = 1.0 / float(larger.max()), 1.0 / float(larger.min())
    return 2.0 * zeta * least + max(0.0, 2.0 * zeta - 1.0) * (most - 2.0 * least)


def coefficients(task: Task, method: Method, lam: float) -> tuple[Array, float]:
    """Trace coefficients c by pair, (n,), and what multiplies them: γλ, or γ for ABTD, whose ζ is `lam`.

    Examples
    --------
    >>> from gqlib.domains import collision
    >>> c, decay = coefficients(Task.of(collision()), METHODS["Tree Backup(λ)"], 0.5)
    >>> c[:2].tolist(), c[8:10].tolist(), decay  # the first state, the fifth: forward, turn
    ([1.0, 0.0], [1.0, 0.0], 0.45)
    """
    check.instance("task", task, Task)
    check.instance("method", method, Method)
    if task.on not in method.on:
        raise ValueError(
            f"method is defined on {' and '.join(method.on)}; task should be so too, not on {task.on}"
        )
    lam = check.scalar("lam", lam, low=0.0, high=1.0)
    if method.update == "direct" and lam != 0.0:
        raise ValueError(f"lam is {lam:g}; for AᵀTD it should be 0")
    if method.trace == "abtd":
        psi = psi_of_zeta(task, lam)
        return trace_coefficients(task.mu, task.pi, "abq", psi=psi).ravel(), task.gamma
    c = trace_coefficients(task.mu, task.pi, method.trace, sigma=method.sigma)
    return c.ravel(), task.gamma * lam
