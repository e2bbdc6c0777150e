"""The compiled twins of the reference code (Numba).

Everything here keeps to IEEE additions, multiplications, divisions, comparisons and square roots in a fixed
order, so that a result is the same to the last bit on every machine: no ``fastmath``, no contraction into
fused multiply-adds, no mathematical library. `ENGINE_VERSION` names the results, not the code: it changes
when, and only when, a number that the engine produces changes, and a test holds it to committed checksums.
"""

from typing import Any

__all__ = ["ENGINE_VERSION"]

ENGINE_VERSION = 1

# For every kernel. A function compiled from a caller with fastmath would inherit it, so it is switched off in each;
# the "numpy" model divides as IEEE says, without a check for zero that would keep loops from being vectorised.
COMPILE: dict[str, Any] = {"fastmath": False, "error_model": "numpy", "cache": True}
