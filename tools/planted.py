"""Plant errors in the derivations of the chapters, or in the library beneath them, and check that the chapters notice.

Each error in ``tests/planted.yml`` is one edit: a sign, an index, a transpose, a factor, μ for π, of the kind that
slips into a derivation by hand. It is made in a copy; then the code cells of the chapter run from top to bottom in one
process, and nothing that they print or draw is compared. An error counts as caught if a cell fails at the edit or after
it (for an error in the library: anywhere). What catches it should be an assert, and the last column says so.

    python tools/planted.py [--jobs N] [chapter ...]
    python tools/planted.py --drawn 40 --seed 2026        errors that nobody chose (tools/planted_at_random.py)

`tests/repo/test_planted.py` holds the list to the texts, so that it cannot go stale.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import yaml

ROOT = Path(__file__).resolve().parents[1]
LIST = ROOT / "tests" / "planted.yml"
CELL = re.compile(r"(?ms)^```\{code-cell\}[^\n]*\n(.*?)^```$")
LIBRARIES = ("gqlib/", "book/kit/")
HEADER = re.compile(r"(?ms)\A---\n.*?^---\n|^:[\w-]+:[^\n]*\n")


class Planted(NamedTuple):
    """One error: in `file`, `old` is replaced by `new`, and `chapter` should notice."""

    chapter: str
    file: str
    old: str
    new: str
    why: str


def load() -> list[Planted]:
    """The list, in its order."""
    return [Planted(**entry) for entry in yaml.safe_load(LIST.read_text(encoding="utf-8"))]


def cells(text: str) -> list[str]:
    """The code cells of a chapter, without their headers."""
    return [HEADER.sub("", cell) for cell in CELL.findall(text)]


def edited(error: Planted) -> str:
    """The text of the file with the error in it."""
    return (ROOT / error.file).read_text(encoding="utf-8").replace(error.old, error.new)


def run_cells(chapter: str) -> int:
    """Run the cells of a chapter's text until one fails; print its number and what it raised."""
    os.environ["MPLBACKEND"] = "Agg"
    names: dict[str, object] = {"__name__": "__main__"}
    for number, source in enumerate(cells(Path(chapter).read_text(encoding="utf-8"))):
        try:
            exec(compile(source, f"cell {number}", "exec"), names)
        except BaseException as error:
            print(f"\nFAILED {number} {type(error).__name__}", flush=True)
            return 1
    return 0


def trial(error: Planted) -> tuple[int, int | None, str]:
    """The cell with the error (0 for the library), the first cell that fails (None if none does), and by what."""
    name = f"{error.chapter}.md"
    with tempfile.TemporaryDirectory() as place:
        book = Path(place) / "book"
        book.mkdir()
        (Path(place) / "results").symlink_to(ROOT / "results")  # chapters read ../results
        shutil.copy(ROOT / "book" / name, book)
        if error.file.startswith("book/kit/"):
            shutil.copytree(ROOT / "book" / "kit", book / "kit")
        begin = 0
        for library in LIBRARIES:
            if error.file.startswith(library):
                no_caches = shutil.ignore_patterns("__pycache__")
                shutil.copytree(ROOT / library, Path(place) / library, ignore=no_caches)
        if error.file == f"book/{name}":
            begin = next(
                i
                for i, cell in enumerate(cells((book / name).read_text("utf-8")))
                if error.old in cell
            )
        (Path(place) / error.file).write_text(edited(error), encoding="utf-8")
        path = os.pathsep.join(map(str, (place, book, ROOT, ROOT / "book")))
        done = subprocess.run(
            [sys.executable, str(Path(__file__)), "--run", name],
            cwd=book, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True, check=False,
        )  # fmt: skip
    failed = re.search(r"^FAILED (\d+) (\w+)$", done.stdout, flags=re.MULTILINE)
    if done.returncode == 0:
        return begin, None, "nothing"
    if failed is None or failed[2] == "ModuleNotFoundError":
        raise RuntimeError(
            f"{error.chapter} ended with {done.returncode} and no failed cell:\n{done.stdout}{done.stderr}"
        )
    return begin, int(failed[1]), "assert" if failed[2] == "AssertionError" else failed[2]


def main(arguments: list[str]) -> int:
    """Try the errors of the chapters named (all without any); return 1 if one is not caught."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("chapters", nargs="*")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--run", metavar="FILE", help=argparse.SUPPRESS)
    parser.add_argument("--drawn", type=int, metavar="N")
    parser.add_argument("--seed", type=int, default=2026)
    given = parser.parse_args(arguments)
    if given.drawn:
        import planted_at_random

        return planted_at_random.report(given.drawn, given.seed)
    if given.run:
        return run_cells(given.run)
    chosen = [error for error in load() if not given.chapters or error.chapter in given.chapters]
    caught = asserts = 0
    with ThreadPoolExecutor(given.jobs) as pool:
        for error, (begin, failed, by) in zip(chosen, pool.map(trial, chosen), strict=True):
            noticed = failed is not None and failed >= begin
            caught += noticed
            asserts += noticed and by == "assert"
            where = "library" if error.file.startswith(LIBRARIES) else f"cell {begin}"
            fails = "-" if failed is None else f"cell {failed}"
            told = by if noticed else "NOT CAUGHT"
            print(f"{error.chapter:26}{where:10}{fails:10}{told:18}{error.why}", flush=True)
    print(f"{caught} of {len(chosen)} planted errors caught, {asserts} of them by an assert")
    return int(caught < len(chosen))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
