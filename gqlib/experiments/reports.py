"""A few lines of text about a result, for the terminal; and Table 1, which is Table 2 pooled.

Cases as in Section 5.2: an interior σ is in case I if its score beats those of σ = 0 and σ = 1, in case II if it
beats one of them, in case III if it beats neither.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gqlib import _validate as check
from gqlib.experiments.kept import with_scores
from gqlib.stats import case_counts

if TYPE_CHECKING:
    import xarray

__all__ = [
    "cases_table",
    "control_report",
    "curve_report",
    "grid_report",
    "pooled_cases",
    "pooled_report",
    "two_state_report",
]

CASES = ("I", "II", "III")
# Fields of a control setting that divide a report into groups of rows, where they vary.
_GROUPS = ("variation", "memory", "method", "target", "alpha", "p")


def cell_cases(dataset: xarray.Dataset, target: str, alpha: float, p: int) -> NDArray[np.int64]:
    """Return how many interior σ of a cell of Table 2 are in case I, II and III, by their mean score over runs."""
    check.labelled("dataset", dataset, "target", "alpha", "p", "sigma", "steps_total")
    chosen = (dataset["target"] == target) & (dataset["alpha"] == alpha) & (dataset["p"] == p)
    scores = dataset["steps_total"].values[chosen.values].sum(axis=1)
    if not (
        dataset["sigma"].values[chosen.values] == np.sort(dataset["sigma"].values[chosen.values])
    ).all():
        raise ValueError("settings of a cell should be in the order of sigma, from 0 to 1")
    return np.array(tuple(case_counts(scores)), dtype=np.int64)


def pooled_cases(dataset: xarray.Dataset) -> xarray.Dataset:
    """Return the counts of cases I to III, by cell of Table 2; summed over cells, they give Table 1.

    Examples
    --------
    The ends need 20 and 40 steps; of the others, one is better, one in between and one worse.

    >>> import xarray
    >>> cell = {"target": ["greedy"] * 5, "alpha": [0.001] * 5, "p": [512] * 5, "sigma": [0.0, 0.25, 0.5, 0.75, 1.0]}
    >>> coords = {name: ("setting", values) for name, values in cell.items()}
    >>> data = xarray.Dataset({"steps_total": (("setting", "run"), [[20], [10], [30], [50], [40]])}, coords)
    >>> pooled_cases(data)["count"].values.tolist()
    [[[[1, 1, 1]]]]
    """
    check.labelled("dataset", dataset, "target", "alpha", "p", "sigma", "steps_total")
    import xarray

    targets, alphas, sizes = (np.unique(dataset[name].values) for name in ("target", "alpha", "p"))
    counts = [cell_cases(dataset, *cell) for cell in product(targets, alphas, sizes)]
    shape = (len(targets), len(alphas), len(sizes), len(CASES))
    return xarray.Dataset(
        {"count": (("target", "alpha", "p", "case"), np.reshape(counts, shape))},
        coords={"target": targets, "alpha": alphas, "p": sizes, "case": list(CASES)},
        attrs=dataset.attrs,
    )


def pooled_report(dataset: xarray.Dataset) -> str:
    """Percentages of Table 1 for each target policy.

    Examples
    --------
    >>> import xarray
    >>> counts = xarray.DataArray([[[[3, 1, 0]]]], dims=("target", "alpha", "p", "case"), coords={"target": ["greedy"]})
    >>> pooled_report(xarray.Dataset({"count": counts})).strip()
    'greedy: case I 75.0%, case II 25.0%, case III 0.0%'
    """
    check.labelled("dataset", dataset, "count", "target")
    pooled = dataset["count"].sum(("alpha", "p"))
    lines = [
        f"{target:>15}: "
        + ", ".join(f"case {case} {share:.1f}%" for case, share in zip(CASES, shares, strict=True))
        for target, shares in zip(dataset["target"].values, _percent(pooled.values), strict=True)
    ]
    return "\n".join(lines)


def cases_table(
    dataset: xarray.Dataset,
    by_cell: Mapping[tuple[float, int], Mapping[str, float]],
    overall: Mapping[str, float],
) -> str:
    """Tables 1 and 2 as text: the percentages of each cell and of all together, the paper's beside ours.

    Parameters
    ----------
    dataset : xarray.Dataset
        A result of :func:`pooled_cases`.
    by_cell, overall : mapping
        What the paper prints: (alpha, p) to percentages by case, and percentages by case.

    Examples
    --------
    >>> import xarray
    >>> labels = {"target": ["greedy"], "alpha": [0.001], "p": [512], "case": ["I", "II", "III"]}
    >>> counts = xarray.DataArray([[[[3, 1, 0]]]], labels, tuple(labels))
    >>> paper = {"I": 69.8, "II": 14.1, "III": 16.1}
    >>> print(cases_table(xarray.Dataset({"count": counts}), {(0.001, 512): paper}, paper))
    Values of sigma inside (0, 1) with fewer steps than both ends (I), one of them (II), neither (III), of 4, in %
                    the paper                 greedy
      alpha     p      I      II     III         I      II     III
      0.001   512    69.8    14.1    16.1      75.0    25.0     0.0
              all    69.8    14.1    16.1      75.0    25.0     0.0
    """
    check.labelled("dataset", dataset, "count", "target", "alpha", "p")
    check.members("overall", overall)
    for cell in check.members("by_cell", by_cell).values():
        check.members("by_cell", cell)
    counts = dataset["count"].transpose("alpha", "p", "target", "case")
    interior = int(counts.isel(alpha=0, p=0, target=0).sum())
    columns = ["the paper", *map(str, counts["target"].values)]
    lines = [
        "Values of sigma inside (0, 1) with fewer steps than both ends (I), one of them (II), neither (III), "
        f"of {interior}, in %",
        " " * 16 + "".join(f"{name:26}" for name in columns),
        "  alpha     p" + "  ".join("      I      II     III " for _ in columns),
    ]
    for alpha, p in product(counts["alpha"].values.tolist(), counts["p"].values.tolist()):
        lines.append(
            f"{alpha:7g} {p:5}"
            + _shares(counts.sel(alpha=alpha, p=p).values, by_cell.get((alpha, p), {}))
        )
    lines.append(f"{'all':>13}" + _shares(counts.sum(("alpha", "p")).values, overall))
    return "\n".join(line.rstrip() for line in lines)


def _shares(counts: NDArray[Any], paper: Mapping[str, float]) -> str:
    rows = [[paper.get(case, np.nan) for case in CASES], *_percent(counts)]
    return "  ".join("".join(f"{share:8.1f}" for share in row) for row in rows)


def _percent(counts: NDArray[Any]) -> NDArray[np.float64]:
    shares: NDArray[np.float64] = 100.0 * counts / counts.sum(axis=-1, keepdims=True)
    return shares


def control_report(dataset: xarray.Dataset) -> str:
    """Best and worst σ of each group of settings, with how much was capped or diverged.

    Examples
    --------
    >>> import xarray
    >>> by_run = {"steps_total": [[20], [30]], "steps_last": [[20], [30]], "capped": [[0], [1]], "diverged": [[0], [0]]}
    >>> data = xarray.Dataset({name: (("setting", "run"), value) for name, value in by_run.items()})
    >>> labels = {"sigma": [0.0, 1.0], "episodes": [2, 2]}
    >>> data = data.assign_coords({name: ("setting", value) for name, value in labels.items()})
    >>> print(control_report(data).split(", ")[0].strip())
    all: steps per episode    10.0 (sigma 0.00) to    15.0 (sigma 1.00)
    """
    check.labelled("dataset", dataset, "sigma", "capped", "diverged")
    scored = with_scores(dataset)
    names = [
        name
        for name in _GROUPS
        if name in scored.coords and len(np.unique(scored[name].values)) > 1
    ]
    fields = [scored[name].values.astype(str) for name in names]
    labels = np.array(
        [", ".join(values) for values in zip(*fields, strict=True)]
        or [""] * scored.sizes["setting"]
    )
    lines = []
    for label in dict.fromkeys(labels):
        group = scored.isel(setting=np.flatnonzero(labels == label))
        mean = group["score"].mean("run").values
        best, worst = int(mean.argmin()), int(mean.argmax())
        lines.append(
            f"{label or 'all':>34}: steps per episode {mean[best]:7.1f} (sigma {group['sigma'].values[best]:.2f}) to "
            f"{mean[worst]:7.1f} (sigma {group['sigma'].values[worst]:.2f}), "
            f"{100 * float((group['capped'] / group['episodes']).mean()):4.1f}% of episodes cut off, "
            f"{int(group['diverged'].values.sum())} of {group['diverged'].size} runs diverged"
        )
    return "\n".join(lines)


def two_state_report(dataset: xarray.Dataset) -> str:
    """For how many σ the weights grew, by reading of the example and step size, and how many runs were stopped.

    Examples
    --------
    >>> import xarray
    >>> size = np.array([[[[2.0, 2.0], [9.0, 0.1]]]])  # one setting, one run, two checkpoints, two σ
    >>> dims = ("setting", "run", "checkpoint", "sigma")
    >>> stopped = (dims[:2] + dims[3:], np.zeros((1, 1, 2), dtype=bool))
    >>> data = xarray.Dataset({"size": (dims, size), "diverged": stopped})
    >>> two_state_report(data.assign_coords(reading=("setting", ["terminal"]), alpha=("setting", [0.01]))).strip()
    'terminal, alpha 0.01: median |theta| grew for 1 of 2 sigma, 0 of 2 runs stopped'
    """
    check.labelled("dataset", dataset, "reading", "alpha", "size", "diverged")
    lines = []
    for i in range(dataset.sizes["setting"]):
        part = dataset.isel(setting=i)
        first, last = (np.median(part["size"].values[:, k], axis=0) for k in (0, -1))
        grew, stopped = int((last > first).sum()), int(part["diverged"].values.sum())
        lines.append(
            f"{part['reading'].item():>12}, alpha {part['alpha'].item():g}: median |theta| grew for {grew} of "
            f"{len(last)} sigma, {stopped} of {part['diverged'].size} runs stopped"
        )
    return "\n".join(lines)


def curve_report(dataset: xarray.Dataset) -> str:
    """For each setting, the median over runs of the late MSPBE, and how many runs diverged.

    Examples
    --------
    >>> import xarray
    >>> data = xarray.Dataset({"mspbe_late": (("setting", "run"), [[1.0, 3.0, np.inf]])})
    >>> labels = {"domain": "boyan_chain", "options": "[]", "learner": "gq", "sigma": 0.5}
    >>> curve_report(data.assign_coords({name: ("setting", [value]) for name, value in labels.items()}))
    'boyan_chain [] gq sigma 0.5: median late MSPBE 3, 1 of 3 runs diverged'
    """
    check.labelled("dataset", dataset, "domain", "options", "learner", "sigma", "mspbe_late")
    lines = []
    for i in range(dataset.sizes["setting"]):
        part = dataset.isel(setting=i)
        late = part["mspbe_late"].values
        name = " ".join(str(part[field].item()) for field in ("domain", "options", "learner"))
        lost = f"{np.isinf(late).sum()} of {late.size} runs diverged"
        lines.append(
            f"{name} sigma {part['sigma'].item():g}: median late MSPBE {np.median(late):.3g}, {lost}"
        )
    return "\n".join(lines)


def grid_report(dataset: xarray.Dataset) -> str:
    """For each setting, the smallest mean late MSPBE among cells without divergence, and where.

    Examples
    --------
    >>> import xarray
    >>> dims, mspbe = ("setting", "sigma", "alpha", "eta"), np.array([[[[3.0], [1.0], [2.0]]]])
    >>> data = xarray.Dataset({"mspbe": (dims, mspbe), "diverged": (dims, np.array([[[[0.0], [0.1], [0.0]]]]))})
    >>> labels = {"domain": "boyan_chain", "options": "[]", "learner": "gq", "lam": 0.9}
    >>> grid_report(data.assign_coords({name: ("setting", [value]) for name, value in labels.items()}))
    'boyan_chain [] gq lam 0.9: smallest late MSPBE 2 at cell (0, 2, 0) of (1, 3, 1)'
    """
    check.labelled("dataset", dataset, "domain", "options", "learner", "lam", "diverged", "mspbe")
    lines = []
    for i in range(dataset.sizes["setting"]):
        part = dataset.isel(setting=i)
        mspbe = np.where(part["diverged"].values == 0.0, part["mspbe"].values, np.nan)
        name = f"{part['domain'].item()} {part['options'].item()} {part['learner'].item()} lam {part['lam'].item():g}"
        if np.isnan(mspbe).all():
            lines.append(f"{name}: in every cell of {mspbe.shape} some run diverged")
            continue
        low = np.unravel_index(int(np.nanargmin(mspbe)), mspbe.shape)
        lines.append(
            f"{name}: smallest late MSPBE {mspbe[low]:.3g} at cell {tuple(map(int, low))} of {mspbe.shape}"
        )
    return "\n".join(lines)
