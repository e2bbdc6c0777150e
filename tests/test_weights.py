"""What an agent has learned, held in two forms: looks without learning, shapes that change, and how it begins."""

import numpy as np
import pytest

from gqlib.control._weights import Dense, Sparse
from gqlib.control.agent import TableCoder


class Counting:
    """Features that say whether they were asked or only looked at."""

    def __init__(self, width=3):
        self.width, self.asked, self.peeked = width, 0, 0

    def __call__(self, state):
        self.asked += 1
        return np.full((2, self.width), float(state))

    def peek(self, state):
        self.peeked += 1
        return np.full((2, self.width), float(state))


def test_features_are_asked_for_unless_one_only_looks():
    features = Counting()
    weights = Dense(features)
    weights.phi(1)
    assert (features.asked, features.peeked) == (1, 0)
    np.testing.assert_array_equal(weights.values(1, peek=True), [0.0, 0.0])
    assert (features.asked, features.peeked) == (1, 1)
    weights.values(1, peek=False)
    assert (features.asked, features.peeked) == (2, 1)
    assert weights.best(1) == (0, 2)
    assert (features.asked, features.peeked) == (3, 1)


def test_features_without_a_look_are_asked_in_any_case():
    weights = Dense(lambda state: [[state, 1.0]])
    np.testing.assert_array_equal(weights.phi(2.0, peek=True), [[2.0, 1.0]])


def test_features_keep_their_width():
    features = Counting()
    weights = Dense(features)
    weights.phi(1)
    assert {name: array.tolist() for name, array in weights.state().items()} == dict.fromkeys(
        ("theta", "omega", "trace"), [0.0] * 3
    )
    features.width = 4
    with pytest.raises(ValueError, match=r"^features returned shape \(2, 4\); it should be \(actions, 3\)$"):
        weights.phi(1)


def test_features_have_two_axes():
    with pytest.raises(ValueError, match=r"^features returned shape \(3,\); it should be \(actions, d\)$"):
        Dense(lambda state: np.zeros(3)).phi(1)


def test_nothing_is_known_before_the_first_state():
    weights = Dense(Counting())
    assert weights.state() == {}
    weights.forget()
    weights.restore({})
    with pytest.raises(ValueError, match=r"^theta is not known; the agent should have seen a state before$"):
        _ = weights.theta


def test_a_trace_is_forgotten_and_the_rest_kept():
    weights = Dense(Counting())
    weights.restore({"theta": [1.0, 2.0], "omega": [3.0, 4.0], "trace": [5.0, 6.0]})
    weights.forget()
    kept = {name: array.tolist() for name, array in weights.state().items()}
    assert kept == {"theta": [1.0, 2.0], "omega": [3.0, 4.0], "trace": [0.0, 0.0]}
    weights.state()["theta"][:] = 9.0
    assert weights.theta.tolist() == [1.0, 2.0]


def test_a_sparse_agent_begins_with_nothing():
    weights = Sparse(TableCoder(4, 2))
    begun = weights.state()
    assert begun["lazy"].tolist() == [1.0, 0.0, 0.0, 0.0, 0.0]
    assert begun["weights"].shape == (8, 3)
    assert not begun["weights"].any()
    assert begun["touched"].tolist() == []
    assert weights.theta.tolist() == weights.trace.tolist() == [0.0] * 8
