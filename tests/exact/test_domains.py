"""What every domain holds to: its sampler and its problem agree, the generator decides, nothing changes."""

import copy
import pickle
import re
from pathlib import Path

import numpy as np
import pytest
from walks import assert_samples

from gqlib import FiniteMDP, domains
from gqlib.domains import (
    baird_star,
    boyan_chain,
    cart_pole,
    collision,
    domain_on_pairs,
    five_state_walk,
    machine,
    own_domain,
    random_mdp,
    random_policy,
    two_state,
)

READINGS = ("literal", "expected", "stacked")
PAID = [[1.0, -0.5], [2.0, 3.0]]


def maze(reading):
    """Four states and an end, three actions, random features that cannot represent q."""
    rng = np.random.default_rng(5)
    moves = rng.dirichlet(np.ones(5), size=(5, 3))
    mdp = FiniteMDP(moves, rng.standard_normal((5, 3)), 0.95, terminal=[4])
    features = rng.standard_normal((15 if reading == "pairs" else 5, 4))
    policies = [random_policy(rng, 5, 3) for _ in range(2)]
    return own_domain(mdp, *policies, features, start=[0.5, 0.5, 0, 0, 0], reading=reading)


def on_pairs():
    rng = np.random.default_rng(4)
    policies = [random_policy(rng, 3, 2) for _ in range(2)]
    return domain_on_pairs(random_mdp(rng, 3, 2, 0.8), *policies, np.eye(6), np.arange(6.0))


# The first weights, by name where they are published or handed in.
FIRST = {"two_state": [2, 0], "baird": [1, 1, 1, 1, 1, 1, 10, 1], "on_pairs": range(6)}
DOMAINS = {
    **{
        f"two_state {ending}": lambda ending=ending: two_state(0.9, ending, rewards=PAID)
        for ending in ("continuing", "bootstrap", "terminal")
    },
    **{
        f"{name} {reading}": lambda make=make, reading=reading: make(reading=reading)
        for name, make in (
            ("baird", lambda reading: baird_star(features="classical", reading=reading)),
            ("boyan", lambda reading: boyan_chain(gamma=0.95, reading=reading)),
            ("boyan, zero at the end", lambda reading: boyan_chain(gamma=0.95, reading=reading, terminal_features="zero")),
            ("maze", maze),
        )
        for reading in READINGS
    },
    "baird, eight states": lambda: baird_star(features="classical", states=8, reading="expected"),
    "boyan, jump": lambda: boyan_chain(gamma=0.95, end="jump"),
    "boyan, cut": lambda: boyan_chain(gamma=0.95, end="absorb", episode_steps=20, reading="expected"),
    **{
        f"cart_pole {policy} {reading}": lambda policy=policy, reading=reading: cart_pole(
            features="public", policy=policy, reading=reading, start="stationary"
        )
        for policy in ("on", "off")
        for reading in ("literal", "expected")
    },
    "collision": collision,
    **{f"walk {kind}": lambda kind=kind: five_state_walk(kind) for kind in ("tabular", "dependent")},
    **{f"machine {kind}": lambda kind=kind: machine(features=kind) for kind in ("table", "wear")},
    "maze pairs": lambda: maze("pairs"),
    "on_pairs": on_pairs,
}  # fmt: skip


@pytest.mark.parametrize("name", DOMAINS)
def test_a_domain_samples_its_problem_is_determined_by_its_generator_and_does_not_change(name):
    domain, again = DOMAINS[name](), DOMAINS[name]()
    path, same = (
        domain.trajectory(5_000, np.random.default_rng(4)),
        domain.trajectory(7, np.random.default_rng(4)),
    )
    assert same == again.trajectory(7, np.random.default_rng(4))
    assert path != again.trajectory(5_000, np.random.default_rng(5))
    assert_samples(path, domain.problem, sigma=0.4, lam=0.5)
    inside = ~path.ends[:-1]
    np.testing.assert_array_equal(path.phi_next[:-1][inside], path.phi[1:][inside])
    for given in (again, copy.copy(domain), pickle.loads(pickle.dumps(domain))):
        assert (given == domain, hash(given) == hash(domain)) == (True, True)
    assert (
        repr(domain).startswith(f"{type(domain).__name__}({domain.name!r}, PredictionProblem(n=")
        or "cart" in name
    )
    wanted = FIRST.get(name.split()[0], domain.theta0)
    np.testing.assert_array_equal(domain.theta0[: len(wanted)], wanted)
    assert np.isfinite(getattr(domain, "truth", 0.0)).all()
    for array in (domain.theta0, domain.problem.features, domain.problem.p_mu, domain.problem.xi):
        assert not array.flags.writeable


def test_domains_that_differ_are_not_equal():
    made = [make() for make in DOMAINS.values()]
    assert all((one == other) == (one is other) for one in made for other in made)


def test_every_domain_is_among_them():
    makers = [
        name
        for name in domains.__all__
        if "return" in getattr(vars(domains)[name], "__annotations__", {})
    ]
    ours = [
        n
        for n in makers
        if re.search("Domain|CartPole", vars(domains)[n].__annotations__["return"])
    ]
    text = Path(__file__).read_text(encoding="utf-8")
    assert [n for n in ours if f"{n}(" not in text and f": {n}," not in text] == [], (
        "add a line to DOMAINS"
    )
