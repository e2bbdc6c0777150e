"""A control experiment as data: everything that determines a result, except the seed (Section 5.2 of the paper)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gqlib import _validate as check
from gqlib.learners.sigma import SigmaFields
from gqlib.sweeps.setting import Setting

__all__ = ["ControlSetting"]

TARGETS = ("greedy", "epsilon-greedy")
MEMORIES = ("int", "iht")
V_TIMES = ("same-step", "lagged")
METHODS = ("gradient", "semi-gradient")
LARGEST_MEMORY = 2**16  # the engine stores indices in 16 bits
MOST_TILINGS = 32


@dataclass(frozen=True)
class ControlSetting(SigmaFields, Setting):
    """Everything that determines the result of a control experiment, except the seed.

    Parameters
    ----------
    lam, gamma : float
        Trace and discount parameters, in [0, 1]. The paper: 0.99 for both.
    alpha : float
        Step size of theta, not divided by the number of tilings. The paper: 0.01, 0.02, 0.001, 0.002.
    eta : float
        Ratio beta/alpha of the step sizes of omega and theta. The paper: 2**0, ..., 2**-10.
    epsilon : float
        Exploration of the behaviour policy (and of an epsilon-greedy target policy).
    target : {"greedy", "epsilon-greedy"}
        Target policy.
    p : int
        Size of the tile coder's memory, the number of features.
    tilings : int
        Number of tilings of 8 x 8 tiles.
    memory : {"int", "iht"}
        How tiles become indices: hashed, or numbered in a stated order (`gqlib.control.tile_tables`).
    max_steps : int
        Step limit of an episode; the last update still bootstraps.
    episodes : int
        Number of episodes; theta and omega carry over from one to the next.
    v : {"same-step", "lagged"}
        Which v the update of theta uses: that of the same step, Eq. (26), or that of the previous step, as
        Algorithm 1 is printed.
    method : {"gradient", "semi-gradient"}
        GQ(sigma, lambda), or theta + alpha delta e alone (with sigma = 1: Sarsa(lambda)).
    sigma, sigma_noise, sigma_drawn, sigma_clipped, sigma_decay
        Degree of sampling, in [0, 1], and how it changes: see `gqlib.learners.sigma.SigmaFields`.

    Examples
    --------
    >>> setting = ControlSetting(sigma=0.5, p=512)
    >>> print(setting)
    GQ(sigma=0.5, lam=0.99), gamma=0.99, alpha=0.001, eta=1, greedy target, epsilon=0.1, p=512 (int), 8 tilings, \
400 episodes of at most 5000 steps
    >>> setting.key[:12] == ControlSetting(p=512, sigma=0.5).key[:12]
    True
    """

    lam: float = 0.99
    gamma: float = 0.99
    alpha: float = 0.001
    eta: float = 1.0
    epsilon: float = 0.1
    target: str = "greedy"
    p: int = 1024
    tilings: int = 8
    memory: str = "int"
    max_steps: int = 5000
    episodes: int = 400
    v: str = "same-step"
    method: str = "gradient"

    def __post_init__(self) -> None:
        checked: dict[str, Any] = {
            "lam": check.scalar("lam", self.lam, low=0.0, high=1.0),
            "gamma": check.scalar("gamma", self.gamma, low=0.0, high=1.0),
            "alpha": check.scalar("alpha", self.alpha, low=0.0, open_low=True),
            "eta": check.scalar("eta", self.eta, low=0.0),
            "epsilon": check.scalar("epsilon", self.epsilon, low=0.0, high=1.0),
            "target": check.choice("target", self.target, TARGETS),
            "p": check.integer("p", self.p, low=1, high=LARGEST_MEMORY),
            "tilings": check.integer("tilings", self.tilings, low=1, high=MOST_TILINGS),
            "memory": check.choice("memory", self.memory, MEMORIES),
            "max_steps": check.integer("max_steps", self.max_steps, low=1, high=2**31 - 1),
            "episodes": check.integer("episodes", self.episodes, low=1, high=2**31 - 1),
            "v": check.choice("v", self.v, V_TIMES),
            "method": check.choice("method", self.method, METHODS),
        }
        self.check_sigma(low=0.0, high=1.0)
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    def __str__(self) -> str:
        name = "GQ" if self.method == "gradient" else "semi-gradient Q"
        noise = f"~N({self.sigma:g}, {self.sigma_noise:g}^2) per {self.sigma_drawn}"
        sigma = noise + ", clipped" * self.sigma_clipped if self.sigma_noise else f"={self.sigma:g}"
        decay = f", sigma *= {self.sigma_decay:g} per episode" if self.sigma_decay != 1.0 else ""
        lagged = ", lagged v" if self.v == "lagged" else ""
        return (
            f"{name}(sigma{sigma}, lam={self.lam:g}){decay}{lagged}, gamma={self.gamma:g}, alpha={self.alpha:g}, "
            f"eta={self.eta:g}, {self.target} target, epsilon={self.epsilon:g}, p={self.p} ({self.memory}), "
            f"{self.tilings} tilings, {self.episodes} episodes of at most {self.max_steps} steps"
        )
