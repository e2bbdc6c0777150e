"""gqlib: the library behind the executable critical edition of *Gradient Q(σ, λ)*.

`import gqlib` loads only numpy and scipy; sympy, matplotlib and numba are loaded by the modules that need them.
"""

from gqlib.mdp import FiniteMDP, stationary_distribution
from gqlib.prediction import PredictionProblem

__version__ = "0.2.0"

__all__ = ["FiniteMDP", "PredictionProblem", "__version__", "stationary_distribution"]
