"""The mountain car of the paper (Figures 4 and 5, Tables 1 and 2) as data, and what is kept of its runs.

What the paper gives (Section 5.2): λ = γ = 0.99, 100 runs of 400 episodes, α from {0.01, 0.02, 0.001,
0.002}, η from {2⁰, …, 2⁻¹⁰}, p from 2⁷ to 2¹¹, and 51 ways to set σ: 0, 1, and σ ~ N(m, 0.01²) with m = 0.02, 0.04, …,
0.98. What it leaves open was fixed before any result was seen: both target policies, greedy and the same ε-greedy as
the behaviour, as readings of equal standing; ε = 0.1; 8 tilings of 8 × 8 with hashed (``int``) memory; a cap of 5,000
steps; α not divided by the number of tilings; σ drawn at every step; η = 1; measure = mean steps per episode over all
400 episodes, a capped episode counted at the cap. The sensitivity study varies these one at a time; step sizes
are tuned in `gqlib.experiments.tuning`, and tile coders compared in `gqlib.experiments.coders`.

All settings of an experiment use the same seed, and the engine's random numbers depend on seed and run alone, so
differences between settings are paired. Figures and tables share the seed as well: where they share a setting, they
share its runs, which are computed once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any

from gqlib import _validate as check
from gqlib.control.setting import TARGETS, ControlSetting
from gqlib.learners.sigma import MEANS, NOISE
from gqlib.sweeps.sweep import Experiment

if TYPE_CHECKING:
    import xarray

__all__ = [
    "ALPHAS",
    "DYNAMIC_MEANS",
    "DYNAMIC_NOISE",
    "ETAS",
    "FEW_MEANS",
    "FIXED_SIGMAS",
    "PAPER_RUNS",
    "SEED",
    "SENSITIVITY_CELLS",
    "SIZES",
    "TABLE_ALPHAS",
    "TABLE_RUNS",
    "TABLE_SIZES",
    "TARGETS",
    "control_experiment",
    "control_grid",
    "dynamic_fields",
    "fig4",
    "fig4_lagged",
    "fig5",
    "fixed_fields",
    "open_choices",
    "paper_sigmas",
    "sensitivity_by_cell",
    "table1",
    "table2",
]

SEED = 2019  # the year of the paper

# The paper's grid.
ALPHAS = (0.01, 0.02, 0.001, 0.002)
ETAS = tuple(2.0**-k for k in range(11))
SIZES = tuple(2**k for k in range(7, 12))
DYNAMIC_MEANS, DYNAMIC_NOISE = MEANS, NOISE
PAPER_RUNS = 100
TABLE_ALPHAS, TABLE_SIZES = (0.001, 0.002), (512, 1024, 2048)

# The figures have the paper's number of runs, the tables three times as many, so that the paper's procedure can be
# repeated on runs it has not seen; `gq reproduce NAME --runs N` adds more and keeps these.
TABLE_RUNS = 3 * PAPER_RUNS
# Cells of the sensitivity study (α, p): those of Figures 4 and 5, and a memory with room for all tiles.
SENSITIVITY_CELLS = ((0.002, 1024), (0.001, 1024), (0.001, 2048))
FIXED_SIGMAS = (0.0, 0.25, 0.5, 0.75, 1.0)
FEW_MEANS = (0.1, 0.3, 0.5, 0.7, 0.9)
TEN_MEANS = tuple(k / 10 for k in range(1, 10))

# Runs of mountain car in a task: ten of them, of 400 episodes and up to 5,000 steps each, take about a second.
CONTROL_CUT = 10

Sigma = dict[str, Any]  # fields of a setting


def fixed_fields(*sigmas: float) -> list[Sigma]:
    """Return fields of settings with constant σ.

    Examples
    --------
    >>> fixed_fields(0.0, 1.0)
    [{'sigma': 0.0}, {'sigma': 1.0}]
    """
    return [{"sigma": sigma} for sigma in sigmas]


def dynamic_fields(*means: float) -> list[Sigma]:
    """Return fields of settings with the paper's dynamic σ ~ N(mean, 0.01²).

    Examples
    --------
    >>> dynamic_fields(0.5)
    [{'sigma': 0.5, 'sigma_noise': 0.01}]
    """
    return [{"sigma": mean, "sigma_noise": DYNAMIC_NOISE} for mean in means]


def paper_sigmas() -> list[Sigma]:
    """Return the paper's 51 ways to set σ, from 0 to 1.

    Examples
    --------
    >>> ways = paper_sigmas()
    >>> len(ways), ways[0], ways[1], ways[-1]
    (51, {'sigma': 0.0}, {'sigma': 0.02, 'sigma_noise': 0.01}, {'sigma': 1.0})
    """
    return [*fixed_fields(0.0), *dynamic_fields(*DYNAMIC_MEANS), *fixed_fields(1.0)]


def control_grid(sigmas: list[Sigma], **fields: tuple[Any, ...]) -> tuple[ControlSetting, ...]:
    """Return every combination of the values of `fields`, the last field varying fastest, and then of `sigmas`.

    Examples
    --------
    >>> [(s.p, s.sigma) for s in control_grid(fixed_fields(0.0, 1.0), p=(512, 1024))]
    [(512, 0.0), (512, 1.0), (1024, 0.0), (1024, 1.0)]
    """
    are_dicts = isinstance(sigmas, list | tuple) and all(
        isinstance(sigma, dict) for sigma in sigmas
    )
    if not are_dicts or not all(isinstance(values, tuple) for values in fields.values()):
        given = f"sigmas is {check.brief(sigmas)}, fields {check.brief(fields)}"
        raise ValueError(f"{given}; they should be dicts, and tuples")
    combinations = (dict(zip(fields, values, strict=True)) for values in product(*fields.values()))
    return tuple(
        ControlSetting(**combination, **sigma) for combination in combinations for sigma in sigmas
    )


def control_experiment(
    name: str, title: str, settings: tuple[ControlSetting, ...], **changes: Any
) -> Experiment:
    """Return an experiment with the paper's number of runs and the seed that all of them share; `changes` override.

    Examples
    --------
    >>> one = control_grid(fixed_fields(0.5))
    >>> control_experiment("one", "One setting", one, runs=5).seed
    2019
    """
    from gqlib.fast import ENGINE_VERSION

    defaults: dict[str, Any] = {
        "function": "control",
        "summary": "control",
        "report": "control",
        "runs": PAPER_RUNS,
        "seed": SEED,
        "version": str(ENGINE_VERSION),
        "runs_per_task": CONTROL_CUT,
    }
    return Experiment(name=name, title=title, settings=settings, **(defaults | changes))


def fig4() -> Experiment:
    """Figure 4: learning curves at p = 1024; beside GQ its semi-gradient twin, which with σ = 1 is Sarsa(λ).

    Examples
    --------
    >>> len(fig4().settings)  # 2 targets, 2 step sizes, 10 ways for GQ and 5 for its twin
    60
    """
    common = {"target": TARGETS, "alpha": TABLE_ALPHAS}
    gradient = control_grid(fixed_fields(*FIXED_SIGMAS) + dynamic_fields(*FEW_MEANS), **common)
    semi_gradient = control_grid(fixed_fields(*FIXED_SIGMAS), method=("semi-gradient",), **common)
    return control_experiment(
        "fig4",
        "Figure 4: mountain car, learning curves",
        gradient + semi_gradient,
        summary="control with spread",
    )


def fig5() -> Experiment:
    """Figure 5: variance during training, all 51 σ at p = 1024 and seven of them at the other sizes.

    Examples
    --------
    >>> len(fig5().settings)  # 2 targets, 2 step sizes, 51 ways at one size and 7 at four
    316
    """
    common = {"target": TARGETS, "alpha": TABLE_ALPHAS}
    shown = control_grid(paper_sigmas(), **common, p=(1024,))
    others = tuple(size for size in SIZES if size != 1024)
    unseen = control_grid(
        [*fixed_fields(0.0), *dynamic_fields(*FEW_MEANS), *fixed_fields(1.0)], **common, p=others
    )
    return control_experiment(
        "fig5",
        "Figure 5: mountain car, variance during training",
        shown + unseen,
        summary="control in blocks",
    )


def table2() -> Experiment:
    """Table 2: six cells of α and p, 51 σ each, for both target policies.

    Examples
    --------
    >>> experiment = table2()
    >>> len(experiment.settings), experiment.runs  # 2 targets, 6 cells, 51 ways
    (612, 300)
    """
    settings = control_grid(paper_sigmas(), target=TARGETS, alpha=TABLE_ALPHAS, p=TABLE_SIZES)
    return control_experiment(
        "table2",
        "Table 2: mountain car, cases I to III by cell",
        settings,
        runs=TABLE_RUNS,
        summary="control totals",
    )


def table1() -> Experiment:
    """Table 1: the runs of Table 2, pooled over its cells.

    Examples
    --------
    >>> table1().settings == table2().settings, table1().finish
    (True, 'cases')
    """
    return replace(
        table2(),
        name="table1",
        title="Table 1: mountain car, cases I to III overall",
        finish="cases",
        report="cases",
    )


def open_choices() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the name and changed fields of each choice that the paper leaves open; the first changes nothing.

    Where nothing is said of the memory it is the coder that the paper names, with its tiles drawn for each run, so that
    no choice is judged by one hash. Step sizes are not among them: `gqlib.experiments.tuning` varies both together. The
    measure over the last 50 episodes needs no runs of its own.

    Examples
    --------
    >>> names = [name for name, _ in open_choices()]
    >>> len(names), names[:3], names[-1]
    (20, ['default', 'epsilon 0.01', 'epsilon 0.05'], 'theta0 random')
    """
    yield "default", {}
    yield from ((f"epsilon {epsilon:g}", {"epsilon": epsilon}) for epsilon in (0.01, 0.05, 0.2))
    yield from ((f"cap {cap}", {"max_steps": cap}) for cap in (1000, 10000))
    yield "16 tilings", {"tilings": 16}
    yield "tiles3, one hash", {"memory": "int"}
    yield "tiles3, numbered", {"memory": "iht"}
    yield "tiles3, a hash per run", {"memory": "salted"}
    yield from ((f"sigma per {when}", {"sigma_drawn": when}) for when in ("episode", "run"))
    yield "sigma clipped", {"sigma_clipped": True}
    yield "lagged v", {"v": "lagged"}
    yield "ties at random", {"ties": "random"}
    yield "start at -0.5", {"start": "bottom"}
    yield "start anywhere", {"start": "anywhere"}
    yield from ((f"theta0 {value:+g}", {"theta0": value}) for value in (-1.0, 1.0))
    yield "theta0 random", {"theta0_noise": 0.1}


def sensitivity_by_cell() -> Experiment:
    """Return the sensitivity study: each open choice varied on its own, for both targets.

    One σ inside, N(½, 0.01²), stands between the ends: the middle of the range, so that nothing is picked. At σ = 1 the
    target policy plays no part, and one setting serves both.

    Examples
    --------
    >>> len(sensitivity_by_cell().settings)  # 3 cells, 20 choices, 2 and 3 ways
    300
    """
    settings = tuple(
        setting
        for alpha, p in SENSITIVITY_CELLS
        for _, changes in open_choices()
        for target, ends in zip(TARGETS, ((0.0,), (0.0, 1.0)), strict=True)
        for setting in control_grid(
            [*fixed_fields(*ends), *dynamic_fields(0.5)],
            alpha=(alpha,),
            p=(p,),
            target=(target,),
            **{name: (value,) for name, value in ({"memory": "rltoolkit"} | changes).items()},
        )
    )
    return control_experiment(
        "sensitivity-by-cell",
        "Sensitivity to what the paper leaves open",
        settings,
        finish="open choices",
        summary="control totals",
    )


def fig4_lagged() -> Experiment:
    """Return two more σ inside for Algorithm 1 as printed, the lagged v: first cell, on-policy, tiles drawn per run.

    The sensitivity study has one σ inside, and one cannot say whether another takes its place. Of the five means of
    Figure 4 these are the two above it; the ends and the middle are in the study.

    Examples
    --------
    >>> [setting.sigma for setting in fig4_lagged().settings]
    [0.7, 0.9]
    """
    alpha, p = SENSITIVITY_CELLS[0]
    fields = {"alpha": alpha, "p": p, "target": TARGETS[1], "memory": "rltoolkit", "v": "lagged"}
    return control_experiment(
        "fig4-lagged",
        "Algorithm 1 as printed, at two more means of dynamic sigma",
        control_grid(
            dynamic_fields(*FEW_MEANS[3:]), **{name: (value,) for name, value in fields.items()}
        ),
        summary="control totals",
    )


def label_open_choices(dataset: xarray.Dataset) -> xarray.Dataset:
    """Add the coordinate ``variation``, the name of the choice that a setting of the study belongs to."""
    check.labelled("dataset", dataset)
    names = [name for _ in SENSITIVITY_CELLS for name, _ in open_choices()]
    settings = dataset.sizes.get("setting", 0)
    each, rest = divmod(settings, len(names))
    if rest or not each:
        raise ValueError(
            f"dataset has {settings} settings; there should be a multiple of {len(names)}"
        )
    return dataset.assign_coords(
        variation=("setting", [name for name in names for _ in range(each)])
    )
