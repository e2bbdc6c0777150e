"""The kernels' random numbers: the published generator, exact uniforms, accurate normals, separate streams."""

import mpmath
import numpy as np
import pytest
from numba import njit
from scipy import special, stats

from gqlib import seeds
from gqlib.fast import COMPILE, rng
from gqlib.fast import _rng as kernel

MASK = (1 << 64) - 1


def python_xoshiro(state):
    """xoshiro256++ in Python integers, from its published description."""

    def rotate(x, k):
        return ((x << k) | (x >> (64 - k))) & MASK

    s = [int(word) for word in state]
    while True:
        yield (rotate((s[0] + s[3]) & MASK, 23) + s[0]) & MASK
        t = (s[1] << 17) & MASK
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= t
        s[3] = rotate(s[3], 45)


def test_published_words_of_xoshiro():
    # The first outputs for the state (1, 2, 3, 4), as in the test vectors of several public implementations.
    state = np.array([1, 2, 3, 4], dtype=np.uint64)
    expected = [41943041, 58720359, 3588806011781223, 3591011842654386, 9228616714210784205]
    assert [int(rng.next_u64(state)) for _ in expected] == expected


def test_words_agree_with_python_integers():
    state = seeds.words(11, 22, 33)
    words = python_xoshiro(state.tolist())
    assert [int(rng.next_u64(state)) for _ in range(500)] == [next(words) for _ in range(500)]


def test_uniform_is_the_upper_53_bits():
    state = seeds.words(1, 0, seeds.START)
    words = python_xoshiro(state.tolist())
    for _ in range(200):
        u = rng.uniform(state)
        assert u == (next(words) >> 11) / 2**53
        assert 0 <= u < 1


def test_integers_cover_their_range_evenly():
    state = seeds.words(2, 0, seeds.BEHAVIOUR)
    counts = np.bincount([rng.integers(state, 5) for _ in range(5000)], minlength=5)
    assert len(counts) == 5
    assert stats.chisquare(counts).pvalue > 1e-3


def test_normal_quantile_against_exact_values():
    u = np.concatenate(
        [np.logspace(-15.9, -0.31, 200), np.linspace(0.05, 0.95, 91), [0.075, 0.925, 2.0**-53]]
    )
    for value in u.tolist():
        exact = (
            -mpmath.sqrt(2) * mpmath.erfinv(1 - 2 * mpmath.mpf(value))
            if value > 1e-3
            else special.ndtri(value)
        )
        assert rng.normal_quantile(value) == pytest.approx(float(exact), rel=2e-15, abs=1e-16)


def test_logarithm_without_the_c_library():
    for x in np.concatenate(
        [np.logspace(-18.9, -1e-9, 500), [0.5, 0.7071067811865475, 1 - 2.0**-53]]
    ).tolist():
        assert kernel.log_below_one(x) == pytest.approx(float(mpmath.log(x)), rel=5e-16)


def test_normals_have_the_normal_law():
    draws = np.empty(20000)
    rng.fill_normal(seeds.words(4, 0, seeds.SIGMA), draws)
    assert stats.kstest(draws, "norm").pvalue > 1e-3
    assert np.abs(draws).max() > 3.5


def test_blocks_of_normals_are_the_single_ones():
    one, block = seeds.words(5, 6, 7), seeds.words(5, 6, 7)
    for size in (1, 7, 128, 1000):
        out = np.empty(size)
        rng.fill_normal(block, out)
        assert out.tolist() == [rng.normal(one) for _ in range(size)]
    assert (one == block).all()


def test_blocks_may_share_their_room():
    one, block, out = seeds.words(5, 6, 7), seeds.words(5, 6, 7), np.empty(37)
    room = kernel.room_for(out.size)
    for _ in range(
        5
    ):  # what one block leaves there does not show in the next, which has another number of tails
        kernel.refill(block, out, room)
        assert out.tolist() == [kernel.normal(one) for _ in out]
    assert (one == block).all()


def test_far_tails_in_a_block():
    # A state whose next word starts with 52 zero bits, or ones, gives the smallest and the largest quantile.
    for words, sign in (([0, 0, 0, 0], -1), ([0, 1, 2, MASK], 1)):
        state = np.array(words, dtype=np.uint64)
        single, out = state.copy(), np.empty(1)
        kernel.fill_normal(state, out)
        assert out[0] == kernel.normal(single)
        assert np.sign(out[0]) == sign


@pytest.mark.parametrize(
    "tail", [0.075, 0.07501, 1e-3, 1.1e-10, 0.9e-10, 1.4e-11, 1.3e-11, 5e-12, 1e-13]
)
def test_each_formula_of_the_quantile_is_taken_in_a_block_where_it_is_taken_alone(tail):
    """AS 241 has three, with bounds at 0.075 and 1.39e-11 from the ends."""
    number = int(tail * 2.0**52)
    for half in (number, 2**52 - 1 - number):
        word = half << 12
        state = np.array(
            [0, 0, 0, (word >> 23 | word << 41) & MASK], dtype=np.uint64
        )  # a turn gives back the word
        out, same = np.empty(1), state.copy()
        kernel.fill_normal(state, out)
        exact = mpmath.sqrt(2) * mpmath.erfinv(2 * mpmath.mpf(2 * half + 1) / 2**53 - 1)
        assert out[0] == kernel.normal(same) == pytest.approx(float(exact), rel=1e-14)


def test_purposes_keep_their_numbers_and_those_of_a_run_are_all_different():
    """Every committed result was made with these; two that were the same would share their random numbers."""
    numbers = {name: getattr(seeds, name) for name in seeds.__all__ if name.isupper()}
    gym = {name: numbers.pop(name) for name in ("GYM_EXPLORATION", "GYM_ENVIRONMENT")}
    assert gym == {"GYM_EXPLORATION": 0, "GYM_ENVIRONMENT": 1}
    order = ("START", "BEHAVIOUR", "TARGET", "SIGMA", "TRAJECTORY", "HASH", "TIES", "THETA")
    assert numbers == {name: number for number, name in enumerate(order)}


def test_streams_depend_on_seed_run_and_purpose_alone():
    states = {
        tuple(seeds.words(s, r, p).tolist()) for s in range(4) for r in range(4) for p in range(5)
    }
    assert len(states) == 80
    assert (seeds.words(3, 2, 1) == seeds.words(np.int64(3), 2, 1)).all()
    expected = np.random.SeedSequence(entropy=3, spawn_key=(2, 1)).generate_state(4, np.uint64)
    assert (seeds.words(3, 2, 1) == expected).all()


@pytest.mark.parametrize("bad", [-1, 1.5, True, None])
def test_bad_seeds_are_named(bad):
    with pytest.raises(ValueError, match="seed is"):
        seeds.words(bad, 0, 0)
    with pytest.raises(ValueError, match="run is"):
        seeds.words(0, bad, 0)
    with pytest.raises(ValueError, match="purpose is"):
        seeds.words(0, 0, bad)


def test_compiled_code_does_not_fuse_multiply_and_add():
    # (1 + e)(1 - e) - 1 with e = 2**-30 is -2**-60 if the product is not rounded, and 0 if it is.
    @njit(**{**COMPILE, "cache": False})
    def residue(a, b, c):
        return a * b + c

    assert residue(1 + 2.0**-30, 1 - 2.0**-30, -1.0) == 0.0
    assert not any(
        "fma" in residue.inspect_asm(signature).lower() for signature in residue.signatures
    )


def test_no_kernel_uses_fastmath_or_fused_operations():
    assert COMPILE["fastmath"] is False
    kernel.fill_normal(seeds.words(0, 0, 0), np.empty(4))
    fill = kernel.fill_normal
    text = "".join(fill.inspect_llvm(s) for s in fill.signatures) if _compiled_here() else ""
    assert "fmul fast" not in text
    assert "llvm.fma" not in text


def _compiled_here():
    """Whether the code was compiled in this process; a function loaded from the cache has no text to look at."""
    return not kernel.fill_normal.stats.cache_hits
