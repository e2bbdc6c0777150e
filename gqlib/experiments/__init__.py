"""The experiments of the paper as data, by name: which settings, how many runs, which seed.

``printed``               what the paper prints: its numbered objects and two tables
``figure2``               semi-gradient Q(σ, λ) on the two-state counterexample
``figure3``               policy evaluation: the protocol, the search, the settings shown
``figure3_rules``         what the search for its step sizes chose, by rules
``mountain_car``          Figures 4 and 5, Tables 1 and 2, the sensitivity study, two more coders
``mountain_car_results``  what results keep of the car's runs, measures, tables, reports
``search``                the one rule of every search for step sizes
``search_one_hash``       every method on the car at step sizes of its own: rows, grids, choices
``search_drawn_tiles``    the same with tiles that are drawn for each run, in two stages
``today``                 what is used today: exact maps, Figure 1 of the TDRC paper, Collision
``today_control``         the same in control: the search for step sizes, and what it chose
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gqlib._validate import choice
from gqlib.sweeps.names import TABLE, look_up

if TYPE_CHECKING:
    from gqlib.sweeps.sweep import Experiment

__all__ = ["REGISTRY", "load_experiment"]

# Name of an experiment and the function that describes it; modules are loaded when they are needed.
REGISTRY = TABLE["experiment"]


def load_experiment(name: str) -> Experiment:
    """Return the experiment called `name`, one of the keys of ``REGISTRY``.

    Examples
    --------
    >>> len(load_experiment("table2").settings)
    612
    """
    found: Experiment = look_up("experiment", choice("name", name, tuple(REGISTRY)))()
    return found
