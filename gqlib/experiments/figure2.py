r"""Figure 2: semi-gradient Q(σ, λ) on the counterexample of Figure 1, in every reading (Eq. (10)).

σ goes from 0 to 1 in steps of 0.01. "Step-size 0.01" in the figure's text may be that increment or
α, so a tenth of it and ten times it are tried too. Run i has its own trajectory, the same for all
settings; every σ learns on it. A run is stopped, and counted, when a weight exceeds `BOUND`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gqlib import _validate as check
from gqlib import seeds
from gqlib.domains import two_state
from gqlib.domains.two_state import ENDINGS, Ending
from gqlib.learners.ensemble import semi_gradient_ensemble
from gqlib.sweeps.results import Labelled
from gqlib.sweeps.setting import CheckedSetting, Count, Fraction, NonNegative
from gqlib.sweeps.store import Arrays
from gqlib.sweeps.sweep import Experiment

if TYPE_CHECKING:
    import xarray

__all__ = ["ALPHAS", "SIGMAS", "TwoStateSetting", "fig2", "two_state_runs"]

SIGMAS = tuple(k / 100 for k in range(101))
ALPHAS = (0.001, 0.01, 0.1)
BOUND = 1e8
CHECKPOINTS = 50  # parts of a run after which the weights are kept


@dataclass(frozen=True)
class TwoStateSetting(CheckedSetting):
    """Semi-gradient Q(σ, λ) on the two-state counterexample, as in Figure 2.

    Parameters
    ----------
    sigmas : tuple of float
        Every σ that learns on the trajectory of a run; a single one will do.
    lam, gamma, alpha : float
        As in Eq. (10).
    reading : {"continuing", "bootstrap", "terminal"}
        See :func:`gqlib.domains.two_state`.
    steps : int
        Length of a run.

    Examples
    --------
    >>> TwoStateSetting(0.5).key == TwoStateSetting((0.5,), alpha=0.01).key
    True
    """

    sigmas: tuple[Fraction, ...]
    lam: Fraction = 0.99
    gamma: Fraction = 0.99
    alpha: NonNegative = 0.01
    reading: Ending = "continuing"
    steps: Count = 1000


def two_state_runs(setting: TwoStateSetting, runs: int, seed: int, *, first_run: int) -> Arrays:
    """Run semi-gradient Q(σ, λ) on the counterexample.

    Returns
    -------
    dict
        ``theta`` (runs, kept, σ, 2), the weights at equally spaced steps from the start;
        ``diverged`` (runs, σ).

    Examples
    --------
    >>> paths = two_state_runs(TwoStateSetting(0.5), 2, 0, first_run=0)
    >>> paths["theta"].shape, paths["theta"][0, 0].tolist()
    ((2, 51, 1, 2), [[2.0, 0.0]])
    """
    check.instance("setting", setting, TwoStateSetting)
    runs, seed = check.integer("runs", runs, low=1), check.integer("seed", seed, low=0)
    first_run = check.integer("first_run", first_run, low=0)
    check.room("runs", runs, 10 * runs * setting.steps)
    domain = two_state(setting.gamma, setting.reading)
    rngs = [
        seeds.generator(seed, run, seeds.TRAJECTORY) for run in range(first_run, first_run + runs)
    ]
    learnt = semi_gradient_ensemble(
        [domain.trajectory(setting.steps, rng) for rng in rngs],
        domain.theta0,
        setting.sigmas,
        lam=setting.lam,
        gamma=setting.gamma,
        alpha=setting.alpha,
        every=max(1, setting.steps // CHECKPOINTS),
        bound=BOUND,
    )
    return {"theta": learnt.theta.transpose(2, 0, 1, 3), "diverged": learnt.diverged.T}


def two_state_summary(arrays: Arrays) -> dict[str, Labelled]:
    """Keep the size of the weights, |θ|_∞, for each run, and which runs were stopped.

    Examples
    --------
    >>> arrays = two_state_runs(TwoStateSetting(0.5, alpha=0.0, steps=50), 2, 0, first_run=0)
    >>> two_state_summary(arrays)["size"][1][:, -1].tolist()  # nothing is learnt: θ stays (2, 0)
    [[2.0], [2.0]]
    """
    return {
        "size": (("run", "checkpoint", "sigma"), np.abs(arrays["theta"]).max(axis=3)),
        "diverged": (("run", "sigma"), arrays["diverged"]),
    }


def two_state_report(dataset: xarray.Dataset) -> str:
    """For how many σ the weights grew, by reading and step size, and how many runs were stopped."""
    size, lines = np.median(dataset["size"].values, axis=1), []
    for reading, alpha, sizes, stopped in zip(
        dataset["reading"].values, dataset["alpha"].values, size, dataset["diverged"], strict=True
    ):
        grew = int((sizes[-1] > sizes[0]).sum())
        lines.append(
            f"{reading:>12}, alpha {alpha:g}: median |theta| grew for {grew} of {sizes.shape[1]} "
            f"sigma, {int(stopped.sum())} of {stopped.size} runs stopped"
        )
    return "\n".join(lines)


def fig2() -> Experiment:
    """Figure 2, in each reading of the example and at three step sizes.

    Examples
    --------
    >>> [(setting.reading, setting.alpha) for setting in fig2().settings][:4]
    [('continuing', 0.001), ('continuing', 0.01), ('continuing', 0.1), ('bootstrap', 0.001)]
    """
    return Experiment(
        name="fig2",
        title="Figure 2: semi-gradient Q(sigma, lambda) on the two-state example",
        function="two-state",
        settings=tuple(
            TwoStateSetting(SIGMAS, alpha=alpha, reading=reading)
            for reading in ENDINGS
            for alpha in ALPHAS
        ),
        runs=30,
        seed=2019,  # the year of the paper
        version="2",
        runs_per_task=30,
        summary="two-state",
        report="two-state",
    )
