r"""The live map of Part V: method × λ × problem, stable or not at a ratio η, and the error of the fixed point.

The numbers are those of ``today.npz``, which are exact and committed (`gqlib.experiments.today`): a mean converges if
the spectral abscissa of its joint matrix is negative, and the error is that of the values at the fixed point, root mean
square over the behaviour's visits; it does not depend on η. The block holds them as they are in the file, to four
digits; nothing is computed in the page.

`method_map.js` among the book's static files draws the live figure with the tools of `explorables.js`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from gqlib import _validate as check
from kit.explore import Explorable, Preset, Slider, _show

if TYPE_CHECKING:
    import xarray

__all__ = ["map_rows", "show_method_map"]

DIGITS = 4


def map_rows(maps: xarray.Dataset, problem: str) -> dict[str, dict[str, list[Any]]]:
    """What the map shows of a problem: for each method its λ, whether it is stable at each (λ, η), and its error.

    Parameters
    ----------
    maps : xarray.Dataset
        The result of ``today``.
    problem : str
        One of its problems.

    Returns
    -------
    dict
        By method: ``lams``, ``stable`` (one list of 0 and 1 over η for each λ) and ``errors`` (one for each λ).

    Examples
    --------
    >>> import xarray
    >>> coords = {"problem": ("setting", ["star"]), "method": ("setting", ["TD(λ)"]), "lam": ("setting", [0.4])}
    >>> dims = ("setting", "run", "eta")
    >>> data = {"abscissa": (dims, [[[0.1, -0.1]]]), "error": (dims, [[[2.0, 2.0]]])}
    >>> map_rows(xarray.Dataset(data, coords | {"eta": [1.0, 8.0]}), "star")
    {'TD(λ)': {'lams': [0.4], 'stable': [[0, 1]], 'errors': [2.0]}}
    """
    check.labelled("maps", maps, "problem", "method", "lam", "eta", "abscissa", "error")
    check.choice("problem", problem, tuple(dict.fromkeys(maps["problem"].values.tolist())))
    found: dict[str, dict[str, list[Any]]] = {}
    for k in np.flatnonzero(maps["problem"].values == problem):
        row = found.setdefault(
            str(maps["method"].values[k]), {"lams": [], "stable": [], "errors": []}
        )
        row["lams"].append(float(maps["lam"].values[k]))
        row["stable"].append([int(x < 0.0) for x in maps["abscissa"].values[k, 0]])
        row["errors"].append(float(f"{maps['error'].values[k, 0, 0]:.{DIGITS}g}"))
    return found


def map_explorable(maps: xarray.Dataset) -> Explorable:
    """The map as data for the page: one table per problem, and the ratios."""
    problems = tuple(dict.fromkeys(maps["problem"].values.tolist()))
    powers = np.log10(maps["eta"].values)
    formulas = {
        name: f"() => ({json.dumps(map_rows(maps, name), ensure_ascii=False)})" for name in problems
    }
    ratio = Slider("eta", "η", round(float(powers[0]), 3), round(float(powers[-1]), 3), 0.0,
                   round(float(powers[1] - powers[0]), 3), log=True)  # fmt: skip
    return Explorable(
        "method-map",
        "Methods by λ on a problem: for each, whether its mean converges at the ratio η that is set, and the value "
        "error of its fixed point; and that error against λ for the method that is picked",
        (ratio,),
        formulas | {"etas": f"() => {maps['eta'].values.tolist()}"},
        problems,
        "Pick a method by its button; problem and η are above.",
        "Method × λ at the problem and the ratio η that you set. A number is the value error of the fixed point where "
        "the mean of the method converges; a cross on shaded ground says that it does not. (On the star and the two "
        "states all rewards are zero, and so is every error.) For ABTD the column is ζ. Beside it, the error against λ "
        "of the method that you pick (line; dots where stable) and of TD(λ) or, on pairs, Tree Backup(λ) (dashed).",
        (
            Preset("the star at η = 1", {"eta": 1.0}, "star"),
            Preset("the paper's two states", {"eta": 1.0}, "two-state"),
            Preset("a slow ω on the star", {"eta": 0.125}, "star"),
            Preset("Collision", {"eta": 1.0}, "Collision"),
        ),
    )


def show_method_map(figure: str, maps: xarray.Dataset) -> None:
    """Make the static figure of this name live: the map of methods, from the result of ``today``.

    Examples
    --------
    >>> from contextlib import redirect_stdout
    >>> from io import StringIO
    >>> import xarray
    >>> names = dict.fromkeys(("problem", "method"), ("setting", ["star"])) | {"lam": ("setting", [0.4])}
    >>> data = dict.fromkeys(("abscissa", "error"), (("setting", "run", "eta"), [[[0.1, -0.1]]]))
    >>> with redirect_stdout(StringIO()) as shown:
    ...     show_method_map("fig-map", xarray.Dataset(data, names | {"eta": [1.0, 8.0]}))
    >>> 'data-figure="fig-map"' in shown.getvalue()
    True
    """
    check.labelled("maps", maps, "problem", "method", "lam", "eta", "abscissa", "error")
    _show(map_explorable(maps), figure)
