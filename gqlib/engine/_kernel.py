r"""The general kernel: any environment, any coder of its states, any learner, at O(K |A|) per step whatever p is.

A learner says by which multiples of e, of φ and of the next state's features θ and ω change (`gqlib.engine.learners`);
the kernel carries this out by lazy sums, as `gqlib.fast._control` does for one of them:

    e = cE,    θ = T + gE,    ω = sW + hE,    m = eᵀω,    n = ‖e‖²;

e ← decay·e + gain·φ multiplies c and adds gain/c to K entries of E, from whose T and W the products with g and h are
taken off; multiples of e change g and h; ω ← shrink·ω changes s and h. Sums are flushed as there.

Functions that are handed in are compiled into the loop: a kernel per (environment, coder, learner), not a table of
function pointers. It is kept on disk (`gqlib.fast._kept`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from gqlib.engine._records import Before, Seen
from gqlib.fast import COMPILE
from gqlib.fast._car import natural
from gqlib.fast._control import BLOCK, PER_EPISODE, PER_RUN, PER_STEP, flush, noisy
from gqlib.fast._jit import njit
from gqlib.fast._kept import keep
from gqlib.fast._lowered import add_row, likely, sum_rows
from gqlib.fast._rng import normal, refill, room_for, uniform
from gqlib.rules import DIVERGED_ABOVE, TIE

# A closure over functions that were handed in has no file by which Numba could find its code again: see `keep`.
OPTIONS = COMPILE | {"cache": False}
SMALLEST_SCALE = 1e-100  # of ω: below it, W is multiplied through
# How a run ends, beside the episode and the step where it does; `locate` returns the first two of the negative ones.
FINISHED, DIVERGED = 0, 1
LOST, NO_STATE, NO_REWARD = (
    -1,
    -2,
    -3,
)  # an index out of range; a state, or a reward, that is no finite number


class Parts(NamedTuple):
    """What a kernel is made of.

    Attributes
    ----------
    start, step : function
        Of an environment: ``start(data, stream)`` is a state, ``step(data, state, action, stream)`` a state, a reward
        and whether it ends.
    locate, dot : function
        Of a coder: ``locate(active, grid, data, state, slot)`` is where in `active` the indices of a state begin, those
        of action 0, then those of action 1, and so on, each times the numbers in a row of weights; `LOST` if an index
        is out of range, `NO_STATE` if the coder sees what is no finite number. ``dot(active, row, a, b)`` is the inner
        product of the features of two actions.
    begin, before, after : function
        Of a learner.
    actions, tilings : int
    gradient, ridge, here, each : bool
        Whether the learner has ω, shrinks it, adds to θ along the features of the step itself; and whether the target
        policy gives weight to every action.
    """

    start: Any
    step: Any
    locate: Any
    dot: Any
    begin: Any
    before: Any
    after: Any
    actions: int
    tilings: int
    gradient: bool
    ridge: bool
    here: bool
    each: bool


@njit(**COMPILE)
def rescale(weights: Any, scale: Any) -> None:
    """W *= scale, everywhere."""
    for i in range(2, weights.size, 4):
        weights[i] *= scale


@njit(forceinline=True, **COMPILE)
def explore(greedy: Any, epsilon: Any, share: Any, actions: Any, stream: Any) -> Any:
    """Epsilon-greedy choice; one uniform number decides both whether to explore and where."""
    u = uniform(stream)
    if likely(u >= epsilon):
        return greedy
    chosen = 0
    for a in range(1, actions):
        if u >= a * share:
            chosen = a
    return chosen


@lru_cache(maxsize=64)
def kernel_of(parts: Parts) -> Callable[..., tuple[int, int, int]]:
    """The compiled run of all episodes; it returns how it ended, in which episode, and after how many of its steps."""
    (
        start,
        step,
        locate,
        dot,
        begin,
        before,
        after,
        actions,
        tilings,
        gradient,
        ridge,
        here,
        each,
    ) = parts
    shape = (0,) * tilings  # whose length the compiler knows

    @njit(forceinline=True, **OPTIONS)
    def gather(weights: Any, active: Any, first: Any) -> Any:
        return sum_rows(weights, active, first, shape)

    @njit(forceinline=True, **OPTIONS)
    def gather_omega(weights: Any, active: Any, first: Any) -> Any:
        w = weights[natural(active[first]) + 2]
        for k in range(1, tilings):
            w += weights[natural(active[first + k]) + 2]
        return w

    @njit(forceinline=True, **OPTIONS)
    def add_theta(weights: Any, active: Any, first: Any, amount: Any) -> None:
        for k in range(tilings):
            weights[natural(active[first + k])] += amount

    @njit(forceinline=True, **OPTIONS)
    def greedy_of(q: Any) -> Any:
        largest = q[0]
        for a in range(1, actions):
            largest = max(largest, q[a])
        for a in range(actions - 1):
            if likely(q[a] >= largest - TIE):
                return a
        return actions - 1

    @njit(nogil=True, **OPTIONS)
    def run(
        data: Any, codes: Any, memory: Any, streams: Any, sigmas: Any, rates: Any, limits: Any
    ) -> Any:
        # Before the loop, since a reference is counted each time an array is taken out of a tuple.
        active, grid = codes
        weights, live, steps_out, returns_out = memory
        starts, behaviour, moves = streams
        mean, noise, drawn, clipped, sigma_decay, sigma_stream = sigmas
        max_steps, epsilon, flush_below = limits
        on_greedy, on_each = rates.on_greedy, rates.on_each
        share = epsilon / actions
        rho_greedy = (on_greedy + on_each) / (1.0 - (actions - 1) * share)
        rho_other = on_each / share if share > 0.0 else 0.0
        q, t, e_sums = np.empty(actions), np.empty(actions), np.empty(actions)
        live_count: Any = 0
        s = 1.0
        z_block, z_room, z_used = np.empty(BLOCK), room_for(BLOCK), BLOCK
        sigma_per_step = drawn == PER_STEP and noise > 0.0
        z = normal(sigma_stream) if drawn == PER_RUN else 0.0
        for episode in range(steps_out.size):
            if drawn == PER_EPISODE:
                z = normal(sigma_stream)
            sigma = noisy(mean, noise, clipped, z)
            c, g, h, m, n, waiting, total = 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
            mind = begin(rates)
            state = start(data, starts)
            row = locate(active, grid, data, state, 0)
            if row < 0:
                return row, episode, 0
            for a in range(actions):
                q[a], _ = gather(weights, active, row + a * tilings)
            greedy = greedy_of(q)
            action = explore(greedy, epsilon, share, actions, behaviour)
            rho = rho_greedy if action == greedy else rho_other
            first = natural(row + action * tilings)
            sum_t, sum_e = q[action], 0.0
            sum_w = gather_omega(weights, active, first) if gradient else 0.0
            steps = -max_steps
            for k in range(max_steps):
                state, reward, done = step(data, state, action, moves)
                if reward - reward != 0.0:
                    return NO_REWARD, episode, k + 1
                next_row = row
                if not done:
                    next_row = locate(active, grid, data, state, (k + 1) & 1)
                    if next_row < 0:
                        return next_row, episode, k + 1
                    next_row = natural(next_row)
                if sigma_per_step:
                    if z_used == BLOCK:
                        refill(sigma_stream, z_block, z_room)
                        z_used = 0
                    sigma = noisy(mean, noise, clipped, z_block[natural(z_used)])
                    z_used += 1
                total += reward

                # e = decay e + gain phi, with what was waiting for phi, and omega = shrink omega + on_phi phi
                norm = dot(active, row, action, action)
                phi_omega = s * sum_w + h * sum_e if gradient else 0.0
                phi_trace = c * sum_e
                value = sum_t + g * sum_e + waiting * norm
                decay, gain, shrink, on_phi = before(
                    mind, Before(value, phi_omega, phi_trace, norm, rho), rates
                )
                decayed = c * decay
                if decayed < flush_below:
                    live_count = flush(weights, live, live_count, g, h / s, decayed)
                    c, g, h = 1.0, 0.0, 0.0
                else:
                    c = decayed
                if ridge:
                    s *= shrink
                    h *= shrink
                    if s < SMALLEST_SCALE:
                        rescale(weights, s)
                        s = 1.0
                n = decay * decay * n + 2.0 * decay * gain * phi_trace + gain * gain * norm
                m = decay * m + gain * phi_omega
                phi_trace = decay * phi_trace + gain * norm
                lift = gain / c
                add_t = waiting - g * lift
                add_w = (on_phi - h * lift) / s if ridge else on_phi - h * lift
                waiting = 0.0
                for j in range(tilings):
                    i = np.int64(active[first + j])
                    live[natural(live_count)] = (
                        i  # without a branch, which the processor could not guess
                    )
                    live_count += np.int64(
                        add_row(weights, i, add_t, lift, add_w if gradient else 0.0)
                    )

                # what follows
                next_action, next_greedy, next_rho, sampled, expected = 0, 0, 0.0, 0.0, 0.0
                if not done:
                    for a in range(actions):
                        t[a], e_sums[a] = gather(weights, active, next_row + a * tilings)
                        q[a] = t[a] + g * e_sums[a]
                    next_greedy = greedy_of(q)
                    next_action = explore(next_greedy, epsilon, share, actions, behaviour)
                    next_rho = rho_greedy if next_action == next_greedy else rho_other
                    sampled, expected = q[next_action], on_greedy * q[next_greedy]
                    if each:
                        for a in range(actions):
                            expected += on_each * q[a]
                seen = Seen(
                    reward, value, sampled, expected, sigma, next_rho, phi_omega, m, n, phi_trace
                )
                mind, change = after(mind, seen, rates)
                if not abs(change.delta) < DIVERGED_ABOVE:
                    flush(weights, live, live_count, g, h / s, 0.0)
                    if ridge:
                        rescale(weights, s)
                    return DIVERGED, episode, k + 1

                # theta and omega along e, then theta along features
                g += change.trace * c
                if here:
                    for a in range(actions):
                        amount = change.here_each
                        if a == action:
                            amount += change.here_chosen
                        if a == greedy:
                            amount += change.here_greedy
                        if amount != 0.0:
                            add_theta(weights, active, row + a * tilings, amount)
                if gradient:
                    h += change.omega_trace * c
                    m = shrink * m + change.omega_trace * n + on_phi * phi_trace
                if done:
                    steps = k + 1
                    break
                action, greedy, rho = next_action, next_greedy, next_rho
                row, first = next_row, natural(next_row + action * tilings)
                sum_t, sum_e = t[action], e_sums[action]
                if here:
                    sum_t, _ = gather(weights, active, first)
                if gradient:
                    waiting = change.chosen
                    if likely(action == greedy):
                        waiting += change.greedy
                    elif change.greedy != 0.0:
                        add_theta(weights, active, row + greedy * tilings, change.greedy)
                        sum_t += change.greedy * dot(active, row, action, greedy)
                    if each:
                        waiting += change.each
                        for a in range(actions):
                            if a != action:
                                add_theta(weights, active, row + a * tilings, change.each)
                                sum_t += change.each * dot(active, row, action, a)
                    sum_w = gather_omega(weights, active, first)
            if waiting != 0.0:
                add_theta(weights, active, first, waiting)
            steps_out[episode] = steps
            returns_out[episode] = total
            live_count = flush(weights, live, live_count, g, h / s, 0.0)
            mean *= sigma_decay
        if ridge:
            rescale(weights, s)
        return FINISHED, steps_out.size, 0

    compiled: Callable[..., tuple[int, int, int]] = keep(run)
    return compiled


@lru_cache(maxsize=64)
def bare_of(parts: Parts) -> Callable[..., int]:
    """The same environment, coder and choice of actions without learning: the cost that every learner bears."""
    start, step, locate, actions, tilings = (
        parts.start,
        parts.step,
        parts.locate,
        parts.actions,
        parts.tilings,
    )

    @njit(forceinline=True, **OPTIONS)
    def value(theta: Any, active: Any, first: Any) -> Any:
        total, other = 0.0, 0.0
        for k in range(0, tilings - 1, 2):
            total += theta[active[first + k]]
            other += theta[active[first + k + 1]]
        if tilings % 2:
            total += theta[active[first + tilings - 1]]
        return total + other

    @njit(forceinline=True, **OPTIONS)
    def choose(
        theta: Any, active: Any, row: Any, q: Any, epsilon: Any, share: Any, stream: Any
    ) -> Any:
        for a in range(actions):
            q[a] = value(theta, active, row + a * tilings)
        largest = q[0]
        for a in range(1, actions):
            largest = max(largest, q[a])
        best = actions - 1
        for a in range(actions - 2, -1, -1):
            if q[a] >= largest - TIE:
                best = a
        return explore(best, epsilon, share, actions, stream)

    @njit(nogil=True, **OPTIONS)
    def run(data: Any, codes: Any, theta: Any, steps_out: Any, streams: Any, limits: Any) -> int:
        active, grid = codes
        starts, behaviour, moves = streams
        max_steps, epsilon, _ = limits
        share, q = epsilon / actions, np.empty(actions)
        for episode in range(steps_out.size):
            state = start(data, starts)
            row = locate(active, grid, data, state, 0)
            action = choose(theta, active, row, q, epsilon, share, behaviour)
            steps = -max_steps
            for k in range(max_steps):
                state, _, done = step(data, state, action, moves)
                if done:
                    steps = k + 1
                    break
                row = locate(active, grid, data, state, (k + 1) & 1)
                action = choose(theta, active, row, q, epsilon, share, behaviour)
            steps_out[episode] = steps
        return -1

    compiled: Callable[..., int] = keep(run)
    return compiled
