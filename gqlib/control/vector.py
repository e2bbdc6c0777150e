"""Many runs at once: agents side by side in a vectorised environment of Gymnasium, each with weights of its own.

A trace belongs to one stream of experience, so an agent does too: what a vectorised environment is good for here is
many runs of one setting, for an interval. The result is that of `gqlib.control.gym.play`, agent by agent, to the bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gqlib import _validate as check
from gqlib._validate import Diverged
from gqlib.control._answers import fitting, kept
from gqlib.control.agent import Agent
from gqlib.control.gym import DivergedPlay, Played, _able, _hold, _Log, _with_episodes
from gqlib.fast._sound import finite

__all__ = ["play_side_by_side"]


def play_side_by_side(
    envs: Any, agents: Sequence[Agent], episodes: int, *, seed: int, learn: bool = True
) -> list[Played]:
    """Episodes of each agent in its own environment of a vectorised one.

    Parameters
    ----------
    envs : gymnasium.vector.VectorEnv
        It may start the next episode in the step after an end, or in the same step.
    agents : sequence of Agent
        One for each environment.
    episodes : int
        For each agent; one that is done waits for the others.
    seed : int
        For the first reset: environment i gets `seed` + i.
    learn : bool
        Otherwise the agents follow their greedy policies and do not change.

    Raises
    ------
    Interrupted, DivergedPlay
        As in `gqlib.control.gym.play`; `played` is the list of what each agent has finished. An agent that diverges
        stops there, and the others play on before that is raised.

    Examples
    --------
    >>> import gymnasium
    >>> from gqlib.control.gym import features_of
    >>> envs = gymnasium.make_vec("FrozenLake-v1", num_envs=2, vectorization_mode="sync", is_slippery=False)
    >>> agents = [Agent(features_of(envs), np.random.default_rng(run)) for run in range(2)]
    >>> [len(played.lengths) for played in play_side_by_side(envs, agents, 3, seed=0)]
    [3, 3]
    """
    with check.package("gymnasium", "gym"):
        from gymnasium.vector import AutoresetMode, VectorEnv
        from gymnasium.vector.utils import iterate

    check.instance("envs", envs, VectorEnv)
    count = envs.num_envs
    if (
        not isinstance(agents, Sequence)
        or len(agents) != count
        or len(set(map(id, agents))) != count
    ):
        raise ValueError(
            f"agents is {check.brief(agents)}; it should hold {count} different agents"
        )
    for agent in agents:
        _able(agent, ("act", "learn", "end_episode", "greedy"))
        fitting(envs, agent)
    seed, episodes = check.integer("seed", seed, low=0), check.integer("episodes", episodes, low=1)
    check.room("episodes", episodes, episodes)
    mode = envs.metadata.get("autoreset_mode", AutoresetMode.NEXT_STEP)
    if mode not in (AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP):
        raise ValueError(
            f"envs has autoreset mode {mode}; it should start episodes in the next step or the same"
        )
    choose = [agent.act if check.flag("learn", learn) else agent.greedy for agent in agents]
    logs = [_Log() for _ in agents]
    states = [kept(state) for state in iterate(envs.observation_space, envs.reset(seed=seed)[0])]
    actions, begins = (
        [act(state) for act, state in zip(choose, states, strict=True)],
        [False] * count,
    )
    lost: dict[int, Diverged] = {}

    def busy(i: int) -> bool:
        return i not in lost and len(logs[i].returns) < episodes

    try:
        while any(map(busy, range(count))):
            seen, rewards, ended, cut, info = envs.step(np.array(actions))
            arrived = [kept(state) for state in iterate(envs.observation_space, seen)]
            sound = finite(seen) and finite(rewards)
            for i, (agent, log) in enumerate(zip(agents, logs, strict=True)):
                if not busy(i):
                    continue
                over, state = bool(ended[i] or cut[i]), arrived[i]
                if not sound:
                    _hold(envs, state, float(rewards[i]), log, 1)
                if begins[i]:  # the step that only started an episode
                    states[i], actions[i], begins[i] = state, choose[i](state), False
                    continue
                reached = (
                    info["final_obs"][i] if over and mode is AutoresetMode.SAME_STEP else state
                )
                if (
                    reached is not state
                ):  # the state in which an episode ended, of which `seen` has nothing
                    _hold(envs, reached, 0.0, log, 1)
                action, reward = choose[i](reached), float(rewards[i])
                if learn:
                    try:
                        agent.learn(
                            states[i],
                            actions[i],
                            reward,
                            reached,
                            action,
                            terminated=bool(ended[i]),
                        )
                    except Diverged as error:
                        lost[i] = error
                        agent.end_episode()
                        continue
                log.step(reward)
                states[i], actions[i] = reached, action
                if over:
                    log.end(bool(cut[i] and not ended[i]))
                    if learn:
                        agent.end_episode()
                    if mode is AutoresetMode.NEXT_STEP:
                        begins[i] = True
                    elif len(log.returns) < episodes:
                        states[i], actions[i] = state, choose[i](state)
    except BaseException as error:
        if learn:
            for i, agent in enumerate(agents):
                if busy(i) and not begins[i]:
                    agent.end_episode()
        told = _with_episodes(error, [log.played() for log in logs])
        if told is error:
            raise
        raise told from error
    finished = [log.played() for log in logs]
    for number, first in lost.items():
        told_of = f"{len(lost)} of {count} agents diverged; agent {number} (from 0) first: {first}"
        raise DivergedPlay(told_of, finished) from first
    return finished
