r"""The machine: the book's running example, three states and two actions, small enough to work out by hand.

A machine is *new*, *worn* or *broken*; each morning one *runs* it or *repairs* it. Probabilities of the next state, and
rewards:

                     new    worn   broken    reward
    new,    run      4/5    1/5      0          3
    worn,   run       0     3/5     2/5         2
    broken, run       0      0       1          0
    any,    repair  19/20   1/20     0      −1, −3/2, −2   (new, worn, broken)

The crew (behaviour μ) runs the machine on seven mornings out of ten, whatever its state. The plan (target π) runs a new
machine and repairs any other. The discount is γ = 19/20. For the plan, x = v(new) and y = v(worn) solve two equations,
and v(broken) is y − 1/2:

    x = 3 + γ(4x + y)/5        y = −3/2 + γ(19x + y)/20        x = 20580/457 = 45.03…

In a table the fixed point of Q(σ, λ) is q^{ν_σ} with ν_σ = (1−σ)π + σμ, whatever λ is (after Eq. (16)): at
σ = 0 the values of the plan, at σ = 1 those of the crew.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, get_args

import numpy as np

from gqlib import _validate as check
from gqlib.domains.base import Domain
from gqlib.domains.random_problems import domain_on_pairs
from gqlib.mdp import FiniteMDP

__all__ = [
    "ACTIONS",
    "BROKEN",
    "CREW",
    "NEW",
    "PLAN",
    "REPAIR",
    "RUN",
    "STATES",
    "WORN",
    "machine",
    "machine_mdp",
]

STATES, ACTIONS = ("new", "worn", "broken"), ("run", "repair")
NEW, WORN, BROKEN = range(3)
RUN, REPAIR = range(2)
GAMMA = 0.95
REPAIRED = (0.95, 0.05, 0.0)
MOVES = (((0.8, 0.2, 0.0), REPAIRED), ((0.0, 0.6, 0.4), REPAIRED), ((0.0, 0.0, 1.0), REPAIRED))
REWARDS = ((3.0, -1.0), (2.0, -1.5), (0.0, -2.0))
CREW = check.frozen(np.tile([0.7, 0.3], (3, 1)))
PLAN = check.frozen(np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]))
WEAR = (0.0, 0.5, 1.0)
Features = Literal["table", "wear"]
FEATURES = get_args(Features)


def machine_mdp(gamma: float = GAMMA) -> FiniteMDP:
    """The machine as a finite MDP.

    Parameters
    ----------
    gamma : float in [0, 1)

    Examples
    --------
    >>> mdp = machine_mdp()
    >>> mdp.q(PLAN)[NEW].round(2).tolist(), mdp.q(CREW)[NEW].round(2).tolist()  # run, repair
    ([45.03, 41.59], [27.39, 23.86])
    """
    return FiniteMDP(MOVES, REWARDS, gamma)


def machine(gamma: float = GAMMA, features: Features = "table") -> Domain:
    """The machine as a domain: the crew acts, the plan is evaluated, and trajectories are stationary.

    Parameters
    ----------
    gamma : float in [0, 1)
    features : {"table", "wear"}
        One feature for each pair of state and action, the actions of *new* first; or three, too few on purpose: a
        constant, whether the machine is being repaired, and how worn it is (0, ½, 1) when it runs.

    Returns
    -------
    Domain
        With θ_0 = 0.

    Examples
    --------
    Whose values does the table hold in the end? At σ = 0 the plan's, at σ = 1 the crew's; λ does not matter.

    >>> problem = machine().problem
    >>> [problem.fixed_point(sigma, 0.9)[0].round(2).item() for sigma in (0.0, 0.5, 1.0)]  # (new, run)
    [45.03, 36.61, 27.39]
    >>> machine(features="wear").name
    'machine (wear)'
    >>> machine(features="wear").problem.features.tolist()[2:4]  # (worn, run), (worn, repair)
    [[1.0, 0.0, 0.5], [1.0, 1.0, 0.0]]
    """
    kind = check.choice("features", features, FEATURES)
    three = [
        [1.0, action, WEAR[state] * (1.0 - action)]
        for state in range(3)
        for action in (RUN, REPAIR)
    ]
    phi = np.eye(6) if kind == "table" else np.array(three)
    return replace(domain_on_pairs(machine_mdp(gamma), CREW, PLAN, phi), name=f"machine ({kind})")
