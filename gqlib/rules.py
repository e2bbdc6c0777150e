"""Rules that the reference and its compiled twin both obey, so that they take the same steps."""

from __future__ import annotations

__all__ = ["DIVERGED_ABOVE", "LARGEST_WEIGHT", "TIE"]

# Greedy is the first action within `TIE` of the largest value: a lazy engine leaves rounding noise where the exact
# value is zero, and ties decide actions.
TIE = 1e-10
# In control, a TD error beyond this, or one that is NaN, counts as divergence, however the run would continue.
DIVERGED_ABOVE = 1e100
# In prediction, a weight beyond this has diverged: the run stops there and is counted.
LARGEST_WEIGHT = 1e10
