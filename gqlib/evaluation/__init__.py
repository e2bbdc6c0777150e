"""Policy evaluation: settings as data, the calls that run them, and what is measured (Section 5.1).

``setting``   `PredictionSetting`, everything that determines a run
``run``       `run_prediction`, by the compiled engine or step by step
``measures``  MSPBE, exact and from data; errors of values; LSTD
``grids``     many step sizes and σ on shared trajectories
``curves``    learning curves by label, and late scores
"""

from gqlib.evaluation.run import PredictionResult, histories, measured_problem, run_prediction
from gqlib.evaluation.setting import PredictionSetting

__all__ = [
    "PredictionResult",
    "PredictionSetting",
    "histories",
    "measured_problem",
    "run_prediction",
]
