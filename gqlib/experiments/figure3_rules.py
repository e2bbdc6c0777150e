"""The rules by which step sizes for Figure 3 are chosen from the results of a search, and a report on scores.

What is searched, and what the rules are, is said in `gqlib.experiments.figure3`; here they are applied. What they chose
is written down there, so that settings do not depend on results; a test applies the rules again and compares.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from gqlib import _validate as check
from gqlib.evaluation.grids import GridSetting, find
from gqlib.evaluation.setting import LearnerName
from gqlib.experiments.figure3 import (
    ALPHAS,
    ETAS,
    LAMBDAS,
    MAIN_LAMBDA,
    MEASURED,
    SIGMAS,
    Kind,
    choice_name,
    places,
    search,
    search_setting,
    wanted,
)
from gqlib.learners.sigma import MEANS

if TYPE_CHECKING:
    import xarray

__all__ = ["best_cell", "choices", "common_cell", "interior", "joined", "kindest", "score_report"]


def joined(
    datasets: Sequence[xarray.Dataset],
    panel: str,
    reading: str,
    lam: float,
    learner: LearnerName = "gq",
    *,
    ramp: bool = False,
) -> xarray.Dataset | None:
    """All cells of some searches for one place, λ and learner, on one grid; None if there are none.

    Parameters
    ----------
    datasets : sequence of xarray.Dataset
        Results of `search`, `wide` or `refine`.
    ramp : bool
        Whether σ is a ramp.

    Returns
    -------
    xarray.Dataset or None
        ``mspbe`` and ``diverged`` by sigma, alpha and eta, NaN where a cell was not run.

    Examples
    --------
    >>> from dataclasses import replace
    >>> import xarray
    >>> from gqlib.sweeps.setting import plain
    >>> from gqlib.sweeps.store import canonical_json
    >>> one = search_setting("Boyan, printed", "expected", 0.9)
    >>> two = replace(one, alphas=(3.0,), etas=(1.0,))
    >>> parts = []
    >>> for setting in (one, two):
    ...     ones = (("setting", "sigma", "alpha", "eta"), np.ones((1, *setting.shape)))
    ...     data = xarray.Dataset({"mspbe": ones, "diverged": ones}, {"key": ("setting", [setting.key])})
    ...     parts.append(data.assign_attrs(settings=canonical_json([plain(setting)])))
    >>> whole = joined(parts, "Boyan, printed", "expected", 0.9)
    >>> dict(whole.sizes), int(whole["mspbe"].notnull().sum())
    ({'sigma': 5, 'alpha': 10, 'eta': 6}, 275)
    """
    import xarray

    fields = search_setting(panel, reading, lam, learner)
    check.flag("ramp", ramp)
    parts = []
    for dataset in _searches("datasets", datasets):
        for key, setting in zip(dataset["key"].values, _settings(dataset), strict=True):
            if (setting.ramp_to is not None) is ramp and _same_place(setting, fields):
                parts.append(
                    (
                        setting,
                        dataset.isel(setting=int(np.flatnonzero(dataset["key"].values == key)[0])),
                    )
                )
    if not parts:
        return None
    axes = {
        axis: sorted({value for setting, _ in parts for value in getattr(setting, f"{axis}s")})
        for axis in ("sigma", "alpha", "eta")
    }
    whole = {
        name: np.full([len(values) for values in axes.values()], np.nan)
        for name in ("mspbe", "diverged")
    }
    for setting, part in parts:
        where = np.ix_(
            *(
                np.searchsorted(values, getattr(setting, f"{axis}s"))
                for axis, values in axes.items()
            )
        )
        for name, values in whole.items():
            values[where] = part[name].values
    return xarray.Dataset(
        {name: (tuple(axes), values) for name, values in whole.items()}, coords=axes
    )


def _searches(name: str, given: Sequence[xarray.Dataset]) -> Sequence[xarray.Dataset]:
    """A list or tuple of results of searches."""
    check.instance(name, given, list, tuple)
    for dataset in given:
        check.labelled(name, dataset, "key", "diverged", "mspbe")
    return given


def _same_place(one: GridSetting, other: GridSetting) -> bool:
    return all(
        getattr(one, name) == getattr(other, name)
        for name in ("domain", "options", "learner", "lam")
    )


def _settings(dataset: xarray.Dataset) -> list[GridSetting]:
    return _made(dataset.attrs["settings"]) if "settings" in dataset.attrs else list(_first_grid())


@cache
def _first_grid() -> tuple[GridSetting, ...]:
    return tuple(setting for setting in search().settings if isinstance(setting, GridSetting))


@cache
def _made(settings: str) -> list[GridSetting]:
    return [GridSetting(**fields) for fields in json.loads(settings)]


def best_cell(part: xarray.Dataset, sigma: float) -> tuple[float, float]:
    """α and η by the rule for one σ: smallest mean late MSPBE where no run diverged, among cells with η > 0.

    Parameters
    ----------
    part : xarray.Dataset
        A part of `search`, or cells that were `joined`.
    sigma : float
        One of the values that were searched.

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
    sigmas = _axis(part, "sigma", SIGMAS)
    if check.scalar("sigma", sigma) not in sigmas:
        raise ValueError(f"sigma is {sigma:g}; it should be one of {sigmas}")
    i = sigmas.index(sigma)
    return _at_smallest(part, np.where(_eligible(part)[i], part["mspbe"].values[i], np.inf))


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
    safe = _eligible(part).all(axis=0)
    mspbe = np.where(safe, part["mspbe"].values, 1.0)
    return _at_smallest(part, np.where(safe, np.log(mspbe).mean(axis=0), np.inf))


def _axis(part: xarray.Dataset, name: str, usual: tuple[float, ...]) -> tuple[float, ...]:
    return tuple(part[name].values.tolist()) if name in part.coords else usual


def _eligible(part: xarray.Dataset) -> np.typing.NDArray[np.bool_]:
    """Cells in which no run diverged and, for a learner with η, η > 0."""
    return np.asarray((part["diverged"].values == 0.0) & (np.array(_axis(part, "eta", ETAS)) > 0.0))


def _at_smallest(part: xarray.Dataset, score: np.typing.NDArray[np.float64]) -> tuple[float, float]:
    if not np.isfinite(score).any():
        raise ValueError("in every cell some run diverged; there should be one in which none did")
    j, k = np.unravel_index(int(score.argmin()), score.shape)
    return _axis(part, "alpha", ALPHAS)[int(j)], _axis(part, "eta", ETAS)[int(k)]


def choices(
    dataset: xarray.Dataset, others: Sequence[xarray.Dataset] = ()
) -> dict[str, tuple[float, float]]:
    """Apply the rules to the search: name of a choice to (α, η).

    Parameters
    ----------
    dataset : xarray.Dataset
        The result of `search`.
    others : sequence of xarray.Dataset
        Those of `wide` and `refine`; without `wide` there is no choice for the ramp.

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
    stages = [dataset, *_searches("others", others)]
    found, parts = {}, {}
    for panel, reading, learner, way, lam in wanted():
        place = panel, reading, lam, learner, way == "ramp"
        if place not in parts:
            parts[place] = joined(stages, *place[:4], ramp=place[4])
        part = parts[place]
        if part is not None:
            cell = (
                common_cell(part)
                if way == "common"
                else best_cell(part, MEANS[0] if way == "ramp" else float(way))
            )
            found[choice_name(panel, reading, learner, way, lam)] = cell
    return found


def interior(dataset: xarray.Dataset, others: Sequence[xarray.Dataset] = ()) -> dict[str, float]:
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
    stages, found = [dataset, *_searches("others", others)], {}
    for panel, reading in places(void=False):
        part = joined(stages, panel, reading, MAIN_LAMBDA)
        if part is None:
            raise ValueError(
                f"dataset is {check.brief(dataset)}; it should hold a search at {panel!r}, {reading!r}"
            )
        score = {}
        for sigma in SIGMAS[1:-1]:
            alpha, eta = best_cell(part, sigma)
            score[sigma] = float(part["mspbe"].sel(sigma=sigma, alpha=alpha, eta=eta))
        found[f"{panel} | {reading}"] = min(score, key=score.__getitem__)
    return found


def kindest(dataset: xarray.Dataset) -> dict[str, Kind]:
    """The λ and the step sizes that are kindest to the paper, by place and measure: (λ, α, η) and the best interior σ.

    Rule: of the λ and the cells of `search` in which no run of any σ diverged and the 95% intervals of σ = 0, of the
    best interior σ and of σ = 1 reach less than a fifth of the mean to either side, the one with the largest ratio of
    the better end's mean to that of the interior σ.

    Examples
    --------
    >>> import xarray
    >>> dims, size = ("setting", "sigma", "alpha", "eta"), (len(search().settings), 5, 9, 6)
    >>> scores = np.ones(size)
    >>> scores[:, 2, 3, 4] = 0.5  # σ = ½ is best at the fourth α and the fifth η
    >>> names = ("mspbe", "error", "diverged", "mspbe_half", "error_half")
    >>> arrays = {name: (dims, scores if name[-1] == "e" else np.zeros(size)) for name in names}
    >>> arrays |= {"error": (dims, scores), "mspbe": (dims, scores)}
    >>> data = xarray.Dataset(arrays, coords={"key": ("setting", [setting.key for setting in search().settings])})
    >>> set(kindest(data).values()) == {(0.0, ALPHAS[3], ETAS[4], 0.5)}
    True
    """
    check.labelled(
        "dataset",
        dataset,
        "key",
        "diverged",
        *(f"{m}{end}" for m in MEASURED for end in ("", "_half")),
    )
    found = {}
    for panel, reading in places(void=False):
        for measure in MEASURED:
            best, at = 0.0, None
            for lam in LAMBDAS:
                part = find(dataset, search_setting(panel, reading, lam))
                mean, half = part[measure].values, part[f"{measure}_half"].values
                middle = 1 + mean[1:-1].argmin(axis=0)
                rows = [mean[0], np.take_along_axis(mean, middle[None], axis=0)[0], mean[-1]]
                halves = [half[0], np.take_along_axis(half, middle[None], axis=0)[0], half[-1]]
                usable = (part["diverged"].values == 0.0).all(axis=0)
                for row, width in zip(rows, halves, strict=True):
                    usable &= width < row / 5
                ratio = np.divide(
                    np.minimum(rows[0], rows[2]), rows[1], out=np.zeros_like(rows[1]), where=usable
                )
                j, k = np.unravel_index(int(ratio.argmax()), ratio.shape)
                if ratio[j, k] > best:
                    best, at = ratio[j, k], (lam, ALPHAS[j], ETAS[k], SIGMAS[middle[j, k]])
            if at is None:
                raise ValueError(
                    f"dataset is {check.brief(dataset)}; no cell of {panel!r}, {reading!r} is usable"
                )
            found[f"{panel} | {reading} | {measure}"] = at
    return found


def score_report(dataset: xarray.Dataset) -> str:
    """For each setting, the smallest mean late MSPBE among σ without divergence, and how many runs diverged.

    Examples
    --------
    >>> import xarray
    >>> scores = np.array([[[3.0, 2.0, np.inf], [3.0, 2.0, 1.0]]])[..., None, None]  # 2 runs of 3 σ
    >>> data = xarray.Dataset({"mspbe": (("setting", "run", "sigma", "alpha", "eta"), scores)})
    >>> labels = {"domain": "boyan_chain", "options": "[]", "learner": "gq", "lam": 0.9}
    >>> score_report(data.assign_coords({name: ("setting", [value]) for name, value in labels.items()}))
    'boyan_chain [] gq lam 0.9: smallest late MSPBE 2 at sigma 2 of 3, 1 of 6 runs diverged'
    """
    check.labelled("dataset", dataset, "domain", "options", "learner", "lam", "mspbe")
    lines = []
    for i in range(dataset.sizes["setting"]):
        part = dataset.isel(setting=i)
        scores = part["mspbe"].values[..., 0, 0].astype(float)
        mean, lost = scores.mean(axis=0), int(np.isinf(scores).sum())
        name = f"{part['domain'].item()} {part['options'].item()} {part['learner'].item()} lam {part['lam'].item():g}"
        lines.append(
            f"{name}: smallest late MSPBE {mean.min():.3g} at sigma {int(mean.argmin()) + 1} of {len(mean)}, "
            f"{lost} of {scores.size} runs diverged"
        )
    return "\n".join(lines)
