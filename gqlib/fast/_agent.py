r"""What an agent on tiles does at every step: find the tiles of a point, value the actions, learn.

*Tiles* are those of `gqlib.tiles3` with an index table: numbered as they are met and, once the table is full, hashed as
CPython hashes a tuple of whole numbers. The table is one of open addressing; ``slots`` holds 1 + the number of a tile,
and 0 where nothing is.

*Learning* is `gqlib.learners.sparse`, which derives it, with the features of all actions at once: with

    u = Σ_a u_a φ(s', a),     w = Σ_a w_a φ(s', a)

a step is δ = R + γθᵀu − θᵀφ, θ += α(δe − γ(eᵀω)(u − λw)), ω += β(δe − φφᵀω), in O(K·A) operations. The state is
``weights`` (d, 3), a row (T_i, W_i, E_i) for each feature, and ``lazy`` (c, g, h, m, n), where

    e = cE,     θ = T + gE,     ω = W + hE,     m = eᵀω,     n = ‖e‖².
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gqlib.fast import COMPILE
from gqlib.fast._jit import njit
from gqlib.rules import DIVERGED_ABOVE, TIE

T, W, E = 0, 1, 2
C, G, H, M, N = range(5)
# As in `gqlib.learners.sparse`: where cancellation calls for a flush, and what a flush forgets.
FLUSH_BELOW = 1e-4
NEGLIGIBLE = 1e-20
LARGEST = 1e50  # of a coordinate, as in gqlib._validate

# CPython's hash of a tuple: one round of xxHash for each entry.
_ACROSS, _INTO, _FIRST = (
    np.uint64(p) for p in (11400714785074694791, 14029467366897019727, 2870177450012600261)
)
_LENGTH = np.uint64(2870177450012600261 ^ 3527539)
_LEFT, _RIGHT = np.uint64(31), np.uint64(33)
_RESERVED = np.uint64(2**64 - 1)  # −1, which CPython keeps for errors


@njit(**COMPILE)
def hash_of(row: Any) -> Any:
    """hash(tuple(row)) of whole numbers from 0 on."""
    acc = _FIRST
    for value in row:
        acc += np.uint64(value) * _INTO
        acc = (acc << _LEFT) | (acc >> _RIGHT)
        acc *= _ACROSS
    acc += np.uint64(len(row)) ^ _LENGTH
    return np.int64(acc) if acc != _RESERVED else np.int64(1546275796)


@njit(**COMPILE)
def place_of(row: Any, slots: Any, keys: Any) -> Any:
    """Where a tile is in the table, or the empty place where it would be."""
    mask = len(slots) - 1
    place = hash_of(row) & mask
    while slots[place] > 0:
        known = keys[slots[place] - 1]
        same = True
        for i in range(len(row)):
            if known[i] != row[i]:
                same = False
                break
        if same:
            return place
        place = (place + 1) & mask
    return place


@njit(**COMPILE)
def put_all(slots: Any, keys: Any, count: Any) -> None:
    """Fill an empty table with the tiles that have numbers."""
    for number in range(count):
        slots[place_of(keys[number], slots, keys)] = number + 1


@njit(**COMPILE)
def find_tiles(
    point: Any,
    box: Any,
    tilings: Any,
    size: Any,
    slots: Any,
    keys: Any,
    counts: Any,
    row: Any,
    rows: Any,
    peek: Any,
) -> Any:
    """Fill ``rows`` (A, K) with the tiles of a point; False, and nothing done, where the point is no point.

    ``box`` (3, n) holds the lower and upper corner and the tiles per unit; ``counts`` the tiles numbered and the
    look-ups that a full table answered. To ``peek`` numbers nothing: −1 stands for a tile that was never met.
    """
    dims, actions = len(point), len(rows)
    for i in range(dims):
        if not abs(point[i]) <= LARGEST:
            return False
    quantised = np.empty(dims, dtype=np.int64)
    for i in range(dims):
        inside = min(max(point[i], box[0, i]), box[1, i])
        quantised[i] = np.int64(np.floor((inside - box[0, i]) * box[2, i] * tilings))
    for action in range(actions):
        row[1 + dims] = action
        for tiling in range(tilings):
            row[0] = tiling
            for i in range(dims):
                row[1 + i] = (quantised[i] + (2 * i + 1) * tiling) // tilings
            place = place_of(row, slots, keys)
            if slots[place] > 0:
                rows[action, tiling] = slots[place] - 1
            elif counts[0] >= size:
                rows[action, tiling] = hash_of(row) % size
                counts[1] += 0 if peek else 1
            elif peek:
                rows[action, tiling] = -1
            else:
                keys[counts[0]] = row
                slots[place] = counts[0] + 1
                rows[action, tiling] = counts[0]
                counts[0] += 1
    return True


@njit(**COMPILE)
def value(tiles: Any, weights: Any, lazy: Any) -> Any:
    """θᵀφ; a tile that was never met counts nothing."""
    t, e = 0.0, 0.0
    for i in tiles:
        if i >= 0:
            t += weights[i, T]
            e += weights[i, E]
    return t + lazy[G] * e


@njit(**COMPILE)
def greedy(rows: Any, weights: Any, lazy: Any, values: Any) -> Any:
    """Fill in the values of all actions; the first within a tie of the best, or −1 where one is not finite."""
    best = -np.inf
    for action in range(len(rows)):
        values[action] = value(rows[action], weights, lazy)
        if not abs(values[action]) < np.inf:
            return -1
        best = max(best, values[action])
    for action in range(len(rows)):
        if values[action] >= best - TIE:
            return action
    return -1


@njit(**COMPILE)
def flush(weights: Any, lazy: Any, touched: Any, count: Any) -> Any:
    """T += gE, W += hE, E = cE where E is not zero, and m, n afresh; returns how many entries are left."""
    c, g, h = lazy[C], lazy[G], lazy[H]
    left, m, n = 0, 0.0, 0.0
    for k in range(count):
        i = touched[k]
        weights[i, T] += g * weights[i, E]
        weights[i, W] += h * weights[i, E]
        weights[i, E] *= c
        if weights[i, E] < NEGLIGIBLE:
            weights[i, E] = 0.0
        else:
            touched[left] = i
            left += 1
            m += weights[i, E] * weights[i, W]
            n += weights[i, E] * weights[i, E]
    lazy[C], lazy[G], lazy[H], lazy[M], lazy[N] = 1.0, 0.0, 0.0, m, n
    return left


@njit(**COMPILE)
def forget(weights: Any, lazy: Any, touched: Any, count: Any) -> None:
    """Set the trace to zero."""
    for k in range(count):
        i = touched[k]
        weights[i, T] += lazy[G] * weights[i, E]
        weights[i, W] += lazy[H] * weights[i, E]
        weights[i, E] = 0.0
    lazy[C], lazy[G], lazy[H], lazy[M], lazy[N] = 1.0, 0.0, 0.0, 0.0, 0.0


@njit(**COMPILE)
def learn(
    here: Any, ahead: Any, weights: Any, lazy: Any, touched: Any, counts: Any, scratch: Any, next_action: Any,
    reward: Any, goes_on: Any, sigma: Any, lam: Any, gamma: Any, alpha: Any, beta: Any, epsilon: Any,
    greedy_target: Any, corrected: Any,
) -> Any:  # fmt: skip
    """One step; returns δ, or NaN, and nothing done, where it or ω is beyond `DIVERGED_ABOVE`.

    ``here`` (K,) are the tiles of the pair, ``ahead`` (A, K) those of the next state; ``scratch`` (2, A) is room for
    the values and the weights of the next actions, and ``counts[2]`` says how many entries are ``touched``.
    """
    actions = len(ahead)
    values, pulled = scratch[0], scratch[1]
    drawn = 0.0
    for action in range(actions):
        pulled[action] = 0.0
    if goes_on:
        best = greedy(ahead, weights, lazy, values)
        if best < 0:
            return np.nan
        for action in range(actions):
            mu = epsilon / actions + (1.0 - epsilon if action == best else 0.0)
            pi = (1.0 if action == best else 0.0) if greedy_target else mu
            taken = 1.0 if action == next_action else 0.0
            if corrected:
                rho = pi / mu if mu > 0.0 else 0.0
                u = pi + sigma * (rho * taken - pi)
                pulled[action] = u - lam * mu
            else:
                u = pi + sigma * (taken - pi)
                pulled[action] = u - lam * taken
            drawn += u * values[action]
    decay = gamma * lam
    phi_e, phi_omega = 0.0, 0.0  # φᵀe before φ is added, and φᵀω
    for i in here:
        phi_e += weights[i, E]
        phi_omega += weights[i, W] + lazy[H] * weights[i, E]
    phi_e *= decay * lazy[C]
    delta = reward + gamma * drawn - value(here, weights, lazy)
    overlap = decay * lazy[M] + phi_omega
    if not (
        abs(delta) <= DIVERGED_ABOVE
        and abs(overlap) <= DIVERGED_ABOVE
        and abs(phi_omega) <= DIVERGED_ABOVE
    ):
        return np.nan
    lazy[C] *= decay
    if lazy[C] < FLUSH_BELOW:
        counts[2] = flush(weights, lazy, touched, counts[2])
    else:
        lazy[M] *= decay
        lazy[N] *= decay * decay
    share = 1.0 / lazy[C]
    for i in here:
        if weights[i, E] == 0.0:
            touched[counts[2]] = i
            counts[2] += 1
        weights[i, E] += share
        weights[i, T] -= lazy[G] * share
        weights[i, W] -= lazy[H] * share
    phi_new = 0.0
    for i in here:
        phi_new += weights[i, E]
    phi_new *= lazy[C]
    lazy[M] += phi_omega
    lazy[N] += phi_e + phi_new
    lazy[G] += alpha * delta * lazy[C]
    lazy[H] += beta * delta * lazy[C]
    pull = alpha * gamma * lazy[M]
    for action in range(actions):
        if pulled[action] != 0.0:
            for i in ahead[action]:
                weights[i, T] -= pull * pulled[action]
    for i in here:
        weights[i, W] -= beta * phi_omega
    lazy[M] += beta * (delta * lazy[N] - phi_omega * phi_new)
    return delta


@njit(**COMPILE)
def advance(
    here: Any, ahead: Any, weights: Any, lazy: Any, touched: Any, counts: Any, scratch: Any, explore: Any, which: Any,
    reward: Any, goes_on: Any, sigma: Any, lam: Any, gamma: Any, alpha: Any, beta: Any, epsilon: Any,
    greedy_target: Any, corrected: Any,
) -> Any:  # fmt: skip
    """Choose the next action by two uniform numbers, then `learn`: one call, since a call costs as much as a step.

    Returns the next action and δ; −1 and nothing done where the value of an action is not finite.
    """
    best = greedy(ahead, weights, lazy, scratch[0])
    if best < 0:
        return -1, np.nan
    next_action = int(which * len(ahead)) if explore < epsilon else best
    delta = learn(
        here, ahead, weights, lazy, touched, counts, scratch, next_action, reward, goes_on, sigma, lam, gamma, alpha,
        beta, epsilon, greedy_target, corrected,
    )  # fmt: skip
    return next_action, delta
