"""What an agent has learnt, in two forms that agree: dense arrays and the dense carrier, or active features alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from gqlib import _validate as check
from gqlib._validate import Array, Diverged
from gqlib.control.features import Coder, Rows
from gqlib.engine import _steps
from gqlib.fast._sound import finite
from gqlib.learners import dense
from gqlib.learners._records import Rates
from gqlib.learners.texts import LEARNERS
from gqlib.rules import DIVERGED_ABOVE, tied

KAPPA = 1.0  # the ridge on ω, as in `gqlib.engine.EngineSetting`


class Numbers(NamedTuple):
    """Those of one step, and the name of the learner."""

    sigma: float
    lam: float
    gamma: float
    alpha: float
    beta: float
    epsilon: float
    greedy_target: bool
    learner: str = "gq"

    @property
    def eta(self) -> float:
        """β/α, or 0 where α is."""
        return self.beta / self.alpha if self.alpha else 0.0

    def rates(self, actions: int) -> Rates:
        """As learners see them."""
        each = 0.0 if self.greedy_target else self.epsilon / actions
        sizes = self.alpha, self.eta, self.beta, KAPPA
        return Rates(self.lam, self.gamma, *sizes, 1.0 - actions * each, each)


def diverged(name: str) -> Diverged:
    """A refusal of a step from which no learner recovers."""
    return Diverged(
        f"{name} is beyond {DIVERGED_ABOVE:g} in this step; weights, features and rates should be smaller"
    )


class Dense:
    """θ, ω and e as arrays, for any function of a state; sized when the first state is seen."""

    def __init__(self, features: Callable[[Any], Array]) -> None:
        self.features = features
        self.weights: dense.Weights | None = None
        self.next: tuple[float, float] | None = None  # ρ and π of the action to come

    def phi(self, state: Any, *, peek: bool = False) -> Array:
        """φ(s, ·), (A, d), checked."""
        look = getattr(self.features, "peek", self.features) if peek else self.features
        phi = check.reals("features of a state", look(state))
        if phi.ndim != 2 or (self.weights and phi.shape[1] != len(self.theta)):
            size = len(self.theta) if self.weights else "d"
            raise ValueError(f"features returned shape {phi.shape}; it should be (actions, {size})")
        if not finite(phi):  # no fault of the weights, and so no divergence
            raise ValueError(
                f"features of {check.brief(state)} are not all finite; state and features should be"
            )
        if not self.weights:
            none = np.zeros(phi.shape[1])
            self.weights = dense.Weights(none, none, none, (), none)
        return phi

    def _held(self) -> dense.Weights:
        if not self.weights:
            raise ValueError("theta is not known; the agent should have seen a state before")
        return self.weights

    @property
    def theta(self) -> Array:
        """The weights θ."""
        return self._held().theta

    @property
    def trace(self) -> Array:
        """The trace e."""
        return self._held().trace

    def values(self, state: Any, *, peek: bool) -> Array:
        """θᵀφ(s, ·)."""
        return self._valued(self.phi(state, peek=peek))

    def _valued(self, phi: Array) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):
            values = np.asarray(phi @ self.theta)
        check.finite(values=values)
        return values

    def best(self, state: Any) -> tuple[int, int]:
        """The greedy action, and the number of actions."""
        values = self.values(state, peek=False)
        return int(tied(values)[0]), len(values)

    def _policies(self, phi: Array, numbers: Numbers) -> tuple[Array, Array, Array]:
        """μ, π and π/μ in a state, as the values are now."""
        best = np.arange(len(phi)) == tied(self._valued(phi))[0]
        mu = numbers.epsilon / len(best) + (1.0 - numbers.epsilon) * best
        pi = best.astype(np.float64) if numbers.greedy_target else mu
        return mu, pi, np.divide(pi, mu, out=np.zeros_like(mu), where=mu > 0.0)

    def learn(
        self,
        state: Any,
        action: int,
        reward: float,
        next_state: Any,
        next_action: int,
        goes_on: bool,
        numbers: Numbers,
    ) -> float:
        """One step of the dense carrier."""
        phi, following = self.phi(state), self.phi(next_state)
        action = check.integer("action", action, low=0, high=len(phi) - 1)
        next_action = check.integer("next_action", next_action, low=0, high=len(following) - 1)
        learner, rates, held = LEARNERS[numbers.learner], numbers.rates(len(phi)), self._held()
        if self.next is None:
            _, pi, rho = self._policies(phi, numbers)
            self.next, held = (
                (rho[action], pi[action]),
                dense.again(learner, held, rates)._replace(trace=held.trace),
            )
        mu, pi, rho = self._policies(following, numbers)
        to_come = (rho[next_action], pi[next_action]) if goes_on else (0.0, 0.0)
        with np.errstate(over="ignore", invalid="ignore"):
            new, delta = dense.step(
                learner, held, phi[action], reward, goes_on * following[next_action],
                goes_on * (pi @ following), rates, sigma=numbers.sigma,
                ratios=dense.Ratios(*self.next, *to_come), phi_next_traced=goes_on * (mu @ following),
            )  # fmt: skip
        check.finite(theta=new.theta, omega=new.omega)
        if abs(delta) > DIVERGED_ABOVE:
            raise diverged("delta")
        self.weights, self.next = new, to_come
        return delta

    def forget(self) -> None:
        """Set e to zero."""
        self.next = None
        if self.weights:
            self.weights = self.weights._replace(trace=np.zeros_like(self.theta))

    def state(self) -> dict[str, Array]:
        """Everything that was learnt."""
        if not self.weights:
            return {}
        theta, omega, trace, memory, _ = self.weights
        parts = {"theta": theta.copy(), "omega": omega.copy(), "trace": trace.copy()}
        return parts | ({"lazy": np.array([*self.next, *memory])} if self.next else {})

    def restore(self, arrays: dict[str, Any]) -> None:
        """Take over what `state` returned."""
        if not arrays:
            return
        length = (len(check.array("theta", arrays.get("theta", ()), (None,), largest=np.inf)),)
        theta, omega, trace = (
            check.array(name, arrays.get(name, ()), length, largest=np.inf)
            for name in ("theta", "omega", "trace")
        )
        lazy = check.array("lazy", arrays.get("lazy", np.zeros(2)), (None,), largest=np.inf)
        rho, pi, *memory = lazy.tolist()
        self.next = (rho, pi) if memory else None
        self.weights = dense.Weights(theta, omega, trace, tuple(memory), np.zeros_like(theta))


class Sparse:
    """T, E and W with their scalars (see `gqlib.engine._steps`), for coders; O(K·A) a step."""

    def __init__(self, coder: Coder) -> None:
        self.coder = coder
        self.weights = np.zeros((coder.size + 1, _steps.ROW))  # the last for what was never met
        self.lazy = _steps.empty()
        self.live = np.zeros(coder.size + 1, dtype=np.int64)
        self._values = np.zeros(coder.actions)
        self._numbers: Numbers | None = None
        self._array = np.zeros(9)
        self._hold()
        # The last two states, as they were then, and their features: a step has two states and looks at each twice.
        self._recent: tuple[Any, Rows, Any, Rows] = (None, self.live, None, self.live)

    def _hold(self) -> None:
        """The arrays in the order of the kernel, taken once and not at every step."""
        self._held = (
            self.weights.reshape(-1),
            self.lazy,
            self.live,
            self._values,
            self._array,
        )

    def _set(self, numbers: Numbers) -> None:
        """Take the numbers of a step, and the functions of its learner, where they are not those of the last."""
        if numbers is not self._numbers:
            sigma, lam, gamma, alpha, beta, epsilon, greedy, learner = numbers
            self._array[:] = sigma, epsilon, greedy, lam, gamma, alpha, numbers.eta, beta, KAPPA
            self._learn, self._advance = _steps.steps_of(LEARNERS[learner])
            self._numbers = numbers

    def rows(self, state: Any, *, peek: bool = False) -> Rows:
        """Indices of the active features, (A, K), found once a step."""
        if (
            type(state) is np.ndarray and state.dtype.kind in "fiub"
        ):  # the bytes of objects say nothing of their values
            mark = (state.dtype, state.shape, state.tobytes())
        else:
            mark = self.coder._key(state)[0]
        last, its_rows, before, older_rows = self._recent
        if mark == last:
            return its_rows
        if mark == before:
            return older_rows
        rows = self.coder._found(self.coder._key(state)[1], peek=peek)
        if not peek:
            self._recent = (mark, rows, last, its_rows)
        return rows

    @property
    def theta(self) -> Array:
        """θ, as a new array."""
        return np.asarray(self.weights[:-1, 0] + self.lazy[_steps.G] * self.weights[:-1, 1])

    @property
    def trace(self) -> Array:
        """e, as a new array."""
        return np.asarray(self.lazy[_steps.C] * self.weights[:-1, 1])

    def values(self, state: Any, *, peek: bool) -> Array:
        """θᵀφ(s, ·)."""
        self._greedy(self.rows(state, peek=peek))
        return np.array(self._values)

    def _greedy(self, rows: Rows) -> int:
        best = int(_steps.greedy(rows, *self._held[:2], self._values))
        if best < 0:
            raise diverged("the value of an action")
        return best

    def best(self, state: Any) -> tuple[int, int]:
        """The greedy action, and the number of actions."""
        return self._greedy(self.rows(state)), self.coder.actions

    def learn(
        self,
        state: Any,
        action: int,
        reward: float,
        next_state: Any,
        next_action: int,
        goes_on: bool,
        numbers: Numbers,
    ) -> float:
        """One step on active features; refused before anything has changed."""
        count = self.coder.actions
        if not (type(action) is int and 0 <= action < count):
            action = check.integer("action", action, low=0, high=count - 1)
        if not (type(next_action) is int and 0 <= next_action < count):
            next_action = check.integer("next_action", next_action, low=0, high=count - 1)
        self._set(numbers)
        here, ahead = self.rows(state), self.rows(next_state)
        delta = float(self._learn(here, action, ahead, *self._held, next_action, reward, goes_on))
        if delta != delta:
            raise diverged("delta")
        return delta

    def advance(
        self, state: Any, action: int, reward: float, next_state: Any, goes_on: bool, rng: np.random.Generator,
        numbers: Numbers,
    ) -> int:  # fmt: skip
        """Choose the next action and learn: `best`, two uniform numbers, `learn`, with one look at the next state."""
        self._set(numbers)
        ahead, here = self.rows(next_state), self.rows(state)
        explore, which = rng.random(2).tolist()
        next_action, delta = self._advance(
            here, action, ahead, *self._held, explore, which, reward, goes_on
        )
        if next_action < 0:
            raise diverged("the value of an action")
        if delta != delta:
            raise diverged("delta")
        return int(next_action)

    def forget(self) -> None:
        """Set e to zero."""
        _steps.forget(*self._held[:3])

    def state(self) -> dict[str, Any]:
        """Everything that was learnt, as it is: what goes on from it goes on to the bit."""
        parts = self.weights[:-1, [0, 2, 1]]
        return {
            "weights": parts,
            "lazy": self.lazy[: _steps.LIVE].copy(),
            "touched": np.flatnonzero(parts[:, 2]),
        }

    def restore(self, arrays: dict[str, Any]) -> None:
        """Take over what `state` returned, or what it did in version 0.2: c, g, h, m, n and nothing more."""
        shape, count = (self.coder.size, 3), _steps.LIVE
        weights = check.array("weights", arrays.get("weights", ()), shape, largest=np.inf)
        if np.shape(arrays.get("lazy", ())) == (_steps.S,):
            count = _steps.S
        lazy = check.array("lazy", arrays.get("lazy", ()), (count,), largest=np.inf)
        touched, held = np.asarray(arrays.get("touched", ())), np.flatnonzero(weights[:, 2] != 0.0)
        scales = lazy[[_steps.C, _steps.S]] if count > _steps.S else lazy[:1]
        if (
            touched.dtype.kind not in "iu"
            or not np.array_equal(np.sort(touched), held)
            or (scales <= 0.0).any()
        ):
            raise ValueError(
                "touched is not where the trace is; it should be what an agent has saved"
            )
        self.lazy = _steps.empty()
        self.lazy[: len(lazy)], self.lazy[_steps.LIVE] = lazy, len(held)
        self.weights[:-1, [0, 2, 1]] = weights
        self.weights[:, 3] = 0.0
        self.weights[held, 3] = 1.0
        self.live[: len(held)] = _steps.ROW * held
        self._hold()
