"""What is used today to learn values off-policy: each method's exact mean, its noise and one sampled step.

``task``       state values or action values on one chain of pairs
``catalogue``  the methods as three choices: trace, error, update
``mean``       A, b, the correction and the joint matrix J(η)
``noise``      the long-run covariance of the increments
``limits``     stable ratios, the largest step, the error of the fixed point, the price of speed
``steps``      one step of each, and many runs at once
"""

from gqlib.methods.catalogue import METHODS, Method
from gqlib.methods.limits import Limits, eta_star, limits, ratio_windows
from gqlib.methods.mean import Means, fixed_point, joint_of, means
from gqlib.methods.noise import increment_covariance
from gqlib.methods.steps import Ensemble, run_method
from gqlib.methods.task import Task, Walks

__all__ = [
    "METHODS",
    "Ensemble",
    "Limits",
    "Means",
    "Method",
    "Task",
    "Walks",
    "eta_star",
    "fixed_point",
    "increment_covariance",
    "joint_of",
    "limits",
    "means",
    "ratio_windows",
    "run_method",
]
