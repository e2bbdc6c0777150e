"""A control experiment as data: everything that determines a result, except the seed (Section 5.2 of the paper)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from gqlib import _validate as check
from gqlib.learners.sigma import SigmaFields
from gqlib.seeds import THETA, generator
from gqlib.sweeps.setting import Setting, later

__all__ = ["ControlSetting", "first_weights"]

TargetPolicy = Literal["greedy", "epsilon-greedy"]
FixedMemory = Literal["int", "iht"]  # the same in every run
Memory = Literal[FixedMemory, "salted", "rltoolkit"]
VTime = Literal["same-step", "lagged"]
Method = Literal["gradient", "semi-gradient", "corrected"]
Ties = Literal["first", "random"]
Start = Literal["valley", "bottom", "anywhere"]
TARGETS = get_args(TargetPolicy)
FIXED_MEMORIES = get_args(FixedMemory)
MEMORIES, V_TIMES, METHODS = get_args(Memory), get_args(VTime), get_args(Method)
TIES, STARTS = get_args(Ties), get_args(Start)
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
    memory : {"int", "iht", "salted", "rltoolkit"}
        How tiles become indices: hashed, numbered in a stated order, or hashed anew for each run, by tiles3 or by
        the RLtoolkit's coder (`gqlib.control.tile_tables`).
    tiles_of : int
        The run whose drawn tiles all runs have; by default, -1, each has its own.
    max_steps : int
        Step limit of an episode; the last update still bootstraps.
    episodes : int
        Number of episodes; theta and omega carry over from one to the next.
    v : {"same-step", "lagged"}
        Which v the update of theta uses: that of the same step, Eq. (26), or that of the previous step, as
        Algorithm 1 is printed.
    method : {"gradient", "semi-gradient", "corrected"}
        GQ(sigma, lambda); or theta + alpha delta e alone (with sigma = 1: Sarsa(lambda), with sigma = 0 and an
        epsilon-greedy target: Expected Sarsa(lambda)); or GQ(sigma, lambda) with importance ratios on sampled
        features (`gqlib.learners.corrected`), which needs a greedy target and v of the same step.
    ties : {"first", "random"}
        Which of several greedy actions is taken.
    start : {"valley", "bottom", "anywhere"}
        Where an episode starts: at rest between -0.6 and -0.4, at rest at -0.5, or at any position left of the goal
        with any velocity.
    theta0, theta0_noise : float
        Mean and standard deviation of the weights at first, drawn for each run.
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
    target: TargetPolicy = "greedy"
    p: int = 1024
    tilings: int = 8
    memory: Memory = "int"
    max_steps: int = 5000
    episodes: int = 400
    v: VTime = "same-step"
    method: Method = "gradient"
    ties: Ties = later("first")
    start: Start = later("valley")
    theta0: float = later(0.0)
    theta0_noise: float = later(0.0)
    tiles_of: int = later(-1)

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
            "ties": check.choice("ties", self.ties, TIES),
            "start": check.choice("start", self.start, STARTS),
            "theta0": check.scalar("theta0", self.theta0),
            "theta0_noise": check.scalar("theta0_noise", self.theta0_noise, low=0.0),
            "tiles_of": check.integer("tiles_of", self.tiles_of, low=-1, high=2**31 - 1),
        }
        if self.method == "corrected" and (self.target, self.v) != ("greedy", "same-step"):
            given = f"method is 'corrected', target {self.target!r} and v {self.v!r}"
            raise ValueError(f"{given}; they should be 'greedy' and 'same-step'")
        self.check_sigma(low=0.0, high=1.0)
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    def __str__(self) -> str:
        name = {"gradient": "GQ", "semi-gradient": "semi-gradient Q", "corrected": "corrected GQ"}[
            self.method
        ]
        noise = f"~N({self.sigma:g}, {self.sigma_noise:g}^2) per {self.sigma_drawn}"
        sigma = noise + ", clipped" * self.sigma_clipped if self.sigma_noise else f"={self.sigma:g}"
        decay = f", sigma *= {self.sigma_decay:g} per episode" if self.sigma_decay != 1.0 else ""
        lagged = ", lagged v" if self.v == "lagged" else ""
        opening = [f"ties {self.ties}"] * (self.ties != "first")
        opening += [f"from {self.start}"] * (self.start != "valley")
        opening += [f"tiles of run {self.tiles_of}"] * (self.tiles_of >= 0)
        if self.theta0 or self.theta0_noise:
            opening.append(
                f"theta0={self.theta0:g}" + f"~{self.theta0_noise:g}" * (self.theta0_noise > 0.0)
            )
        return (
            f"{name}(sigma{sigma}, lam={self.lam:g}){decay}{lagged}, gamma={self.gamma:g}, alpha={self.alpha:g}, "
            f"eta={self.eta:g}, {self.target} target, epsilon={self.epsilon:g}, p={self.p} ({self.memory}), "
            f"{self.tilings} tilings, {self.episodes} episodes of at most {self.max_steps} steps"
            + "".join(f", {words}" for words in opening)
        )


def first_weights(setting: ControlSetting, seed: int, run: int) -> NDArray[np.float64]:
    """The weights with which a run starts, (p,).

    Examples
    --------
    >>> first_weights(ControlSetting(p=3, theta0=-1.0), 0, 0).tolist()
    [-1.0, -1.0, -1.0]
    """
    check.instance("setting", setting, ControlSetting)
    return drawn_weights(setting.p, setting.theta0, setting.theta0_noise, seed, run)


def drawn_weights(p: int, mean: float, noise: float, seed: int, run: int) -> NDArray[np.float64]:
    """Normal weights, (p,), from the stream that a run has for them."""
    weights = np.full(p, mean)
    if noise > 0.0:
        weights += noise * generator(seed, run, THETA).standard_normal(p)
    return weights
