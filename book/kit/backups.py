r"""Drawings of traces and returns: where the credit of an error goes, and the backup diagrams of λ-returns.

A step k that leaves a pair with the error δ_k pays every pair visited at j ≤ k its share (γλ)^{k−j} δ_k: the backward
view, `draw_credit`. The forward view averages n-step returns with the weights (1−λ)λ^{n−1}, and gives what is left,
λ^{h−1}, to the last of h returns: `draw_backups`, one column for each return, after the diagrams of Sutton and Barto.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gqlib import _validate as check
from gqlib._validate import Array
from kit.drawings import _bare, _ink_and_paper
from kit.figures import BLUE, RED

__all__ = ["draw_backups", "draw_credit"]

# From a column to the next, from a node to the next, and from the trunk to a branch beside it.
_COLUMN, _LEVEL, _BRANCH = 1.9, 0.8, 0.55


def draw_credit(axes: Any, pairs: Sequence[str], errors: ArrayLike, decay: float) -> Array:
    """A row of visited pairs with the errors below them, each sent back to all pairs visited so far.

    The last of `pairs` is the one reached, and has no error yet. Arrows are as wide as their share, decay^{k−j}.
    Returns what each pair is paid, Σ_k decay^{k−j} δ_k, (errors,).

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> axes = Figure().subplots()
    >>> draw_credit(axes, ["new", "worn", "broken", "new"], [-3.0, 4.0, 2.0], 0.5).tolist()
    [-0.5, 5.0, 2.0]
    """
    deltas, decay = (
        check.array("errors", errors, (None,)),
        check.scalar("decay", decay, low=0.0, high=1.0),
    )
    if len(pairs) != len(deltas) + 1:
        raise ValueError(
            f"pairs holds {len(pairs)} names; for {len(deltas)} errors it should hold {len(deltas) + 1}"
        )
    (ink, paper), n, paid = _ink_and_paper(), len(deltas), np.zeros(len(deltas))
    for k, name in enumerate(pairs):
        box = {
            "boxstyle": "round,pad=0.35",
            "facecolor": paper,
            "edgecolor": ink,
            "linestyle": "-" if k < n else "--",
        }
        axes.text(2.0 * k, 0.0, name, ha="center", va="center", fontsize=10, bbox=box, zorder=5)
        if k < n:
            arrow = {"arrowstyle": "-|>", "color": ink, "shrinkA": 0, "shrinkB": 0}
            axes.annotate(
                "", xy=(2.0 * k + 1.4, 0.0), xytext=(2.0 * k + 0.6, 0.0), arrowprops=arrow
            )
    for k, delta in enumerate(deltas):
        error = f"$\\delta_{{{k}}} = {delta:+g}$"
        axes.text(2.0 * k + 1.0, -2.5, error, ha="center", va="center", color=RED, fontsize=12)
        for j in range(k + 1):
            share = decay ** (k - j)
            paid[j] += share * delta
            if share == 0.0:
                continue
            begin = np.array([2.0 * k + 1.0 - 0.2 * (k - j), -2.25])
            end = np.array([2.0 * j + 0.22 * (k - j - 0.5), -0.45])
            arrow = {
                "arrowstyle": "-|>",
                "color": RED,
                "linewidth": 0.6 + 2.0 * share,
                "shrinkA": 0,
                "shrinkB": 0,
            }
            axes.annotate("", xy=tuple(end), xytext=tuple(begin), arrowprops=arrow)
            label = {"boxstyle": "round,pad=0.1", "facecolor": paper, "edgecolor": "none"}
            near = begin + (0.62, 0.35, 0.8)[min(k - j, 2)] * (end - begin)
            axes.text(
                *near, f"×{share:.3g}", ha="center", va="center", fontsize=9, bbox=label, zorder=5
            )
    axes.set_xlim(-0.7, 2.0 * n + 0.7)
    axes.set_ylim(-2.8, 0.6)
    _bare(axes)
    axes.set_aspect("auto")
    return paid


def draw_backups(
    axes: Any, sigma: float, lam: float, *, steps: int = 3, trunk: float = 1.0
) -> Array:
    """The returns of 1, 2, …, `steps` steps that Q(σ, λ) averages, as backup diagrams, with their weights below.

    Circles are states and dots actions. What is sampled is a solid line, what is expected a dashed one, as strong as
    1 − σ. The trunk shrinks by the factor `trunk` from step to step: 1 for Q(σ, λ), π(a|s) for Tree Backup.
    Returns the weights of the columns, which sum to one, (steps,).

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> axes = Figure().subplots()
    >>> draw_backups(axes, 1.0, 0.5).tolist()
    [0.5, 0.25, 0.25]
    """
    sigma, lam = (
        check.scalar(name, x, low=0.0, high=1.0) for name, x in (("sigma", sigma), ("lam", lam))
    )
    steps, trunk = (
        check.integer("steps", steps, low=1),
        check.scalar("trunk", trunk, low=0.0, high=1.0),
    )
    weights = (1.0 - lam) * lam ** np.arange(steps)
    weights[-1] = lam ** (steps - 1)
    (ink, paper), low = _ink_and_paper(), -_LEVEL * 2 * steps
    for column, weight in enumerate(weights):
        x, thick = _COLUMN * column, 2.4
        for step in range(column + 1):
            top, state, bottom = (-_LEVEL * (2 * step + half) for half in range(3))
            last = step == column
            axes.plot([x, x], [top, state], color=BLUE, linestyle="-", linewidth=thick)
            thick *= trunk
            if not last or sigma > 0.0:
                strong = sigma if last else 1.0
                axes.plot(
                    [x, x],
                    [state, bottom],
                    color=BLUE,
                    linestyle="-",
                    linewidth=thick,
                    alpha=strong,
                )
            for side in (-_BRANCH, 0.0, _BRANCH) if last else (-_BRANCH, _BRANCH):
                if sigma < 1.0:
                    ends = ([x, x + side], [state, bottom])
                    axes.plot(
                        *ends, color=RED, linestyle=(0, (3, 1.5)), linewidth=1.6, alpha=1.0 - sigma
                    )
                    axes.plot(
                        x + side, bottom, "o", color=RED, markersize=5, alpha=1.0 - sigma, zorder=3
                    )
            if not last or sigma > 0.0:
                axes.plot(
                    x, bottom, "o", color=ink, markersize=6, alpha=sigma if last else 1.0, zorder=3
                )
            axes.plot(x, state, "o", color=paper, markeredgecolor=ink, markersize=11, zorder=3)
        axes.plot(x, 0.0, "o", color=ink, markersize=6, zorder=3)
        axes.text(x, low - 0.75, f"×{weight:.3g}", ha="center", va="center", fontsize=10)
    axes.set_xlim(-0.9, _COLUMN * (steps - 1) + 0.9)
    axes.set_ylim(low - 1.1, 0.5)
    _bare(axes)
    axes.set_aspect("auto")
    return np.asarray(weights, dtype=np.float64)
