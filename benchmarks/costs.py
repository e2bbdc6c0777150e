"""What a step of each learner of *Which method, then?* costs beside Sarsa(λ): ``python -m benchmarks --costs FILE``.

All run on the mountain car of the engine, at one setting that none of them was tuned to, measured in turn; a step is
the environment, the tiles, the choice and the learning. The file holds ratios and the month, so that the chapter prints
what was measured and nothing is typed. A learner that diverges at that setting has no time: what it does after that is
not learning.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import general
from benchmarks.timing import Tell, side_by_side
from gqlib import _validate as check
from gqlib.engine import EngineSetting, run_setting
from gqlib.experiments.today_control import BASELINE, ROWS

NUMBERS: dict[str, Any] = {"lam": 0.8, "alpha": 1 / 32, "eta": 1 / 64, "kappa": 1.0}
NUMBERS |= {
    "episodes": 1000,
    "max_steps": 1000,
}  # so many that making the tables of a run does not count
BARE, SEED = "the same without learning", 1


def learners(**changes: Any) -> dict[str, EngineSetting]:
    """A setting for each row of the chapter, without those that differ in what is searched and not in what they do.

    Examples
    --------
    >>> settings = learners(episodes=1)
    >>> len(settings), settings["Sarsa(λ)"].learner, settings["Sarsa(λ)"].episodes
    (14, 'sarsa', 1)
    """
    found: dict[EngineSetting, str] = {}
    for name, row in ROWS.items():
        numbers = NUMBERS | {"target": row.target, "sigma": row.sigma} | changes
        found.setdefault(EngineSetting("mountain_car", row.learner, **numbers), name)
    return {name: setting for setting, name in found.items()}


def costs(
    repeats: int = 7, tell: Tell = lambda *row: None, **changes: Any
) -> dict[str, float | None]:
    """Time per step relative to Sarsa(λ), by learner (None if it diverges), and of the loop without learning.

    Parameters
    ----------
    repeats : int
        Measurements, of which the best counts.
    tell : callable
        Called with every row: "time", the name and nanoseconds per step.
    **changes
        Of the fields of all settings.
    """
    repeats = check.integer("repeats", repeats, low=1)
    settings = learners(**changes)
    works: dict[str, Callable[[], int]] = {}
    for name, setting in settings.items():
        if run_setting(setting, 1, SEED).diverged.any():
            tell("absent", f"{name}: diverges at this setting", 0.0)
        else:
            works[name] = general.general(setting, SEED)
    works[BARE] = general.without_learning(settings[BASELINE])
    times = side_by_side(works, repeats)
    for name, value in times.items():
        tell("time", name, value)
    return {
        name: times[name] / times[BASELINE] if name in times else None for name in [*settings, BARE]
    }


def write_costs(path: Path, repeats: int, tell: Tell = lambda *row: None) -> Path:
    """Measure, and write ratios of two decimals and the month to a file; returns its path."""
    path = check.path("path", path)
    found = costs(repeats, tell)
    relative = {name: None if value is None else round(value, 2) for name, value in found.items()}
    said = {
        "measured": time.strftime("%Y-%m"),
        "repeats": repeats,
        "setting": NUMBERS,
        "relative": relative,
    }
    path.write_text(json.dumps(said, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return path
