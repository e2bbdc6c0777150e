"""Mountain car: reference trajectories, Gymnasium's game, and the fixed cosine."""

import json
import math
from pathlib import Path

import gymnasium
import mpmath
import numpy as np
import pytest

from gqlib.domains import mountain_car

ORACLE = json.loads((Path(__file__).parents[1] / "oracles" / "mountain_car.json").read_text())[
    "mountain_car"
]


def energy_policy(velocity):
    return 2 if velocity >= 0 else 0


@pytest.mark.parametrize("start", [-0.5, -0.6])
def test_energy_policy_follows_the_reference_trajectory(start):
    case = ORACLE[f"start_{start}_0"]
    x, v, done, states = start, 0.0, False, []
    while not done:
        action = energy_policy(v)
        x, v, reward, done = mountain_car.step(x, v, action)
        assert reward == -1.0
        states.append((action, x, v))
    assert len(states) == case["steps_to_goal_sutton_barto"]
    np.testing.assert_allclose(
        states[::10], case["trajectory_sutton_barto_every_10"], rtol=0, atol=1e-12
    )
    np.testing.assert_allclose(states[-1], case["last"], rtol=0, atol=1e-12)


def test_fixed_actions_follow_the_reference_states():
    case = ORACLE["fixed_actions_from_-0.5_0"]
    x, v, states = -0.5, 0.0, {}
    for k, action in enumerate(case["actions"]):
        x, v, _, _ = mountain_car.step(x, v, action)
        states[k] = (x, v)
    for k, x, v in case["states_every_20"]:
        assert states[k] == pytest.approx((x, v), abs=1e-12)


def test_gymnasium_plays_the_same_game_up_to_the_goal():
    env = gymnasium.make("MountainCar-v0").unwrapped
    rng = np.random.default_rng(3)
    goals = 0
    for episode in range(8):
        env.reset(seed=episode)
        x, v = mountain_car.reset(rng)
        env.state = (x, v)
        for k in range(400):
            action = energy_policy(v) if episode % 2 else int(rng.integers(3))
            x, v, reward, done = mountain_car.step(x, v, action)
            observation, their_reward, terminated, _, _ = env.step(action)
            assert (reward, done) == (their_reward, terminated)
            if done:
                goals += 1
                assert k > 50
                assert x == 0.5 <= env.state[0] <= 0.6
                assert v == pytest.approx(env.state[1], abs=1e-12)
                break
            assert (x, v) == pytest.approx(env.state, abs=1e-12)
            assert observation.dtype == np.float32
    assert goals == 4
    env.close()


def test_left_wall_stops_the_car_and_speed_is_bounded():
    assert mountain_car.step(-1.19, -0.07, 0)[:2] == (-1.2, 0.0)
    assert mountain_car.step(-1.0, 0.07, 2)[1] == 0.07
    x, v, _, done = mountain_car.step(0.49, 0.07, 2)
    assert (x, done) == (0.5, True)
    assert v > 0


def test_a_car_that_comes_to_the_wall_exactly_is_stopped():
    assert mountain_car.POSITION_MIN == -1.1375 - 0.0625
    assert mountain_car.advance(-1.1375, -0.0625, 0.0, 0.0) == (-1.2, 0.0)
    position, velocity = mountain_car.advance(np.nextafter(-1.1375, 0.0), -0.0625, 0.0, 0.0)
    assert (position > -1.2, velocity) == (True, -0.0625)


def test_cosine_is_accurate_to_rounding():
    y = np.concatenate(
        [np.linspace(-3.6, 1.5, 4001), [-math.pi / 2, math.pi / 2, 0.0, -0.0, -math.pi, 3.6]]
    )
    for value in y.tolist():
        exact = mpmath.cos(mpmath.mpf(value))
        assert abs(mountain_car.cosine(value) - exact) < 4e-16
        assert abs(mountain_car.cosine(value) - exact) <= 5e-16 * abs(exact) + 1e-18


def test_starts_are_uniform_in_their_interval():
    rng = np.random.default_rng(5)
    position, velocity = np.array([mountain_car.reset(rng) for _ in range(2000)]).T
    assert (
        -0.6
        == mountain_car.start(0.0)
        <= position.min()
        < -0.5995
        < -0.4005
        < position.max()
        < -0.4
    )
    assert not velocity.any()
