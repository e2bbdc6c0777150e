"""What results keep of the car's runs, the measures and tables that follow, and what is printed.

A task returns the steps of every episode, negative where an episode was cut off at the step limit.
Of these every result keeps, for each run, the steps in all episodes and in the last 50, the number
of episodes cut off, and whether the run diverged; where learning curves are shown, also exact sums
over runs, by episode or by blocks of 20 episodes. All of them are integers: means and variances
follow without rounding that depends on the order of summation,

    mean = S/n,    variance = (n Q - S²) / (n (n - 1)),    S = Σ steps, Q = Σ steps²,

and averages of these over the episodes of a block from ΣS, ΣQ and ΣS².

Cases as in Section 5.2: an interior σ is in case I if its score beats those of σ = 0 and σ = 1, in
case II if it beats one of them, in case III if it beats neither. Table 1 is Table 2 pooled.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gqlib import _validate as check
from gqlib._validate import Array
from gqlib.control.run import run_control
from gqlib.control.setting import ControlSetting
from gqlib.experiments.mountain_car import OPEN_CHOICES, SENSITIVITY_CELLS
from gqlib.stats import case_counts
from gqlib.stats.ends import cell
from gqlib.sweeps.results import Labelled
from gqlib.sweeps.store import Arrays

if TYPE_CHECKING:
    import xarray

__all__ = ["cases_table", "pooled_cases", "table_totals", "with_scores"]

LAST = 50  # episodes at the end of a run, for the second measure of performance
BLOCK = 20  # episodes whose sums are taken together
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
CASES = ("I", "II", "III")
# A result from elsewhere in which one of these had dimensions of its own would ask for a table of
# all by all.
_TOGETHER = {
    "episodes": "steps_total",
    "steps_last": "steps_total",
    "steps_sum_of_squares": "steps_sum",
    "block_sum_of_squares": "block_sum",
    "block_square_of_sum": "block_sum",
}
# Fields of a control setting that divide a report into groups of rows, where they vary.
_GROUPS = ("variation", "memory", "method", "target", "alpha", "p")


def control_runs(setting: ControlSetting, runs: int, seed: int, *, first_run: int) -> Arrays:
    """The arrays of :func:`gqlib.control.run_control` that the results need.

    Examples
    --------
    >>> setting = ControlSetting(episodes=3, max_steps=500)
    >>> control_runs(setting, 2, 0, first_run=0)["signed_steps"].shape
    (2, 3)
    """
    result = run_control(setting, runs, seed, first_run=first_run)
    smallest = np.int16 if setting.max_steps <= np.iinfo(np.int16).max else np.int32
    return {
        "signed_steps": result.signed_steps.astype(smallest),
        "diverged": result.diverged,
        "checksum": result.checksum,
    }


def control_totals(arrays: Arrays) -> dict[str, Labelled]:
    """Keep of each run its steps, in all episodes and in the last 50, the episodes cut off, and whether it diverged.

    Examples
    --------
    >>> steps = np.array([[3, -5], [4, 5]])  # one of four episodes was cut off
    >>> kept = control_totals({"signed_steps": steps, "diverged": np.array([False, False])})
    >>> [kept[name][1].tolist() for name in ("steps_total", "capped")]
    [[8, 9], [1, 0]]
    """
    steps = _steps(arrays)
    return {
        "steps_total": (("run",), steps.sum(axis=1).astype(np.int32)),
        "steps_last": (("run",), steps[:, -LAST:].sum(axis=1).astype(np.int32)),
        "capped": (("run",), (arrays["signed_steps"] < 0).sum(axis=1).astype(np.int32)),
        "diverged": (("run",), arrays["diverged"]),
    }


def _steps(arrays: Arrays) -> NDArray[np.int64]:
    return np.abs(arrays["signed_steps"].astype(np.int64))


def control_summary(arrays: Arrays) -> dict[str, Labelled]:
    """Also keep half of the engine's checksum of each run and, by episode, the sums over runs."""
    steps = _steps(arrays)
    return control_totals(arrays) | {
        "checksum": (("run",), (arrays["checksum"] & np.uint64(0xFFFFFFFF)).astype(np.uint32)),
        "steps_sum": (("episode",), steps.sum(axis=0)),
        "steps_sum_of_squares": (("episode",), (steps**2).sum(axis=0)),
    }


def control_summary_in_blocks(arrays: Arrays) -> dict[str, Labelled]:
    """Keep the totals and, for each block of 20 episodes, the sums from which curves and variances follow."""
    steps = _steps(arrays)
    if steps.shape[1] % BLOCK:
        raise ValueError(
            f"arrays has {steps.shape[1]} episodes; there should be a multiple of {BLOCK}"
        )
    total = steps.sum(axis=0)
    sums = {"sum": total, "sum_of_squares": (steps**2).sum(axis=0), "square_of_sum": total**2}
    return control_totals(arrays) | {
        f"block_{name}": (("block",), values.reshape(-1, BLOCK).sum(axis=1))
        for name, values in sums.items()
    }


def control_summary_with_spread(arrays: Arrays) -> dict[str, Labelled]:
    """Also keep, by episode, quantiles over runs (the spread of single runs) and the sums of third and fourth powers.

    The latter give the variance over runs an interval; at the step limit of 5,000 they stay exact
    up to 14,000 runs.
    """
    steps = _steps(arrays)
    # "inverted_cdf" takes observed values only, so that the quantiles are integers too.
    spread = np.quantile(steps, QUANTILES, axis=0, method="inverted_cdf").astype(np.int32)
    return control_summary(arrays) | {
        "steps_quantile": (("quantile", "episode"), spread),
        "steps_sum_of_cubes": (("episode",), (steps**3).sum(axis=0)),
        "steps_sum_of_fourths": (("episode",), (steps**4).sum(axis=0)),
    }


def with_scores(dataset: xarray.Dataset) -> xarray.Dataset:
    """Return a control result with the measures that the chapters use, derived from what is stored.

    Adds ``score`` and ``score_last`` (mean steps per episode of a run, over all episodes and over
    the last 50; an episode that was cut off counts as the step limit) and, where the sums are
    there, ``mean`` and ``variance`` over runs: by episode, or by block, where they are averages
    over the block's episodes.

    Examples
    --------
    Two runs of two episodes, 3 + 5 and 4 + 5 steps:

    >>> import xarray
    >>> sums = {"steps_sum": [[7, 10]], "steps_sum_of_squares": [[25, 50]]}
    >>> data = xarray.Dataset({name: (("setting", "episode"), value) for name, value in sums.items()})
    >>> data = data.assign_coords(episodes=("setting", [2]))
    >>> total = ("setting", "run"), [[8, 9]]
    >>> scored = with_scores(data.assign(steps_total=total, steps_last=total))
    >>> [scored[name].values.tolist() for name in ("score", "mean", "variance")]
    [[[4.0, 4.5]], [[3.5, 5.0]], [[0.5, 0.0]]]
    """
    check.labelled("dataset", dataset, "steps_total", "steps_last", "episodes")
    for name, beside in _TOGETHER.items():
        if name in dataset and not set(dataset[name].dims) <= set(
            dataset.get(beside, dataset[name]).dims
        ):
            raise ValueError(
                f"dataset has {name} by {dataset[name].dims}; it should be by dimensions of {beside}"
            )
    added = {
        "score": dataset["steps_total"] / dataset["episodes"],
        "score_last": dataset["steps_last"] / np.minimum(LAST, dataset["episodes"]),
    }
    runs, kind = dataset.sizes["run"], "steps" if "steps_sum" in dataset else "block"
    if f"{kind}_sum" in dataset:
        total, squares = dataset[f"{kind}_sum"], dataset[f"{kind}_sum_of_squares"]
        square, episodes = total**2, 1
        if kind == "block":
            square, episodes = dataset["block_square_of_sum"], BLOCK
        added["mean"] = total / (runs * episodes)
        if runs > 1:
            added["variance"] = (runs * squares - square) / (episodes * runs * (runs - 1))
    result = dataset.assign(added)
    return result.assign_coords(quantile=list(QUANTILES)) if "quantile" in dataset.dims else result


def table_totals(dataset: xarray.Dataset, **fields: Any) -> tuple[Array, NDArray[np.int64]]:
    """Return the σ of one cell, (n,), and the steps of each run in all its episodes, (n, runs).

    Parameters
    ----------
    dataset : xarray.Dataset
        The result of ``table2`` or of ``coders``.
    **fields
        What the cell is: ``target``, ``alpha``, ``p`` and, for ``coders``, ``memory``.

    Returns
    -------
    sigmas : array
        0, the means of the dynamic σ, and 1.
    totals : array of int64
        Integers, so that sums over runs are exact.

    Examples
    --------
    Two ends, a dynamic σ and a constant one, which the table does not have:

    >>> import xarray
    >>> data = xarray.Dataset({"steps_total": (("setting", "run"), [[9], [7], [5], [8]])})
    >>> fields = {"sigma": [1.0, 0.5, 0.5, 0.0], "sigma_noise": [0.0, 0.01, 0.0, 0.0]}
    >>> fields["method"] = ["gradient"] * 4
    >>> data = data.assign_coords({name: ("setting", each) for name, each in fields.items()})
    >>> [part.tolist() for part in table_totals(data)]
    [[0.0, 0.5, 1.0], [[8], [7], [9]]]
    """
    check.labelled("dataset", dataset, "steps_total", "sigma", "sigma_noise", "method")
    rows = cell(dataset, method="gradient", **fields)
    sigmas = rows["sigma"].values
    kept = np.flatnonzero((rows["sigma_noise"].values > 0.0) | np.isin(sigmas, (0.0, 1.0)))
    if len(kept) != len(np.unique(sigmas[kept])):
        raise ValueError(
            f"fields are {check.brief(fields)}; they should leave one setting for each sigma"
        )
    return sigmas[kept], rows["steps_total"].values[kept].astype(np.int64)


def pooled_cases(dataset: xarray.Dataset) -> xarray.Dataset:
    """Return the counts of cases I to III, by cell of Table 2; summed over cells, they give Table 1.

    Examples
    --------
    The ends need 20 and 40 steps; of the others, one is better, one in between and one worse.

    >>> import xarray
    >>> labels = {"target": ["greedy"] * 5, "alpha": [0.001] * 5, "p": [512] * 5}
    >>> labels["sigma"] = [0.0, 0.25, 0.5, 0.75, 1.0]
    >>> coords = {name: ("setting", values) for name, values in labels.items()}
    >>> steps = [[20], [10], [30], [50], [40]]
    >>> data = xarray.Dataset({"steps_total": (("setting", "run"), steps)}, coords)
    >>> pooled_cases(data)["count"].values.tolist()
    [[[[1, 1, 1]]]]
    """
    check.labelled("dataset", dataset, "target", "alpha", "p", "sigma", "steps_total")
    import xarray

    axes = {name: np.unique(dataset[name].values) for name in ("target", "alpha", "p")}
    cells = [dict(zip(axes, values, strict=True)) for values in product(*axes.values())]
    steps = [cell(dataset, **at)["steps_total"].values.sum(axis=1) for at in cells]
    counts: Any = [tuple(case_counts(totals)) for totals in steps]
    shape = *map(len, axes.values()), len(CASES)
    return xarray.Dataset(
        {"count": ((*axes, "case"), np.reshape(counts, shape))},
        coords={**axes, "case": list(CASES)},
        attrs=dataset.attrs,
    )


def pooled_report(dataset: xarray.Dataset) -> str:
    """Percentages of Table 1 for each target policy."""
    pooled = _percent(dataset["count"].sum(("alpha", "p")).values)
    return "\n".join(
        f"{target:>15}: "
        + ", ".join(f"case {case} {share:.1f}%" for case, share in zip(CASES, shares, strict=True))
        for target, shares in zip(dataset["target"].values, pooled, strict=True)
    )


def cases_table(
    dataset: xarray.Dataset,
    by_cell: Mapping[tuple[float, int], Mapping[str, float]],
    overall: Mapping[str, float],
) -> str:
    """Tables 1 and 2 as text: the percentages of each cell and of all, the paper's beside ours.

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
    for shares in check.members("by_cell", by_cell).values():
        check.members("by_cell", shares)
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
        ours = counts.sel(alpha=alpha, p=p).values
        lines.append(f"{alpha:7g} {p:5}" + _shares(ours, by_cell.get((alpha, p), {})))
    lines.append(f"{'all':>13}" + _shares(counts.sum(("alpha", "p")).values, overall))
    return "\n".join(line.rstrip() for line in lines)


def _shares(counts: NDArray[Any], paper: Mapping[str, float]) -> str:
    rows = [[paper.get(case, np.nan) for case in CASES], *_percent(counts)]
    return "  ".join("".join(f"{share:8.1f}" for share in row) for row in rows)


def _percent(counts: NDArray[Any]) -> NDArray[np.float64]:
    return np.asarray(100.0 * counts / counts.sum(axis=-1, keepdims=True))


def label_open_choices(dataset: xarray.Dataset) -> xarray.Dataset:
    """Add the coordinate ``variation``, the choice that a setting of the sensitivity study is of."""
    names = [name for _ in SENSITIVITY_CELLS for name in OPEN_CHOICES]
    each = dataset.sizes["setting"] // len(names)
    return dataset.assign_coords(variation=("setting", np.repeat(names, each)))


def control_report(dataset: xarray.Dataset) -> str:
    """Best and worst σ of each group of settings, with how much was capped or diverged."""
    scored = with_scores(dataset)
    names = [name for name in _GROUPS if name in scored.coords and len(np.unique(scored[name])) > 1]
    fields = [scored[name].values.astype(str) for name in names]
    settings = range(scored.sizes["setting"])
    labels = np.array([", ".join(values[k] for values in fields) for k in settings])
    lines = []
    for label in dict.fromkeys(labels):
        group = scored.isel(setting=np.flatnonzero(labels == label))
        mean, sigma = group["score"].mean("run").values, group["sigma"].values
        best, worst = int(mean.argmin()), int(mean.argmax())
        lines.append(
            f"{label or 'all':>34}: "
            f"steps per episode {mean[best]:7.1f} (sigma {sigma[best]:.2f}) to "
            f"{mean[worst]:7.1f} (sigma {sigma[worst]:.2f}), "
            f"{100 * float((group['capped'] / group['episodes']).mean()):4.1f}% of episodes cut off, "
            f"{int(group['diverged'].sum())} of {group['diverged'].size} runs diverged"
        )
    return "\n".join(lines)
