"""The rules by which step sizes for Figure 3 are chosen from the results of a search, and a report.

What is searched, and what the rules are, is said in `gqlib.experiments.figure3`; here they are
applied, by `gqlib.experiments.search`. What they chose is written down, so that settings do not
depend on results; a test applies the rules again and compares.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from itertools import product
from typing import TYPE_CHECKING, Any

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
    search_setting,
    wanted,
)
from gqlib.experiments.search import Cell, ranked
from gqlib.learners.sigma import MEANS

if TYPE_CHECKING:
    import xarray

    from gqlib._validate import Array

__all__ = ["best_cell", "choices", "common_cell", "interior", "joined", "kindest"]


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
    ...     data = {"mspbe": ones, "diverged": ones}
    ...     part = xarray.Dataset(data, {"key": ("setting", [setting.key])})
    ...     parts.append(part.assign_attrs(settings=canonical_json([plain(setting)])))
    >>> whole = joined(parts, "Boyan, printed", "expected", 0.9)
    >>> dict(whole.sizes), int(whole["mspbe"].notnull().sum())
    ({'sigma': 5, 'alpha': 10, 'eta': 6}, 275)
    """
    import xarray

    wanted = search_setting(panel, reading, lam, learner)
    check.flag("ramp", ramp)
    parts = [
        (setting, dataset.isel(setting=i))
        for dataset in _searches("datasets", datasets)
        for i, setting in enumerate(_settings(dataset.attrs["settings"]))
        if (setting.ramp_to is not None) is ramp and _place(setting) == _place(wanted)
    ]
    if not parts:
        return None
    axes = {
        axis: sorted({value for setting, _ in parts for value in getattr(setting, f"{axis}s")})
        for axis in ("sigma", "alpha", "eta")
    }
    shape = [len(values) for values in axes.values()]
    whole = {name: np.full(shape, np.nan) for name in ("mspbe", "diverged")}
    for setting, part in parts:
        at = [np.searchsorted(axes[axis], getattr(setting, f"{axis}s")) for axis in axes]
        for name, values in whole.items():
            values[np.ix_(*at)] = part[name].values
    return xarray.Dataset({name: (tuple(axes), values) for name, values in whole.items()}, axes)


def _searches(name: str, given: Sequence[xarray.Dataset]) -> Sequence[xarray.Dataset]:
    """A list or tuple of results of searches."""
    check.instance(name, given, list, tuple)
    for dataset in given:
        check.labelled(name, dataset, "key", "diverged", "mspbe")
    return given


def _place(setting: GridSetting) -> tuple[Any, ...]:
    return setting.domain, setting.options, setting.learner, setting.lam


@cache
def _settings(listed: str) -> list[GridSetting]:
    return [GridSetting(**fields) for fields in json.loads(listed)]


def best_cell(part: xarray.Dataset, sigma: float) -> Cell:
    """α and η by the rule for one σ: smallest mean late MSPBE where no run diverged, and η > 0.

    Parameters
    ----------
    part : xarray.Dataset
        Cells that were `joined`.
    sigma : float
        One of the values that were searched.

    Examples
    --------
    >>> import xarray
    >>> axes = {"sigma": [0.0], "alpha": [0.1, 0.2], "eta": [0.0, 1.0]}
    >>> mspbe = tuple(axes), [[[1.0, 3.0], [1.0, 2.0]]]
    >>> none = tuple(axes), np.zeros((1, 2, 2))
    >>> best_cell(xarray.Dataset({"mspbe": mspbe, "diverged": none}, axes), 0.0)
    (0.2, 1.0)
    """
    check.labelled("part", part, "diverged", "mspbe", "sigma", "alpha", "eta")
    sigmas = part["sigma"].values.tolist()
    if check.scalar("sigma", sigma) not in sigmas:
        raise ValueError(f"sigma is {sigma:g}; it should be one of {sigmas}")
    i = sigmas.index(sigma)
    return _best(part, part["mspbe"].values[i], _eligible(part)[i])


def common_cell(part: xarray.Dataset) -> Cell:
    """α and η by the rule for all σ together.

    Examples
    --------
    >>> import xarray
    >>> axes = {"sigma": [0.0, 1.0], "alpha": [0.1, 0.2], "eta": [1.0]}
    >>> mspbe = tuple(axes), [[[1.0], [2.0]], [[4.0], [1.0]]]
    >>> none = tuple(axes), np.zeros((2, 2, 1))
    >>> common_cell(xarray.Dataset({"mspbe": mspbe, "diverged": none}, axes))
    (0.2, 1.0)
    """
    check.labelled("part", part, "diverged", "mspbe", "sigma", "alpha", "eta")
    safe = _eligible(part).all(axis=0)
    return _best(part, np.log(np.where(safe, part["mspbe"].values, 1.0)).mean(axis=0), safe)


def _eligible(part: xarray.Dataset) -> np.typing.NDArray[np.bool_]:
    """Cells in which no run diverged and, for a learner with η, η > 0."""
    return np.asarray((part["diverged"].values == 0.0) & (part["eta"].values > 0.0))


def _best(part: xarray.Dataset, costs: Array, usable: Any) -> Cell:
    cells = product(part["alpha"].values.tolist(), part["eta"].values.tolist())
    order = ranked(dict(zip(cells, np.where(usable, costs, np.inf).ravel().tolist(), strict=True)))
    if not order:
        raise ValueError("in every cell some run diverged; there should be one in which none did")
    return order[0]


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
    >>> from gqlib.experiments.figure3 import search
    >>> from gqlib.sweeps.setting import plain
    >>> from gqlib.sweeps.store import canonical_json
    >>> dims, every = ("setting", "sigma", "alpha", "eta"), search().settings
    >>> arrays = {"mspbe": (dims, np.ones((152, 5, 9, 6))), "diverged": (dims, np.zeros((152, 5, 9, 6)))}
    >>> same = xarray.Dataset(arrays, {"key": ("setting", [setting.key for setting in every])})
    >>> same.attrs["settings"] = canonical_json([plain(setting) for setting in every])
    >>> set(choices(same).values()) == {(ALPHAS[0], ETAS[0])}  # of equal cells the first is taken
    True
    """
    check.labelled("dataset", dataset, "key", "diverged", "mspbe")
    stages = [dataset, *_searches("others", others)]
    found = {}
    part_at = cache(lambda *place: joined(stages, *place[:4], ramp=place[4]))
    for panel, reading, learner, way, lam in wanted():
        part = part_at(panel, reading, lam, learner, way == "ramp")
        if part is not None:
            sigma = MEANS[0] if way == "ramp" else way
            cell = common_cell(part) if way == "common" else best_cell(part, float(sigma))
            found[choice_name(panel, reading, learner, way, lam)] = cell
    return found


def interior(dataset: xarray.Dataset, others: Sequence[xarray.Dataset] = ()) -> dict[str, float]:
    """The interior σ with the smallest mean late MSPBE at its best cell, by place, at λ = 0.9.

    Examples
    --------
    >>> interior.__name__
    'interior'
    """
    check.labelled("dataset", dataset, "key", "diverged", "mspbe")
    stages, found = [dataset, *_searches("others", others)], {}
    for panel, reading in places(void=False):
        part = joined(stages, panel, reading, MAIN_LAMBDA)
        if part is None:
            raise ValueError(
                f"dataset is {check.brief(dataset)}; it should hold a search at {panel!r}, {reading!r}"
            )
        costs = {}
        for sigma in SIGMAS[1:-1]:
            alpha, eta = best_cell(part, sigma)
            costs[sigma] = float(part["mspbe"].sel(sigma=sigma, alpha=alpha, eta=eta))
        found[f"{panel} | {reading}"] = ranked(costs)[0]
    return found


def kindest(dataset: xarray.Dataset) -> dict[str, Kind]:
    """The λ and the step sizes that are kindest to the paper, by place and measure, and the best interior σ.

    Rule: of the λ and the cells of `search` in which no run of any σ diverged and the 95% intervals
    of σ = 0, of the best interior σ and of σ = 1 reach less than a fifth of the mean to either side,
    the one with the largest ratio of the better end's mean to that of the interior σ.

    Examples
    --------
    >>> import xarray
    >>> from gqlib.experiments.figure3 import search
    >>> dims, size = ("setting", "sigma", "alpha", "eta"), (len(search().settings), 5, 9, 6)
    >>> scores = np.ones(size)
    >>> scores[:, 2, 3, 4] = 0.5  # σ = ½ is best at the fourth α and the fifth η
    >>> none = np.zeros(size)
    >>> arrays = {"mspbe": scores, "error": scores, "mspbe_half": none, "error_half": none}
    >>> arrays = {name: (dims, array) for name, array in (arrays | {"diverged": none}).items()}
    >>> data = xarray.Dataset(arrays, {"key": ("setting", [one.key for one in search().settings])})
    >>> set(kindest(data).values()) == {(0.0, ALPHAS[3], ETAS[4], 0.5)}
    True
    """
    halves = [f"{measure}{end}" for measure in MEASURED for end in ("", "_half")]
    check.labelled("dataset", dataset, "key", "diverged", *halves)
    found = {}
    for (panel, reading), measure in product(places(void=False), MEASURED):
        costs: dict[Kind, float] = {}
        for lam in LAMBDAS:
            part = find(dataset, search_setting(panel, reading, lam))
            every = [part[name].values for name in (measure, f"{measure}_half")]
            middle = 1 + every[0][1:-1].argmin(axis=0)
            mean, half = (
                np.stack([one[0], np.take_along_axis(one, middle[None], axis=0)[0], one[-1]])
                for one in every
            )
            usable = (part["diverged"].values == 0.0).all(axis=0) & (half < mean / 5).all(axis=0)
            for j, k in np.argwhere(usable).tolist():
                lead = np.minimum(mean[0, j, k], mean[2, j, k]) / mean[1, j, k]
                costs[lam, ALPHAS[j], ETAS[k], SIGMAS[middle[j, k]]] = -float(lead)
        if not costs:
            raise ValueError(
                f"dataset is {check.brief(dataset)}; no cell of {panel!r}, {reading!r} is usable"
            )
        found[f"{panel} | {reading} | {measure}"] = ranked(costs)[0]
    return found


def late_report(dataset: xarray.Dataset) -> str:
    """For each setting, the smallest mean late MSPBE over its cells, where, and what diverged."""
    late = dataset["mspbe_late" if "mspbe_late" in dataset else "mspbe"]
    cells = late.mean("run").values if "run" in late.dims else late.values
    labels = [
        name
        for name in ("domain", "options", "learner", "lam", "sigma")
        if name in dataset and dataset[name].dims == ("setting",)
    ]
    lines = []
    for i, costs in enumerate(cells):
        place = " ".join(str(dataset[name].values[i]) for name in labels)
        order = ranked({at: float(costs[at]) for at in np.ndindex(costs.shape)})
        told = (
            f"smallest mean late MSPBE {costs[order[0]]:.3g} at cell {order[0]}"
            if order
            else "none"
        )
        lost = f"runs diverged in {costs.size - len(order)} of {costs.size} cells"
        lines.append(f"{place}: {told}, {lost}")
    return "\n".join(lines)
