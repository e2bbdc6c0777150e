"""Build the package and try its wheel in an empty environment of each Python that it is for.

The wheel is built from the source archive, so that this is tested too, and installed with nothing but what it asks for.
A version that is not on this machine is skipped, and that is said. Ends with 1 if a wheel fails or none could be tried.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VERSIONS = ("3.11", "3.12", "3.13")
# What a new user does first. Extras are not installed: a command that needs one says which.
TRIAL = """
import subprocess, sys
from pathlib import Path

import gqlib
from gqlib.claims import load_claims
from gqlib.domains import two_state
from gqlib.experiments.figure3 import chosen
from gqlib.sweeps.results import load_results

def gq(*arguments):
    return subprocess.run([Path(sys.executable).with_name("gq"), *arguments], capture_output=True, text=True)

assert Path(gqlib.__file__).is_relative_to(sys.prefix), gqlib.__file__
assert two_state(gamma=0.99).problem.fixed_point(0.5, 0.9).shape == (2,)
assert load_claims() and chosen()
assert gq("--version").stdout == f"gq {gqlib.__version__}\\n"
done = gq("reproduce", "fig2", "--runs", "2", "--workers", "2", "--out", "out")
assert done.returncode == 0, done.stderr
assert load_results("out/fig2-runs2.npz").sizes["run"] == 2
done = gq("reproduce", "fig4", "--runs", "1", "--workers", "1", "--set", "episodes=2", "--out", "out")
assert done.returncode == 0, done.stderr
done = gq("export", "fig4-runs1-episodes2", "--out", "out")
assert done.returncode == 0 and "written to out" in done.stdout, done.stderr
done = gq("plot", "fig2-runs2", "--out", "out")
assert done.returncode == 2 and "needs the package matplotlib: install gqlib[plot]" in done.stderr, done
"""


def find(version: str) -> str | None:
    """The interpreter of a version, on the path or among those of pyenv, if one is here and runs."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    code = "import sys; print('{}.{}'.format(*sys.version_info))"
    for found in (shutil.which(f"python{version}"), *sorted(pyenv.glob(f"{version}.*/bin/python"))):
        command = [str(found), "-c", code]
        if (
            found
            and subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
            == version
        ):
            return str(found)
    return None


def build(folder: Path) -> Path:
    """The wheel, by way of the source archive; made from copies, because building leaves files behind."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise RuntimeError(
            "git lists the files of a package, and does not here: install git, and clone"
        ) from error
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (ROOT / name).is_file():
            (folder / "checkout" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / "checkout" / name)
    code = "import sys; from setuptools import build_meta; build_meta.build_sdist(sys.argv[1])"
    _call([sys.executable, "-c", code, str(folder)], folder / "checkout")
    (archive,) = folder.glob("*.tar.gz")
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
    source = folder / archive.name.removesuffix(".tar.gz")
    pip = [sys.executable, "-m", "pip", "wheel", "-q", "--disable-pip-version-check"]
    _call([*pip, "--no-deps", "--no-build-isolation", "-w", str(folder), "."], source)
    (wheel,) = folder.glob("*.whl")
    return wheel


def tried(python: str, wheel: Path, folder: Path) -> None:
    """Install the wheel in an empty environment and do what a new user does; raises where it does not work."""
    place = folder / "venv"
    _call([python, "-m", "venv", str(place)], folder)
    inside = str(place / "bin" / "python")
    _call([inside, "-m", "pip", "install", "-q", "--disable-pip-version-check", str(wheel)], folder)
    _call([inside, "-I", "-c", TRIAL], folder)


def _call(command: list[str], folder: Path) -> None:
    clean = {
        name: value
        for name, value in os.environ.items()
        if name not in ("PYTHONPATH", "VIRTUAL_ENV")
    }
    done = subprocess.run(
        command, cwd=folder, env=clean, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(command[:4])} ... failed:\n{done.stdout}{done.stderr}")


def main(arguments: list[str]) -> int:
    """Build once, try everywhere, tell."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("versions", nargs="*", default=VERSIONS, help="3.11 3.12 3.13")
    versions = parser.parse_args(arguments).versions
    good = bad = 0
    with tempfile.TemporaryDirectory() as folder:
        wheel = build(Path(folder))
        print(
            f"built {wheel.name} ({wheel.stat().st_size / 1000:.0f} kB) from its source archive",
            flush=True,
        )
        for version in versions:
            python, begin = find(version), time.monotonic()
            if python is None:
                print(
                    f"Python {version}: skipped, there is no python{version} on this machine",
                    flush=True,
                )
                continue
            with tempfile.TemporaryDirectory() as empty:
                try:
                    tried(python, wheel, Path(empty))
                except RuntimeError as error:
                    bad += 1
                    print(f"Python {version}: FAILED\n{error}", flush=True)
                else:
                    good += 1
                    print(f"Python {version}: works ({time.monotonic() - begin:.0f} s)", flush=True)
    return 0 if good and not bad else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
