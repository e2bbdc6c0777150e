"""What an agent has learned, held in two forms: looks without learning, shapes that change, and how it begins."""

import re

import numpy as np
import pytest

from gqlib._validate import Diverged
from gqlib.control._weights import Dense, Numbers, Sparse
from gqlib.control.features import TableCoder, TileCoder
from gqlib.learners.texts import LEARNERS

RATES = Numbers(0.5, 0.9, 0.95, 0.1, 0.05, 0.2, False, "expected_gq")
SMALLER = "weights, features and rates should be smaller"


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
    with pytest.raises(
        ValueError, match=r"^features returned shape \(2, 4\); it should be \(actions, 3\)$"
    ):
        weights.phi(1)


def test_features_have_two_axes():
    with pytest.raises(
        ValueError, match=r"^features returned shape \(3,\); it should be \(actions, d\)$"
    ):
        Dense(lambda state: np.zeros(3)).phi(1)


def test_nothing_is_known_before_the_first_state():
    weights = Dense(Counting())
    assert weights.state() == {}
    weights.forget()
    weights.restore({})
    with pytest.raises(
        ValueError, match=r"^theta is not known; the agent should have seen a state before$"
    ):
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
    assert begun["lazy"].tolist() == [1.0, 0.0, 0.0, 0.0, 0.0, 1.0] + [0.0] * 7
    assert begun["weights"].shape == (8, 3)
    assert not begun["weights"].any()
    assert begun["touched"].tolist() == []
    assert weights.theta.tolist() == weights.trace.tolist() == [0.0] * 8
    assert weights._values.tolist() == [0.0, 0.0]


def saved(**changes):
    """What a table of two states and one action has saved, with changes; None leaves a part out."""
    parts = {
        "weights": np.array([[1.0, 2.0, 0.0], [3.0, 4.0, 0.5]]),
        "lazy": np.array([1.0, 0.5, 0.25, 2.0, 0.25]),
    }
    parts |= {"touched": np.array([1])} | changes
    return {name: part for name, part in parts.items() if part is not None}


def lazy(first):
    return np.array([first, 0.0, 0.0, 0.0, 0.0])


ASTRAY = "touched is not where the trace is; it should be what an agent has saved"


@pytest.mark.parametrize(
    ("changes", "told"),
    [({"weights": None}, "weights has shape (0,); it should have shape (2, 3)"),
     ({"weights": np.zeros((3, 3))}, "weights has shape (3, 3); it should have shape (2, 3)"),
     ({"weights": np.full((2, 3), np.nan)}, "weights is nan at (0, 0); every entry should be finite"),
     ({"lazy": None}, "lazy has shape (0,); it should have shape (13,)"),
     ({"lazy": np.ones(4)}, "lazy has shape (4,); it should have shape (13,)"),
     ({"lazy": lazy(np.inf)}, "lazy is inf at (0,); every entry should be finite"),
     *(({"lazy": lazy(first)}, ASTRAY) for first in (0.0, -1.0)),
     *(({"touched": touched}, ASTRAY)
       for touched in (None, np.array([1.0]), np.array([], dtype=np.int64), np.array([0]), np.array([0, 1]),
                       np.array([1, 1])))],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_a_sparse_agent_takes_over_only_what_was_saved(changes, told):
    weights = Sparse(TableCoder(2, 1))
    with pytest.raises(ValueError, match=f"^{re.escape(told)}$"):
        weights.restore(saved(**changes))


@pytest.mark.parametrize("kind", [np.int64, np.uint8])
@pytest.mark.parametrize("first", [1.0, 1e-100])
def test_a_sparse_agent_is_what_it_has_taken_over(kind, first):
    weights = Sparse(TableCoder(2, 1))
    parts = saved(touched=np.array([1], dtype=kind), lazy=np.array([first, 0.5, 0.25, 1e60, 1e70]))
    parts["weights"][0] = (
        1e60,
        1e70,
        0.0,
    )  # beyond what arguments may be, and within what a learner may be
    weights.restore(parts)
    assert weights.theta.tolist() == [1e60, 3.25]
    assert weights.trace.tolist() == [0.0, first * 0.5]
    state = weights.state()
    assert state["lazy"][5:].tolist() == [1.0] + [0.0] * 7
    for name, part in (state | {"lazy": state["lazy"][:5]}).items():
        np.testing.assert_array_equal(part, parts[name])
    assert weights.values(1, peek=True).tolist() == [3.25]
    weights.forget()
    assert weights.theta.tolist() == [1e60, 3.25]
    assert weights.trace.tolist() == [0.0, 0.0]
    assert weights.state()["touched"].tolist() == []


@pytest.mark.parametrize(
    ("arrays", "told"),
    [({"omega": [1.0]}, "theta has shape (0,); it should have shape (any,)"),
     ({"theta": [[1.0]]}, "theta has shape (1, 1); it should have shape (any,)"),
     ({"theta": [np.nan]}, "theta is nan at (0,); every entry should be finite"),
     ({"theta": [1.0, 2.0], "trace": [1.0, 2.0]}, "omega has shape (0,); it should have shape (2,)"),
     ({"theta": [1.0], "omega": [1.0, 2.0]}, "omega has shape (2,); it should have shape (1,)"),
     ({"theta": [1.0], "omega": [1.0]}, "trace has shape (0,); it should have shape (1,)"),
     ({"theta": [1.0], "omega": [1.0], "trace": [np.inf]}, "trace is inf at (0,); every entry should be finite")],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_a_dense_agent_takes_over_only_what_was_saved(arrays, told):
    with pytest.raises(ValueError, match=f"^{re.escape(told)}$"):
        Dense(Counting()).restore(arrays)


def test_a_dense_agent_is_what_it_has_taken_over():
    weights = Dense(Counting())
    parts = {"theta": [1e60, 1.0], "omega": [2.0, 1e70], "trace": [-1e80, 3.0]}
    weights.restore(parts | {"more": [1.0]})
    assert {name: array.tolist() for name, array in weights.state().items()} == parts
    assert weights.trace.tolist() == parts["trace"]


def test_a_state_without_numbers_is_refused_by_its_features():
    with pytest.raises(
        ValueError, match=r"^features of a state is 'none'; it should be an array of real numbers$"
    ):
        Dense(lambda state: "none").phi(1)
    with pytest.raises(
        ValueError, match=r"^features of 7 are not all finite; state and features should be$"
    ):
        Dense(lambda state: [[1.0, np.inf]]).phi(7)


@pytest.mark.parametrize("theta", [[1e308, 1e308], [1e308, -1e308]])
def test_values_that_overflow_are_a_divergence_and_no_warning(theta):
    weights = Dense(lambda state: [[10.0, 10.0], [0.0, 0.0]])
    weights.restore({"theta": theta, "omega": [0.0, 0.0], "trace": [0.0, 0.0]})
    for call in (lambda: weights.values(0, peek=True), lambda: weights.best(0)):
        with pytest.raises(Diverged, match=f"^values overflows in this step; {SMALLER}$"):
            call()


def kinds():
    """The same two states and two actions, on active features and on arrays."""
    table = TableCoder(2, 2)
    return {"sparse": Sparse(table), "dense": Dense(lambda state: table(state))}


@pytest.mark.parametrize("kind", kinds())
def test_a_step_is_refused_beyond_the_bound_and_not_at_it(kind):
    weights = kinds()[kind]
    tiny = RATES._replace(alpha=1e-100, beta=1e-100, sigma=0.0)
    for reward in (1.001e100, -1.001e100):
        with pytest.raises(Diverged, match=rf"^delta is beyond 1e\+100 in this step; {SMALLER}$"):
            weights.learn(0, 0, reward, 1, 0, True, tiny)
    assert weights.theta.tolist() == [0.0] * 4
    assert weights.learn(0, 0, 1e100, 1, 0, True, tiny) == 1e100
    assert weights.learn(1, 1, -1e100, 1, 0, False, tiny) == -1e100
    assert weights.best(0) == (0, 2)
    np.testing.assert_allclose(weights.theta[0], 1.0 - 0.9 * 0.95, rtol=1e-12)


def test_a_step_with_its_choice_is_refused_beyond_the_bound():
    table = TableCoder(2, 2)
    weights, rng = Sparse(table), np.random.default_rng(0)
    tiny = RATES._replace(alpha=1e-100, beta=1e-100)
    with pytest.raises(Diverged, match=rf"^delta is beyond 1e\+100 in this step; {SMALLER}$"):
        weights.advance(0, 0, 1.001e100, 1, True, rng, tiny)
    weights.weights[0, 0] = np.inf
    told = rf"^the value of an action is beyond 1e\+100 in this step; {SMALLER}$"
    for call in (
        lambda: weights.advance(1, 0, 0.0, 0, True, rng, tiny),
        lambda: weights.values(0, peek=True),
    ):
        with pytest.raises(Diverged, match=told):
            call()


# Each is compiled anew, which takes two seconds.
QUICK = ("gq", "expected_gq")
EACH = [
    name if name in QUICK else pytest.param(name, marks=pytest.mark.slow)
    for name, learner in LEARNERS.items()
    if not learner.late
]


@pytest.mark.parametrize("learner", EACH)
@pytest.mark.parametrize("greedy", [False, True])
def test_both_forms_choose_and_learn_alike(learner, greedy):
    rates = Numbers(0.25, 0.8, 0.9, 0.1, 0.05, 0.3, greedy, learner)
    table = TableCoder(3, 3)
    sparse, dense, rng = Sparse(table), Dense(table), np.random.default_rng(5)
    state, action = 0, 1
    for step in range(60):
        after, reward, goes_on = int(rng.integers(3)), float(rng.standard_normal()), step % 7 != 0
        twin = np.random.default_rng(step)
        best, count = dense.best(after)
        explore, which = twin.random(2)
        wanted = int(which * count) if explore < rates.epsilon else best
        dense.learn(state, action, reward, after, wanted, goes_on, rates)
        chosen = sparse.advance(
            state, action, reward, after, goes_on, np.random.default_rng(step), rates
        )
        assert chosen == wanted
        np.testing.assert_allclose(sparse.theta, dense.theta, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(sparse.trace, dense.trace, rtol=1e-9, atol=1e-12)
        state, action = (after, chosen) if goes_on else (0, 0)
        if not goes_on:
            sparse.forget()
            dense.forget()
            assert not sparse.trace.any()
    assert sparse.best(1) == dense.best(1)


class Found(TileCoder):
    """A coder that notes what it was asked to find."""

    def __init__(self, **options):
        super().__init__([0.0], [8.0], 1, tiles_per_side=8, tilings=1, **options)
        self.asked = []

    def _found(self, point, *, peek):
        self.asked.append((float(point[0]), peek))
        return super()._found(point, peek=peek)


def test_features_of_the_last_two_states_are_kept():
    coder = Found()
    weights = Sparse(coder)
    for state in (1.5, 2.5, 1.5, 2.5, 2.5, 3.5, 2.5, 3.5, 1.5):
        rows = weights.rows([state])
        assert rows.tolist() == coder.active([state]).tolist()
        coder.asked.pop()
    assert coder.asked == [(1.5, False), (2.5, False), (3.5, False), (1.5, False)]


def test_a_look_is_not_kept_and_uses_what_is():
    coder = Found()
    weights = Sparse(coder)
    weights.rows([1.5])
    assert weights.rows([1.5], peek=True).tolist() == [[0]]
    assert weights.rows([2.5], peek=True).tolist() == [[-1]]
    assert weights.values([2.5], peek=True).tolist() == [0.0]
    assert weights.rows([2.5]).tolist() == [[1]]
    assert coder.asked == [(1.5, False), (2.5, True), (2.5, True), (2.5, False)]
    assert weights.values([3.5], peek=False).tolist() == [0.0]
    assert coder.used == 3


def test_states_of_the_same_bytes_and_another_kind_are_not_the_same():
    coder = Found()
    weights, state = Sparse(coder), np.array([5.5])
    bits = state.view(np.int64)  # a large number, which is moved to the edge
    assert weights.rows(state).tolist() == [[0]]
    assert weights.rows(bits).tolist() == [[1]]
    assert coder.asked == [(5.5, False), (float(bits[0]), False)]


def test_what_is_returned_may_be_changed():
    weights = Sparse(TableCoder(2, 2))
    weights.learn(0, 1, 1.0, 1, 0, True, RATES)
    theta, trace, values = weights.theta, weights.trace, weights.values(0, peek=True)
    for array in (weights.theta, weights.trace, weights.values(0, peek=True)):
        array[:] = 9.0
    np.testing.assert_array_equal(weights.theta, theta)
    np.testing.assert_array_equal(weights.trace, trace)
    np.testing.assert_array_equal(weights.values(0, peek=True), values)
