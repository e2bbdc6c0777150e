"""Drawings: the machine, one backup with its dial, a mean field, the paper's prediction domains, curves on log axes.

Of the domains the paper draws two, Figures 6 and 7. A backup diagram, after Sutton and Barto, shows what an update of
Q(σ) looks at, Eq. (5): of the next state's actions a the weights are (1−σ)π(a|s) + σ[a was taken].
"""

from __future__ import annotations

from collections.abc import Sequence
from math import cos, pi, sin
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gqlib import _validate as check
from gqlib._validate import Array
from gqlib.domains.boyan_chain import LAST_REWARD, STEP_REWARD, triangles
from gqlib.domains.cart_pole import LENGTH
from gqlib.domains.machine import ACTIONS, BROKEN, NEW, REPAIR, RUN, STATES, WORN, machine_mdp
from kit.figures import BLACK, BLUE, CYCLE, ORANGE, RED, SKY, mean_and_half

__all__ = [
    "draw_backup",
    "draw_cart_pole",
    "draw_chain",
    "draw_field",
    "draw_machine",
    "draw_star",
    "draw_triangles",
    "log_band",
]

_NODE = {"boxstyle": "circle,pad=0.35", "facecolor": "white", "edgecolor": BLACK, "linewidth": 1.2}


def _node(axes: Any, x: float, y: float, text: str, **options: Any) -> Any:
    style = _NODE | options.pop("bbox", {})
    return axes.text(
        x,
        y,
        text,
        ha="center",
        va="center",
        fontsize=options.pop("fontsize", 9),
        bbox=style,
        zorder=3,
    )


def _arrow(
    axes: Any,
    begin: tuple[float, float],
    end: tuple[float, float],
    bend: float = 0.0,
    **options: Any,
) -> None:
    style = {
        "arrowstyle": "-|>",
        "shrinkA": 13,
        "shrinkB": 13,
        "connectionstyle": f"arc3,rad={bend}",
        "linewidth": 1.3,
    }
    axes.annotate("", xy=end, xytext=begin, arrowprops=style | options)


def _bare(axes: Any) -> None:
    axes.set_aspect("equal")
    axes.axis("off")
    axes.grid(visible=False)


def _ink_and_paper() -> tuple[Any, Any]:
    """The colours of lines and ground, as the figures' style has them."""
    import matplotlib

    return matplotlib.rcParams["text.color"], matplotlib.rcParams["axes.facecolor"]


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
    axes.fill_between(
        x,
        np.maximum(mean - half, mean / 100),
        mean + half,
        alpha=0.25,
        color=line.get_color(),
        lw=0,
    )
    if np.isnan(mean).any():
        last = int(np.flatnonzero(np.isfinite(mean))[-1])
        axes.plot(np.asarray(x)[last], mean[last], "x", color=BLACK, ms=9, zorder=5)
    axes.set_yscale("log")
    return mean


# Where each arrow of the machine's drawing begins, ends and bends, and where its probability stands.
_MACHINE: dict[
    tuple[int, int, int],
    tuple[tuple[float, float], tuple[float, float], float, tuple[float, float]],
] = {
    (NEW, RUN, NEW): ((-0.2, 0.24), (0.2, 0.24), -2.2, (0.0, 0.98)),
    (NEW, RUN, WORN): ((0.3, 0.12), (2.68, 0.12), -0.12, (1.5, 0.44)),
    (WORN, RUN, WORN): ((2.8, 0.24), (3.2, 0.24), -2.2, (3.0, 0.98)),
    (WORN, RUN, BROKEN): ((3.32, 0.12), (5.58, 0.12), -0.12, (4.5, 0.44)),
    (BROKEN, RUN, BROKEN): ((5.8, 0.24), (6.2, 0.24), -2.2, (6.0, 0.98)),
    (NEW, REPAIR, NEW): ((-0.33, 0.12), (-0.33, -0.16), 2.6, (-1.05, 0.0)),
    (NEW, REPAIR, WORN): ((0.3, -0.05), (2.68, -0.05), 0.0, (1.5, 0.06)),
    (WORN, REPAIR, NEW): ((2.75, -0.22), (0.28, -0.22), -0.16, (1.5, -0.55)),
    (WORN, REPAIR, WORN): ((3.05, -0.24), (3.36, -0.1), 2.4, (3.55, -0.72)),
    (BROKEN, REPAIR, WORN): ((5.58, -0.05), (3.34, -0.05), 0.0, (4.5, 0.06)),
    (BROKEN, REPAIR, NEW): ((5.85, -0.24), (0.05, -0.26), -0.27, (3.0, -1.2)),
}


def draw_machine(axes: Any) -> None:
    """The machine: three states, solid arrows for running it and dashed ones for repairing it, with probabilities.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> axes = Figure().subplots()
    >>> draw_machine(axes)
    >>> [text.get_text() for text in axes.get_legend().get_texts()]
    ['run: pays 3, 2, 0', 'repair: costs 1, 1.5, 2']
    """
    mdp = machine_mdp()
    ink, paper = _ink_and_paper()
    looks: dict[int, dict[str, Any]] = {
        RUN: {"color": BLUE, "linestyle": "-"},
        REPAIR: {"color": RED, "linestyle": (0, (4, 2))},
    }
    for (state, action, reached), (begin, end, bend, place) in _MACHINE.items():
        chance = mdp.transitions[state, action, reached]
        _arrow(
            axes,
            begin,
            end,
            bend,
            shrinkA=0,
            shrinkB=0,
            linewidth=0.8 + 1.2 * chance,
            **looks[action],
        )
        axes.text(
            *place,
            f"{chance:g}",
            ha="center",
            va="center",
            fontsize=9,
            color=looks[action]["color"],
        )
    for state, name in enumerate(STATES):
        box = {"boxstyle": "round,pad=0.5", "facecolor": paper, "edgecolor": ink, "linewidth": 1.3}
        axes.text(3.0 * state, 0.0, name, ha="center", va="center", fontsize=11, bbox=box, zorder=3)
    for action, verb, sign in ((RUN, "pays", 1.0), (REPAIR, "costs", -1.0)):
        sums = ", ".join(f"{sign * reward:g}" for reward in mdp.rewards[:, action])
        axes.plot([], [], label=f"{ACTIONS[action]}: {verb} {sums}", **looks[action])
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, 0.04), ncols=2, fontsize=10)
    axes.set_xlim(-1.4, 6.8)
    axes.set_ylim(-1.4, 1.15)
    _bare(axes)


def draw_backup(
    axes: Any, sigma: float, policy: ArrayLike, taken: int, *, names: Sequence[str] | None = None
) -> Array:
    """What one update of Q(σ) looks at, below a dial that points to σ; returns the weights of the actions, (A,).

    The dot at the top is the pair to be updated, the circle the state reached, and the dots below it its actions. The
    solid line leads to the action that was taken, as strong as σ; dashed lines to all actions, as strong as their share
    (1−σ)π(a|s). The weight below an action is the sum of both, Eq. (5).

    Parameters
    ----------
    axes : matplotlib axes
    sigma : float in [0, 1]
    policy : array_like, (A,)
        π(·|s) in the state reached.
    taken : int
        The action that was taken there.
    names : sequence of str, optional
        Names of the pair, the state and the actions, 2 + A in number.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> axes = Figure().subplots()
    >>> draw_backup(axes, 0.5, [0.0, 1.0], 0).tolist()  # the crew runs on, the plan would repair
    [0.5, 0.5]
    """
    sigma = check.scalar("sigma", sigma, low=0.0, high=1.0)
    shares = check.distributions("policy", policy, (len(check.array("policy", policy, (None,))),))
    taken = check.integer("taken", taken, low=0, high=len(shares) - 1)
    if names is not None and len(names) != 2 + len(shares):
        raise ValueError(
            f"names holds {len(names)} names; with {len(shares)} actions it should hold {2 + len(shares)}"
        )
    ink, paper = _ink_and_paper()
    shares = (1.0 - sigma) * shares
    weights = shares + sigma * (np.arange(len(shares)) == taken)
    _dial(axes, sigma, ink)
    axes.plot([0.0, 0.0], [0.0, -1.0], color=ink, linestyle="-", linewidth=1.5)
    for action, (share, weight) in enumerate(zip(shares, weights, strict=True)):
        x = 1.3 * (action - (len(shares) - 1) / 2)
        if action == taken and sigma > 0.0:
            axes.plot(
                [0.06, x + 0.06],
                [-1.0, -2.0],
                color=BLUE,
                linestyle="-",
                linewidth=0.8 + 3.0 * sigma,
            )
        if share > 0.0:
            axes.plot(
                [0.0, x],
                [-1.0, -2.0],
                color=RED,
                linestyle=(0, (3, 1.5)),
                linewidth=0.8 + 3.0 * share,
            )
        if weight == 0.0:
            axes.plot([0.0, x], [-1.0, -2.0], color=ink, linestyle=":", linewidth=0.8, alpha=0.5)
        axes.plot(
            x, -2.0, "o", color=ink, markersize=8, alpha=0.4 if weight == 0.0 else 1.0, zorder=3
        )
        axes.text(x, -2.72, f"×{weight:.3g}", ha="center", va="center", fontsize=11)
        if names is not None:
            axes.text(x, -2.35, names[2 + action], ha="center", va="center", fontsize=10)
    axes.plot(0.0, 0.0, "o", color=ink, markersize=8, zorder=3)
    axes.plot(
        0.0,
        -1.0,
        "o",
        color=paper,
        markeredgecolor=ink,
        markeredgewidth=1.5,
        markersize=16,
        zorder=3,
    )
    if names is not None:
        axes.text(0.22, 0.0, names[0], ha="left", va="center", fontsize=10)
        axes.text(0.3, -0.95, names[1], ha="left", va="center", fontsize=10)
    axes.set_xlim(-1.5, 1.5)
    axes.set_ylim(-2.95, 1.75)
    _bare(axes)
    return np.asarray(weights)


def _dial(axes: Any, sigma: float, ink: Any) -> None:
    """A half circle from 0, on the left, to 1, with its hand at σ."""
    middle, radius = 0.6, 0.65
    turn = np.linspace(0.0, pi, 61)
    axes.plot(
        -radius * np.cos(turn),
        middle + radius * np.sin(turn),
        color=ink,
        linestyle="-",
        linewidth=1.5,
    )
    for end in (0.0, 0.25, 0.5, 0.75, 1.0):
        out = np.array([-cos(pi * end), sin(pi * end)])
        near, far = (0.88 * radius * out), radius * out
        axes.plot(
            [near[0], far[0]],
            [middle + near[1], middle + far[1]],
            color=ink,
            linestyle="-",
            linewidth=1.0,
        )
    hand = 0.8 * radius * np.array([-cos(pi * sigma), sin(pi * sigma)])
    arrow = {"arrowstyle": "-|>", "color": BLUE, "linewidth": 2.5, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", xy=(hand[0], middle + hand[1]), xytext=(0.0, middle), arrowprops=arrow)
    axes.text(0.0, middle + radius + 0.25, f"σ = {sigma:g}", ha="center", va="center", fontsize=12)
    axes.text(-radius - 0.12, middle, "expect", ha="right", va="center", fontsize=9)
    axes.text(radius + 0.12, middle, "sample", ha="left", va="center", fontsize=9)


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
        axes.text(
            1.32 * x,
            1.34 * y,
            rf"$2\epsilon_{i} + \epsilon_{{{n + 1}}}$",
            ha="center",
            va="center",
            fontsize=8,
        )
    for (x, y), (u, v) in zip(corners, corners[1:] + corners[:1], strict=True):
        _arrow(axes, (x, y), (u, v), bend=0.18, color=RED, linestyle="--")
    _node(axes, 0.0, 0.0, f"$s_{n}$", bbox={"facecolor": SKY})
    axes.plot([], [], color=BLUE, linestyle="-", label=f"solid: μ = 1/{n}, π = 1")
    axes.plot(
        [], [], color=RED, linestyle="--", label=f"dashed, to any corner: μ = {n - 1}/{n}, π = 0"
    )
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
            _arrow(
                axes, (i, 0.0), (i + 2.0, 0.0), bend=-0.45 if i % 2 else 0.45, color=BLUE, **small
            )
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
        axes.plot(
            np.arange(1, states + 1),
            phi[:, j],
            "o",
            color=colour,
            linestyle=line,
            ms=4,
            label=rf"$\phi_{j}$",
        )
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
    turned = np.linspace(0.0, angle, 20)
    axes.plot(
        0.8 * np.sin(turned), 0.18 + 0.8 * np.cos(turned), color=BLACK, linewidth=1, linestyle="-"
    )
    axes.text(
        0.9 * sin(angle / 2),
        0.18 + 0.9 * cos(angle / 2),
        "$s_1$",
        ha="center",
        va="center",
        fontsize=10,
    )
    axes.text(0.0, -0.2, "$s_3$ (velocity $s_4$)", ha="center", va="top", fontsize=9)
    axes.text(top[0] + 0.1, top[1], "angular velocity $s_2$", va="center", fontsize=9)
    axes.set_xlim(-1.2, 1.7)
    axes.set_ylim(-0.4, 1.4)
    _bare(axes)


def _rectangle(corner: tuple[float, float], width: float, height: float, **options: Any) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle(corner, width, height, edgecolor=BLACK, **options)


_ARROWS, _STEPS, _FIRST = 9, 400, 0.15


def draw_field(axes: Any, matrix: ArrayLike, vector: ArrayLike, size: float) -> Array:
    """Arrows Aθ + b over the square [0, size]², the one at the origin in orange, and the path from zero with its end.

    Arrows are as long as the square root of the step, so that slow ones can be seen beside fast ones; the orange one
    shows the direction only.
    Returns the resting point −A⁻¹b, (2,).

    Parameters
    ----------
    axes : matplotlib axes
    matrix : array_like, (2, 2)
    vector : array_like, (2,)
    size : float
        The side of the square.

    Examples
    --------
    >>> from kit.examples import machine_weights
    >>> from matplotlib.figure import Figure
    >>> problem = machine_weights("two weights")
    >>> draw_field(Figure().subplots(), problem.A(1.0, 0.0), problem.b(1.0, 0.0), 30.0).round(2).tolist()
    [25.81, 22.24]
    """
    a, b = check.array("matrix", matrix, (2, 2)), check.array("vector", vector, (2,))
    size = check.scalar("size", size, low=0.0, open_low=True)
    values, vectors = np.linalg.eig(a)
    if values.real.max() >= 0.0:
        raise ValueError(
            f"matrix has eigenvalues {values.round(4).tolist()}; their real parts should be negative"
        )
    rest = np.linalg.solve(a, -b)
    ticks = np.linspace(0.0, size, _ARROWS)
    places = np.array([(x, y) for y in ticks for x in ticks])
    steps = places @ a.T + b
    lengths = np.maximum(np.linalg.norm(steps, axis=1, keepdims=True), 1e-12)
    arrows = 0.9 * size / (_ARROWS - 1) * steps / np.sqrt(lengths * lengths.max())
    look = {"angles": "xy", "scale_units": "xy", "scale": 1.0, "width": 0.006}
    axes.quiver(*places[1:].T, *arrows[1:].T, color="0.55", **look)
    first = _FIRST * size * steps[:1] / lengths[0]
    axes.quiver(*places[:1].T, *first.T, color=RED, zorder=4, **{**look, "width": 0.012})
    # The path, by the eigenvectors of A: θ(t) = θ_* − V exp(tκ) V⁻¹θ_*.
    times = np.geomspace(1e-3, 200.0, _STEPS)
    shares = np.linalg.solve(vectors, rest.astype(vectors.dtype))
    path = rest[:, None] - (vectors @ (shares[:, None] * np.exp(np.outer(values, times)))).real
    axes.plot(*path, "-", color=BLUE)
    axes.plot(*rest, "o", color=BLACK, markersize=6)
    margin = 0.08 * size
    axes.set(xlim=(-margin, size + margin), ylim=(-margin, size + margin))
    return np.asarray(rest)
