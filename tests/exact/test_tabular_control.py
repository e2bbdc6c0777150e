"""On-policy control in a table, compiled, against an implementation that reads like the definitions, and by hand."""

import numpy as np
import pytest

from gqlib import FiniteMDP
from gqlib.domains.episodes import TabularTask
from gqlib.fast.rng import uniform
from gqlib.fast.tabular import n_step_run, trace_run
from gqlib.seeds import START, words

ALPHA, EPSILON, GAMMA = 0.3, 0.4, 0.8
SIGMAS = [0.0, 0.3, 1.0, 0.6, 0.2]


def task(seed=0):
    """Four states of which the last is an end, three actions, moves and rewards at random; three states may begin."""
    rng = np.random.default_rng(seed)
    moves = rng.dirichlet(np.ones(4), size=(4, 3))
    moves[3] = [0.0, 0.0, 0.0, 1.0]
    rewards = rng.standard_normal((4, 3))
    rewards[3] = 0.0
    return TabularTask(
        FiniteMDP(moves, rewards, GAMMA, terminal=[3]), np.array([0.2, 0.5, 0.3, 0.0])
    )


def drawn(probabilities, number):
    """The first index at which the sum exceeds a uniform number."""
    total = 0.0
    for index, p in enumerate(probabilities):
        total += p
        if number < total:
            return index
    raise AssertionError("the probabilities should sum to more than the number")


def chosen(row, draw):
    return int(3 * draw()) if draw() < EPSILON else row.tolist().index(max(row))


def policy(row):
    """ε-greedy, written out."""
    best = row.tolist().index(max(row))
    return [EPSILON / 3 + (1 - EPSILON) * (a == best) for a in range(3)]


def episodes(the_task, draw, learn, limit, *, stored):
    """Walk with the table as it is; `learn` is told of each step and whether the episode ends with it.

    An error is that of the value of the pair when it was reached, which is `stored`, or of its value now.
    """
    table, returns = np.zeros((4, 3)), []
    for sigma in SIGMAS:
        state = drawn(the_task.start, draw())
        action, steps = chosen(table[state], draw), []
        value = table[state, action]
        while True:
            new = drawn(the_task.mdp.transitions[state, action], draw())
            choice, probabilities = chosen(table[new], draw), policy(table[new])
            mean = sum(p * q for p, q in zip(probabilities, table[new], strict=True))
            bootstrap = sigma * table[new, choice] + (1 - sigma) * mean
            reward = the_task.mdp.rewards[state, action]
            value = value if stored else table[state, action]
            error = reward + GAMMA * bootstrap - value
            carried = GAMMA * (sigma + (1 - sigma) * probabilities[choice])
            steps.append((state, action, reward, value, error, carried))
            value = table[new, choice]
            done = new == 3 or len(steps) == limit
            learn(table, steps, done)
            if done:
                break
            state, action = new, choice
        returns.append(sum(step[2] for step in steps))
    return np.array(returns), table


def n_step_learner(n):
    def update(table, steps, t):
        """Towards value + δ_t + w_t(δ_{t+1} + w_{t+1}(…)), from behind."""
        total = 0.0
        for _, _, _, _, error, carried in reversed(steps[t : t + n]):
            total = error + carried * total
        state, action, _, value, _, _ = steps[t]
        table[state, action] += ALPHA * (value + total - table[state, action])

    def learn(table, steps, done):
        now = len(steps)
        if now >= n:
            update(table, steps, now - n)
        for t in range(max(now - n + 1, 0), now if done else 0):
            update(table, steps, t)

    return learn


def trace_learner(lam):
    def learn(table, steps, _):
        error = steps[-1][4]
        for back, (state, action, *_) in enumerate(reversed(steps)):
            table[state, action] += ALPHA * error * (GAMMA * lam) ** back

    return learn


def stream(number):
    return words(2019, number, START)


def numbers(number):
    """The same random numbers, one by one."""
    own = stream(number)
    return lambda: float(uniform(own))


CONTROL = {"alpha": ALPHA, "epsilon": EPSILON}


@pytest.mark.parametrize("limit", [4, 10_000])
@pytest.mark.parametrize("n", [1, 2, 3, 50])
def test_n_step_control_is_that_of_the_second_implementation(n, limit):
    wanted = episodes(task(), numbers(1), n_step_learner(n), limit, stored=True)
    found = n_step_run(task(), n, SIGMAS, **CONTROL, stream=stream(1), max_steps=limit)
    for got, want in zip(found, wanted, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("limit", [4, 10_000])
@pytest.mark.parametrize("lam", [0.0, 0.7, 1.0])
def test_control_with_traces_is_that_of_the_second_implementation(lam, limit):
    wanted = episodes(task(), numbers(2), trace_learner(lam), limit, stored=False)
    found = trace_run(task(), lam, SIGMAS, **CONTROL, stream=stream(2), max_steps=limit)
    for got, want in zip(found, wanted, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-13)
