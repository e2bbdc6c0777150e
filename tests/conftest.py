"""Fixtures of the tests that read the built book or open it in a browser, and what the marks of tests mean."""

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest
from chromium import CHROMIUM, FLAGS, ROOT

sys.path += [str(ROOT / name) for name in (".", "book", "tools")]  # none of them is installed


def _fresh(html: Path) -> bool:
    """Whether the book was built after its text, records, style and settings were last changed."""
    sources = [ROOT / "_config.yml", *(ROOT / "book").rglob("*")]
    newest = max(
        path.stat().st_mtime
        for path in sources
        if path.is_file() and "__pycache__" not in path.parts
    )
    return (html / "index.html").exists() and (html / "searchindex.js").stat().st_mtime >= newest


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """What is thorough is slow, too; and a test's name is the same in every process, or the workers disagree on it."""
    for item in items:
        if " at 0" in item.nodeid:
            raise pytest.UsageError(
                f"{item.nodeid} has an address in its name, which differs from process to process"
            )
        if item.get_closest_marker("thorough"):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def book(tmp_path_factory):
    """The folder of the HTML book: that of `make book` if it is up to date, else one built once for all workers."""
    html = ROOT / "_build" / "html"
    if _fresh(html):
        return html
    own = tmp_path_factory.getbasetemp()
    out = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "book"
    out.mkdir(exist_ok=True)
    with open(out / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # until the file is closed
        if not (out / "done").exists():
            build = [
                Path(sys.executable).with_name("jupyter-book"),
                "build",
                "book",
                "-W",
                "--keep-going",
                "-n",
            ]
            build += ["--quiet", "--path-output", out]
            result = subprocess.run(build, cwd=ROOT, capture_output=True, text=True, check=False)
            assert result.returncode == 0, result.stderr[-3000:]
            (out / "done").touch()
    return out / "_build" / "html"


@pytest.fixture(scope="module")
def browser():
    """Chromium, closed after each file: Playwright runs one event loop in a process, and others want theirs free."""
    with pytest.importorskip("playwright.sync_api").sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield started
        started.close()
