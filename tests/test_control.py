"""Control experiments as data: settings, results, and the dense reference."""

import dataclasses
import hashlib
import json
import pickle
import re
import struct
import subprocess
import sys

import numpy as np
import pytest

from gqlib import seeds
from gqlib.control import ControlSetting, run_control
from gqlib.control import engine as driver
from gqlib.control.grids import control_grid_summary
from gqlib.control.run import _checksum
from gqlib.control.setting import first_weights
from gqlib.domains import mountain_car
from gqlib.fast.rng import uniform
from gqlib.rules import DIVERGED_ABOVE, LARGEST_WEIGHT, tied
from gqlib.seeds import START, words

SHORT = ControlSetting(episodes=3, max_steps=120, alpha=0.002)


def test_defaults_are_the_papers_values_where_it_gives_them():
    setting = ControlSetting()
    assert (setting.lam, setting.gamma, setting.alpha, setting.eta) == (0.99, 0.99, 0.001, 1.0)
    assert (setting.p, setting.episodes, setting.max_steps, setting.tilings) == (1024, 400, 5000, 8)
    assert (setting.epsilon, setting.target, setting.memory, setting.v) == (
        0.1,
        "greedy",
        "int",
        "same-step",
    )


@pytest.mark.slow
def test_key_is_the_hash_of_the_values_in_any_process():
    key = ControlSetting(sigma=0.25, p=512).key
    # Committed: stores on disk are named after it.
    assert key == "8a05e300555363e71039e9960563017a5ed4937c08b02579cbcb91133433a1d8"
    code = "from gqlib.control import ControlSetting as C; print(C(p=512, sigma=0.25).key)"
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert other.stdout.strip() == key


def test_equal_values_of_other_types_are_the_same_setting():
    same = ControlSetting(sigma=np.float64(1.0), p=np.int64(512), eta=1)
    assert same == ControlSetting(sigma=1, p=512)
    assert same.key == ControlSetting(sigma=1, p=512).key
    assert hash(same) == hash(ControlSetting(sigma=1, p=512))


@pytest.mark.parametrize("field", dataclasses.fields(ControlSetting), ids=lambda field: field.name)
def test_every_field_is_kept_as_a_plain_python_value(field):
    given = {float: np.float64, int: np.int64, str: np.str_}.get(
        type(field.default), lambda flag: flag
    )(field.default)
    kept = getattr(ControlSetting(**{field.name: given}), field.name)
    assert type(kept) is type(field.default)
    assert kept == field.default


@pytest.mark.parametrize(
    ("name", "low", "high", "beyond"),
    [
        ("sigma", 0.0, 1.0, (-0.1, 1.1)),
        ("lam", 0.0, 1.0, (-0.1, 1.1)),
        ("gamma", 0.0, 1.0, (-0.1, 1.1)),
        ("alpha", 1e-300, 1e50, (0.0, -1.0)),
        ("eta", 0.0, 1e50, (-0.1,)),
        ("epsilon", 0.0, 1.0, (-0.1, 1.1)),
        ("p", 1, 65536, (0, 65537)),
        ("tilings", 1, 32, (0, 33)),
        ("max_steps", 1, 2**31 - 1, (0, 2**31)),
        ("episodes", 1, 2**31 - 1, (0, 2**31)),
        ("sigma_noise", 0.0, 1e50, (-0.1,)),
        ("sigma_decay", 1e-300, 1.0, (0.0, 1.1)),
        ("tiles_of", -1, 2**31 - 1, (-2, 2**31)),
    ],
)
def test_ranges_of_a_setting(name, low, high, beyond):
    for value in (low, high):
        assert getattr(ControlSetting(**{name: value}), name) == value
    for value in beyond:
        with pytest.raises(ValueError, match=f"^{name} is {value}; it should be"):
            ControlSetting(**{name: value})


def test_every_field_enters_the_key():
    other = {
        "sigma": 0.1, "lam": 0.5, "gamma": 0.9, "alpha": 0.01, "eta": 0.5, "epsilon": 0.2, "target": "epsilon-greedy",
        "p": 512, "tilings": 16, "memory": "iht", "max_steps": 10, "episodes": 7, "v": "lagged",
        "method": "semi-gradient", "sigma_noise": 0.01, "sigma_drawn": "run", "sigma_clipped": True, "sigma_decay": 0.9,
        "ties": "random", "start": "bottom", "theta0": 1.0, "theta0_noise": 0.1, "tiles_of": 3,
    }  # fmt: skip
    assert set(other) == {field.name for field in dataclasses.fields(ControlSetting)}
    keys = {ControlSetting(**{name: value}).key for name, value in other.items()} | {
        ControlSetting().key
    }
    assert len(keys) == len(other) + 1


def test_setting_is_frozen_and_travels():
    with pytest.raises(dataclasses.FrozenInstanceError):
        SHORT.sigma = 1.0
    assert ControlSetting(**json.loads(json.dumps(dataclasses.asdict(SHORT)))) == SHORT
    assert pickle.loads(pickle.dumps(SHORT)).key == SHORT.key


def test_setting_prints_readably():
    plain = "gamma=0.99, alpha=0.001, eta=1, greedy target, epsilon=0.1, p=1024 (int), 8 tilings, 400 episodes of"
    assert str(ControlSetting()) == f"GQ(sigma=0.5, lam=0.99), {plain} at most 5000 steps"
    noisy = ControlSetting(
        sigma=0.3, sigma_noise=0.01, v="lagged", sigma_decay=0.95, sigma_clipped=True, max_steps=99
    )
    law = "sigma~N(0.3, 0.01^2) per step, clipped"
    assert (
        str(noisy)
        == f"GQ({law}, lam=0.99), sigma *= 0.95 per episode, lagged v, {plain} at most 99 steps"
    )
    semi = str(ControlSetting(method="semi-gradient"))
    assert semi == f"semi-gradient Q(sigma=0.5, lam=0.99), {plain} at most 5000 steps"


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"ties": "random"}, ", ties random"),
        ({"start": "bottom"}, ", from bottom"),
        ({"theta0": -1.0}, ", theta0=-1"),
        ({"theta0_noise": 0.5}, ", theta0=0~0.5"),
        ({"tiles_of": 3}, ", tiles of run 3"),
        (
            {"ties": "random", "start": "anywhere", "theta0": 2.0, "theta0_noise": 0.25},
            ", ties random, from anywhere, theta0=2~0.25",
        ),
    ],
)
def test_setting_tells_at_the_end_how_runs_open(changes, told):
    assert str(ControlSetting(**changes)) == str(ControlSetting()) + told


def test_setting_tells_every_number_and_its_method():
    setting = ControlSetting(
        sigma=0.125, lam=0.25, gamma=0.5, alpha=0.75, eta=3.0, epsilon=0.875, target="epsilon-greedy", p=77, tilings=9,
        memory="iht", max_steps=12, episodes=34, sigma_noise=0.0625, sigma_drawn="run",
    )  # fmt: skip
    assert str(setting) == (
        "GQ(sigma~N(0.125, 0.0625^2) per run, lam=0.25), gamma=0.5, alpha=0.75, eta=3, epsilon-greedy target, "
        "epsilon=0.875, p=77 (iht), 9 tilings, 34 episodes of at most 12 steps"
    )
    plain = str(ControlSetting())
    assert str(ControlSetting(method="corrected")) == f"corrected {plain}"
    assert str(ControlSetting(v="lagged")) == plain.replace("), ", "), lagged v, ", 1)
    assert str(ControlSetting(sigma_decay=0.5)) == plain.replace(
        "), ", "), sigma *= 0.5 per episode, ", 1
    )


@pytest.mark.parametrize(("target", "v"), [("epsilon-greedy", "same-step"), ("greedy", "lagged")])
def test_the_corrected_method_needs_a_greedy_target_and_v_of_the_same_step(target, v):
    told = f"method is 'corrected', target '{target}' and v '{v}'; they should be 'greedy' and 'same-step'"
    with pytest.raises(ValueError, match=f"^{told}$"):
        ControlSetting(method="corrected", target=target, v=v)
    for method in ("gradient", "semi-gradient"):
        assert ControlSetting(method=method, target=target, v=v).method == method


@pytest.mark.parametrize(
    ("name", "wrong", "told"),
    [
        *(
            (name, wrong, "should be in [0, 1]")
            for name in ("sigma", "lam", "gamma", "epsilon")
            for wrong in (-0.5, 1.5)
        ),
        ("alpha", 0.0, "should be in (0, inf)"),
        ("eta", -0.5, "should be in [0, inf)"),
        ("theta0_noise", -0.5, "should be in [0, inf)"),
        *(("p", wrong, "should be from 1 to 65536") for wrong in (0, 65537)),
        *(("tilings", wrong, "should be from 1 to 32") for wrong in (0, 33)),
        *(
            (name, wrong, "should be from 1 to 2147483647")
            for name in ("max_steps", "episodes")
            for wrong in (0, 2**31)
        ),
        *(
            (name, "car", "should be a real number")
            for name in ("lam", "gamma", "alpha", "eta", "epsilon")
        ),
        *((name, "car", "should be a real number") for name in ("theta0", "theta0_noise")),
        *(
            (name, 2.5, "should be a whole number")
            for name in ("p", "tilings", "max_steps", "episodes")
        ),
        ("target", "car", "should be one of 'greedy', 'epsilon-greedy'"),
        ("memory", "car", "should be one of 'int', 'iht', 'salted', 'rltoolkit'"),
        ("v", "car", "should be one of 'same-step', 'lagged'"),
        ("method", "car", "should be one of 'gradient', 'semi-gradient', 'corrected'"),
        ("ties", "car", "should be one of 'first', 'random'"),
        ("start", "car", "should be one of 'valley', 'bottom', 'anywhere'"),
    ],
)
def test_a_setting_says_what_each_field_should_be(name, wrong, told):
    with pytest.raises(ValueError, match=f"^{re.escape(f'{name} is {wrong!r}; it {told}')}$"):
        ControlSetting(**{name: wrong})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sigma": 1.5}, "sigma is 1.5"),
        ({"sigma": "half"}, "sigma is 'half'"),
        ({"lam": -0.1}, "lam is -0.1"),
        ({"gamma": 2}, "gamma is 2"),
        ({"alpha": 0}, "alpha is 0"),
        ({"eta": -1}, "eta is -1"),
        ({"epsilon": 1.1}, "epsilon is 1.1"),
        ({"target": "soft"}, "target is 'soft'"),
        ({"p": 0}, "p is 0"),
        ({"p": 2**17}, "p is 131072"),
        ({"tilings": 0}, "tilings is 0"),
        ({"memory": "dict"}, "memory is 'dict'"),
        ({"max_steps": 0}, "max_steps is 0"),
        ({"episodes": 2.5}, "episodes is 2.5"),
        ({"v": "late"}, "v is 'late'"),
        ({"method": "sarsa"}, "method is 'sarsa'"),
        ({"sigma_noise": -0.01}, "sigma_noise is -0.01"),
        ({"sigma_drawn": "never"}, "sigma_drawn is 'never'"),
        ({"sigma_clipped": 1}, "sigma_clipped is 1"),
        ({"sigma_decay": 0.0}, "sigma_decay is 0.0"),
    ],
)
def test_bad_settings_are_named(changes, message):
    with pytest.raises(ValueError, match=message):
        ControlSetting(**changes)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: run_control({"sigma": 1}, 1, 0), "setting is"),
        (lambda: run_control(SHORT, 0, 0), "runs is 0"),
        (lambda: run_control(SHORT, 1, -1), "seed is -1"),
        (lambda: run_control(SHORT, 1, 0, first_run=-1), "first_run is -1"),
        (lambda: run_control(SHORT, 1, 0, engine="slow"), "engine is 'slow'"),
        (lambda: run_control(SHORT, 1, 0, weights=1), "^weights is 1"),
        (
            lambda: run_control(SHORT, 2**62, 0),
            "^runs is 4611686018427387904; it should be smaller",
        ),
        (
            lambda: run_control(SHORT, 2**20, 0, weights=True),
            "^runs is 1048576; it should be smaller",
        ),
        (lambda: run_control("x", 1, 0), "^setting is 'x'; it should be a ControlSetting"),
    ],
)
def test_bad_calls_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_values_tie_within_a_ten_billionth_and_not_beyond():
    """Which action is greedy decides every result of control: another bar would be another experiment."""
    assert tied([1.0, 1.0 + 0.9e-10]).tolist() == [0, 1]
    assert tied([1.0, 1.0 + 1.1e-10, 0.5]).tolist() == [1]
    assert tied([-1e10, 1e10, 1e10]).tolist() == [
        1,
        2,
    ]  # so large that a ten billionth less is the same number
    assert (DIVERGED_ABOVE, LARGEST_WEIGHT) == (1e100, 1e10)


def test_result_has_one_row_per_run():
    result = run_control(SHORT, 4, 9, weights=True)
    assert result.steps.shape == result.capped.shape == (4, 3)
    assert result.steps.dtype == np.int32
    assert result.diverged.shape == result.checksum.shape == (4,)
    assert result.theta.shape == result.omega.shape == (4, 1024)
    assert (result.returns == -result.steps).all()
    assert (result.score == result.steps.mean(axis=1)).all()
    assert (result.steps[result.capped] == 120).all()
    assert "4 runs of 3 episodes" in repr(result)
    assert run_control(SHORT, 1, 9).theta is None


def test_runs_do_not_depend_on_how_they_are_split():
    whole = run_control(SHORT, 5, 3, weights=True)
    parts = [
        run_control(SHORT, n, 3, first_run=first, weights=True)
        for first, n in ((0, 2), (2, 1), (3, 2))
    ]
    for name in ("steps", "capped", "diverged", "checksum", "theta", "omega"):
        assert np.array_equal(
            getattr(whole, name), np.concatenate([getattr(part, name) for part in parts])
        )
    assert len(set(whole.checksum.tolist())) == 5
    assert not set(whole.checksum.tolist()) & set(run_control(SHORT, 5, 4).checksum.tolist())


def test_settings_share_starts_and_exploration():
    # With all actions random and nothing learned from one step, two settings see the same car.
    walk = ControlSetting(epsilon=1.0, episodes=2, max_steps=400)
    a = run_control(walk, 3, 8)
    b = run_control(dataclasses.replace(walk, sigma=1.0, alpha=0.01, p=256), 3, 8)
    assert np.array_equal(a.steps, b.steps)
    assert not np.array_equal(a.checksum, b.checksum)


def test_first_episode_of_a_frozen_learner_by_hand():
    # alpha so small that no action value leaves the tie tolerance: greedy is always action 0, so without exploration
    # the car reverses into its valley for ever, from the start that the stream of starts gives.
    setting = ControlSetting(alpha=1e-18, epsilon=0.0, episodes=1, max_steps=50)
    result = run_control(setting, 1, 5, weights=True)
    x, v = mountain_car.start(uniform(words(5, 0, START))), 0.0
    for _ in range(50):
        x, v, _, done = mountain_car.step(x, v, 0)
        assert not done
    assert result.capped.all()
    # Every step has delta = -1 up to 1e-16, so theta / alpha is minus the sum of all traces, 8 per step.
    rho = 0.99 * 0.99
    total = sum(8 * (1 - rho ** (50 - k)) / (1 - rho) for k in range(50))
    assert result.theta.sum() / -1e-18 == pytest.approx(total, rel=1e-9)


def test_learning_shortens_episodes():
    setting = ControlSetting(target="epsilon-greedy", alpha=0.001, episodes=150)
    result = run_control(setting, 4, 1)
    assert not result.diverged.any()
    assert np.median(result.steps[:, -30:]) < 400 < np.median(result.steps[:, :3])


def test_divergence_is_counted_never_dropped():
    result = run_control(
        ControlSetting(alpha=0.02, method="semi-gradient", sigma=0.0, episodes=40), 2, 1
    )
    assert result.diverged.all()
    assert result.capped[:, -1].all()
    assert (result.steps[:, -1] == 5000).all()


def test_a_run_that_diverges_at_once_counts_in_every_episode():
    result = run_control(
        ControlSetting(alpha=1.0, method="semi-gradient", sigma=0.0, episodes=3, max_steps=4000),
        1,
        0,
    )
    assert result.diverged.tolist() == [True]
    assert result.capped.tolist() == [[True] * 3]
    assert result.steps.tolist() == [[4000] * 3]
    expected = (
        "ControlResult(1 runs of 3 episodes, mean steps 4000, 3 capped episodes, 1 diverged runs)"
    )
    assert repr(result) == expected


def test_a_checksum_is_that_of_the_bytes_of_the_run():
    signed, theta, omega = (
        np.array([7, -9], dtype=np.int32),
        np.array([0.5, -0.0]),
        np.array([-1.25, 3.0]),
    )
    content = struct.pack("<2i?4d", 7, -9, True, 0.5, 0.0, -1.25, 3.0)
    assert _checksum(signed, True, theta, omega) == int.from_bytes(
        hashlib.sha256(content).digest()[:8], "little"
    )
    assert _checksum(signed, False, theta, omega) != _checksum(signed, True, theta, omega)


def test_a_result_is_made_from_what_the_engine_returns(monkeypatch):
    theta, omega = np.full(4, 2.0), np.full(4, 3.0)
    asked = []

    def engine(setting, seed, run, reference):
        asked.append((setting, seed, run, reference))
        return np.array([5, -9, 7], dtype=np.int32), 1, theta, omega

    monkeypatch.setattr(driver, "one_run", engine)
    setting = ControlSetting(p=4, episodes=3, max_steps=9)
    result = run_control(setting, 2, 8, first_run=6, engine="reference", weights=True)
    assert asked == [(setting, 8, 6, True), (setting, 8, 7, True)]
    assert result.steps.tolist() == [[5, 9, 9]] * 2
    assert result.capped.tolist() == [[False, True, True]] * 2
    assert result.diverged.tolist() == [True] * 2
    whole = _checksum(np.array([5, -9, -9], dtype=np.int32), True, theta, omega)
    assert result.checksum.tolist() == [whole] * 2
    np.testing.assert_array_equal(result.theta, [theta] * 2)
    np.testing.assert_array_equal(result.omega, [omega] * 2)


def test_a_result_says_what_it_is_of():
    fast, dense = (
        run_control(SHORT, 1, np.int64(4), first_run=2, engine=engine)
        for engine in ("fast", "reference")
    )
    assert (fast.setting, fast.seed, fast.first_run) == (SHORT, 4, 2)
    assert type(fast.seed) is type(fast.first_run) is int
    np.testing.assert_array_equal(fast.steps, dense.steps)
    assert run_control(SHORT, 1, 4).first_run == 0
    assert (fast.capped.dtype, fast.diverged.dtype, fast.checksum.dtype) == (
        np.bool_,
        np.bool_,
        np.uint64,
    )
    np.testing.assert_array_equal(fast.checksum, run_control(SHORT, 3, 4).checksum[2:])


def test_the_first_weights_are_the_mean_and_the_runs_own_noise():
    noise = seeds.generator(3, 2, seeds.THETA).standard_normal(5)
    made = first_weights(ControlSetting(p=5, theta0=-1.0, theta0_noise=0.5), 3, 2)
    np.testing.assert_array_equal(made, -1.0 + 0.5 * noise)
    for mean in (0.0, -1.0):
        assert first_weights(ControlSetting(p=5, theta0=mean), 3, 2).tolist() == [mean] * 5
    with pytest.raises(ValueError, match=r"^setting is 'car'; it should be a ControlSetting$"):
        first_weights("car", 3, 2)


@pytest.mark.parametrize(
    ("method", "name"),
    [("gradient", "GQ("), ("semi-gradient", "semi-gradient Q("), ("corrected", "corrected GQ(")],
)
def test_a_setting_is_told_by_the_name_of_its_method(method, name):
    assert str(ControlSetting(method=method)).startswith(name + "sigma=")


def test_a_result_is_a_table_of_what_was_counted():
    result = run_control(ControlSetting(episodes=2, max_steps=20), 3, 1)
    table = result._repr_html_()
    assert table.startswith("<table><caption>ControlResult</caption>")
    for name, value in (
        ("runs", 3),
        ("episodes of each", 2),
        ("capped episodes", 6),
        ("diverged runs", 0),
    ):
        assert f'<th scope="row">{name}</th><td>{value}</td>' in table
    assert '<th scope="row">mean steps per episode</th><td>20</td>' in table


def test_a_summary_of_a_grid_names_its_axes():
    arrays = {
        "steps_total": np.array([[60, 50], [70, 80]]),
        "diverged": np.array([[False, True], [False, True]]),
    }
    kept = control_grid_summary(arrays)
    assert {name: (dims, values.tolist()) for name, (dims, values) in kept.items()} == {
        "steps_total": (("run", "cell"), [[60, 50], [70, 80]]),
        "diverged": (("cell",), [0, 2]),
    }
    assert kept["diverged"][1].dtype == np.int16


@pytest.mark.parametrize("engine", ["fast", "reference"])
def test_tiles_of_a_run_are_those_that_it_draws_itself(engine):
    own = ControlSetting(memory="rltoolkit", p=256, episodes=2, max_steps=200)
    lent = dataclasses.replace(own, tiles_of=4)
    same, other = (run_control(lent, 1, 7, first_run=i, engine=engine) for i in (4, 5))
    assert same.checksum == run_control(own, 1, 7, first_run=4, engine=engine).checksum
    assert other.checksum != run_control(own, 1, 7, first_run=5, engine=engine).checksum
