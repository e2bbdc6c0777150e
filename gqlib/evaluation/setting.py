"""A policy-evaluation experiment as data: everything that determines a run, except seed and run index (Section 5.1)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib import import_module
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from gqlib import _validate as check
from gqlib.domains import baird_star, boyan_chain, cart_pole
from gqlib.domains.base import Domain
from gqlib.domains.finite import ON_PAIRS
from gqlib.learners.sigma import LARGEST_RAMP, SigmaFields
from gqlib.learners.texts import LEARNERS as BY_NAME
from gqlib.learners.texts import Learner
from gqlib.sweeps.setting import Setting, later

__all__ = ["PredictionSetting"]

DOMAINS: dict[str, Callable[..., Domain]] = {
    "baird_star": baird_star,
    "boyan_chain": boyan_chain,
    "cart_pole": cart_pole,
}
LearnerName = Literal["gq", "semi-gradient", "tdc", "gtd2", "tdrc", "emphatic", "lstd"]
LEARNERS = get_args(LearnerName)
# What `gqlib.learners.texts` calls them, where it is something else.
CALLED = {"semi-gradient": "q_sigma", "emphatic": "emphatic_td"}
Options = tuple[tuple[str, Any], ...]


@dataclass(frozen=True)
class PredictionSetting(SigmaFields, Setting):
    """Everything that determines the result of a prediction run, except seed and run index.

    Parameters
    ----------
    domain : {"baird_star", "boyan_chain", "cart_pole"}, "module:function", or Domain
        A domain of the paper, or a function that returns one of your own, or a `Domain` itself, such as
        `gqlib.domains.own_domain` returns. A sweep stores settings, so there it should have a name.
    options : pairs (name, value)
        Keyword arguments of the function, including `reading`.
    learner : {"gq", "semi-gradient", "tdc", "gtd2", "tdrc", "emphatic", "lstd"}, "module:name", or an object
        The last four and TDC use importance weights and no σ. LSTD solves for the weights at each checkpoint, from all
        steps so far. One of your own is a `gqlib.learners.texts.Learner`.
    sigma, sigma_noise, sigma_drawn, sigma_clipped, sigma_ramp_to, sigma_decay
        The schedule of σ: see `gqlib.learners.sigma.Schedule`.
    lam, alpha, eta : float
        λ, the step size of θ, and the ratio β/α.
    steps : int
        Length of a run.
    kept : int
        Number of equal parts of a run after which θ is kept; it should divide `steps`.
    kappa : float
        The ridge of TDRC on ω.

    Examples
    --------
    >>> from gqlib.evaluation import run_prediction
    >>> setting = PredictionSetting("boyan_chain", alpha=0.1, steps=200, kept=4)
    >>> result = run_prediction(setting, runs=3, seed=1)
    >>> result.theta.shape, result.diverged.sum()
    ((3, 5, 4), np.int64(0))
    >>> setting.checkpoints.tolist(), setting.schedule.mean, setting.make_domain().problem.d, len(setting.key)
    ([0, 50, 100, 150, 200], 0.5, 4, 64)
    >>> PredictionSetting("my_domains:maze", learner="my_learners:mine").imported
    ('my_domains:maze', 'my_learners:mine')
    >>> setting.make_learner(), setting.aims_at_target, PredictionSetting("boyan_chain", learner="lstd").aims_at_target
    (Learner(gq, with omega), False, True)
    """

    domain: str | Domain
    options: Options = ()
    learner: LearnerName | str | Learner = "gq"
    sigma_ramp_to: float | None = None
    lam: float = 0.0
    alpha: float = 0.01
    eta: float = 1.0
    steps: int = 1000
    kept: int = 50
    kappa: float = later(1.0)

    def __post_init__(self) -> None:
        if not isinstance(self.domain, Domain):
            _name(
                "domain",
                self.domain,
                tuple(DOMAINS),
                "'module:function', or a Domain, as own_domain returns",
            )
        elif tuple(self.options):
            raise ValueError(
                f"options is {check.brief(self.options)}; a domain that is made already should have none"
            )
        if isinstance(self.learner, str):
            _name("learner", self.learner, LEARNERS, "'module:name', or a Learner")
        else:
            check.instance("learner", self.learner, Learner)
        # What comes back from JSON is a list of lists.
        try:
            object.__setattr__(
                self, "options", tuple(sorted((str(name), value) for name, value in self.options))
            )
        except (TypeError, ValueError):
            raise ValueError(
                f"options is {check.brief(self.options)}; it should hold pairs (name, value)"
            ) from None
        kept = check.integer("kept", self.kept, low=1)
        checked: dict[str, Any] = {
            "lam": check.scalar("lam", self.lam, low=0.0, high=1.0),
            "alpha": check.scalar("alpha", self.alpha, low=0.0),
            "eta": check.scalar("eta", self.eta, low=0.0),
            "kappa": check.scalar("kappa", self.kappa, low=0.0),
            "kept": kept,
            "steps": check.integer("steps", self.steps, low=kept),
        }
        if self.sigma_ramp_to is not None:
            checked["sigma_ramp_to"] = check.scalar(
                "sigma_ramp_to", self.sigma_ramp_to, largest=LARGEST_RAMP
            )
            check.scalar("sigma", self.sigma, largest=LARGEST_RAMP)
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        if self.steps % self.kept:
            raise ValueError(f"steps is {self.steps}; it should be a multiple of kept, {self.kept}")
        self.check_sigma()

    def make_domain(self) -> Domain:
        """The domain with its options (made once)."""
        return (
            self.domain
            if isinstance(self.domain, Domain)
            else make_domain(self.domain, self.options)
        )

    def make_learner(self) -> Learner | None:
        """The learner's text, that for pairs where features are those of pairs; None for least squares, which have none."""
        pairs = "_pairs" if on_pairs(self.make_domain()) else ""
        return self._text(pairs)

    def _text(self, form: str = "") -> Learner | None:
        if isinstance(self.learner, Learner):
            return self.learner
        if self.learner == "lstd":
            return None
        if self.learner in LEARNERS:
            name = CALLED.get(self.learner, self.learner)
            return BY_NAME.get(name + form, BY_NAME[name])
        found = _import("learner", self.learner)
        check.instance("learner", found, Learner)
        own: Learner = found
        return own

    @property
    def aims_at_target(self) -> bool:
        """Whether the learner weights by ρ and so aims at the value of π."""
        text = self._text()
        return text is None or text.target

    @cached_property
    def key(self) -> str:
        """The key by which a sweep stores the setting."""
        for name in ("domain", "learner"):
            if not isinstance(getattr(self, name), str):
                raise ValueError(
                    f"{name} is an object; in a setting that is stored it should be 'module:name'"
                )
        return super().key

    @property
    def imported(self) -> tuple[str, ...]:
        """The domain and the learner, where they are not from gqlib."""
        return tuple(
            name for name in (self.domain, self.learner) if isinstance(name, str) and ":" in name
        )

    @property
    def checkpoints(self) -> NDArray[np.intp]:
        """Steps after which θ is kept, (kept + 1,)."""
        return np.arange(self.kept + 1) * (self.steps // self.kept)


def on_pairs(domain: Domain) -> bool:
    """Whether features are those of pairs, and not of states (where a domain does not say, of states)."""
    return getattr(domain, "reading", "literal") in ON_PAIRS


def _name(name: str, value: Any, known: tuple[str, ...], others: str) -> None:
    """Refuse what is neither one of a few names nor ``module:name``."""
    if not isinstance(value, str) or ":" not in value:
        check.choice(name, value, known, others=others)


def _import(name: str, path: str) -> Any:
    module, _, attribute = path.partition(":")
    try:
        return getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise ValueError(f"{name} is {path!r}, which cannot be imported: {error}") from error


@lru_cache(maxsize=32)
def make_domain(name: str, options: Options) -> Domain:
    """The domain of that name with these options, made once."""
    made = DOMAINS[name] if name in DOMAINS else check.function("domain", _import("domain", name))
    domain = made(**dict(options))
    check.instance("domain", domain, Domain)
    return domain
