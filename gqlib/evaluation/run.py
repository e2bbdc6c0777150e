r"""Policy evaluation: the call that runs a `PredictionSetting`, and what is measured on the result (Section 5.1).

A run is determined by (setting, seed, run index), to the bit (for LSTD, which solves equations, up to the rounding of
the linear-algebra library). Its trajectory depends on the domain, the seed and the run alone, and σ has a stream of its
own: settings differ in what is learnt from the same data.

The domain may be one of the paper's or your own (`gqlib.domains.own_domain`, or any `Domain`), and the learner too
(`gqlib.learners.texts.Learner`): one text, compiled over the trajectory or step by step in NumPy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gqlib import _validate as check
from gqlib._objects import ByValue, html_table
from gqlib._validate import Array
from gqlib.domains.base import Domain, Trajectory
from gqlib.domains.finite import FiniteDomain, WeightedTrajectory
from gqlib.evaluation.measures import empirical_moments, empirical_mspbe, exact_mspbe, value_error
from gqlib.evaluation.setting import Options, PredictionSetting, make_domain, on_pairs
from gqlib.learners import dense
from gqlib.learners._records import Rates
from gqlib.prediction import LinearPrediction
from gqlib.rules import LARGEST_WEIGHT
from gqlib.stats._told import told_mean

__all__ = ["PredictionResult", "histories", "measured_problem", "run_prediction"]

ENGINES = ("fast", "reference")


@dataclass(frozen=True, eq=False, repr=False)
class PredictionResult(ByValue):
    """Weights (runs, kept + 1, d), NaN after divergence, and the step of divergence of each run, −1 if none.

    Examples
    --------
    >>> end_zero = (("terminal_features", "zero"),)
    >>> result = run_prediction(PredictionSetting("boyan_chain", end_zero, alpha=0.1, steps=2000, kept=2), 3, seed=0)
    >>> begin, _, end = result.error().mean(axis=0)
    >>> bool(end < begin / 2), result.diverged.tolist(), result.sigma_means.tolist()
    (True, [False, False, False], [0.5, 0.5, 0.5])
    >>> result.mspbe().shape, result.empirical_mspbe(seed=0).shape
    ((3, 3), (3, 3))
    >>> repr(result).endswith("gamma=0.99), 3 runs of 2,000 steps, 0 diverged runs)")
    True
    """

    setting: PredictionSetting
    theta: Array
    diverged_at: NDArray[np.int64]

    def _told(self) -> dict[str, str]:
        learner = self.setting.learner
        return {
            "domain": self.setting.make_domain().name,
            "learner": learner if isinstance(learner, str) else "own",
            "runs": str(len(self.theta)),
            "steps of each": f"{self.setting.steps:,}",
            "diverged runs": str(int(self.diverged.sum())),
        }

    def __repr__(self) -> str:
        told = self._told()
        return (
            f"PredictionResult({told['learner']} on {told['domain']}, {told['runs']} runs of {told['steps of each']} "
            f"steps, {told['diverged runs']} diverged runs)"
        )

    def _repr_html_(self) -> str:
        rows = list(self._told().items())
        if hasattr(self.setting.make_domain(), "truth"):
            first, last = self.error()[:, [0, -1]].T
            rows += told_mean("error at the start", first[:1]) + told_mean(
                "mean error at the end", last
            )
        return html_table("PredictionResult", rows)

    @property
    def diverged(self) -> NDArray[np.bool_]:
        """Which runs diverged, (runs,)."""
        return self.diverged_at >= 0

    @property
    def sigma_means(self) -> Array:
        """The mean of σ at each checkpoint, (kept + 1,), that exact measures use (0 for learners without σ)."""
        domain = self.setting.make_domain()
        if self.setting.aims_at_target:
            return np.zeros(self.setting.kept + 1)
        if (
            self.setting.sigma_decay < 1.0
            and isinstance(domain, FiniteDomain)
            and domain.chain.has_episodes
        ):
            raise ValueError(f"sigma_decay is {self.setting.sigma_decay:g}; where runs end episodes at their own times "
                             "they have no mean of sigma in common, so it should be 1")  # fmt: skip
        means = self.setting.schedule.means(np.zeros(self.setting.steps, dtype=bool))
        return np.concatenate([means[:1], means[self.setting.checkpoints[1:] - 1]])

    def mspbe(self) -> Array:
        """Exact MSPBE at each checkpoint, (runs, kept + 1), for the mean σ at that time and the setting's λ."""
        problem, _ = measured_problem(self.setting)
        by_sigma = {
            s: exact_mspbe(problem, self.theta, s, self.setting.lam)
            for s in set(self.sigma_means.tolist())
        }
        return np.stack(
            [by_sigma[s][:, i] for i, s in enumerate(self.sigma_means.tolist())], axis=1
        )

    def error(self, target: ArrayLike | None = None) -> Array:
        """RMSE over Ξ to v^π or q^π (or another function on the index set), (runs, kept + 1)."""
        domain = self.setting.make_domain()
        return value_error(
            domain.problem, self.theta, truth_of(domain) if target is None else target
        )

    def empirical_mspbe(self, seed: int, first_run: int = 0) -> Array:
        """The paper's measure, corrected, from each run's own trajectory, (runs, kept + 1): of (σ, λ), without ρ."""
        data = histories(self.setting, len(self.theta), seed, first_run)
        gamma = self.setting.make_domain().problem.gamma
        moments = (empirical_moments(path, sigma, self.setting.lam, gamma) for path, sigma in data)
        return np.array(
            [empirical_mspbe(m, weights) for m, weights in zip(moments, self.theta, strict=True)]
        )


def truth_of(domain: Domain) -> Array:
    """v^π or q^π on the index set of a domain that knows it."""
    truth = getattr(domain, "truth", None)
    if truth is None:
        raise ValueError(
            f"domain {domain.name!r} does not know the values of its policy; target should be given"
        )
    return np.asarray(truth)


def histories(
    setting: PredictionSetting, runs: int, seed: int, first_run: int = 0
) -> Iterator[tuple[Trajectory, Array]]:
    """The trajectory and σ_k of each run: determined by (domain, steps, seed, run) and the schedule.

    Examples
    --------
    >>> setting = PredictionSetting("boyan_chain", sigma=0.25, steps=100, kept=1)
    >>> [(len(path), set(sigma.tolist())) for path, sigma in histories(setting, 2, seed=0)]
    [(100, {0.25}), (100, {0.25})]
    """
    check.instance("setting", setting, PredictionSetting)
    from gqlib.fast import prediction as fast

    check.integer("seed", seed, low=0)
    first_run = check.integer("first_run", first_run, low=0)
    domain = setting.make_domain()
    for run in range(first_run, first_run + check.integer("runs", runs, low=1)):
        path = fast.trajectory(domain, setting.steps, seed, run)
        yield path, setting.schedule.values(path.ends, fast.sigma_normals(setting.steps, seed, run))


def run_prediction(
    setting: PredictionSetting,
    runs: int,
    seed: int,
    *,
    first_run: int = 0,
    engine: Literal["fast", "reference"] = "fast",
) -> PredictionResult:
    """Run a learner `runs` times; setting, seed and run index determine every bit of a run.

    Parameters
    ----------
    setting : PredictionSetting
        On a domain of the paper, or on any other.
    runs, seed : int
    first_run : int
        The number of the first run: runs 0 to 9 in one call, or 0 to 4 and 5 to 9 in two, are the same to the bit.
    engine : {"fast", "reference"}
        Compiled, or step by step through the functions that read like the paper (equal up to rounding).

    Examples
    --------
    An MDP of your own, two states in a row and then the end, and what three learners find in 500 steps:

    >>> from gqlib import FiniteMDP
    >>> from gqlib.domains import own_domain
    >>> moves = [[[0, 1, 0], [1, 0, 0]], [[0, 0, 1], [0, 1, 0]], [[0, 0, 0], [0, 0, 0]]]
    >>> mdp = FiniteMDP(moves, -np.ones((3, 2)), 1.0, terminal=[2])
    >>> coin, onwards = np.full((3, 2), 0.5), np.array([[1.0, 0.0]] * 3)
    >>> domain = own_domain(mdp, coin, onwards, np.eye(6), start=[1, 0, 0])
    >>> for learner in ("gq", "tdrc", "lstd"):
    ...     mine = PredictionSetting(domain, learner=learner, sigma=0.0, alpha=0.1, steps=500, kept=1)
    ...     print(learner, run_prediction(mine, 2, seed=0).theta[0, -1, :4].round(2).tolist())
    gq [-1.74, -2.66, -0.82, -1.78]
    tdrc [-1.99, -2.99, -1.0, -2.0]
    lstd [-2.0, -3.0, -1.0, -2.0]

    Runs do not depend on how they are cut:

    >>> setting = PredictionSetting("boyan_chain", alpha=0.1, steps=100, kept=1)
    >>> both, second = run_prediction(setting, 2, seed=0), run_prediction(setting, 1, seed=0, first_run=1)
    >>> bool((both.theta[1] == second.theta[0]).all())
    True
    """
    check.instance("setting", setting, PredictionSetting)
    check.choice("engine", engine, ENGINES)
    check.room("runs", runs, check.integer("runs", runs, low=1) * setting.kept)
    one = learn_on if engine == "fast" else _reference_run
    kept, when = [], []
    for path, sigma in histories(setting, runs, seed, first_run):
        weights, step = one(setting, path, sigma)
        kept.append(weights)
        when.append(step)
    return PredictionResult(setting, np.array(kept), np.array(when, dtype=np.int64))


def learn_on(setting: PredictionSetting, path: Trajectory, sigma: Array) -> tuple[Array, int]:
    """Weights (kept + 1, d) of the compiled learner on a trajectory, and the step of divergence or −1."""
    check.instance("setting", setting, PredictionSetting)
    return prepare(setting, path, sigma)(setting.alpha, setting.eta)


def prepare(
    setting: PredictionSetting, path: Trajectory, sigma: Array
) -> Callable[[float, float], tuple[Array, int]]:
    """`learn_on` as a function of (α, η), for many step sizes on the same data."""
    check.instance("setting", setting, PredictionSetting)
    from gqlib.fast import prediction as fast

    fast.sound_path(path)
    sigma = check.array("sigma", sigma, path.reward.shape)
    domain, learner = setting.make_domain(), setting.make_learner()
    if path.phi.shape != (setting.steps, domain.problem.d):
        raise ValueError(
            f"path has features {path.phi.shape}; they should be {(setting.steps, domain.problem.d)}"
        )
    _need_ratios(setting, path)
    if learner is None:
        solved = _lstd_run(setting, path)
        return lambda alpha, eta: (solved, -1)
    loop, every = dense.loop_of(learner), setting.steps // setting.kept
    features, columns = _seen(path, sigma)

    def learn(alpha: float, eta: float) -> tuple[Array, int]:
        kept, step = loop(
            *features,
            columns,
            path.ends,
            domain.theta0,
            _rates(setting, alpha, eta),
            every,
            LARGEST_WEIGHT,
        )
        return kept, int(step)

    return learn


def _seen(path: Trajectory, sigma: Array) -> tuple[tuple[Array, ...], tuple[Array, ...]]:
    """φ, φ' and φ̄'; R, σ, ρ, π, ρ' and π'. ρ' is ρ of the next step, 1 at an end; a trajectory does not tell π."""
    rho, unknown = _weighted(path).rho, np.full(len(path), np.nan)
    rho_next = np.where(path.ends, 1.0, np.append(rho[1:], 1.0))
    features = (path.phi, path.phi_next, path.phi_next_expected)
    return features, (path.reward, sigma, rho, unknown, rho_next, unknown)


def _rates(setting: PredictionSetting, alpha: float, eta: float) -> Rates:
    gamma = setting.make_domain().problem.gamma
    return dense.rates(
        lam=setting.lam, gamma=gamma, alpha=alpha, beta=eta * alpha, kappa=setting.kappa
    )


def _need_ratios(setting: PredictionSetting, path: Trajectory) -> None:
    if setting.aims_at_target and not isinstance(path, WeightedTrajectory):
        raise ValueError(
            f"learner {setting.learner!r} weights by rho, which trajectories of {setting.make_domain().name!r} lack; "
            "it should be 'gq' or 'semi-gradient'"
        )


def _weighted(path: Trajectory) -> WeightedTrajectory:
    """The same trajectory with ρ = 1 where it has none."""
    if isinstance(path, WeightedTrajectory):
        return path
    return WeightedTrajectory(**vars(path), rho=np.ones(len(path)))


def _lstd_run(setting: PredictionSetting, path: Trajectory) -> Array:
    """θ0, and at each checkpoint the least-norm solution of Σ e_k(γφ' − φ)ᵀθ + Σ R e_k = 0 over all steps before it."""
    domain = setting.make_domain()
    pairs, gamma = on_pairs(domain), domain.problem.gamma
    following = path.phi_next_expected if pairs else path.phi_next
    kept = np.empty((setting.kept + 1, domain.problem.d))
    kept[0] = domain.theta0
    a, b, trace = (
        np.zeros((domain.problem.d,) * 2),
        np.zeros(domain.problem.d),
        np.zeros(domain.problem.d),
    )
    every = setting.steps // setting.kept
    for k, (phi, rho) in enumerate(zip(path.phi, _weighted(path).rho, strict=True)):
        trace = gamma * setting.lam * rho * trace + (1.0 if pairs else rho) * phi
        a += np.outer(trace, gamma * following[k] - phi)
        b += path.reward[k] * trace
        trace = trace * (not path.ends[k])
        if (k + 1) % every == 0:
            kept[(k + 1) // every] = -np.linalg.lstsq(a, b, rcond=None)[0]
    return kept


def _reference_run(setting: PredictionSetting, path: Trajectory, sigma: Array) -> tuple[Array, int]:
    _need_ratios(setting, path)
    learner, rates = setting.make_learner(), _rates(setting, setting.alpha, setting.eta)
    if learner is None:
        return _lstd_run(setting, path), -1
    weights = dense.begin(learner, setting.make_domain().theta0, rates)
    every = setting.steps // setting.kept
    kept = np.full((setting.kept + 1, len(weights.theta)), np.nan)
    kept[0] = weights.theta
    (phi, sampled, expected), columns = _seen(path, sigma)
    for k, (reward, s, *ratios) in enumerate(np.transpose(columns).tolist()):
        with np.errstate(over="ignore", invalid="ignore"):  # divergence is counted, not warned of
            weights, _ = dense.step(
                learner, weights, phi[k], reward, sampled[k], expected[k], rates,
                sigma=s, ratios=dense.Ratios(*ratios),
            )  # fmt: skip
        if not (np.abs(weights.theta) <= LARGEST_WEIGHT).all():
            return kept, k + 1
        if path.ends[k]:
            weights = dense.again(learner, weights, rates)
        if (k + 1) % every == 0:
            kept[(k + 1) // every] = weights.theta
    return kept, -1


def measured_problem(setting: PredictionSetting) -> tuple[LinearPrediction, float]:
    """The exact problem that a setting's learner solves, and the σ it is measured at (the first mean of a schedule).

    GQ(σ, λ) and semi-gradient Q(σ, λ) solve the domain's own. TDC(λ), TDRC(λ), GTD2 and LSTD(λ) weight by ρ, so their
    traces follow π and so do rewards and next features: A = Φᵀ Ξ (I − γλP^π)⁻¹(γP^π − I)Φ, and σ plays no part.
    Emphatic TD is measured by that too, though it weights by its emphasis instead of Ξ, and so has another fixed point
    where features cannot represent the value.

    Examples
    --------
    >>> problem, sigma = measured_problem(PredictionSetting("baird_star", (("reading", "expected"),), "tdc"))
    >>> sigma, problem.p_trace[0].tolist()  # π always takes the solid action, to the centre
    (0.0, [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
    """
    check.instance("setting", setting, PredictionSetting)
    domain = setting.make_domain()
    if not setting.aims_at_target:
        return domain.problem, setting.sigma
    if getattr(domain, "reading", "literal") == "literal":
        raise ValueError(
            f"learner is {setting.learner!r}; it should go with reading 'expected' or with pairs, which know P^π"
        )
    if isinstance(setting.domain, str):
        return _named_target_problem(setting.domain, setting.options), 0.0
    return _target_problem(domain), 0.0


@lru_cache(maxsize=32)
def _named_target_problem(name: str, options: Options) -> LinearPrediction:
    return _target_problem(make_domain(name, options))


def _target_problem(domain: Domain) -> LinearPrediction:
    own, truth = domain.problem, truth_of(domain)
    one_policy = np.array_equal(own.p_mu, own.p_pi)
    return LinearPrediction(
        features=np.array(own.features),
        p_mu=own.p_pi,
        p_pi=own.p_pi,
        rewards=truth - own.gamma * own.p_pi @ truth,  # Bellman's equation, read backwards
        gram=own.xi,
        gamma=own.gamma,
        p_trace=own.p_trace if one_policy else own.p_pi,
        rewards_pi=None,
    )
