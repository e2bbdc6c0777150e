"""Table 2 and Figures 4 and 5 once more, with the coder that the paper names and with another hash for every run.

The paper's footnote names the RLtoolkit's tile coder, which draws a table of random numbers when it is loaded; the
first edition used tiles3, whose hash is a fixed function, so that all runs of a setting met the same collisions. Here
every run draws its own: from the RLtoolkit's coder (``rltoolkit``), and from tiles3 with a random salt (``salted``).
Everything else is as in `gqlib.experiments.mountain_car`. All settings share the seed, run i of both coders the same
starts and exploration, and run i of one coder the same tiles, whatever σ, so differences are paired.
"""

from __future__ import annotations

from gqlib.control.setting import TARGETS, ControlSetting
from gqlib.experiments.mountain_car import (
    FEW_MEANS,
    FIXED_SIGMAS,
    SIZES,
    TABLE_ALPHAS,
    TABLE_SIZES,
    control_experiment,
    control_grid,
    dynamic_fields,
    fixed_fields,
    paper_sigmas,
)
from gqlib.sweeps.sweep import Experiment

__all__ = ["CODERS", "both_coders"]

CODERS = ("rltoolkit", "salted")


def both_coders() -> Experiment:
    """Every setting of Table 2 and of Figures 4 and 5, for both coders.

    Examples
    --------
    >>> len(both_coders().settings)  # 2 coders times 612 of Table 2, 56 more sizes, 32 more ways and twins
    1400
    """
    common = {"memory": CODERS, "target": TARGETS, "alpha": TABLE_ALPHAS}
    table = control_grid(paper_sigmas(), **common, p=TABLE_SIZES)
    small = tuple(size for size in SIZES if size not in TABLE_SIZES)
    seven = [*fixed_fields(0.0), *dynamic_fields(*FEW_MEANS), *fixed_fields(1.0)]
    settings: tuple[ControlSetting, ...] = (
        *table,
        *control_grid(seven, **common, p=small),
        *control_grid(fixed_fields(*FIXED_SIGMAS[1:-1]), **common),
        *control_grid(fixed_fields(*FIXED_SIGMAS), method=("semi-gradient",), **common),
    )
    return control_experiment(
        "coders",
        "Table 2 and Figures 4 and 5 with tiles that are drawn for each run",
        settings,
        summary="control in blocks",
    )
