"""The engine against a dense reference and Gymnasium."""

import sys
from dataclasses import replace
from types import ModuleType

import numpy as np
import pytest
from numba import njit

from gqlib.domains.random_walk import random_walk
from gqlib.engine import (
    EngineSetting,
    Environment,
    Features,
    Learner,
    Tiles,
    _kernel,
    environments,
    run,
    run_setting,
)
from gqlib.engine import runs as runs_module
from gqlib.engine.coders import CarTable
from gqlib.fast._jit import COMPILED
from gqlib.fast._sound import finite
from gqlib.learners.texts import LEARNERS, Change
from gqlib.seeds import START, words
from gqlib.sweeps.results import collect
from gqlib.sweeps.store import Store
from gqlib.sweeps.sweep import Experiment, SweepError, run_sweep
from gqlib.tiles3 import IHT, tiles

CAR = environments.mountain_car(p=512)
SMALL = {"alpha": 0.01, "lam": 0.9, "gamma": 0.99, "episodes": 3, "max_steps": 250, "sigma": 0.3}


def agree(setting, seed=4):
    """That compiled and dense runs take the same steps, with the same weights up to rounding."""
    compiled, reference = (
        run_setting(setting, 1, seed, engine=engine) for engine in ("fast", "reference")
    )
    np.testing.assert_array_equal(compiled.steps, reference.steps)
    np.testing.assert_array_equal(compiled.capped, reference.capped)
    np.testing.assert_array_equal(compiled.diverged, reference.diverged)
    np.testing.assert_allclose(compiled.returns, reference.returns, rtol=1e-13)
    for name in ("theta", "omega"):
        one, other = getattr(compiled, name), getattr(reference, name)
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-11 * max(1.0, np.abs(other).max()))
    assert np.abs(reference.theta).max() > 0.0
    assert (np.abs(reference.omega).max() > 0.0) == setting.make_learner().gradient
    return compiled


TARGETS = dict.fromkeys(
    ("gq", "corrected_gq", "expected_gq", "maei_gq", "sarsa", "true_online_sarsa"), "greedy"
)


# Each is compiled anew, which takes two seconds: one of them is quick enough.
EACH = [name if name == "gq" else pytest.param(name, marks=pytest.mark.slow) for name in LEARNERS]


# Emphasis on a target that is nearly greedy makes weights grow at α = 0.01, and a difference in the last digit as much:
# 8e-9 of 260 after 750 steps. At a step size at which nothing grows the two agree to rounding.
STEP_SIZES = {"emphatic_td_pairs": 1e-4}


@pytest.mark.parametrize("learner", EACH)
def test_lazy_is_dense_on_the_car_with_collisions(learner):
    alpha, target = STEP_SIZES.get(learner, 0.01), TARGETS.get(learner, "epsilon-greedy")
    agree(EngineSetting(CAR, learner, target=target, **(SMALL | {"alpha": alpha})))


@pytest.mark.slow
@pytest.mark.parametrize("environment", ["mountain_car", "acrobot", "cart_pole", "chain"])
def test_lazy_is_dense_in_every_environment(environment):
    where = environments.chain(random_walk(19)) if environment == "chain" else environment
    agree(EngineSetting(where, "gq", **(SMALL | {"max_steps": 120})))


@pytest.mark.parametrize(
    "sigma",
    [{"sigma_noise": 0.2}, {"sigma_noise": 0.2, "sigma_drawn": "episode", "sigma_clipped": True},
     {"sigma_noise": 0.2, "sigma_drawn": "run", "sigma_decay": 0.5}],
)  # fmt: skip
def test_a_random_sigma_is_the_same_in_both(sigma):
    agree(EngineSetting(CAR, "gq", **(SMALL | sigma)))


def test_omega_is_multiplied_through_before_it_underflows():
    """A strong ridge: s goes below its floor several times in a run."""
    settings = SMALL | {"kappa": 60.0, "eta": 1.0, "episodes": 2, "max_steps": 800}
    assert (1.0 - 0.01 * 60.0) ** 800 < 1e-300
    agree(EngineSetting(CAR, "qrc", target="epsilon-greedy", **settings))


@pytest.mark.parametrize("kappa", [100.0, 150.0, 300.0])
def test_a_ridge_that_turns_omega_round_is_taken(kappa):
    """βκ of 1, 1.5 and 3: ω is forgotten, changes its sign in every step, or grows until the run has diverged."""
    settings = SMALL | {"kappa": kappa, "eta": 1.0, "episodes": 2, "max_steps": 800}
    setting = EngineSetting(CAR, "qrc", **settings)
    if kappa < 200.0:
        agree(setting)
    else:
        fast, reference = (
            run_setting(setting, 2, 3, engine=engine) for engine in ("fast", "reference")
        )
        assert fast.diverged.all()
        assert reference.diverged.all()
        np.testing.assert_array_equal(fast.steps, reference.steps)


@pytest.mark.parametrize("learner", ["gq", "gq_lagged"])
@pytest.mark.parametrize("ties", ["first", "random"])
def test_ties_first_weights_and_drawn_tiles_are_the_same_in_both(learner, ties):
    """Many ties, since weights begin at zero or are drawn, and tables that differ from run to run."""
    for memory, noise in (("salted", 0.0), ("rltoolkit", 0.5)):
        car = environments.mountain_car(p=4000, memory=memory, start="anywhere")
        more = {"ties": ties, "theta0_noise": noise, "theta0": 2.0 * noise}
        one = agree(EngineSetting(car, learner, target="epsilon-greedy", **(SMALL | more)))
        assert one.theta.shape == (1, 4000)
        used = car.coder._table(4, 0).used
        assert (np.delete(one.theta[0], used) == 0.0).all() == (noise == 0.0)
    setting = EngineSetting(car, learner, ties=ties, theta0_noise=0.5, **SMALL)
    apart = run_setting(setting, 2, 4).theta
    assert (apart[0] != apart[1]).all()


@pytest.mark.parametrize("coder", ["table", "own"])
def test_what_is_late_outlives_an_episode_that_is_cut_off(coder):
    """It falls due at the last state of that episode, though the next one has begun."""
    where = CAR if coder == "table" else environments.chain(random_walk(5))
    numbers = SMALL | {"alpha": 0.05, "episodes": 40, "max_steps": 4}
    found = agree(EngineSetting(where, "gq_lagged", target="epsilon-greedy", **numbers))
    assert found.capped.sum() > 10


@pytest.mark.slow
def test_omega_goes_along_e_by_itself_or_with_theta():
    """One sum or two, with the same result; and a learner of one's own whose θ does not go along e (GTD2)."""

    @njit
    def after(memory, seen, rates):
        delta = seen.reward + rates.gamma * seen.expected - seen.value
        pull = rates.alpha * seen.trace_omega
        return memory, Change(delta, 0.0, delta, 0.0, -rates.gamma * pull, pull)

    gq = LEARNERS["gq"]
    together, apart = (
        run_setting(EngineSetting(CAR, learner, eta=0.3, **SMALL), 1, 4)
        for learner in (gq, replace(gq, together=False))
    )
    np.testing.assert_array_equal(together.steps, apart.steps)
    np.testing.assert_allclose(together.omega, apart.omega, rtol=0, atol=1e-12)
    agree(EngineSetting(CAR, Learner(gq.begin, gq.before, after, here=True), eta=0.3, **SMALL))
    with pytest.raises(
        ValueError, match=r"^together is True, and so is ridge; .* should be False$"
    ):
        replace(gq, ridge=True)


def test_environments_are_compared_by_what_they_hold():
    walk, chain = random_walk(5), environments.chain
    same, other = chain(walk), chain(random_walk(7))
    assert chain(walk) == same != other
    assert hash(chain(walk)) == hash(same) != hash(other)
    assert EngineSetting(same) == EngineSetting(chain(walk)) != EngineSetting(other)
    assert {EngineSetting(same), EngineSetting(chain(walk))} == {EngineSetting(same)}
    assert (
        repr(other)
        == "Environment('chain', 2 actions, 1 of 9 features active, at most 10000 steps)"
    )
    assert "8 of 512 features active" in repr(environments.mountain_car(p=512))


def test_divergence_is_data():
    settings = {"alpha": 5.0, "lam": 0.9, "gamma": 1.0, "episodes": 4, "max_steps": 3000}
    result, reference = (
        run(CAR, "sarsa", runs=2, seed=0, engine=engine, **settings)
        for engine in ("fast", "reference")
    )
    assert result.diverged.all()
    np.testing.assert_array_equal(result.steps, reference.steps)
    np.testing.assert_array_equal(np.isnan(result.returns), np.isnan(reference.returns))
    assert np.isnan(result.returns[:, -1]).all()
    assert "2 diverged runs" in repr(result)


def test_runs_do_not_depend_on_how_they_are_cut():
    setting = EngineSetting("cart_pole", "qrc", episodes=20)
    together = run_setting(setting, 4, seed=8)
    apart = [run_setting(setting, 2, seed=8, first_run=first) for first in (0, 2)]
    for name in ("steps", "returns", "theta", "omega"):
        np.testing.assert_array_equal(
            getattr(together, name), np.concatenate([getattr(part, name) for part in apart])
        )
    assert len(np.unique(together.theta, axis=0)) == 4


# Gymnasium


def gymnasium_step(name, state, action):
    gymnasium = pytest.importorskip("gymnasium")
    env = gymnasium.make(name).unwrapped
    env.reset(seed=0)
    env.state = np.array(state)
    _, reward, ends, _, _ = env.step(action)
    return tuple(float(x) for x in env.state), float(reward), bool(ends)


CASES = {
    "cart_pole": ("CartPole-v1", (2.5, 3.0, 0.22, 3.5), 1e-14),
    "acrobot": ("Acrobot-v1", (np.pi, np.pi, 4 * np.pi, 9 * np.pi), 1e-13),
}


@pytest.mark.parametrize("name", CASES)
def test_dynamics_are_gymnasiums_up_to_rounding(name):
    """One step from random states, each number relative to the largest that it can be."""
    other, scale, tolerance = CASES[name]
    environment, rng = getattr(environments, name)(), np.random.default_rng(0)
    ended = 0
    for _ in range(300):
        state, action = (
            tuple((rng.uniform(-1, 1, 4) * scale).tolist()),
            int(rng.integers(environment.actions)),
        )
        ours, reward, ends = environment.step((), state, action, words(0, 0, START))
        theirs, their_reward, their_end = gymnasium_step(other, state, action)
        gap = np.abs(np.array(ours) - theirs)
        if name == "acrobot":  # just above pi and just below -pi are the same angle
            gap[:2] = np.minimum(gap[:2], 2 * np.pi - gap[:2])
        assert (gap <= tolerance * np.array(scale)).all()
        assert (reward, ends) == (their_reward, their_end)
        ended += ends
    assert 0 < ended < 300


def test_the_car_is_gymnasiums_up_to_the_goal():
    environment, rng = environments.mountain_car(), np.random.default_rng(0)
    for _ in range(300):
        x, v, action = (
            float(rng.uniform(-1.2, 0.45)),
            float(rng.uniform(-0.07, 0.07)),
            int(rng.integers(3)),
        )
        state = x, v, float(np.cos(3 * x))
        (ours_x, ours_v, _), reward, ends = environment.step(
            environment.data, state, action, words(0, 0, START)
        )
        (theirs_x, theirs_v), their_reward, their_end = gymnasium_step(
            "MountainCar-v0", (x, v), action
        )
        assert ours_x == pytest.approx(min(theirs_x, 0.5), abs=1e-15)
        assert ours_v == pytest.approx(theirs_v, abs=1e-16)
        assert (reward, ends) == (their_reward, their_end)


def test_whole_episodes_go_as_in_gymnasium():
    """The same actions from the same start: cart-pole to the bit of its length."""
    gymnasium = pytest.importorskip("gymnasium")
    env, environment, rng = (
        gymnasium.make("CartPole-v1"),
        environments.cart_pole(),
        np.random.default_rng(1),
    )
    for seed in range(20):
        env.reset(seed=seed)
        state, ends, theirs = tuple(env.unwrapped.state.tolist()), False, False
        while not (ends or theirs):
            action = int(rng.integers(2))
            state, _, ends = environment.step((), state, action, words(0, 0, START))
            _, _, theirs, _, _ = env.step(action)
            np.testing.assert_allclose(state, env.unwrapped.state, rtol=0, atol=1e-11)
        assert ends == theirs


def test_sine_and_cosine_are_accurate_to_rounding():
    import mpmath

    for x in np.concatenate(
        [np.linspace(-4 * np.pi, 4 * np.pi, 1001), np.pi / 2 * np.arange(-8, 9)]
    ).tolist():
        sine, cosine = environments._sine_and_cosine(x)
        assert abs(sine - float(mpmath.sin(x))) < 3e-16
        assert abs(cosine - float(mpmath.cos(x))) < 3e-16


# Coders


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_tiles_are_those_of_tiles3(axes):
    """States share a tile exactly where tiles3 says so, tiling by tiling."""
    coder, rng, memory = (
        Tiles((0.0,) * axes, (1.0,) * axes, (3,) * axes, 8),
        np.random.default_rng(0),
        IHT(10_000),
    )
    names = {}
    for state in rng.uniform(0, 1, (400, axes)).tolist():
        ours, theirs = coder.indices(tuple(state)), tiles(memory, 8, [3 * x for x in state])
        for pair in zip(theirs, ours, strict=True):
            assert names.setdefault(pair[0], pair[1]) == pair[1]
    assert len(set(names.values())) == len(names)
    assert max(names.values()) < coder.size


@pytest.mark.parametrize("stride", [1, 4])
def test_indices_are_looked_up_or_computed_with_the_same_result(stride):
    observe = environments._as_it_is
    coder, rng = Tiles((-1.0, 0.0), (1.0, 3.0), (4, 5), 8), np.random.default_rng(0)
    from gqlib.engine import coders

    table, _ = coders._tile_functions(coder.tiles, 8, 3, True, observe, stride)
    computed, _ = coders._tile_functions(coder.tiles, 8, 3, False, observe, stride)
    codes, buffer = coder._codes(3, stride), np.zeros(48, dtype=np.int64)
    states = [*rng.uniform((-1.2, -0.5), (1.2, 3.5), (200, 2)).tolist(), [1.0, 3.0], [-1.0, 0.0]]
    for k, state in enumerate(states):
        row = table(codes.active, codes.grid, (), tuple(state), 0)
        there = computed(buffer, codes.grid, (), tuple(state), k % 2)
        wanted = [
            stride * (index * 3 + a) for a in range(3) for index in coder.indices(tuple(state))
        ]
        assert (
            codes.active[row : row + 24].tolist() == buffer[there : there + 24].tolist() == wanted
        )
    for state in ((np.nan, 1.0), (0.0, np.inf), (-np.inf, np.nan)):
        for locate in (table, computed):
            assert (
                locate(codes.active if locate is table else buffer, codes.grid, (), state, 0)
                == _kernel.NO_STATE
            )


def test_features_out_of_range_do_not_reach_memory():
    for wrong in (10, -1):

        @njit
        def fill(data, state, out, wrong=wrong):
            out[0] = state if state < 3 else wrong

        corridor = Environment(*own(), 2, Features(fill, size=10))
        with pytest.raises(ValueError, match="feature that it does not have"):
            run(corridor, "sarsa", runs=1, seed=0, episodes=3, epsilon=1.0)

    @njit
    def twice(data, state, out):
        out[0] = out[1] = state

    with pytest.raises(ValueError, match="or one twice"):
        run(
            Environment(*own(), 2, Features(twice, size=10, active=2)),
            "sarsa",
            runs=1,
            seed=0,
            episodes=3,
        )


# States and rewards that are no numbers

IN_A_BOX = Tiles((0.0, 0.0), (1.0, 1.0), (2, 2), 2)
TOO_FINE_FOR_A_TABLE = Tiles((0.0, 0.0), (1.0, 1.0), (200, 200), 2)


@njit
def _one_of_two(data, state, out):
    out[0] = 1 if state[1] > 0.5 else 0  # NaN would be taken for 0, and infinity for 1


@njit
def _begun(data, stream):
    return 0.0, data[0]


@njit
def _counted(data, state, action, stream):
    place = state[0] + 0.125
    ends = place >= 1.0
    return (
        (place, data[2] if place == data[1] else 0.0),
        data[3] if place == data[1] else -1.0,
        ends,
    )


def faulty(
    coder, first=0.0, place=0.5, seen=0.0, reward=-1.0, observe=environments._as_it_is, actions=2
):
    """Eight steps an episode; at a place, in step 8·place, it returns the given numbers."""
    data = (first, place, seen, reward)
    return Environment(_begun, _counted, actions, coder, observe, data=data, name="faulty")


CODERS = [IN_A_BOX, TOO_FINE_FOR_A_TABLE, Features(_one_of_two, size=2)]


@pytest.mark.parametrize("engine", ["fast", "reference"])
@pytest.mark.parametrize(
    "coder", CODERS if COMPILED else CODERS[:2], ids=["table", "computed", "own"]
)
def test_a_state_that_is_no_number_is_told_with_its_place(coder, engine):
    numbers = {"runs": 2, "seed": 0, "episodes": 3, "lam": 0.5, "engine": engine, "first_run": 4}
    assert run(faulty(coder), "sarsa", **numbers).steps.tolist() == [[8, 8, 8]] * 2
    for value in (np.nan, np.inf, -np.inf):
        with pytest.raises(
            ValueError,
            match=r"^state of 'faulty' is not finite, in run 4, episode 0 .* after 4 steps",
        ):
            run(faulty(coder, seen=value), "sarsa", **numbers)
        with pytest.raises(
            ValueError,
            match=r"^state of 'faulty' is not finite, in run 4, episode 0 .* after 0 steps",
        ):
            run(faulty(coder, first=value), "sarsa", **numbers)
        with pytest.raises(
            ValueError, match=r"^reward of 'faulty' is not finite, in run 4, .* after 4 steps; its"
        ):
            run(faulty(coder, reward=value), "sarsa", **numbers)
    # The last state of an episode has no features, so nothing depends on it.
    assert (
        run(faulty(coder, place=1.0, seen=np.nan), "sarsa", **numbers).steps.tolist()
        == [[8, 8, 8]] * 2
    )


@pytest.mark.parametrize("engine", ["fast", "reference"])
def test_a_coder_is_held_to_what_it_observes(engine):
    @njit
    def observe(data, state):
        return state[0], np.log(state[0] - 0.25) if state[
            0
        ] > 0.0 else 0.0  # −∞ after two steps, NaN after one

    with pytest.raises(ValueError, match=r"^state of 'faulty' is not finite, .* after 1 steps;"):
        run(faulty(IN_A_BOX, observe=observe), "sarsa", runs=1, seed=0, episodes=1, engine=engine)


def test_a_place_that_is_none_of_the_cars_does_not_reach_memory():
    for first in (-7.0, 1e9, 0.2):
        with pytest.raises(ValueError, match=r"^coder of 'faulty' has no place for the state"):
            run(faulty(CarTable(512), first=first, actions=3), "sarsa", runs=1, seed=0, episodes=1)
    for value in (np.nan, np.inf):
        with pytest.raises(
            ValueError, match=r"^state of 'faulty' is not finite, .* after 0 steps;"
        ):
            run(faulty(CarTable(512), first=value, actions=3), "sarsa", runs=1, seed=0, episodes=1)


def test_a_failure_of_the_environment_is_recorded_and_the_rest_is_finished(tmp_path, monkeypatch):
    module = ModuleType("faulty_environments")
    module.sound, module.faulty = lambda: faulty(IN_A_BOX), lambda: faulty(IN_A_BOX, seen=np.nan)
    monkeypatch.setitem(sys.modules, "faulty_environments", module)
    settings = tuple(
        EngineSetting(f"faulty_environments:{name}", "sarsa", episodes=2)
        for name in ("faulty", "sound")
    )
    function = "gqlib.engine.runs:engine_runs"
    study = Experiment(
        "faulty", "one of two", function, settings, runs=1, seed=1, version="1", runs_per_task=1
    )
    apart = r"run 0 of EngineSetting\(environment='faulty_environments:faulty', \.\.\.\)"  # and not all of its fields
    with pytest.raises(
        SweepError, match=apart + ": ValueError: state of 'faulty' is not finite, in run 0"
    ):
        run_sweep(study, Store(tmp_path), workers=1, progress=False)
    sound = replace(study, settings=settings[1:])
    assert run_sweep(sound, Store(tmp_path), workers=1, progress=False).found == 1


@pytest.mark.slow
def test_compiled_and_plain_say_the_same_of_what_is_finite():
    compiled = njit(lambda state: finite(state))
    for state in (3, True, 0.5, np.nan, np.inf, (), (1,), (1, 2.0), (1, -np.inf), (0.0, (np.nan, 1)), np.zeros(3),
                  np.array([0.0, np.nan]), np.arange(3), np.float32(np.inf)):  # fmt: skip
        assert compiled(state) == finite(state), state
    assert not finite((1, (2.0, np.nan)))
    assert finite((1, (2.0, 3)))


# One's own


@njit
def _start(data, stream):
    return 0


@njit
def _step(data, state, action, stream):
    place = max(0, state + 2 * action - 1)
    return place, -1.0, place == 9


def own():
    return _start, _step


@njit
def _fill(data, state, out):
    out[0] = state


def corridor():
    return Environment(*own(), 2, Features(_fill, size=10), max_steps=400)


def test_an_environment_and_a_learner_of_ones_own_by_name_in_a_sweep(monkeypatch, tmp_path):
    module = ModuleType("my_engine")
    module.corridor, module.mine = corridor, replace(LEARNERS["sarsa"])
    monkeypatch.setitem(sys.modules, "my_engine", module)
    settings = tuple(
        EngineSetting("my_engine:corridor", "my_engine:mine", alpha=a, episodes=10)
        for a in (0.1, 0.5)
    )
    assert settings[0].imported == ("my_engine:corridor", "my_engine:mine")
    experiment = Experiment(
        "mine", "Mine", "any environment", settings, 4, 2019, "1", 2, summary="everything"
    )
    run_sweep(experiment, Store(tmp_path), workers=1)
    kept = collect(experiment, Store(tmp_path))
    for i, setting in enumerate(settings):
        wanted = run(corridor(), "sarsa", runs=4, seed=2019, alpha=setting.alpha, episodes=10)
        np.testing.assert_array_equal(kept["steps"].values[i], wanted.steps)
        np.testing.assert_array_equal(kept["returns"].values[i], wanted.returns)


def test_objects_have_no_key():
    for setting in (EngineSetting(corridor()), EngineSetting("acrobot", LEARNERS["gq"])):
        with pytest.raises(ValueError, match="should be 'module:name'"):
            _ = setting.key


PLAIN = {
    "begin": LEARNERS["gq"].begin,
    "before": LEARNERS["gq"].before,
    "after": LEARNERS["gq"].after,
}
WORLD = {"start": own()[0], "step": own()[1], "actions": 2, "coder": Features(_fill, size=10)}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: run("maze", runs=1, seed=0), r"^environment is 'maze'"),
        (lambda: run("acrobot", "dqn", runs=1, seed=0), r"^learner is 'dqn'"),
        (lambda: run("acrobot", runs=0, seed=0), r"^runs is 0"),
        (
            lambda: run("acrobot", runs=1, seed=0, steps=3),
            r"^numbers is 'steps'; it should be one of 'sigma',",
        ),
        (lambda: run("acrobot", runs=1, seed=0, engine="gpu"), r"^engine is 'gpu'"),
        (lambda: run("acrobot", runs=1, seed=0, lam=2.0), r"^lam is 2"),
        (lambda: run("acrobot", runs=1, seed=0, options=(("depth", 3),)), r"^options is"),
        (
            lambda: run("nowhere:maze", runs=1, seed=0),
            r"^environment is 'nowhere:maze', which cannot be imported",
        ),
        (lambda: EngineSetting(corridor(), options=(("a", 1),)), r"^options is"),
        (lambda: EngineSetting("acrobot", options=3), r"^options is 3"),
        (lambda: Learner(**(PLAIN | {"after": max})), r"^after is a plain function"),
        (lambda: Environment(**(WORLD | {"step": max})), r"^step is a plain function"),
        (lambda: Environment(**(WORLD | {"coder": 3})), r"^coder is 3"),
        (lambda: Environment(**(WORLD | {"actions": 0})), r"^actions is 0"),
        (lambda: Tiles((0.0,), (0.0,), (2,)), r"^high is"),
        (lambda: Tiles((0.0,), (1.0,), (2, 3)), r"^tiles is"),
        (lambda: Tiles((0.0,) * 8, (1.0,) * 8, (9,) * 8), r"^tiles is .* at most"),
        (lambda: Features(max, 3), r"^fill is a plain function"),
        (lambda: Features(_fill, 3, 4), r"^active is 4"),
        (lambda: CarTable(512, memory="sorted"), r"^memory is 'sorted'"),
    ],
)
def test_refusals_name_the_argument(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@njit
def _starts(data, stream):
    return (0.5,)


@njit
def _two_things(data, state, action, stream):
    return state, -1.0


@njit
def _another_state(data, state, action, stream):
    return (0.5, 0.5), -1.0, False


@njit
def _no_such_thing(data, state, action, stream):
    return state.nowhere, -1.0, False


@pytest.mark.slow
@pytest.mark.skipif(not COMPILED, reason="nothing is compiled")
@pytest.mark.parametrize(
    ("step", "told"),
    [
        (
            _two_things,
            r"^step returned \(\(0\.5,\), -1\.0\); it should return the next state, the reward and an end$",
        ),
        (
            _another_state,
            r"^step returned the state \(0\.5, 0\.5\) after \(0\.5,\); both should be of the same type",
        ),
        (_no_such_thing, r"^the functions of 'own', of its coder .*do not compile: .*nowhere"),
    ],
)
def test_functions_that_do_not_compile_are_told_in_a_line(step, told):
    own = Environment(_starts, step, 2, Tiles((0.0,), (1.0,), (4,)))
    with pytest.raises(ValueError, match=told) as error:
        run(own, "sarsa", runs=1, seed=0, episodes=1)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 600


def test_names_lead_to_environments_and_learners():
    assert set(runs_module.ENVIRONMENTS) == {"mountain_car", "acrobot", "cart_pole"}
    assert {
        "gq",
        "gq_lagged",
        "corrected_gq",
        "sarsa",
        "expected_sarsa",
        "true_online_sarsa",
        "qrc",
    } <= set(LEARNERS)
