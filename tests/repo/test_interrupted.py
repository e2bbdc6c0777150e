"""What is killed halfway leaves nothing half-done: the record of a chapter, and the environment of `make setup`.

Each test prints what was killed and what was lost; `pytest -rP` shows it.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PATIENCE = 300.0  # seconds until a test gives up, on a busy machine too


def wait_for(path: Path, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not path.exists():
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.01)


def start(command: list[str], directory: Path, **variables: str) -> subprocess.Popen[bytes]:
    """Start a command as a group of its own, which can be killed as one, and in which Ctrl-C is not ignored."""
    with open(
        directory / "log", "ab"
    ) as log:  # a pipe would be kept open by a kernel that outlives its client
        return subprocess.Popen(
            command,
            cwd=directory,
            env=os.environ | variables,
            stdout=log,
            stderr=log,
            start_new_session=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )


CHAPTER = """---
jupytext:
  text_representation:
    extension: .md
    format_name: myst
    format_version: 0.13
kernelspec:
  display_name: Python 3
  language: python
  name: python3
---

# A chapter

```{code-cell} python
print("first")
```

```{code-cell} python
import pathlib, time
if pathlib.Path("stay").exists():
    pathlib.Path("reached").touch()
    time.sleep(600)
print("second")
```
"""


@pytest.mark.thorough
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT], ids=["kill -9", "Ctrl-C"])
def test_a_chapter_killed_half_way_keeps_its_record(tmp_path: Path, number: signal.Signals) -> None:
    book = tmp_path / "book"
    book.mkdir()
    shutil.copy(ROOT / "book" / "refresh.py", book)
    (book / "chapter.md").write_text(CHAPTER)
    (book / "chapter.ipynb").write_text("the old record")
    (book / "stay").touch()
    before = {path.name for path in book.iterdir()}
    command = [sys.executable, "book/refresh.py", "book/chapter.md"]
    process = start(command, tmp_path, PYTHONPATH=str(ROOT))
    wait_for(book / "reached", process)
    os.kill(process.pid, number)
    assert process.wait(PATIENCE) != 0
    assert (book / "chapter.ipynb").read_text() == "the old record"
    assert {path.name for path in book.iterdir()} - {"reached"} == before
    (book / "stay").unlink()
    assert start(command, tmp_path, PYTHONPATH=str(ROOT)).wait(PATIENCE) == 0
    record = (book / "chapter.ipynb").read_text()
    assert '"first\\n"' in record
    assert '"second\\n"' in record
    print(
        f"refresh killed by {number.name} in cell 2 of 2: the old record intact, 0 files left; again: 2 of 2 cells"
    )


# Stands in for Python and pip: notes each call, makes the environment, and waits in the middle of an installation.
PYTHON = """#!/bin/sh
case "$*" in
  "-c "*) exit 0 ;;
esac
echo "$*" >> "$NOTES"
case "$*" in
  "-m venv "*) mkdir -p "$3/bin" && cp "$0" "$3/bin/python" ;;
  *requirements.lock)
    touch .venv/half-installed
    [ ! -e stay ] || exec "$WAITS" -c 'import pathlib, time; pathlib.Path("reached").touch(); time.sleep(600)'
    rm .venv/half-installed ;;
esac
"""


@pytest.mark.parametrize(
    "number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda one: one.name
)
def test_a_set_up_that_was_interrupted_starts_from_a_clean_environment(
    tmp_path: Path, number: signal.Signals
) -> None:
    for name in ("Makefile", "pyproject.toml", "requirements.lock"):
        shutil.copy(ROOT / name, tmp_path)
    python, notes = tmp_path / "python", tmp_path / "notes"
    python.write_text(PYTHON)
    python.chmod(0o755)
    (tmp_path / "stay").touch()
    command = ["make", "setup", f"PYTHON={python}"]
    variables = {"NOTES": str(notes), "MAKEFLAGS": "", "WAITS": sys.executable}
    process = start(command, tmp_path, **variables)
    wait_for(tmp_path / "reached", process)
    os.killpg(process.pid, number)
    assert process.wait(PATIENCE) != 0
    assert (tmp_path / ".venv" / "half-installed").exists()
    assert not (tmp_path / ".venv" / ".installed").exists()
    lost = notes.read_text().splitlines()
    notes.write_text("")
    (tmp_path / "stay").unlink()

    assert start(command, tmp_path, **variables).wait(PATIENCE) == 0
    made, locked, own = notes.read_text().splitlines()
    assert made == "-m venv .venv"
    assert "--require-hashes -r requirements.lock" in locked
    assert "--no-deps" in own
    assert not (tmp_path / ".venv" / "half-installed").exists()
    assert (tmp_path / ".venv" / ".installed").exists()

    notes.write_text("")
    assert start(command, tmp_path, **variables).wait(PATIENCE) == 0
    assert notes.read_text() == ""
    print(
        f"set-up killed by {number.name} in call {len(lost)} of 3: no stamp; again: clean, 3 of 3 calls; again: none"
    )
