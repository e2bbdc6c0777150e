r"""The kernel: any environment, any coder of its states, any learner, at O(K |A|) per step whatever the number of weights.

As printed, Algorithm 1 costs O(p) per step, because the trace e is dense. Only K features per action are active, though,
so the rest can wait. A learner says by which multiples of e, of φ and of the next state's features θ and ω change
(`gqlib.learners.texts`), and the kernel carries this out by lazy sums:

    e = cE,    θ = T + gE,    ω = sW + hE,    m = eᵀω,    n = ‖e‖².

- e ← decay·e + gain·φ multiplies c, and adds gain/c to E on the K rows of φ, from whose T and W the products with g and
  h are taken off, so that θ and ω do not change. 1/c is kept as a product of its own: nothing waits for a division.
- Multiples of e change g and h, one addition for all entries; where ω goes along e with θ, h is ηg.
- ω ← shrink·ω + β·on_phi·φ changes s and h, and W on the rows of φ. All changes to a row are one addition.
- Multiples of the next state's features change T on its rows; what falls on φ' itself waits for the next step's addition.
- m ← decay·m + gain·φᵀω, then shrink·m + β(δn + on_phi·eᵀφ); n ← decay²·n + 2·decay·gain·eᵀφ + gain²‖φ‖².

Flush: when c falls below `FLUSH_BELOW`, add gE to T and hE to W, multiply E by c, and start again with c = 1, g = h = 0,
on the rows whose trace is not zero. Rounding errors grow like 1e-16 divided by that threshold (T and gE cancel), so it
must come long before underflow. A trace below `TRACE_FLOOR` becomes zero.

Functions that are handed in are compiled into the loop: a kernel per (environment, coder, learner), not a table of
function pointers. It is kept on disk (`gqlib.fast._kept`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from gqlib.fast import COMPILE
from gqlib.fast._jit import njit
from gqlib.fast._kept import keep
from gqlib.fast._lowered import add_row, flush_row, likely, natural, put, sum_rows
from gqlib.fast._rng import next_bits, normal, refill, room_for, uniform
from gqlib.learners._records import Before, Seen
from gqlib.rules import DIVERGED_ABOVE, TIE

# A closure over functions that were handed in has no file by which Numba could find its code again: see `keep`.
OPTIONS = COMPILE | {"cache": False}
# Measured (`benchmarks`): flushing at 1e-3 costs under a nanosecond per step more than not flushing, and leaves errors of
# 1e-13; at 1e-8 they are 1e-9, at 1e-12 they are 1e-5.
FLUSH_BELOW = 1e-3
TRACE_FLOOR = 1e-30
SMALLEST_SCALE = 1e-100  # of ω: below it, W is multiplied through
BLOCK = 128  # normal numbers drawn at a time
# When a random sigma is drawn, as the kernel knows it.
DRAWN = {"step": 0, "episode": 1, "run": 2}
PER_STEP, PER_EPISODE, PER_RUN = 0, 1, 2
# How a run ends, beside the episode and the step where it does; `locate` returns the first two of the negative ones.
FINISHED, DIVERGED = 0, 1
# An index out of range; a state, or a reward, that is no finite number.
LOST, NO_STATE, NO_REWARD = -1, -2, -3


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
    gradient, ridge, together, here, late, traced : bool
        What `gqlib.learners.texts.Learner` says of the learner.
    each : bool
        Whether the target policy gives weight to every action.
    random_ties : bool
        Whether chance decides between greedy actions; otherwise the first is taken.
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
    together: bool
    here: bool
    late: bool
    traced: bool
    each: bool
    random_ties: bool


@njit(**COMPILE)
def flush(weights: Any, live: Any, count: Any, g: Any, h: Any, scale: Any) -> Any:
    """T += gE, W += hE, E *= scale on the rows with a trace; returns how many still have one."""
    kept: Any = 0
    for k in range(count):
        i = np.int64(live[k])
        live[natural(kept)] = i  # without a branch: the next one takes its place if it has none
        kept += np.int64(flush_row(weights, i, g, h, scale, TRACE_FLOOR))
    return kept


@njit(**COMPILE)
def rescale(weights: Any, scale: Any) -> None:
    """W *= scale, everywhere."""
    for i in range(2, weights.size, 4):
        weights[i] *= scale


@njit(**COMPILE)
def noisy(mean: Any, noise: Any, clipped: Any, z: Any) -> Any:
    """Mean plus noise, clipped to [0, 1] if asked for."""
    sigma = mean + noise * z
    return min(1.0, max(0.0, sigma)) if clipped else sigma


@njit(**COMPILE)
def bars_of(epsilon: Any, actions: Any) -> Any:
    """What `explore` compares with: ε, then ε a/|A| for a = 1, 2, ..., as whole numbers.

    Each is the least of the whole numbers 0..2**53 that `next_bits` must reach for `uniform` to reach the probability.
    """
    bars, share = np.empty(actions, dtype=np.int64), epsilon / actions
    bars[0] = np.int64(np.ceil(2.0**53 * epsilon))  # a power of two: the product is exact
    for a in range(1, actions):
        bars[a] = np.int64(np.ceil(2.0**53 * (a * share)))
    return bars


@njit(forceinline=True, **COMPILE)
def explore(greedy: Any, bars: Any, actions: Any, stream: Any) -> Any:
    """Epsilon-greedy choice; one random number decides both whether to explore and where."""
    # As whole numbers, which compare as the doubles would, without turning one into the other first.
    bits = next_bits(stream)
    if likely(bits >= bars[0]):
        return greedy
    chosen: Any = 0
    for a in range(1, actions):
        chosen += np.int64(bits >= bars[a])
    return chosen


@lru_cache(maxsize=64)
def greedy_of(actions: int, random_ties: bool) -> Callable[..., Any]:
    """The greedy action, given the values of all: the first within `TIE` of the largest, or a random one of those."""

    @njit(forceinline=True, **OPTIONS)
    def first(q: Any, ties: Any) -> Any:
        bar = q[0]
        for a in range(1, actions):
            bar = max(bar, q[a])
        bar -= TIE
        # Branches, since the processor guesses them well: it can go on before the values are there.
        for a in range(actions - 1):
            if likely(q[a] >= bar):
                return a
        return actions - 1

    @njit(forceinline=True, **OPTIONS)
    def any_of(q: Any, ties: Any) -> Any:
        bar = q[0]
        for a in range(1, actions):
            bar = max(bar, q[a])
        bar -= TIE
        tied: Any = 0
        for a in range(actions):
            tied += np.int64(q[a] >= bar)
        number = np.int64(uniform(ties) * tied) if tied > 1 else 0
        for a in range(actions - 1):
            if q[a] >= bar:
                if number == 0:
                    return a
                number -= 1
        return actions - 1

    chosen: Callable[..., Any] = any_of if random_ties else first
    return chosen


@lru_cache(maxsize=64)
def kernel_of(parts: Parts) -> Callable[..., tuple[int, int, int]]:
    """The compiled run of all episodes; it returns how it ended, in which episode, and after how many of its steps."""
    start, step, locate, dot, begin, before, after, actions, tilings, *flags = parts
    gradient, ridge, together, here, late, traced, each, random_ties = flags
    shape = (0,) * tilings  # whose length the compiler knows
    nothing = (0.0,) * actions  # numbers by action, which it keeps in registers
    best_of = greedy_of(actions, random_ties)

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
    def add_others(
        weights: Any, active: Any, row: Any, action: Any, greedy: Any, amount: Any, on_other: Any, on_best: Any
    ) -> Any:  # fmt: skip
        """θ along E_πφ but for the action itself; returns how the action's value changes."""
        change = 0.0
        if each:
            for k in range(1, actions):
                other = action + k
                if other >= actions:
                    other -= actions
                weighed = amount * (on_best if other == greedy else on_other)
                add_theta(weights, active, natural(row + other * tilings), weighed)
                change += weighed * dot(active, row, action, other)
        elif action != greedy:
            add_theta(weights, active, natural(row + greedy * tilings), amount)
            change = amount * dot(active, row, action, greedy)
        return change

    @njit(nogil=True, **OPTIONS)
    def run(
        data: Any, codes: Any, memory: Any, streams: Any, sigmas: Any, rates: Any, limits: Any
    ) -> Any:
        # Before the loop, since a reference is counted each time an array is taken out of a tuple.
        active, grid = codes
        weights, live, steps_out, returns_out = memory
        starts, behaviour, moves, ties = streams
        mean, noise, drawn, clipped, sigma_decay, sigma_stream = sigmas
        max_steps, epsilon, flush_below = limits
        beta, eta, on_greedy, on_each = rates.beta, rates.eta, rates.on_greedy, rates.on_each
        on_best = 1.0 - (actions - 1) * on_each if each else 1.0
        bars, share = bars_of(epsilon, actions), epsilon / actions
        rho_greedy = (on_greedy + on_each) / (1.0 - (actions - 1) * share)
        rho_other = on_each / share if share > 0.0 else 0.0
        pi_greedy = on_greedy + on_each
        q, t, e_sums = nothing, nothing, nothing
        live_count: Any = 0
        s = 1.0
        z_block, z_room, z_used = np.empty(BLOCK), room_for(BLOCK), BLOCK
        sigma_per_step = drawn == PER_STEP and noise > 0.0
        z = normal(sigma_stream) if drawn == PER_RUN else 0.0
        # What a late learner has yet to apply: multiples, and where.
        due_chosen, due_expected, due_row, due_action, due_greedy = 0.0, 0.0, natural(0), 0, 0
        slot = 0  # of three: what is due may be at the last state of the episode before
        for episode in range(steps_out.size):
            if drawn == PER_EPISODE:
                z = normal(sigma_stream)
            sigma = noisy(mean, noise, clipped, z)
            c, inverse_c, g, h, m, n, waiting, total = 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
            mind = begin(rates)
            state = start(data, starts)
            slot = slot + 1 if slot < 2 else 0
            row = locate(active, grid, data, state, slot)
            if row < 0:
                return row, episode, 0
            for a in range(actions):
                value, _ = gather(weights, active, row + a * tilings)
                q = put(q, a, value)
            greedy = best_of(q, ties)
            action = explore(greedy, bars, actions, behaviour)
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
                    slot = slot + 1 if slot < 2 else 0
                    next_row = locate(active, grid, data, state, slot)
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

                # e = decay e + gain phi, with what was waiting for phi, and omega = shrink omega + beta on_phi phi
                norm = dot(active, row, action, action)
                phi_omega = s * sum_w + h * sum_e if gradient else 0.0
                phi_trace = c * sum_e
                value = sum_t + g * sum_e + waiting * norm
                pi = pi_greedy if action == greedy else on_each
                decay, gain, shrink, on_phi = before(
                    mind, Before(value, phi_omega, phi_trace, norm, rho, pi), rates
                )
                decayed = c * decay
                if decayed < flush_below:
                    live_count = flush(weights, live, live_count, g, h / s, decayed)
                    c, inverse_c, g, h = 1.0, 1.0, 0.0, 0.0
                else:
                    c = decayed
                    inverse_c *= 1.0 / decay
                if ridge:
                    s *= shrink
                    h *= shrink
                    if s < SMALLEST_SCALE:
                        rescale(weights, s)
                        s = 1.0
                n = decay * decay * n + 2.0 * decay * gain * phi_trace + gain * gain * norm
                m = decay * m + gain * phi_omega
                phi_trace = decay * phi_trace + gain * norm
                lift = gain * inverse_c
                add_t = waiting - g * lift
                add_w = beta * on_phi - h * lift
                if ridge:
                    add_w /= s
                waiting = 0.0
                for j in range(tilings):
                    i = np.int64(active[first + j])
                    # without a branch, which the processor could not guess
                    live[natural(live_count)] = i
                    added = add_row(weights, i, add_t, lift, add_w if gradient else 0.0)
                    live_count += np.int64(added)

                # what follows
                next_action, next_greedy, sampled, expected = 0, 0, 0.0, 0.0
                next_rho, next_pi = 0.0, 0.0
                if not done:
                    for a in range(actions):
                        of_t, of_e = gather(weights, active, next_row + a * tilings)
                        t, e_sums = put(t, a, of_t), put(e_sums, a, of_e)
                        q = put(q, a, of_t + g * of_e)
                    next_greedy = best_of(q, ties)
                    next_action = explore(next_greedy, bars, actions, behaviour)
                    next_rho = rho_greedy if next_action == next_greedy else rho_other
                    next_pi = pi_greedy if next_action == next_greedy else on_each
                    sampled, expected = q[next_action], q[next_greedy]
                    if each:
                        total_q = q[0]
                        for a in range(1, actions):
                            total_q += q[a]
                        expected = on_greedy * expected + on_each * total_q
                seen = Seen(
                    reward, value, sampled, expected, sigma, next_rho,
                    phi_omega, m, n, phi_trace, next_pi, rho,
                )  # fmt: skip
                mind, change = after(mind, seen, rates)
                if not abs(change.delta) < DIVERGED_ABOVE:
                    flush(weights, live, live_count, g, h / s, 0.0)
                    if ridge:
                        rescale(weights, s)
                    return DIVERGED, episode, k + 1

                # theta and omega along e, then theta along features
                g += change.trace * c
                if here:
                    add_theta(weights, active, first, change.here)
                if late:
                    add_others(
                        weights, active, due_row, due_action, due_greedy, due_expected, on_each, on_best
                    )  # fmt: skip
                    weight = on_best if due_action == due_greedy else on_each
                    place = natural(due_row + due_action * tilings)
                    add_theta(weights, active, place, due_expected * weight + due_chosen)
                    due_chosen, due_expected = 0.0, 0.0
                if gradient:
                    h = eta * g if together else h + beta * change.omega_trace * c
                    m = shrink * m + beta * (change.omega_trace * n + on_phi * phi_trace)
                if done:
                    steps = k + 1
                    break
                action, greedy, rho = next_action, next_greedy, next_rho
                row, first = next_row, natural(next_row + action * tilings)
                sum_t, sum_e = t[action], e_sums[action]
                if traced:
                    for a in range(actions):
                        mu = share + (1.0 - epsilon if a == greedy else 0.0)
                        add_theta(weights, active, natural(row + a * tilings), change.traced * mu)
                if here or late or traced:
                    sum_t, _ = gather(weights, active, first)
                if late:
                    due_chosen, due_expected = change.chosen, change.expected
                    due_row, due_action, due_greedy = row, action, greedy
                elif gradient:
                    waiting = change.chosen
                    if each:
                        waiting += change.expected * (on_best if action == greedy else on_each)
                        sum_t += add_others(
                            weights, active, row, action, greedy, change.expected, on_each, on_best
                        )
                    # By a branch: where the action is the greedy one, as it mostly is, nothing
                    # waits for which it is.
                    elif likely(action == greedy):
                        waiting += change.expected
                    else:
                        sum_t += add_others(
                            weights, active, row, action, greedy, change.expected, on_each, on_best
                        )
                if gradient:
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
    start, step, locate = parts.start, parts.step, parts.locate
    actions, tilings = parts.actions, parts.tilings
    nothing, best_of = (0.0,) * actions, greedy_of(actions, False)

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
    def choose(theta: Any, active: Any, row: Any, bars: Any, stream: Any) -> Any:
        q = nothing
        for a in range(actions):
            q = put(q, a, value(theta, active, row + a * tilings))
        return explore(best_of(q, stream), bars, actions, stream)

    @njit(nogil=True, **OPTIONS)
    def run(data: Any, codes: Any, theta: Any, steps_out: Any, streams: Any, limits: Any) -> int:
        active, grid = codes
        starts, behaviour, moves, _ = streams
        max_steps, epsilon, _ = limits
        bars = bars_of(epsilon, actions)
        for episode in range(steps_out.size):
            state = start(data, starts)
            row = locate(active, grid, data, state, 0)
            action = choose(theta, active, row, bars, behaviour)
            steps = -max_steps
            for k in range(max_steps):
                state, _, done = step(data, state, action, moves)
                if done:
                    steps = k + 1
                    break
                row = locate(active, grid, data, state, (k + 1) & 1)
                action = choose(theta, active, row, bars, behaviour)
            steps_out[episode] = steps
        return -1

    compiled: Callable[..., int] = keep(run)
    return compiled
