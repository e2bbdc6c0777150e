"""The domains: each prediction domain is a function that returns a `Domain`; mountain car is a module."""

from gqlib.domains.baird_star import baird_star
from gqlib.domains.base import Domain, Trajectory
from gqlib.domains.boyan_chain import boyan_chain
from gqlib.domains.cart_pole import cart_pole
from gqlib.domains.collision import collision, collision_features
from gqlib.domains.five_state_walk import five_state_walk
from gqlib.domains.machine import machine
from gqlib.domains.own import own_domain
from gqlib.domains.random_problems import domain_on_pairs, random_mdp, random_policy, random_problem
from gqlib.domains.two_state import two_state

__all__ = [
    "Domain",
    "Trajectory",
    "baird_star",
    "boyan_chain",
    "cart_pole",
    "collision",
    "collision_features",
    "domain_on_pairs",
    "five_state_walk",
    "machine",
    "own_domain",
    "random_mdp",
    "random_policy",
    "random_problem",
    "two_state",
]
