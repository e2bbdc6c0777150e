"""Reading copies of the chapters for JupyterLab: `python book/lab.py [FOLDER]` (`lab`, if none is named).

The records are written for Sphinx; JupyterLab shows their citations, references and captions as keys, or not at all.
A copy says the same in what every notebook viewer understands:

- citations, and references to chapters, figures, equations and theorems, are text with a link that leads there;
- figures, equations, theorems and exercises carry the numbers of the HTML edition, and captions stand below figures;
- admonitions and theorems are boxed, answers are folded, and each solution lies under a folded heading;
- code that is folded in the book is folded here.

A copy runs from top to bottom like its chapter. Its label is the id of a cell (`NAME.ipynb#cell-id=LABEL` opens it).
Made again, a copy replaces the one before it; one whose text or code the reader has changed is kept, under the name
`NAME-yours.ipynb` once the chapter has changed as well.
"""

from __future__ import annotations

import copy
import hashlib
import itertools
import json
import re
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import jupytext
import nbformat
import yaml
from nbformat import NotebookNode
from pybtex.database import Entry, parse_file
from pybtex.plugin import find_plugin
from pybtex.richtext import Text

BOOK = Path(__file__).resolve().parent
ROOT = BOOK.parent
FOLDER = ROOT / "lab"  # beside `book`, so that `../results` is the same place for both
LEFT_OUT = {
    "api",
    "article",
}  # made by autodoc (in a notebook there is `help`); a paper of its own, to be read
MADE = ".made.json"  # what was written, by name and digest of the sources
CONFIG = ".jupyter"  # JUPYTER_CONFIG_PATH of `make lab`
EXERCISE, SOLUTION = (
    "#" * 5,
    "#" * 6,
)  # headings: a folded one hides what follows, up to the next of its level
BOX = '<div style="border-left: 3px solid #0072B2; padding-left: 1em; margin: 1em 0">'
SMALL = '<div style="font-size: 85%; border-left: 3px solid #999999; padding-left: 1em">'
END = "</div>"

BLOCK = re.compile(
    r"^(?P<indent> *)(?P<fence>`{3,}|:{3,}|~{3,})(?:\{(?P<name>[\w:-]+)\})?(?P<rest>.*)$"
)
OPTION = re.compile(r"^:([\w-]+):[ \t]*(.*)$")
TARGET = re.compile(r"^\(([\w:.-]+)\)=\s*$")
HEADING = re.compile(r"^(#{1,6}) +(.+?)\s*$")
DISPLAY = r"\$\$(?P<display>.+?)\$\$(?:[ \t]*\((?P<tag>[\w:-]+)\))?"
INLINE = re.compile(
    r"\{(?P<role>[a-z][\w:-]*)\}(?P<ticks>`+)(?P<content>.+?)(?P=ticks)"
    r"|(?P<code>(?P<open>`+)[^`].*?(?<!`)(?P=open)(?!`))"
    rf"|{DISPLAY}"
    r"|(?P<math>(?<![\\$])\$(?!\s)[^$]+?(?<!\s)\$(?!\$))"
    r"|(?P<image>!)?\[(?P<text>(?:[^\[\]]|\[[^\[\]]*\])*)\]\((?P<address>[^()\s]+)\)",
    re.DOTALL,
)
EXPLICIT = re.compile(r"^(?P<text>.*?)\s*<(?P<target>[^<>]+)>$", re.DOTALL)
HREF = re.compile(r'(?<=href=")[^"]+(?=")')

NUMBERED = {  # what a directive is called, and counted as
    "exercise": "Exercise",
    "exercise-start": "Exercise",
    **{f"prf:{name}": name.capitalize() for name in (
        "algorithm", "assumption", "axiom", "conjecture", "corollary", "criterion", "definition", "example", "lemma",
        "observation", "property", "proposition", "remark", "theorem",
    )},
}  # fmt: skip
ADMONITIONS = {
    "attention",
    "caution",
    "danger",
    "error",
    "hint",
    "important",
    "note",
    "seealso",
    "tip",
    "warning",
}
SIDE = {"margin", "sidebar", "aside"}
CONTAINERS = {
    "card",
    "container",
    "div",
    "grid",
    "grid-item",
    "grid-item-card",
    "table",
    "tab-item",
    "tab-set",
}
NOTHING = {
    "contents",
    "index",
    "tableofcontents",
    "toctree",
    "bibliography",
    "exercise-end",
    "solution-end",
}
NAMES = {
    "attr",
    "class",
    "const",
    "data",
    "exc",
    "func",
    "meth",
    "mod",
    "obj",
    "code",
    "literal",
    "command",
    "file",
}


@dataclass(frozen=True)
class Page:
    """A page of the book: its file, the number of the chapter (None outside of the numbered parts) and its part."""

    stem: str
    number: int | None
    part: str
    name: str  # of the copy

    @property
    def file(self) -> str:
        """The copy's file."""
        return f"{self.name}.ipynb"


@dataclass(frozen=True)
class Place:
    """Where a label leads: the page, the id of the cell, how it is called ("Fig. 4.1") and its title, if it has one."""

    page: Page
    cell: str
    kind: str = ""
    number: str = ""
    title: str = ""

    @property
    def called(self) -> str:
        """The words for it in running text."""
        return (
            f"{FORMATS.get(self.kind, self.kind + ' %s') % self.number}"
            if self.number
            else self.title
        )


@dataclass
class Directive:
    """A fenced directive: what follows its name, its options, and its lines."""

    name: str
    argument: str
    options: dict[str, str]
    body: str

    @property
    def folded(self) -> bool:
        """Whether it is closed until somebody clicks on it."""
        return (
            self.name == "dropdown"
            or {"dropdown", "toggle"} & set(self.options.get("class", "").split()) != set()
        )


@dataclass
class Book:
    """All that copies need to know of one another."""

    pages: list[Page]
    places: dict[str, Place] = field(default_factory=dict)
    titles: dict[str, str] = field(default_factory=dict)
    files: set[str] = field(default_factory=set)  # pictures to be put beside the copies
    faults: list[str] = field(
        default_factory=list
    )  # what the copies could not say, and show as it is

    def page(self, stem: str) -> Page | None:
        """The page of this name, with or without an ending."""
        return next(
            (page for page in self.pages if page.stem == re.sub(r"\.(md|ipynb|html)$", "", stem)),
            None,
        )

    def title(self, page: Page) -> str:
        """The title of a page, once it has been read."""
        return self.titles.get(page.stem, page.stem)


@cache
def settings() -> dict[str, Any]:
    """Sphinx' settings of the book."""
    return dict(
        yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))["sphinx"]["config"]
    )


FORMATS = {
    **{"figure": "Fig. %s", "table": "Table %s", "section": "Section %s"},
    "equation": settings().get("math_eqref_format", "({number})").replace("{number}", "%s"),
    **settings().get("numfig_format", {}),
}


@cache
def macros() -> dict[str, str]:
    """The book's own commands in formulas, which JupyterLab does not know."""
    given = settings().get("mathjax3_config", {}).get("tex", {}).get("macros", {})
    bodies = {name: value if isinstance(value, str) else value[0] for name, value in given.items()}
    if with_arguments := [
        name for name, value in given.items() if not isinstance(value, str) and len(value) > 1
    ]:
        raise ValueError(
            f"macros have arguments: {', '.join(with_arguments)}; those of the book should have none"
        )
    return bodies


def formula(text: str) -> str:
    """A formula with the book's own commands written out."""
    return re.sub(r"\\([A-Za-z]+)", lambda found: macros().get(found[1], found[0]), text)


@cache
def entries() -> dict[str, Entry]:
    """The bibliography, by key."""
    return dict(parse_file(str(BOOK / "references.bib")).entries)


def plain(key: str) -> str:
    """The key of a work, without the prefix by which a page with a bibliography of its own marks its citations."""
    return key.removeprefix("art-")


def author_year(key: str) -> tuple[str, str]:
    """Who and when, for running text."""
    entry = entries()[key]
    people = entry.persons.get("author") or entry.persons.get("editor") or []
    last = [" ".join([*person.prelast_names, *person.last_names]) for person in people]
    names = [str(Text.from_latex(name)) for name in last]
    who = f"{names[0]} et al." if len(names) > 2 else " and ".join(names) or key
    return who, entry.fields.get("year", "n.d.")


@cache
def references() -> dict[str, str]:
    """The entries of the bibliography as text, by key."""
    style, backend = (
        find_plugin("pybtex.style.formatting", "unsrt")(),
        find_plugin("pybtex.backends", "markdown")(),
    )
    formatted = style.format_entries(entries().values())
    texts = {entry.key: " ".join(entry.text.render(backend).split()) for entry in formatted}
    return {key: re.sub(r"\\(?=[^\w\s])|\\(texttt|url) ?", "", text) for key, text in texts.items()}


def cite(keys: str, textual: bool) -> str:
    """Citations with links into the bibliography: "(Yang et al., 2019)" or, in the text, "Yang et al. (2019)"."""
    found = []
    for key in map(plain, map(str.strip, keys.split(","))):
        who, year = author_year(key)
        whole = re.sub(r"\[([^\]]+)\]\([^)]+\)|[*\"]", r"\1", references()[key])
        address = f'bibliography.ipynb#cell-id={cell_id("ref-" + key)} "{whole}"'
        found.append(f"[{who} ({year})]({address})" if textual else f"[{who}, {year}]({address})")
    return ", ".join(found) if textual else f"({'; '.join(found)})"


def cell_id(label: str) -> str:
    """A label as the id of a cell: letters, digits, `-` and `_`, 64 at most."""
    return re.sub(r"[^\w-]", "-", label, flags=re.ASCII)[:64]


def pages() -> list[Page]:
    """The pages in order, numbered through the numbered parts."""
    toc = yaml.safe_load((BOOK / "_toc.yml").read_text(encoding="utf-8"))
    found = [Page(Path(toc["root"]).stem, None, "", "00_" + Path(toc["root"]).stem)]
    number = 0
    for part in toc["parts"]:
        for chapter in part["chapters"]:
            stem = Path(chapter["file"]).stem
            number += bool(part.get("numbered"))
            name = f"{number:02d}_{stem}" if part.get("numbered") else stem
            found.append(
                Page(stem, number if part.get("numbered") else None, part["caption"], name)
            )
    return [page for page in found if page.stem not in LEFT_OUT]


def source(page: Page) -> NotebookNode:
    """The record of a page, or its text where it has no record."""
    record = BOOK / f"{page.stem}.ipynb"
    if record.exists():
        return nbformat.read(record, as_version=4)
    return jupytext.reads((BOOK / f"{page.stem}.md").read_text(encoding="utf-8"), fmt="md:myst")


def options_and_body(lines: list[str]) -> tuple[dict[str, str], str]:
    """The options at the head of a directive, in either form, and the rest."""
    if (
        lines
        and lines[0].strip() == "---"
        and "---" in (rest := [line.strip() for line in lines[1:]])
    ):
        end = rest.index("---")
        given = yaml.safe_load("\n".join(lines[1 : end + 1])) or {}
        return {key: str(value) for key, value in given.items()}, "\n".join(lines[end + 2 :]).strip(
            "\n"
        )
    options = {}
    while lines and (option := OPTION.match(lines[0].strip())):
        options[option[1]] = option[2].strip()
        lines = lines[1:]
    return options, "\n".join(lines).strip("\n")


def blocks(text: str) -> Iterator[str | Directive]:
    """The text in order: plain stretches, with their fences of code, and directives."""
    lines, held = text.split("\n"), list[str]()
    position = 0
    while position < len(lines):
        start = BLOCK.match(lines[position])
        if start is None:
            held.append(lines[position])
            position += 1
            continue
        if start["name"] and start["fence"][0] == "`" and "`" in start["rest"]:
            raise ValueError(
                f"a line is {lines[position]!r}; with backticks in it, it should begin with colons"
            )
        close = re.compile(rf"^ *{re.escape(start['fence'][0])}{{{len(start['fence'])},}}\s*$")
        end = next(
            (at for at in range(position + 1, len(lines)) if close.match(lines[at])), len(lines)
        )
        inner = [line.removeprefix(start["indent"]) for line in lines[position + 1 : end]]
        if start["name"] is None:
            held += lines[position : end + 1]
        elif start["name"] in ("code-block", "code", "sourcecode"):
            _, body = options_and_body(inner)
            held += [f"```{start['rest'].strip()}", *body.split("\n"), "```"]
        else:
            if held:
                yield "\n".join(held)
                held = []
            yield Directive(start["name"], start["rest"].strip(), *options_and_body(inner))
        position = end + 1
    if held:
        yield "\n".join(held)


def outside_code(text: str) -> Iterator[tuple[bool, str]]:
    """Stretches of lines, and whether each is outside of fenced code."""
    fence, held = "", list[str]()
    for line in text.split("\n"):
        start = BLOCK.match(line)
        if not fence and start:
            yield True, "\n".join(held)
            fence, held = start["fence"], [line]
        elif fence and line.strip() == fence:
            yield False, "\n".join([*held, line])
            fence, held = "", []
        else:
            held.append(line)
    yield not fence, "\n".join(held)


class Numbers:
    """Counters by Sphinx' rules: each kind for itself, anew in every chapter; pages without a number share theirs."""

    def __init__(self) -> None:
        self.counts: Counter[tuple[int | None, str]] = Counter()

    def next(self, page: Page, kind: str) -> str:
        """The next number of this kind on the page."""
        self.counts[page.number, kind] += 1
        count = self.counts[page.number, kind]
        return str(count) if page.number is None else f"{page.number}.{count}"


class Copy:
    """One page on its way into its copy; first to learn its labels, then, when all are known, to write it."""

    def __init__(self, book: Book, page: Page, numbers: Numbers, learn: bool) -> None:
        self.book, self.page, self.numbers, self.learn = book, page, numbers, learn
        self.cells: list[NotebookNode] = []
        self.ids: set[str] = set()
        self.waiting: list[str] = []  # labels that belong to what comes next
        self.parts: list[str] = []  # of the cell of text that is being written
        self.label = ""  # of that cell
        self.depth = 0  # of boxes
        self.folded = (
            ""  # "open" inside of a solution, "over" behind one until something else begins
        )
        self.sections = 0

    # -- cells --

    def unique(self, wanted: str) -> str:
        """An id that no other cell of the copy has."""
        name, count = cell_id(wanted), 1
        while name in self.ids:
            count += 1
            name = f"{cell_id(wanted)[:60]}-{count}"
        self.ids.add(name)
        return name

    def close(self, metadata: dict[str, Any] | None = None) -> None:
        """End the cell of text that is being written."""
        text = re.sub(
            r"\n{3,}", "\n\n", "\n\n".join(part.strip("\n") for part in self.parts if part.strip())
        )
        if text.strip():
            name = self.label or self.unique(f"text-{len(self.cells)}")
            self.cells.append(nbformat.v4.new_markdown_cell(text, metadata=metadata or {}, id=name))
        self.parts, self.label = [], ""

    def begin(self, label: str) -> str:
        """Begin a cell that a label leads to; return its id. Inside of a box it is the cell of the box."""
        if not self.depth:
            self.close()
        self.label = self.label or self.unique(label)
        return self.label

    def place(
        self, labels: Iterable[str], cell: str, kind: str = "", number: str = "", title: str = ""
    ) -> None:
        """Note where labels lead."""
        for label in labels:
            if self.learn and label in self.book.places:
                where = self.book.places[label].page.stem
                raise ValueError(
                    f"the label {label} stands on {where} and {self.page.stem}; it should stand once"
                )
            if self.learn:
                self.book.places[label] = Place(self.page, cell, kind, number, title)

    def labels(self, *more: str | None) -> list[str]:
        """The labels that were waiting, and others."""
        found, self.waiting = [*self.waiting, *filter(None, more)], []
        return found

    # -- text --

    def link(self, target: str, text: str = "", words: str = "") -> str:
        """A link to what a label, or a page, stands for; its words alone where that is not in any copy."""
        place = self.book.places.get(target)
        if place is not None:
            return f"[{text or words or place.called}]({place.page.file}#cell-id={place.cell})"
        if (page := self.book.page(target)) is not None:
            return f"[{text or self.book.title(page)}]({page.file})"
        if target in LEFT_OUT or target.removesuffix(".md") in LEFT_OUT:
            return text or "library reference"
        if self.learn or target.partition(".")[0] == "gqlib":
            return text or f"`{target}`"
        self.book.faults.append(
            f"{self.page.stem} refers to {target}, which is no label and no page"
        )
        return text or f"`{target}`"

    def role(self, name: str, content: str) -> str:
        """A role as text with a link."""
        name = name.removeprefix("py:").removeprefix("std:")
        if name == "math":
            return f"${formula(content)}$"
        if name in ("sub", "sup", "subscript", "superscript"):
            return f"<{name[:3]}>{content}</{name[:3]}>"
        if name.partition(":")[0] == "cite":
            return cite(content, textual=name.endswith((":t", ":ts", ":ct", ":cts")))
        if name in NAMES:
            return f"`{content.strip('~')}`"
        explicit = EXPLICIT.match(content)
        text, target = (explicit["text"], explicit["target"]) if explicit else ("", content)
        if name in ("term", "abbr", "download"):
            return text or content
        if name in ("ref", "numref", "prf:ref", "doc", "eq", "any"):
            place = self.book.places.get(target)
            if name == "numref" and text and place is not None:
                text = (
                    text.replace("%s", place.number)
                    .replace("{number}", place.number)
                    .replace("{name}", place.title)
                )
            if (
                name == "ref"
                and place is not None
                and place.kind in ("figure", "table")
                and place.title
            ):
                return self.link(target, text, place.title)
            return self.link(target, text)
        self.book.faults.append(
            f"{self.page.stem} has the role {name}, which the copies do not know"
        )
        return text or content

    def address(self, address: str) -> str | None:
        """Where a link of the book leads in the copies; None where there is no such place."""
        if re.match(r"[a-z]+:", address):
            return address
        path, _, label = address.partition("#")
        place = self.book.places.get(label) if label else None
        if place is not None:
            return f"{place.page.file}#cell-id={place.cell}"
        page = self.book.page(path) if path else None
        return page.file if page is not None else None

    def piece(self, found: re.Match[str]) -> str:
        """One role, formula, link or name in running text."""
        if found["role"]:
            return self.role(found["role"], found["content"])
        if found["code"]:
            return found["code"]
        if found["display"]:
            return self.display(found["display"], found["tag"])
        if found["math"]:
            return formula(found["math"])
        text, address = self.inline(found["text"]), found["address"]
        if found["image"]:
            return f"![{text}]({self.picture(address)})"
        to = self.address(address)
        if not text:
            return self.link(address.removeprefix("#"))
        return f"[{text}]({to})" if to else text

    def inline(self, text: str) -> str:
        """Running text with roles, formulas and links put into words."""
        return INLINE.sub(self.piece, text)

    def display(self, body: str, label: str | None) -> str:
        """A displayed formula with its number."""
        tag = ""
        if label:
            number = self.numbers.next(self.page, "equation")
            self.label = self.label or self.unique(f"text-{len(self.cells)}")
            self.place([label], self.label, "equation", number)
            tag = rf" \tag{{{number}}}"
        return f"$${formula(body.rstrip())}{tag}" + ("\n$$" if "\n" in body else "$$")

    def picture(self, address: str) -> str:
        """Put a picture of the book beside the copies."""
        if (BOOK / address).is_file():
            self.book.files.add(address)
        return address

    def heading(self, level: int, text: str) -> None:
        """A heading with the number that it has in the book."""
        title, number = self.inline(text), ""
        if level == 1:
            self.book.titles[self.page.stem] = title
            number = str(self.page.number or "")
        elif level == 2 and self.page.number is not None:
            self.sections += 1
            number = f"{self.page.number}.{self.sections}"
        name = self.begin(
            self.waiting[0] if self.waiting else f"section-{title.lower()}"[:40].strip("- ")
        )
        self.place(self.labels(), name, "section" if number else "", number, title)
        self.parts.append(f"{'#' * level} {number}{'. ' if number else ''}{title}")

    def text(self, text: str) -> None:
        """A stretch of text without directives."""
        for outside, stretch in outside_code(definitions(text)):
            if not outside:
                self.parts.append(stretch)
                continue
            held: list[str] = []
            for line in [*stretch.split("\n"), None]:
                target, title = line and TARGET.match(line), line and HEADING.match(line)
                if line is not None and not target and not title:
                    held.append(line)
                    continue
                self.paragraphs("\n".join(held))
                held = []
                if target:
                    self.waiting.append(target[1])
                elif title:
                    self.folded = ""
                    self.heading(len(title[1]), title[2])

    def paragraphs(self, text: str) -> None:
        """Paragraphs; a label before them leads to a cell that begins with them."""
        if not text.strip():
            return
        self.end_solution()
        if self.waiting:
            name = self.begin(self.waiting[0])
            self.place(self.labels(), name)
        self.parts.append(self.inline(text))

    # -- directives --

    def inner(self, text: str) -> str:
        """The text of a directive, with the directives in it."""
        outer, self.parts = self.parts, []
        self.depth += 1
        for block in blocks(text):
            if isinstance(block, Directive):
                self.directive(block)
            else:
                for outside, stretch in outside_code(definitions(block)):
                    self.parts.append(self.inline(stretch) if outside else stretch)
        body, self.parts = (
            "\n\n".join(part.strip("\n") for part in self.parts if part.strip()),
            outer,
        )
        self.depth -= 1
        return body

    def fold(self, title: str) -> None:
        """A heading that hides what follows it."""
        self.close()
        self.parts.append(f"{SOLUTION} {title}")
        self.close({"jp-MarkdownHeadingCollapsed": True})

    def end_solution(self) -> None:
        """Before what does not belong to the folded solution and has no heading of its own."""
        if self.folded == "over":
            self.close()
            self.parts.append(f"{SOLUTION} End of the solution")
            self.close()
            self.folded = ""

    def directive(self, block: Directive) -> None:
        """Write a directive as plain text and a little HTML."""
        name, label = block.name, block.options.get("label") or block.options.get("name")
        if name == "solution-end":
            self.close()
            self.folded = "over"
            return
        if name in NOTHING:
            return
        if NUMBERED.get(name) != "Exercise":  # which has a heading
            self.end_solution()
        if name in ("solution-start", "solution"):
            exercise = self.book.places.get(block.argument.split()[0])
            self.fold(f"Solution of {exercise.called}" if exercise else "Solution")
            self.folded = "open"
            if name == "solution":
                self.parts.append(self.inner(block.body))
                self.close()
                self.folded = "over"
        elif name in NUMBERED:
            self.numbered(block, label)
        elif name == "prf:proof":
            self.labelled(label)
            end = "\n\n" if block.body.rstrip().endswith(("$$", "```")) else " "
            self.parts.append(f"*Proof.* {self.inner(block.body)}{end}∎")
        elif name == "math":
            self.labelled(None)
            self.parts.append(
                self.display(f"\n{block.argument}\n{block.body}".replace("\n\n", "\n"), label)
            )
        elif name in ("figure", "image"):
            self.figure(block, label)
        elif name == "list-table":
            self.labelled(label)
            self.parts.append(list_table(block.body, self.inline))
        elif name == "literalinclude":
            self.parts.append(f"```{block.options.get('language', '')}\n{excerpt(block)}\n```")
        elif name == "raw":
            self.parts.append(re.sub(r"<script.*?</script>", "", block.body, flags=re.DOTALL))
        elif (
            name in SIDE
            or name in ADMONITIONS
            or name in CONTAINERS
            or name in ("admonition", "dropdown")
        ):
            self.labelled(label)
            self.box(block)
        else:
            self.book.faults.append(
                f"{self.page.stem} has the directive {name}, which the copies do not know"
            )
            self.parts.append(self.inner(block.body))

    def labelled(
        self, label: str | None, kind: str = "", number: str = "", title: str = ""
    ) -> None:
        """Begin a new cell if a label leads here."""
        if found := self.labels(label):
            self.place(found, self.begin(found[-1]), kind, number, title)

    def numbered(self, block: Directive, label: str | None) -> None:
        """A theorem, an algorithm, an exercise."""
        word, title = NUMBERED[block.name], self.inline(block.argument)
        number = "" if "nonumber" in block.options else self.numbers.next(self.page, word)
        head = " ".join(
            filter(
                None, [f"**{word} {number}**".replace(" **", "**"), f"({title})" if title else ""]
            )
        )
        if not self.depth:
            self.close()
        self.labelled(label, word, number, title)
        if word == "Exercise":
            self.folded = ""
            self.parts.append(f"{EXERCISE} {head}")
            self.parts.append(self.inner(block.body))
        else:
            self.parts += [BOX, head, self.inner(block.body), END]

    def figure(self, block: Directive, label: str | None) -> None:
        """A picture from a file, with its caption."""
        number = self.numbers.next(self.page, "figure") if block.name == "figure" and label else ""
        caption = self.inner(block.body)
        self.labelled(label, "figure", number, caption)
        self.parts.append(f"![{block.options.get('alt', '')}]({self.picture(block.argument)})")
        self.parts.append(self.captioned(number, caption))

    def captioned(self, number: str, caption: str) -> str:
        """A caption with its number."""
        return " ".join(
            filter(None, [f"**{FORMATS['figure'] % number}.**" if number else "", caption])
        )

    def box(self, block: Directive) -> None:
        """An admonition, a note for the margin, a container, or a part that is folded."""
        name, title, body = block.name, block.argument, block.body
        if name in ADMONITIONS or name == "margin":  # their text may begin in the first line
            title, body = (
                name.capitalize() if name in ADMONITIONS else "",
                f"{title}\n{body}".strip("\n"),
            )
        elif name in CONTAINERS and "card" not in name:
            title = ""
        title, body = self.inline(title), self.inner(body)
        if block.folded:
            self.parts += [
                f"<details><summary>{html(title or name.capitalize())}</summary>",
                body,
                "</details>",
            ]
            return
        begin = "" if name in CONTAINERS else SMALL if name in SIDE else BOX
        self.parts += [begin, f"**{title}**" if title else "", body, END if begin else ""]

    # -- the whole --

    def code(self, cell: NotebookNode) -> None:
        """A cell of code with its outputs and, below, the caption of its figure."""
        self.end_solution()
        about = cell.metadata.get("mystnb", {}).get("figure", {})
        self.close()
        labels = self.labels(about.get("name"))
        name = self.unique(labels[-1] if labels else f"code-{len(self.cells)}")
        tags = set(cell.metadata.get("tags", []))
        hidden = {
            "source_hidden": bool(
                tags & {"hide-input", "remove-input", "hide-cell", "remove-cell"}
            ),
            "outputs_hidden": bool(
                tags & {"hide-output", "remove-output", "hide-cell", "remove-cell"}
            ),
        }
        metadata = {"tags": sorted(tags)} if tags else {}
        if any(hidden.values()):
            metadata["jupyter"] = {key: True for key, value in hidden.items() if value}
        new = nbformat.v4.new_code_cell(cell.source, metadata=metadata, id=name)
        new.outputs = [self.output(output) for output in cell.get("outputs", [])]
        new.execution_count = cell.get("execution_count")
        self.cells.append(new)
        if about.get("caption"):
            number = self.numbers.next(self.page, "figure") if about.get("name") else ""
            caption = self.inline(about["caption"].strip())
            self.parts.append(self.captioned(number, caption))
            self.close()
            if about.get("name"):
                self.place([labels.pop()], name, "figure", number, caption)
        self.place(labels, name)

    def output(self, output: NotebookNode) -> NotebookNode:
        """An output whose links lead into the copies."""
        output = copy.deepcopy(output)
        for kind, text in output.get("data", {}).items():
            if kind == "text/markdown":
                output.data[kind] = self.inline("".join(text))
            elif kind == "text/html":
                output.data[kind] = HREF.sub(
                    lambda found: self.address(found[0]) or found[0], "".join(text)
                )
        return output

    def notebook(self, cells: Iterable[NotebookNode]) -> NotebookNode:
        """The copy of a page with these cells."""
        for cell in cells:
            if cell.cell_type == "code":
                self.code(cell)
                continue
            if cell.cell_type == "markdown":
                for block in blocks(cell.source):
                    if isinstance(block, Directive):
                        self.directive(block)
                    else:
                        self.text(block)
            self.close()
        if self.page.stem == "bibliography":
            self.cells += bibliography()
        self.place(self.labels(), self.cells[-1].id if self.cells else "")
        self.cells = around(self.book, self.page, self.cells)
        kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
        metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
        metadata["jupytext"] = {
            "formats": "ipynb"
        }  # not paired with a text, as `pyproject.toml` has it for the book
        return nbformat.v4.new_notebook(cells=self.cells, metadata=metadata)


def html(text: str) -> str:
    """Emphasis and code of a title in HTML, where Markdown is not read."""
    text = re.sub(r"`([^`]+)`", r"<code>\1</code>", text)
    return re.sub(r"\*([^*]+)\*", r"<em>\1</em>", text)


def definitions(text: str) -> str:
    """Lists of definitions, which JupyterLab does not know, as lists of points."""
    return re.sub(r"^(?!#|\s|[-*+] )(.+)\n+: +(.+)$", r"- \1: \2", text, flags=re.MULTILINE)


def excerpt(block: Directive) -> str:
    """The lines of a file of the book that the options choose, by words that lines contain."""
    lines = (BOOK / block.argument).read_text(encoding="utf-8").splitlines()
    for option, behind in (("start-at", 0), ("start-after", 1)):
        if option in block.options:
            lines = lines[
                next(at for at, line in enumerate(lines) if block.options[option] in line)
                + behind :
            ]
    for option, behind in (("end-at", 1), ("end-before", 0)):
        if option in block.options:
            lines = lines[
                : next(at for at, line in enumerate(lines) if block.options[option] in line)
                + behind
            ]
    return "\n".join(lines).strip("\n")


def list_table(body: str, inline: Callable[[str], str]) -> str:
    """A table that was given as a list of lists."""
    rows: list[list[str]] = []
    for line in body.split("\n"):
        if start := re.match(r"^(\* )?\s*- ?(.*)$", line):
            if start[1]:
                rows.append([])
            rows[-1].append(start[2])
        elif line.strip() and rows:
            rows[-1][-1] += " " + line.strip()
    head, *rest = [f"| {' | '.join(inline(cell) for cell in row)} |" for row in rows]
    return "\n".join([head, "|" + "---|" * len(rows[0]), *rest])


def bibliography() -> list[NotebookNode]:
    """One cell for each entry, by author and year."""
    order = sorted(
        entries(), key=lambda key: (author_year(key)[0].lower(), author_year(key)[1], key)
    )
    return [
        nbformat.v4.new_markdown_cell(references()[key], id=cell_id("ref-" + key)) for key in order
    ]


def contents(book: Book) -> str:
    """The parts and chapters, with links."""
    lines: list[str] = []
    for page in book.pages[1:]:
        if f"**{page.part}**" not in lines:
            lines += ["", f"**{page.part}**", ""]
        number = f"{page.number}. " if page.number else ""
        lines.append(f"- [{number}{book.title(page)}]({page.file})")
    return "\n".join(lines).strip()


HINTS = """These are the chapters as notebooks: change the code and run it with Shift-Enter.
Each stands alone; *Run → Run All Cells* runs it from top to bottom.
Folded code opens with a click on its three dots, a solution with a click on "cells hidden" below its heading.
Your changes stay: when a chapter is renewed, the one that you changed is kept beside it."""


def around(book: Book, page: Page, cells: list[NotebookNode]) -> list[NotebookNode]:
    """The cells with the way to the neighbours below them or, on the first page, with the contents."""
    if page == book.pages[0]:
        text = f"## Contents\n\n{HINTS}\n\n{contents(book)}"
        return [*cells[:1], nbformat.v4.new_markdown_cell(text, id="contents"), *cells[1:]]
    at = book.pages.index(page)
    ways = [f"[← {book.title(book.pages[at - 1])}]({book.pages[at - 1].file})"] if at > 1 else []
    ways.append(f"[Contents]({book.pages[0].file}#cell-id=contents)")
    if at + 1 < len(book.pages):
        ways.append(f"[{book.title(book.pages[at + 1])} →]({book.pages[at + 1].file})")
    text = f"{EXERCISE} Where next\n\n{' · '.join(ways)}"  # the heading ends a folded solution above it
    return [*cells, nbformat.v4.new_markdown_cell(text, id="where-next")]


def learn() -> Book:
    """Read every page once, for its labels and its title."""
    book, numbers = Book(pages()), Numbers()
    for page in book.pages:
        Copy(book, page, numbers, learn=True).notebook(source(page).cells)
    book.faults.clear()
    return book


def copies(book: Book) -> dict[str, NotebookNode]:
    """Every reading copy, by the name of its file."""
    numbers = Numbers()
    return {
        page.file: Copy(book, page, numbers, learn=False).notebook(source(page).cells)
        for page in book.pages
    }


def digest(notebook: NotebookNode) -> str:
    """One name for what a reader may have changed: the text and the code."""
    text = json.dumps([[cell.cell_type, cell.source] for cell in notebook.cells])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def yours(path: Path) -> Path:
    """A free name for a copy that the reader has changed."""
    numbers = itertools.chain([""], (f"-{number}" for number in itertools.count(2)))
    names = (path.with_name(f"{path.stem}-yours{number}.ipynb") for number in numbers)
    return next(name for name in names if not name.exists())


def write(folder: Path, made: dict[str, NotebookNode], files: Iterable[str] = ()) -> list[str]:
    """Bring the copies in the folder up to date; return what there is to say to the reader."""
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / MADE
    before = json.loads(log.read_text(encoding="utf-8")) if log.exists() else {}
    said = []
    for name in sorted({*made, *before}):
        path, new = folder / name, made.get(name)
        now = digest(nbformat.read(path, as_version=4)) if path.exists() else ""
        if (
            now and now != before.get(name) and (new is None or now != digest(new))
        ):  # the reader's own
            if new is not None and digest(new) == before.get(name):
                continue
            path = path.rename(yours(path))
            said.append(f"{name} has changed, and so has your copy; yours is {path.name} now")
        elif new is None:
            path.unlink(missing_ok=True)
        if new is not None:
            (folder / name).write_text(nbformat.writes(new) + "\n", encoding="utf-8")
    for name in files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(BOOK / name, folder / name)
    (folder / ".gitignore").write_text("*\n", encoding="utf-8")
    off = {
        "disabledExtensions": {
            "jupyterlab-myst": True,
            "@jupyterlab/apputils-extension:announcements": True,
        }
    }
    (folder / CONFIG / "labconfig").mkdir(parents=True, exist_ok=True)
    (folder / CONFIG / "labconfig" / "page_config.json").write_text(
        json.dumps(off, indent=1) + "\n", encoding="utf-8"
    )
    whole = {
        "@jupyterlab/notebook-extension:tracker": {"windowingMode": "none"}
    }  # a page to search and to jump in
    (folder / CONFIG / "labconfig" / "default_setting_overrides.json").write_text(
        json.dumps(whole, indent=1) + "\n", encoding="utf-8"
    )
    log.write_text(
        json.dumps({name: digest(new) for name, new in made.items()}, indent=1) + "\n",
        encoding="utf-8",
    )
    return said


def main(arguments: list[str]) -> int:
    """Write the copies and say where they are."""
    if len(arguments) > 1 or any(argument.startswith("-") for argument in arguments):
        print(__doc__, file=sys.stderr)
        return 2
    folder = Path(arguments[0]).resolve() if arguments else FOLDER
    book = learn()
    for line in [*write(folder, copies(book), book.files), *book.faults]:
        print(line)
    print(f"The chapters as notebooks are in {folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
