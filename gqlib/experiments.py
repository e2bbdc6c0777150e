"""The experiments of the paper as data: which settings, how many runs, which seed.

What the paper gives for mountain car (Section 5.2): λ = γ = 0.99, 100 runs of 400 episodes, α from {0.01, 0.02, 0.001,
0.002}, η from {2⁰, …, 2⁻¹⁰}, p from 2⁷ to 2¹¹, and 51 ways to set σ: 0, 1, and σ ~ N(m, 0.01²) with m = 0.02, 0.04, …,
0.98. What it leaves open was fixed before any result was seen: both target policies, greedy and the same ε-greedy as
the behaviour, as readings of equal standing; ε = 0.1; 8 tilings of 8 × 8 with hashed (``int``) memory; a cap of 5,000
steps; α not divided by the number of tilings; σ drawn at every step; η = 1; measure = mean steps per episode over all
400 episodes, a capped episode counted at the cap. The sensitivity study varies these one at a time.

All settings of an experiment use the same seed, and the engine's random numbers depend on seed and run alone, so
differences between settings are paired. Figures and tables share the seed as well: where they share a setting, they
share its runs, which are computed once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any

from gqlib._validate import brief, choice, labelled
from gqlib.control_setting import TARGETS
from gqlib.sigma import MEANS, NOISE
from gqlib.sweep import Experiment, resolve
from gqlib.tasks import TwoStateSetting

if TYPE_CHECKING:
    import xarray

    from gqlib.control import ControlSetting

__all__ = [
    "ALPHAS",
    "DYNAMIC_MEANS",
    "DYNAMIC_NOISE",
    "ETAS",
    "FEW_MEANS",
    "FIXED_SIGMAS",
    "PAPER_RUNS",
    "REGISTRY",
    "SEED",
    "SIZES",
    "TABLE_ALPHAS",
    "TABLE_RUNS",
    "TABLE_SIZES",
    "TARGETS",
    "control_grid",
    "dynamic",
    "fig2",
    "fig4",
    "fig5",
    "fixed",
    "load_experiment",
    "paper_sigmas",
    "sensitivity",
    "table1",
    "table2",
    "variations",
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
# repeated on runs it has not seen; `gq reproduce NAME --runs N` makes more, and keeps these.
TABLE_RUNS = 3 * PAPER_RUNS
# Two dozen variations, one choice at a time: fewer runs each.
SENSITIVITY_RUNS = 30
FIXED_SIGMAS = (0.0, 0.25, 0.5, 0.75, 1.0)
FEW_MEANS = (0.1, 0.3, 0.5, 0.7, 0.9)
TEN_MEANS = tuple(k / 10 for k in range(1, 10))

# Runs of mountain car in a task: ten of them, of 400 episodes and up to 5,000 steps each, take about a second.
CONTROL_CUT = 10

Sigma = dict[str, Any]  # fields of a setting


def fixed(*sigmas: float) -> list[Sigma]:
    """Return fields of settings with constant σ.

    Examples
    --------
    >>> fixed(0.0, 1.0)
    [{'sigma': 0.0}, {'sigma': 1.0}]
    """
    return [{"sigma": sigma} for sigma in sigmas]


def dynamic(*means: float) -> list[Sigma]:
    """Return fields of settings with the paper's dynamic σ ~ N(mean, 0.01²).

    Examples
    --------
    >>> dynamic(0.5)
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
    return [*fixed(0.0), *dynamic(*DYNAMIC_MEANS), *fixed(1.0)]


def control_grid(sigmas: list[Sigma], **fields: tuple[Any, ...]) -> tuple[ControlSetting, ...]:
    """Return every combination of the values of `fields`, the last field varying fastest, and then of `sigmas`.

    Examples
    --------
    >>> [(s.p, s.sigma) for s in control_grid(fixed(0.0, 1.0), p=(512, 1024))]
    [(512, 0.0), (512, 1.0), (1024, 0.0), (1024, 1.0)]
    """
    from gqlib.control import ControlSetting

    are_dicts = isinstance(sigmas, list | tuple) and all(isinstance(sigma, dict) for sigma in sigmas)
    if not are_dicts or not all(isinstance(values, tuple) for values in fields.values()):
        raise ValueError(f"sigmas is {brief(sigmas)}, fields {brief(fields)}; they should be dicts, and tuples")
    combinations = (dict(zip(fields, values, strict=True)) for values in product(*fields.values()))
    return tuple(ControlSetting(**combination, **sigma) for combination in combinations for sigma in sigmas)


def _control(name: str, title: str, settings: tuple[ControlSetting, ...], **changes: Any) -> Experiment:
    from gqlib.fast import ENGINE_VERSION

    defaults: dict[str, Any] = {
        "function": "gqlib.tasks:control_runs",
        "summary": "gqlib.tasks:control_summary",
        "report": "gqlib.reports:control_report",
        "runs": PAPER_RUNS,
        "seed": SEED,
        "version": str(ENGINE_VERSION),
        "runs_per_task": CONTROL_CUT,
    }
    return Experiment(name=name, title=title, settings=settings, **(defaults | changes))


def fig2() -> Experiment:
    """Figure 2: semi-gradient Q(σ, λ) on the counterexample, in each reading of the example and of "step-size".

    σ goes from 0 to 1 by 0.01 at α = 0.01; the figure's "step-size 0.01" may mean either. If it means σ, α is not
    given: a tenth and ten times of it are there too, with σ by 0.05.

    Examples
    --------
    >>> len(fig2().settings)  # 3 readings of 101 + 2·21 pairs (σ, α)
    429
    """
    readings = ("continuing", "bootstrap", "terminal")
    fine = [(k / 100, 0.01) for k in range(101)]
    coarse = [(k / 20, alpha) for alpha in (0.001, 0.1) for k in range(21)]
    return Experiment(
        name="fig2",
        title="Figure 2: semi-gradient Q(sigma, lambda) on the two-state example",
        function="gqlib.tasks:two_state_runs",
        settings=tuple(
            TwoStateSetting(sigma=sigma, alpha=alpha, reading=reading)
            for reading in readings
            for sigma, alpha in fine + coarse
        ),
        runs=20,
        seed=SEED,
        version="1",
        runs_per_task=20,
        summary="gqlib.tasks:two_state_summary",
        report="gqlib.reports:two_state_report",
    )


def fig4() -> Experiment:
    """Figure 4: learning curves at p = 1024; beside GQ its semi-gradient twin, which with σ = 1 is Sarsa(λ).

    Examples
    --------
    >>> len(fig4().settings)  # 2 targets, 2 step sizes, 10 ways for GQ and 5 for its twin
    60
    """
    common = {"target": TARGETS, "alpha": TABLE_ALPHAS}
    gradient = control_grid(fixed(*FIXED_SIGMAS) + dynamic(*FEW_MEANS), **common)
    semi_gradient = control_grid(fixed(*FIXED_SIGMAS), method=("semi-gradient",), **common)
    return _control(
        "fig4",
        "Figure 4: mountain car, learning curves",
        gradient + semi_gradient,
        summary="gqlib.tasks:control_summary_with_spread",
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
    unseen = control_grid([*fixed(0.0), *dynamic(*FEW_MEANS), *fixed(1.0)], **common, p=others)
    return _control("fig5", "Figure 5: mountain car, variance during training", shown + unseen)


def table2() -> Experiment:
    """Table 2: six cells of α and p, 51 σ each, for both target policies.

    Examples
    --------
    >>> experiment = table2()
    >>> len(experiment.settings), experiment.runs  # 2 targets, 6 cells, 51 ways
    (612, 300)
    """
    settings = control_grid(paper_sigmas(), target=TARGETS, alpha=TABLE_ALPHAS, p=TABLE_SIZES)
    return _control("table2", "Table 2: mountain car, cases I to III by cell", settings, runs=TABLE_RUNS)


def table1() -> Experiment:
    """Table 1: the runs of Table 2, pooled over its cells.

    Examples
    --------
    >>> table1().settings == table2().settings, table1().finish
    (True, 'gqlib.reports:pooled_cases')
    """
    return replace(
        table2(),
        name="table1",
        title="Table 1: mountain car, cases I to III overall",
        finish="gqlib.reports:pooled_cases",
        report="gqlib.reports:pooled_report",
    )


def variations() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield name and changed fields of each variation of the sensitivity study; the first changes nothing.

    The default is the cell α = 0.001, p = 1024. The measure over the last 50 episodes needs no runs of its own.

    Examples
    --------
    >>> names = [name for name, _ in variations()]
    >>> len(names), names[:3], names[-1]
    (24, ['default', 'alpha 0.002', 'alpha 0.01'], 'lagged v')
    """
    yield "default", {}
    yield from ((f"alpha {alpha:g}", {"alpha": alpha}) for alpha in sorted(ALPHAS) if alpha != 0.001)
    yield from ((f"eta 2^-{k}", {"eta": eta}) for k, eta in enumerate(ETAS) if k > 0)
    yield from ((f"epsilon {epsilon:g}", {"epsilon": epsilon}) for epsilon in (0.01, 0.05, 0.2))
    yield from ((f"cap {cap}", {"max_steps": cap}) for cap in (1000, 10000))
    yield "16 tilings", {"tilings": 16}
    yield "iht memory", {"memory": "iht"}
    yield from ((f"sigma per {when}", {"sigma_drawn": when}) for when in ("episode", "run"))
    yield "lagged v", {"v": "lagged"}


def sensitivity() -> Experiment:
    """Return the sensitivity study: each open choice varied by itself, eleven σ, both target policies.

    Examples
    --------
    >>> len(sensitivity().settings)  # 24 variations, 2 targets, 11 ways
    528
    """
    sigmas = [*fixed(0.0), *dynamic(*TEN_MEANS), *fixed(1.0)]
    settings = tuple(
        setting
        for _, changes in variations()
        for setting in control_grid(sigmas, target=TARGETS, **{name: (value,) for name, value in changes.items()})
    )
    return _control(
        "sensitivity",
        "Sensitivity of Table 2 to what the paper leaves open",
        settings,
        runs=SENSITIVITY_RUNS,
        finish="gqlib.experiments:label_variations",
    )


def label_variations(dataset: xarray.Dataset) -> xarray.Dataset:
    """Add the coordinate ``variation``, the name of the variation that a setting belongs to."""
    labelled("dataset", dataset)
    names = [name for name, _ in variations()]
    settings = dataset.sizes.get("setting", 0)
    each, rest = divmod(settings, len(names))
    if rest or not each:
        raise ValueError(f"dataset has {settings} settings; there should be a multiple of {len(names)}")
    return dataset.assign_coords(variation=("setting", [name for name in names for _ in range(each)]))


# Name of an experiment and the function that describes it; modules are loaded when they are needed.
REGISTRY = {
    "fig2": "gqlib.experiments:fig2",
    "fig3-search": "gqlib.experiments_prediction:search",
    "fig3": "gqlib.experiments_prediction:fig3",
    "fig4": "gqlib.experiments:fig4",
    "fig5": "gqlib.experiments:fig5",
    "table1": "gqlib.experiments:table1",
    "table2": "gqlib.experiments:table2",
    "sensitivity": "gqlib.experiments:sensitivity",
}


def load_experiment(name: str) -> Experiment:
    """Return the experiment called `name`, one of the keys of ``REGISTRY``.

    Examples
    --------
    >>> len(load_experiment("table2").settings)
    612
    """
    found: Experiment = resolve(REGISTRY[choice("name", name, tuple(REGISTRY))])()
    return found
