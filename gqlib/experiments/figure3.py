r"""Figure 3 as data: domains × readings × λ × σ, how step sizes are chosen, and what is run at the chosen ones.

The paper gives neither λ nor step sizes nor numbers of steps and runs for its prediction tasks. The protocol:

1. Domains as printed, and as in the literature where that differs (six *panels*), in every reading that makes sense.
   1,000 steps on Baird's star and 2,000 on Boyan's chain (100 episodes of 20 steps), as in the public code of Dann,
   Neumann and Peters (2014); 10,000 on cart-pole, a third of that code's number, so that the search stays affordable.
2. *Search* on `SEARCH_SEED`, 200 runs of every cell of α × η, for λ in {0, 0.5, 0.9, 0.99}, in
   three stages: a grid (`search`); the same grid continued, since best cells lay on its edges, until
   they did not (`wide`); and a finer grid around the best cell of each σ (`refine`).
   `gqlib.experiments.figure3_rules` applies the rules, by `gqlib.experiments.search`.
   Rule: of the cells in which no run diverged, the one with the smallest mean late exact MSPBE of its own σ and λ.
   For comparisons at one step size: the cell in which no run of any σ diverged, with the smallest mean over
   σ = 0, ¼, ½, ¾, 1 of the logarithm of that MSPBE.
3. *Results* on `RESULT_SEED`, 200 fresh runs, with the late scores of every run: at λ = 0.9 the curves of σ = 0, σ = 1
   and dynamic σ, with m = ½, with the m in {¼, ½, ¾} that the search found best, and as a ramp (`fig3_curves`); the
   paper's 49 means at one step size (`fig3`); at every λ five σ at their own step sizes, for GQ(σ, λ) and for
   semi-gradient Q(σ, λ), its limit as η falls to 0 (`fig3_lambdas`); and five σ at the step sizes and the λ at which
   the search saw an intermediate σ furthest ahead of both ends (`fig3_kind`).

What was fixed when: the first grid, its rule and the curves before any of these runs; the best m after the first
results, to give the paper's claim its best chance; the wider and the finer grid, step sizes of its own for the ramp,
the other λ and the kindest step sizes after a review of those results, which found best cells on the edges. Nothing in
the rules refers to what the paper concludes, except for `fig3_kind`, which takes its side.

On one core `search` takes four minutes, and all seven experiments together twenty-two.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256
from itertools import product
from typing import Any, Literal, get_args

import numpy as np

from gqlib import _validate as check
from gqlib.evaluation import PredictionSetting
from gqlib.evaluation.grids import GridSetting
from gqlib.evaluation.setting import LEARNERS, LearnerName
from gqlib.experiments.search import Cell, written_down
from gqlib.learners.sigma import DRAWN, MEANS, NOISE, Drawn
from gqlib.sweeps.setting import Setting, plain
from gqlib.sweeps.store import canonical_json
from gqlib.sweeps.sweep import Experiment

__all__ = [
    "ALPHAS",
    "ETAS",
    "HIGH_ALPHAS",
    "HIGH_ETAS",
    "LAMBDAS",
    "LOW_ALPHAS",
    "MAIN_LAMBDA",
    "PANELS",
    "RESULT_SEED",
    "RUNS",
    "SIGMAS",
    "Panel",
    "baselines",
    "choice_name",
    "chosen",
    "chosen_interior",
    "coarse",
    "curve_setting",
    "curves",
    "family_setting",
    "fig3",
    "fig3_curves",
    "fig3_kind",
    "fig3_lambdas",
    "kind_setting",
    "kindest_cells",
    "manifest",
    "own_setting",
    "places",
    "refine",
    "search",
    "search_setting",
    "shown",
    "wide",
]

SEARCH_SEED, RESULT_SEED = 2014, 2019
RUNS = 200
KIND_RUNS = 1000  # where an intermediate σ is ahead by one per cent, 200 runs cannot tell
LAMBDAS = (0.0, 0.5, 0.9, 0.99)
MAIN_LAMBDA = 0.9
SIGMAS = (0.0, 0.25, 0.5, 0.75, 1.0)
ALPHAS = (0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
# The two ends of the paper's 2⁰ … 2⁻¹⁰ (its control task), two values in between, two beyond.
ETAS = (2.0**-10, 2.0**-4, 2.0**-2, 1.0, 4.0, 16.0)
# How far the grid was continued: α down on the star and the cart-pole, up on the chain, η up.
LOW_ALPHAS = (1e-7, 3e-7, 1e-6, 3e-6, 1e-5, 3e-5)
HIGH_ALPHAS = (2.0, 3.0, 5.0, 10.0, 20.0, 30.0)
HIGH_ETAS = tuple(4.0**k for k in range(3, 10))  # 2⁶ … 2¹⁸
VERSION = "1"  # of what `grid_runs` computes; it changes when, and only when, a number changes


@dataclass(frozen=True)
class Panel:
    """A domain with its options, the length of a run, its readings, and when σ can be drawn.

    Examples
    --------
    >>> PANELS["Baird, printed"].fields("literal")["options"]
    (('features', 'printed'), ('reading', 'literal'))
    """

    domain: str
    options: tuple[tuple[str, Any], ...]
    steps: int
    readings: tuple[str, ...]
    # Without episodes, a draw per episode is a draw per run.
    drawn: tuple[Drawn, ...] = ("step", "run")

    def fields(self, reading: str) -> dict[str, Any]:
        """What the settings of a panel share."""
        check.choice("reading", reading, self.readings)
        options = (*self.options, ("reading", reading))
        return {"domain": self.domain, "options": options, "steps": self.steps}


_THREE, _TWO = ("literal", "expected", "stacked"), ("literal", "expected")
PANELS: Mapping[str, Panel] = {
    "Baird, printed": Panel("baird_star", (("features", "printed"),), 1000, _THREE),
    "Baird, classical": Panel("baird_star", (("features", "classical"),), 1000, _THREE),
    "Boyan, printed": Panel("boyan_chain", (("terminal_features", "printed"),), 2000, _TWO, DRAWN),
    "Boyan, end at zero": Panel("boyan_chain", (("terminal_features", "zero"),), 2000, _TWO, DRAWN),
    "Cart-pole, printed": Panel("cart_pole", (("features", "printed"),), 10_000, _TWO),
    "Cart-pole, scaled": Panel("cart_pole", (("features", "public"),), 10_000, _TWO),
}


def places(*, void: bool = True) -> Iterator[tuple[str, str]]:
    """Panel and reading; with `void` false, without the literal readings, in which σ has no effect.

    Examples
    --------
    >>> len(list(places())), next(places(void=False))
    (14, ('Baird, printed', 'expected'))
    """
    check.flag("void", void)
    for name, panel in PANELS.items():
        yield from ((name, reading) for reading in panel.readings if void or reading != "literal")


def search_setting(
    panel: str, reading: str, lam: float, learner: LearnerName = "gq"
) -> GridSetting:
    """The search for step sizes at one place.

    Examples
    --------
    >>> search_setting("Boyan, printed", "expected", 0.9).shape  # σ, α, η
    (5, 9, 6)
    """
    fields = PANELS[check.choice("panel", panel, tuple(PANELS))].fields(reading)
    return GridSetting(**fields, learner=learner, lam=lam, sigmas=SIGMAS, alphas=ALPHAS, etas=ETAS)


def _experiment(
    name: str,
    title: str,
    settings: Iterable[Setting],
    seed: int,
    kind: str = "grid",
    runs: int = RUNS,
) -> Experiment:
    """Different settings as an experiment; its kind is a summary, mostly of `gqlib.evaluation.grids`."""
    different = tuple({setting.key: setting for setting in settings}.values())
    return Experiment(
        f"fig3{name}",
        f"Figure 3: {title}",
        "curve" if kind == "curve" else "grid",
        different,
        runs,
        seed,
        VERSION,
        runs_per_task=50,
        summary=kind,
        report="late errors",
    )


def search() -> Experiment:
    """Every cell of α × η for every place, λ, σ and learner: the search, and the sensitivity study.

    Examples
    --------
    >>> len(search().settings)  # 14 places, 4 λ, two learners; at 8 of them TDC, and GTD2 at λ = 0
    152
    """
    learners: tuple[LearnerName, ...] = ("gq", "semi-gradient", "tdc", "gtd2")
    settings = [
        search_setting(panel, reading, lam, learner)
        for (panel, reading), lam, learner in product(places(), LAMBDAS, learners)
        if _learns(learner, reading, lam)
    ]
    return _experiment("-search", "the search for step sizes", settings, SEARCH_SEED)


def _learns(learner: LearnerName, reading: str, lam: float) -> bool:
    """TDC and GTD2 learn where σ has an effect, and GTD2 at λ = 0 alone."""
    void = reading == "literal" or (learner == "gtd2" and lam > 0.0)
    return learner in ("gq", "semi-gradient") or not void


def _ramp(panel: str, reading: str, alphas: Iterable[float], etas: Iterable[float]) -> GridSetting:
    """Dynamic σ as a ramp, at the main λ, for these step sizes."""
    grid = search_setting(panel, reading, MAIN_LAMBDA)
    ends: dict[str, Any] = {"sigmas": MEANS[:1], "ramp_to": MEANS[-1]}
    return replace(grid, alphas=tuple(alphas), etas=tuple(etas), noise=NOISE, **ends)


def wide() -> Experiment:
    """The grid continued until no best cell lay on an edge that can be moved: 15 α and 13 η.

    The ramp has its own search. At the lower end of η there is nothing to add: its limit is
    semi-gradient Q(σ, λ), which is searched too. Eleven minutes on one core.

    Examples
    --------
    >>> len(wide().settings), {setting.shape for setting in wide().settings}
    (368, {(1, 15, 13)})
    """
    settings, etas = [], (*ETAS, *HIGH_ETAS)
    learners: tuple[LearnerName, ...] = ("gq", "tdc", "semi-gradient", "gtd2")
    for panel, reading in places(void=False):
        alphas = (*ALPHAS, *HIGH_ALPHAS) if panel.startswith("Boyan") else (*LOW_ALPHAS, *ALPHAS)
        for lam, learner in product(LAMBDAS, learners):
            grid = replace(search_setting(panel, reading, lam, learner), alphas=alphas, etas=etas)
            sigmas = SIGMAS if grid.sigma_matters else SIGMAS[:1]
            many = [replace(grid, sigmas=(sigma,)) for sigma in sigmas]
            settings += many if _learns(learner, reading, lam) else []
        settings.append(_ramp(panel, reading, alphas, etas))
    return _experiment(
        "-wide", "the search, continued at its edges", settings, SEARCH_SEED, "cells"
    )


Shared = Literal["common", "ramp"]
Way = float | Shared  # a value of σ, "common" to all of them, or "ramp"


def wanted() -> Iterator[tuple[str, str, LearnerName, Way, float]]:
    """Yield what needs step sizes: panel, reading, learner, σ (or "common", "ramp") and λ."""
    for panel, reading in places():
        void = reading == "literal"
        for lam in (MAIN_LAMBDA,) if void else LAMBDAS:
            yield from ((panel, reading, "gq", sigma, lam) for sigma in SIGMAS)
            yield from ((panel, reading, "semi-gradient", sigma, lam) for sigma in SIGMAS)
        if not void:
            yield panel, reading, "gq", "common", MAIN_LAMBDA
            yield panel, reading, "gq", "ramp", MAIN_LAMBDA
            yield panel, reading, "tdc", 0.0, MAIN_LAMBDA
            yield panel, reading, "gtd2", 0.0, 0.0


def choice_name(
    panel: str, reading: str, learner: LearnerName, way: Way, lam: float = MAIN_LAMBDA
) -> str:
    """The name of a choice; λ is said where it is not the usual one, 0.9 (for GTD2: 0).

    Parameters
    ----------
    way : float, "common" or "ramp"
        The value of σ; one choice for all of them; or a ramp.

    Examples
    --------
    >>> choice_name("Boyan, printed", "expected", "gq", 0.25, 0.5)
    'Boyan, printed | expected | gq | 0.25 | λ = 0.5'
    """
    PANELS[check.choice("panel", panel, tuple(PANELS))].fields(reading)
    check.choice("learner", learner, LEARNERS)
    shared = isinstance(way, str)
    level = (
        check.choice("way", way, get_args(Shared)) if shared else f"{check.scalar('way', way):g}"
    )
    lam = check.scalar("lam", lam, low=0.0, high=1.0)
    usual = 0.0 if learner == "gtd2" else MAIN_LAMBDA
    name = f"{panel} | {reading} | {learner} | {level}"
    return name if lam == usual else f"{name} | λ = {lam:g}"


def refine() -> Experiment:
    """A finer grid around the best cell of the first two stages, for everything that needs step sizes.

    α in steps of 10^⅛ as far as its neighbours, η half-way to its neighbours in powers of 2, and
    η = 0, which is semi-gradient Q(σ, λ), for comparison and not for choice. Four minutes.

    Examples
    --------
    >>> len(refine().settings), {setting.shape for setting in refine().settings}
    (372, {(1, 9, 4)})
    """
    settings = []
    for panel, reading, learner, way, lam in wanted():
        if reading == "literal":
            continue
        alpha, eta = coarse()[choice_name(panel, reading, learner, way, lam)]
        alphas = tuple(float(f"{alpha * 10 ** (k / 8):.3g}") for k in range(-4, 5))
        etas = (0.0, *_between(eta))
        if way == "ramp":
            settings.append(_ramp(panel, reading, alphas, etas))
            continue
        sigmas = SIGMAS if way == "common" else (float(way),)
        grid = replace(search_setting(panel, reading, lam, learner), alphas=alphas, etas=etas)
        settings += [replace(grid, sigmas=(sigma,)) for sigma in sigmas]
    return _experiment("-refine", "the search, refined", settings, SEARCH_SEED, "cells")


def _between(eta: float) -> tuple[float, ...]:
    """η and the values half-way to its neighbours, as powers of 2."""
    levels = np.log2((*ETAS, *HIGH_ETAS))
    levels = np.array([levels[0] - 4, *levels, levels[-1] + 2])
    i = int(np.flatnonzero(levels == np.log2(eta))[0])
    return tuple(float(2.0 ** ((levels[i] + levels[j]) / 2)) for j in (i - 1, i, i + 1))


Measured = Literal["mspbe", "error"]
MEASURED = get_args(Measured)
Kind = tuple[float, float, float, float]  # λ, α, η, and the σ between the ends


@cache
def _written() -> dict[str, dict[str, Any]]:
    return dict(written_down("figure3"))


def coarse() -> dict[str, Cell]:
    """What the first two stages of the search chose: the rules applied to `search` and `wide`.

    Examples
    --------
    >>> len(coarse()) == len(chosen())
    True
    """
    return {name: (alpha, eta) for name, (alpha, eta) in _written()["coarse"].items()}


def chosen() -> dict[str, Cell]:
    """What the search chose, "panel | reading | learner | σ" to (α, η), written down.

    Names say λ where it is not 0.9.

    Examples
    --------
    >>> chosen()["Boyan, printed | expected | gq | common"]
    (0.04, 1.0)
    """
    return {name: (alpha, eta) for name, (alpha, eta) in _written()["chosen"].items()}


def chosen_interior() -> dict[str, float]:
    """The best σ between the ends, "panel | reading" to σ, written down.

    Examples
    --------
    >>> chosen_interior()["Baird, printed | expected"]
    0.75
    """
    return dict(_written()["interior"])


def kindest_cells() -> dict[str, Kind]:
    """The kindest λ, α, η and σ, by "panel | reading | measure", written down.

    Examples
    --------
    >>> kindest_cells()["Cart-pole, scaled | expected | mspbe"]
    (0.99, 0.003, 1.0, 0.5)
    """
    kindest = _written()["kindest"]
    return {name: (lam, alpha, eta, sigma) for name, (lam, alpha, eta, sigma) in kindest.items()}


def _at_chosen(
    panel: str, reading: str, learner: LearnerName, way: Way, lam: float, **more: Any
) -> GridSetting:
    """A grid of one cell, at the step sizes that were chosen for a way to set σ."""
    name = choice_name(panel, reading, learner, way, lam)
    if name not in chosen():
        raise ValueError(
            f"panel, reading, learner and sigma are {name!r}; step sizes should have been chosen for them"
        )
    alpha, eta = chosen()[name]
    grid = search_setting(panel, reading, lam, learner)
    return replace(grid, alphas=(alpha,), etas=(eta,), noise=NOISE, **more)


def curve_setting(
    panel: str, reading: str, learner: LearnerName = "gq", **sigma: Any
) -> PredictionSetting:
    """A curve of Figure 3 at its chosen step sizes; `sigma` takes the fields of a schedule.

    Examples
    --------
    >>> curve_setting("Boyan, printed", "expected", mean=0.5, noise=0.01).sigma_noise
    0.01
    """
    mean = check.scalar("mean", sigma.pop("mean", 0.0))
    lam = 0.0 if learner == "gtd2" else MAIN_LAMBDA
    way: Way = ("ramp" if reading != "literal" else 0.5) if "ramp_to" in sigma else mean
    grid = _at_chosen(panel, reading, learner, way, lam)
    fields = {f"sigma_{name}": value for name, value in sigma.items()}
    fields |= {name: getattr(grid, name) for name in ("domain", "options", "steps")}
    return PredictionSetting(
        learner=learner, sigma=mean, lam=lam, alpha=grid.alphas[0], eta=grid.etas[0], **fields
    )


def curves(panel: str, reading: str) -> dict[str, PredictionSetting]:
    """The main curves of Figure 3 at one place, by label: the ends first.

    Examples
    --------
    >>> list(curves("Boyan, printed", "expected"))[:3]
    ['σ = 0', 'σ = 1', 'dynamic σ, m = 0.5']
    """
    best = chosen_interior().get(f"{panel} | {reading}", 0.5)
    ways: dict[str, dict[str, Any]] = {
        "σ = 0": {"mean": 0.0},
        "σ = 1": {"mean": 1.0},
        "dynamic σ, m = 0.5": {"mean": 0.5, "noise": NOISE},
        "dynamic σ, best m": {"mean": best, "noise": NOISE},
        "dynamic σ, ramp": {"mean": MEANS[0], "noise": NOISE, "ramp_to": MEANS[-1]},
    }
    return {label: curve_setting(panel, reading, **way) for label, way in ways.items()}


def baselines(panel: str, reading: str) -> dict[str, PredictionSetting]:
    """Semi-gradient Q(σ, λ) at three σ, TDC(λ) and GTD2 at one place, by label.

    Examples
    --------
    >>> list(baselines("Boyan, printed", "expected"))[-2:]
    ['TDC(λ)', 'GTD2']
    """
    found = {
        f"semi-gradient, σ = {sigma:g}": curve_setting(panel, reading, "semi-gradient", mean=sigma)
        for sigma in (0.0, 0.5, 1.0)
    }
    if reading != "literal":
        found["TDC(λ)"] = curve_setting(panel, reading, "tdc")
        found["GTD2"] = curve_setting(panel, reading, "gtd2")
    return found


def family_setting(panel: str, reading: str, drawn: Drawn) -> GridSetting:
    """The paper's 49 dynamic σ between the two fixed ends, at step sizes that all of them share.

    Examples
    --------
    >>> family_setting("Boyan, printed", "expected", "episode").shape
    (51, 1, 1)
    """
    sigmas = (0.0, *MEANS, 1.0)
    return _at_chosen(panel, reading, "gq", "common", MAIN_LAMBDA, sigmas=sigmas, drawn=drawn)


def fig3() -> Experiment:
    """The families of Figure 3: 51 ways to set σ at every place where σ matters, however drawn.

    The late scores of every run are kept. One minute on one core.

    Examples
    --------
    >>> len(fig3().settings)  # 8 places, σ drawn by step or run, on Boyan's chain by episode too
    18
    """
    settings = [
        family_setting(panel, reading, drawn)
        for panel, reading in places(void=False)
        for drawn in PANELS[panel].drawn
    ]
    return _experiment(
        "", "families of dynamic sigma on fresh seeds", settings, RESULT_SEED, "scores"
    )


def own_setting(
    panel: str, reading: str, sigma: float, lam: float, learner: LearnerName = "gq"
) -> GridSetting:
    """One σ (dynamic between the ends) at its own step sizes, for any λ that was searched.

    Examples
    --------
    >>> setting = own_setting("Boyan, printed", "expected", 0.25, 0.5)
    >>> setting.shape, setting.cell(0, 0, 0).sigma_noise
    ((1, 1, 1), 0.01)
    """
    sigma = check.scalar("sigma", sigma)
    return _at_chosen(panel, reading, learner, sigma, lam, sigmas=(sigma,))


def fig3_lambdas() -> Experiment:
    """Five σ at their own step sizes at every λ, for GQ(σ, λ) and for its limit as η falls to 0.

    One minute on one core.

    Examples
    --------
    >>> len(fig3_lambdas().settings)  # 8 places, 4 λ, 5 σ, 2 learners
    320
    """
    settings = [
        own_setting(panel, reading, sigma, lam, learner)
        for panel, reading in places(void=False)
        for lam in LAMBDAS
        for learner in ("gq", "semi-gradient")
        for sigma in SIGMAS
    ]
    title = "every lambda, each sigma at its own step sizes, on fresh seeds"
    return _experiment("-lambdas", title, settings, RESULT_SEED, "scores")


def kind_setting(panel: str, reading: str, measure: Measured = "mspbe") -> GridSetting:
    """Five σ at the λ and the step sizes that are kindest to the paper at one place, by one measure.

    Examples
    --------
    >>> kind_setting("Boyan, printed", "expected").shape
    (5, 1, 1)
    """
    check.choice("measure", measure, MEASURED)
    grid = search_setting(panel, reading, MAIN_LAMBDA)
    if reading == "literal":
        raise ValueError("reading is 'literal'; it should be one in which sigma has an effect")
    lam, alpha, eta, _ = kindest_cells()[f"{panel} | {reading} | {measure}"]
    return replace(grid, lam=lam, alphas=(alpha,), etas=(eta,), noise=NOISE)


def fig3_kind() -> Experiment:
    """Five σ where the search saw one between the ends furthest ahead of both, on fresh seeds.

    Half a minute. With 1,000 runs: 200 left it open whether a lead of one per cent on Boyan's chain
    was real.

    Examples
    --------
    >>> len(fig3_kind().settings)  # 8 places, 2 measures; some choices serve both
    13
    """
    settings = [
        kind_setting(*place, measure) for place in places(void=False) for measure in MEASURED
    ]
    title = "at the step sizes kindest to the paper, on fresh seeds"
    return _experiment("-kind", title, settings, RESULT_SEED, "scores", runs=KIND_RUNS)


def shown() -> dict[str, PredictionSetting]:
    """Every curve of Figure 3 and its baselines, "panel | reading | label" to its setting.

    Examples
    --------
    >>> len(shown())
    128
    """
    return {
        f"{panel} | {reading} | {label}": setting
        for panel, reading in places()
        for label, setting in (curves(panel, reading) | baselines(panel, reading)).items()
    }


def fig3_curves() -> Experiment:
    """The learning curves of Figure 3 at their chosen step sizes, with baselines. Half a minute.

    Examples
    --------
    >>> len(fig3_curves().settings)  # of 128 curves, some places share a setting under two labels
    122
    """
    title = "learning curves on fresh seeds"
    return _experiment("-curves", title, shown().values(), RESULT_SEED, "curve")


def manifest() -> dict[str, Any]:
    """Every setting × runs behind the figures of the chapter, as plain values, with the seed.

    The settings of three large experiments, which their results list, are given by number and digest.

    Examples
    --------
    >>> {part: (e["runs"], len(e["settings"])) for part, e in manifest().items() if part < "l"}
    {'curves': (200, 128), 'families': (200, 18), 'kind': (1000, 13)}
    >>> manifest()["lambdas"]["number"], sorted(manifest())
    (320, ['curves', 'families', 'kind', 'lambdas', 'refine', 'search', 'wide'])
    """
    listed = {"families": fig3(), "kind": fig3_kind(), "search": search()}
    counted = {"lambdas": fig3_lambdas(), "refine": refine(), "wide": wide()}
    every: dict[str, Any] = {name: plain(setting) for name, setting in shown().items()}
    found = {"curves": {"runs": RUNS, "seed": RESULT_SEED, "settings": every}}
    for name, experiment in (listed | counted).items():
        settings = [plain(setting) for setting in experiment.settings]
        digest = sha256(canonical_json(settings).encode()).hexdigest()
        short = {"number": len(settings), "sha256": digest}
        found[name] = {"runs": experiment.runs, "seed": experiment.seed} | (
            {"settings": settings} if name in listed else short
        )
    return found
