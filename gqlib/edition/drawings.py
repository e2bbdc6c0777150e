"""Drawings of the three prediction domains (Figures 6 and 7 of the paper, and two it lacks), and curves on log axes."""

from __future__ import annotations

from math import cos, pi, sin
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gqlib import _validate as check
from gqlib._validate import Array
from gqlib.domains.boyan_chain import LAST_REWARD, STEP_REWARD, triangles
from gqlib.domains.cart_pole import LENGTH
from gqlib.edition.figures import BLACK, BLUE, CYCLE, ORANGE, RED, SKY, mean_and_half

__all__ = ["draw_cart_pole", "draw_chain", "draw_star", "draw_triangles", "log_band"]

_NODE = {"boxstyle": "circle,pad=0.35", "facecolor": "white", "edgecolor": BLACK, "linewidth": 1.2}


def _node(axes: Any, x: float, y: float, text: str, **options: Any) -> Any:
    style = _NODE | options.pop("bbox", {})
    return axes.text(x, y, text, ha="center", va="center", fontsize=options.pop("fontsize", 9), bbox=style, zorder=3)


def _arrow(axes: Any, begin: tuple[float, float], end: tuple[float, float], bend: float = 0.0, **options: Any) -> None:
    style = {"arrowstyle": "-|>", "shrinkA": 13, "shrinkB": 13, "connectionstyle": f"arc3,rad={bend}", "linewidth": 1.3}
    axes.annotate("", xy=end, xytext=begin, arrowprops=style | options)


def _bare(axes: Any) -> None:
    axes.set_aspect("equal")
    axes.axis("off")
    axes.grid(visible=False)


def log_band(axes: Any, x: ArrayLike, runs: ArrayLike, label: str, **options: Any) -> Array:
    """The mean over runs (rows) with its 95% interval on a logarithmic axis; returns the mean.

    Where the interval reaches zero, the band is cut at a hundredth of the mean. The mean of a column in which a run
    diverged (NaN) does not exist: the curve stops before it, with a cross.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> axes = Figure().subplots()
    >>> log_band(axes, [1, 2, 3], [[1.0, 10.0, np.nan], [3.0, 10.0, 100.0]], "two runs").tolist(), axes.get_yscale()
    ([2.0, 10.0, nan], 'log')
    """
    mean, half = mean_and_half(runs)
    (line,) = axes.plot(x, mean, label=label, **options)
    axes.fill_between(x, np.maximum(mean - half, mean / 100), mean + half, alpha=0.25, color=line.get_color(), lw=0)
    if np.isnan(mean).any():
        last = int(np.flatnonzero(np.isfinite(mean))[-1])
        axes.plot(np.asarray(x)[last], mean[last], "x", color=BLACK, ms=9, zorder=5)
    axes.set_yscale("log")
    return mean


def draw_star(axes: Any, states: int = 7) -> None:
    """Baird's star: solid arrows lead to the centre (and from it to itself), dashed ones to the corners.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> axes = Figure().subplots()
    >>> draw_star(axes)
    >>> [text.get_text() for text in axes.get_legend().get_texts()]
    ['solid: μ = 1/7, π = 1', 'dashed, to any corner: μ = 6/7, π = 0']
    """
    n = check.integer("states", states, low=3)
    angles = [pi / 2 - 2 * pi * i / (n - 1) for i in range(n - 1)]
    corners = [(1.9 * cos(angle), 1.3 * sin(angle)) for angle in angles]
    for i, (x, y) in enumerate(corners, start=1):
        _arrow(axes, (x, y), (0.0, 0.0), color=BLUE)
        _node(axes, x, y, f"$s_{i}$")
        axes.text(1.32 * x, 1.34 * y, rf"$2\epsilon_{i} + \epsilon_{{{n + 1}}}$", ha="center", va="center", fontsize=8)
    for (x, y), (u, v) in zip(corners, corners[1:] + corners[:1], strict=True):
        _arrow(axes, (x, y), (u, v), bend=0.18, color=RED, linestyle="--")
    _node(axes, 0.0, 0.0, f"$s_{n}$", bbox={"facecolor": SKY})
    axes.plot([], [], color=BLUE, linestyle="-", label=f"solid: μ = 1/{n}, π = 1")
    axes.plot([], [], color=RED, linestyle="--", label=f"dashed, to any corner: μ = {n - 1}/{n}, π = 0")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.02), ncols=2, fontsize=8)
    axes.set_xlim(-2.9, 2.9)
    axes.set_ylim(-1.9, 1.9)
    _bare(axes)


def draw_chain(axes: Any, states: int = 14) -> None:
    """Boyan's chain (Figure 6): one or two states ahead with probability 1/2 each, and the last two states.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> axes = Figure().subplots()
    >>> draw_chain(axes)
    >>> [text.get_text() for text in axes.get_legend().get_texts()]
    ['probability 1/2, reward -3', 'probability 1, reward -2']
    """
    n = check.integer("states", states, low=4)
    for i in range(1, n + 1):
        _node(axes, i, 0.0, f"${i}$", bbox={"facecolor": SKY if i == n else "white"}, fontsize=8)
    small = {"shrinkA": 9, "shrinkB": 9}
    for i in range(1, n):
        _arrow(axes, (i, 0.0), (i + 1.0, 0.0), color=RED if i == n - 1 else BLUE, **small)
        if i < n - 1:
            _arrow(axes, (i, 0.0), (i + 2.0, 0.0), bend=-0.45 if i % 2 else 0.45, color=BLUE, **small)
    axes.plot([], [], color=BLUE, linestyle="-", label=f"probability 1/2, reward {STEP_REWARD:g}")
    axes.plot([], [], color=RED, linestyle="-", label=f"probability 1, reward {LAST_REWARD:g}")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, 0.02), ncols=2, fontsize=8)
    axes.set_xlim(0.3, n + 0.7)
    axes.set_ylim(-1.1, 1.1)
    _bare(axes)


def draw_triangles(axes: Any, states: int = 14) -> Array:
    """The four features of Boyan's chain over its states (Figure 7); returns what is plotted.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> axes = Figure().subplots()
    >>> draw_triangles(axes, 7)[1].tolist()
    [0.5, 0.5, 0.0, 0.0]
    """
    phi = triangles(states)
    for j, (colour, line) in zip(range(phi.shape[1]), CYCLE, strict=False):
        axes.plot(np.arange(1, states + 1), phi[:, j], "o", color=colour, linestyle=line, ms=4, label=rf"$\phi_{j}$")
    axes.set_xticks(range(1, states + 1))
    axes.set_xlabel("state")
    axes.set_ylabel("feature")
    axes.legend(ncols=4, loc="upper center", bbox_to_anchor=(0.5, 1.2))
    return phi


def draw_cart_pole(axes: Any, angle: float = 0.25) -> None:
    """The cart and its pole at an angle from upright, with the names of state and action.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> axes = Figure().subplots()
    >>> draw_cart_pole(axes)
    >>> [text.get_text() for text in axes.texts if text.get_text()][:2]
    ['action $a$', '$s_1$']
    """
    top = (0.9 * LENGTH * 2 * sin(angle), 0.18 + 0.9 * LENGTH * 2 * cos(angle))
    axes.add_patch(_rectangle((-0.35, 0.0), 0.7, 0.18, facecolor=SKY))
    for x in (-0.2, 0.2):
        axes.plot([x], [-0.03], "o", color=BLACK, ms=7)
    axes.plot([0.0, top[0]], [0.18, top[1]], color=ORANGE, linewidth=4, solid_capstyle="round")
    axes.plot([top[0]], [top[1]], "o", color=BLACK, ms=10)
    axes.plot([0.0, 0.0], [0.18, 1.25], color=BLACK, linestyle=":", linewidth=1)
    axes.axhline(-0.07, color=BLACK, linewidth=1)
    _arrow(axes, (0.35, 0.09), (0.95, 0.09), color=RED, shrinkA=0, shrinkB=0)
    axes.text(1.0, 0.09, "action $a$", va="center", fontsize=9)
    axes.text(0.09, 0.85, "$s_1$", fontsize=10)
    axes.text(0.0, -0.2, "$s_3$ (velocity $s_4$)", ha="center", va="top", fontsize=9)
    axes.text(top[0] + 0.1, top[1], "angular velocity $s_2$", va="center", fontsize=9)
    axes.set_xlim(-1.2, 1.7)
    axes.set_ylim(-0.4, 1.4)
    _bare(axes)


def _rectangle(corner: tuple[float, float], width: float, height: float, **options: Any) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle(corner, width, height, edgecolor=BLACK, **options)
