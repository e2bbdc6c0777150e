"""Execute chapters and write their records: `python book/refresh.py [--all] [--jobs N] [book/NAME.md ...]`.

The text is the source. Without arguments, those chapters are executed whose code changed, or a file of data that their
code names: a result, a file of the book, or the register where `gqlib.claims` is imported. A change of prose alone
moves into the record without executing anything, and a change of the library makes no record stale: nbval executes
every record in the tests, and proves that the library still gives it; where it does not, name the chapter here.

A seal covers the pictures of a record, which nbval does not compare: one that is exchanged is told by a test.
"""

from __future__ import annotations

import argparse
import ast
import base64
import hashlib
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

import jupytext
import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

BOOK = Path(__file__).resolve().parent
ROOT = BOOK.parent
HEADER = "jupytext:"
README_FIGURE = "fig-index-eta"  # of the first page; the README shows it too
FILE = re.compile(r"[\w./*-]*\.(?:npz|json|ya?ml|csv)")
REGISTER = "claims.yml"  # what `gqlib.claims` reads, which a chapter need not name


def chapters() -> list[Path]:
    """The text notebooks of the book, by their header."""
    return [path for path in sorted(BOOK.glob("*.md")) if HEADER in path.read_text("utf-8")[:200]]


def record_of(source: Path) -> Path:
    """Where the record of a chapter is."""
    return source.with_suffix(".ipynb")


def code_of(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    """The code cells of a chapter."""
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def names_in(code: str) -> Iterator[str]:
    """The names of files that stand in the strings of a program, pieces of f-strings among them."""
    try:
        tree = ast.parse(code)
    except SyntaxError:  # an exercise may show code that is none
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if FILE.fullmatch(node.value):
                yield Path(node.value).name
        elif isinstance(node, ast.Import | ast.ImportFrom) and "claims" in ast.dump(node):
            yield REGISTER


def data_of(notebook: nbformat.NotebookNode) -> set[Path]:
    """The files of data that a chapter's code names; an ending such as `.npz` stands for all of them."""
    names = {name for cell in code_of(notebook) for name in names_in(cell.source)}
    patterns = {"*" + name if name.startswith(".") else name for name in names}
    return {
        path for place in (ROOT / "results", BOOK) for name in patterns for path in place.glob(name)
    }


def digest(source: Path) -> str:
    """One name for all that makes a record stale: code with its tags, and data."""
    notebook, total = jupytext.read(source), hashlib.sha256()
    for cell in code_of(notebook):
        total.update(repr((cell.source, cell.metadata.get("tags", []))).encode())
    for path in sorted(data_of(notebook)):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        total.update(f"{path.relative_to(ROOT).as_posix()} {content}".encode())
    return total.hexdigest()[:16]


def seal(notebook: nbformat.NotebookNode) -> str:
    """One name for all pictures of a record, to the byte: the pixels of one theme and the drawing of the other."""
    total = hashlib.sha256()
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            for kind, data in sorted(output.get("data", {}).items()):
                if kind.startswith("image/"):
                    total.update(f"{kind} {len(data)} {data}".encode())
    return total.hexdigest()[:16]


def kept(source: Path) -> nbformat.NotebookNode | None:
    """The text with the outputs of its record, if these are of today's code and data and the pictures are sealed."""
    if not record_of(source).exists():
        return None
    record = nbformat.read(record_of(source), as_version=4)
    if record.metadata.get("gqlib") != {"digest": digest(source), "pictures": seal(record)}:
        return None
    notebook = jupytext.read(source)
    for cell, old in zip(code_of(notebook), code_of(record), strict=True):
        cell.outputs, cell.execution_count = old.outputs, old.execution_count
    return notebook


def stale(source: Path) -> bool:
    """Whether the record is missing, or is of other code, other data or other pictures."""
    return kept(source) is None


def picture(notebook: nbformat.NotebookNode, name: str) -> bytes:
    """The image that the cell with this figure name put out."""
    for cell in code_of(notebook):
        if cell.metadata.get("mystnb", {}).get("figure", {}).get("name") == name:
            return base64.b64decode(cell.outputs[0].data["image/png"])
    raise ValueError(f"name is {name!r}; it should be the name of a figure in the notebook")


def write(path: Path, data: bytes) -> None:
    """Write at once: whoever is killed half-way leaves the file that was there."""
    partial = path.with_name(f".partial-{path.name}")
    partial.write_bytes(data)
    os.replace(partial, path)


def write_record(source: Path, notebook: nbformat.NotebookNode) -> None:
    """Write a record with its digests, if it is another one than is there."""
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number}"  # stable from one execution to the next
    notebook.metadata["gqlib"] = {"digest": digest(source), "pictures": seal(notebook)}
    notebook.metadata["language_info"] = {"name": "python"}  # the version is not part of a record
    content = nbformat.writes(notebook).encode() + b"\n"
    if not record_of(source).exists() or record_of(source).read_bytes() != content:
        write(record_of(source), content)
    if source.stem == "index":
        write(BOOK / "_static" / "striking.png", picture(notebook, README_FIGURE))


def refresh(source: Path) -> float:
    """Execute one chapter from its text alone; return the seconds it took."""
    begin, today, notebook = time.perf_counter(), digest(source), jupytext.read(source)
    NotebookClient(
        notebook,
        timeout=600,
        kernel_name="python3",
        resources={"metadata": {"path": str(BOOK)}},
        record_timing=False,
        coalesce_streams=True,  # however many pieces a busy machine prints in
    ).execute()
    if digest(source) != today:
        raise ValueError(f"{source.name} changed while it was executed; execute it again")
    write_record(source, notebook)
    return time.perf_counter() - begin


def in_a_process_of_its_own(source: Path) -> subprocess.CompletedProcess[str]:
    """Execute one chapter, whatever becomes of it."""
    command = [sys.executable, __file__, str(source)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def refresh_all(sources: list[Path], jobs: int) -> int:
    """Execute chapters, some at a time; return how many failed, after telling why."""
    failed: dict[str, str] = {}
    with ThreadPoolExecutor(jobs) as pool:
        try:
            running = {pool.submit(in_a_process_of_its_own, source): source for source in sources}
            for future in as_completed(running):
                name, done = running[future].relative_to(ROOT).as_posix(), future.result()
                if done.returncode:
                    failed[name] = done.stderr
                print(f"{name}: FAILED" if done.returncode else done.stdout.rstrip(), flush=True)
        except KeyboardInterrupt:
            pool.shutdown(cancel_futures=True)
            raise
    for name, said in sorted(failed.items()):
        print(f"\n== {name} failed:\n{said.rstrip()}", file=sys.stderr)
    return len(failed)


def main(arguments: list[str]) -> int:
    """Refresh the named chapters, all of them with --all, or those that are stale; move prose into the others."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "chapters", nargs="*", type=lambda text: Path(text).resolve(), metavar="book/NAME.md"
    )
    parser.add_argument("--all", action="store_true", help="execute every chapter")
    parser.add_argument("--jobs", type=int, default=1, help="how many at a time")
    options = parser.parse_args(arguments)
    chosen = options.chapters
    if not chosen:
        told = {path: None if options.all else kept(path) for path in chapters()}
        chosen = [path for path, notebook in told.items() if notebook is None]
        for path, notebook in told.items():
            if notebook is not None:
                write_record(path, notebook)
    if not chosen:
        print("every record is up to date")
    if len(chosen) > 1:
        return int(refresh_all(chosen, options.jobs) > 0)
    for source in chosen:
        try:
            print(f"{source.relative_to(ROOT).as_posix()}: {refresh(source):.0f} s", flush=True)
        except (CellExecutionError, ValueError) as error:
            print(error, file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
