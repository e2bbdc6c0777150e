"""What the tasks of the experiments compute, and what is kept of it.

A control task (Figures 4 and 5, Tables 1 and 2) returns the steps of every episode, negative where an episode was
cut off at the step limit. Of these the results keep, for each run, the steps in all and in the last 50 episodes, the
number of episodes cut off, whether it diverged, and half of the engine's checksum of the whole run; and for each
setting, by episode, the exact sums over runs of steps and of their squares. Integers all of them: means and
variances follow without rounding that depends on an order of summation,

    mean = S/n,    variance = (n Q - S²) / (n (n - 1)),    S = Σ steps, Q = Σ steps².

A two-state task (Figure 2) runs semi-gradient Q(σ, λ), Eq. (10), on the counterexample of Figure 1: elementwise
operations in a fixed order, which round alike on every machine.
"""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gqlib import _validate as check
from gqlib.domains import two_state
from gqlib.domains.two_state import READINGS
from gqlib.results import Labelled
from gqlib.store import Arrays, canonical_json

if TYPE_CHECKING:
    import xarray

    from gqlib.control import ControlSetting

__all__ = [
    "TwoStateSetting",
    "control_runs",
    "control_summary",
    "control_summary_with_spread",
    "two_state_runs",
    "two_state_summary",
    "with_scores",
]

LAST = 50  # episodes at the end of a run, for the second measure of performance
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
CHECKPOINTS = 51  # points of a path of theta that are kept, the first one and the last one included
DIVERGED = 1e100  # beyond this a run stops learning, as in the control engine


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
    signed = np.where(result.capped, -result.steps, result.steps).astype(smallest)
    return {"signed_steps": signed, "diverged": result.diverged, "checksum": result.checksum}


def control_summary(arrays: Arrays) -> dict[str, Labelled]:
    """Keep of all runs of a control setting what the module's head says.

    Examples
    --------
    >>> steps, none = np.array([[3, -5], [4, 5]]), np.zeros(2, dtype=np.uint64)  # one of four episodes was cut off
    >>> kept = control_summary({"signed_steps": steps, "diverged": none > 0, "checksum": none})
    >>> [kept[name][1].tolist() for name in ("steps_total", "capped", "steps_sum", "steps_sum_of_squares")]
    [[8, 9], [1, 0], [7, 10], [25, 50]]
    """
    check.runs("arrays", arrays, signed_steps=2, diverged=1, checksum=1)
    capped = arrays["signed_steps"] < 0
    steps = np.abs(arrays["signed_steps"].astype(np.int64))
    return {
        "steps_total": (("run",), steps.sum(axis=1).astype(np.int32)),
        "steps_last": (("run",), steps[:, -LAST:].sum(axis=1).astype(np.int32)),
        "capped": (("run",), capped.sum(axis=1).astype(np.int32)),
        "diverged": (("run",), arrays["diverged"]),
        "checksum": (("run",), (arrays["checksum"] & np.uint64(0xFFFFFFFF)).astype(np.uint32)),
        "steps_sum": (("episode",), steps.sum(axis=0)),
        "steps_sum_of_squares": (("episode",), (steps**2).sum(axis=0)),
    }


def control_summary_with_spread(arrays: Arrays) -> dict[str, Labelled]:
    """Keep by episode also quantiles over runs (the spread of single runs) and the sums of third and fourth powers.

    The latter give the variance over runs an interval; at the step limit of 5,000 they stay exact up to 14,000 runs.

    Examples
    --------
    >>> steps, none = np.array([[3, -5], [4, 5]]), np.zeros(2, dtype=np.uint64)  # one of four episodes was cut off
    >>> kept = control_summary_with_spread({"signed_steps": steps, "diverged": none > 0, "checksum": none})
    >>> kept["steps_sum_of_cubes"][1].tolist(), kept["steps_quantile"][1].shape
    ([91, 250], (5, 2))
    """
    check.runs("arrays", arrays, signed_steps=2, diverged=1, checksum=1)
    steps = np.abs(arrays["signed_steps"].astype(np.int64))
    # "inverted_cdf" takes observed values only, so that the quantiles are integers too.
    spread = np.quantile(steps, QUANTILES, axis=0, method="inverted_cdf").astype(np.int32)
    return control_summary(arrays) | {
        "steps_quantile": (("quantile", "episode"), spread),
        "steps_sum_of_cubes": (("episode",), (steps**3).sum(axis=0)),
        "steps_sum_of_fourths": (("episode",), (steps**4).sum(axis=0)),
    }


def with_scores(dataset: xarray.Dataset) -> xarray.Dataset:
    """Return a control result with the measures that the chapters use, derived from the sums that are stored.

    Adds ``score`` and ``score_last`` (mean steps per episode of a run, over all episodes and over the last 50; an
    episode that was cut off counts as the step limit) and, by episode, ``mean`` and ``variance`` over runs.

    Examples
    --------
    Two runs of two episodes, 3 + 5 and 4 + 5 steps:

    >>> import xarray
    >>> sums = {"steps_sum": [[7, 10]], "steps_sum_of_squares": [[25, 50]]}
    >>> data = xarray.Dataset({name: (("setting", "episode"), value) for name, value in sums.items()})
    >>> total = ("setting", "run"), [[8, 9]]
    >>> scored = with_scores(data.assign(steps_total=total, steps_last=total))
    >>> [scored[name].values.tolist() for name in ("score", "mean", "variance")]
    [[[4.0, 4.5]], [[3.5, 5.0]], [[0.5, 0.0]]]
    """
    check.labelled("dataset", dataset, "steps_total", "steps_last", "steps_sum", "steps_sum_of_squares")
    episodes, runs = dataset.sizes["episode"], dataset.sizes["run"]
    total, squares = dataset["steps_sum"], dataset["steps_sum_of_squares"]
    added = {
        "score": dataset["steps_total"] / episodes,
        "score_last": dataset["steps_last"] / min(LAST, episodes),
        "mean": total / runs,
    }
    if runs > 1:
        added["variance"] = (runs * squares - total**2) / (runs * (runs - 1))
    result = dataset.assign(added)
    return result.assign_coords(quantile=list(QUANTILES)) if "quantile" in dataset.dims else result


@dataclass(frozen=True)
class TwoStateSetting:
    """Semi-gradient Q(σ, λ) on the two-state counterexample, as in Figure 2.

    Parameters
    ----------
    sigma, lam, gamma, alpha : float
        As in Eq. (10).
    reading : {"continuing", "bootstrap", "terminal"}
        See :func:`gqlib.domains.two_state`.
    steps : int
        Length of a run.

    Examples
    --------
    >>> TwoStateSetting(sigma=0.5).key == TwoStateSetting(sigma=0.5, alpha=0.01).key
    True
    """

    sigma: float
    lam: float = 0.99
    gamma: float = 0.99
    alpha: float = 0.01
    reading: str = "continuing"
    steps: int = 2000

    def __post_init__(self) -> None:
        """Check the values."""
        for name in ("sigma", "lam", "gamma"):
            check.scalar(name, getattr(self, name), low=0.0, high=1.0)
        check.scalar("alpha", self.alpha, low=0.0)
        check.integer("steps", self.steps, low=CHECKPOINTS - 1)
        check.choice("reading", self.reading, READINGS)

    @property
    def key(self) -> str:
        """SHA-256 of the setting as canonical JSON."""
        return hashlib.sha256(canonical_json(asdict(self)).encode()).hexdigest()


def two_state_runs(setting: TwoStateSetting, runs: int, seed: int, *, first_run: int) -> Arrays:
    """Run semi-gradient Q(σ, λ) on the counterexample; run i has its own trajectory, the same for all settings.

    Returns
    -------
    dict
        ``theta`` (runs, 51, 2), the weights at equally spaced steps; ``largest`` (runs,), the largest |θ_i| met;
        ``diverged`` (runs,), whether it left all bounds (the run stops learning there).

    Examples
    --------
    >>> paths = two_state_runs(TwoStateSetting(sigma=0.5), 2, 0, first_run=0)
    >>> paths["theta"].shape, paths["theta"][0, 0].tolist()
    ((2, 51, 2), [2.0, 0.0])
    """
    check.instance("setting", setting, TwoStateSetting)
    check.integer("runs", runs, low=1)
    check.integer("seed", seed, low=0)
    check.integer("first_run", first_run, low=0)
    check.room("runs", runs, 10 * runs * setting.steps)
    domain = two_state(setting.gamma, setting.reading)
    rngs = [np.random.default_rng([seed, run]) for run in range(first_run, first_run + runs)]
    paths = [domain.trajectory(setting.steps, rng) for rng in rngs]
    phi, sampled, expected = (
        np.stack([getattr(path, name) for path in paths], axis=1) for name in ("phi", "phi_next", "phi_next_expected")
    )
    reward, ends = (np.stack([getattr(path, name) for path in paths], axis=1) for name in ("reward", "ends"))
    target = setting.gamma * (expected + setting.sigma * (sampled - expected)) - phi
    theta = np.tile(domain.theta0, (runs, 1))
    trace = np.zeros_like(theta)
    largest = np.abs(theta).max(axis=1)
    kept = np.empty((runs, CHECKPOINTS, 2))
    where = np.linspace(0, setting.steps, CHECKPOINTS).astype(int)
    kept[:, 0] = theta
    for step in range(setting.steps):
        trace = setting.gamma * setting.lam * trace + phi[step]
        delta = reward[step] + _dot(theta, target[step])
        delta[largest > DIVERGED] = 0.0
        theta = theta + (setting.alpha * delta)[:, None] * trace
        largest = np.maximum(largest, np.abs(theta).max(axis=1))
        trace[ends[step]] = 0.0
        kept[:, where == step + 1] = theta[:, None]
    return {"theta": kept, "largest": largest, "diverged": largest > DIVERGED}


def _dot(left: NDArray[Any], right: NDArray[Any]) -> NDArray[Any]:
    """Rowwise scalar products in two dimensions, without a library whose rounding may differ."""
    product: NDArray[Any] = left[:, 0] * right[:, 0] + left[:, 1] * right[:, 1]
    return product


def two_state_summary(arrays: Arrays) -> dict[str, Labelled]:
    """Keep the path of the first run, and of every run where it ended and how far it went (largest |θ_i|).

    Examples
    --------
    >>> arrays = two_state_runs(TwoStateSetting(sigma=0.5, alpha=0.0, steps=50), 2, 0, first_run=0)
    >>> two_state_summary(arrays)["final"][1].tolist()  # nothing is learnt: θ stays (2, 0)
    [2.0, 2.0]
    """
    check.runs("arrays", arrays, theta=3, largest=1, diverged=1)
    return {
        "theta": (("checkpoint", "component"), arrays["theta"][0]),
        "final": (("run",), np.abs(arrays["theta"][:, -1]).max(axis=1)),
        "largest": (("run",), arrays["largest"]),
        "diverged": (("run",), arrays["diverged"]),
    }
