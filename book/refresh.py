"""Execute chapters and write their records: `python book/refresh.py [--all] [book/NAME.md ...]`.

The text is the source. A record is stale when its cells differ from the text's, or when the digest of text and library
that is kept in it differs from today's; without arguments, stale records alone are executed.
"""

from __future__ import annotations

import base64
import hashlib
import sys
import time
from pathlib import Path

import jupytext
import nbformat
from nbclient import NotebookClient

from gqlib.store import write_file

BOOK = Path(__file__).resolve().parent
ROOT = BOOK.parent
HEADER = "jupytext:"
README_FIGURE = "fig-index-eta"  # of the first page; the README shows it too


def chapters() -> list[Path]:
    """The text notebooks of the book, by their header."""
    return [path for path in sorted(BOOK.glob("*.md")) if HEADER in path.read_text(encoding="utf-8")[:200]]


def digest(source: Path) -> str:
    """What a record depends on: its text, the library, and the results and register that chapters load."""
    total = hashlib.sha256(source.read_bytes())
    inputs = [*ROOT.glob("gqlib/**/*.py"), *ROOT.glob("results/*.npz"), BOOK / "claims.yml"]
    for path in sorted(path for path in inputs if path.exists()):
        total.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes())
    return total.hexdigest()[:16]


def stale(source: Path) -> bool:
    """Whether the record is missing or was made from other text or another library."""
    record = source.with_suffix(".ipynb")
    if not record.exists():
        return True
    return bool(nbformat.read(record, as_version=4).metadata.get("gqlib", {}).get("digest") != digest(source))


def picture(notebook: nbformat.NotebookNode, name: str) -> bytes:
    """The image that the cell with this figure name put out."""
    for cell in notebook.cells:
        if cell.metadata.get("mystnb", {}).get("figure", {}).get("name") == name:
            return base64.b64decode(cell.outputs[0].data["image/png"])
    raise ValueError(f"name is {name!r}; it should be the name of a figure in the notebook")


def refresh(source: Path) -> float:
    """Execute one chapter from its text alone; return the seconds it took."""
    notebook = jupytext.read(source)
    begin = time.perf_counter()
    NotebookClient(
        notebook,
        timeout=600,
        kernel_name="python3",
        resources={"metadata": {"path": str(BOOK)}},
        record_timing=False,
        coalesce_streams=True,  # however many pieces a busy machine prints in
    ).execute()
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number}"  # stable from one execution to the next
    notebook.metadata["gqlib"] = {"digest": digest(source)}
    notebook.metadata["language_info"] = {"name": "python"}  # the version of Python is not part of a record
    # Written at the end and at once: whoever is killed half-way leaves the record that was there.
    write_file(source.with_suffix(".ipynb"), nbformat.writes(notebook).encode() + b"\n")
    if source.stem == "index":
        write_file(BOOK / "_static" / "striking.png", picture(notebook, README_FIGURE))
    return time.perf_counter() - begin


def main(arguments: list[str]) -> int:
    """Refresh the named chapters, all of them with --all, or those that are stale."""
    named = [Path(argument).resolve() for argument in arguments if not argument.startswith("-")]
    chosen = named or [path for path in chapters() if "--all" in arguments or stale(path)]
    for source in chosen:
        print(f"{source.relative_to(ROOT)}: {refresh(source):.1f} s", flush=True)
    if not chosen:
        print("every record is up to date")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
