"""Lost runs: those of which a runner could only say that they diverged.

A learner that overflows ends its run with an error (:class:`gqlib._validate.Diverged`), and no array of it is left.
Such a run is stored as ``{"diverged": [True]}``; beside others of its setting it has NaN where they have numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gqlib.sweeps.store import Arrays


def is_lost(arrays: Arrays) -> bool:
    """Whether nothing is known of these runs but that they diverged.

    Examples
    --------
    >>> is_lost({"diverged": np.array([True])}), is_lost({"diverged": np.array([True]), "theta": np.zeros((1, 2))})
    (True, False)
    """
    return set(arrays) == {"diverged"} and bool(arrays["diverged"].all())


def filled(lost: Arrays, like: Arrays) -> Arrays:
    """Runs of which nothing is known but that they diverged, with the arrays that others have: NaN, or no text.

    Examples
    --------
    >>> others = {"steps": np.array([3]), "diverged": np.array([False])}
    >>> {name: array.tolist() for name, array in filled({"diverged": np.array([True, True])}, others).items()}
    {'steps': [nan, nan], 'diverged': [True, True]}
    """
    rows, made = len(lost["diverged"]), {}
    for name, array in like.items():
        kind = array.dtype if array.dtype.kind in "fcSU" else np.dtype(np.float64)
        nothing: Any = "" if kind.kind in "SU" else np.nan
        shape = (rows, *array.shape[1:])
        made[name] = (
            np.ones(shape, dtype=array.dtype)
            if name == "diverged"
            else np.full(shape, nothing, dtype=kind)
        )
    return made


def joined(parts: Sequence[Arrays]) -> Arrays:
    """Runs of one setting, one part after the other; where some are lost, with what others have.

    Examples
    --------
    >>> parts = {"steps": np.array([3]), "diverged": np.array([False])}, {"diverged": np.array([True])}
    >>> {name: array.tolist() for name, array in joined(parts).items()}
    {'steps': [3.0, nan], 'diverged': [False, True]}
    """
    whole = next((part for part in parts if not is_lost(part)), None)
    if whole is not None:
        parts = [filled(part, whole) if is_lost(part) else part for part in parts]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
