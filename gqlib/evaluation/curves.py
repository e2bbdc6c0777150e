"""Learning curves of many settings on shared walks, late scores by run, and LSTD on the same data.

As an experiment, a curve keeps for each run the late scores of MSPBE and of the error in values, each a mean over the
second half of the checkpoints, so that settings can be compared run by run (to 16 significant bits, as in
`gqlib.evaluation.grids`); and for each checkpoint the sums over runs of both and of their squares, which give a mean
and its interval (`curve_interval`). A run that diverged scores infinity and is left out of the sums, which come with
the number of runs that they hold.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from gqlib import _validate as check
from gqlib._validate import Array
from gqlib.domains.base import Trajectory
from gqlib.evaluation.grids import significant
from gqlib.evaluation.measures import empirical_moments, lstd
from gqlib.evaluation.run import PredictionResult, histories, learn_on, run_prediction
from gqlib.evaluation.setting import PredictionSetting
from gqlib.sweeps.results import Labelled
from gqlib.sweeps.store import Arrays

if TYPE_CHECKING:
    import xarray

__all__ = ["curve_interval", "curve_runs", "curve_summary", "late", "lstd_curve", "run_curves"]


def run_curves(
    settings: Mapping[str, PredictionSetting], runs: int, seed: int
) -> dict[str, PredictionResult]:
    """`run_prediction` of each setting, by label; settings on the same domain share walks, which are made once.

    Examples
    --------
    >>> still, moving = (PredictionSetting("boyan_chain", alpha=alpha, steps=100, kept=1) for alpha in (0.0, 0.1))
    >>> results = run_curves({"still": still, "moving": moving}, runs=2, seed=0)
    >>> {label: bool(result.theta[:, -1].any()) for label, result in results.items()}  # the weights begin at zero
    {'still': False, 'moving': True}
    """
    from gqlib.fast import prediction as fast

    for setting in check.members("settings", settings).values():
        check.instance("settings", setting, PredictionSetting)
    check.integer("seed", seed, low=0)
    check.room("runs", runs, check.integer("runs", runs, low=1) * len(settings))
    found: dict[str, list[tuple[Array, int]]] = {label: [] for label in settings}
    for run in range(check.integer("runs", runs, low=1)):
        walks: dict[tuple[int, int], tuple[Trajectory, Array]] = {}
        for label, setting in settings.items():
            domain = setting.make_domain()  # the same object for the same name and options
            key = (id(domain), setting.steps)
            if key not in walks:
                path = fast.trajectory(domain, setting.steps, seed, run)
                walks[key] = path, fast.sigma_normals(setting.steps, seed, run)
            path, draws = walks[key]
            found[label].append(learn_on(setting, path, setting.schedule.values(path.ends, draws)))
    return {
        label: PredictionResult(
            settings[label],
            np.array([kept for kept, _ in rows]),
            np.array([step for _, step in rows], dtype=np.int64),
        )
        for label, rows in found.items()
    }


def curve_runs(setting: PredictionSetting, runs: int, seed: int, *, first_run: int) -> Arrays:
    """Exact MSPBE and error in values at every checkpoint, (runs, kept + 1), NaN after divergence.

    Examples
    --------
    >>> still = PredictionSetting("boyan_chain", alpha=0.0, steps=100, kept=2)
    >>> sorted(curve_runs(still, 2, 0, first_run=0)), curve_runs(still, 2, 0, first_run=0)["mspbe"].shape
    (['error', 'mspbe'], (2, 3))
    """
    result = run_prediction(setting, runs, seed, first_run=first_run)
    return {"mspbe": result.mspbe(), "error": result.error()}


def curve_summary(arrays: Arrays) -> dict[str, Labelled]:
    """Late scores by run, and sums over runs by checkpoint.

    Examples
    --------
    >>> curves = np.array([[4.0, 2.0, 2.0], [4.0, np.nan, np.nan]])  # the second run diverged
    >>> kept = curve_summary({"mspbe": curves, "error": curves})
    >>> kept["mspbe_late"][1].tolist(), kept["mspbe_sum"][1].tolist(), kept["counted"][1].tolist()
    ([2.0, inf], [8.0, 2.0, 2.0], [2, 1, 1])
    """
    check.runs("arrays", arrays, mspbe=2, error=2)
    kept: dict[str, Labelled] = {
        "counted": (("checkpoint",), np.isfinite(arrays["mspbe"]).sum(axis=0))
    }
    for name in ("mspbe", "error"):
        kept[f"{name}_late"] = (("run",), significant(late(arrays[name])))
        kept[f"{name}_sum"] = (("checkpoint",), np.nansum(arrays[name], axis=0))
        kept[f"{name}_sum_of_squares"] = (("checkpoint",), np.nansum(arrays[name] ** 2, axis=0))
    return kept


def curve_interval(
    part: xarray.Dataset, measure: Literal["mspbe", "error"] = "mspbe"
) -> tuple[Array, Array]:
    """The mean over runs at each checkpoint and the half-width of its 95% interval, NaN where some run had diverged.

    Parameters
    ----------
    part : xarray.Dataset
        One setting of a result that `curve_summary` made.
    measure : {"mspbe", "error"}
        Which of the two.

    Examples
    --------
    >>> import xarray
    >>> curves = np.array([[4.0, 2.0], [4.0, 4.0]])
    >>> kept = curve_summary({"mspbe": curves, "error": curves})
    >>> mean, half = curve_interval(xarray.Dataset(kept))
    >>> mean.tolist(), half.round(2).tolist()  # t = 12.71 with one degree of freedom, standard error 1
    ([4.0, 3.0], [0.0, 12.71])
    """
    check.choice("measure", measure, ("mspbe", "error"))
    names = (f"{measure}_sum", f"{measure}_sum_of_squares")
    check.labelled("part", part, "counted", f"{measure}_late", *names)
    total, squares = (part[name].values for name in names)
    runs = part.sizes["run"]
    if runs < 2 or total.ndim != 1:
        raise ValueError(
            f"part is {check.brief(part)}; it should be one setting with at least two runs"
        )
    mean = np.where(part["counted"].values == runs, total / runs, np.nan)
    variance = np.maximum(squares - runs * mean**2, 0.0) / (runs - 1)
    return mean, np.asarray(stats.t.ppf(0.975, runs - 1) * np.sqrt(variance / runs))


def late(values: ArrayLike) -> Array:
    """The mean over the second half of the checkpoints, (runs,): infinite for a run that diverged.

    Examples
    --------
    >>> late([[9.0, 9.0, 1.0, 3.0], [9.0, 9.0, np.nan, np.nan]]).tolist()
    [2.0, inf]
    """
    curve = check.reals("values", values)
    if curve.ndim != 2 or not curve.size:
        raise ValueError(f"values has shape {curve.shape}; it should have one row for each run")
    mean = curve[:, -max(curve.shape[1] // 2, 1) :].mean(axis=1)  # of one, that one
    return np.where(np.isnan(mean), np.inf, mean)


def lstd_curve(setting: PredictionSetting, runs: int, seed: int, points: int = 10) -> Array:
    """Weights of LSTD on the first part of each run's data, at `points` equal parts of it, (runs, points, d).

    Examples
    --------
    >>> setting = PredictionSetting("boyan_chain", (("terminal_features", "zero"),), steps=2000, kept=1)
    >>> curve = lstd_curve(setting, runs=2, seed=0, points=4)
    >>> curve.shape, bool((abs(curve[:, -1, 0] + 25.0) < 2.5).all())  # the first feature is the value of the start
    ((2, 4, 4), True)
    """
    check.instance("setting", setting, PredictionSetting)
    points = check.integer("points", points, low=1, high=setting.steps)
    check.room("runs", runs, points * check.integer("runs", runs, low=1))
    gamma = setting.make_domain().problem.gamma
    rows = []
    for path, sigma in histories(setting, runs, seed):
        cuts = [setting.steps * (i + 1) // points for i in range(points)]
        rows.append(
            [
                lstd(empirical_moments(_first(path, cut), sigma[:cut], setting.lam, gamma))
                for cut in cuts
            ]
        )
    return np.array(rows)


def _first(path: Trajectory, steps: int) -> Trajectory:
    """What moments need of the first steps."""
    names = (field.name for field in fields(Trajectory))
    return Trajectory(**{name: getattr(path, name)[:steps] for name in names})
