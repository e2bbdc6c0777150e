r"""GQ(sigma, lambda) on the mountain car at a cost of O(K |A|) per step, whatever the number p of features.

As printed, Algorithm 1 costs O(p) per step, because the trace e is dense. Only K features per action are
active, though, so the rest can wait. Write

.. math:: e = cE, \quad \theta = T + gE, \quad \omega = W + \eta gE, \quad m = e^\top\omega, \quad n = \|e\|^2.

- Decay of the trace: :math:`c \leftarrow \gamma\lambda c`, one multiplication for all p entries.
- The terms :math:`\alpha\delta e` and :math:`\beta\delta e` of (26) and (25), :math:`\beta = \eta\alpha`:
  :math:`g \leftarrow g + \alpha\delta c`, one addition.
- :math:`e \leftarrow e + \phi`: on the K rows of phi, :math:`E_i \leftarrow E_i + 1/c`, and
  :math:`T_i \leftarrow T_i - g/c`, :math:`W_i \leftarrow W_i - \eta g/c`, so that theta and omega do not change.
- :math:`\omega \leftarrow \omega - \beta\phi(\phi^\top\omega)`: the same rows. All changes to a row are one add.
- The correction :math:`-\alpha\gamma\{(\sigma - \lambda)\phi' + (1 - \sigma) E_\pi\phi'\}\, m`: rows of the next
  state; what falls on phi' itself waits for the next step's add.
- :math:`m \leftarrow \gamma\lambda m + \phi^\top\omega`, then
  :math:`m + \beta(\delta n - (e^\top\phi)(\phi^\top\omega))`;
  :math:`n \leftarrow \gamma^2\lambda^2 n + 2\gamma\lambda\, e^\top\phi + \|\phi\|^2`.

Flush: when c falls below `FLUSH_BELOW`, add gE to T and its multiple to W, multiply E by c, and start again
with c = 1, g = 0, on the rows whose trace is not zero. Rounding errors grow like 1e-16 divided by that threshold
(T and gE cancel), so it must come long before underflow. A trace below `TRACE_FLOOR` becomes zero.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gqlib.fast import COMPILE
from gqlib.fast._car import (
    CONSTANTS,
    GOAL,
    advance,
    bars_of,
    begin,
    behave,
    cosine,
    find_row,
    greedy_action,
    greedy_at_random,
    in_memory,
    natural,
    pick,
)
from gqlib.fast._jit import njit
from gqlib.fast._lowered import add_row, early, flush_row, likely, sum_rows
from gqlib.fast._records import (
    Limits,
    Memory,
    Opening,
    Rates,
    Sigma,
    Streams,
    Switch,
    Target,
    World,
)
from gqlib.fast._rng import normal, refill, room_for
from gqlib.rules import DIVERGED_ABOVE

# Measured (`gq bench`): flushing at 1e-3 costs under a nanosecond per step more than not flushing, and leaves errors of
# 1e-13; at 1e-8 they are 1e-9, at 1e-12 they are 1e-5.
FLUSH_BELOW = 1e-3
TRACE_FLOOR = 1e-30
BLOCK = 128  # normal numbers drawn at a time

# When a random sigma is drawn, as the kernel knows it.
DRAWN = {"step": 0, "episode": 1, "run": 2}
PER_STEP, PER_EPISODE, PER_RUN = 0, 1, 2


class Late(NamedTuple):
    """What the lagged reading has yet to apply: factor and sigma, and the row with its chosen and greedy action."""

    factor: float
    sigma: float
    row: int
    action: int
    greedy: int


@njit(forceinline=True, **COMPILE)
def gather(weights: Any, table: Any, first: Any, shape: Any) -> Any:
    """Sums of T and E over the K rows of one action."""
    return sum_rows(weights, table, first, shape)


@njit(forceinline=True, **COMPILE)
def gather_omega(weights: Any, table: Any, first: Any, shape: Any) -> Any:
    """Sum of W over the K rows of one action."""
    w = weights[np.int64(table[first]) + 2]
    for k in range(1, len(shape)):
        w += weights[np.int64(table[first + k]) + 2]
    return w


@njit(forceinline=True, **COMPILE)
def add_theta(weights: Any, table: Any, first: Any, shape: Any, amount: Any) -> None:
    """Add to T on the K rows of one action."""
    for k in range(len(shape)):
        weights[np.int64(table[first + k])] += amount


@njit(forceinline=True, **COMPILE)
def target_weight(action: Any, greedy: Any, share: Any, soft: Switch) -> Any:
    """Probability of an action under the target policy; if `soft`, `share` is that of each non-greedy action."""
    if len(soft) > 0:
        return 1.0 - 2.0 * share if action == greedy else share
    return 1.0 if action == greedy else 0.0


@njit(forceinline=True, **COMPILE)
def correct_other(
    weights: Any, table: Any, row: Any, shape: Any, action: Any, other: Any, amount: Any
) -> Any:
    """Add to T on the rows of an action other than the chosen one; returns the change in the chosen one's value."""
    tilings = len(shape)
    add_theta(weights, table, natural(row + other * tilings), shape, amount)
    # The inner products (0, 1), (0, 2), (1, 2) of the features follow the three squares.
    return amount * np.float64(table[natural(row + 3 * tilings + 2 + action + other)])


@njit(forceinline=True, **COMPILE)
def correct_others(
    weights: Any,
    table: Any,
    row: Any,
    shape: Any,
    action: Any,
    greedy: Any,
    amount: Any,
    share: Any,
    soft: Switch,
) -> Any:
    """Correction along E_pi phi, except for the chosen action; returns the change in the chosen one's value."""
    change = 0.0
    if len(soft) > 0:
        for step in range(1, 3):
            other = (action + step) % 3
            weight = target_weight(other, greedy, share, soft)
            change += correct_other(weights, table, row, shape, action, other, amount * weight)
    else:
        change = correct_other(weights, table, row, shape, action, greedy, amount)
    return change


@njit(**COMPILE)
def correct_late(
    weights: Any, table: Any, shape: Any, late: Late, lam: Any, share: Any, soft: Switch
) -> None:
    """The whole correction of the previous step, for the lagged reading."""
    amount = -late.factor * (1.0 - late.sigma)
    if len(soft) > 0 or late.action != late.greedy:
        correct_others(
            weights, table, late.row, shape, late.action, late.greedy, amount, share, soft
        )
    weight = target_weight(late.action, late.greedy, share, soft)
    first = natural(late.row + late.action * len(shape))
    add_theta(weights, table, first, shape, amount * weight - late.factor * (late.sigma - lam))


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
def noisy(mean: Any, noise: Any, clipped: Any, z: Any) -> Any:
    """Mean plus noise, clipped to [0, 1] if asked for."""
    sigma = mean + noise * z
    return min(1.0, max(0.0, sigma)) if clipped else sigma


@njit(forceinline=True, **COMPILE)
def best_action(q0: Any, q1: Any, q2: Any, random_ties: Switch, ties: Any) -> Any:
    """The greedy action; ties go to the first, or to chance."""
    if len(random_ties) > 0:
        return greedy_at_random(q0, q1, q2, ties)
    return greedy_action(q0, q1, q2)


@njit(nogil=True, **COMPILE)
def run(
    world: World,
    memory: Memory,
    streams: Streams,
    sigmas: Sigma,
    rates: Rates,
    target: Target,
    lagged: Switch,
    limits: Limits,
    opening: Opening,
) -> int:
    """Run all episodes of one run; returns the episode in which it diverged, or -1.

    The weights of theta are as given, traces and omega zero at first; the semi-gradient method has eta = 0. With
    `lagged` on, the correction uses the v of the previous step, as Algorithm 1 is printed.

    Notes
    -----
    The next state comes first in the loop: it depends on the action alone, and the processor can work on it while the
    update waits for its sums. So does the slope there: see `early`.
    """
    # Here rather than in the loop: see `gqlib.fast._records`.
    table, width, edges_x, edges_v, grid, shape = world
    weights, live, steps_out = memory
    starts, behaviour = streams
    mean, noise, drawn, clipped, sigma_decay, sigma_stream = sigmas
    lam, gamma, alpha, eta, epsilon = rates
    soft, share, weighted = target
    max_steps, flush_below = limits
    start_law, random_ties, ties = opening
    constants = in_memory(CONSTANTS)
    tilings = len(shape)
    decay = gamma * lam
    inverse_decay = 1.0 / decay if decay > 0.0 else 0.0
    beta = eta * alpha
    bars, greedy_ratio = bars_of(epsilon), 1.0 / (1.0 - 2.0 * (epsilon / 3.0))
    live_count: Any = 0
    late = Late(0.0, 0.0, 0, 0, 0)
    z_block, z_room, z_used = np.empty(BLOCK), room_for(BLOCK), BLOCK
    sigma_per_step = drawn == PER_STEP and noise > 0.0
    z = normal(sigma_stream) if drawn == PER_RUN else 0.0
    for episode in range(steps_out.size):
        if drawn == PER_EPISODE:
            z = normal(sigma_stream)
        sigma = noisy(mean, noise, clipped, z)
        c, inverse_c, g, m, n, waiting = 1.0, 1.0, 0.0, 0.0, 0.0, 0.0
        x, v = begin(start_law, starts)
        slope = early(cosine(3.0 * x, constants))
        row = find_row(x, v, edges_x, edges_v, grid, width)
        q0, _ = gather(weights, table, row, shape)
        q1, _ = gather(weights, table, row + tilings, shape)
        q2, _ = gather(weights, table, row + 2 * tilings, shape)
        action = behave(best_action(q0, q1, q2, random_ties, ties), bars, behaviour)
        first = natural(row + action * tilings)
        sum_t, sum_e = pick(action, q0, q1, q2), 0.0
        sum_w = gather_omega(weights, table, first, shape)
        steps = -max_steps
        for k in range(max_steps):
            x, v = advance(x, v, np.float64(action - 1), slope, constants)
            slope = early(cosine(3.0 * x, constants))
            next_row = find_row(x, v, edges_x, edges_v, grid, width)
            if sigma_per_step:
                if z_used == BLOCK:
                    refill(sigma_stream, z_block, z_room)
                    z_used = 0
                sigma = noisy(mean, noise, clipped, z_block[natural(z_used)])
                z_used += 1

            # e = gamma lam e + phi, with what was waiting for the rows of phi, and omega -= beta phi (phi . omega)
            norm = np.float64(table[natural(row + 3 * tilings + action)])
            phi_omega = sum_w + eta * g * sum_e
            phi_trace = c * sum_e
            value = sum_t + g * sum_e + waiting * norm
            decayed = c * decay
            if decayed < flush_below:
                live_count = flush(weights, live, live_count, g, eta * g, decayed)
                c, inverse_c, g = 1.0, 1.0, 0.0
            else:
                c = decayed
                inverse_c *= inverse_decay
            n = decay * decay * n + 2.0 * decay * phi_trace + norm
            m = decay * m + phi_omega
            phi_trace = decay * phi_trace + norm
            add_t = waiting - g * inverse_c
            add_w = -eta * g * inverse_c - beta * phi_omega
            waiting = 0.0
            for j in range(tilings):
                i = np.int64(table[first + j])
                live[natural(live_count)] = (
                    i  # without a branch, which the processor could not guess
                )
                live_count += np.int64(add_row(weights, i, add_t, inverse_c, add_w))

            # delta, from the action values of the next state
            if x >= GOAL:
                delta = -1.0 - value
            else:
                t0, e0 = gather(weights, table, next_row, shape)
                t1, e1 = gather(weights, table, next_row + tilings, shape)
                t2, e2 = gather(weights, table, next_row + 2 * tilings, shape)
                q0, q1, q2 = t0 + g * e0, t1 + g * e1, t2 + g * e2
                greedy = best_action(q0, q1, q2, random_ties, ties)
                action = behave(greedy, bars, behaviour)
                expected = pick(greedy, q0, q1, q2)
                # A branch: two values that are one need no mixture, which the next step would have to wait for.
                if len(soft) > 0 or len(weighted) > 0 or not likely(action == greedy):
                    if len(soft) > 0:
                        expected = expected * (1.0 - 3.0 * share) + share * (q0 + q1 + q2)
                    sampled = pick(action, q0, q1, q2)
                    if len(weighted) > 0:
                        sampled *= greedy_ratio if action == greedy else 0.0
                    expected += sigma * (sampled - expected)
                delta = -1.0 + gamma * expected - value
            if not abs(delta) < DIVERGED_ABOVE:
                flush(weights, live, live_count, g, eta * g, 0.0)
                return episode

            # theta += alpha delta e, omega += beta delta e, and the correction of theta
            factor = alpha * gamma * m
            g += alpha * delta * c
            if len(lagged) > 0 and late.factor != 0.0:
                correct_late(weights, table, shape, late, lam, share, soft)
                late = Late(0.0, 0.0, 0, 0, 0)
            if x >= GOAL:
                steps = k + 1
                break
            m += beta * (delta * n - phi_trace * phi_omega)
            row, first = next_row, natural(next_row + action * tilings)
            sum_t, sum_e = pick(action, t0, t1, t2), pick(action, e0, e1, e2)
            if len(lagged) > 0:
                sum_t, _ = gather(weights, table, first, shape)
                late = Late(alpha * gamma * m, sigma, row, action, greedy)
            else:
                amount = -factor * (1.0 - sigma)
                weight = target_weight(action, greedy, share, soft)
                if len(weighted) > 0:
                    waiting = amount * weight - factor * (
                        sigma * (greedy_ratio if action == greedy else 0.0) - lam
                    )
                else:
                    waiting = amount * weight - factor * (sigma - lam)
                if len(soft) > 0 or action != greedy:
                    sum_t += correct_others(
                        weights, table, row, shape, action, greedy, amount, share, soft
                    )
            sum_w = gather_omega(weights, table, first, shape)
        if waiting != 0.0:
            add_theta(weights, table, first, shape, waiting)
        steps_out[episode] = steps
        live_count = flush(weights, live, live_count, g, eta * g, 0.0)
        mean *= sigma_decay
    return -1
