"""The names by which files know what made them.

A result or a stored task says that ``control`` made it and ``control`` summarised it; this table, and nothing in the
file, says which function that is. A file can therefore choose neither what is imported nor what is called, and modules
can move without a change to any file. Names with a colon, ``module:function``, are a user's own: they are called where
the caller passes them (as part of an `Experiment`) or allows them by name, never because a file says so.

Until the second edition, files held the dotted path of a function; `FORMER` says what such a path is called now.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Collection
from typing import Any

from gqlib import _validate as check

__all__ = ["FORMER", "TABLE", "SweepError", "current", "former", "look_up"]


class SweepError(Exception):
    """A sweep cannot start or continue; what is in the store stays there.

    Examples
    --------
    >>> look_up("runner", "math:hypot")
    Traceback (most recent call last):
    gqlib.sweeps.names.SweepError: runner 'math:hypot' is not one of gqlib's; pass allow=['math:hypot'] to run it
    """


_CAR, _TWO, _GRID = (
    "gqlib.experiments.mountain_car",
    "gqlib.experiments.figure2",
    "gqlib.evaluation.grids",
)
_TODAY, _DRIVEN = "gqlib.experiments.today", "gqlib.experiments.today_control"
_RULES = "gqlib.experiments.figure3_rules"
_DONE = "gqlib.experiments.mountain_car_results"

TABLE: dict[str, dict[str, str]] = {
    "runner": {
        "control": f"{_DONE}:control_runs",
        "control grid": "gqlib.control.grids:control_grid_runs",
        "control of today": f"{_DRIVEN}:control_runs",
        "curve": "gqlib.evaluation.curves:curve_runs",
        "any environment": "gqlib.engine.runs:engine_runs",
        "grid": f"{_GRID}:grid_runs",
        "gym": "gqlib.control.gym:gym_runs",
        "map": f"{_TODAY}:map_point",
        "own study": "gqlib.sweeps.own:own_runs",
        "runs of today": f"{_TODAY}:method_runs",
        "two-state": f"{_TWO}:two_state_runs",
    },
    "setting": {
        "control": "gqlib.control.setting:ControlSetting",
        "control grid": "gqlib.control.grids:ControlGrid",
        "control of today": f"{_DRIVEN}:RowSetting",
        "curve": "gqlib.evaluation.setting:PredictionSetting",
        "any environment": "gqlib.engine.runs:EngineSetting",
        "grid": f"{_GRID}:GridSetting",
        "gym": "gqlib.control.gym:GymSetting",
        "map": f"{_TODAY}:MapSetting",
        "own study": "gqlib.sweeps.own:own_setting",
        "runs of today": f"{_TODAY}:RunSetting",
        "two-state": f"{_TWO}:TwoStateSetting",
    },
    "summary": {
        "areas of today": f"{_TODAY}:area_summary",
        "control": f"{_DONE}:control_summary",
        "control grid": "gqlib.control.grids:control_grid_summary",
        "control of today": f"{_DRIVEN}:control_summary",
        "control in blocks": f"{_DONE}:control_summary_in_blocks",
        "control totals": f"{_DONE}:control_totals",
        "control with spread": f"{_DONE}:control_summary_with_spread",
        "curve": "gqlib.evaluation.curves:curve_summary",
        "everything": "gqlib.sweeps.results:keep_all",
        "cells": f"{_GRID}:cell_summary",
        "grid": f"{_GRID}:grid_summary",
        "map": f"{_TODAY}:map_summary",
        "runs of today": f"{_TODAY}:method_summary",
        "scores": f"{_GRID}:score_summary",
        "search of today": f"{_DRIVEN}:search_summary",
        "two-state": f"{_TWO}:two_state_summary",
    },
    "finish": {
        "cases": f"{_DONE}:pooled_cases",
        "open choices": f"{_DONE}:label_open_choices",
    },
    "report": {
        "cases": f"{_DONE}:pooled_report",
        "control": f"{_DONE}:control_report",
        "late errors": f"{_RULES}:late_report",
        "two-state": f"{_TWO}:two_state_report",
    },
    "experiment": {
        "fig2": f"{_TWO}:fig2",
        "fig3-search": "gqlib.experiments.figure3:search",
        "fig3-wide": "gqlib.experiments.figure3:wide",
        "fig3-refine": "gqlib.experiments.figure3:refine",
        "fig3": "gqlib.experiments.figure3:fig3",
        "fig3-curves": "gqlib.experiments.figure3:fig3_curves",
        "fig3-lambdas": "gqlib.experiments.figure3:fig3_lambdas",
        "fig3-kind": "gqlib.experiments.figure3:fig3_kind",
        "fig4": f"{_CAR}:fig4",
        "fig4-lagged": f"{_CAR}:fig4_lagged",
        "fig5": f"{_CAR}:fig5",
        "table1": f"{_CAR}:table1",
        "table2": f"{_CAR}:table2",
        "sensitivity-by-cell": f"{_CAR}:sensitivity_by_cell",
        "coders": "gqlib.experiments.mountain_car:coders",
        "shared-tiles": f"{_CAR}:shared_tiles",
        "control-search": "gqlib.experiments.search_one_hash:control_search",
        "control-wide": "gqlib.experiments.search_one_hash:control_wide",
        "control-tuned": "gqlib.experiments.search_one_hash:control_tuned",
        "control-tuned-rltoolkit": "gqlib.experiments.search_one_hash:control_tuned_rltoolkit",
        "control-search-rltoolkit": "gqlib.experiments.search_drawn_tiles:control_search_rltoolkit",
        "control-search-family": "gqlib.experiments.search_drawn_tiles:control_search_family",
        "control-finals": "gqlib.experiments.search_drawn_tiles:control_finals",
        "control-family": "gqlib.experiments.search_drawn_tiles:control_family",
        "today": f"{_TODAY}:today",
        "today-sigma": f"{_TODAY}:today_sigma",
        "today-figure1": f"{_TODAY}:today_figure1",
        "today-collision": f"{_TODAY}:today_collision",
        "today-search": f"{_DRIVEN}:today_search",
        "today-control": f"{_DRIVEN}:today_control",
    },
}

# Paths in files from the first edition. A path that is not listed here is a user's own.
FORMER: dict[str, dict[str, str]] = {
    "runner": {
        "gqlib.tasks:control_runs": "control",
        "gqlib.grids:grid_runs": "grid",
        "gqlib.gym:gym_runs": "gym",
    },
    "setting": {
        "gqlib.control_setting:ControlSetting": "control",
        "gqlib.grids:GridSetting": "grid",
        "gqlib.gym:GymSetting": "gym",
    },
    "summary": {
        "gqlib.tasks:control_summary": "control",
        "gqlib.tasks:control_summary_with_spread": "control with spread",
        "gqlib.grids:grid_summary": "grid",
        "gqlib.results:keep_all": "everything",
    },
}


def current(kind: str, name: str) -> str:
    """Return the current name for `name`: itself, unless it is a path, present or former, of something in the table.

    Examples
    --------
    >>> current("runner", "gqlib.tasks:control_runs"), current("runner", "control"), current("runner", "mine:runs")
    ('control', 'control', 'mine:runs')
    """
    paths = {path: today for today, path in TABLE[kind].items()} | FORMER.get(kind, {})
    return paths.get(name, name)


def former(kind: str, name: str) -> str | None:
    """Return the path by which files from the first edition know `name`, if they do.

    Examples
    --------
    >>> former("runner", "control"), former("runner", "mine:runs")
    ('gqlib.tasks:control_runs', None)
    """
    return next((path for path, today in FORMER.get(kind, {}).items() if today == name), None)


def look_up(kind: str, name: str, allow: Collection[str] = ()) -> Callable[..., Any]:
    """Return the function (or class) that the table has under `name`, or the user's own, if `allow` names it.

    Parameters
    ----------
    kind : str
        One of the keys of `TABLE`.
    name : str
        A name in the table, or ``"module:function"``.
    allow : collection of str
        The names with a colon that may be imported.

    Raises
    ------
    SweepError
        If the name is neither in the table nor allowed, or is allowed but cannot be found.

    Examples
    --------
    >>> look_up("summary", "everything").__name__, look_up("runner", "math:hypot", allow=["math:hypot"])(3, 4)
    ('keep_all', 5.0)
    """
    check.choice("kind", kind, tuple(TABLE))
    check.instance("name", name, str)
    if isinstance(allow, str):
        raise ValueError(f"allow is {allow!r}; it should be a list of names such as [{allow!r}]")
    if not isinstance(allow, Collection):
        raise ValueError(f"allow is {check.brief(allow)}; it should be a list of names")
    path = TABLE[kind].get(current(kind, name))
    if path is None:
        if ":" not in name:
            known = ", ".join(map(repr, TABLE[kind]))
            raise SweepError(
                f"{kind} is {check.brief(name)}; it should be one of {known}, or 'module:function'"
            )
        if name not in allow:
            raise SweepError(
                f"{kind} {name!r} is not one of gqlib's; pass allow=[{name!r}] to run it"
            )
        path = name
    module, _, attribute = path.partition(":")
    try:
        found: Callable[..., Any] = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError, TypeError) as error:
        here = (
            " (workers cannot import a script or a notebook: put it into a module)"
            if module == "__main__"
            else ""
        )
        raise SweepError(f"cannot find {path!r}: {error}{here}") from error
    return found
