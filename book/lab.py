"""Reading copies of the chapters for JupyterLab, from the built book: `python book/lab.py [FOLDER]` (by default `lab`).

A page of the HTML edition has all that a record lacks: numbers, resolved references, citations. A copy is its text as
Markdown around the code and the outputs of the record, so that it runs from top to bottom like its chapter:

- a label of the book is the id of a cell (`NAME.ipynb#cell-id=LABEL` opens it), and links lead there;
- each solution lies under a folded heading, and code that is folded in the book is folded here.

Made again, a copy replaces the one before it; one whose text or code the reader has changed is kept, under the name
`NAME-yours.ipynb` once the chapter has changed as well.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import yaml
from bs4 import BeautifulSoup, Tag
from markdownify import MarkdownConverter
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

BOOK = Path(__file__).resolve().parent
ROOT = BOOK.parent
HTML = ROOT / "_build" / "html"
FOLDER = ROOT / "lab"  # beside `book`, so that `../results` is the same place for both
LEFT_OUT = {"api", "article"}  # in a notebook there is `help`; a paper of its own, to be read
MADE = ".made.json"  # what was written, by name and digest
# A page to search and to jump in; no questions about news.
CONFIG = {
    "page_config.json": {
        "disabledExtensions": {"@jupyterlab/apputils-extension:announcements": True}
    },
    "default_setting_overrides.json": {
        "@jupyterlab/notebook-extension:tracker": {"windowingMode": "none"}
    },
}
HINTS = """These are the chapters as notebooks: change the code and run it with Shift-Enter.
Each stands alone; *Run → Run All Cells* runs it from top to bottom.
Folded code opens with a click on its three dots, a solution with a click on "cells hidden" below its heading.
Your changes stay: when a chapter is renewed, the one that you changed is kept beside it."""
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}


class Markdown(MarkdownConverter):  # type: ignore[misc]
    """HTML of the book as Markdown: formulas between dollars, boxes as quotations."""

    class Options(MarkdownConverter.DefaultOptions):  # type: ignore[misc]
        """Letters stand as they are, since formulas and code are full of them."""

        heading_style = "atx"
        escape_asterisks = escape_underscores = escape_misc = False
        bullets = "-"

    def convert_span(self, tag: Tag, text: str, parent_tags: set[str]) -> str:
        """A formula within a line, or the number of a figure or theorem."""
        kinds = tag.get("class", [])
        if "math" in kinds:
            return f"${formula(tag)}$"
        return f"**{text.strip()}** " if "caption-number" in kinds else text

    def convert_div(self, tag: Tag, text: str, parent_tags: set[str]) -> str:
        """A displayed formula with its number, or a box with its title."""
        kinds = tag.get("class", [])
        if "math" in kinds:
            number = tag.find(class_="eqno")
            mark = rf" \tag{{{number.get_text().strip('()# ¶')}}}" if number else ""
            if number:
                number.extract()
            return f"\n\n$$\n{formula(tag)}{mark}\n$$\n\n"
        if "admonition" in kinds and "dropdown" in kinds and tag.p:
            title = tag.p.get_text()
            rest = text.replace(f"**{title}**", "", 1).strip()
            return f"\n\n<details><summary>{title}</summary>\n\n{rest}\n\n</details>\n\n"
        return boxed(text) if "admonition" in kinds else f"\n\n{text.strip()}\n\n"

    def convert_aside(self, tag: Tag, text: str, parent_tags: set[str]) -> str:
        """A note in the margin."""
        return boxed(text)

    def convert_p(self, tag: Tag, text: str, parent_tags: set[str]) -> str:
        """A paragraph; the title of a box is bold."""
        text = text.strip()
        if "admonition-title" in tag.get("class", []) and "**" not in text:
            text = f"**{text}**" if text else ""
        return f"\n\n{text}\n\n" if parent_tags.isdisjoint({"td", "th", "dd"}) else text

    def convert_dt(self, tag: Tag, text: str, parent_tags: set[str]) -> str:
        """What is defined, as a point of a list."""
        return f"\n- {text.strip()}: "

    def convert_dd(self, tag: Tag, text: str, parent_tags: set[str]) -> str:
        """Its definition."""
        return " ".join(text.split()) + "\n"


def boxed(text: str) -> str:
    """A quotation."""
    lines = re.sub(r"\n{3,}", "\n\n", text.strip()).split("\n")
    return "\n\n" + "\n".join(f"> {line}".rstrip() for line in lines) + "\n\n"


def formula(tag: Tag) -> str:
    """The formula of an element, without its delimiters, and with the book's own commands written out."""
    body = re.sub(r"^\\[(\[]|\\[)\]]$", "", tag.get_text().strip()).strip()
    return re.sub(r"\\([A-Za-z]+)", lambda found: macros().get(found[1], found[0]), body)


def macros() -> dict[str, str]:
    """The book's own commands in formulas, which JupyterLab does not know."""
    settings = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    given = settings["sphinx"]["config"]["mathjax3_config"]["tex"]["macros"]
    return {name: value if isinstance(value, str) else value[0] for name, value in given.items()}


def names() -> dict[str, str]:
    """The name of the copy of each page, in the order of the book, by the name of the page."""
    toc = yaml.safe_load((BOOK / "_toc.yml").read_text(encoding="utf-8"))
    found, number = {Path(toc["root"]).stem: "00_" + Path(toc["root"]).stem}, 0
    for part in toc["parts"]:
        for stem in (Path(chapter["file"]).stem for chapter in part["chapters"]):
            number += bool(part.get("numbered"))
            found[stem] = f"{number:02d}_{stem}" if part.get("numbered") else stem
    return {stem: name for stem, name in found.items() if stem not in LEFT_OUT}


class Copy:
    """One page on its way into its copy: cells, and the cell that each label of the page stands in."""

    def __init__(self, stem: str, html: Path) -> None:
        path = html / f"{stem}.html"
        if not path.is_file():
            raise FileNotFoundError(f"{path.name} is not built; `make book` builds it")
        page = BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")
        for gone in page.select("a.headerlink, script, style, .gq-live-line, dialog"):
            gone.extract()
        self.cells: list[NotebookNode] = []
        self.cell_of: dict[str, str] = {}
        self.text: list[Tag] = []
        self.waiting: list[str] = []  # labels of the section that begins
        self.code = self.code_cells(stem)
        article = page.select_one("article section")
        self.title = article.h1.get_text()
        self.read(article)
        self.close()
        if left := list(self.code):
            raise ValueError(f"{stem} has {len(left)} cells in its record that its page lacks")

    @staticmethod
    def code_cells(stem: str) -> Iterator[NotebookNode]:
        """The code cells of the record that a page shows, if it has a record."""
        record = BOOK / f"{stem}.ipynb"
        cells = nbformat.read(record, as_version=4).cells if record.exists() else []
        for cell in cells:
            if cell.cell_type == "code" and "remove-cell" not in cell.metadata.get("tags", []):
                yield cell

    def add(self, cell: NotebookNode, *elements: Tag) -> None:
        """Add a cell that the labels of some elements lead to; it is called after the first."""
        inside = (one for element in elements for one in [element, *element.find_all(id=True)])
        labels = [*self.waiting, *(one["id"] for one in inside if one.get("id"))]
        labels.sort(key=lambda label: bool(re.fullmatch(r"id\d+", label)))  # Sphinx' own come last
        self.waiting = []
        wanted = re.sub(r"[^\w-]", "-", labels[0], flags=re.ASCII)[:60] if labels else "cell"
        taken = {one.id for one in self.cells}
        cell.id = next(
            name
            for name in itertools.chain([wanted], (f"{wanted}-{n}" for n in itertools.count(2)))
            if name not in taken
        )
        self.cells.append(cell)
        for label in labels:
            self.cell_of.setdefault(label, cell.id)

    def close(self, **metadata: Any) -> None:
        """End the cell of text that is being collected."""
        text = "\n\n".join(Markdown().convert(str(one)).strip() for one in self.text)
        text = re.sub(r"\n{3,}", "\n\n", text).strip()
        if text:
            self.add(new_markdown_cell(text, metadata=metadata), *self.text)
        self.text = []

    def read(self, element: Tag) -> None:
        """The children of an element in order: code by itself, text collected up to the next label."""
        for child in element.find_all(recursive=False):
            kinds = child.get("class", [])
            if "cell" in kinds and "container" in kinds:
                self.close()
                self.add_code(child)
            elif "solution" in kinds:
                self.fold(child)
            elif child.name == "section" and child.get("id") and child.find(["h2", "h3", "h4"]):
                self.close()
                self.waiting.append(child["id"])
                self.read(child)
            elif child.select_one("div.cell.container, .citation") and "citation" not in kinds:
                self.read(child)
            else:
                if child.get("id") or child.name in ("h1", "h2", "h3", "h4"):
                    self.close()
                self.text.append(child)

    def fold(self, solution: Tag) -> None:
        """A solution under a heading that hides it, and one that ends it."""
        self.close()
        title = solution.p.extract().get_text()
        self.add(
            new_markdown_cell(f"###### {title}", metadata={"jp-MarkdownHeadingCollapsed": True})
        )
        self.cell_of[solution["id"]] = self.cells[-1].id
        self.read(solution)
        self.close()
        self.add(new_markdown_cell("###### End of the solution"))

    def add_code(self, element: Tag) -> None:
        """The next cell of the record and, below, the caption of its figure."""
        cell = next(self.code)
        tags = set(cell.metadata.get("tags", []))
        hidden = {
            "source_hidden": bool(tags & {"hide-input", "remove-input", "hide-cell"}),
            "outputs_hidden": bool(tags & {"hide-output", "remove-output", "hide-cell"}),
        }
        metadata: dict[str, Any] = {"tags": sorted(tags)} if tags else {}
        if any(hidden.values()):
            metadata["jupyter"] = {key: True for key, value in hidden.items() if value}
        caption = element.figcaption and element.figcaption.extract()
        new = new_code_cell(cell.source, metadata=metadata, outputs=cell.outputs)
        new.execution_count = cell.execution_count
        self.add(new, element)
        if caption:
            self.text.append(caption)
            self.close()


def linked(copies: dict[str, Copy]) -> None:
    """Let links of the book lead into the copies; a link to a page without one becomes words."""
    called = names()

    def address(stem: str, found: str) -> str | None:
        """Where a link leads, on a page, in the copies."""
        if re.match(r"[a-z]+:", found):
            return found
        page, _, label = found.partition("#")
        there = Path(page).stem if page else stem
        if there not in copies:
            return None
        cell = copies[there].cell_of.get(label) if label else None
        return f"{called[there]}.ipynb" + (f"#cell-id={cell}" if cell else "")

    for stem, one in copies.items():

        def renewed(found: re.Match[str], stem: str = stem) -> str:
            to = address(stem, found["to"])
            return f"[{found['text']}]({to}{found['title'] or ''})" if to else found["text"]

        def reference(found: re.Match[str], stem: str = stem) -> str:
            return f'href="{address(stem, found[1]) or found[1]}"'

        for cell in one.cells:
            if cell.cell_type == "markdown":
                cell.source = LINK.sub(renewed, cell.source)
            for output in cell.get("outputs", ()):
                if "text/html" in output.get("data", {}):
                    text = "".join(output.data["text/html"])
                    output.data["text/html"] = re.sub(r'href="([^"]+)"', reference, text)


LINK = re.compile(
    r"(?<!!)\[(?P<text>(?:[^\[\]]|\[[^\[\]]*\])*)\]"
    r'\((?P<to>[^()\s]+(?:\([^()\s]*\)[^()\s]*)*)(?P<title> "[^"]*")?\)'
)


def notebooks(html: Path = HTML) -> dict[str, NotebookNode]:
    """Every reading copy, by the name of its file."""
    called = names()
    copies = {stem: Copy(stem, html) for stem in called}
    linked(copies)
    ways = [f"[{one.title}]({called[stem]}.ipynb)" for stem, one in copies.items()]
    made = {}
    for at, (stem, one) in enumerate(copies.items()):
        if at == 0:
            contents = "\n".join(f"- {way}" for way in ways[1:])
            cell = new_markdown_cell(f"## Contents\n\n{HINTS}\n\n{contents}", id="contents")
            one.cells.insert(1, cell)
        else:
            near = [*ways[max(at - 1, 1) : at], f"[Contents]({called[next(iter(called))]}.ipynb)"]
            text = " · ".join([*near, *ways[at + 1 : at + 2]])
            one.cells.append(new_markdown_cell(f"##### Where next\n\n{text}", id="where-next"))
        metadata = {"kernelspec": KERNEL, "language_info": {"name": "python"}}
        metadata["jupytext"] = {"formats": "ipynb"}  # not paired with a text
        made[f"{called[stem]}.ipynb"] = new_notebook(cells=one.cells, metadata=metadata)
    return made


def digest(notebook: NotebookNode) -> str:
    """One name for what a reader may have changed: the text and the code."""
    text = json.dumps([[cell.cell_type, cell.source] for cell in notebook.cells])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def yours(path: Path) -> Path:
    """A free name for a copy that the reader has changed."""
    endings = itertools.chain(["-yours"], (f"-yours-{number}" for number in itertools.count(2)))
    tried = (path.with_name(f"{path.stem}{ending}.ipynb") for ending in endings)
    return next(one for one in tried if not one.exists())


def write(folder: Path, made: dict[str, NotebookNode], html: Path = HTML) -> list[str]:
    """Bring the copies in the folder up to date; return what there is to say to the reader."""
    (folder / ".jupyter" / "labconfig").mkdir(parents=True, exist_ok=True)
    log = folder / MADE
    before = json.loads(log.read_text(encoding="utf-8")) if log.exists() else {}
    said = []
    for name in sorted({*made, *before}):
        path, new = folder / name, made.get(name)
        now = digest(nbformat.read(path, as_version=4)) if path.exists() else None
        if now not in (None, before.get(name), new and digest(new)):  # the reader's own
            if new is not None and digest(new) == before.get(name):
                continue
            said.append(
                f"{name} has changed, and so has your copy; yours is {yours(path).name} now"
            )
            path.rename(yours(path))
        if new is not None:
            path.write_text(nbformat.writes(new) + "\n", encoding="utf-8")
            for picture in re.findall(r"!\[[^\]]*\]\((_images/[^)\s]+)\)", str(new)):
                (folder / "_images").mkdir(exist_ok=True)
                shutil.copyfile(html / picture, folder / picture)
        else:
            path.unlink(missing_ok=True)
    shutil.copytree(BOOK / "kit", folder / "kit", dirs_exist_ok=True)  # what its cells import
    for name, content in CONFIG.items():
        text = json.dumps(content, indent=1)
        (folder / ".jupyter" / "labconfig" / name).write_text(text + "\n", encoding="utf-8")
    (folder / ".gitignore").write_text("*\n", encoding="utf-8")
    log.write_text(json.dumps({name: digest(new) for name, new in made.items()}), encoding="utf-8")
    return said


def main(arguments: list[str]) -> int:
    """Write the copies and say where they are."""
    if {"-h", "--help"} & set(arguments):
        print(__doc__)
        return 0
    if len(arguments) > 1 or any(argument.startswith("-") for argument in arguments):
        print(__doc__, file=sys.stderr)
        return 2
    folder = Path(arguments[0]).resolve() if arguments else FOLDER
    for line in write(folder, notebooks()):
        print(line)
    print(f"The chapters as notebooks are in {folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
