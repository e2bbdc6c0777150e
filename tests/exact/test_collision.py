"""Collision and the five-state walks: published laws and values come out, and the samplers follow the exact problem."""

import numpy as np
import pytest

from gqlib.domains import collision, collision_features, five_state_walk

# The law of the behaviour and the values that the study's public repository (sinaghiassian/OffpolicyAlgorithms, README)
# prints, the first estimated there from 20 million steps.
PUBLISHED_LAW = [
    0.05715078,
    0.1142799,
    0.17142456,
    0.22856842,
    0.22856842,
    0.11428067,
    0.05715311,
    0.02857415,
]
PUBLISHED_VALUES = [0.4782969, 0.531441, 0.59049, 0.6561, 0.729, 0.81, 0.9, 1.0]


def test_the_published_law_and_values_come_out():
    domain = collision()
    assert (
        np.abs(domain.problem.xi[:8] - PUBLISHED_LAW).max() < 5e-5
    )  # four standard errors of their estimate
    assert np.abs(domain.problem.xi[:8] * 35.0 - [2, 4, 6, 8, 8, 4, 2, 1]).max() < 1e-12
    assert np.abs(domain.truth[:8] - PUBLISHED_VALUES).max() < 1e-12


def test_features_are_three_ones_of_six_and_every_triple_occurs():
    phi = np.concatenate([collision_features(np.random.default_rng(seed)) for seed in range(100)])
    assert (phi.sum(axis=1) == 3.0).all()
    assert len({tuple(row) for row in phi}) == 20
    # Each component is on half of the time: 800 coins, five standard deviations.
    assert np.abs(phi.mean(axis=0) - 0.5).max() < 5 * 0.5 / np.sqrt(800)


@pytest.mark.parametrize("kind", ["tabular", "inverted", "dependent"])
def test_values_of_the_walk_are_those_of_gamblers_ruin(kind):
    walk, q, s = five_state_walk(kind), 0.4 / 0.6, np.arange(1, 6)
    assert np.abs(walk.truth[1:6] - (2 * (1 - q**s) / (1 - q**6) - 1)).max() < 1e-12
    assert np.abs((walk.tables.phi[1:6, 0] ** 2).sum(axis=1) - 1.0).max() < 1e-12
    assert np.abs(walk.problem.xi * 9 - [0, 1, 2, 3, 2, 1, 0]).max() < 1e-12


def test_features_are_those_of_the_literature():
    """Sutton et al. (2009): one for each state; all but that one; one for each third of the walk, overlapping."""
    inverted, dependent = (
        five_state_walk(kind).tables.phi[:, 0] for kind in ("inverted", "dependent")
    )
    half, two, three = 0.5, np.sqrt(0.5), np.sqrt(1 / 3)
    np.testing.assert_array_equal(inverted[1:6], half * (np.ones((5, 5)) - np.eye(5)))
    rows = [[1, 0, 0], [two, two, 0], [three, three, three], [0, two, two], [0, 0, 1]]
    np.testing.assert_allclose(dependent[1:6], rows, rtol=1e-15)
    for phi in (inverted, dependent):
        assert not phi[[0, 6]].any()  # the ends
    plain = five_state_walk()
    np.testing.assert_array_equal(plain.tables.phi[1:6, 0], np.eye(5))
    assert plain.name == "five_state_walk(tabular)"
    np.testing.assert_array_equal(plain.chain.transitions.sum(axis=2), 1.0)


def test_collision_has_the_features_that_are_given_and_starts_in_four_states():
    phi = collision_features(np.random.default_rng(3))
    domain = collision(phi)
    np.testing.assert_array_equal(domain.tables.phi[:, 0], np.vstack([phi, np.zeros((1, 6))]))
    np.testing.assert_array_equal(domain.theta0, np.zeros(6))
    np.testing.assert_array_equal(domain.chain.start, [0.25] * 4 + [0.0] * 5)
    np.testing.assert_array_equal(domain.chain.transitions.sum(axis=2), 1.0)
    assert (domain.name, phi.dtype) == ("collision", np.float64)
