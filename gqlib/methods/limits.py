r"""Where a method is stable, how large a step its mean tolerates, what it converges to and how noisily.

*Ratio.* J(η) = J_0 + ηJ_1, so its spectral abscissa changes sign only where J(η) is singular or two eigenvalues sum to
zero, both generalised eigenvalue problems in η: `ratio_windows` finds every interval of stable ratios, `eta_star` the
bound above which all are stable.

*Step.* The mean iteration is x ← (I + αJ)x: stable for α < min −2 Re s/|s|² over the eigenvalues s of J. The step of
proximal GTD2, an extragradient, is x ← (I + αJ + α²J²)x instead, stable where |1 + αs + α²s²| < 1 for each s: on the
ray of s = |s|e^{iψ}, up to the least positive root of x³ + 2cos ψ·x² + (1 + 2cos 2ψ)x + 2cos ψ, x = α|s|. For a real s
that is half of what GTD2 tolerates; where s is nearly imaginary it is much more.

*Noise.* With a small step α the weights settle at E‖Φ(θ − θ*)‖² = αN, N = tr(MΣ), JΣ + ΣJᵀ + noise = 0, after a time
1/(α|s(J)|), s the spectral abscissa. The product N/|s(J)| does not depend on α: squared error times steps, what a
method pays for speed (`price`). For LSTD, whose error after t steps is tr(M A⁻¹ΓA⁻ᵀ)/t, it is that numerator.

*Error after t steps.* With the noise of the fixed point all the way, mean and covariance obey x ← (I + αJ)x and
S ← (I + αJ)S(I + αJ)ᵀ + α²·noise, so E‖Φθ_t − v‖² is known for every α (`error_after`); t is a power of two, which
takes log₂t products of matrices.
"""

from __future__ import annotations

import contextlib
import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import solve_continuous_lyapunov

from gqlib import _validate as check
from gqlib._validate import Array
from gqlib.methods.catalogue import Method
from gqlib.methods.mean import Means, fixed_point, joint_of, means
from gqlib.methods.noise import increment_covariance
from gqlib.methods.task import Task
from gqlib.rounding import EPS
from gqlib.stability import ROUNDING, bialternate, pencil_roots, sign_changes

__all__ = ["Limits", "error_after", "eta_star", "largest_step", "limits", "ratio_windows"]

# Ratios tried besides the exact candidates, and the size of J up to which those are sought: beyond it the generalised
# eigenvalue problem, whose order is the square of that of J, takes minutes.
GRID, EXACT_UP_TO = np.geomspace(1e-6, 1e6, 241), 16
LARGEST = 1e12  # a squared error beyond it has diverged


@dataclass(frozen=True)
class Limits:
    """What is known exactly about a method on a task at (λ, η); NaN or infinite where there is no such number.

    Attributes
    ----------
    abscissa : float
        s(J): negative where the mean converges.
    step : float
        The largest step size with which the mean iteration converges, 0 if none does.
    error : float
        The value error of the fixed point.
    price : float
        N/|s(J)|, infinite where the noise is, NaN where the mean diverges.

    Examples
    --------
    >>> from gqlib.domains import five_state_walk
    >>> from gqlib.methods.catalogue import METHODS
    >>> given = limits(Task.of(five_state_walk()), METHODS["TD(λ)"], 0.0)
    >>> given.abscissa < 0.0, round(given.error, 9), given.step > 0.0
    (True, 0.0, True)
    """

    abscissa: float
    step: float
    error: float
    price: float


def _abscissa(matrix: Array) -> float:
    return float(np.linalg.eigvals(matrix).real.max())


def _family(task: Task, method: Method, lam: float) -> tuple[Array, Array]:
    """J(η) = constant + η·slope."""
    given = means(task, method, lam)
    constant = joint_of(task, method, given, 0.0)
    return constant, joint_of(task, method, given, 1.0) - constant


def ratio_windows(task: Task, method: Method, lam: float) -> list[tuple[float, float]]:
    """The intervals of η > 0 on which the mean of a method with two weight vectors is stable, sorted.

    Ends are looked for from 10⁻⁶ to 10⁶; smaller η count as the least of these, larger ones as the largest.

    Examples
    --------
    >>> from gqlib.domains import baird_star
    >>> from gqlib.methods.catalogue import METHODS
    >>> star = Task.of(baird_star(features="classical"))
    >>> [(round(low, 4), high) for low, high in ratio_windows(star, METHODS["TDC(λ)"], 0.0)]
    [(0.1424, inf)]
    """
    check.instance("method", method, Method)
    if not method.has_ratio:
        raise ValueError(
            f"method has the update {method.update}; it should be one with a second weight vector"
        )
    constant, slope = _family(task, method, lam)
    roots = np.empty(0, dtype=complex)
    # The grid remains where QZ fails; a root that overflows does not count.
    with contextlib.suppress(np.linalg.LinAlgError), np.errstate(over="ignore", invalid="ignore"):
        roots = pencil_roots(constant, slope)
        if len(constant) <= EXACT_UP_TO:
            roots = np.concatenate([roots, pencil_roots(bialternate(constant), bialternate(slope))])
    roots = roots[np.isfinite(roots)]
    real = roots.real[(np.abs(roots.imag) < np.sqrt(EPS) * np.abs(roots)) & (roots.real > 0.0)]
    inside = real[(real > GRID[0]) & (real < GRID[-1])]
    knots = np.unique(np.concatenate([GRID, inside]))
    # One point inside each piece between neighbours: there the sign is constant.
    points = np.concatenate([GRID[:1], np.sqrt(knots[1:] * knots[:-1]), GRID[-1:]])
    size = np.linalg.norm(constant, 2) + points * np.linalg.norm(slope, 2)
    noise = ROUNDING * EPS * len(constant) * size
    ends = [
        0.0,
        *sign_changes(lambda eta: _abscissa(constant + eta * slope), points, noise).tolist(),
        float(np.inf),
    ]
    windows = []
    for low, high in itertools.pairwise(ends):
        middle = float(np.sqrt(max(low, GRID[0]) * min(high, GRID[-1])))
        bar = (
            ROUNDING
            * EPS
            * len(constant)
            * (np.linalg.norm(constant, 2) + middle * np.linalg.norm(slope, 2))
        )
        if _abscissa(constant + middle * slope) < -bar:
            windows.append((low, high))
    return windows


def eta_star(task: Task, method: Method, lam: float) -> float:
    """The least η* such that every η > η* is stable; infinite if there is none.

    Examples
    --------
    >>> from gqlib.domains import baird_star
    >>> from gqlib.methods.catalogue import METHODS
    >>> star = Task.of(baird_star(features="classical"))
    >>> round(eta_star(star, METHODS["TDC(λ)"], 0.0), 4), eta_star(star, METHODS["GTD2(λ)"], 0.0)
    (0.1424, 0.0)
    """
    windows = ratio_windows(task, method, lam)
    return windows[-1][0] if windows and np.isinf(windows[-1][1]) else float(np.inf)


def largest_step(joint: ArrayLike, *, extragradient: bool = False) -> float:
    """The supremum of all α for which x ← (I + αJ)x, or (I + αJ + α²J²)x, converges; 0 where J is not Hurwitz.

    Examples
    --------
    >>> largest_step([[-2.0]]), largest_step([[0.1]])
    (1.0, 0.0)
    >>> round(largest_step([[-0.1, 1.0], [-1.0, -0.1]]), 4)
    0.198
    >>> round(largest_step([[-0.1, 1.0], [-1.0, -0.1]], extragradient=True), 4)
    1.1618
    """
    matrix = check.array("joint", joint, (None, None))
    matrix = check.array("joint", matrix, (len(matrix), len(matrix)))
    check.flag("extragradient", extragradient)
    values = np.linalg.eigvals(matrix)
    bar = ROUNDING * EPS * len(matrix) * np.linalg.norm(matrix, 2)
    if not values.real.max() < -bar:
        return 0.0
    # By a power of two, which changes no digit: squares of very small eigenvalues would be zero.
    scale = float(2.0 ** np.floor(np.log2(np.abs(values).max())))
    values, least = values / scale, np.inf
    if not extragradient:
        least = float((-2.0 * values.real / np.abs(values) ** 2).min())
    for value in values if extragradient else ():
        cosine, twice = np.cos(np.angle(value)), np.cos(2.0 * np.angle(value))
        roots = np.roots([1.0, 2.0 * cosine, 1.0 + 2.0 * twice, 2.0 * cosine])
        positive = roots.real[(np.abs(roots.imag) < np.sqrt(EPS)) & (roots.real > 0.0)]
        least = min(least, float(positive.min() / abs(value)))
    if least / np.finfo(float).max > scale:
        raise ValueError(
            f"joint is {check.brief(joint)}; it should be larger, so that step sizes are finite"
        )
    return least / scale


def _noise_of(task: Task, method: Method, lam: float, eta: float) -> Array:
    """The noise of (θ, ω) on the row space: Γ, in the blocks that move along δe."""
    rows = task.basis
    noise = np.asarray(rows @ increment_covariance(task, method, lam) @ rows.T)
    if not method.has_ratio:
        return noise
    moves = 0.0 if method.update in ("gtd2", "proximal") else 1.0
    return np.kron(np.outer([moves, eta], [moves, eta]), noise)


def _price(task: Task, method: Method, given: Means, joint: Array, lam: float, eta: float) -> float:
    """N/|s(J)|; infinite where Γ is."""
    try:
        noise = _noise_of(task, method, lam, eta)
    except ValueError:
        return float(np.inf)
    rows = task.basis
    m = rows @ task.M @ rows.T
    if method.update == "least squares":
        inverse = np.linalg.inv(rows @ given.A @ rows.T)
        return float(np.trace(m @ inverse @ noise @ inverse.T))
    sigma = solve_continuous_lyapunov(joint, -noise)
    return float(np.trace(m @ sigma[: len(m), : len(m)]) / -_abscissa(joint))


def error_after(
    task: Task, method: Method, lam: float, alphas: ArrayLike, doublings: int, eta: float = 1.0
) -> Array:
    """E‖Φθ_t − v‖² after t = 2^doublings steps from θ_0, ω = 0, for each step size; infinite where it overflows.

    Exact where the noise of a step does not depend on the weights; in general to first order around the fixed point.

    Raises
    ------
    ValueError
        Where the noise is infinite, and for LSTD, which has no step size.

    Examples
    --------
    >>> from gqlib.domains import five_state_walk
    >>> from gqlib.methods.catalogue import METHODS
    >>> task = Task.of(five_state_walk())
    >>> error_after(task, METHODS["TD(λ)"], 0.0, [0.01, 0.05, 0.2], 10).round(3).tolist()
    [0.196, 0.023, 0.023]
    """
    check.instance("task", task, Task)
    check.instance("method", method, Method)
    if method.update == "least squares":
        raise ValueError("method is LSTD, without a step size; it should be one that has it")
    eta = check.scalar("eta", eta, low=0.0)
    sizes, doublings = (
        check.array("alphas", alphas, (None,)),
        check.integer("doublings", doublings, low=0, high=40),
    )
    given = means(task, method, lam)
    joint, noise = joint_of(task, method, given, eta), _noise_of(task, method, lam, eta)
    point = fixed_point(task, given)
    rows = task.basis
    m, first = rows @ task.M @ rows.T, np.zeros(len(joint))
    first[: len(rows)] = rows @ (task.theta0 - point)
    found = np.full(len(sizes), np.inf)
    for i, alpha in enumerate(sizes):
        moved = alpha * joint
        power = np.eye(len(joint)) + moved + (moved @ moved if method.update == "proximal" else 0.0)
        spread = alpha**2 * noise
        with np.errstate(over="ignore", invalid="ignore"):
            for _ in range(doublings):
                spread = spread + power @ spread @ power.T
                power = power @ power
            theta = point + rows.T @ (power @ first)[: len(rows)]
            total = task.xi @ (task.phi @ theta - task.truth) ** 2 + np.trace(
                m @ spread[: len(m), : len(m)]
            )
        if np.isfinite(total) and total < LARGEST:
            found[i] = total
    return found


def limits(
    task: Task, method: Method, lam: float, eta: float = 1.0, *, noise: bool = True
) -> Limits:
    """Abscissa, largest step, value error and price of a method on a task; η matters where there is an ω.

    Where the trace has no mean everything is NaN; `noise` leaves out the price, which takes the most time.

    Examples
    --------
    >>> from gqlib.domains import baird_star
    >>> from gqlib.methods.catalogue import METHODS
    >>> star = Task.of(baird_star(features="classical"))
    >>> [limits(star, METHODS[name], 0.0).abscissa < 0.0 for name in ("TD(λ)", "TDRC(λ)", "ETD(λ)")]
    [False, True, True]
    """
    check.instance("task", task, Task)
    check.instance("method", method, Method)
    eta = check.scalar("eta", eta, low=0.0, open_low=True)
    check.flag("noise", noise)
    given = means(task, method, lam)
    joint = joint_of(task, method, given, eta)
    abscissa = _abscissa(joint)
    step = largest_step(joint, extragradient=method.update == "proximal")
    error = price = float(np.nan)
    with contextlib.suppress(ValueError):
        error = task.error(fixed_point(task, given))
    if noise and step > 0.0 and np.isfinite(error):
        price = _price(task, method, given, joint, lam, eta)
    return Limits(abscissa, step, error, price)
