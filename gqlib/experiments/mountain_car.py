"""The mountain car of the paper as data: Figures 4 and 5, Tables 1 and 2, and what it leaves open.

What the paper gives (Section 5.2): λ = γ = 0.99, 100 runs of 400 episodes, α from {0.01, 0.02,
0.001, 0.002}, η from {2⁰, …, 2⁻¹⁰}, p from 2⁷ to 2¹¹, and 51 ways to set σ: 0, 1, and σ ~ N(m,
0.01²) with m = 0.02, 0.04, …, 0.98. What it leaves open was fixed before any result was seen: both
target policies, the ε-greedy one of the behaviour, as in the source that the paper cites for its
sentence about mixtures, and the greedy one; ε = 0.1; 8 tilings of 8 × 8 with hashed (``int``)
memory; a cap of 5,000 steps; α not divided by the number of tilings; σ drawn at every step; η = 1;
measure = mean steps per episode over all 400 episodes, a capped episode counted at the cap. The
sensitivity study varies these one at a time; step sizes are searched in
`gqlib.experiments.search_one_hash` and `gqlib.experiments.search_drawn_tiles`.

*Coders.* The paper's footnote names the RLtoolkit's tile coder. Its table of random numbers is
drawn once when the Python form is imported, and in the C form once per process, there without a
seed: whether the authors had one table, one per experiment, one per setting or one per run depends
on how they started their processes. tiles3, which the first edition used, has one fixed hash. In
``coders`` every run draws its own tiles: from the RLtoolkit's coder (``rltoolkit``), for all 51 ways
to set σ, and from tiles3 with a random salt (``salted``), for eleven of them; in ``shared-tiles`` all
runs share one table, sixteen times over. Run i of both coders has the same starts and exploration,
and run i of one coder the same tiles, whatever σ.

All settings of an experiment use the same seed, and the engine's random numbers depend on seed and
run alone, so differences between settings are paired. Figures and tables share the seed as well:
where they share a setting, they share its runs, which are computed once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import product
from typing import Any

from gqlib.control.setting import TARGETS, ControlSetting
from gqlib.learners.sigma import MEANS, NOISE
from gqlib.sweeps.setting import Setting
from gqlib.sweeps.sweep import Experiment

__all__ = [
    "ALPHAS",
    "CODERS",
    "ETAS",
    "FEW_MEANS",
    "PAPER_RUNS",
    "SENSITIVITY_CELLS",
    "SIZES",
    "TABLE_ALPHAS",
    "TABLE_RUNS",
    "TABLE_SIZES",
    "TARGETS",
    "coders",
    "fig4",
    "fig4_lagged",
    "fig5",
    "sensitivity_by_cell",
    "shared_tiles",
    "table1",
    "table2",
]

SEED = 2019  # the year of the paper

# The paper's grid.
ALPHAS = (0.01, 0.02, 0.001, 0.002)
ETAS = tuple(2.0**-k for k in range(11))
SIZES = tuple(2**k for k in range(7, 12))
PAPER_RUNS = 100
TABLE_ALPHAS, TABLE_SIZES = (0.001, 0.002), (512, 1024, 2048)

# The figures have the paper's number of runs, the tables three times as many, so that the paper's
# procedure can be repeated on runs it has not seen; `gq reproduce NAME --runs N` adds more.
TABLE_RUNS = 3 * PAPER_RUNS
# Cells of the sensitivity study (α, p): those of Figures 4 and 5, and a memory with room for all.
SENSITIVITY_CELLS = ((0.002, 1024), (0.001, 1024), (0.001, 2048))
FIXED_SIGMAS = (0.0, 0.25, 0.5, 0.75, 1.0)
FEW_MEANS = (0.1, 0.3, 0.5, 0.7, 0.9)
CODERS = ("rltoolkit", "salted")

# Fields changed by each choice that the paper leaves open, by its name; the first changes nothing.
# Where nothing is said of the memory it is the coder that the paper names, with its tiles drawn for
# each run, so that no choice is judged by one hash. Step sizes have searches of their own, and the
# measure over the last 50 episodes needs no runs of its own.
OPEN_CHOICES: dict[str, dict[str, Any]] = {
    "default": {},
    "epsilon 0.01": {"epsilon": 0.01},
    "epsilon 0.05": {"epsilon": 0.05},
    "epsilon 0.2": {"epsilon": 0.2},
    "cap 1000": {"max_steps": 1000},
    "cap 10000": {"max_steps": 10000},
    "16 tilings": {"tilings": 16},
    "tiles3, one hash": {"memory": "int"},
    "tiles3, numbered": {"memory": "iht"},
    "tiles3, a hash per run": {"memory": "salted"},
    "sigma per episode": {"sigma_drawn": "episode"},
    "sigma per run": {"sigma_drawn": "run"},
    "sigma clipped": {"sigma_clipped": True},
    "lagged v": {"v": "lagged"},
    "ties at random": {"ties": "random"},
    "start at -0.5": {"start": "bottom"},
    "start anywhere": {"start": "anywhere"},
    "theta0 -1": {"theta0": -1.0},
    "theta0 +1": {"theta0": 1.0},
    "theta0 random": {"theta0_noise": 0.1},
}

Fields = dict[str, Any]  # of a setting


def constant(*sigmas: float) -> list[Fields]:
    """Fields of settings with constant σ."""
    return [{"sigma": sigma} for sigma in sigmas]


def dynamic(*means: float) -> list[Fields]:
    """Fields of settings with the paper's dynamic σ ~ N(mean, 0.01²)."""
    return [{"sigma": mean, "sigma_noise": NOISE} for mean in means]


def between_ends(*means: float) -> list[Fields]:
    """σ = 0, dynamic σ with these means, and σ = 1: by default the paper's 51 ways to set σ.

    Examples
    --------
    >>> ways = between_ends()
    >>> len(ways), ways[0], ways[1], ways[-1]
    (51, {'sigma': 0.0}, {'sigma': 0.02, 'sigma_noise': 0.01}, {'sigma': 1.0})
    """
    return [*constant(0.0), *dynamic(*(means or MEANS)), *constant(1.0)]


def control_grid(sigmas: list[Fields], **fields: Any) -> tuple[ControlSetting, ...]:
    """Every combination of values of `fields`, the last one fastest, and then of `sigmas`.

    Examples
    --------
    >>> [(s.p, s.sigma) for s in control_grid(constant(0.0, 1.0), p=(512, 1024), alpha=0.002)]
    [(512, 0.0), (512, 1.0), (1024, 0.0), (1024, 1.0)]
    """
    lists = [values if isinstance(values, tuple) else (values,) for values in fields.values()]
    return tuple(
        ControlSetting(**dict(zip(fields, values, strict=True)), **sigma)
        for values in product(*lists)
        for sigma in sigmas
    )


def control_experiment(
    name: str, title: str, settings: Iterable[Setting], summary: str = "control totals", **more: Any
) -> Experiment:
    """An experiment on the car, with the paper's number of runs and the seed that all share.

    Ten runs of 400 episodes and up to 5,000 steps each take about a second.
    """
    from gqlib.fast import ENGINE_VERSION

    given: dict[str, Any] = {
        "runs": PAPER_RUNS,
        "seed": SEED,
        "runs_per_task": 10,
        "report": "control",
    } | more
    function = "control grid" if summary == "control grid" else "control"
    different = tuple({setting.key: setting for setting in settings}.values())
    return Experiment(
        name, title, function, different, version=str(ENGINE_VERSION), summary=summary, **given
    )


def fig4() -> Experiment:
    """Figure 4: learning curves at p = 1024; beside GQ its twin, which with σ = 1 is Sarsa(λ).

    Examples
    --------
    >>> len(fig4().settings)  # 2 targets, 2 step sizes, 10 ways for GQ and 5 for its twin
    60
    """
    common = {"target": TARGETS, "alpha": TABLE_ALPHAS}
    twins = control_grid(constant(*FIXED_SIGMAS), method="semi-gradient", **common)
    return control_experiment(
        "fig4",
        "Figure 4: mountain car, learning curves",
        control_grid(constant(*FIXED_SIGMAS) + dynamic(*FEW_MEANS), **common) + twins,
        "control with spread",
    )


def fig5() -> Experiment:
    """Figure 5: variance during training, all 51 σ at p = 1024 and seven at the other sizes.

    Examples
    --------
    >>> len(fig5().settings)  # 2 targets, 2 step sizes, 51 ways at one size and 7 at four
    316
    """
    common = {"target": TARGETS, "alpha": TABLE_ALPHAS}
    others = tuple(size for size in SIZES if size != 1024)
    return control_experiment(
        "fig5",
        "Figure 5: mountain car, variance during training",
        control_grid(between_ends(), **common, p=1024)
        + control_grid(between_ends(*FEW_MEANS), **common, p=others),
        "control in blocks",
    )


def table2() -> Experiment:
    """Table 2: six cells of α and p, 51 σ each, for both target policies.

    Examples
    --------
    >>> experiment = table2()
    >>> len(experiment.settings), experiment.runs  # 2 targets, 6 cells, 51 ways
    (612, 300)
    """
    return control_experiment(
        "table2",
        "Table 2: mountain car, cases I to III by cell",
        control_grid(between_ends(), target=TARGETS, alpha=TABLE_ALPHAS, p=TABLE_SIZES),
        runs=TABLE_RUNS,
    )


def table1() -> Experiment:
    """Table 1: the runs of Table 2, pooled over its cells.

    Examples
    --------
    >>> table1().settings == table2().settings, table1().finish
    (True, 'cases')
    """
    title = "Table 1: mountain car, cases I to III overall"
    return replace(table2(), name="table1", title=title, finish="cases", report="cases")


def sensitivity_by_cell() -> Experiment:
    """The sensitivity study: each open choice varied on its own, for both targets.

    One σ inside, N(½, 0.01²), stands between the ends: the middle of the range, so that nothing is
    picked. At σ = 1 the target policy plays no part, and one setting serves both.

    Examples
    --------
    >>> len(sensitivity_by_cell().settings)  # 3 cells, 20 choices, 2 and 3 ways
    300
    """
    settings = [
        setting
        for alpha, p in SENSITIVITY_CELLS
        for changes in OPEN_CHOICES.values()
        for target, ends in zip(TARGETS, ((0.0,), (0.0, 1.0)), strict=True)
        for setting in control_grid(
            [*constant(*ends), *dynamic(0.5)],
            **{"alpha": alpha, "p": p, "target": target, "memory": "rltoolkit"} | changes,
        )
    ]
    title = "Sensitivity to what the paper leaves open"
    return control_experiment("sensitivity-by-cell", title, settings, finish="open choices")


def fig4_lagged() -> Experiment:
    """Two more σ inside for Algorithm 1 as printed, the lagged v: first cell, on-policy, drawn tiles.

    The sensitivity study has one σ inside, and one cannot say whether another takes its place. Of
    the five means of Figure 4 these are the two above it; the ends and the middle are in the study.

    Examples
    --------
    >>> [setting.sigma for setting in fig4_lagged().settings]
    [0.7, 0.9]
    """
    alpha, p = SENSITIVITY_CELLS[0]
    more = {"target": "epsilon-greedy", "memory": "rltoolkit", "v": "lagged"}
    return control_experiment(
        "fig4-lagged",
        "Algorithm 1 as printed, at two more means of dynamic sigma",
        control_grid(dynamic(*FEW_MEANS[3:]), alpha=alpha, p=p, **more),
    )


def coders() -> Experiment:
    """Table 2 and Figures 4 and 5 with two coders that draw their tiles for each run.

    For the salted one Table 2 has eleven σ.

    Examples
    --------
    >>> len(coders().settings)  # 612 and 132 of Table 2, 112 of other sizes, 24 and 40 of Figure 4
    920
    """
    common = {"target": TARGETS, "alpha": TABLE_ALPHAS}
    both = {"memory": CODERS} | common
    small = tuple(size for size in SIZES if size not in TABLE_SIZES)
    eleven = between_ends(*(k / 10 for k in range(1, 10)))
    return control_experiment(
        "coders",
        "Table 2 and Figures 4 and 5 with tiles that are drawn for each run",
        (
            *control_grid(between_ends(), memory="rltoolkit", **common, p=TABLE_SIZES),
            *control_grid(eleven, memory="salted", **common, p=TABLE_SIZES),
            *control_grid(between_ends(*FEW_MEANS), **both, p=small),
            *control_grid(constant(*FIXED_SIGMAS[1:-1]), **both),
            *control_grid(
                constant(*FIXED_SIGMAS), **{"memory": CODERS, "method": "semi-gradient"} | common
            ),
        ),
        "control in blocks",
    )


def shared_tiles() -> Experiment:
    """The first cell of the sensitivity study, ε-greedy target, all runs with one drawn table: sixteen tables.

    With a table for each σ, picked from these, it is also the experiment in which each setting draws one.

    Examples
    --------
    >>> len(shared_tiles().settings)  # 16 tables, 11 ways
    176
    """
    alpha, p = SENSITIVITY_CELLS[0]
    common = {"memory": "rltoolkit", "target": "epsilon-greedy", "alpha": alpha, "p": p}
    eleven = between_ends(*(k / 10 for k in range(1, 10)))
    return control_experiment(
        "shared-tiles",
        "Table 2, one cell: sixteen tables of random numbers, each shared by all runs",
        control_grid(eleven, tiles_of=tuple(range(16)), **common),
    )
