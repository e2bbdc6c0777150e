r"""Ways to set σ over a run: fixed, the paper's dynamic σ in each of its readings, and a decay.

Section 5 of the paper: σ ~ N(m, 0.01²), "where m ranges dynamically from 0.02 to 0.98 with step of 0.02" (the paper
calls the mean μ, which is also its name for the behaviour policy). That leaves open

* when σ is drawn: at every *step*, *episode* or *run*;
* what the range is: a *family* of 49 experiments, one for each m, or a *ramp* that takes m through the 49 values
  within one run;
* whether a draw outside [0, 1] is clipped. As printed it is not: at m = 0.98 one draw in 44 exceeds 1.

A `Schedule` is plain data, and turns the ends of episodes and one standard normal number per step into σ_k.
It uses one number per step however often σ is drawn, so that schedules share their draws.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gqlib import _validate as check
from gqlib._validate import Array

__all__ = ["DRAWN", "MEANS", "NOISE", "Schedule", "SigmaFields", "dynamic", "family", "ramp"]

Drawn = Literal["step", "episode", "run"]
DRAWN = get_args(Drawn)
# Of a σ that ramps: its levels are counted, and beyond this their number times that of the steps is no int64.
LARGEST_RAMP = 1e6
NOISE = 0.01  # standard deviation of the paper's dynamic σ
# 0.02, 0.04, …, 0.98: each the double nearest to its decimal.
MEANS = tuple(k / 50 for k in range(1, 50))


@dataclass(frozen=True)
class Schedule:
    """How σ is set over a run: σ_k = mean_k + noise·z, with z redrawn as `drawn` says.

    Parameters
    ----------
    mean : float
        The value of σ, or its mean; at the first step, if it ramps or decays.
    noise : float
        Standard deviation; 0 makes σ deterministic.
    drawn : {"step", "episode", "run"}
        How often z is drawn.
    clipped : bool
        Whether σ is clipped to [0, 1]; as printed it is not.
    ramp_to : float, optional
        Take the mean from `mean` to this value in steps of 0.02, each for an equal part of the run; both ends are
        rounded to the nearest multiple of 0.02.
    decay : float in (0, 1]
        Factor on the mean after each episode (after each step, where no episode ever ends).

    Examples
    --------
    >>> Schedule(0.5).values([False] * 3, [0.1, 0.2, 0.3]).tolist()
    [0.5, 0.5, 0.5]
    >>> Schedule(0.5, noise=0.01, drawn="episode").values([False, True, False], [1.0, 5.0, -1.0]).tolist()
    [0.51, 0.51, 0.49]
    >>> Schedule(0.8, decay=0.5).means([False, True, False]).tolist()
    [0.8, 0.8, 0.4]
    >>> Schedule(0.5, noise=0.1, clipped=True).at(0.5, 6.0)
    1.0
    >>> Schedule(0.5).sample([False, False], np.random.default_rng(0)).tolist(), Schedule(1.5).outside([False])
    ([0.5, 0.5], 1.0)
    """

    mean: float
    noise: float = 0.0
    drawn: Drawn = "step"
    clipped: bool = False
    ramp_to: float | None = None
    decay: float = 1.0

    def __post_init__(self) -> None:
        checked = {
            "mean": check.scalar(
                "mean", self.mean, largest=check.LARGEST if self.ramp_to is None else LARGEST_RAMP
            ),
            "noise": check.scalar("noise", self.noise, low=0.0),
            "drawn": check.choice("drawn", self.drawn, DRAWN),
            "clipped": check.flag("clipped", self.clipped),
            "ramp_to": None
            if self.ramp_to is None
            else check.scalar("ramp_to", self.ramp_to, largest=LARGEST_RAMP),
            "decay": check.scalar("decay", self.decay, low=0.0, high=1.0, open_low=True),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    def at(self, mean: float, draw: float) -> float:
        """σ for one mean and one standard normal number: what a loop that runs step by step needs."""
        sigma = mean + self.noise * draw
        return min(1.0, max(0.0, sigma)) if self.clipped else sigma

    def means(self, ends: ArrayLike) -> Array:
        """The mean of σ at each step, (T,), given which steps end an episode, (T,) of bool."""
        stops = _stops(ends)
        steps = len(stops)
        path = np.full(steps, float(self.mean))
        if self.ramp_to is not None:
            levels = 1 + round(abs(self.ramp_to - self.mean) * 50)
            level = (np.arange(steps) * levels) // steps
            path = (round(self.mean * 50) + np.sign(self.ramp_to - self.mean) * level) / 50
        if self.decay < 1.0:
            factors = np.multiply.accumulate(
                np.concatenate([[1.0], np.full(steps - 1, float(self.decay))])
            )
            path = path * factors[_episode(stops) if stops.any() else np.arange(steps)]
        return path

    def values(self, ends: ArrayLike, normals: ArrayLike) -> Array:
        """σ_k, (T,), from one standard normal number per step, (T,)."""
        stops = _stops(ends)
        draws = check.array("normals", normals, stops.shape)
        if self.drawn == "episode":
            begins = np.concatenate([[0], np.flatnonzero(stops[:-1]) + 1])
            draws = draws[begins][_episode(stops)]
        elif self.drawn == "run":
            draws = np.full(len(stops), draws[0])
        path = self.means(stops)
        if self.noise > 0.0:
            path = path + self.noise * draws
        return np.clip(path, 0.0, 1.0) if self.clipped else path

    def sample(self, ends: ArrayLike, rng: np.random.Generator) -> Array:
        """σ_k, (T,), with numbers from a generator that should serve σ alone."""
        return self.values(ends, check.generator("rng", rng).standard_normal(len(_stops(ends))))

    def outside(self, ends: ArrayLike) -> float:
        """Expected share of steps whose σ leaves [0, 1] before any clipping."""
        from scipy.special import ndtr

        path = self.means(ends)
        if self.noise == 0.0:
            return float(((path < 0.0) | (path > 1.0)).mean())
        return float((ndtr(-path / self.noise) + ndtr((path - 1.0) / self.noise)).mean())


@dataclass(frozen=True, kw_only=True)
class SigmaFields:
    """How a setting specifies σ: the fields of a `Schedule`, by keyword, each with the prefix ``sigma``.

    Parameters
    ----------
    sigma : float
        Its value, or its mean where `sigma_noise` > 0.
    sigma_noise : float
        Standard deviation of σ's normal law; 0.01 for the paper's dynamic σ.
    sigma_drawn : {"step", "episode", "run"}
        When the noise is drawn.
    sigma_clipped : bool
        Clip σ to [0, 1] after the noise is added; as printed it is not clipped.
    sigma_decay : float
        Factor on the mean of σ after each episode, in (0, 1].

    Examples
    --------
    >>> SigmaFields(sigma=0.3, sigma_noise=0.01).schedule
    Schedule(mean=0.3, noise=0.01, drawn='step', clipped=False, ramp_to=None, decay=1.0)
    >>> SigmaFields(sigma=1.5).check_sigma(low=0.0, high=1.0)
    Traceback (most recent call last):
    ValueError: sigma is 1.5; it should be in [0, 1]
    """

    sigma: float = 0.5
    sigma_noise: float = 0.0
    sigma_drawn: Drawn = "step"
    sigma_clipped: bool = False
    sigma_decay: float = 1.0

    @property
    def schedule(self) -> Schedule:
        """How σ is set, as a `Schedule`."""
        ramp_to = getattr(self, "sigma_ramp_to", None)
        return Schedule(
            self.sigma,
            self.sigma_noise,
            self.sigma_drawn,
            self.sigma_clipped,
            ramp_to,
            self.sigma_decay,
        )

    def check_sigma(self, *, low: float = -np.inf, high: float = np.inf) -> None:
        """Check the fields, including that σ lies in [low, high], and store them as plain numbers."""
        checked = {
            "sigma": check.scalar("sigma", self.sigma, low=low, high=high),
            "sigma_noise": check.scalar("sigma_noise", self.sigma_noise, low=0.0),
            "sigma_drawn": check.choice("sigma_drawn", self.sigma_drawn, DRAWN),
            "sigma_clipped": check.flag("sigma_clipped", self.sigma_clipped),
            "sigma_decay": check.scalar(
                "sigma_decay", self.sigma_decay, low=0.0, high=1.0, open_low=True
            ),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)


def _stops(ends: ArrayLike) -> NDArray[np.bool_]:
    """Which steps end an episode, (T,)."""
    stops = check.array("ends", ends, (None,))
    if not np.isin(stops, (0.0, 1.0)).all():
        raise ValueError(
            f"ends is {check.brief(ends)}; it should hold True where a step ends an episode, else False"
        )
    return stops.astype(bool)


def _episode(stops: NDArray[np.bool_]) -> NDArray[np.intp]:
    """The number of the episode that each step belongs to."""
    return np.concatenate([[0], np.cumsum(stops[:-1])])


def dynamic(mean: float, *, drawn: Drawn = "step", clipped: bool = False) -> Schedule:
    """The paper's σ ~ N(mean, 0.01²).

    Examples
    --------
    >>> schedule = dynamic(0.98)
    >>> schedule.noise, round(schedule.outside([False]), 4)  # P(z > 2): one draw in 44
    (0.01, 0.0228)
    """
    return Schedule(mean, noise=NOISE, drawn=drawn, clipped=clipped)


def family(*, drawn: Drawn = "step", clipped: bool = False) -> tuple[Schedule, ...]:
    """The 49 dynamic σ of the paper's range, m = 0.02, 0.04, …, 0.98, as one experiment each.

    Examples
    --------
    >>> schedules = family()
    >>> len(schedules), schedules[0].mean, schedules[-1].mean
    (49, 0.02, 0.98)
    """
    return tuple(dynamic(mean, drawn=drawn, clipped=clipped) for mean in MEANS)


def ramp(*, drawn: Drawn = "step", clipped: bool = False) -> Schedule:
    """The paper's range within one run: m from 0.02 to 0.98, each value for a 49th of the run.

    Examples
    --------
    >>> ramp().means([False] * 49)[[0, 24, 48]].tolist()
    [0.02, 0.5, 0.98]
    """
    return Schedule(MEANS[0], noise=NOISE, drawn=drawn, clipped=clipped, ramp_to=MEANS[-1])
