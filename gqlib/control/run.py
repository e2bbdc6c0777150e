r"""A control experiment as data (`ControlSetting`) and the call that runs it (`run_control`).

The experiment is Section 5.2 of the paper: Algorithm 1 (Eqs. (25) and (26)) on the mountain car with tile coding, an
epsilon-greedy behaviour policy, and a greedy or epsilon-greedy target policy with respect to the current weights.
What the paper leaves open is a field of the setting; the defaults are the paper's values where it gives them.

Reproducibility: setting, seed and run index determine every bit of a result, on every machine and for every way of
splitting runs between calls. The random streams of a run depend on (seed, run, purpose) and on
nothing else, *not* on the setting. Two settings with the same seed therefore see the same start states and the same
exploration draws (common random numbers), and the paired difference between them has less variance than
two independent runs would give; runs with different indices are independent.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from gqlib import _validate as check
from gqlib._objects import ByValue, html_table
from gqlib.control.setting import ControlSetting
from gqlib.stats._told import told_mean

__all__ = ["ControlResult", "run_control"]

ENGINES = ("fast", "reference")


@dataclass(frozen=True, eq=False, repr=False)
class ControlResult(ByValue):
    """The result of a control experiment, one row per run.

    Attributes
    ----------
    setting : ControlSetting
    seed, first_run : int
        Row i is run number ``first_run + i`` of the experiment `seed`.
    signed_steps : ndarray of int32, shape (runs, episodes)
        Steps of each episode, negative where it was cut off: minus the step limit, as after a divergence.
    steps : ndarray of int32, shape (runs, episodes)
        The same without the sign.
    capped : ndarray of bool, shape (runs, episodes)
        Whether the episode did not reach the goal.
    diverged : ndarray of bool, shape (runs,)
        Whether a TD error got out of bounds (beyond 1e100, or NaN); such a run stops learning there.
    checksum : ndarray of uint64, shape (runs,)
        First 8 bytes of the SHA-256 of steps, flags, theta and omega: equal only if the whole run is.
    theta, omega : ndarray, shape (runs, p), or None
        Final weights, on request.

    Examples
    --------
    >>> result = run_control(ControlSetting(episodes=2, max_steps=10), runs=1, seed=0)  # too short to leave the valley
    >>> result.steps.tolist(), result.returns.tolist(), result.score.tolist(), result.capped.tolist()
    ([[10, 10]], [[-10.0, -10.0]], [10.0], [[True, True]])
    """

    setting: ControlSetting
    seed: int
    first_run: int
    signed_steps: NDArray[np.int32]
    diverged: NDArray[np.bool_]
    checksum: NDArray[np.uint64]
    theta: NDArray[np.float64] | None = None
    omega: NDArray[np.float64] | None = None

    @property
    def steps(self) -> NDArray[np.int32]:
        """Steps of each episode; the step limit where it was cut off."""
        return np.abs(self.signed_steps)

    @property
    def capped(self) -> NDArray[np.bool_]:
        """Whether the episode did not reach the goal."""
        return self.signed_steps < 0

    @property
    def returns(self) -> NDArray[np.float64]:
        """Undiscounted return of each episode: minus its steps."""
        return -self.steps.astype(np.float64)

    @property
    def score(self) -> NDArray[np.float64]:
        """Mean steps per episode of each run, over all episodes."""
        return np.asarray(self.steps.mean(axis=1))

    def __repr__(self) -> str:
        runs, episodes = self.steps.shape
        return (
            f"ControlResult({runs} runs of {episodes} episodes, mean steps {self.steps.mean():.4g}, "
            f"{int(self.capped.sum())} capped episodes, {int(self.diverged.sum())} diverged runs)"
        )

    def _repr_html_(self) -> str:
        runs, episodes = self.steps.shape
        rows = [
            ("runs", runs),
            ("episodes of each", episodes),
            *told_mean("mean steps per episode", self.score),
        ]
        rows += [
            ("capped episodes", int(self.capped.sum())),
            ("diverged runs", int(self.diverged.sum())),
        ]
        return html_table("ControlResult", rows)


def run_control(
    setting: ControlSetting,
    runs: int,
    seed: int,
    *,
    first_run: int = 0,
    engine: Literal["fast", "reference"] = "fast",
    weights: bool = False,
) -> ControlResult:
    """Run a control experiment.

    Parameters
    ----------
    setting : ControlSetting
        The experiment.
    runs : int
        Number of runs.
    seed : int
        Names the random streams; at least 0.
    first_run : int, optional
        Index of the first run: runs 0..9 in one call, or 0..4 and 5..9 in two, are the same to the bit.
    engine : {"fast", "reference"}, optional
        Compiled and O(K), or the same text of the learner on whole vectors (`gqlib.engine.dense`). Both take the
        same steps; their weights agree up to rounding.
    weights : bool, optional
        Return the final theta and omega too.

    Returns
    -------
    ControlResult

    Examples
    --------
    >>> result = run_control(ControlSetting(episodes=3, max_steps=500), runs=2, seed=1)
    >>> result.steps.shape, bool(result.diverged.any())
    ((2, 3), False)
    """
    check.instance("setting", setting, ControlSetting)
    runs, seed = check.integer("runs", runs, low=1), check.integer("seed", seed, low=0)
    first_run = check.integer("first_run", first_run, low=0)
    check.choice("engine", engine, ENGINES)
    check.flag("weights", weights)
    check.room("runs", runs, runs * (setting.episodes + (2 * setting.p if weights else 0)))
    from gqlib.control.engine import one_run

    signed_steps = np.empty((int(runs), setting.episodes), dtype=np.int32)
    diverged = np.empty(runs, dtype=np.bool_)
    checksum = np.empty(runs, dtype=np.uint64)
    kept = np.empty((2, runs, setting.p)) if weights else None
    for i in range(runs):
        signed, diverged_in, theta, omega = one_run(
            setting, int(seed), int(first_run) + i, reference=engine == "reference"
        )
        if diverged_in >= 0:
            signed[diverged_in:] = -setting.max_steps
        signed_steps[i] = signed
        diverged[i] = diverged_in >= 0
        checksum[i] = _checksum(signed, bool(diverged[i]), theta, omega)
        if kept is not None:
            kept[0, i], kept[1, i] = theta, omega
    theta_kept, omega_kept = (None, None) if kept is None else (kept[0], kept[1])
    return ControlResult(
        setting, int(seed), int(first_run), signed_steps, diverged, checksum, theta_kept, omega_kept
    )


def _checksum(
    signed: NDArray[np.int32],
    diverged: bool,
    theta: NDArray[np.float64],
    omega: NDArray[np.float64],
) -> int:
    digest = hashlib.sha256()
    digest.update(signed.astype("<i4").tobytes())
    digest.update(bytes([diverged]))
    for weights in (theta, omega):
        # + 0.0 turns -0.0 into 0.0: the two are equal and should count as equal.
        digest.update((weights + 0.0).astype("<f8").tobytes())
    return int.from_bytes(digest.digest()[:8], "little")
