"""The mountain car of the paper (Figures 4 and 5, Tables 1 and 2) as data, and what is kept of its runs.

What the paper gives (Section 5.2): λ = γ = 0.99, 100 runs of 400 episodes, α from {0.01, 0.02, 0.001,
0.002}, η from {2⁰, …, 2⁻¹⁰}, p from 2⁷ to 2¹¹, and 51 ways to set σ: 0, 1, and σ ~ N(m, 0.01²) with m = 0.02, 0.04, …,
0.98. What it leaves open was fixed before any result was seen: both target policies, greedy and the same ε-greedy as
the behaviour, as readings of equal standing; ε = 0.1; 8 tilings of 8 × 8 with hashed (``int``) memory; a cap of 5,000
steps; α not divided by the number of tilings; σ drawn at every step; η = 1; measure = mean steps per episode over all
400 episodes, a capped episode counted at the cap. The sensitivity study varies these one at a time.

All settings of an experiment use the same seed, and the engine's random numbers depend on seed and run alone, so
differences between settings are paired. Figures and tables share the seed as well: where they share a setting, they
share its runs, which are computed once.

A task returns the steps of every episode, negative where an episode was cut off at the step limit. Of these the results
keep, for each run, the steps in all episodes and in the last 50, the number of episodes cut off, whether it diverged,
and half of the engine's checksum of the whole run; and for each setting, by episode, the exact sums over runs of steps
and of their squares. All of them are integers: means and variances follow without rounding that depends on the order
of summation,

    mean = S/n,    variance = (n Q - S²) / (n (n - 1)),    S = Σ steps, Q = Σ steps².
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from gqlib import _validate as check
from gqlib.control.setting import TARGETS, ControlSetting
from gqlib.learners.sigma import MEANS, NOISE
from gqlib.sweeps.results import Labelled
from gqlib.sweeps.store import Arrays
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
    "SIZES",
    "TABLE_ALPHAS",
    "TABLE_RUNS",
    "TABLE_SIZES",
    "TARGETS",
    "control_grid",
    "control_runs",
    "control_summary",
    "control_summary_with_spread",
    "dynamic_fields",
    "fig4",
    "fig5",
    "fixed_fields",
    "paper_sigmas",
    "sensitivity",
    "table1",
    "table2",
    "variations",
    "with_scores",
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
# Two dozen variations, one choice at a time: fewer runs each.
SENSITIVITY_RUNS = 30
FIXED_SIGMAS = (0.0, 0.25, 0.5, 0.75, 1.0)
FEW_MEANS = (0.1, 0.3, 0.5, 0.7, 0.9)
TEN_MEANS = tuple(k / 10 for k in range(1, 10))

LAST = 50  # episodes at the end of a run, for the second measure of performance
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)

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
    are_dicts = isinstance(sigmas, list | tuple) and all(isinstance(sigma, dict) for sigma in sigmas)
    if not are_dicts or not all(isinstance(values, tuple) for values in fields.values()):
        given = f"sigmas is {check.brief(sigmas)}, fields {check.brief(fields)}"
        raise ValueError(f"{given}; they should be dicts, and tuples")
    combinations = (dict(zip(fields, values, strict=True)) for values in product(*fields.values()))
    return tuple(ControlSetting(**combination, **sigma) for combination in combinations for sigma in sigmas)


def _control(name: str, title: str, settings: tuple[ControlSetting, ...], **changes: Any) -> Experiment:
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
    return _control(
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
    unseen = control_grid([*fixed_fields(0.0), *dynamic_fields(*FEW_MEANS), *fixed_fields(1.0)], **common, p=others)
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
    (True, 'cases')
    """
    return replace(
        table2(),
        name="table1",
        title="Table 1: mountain car, cases I to III overall",
        finish="cases",
        report="cases",
    )


def variations() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the name and changed fields of each variation in the sensitivity study; the first changes nothing.

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
    """Return the sensitivity study: each open choice varied on its own, eleven σ, both target policies.

    Examples
    --------
    >>> len(sensitivity().settings)  # 24 variations, 2 targets, 11 ways
    528
    """
    sigmas = [*fixed_fields(0.0), *dynamic_fields(*TEN_MEANS), *fixed_fields(1.0)]
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
        finish="variations",
    )


def label_variations(dataset: xarray.Dataset) -> xarray.Dataset:
    """Add the coordinate ``variation``, the name of the variation that a setting belongs to."""
    check.labelled("dataset", dataset)
    names = [name for name, _ in variations()]
    settings = dataset.sizes.get("setting", 0)
    each, rest = divmod(settings, len(names))
    if rest or not each:
        raise ValueError(f"dataset has {settings} settings; there should be a multiple of {len(names)}")
    return dataset.assign_coords(variation=("setting", [name for name in names for _ in range(each)]))


def control_runs(setting: ControlSetting, runs: int, seed: int, *, first_run: int) -> Arrays:
    """Run a control setting; the arrays of :func:`gqlib.control.run_control` that the results need.

    Examples
    --------
    >>> from gqlib.control import ControlSetting
    >>> control_runs(ControlSetting(episodes=3, max_steps=500), 2, 0, first_run=0)["signed_steps"].shape
    (2, 3)
    """
    from gqlib.control import run_control

    result = run_control(setting, runs, seed, first_run=first_run)
    smallest = np.int16 if setting.max_steps <= np.iinfo(np.int16).max else np.int32
    return {
        "signed_steps": result.signed_steps.astype(smallest),
        "diverged": result.diverged,
        "checksum": result.checksum,
    }


def control_summary(arrays: Arrays) -> dict[str, Labelled]:
    """Keep, of all runs of a control setting, what the module docstring lists.

    Examples
    --------
    >>> steps, none = np.array([[3, -5], [4, 5]]), np.zeros(2, dtype=np.uint64)  # one of four episodes was cut off
    >>> kept = control_summary({"signed_steps": steps, "diverged": none > 0, "checksum": none})
    >>> [kept[name][1].tolist() for name in ("steps_total", "capped", "steps_sum", "steps_sum_of_squares")]
    [[8, 9], [1, 0], [7, 10], [25, 50]]
    """
    check.runs("arrays", arrays, signed_steps=2, diverged=1, checksum=1)
    capped = arrays["signed_steps"] < 0
    steps = np.abs(arrays["signed_steps"].astype(np.int64))
    return {
        "steps_total": (("run",), steps.sum(axis=1).astype(np.int32)),
        "steps_last": (("run",), steps[:, -LAST:].sum(axis=1).astype(np.int32)),
        "capped": (("run",), capped.sum(axis=1).astype(np.int32)),
        "diverged": (("run",), arrays["diverged"]),
        "checksum": (("run",), (arrays["checksum"] & np.uint64(0xFFFFFFFF)).astype(np.uint32)),
        "steps_sum": (("episode",), steps.sum(axis=0)),
        "steps_sum_of_squares": (("episode",), (steps**2).sum(axis=0)),
    }


def control_summary_with_spread(arrays: Arrays) -> dict[str, Labelled]:
    """Also keep, by episode, quantiles over runs (the spread of single runs) and the sums of third and fourth powers.

    The latter give the variance over runs an interval; at the step limit of 5,000 they stay exact up to 14,000 runs.

    Examples
    --------
    >>> steps, none = np.array([[3, -5], [4, 5]]), np.zeros(2, dtype=np.uint64)  # one of four episodes was cut off
    >>> kept = control_summary_with_spread({"signed_steps": steps, "diverged": none > 0, "checksum": none})
    >>> kept["steps_sum_of_cubes"][1].tolist(), kept["steps_quantile"][1].shape
    ([91, 250], (5, 2))
    """
    check.runs("arrays", arrays, signed_steps=2, diverged=1, checksum=1)
    steps = np.abs(arrays["signed_steps"].astype(np.int64))
    # "inverted_cdf" takes observed values only, so that the quantiles are integers too.
    spread = np.quantile(steps, QUANTILES, axis=0, method="inverted_cdf").astype(np.int32)
    return control_summary(arrays) | {
        "steps_quantile": (("quantile", "episode"), spread),
        "steps_sum_of_cubes": (("episode",), (steps**3).sum(axis=0)),
        "steps_sum_of_fourths": (("episode",), (steps**4).sum(axis=0)),
    }


def with_scores(dataset: xarray.Dataset) -> xarray.Dataset:
    """Return a control result with the measures that the chapters use, derived from the sums that are stored.

    Adds ``score`` and ``score_last`` (mean steps per episode of a run, over all episodes and over the last 50; an
    episode that was cut off counts as the step limit) and, by episode, ``mean`` and ``variance`` over runs.

    Examples
    --------
    Two runs of two episodes, 3 + 5 and 4 + 5 steps:

    >>> import xarray
    >>> sums = {"steps_sum": [[7, 10]], "steps_sum_of_squares": [[25, 50]]}
    >>> data = xarray.Dataset({name: (("setting", "episode"), value) for name, value in sums.items()})
    >>> total = ("setting", "run"), [[8, 9]]
    >>> scored = with_scores(data.assign(steps_total=total, steps_last=total))
    >>> [scored[name].values.tolist() for name in ("score", "mean", "variance")]
    [[[4.0, 4.5]], [[3.5, 5.0]], [[0.5, 0.0]]]
    """
    check.labelled("dataset", dataset, "steps_total", "steps_last", "steps_sum", "steps_sum_of_squares")
    episodes, runs = dataset.sizes["episode"], dataset.sizes["run"]
    total, squares = dataset["steps_sum"], dataset["steps_sum_of_squares"]
    added = {
        "score": dataset["steps_total"] / episodes,
        "score_last": dataset["steps_last"] / min(LAST, episodes),
        "mean": total / runs,
    }
    if runs > 1:
        added["variance"] = (runs * squares - total**2) / (runs * (runs - 1))
    result = dataset.assign(added)
    return result.assign_coords(quantile=list(QUANTILES)) if "quantile" in dataset.dims else result
