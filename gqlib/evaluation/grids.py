r"""A grid of prediction settings on shared trajectories, and the summary that the results keep of it.

Trajectories depend on the domain, the seed and the run alone. So a grid over σ, α and η walks once per run and learns
many times on that walk, which is what the searches for step sizes and the families of σ need.
A cell is measured *late*: the mean over the second half of the kept steps, of

    mspbe      the exact MSPBE of the cell's own σ (for TDC and GTD2: that of π)
    error      RMSE to v^π or q^π
    mixture    RMSE to the solution of v = r + γ[(1−σ)P^π + σP^μ]v

A run that diverges counts as infinite: the cell's mean is then infinite, its median need not be, and the share of such
runs is kept.

Three summaries. `grid_summary` keeps means, intervals and medians by cell: a search and a sensitivity study.
`cell_summary` keeps means by cell and nothing else: a search. `score_summary` keeps the score of every run, so that
cells can be compared run by run, to 16 significant bits: 3 bytes instead of 8, and the same bits on machines whose
linear algebra rounds differently.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gqlib import _validate as check
from gqlib._validate import Array
from gqlib.evaluation.measures import half_square, inverse_of_m, mixture_value
from gqlib.evaluation.run import measured_problem, prepare, truth_of
from gqlib.evaluation.setting import LEARNERS, LearnerName, PredictionSetting
from gqlib.learners.sigma import DRAWN, LARGEST_RAMP, Drawn
from gqlib.sweeps.results import Labelled
from gqlib.sweeps.setting import Setting, later
from gqlib.sweeps.store import Arrays

if TYPE_CHECKING:
    import xarray

__all__ = [
    "GridSetting",
    "cell_summary",
    "find",
    "grid_runs",
    "grid_summary",
    "score_summary",
    "significant",
]

MEASURES = ("mspbe", "error", "mixture")
BITS = 16  # of a score that is kept for every run: a relative error below 10⁻⁵
BLOCK = 50  # runs whose digests are added up where single runs have their scores kept


@dataclass(frozen=True)
class GridSetting(Setting):
    """`PredictionSetting` for every σ of `sigmas`, α of `alphas` and η of `etas`.

    Parameters
    ----------
    domain, options, learner, lam, steps, kept
        As in `PredictionSetting`; `kept` should be even.
    sigmas, alphas, etas : tuple of float
    noise, drawn
        Dynamic σ for 0 < σ < 1; the ends 0 and 1 are fixed, as in the paper's comparisons.
    ramp_to : float, optional
        Take the mean of σ from its value in `sigmas` to this one within a run, as in `gqlib.learners.sigma.Schedule`;
        the MSPBE is then that of the mean of σ at each kept step.

    Examples
    --------
    >>> grid = GridSetting("boyan_chain", sigmas=(0.0, 1.0), alphas=(0.01, 0.1), etas=(1.0,), steps=100, kept=10)
    >>> grid_runs(grid, 3, 0, first_run=0)["mspbe"].shape
    (3, 2, 2, 1)
    >>> grid.shape, grid.cell(1, 0, 0).sigma, len(grid.key)
    ((2, 2, 1), 1.0, 64)
    >>> grid.sigma_matters, grid.eta_matters  # in the literal reading σ has no effect
    (False, True)
    """

    domain: str
    sigmas: tuple[float, ...]
    alphas: tuple[float, ...]
    etas: tuple[float, ...]
    options: tuple[tuple[str, object], ...] = ()
    learner: LearnerName = "gq"
    lam: float = 0.0
    noise: float = 0.0
    drawn: Drawn = "step"
    steps: int = 1000
    kept: int = 20
    ramp_to: float | None = later(None)

    def __post_init__(self) -> None:
        for name in ("sigmas", "alphas", "etas"):
            object.__setattr__(
                self, name, tuple(check.array(name, getattr(self, name), (None,)).tolist())
            )
        object.__setattr__(self, "noise", check.scalar("noise", self.noise, low=0.0))
        check.choice("drawn", self.drawn, DRAWN)
        check.choice("learner", self.learner, LEARNERS)
        if self.ramp_to is not None:
            object.__setattr__(
                self, "ramp_to", check.scalar("ramp_to", self.ramp_to, largest=LARGEST_RAMP)
            )
            check.array("sigmas", self.sigmas, (None,), largest=LARGEST_RAMP)
        first = self.cell(0, 0, 0)
        for name in ("options", "lam", "steps", "kept"):
            object.__setattr__(self, name, getattr(first, name))
        if self.kept % 2:
            raise ValueError(f"kept is {self.kept}; it should be even")

    def cell(self, i: int, j: int, k: int) -> PredictionSetting:
        """The setting of one cell: the i-th σ, the j-th α, the k-th η."""
        for name, index, number in zip("ijk", (i, j, k), self.shape, strict=True):
            check.integer(name, index, low=0, high=number - 1)
        sigma = self.sigmas[i]
        shared = {field.name for field in fields(self)} & {
            field.name for field in fields(PredictionSetting)
        }
        return PredictionSetting(
            **{name: getattr(self, name) for name in shared},
            sigma=sigma,
            sigma_noise=self.noise if 0.0 < sigma < 1.0 else 0.0,
            sigma_drawn=self.drawn,
            sigma_ramp_to=self.ramp_to,
            alpha=self.alphas[j],
            eta=self.etas[k],
        )

    @property
    def sigma_matters(self) -> bool:
        """Whether cells differ by σ: not for learners without one, and not in the literal reading (up to rounding)."""
        return (
            not self.cell(0, 0, 0).aims_at_target
            and dict(self.options).get("reading", "literal") != "literal"
        )

    @property
    def eta_matters(self) -> bool:
        """Whether cells differ by η: semi-gradient learners have no ω."""
        return self.learner != "semi-gradient"

    @property
    def shape(self) -> tuple[int, int, int]:
        """Numbers of σ, α and η."""
        return len(self.sigmas), len(self.alphas), len(self.etas)


def grid_runs(setting: GridSetting, runs: int, seed: int, *, first_run: int) -> Arrays:
    """Late measures of every cell, (runs, σ, α, η), NaN where a run diverged, and a digest of each run's weights.

    The digest adds up the bits of all late weights as whole numbers: it is the same on every machine, whereas the
    measures, which use a linear-algebra library, are the same only up to rounding.

    Examples
    --------
    Where nothing is learnt, the measure is that of the initial weights:

    >>> grid = GridSetting("boyan_chain", sigmas=(0.5,), alphas=(0.0,), etas=(1.0,), steps=20, kept=2)
    >>> found, domain = grid_runs(grid, 1, 0, first_run=0), grid.cell(0, 0, 0).make_domain()
    >>> bool(np.isclose(found["mspbe"].item(), domain.problem.mspbe(domain.theta0, 0.5, 0.0)))
    True
    """
    check.instance("setting", setting, GridSetting)
    from gqlib.fast import prediction as fast

    runs, seed = check.integer("runs", runs, low=1), check.integer("seed", seed, low=0)
    first_run = check.integer("first_run", first_run, low=0)
    check.room("runs", runs, runs * int(np.prod(setting.shape)))
    found = {name: np.empty((runs, *setting.shape)) for name in MEASURES}
    digest = np.zeros(runs, dtype=np.uint64)
    sigmas = range(len(setting.sigmas) if setting.sigma_matters else 1)
    etas = setting.etas if setting.eta_matters else setting.etas[:1]
    measures = [_Late(setting.cell(i, 0, 0)) for i in sigmas]
    domain, half = setting.cell(0, 0, 0).make_domain(), setting.kept // 2
    late = np.empty((len(setting.alphas), len(etas), half, domain.problem.d))
    for row in range(runs):
        path = fast.trajectory(domain, setting.steps, seed, first_run + row)
        draws = fast.sigma_normals(setting.steps, seed, first_run + row)
        for i in sigmas:
            cell = setting.cell(i, 0, 0)
            learn = prepare(cell, path, cell.schedule.values(path.ends, draws))
            for (j, alpha), (k, eta) in product(enumerate(setting.alphas), enumerate(etas)):
                theta, diverged = learn(alpha, eta)
                late[j, k] = theta[-half:] if diverged < 0 else np.nan
            digest[row : row + 1] += late.view(np.uint64).sum(
                dtype=np.uint64
            )  # wraps around, silently in an array
            for name, value in zip(MEASURES, measures[i](late), strict=True):
                found[name][row, i if setting.sigma_matters else slice(None)] = value
    return found | {"digest": digest}


class _Late:
    """The three measures for the σ of a cell, with everything that does not depend on θ worked out once."""

    def __init__(self, cell: PredictionSetting) -> None:
        problem, sigma = measured_problem(cell)
        levels = [sigma]
        if cell.sigma_ramp_to is not None:  # the mean of σ at each late step
            steps = cell.checkpoints[1 + cell.kept // 2 :] - 1
            levels = cell.schedule.means(np.zeros(cell.steps, dtype=bool))[steps].tolist()
        self.equations = [
            (problem.A(level, cell.lam), problem.b(level, cell.lam)) for level in levels
        ]
        self.mixtures = [mixture_value(problem, level) for level in levels]
        self.inverse = inverse_of_m(problem)
        self.gram = np.diag(problem.xi / problem.xi.sum()) if problem.xi.ndim == 1 else problem.xi
        self.features = problem.features
        self.truth = truth_of(cell.make_domain())

    def __call__(self, late: Array) -> tuple[Array, Array, Array]:
        values = late @ self.features.T
        error = self._norm(values - self.truth).mean(axis=-1)
        if len(self.equations) == 1:
            mspbe = half_square(*self.equations[0], self.inverse, late)
            mixture = self._norm(values - self.mixtures[0])
        else:
            by_step = enumerate(self.equations)
            mspbe = np.stack(
                [half_square(*pair, self.inverse, late[..., i, :]) for i, pair in by_step], axis=-1
            )
            mixture = np.stack(
                [self._norm(values[..., i, :] - goal) for i, goal in enumerate(self.mixtures)],
                axis=-1,
            )
        return mspbe.mean(axis=-1), error, mixture.mean(axis=-1)

    def _norm(self, gap: Array) -> Array:
        return np.asarray(np.sqrt(np.maximum(((gap @ self.gram) * gap).sum(axis=-1), 0.0)))


def grid_summary(arrays: Arrays) -> dict[str, Labelled]:
    """For each measure and cell: mean, half-width of its 95% interval, median; and the share of diverged runs.

    Examples
    --------
    >>> runs = np.array([1.0, 3.0, np.nan]).reshape(3, 1, 1, 1)  # the third one diverged
    >>> kept = grid_summary({name: runs for name in MEASURES} | {"digest": np.zeros(3)})
    >>> [round(kept[name][1].item(), 4) for name in ("mspbe", "mspbe_median", "diverged")]
    [inf, 3.0, 0.3333]
    """
    check.runs("arrays", arrays, **dict.fromkeys(MEASURES, 4), digest=1)
    from scipy.stats import t

    dims = ("sigma", "alpha", "eta")
    runs = len(arrays["mspbe"])
    quantile = float(t.ppf(0.975, runs - 1)) if runs > 1 else np.nan
    kept: dict[str, Labelled] = {
        "diverged": (dims, np.isnan(arrays["mspbe"]).mean(axis=0)),
        "digest": (("run",), arrays["digest"]),
    }
    for name in MEASURES:
        values = np.where(np.isnan(arrays[name]), np.inf, arrays[name])
        whole = np.isfinite(values).all(axis=0)
        spread = np.where(
            whole, np.where(whole, values, 0.0).std(axis=0, ddof=min(1, runs - 1)), np.inf
        )
        kept[name] = (dims, values.mean(axis=0))
        kept[f"{name}_half"] = (dims, quantile * spread / np.sqrt(runs))
        kept[f"{name}_median"] = (dims, np.median(values, axis=0))
    return kept


def cell_summary(arrays: Arrays) -> dict[str, Labelled]:
    """For each cell: mean late MSPBE, to 24 significant bits, and how many runs diverged; digests by block of 50 runs.

    Examples
    --------
    >>> runs = np.array([1.0, 3.0, np.nan]).reshape(3, 1, 1, 1)  # the third one diverged
    >>> kept = cell_summary({name: runs for name in MEASURES} | {"digest": np.array([1, 2, 3], dtype=np.uint64)})
    >>> [kept[name][1].item() for name in ("mspbe", "diverged", "digest")]
    [inf, 1, 6]
    """
    check.runs("arrays", arrays, **dict.fromkeys(MEASURES, 4), digest=1)
    dims = ("sigma", "alpha", "eta")
    mspbe = np.where(np.isnan(arrays["mspbe"]), np.inf, arrays["mspbe"])
    return {
        "mspbe": (dims, significant(mspbe.mean(axis=0), bits=24)),
        "diverged": (dims, np.isinf(mspbe).sum(axis=0).astype(np.int16)),
        "digest": (("block",), _by_block(arrays["digest"])),
    }


def score_summary(arrays: Arrays) -> dict[str, Labelled]:
    """Late MSPBE and error of every run, to 16 significant bits, infinite where it diverged; digests by block.

    Examples
    --------
    >>> runs = np.array([1.0, 1 / 3, np.nan]).reshape(3, 1, 1, 1)  # the third one diverged
    >>> kept = score_summary({name: runs for name in MEASURES} | {"digest": np.zeros(3, dtype=np.uint64)})
    >>> kept["mspbe"][0], (2**17 * kept["mspbe"][1]).ravel().tolist()
    (('run', 'sigma', 'alpha', 'eta'), [131072.0, 43691.0, inf])
    """
    check.runs("arrays", arrays, **dict.fromkeys(MEASURES, 4), digest=1)
    dims = ("run", "sigma", "alpha", "eta")
    scores = {
        name: np.where(np.isnan(arrays[name]), np.inf, arrays[name]) for name in ("mspbe", "error")
    }
    return {name: (dims, significant(values)) for name, values in scores.items()} | {
        "digest": (("block",), _by_block(arrays["digest"]))
    }


def _by_block(digest: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The sum of the digests of each block of `BLOCK` runs (it wraps around)."""
    return np.add.reduceat(digest, np.arange(0, len(digest), BLOCK))


def significant(values: ArrayLike, bits: int = BITS) -> NDArray[np.float32]:
    """The values rounded to so many significant bits, as float32; infinities stay.

    Examples
    --------
    >>> significant([1 / 3, 1.0, np.inf], bits=4).tolist()  # 1/3 is nearest to 11/32
    [0.34375, 1.0, inf]
    """
    bits = check.integer("bits", bits, low=1, high=24)
    numbers = check.reals("values", values)
    fraction, exponent = np.frexp(numbers)
    with np.errstate(over="ignore"):
        kept = np.asarray(
            np.ldexp(np.round(np.ldexp(fraction, bits)), exponent - bits), dtype=np.float32
        )
    if (np.isfinite(numbers) & np.isinf(kept)).any():
        raise ValueError(f"values is {check.brief(values)}; what is finite should fit into float32")
    return kept


def find(dataset: xarray.Dataset, setting: Setting) -> xarray.Dataset:
    """The part of a result that belongs to a setting, a grid or any other.

    Examples
    --------
    >>> import xarray
    >>> one, two = (GridSetting("boyan_chain", (0.0,), (alpha,), (1.0,)) for alpha in (0.1, 0.2))
    >>> data = xarray.Dataset({"mspbe": ("setting", [3.0, 5.0])}, {"key": ("setting", [one.key, two.key])})
    >>> find(data, two)["mspbe"].item()
    5.0
    """
    check.labelled("dataset", dataset, "key")
    check.instance("setting", setting, Setting)
    matches = np.flatnonzero(dataset["key"].values == setting.key)
    if len(matches) != 1:
        raise ValueError(f"setting is {setting!r}; it should be one of those of the dataset, once")
    return dataset.isel(setting=int(matches[0]))
