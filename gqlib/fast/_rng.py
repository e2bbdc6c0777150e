r"""The integer generator of the kernels: uniform and normal numbers that are the same on every machine.

The generator is xoshiro256++ (Blackman and Vigna, 2021): four 64-bit words, shifts, rotations and additions.
A state is seeded by `gqlib.seeds.words`, and the functions below advance it in place.

Uniform numbers are the upper 53 bits of a word times :math:`2^{-53}`, in [0, 1).
Normal numbers are :math:`F^{-1}(u)` with the rational approximation of Wichura (1988, AS 241), whose relative
error is about 1e-16; one word makes one normal number, so streams stay aligned. The logarithm in its tails
is a fixed series, because that of the C library may differ in its last bit from machine to machine.

Nothing is checked here; `gqlib.fast.rng` offers the same functions to Python, with checks.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gqlib.fast import COMPILE
from gqlib.fast._jit import njit

_INVERSE_2_53 = 2.0**-53
_CENTRAL = (
    0.425  # AS 241 has one formula within this distance of 1/2, one beyond, and one far beyond
)
_FAR = 0.5 - 1e-10  # includes all of the third formula
_LANES = 8  # a multiple of the doubles that a vector holds
_DOUBLINGS = (32, 16, 8, 4, 2, 1)
_U11, _U12 = np.uint64(11), np.uint64(12)
_U17, _U19, _U23, _U41, _U45 = (np.uint64(k) for k in (17, 19, 23, 41, 45))


@njit(forceinline=True, **COMPILE)
def turn(s0: Any, s1: Any, s2: Any, s3: Any) -> Any:
    """One turn of xoshiro256++: a word, and the state after it."""
    total = s0 + s3
    word = ((total << _U23) | (total >> _U41)) + s0
    s2 ^= s0
    s3 ^= s1
    return word, s0 ^ s3, s1 ^ s2, s2 ^ (s1 << _U17), (s3 << _U45) | (s3 >> _U19)


@njit(forceinline=True, **COMPILE)
def next_u64(state: Any) -> Any:
    """Next 64-bit word of xoshiro256++; advances `state` in place."""
    word, state[0], state[1], state[2], state[3] = turn(state[0], state[1], state[2], state[3])
    return word


@njit(forceinline=True, **COMPILE)
def next_bits(state: Any) -> Any:
    """The next word's upper 53 bits, as a whole number: 2**53 times the uniform double of that word."""
    return np.int64(next_u64(state) >> _U11)


@njit(**COMPILE)
def uniform(state: Any) -> Any:
    """Next uniform double in [0, 1): a multiple of 2**-53."""
    return np.float64(next_bits(state)) * _INVERSE_2_53


@njit(**COMPILE)
def integers(state: Any, n: Any) -> Any:
    """Next integer in 0..n-1, from one uniform double (its bias is below n * 2**-53)."""
    return np.int64(uniform(state) * n)


@njit(forceinline=True, **COMPILE)
def log_below_one(x: Any) -> Any:
    """Natural logarithm of 2**-63 < x < 1: doublings to m near 1, then the series of 2 atanh((m - 1)/(m + 1))."""
    # Without branches, so that a loop over this can be vectorised.
    m, doublings = x, 0.0
    for k in _DOUBLINGS:
        small = m < 2.0**-k
        m = m * 2.0**k if small else m
        doublings = doublings + k if small else doublings
    small = m < 0.7071067811865476
    m = m * 2.0 if small else m
    doublings = doublings + 1.0 if small else doublings
    s = (m - 1.0) / (m + 1.0)
    z = s * s
    series = 1.0 / 23.0
    for k in range(21, 0, -2):
        series = series * z + 1.0 / k
    return 2.0 * s * series - doublings * 0.6931471805599453


@njit(forceinline=True, **COMPILE)
def ratio_central(r: Any) -> Any:
    """AS 241 for u within 0.425 of 1/2."""
    p = 2509.0809287301226727 * r + 33430.575583588128105
    p = p * r + 67265.770927008700853
    p = p * r + 45921.953931549871457
    p = p * r + 13731.693765509461125
    p = p * r + 1971.5909503065514427
    p = p * r + 133.14166789178437745
    p = p * r + 3.387132872796366608
    q = 5226.495278852545925 * r + 28729.085735721942674
    q = q * r + 39307.89580009271061
    q = q * r + 21213.794301586595867
    q = q * r + 5394.1960214247511077
    q = q * r + 687.1870074920579083
    q = q * r + 42.313330701600911252
    q = q * r + 1.0
    return p / q


@njit(forceinline=True, **COMPILE)
def ratio_tail(r: Any) -> Any:
    """AS 241 for the tails up to r = sqrt(-log u) = 5."""
    r = r - 1.6
    p = 7.7454501427834140764e-4 * r + 0.0227238449892691845833
    p = p * r + 0.24178072517745061177
    p = p * r + 1.27045825245236838258
    p = p * r + 3.64784832476320460504
    p = p * r + 5.7694972214606914055
    p = p * r + 4.6303378461565452959
    p = p * r + 1.42343711074968357734
    q = 1.05075007164441684324e-9 * r + 5.475938084995344946e-4
    q = q * r + 0.0151986665636164571966
    q = q * r + 0.14810397642748007459
    q = q * r + 0.68976733498510000455
    q = q * r + 1.6763848301838038494
    q = q * r + 2.05319162663775882187
    q = q * r + 1.0
    return p / q


@njit(**COMPILE)
def ratio_far_tail(r: Any) -> Any:
    """AS 241 beyond r = 5, that is u < 1.4e-11."""
    r = r - 5.0
    p = 2.01033439929228813265e-7 * r + 2.71155556874348757815e-5
    p = p * r + 0.0012426609473880784386
    p = p * r + 0.026532189526576123093
    p = p * r + 0.29656057182850489123
    p = p * r + 1.7848265399172913358
    p = p * r + 5.4637849111641143699
    p = p * r + 6.6579046435011037772
    q = 2.04426310338993978564e-15 * r + 1.4215117583164458887e-7
    q = q * r + 1.8463183175100546818e-5
    q = q * r + 7.868691311456132591e-4
    q = q * r + 0.0148753612908506148525
    q = q * r + 0.13692988092273580531
    q = q * r + 0.59983220655588793769
    q = q * r + 1.0
    return p / q


@njit(**COMPILE)
def normal_quantile(u: Any) -> Any:
    """Quantile of the standard normal law for 0 < u < 1 (Wichura 1988, AS 241)."""
    centred = u - 0.5
    if abs(centred) <= _CENTRAL:
        return centred * ratio_central(0.180625 - centred * centred)
    tail = u if centred < 0.0 else 1.0 - u
    r = math.sqrt(-log_below_one(tail))
    z = ratio_tail(r) if r <= 5.0 else ratio_far_tail(r)
    return -z if centred < 0.0 else z


@njit(forceinline=True, **COMPILE)
def open_uniform(word: Any) -> Any:
    """The double in the open interval (0, 1) that a word stands for: (j + 1/2) 2**-52."""
    return (2.0 * np.float64(np.int64(word >> _U12)) + 1.0) * _INVERSE_2_53


@njit(**COMPILE)
def normal(state: Any) -> Any:
    """Next standard normal double, from one word."""
    return normal_quantile(open_uniform(next_u64(state)))


@njit(**COMPILE)
def room_for(size: Any) -> Any:
    """Room in which :func:`refill` works on `size` numbers; a loop allocates it once, not for every block."""
    return np.empty(size), np.empty(size + _LANES), np.empty(size + 1, dtype=np.int64)


@njit(**COMPILE)
def refill(state: Any, out: Any, room: Any) -> None:
    """The next ``out.size`` normal doubles, the same as from :func:`normal`, faster in blocks; `room` is by `room_for`.

    Each formula of the quantile is applied to all numbers that may need it, without a branch, so that the
    compiler can use vectors.
    """
    size = out.size
    centred, tails, where = room
    # The state in four numbers: it would be stored each time, because the arrays might overlap.
    s0, s1, s2, s3 = state[0], state[1], state[2], state[3]
    for k in range(size):
        word, s0, s1, s2, s3 = turn(s0, s1, s2, s3)
        centred[k] = open_uniform(word) - 0.5
    state[0], state[1], state[2], state[3] = s0, s1, s2, s3
    for k in range(size):
        c = centred[k]
        out[k] = c * ratio_central(0.180625 - c * c)
    count = np.int64(0)
    for k in range(size):
        where[count] = k
        count += np.int64(abs(centred[k]) > _CENTRAL)
    for j in range(count):
        tails[j] = 0.5 - abs(centred[where[j]])
    # Up to whole vectors, of numbers that nobody reads: what is left over from vectors would cost as much as they do.
    whole = (count + _LANES - 1) // _LANES * _LANES
    for j in range(count, whole):
        tails[j] = 0.5 - _CENTRAL
    for j in range(whole):
        tails[j] = ratio_tail(math.sqrt(-log_below_one(tails[j])))
    for j in range(count):
        k = where[j]
        out[k] = math.copysign(tails[j], centred[k])
        if abs(centred[k]) > _FAR:
            out[k] = normal_quantile(centred[k] + 0.5)


@njit(**COMPILE)
def fill_normal(state: Any, out: Any) -> None:
    """The next ``out.size`` normal doubles, the same as from :func:`normal`."""
    refill(state, out, room_for(out.size))
