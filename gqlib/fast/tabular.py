r"""Compiled twins of the tabular learners, for figures that need many runs.

`n_step_episode` and `trace_episode` do in place what `gqlib.tabular.n_step_q_sigma` (on-policy) and
`gqlib.tabular.q_sigma_lambda` do; `n_step_run` and `trace_run` are whole runs of on-policy control, n-step Q(σ) of De
Asis et al. (2018) and Q(σ, λ): the ε-greedy policy that acts is the one that is learnt about, and it follows the table,
which starts at zero. Arguments are checked here, before the kernels (`gqlib.fast._tabular`) see them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gqlib import _validate as check
from gqlib._validate import Array
from gqlib.domains.episodes import Episode, TabularTask
from gqlib.fast import _tabular as kernels
from gqlib.fast.rng import checked_stream
from gqlib.seeds import TRAJECTORY, words

__all__ = [
    "control_returns",
    "learn_tables",
    "n_step_episode",
    "n_step_run",
    "trace_episode",
    "trace_run",
]

_LONGEST = 2**31  # no episode has this many steps, so a larger n makes no difference


def _horizon(name: str, n: Any) -> int:
    return min(check.integer(name, n, low=1), _LONGEST)


def _decay(name: str, lam: Any) -> float:
    return check.scalar(name, lam, low=0.0, high=1.0)


def _rates(sigma: Any, gamma: Any, alpha: Any) -> kernels.Rates:
    sigma, gamma = check.scalar("sigma", sigma), check.scalar("gamma", gamma, low=0.0, high=1.0)
    return kernels.Rates(sigma, gamma, check.scalar("alpha", alpha, low=0.0))


def _inside(
    name: str, states: NDArray[np.intp], actions: NDArray[np.intp], shape: tuple[int, int]
) -> None:
    """Refuse states and actions outside a table of this shape."""
    for what, indices, size in (("states", states, shape[0]), ("actions", actions, shape[1])):
        if indices.min() < 0 or indices.max() >= size:
            raise ValueError(
                f"{name} has {what} from {indices.min()} to {indices.max()}; "
                f"with a policy of shape {shape} they should be from 0 to {size - 1}"
            )


def _steps(episode: Any, shape: tuple[int, int]) -> kernels.Steps:
    """An episode as the kernels take it."""
    check.instance("episode", episode, Episode)
    _inside("episode", episode.states, episode.actions, shape)
    return kernels.Steps(episode.states, episode.actions, episode.rewards, episode.ended)


def _runs(runs: Any, shape: tuple[int, int]) -> tuple[kernels.Runs, tuple[int, int]]:
    """The episodes of all runs end to end, and how many runs and episodes there are: equally many in each run."""
    if not isinstance(runs, Sequence) or not all(
        isinstance(episodes, Sequence) for episodes in runs
    ):
        raise ValueError(f"runs is {check.brief(runs)}; it should be a list of lists of episodes")
    counts = {len(episodes) for episodes in runs}
    if len(counts) != 1 or 0 in counts:
        raise ValueError(
            f"runs have {sorted(counts)} episodes; all should have the same number, at least one"
        )
    found = [episode for episodes in runs for episode in episodes]
    for episode in found:
        check.instance("runs", episode, Episode)
    states, actions = (
        np.concatenate([getattr(episode, name) for episode in found])
        for name in ("states", "actions")
    )
    _inside("runs", states, actions, shape)
    rewards = np.concatenate([episode.rewards for episode in found])
    ended, lengths = (
        np.array([episode.ended for episode in found]),
        np.array([len(episode) for episode in found]),
    )
    return kernels.Runs(states, actions, rewards, ended, lengths), (len(runs), counts.pop())


def _table(q: Any) -> Array:
    """A table that can be changed in place."""
    fits = (
        type(q) is np.ndarray
        and q.dtype == np.float64
        and q.ndim == 2
        and q.size > 0
        and q.flags.writeable
    )
    if not fits:
        raise ValueError(
            f"q is {check.brief(q)}; it should be an array of float64 with two axes that can be changed"
        )
    table: Array = q
    if not np.isfinite(table).all():
        raise ValueError(f"q is {check.brief(q)}; every entry should be finite")
    return table


def n_step_episode(
    q: Array, episode: Episode, pi: ArrayLike, n: int, *, sigma: float, gamma: float, alpha: float
) -> None:
    """On-policy n-step Q(σ) along an episode; `q`, (S, A), is changed in place.

    Examples
    --------
    >>> q, right = np.zeros((3, 2)), Episode([1, 2], [1, 0], [1.0], ended=True)
    >>> n_step_episode(q, right, np.full((3, 2), 0.5), 1, sigma=0.5, gamma=1.0, alpha=0.5)
    >>> q[1].tolist()
    [0.0, 0.5]
    """
    table = _table(q)
    policy, horizon = check.distributions("pi", pi, table.shape), _horizon("n", n)
    steps, rates = _steps(episode, policy.shape), _rates(sigma, gamma, alpha)
    kernels.n_step_episode(table, steps, policy, horizon, rates)


def trace_episode(
    q: Array,
    episode: Episode,
    pi: ArrayLike,
    lam: float,
    *,
    sigma: float,
    gamma: float,
    alpha: float,
) -> None:
    """Q(σ, λ) along an episode, Eqs. (6)–(7); `q`, (S, A), is changed in place.

    Examples
    --------
    >>> q, right = np.zeros((3, 2)), Episode([1, 2], [1, 0], [1.0], ended=True)
    >>> trace_episode(q, right, np.full((3, 2), 0.5), 0.9, sigma=0.5, gamma=1.0, alpha=0.5)
    >>> q[1].tolist()
    [0.0, 0.5]
    """
    table = _table(q)
    policy, decay = check.distributions("pi", pi, table.shape), _decay("lam", lam)
    steps, rates = _steps(episode, policy.shape), _rates(sigma, gamma, alpha)
    kernels.trace_episode(table, steps, policy, decay, rates)


def learn_tables(
    learner: Callable[..., None],
    runs: Sequence[Sequence[Episode]],
    pi: ArrayLike,
    parameter: float,
    *,
    sigma: float,
    gamma: float,
    alpha: float,
) -> Array:
    """Tables after each episode of each run, (runs, episodes, S, A), from a table of zeros.

    `learner` is `n_step_episode` (with n as its parameter) or `trace_episode` (with λ). Where a run diverges, its
    entries grow without bound, up to infinity.

    Examples
    --------
    Two episodes that go right, to an end that pays 1; half of the error is learnt each time:

    >>> right, coin = Episode([1, 2], [1, 0], [1.0], ended=True), np.full((3, 2), 0.5)
    >>> learn_tables(trace_episode, [[right, right]], coin, 0.9, sigma=0.5, gamma=1.0, alpha=0.5)[0, :, 1, 1].tolist()
    [0.5, 0.75]
    """
    learn, value = _chosen(learner, parameter, n_step_episode, trace_episode)
    policy, rates = check.distributions("pi", pi, (None, None)), _rates(sigma, gamma, alpha)
    data, counts = _runs(runs, policy.shape)
    check.room("runs", runs, len(data.lengths) * policy.size)
    tables = np.empty((*counts, *policy.shape))
    learn(tables, data, policy, value, rates)
    return tables


# The kernel that runs on behalf of each public function.
_COMPILED = {
    "n_step_episode": kernels.n_step_tables,
    "trace_episode": kernels.trace_tables,
    "n_step_run": kernels.n_step_run,
    "trace_run": kernels.trace_run,
}


def _chosen(
    learner: Any, parameter: Any, n_step: Any, trace: Any
) -> tuple[Callable[..., Any], float]:
    """The kernel behind one of two public functions, and its parameter, n or λ."""
    if learner is n_step:
        return _COMPILED[n_step.__name__], _horizon("parameter", parameter)
    if learner is trace:
        return _COMPILED[trace.__name__], _decay("parameter", parameter)
    raise ValueError(
        f"learner is {check.brief(learner)}; it should be {n_step.__name__} or {trace.__name__}"
    )


def _task(task: Any) -> kernels.Task:
    """A task as the kernels take it, with cumulative probabilities."""
    check.instance("task", task, TabularTask)
    mdp = task.mdp
    moves = np.cumsum(mdp.transitions, axis=2)
    return kernels.Task(np.cumsum(task.start), moves, mdp.rewards, mdp.is_terminal, mdp.gamma)


def _control(
    sigmas: Any, alpha: Any, epsilon: Any, max_steps: Any
) -> tuple[Array, float, float, int]:
    """What both control runs take besides task, parameter and stream."""
    limit = check.integer("max_steps", max_steps, low=1)
    check.room("max_steps", max_steps, 5 * limit)
    epsilon = check.scalar("epsilon", epsilon, low=0.0, high=1.0)
    return (
        check.array("sigmas", sigmas, (None,)),
        check.scalar("alpha", alpha, low=0.0),
        epsilon,
        limit,
    )


def n_step_run(
    task: TabularTask,
    n: int,
    sigmas: ArrayLike,
    *,
    alpha: float,
    epsilon: float,
    stream: NDArray[np.uint64],
    max_steps: int = 10_000,
) -> tuple[Array, Array]:
    """Returns of the episodes of one run of on-policy n-step Q(σ) control, (episodes,), and the table.

    There is one value of σ for each episode; `stream`, four words (`gqlib.seeds.words`), is advanced in place.

    Examples
    --------
    >>> from gqlib.domains.random_walk import random_walk
    >>> stream = words(0, 0, TRAJECTORY)
    >>> returns, q = n_step_run(random_walk(1), 1, np.full(3, 0.5), alpha=0.5, epsilon=0.0, stream=stream)
    >>> returns.tolist(), q[1].tolist()
    ([-1.0, 1.0, 1.0], [-0.5, 0.75])
    """
    made, horizon, settings = (
        _task(task),
        _horizon("n", n),
        _control(sigmas, alpha, epsilon, max_steps),
    )
    returns, q = kernels.n_step_run(made, horizon, *settings, checked_stream("stream", stream))
    return returns, q


def trace_run(
    task: TabularTask,
    lam: float,
    sigmas: ArrayLike,
    *,
    alpha: float,
    epsilon: float,
    stream: NDArray[np.uint64],
    max_steps: int = 10_000,
) -> tuple[Array, Array]:
    """Returns of the episodes of one run of on-policy Q(σ, λ) control, (episodes,), and the table.

    There is one value of σ for each episode; `stream`, four words (`gqlib.seeds.words`), is advanced in place.

    Examples
    --------
    >>> from gqlib.domains.random_walk import random_walk
    >>> stream = words(0, 0, TRAJECTORY)
    >>> returns, q = trace_run(random_walk(1), 0.9, np.full(3, 0.5), alpha=0.5, epsilon=0.0, stream=stream)
    >>> returns.tolist(), q[1].tolist()
    ([-1.0, 1.0, 1.0], [-0.5, 0.75])
    """
    made, decay, settings = (
        _task(task),
        _decay("lam", lam),
        _control(sigmas, alpha, epsilon, max_steps),
    )
    returns, q = kernels.trace_run(made, decay, *settings, checked_stream("stream", stream))
    return returns, q


def control_returns(
    learner: Callable[..., Any],
    task: TabularTask,
    parameter: float,
    sigmas: ArrayLike,
    *,
    alpha: float,
    epsilon: float,
    runs: Iterable[int],
    seed: int,
    max_steps: int = 10_000,
) -> Array:
    """Returns of every episode, (runs, episodes), of `n_step_run` (parameter n) or `trace_run` (parameter λ).

    Run i uses the stream of (seed, i), whatever the other settings are.

    Examples
    --------
    >>> from gqlib.domains.random_walk import random_walk
    >>> rates = {"alpha": 0.5, "epsilon": 0.0, "seed": 0}
    >>> control_returns(trace_run, random_walk(1), 0.9, np.full(3, 0.5), runs=range(1), **rates).tolist()
    [[-1.0, 1.0, 1.0]]
    """
    learn, value = _chosen(learner, parameter, n_step_run, trace_run)
    made, settings = _task(task), _control(sigmas, alpha, epsilon, max_steps)
    if (
        not isinstance(runs, Iterable)
        or isinstance(runs, str | bytes)
        or getattr(runs, "ndim", 1) != 1
    ):
        raise ValueError(f"runs is {check.brief(runs)}; it should hold numbers of runs")
    streams = [words(seed, run, TRAJECTORY) for run in runs]
    if not streams:
        raise ValueError(f"runs is {check.brief(runs)}; it should hold at least one number")
    return np.stack([learn(made, value, *settings, stream)[0] for stream in streams])
