"""A few lines of text about a result, for the terminal; and Table 1, which is Table 2 pooled.

Cases as in Section 5.2: an interior σ is in case I if its score beats those of σ = 0 and σ = 1, in case II if it
beats one of them, in case III if it beats neither.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gqlib.stats import case_counts
from gqlib.tasks import with_scores

if TYPE_CHECKING:
    import xarray

CASES = ("I", "II", "III")
# Fields of a control setting that make a group of rows in a report, where they vary.
_GROUPS = ("variation", "method", "target", "alpha", "p")


def cell_cases(dataset: xarray.Dataset, target: str, alpha: float, p: int) -> NDArray[np.int64]:
    """Return how many interior σ of a cell of Table 2 are in case I, II and III, by their mean score over runs."""
    chosen = (dataset["target"] == target) & (dataset["alpha"] == alpha) & (dataset["p"] == p)
    scores = dataset["steps_total"].values[chosen.values].sum(axis=1)
    if not (dataset["sigma"].values[chosen.values] == np.sort(dataset["sigma"].values[chosen.values])).all():
        raise ValueError("settings of a cell should be in the order of sigma, from 0 to 1")
    return np.array(tuple(case_counts(scores)), dtype=np.int64)


def pooled_cases(dataset: xarray.Dataset) -> xarray.Dataset:
    """Return the counts of cases I to III, by cell of Table 2 and so, summed over cells, Table 1."""
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
    """Percentages of Table 1 for each target policy."""
    pooled = dataset["count"].sum(("alpha", "p"))
    lines = [
        f"{target:>15}: " + ", ".join(f"case {case} {share:.1f}%" for case, share in zip(CASES, shares, strict=True))
        for target, shares in zip(dataset["target"].values, _percent(pooled.values), strict=True)
    ]
    return "\n".join(lines)


def _percent(counts: NDArray[Any]) -> NDArray[np.float64]:
    shares: NDArray[np.float64] = 100.0 * counts / counts.sum(axis=-1, keepdims=True)
    return shares


def control_report(dataset: xarray.Dataset) -> str:
    """Best and worst σ of each group of settings, with what was capped or diverged."""
    scored = with_scores(dataset)
    names = [name for name in _GROUPS if name in scored.coords and len(np.unique(scored[name].values)) > 1]
    fields = [scored[name].values.astype(str) for name in names]
    labels = np.array([", ".join(values) for values in zip(*fields, strict=True)] or [""] * scored.sizes["setting"])
    lines = []
    for label in dict.fromkeys(labels):
        group = scored.isel(setting=np.flatnonzero(labels == label))
        mean = group["score"].mean("run").values
        best, worst = int(mean.argmin()), int(mean.argmax())
        lines.append(
            f"{label or 'all':>34}: steps per episode {mean[best]:7.1f} (sigma {group['sigma'].values[best]:.2f}) to "
            f"{mean[worst]:7.1f} (sigma {group['sigma'].values[worst]:.2f}), "
            f"{100 * group['capped'].values.mean() / group.sizes['episode']:4.1f}% of episodes cut off, "
            f"{int(group['diverged'].values.sum())} of {group['diverged'].size} runs diverged"
        )
    return "\n".join(lines)


def two_state_report(dataset: xarray.Dataset) -> str:
    """For how many σ the weights grew, by reading of the example and step size."""
    lines = []
    for reading, alpha in dict.fromkeys(zip(dataset["reading"].values, dataset["alpha"].values, strict=True)):
        chosen = (dataset["reading"] == reading) & (dataset["alpha"] == alpha)
        final = np.median(dataset["final"].values[chosen.values], axis=1)
        start = np.abs(dataset["theta"].values[0, 0]).max()
        lines.append(
            f"{reading:>12}, alpha {alpha:g}: median |theta| grew for {(final > start).sum()} of {len(final)} sigma"
        )
    return "\n".join(lines)
