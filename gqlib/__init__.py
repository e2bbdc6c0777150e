"""gqlib: the library behind the executable critical edition of *Gradient Q(σ, λ)*.

`import gqlib` loads only numpy and scipy; sympy, matplotlib and numba are loaded by the modules that need them. Modules
are attributes without an import of their own, and are loaded when they are first used: ``gqlib.stability``.
"""

import importlib
import pkgutil
from types import ModuleType

from gqlib.mdp import FiniteMDP, stationary_distribution
from gqlib.prediction import PredictionProblem

__version__ = "0.2.0"

__all__ = ["FiniteMDP", "PredictionProblem", "__version__", "stationary_distribution"]


def _modules() -> set[str]:
    """The public modules and packages of the library, found in its directory."""
    return {
        module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_")
    }


def __dir__() -> list[str]:
    return sorted({*__all__, *_modules()})


def __getattr__(name: str) -> ModuleType:
    if name in _modules():
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
