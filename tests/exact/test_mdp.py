"""FiniteMDP, its chains, the stationary law and the values, against closed forms; and bad input."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gqlib import FiniteMDP, stationary_distribution


def random_mdp(rng, states=4, actions=3, gamma=0.9):
    transitions = rng.dirichlet(np.ones(states), size=(states, actions))
    return FiniteMDP(transitions, rng.normal(size=(states, actions)), gamma)


def random_policy(rng, states=4, actions=3):
    return rng.dirichlet(np.ones(actions), size=states)


def two_state_chain(p, q):
    """Leaves state 0 with probability p and state 1 with probability q; the law is (q, p)/(p + q)."""
    return np.array([[1 - p, p], [q, 1 - q]])


@pytest.mark.parametrize(("p", "q"), [(0.3, 0.6), (1.0, 1.0), (1e-12, 1.0), (0.5, 1e-9)])
def test_stationary_law_of_a_two_state_chain(p, q):
    law = stationary_distribution(two_state_chain(p, q))
    np.testing.assert_allclose(law, np.array([q, p]) / (p + q), rtol=1e-13)


def test_transient_states_have_no_stationary_weight():
    chain = [[0.5, 0.5, 0.0], [0.0, 0.25, 0.75], [0.0, 0.5, 0.5]]
    np.testing.assert_allclose(stationary_distribution(chain), [0.0, 0.4, 0.6], rtol=1e-14)


@given(seed=st.integers(0, 10_000), n=st.integers(1, 8))
@settings(max_examples=30, deadline=None)
def test_stationary_law_is_stationary(seed, n):
    chain = np.random.default_rng(seed).dirichlet(np.full(n, 0.3), size=n)
    chain = 0.9 * chain + 0.1 / n  # every state can be reached
    law = stationary_distribution(chain)
    np.testing.assert_allclose(law @ chain, law, atol=1e-15)
    assert law.sum() == pytest.approx(1.0, abs=1e-14)


def test_averages_of_visits_converge_to_the_stationary_law_even_for_a_periodic_chain():
    """The limit that the paper states before Eq. (1), from every start state, at rate 1/n."""
    periodic = np.roll(np.eye(3), 1, axis=1)
    for chain in (periodic, two_state_chain(0.3, 0.6)):
        law, power, total, steps = stationary_distribution(chain), np.eye(len(chain)), 0.0, 3000
        for _ in range(steps):
            power = power @ chain
            total = total + power
        np.testing.assert_allclose(total / steps, np.tile(law, (len(chain), 1)), atol=2.0 / steps)
    assert (
        np.abs(np.linalg.matrix_power(periodic, 3000) - 1 / 3).max() > 0.5
    )  # without the average it fails


def test_pair_chain_multiplies_the_move_by_the_next_choice():
    rng = np.random.default_rng(1)
    mdp, nu = random_mdp(rng), random_policy(rng)
    for s, a, t, b in np.ndindex(4, 3, 4, 3):
        assert mdp.pair_chain(nu)[3 * s + a, 3 * t + b] == mdp.transitions[s, a, t] * nu[t, b]
    np.testing.assert_allclose(mdp.state_chain(nu), (nu[:, :, None] * mdp.transitions).sum(axis=1))


def test_q_solves_the_bellman_equation_on_pairs():
    """Eqs. (1)–(2) with P^π on pairs and a reward that does not depend on the policy."""
    rng = np.random.default_rng(4)
    mdp, pi = random_mdp(rng), random_policy(rng)
    q = mdp.q(pi).ravel()
    np.testing.assert_allclose(q, mdp.rewards.ravel() + 0.9 * mdp.pair_chain(pi) @ q, atol=1e-12)


def test_bellman_operator_as_sized_in_the_paper_does_not_exist():
    """P^π in R^{|S|×|S|} cannot act on a function of pairs (after Eq. (2))."""
    rng = np.random.default_rng(5)
    mdp, pi = random_mdp(rng), random_policy(rng)
    with pytest.raises(ValueError, match="matmul"):
        mdp.state_chain(pi) @ mdp.q(pi).ravel()


def test_bellman_equation_has_one_solution_and_value_iteration_finds_it():
    rng = np.random.default_rng(6)
    mdp, pi = random_mdp(rng, gamma=0.5), random_policy(rng)
    chain, q = mdp.pair_chain(pi), 100 * rng.normal(size=12)
    for _ in range(80):
        q = mdp.rewards.ravel() + mdp.gamma * chain @ q
    np.testing.assert_allclose(q, mdp.q(pi).ravel(), atol=1e-12)


def test_q_is_the_expected_discounted_return_from_time_t_plus_one():
    """Two states in a ring, rewards 1 and 10: q(0) = 1 + γ·10 + γ²·1 + … = (1 + 10γ)/(1 − γ²)."""
    mdp = FiniteMDP([[[0, 1]], [[1, 0]]], [[1.0], [10.0]], 0.5)
    assert mdp.q([[1.0], [1.0]]).ravel() == pytest.approx(
        [(1 + 5) / 0.75, (10 + 0.5) / 0.75], rel=1e-14
    )


def test_gamblers_ruin_probability():
    """Reward 1 for reaching the top from one of n steps: v(i) = (1 − (q/p)^i)/(1 − (q/p)^n), Feller's formula."""
    n, p = 6, 0.4
    moves, rewards = np.zeros((n + 1, 1, n + 1)), np.zeros((n + 1, 1, n + 1))
    for i in range(1, n):
        moves[i, 0, i + 1], moves[i, 0, i - 1] = p, 1 - p
    rewards[n - 1, 0, n] = 1.0
    mdp = FiniteMDP(moves, rewards, 1.0, terminal=[0, n])
    ratio, i = (1 - p) / p, np.arange(n)
    np.testing.assert_allclose(
        mdp.v(np.ones((n + 1, 1)))[:n], (1 - ratio**i) / (1 - ratio**n), atol=1e-14
    )
    assert mdp.v(np.ones((n + 1, 1)))[n] == 0.0


def test_rewards_of_transitions_are_averaged():
    mdp = FiniteMDP([[[0.25, 0.75]], [[1.0, 0.0]]], [[[4.0, 8.0]], [[1.0, 99.0]]], 0.5)
    np.testing.assert_allclose(mdp.rewards, [[7.0], [1.0]])


GOOD = np.array([[[0.5, 0.5], [0.0, 1.0]], [[1.0, 0.0], [0.5, 0.5]]])
REWARDS = np.zeros((2, 2))


@pytest.mark.parametrize("method", ["q", "v", "pair_chain", "state_chain"])
@pytest.mark.parametrize(
    ("policy", "message"),
    [
        (np.full((3, 2), 0.5), "policy has shape"),
        (np.full((2, 2), 0.4), "policy sums to 0.8"),
        ([[1.5, -0.5], [0.5, 0.5]], "policy is -0.5"),
        ([[np.nan, 1.0], [0.5, 0.5]], "policy is nan"),
    ],
)
def test_a_policy_for_another_mdp_is_refused_by_name(method, policy, message):
    with pytest.raises(ValueError, match=message):
        getattr(FiniteMDP(GOOD, REWARDS, 0.9), method)(policy)


def test_undiscounted_values_that_do_not_exist_are_refused():
    """State 0 can stay for ever under action 0, and reaches the end under action 1."""
    mdp = FiniteMDP(
        [[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [0.0, 1.0]]],
        [[1.0, 0.0], [0.0, 0.0]],
        1.0,
        terminal=[1],
    )
    assert mdp.q([[0.5, 0.5], [0.5, 0.5]])[0].tolist() == pytest.approx([2.0, 0.0])
    with pytest.raises(
        ValueError, match=r"^gamma is 1\.0; under this policy terminal .* should be below 1$"
    ):
        mdp.q([[1.0, 0.0], [1.0, 0.0]])


def test_nothing_leads_into_or_out_of_a_terminal_state():
    """Of three states the middle one ends episodes; what is left of both chains is worked out by hand."""
    left, middle, right = np.eye(3)
    moves = [[[0.5, 0.25, 0.25], middle], [left, left], [[0.2, 0.3, 0.5], right]]
    mdp = FiniteMDP(moves, np.zeros((3, 2)), 0.9, terminal=[1])
    nu = [[0.5, 0.5], [0.5, 0.5], [0.25, 0.75]]
    np.testing.assert_allclose(
        mdp.surviving_state_chain(nu),
        [[0.25, 0.0, 0.125], [0.0, 0.0, 0.0], [0.05, 0.0, 0.875]],
        rtol=1e-14,
    )
    pairs = mdp.surviving_pair_chain(nu)
    assert (pairs[2:4] == 0.0).all()
    assert (pairs[:, 2:4] == 0.0).all()
    np.testing.assert_allclose(pairs[0], [0.25, 0.25, 0.0, 0.0, 0.0625, 0.1875], rtol=1e-14)


def test_an_mdp_describes_itself():
    assert repr(FiniteMDP(GOOD, REWARDS, 0.9)) == "FiniteMDP(2 states, 2 actions, gamma=0.9)"
    assert (
        repr(FiniteMDP(GOOD, REWARDS, 1.0, [1]))
        == "FiniteMDP(2 states, 2 actions, gamma=1, terminal=(1,))"
    )


def test_an_mdp_of_terminal_states_alone_has_no_value():
    mdp = FiniteMDP(np.zeros((2, 1, 2)), [[1.0], [2.0]], 1.0, terminal=[1, 0, 1])
    assert mdp.terminal == (0, 1)
    assert mdp.q([[1.0], [1.0]]).tolist() == [[0.0], [0.0]]


def test_a_stationary_law_over_many_orders_of_magnitude():
    """A birth-death chain balances each edge: law[i + 1] = law[i]·up/down, here a factor 1e40, three times."""
    up, down = 0.5, 0.5e-40
    chain = np.diag([up] * 3, 1) + np.diag([down] * 3, -1)
    chain += np.diag(1.0 - chain.sum(axis=1))
    np.testing.assert_allclose(
        stationary_distribution(chain), [1e-120, 1e-80, 1e-40, 1.0], rtol=1e-12
    )


def test_a_stationary_law_beyond_the_range_of_float64_ends_in_zeros():
    chain = np.diag([0.5] * 3, 1) + np.diag([1e-140] * 3, -1) + np.diag([0.5, 0.5, 0.5, 1.0])
    np.testing.assert_allclose(
        stationary_distribution(chain), [0.0, 4e-280, 2e-140, 1.0], rtol=1e-14
    )


def test_a_chain_that_falls_apart_to_rounding_is_refused():
    assert stationary_distribution([[0.5, 0.5], [1e-150, 1.0]])[0] == pytest.approx(
        2e-150, rel=1e-12
    )


class Table:
    """An environment of which only a table is known; `law` is where episodes begin."""

    def __init__(self, table, law=None):
        self.P = table
        if law is not None:
            self.initial_state_distrib = np.array(law)


# From 0 action 0 goes to 1 or, paying 4, to the end 2, and action 1 to 1 in two rows; from 1 both go to the
# end, whose rows no episode sees, nor those of state 3, which would go on from it.
ROWS = {
    0: {
        0: [(0.75, 1, 2.0, False), (0.25, 2, 4.0, True)],
        1: [(0.5, 1, 1.0, False), (0.5, 1, 3.0, False)],
    },
    1: {0: [(1.0, 2, -1.0, True)], 1: [(1.0, 2, -2.0, True)]},
    2: {0: [(1.0, 2, 0.0, True)], 1: [(1.0, 2, 0.0, True)]},
    3: {0: [(1.0, 2, 0.0, False)], 1: [(1.0, 3, 0.0, False)]},
}


def test_the_mdp_of_a_table_by_hand():
    env = Table(ROWS, [1.0, 0.0, 0.0, 0.0])
    wrapped = type("Wrapped", (), {"unwrapped": env, "P": None})()
    for one in (env, wrapped):
        mdp = FiniteMDP.from_gym(one, 0.5)
        assert (mdp.gamma, mdp.terminal) == (0.5, (2,))
        assert mdp.transitions[:2].tolist() == [
            [[0, 0.75, 0.25, 0], [0, 1, 0, 0]],
            [[0, 0, 1, 0], [0, 0, 1, 0]],
        ]
        assert mdp.transitions[3].tolist() == [[0, 0, 1, 0], [0, 0, 0, 1]]
        assert mdp.rewards.tolist() == [[2.5, 2.0], [-1.0, -2.0], [0.0, 0.0], [0.0, 0.0]]
    # Without a law every state may begin an episode, and then one goes on where others end.
    told = r"^env ends only some of the episodes that reach state 2; it should end all$"
    with pytest.raises(ValueError, match=told):
        FiniteMDP.from_gym(Table(ROWS), 0.5)
    with pytest.raises(ValueError, match=told):
        FiniteMDP.from_gym(Table(ROWS, [0.5, 0.0, 0.0, 0.5]), 0.5)
    # An end that is also left alone: states that only an end leads to are not walked to.
    onward = ROWS | {2: {0: [(1.0, 3, 0.0, False)], 1: [(1.0, 3, 0.0, False)]}}
    assert FiniteMDP.from_gym(Table(onward, [1.0, 0.0, 0.0, 0.0]), 0.5).terminal == (2,)
    # Two steps away: the walk goes on from what it reaches.
    far = ROWS | {1: {0: [(1.0, 3, 0.0, False)], 1: [(1.0, 3, 0.0, False)]}}
    with pytest.raises(ValueError, match=told):
        FiniteMDP.from_gym(Table(far, [1.0, 0.0, 0.0, 0.0]), 0.5)


def test_without_a_law_episodes_begin_where_none_ends():
    plain = {state: ROWS[state] for state in (0, 1, 2)}
    assert FiniteMDP.from_gym(Table(plain), 0.5).terminal == (2,)
    plain[1] = {0: [(np.float32(1.0), np.int64(2), -1, 1)], 1: [(1, 2, -2.0, np.True_)]}
    assert FiniteMDP.from_gym(Table(plain), 0.5).rewards.tolist() == [
        [2.5, 2.0],
        [-1.0, -2.0],
        [0.0, 0.0],
    ]


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        (
            {0: {0: [(1.0, 1, 0.0)]}},
            r"^an outcome of state 0 and action 0 .* \(1\.0, 1, 0\.0\); .*terminated\)$",
        ),
        ({0: {0: 3}}, r"^an outcome of state 0 and action 0 in env is 3; "),
        ({0: {0: [("a", 0, 0.0, False)]}}, r"^a probability of state 0 and action 0 in env is 'a'"),
        (
            {0: {0: [(1.0, 1, 0.0, False)]}},
            r"^a next state of state 0 and action 0 in env is 1; .* from 0 to 0$",
        ),
        ({0: {0: [(1.0, -1, 0.0, False)]}}, r"^a next state of state 0 and action 0 in env is -1"),
        ({0: {0: [(1.0, 0, np.nan, False)]}}, r"^a reward of state 0 and action 0 in env is nan"),
        ({0: {0: [(1.0, 0, 0.0, "no")]}}, r"^an end of state 0 and action 0 in env is 'no'"),
        ({0: {0: [(0.5, 0, 0.0, False)]}}, r"^transitions sums to 0\.5 at \(0, 0\)"),
        ({1: {0: [(1.0, 1, 0.0, False)]}}, r"^a state of env is 1; it should be from 0 to 0$"),
        ({0: {1: [(1.0, 0, 0.0, False)]}}, r"^an action of env is 1; it should be from 0 to 0$"),
        (
            {0: [[(1.0, 0, 0.0, False)]]},
            r"^env has the table .*; it should have a mapping for each state$",
        ),
    ],
)
def test_a_table_says_which_of_its_rows_is_wrong(rows, told):
    with pytest.raises(ValueError, match=told):
        FiniteMDP.from_gym(Table(rows), 0.5)
