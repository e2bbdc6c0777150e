r"""Control with any environment and any learner: `run`, what it returns, and the setting that a sweep stores.

The behaviour policy is ε-greedy, the target policy greedy or ε-greedy; ties go to the first action within
`gqlib.rules.TIE` of the largest value, or to chance. A run is determined by (setting, seed, run index), to the bit;
starts, exploration, σ, ties and chance in the environment have streams of their own (`gqlib.seeds`), so settings see
the same random numbers.

The reference does the same with dense vectors, a line for each thing that happens: features φ(s, a) with a one for
every active index, e ← decay·e + gain·φ, and so on. Both take the same steps; their weights agree up to rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from functools import cached_property, lru_cache
from importlib import import_module
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from gqlib import _validate as check
from gqlib import seeds
from gqlib._objects import ByValue, html_table
from gqlib._validate import Array
from gqlib.control.setting import TARGETS, TIES, TargetPolicy, Ties, drawn_weights
from gqlib.control.tile_tables import ROW_OF_WEIGHTS
from gqlib.engine import environments
from gqlib.engine._kernel import (
    DIVERGED,
    DRAWN,
    FINISHED,
    FLUSH_BELOW,
    LOST,
    NO_REWARD,
    NO_STATE,
    Parts,
    kernel_of,
)
from gqlib.engine._records import Limits, Memory, Sigma, Streams
from gqlib.engine.coders import CarTable, Tiles
from gqlib.engine.environments import Environment
from gqlib.fast._jit import COMPILED, notice
from gqlib.fast._lines import zeros_in_lines
from gqlib.fast._sound import finite
from gqlib.fast.rng import normal, uniform
from gqlib.learners import dense
from gqlib.learners._records import Rates
from gqlib.learners.sigma import SigmaFields
from gqlib.learners.texts import LEARNERS, Learner
from gqlib.rules import DIVERGED_ABOVE, tied
from gqlib.seeds import BEHAVIOUR, SIGMA, START, TRAJECTORY, words
from gqlib.stats._told import told_mean
from gqlib.sweeps.setting import Setting
from gqlib.sweeps.store import Arrays

__all__ = ["EngineResult", "EngineSetting", "engine_runs", "run", "run_setting"]

ENVIRONMENTS: dict[str, Callable[..., Environment]] = {
    "mountain_car": environments.mountain_car,
    "acrobot": environments.acrobot,
    "cart_pole": environments.cart_pole,
}
ENGINES = ("fast", "reference")
Options = tuple[tuple[str, Any], ...]
# Signed steps, returns, how it ended (with the episode and the step of an early end), θ, ω.
Run = tuple[NDArray[np.int64], Array, tuple[int, int, int], Array, Array]
TOLD = {
    LOST: "coder of {name!r} has no place for the state, gives a feature that it does not have, or one twice, {where}; "
    "it should give different numbers below its size for every state",
    NO_STATE: "state of {name!r} is not finite, {where}; its start, step and observe should return finite numbers",
    NO_REWARD: "reward of {name!r} is not finite, {where}; its step should return a finite number",
}


@dataclass(frozen=True)
class EngineSetting(SigmaFields, Setting):
    """Everything that determines the result of `run`, except seed and run index.

    Parameters
    ----------
    environment : {"mountain_car", "acrobot", "cart_pole"}, "module:function", or Environment
        Which, or a function that returns one of your own, or one itself; in a sweep it should have a name.
    learner : str, "module:name", or gqlib.learners.texts.Learner
        One of `gqlib.learners.texts.LEARNERS`, or one of your own.
    options : pairs (name, value)
        Keyword arguments of the function that makes the environment.
    lam, gamma, alpha, eta, kappa : float
        λ, γ, the step size of θ (not divided by the number of tilings), the ratio β/α, and the ridge on ω.
    epsilon : float
        Exploration of the behaviour policy, and of an ε-greedy target policy.
    target : {"greedy", "epsilon-greedy"}
    episodes : int
    max_steps : int, optional
        Where episodes are cut off (the last update still bootstraps); by default where the environment says.
    theta0, theta0_noise : float
        Mean and standard deviation of the weights at first, drawn for each run.
    ties : {"first", "random"}
        Which of several greedy actions is taken.
    sigma, sigma_noise, sigma_drawn, sigma_clipped, sigma_decay
        σ, and how it changes: see `gqlib.learners.sigma.SigmaFields`.

    Examples
    --------
    >>> setting = EngineSetting("cart_pole", "sarsa", alpha=0.05, episodes=5)
    >>> len(setting.key), setting.imported, setting.make_environment().name, setting.make_learner().gradient
    (64, (), 'cart-pole', False)
    """

    LATER: ClassVar[tuple[str, ...]] = ("theta0_noise", "ties")

    environment: str | Environment
    learner: str | Learner = "gq"
    options: Options = ()
    lam: float = 0.9
    gamma: float = 1.0
    alpha: float = 0.01
    eta: float = 1.0
    kappa: float = 1.0
    epsilon: float = 0.1
    target: TargetPolicy = "greedy"
    episodes: int = 100
    max_steps: int | None = None
    theta0: float = 0.0
    theta0_noise: float = 0.0
    ties: Ties = "first"

    def __post_init__(self) -> None:
        if not isinstance(self.environment, Environment):
            _name(
                "environment",
                self.environment,
                tuple(ENVIRONMENTS),
                "'module:function', or an Environment",
            )
        elif tuple(self.options):
            raise ValueError(
                f"options is {check.brief(self.options)}; an environment that is made already has none"
            )
        if not isinstance(self.learner, Learner):
            _name("learner", self.learner, tuple(LEARNERS), "'module:name', or a Learner")
        # What comes back from JSON is a list of lists.
        try:
            options = tuple(sorted((str(name), _frozen(value)) for name, value in self.options))
            hash(options)
        except (TypeError, ValueError):
            raise ValueError(
                f"options is {check.brief(self.options)}; it should hold pairs (name, value)"
            ) from None
        checked: dict[str, Any] = {
            "options": options,
            "lam": check.scalar("lam", self.lam, low=0.0, high=1.0),
            "gamma": check.scalar("gamma", self.gamma, low=0.0, high=1.0),
            "alpha": check.scalar("alpha", self.alpha, low=0.0),
            "eta": check.scalar("eta", self.eta, low=0.0),
            "kappa": check.scalar("kappa", self.kappa, low=0.0),
            "epsilon": check.scalar("epsilon", self.epsilon, low=0.0, high=1.0),
            "target": check.choice("target", self.target, TARGETS),
            "episodes": check.integer("episodes", self.episodes, low=1),
            "theta0": check.scalar("theta0", self.theta0),
            "theta0_noise": check.scalar("theta0_noise", self.theta0_noise, low=0.0),
            "ties": check.choice("ties", self.ties, TIES),
        }
        if self.max_steps is not None:
            checked["max_steps"] = check.integer(
                "max_steps", self.max_steps, low=1, high=check.ROOM
            )
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        self.check_sigma()

    def make_environment(self) -> Environment:
        """The environment with its options (made once, so that its kernels are compiled once)."""
        if isinstance(self.environment, Environment):
            return self.environment
        return _make(self.environment, self.options)

    def make_learner(self) -> Learner:
        """The learner's functions."""
        if isinstance(self.learner, Learner):
            return self.learner
        found = (
            LEARNERS[self.learner] if self.learner in LEARNERS else _import("learner", self.learner)
        )
        check.instance("learner", found, Learner)
        learner: Learner = found
        return learner

    @cached_property
    def key(self) -> str:
        """The key by which a sweep stores the setting."""
        for name in ("environment", "learner"):
            if not isinstance(getattr(self, name), str):
                raise ValueError(
                    f"{name} is an object; in a setting that is stored it should be 'module:name'"
                )
        return super().key

    @property
    def imported(self) -> tuple[str, ...]:
        """The environment and the learner, where they are not from gqlib."""
        return tuple(
            name
            for name in (self.environment, self.learner)
            if isinstance(name, str) and ":" in name
        )


@lru_cache(maxsize=32)
def _make(name: str, options: Options) -> Environment:
    made = ENVIRONMENTS.get(name) or check.function("environment", _import("environment", name))
    try:
        environment = made(**dict(options))
    except TypeError as error:
        raise ValueError(f"options is {check.brief(options)}; {error}") from None
    check.instance("environment", environment, Environment)
    return environment


def _called(learner: str | Learner) -> str:
    return learner if isinstance(learner, str) else "own"


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


def _name(name: str, value: Any, known: tuple[str, ...], others: str) -> None:
    """Refuse what is neither one of a few names nor ``module:name``."""
    if not isinstance(value, str) or ":" not in value:
        check.choice(name, value, known, others=others)


def _import(name: str, path: str) -> Any:
    module, _, attribute = path.partition(":")
    try:
        return getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise ValueError(f"{name} is {path!r}, which cannot be imported: {error}") from error


@dataclass(frozen=True, eq=False, repr=False)
class EngineResult(ByValue):
    """Results of runs, one row for each.

    Attributes
    ----------
    setting : EngineSetting
    steps : ndarray of int64, (runs, episodes)
        Steps of each episode; the step limit where it was cut off, and from the episode of divergence on.
    returns : ndarray, (runs, episodes)
        Undiscounted sums of rewards; NaN from the episode of divergence on.
    capped : ndarray of bool, (runs, episodes)
        Which episodes were cut off, or came after a divergence.
    diverged : ndarray of bool, (runs,)
        Whether a TD error got out of bounds; such a run stops there.
    theta, omega : ndarray, (runs, p)
        Final weights.

    Examples
    --------
    >>> result = run("mountain_car", "sarsa", runs=2, seed=0, episodes=3, max_steps=10)  # too short to leave the valley
    >>> result
    EngineResult(2 runs of 3 episodes, mean return -10, 6 capped episodes, 0 diverged runs)
    """

    setting: EngineSetting
    steps: NDArray[np.int64]
    returns: Array
    capped: NDArray[np.bool_]
    diverged: NDArray[np.bool_]
    theta: Array
    omega: Array

    def __repr__(self) -> str:
        runs, episodes = self.steps.shape
        mean = np.nanmean(self.returns) if np.isfinite(self.returns).any() else np.nan
        return (
            f"EngineResult({runs} runs of {episodes} episodes, mean return {mean:.4g}, "
            f"{int(self.capped.sum())} capped episodes, {int(self.diverged.sum())} diverged runs)"
        )

    def _repr_html_(self) -> str:
        runs, episodes = self.steps.shape
        rows = [
            ("environment", self.setting.make_environment().name),
            ("learner", _called(self.setting.learner)),
        ]
        rows += [("runs", str(runs)), ("episodes of each", str(episodes))]
        rows += told_mean("mean return", self.returns.mean(axis=1))
        rows += [
            ("capped episodes", str(self.capped.sum())),
            ("diverged runs", str(self.diverged.sum())),
        ]
        return html_table("EngineResult", rows)


def run(
    environment: str | Environment,
    learner: str | Learner = "gq",
    *,
    runs: int,
    seed: int,
    first_run: int = 0,
    engine: Literal["fast", "reference"] = "fast",
    **numbers: Any,
) -> EngineResult:
    """Run a learner in an environment.

    Parameters
    ----------
    environment, learner
        By name, or your own: see `EngineSetting`.
    runs, seed, first_run : int
        Runs 0..9 in one call, or 0..4 and 5..9 in two, are the same to the bit.
    engine : {"fast", "reference"}
        Compiled and O(K), or dense and in Python.
    **numbers
        The other fields of an `EngineSetting`.

    Returns
    -------
    EngineResult

    Raises
    ------
    ValueError
        Also where an environment returns a state or a reward that is no finite number, or a coder a feature that it
        does not have: with its name, the run, the episode and the step. That is a mistake of the environment; a learner
        whose weights get out of bounds has diverged, which is a result.

    Examples
    --------
    >>> result = run("cart_pole", "true_online_sarsa", runs=5, seed=1, episodes=200, alpha=0.1)
    >>> result.returns.shape, bool((result.returns[:, -50:].mean() > 2 * result.returns[:, :10].mean()))
    ((5, 200), True)
    """
    known = tuple(
        one.name for one in fields(EngineSetting) if one.name not in ("environment", "learner")
    )
    for name in numbers:
        check.choice("numbers", name, known)
    setting = EngineSetting(environment, learner, **numbers)
    return run_setting(setting, runs, seed, first_run=first_run, engine=engine)


def run_setting(
    setting: EngineSetting,
    runs: int,
    seed: int,
    *,
    first_run: int = 0,
    engine: Literal["fast", "reference"] = "fast",
) -> EngineResult:
    """`run`, given a setting.

    Examples
    --------
    >>> setting = EngineSetting("acrobot", "qrc", episodes=2, max_steps=50)
    >>> both, second = run_setting(setting, 2, 0), run_setting(setting, 1, 0, first_run=1)
    >>> bool((both.theta[1] == second.theta[0]).all())
    True
    """
    check.instance("setting", setting, EngineSetting)
    runs, seed = check.integer("runs", runs, low=1), check.integer("seed", seed, low=0)
    first_run = check.integer("first_run", first_run, low=0)
    check.choice("engine", engine, ENGINES)
    environment, learner = setting.make_environment(), setting.make_learner()
    rows = environment.coder._rows(environment.actions)
    check.room("runs", runs, runs * (2 * setting.episodes + 2 * rows))
    one = fast_run if engine == "fast" else reference_run
    limit = environment.max_steps if setting.max_steps is None else setting.max_steps
    found = []
    for number in range(first_run, first_run + runs):
        own = replace(
            environment, data=_apart(environment.data)
        )  # what a run writes there, no other run reads
        found.append(one(setting, own, learner, limit, seed, number))
        outcome, episode, step = found[-1][2]
        if outcome == LOST:
            _fits(environment, seed, number)
        if outcome in TOLD:
            where = f"in run {number}, episode {episode} (both from 0), after {step} steps"
            raise ValueError(TOLD[outcome].format(name=environment.name, where=where))
    signed, returns = np.array([row[0] for row in found]), np.array([row[1] for row in found])
    diverged = np.array([row[2][0] == DIVERGED for row in found])
    for row in np.flatnonzero(diverged):
        episode = found[row][2][1]
        signed[row, episode:], returns[row, episode:] = -limit, np.nan
    theta, omega = (np.array([row[i] for row in found]) for i in (3, 4))
    return EngineResult(setting, np.abs(signed), returns, signed < 0, diverged, theta, omega)


def _apart(data: Any) -> Any:
    """The same data, with arrays of its own wherever compiled code could write to them."""
    if isinstance(data, np.ndarray) and data.flags.writeable:
        return data.copy(order="K")
    if isinstance(data, tuple):
        parts = tuple(map(_apart, data))
        return type(data)(*parts) if hasattr(data, "_fields") else parts
    return data


def engine_runs(setting: EngineSetting, runs: int, seed: int, *, first_run: int) -> Arrays:
    """What a sweep keeps of its runs: steps and returns by episode, and which runs diverged.

    Examples
    --------
    >>> kept = engine_runs(EngineSetting("cart_pole", "sarsa", episodes=4), 3, 0, first_run=0)
    >>> {name: array.shape for name, array in kept.items()}
    {'steps': (3, 4), 'returns': (3, 4), 'diverged': (3,)}
    """
    result = run_setting(setting, runs, seed, first_run=first_run)
    return {
        "steps": result.steps.astype(np.int32),
        "returns": result.returns,
        "diverged": result.diverged,
    }


def parts_of(
    environment: Environment,
    learner: Learner,
    target: str,
    ties: str = "first",
    stride: int = ROW_OF_WEIGHTS,
) -> Parts:
    """What the kernel of a setting is made of; indices are multiplied by `stride`, the numbers in a row of weights."""
    locate, dot = environment.coder._functions(environment.actions, environment.observe, stride)
    return Parts(
        environment.start,
        environment.step,
        locate,
        dot,
        learner.begin,
        learner.before,
        learner.after,
        environment.actions,
        environment.coder.active,
        learner.gradient,
        learner.ridge,
        learner.together,
        learner.here,
        learner.late,
        learner.traced,
        target == "epsilon-greedy",
        ties == "random",
    )


def rates_of(setting: EngineSetting, actions: int) -> Rates:
    """The numbers of a setting that learners see."""
    each = setting.epsilon / actions if setting.target == "epsilon-greedy" else 0.0
    alpha, eta = setting.alpha, setting.eta
    return Rates(
        setting.lam,
        setting.gamma,
        alpha,
        eta,
        eta * alpha,
        setting.kappa,
        1.0 - actions * each,
        each,
    )


def streams_of(seed: int, run: int) -> Streams:
    """The streams of a run, made afresh, because kernels advance them."""
    return Streams(*(words(seed, run, of) for of in (START, BEHAVIOUR, TRAJECTORY, seeds.TIES)))


def fast_run(
    setting: EngineSetting,
    environment: Environment,
    learner: Learner,
    max_steps: int,
    seed: int,
    run: int,
    flush_below: float = FLUSH_BELOW,
) -> Run:
    """One run of the compiled kernel."""
    actions, coder = environment.actions, environment.coder
    used, p = coder._used(seed, run), coder._rows(actions)
    theta, omega = drawn_weights(p, setting.theta0, setting.theta0_noise, seed, run), np.zeros(p)
    rows = len(theta[used])
    weights = zeros_in_lines((rows, ROW_OF_WEIGHTS))
    weights[:, 0] = theta[used]
    steps, returns = np.zeros(setting.episodes, dtype=np.int64), np.zeros(setting.episodes)
    sigma = Sigma(
        setting.sigma,
        setting.sigma_noise,
        DRAWN[setting.sigma_drawn],
        setting.sigma_clipped,
        setting.sigma_decay,
        words(seed, run, SIGMA),
    )
    kernel = kernel_of(parts_of(environment, learner, setting.target, setting.ties))
    with (
        notice(f"compiling the engine for {environment.name} ..."),
        _told_shortly(environment, seed, run),
    ):
        outcome, episode, step = kernel(
            environment.data,
            coder._codes(actions, ROW_OF_WEIGHTS, seed, run),
            Memory(weights.reshape(-1), np.empty(rows + 1, dtype=np.int64), steps, returns),
            streams_of(seed, run),
            sigma,
            rates_of(setting, actions),
            Limits(max_steps, setting.epsilon, flush_below),
        )
    theta[used], omega[used] = weights[:, 0], weights[:, 2]
    return steps, returns, (int(outcome), int(episode), int(step)), theta, omega


@contextmanager
def _told_shortly(environment: Environment, seed: int, run: int) -> Iterator[None]:
    """Where a user's functions do not compile, say which of them does what it should not, in place of pages."""
    if not COMPILED:
        yield
        return
    from numba.core.errors import NumbaError

    try:
        yield
    except NumbaError as error:
        reason = error
        try:
            _rehearse(environment, seed, run)
        except NumbaError as nearer:
            reason = nearer
        words_of = " ".join(str(reason).partition("During:")[0].split())
        told = f"the functions of {environment.name!r}, of its coder or of the learner do not compile: {words_of}"
        raise ValueError(told) from reason


def _rehearse(environment: Environment, seed: int, run: int) -> None:
    """Take one step, and refuse what `start` or `step` must not return."""
    starts, _, moves, _ = streams_of(seed, run)
    state = environment.start(environment.data, starts)
    answer = environment.step(environment.data, state, 0, moves)
    if not isinstance(answer, tuple) or len(answer) != 3:
        raise ValueError(
            f"step returned {check.brief(answer)}; it should return the next state, the reward and an end"
        )
    kinds = [type(state), type(answer[0])]
    if kinds[0] is not kinds[1] or np.shape(state) != np.shape(answer[0]):
        states = f"{check.brief(answer[0])} after {check.brief(state)}"
        raise ValueError(
            f"step returned the state {states}; both should be of the same type and size"
        )


def _fits(environment: Environment, seed: int, run: int) -> None:
    """Refuse a box with more or fewer dimensions than a state has."""
    if isinstance(environment.coder, Tiles):
        seen = _seen(environment, environment.start(environment.data, streams_of(seed, run)[0]))
        if np.shape(seen) != np.shape(environment.coder.low):
            told = f"coder of {environment.name!r} has no place for the state {check.brief(seen)}"
            raise ValueError(
                f"{told}; a state should have as many entries as its box, {len(environment.coder.low)}"
            )


def _seen(environment: Environment, state: Any) -> Any:
    """What the coder sees of a state."""
    own = not isinstance(environment.coder, CarTable | Tiles)
    return state if own else environment.observe(environment.data, state)


def _features(environment: Environment, state: Any, seed: int = 0, run: int = 0) -> Array:
    """φ(s, a) of every action, (actions, p)."""
    actions, coder = environment.actions, environment.coder
    phi = np.zeros((actions, coder._rows(actions)))
    if isinstance(coder, CarTable):
        x, v = _seen(environment, state)
        table = coder._table(seed, run)
        for a in range(actions):
            np.add.at(phi[a], table.indices(x, v, a), 1.0)
        return phi
    if isinstance(coder, Tiles):
        found = coder.indices(_seen(environment, state))
    else:
        found = coder.indices(state, environment.data)
    for a in range(actions):
        phi[a, np.array(found) * actions + a] = 1.0
    return phi


def reference_run(
    setting: EngineSetting,
    environment: Environment,
    learner: Learner,
    max_steps: int,
    seed: int,
    run: int,
) -> Run:
    """One run by the dense carrier, in Python."""
    starts, behaviour, moves, ties = streams_of(seed, run)
    sigmas, data, actions = words(seed, run, SIGMA), environment.data, environment.actions
    rates = rates_of(setting, actions)
    share = setting.epsilon / actions
    pi = {True: rates.on_greedy + rates.on_each, False: rates.on_each}
    rho = {True: pi[True] / (1.0 - (actions - 1) * share),
           False: rates.on_each / share if share > 0.0 else 0.0}  # fmt: skip
    p = environment.coder._rows(actions)
    theta = drawn_weights(p, setting.theta0, setting.theta0_noise, seed, run)
    weights, nothing = dense.begin(learner, theta, rates), np.zeros(p)
    steps, returns = (
        np.full(setting.episodes, -max_steps, dtype=np.int64),
        np.zeros(setting.episodes),
    )
    schedule, mean = setting.schedule, setting.sigma
    z = float(normal(sigmas)) if setting.sigma_drawn == "run" else 0.0

    def choose(phis: Array) -> tuple[int, int]:
        best = tied(phis @ weights.theta)
        by_chance = setting.ties == "random" and len(best) > 1
        greedy, u = (
            int(best[int(uniform(ties) * len(best)) if by_chance else 0]),
            uniform(behaviour),
        )
        return greedy, greedy if u >= setting.epsilon else sum(
            u >= a * share for a in range(1, actions)
        )

    for episode in range(setting.episodes):
        if setting.sigma_drawn == "episode":
            z = float(normal(sigmas))
        sigma = schedule.at(mean, z)
        weights = dense.again(learner, weights, rates)
        state = environment.start(data, starts)
        if not finite(_seen(environment, state)):
            return steps, returns, (NO_STATE, episode, 0), weights.theta, weights.omega
        phis = _features(environment, state, seed, run)
        greedy, action = choose(phis)
        for k in range(max_steps):
            if setting.sigma_drawn == "step" and setting.sigma_noise > 0.0:
                sigma = schedule.at(mean, float(normal(sigmas)))
            state, reward, done = environment.step(data, state, action, moves)
            returns[episode] += reward
            if not finite(reward):
                return steps, returns, (NO_REWARD, episode, k + 1), weights.theta, weights.omega
            if not done and not finite(_seen(environment, state)):
                return steps, returns, (NO_STATE, episode, k + 1), weights.theta, weights.omega
            phi, best = phis[action], action == greedy
            ratios = dense.Ratios(rho[best], pi[best], 0.0, 0.0)
            phi_next = phi_expected = phi_traced = nothing
            if not done:
                phis = _features(environment, state, seed, run)
                greedy, action = choose(phis)
                law = np.full(actions, rates.on_each)
                law[greedy] += rates.on_greedy
                phi_next, phi_expected, best = phis[action], law @ phis, action == greedy
                phi_traced = (1.0 - setting.epsilon) * phis[greedy] + share * phis.sum(axis=0)
                ratios = ratios._replace(rho_next=rho[best], pi_next=pi[best])
            new, delta = dense.step(
                learner, weights, phi, reward, phi_next, phi_expected, rates,
                sigma=sigma, ratios=ratios, phi_next_traced=phi_traced,
            )  # fmt: skip
            if not abs(delta) < DIVERGED_ABOVE:
                return steps, returns, (DIVERGED, episode, k + 1), weights.theta, weights.omega
            weights = new
            if done:
                steps[episode] = k + 1
                break
        mean *= setting.sigma_decay
    return steps, returns, (FINISHED, setting.episodes, 0), weights.theta, weights.omega
