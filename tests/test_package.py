"""The package imports little, what it promises can be imported, and the built distributions are complete."""

import importlib
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

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
        found = getattr(loaded, name, None) or importlib.import_module(f"{module}.{name}")
        assert found.__doc__, f"{module}.{name} has no docstring"


SHIPPED = {"gqlib/claims.yml", "gqlib/experiments/figure3_chosen.json", "gqlib/py.typed"}
SOURCES = ("setup.py", "pyproject.toml", "MANIFEST.in", "README.md", "LICENSE")
ASK = """
import gqlib
from gqlib.claims import load_claims
from gqlib.experiments.figure3 import chosen
print(gqlib.__file__, len(load_claims()), len(chosen()), sep="\\n")
"""


def python(*arguments, at, **variables):
    """What Python prints, started in a directory from which the checkout is not seen."""
    command = [sys.executable, *arguments]
    done = subprocess.run(command, cwd=at, capture_output=True, text=True, check=False, env=os.environ | variables)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def build(kind, source, target):
    """Build a source archive, a wheel or an editable one, by the hook that pip would call, without a network."""
    target.mkdir(exist_ok=True)
    code = f"from setuptools import build_meta; build_meta.build_{kind}({str(target)!r})"
    python("-c", code, at=source)
    (built,) = target.iterdir()
    return built


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """A copy of what a package is built from: building leaves files behind."""
    place = tmp_path_factory.mktemp("build") / "checkout"
    shutil.copytree(ROOT / "gqlib", place / "gqlib", ignore=shutil.ignore_patterns("__pycache__"))
    (place / "book").mkdir()
    shutil.copy(ROOT / "book" / "claims.yml", place / "book")
    for name in SOURCES:
        shutil.copy(ROOT / name, place)
    return place


def test_a_wheel_has_the_register_and_the_chosen_settings_inside(checkout, tmp_path):
    """By way of the source archive, so that this has all that a wheel needs."""
    archive = build("sdist", checkout, tmp_path / "sdist")
    with tarfile.open(archive) as packed:
        packed.extractall(tmp_path, filter="data")
    source = tmp_path / archive.name.removesuffix(".tar.gz")
    assert (source / "book" / "claims.yml").read_bytes() == (ROOT / "book" / "claims.yml").read_bytes()
    options = ["--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check", "--quiet"]
    python("-m", "pip", "wheel", *options, "--wheel-dir", str(tmp_path / "wheel"), str(source), at=tmp_path)
    (wheel,) = (tmp_path / "wheel").iterdir()
    with zipfile.ZipFile(wheel) as packed:
        modules = {path.relative_to(ROOT).as_posix() for path in ROOT.glob("gqlib/**/*.py")}
        assert {name for name in packed.namelist() if name.startswith("gqlib/")} == modules | SHIPPED
        packed.extractall(tmp_path / "installed")
    place, claims, settings = python("-c", ASK, at=tmp_path, PYTHONPATH=str(tmp_path / "installed")).split("\n")[:3]
    assert Path(place).is_relative_to(tmp_path / "installed")
    from gqlib.claims import load_claims
    from gqlib.experiments.figure3 import chosen

    assert (int(claims), int(settings)) == (len(load_claims()), len(chosen()))


def test_an_editable_install_makes_no_second_register(checkout, tmp_path):
    build("editable", checkout, tmp_path / "editable")
    assert not (checkout / "gqlib" / "claims.yml").exists()
    place, claims, _ = python("-c", ASK, at=tmp_path, PYTHONPATH=str(checkout)).split("\n")[:3]
    assert Path(place).is_relative_to(checkout)
    assert int(claims) > 0


def test_no_file_of_the_package_is_a_link():
    assert [path for path in ROOT.glob("gqlib/**/*") if path.is_symlink()] == []
