"""A policy-evaluation experiment as data: everything that determines a run, except seed and run index (Section 5.1)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gqlib import _validate as check
from gqlib.domains import baird_star, boyan_chain, cart_pole
from gqlib.domains.cart_pole import CartPole
from gqlib.domains.finite import FiniteDomain
from gqlib.learners.sigma import SigmaFields
from gqlib.sweeps.setting import Setting

__all__ = ["PredictionSetting"]

DOMAINS: dict[str, Callable[..., FiniteDomain | CartPole]] = {
    "baird_star": baird_star,
    "boyan_chain": boyan_chain,
    "cart_pole": cart_pole,
}
LEARNERS = ("gq", "semi-gradient", "tdc", "gtd2")
Options = tuple[tuple[str, Any], ...]


@dataclass(frozen=True)
class PredictionSetting(SigmaFields, Setting):
    """Everything that determines the result of a prediction run, except seed and run index.

    Parameters
    ----------
    domain : {"baird_star", "boyan_chain", "cart_pole"}
    options : pairs (name, value)
        Keyword arguments of the domain, including `reading`.
    learner : {"gq", "semi-gradient", "tdc", "gtd2"}
        TDC and GTD2 use importance weights and no σ.
    sigma, sigma_noise, sigma_drawn, sigma_clipped, sigma_ramp_to, sigma_decay
        The schedule of σ: see `gqlib.learners.sigma.Schedule`.
    lam, alpha, eta : float
        λ, the step size of θ, and the ratio β/α.
    steps : int
        Length of a run.
    kept : int
        Number of equal parts of a run after which θ is kept; it should divide `steps`.

    Examples
    --------
    >>> from gqlib.evaluation import run_prediction
    >>> setting = PredictionSetting("boyan_chain", alpha=0.1, steps=200, kept=4)
    >>> result = run_prediction(setting, runs=3, seed=1)
    >>> result.theta.shape, result.diverged.sum()
    ((3, 5, 4), np.int64(0))
    >>> setting.checkpoints.tolist(), setting.schedule.mean, setting.make_domain().problem.d, len(setting.key)
    ([0, 50, 100, 150, 200], 0.5, 4, 64)
    """

    domain: str
    options: Options = ()
    learner: str = "gq"
    sigma_ramp_to: float | None = None
    lam: float = 0.0
    alpha: float = 0.01
    eta: float = 1.0
    steps: int = 1000
    kept: int = 50

    def __post_init__(self) -> None:
        check.choice("domain", self.domain, tuple(DOMAINS))
        check.choice("learner", self.learner, LEARNERS)
        # What comes back from JSON is a list of lists.
        try:
            object.__setattr__(self, "options", tuple(sorted((str(name), value) for name, value in self.options)))
        except (TypeError, ValueError):
            raise ValueError(f"options is {check.brief(self.options)}; it should hold pairs (name, value)") from None
        kept = check.integer("kept", self.kept, low=1)
        checked: dict[str, Any] = {
            "lam": check.scalar("lam", self.lam, low=0.0, high=1.0),
            "alpha": check.scalar("alpha", self.alpha, low=0.0),
            "eta": check.scalar("eta", self.eta, low=0.0),
            "kept": kept,
            "steps": check.integer("steps", self.steps, low=kept),
        }
        if self.sigma_ramp_to is not None:
            checked["sigma_ramp_to"] = check.scalar("sigma_ramp_to", self.sigma_ramp_to)
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        if self.steps % self.kept:
            raise ValueError(f"steps is {self.steps}; it should be a multiple of kept, {self.kept}")
        self.check_sigma()

    def make_domain(self) -> FiniteDomain | CartPole:
        """The domain with its options (made once)."""
        return make_domain(self.domain, self.options)

    @property
    def checkpoints(self) -> NDArray[np.intp]:
        """Steps after which θ is kept, (kept + 1,)."""
        return np.arange(self.kept + 1) * (self.steps // self.kept)

@lru_cache(maxsize=32)
def make_domain(name: str, options: Options) -> FiniteDomain | CartPole:
    """The domain of that name with these options, made once."""
    return DOMAINS[name](**dict(options))


