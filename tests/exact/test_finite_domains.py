"""Finite domains, entry by entry: tables, problem, walk and truth of a small chain, by loops over its pairs."""

import itertools

import numpy as np
import pytest

from gqlib.domains.finite import Chain, assemble, fixed_order_product

RNG = np.random.default_rng(11)
S, A, D = 3, 2, 2
MOVES = RNG.dirichlet(np.ones(S), size=(S, A))
MU, PI = RNG.dirichlet(np.ones(A), size=S), RNG.dirichlet(np.ones(A), size=S)
START = np.array([0.7, 0.3, 0.0])
REWARDS, Q = RNG.standard_normal((S, A)), RNG.standard_normal((S, A))
STATES, PAIRS = RNG.standard_normal((S, D)), RNG.standard_normal((S * A, D))
READINGS = ("literal", "expected", "stacked", "pairs")
LAST = np.array([False, False, True])
NEVER = np.zeros(S, dtype=bool)


def made(reading, ends_on=NEVER, horizon=0):
    features = PAIRS if reading == "pairs" else STATES
    chain = Chain(MOVES, MU, START, ends_on, horizon)
    return assemble(
        "small", chain, PI, features, REWARDS, 0.8, np.array([1.0, 2.0]), reading, lambda: Q
    )


def test_only_what_rounding_leaves_out_of_a_law_is_made_up():
    """A state that is reached once in a billion steps keeps its place; a sum of tenths that falls short reaches one."""
    rare = np.array([[[0.5, 0.5 - 1e-9, 1e-9]] * A] * S)
    chain = Chain(rare, MU, START, NEVER)
    assert chain.cumulative[2][0, 0].tolist() == [0.5, 0.5 + (0.5 - 1e-9), 1.0]
    tenths = Chain(
        np.full((10, 1, 10), 0.1), np.ones((10, 1)), np.full(10, 0.1), np.zeros(10, dtype=bool)
    )
    assert (
        np.cumsum(np.full(10, 0.1))[-1]
        < 1.0
        == tenths.cumulative[0][-1]
        == tenths.cumulative[2][3, 0, -1]
    )


def seen(reading, s, a):
    """φ(s, a) in each reading."""
    if reading == "pairs":
        return PAIRS[s * A + a].tolist()
    if reading == "stacked":
        return [STATES[s, d] if b == a else 0.0 for b in range(A) for d in range(D)]
    return STATES[s].tolist()


@pytest.mark.parametrize("reading", READINGS)
def test_tables_hold_what_a_learner_sees(reading):
    tables = made(reading).tables
    for s, a in itertools.product(range(S), range(A)):
        assert tables.phi[s, a].tolist() == seen(reading, s, a)
        assert tables.rewards[s, a] == REWARDS[s, a]
        assert tables.rho[s, a] == PI[s, a] / MU[s, a]
        if reading == "expected":
            mean = sum(PI[s, b] * MOVES[s, b, t] * STATES[t] for b in range(A) for t in range(S))
            np.testing.assert_allclose(tables.expected[s, a], mean)
    if reading in ("stacked", "pairs"):
        mean = [sum(PI[s, b] * np.array(seen(reading, s, b)) for b in range(A)) for s in range(S)]
        np.testing.assert_allclose(tables.expected, mean)
    if reading == "literal":
        np.testing.assert_array_equal(tables.expected, STATES)


def steps_of(reading, policy):
    """P of the next index, on states or pairs."""
    if reading in ("stacked", "pairs"):
        pairs = list(itertools.product(range(S), range(A)))
        return np.array([[MOVES[s, a, t] * policy[t, c] for t, c in pairs] for s, a in pairs])
    return np.array(
        [[sum(policy[s, a] * MOVES[s, a, t] for a in range(A)) for t in range(S)] for s in range(S)]
    )


@pytest.mark.parametrize(("ends_on", "horizon"), [(NEVER, 0), (LAST, 0), (NEVER, 3), (LAST, 4)])
@pytest.mark.parametrize("reading", READINGS)
def test_the_problem_is_that_of_the_walk(reading, ends_on, horizon):
    problem = made(reading, ends_on, horizon).problem
    on_pairs = reading in ("stacked", "pairs")
    size = S * A if on_pairs else S
    last = np.repeat(ends_on, A) if on_pairs else ends_on
    step = steps_of(reading, MU)
    target = step if reading == "literal" else steps_of(reading, PI)
    start = (
        np.array([START[s] * MU[s, a] for s in range(S) for a in range(A)]) if on_pairs else START
    )
    reward = REWARDS.ravel() if on_pairs else (MU * REWARDS).sum(axis=1)
    rows = [seen(reading, s, a) for s in range(S) for a in range(A)] if on_pairs else STATES
    ages = horizon + 1 if horizon else 1
    np.testing.assert_allclose(problem.features, np.concatenate([rows] * ages))
    np.testing.assert_allclose(problem.rewards, np.concatenate([reward] * ages))
    assert problem.gamma == 0.8
    # Law of the index step by step from the start of an episode; an end or the horizon ends it.
    visits, now = np.zeros((ages, size)), np.where(last, 0.0, start)
    for age in range(horizon or 3000):
        visits[age if horizon else 0] += now
        now = np.where(last, 0.0, now @ step)
    if ends_on.any() or horizon:
        np.testing.assert_allclose(problem.xi, visits.ravel() / visits.sum(), atol=1e-12)
    else:
        np.testing.assert_allclose(problem.xi, np.linalg.matrix_power(step, 500)[0], atol=1e-12)
    for i, j in itertools.product(range(ages * size), repeat=2):
        (age, here), (after, there) = divmod(i, size), divmod(j, size)
        follows = not last[here] and (not horizon or after == age + 1)
        goes_on = follows and not last[there] and (not horizon or after < horizon)
        assert problem.p_mu[i, j] == pytest.approx(step[here, there] * follows)
        assert problem.p_pi[i, j] == pytest.approx(target[here, there] * follows)
        assert problem.p_trace[i, j] == pytest.approx(step[here, there] * goes_on)


@pytest.mark.parametrize(("ends_on", "horizon"), [(NEVER, 0), (LAST, 0), (NEVER, 3), (LAST, 4)])
def test_a_walk_is_drawn_number_by_number(ends_on, horizon):
    chain = Chain(MOVES, MU, START, ends_on, horizon)
    assert chain.has_episodes == bool(ends_on.any() or horizon)
    draws = np.random.default_rng(3).random((61, 3))

    def pick(law, number):
        return next(k for k in range(len(law)) if number < sum(law[: k + 1]) or k == len(law) - 1)

    path = chain.walk(draws)
    state = pick(START, draws[0, 2])
    action, age = pick(MU[state], draws[0, 1]), 0
    for k in range(60):
        assert (path.states[k], path.actions[k]) == (state, action)
        state = pick(MOVES[state, action], draws[k + 1, 0])
        action, age = pick(MU[state], draws[k + 1, 1]), age + 1
        assert (path.arrivals[k], path.next_actions[k]) == (state, action)
        assert path.ends[k] == (ends_on[state] or age == horizon)
        if path.ends[k]:
            state, age = pick(START, draws[k + 1, 2]), 0
            action = pick(MU[state], draws[k + 1, 1])
    assert {column.dtype for column in (path.states, path.actions, path.arrivals)} == {
        np.dtype(np.int64)
    }
    assert path.ends.any() == chain.has_episodes


def test_a_draw_at_an_edge_belongs_to_the_next_and_rounding_leaves_no_gap():
    half = np.array([[[0.5, 0.5], [0.5, 0.5]], [[0.5, 0.5], [0.5, 0.5]]])
    tenths = np.array([0.5 - 1e-13, 0.5 - 1e-13])  # sums to one but for rounding
    chain = Chain(half, np.full((2, 2), 0.5), tenths, np.zeros(2, dtype=bool))
    path = chain.walk(np.array([[0.0, 0.5, 1.0 - 1e-14], [0.5, 0.0, 0.0], [0.25, 0.75, 0.0]]))
    assert (path.states.tolist(), path.actions.tolist()) == ([1, 1], [1, 0])
    assert (path.arrivals.tolist(), path.next_actions.tolist()) == ([1, 0], [0, 1])
    assert [table[..., -1].min() for table in chain.cumulative] == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("reading", READINGS)
def test_a_trajectory_is_the_rows_of_the_tables_along_the_walk(reading):
    domain = made(reading, LAST)
    path = domain.chain.walk(np.random.default_rng(4).random((31, 3)))
    log = domain.trajectory(30, np.random.default_rng(4))
    assert log.states.tolist() == path.states.tolist()
    assert log.actions.tolist() == path.actions.tolist()
    assert log.ends.tolist() == path.ends.tolist()
    for k, (s, a, t, c) in enumerate(
        zip(path.states, path.actions, path.arrivals, path.next_actions, strict=True)
    ):
        assert log.phi[k].tolist() == seen(reading, s, a)
        assert log.phi_next[k].tolist() == seen(reading, t, c)
        assert (log.reward[k], log.rho[k]) == (REWARDS[s, a], PI[s, a] / MU[s, a])
        expected = (
            domain.tables.expected[s, a] if reading == "expected" else domain.tables.expected[t]
        )
        assert log.phi_next_expected[k].tolist() == expected.tolist()


@pytest.mark.parametrize("reading", READINGS)
def test_truth_and_first_weights(reading):
    domain = made(reading)
    on_pairs = reading in ("stacked", "pairs")
    truth = Q.ravel() if on_pairs else [sum(PI[s] * Q[s]) for s in range(S)]
    np.testing.assert_allclose(domain.truth, truth)
    np.testing.assert_allclose(made(reading, horizon=2).truth, np.concatenate([truth] * 3))
    assert domain.theta0.tolist() == [1.0, 2.0] * (A if reading == "stacked" else 1)
    assert not domain.theta0.flags.writeable
    assert (domain.name, domain.reading) == ("small", reading)


def test_a_product_in_a_fixed_order():
    matrix, columns = RNG.standard_normal((2, 4, 3)), RNG.standard_normal((3, 2))
    np.testing.assert_allclose(fixed_order_product(matrix, columns), matrix @ columns)
    row, column = np.array([[1e16, 1.0, -1e16]]), np.ones((3, 1))
    assert fixed_order_product(row, column).tolist() == [[0.0]]  # (1e16 + 1) − 1e16, from the left
