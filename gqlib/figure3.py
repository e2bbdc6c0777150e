"""Figure 3, run and judged: curves at the chosen step sizes, late measures by run, and paired verdicts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields

import numpy as np
from numpy.typing import ArrayLike

from gqlib import _validate as check
from gqlib._validate import Array
from gqlib.domains.finite import WeightedTrajectory
from gqlib.evaluation import PredictionResult, PredictionSetting, histories, learn_on
from gqlib.experiments_prediction import RESULT_SEED, RUNS
from gqlib.measures import empirical_moments, lstd
from gqlib.stats import paired_difference
from gqlib.stats._checks import LARGEST_SCORE

__all__ = ["BEST", "BETWEEN", "OPEN", "WORST", "late", "lstd_curve", "run_curves", "verdict"]

BEST, BETWEEN, WORST, OPEN = "better than both", "between the ends", "worse than both", "not decided"


def run_curves(
    settings: Mapping[str, PredictionSetting], runs: int = RUNS, seed: int = RESULT_SEED
) -> dict[str, PredictionResult]:
    """`run_prediction` of each setting, by label; settings on the same domain share the walks, made once.

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
        walks: dict[tuple[object, ...], tuple[WeightedTrajectory, Array]] = {}
        for label, setting in settings.items():
            key = (setting.domain, setting.options, setting.steps)
            if key not in walks:
                path = fast.trajectory(setting.make_domain(), setting.steps, seed, run)
                walks[key] = path, fast.sigma_normals(setting.steps, seed, run)
            path, draws = walks[key]
            found[label].append(learn_on(setting, path, setting.schedule.values(path.ends, draws)))
    return {
        label: PredictionResult(
            settings[label], np.array([kept for kept, _ in rows]), np.array([step for _, step in rows], dtype=np.int64)
        )
        for label, rows in found.items()
    }


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
    mean = curve[:, (curve.shape[1] + 1) // 2 :].mean(axis=1)
    return np.where(np.isnan(mean), np.inf, mean)


def verdict(dynamic: ArrayLike, at_zero: ArrayLike, at_one: ArrayLike) -> str:
    """Whether dynamic σ is better (lower) than both ends, by paired 95% intervals, each end by itself.

    A run that diverged is worse than any that did not; two of them are not compared. Equal scores are no win.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> low, middle, high = (level + rng.normal(size=50) for level in (0.0, 3.0, 6.0))
    >>> verdict(low, middle, high), verdict(middle, low, high), verdict(high, low, middle), verdict(low, low, high)
    ('better than both', 'between the ends', 'worse than both', 'not decided')
    """
    runs = np.shape(check.reals("at_zero", at_zero))
    for name, given in (("dynamic", dynamic), ("at_zero", at_zero), ("at_one", at_one)):
        scores = check.reals(name, given)
        if len(runs) != 1 or scores.shape != runs or np.isnan(scores).any() or _is_huge(scores):
            raise ValueError(f"{name} is {check.brief(given)}; it should hold one score for every run, as at_zero does")
    signs = [_sign(dynamic, end) for end in (at_zero, at_one)]
    if 0 in signs:
        return OPEN
    return {-2: BEST, 0: BETWEEN, 2: WORST}[sum(signs)]


def _is_huge(scores: Array) -> bool:
    return bool((np.isfinite(scores) & (np.abs(scores) > LARGEST_SCORE)).any())


def _sign(first: ArrayLike, second: ArrayLike) -> int:
    """−1 where the first is lower, +1 where it is higher, 0 where the interval holds zero."""
    x = np.asarray(first, dtype=float)
    y = np.asarray(second, dtype=float)
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        return int(np.sign(int(np.isinf(x).sum()) - int(np.isinf(y).sum())))
    difference = paired_difference(x, y)
    return int(difference.low > 0) - int(difference.high < 0)


def lstd_curve(setting: PredictionSetting, runs: int = RUNS, seed: int = RESULT_SEED, points: int = 10) -> Array:
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
        rows.append([lstd(empirical_moments(_first(path, cut), sigma[:cut], setting.lam, gamma)) for cut in cuts])
    return np.array(rows)


def _first(path: WeightedTrajectory, steps: int) -> WeightedTrajectory:
    return WeightedTrajectory(**{field.name: getattr(path, field.name)[:steps] for field in fields(path)})
