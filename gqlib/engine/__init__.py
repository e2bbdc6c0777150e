"""A compiled engine for control in any environment, with any learner: both are a few compiled functions.

``environments``  mountain car, Acrobot, cart-pole, finite chains, and how to write your own
``coders``        tile coding of a box, or features of your own
``learners``      GQ(σ, λ), its relatives and rivals, and how to write your own
``runs``          the calls that run them, their result, and a setting for sweeps
"""

from gqlib.engine import environments, learners
from gqlib.engine.coders import Features, Tiles
from gqlib.engine.environments import Environment, draw
from gqlib.engine.learners import Learner
from gqlib.engine.runs import EngineResult, EngineSetting, run, run_setting

__all__ = [
    "EngineResult",
    "EngineSetting",
    "Environment",
    "Features",
    "Learner",
    "Tiles",
    "draw",
    "environments",
    "learners",
    "run",
    "run_setting",
]
