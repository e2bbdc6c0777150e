r"""The lazy carrier one step at a time, for what decides itself when to learn (`gqlib.control.agent`): O(K·A) a step.

The sums are those of `gqlib.engine._kernel`, and so are the rows of four numbers, T, E, W and a mark, for each feature.
What a step needs of the one before it is in ``lazy``: c, g, h, m, n and s; ρ and π of the action that comes next, and
what the learner remembers, both of the episode that has begun; how many rows are live. ``rows`` (A, K) are the active
features of a state; one that was never met is −1, which is the last row, where everything is zero.

A step is refused before anything has changed, so all that it may be refused for is computed first.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from gqlib.engine._kernel import FLUSH_BELOW, OPTIONS, SMALLEST_SCALE, flush, rescale
from gqlib.fast import COMPILE
from gqlib.fast._jit import njit
from gqlib.fast._kept import keep
from gqlib.fast._lowered import add_row, put
from gqlib.learners._records import Before, Rates, Seen
from gqlib.learners.texts import Learner
from gqlib.rules import DIVERGED_ABOVE, TIE

ROW = 4  # numbers in a row of weights
C, G, H, M, N, S, BEGUN, RHO, PI, MEMORY = range(10)
LIVE = MEMORY + 4  # a learner remembers at most four numbers
SIZE = LIVE + 1


def empty() -> Any:
    """``lazy`` of who has learnt nothing.

    Examples
    --------
    >>> empty()[[C, S, BEGUN]].tolist()
    [1.0, 1.0, 0.0]
    """
    lazy = np.zeros(SIZE)
    lazy[[C, S]] = 1.0
    return lazy


@njit(**COMPILE)
def greedy(rows: Any, weights: Any, lazy: Any, values: Any) -> Any:
    """Fill in the values of all actions; the first within a tie of the best, or −1 where one is not finite."""
    best = -np.inf
    for action in range(len(rows)):
        t, e = 0.0, 0.0
        for i in rows[action]:
            t += weights[ROW * i]
            e += weights[ROW * i + 1]
        values[action] = t + lazy[G] * e
        if not abs(values[action]) < np.inf:
            return -1
        best = max(best, values[action])
    for action in range(len(rows)):
        if values[action] >= best - TIE:
            return action
    return -1


@njit(**COMPILE)
def forget(weights: Any, lazy: Any, live: Any) -> None:
    """Set the trace to zero, and end the episode."""
    flush(weights, live, int(lazy[LIVE]), lazy[G], lazy[H] / lazy[S], 0.0)
    lazy[C] = 1.0
    for k in (G, H, M, N, BEGUN, LIVE):
        lazy[k] = 0.0


@lru_cache(maxsize=64)
def steps_of(learner: Learner) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """`learn` and `advance` of a learner.

    ``numbers`` are σ, ε, whether the target is greedy, then λ, γ, α, η, β and κ. ``learn`` returns δ, or NaN, and
    nothing done, where it, ω or a value is out of bounds; ``advance`` first chooses the next action by two uniform
    numbers, one call since a call costs as much as a step, and returns it as well; −1 where a value is not finite.
    """
    if learner.late:
        raise ValueError(f"learner is {learner}; it should be one whose changes are not late")
    begins, before, after = learner.begin, learner.before, learner.after
    gradient, ridge, here, traced = learner.gradient, learner.ridge, learner.here, learner.traced

    @njit(forceinline=True, **OPTIONS)
    def take(
        rows: Any, action: Any, ahead: Any, weights: Any, lazy: Any, live: Any, values: Any, numbers: Any,
        next_action: Any, best: Any, reward: Any, goes_on: Any,
    ) -> Any:  # fmt: skip
        """The step; `values` are those of the next state, whose best action is `best`."""
        sigma, epsilon, towards_best, lam, gamma, alpha, eta, beta, kappa = (
            numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], numbers[5], numbers[6], numbers[7], numbers[8],
        )  # fmt: skip
        actions = len(ahead)
        share = epsilon / actions
        on_each = 0.0 if towards_best > 0.0 else share
        on_greedy = 1.0 - actions * on_each
        rates = Rates(lam, gamma, alpha, eta, beta, kappa, on_greedy, on_each)
        pi_best = on_greedy + on_each
        rho_best = pi_best / (1.0 - (actions - 1) * share)
        rho_other = on_each / share if share > 0.0 else 0.0
        rho, pi, mind = lazy[RHO], lazy[PI], begins(rates)
        if lazy[BEGUN] > 0.0:
            for k in range(len(mind)):
                mind = put(mind, k, lazy[MEMORY + k])
        sampled, expected, next_rho, next_pi = 0.0, 0.0, 0.0, 0.0
        if goes_on:
            next_rho = rho_best if next_action == best else rho_other
            next_pi = pi_best if next_action == best else on_each
            sampled = values[next_action]
            for a in range(actions):
                expected += values[a]
            expected = on_greedy * values[best] + on_each * expected

        chosen = rows[action]
        c, g, h, s = lazy[C], lazy[G], lazy[H], lazy[S]
        t, e, w, norm = 0.0, 0.0, 0.0, 0.0
        for i in chosen:
            t += weights[ROW * i]
            e += weights[ROW * i + 1]
            w += weights[ROW * i + 2]
            for j in chosen:  # a feature may be active twice
                norm += 1.0 if i == j else 0.0
        value, phi_omega, phi_trace = t + g * e, s * w + h * e, c * e
        known = Before(value, phi_omega, phi_trace, norm, rho, pi)
        decay, gain, shrink, on_phi = before(mind, known, rates)
        n = decay * decay * lazy[N] + 2.0 * decay * gain * phi_trace + gain * gain * norm
        m = decay * lazy[M] + gain * phi_omega
        phi_trace = decay * phi_trace + gain * norm
        seen = Seen(
            reward,
            value,
            sampled,
            expected,
            sigma,
            next_rho,
            phi_omega,
            m,
            n,
            phi_trace,
            next_pi,
            rho,
        )
        mind, change = after(mind, seen, rates)
        if not (
            abs(change.delta) <= DIVERGED_ABOVE
            and abs(m) <= DIVERGED_ABOVE
            and abs(phi_omega) <= DIVERGED_ABOVE
        ):
            return np.nan

        count = int(lazy[LIVE])
        c *= decay
        if c < FLUSH_BELOW:
            count = flush(weights, live, count, g, h / s, c)
            c, g, h = 1.0, 0.0, 0.0
        if ridge:
            s *= shrink
            h *= shrink
            if s < SMALLEST_SCALE:
                rescale(weights, s)
                s = 1.0
        lift = gain / c
        add_t = (change.here if here else 0.0) - g * lift
        add_w = (beta * on_phi - h * lift) / s if gradient else 0.0
        for i in chosen:
            live[count] = ROW * i
            count += int(add_row(weights, ROW * i, add_t, lift, add_w))
        g += change.trace * c
        if gradient:
            h += beta * change.omega_trace * c
            m = shrink * m + beta * (change.omega_trace * n + on_phi * phi_trace)
        if gradient and goes_on:
            for a in range(actions):
                weight = on_each + (on_greedy if a == best else 0.0)
                gained = change.expected * weight + (change.chosen if a == next_action else 0.0)
                if traced:
                    gained += change.traced * (share + (1.0 - epsilon if a == best else 0.0))
                if gained != 0.0:
                    for i in ahead[a]:
                        weights[ROW * i] += gained
        lazy[C], lazy[G], lazy[H], lazy[M], lazy[N], lazy[S], lazy[LIVE] = c, g, h, m, n, s, count
        lazy[BEGUN], lazy[RHO], lazy[PI] = 1.0, next_rho, next_pi
        for k in range(len(mind)):
            lazy[MEMORY + k] = mind[k]
        return change.delta

    @njit(**OPTIONS)
    def prepare(rows: Any, action: Any, weights: Any, lazy: Any, values: Any, numbers: Any) -> Any:
        """Before the first step of an episode: ρ and π of its action, as the values are now; whether all are finite."""
        best = greedy(rows, weights, lazy, values)
        actions = len(rows)
        share = numbers[1] / actions
        pi_other = 0.0 if numbers[2] > 0.0 else share
        pi_best = 1.0 - (actions - 1) * pi_other
        lazy[PI] = pi_best if action == best else pi_other
        lazy[RHO] = pi_best / (1.0 - (actions - 1) * share)
        if action != best:
            lazy[RHO] = pi_other / share if share > 0.0 else 0.0
        return best >= 0

    @njit(**OPTIONS)
    def learn(
        rows: Any, action: Any, ahead: Any, weights: Any, lazy: Any, live: Any, values: Any, numbers: Any,
        next_action: Any, reward: Any, goes_on: Any,
    ) -> Any:  # fmt: skip
        if lazy[BEGUN] == 0.0 and not prepare(rows, action, weights, lazy, values, numbers):
            return np.nan
        best = greedy(ahead, weights, lazy, values) if goes_on else 0
        if best < 0:
            return np.nan
        return take(
            rows,
            action,
            ahead,
            weights,
            lazy,
            live,
            values,
            numbers,
            next_action,
            best,
            reward,
            goes_on,
        )

    @njit(**OPTIONS)
    def advance(
        rows: Any, action: Any, ahead: Any, weights: Any, lazy: Any, live: Any, values: Any, numbers: Any,
        explore: Any, which: Any, reward: Any, goes_on: Any,
    ) -> Any:  # fmt: skip
        best = greedy(ahead, weights, lazy, values)
        if best < 0:
            return -1, np.nan
        next_action = int(which * len(ahead)) if explore < numbers[1] else best
        return next_action, learn(
            rows, action, ahead, weights, lazy, live, values, numbers, next_action, reward, goes_on
        )

    return keep(learn), keep(advance)
