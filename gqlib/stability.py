r"""Stability of the mean iterations θ ← θ + α(A_σ θ + b) and (θ, ω) ← (θ, ω) + αJ(θ, ω).

With small steps the mean follows θ̇ = Aθ + b, and stability rests on the *spectral abscissa*
s(A) = max Re λ(A): s < 0 (A is Hurwitz) is stable, s > 0 is not. The paper asks for "negative" A, that is
xᵀAx < 0 for all x ≠ 0, or *numerical abscissa* w(A) = λ_max((A + Aᵀ)/2) < 0. Since s ≤ w, that is sufficient but not
necessary; the gap w(A) > 0 > s(A) is where ‖exp(tA)‖ first grows and then decays.

A_σ = A_0 + σ(A_1 − A_0) is linear in σ, so every σ at which an eigenvalue meets the imaginary axis is found, not
searched for: det A_σ = 0 (a real eigenvalue crosses zero) and det(bialternate sum of A_σ) = 0 (two eigenvalues sum to
zero, as a crossing pair ±iω does) are generalised eigenvalue problems in σ.
Eigenvalues that are zero for every σ are not crossings: the matrix is first restricted to the row space of Ξ^½Φ, and
eigenvalues that are still zero there for every σ are set aside.

For the step ratio η = β/α the joint matrix of (θ, ω), Eqs. (25)–(26), is

    J = [[A, −γE[v]], [ηA, −ηM]],    γE[v] = M + Aᵀ by Proposition 1.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import eigvals, expm
from scipy.optimize import brentq, minimize_scalar

from gqlib import _validate as check
from gqlib._validate import Array
from gqlib.prediction import LinearPrediction
from gqlib.rounding import EPS

__all__ = [
    "bialternate",
    "critical_sigma",
    "growth",
    "is_hurwitz",
    "is_negative_definite",
    "joint",
    "joint_matrix",
    "numerical_abscissa",
    "numerical_range",
    "pencil_roots",
    "phase_diagram",
    "sign_changes",
    "spectral_abscissa",
    "transient_peak",
]

# The bialternate sum has order r(r−1)/2; beyond this order of A the grid alone must bracket complex crossings.
EXACT_UP_TO = 24
GRID = 256
# Rounding of an eigenvalue of A_σ or J, in units of (order)·eps·‖·‖: two orders of magnitude above what occurs, many
# below the slope of any crossing. Closer to zero than that, an eigenvalue has no sign.
ROUNDING = 100.0
# The σ at which eigenvalues are tested for being zero throughout: not the ends, where one may vanish by chance.
PROBES = (0.135, 0.26, 0.385, 0.51, 0.635, 0.76, 0.885)


# The largest entry of a matrix built from products of others: sums and multiples of such matrices are still finite.
HUGE = 1e200
# Far more than a search between any two floats takes: some 1100 halvings lead from the largest to the last digit of 1.
MOST_STEPS = 10_000


def _square(matrix: ArrayLike, name: str = "matrix", *, largest: float = check.LARGEST) -> Array:
    rows = np.shape(matrix)[0] if check.dimensions(matrix) else None
    return check.array(name, matrix, (rows, rows), largest=largest)


def spectral_abscissa(matrix: ArrayLike) -> float:
    """Largest real part of the eigenvalues of a square matrix: negative exactly where θ̇ = Aθ is stable.

    Notes
    -----
    Exact for some matrix within ε = 10·n·eps·‖A‖₂ of A. So the error is to first order at most ε/|y*x|, with y and x
    the unit eigenvectors of a simple eigenvalue, and never above (2‖A‖)^(1−1/n)·ε^(1/n), the bound for a defective one.

    Examples
    --------
    >>> spectral_abscissa([[-1.0, 9.0], [0.0, -2.0]])
    -1.0
    """
    return float(np.linalg.eigvals(_square(matrix)).real.max())


def numerical_abscissa(matrix: ArrayLike) -> float:
    """λ_max((A + Aᵀ)/2), the growth rate of ‖exp(tA)‖ at t = 0: negative exactly where A is negative definite.

    Examples
    --------
    >>> round(numerical_abscissa([[-1.0, 9.0], [0.0, -2.0]]), 4)
    3.0277
    """
    a = _square(matrix)
    return float(np.linalg.eigvalsh((a + a.T) / 2.0)[-1])


def is_hurwitz(matrix: ArrayLike) -> bool:
    """Whether every eigenvalue has a negative real part.

    Examples
    --------
    >>> is_hurwitz([[-1.0, 9.0], [0.0, -2.0]])
    True
    """
    return spectral_abscissa(matrix) < 0.0


def is_negative_definite(matrix: ArrayLike) -> bool:
    """Whether xᵀAx < 0 for every x ≠ 0: the paper's condition after Eq. (15), sufficient but not necessary.

    Examples
    --------
    >>> is_negative_definite([[-1.0, 0.0], [0.0, -2.0]]), is_negative_definite([[-1.0, 9.0], [0.0, -2.0]])
    (True, False)
    """
    return numerical_abscissa(matrix) < 0.0


def numerical_range(matrix: ArrayLike, points: int = 181) -> NDArray[np.complex128]:
    """Boundary of {x*Ax : ‖x‖ = 1} in the complex plane, as `points` support points in order of their angle.

    Examples
    --------
    >>> numerical_range([[-1.0, 0.0], [0.0, -3.0]], 3).real.round(4).tolist()
    [-1.0, -3.0, -1.0]
    """
    a = _square(matrix)
    boundary = []
    check.room("points", points, 2 * check.integer("points", points, low=2))
    for angle in np.linspace(0.0, 2.0 * np.pi, points):
        turned = np.exp(1j * angle) * a
        _, vectors = np.linalg.eigh((turned + turned.conj().T) / 2.0)
        x = vectors[:, -1]
        boundary.append(x.conj() @ a @ x)
    return np.array(boundary)


def growth(matrix: ArrayLike, times: ArrayLike) -> Array:
    """‖exp(tA)‖₂ at each time.

    Examples
    --------
    >>> growth([[-1.0, 0.0], [0.0, -2.0]], [0.0, 1.0]).round(4).tolist()
    [1.0, 0.3679]
    """
    a, when = _square(matrix), check.array("times", times, (None,))
    return np.array([np.linalg.norm(expm(t * a), 2) for t in when])


def transient_peak(matrix: ArrayLike) -> tuple[float, float]:
    """The time and size of the largest ‖exp(tA)‖₂, t ≥ 0, of a Hurwitz matrix; (0, 1) where nothing grows.

    Raises
    ------
    ValueError
        If A is not Hurwitz, so that there need be no peak.

    Examples
    --------
    >>> time, size = transient_peak([[-1.0, 9.0], [0.0, -2.0]])
    >>> round(time, 3), round(size, 3)
    (0.655, 2.321)
    """
    a = _square(matrix)
    rate = spectral_abscissa(a)
    if rate >= 0.0:
        raise ValueError(
            f"matrix has spectral abscissa {rate:g}; it should be negative, or exp(tA) does not decay"
        )
    if -rate * check.LARGEST <= 50.0:
        raise ValueError(
            f"matrix has spectral abscissa {rate:g}; it should be further below 0: exp(tA) hardly decays"
        )
    if numerical_abscissa(a) <= 0.0:
        return 0.0, 1.0
    # From the fastest growth to a few times the slowest decay; refined between the neighbours of the best point.
    times = np.concatenate([[0.0], np.geomspace(1e-3 / np.linalg.norm(a, 2), 50.0 / -rate, 400)])
    sizes = growth(a, times)
    best = int(np.argmax(sizes))
    found = minimize_scalar(
        lambda t: -np.linalg.norm(expm(t * a), 2),
        bounds=(times[max(best - 1, 0)], times[min(best + 1, len(times) - 1)]),
        options={"xatol": 1e-10 * times[best]},
    )
    return float(found.x), float(-found.fun)


def bialternate(a: ArrayLike) -> Array:
    """The matrix of x∧y ↦ Ax∧y + x∧Ay: its eigenvalues are the sums of two eigenvalues of A, each pair once.

    Examples
    --------
    >>> bialternate(np.diag([1.0, 2.0, 4.0])).diagonal().tolist()
    [3.0, 5.0, 6.0]
    """
    a = _square(a, "a", largest=HUGE)
    first, second = np.triu_indices(len(a), 1)
    eye = np.eye(len(a))
    p, q, r, s = first[:, None], second[:, None], first, second
    return np.asarray(
        a[p, r] * eye[q, s] + eye[p, r] * a[q, s] - a[p, s] * eye[q, r] - eye[p, s] * a[q, r]
    )


def pencil_roots(constant: ArrayLike, slope: ArrayLike) -> NDArray[np.complex128]:
    """Every finite s with det(constant + s·slope) = 0; for a singular pencil, some spurious ones too.

    Examples
    --------
    >>> pencil_roots(np.diag([1.0, -3.0]), np.diag([0.0, 2.0])).real.tolist()
    [1.5]
    """
    constant = _square(constant, "constant", largest=HUGE)
    slope = check.array("slope", slope, constant.shape, largest=HUGE)
    above, below = eigvals(constant, -slope, homogeneous_eigvals=True)
    finite = np.abs(below) > EPS * np.abs(above)
    return np.asarray(above[finite] / below[finite])


def sign_changes(function: Callable[[float], float], points: ArrayLike, noise: ArrayLike) -> Array:
    """Where a function changes sign between neighbouring points; values within `noise` of zero have none.

    Examples
    --------
    >>> sign_changes(lambda x: x * (x - 1.0), np.array([-1.0, 0.0, 0.5, 2.0]), 1e-9).round(9).tolist()
    [0.0, 1.0]
    """

    def number(point: float) -> float:
        try:
            value = float(function(point))
        except TypeError:
            raise ValueError(
                f"function is {check.brief(function)}; it should take and return a number"
            ) from None
        if value != value:  # of which one could not say that it has no change of sign
            raise ValueError(
                f"function is {check.brief(function)}, which is NaN at {point}; it should be a number"
            )
        return value

    places = check.array("points", points, (None,), largest=np.inf)
    values = np.array([number(place) for place in places])
    signed = np.abs(values) > check.array(
        "noise", noise, places.shape[: check.dimensions(noise)], largest=np.inf
    )
    places, values = places[signed], values[signed]
    changes = np.flatnonzero(np.sign(values[1:]) != np.sign(values[:-1]))
    return np.array(
        [
            brentq(number, places[i], places[i + 1], xtol=4.0 * EPS, maxiter=MOST_STEPS)
            for i in changes
        ]
    )


def _deflate(constant: Array, slope: Array, noise: float) -> tuple[Array, Array]:
    """The pair without the null vectors that both share, on the right and on the left, repeated until none are left.

    If A_σN = 0 for all σ, then A_σ is block triangular in the basis (N, its complement), and the eigenvalues that are
    not zero belong to the block on the complement; likewise on the left.
    """
    while len(constant):
        for side in (np.vstack([constant, slope]), np.vstack([constant.T, slope.T])):
            _, values, right = np.linalg.svd(side)
            keep = right[values > noise]
            if len(keep) < len(constant):
                constant, slope = keep @ constant @ keep.T, keep @ slope @ keep.T
                break
        else:
            return constant, slope
    return constant, slope


def critical_sigma(problem: LinearPrediction, lam: float) -> Array:
    """Every σ in [0, 1] at which the spectral abscissa of A_σ changes sign, sorted; possibly empty.

    Eigenvalues that are zero for every σ do not count (features of deficient rank, Baird's star). A touch of zero
    without a change of sign is not reported. Complete for up to 24 dimensions of the row space; beyond that, two
    crossings of complex pairs within 1/256 of each other can be missed.

    Parameters
    ----------
    problem : PredictionProblem
    lam : float in [0, 1]

    Returns
    -------
    ndarray

    Examples
    --------
    >>> from gqlib.domains import two_state
    >>> critical_sigma(two_state(0.9).problem, 0.0).round(6).tolist()
    [0.296296]
    >>> critical_sigma(two_state(0.99).problem, 0.99).tolist()
    []
    """
    check.instance("problem", problem, LinearPrediction)
    basis = problem.row_basis
    if len(basis) == 0:
        return np.empty(0)
    low, high = (basis @ problem.A(sigma, lam) @ basis.T for sigma in (0.0, 1.0))
    scale = max(np.linalg.norm(low, 2), np.linalg.norm(high, 2))
    noise = ROUNDING * problem.n * EPS * scale
    low, slope = _deflate(low, high - low, noise)
    order = len(low)
    if order == 0:
        return np.empty(0)
    # Null vectors that rotate with σ escape the deflation; their eigenvalue is zero at every probe.
    zeros = min(int((np.abs(np.linalg.eigvals(low + s * slope)) < noise).sum()) for s in PROBES)

    def abscissa(sigma: float) -> float:
        values = np.linalg.eigvals(low + sigma * slope)
        kept = values[np.argsort(np.abs(values))[zeros:]]
        return float(kept.real.max(initial=-np.inf))

    roots = pencil_roots(low, slope)
    if 1 < order <= EXACT_UP_TO:
        roots = np.concatenate([roots, pencil_roots(bialternate(low), bialternate(slope))])
    inside = (np.abs(roots.imag) < np.sqrt(EPS)) & (roots.real > 0.0) & (roots.real < 1.0)
    knots = np.unique(np.concatenate([np.linspace(0.0, 1.0, GRID + 1), roots.real[inside]]))
    # One point inside each gap between candidates: there the sign is constant, unless a crossing was left to the grid.
    points = np.concatenate([[0.0], (knots[1:] + knots[:-1]) / 2.0, [1.0]])
    return sign_changes(abscissa, points, noise)


def joint(a: ArrayLike, m: ArrayLike, v: ArrayLike, eta: float) -> Array:
    """[[A, −V], [ηA, −ηM]] from its blocks, or from stacks of blocks; V = M + Aᵀ where Proposition 1 holds.

    Examples
    --------
    >>> joint(np.array([[1.0]]), np.array([[2.0]]), np.array([[3.0]]), 10.0).tolist()
    [[1.0, -3.0], [10.0, -20.0]]
    """
    rows = np.shape(a)[:-1] if check.dimensions(a) > 1 else (None,)
    a, eta = check.array("a", a, (*rows, rows[-1]), largest=HUGE), check.scalar("eta", eta)
    m, v = (check.array(name, value, a.shape, largest=HUGE) for name, value in (("m", m), ("v", v)))
    return np.block([[a, -v], [eta * a, -eta * m]])


def joint_matrix(problem: LinearPrediction, sigma: float, lam: float, eta: float) -> Array:
    """J of the mean update of (θ, ω) with β = ηα, (2d, 2d): [[A, −γE[v]], [ηA, −ηM]], Eqs. (25)–(26).

    Examples
    --------
    >>> from gqlib.domains import two_state
    >>> joint_matrix(two_state(0.9).problem, 0.0, 0.0, 2.0)[:, 0].round(4).tolist()
    [0.1, 0.675, 0.2, 1.35]
    """
    check.instance("problem", problem, LinearPrediction)
    eta = check.scalar("eta", eta, low=0.0)
    return joint(problem.A(sigma, lam), problem.M, problem.gamma_v(sigma, lam), eta)


def phase_diagram(problem: LinearPrediction, sigmas: ArrayLike, lams: ArrayLike) -> Array:
    """Spectral abscissa of A_σ on the row space of Ξ^½Φ, (lams, sigmas).

    Examples
    --------
    >>> from gqlib.domains import two_state
    >>> phase_diagram(two_state(0.9).problem, [0.0, 0.5], [0.0]).round(5).tolist()
    [[0.1, -0.06875]]
    """
    check.instance("problem", problem, LinearPrediction)
    columns, rows = check.array("sigmas", sigmas, (None,)), check.array("lams", lams, (None,))
    if (rows < 0.0).any() or (rows > 1.0).any():
        raise ValueError(f"lams is {check.brief(lams)}; every entry should be in [0, 1]")
    basis = problem.row_basis
    if len(basis) == 0:
        raise ValueError(
            "problem has features that are zero wherever it goes; some should not be, or A has no range"
        )
    return np.array(
        [
            [spectral_abscissa(basis @ problem.A(sigma, lam) @ basis.T) for sigma in columns]
            for lam in rows
        ]
    )
