"""The package imports little, what it promises can be imported, and the built distributions are complete."""

import importlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from email.parser import BytesParser
from pathlib import Path

import pytest

import wheels

ROOT = Path(__file__).parents[2]


def test_import_loads_numpy_and_scipy_alone():
    heavy = "sympy matplotlib numba joblib xarray pandas yaml gymnasium dask tqdm IPython"
    code = f"import sys, gqlib; print([name for name in {heavy.split()!r} if name in sys.modules])"
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert answer.stdout.strip() == "[]", "import these inside of the function that needs them"


CHOSEN = {
    path.relative_to(ROOT).as_posix() for path in ROOT.glob("gqlib/experiments/*_chosen.json")
}
SHIPPED = {"gqlib/claims.yml", "gqlib/py.typed"} | CHOSEN
# Not for those who build: what git needs, and what is made anew.
NOT_SHIPPED = ("gqlib.egg-info/", "PKG-INFO", "setup.cfg")
ASK = """
import gqlib
from gqlib.claims import load_claims
from gqlib.experiments.figure3 import chosen
print(gqlib.__file__, len(load_claims()), len(chosen()), sep="\\n")
"""


def python(*arguments, at, **variables):
    """What Python prints, started in a directory from which the checkout is not seen."""
    command = [sys.executable, *arguments]
    done = subprocess.run(
        command, cwd=at, capture_output=True, text=True, check=False, env=os.environ | variables
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def build(kind, source, target):
    """Build a source archive, a wheel or an editable one, by the hook that pip would call, without a network."""
    target.mkdir(exist_ok=True)
    code = f"from setuptools import build_meta; build_meta.build_{kind}({str(target)!r})"
    python("-c", code, at=source)
    (built,) = target.iterdir()
    return built


def listed():
    """The files of the repository: those that git has, and new ones that it does not ignore."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
    if done.returncode:
        pytest.skip("this is no checkout of git, which says what belongs to the repository")
    return [name for name in done.stdout.decode().split("\0") if name and (ROOT / name).is_file()]


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """A copy of what a package is built from: building leaves files behind."""
    place = tmp_path_factory.mktemp("build") / "checkout"
    for name in listed():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, place / name)
    return place


@pytest.fixture(scope="module")
def source(checkout, tmp_path_factory):
    """The source archive, unpacked."""
    place = tmp_path_factory.mktemp("sdist")
    archive = build("sdist", checkout, place / "packed")
    with tarfile.open(archive) as packed:
        packed.extractall(place, filter="data")
    return place / archive.name.removesuffix(".tar.gz")


@pytest.mark.slow
def test_the_source_archive_holds_the_whole_repository(checkout, source):
    """What the README promises of a checkout, `make book` and `make test`, can be had from the archive."""
    packed = {path.relative_to(source).as_posix() for path in source.rglob("*") if path.is_file()}
    there = {name for name in listed() if (checkout / name).exists()}
    assert there - packed == set(), "add a line for these to MANIFEST.in"
    more = {name for name in packed - there if not name.startswith(NOT_SHIPPED)}
    assert more == set(), "exclude these in MANIFEST.in"
    size = sum((source / name).stat().st_size for name in packed)
    assert size < 40e6, f"{size / 1e6:.0f} MB: leave large files out of the repository"


def setup_script():
    spec = importlib.util.spec_from_file_location("setup", ROOT / "setup.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_readme_has_no_dead_links_on_a_package_index():
    """Files are not beside it there: without an address for them, pictures become their descriptions, links words."""
    page = setup_script().for_an_index
    text = "![Growth of θ](book/a.png), [the chapters](book), [elsewhere](https://example.org/b), [here](#what-next)"
    kept = "[elsewhere](https://example.org/b), [here](#what-next)"
    assert page(text, "") == f"*[Figure: Growth of θ]*, the chapters, {kept}"
    at = "https://example.org/raw"
    assert page(text, at) == f"![Growth of θ]({at}/book/a.png), [the chapters]({at}/book), {kept}"
    readme = page((ROOT / "README.md").read_text(encoding="utf-8"))
    targets = re.findall(r"\]\(([^)]+)\)", readme)
    dead = [target for target in targets if not target.startswith(("https://", "#"))]
    assert dead == [], "setup.py should turn these links of README.md into words"


def test_the_wheel_is_tried_with_every_python_that_is_here_and_others_are_skipped(
    monkeypatch, tmp_path, capsys
):
    (tmp_path / "gqlib.whl").write_bytes(b"wheel")
    monkeypatch.setattr(wheels, "build", lambda folder: tmp_path / "gqlib.whl")
    monkeypatch.setattr(wheels, "find", {"3.11": "python3.11", "3.13": "python3.13"}.get)
    used = []
    monkeypatch.setattr(
        wheels, "tried", lambda python, wheel, folder: used.append((python, os.listdir(folder)))
    )
    assert wheels.main(wheels.VERSIONS) == 0
    assert used == [("python3.11", []), ("python3.13", [])]
    told = capsys.readouterr().out
    assert "Python 3.12: skipped, there is no python3.12 on this machine\n" in told
    assert "Python 3.13: works" in told
    assert wheels.main(["3.12"]) == 1  # nothing was tried

    def broken(python, wheel, folder):
        raise RuntimeError("it does not import")

    monkeypatch.setattr(wheels, "tried", broken)
    assert wheels.main(["3.11"]) == 1
    assert "Python 3.11: FAILED\nit does not import" in capsys.readouterr().out


def test_only_a_python_of_the_right_version_counts(monkeypatch, tmp_path):
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    monkeypatch.setattr(wheels.shutil, "which", lambda name: None)
    here = "{}.{}".format(*sys.version_info)
    for version in (here, "3.99"):
        place = tmp_path / "versions" / f"{version}.1" / "bin"
        place.mkdir(parents=True)
        (place / "python").symlink_to(sys.executable)
    assert wheels.find(here) == str(tmp_path / "versions" / f"{here}.1" / "bin" / "python")
    assert wheels.find("3.99") is None
    assert wheels.find("3.98") is None


@pytest.mark.slow
def test_a_wheel_has_the_register_and_the_chosen_settings_inside(source, tmp_path):
    """By way of the source archive, so that this has all that a wheel needs."""
    wheel = build("wheel", source, tmp_path / "wheel")
    with zipfile.ZipFile(wheel) as packed:
        modules = {path.relative_to(ROOT).as_posix() for path in ROOT.glob("gqlib/**/*.py")}
        inside = {name for name in packed.namelist() if name.startswith("gqlib/")}
        assert inside == modules | SHIPPED, "see package-data in pyproject.toml, and setup.py"
        packed.extractall(tmp_path / "installed")
        (name,) = [name for name in packed.namelist() if name.endswith("/METADATA")]
        about = BytesParser().parsebytes(packed.read(name))
    assert about["Description-Content-Type"] == "text/markdown"
    assert setup_script().LINK.findall(about.get_payload()) == []
    assert "an executable critical edition" in about.get_payload()
    place, claims, settings = python(
        "-c", ASK, at=tmp_path, PYTHONPATH=str(tmp_path / "installed")
    ).split("\n")[:3]
    assert Path(place).is_relative_to(tmp_path / "installed")
    from gqlib.claims import load_claims
    from gqlib.experiments.figure3 import chosen

    assert (int(claims), int(settings)) == (len(load_claims()), len(chosen()))


@pytest.mark.slow
def test_an_editable_install_makes_no_second_register(checkout, tmp_path):
    build("editable", checkout, tmp_path / "editable")
    assert not (checkout / "gqlib" / "claims.yml").exists()
    place, claims, _ = python("-c", ASK, at=tmp_path, PYTHONPATH=str(checkout)).split("\n")[:3]
    assert Path(place).is_relative_to(checkout)
    assert int(claims) > 0


def test_no_file_of_the_package_is_a_link():
    links = [path for path in ROOT.glob("gqlib/**/*") if path.is_symlink()]
    assert links == [], "put files there: a wheel would hold copies"
