"""Control: the mountain car of Section 5.2 as data and the call that runs it, and agents for problems of your own.

``setting``      `ControlSetting`, everything that determines a result except the seed
``run``          `run_control`, by the compiled engine or by its dense reference
``engine``       from a setting of the car to one of `gqlib.engine`, and back
``tile_tables``  tile coding of the car's state box as one look-up table
``corrected``    the variants of the corrected method on the same car
``features``     tiles for boxes, tables for what can be numbered
``schedules``    rates that change while an agent learns
``agent``        a learner with `act` and `learn`
``gym``          the loops for Gymnasium environments
``vector``       many runs at once in a vectorised environment
"""

from gqlib.control.run import ControlResult, run_control
from gqlib.control.setting import ControlSetting

__all__ = ["ControlResult", "ControlSetting", "run_control"]
