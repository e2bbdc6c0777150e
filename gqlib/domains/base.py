"""What every prediction domain provides: an exact problem, an initial weight vector and trajectories.

A trajectory is a set of arrays with one row per step, which is all that a learner sees:
φ_k, R, φ_{k+1}, E_πφ(S_{k+1}, ·) and whether an episode (and so the trace) ends after the step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from html import escape

import numpy as np

from gqlib import _validate as check
from gqlib._objects import ByValue
from gqlib._validate import Array
from gqlib.prediction import LinearPrediction

__all__ = ["Domain", "Trajectory", "sample_chain"]


@dataclass(frozen=True, eq=False, repr=False)
class Trajectory(ByValue):
    """Arrays of T steps: phi, phi_next, phi_next_expected (T, d), reward (T,), ends (T,) of bool.

    Examples
    --------
    >>> from gqlib.domains import two_state
    >>> path = two_state(0.9, "bootstrap").trajectory(1000, np.random.default_rng(0))
    >>> len(path), bool((path.phi[path.ends] == [2.0, 0.0]).all())  # episodes end after (2, right)
    (1000, True)
    """

    phi: Array
    reward: Array
    phi_next: Array
    phi_next_expected: Array
    ends: np.typing.NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.reward)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} steps, d={self.phi.shape[1]}, {int(self.ends.sum())} ends)"


@dataclass(frozen=True, eq=False, repr=False)
class Domain(ByValue):
    """A prediction domain: `problem` is exact, `trajectory(steps, rng)` is a sample of it.

    Parameters
    ----------
    name : str
    problem : LinearPrediction
    theta0 : array_like, (d,)
        The first weights.
    sampler : callable
        ``sampler(steps, rng)`` returns a `Trajectory` of so many steps.

    Examples
    --------
    >>> from gqlib.domains import two_state
    >>> domain = two_state(0.9)
    >>> domain.name, domain.theta0.tolist(), domain.problem.d
    ('two-state (continuing)', [2.0, 0.0], 2)
    >>> domain
    Domain('two-state (continuing)', PredictionProblem(n=4, d=2, gamma=0.9))
    >>> domain.trajectory(5, np.random.default_rng(0))
    Trajectory(5 steps, d=2, 0 ends)
    """

    name: str
    problem: LinearPrediction
    theta0: Array
    sampler: Callable[[int, np.random.Generator], Trajectory] = field(compare=False)

    def __post_init__(self) -> None:
        check.instance("name", self.name, str)
        check.instance("problem", self.problem, LinearPrediction)
        object.__setattr__(
            self, "theta0", check.frozen(check.array("theta0", self.theta0, (self.problem.d,)))
        )
        check.takes("sampler", self.sampler, "steps", "rng")

    def trajectory(self, steps: int, rng: np.random.Generator) -> Trajectory:
        """A trajectory of `steps` steps; every random number comes from `rng`.

        Raises
        ------
        ValueError
            Also where `sampler` returns something else than finite arrays for so many steps.
        """
        steps = check.integer("steps", steps, low=1)
        check.room("steps", steps, 4 * self.problem.d * steps)
        path = self.sampler(steps, check.generator("rng", rng))
        _check_path(path, steps, self.problem.d)
        return path

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {self.problem!r})"

    def _repr_html_(self) -> str:
        return f"<p>{escape(self.name)}</p>{self.problem._repr_html_()}"


def _check_path(path: Trajectory, steps: int, d: int) -> None:
    """Refuse what a sampler must not return: what is no number there would pass for a learner that diverges."""
    if not isinstance(path, Trajectory):
        raise ValueError(f"sampler returned {check.brief(path)}; it should return a Trajectory")
    shapes = {
        "phi": (steps, d),
        "phi_next": (steps, d),
        "phi_next_expected": (steps, d),
        "reward": (steps,),
    }
    for name, shape in shapes.items():
        given = getattr(path, name)
        if not isinstance(given, np.ndarray) or given.dtype != np.float64 or given.shape != shape:
            raise ValueError(
                f"sampler returned {name} {check.brief(given)}; it should be float64 of shape {shape}"
            )
        if not np.isfinite(given).all():
            raise ValueError(
                f"sampler returned {name} with an entry that is not finite; every entry should be"
            )
    if (
        not isinstance(path.ends, np.ndarray)
        or path.ends.dtype != np.bool_
        or path.ends.shape != (steps,)
    ):
        raise ValueError(
            f"sampler returned ends {check.brief(path.ends)}; it should be bool of shape ({steps},)"
        )


def sample_chain(
    chain: Array, start: Array, steps: int, rng: np.random.Generator
) -> np.typing.NDArray[np.intp]:
    """`steps` + 1 indices of a finite chain with restarts: where a row falls short of one, `start` is drawn afresh.

    Two uniform numbers are drawn per step, so that the path depends on the generator alone.

    Examples
    --------
    >>> there_and_back = np.array([[0.0, 1.0], [1.0, 0.0]])
    >>> sample_chain(there_and_back, np.array([1.0, 0.0]), 4, np.random.default_rng(0)).tolist()
    [0, 1, 0, 1, 0]
    """
    cumulative = np.cumsum(chain, axis=1)
    begin = np.cumsum(start)
    draws = rng.random((steps + 1, 2))
    n = len(start)
    path = np.empty(steps + 1, dtype=np.intp)
    path[0] = min(int(np.searchsorted(begin, draws[0, 0] * begin[-1], side="right")), n - 1)
    for k in range(steps):
        index = int(np.searchsorted(cumulative[path[k]], draws[k + 1, 0], side="right"))
        if index >= n:  # the missing mass, or rounding in a row that sums to one
            short = cumulative[path[k], -1] < 1.0 - check.PROBABILITY_TOLERANCE
            index = (
                int(np.searchsorted(begin, draws[k + 1, 1] * begin[-1], side="right"))
                if short
                else n - 1
            )
        path[k + 1] = min(index, n - 1)
    return path
