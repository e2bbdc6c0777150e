r"""Figure 3 as data: domains × readings × λ × σ, how step sizes are chosen, and what is run at the chosen ones.

The paper gives neither λ nor step sizes nor numbers of steps and runs for its prediction tasks. The protocol, written
down before the runs for the search and the results were made:

1. Domains as printed, and as in the literature where that differs (six *panels*), in every reading that makes sense.
   1,000 steps on Baird's star and 2,000 on Boyan's chain (100 episodes of 20 steps), as in the public code of Dann,
   Neumann and Peters (2014); 10,000 on cart-pole, a third of that code's number, so that the search stays affordable.
2. *Search* on `SEARCH_SEED`, 200 runs of every cell of α × η, for λ in {0, 0.5, 0.9, 0.99}.
   Rule: of the cells in which no run diverged, the one with the smallest mean late exact MSPBE of its own σ and λ.
   For comparisons at one step size: the cell in which no run of any σ diverged, with the smallest mean over
   σ = 0, ¼, ½, ¾, 1 of the logarithm of that MSPBE.
3. *Results* on `RESULT_SEED`, 200 fresh runs, at λ = 0.9, of σ = 0, σ = 1, and dynamic σ with m = ½ and with m as a
   ramp. A dynamic σ takes the step sizes of the fixed σ = m, a ramp those of ½.

One row was added after these results were known, to give the paper's claim its best chance: dynamic σ with the m in
{¼, ½, ¾} that the *search* found best. Nothing in the rules refers to what the paper concludes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from gqlib import _validate as check
from gqlib.evaluation import PredictionSetting
from gqlib.evaluation.grids import GridSetting, find
from gqlib.learners.sigma import MEANS, NOISE
from gqlib.sweeps.sweep import Experiment

if TYPE_CHECKING:
    import xarray

__all__ = [
    "ALPHAS",
    "ETAS",
    "LAMBDAS",
    "MAIN_LAMBDA",
    "PANELS",
    "RESULT_SEED",
    "RUNS",
    "SEARCH_SEED",
    "SIGMAS",
    "Panel",
    "baselines",
    "best_cell",
    "choices",
    "chosen",
    "chosen_interior",
    "common_cell",
    "curve_setting",
    "curves",
    "family_setting",
    "fig3",
    "fig3_curves",
    "interior",
    "manifest",
    "places",
    "search",
    "search_setting",
    "shown",
]

SEARCH_SEED, RESULT_SEED = 2014, 2019
RUNS = 200
LAMBDAS = (0.0, 0.5, 0.9, 0.99)
MAIN_LAMBDA = 0.9
SIGMAS = (0.0, 0.25, 0.5, 0.75, 1.0)
ALPHAS = (0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
# The two ends of the paper's 2⁰ … 2⁻¹⁰ (its control task), two values in between, and two beyond its upper end.
ETAS = (2.0**-10, 2.0**-4, 2.0**-2, 1.0, 4.0, 16.0)
VERSION = "1"  # of what `grid_runs` computes; it changes when, and only when, a number changes


@dataclass(frozen=True)
class Panel:
    """A domain with its options, the length of a run, the readings in which it is run, and when σ can be drawn.

    Examples
    --------
    >>> PANELS["Baird, printed"].fields("literal")["options"]
    (('features', 'printed'), ('reading', 'literal'))
    """

    domain: str
    options: tuple[tuple[str, Any], ...]
    steps: int
    readings: tuple[str, ...]
    drawn: tuple[str, ...] = ("step", "run")  # without episodes, a draw per episode is a draw per run

    def fields(self, reading: str) -> dict[str, Any]:
        """What the settings of a panel share."""
        check.choice("reading", reading, self.readings)
        return {"domain": self.domain, "options": (*self.options, ("reading", reading)), "steps": self.steps}


_THREE, _TWO = ("literal", "expected", "stacked"), ("literal", "expected")
_EPISODES = ("step", "episode", "run")
PANELS: Mapping[str, Panel] = {
    "Baird, printed": Panel("baird_star", (("features", "printed"),), 1000, _THREE),
    "Baird, classical": Panel("baird_star", (("features", "classical"),), 1000, _THREE),
    "Boyan, printed": Panel("boyan_chain", (("terminal_features", "printed"),), 2000, _TWO, _EPISODES),
    "Boyan, end at zero": Panel("boyan_chain", (("terminal_features", "zero"),), 2000, _TWO, _EPISODES),
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


def search_setting(panel: str, reading: str, lam: float, learner: str = "gq") -> GridSetting:
    """The search for step sizes at one place.

    Examples
    --------
    >>> search_setting("Boyan, printed", "expected", 0.9).shape  # σ, α, η
    (5, 9, 6)
    """
    check.choice("panel", panel, tuple(PANELS))
    fields = PANELS[panel].fields(reading)
    return GridSetting(**fields, learner=learner, lam=lam, sigmas=SIGMAS, alphas=ALPHAS, etas=ETAS)


def on_grids(name: str, title: str, settings: list[GridSetting], seed: int) -> Experiment:
    """Settings of `gqlib.evaluation.grids` as an experiment."""
    return Experiment(
        name=name,
        title=title,
        function="grid",
        settings=tuple(settings),
        runs=RUNS,
        seed=seed,
        version=VERSION,
        runs_per_task=50,
        summary="grid",
        report="grid",
    )


def search() -> Experiment:
    """Every cell of α × η for every place, λ, σ and learner: the search, and the sensitivity study.

    Examples
    --------
    >>> len(search().settings)  # 14 places, 4 λ, two learners; at 8 of them TDC too, and GTD2 at λ = 0
    152
    """
    settings = []
    for panel, reading in places():
        for lam in LAMBDAS:
            learners = ["gq", "semi-gradient"]
            learners += ["tdc"] if reading != "literal" else []
            learners += ["gtd2"] if reading != "literal" and lam == 0.0 else []
            settings += [search_setting(panel, reading, lam, learner) for learner in learners]
    return on_grids("fig3-search", "Figure 3: the search for step sizes", settings, SEARCH_SEED)


def best_cell(part: xarray.Dataset, sigma: float) -> tuple[float, float]:
    """α and η by the rule for one σ: smallest mean late MSPBE where no run diverged.

    Examples
    --------
    >>> import xarray
    >>> scores = np.ones((5, 9, 6))  # σ, α, η
    >>> scores[0, 2, 3] = 0.5
    >>> dims = ("sigma", "alpha", "eta")
    >>> part = xarray.Dataset({"mspbe": (dims, scores), "diverged": (dims, np.zeros((5, 9, 6)))})
    >>> best_cell(part, 0.0) == (ALPHAS[2], ETAS[3])
    True
    """
    check.labelled("part", part, "diverged", "mspbe")
    if check.scalar("sigma", sigma) not in SIGMAS:
        raise ValueError(f"sigma is {sigma:g}; it should be one of {SIGMAS}")
    i = SIGMAS.index(sigma)
    score = np.where(part["diverged"].values[i] == 0.0, part["mspbe"].values[i], np.inf)
    return _at_smallest(score)


def common_cell(part: xarray.Dataset) -> tuple[float, float]:
    """α and η by the rule for all σ together.

    Examples
    --------
    >>> import xarray
    >>> scores = np.ones((5, 9, 6))  # σ, α, η
    >>> scores[0, 2, 3] = 0.5
    >>> dims = ("sigma", "alpha", "eta")
    >>> part = xarray.Dataset({"mspbe": (dims, scores), "diverged": (dims, np.zeros((5, 9, 6)))})
    >>> common_cell(part) == (ALPHAS[2], ETAS[3])
    True
    """
    check.labelled("part", part, "diverged", "mspbe")
    safe = (part["diverged"].values == 0.0).all(axis=0)
    mspbe = np.where(safe, part["mspbe"].values, 1.0)
    return _at_smallest(np.where(safe, np.log(mspbe).mean(axis=0), np.inf))


def _at_smallest(score: np.typing.NDArray[np.float64]) -> tuple[float, float]:
    if not np.isfinite(score).any():
        raise ValueError("in every cell some run diverged; there should be one in which none did")
    j, k = np.unravel_index(int(score.argmin()), score.shape)
    return ALPHAS[int(j)], ETAS[int(k)]


def choices(dataset: xarray.Dataset) -> dict[str, tuple[float, float]]:
    """Apply the rules to the search at λ = 0.9 (0 for GTD2): name of a choice to (α, η).

    Examples
    --------
    >>> import xarray
    >>> dims, size = ("setting", "sigma", "alpha", "eta"), (len(search().settings), 5, 9, 6)
    >>> same = xarray.Dataset({"mspbe": (dims, np.ones(size)), "diverged": (dims, np.zeros(size))})
    >>> same = same.assign_coords(key=("setting", [setting.key for setting in search().settings]))
    >>> set(choices(same).values()) == {(ALPHAS[0], ETAS[0])}  # where all cells are equal, the first is taken
    True
    """
    check.labelled("dataset", dataset, "key", "diverged", "mspbe")
    chosen = {}
    for panel, reading in places():
        for learner in ("gq", "semi-gradient", "tdc", "gtd2"):
            if learner in ("tdc", "gtd2") and reading == "literal":
                continue
            lam = 0.0 if learner == "gtd2" else MAIN_LAMBDA
            part = find(dataset, search_setting(panel, reading, lam, learner))
            sigmas = {"gq": SIGMAS, "semi-gradient": (0.0, 0.5, 1.0)}.get(learner, (0.0,))
            for sigma in sigmas:
                chosen[choice_name(panel, reading, learner, sigma)] = best_cell(part, sigma)
        if reading != "literal":
            part = find(dataset, search_setting(panel, reading, MAIN_LAMBDA))
            chosen[choice_name(panel, reading, "gq", None)] = common_cell(part)
    return chosen


def interior(dataset: xarray.Dataset) -> dict[str, float]:
    """The interior σ with the smallest mean late MSPBE at its best cell, by place where σ matters, at λ = 0.9.

    Examples
    --------
    >>> import xarray
    >>> dims, size = ("setting", "sigma", "alpha", "eta"), (len(search().settings), 5, 9, 6)
    >>> same = xarray.Dataset({"mspbe": (dims, np.ones(size)), "diverged": (dims, np.zeros(size))})
    >>> same = same.assign_coords(key=("setting", [setting.key for setting in search().settings]))
    >>> len(interior(same)), set(interior(same).values())
    (8, {0.25})
    """
    check.labelled("dataset", dataset, "key", "diverged", "mspbe")
    found = {}
    for panel, reading in places(void=False):
        part = find(dataset, search_setting(panel, reading, MAIN_LAMBDA))
        score = {}
        for i, sigma in enumerate(SIGMAS[1:-1], start=1):
            alpha, eta = best_cell(part, sigma)
            score[sigma] = float(part["mspbe"].values[i, ALPHAS.index(alpha), ETAS.index(eta)])
        found[f"{panel} | {reading}"] = min(score, key=score.__getitem__)
    return found


def choice_name(panel: str, reading: str, learner: str, sigma: float | None) -> str:
    """The name of a choice; `sigma` is None for the one that all σ share."""
    level = None if sigma is None else check.scalar("sigma", sigma)
    return f"{panel} | {reading} | {learner} | {'common' if level is None else f'{level:g}'}"


@cache
def _written_down() -> tuple[dict[str, tuple[float, float]], dict[str, float]]:
    written = json.loads(files("gqlib.experiments").joinpath("figure3_chosen.json").read_text(encoding="utf-8"))
    return {name: (alpha, eta) for name, (alpha, eta) in written["chosen"].items()}, written["interior"]


def chosen() -> dict[str, tuple[float, float]]:
    """Return what the search chose, "panel | reading | learner | σ" to (α, η): `choices`, written down.

    It is kept beside this module, in ``figure3_chosen.json``, so that settings do not depend on results; a test applies
    the rules to the committed search and compares.

    Examples
    --------
    >>> chosen()["Boyan, printed | expected | gq | common"]
    (0.03, 1.0)
    """
    return dict(_written_down()[0])


def chosen_interior() -> dict[str, float]:
    """Return the best σ between the ends, "panel | reading" to σ: `interior`, written down.

    Examples
    --------
    >>> chosen_interior()["Baird, printed | expected"]
    0.75
    """
    return dict(_written_down()[1])


def _step_sizes(panel: str, reading: str, learner: str, sigma: float | None) -> tuple[float, float]:
    name = choice_name(panel, reading, learner, sigma)
    if name not in chosen():
        raise ValueError(f"panel, reading, learner and sigma are {name!r}; step sizes should have been chosen for them")
    return chosen()[name]


def curve_setting(panel: str, reading: str, learner: str = "gq", **sigma: Any) -> PredictionSetting:
    """A curve of Figure 3 at its chosen step sizes; `sigma` takes the fields of a schedule, by their short names.

    Examples
    --------
    >>> curve_setting("Boyan, printed", "expected", mean=0.5, noise=0.01).sigma_noise
    0.01
    """
    check.choice("panel", panel, tuple(PANELS))
    mean = sigma.pop("mean", 0.0)
    nearest = 0.5 if "ramp_to" in sigma else mean
    alpha, eta = _step_sizes(panel, reading, learner, nearest)
    return PredictionSetting(
        **PANELS[panel].fields(reading),
        learner=learner,
        sigma=mean,
        **{f"sigma_{name}": value for name, value in sigma.items()},
        lam=0.0 if learner == "gtd2" else MAIN_LAMBDA,
        alpha=alpha,
        eta=eta,
    )


def curves(panel: str, reading: str) -> dict[str, PredictionSetting]:
    """The main curves of Figure 3 at one place, by label: the ends first.

    Examples
    --------
    >>> list(curves("Boyan, printed", "expected"))[:3]
    ['σ = 0', 'σ = 1', 'dynamic σ, m = 0.5']
    """
    ways: dict[str, dict[str, Any]] = {
        "σ = 0": {"mean": 0.0},
        "σ = 1": {"mean": 1.0},
        "dynamic σ, m = 0.5": {"mean": 0.5, "noise": NOISE},
        "dynamic σ, best m": {"mean": chosen_interior().get(f"{panel} | {reading}", 0.5), "noise": NOISE},
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
        found |= {"TDC(λ)": curve_setting(panel, reading, "tdc"), "GTD2": curve_setting(panel, reading, "gtd2")}
    return found


def family_setting(panel: str, reading: str, drawn: str) -> GridSetting:
    """The paper's 49 dynamic σ between the two fixed ends, at step sizes that all of them share.

    Examples
    --------
    >>> family_setting("Boyan, printed", "expected", "episode").shape
    (51, 1, 1)
    """
    alpha, eta = _step_sizes(panel, reading, "gq", None)
    return GridSetting(
        **PANELS[panel].fields(reading),
        sigmas=(0.0, *MEANS, 1.0),
        alphas=(alpha,),
        etas=(eta,),
        lam=MAIN_LAMBDA,
        noise=NOISE,
        drawn=drawn,
    )


def fig3() -> Experiment:
    """The families of Figure 3: 51 ways to set σ at every place where σ matters, for every choice of when to draw it.

    Examples
    --------
    >>> len(fig3().settings)  # 8 places, σ drawn by step or run, on Boyan's chain by episode too
    18
    """
    settings = [
        family_setting(panel, reading, drawn) for panel, reading in places(void=False) for drawn in PANELS[panel].drawn
    ]
    return on_grids("fig3", "Figure 3: families of dynamic sigma on fresh seeds", settings, RESULT_SEED)


def shown() -> dict[str, PredictionSetting]:
    """Return every curve of Figure 3 and its baselines, "panel | reading | label" to its setting.

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
    """The learning curves of Figure 3 at their chosen step sizes, with the baselines that were settled beforehand.

    Examples
    --------
    >>> len(fig3_curves().settings)  # of 128 curves, some places share a setting under two labels
    122
    """
    settings = {setting.key: setting for setting in shown().values()}
    return Experiment(
        name="fig3-curves",
        title="Figure 3: learning curves on fresh seeds",
        function="curve",
        settings=tuple(settings.values()),
        runs=RUNS,
        seed=RESULT_SEED,
        version=VERSION,
        runs_per_task=50,
        summary="curve",
        report="curve",
    )


def manifest() -> dict[str, Any]:
    """Every setting × runs behind the figures of the chapter, as plain values, with the seed.

    Examples
    --------
    >>> {part: (entry["runs"], len(entry["settings"])) for part, entry in manifest().items()}
    {'curves': (200, 128), 'families': (200, 18), 'search': (200, 152)}
    """
    families = [asdict(setting) for setting in fig3().settings]
    curves_shown = {name: asdict(setting) for name, setting in shown().items()}
    return {
        "curves": {"runs": RUNS, "seed": RESULT_SEED, "settings": curves_shown},
        "families": {"runs": RUNS, "seed": RESULT_SEED, "settings": families},
        "search": {"runs": RUNS, "seed": SEARCH_SEED, "settings": [asdict(setting) for setting in search().settings]},
    }
