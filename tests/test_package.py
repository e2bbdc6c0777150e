"""The package imports little, and what it promises can be imported."""

import importlib
import subprocess
import sys

import pytest

PUBLIC = {
    "gqlib": ["FiniteMDP", "PredictionProblem", "stationary_distribution"],
    "gqlib.learners": ["semi_gradient_step", "gq_step", "gq_step_lagged"],
    "gqlib.stability": ["spectral_abscissa", "critical_sigma", "joint_matrix"],
    "gqlib.domains": ["two_state", "baird_star", "boyan_chain", "cart_pole", "mountain_car"],
    "gqlib.tiles3": ["IHT", "tiles", "tileswrap"],
    "gqlib.control": ["ControlSetting", "run_control"],
    "gqlib.stats": ["case_counts", "case_null", "bootstrap_interval", "paired_difference", "grim"],
    "gqlib.claims": ["load_claims"],
}


def test_import_loads_numpy_and_scipy_alone():
    heavy = "sympy matplotlib numba joblib xarray pandas yaml gymnasium dask tqdm IPython"
    code = f"import sys, gqlib; print([name for name in {heavy.split()!r} if name in sys.modules])"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"


@pytest.mark.parametrize("module", PUBLIC)
def test_public_names_have_docstrings(module):
    loaded = importlib.import_module(module)
    for name in PUBLIC[module]:
        assert getattr(loaded, name).__doc__, f"{module}.{name} has no docstring"
