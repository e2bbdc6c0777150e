"""What a task of the mountain car returns, what results keep of it, and the measures that follow.

A task returns the steps of every episode, negative where an episode was cut off at the step limit. Of these every
result keeps, for each run, the steps in all episodes and in the last 50, the number of episodes cut off, and whether
the run diverged; where learning curves are shown, also exact sums over runs, by episode or by blocks of 20 episodes.
All of them are integers: means and variances follow without rounding that depends on the order of summation,

    mean = S/n,    variance = (n Q - S²) / (n (n - 1)),    S = Σ steps, Q = Σ steps²,

and averages of these over the episodes of a block from ΣS, ΣQ and ΣS².
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gqlib import _validate as check
from gqlib.control.setting import ControlSetting
from gqlib.sweeps.results import Labelled
from gqlib.sweeps.store import Arrays

if TYPE_CHECKING:
    import xarray

__all__ = [
    "BLOCK",
    "LAST",
    "control_runs",
    "control_summary",
    "control_summary_in_blocks",
    "control_summary_with_spread",
    "control_totals",
    "with_scores",
]

LAST = 50  # episodes at the end of a run, for the second measure of performance
BLOCK = 20  # episodes whose sums are taken together
# A result from elsewhere in which one of these had dimensions of its own would ask for a table of all by all.
_TOGETHER = {
    "episodes": "steps_total",
    "steps_last": "steps_total",
    "steps_sum_of_squares": "steps_sum",
    "block_sum_of_squares": "block_sum",
    "block_square_of_sum": "block_sum",
}
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


def control_runs(setting: ControlSetting, runs: int, seed: int, *, first_run: int) -> Arrays:
    """Run a control setting; the arrays of :func:`gqlib.control.run_control` that the results need.

    Examples
    --------
    >>> from gqlib.control import ControlSetting
    >>> control_runs(ControlSetting(episodes=3, max_steps=500), 2, 0, first_run=0)["signed_steps"].shape
    (2, 3)
    """
    from gqlib.control import run_control

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
    >>> steps, none = np.array([[3, -5], [4, 5]]), np.zeros(2, dtype=np.uint64)  # one of four episodes was cut off
    >>> kept = control_totals({"signed_steps": steps, "diverged": none > 0, "checksum": none})
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
    check.runs("arrays", arrays, signed_steps=2, diverged=1, checksum=1)
    return np.abs(arrays["signed_steps"].astype(np.int64))


def control_summary(arrays: Arrays) -> dict[str, Labelled]:
    """Also keep half of the engine's checksum of each run and, by episode, the sums over runs.

    Examples
    --------
    >>> steps, none = np.array([[3, -5], [4, 5]]), np.zeros(2, dtype=np.uint64)  # one of four episodes was cut off
    >>> kept = control_summary({"signed_steps": steps, "diverged": none > 0, "checksum": none})
    >>> [kept[name][1].tolist() for name in ("steps_total", "steps_sum", "steps_sum_of_squares")]
    [[8, 9], [7, 10], [25, 50]]
    """
    steps = _steps(arrays)
    return control_totals(arrays) | {
        "checksum": (("run",), (arrays["checksum"] & np.uint64(0xFFFFFFFF)).astype(np.uint32)),
        "steps_sum": (("episode",), steps.sum(axis=0)),
        "steps_sum_of_squares": (("episode",), (steps**2).sum(axis=0)),
    }


def control_summary_in_blocks(arrays: Arrays) -> dict[str, Labelled]:
    """Keep the totals and, for each block of 20 episodes, the sums from which curves and variances follow.

    Examples
    --------
    >>> steps, none = np.tile([3, 5], (2, 20)), np.zeros(2, dtype=np.uint64)
    >>> kept = control_summary_in_blocks({"signed_steps": steps, "diverged": none > 0, "checksum": none})
    >>> kept["steps_total"][1].tolist(), kept["block_sum"][1].tolist(), kept["block_square_of_sum"][1].tolist()
    ([160, 160], [160, 160], [1360, 1360])
    """
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

    The latter give the variance over runs an interval; at the step limit of 5,000 they stay exact up to 14,000 runs.

    Examples
    --------
    >>> steps, none = np.array([[3, -5], [4, 5]]), np.zeros(2, dtype=np.uint64)  # one of four episodes was cut off
    >>> kept = control_summary_with_spread({"signed_steps": steps, "diverged": none > 0, "checksum": none})
    >>> kept["steps_sum_of_cubes"][1].tolist(), kept["steps_quantile"][1].shape
    ([91, 250], (5, 2))
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

    Adds ``score`` and ``score_last`` (mean steps per episode of a run, over all episodes and over the last 50; an
    episode that was cut off counts as the step limit) and, where the sums are there, ``mean`` and ``variance`` over
    runs: by episode, or by block, where they are averages over the block's episodes.

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
    runs = dataset.sizes["run"]
    added = {
        "score": dataset["steps_total"] / dataset["episodes"],
        "score_last": dataset["steps_last"] / np.minimum(LAST, dataset["episodes"]),
    }
    if "steps_sum" in dataset:
        sums, episodes = (
            (dataset["steps_sum"], dataset["steps_sum_of_squares"], dataset["steps_sum"] ** 2),
            1,
        )
    elif "block_sum" in dataset:
        sums = dataset["block_sum"], dataset["block_sum_of_squares"], dataset["block_square_of_sum"]
        episodes = BLOCK
    else:
        return dataset.assign(added)
    total, squares, square = sums
    added["mean"] = total / (runs * episodes)
    if runs > 1:
        added["variance"] = (runs * squares - square) / (episodes * runs * (runs - 1))
    result = dataset.assign(added)
    return result.assign_coords(quantile=list(QUANTILES)) if "quantile" in dataset.dims else result
