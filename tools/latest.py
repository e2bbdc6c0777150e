"""Run the tests with the newest versions that pyproject.toml allows, and say what breaks. Meant for once a week.

Makes a throw-away environment, .venv-latest, and leaves .venv alone. Arguments go to pytest, as -n 2 --dist loadfile;
by default it runs every unit test and every notebook. Needs the network.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PLACE = ROOT / ".venv-latest"
PINNED = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)", re.MULTILINE)


def plain(name: str) -> str:
    """The one spelling of a package's name."""
    return re.sub(r"[-_.]+", "-", name).lower()


def changes(lock: str, installed: dict[str, str]) -> list[str]:
    """What is installed in another version than the lock's, or not in the lock at all, a line each."""
    pinned: dict[str, list[str]] = {}
    for name, version in PINNED.findall(
        lock
    ):  # one name may have several, for several versions of Python
        pinned.setdefault(plain(name), []).append(version)
    return [
        f"{name}: {' or '.join(pinned.get(plain(name), ['not locked']))} -> {version}"
        for name, version in sorted(installed.items())
        if version not in pinned.get(plain(name), [])
    ]


def main(arguments: list[str]) -> int:
    """Install, compare, test."""
    if {"-h", "--help"} & set(arguments):
        print(__doc__)
        return 0
    shutil.rmtree(PLACE, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", PLACE], check=True)
    python = PLACE / "bin" / "python"
    pip = [python, "-m", "pip", "--disable-pip-version-check"]
    subprocess.run(
        [*pip, "install", "--quiet", "--upgrade", "-e", ".[book,test,lint]"], cwd=ROOT, check=True
    )
    listed = subprocess.run(
        [*pip, "list", "--format=json"], capture_output=True, text=True, check=True
    ).stdout
    installed = {
        one["name"]: one["version"]
        for one in json.loads(listed)
        if one["name"] not in ("gqlib", "pip")
    }
    newer = changes((ROOT / "requirements.lock").read_text(encoding="utf-8"), installed)
    print("versions that differ from the lock:", *newer or ["none"], sep="\n  ", flush=True)
    # Compiled kernels of another Numba are kept apart from those of .venv.
    environment = os.environ | {"NUMBA_CACHE_DIR": str(PLACE / "numba")}
    command = [python, "-m", "pytest", "-q", "-rfE", *arguments]
    code = subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode
    print(
        "the newest versions pass"
        if code == 0
        else "the newest versions break what is listed above"
    )
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
