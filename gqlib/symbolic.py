r"""The sympy twins of `gqlib.prediction`: exact rationals and symbols in, closed forms out.

The same objects under the same names, so that each closed form can be set beside its float64 twin:

    X   = (I − γλ P_traceᵀ)⁻¹ Ξ Φ                                  trace weights, ξ_i E[e_k | i]
    A_σ = Xᵀ (γ[P^π + σ(P^μ − P^π)] − I) Φ                         (before Eq. (15))
    b   = Xᵀ r                                                     (Eq. (15), corrected)
    γE[v_σ] = γ [(1−σ)P^πΦ + (σ−λ)P^μΦ]ᵀ X                         (from Eq. (23))

Linear systems are solved over the field of rational functions of the symbols (`DomainMatrix`), which is exact and,
unlike elimination followed by simplification, fast enough for chains in which every probability is a symbol.
Floats are refused: 0.99 is not 99/100.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from gqlib import _validate as check
from gqlib._validate import Array
from gqlib.prediction import PredictionProblem

with check.package("sympy", "symbolic"):
    import sympy as sp
    from sympy.polys.matrices import DomainMatrix
    from sympy.polys.matrices.exceptions import DMNonInvertibleMatrixError

__all__ = [
    "GAMMA",
    "LAM",
    "SIGMA",
    "SymbolicProblem",
    "critical_values",
    "eigenvalues",
    "exact",
    "exact_matrix",
    "pair_chain",
    "solve",
    "stationary_law",
    "to_array",
    "twin",
]

# A float64 that stands for a simple fraction is off by rounding alone, a few units of 1e-16 after a linear solve.
READING_TOLERANCE = 1e-14

SIGMA, LAM, GAMMA = sp.symbols("sigma lambda gamma", nonnegative=True)


_NO_NUMBERS = (sp.nan, sp.zoo, sp.oo, -sp.oo)


def exact(name: str, value: Any) -> sp.Expr:
    """An exact number or expression; a string such as "0.99" is read as the fraction that it spells.

    Examples
    --------
    >>> exact("gamma", "0.99")
    99/100
    """
    check.instance("name", name, str)
    if isinstance(value, str):
        try:
            return sp.Rational(value)
        except (TypeError, ValueError, ZeroDivisionError):
            raise ValueError(
                f"{name} is {check.brief(value)}; it should spell a fraction or a decimal"
            ) from None
    if isinstance(value, Fraction):
        return sp.Rational(value.numerator, value.denominator)
    if isinstance(value, float | np.floating) or (
        isinstance(value, sp.Expr) and value.has(sp.Float)
    ):
        raise ValueError(
            f"{name} is {check.brief(value)}; it should be exact: a Rational, a symbol or a string"
        )
    if isinstance(value, int | np.integer | sp.Expr) and not isinstance(value, bool):
        number = sp.sympify(value)
        if not number.has(*_NO_NUMBERS):
            return number
    raise ValueError(
        f"{name} is {check.brief(value)}; it should be exact: a Rational, a symbol or a string"
    )


def exact_matrix(name: str, value: Any) -> sp.Matrix:
    """A sympy matrix with exact entries; a flat sequence becomes a column.

    Examples
    --------
    >>> exact_matrix("xi", ["1/3", "2/3"]).T
    Matrix([[1/3, 2/3]])
    """
    check.instance("name", name, str)
    try:
        entries = (
            sp.Matrix(value)
            if isinstance(value, sp.MatrixBase)
            else sp.Matrix(_listed(name, value))
        )
    except (TypeError, ValueError, IndexError):
        raise ValueError(
            f"{name} is {check.brief(value)}; its value should be a matrix of exact numbers"
        ) from None
    return entries.applyfunc(lambda entry: exact(name, entry))


def _is_listed(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.ndim > 0
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def _listed(name: str, value: Any, deep: int = 2) -> Any:
    """Nested lists, whose strings and fractions become exact sympy numbers before sympy itself reads them."""
    if deep and _is_listed(value):
        return [_listed(name, entry, deep - 1) for entry in value]
    return exact(name, value)


def _square(name: str, matrix: sp.Matrix) -> sp.Matrix:
    """A square sympy matrix with exact entries."""
    square = exact_matrix(name, matrix)
    if square.rows != square.cols or not square.rows:
        raise ValueError(f"{name} has shape {square.shape}; it should be square")
    return square


def solve(matrix: sp.Matrix, right: sp.Matrix) -> sp.Matrix:
    """X with matrix·X = right, exactly: polynomials over one common denominator, not in lowest terms.

    Examples
    --------
    >>> solve(sp.Matrix([[1 + GAMMA]]), sp.Matrix([[1 - GAMMA**2]])).applyfunc(sp.cancel)
    Matrix([[1 - gamma]])
    """
    matrix, right = _square("matrix", matrix), exact_matrix("right", right)
    if right.rows != matrix.rows:
        raise ValueError(
            f"right has shape {right.shape}; it should have {matrix.rows} rows, as matrix has"
        )
    a, b = DomainMatrix.from_Matrix(matrix).unify(DomainMatrix.from_Matrix(right), fmt="sparse")
    try:
        numerators, denominator = a.solve_den(b)
    except DMNonInvertibleMatrixError:
        raise ValueError(f"matrix is {check.brief(matrix)}; it should be regular") from None
    return numerators.to_Matrix() / numerators.domain.to_sympy(denominator)


def stationary_law(chain: sp.Matrix) -> sp.Matrix:
    """ξ (a column) with ξᵀP = ξᵀ and Σξ = 1.

    Examples
    --------
    >>> half = sp.Rational(1, 2)
    >>> list(stationary_law(sp.Matrix([[half, half], [1, 0]])))
    [2/3, 1/3]
    """
    chain = _square("chain", chain)
    n = chain.rows
    balance = (chain.T - sp.eye(n)).tolist()
    balance[-1] = [1] * n  # the balance equations sum to zero, so one of them makes room for Σξ = 1
    return solve(sp.Matrix(balance), sp.Matrix([0] * (n - 1) + [1])).applyfunc(sp.cancel)


def pair_chain(
    transitions: Sequence[Sequence[Sequence[Any]]], policy: Sequence[Sequence[Any]]
) -> sp.Matrix:
    """P[(s,a),(s',a')] = P(s'|s,a) policy(a'|s'), pair index s·A + a: the twin of `FiniteMDP.pair_chain`.

    Examples
    --------
    >>> pair_chain([[["1/3", "2/3"]], [[1, 0]]], [[1], [1]])
    Matrix([
    [1/3, 2/3],
    [  1,   0]])
    """
    weights = exact_matrix("policy", policy)
    rows = (
        [exact_matrix("transitions", actions) for actions in transitions]
        if _is_listed(transitions)
        else []
    )
    if (
        not rows
        or any(actions.shape != (weights.cols, len(rows)) for actions in rows)
        or weights.rows != len(rows)
    ):
        raise ValueError(
            f"transitions is {check.brief(transitions)}, policy {check.brief(policy)}; "
            "they should have shapes (S, A, S) and (S, A)"
        )
    return sp.Matrix.vstack(
        *(
            sp.Matrix.hstack(*(actions[a, s] * weights[s, :] for s in range(len(rows))))
            for actions in rows
            for a in range(weights.cols)
        )
    )


@dataclass(frozen=True)
class SymbolicProblem:
    """The twin of `PredictionProblem`: features (n, d), chains (n, n), rewards and xi (columns), gamma.

    Examples
    --------
    One state, one action, reward 1: the fixed point is 1/(1 − γ), whatever λ is.

    >>> one = sp.Matrix([[1]])
    >>> p = SymbolicProblem(one, one, one, rewards=one, xi=one, gamma=GAMMA)
    >>> p.A(SIGMA, 0), (-p.A().inv() * p.b()).applyfunc(sp.factor)
    (Matrix([[gamma - 1]]), Matrix([[-1/(gamma - 1)]]))
    >>> (p.gamma_v() - p.M - p.A().T).applyfunc(sp.simplify), p.trace_weights(0)
    (Matrix([[0]]), Matrix([[1]]))
    """

    features: sp.Matrix
    p_mu: sp.Matrix
    p_pi: sp.Matrix
    rewards: sp.Matrix
    xi: sp.Matrix
    gamma: sp.Expr
    p_trace: sp.Matrix | None = None

    def trace_weights(self, lam: sp.Expr = LAM) -> sp.Matrix:
        """X = (I − γλ P_traceᵀ)⁻¹ Ξ Φ: row i is ξ_i E[e_k | index i at k]."""
        carry = self.p_mu if self.p_trace is None else self.p_trace
        weighted = sp.diag(*self.xi) * self.features
        return solve(sp.eye(carry.rows) - self.gamma * exact("lam", lam) * carry.T, weighted)

    def A(self, sigma: sp.Expr = SIGMA, lam: sp.Expr = LAM) -> sp.Matrix:
        """A_σ, the line before Eq. (15), entries in lowest terms."""
        mixed = self.p_pi + exact("sigma", sigma) * (self.p_mu - self.p_pi)
        return (
            self.trace_weights(lam).T * (self.gamma * mixed * self.features - self.features)
        ).applyfunc(sp.cancel)

    def b(self, lam: sp.Expr = LAM) -> sp.Matrix:
        """b, Eq. (15) corrected: there is no σ in it."""
        return (self.trace_weights(lam).T * self.rewards).applyfunc(sp.cancel)

    @property
    def M(self) -> sp.Matrix:
        """M = Φᵀ Ξ Φ."""
        return self.features.T * sp.diag(*self.xi) * self.features

    def gamma_v(self, sigma: sp.Expr = SIGMA, lam: sp.Expr = LAM) -> sp.Matrix:
        """γE[v_σ], from the definition (23)."""
        sigma, lam = exact("sigma", sigma), exact("lam", lam)
        mixed = (1 - sigma) * self.p_pi * self.features + (sigma - lam) * self.p_mu * self.features
        return (self.gamma * mixed.T * self.trace_weights(lam)).applyfunc(sp.cancel)


def twin(
    problem: PredictionProblem, *, gamma: Any = GAMMA, largest_denominator: int = 1000
) -> SymbolicProblem:
    """The exact twin of a problem whose numbers are fractions with small denominators; γ becomes a symbol.

    Parameters
    ----------
    problem : PredictionProblem
    gamma : exact, optional
        γ of the twin; `None` reads that of the problem.
    largest_denominator : int

    Raises
    ------
    ValueError
        If a number of the problem is not the float64 of such a fraction.

    Examples
    --------
    >>> from gqlib.domains import two_state
    >>> twin(two_state(0.9).problem, gamma=None).A(0, 0)
    Matrix([
    [ 1/10,    0],
    [27/40, -5/4]])
    """
    check.instance("problem", problem, PredictionProblem)
    largest_denominator = check.integer("largest_denominator", largest_denominator, low=1)

    def read(name: str, values: Any) -> sp.Matrix:
        fractions = sp.Matrix(np.asarray(values).tolist()).applyfunc(
            lambda x: sp.Rational(Fraction(float(x)).limit_denominator(largest_denominator))
        )
        error = float(
            np.abs(
                np.array(fractions.tolist(), dtype=float).reshape(np.shape(values)) - values
            ).max()
        )
        if error > READING_TOLERANCE * max(1.0, float(np.abs(values).max())):
            raise ValueError(
                f"{name} is off its fractions by {error:.2g}; its entries should be fractions with denominators "
                f"up to largest_denominator, {largest_denominator}"
            )
        return fractions

    return SymbolicProblem(
        read("features", problem.features),
        read("p_mu", problem.p_mu),
        read("p_pi", problem.p_pi),
        read("rewards", problem.rewards),
        read("xi", problem.xi),
        read("gamma", np.array([problem.gamma]))[0] if gamma is None else exact("gamma", gamma),
        read("p_trace", problem.p_trace),
    )


def eigenvalues(matrix: sp.Matrix) -> list[sp.Expr]:
    """Eigenvalues in closed form, with multiplicity, by factoring the characteristic polynomial over the rationals.

    A factor of degree one gives a rational function, a factor of degree two the two roots of the quadratic formula.

    Raises
    ------
    ValueError
        If a factor of degree three or more is left.

    Examples
    --------
    >>> eigenvalues(sp.Matrix([[0, 1], [4, 0]])), eigenvalues(sp.Matrix([[0, 1], [GAMMA, 0]]))
    ([2, -2], [-sqrt(gamma), sqrt(gamma)])
    """
    matrix = _square("matrix", matrix)
    unknown = sp.Dummy("s")
    numerator, _ = sp.fraction(
        sp.together((unknown * sp.eye(matrix.rows) - matrix).det(method="berkowitz"))
    )
    found = []
    for factor, multiplicity in sp.factor_list(numerator)[1]:
        coefficients = [sp.factor(c) for c in sp.Poly(factor, unknown).all_coeffs()]
        if len(coefficients) == 2:
            found += multiplicity * [sp.factor(-coefficients[1] / coefficients[0])]
        elif len(coefficients) == 3:
            a, b, c = coefficients
            root = sp.sqrt(sp.expand(b**2 - 4 * a * c))
            found += multiplicity * [(-b - root) / (2 * a), (-b + root) / (2 * a)]
        elif len(coefficients) > 3:
            raise ValueError(
                f"matrix leaves a factor of degree {len(coefficients) - 1}; closed forms go up to two"
            )
    return found


def critical_values(matrix: sp.Matrix, symbol: sp.Symbol = SIGMA) -> list[sp.Expr]:
    """The values of `symbol` at which det(matrix) = 0: where a real eigenvalue crosses zero.

    Examples
    --------
    >>> critical_values(sp.Matrix([[SIGMA - GAMMA]]))
    [gamma]
    """
    matrix = _square("matrix", matrix)
    check.instance("symbol", symbol, sp.Symbol)
    numerator, _ = sp.fraction(sp.together(matrix.det(method="berkowitz")))
    return [sp.factor(root) for root in sp.solve(sp.factor(numerator), symbol)]


def to_array(matrix: sp.Matrix, values: Mapping[Any, Any]) -> Array:
    """The float64 array of a matrix after substitution, evaluated exactly before it is rounded.

    Examples
    --------
    >>> to_array(sp.Matrix([[GAMMA / 2]]), {GAMMA: "0.99"}).tolist()
    [[0.495]]
    """
    numbers = {
        symbol: exact("values", value) for symbol, value in check.members("values", values).items()
    }
    matrix = exact_matrix("matrix", matrix)
    left = matrix.free_symbols - set(numbers)
    if left:
        raise ValueError(
            f"values has no number for {', '.join(sorted(map(str, left)))}; every symbol should have one"
        )
    return np.array(matrix.subs(numbers).tolist(), dtype=np.float64)
