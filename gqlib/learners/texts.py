r"""Learners as data: a learner is three functions that say what happens to θ, ω and the trace.

    begin(rates)                     what it remembers within an episode, a tuple of floats
    before(memory, seen, rates)      decay, gain, shrink, on_phi:  e ← decay·e + gain·φ,  ω ← shrink·ω + β·on_phi·φ
    after(memory, seen, rates)       (memory, `Change`): the multiples of e and of features that θ and ω gain

They see inner products alone (`Before`, `Seen`), so a carrier is free to carry the changes out
lazily or densely. All are compiled by ``numba.njit``. With φ̄' = E_πφ(S', ·):

    gq                  GQ(σ, λ), Eqs. (25)–(26), v of the same step
    gq_lagged           Algorithm 1 as printed: θ uses v of the step before (that of an episode which is cut off falls
                        due in the first step of the next)
    corrected_gq        importance ratios on sampled features (`gqlib.learners.corrected`):  δ = R + γθᵀu − θᵀφ,
                        u = φ̄' + σ(ρ'φ' − φ̄'),  θ += α(δe − γ(eᵀω)(u − λw)) with w = φ', e and ω of GQ
    expected_gq         the same with w = E_μφ(S', ·)
    weighted_gq, maei_gq
                        the same with e ← γλρe + φ, and w = ρ'φ' or w = φ̄'
    q_sigma             semi-gradient Q(σ, λ), Eq. (10)
    sarsa               Sarsa(λ):            δ = R + γθᵀφ' − θᵀφ,   θ += αδe
    expected_sarsa      Expected Sarsa(λ):   δ = R + γθᵀφ̄' − θᵀφ,   θ += αδe
    true_online_sarsa   true online Sarsa(λ) (van Seijen et al. 2016):  e ← γλe + (1 − αγλeᵀφ)φ,
                        θ += α(δ + q − q_old)e − α(q − q_old)φ
    qrc                 QRC(λ) (Elelimy et al. 2025, Eqs. 26–28):  with h = φᵀω and c = min(1, ρ),
                        e ← γλce + φ,  z ← γλcz + h,  δ of Expected Sarsa,
                        θ += α(δe − z(γφ̄' − φ) − hφ),   ω += β(δe − hφ − κω);  at λ = 0 QRC (Ghiassian et al. 2020)
    watkins             Q(λ) of Watkins (1989):  e ← γλe + φ after an action that π may take, e ← φ after another,
                        δ of Expected Sarsa,  θ += αδe;  with the greedy target δ has max_a θᵀφ(S', a)
    greedy_gq           Greedy-GQ (Maei et al. 2010) with the trace of GQ(λ):  e ← γλρe + φ,  δ of Expected Sarsa,
                        θ += α(δe − γ(1−λ)(eᵀω)φ̄'),   ω += β(δe − (φᵀω)φ)
    td                  TD(λ), off-policy:  e ← ρ(γλe + φ),  δ = R + γθᵀφ' − θᵀφ,  θ += αδe
    tdc                 TDC(λ) (Sutton et al. 2009; Maei 2011), the same e and δ:  θ += α(δe − γ(1−λ)(eᵀω)φ'),
                        ω += β(δe − (φᵀω)φ)
    tdrc                TDRC(λ) (Ghiassian et al. 2020):  TDC(λ) with the ridge κ,  ω += β(δe − (φᵀω)φ − κω)
    gtd2                GTD2 (Sutton et al. 2009) at λ = 0:  e = ρφ,  θ += α(eᵀω)(φ − γφ'),  ω += β(δe − (φᵀω)φ)
    emphatic_td         emphatic TD(λ) (Sutton, Mahmood and White 2016), interest 1:  F ← γρ'F + 1 with ρ' of the step
                        before,  e ← ρ(γλe + (λ + (1−λ)F)φ),  δ of TD,  θ += αδe
    tdc_pairs, tdrc_pairs, gtd2_pairs, emphatic_td_pairs
                        the same on pairs, whose first action is given and needs no weight:  e ← γλρe + mφ, m that of
                        emphasis or 1,  δ of Expected Sarsa,  φ̄' for φ',  F ← γρF + 1;  tdc_pairs is greedy_gq
    textbook_gq         the textbook's repair (`gqlib.learners.textbook`):  e ← γλ(σρ + (1−σ)π)e + φ,  δ of Expected
                        Sarsa,  θ += α(δe − γ(eᵀω)(φ̄' − λc'φ')),  c' that of A'

Two carriers carry them out: `gqlib.learners.dense`, which lies beneath `gq_step`, `tdc_step`, `run_prediction` and all
other steps on vectors, and the lazy kernel of `gqlib.engine`. What is written elsewhere, and why:

    HTD, proximal GTD2, AᵀTD       more than one trace, a second step from the first, or the error of an earlier step
                                   (`gqlib.methods.steps`)
    LSTD                           no step: it solves equations (`gqlib.evaluation.run`, `gqlib.methods.steps`)
    Algorithm 1 as printed         its v is a matrix (`gqlib.learners.gq.gq_step_lagged`); "gq_lagged" is the same in a
                                   form that costs O(d), and a test compares
    replacing traces, tables       not multiples of vectors (`gqlib.tabular`)
    relatives                      witnesses: Sarsa(λ), Expected Sarsa and Tree Backup from their own sources
                                   (`gqlib.learners.relatives`)
    ensembles of runs              many runs and step sizes at once, in NumPy (`gqlib.learners.ensemble`,
                                   `gqlib.methods.steps.run_method`)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gqlib import _validate as check
from gqlib.fast import COMPILE
from gqlib.fast._jit import COMPILED, is_jitted, njit
from gqlib.fast._lowered import likely
from gqlib.learners._records import Before, Change, Rates, Seen

__all__ = ["LEARNERS", "Before", "Change", "Learner", "Rates", "Seen"]


@dataclass(frozen=True, repr=False)
class Learner:
    """A learner: see the module.

    Parameters
    ----------
    begin, before, after : compiled function
    gradient : bool
        Whether it has ω; if not, multiples of ω's kind and of the next state's features are ignored.
    ridge : bool
        Whether `shrink` may differ from 1.
    together : bool
        Whether ω always goes along e with θ, by η times as much (`trace` is α `omega_trace`, without a ridge): one sum
        then does for both.
    here : bool
        Whether θ gains a multiple of the features of the step itself.
    late : bool
        Whether what θ gains along the next state's features is due in the step after, once its δ is known.
    traced : bool
        Whether θ gains a multiple of the next state's mean features under the behaviour policy.
    target : bool
        Whether it weights by ρ all along, and so aims at the value of π on a trajectory of μ: its MSPBE is then that of π.

    Examples
    --------
    One-step Q-learning in its own words: no trace, and the greedy value of the next state.

    >>> from gqlib.engine import environments, run
    >>> begin = njit(lambda rates: (0.0,))
    >>> before = njit(lambda memory, seen, rates: (0.0, 1.0, 1.0, 0.0))
    >>> @njit
    ... def after(memory, seen, rates):
    ...     delta = seen.reward + rates.gamma * seen.expected - seen.value
    ...     return memory, Change(delta, rates.alpha * delta, 0.0, 0.0, 0.0, 0.0)
    >>> mine = Learner(begin, before, after, gradient=False)
    >>> mine
    Learner(after, without omega)
    >>> result = run(environments.mountain_car(), mine, runs=2, seed=0, episodes=3, alpha=0.05, lam=0.0, max_steps=2000)
    >>> same = run(environments.mountain_car(), "expected_sarsa", runs=2, seed=0, episodes=3, alpha=0.05, lam=0.0,
    ...            max_steps=2000)
    >>> bool((result.steps == same.steps).all())
    True
    """

    begin: Callable[..., Any]
    before: Callable[..., Any]
    after: Callable[..., Any]
    gradient: bool = True
    ridge: bool = False
    together: bool = False
    here: bool = False
    late: bool = False
    traced: bool = False
    target: bool = False

    def __repr__(self) -> str:
        words = ["with omega" if self.gradient else "without omega", *["a ridge"] * self.ridge]
        words += ["here"] * self.here + ["late"] * self.late + ["traced"] * self.traced
        return f"Learner({self.after.__name__.strip('_')}, {', '.join(words)})"

    def __post_init__(self) -> None:
        step = ("memory", "seen", "rates")
        for name, arguments in {"begin": ("rates",), "before": step, "after": step}.items():
            if not is_jitted(check.takes(name, getattr(self, name), *arguments)) and COMPILED:
                raise ValueError(f"{name} is a plain function; it should be compiled by numba.njit")
        for name in ("gradient", "ridge", "together", "here", "late", "traced", "target"):
            check.flag(name, getattr(self, name))
        if self.together and self.ridge:
            raise ValueError("together is True, and so is ridge; with a ridge it should be False")


@njit(forceinline=True, **COMPILE)
def _nothing(rates: Any) -> Any:
    return (0.0,)


@njit(forceinline=True, **COMPILE)
def _two(rates: Any) -> Any:
    return 0.0, 0.0


@njit(forceinline=True, **COMPILE)
def _accumulate(memory: Any, seen: Any, rates: Any) -> Any:
    return rates.gamma * rates.lam, 1.0, 1.0, 0.0


@njit(forceinline=True, **COMPILE)
def _gq_before(memory: Any, seen: Any, rates: Any) -> Any:
    return rates.gamma * rates.lam, 1.0, 1.0, -seen.phi_omega


@njit(forceinline=True, **COMPILE)
def _along_e(delta: Any, rates: Any) -> Any:
    return Change(delta, rates.alpha * delta, 0.0, 0.0, 0.0, 0.0)


@njit(forceinline=True, **COMPILE)
def _mixture(seen: Any) -> Any:
    """What the next value is expected to be, E + σ(Q − E)."""
    # By a branch: two values that are one need no mixture, which the next step would have to wait for.
    if likely(seen.sampled == seen.expected):
        return seen.expected
    return seen.expected + seen.sigma * (seen.sampled - seen.expected)


@njit(forceinline=True, **COMPILE)
def _q_sigma(memory: Any, seen: Any, rates: Any) -> Any:
    return memory, _along_e(seen.reward + rates.gamma * _mixture(seen) - seen.value, rates)


@njit(forceinline=True, **COMPILE)
def _sarsa(memory: Any, seen: Any, rates: Any) -> Any:
    return memory, _along_e(seen.reward + rates.gamma * seen.sampled - seen.value, rates)


@njit(forceinline=True, **COMPILE)
def _expected_sarsa(memory: Any, seen: Any, rates: Any) -> Any:
    return memory, _along_e(seen.reward + rates.gamma * seen.expected - seen.value, rates)


@njit(forceinline=True, **COMPILE)
def _dutch(memory: Any, seen: Any, rates: Any) -> Any:
    decay = rates.gamma * rates.lam
    return decay, 1.0 - rates.alpha * decay * seen.phi_trace, 1.0, 0.0


@njit(forceinline=True, **COMPILE)
def _true_online(memory: Any, seen: Any, rates: Any) -> Any:
    delta = seen.reward + rates.gamma * seen.sampled - seen.value
    gap = rates.alpha * (seen.value - memory[0])
    return (seen.sampled,), Change(delta, rates.alpha * delta + gap, 0.0, 0.0, 0.0, -gap)


@njit(forceinline=True, **COMPILE)
def _gradient(delta: Any, chosen: Any, expected: Any, here: Any, rates: Any) -> Any:
    """θ and ω gain δe, and θ moreover multiples of φ', of φ̄' and of φ."""
    return Change(delta, rates.alpha * delta, delta, chosen, expected, here)


@njit(forceinline=True, **COMPILE)
def _gq(memory: Any, seen: Any, rates: Any) -> Any:
    delta = seen.reward + rates.gamma * _mixture(seen) - seen.value
    factor = -rates.alpha * rates.gamma * seen.trace_omega
    return memory, _gradient(
        delta, factor * (seen.sigma - rates.lam), factor * (1.0 - seen.sigma), 0.0, rates
    )


@njit(forceinline=True, **COMPILE)
def _corrected(seen: Any, rates: Any, chosen: Any, expected: Any, traced: Any) -> Any:
    """What the corrected methods have in common; w = chosen·φ' + expected·φ̄' + traced·E_μφ(S', ·)."""
    target = seen.expected + seen.sigma * (seen.rho * seen.sampled - seen.expected)
    delta = seen.reward + rates.gamma * target - seen.value
    factor = -rates.alpha * rates.gamma * seen.trace_omega
    return Change(
        delta,
        rates.alpha * delta,
        delta,
        factor * (seen.sigma * seen.rho - rates.lam * chosen),
        factor * (1.0 - seen.sigma - rates.lam * expected),
        0.0,
        -factor * rates.lam * traced,
    )


@njit(forceinline=True, **COMPILE)
def _corrected_gq(memory: Any, seen: Any, rates: Any) -> Any:
    return memory, _corrected(seen, rates, 1.0, 0.0, 0.0)


@njit(forceinline=True, **COMPILE)
def _expected_gq(memory: Any, seen: Any, rates: Any) -> Any:
    return memory, _corrected(seen, rates, 0.0, 0.0, 1.0)


@njit(forceinline=True, **COMPILE)
def _weighted_gq(memory: Any, seen: Any, rates: Any) -> Any:
    return memory, _corrected(seen, rates, seen.rho, 0.0, 0.0)


@njit(forceinline=True, **COMPILE)
def _maei_gq(memory: Any, seen: Any, rates: Any) -> Any:
    return memory, _corrected(seen, rates, 0.0, 1.0, 0.0)


@njit(forceinline=True, **COMPILE)
def _gq_lagged(memory: Any, seen: Any, rates: Any) -> Any:
    delta = seen.reward + rates.gamma * _mixture(seen) - seen.value
    along = seen.trace_omega + rates.beta * (
        delta * seen.trace_norm - seen.phi_omega * seen.trace_phi
    )  # e . new omega
    factor = -rates.alpha * rates.gamma * along
    return memory, _gradient(
        delta, factor * (seen.sigma - rates.lam), factor * (1.0 - seen.sigma), 0.0, rates
    )


@njit(forceinline=True, **COMPILE)
def _qrc_before(memory: Any, seen: Any, rates: Any) -> Any:
    cut = min(1.0, seen.rho)
    return (
        rates.gamma * rates.lam * cut,
        1.0,
        1.0 - rates.beta * rates.kappa,
        -seen.phi_omega,
    )


@njit(forceinline=True, **COMPILE)
def _qrc(memory: Any, seen: Any, rates: Any) -> Any:
    delta = seen.reward + rates.gamma * seen.expected - seen.value
    z = rates.gamma * rates.lam * memory[1] * memory[0] + seen.phi_omega
    factor = -rates.alpha * rates.gamma * z
    cut = min(1.0, seen.rho)  # c of the next action
    return (z, cut), _gradient(delta, 0.0, factor, rates.alpha * (z - seen.phi_omega), rates)


@njit(forceinline=True, **COMPILE)
def _greedy_gq(memory: Any, seen: Any, rates: Any) -> Any:
    delta = seen.reward + rates.gamma * seen.expected - seen.value
    factor = -rates.alpha * rates.gamma * (1.0 - rates.lam) * seen.trace_omega
    return memory, _gradient(delta, 0.0, factor, 0.0, rates)


@njit(forceinline=True, **COMPILE)
def _cut_before(memory: Any, seen: Any, rates: Any) -> Any:
    carried = 1.0 if seen.rho > 0.0 else 0.0
    return rates.gamma * rates.lam * carried, 1.0, 1.0, 0.0


@njit(forceinline=True, **COMPILE)
def _ratio_before(memory: Any, seen: Any, rates: Any) -> Any:
    return rates.gamma * rates.lam * seen.rho, 1.0, 1.0, -seen.phi_omega


@njit(forceinline=True, **COMPILE)
def _textbook_before(memory: Any, seen: Any, rates: Any) -> Any:
    return rates.gamma * rates.lam * memory[0], 1.0, 1.0, -seen.phi_omega


@njit(forceinline=True, **COMPILE)
def _textbook(memory: Any, seen: Any, rates: Any) -> Any:
    carried = seen.pi + seen.sigma * (seen.rho - seen.pi)  # c of the next action
    delta = seen.reward + rates.gamma * seen.expected - seen.value
    factor = -rates.alpha * rates.gamma * seen.trace_omega
    return (carried,), _gradient(delta, -factor * rates.lam * carried, factor, 0.0, rates)


@njit(forceinline=True, **COMPILE)
def _weighted_before(memory: Any, seen: Any, rates: Any) -> Any:
    return rates.gamma * rates.lam * seen.rho, seen.rho, 1.0, -seen.phi_omega


@njit(forceinline=True, **COMPILE)
def _td_before(memory: Any, seen: Any, rates: Any) -> Any:
    return rates.gamma * rates.lam * seen.rho, seen.rho, 1.0, 0.0


@njit(forceinline=True, **COMPILE)
def _tdc(memory: Any, seen: Any, rates: Any) -> Any:
    delta = seen.reward + rates.gamma * seen.sampled - seen.value
    factor = -rates.alpha * rates.gamma * (1.0 - rates.lam) * seen.trace_omega
    return memory, _gradient(delta, factor, 0.0, 0.0, rates)


@njit(forceinline=True, **COMPILE)
def _tdrc_before(memory: Any, seen: Any, rates: Any) -> Any:
    decay = rates.gamma * rates.lam * seen.rho
    return decay, seen.rho, 1.0 - rates.beta * rates.kappa, -seen.phi_omega


@njit(forceinline=True, **COMPILE)
def _tdrc_pairs_before(memory: Any, seen: Any, rates: Any) -> Any:
    decay = rates.gamma * rates.lam * seen.rho
    return decay, 1.0, 1.0 - rates.beta * rates.kappa, -seen.phi_omega


@njit(forceinline=True, **COMPILE)
def _gtd2_before(memory: Any, seen: Any, rates: Any) -> Any:
    return 0.0, seen.rho, 1.0, -seen.phi_omega


@njit(forceinline=True, **COMPILE)
def _gtd2(memory: Any, seen: Any, rates: Any) -> Any:
    delta = seen.reward + rates.gamma * seen.sampled - seen.value
    here = rates.alpha * seen.trace_omega
    return memory, Change(delta, 0.0, delta, -rates.gamma * here, 0.0, here)


@njit(forceinline=True, **COMPILE)
def _gtd2_pairs_before(memory: Any, seen: Any, rates: Any) -> Any:
    return 0.0, 1.0, 1.0, -seen.phi_omega


@njit(forceinline=True, **COMPILE)
def _gtd2_pairs(memory: Any, seen: Any, rates: Any) -> Any:
    delta = seen.reward + rates.gamma * seen.expected - seen.value
    here = rates.alpha * seen.trace_omega
    return memory, Change(delta, 0.0, delta, 0.0, -rates.gamma * here, here)


@njit(forceinline=True, **COMPILE)
def _emphatic_before(memory: Any, seen: Any, rates: Any) -> Any:
    emphasis = rates.lam + (1.0 - rates.lam) * (1.0 + memory[0])
    return rates.gamma * rates.lam * seen.rho, seen.rho * emphasis, 1.0, 0.0


@njit(forceinline=True, **COMPILE)
def _emphatic(memory: Any, seen: Any, rates: Any) -> Any:
    delta = seen.reward + rates.gamma * seen.sampled - seen.value
    follow_on = 1.0 + memory[0]
    return (rates.gamma * seen.rho_now * follow_on,), _along_e(delta, rates)


@njit(forceinline=True, **COMPILE)
def _emphatic_pairs_before(memory: Any, seen: Any, rates: Any) -> Any:
    follow_on = 1.0 + seen.rho * memory[0]
    emphasis = rates.lam + (1.0 - rates.lam) * follow_on
    return rates.gamma * rates.lam * seen.rho, emphasis, 1.0, 0.0


@njit(forceinline=True, **COMPILE)
def _emphatic_pairs(memory: Any, seen: Any, rates: Any) -> Any:
    delta = seen.reward + rates.gamma * seen.expected - seen.value
    follow_on = 1.0 + seen.rho_now * memory[0]
    return (rates.gamma * follow_on,), _along_e(delta, rates)


LEARNERS: dict[str, Learner] = {
    "gq": Learner(_nothing, _gq_before, _gq, together=True),
    "gq_lagged": Learner(_nothing, _gq_before, _gq_lagged, together=True, late=True),
    "corrected_gq": Learner(_nothing, _gq_before, _corrected_gq, together=True),
    "expected_gq": Learner(_nothing, _gq_before, _expected_gq, together=True, traced=True),
    "weighted_gq": Learner(_nothing, _ratio_before, _weighted_gq, together=True, target=True),
    "maei_gq": Learner(_nothing, _ratio_before, _maei_gq, together=True, target=True),
    "q_sigma": Learner(_nothing, _accumulate, _q_sigma, gradient=False),
    "sarsa": Learner(_nothing, _accumulate, _sarsa, gradient=False),
    "expected_sarsa": Learner(_nothing, _accumulate, _expected_sarsa, gradient=False),
    "true_online_sarsa": Learner(_nothing, _dutch, _true_online, gradient=False, here=True),
    "qrc": Learner(_two, _qrc_before, _qrc, ridge=True, here=True),
    "watkins": Learner(_nothing, _cut_before, _expected_sarsa, gradient=False),
    "greedy_gq": Learner(_nothing, _ratio_before, _greedy_gq, together=True, target=True),
    "textbook_gq": Learner(_nothing, _textbook_before, _textbook, together=True),
    "td": Learner(_nothing, _td_before, _sarsa, gradient=False, target=True),
    "tdc": Learner(_nothing, _weighted_before, _tdc, together=True, target=True),
    "tdrc": Learner(_nothing, _tdrc_before, _tdc, ridge=True, target=True),
    "gtd2": Learner(_nothing, _gtd2_before, _gtd2, here=True, target=True),
    "emphatic_td": Learner(_nothing, _emphatic_before, _emphatic, gradient=False, target=True),
    "tdc_pairs": Learner(_nothing, _ratio_before, _greedy_gq, together=True, target=True),
    "tdrc_pairs": Learner(_nothing, _tdrc_pairs_before, _greedy_gq, ridge=True, target=True),
    "gtd2_pairs": Learner(_nothing, _gtd2_pairs_before, _gtd2_pairs, here=True, target=True),
    "emphatic_td_pairs": Learner(
        _nothing, _emphatic_pairs_before, _emphatic_pairs, gradient=False, target=True
    ),
}
