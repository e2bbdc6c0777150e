"""What an agent has learnt, in two forms that agree: dense arrays and the reference step, or active features alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from gqlib import _validate as check
from gqlib._validate import Array, Diverged
from gqlib.control.features import Coder, Rows
from gqlib.fast import _agent
from gqlib.fast._sound import finite
from gqlib.learners import gq_step
from gqlib.learners.corrected import corrected_gq_step
from gqlib.rules import DIVERGED_ABOVE, tied


class Rates(NamedTuple):
    """The numbers of one step."""

    sigma: float
    lam: float
    gamma: float
    alpha: float
    beta: float
    epsilon: float
    greedy_target: bool
    corrected: bool


def diverged(name: str) -> Diverged:
    """A refusal of a step from which no learner recovers."""
    return Diverged(
        f"{name} is beyond {DIVERGED_ABOVE:g} in this step; weights, features and rates should be smaller"
    )


class Dense:
    """θ, ω and e as arrays, for any function of a state; sized when the first state is seen."""

    def __init__(self, features: Callable[[Any], Array]) -> None:
        self.features = features
        self.arrays: dict[str, Array] = {}

    def phi(self, state: Any, *, peek: bool = False) -> Array:
        """φ(s, ·), (A, d), checked."""
        look = getattr(self.features, "peek", self.features) if peek else self.features
        phi = check.reals("features of a state", look(state))
        if phi.ndim != 2 or (self.arrays and phi.shape[1] != len(self.theta)):
            size = len(self.theta) if self.arrays else "d"
            raise ValueError(f"features returned shape {phi.shape}; it should be (actions, {size})")
        if not finite(phi):  # no fault of the weights, and so no divergence
            raise ValueError(
                f"features of {check.brief(state)} are not all finite; state and features should be"
            )
        if not self.arrays:
            self.arrays = {name: np.zeros(phi.shape[1]) for name in ("theta", "omega", "trace")}
        return phi

    @property
    def theta(self) -> Array:
        """The weights θ."""
        if not self.arrays:
            raise ValueError("theta is not known; the agent should have seen a state before")
        return self.arrays["theta"]

    @property
    def trace(self) -> Array:
        """The trace e."""
        return self.arrays["trace"]

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

    def learn(
        self,
        state: Any,
        action: int,
        reward: float,
        next_state: Any,
        next_action: int,
        goes_on: bool,
        rates: Rates,
    ) -> float:
        """One reference step."""
        phi, following = self.phi(state), self.phi(next_state)
        action = check.integer("action", action, low=0, high=len(phi) - 1)
        next_action = check.integer("next_action", next_action, low=0, high=len(following) - 1)
        best = np.arange(len(following)) == tied(self._valued(following))[0]
        mu = rates.epsilon / len(best) + (1.0 - rates.epsilon) * best
        pi = best.astype(np.float64) if rates.greedy_target else mu
        phi_next, phi_next_expected = goes_on * following[next_action], goes_on * (pi @ following)
        seen = (*self.arrays.values(), phi[action], reward, phi_next, phi_next_expected)
        sizes = {name: getattr(rates, name) for name in ("sigma", "lam", "gamma", "alpha", "beta")}
        if rates.corrected:
            rho_next = float(pi[next_action] / mu[next_action]) if mu[next_action] > 0.0 else 0.0
            traced = goes_on * (mu @ following)
            theta, omega, trace, delta = corrected_gq_step(
                *seen, rho_next=rho_next, phi_next_traced=traced, **sizes
            )
        else:
            theta, omega, trace, delta = gq_step(*seen, **sizes)
        if abs(delta) > DIVERGED_ABOVE:
            raise diverged("delta")
        self.arrays = {"theta": theta, "omega": omega, "trace": trace}
        return delta

    def forget(self) -> None:
        """Set e to zero."""
        if self.arrays:
            self.arrays["trace"] = np.zeros_like(self.arrays["trace"])

    def state(self) -> dict[str, Array]:
        """Everything that was learnt."""
        return {name: array.copy() for name, array in self.arrays.items()}

    def restore(self, arrays: dict[str, Any]) -> None:
        """Take over what `state` returned."""
        if not arrays:
            return
        length = (len(check.array("theta", arrays.get("theta", ()), (None,), largest=np.inf)),)
        names = ("theta", "omega", "trace")
        self.arrays = {
            name: check.array(name, arrays.get(name, ()), length, largest=np.inf) for name in names
        }


class Sparse:
    """T, W and E with their scalars (see `gqlib.fast._agent`), for coders; O(K·A) a step."""

    def __init__(self, coder: Coder) -> None:
        self.coder = coder
        self.weights = np.zeros((coder.size, 3))
        self.lazy = np.array([1.0, 0.0, 0.0, 0.0, 0.0])
        self.touched = np.zeros(coder.size, dtype=np.int64)
        self.counts = np.zeros(3, dtype=np.int64)  # of which the kernel uses the last
        self.scratch = np.zeros((2, coder.actions))
        self._values = self.scratch[0]
        self._hold()
        # The last two states, as they were then, and their features: a step has two states and looks at each twice.
        self._recent: tuple[Any, Rows, Any, Rows] = (None, self.touched, None, self.touched)

    def _hold(self) -> None:
        """The arrays in the order of the kernel, taken once and not at every step."""
        self._held = (self.weights, self.lazy, self.touched, self.counts, self.scratch)

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
        return np.asarray(self.weights[:, 0] + self.lazy[1] * self.weights[:, 2])

    @property
    def trace(self) -> Array:
        """e, as a new array."""
        return np.asarray(self.lazy[0] * self.weights[:, 2])

    def values(self, state: Any, *, peek: bool) -> Array:
        """θᵀφ(s, ·)."""
        self._greedy(self.rows(state, peek=peek))
        return np.array(self._values)

    def _greedy(self, rows: Rows) -> int:
        best = int(_agent.greedy(rows, self.weights, self.lazy, self._values))
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
        rates: Rates,
    ) -> float:
        """One step on active features; refused before anything has changed."""
        count = self.coder.actions
        if not (type(action) is int and 0 <= action < count):
            action = check.integer("action", action, low=0, high=count - 1)
        if not (type(next_action) is int and 0 <= next_action < count):
            next_action = check.integer("next_action", next_action, low=0, high=count - 1)
        return self._step(
            self.rows(state)[action], self.rows(next_state), next_action, reward, goes_on, rates
        )

    def _step(
        self, here: Rows, ahead: Rows, next_action: int, reward: float, goes_on: bool, rates: Rates
    ) -> float:
        delta = float(_agent.learn(here, ahead, *self._held, next_action, reward, goes_on, *rates))
        if delta != delta:
            raise diverged("delta")
        return delta

    def advance(
        self, state: Any, action: int, reward: float, next_state: Any, goes_on: bool, rng: np.random.Generator,
        rates: Rates,
    ) -> int:  # fmt: skip
        """Choose the next action and learn: `best`, two uniform numbers, `learn`, with one look at the next state."""
        ahead = self.rows(next_state)
        here = self.rows(state)[action]
        explore, which = rng.random(2).tolist()
        next_action, delta = _agent.advance(
            here, ahead, *self._held, explore, which, reward, goes_on, *rates
        )
        if next_action < 0:
            raise diverged("the value of an action")
        if delta != delta:
            raise diverged("delta")
        return int(next_action)

    def forget(self) -> None:
        """Set e to zero."""
        _agent.forget(self.weights, self.lazy, self.touched, self.counts[2])
        self.counts[2] = 0

    def state(self) -> dict[str, Any]:
        """Everything that was learnt, as it is: what goes on from it goes on to the bit."""
        return {
            "weights": self.weights,
            "lazy": self.lazy,
            "touched": self.touched[: self.counts[2]].copy(),
        }

    def restore(self, arrays: dict[str, Any]) -> None:
        """Take over what `state` returned."""
        self.weights = check.array(
            "weights", arrays.get("weights", ()), self.weights.shape, largest=np.inf
        )
        self.lazy = check.array("lazy", arrays.get("lazy", ()), (5,), largest=np.inf)
        touched = np.asarray(arrays.get("touched", ()))
        held = np.flatnonzero(self.weights[:, 2] != 0.0)
        if (
            touched.dtype.kind not in "iu"
            or not np.array_equal(np.sort(touched), held)
            or not 0 < self.lazy[0] <= 1
        ):
            raise ValueError(
                "touched is not where the trace is; it should be what an agent has saved"
            )
        if (
            self.weights[:, 2] < 0.0
        ).any():  # a step could make it zero, and count as touched what is already
            raise ValueError("the trace is negative; that of binary features should not be")
        self.touched[: len(touched)], self.counts[2] = touched, len(touched)
        self._hold()
