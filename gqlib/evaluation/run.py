r"""Policy evaluation: the call that runs a `PredictionSetting`, and what is measured on the result (Section 5.1).

A run is determined by (setting, seed, run index), to the bit (for LSTD, which solves equations, up to the rounding of
the linear-algebra library). Its trajectory depends on the domain, the seed and the run alone, and σ has a stream of its
own: settings differ in what is learnt from the same data.

The domain may be one of the paper's or your own (`gqlib.domains.own_domain`, or any `Domain`), and the learner too
(`gqlib.fast.own.Learner`).
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
from gqlib.domains.finite import ON_PAIRS, FiniteDomain, WeightedTrajectory
from gqlib.evaluation.measures import empirical_moments, empirical_mspbe, exact_mspbe, value_error
from gqlib.evaluation.setting import Options, PredictionSetting, make_domain
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


def on_pairs(domain: Domain) -> bool:
    """Whether features are those of pairs, and not of states (where a domain does not say, of states)."""
    return getattr(domain, "reading", "literal") in ON_PAIRS


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
    from gqlib.fast import own
    from gqlib.fast import prediction as fast

    check.instance("path", path, Trajectory)
    sigma = check.array("sigma", sigma, path.reward.shape)
    domain = setting.make_domain()
    if path.phi.shape != (setting.steps, domain.problem.d):
        raise ValueError(
            f"path has features {path.phi.shape}; they should be {(setting.steps, domain.problem.d)}"
        )
    learner = setting.make_learner()
    _need_ratios(setting, path)
    if learner == "lstd":
        solved = _lstd_run(setting, path)
        return lambda alpha, eta: (solved, -1)
    pairs, every = on_pairs(domain), setting.steps // setting.kept
    gamma, lam = domain.problem.gamma, setting.lam
    if isinstance(learner, str):
        step_sizes = fast.prepared(
            _weighted(path),
            sigma,
            domain.theta0,
            learner=learner,
            pairs=pairs,
            lam=lam,
            gamma=gamma,
            every=every,
            bound=LARGEST_WEIGHT,
        )
    else:
        step_sizes = own.prepared(
            path,
            sigma,
            domain.theta0,
            learner,
            pairs=pairs,
            lam=lam,
            gamma=gamma,
            kappa=setting.kappa,
            every=every,
        )

    def learn(alpha: float, eta: float) -> tuple[Array, int]:
        return step_sizes(alpha, eta * alpha)

    return learn


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
    from gqlib.fast import own

    _need_ratios(setting, path)
    learner = setting.make_learner()
    if learner == "lstd":
        return _lstd_run(setting, path), -1
    if not isinstance(learner, str):
        domain = setting.make_domain()
        learn = own.prepared(
            path,
            sigma,
            domain.theta0,
            learner.plain(),
            pairs=on_pairs(domain),
            lam=setting.lam,
            gamma=domain.problem.gamma,
            kappa=setting.kappa,
            every=setting.steps // setting.kept,
        )
        return learn(setting.alpha, setting.eta * setting.alpha)
    return _steps_of_the_paper(setting, _weighted(path), sigma)


def _steps_of_the_paper(
    setting: PredictionSetting, path: WeightedTrajectory, sigma: Array
) -> tuple[Array, int]:
    from gqlib.learners import gq_step, semi_gradient_step
    from gqlib.learners.gradient_td import gtd2_step, maei_gq_step, tdc_step

    domain = setting.make_domain()
    theta, pairs = np.array(domain.theta0), on_pairs(domain)
    omega, trace = np.zeros_like(theta), np.zeros_like(theta)
    every = setting.steps // setting.kept
    kept = np.full((setting.kept + 1, len(theta)), np.nan)
    kept[0] = theta
    common = {"gamma": domain.problem.gamma, "alpha": setting.alpha}
    gradient = common | {"beta": setting.eta * setting.alpha}
    for k in range(setting.steps):
        now, reward, rho = path.phi[k], path.reward[k], path.rho[k]
        following = path.phi_next[k], path.phi_next_expected[k]
        if setting.learner == "gq":
            theta, omega, trace, _ = gq_step(
                theta,
                omega,
                trace,
                now,
                reward,
                *following,
                sigma=sigma[k],
                lam=setting.lam,
                **gradient,
            )
        elif setting.learner == "semi-gradient":
            theta, trace, _ = semi_gradient_step(
                theta, trace, now, reward, *following, sigma=sigma[k], lam=setting.lam, **common
            )
        elif setting.learner == "tdc":
            weighted = maei_gq_step if pairs else tdc_step
            theta, omega, trace, _ = weighted(
                theta,
                omega,
                trace,
                now,
                reward,
                following[pairs],
                rho=rho,
                lam=setting.lam,
                **gradient,
            )
        else:
            rho = 1.0 if pairs else rho
            theta, omega, _ = gtd2_step(
                theta, omega, now, reward, following[pairs], rho, **gradient
            )
        if not (np.abs(theta) <= LARGEST_WEIGHT).all():
            return kept, k + 1
        trace = trace * (not path.ends[k])
        if (k + 1) % every == 0:
            kept[(k + 1) // every] = theta
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
