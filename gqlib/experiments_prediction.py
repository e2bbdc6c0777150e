r"""Figure 3 as data: domains × readings × λ × σ, how step sizes are chosen, and what is run at the chosen ones.

The paper gives neither λ nor step sizes nor numbers of steps and runs for its prediction tasks. The protocol, written
down before the runs of search and results were made:

1. Domains as printed, and as in the literature where that differs (six *panels*), in every reading that makes sense.
   1,000 steps on Baird's star and 2,000 on Boyan's chain (100 episodes of 20 steps), as in the public code of Dann,
   Neumann and Peters (2014); 10,000 on cart-pole, a third of that code's, so that the search stays affordable.
2. *Search* on `SEARCH_SEED`, 200 runs of every cell of α × η, for λ in {0, 0.5, 0.9, 0.99}.
   Rule: of the cells in which no run diverged, the one with the smallest mean late exact MSPBE of its own σ and λ.
   For comparisons at one step size: the cell in which no run of any σ diverged, with the smallest mean over
   σ = 0, ¼, ½, ¾, 1 of the logarithm of that MSPBE.
3. *Results* on `RESULT_SEED`, 200 fresh runs, at λ = 0.9, of σ = 0, σ = 1, and dynamic σ with m = ½ and with m as a
   ramp. A dynamic σ takes the step sizes of the fixed σ = m, a ramp those of ½.

One row was added when results for these were known, to give the paper's claim its best chance: dynamic σ with the m in
{¼, ½, ¾} that the *search* found best. Nothing in the rules refers to what the paper concludes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from gqlib import _validate as check
from gqlib.evaluation import PredictionSetting
from gqlib.grids import GridSetting, find
from gqlib.sigma import MEANS, NOISE
from gqlib.step_sizes import (
    ALPHAS,
    ETAS,
    LAMBDAS,
    MAIN_LAMBDA,
    PANELS,
    RESULT_SEED,
    RUNS,
    SEARCH_SEED,
    SIGMAS,
    Panel,
    best_cell,
    choice_name,
    choices,
    common_cell,
    interior,
    on_grids,
    places,
    search,
    search_setting,
)
from gqlib.sweep import Experiment

__all__ = [
    "ALPHAS",
    "ETAS",
    "LAMBDAS",
    "MAIN_LAMBDA",
    "MEANS",
    "PANELS",
    "RESULT_SEED",
    "RUNS",
    "SEARCH_SEED",
    "SIGMAS",
    "Panel",
    "baselines",
    "best_cell",
    "choices",
    "common_cell",
    "curve_setting",
    "curves",
    "family_setting",
    "fig3",
    "find",
    "interior",
    "manifest",
    "places",
    "search",
    "search_setting",
]


def _chosen(
    chosen: Mapping[str, tuple[float, float]], panel: str, reading: str, learner: str, sigma: float | None
) -> tuple[float, float]:
    name = choice_name(panel, reading, learner, sigma)
    if name not in chosen:
        raise ValueError(f"panel, reading, learner and sigma are {name!r}; step sizes should have been chosen for them")
    return chosen[name]


def curve_setting(panel: str, reading: str, learner: str = "gq", **sigma: Any) -> PredictionSetting:
    """A curve of Figure 3 at its chosen step sizes; `sigma` takes the fields of a schedule, by their short names.

    Examples
    --------
    >>> curve_setting("Boyan, printed", "expected", mean=0.5, noise=0.01).sigma_noise
    0.01
    """
    check.choice("panel", panel, tuple(PANELS))
    from gqlib.chosen import CHOSEN

    mean = sigma.pop("mean", 0.0)
    nearest = 0.5 if "ramp_to" in sigma else mean
    alpha, eta = _chosen(CHOSEN, panel, reading, learner, nearest)
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
    from gqlib.chosen import INTERIOR

    ways: dict[str, dict[str, Any]] = {
        "σ = 0": {"mean": 0.0},
        "σ = 1": {"mean": 1.0},
        "dynamic σ, m = 0.5": {"mean": 0.5, "noise": NOISE},
        "dynamic σ, best m": {"mean": INTERIOR.get(f"{panel} | {reading}", 0.5), "noise": NOISE},
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
    """The paper's 49 dynamic σ between the two fixed ends, at the step sizes that all of them share.

    Examples
    --------
    >>> family_setting("Boyan, printed", "expected", "episode").shape
    (51, 1, 1)
    """
    from gqlib.chosen import CHOSEN

    alpha, eta = _chosen(CHOSEN, panel, reading, "gq", None)
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
    """The families of Figure 3: 51 ways to set σ at every place where σ matters, for every time of drawing it.

    Examples
    --------
    >>> len(fig3().settings)  # 8 places, σ drawn by step or run, on Boyan's chain by episode too
    18
    """
    settings = [
        family_setting(panel, reading, drawn) for panel, reading in places(void=False) for drawn in PANELS[panel].drawn
    ]
    return on_grids("fig3", "Figure 3: families of dynamic sigma on fresh seeds", settings, RESULT_SEED)


def manifest() -> dict[str, Any]:
    """Every setting × runs behind the figures of the chapter, as plain values, with the seed.

    Examples
    --------
    >>> {part: (entry["runs"], len(entry["settings"])) for part, entry in manifest().items()}
    {'curves': (200, 128), 'families': (200, 18), 'search': (200, 152)}
    """
    shown = {
        f"{panel} | {reading} | {label}": asdict(setting)
        for panel, reading in places()
        for label, setting in (curves(panel, reading) | baselines(panel, reading)).items()
    }
    families = [asdict(setting) for setting in fig3().settings]
    return {
        "curves": {"runs": RUNS, "seed": RESULT_SEED, "settings": shown},
        "families": {"runs": RUNS, "seed": RESULT_SEED, "settings": families},
        "search": {"runs": RUNS, "seed": SEARCH_SEED, "settings": [asdict(setting) for setting in search().settings]},
    }
