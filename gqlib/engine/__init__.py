"""A compiled engine for control in any environment, with any learner (`gqlib.learners.texts`): both are a few compiled
functions.

``environments``  mountain car, Acrobot, cart-pole, finite chains, and how to write your own
``coders``        tile coding of a box, or features of your own
``runs``          the calls that run them, their result, and a setting for sweeps
"""

from gqlib.engine import environments
from gqlib.engine.coders import Features, Tiles
from gqlib.engine.environments import Environment, draw
from gqlib.engine.runs import EngineResult, EngineSetting, run, run_setting
from gqlib.learners.texts import Learner

__all__ = [
    "EngineResult",
    "EngineSetting",
    "Environment",
    "Features",
    "Learner",
    "Tiles",
    "draw",
    "environments",
    "run",
    "run_setting",
]
