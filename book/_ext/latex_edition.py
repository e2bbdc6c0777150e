r"""The PDF edition: the same pages as the HTML book, arranged and set for paper by Sphinx's LaTeX builder.

Settings that repeat what is said elsewhere are taken from there: macros of formulas from MathJax's configuration, the
title page from CITATION.cff, the parts from the captions in `_toc.yml`. When the pages have been put together:

- the first page becomes a chapter without a number, and every caption a part, so that chapters, figures and theorems
  have the numbers of the HTML edition;
- the reference of the library is a document of its own, and the list of works stands once, at the end;
- code that is folded there is left out here, solutions are unfolded, and the caption of a figure that is live there
  says so;
- pictures that stand in a row there stand in one here;
- a table whose lines do not fit gets columns after the length of their contents, and may run over pages;
- names in typewriter may be broken after `_`, `.` and `/`, so that they do not run into the margin, and modules in the
  index, whose columns are narrow.

Nothing here touches another builder.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from docutils import nodes
from sphinx import addnodes

ROOT = Path(__file__).parents[2]
# Pages that are documents of their own: where each begins, its file, its title and its class.
BOOK, REFERENCE = (
    "gradient-q-sigma-lambda",
    "api",
)  # the first is the name of the file in _config.yml
ARTICLE, WORKS_CITED = (
    "article",
    "References",
)  # the page of the article, and its section of works, moved by LaTeX too
DOCUMENTS = {
    REFERENCE: ("gqlib-reference", "Library reference of gqlib", "manual"),
    ARTICLE: ("gqlib-article", "[Re] Gradient Q(σ, λ)", "howto"),
}
WORKS = "bibliography"  # the page whose list LaTeX puts at the end by itself
BREAK = "\u200b"  # where a long name may be broken
LINE = 105  # characters of a table's line, at its size of type
WIDER = 1.35  # typewriter against roman
SHORT = 14  # characters of a name that is never broken

PREAMBLE = r"""
\usepackage{newunicodechar}
\newunicodechar{ᵀ}{\textsuperscript{T}}
\newunicodechar{ℓ}{\ensuremath{\ell}}
\newunicodechar{^^^^200b}{\hspace{0pt}}
\addto\captionsenglish{\renewcommand{\contentsname}{Contents}}
\setcounter{tocdepth}{1}
% Tables: smaller, and without a number on the pages that continue them, for they have none.
\makeatletter
\g@addto@macro\sphinxatlongtablestart{\footnotesize}
\g@addto@macro\sphinxattablestart{\footnotesize}
\makeatother
\renewcommand{\sphinxtablecontinued}[1]{}
% No heading of a section or a box, and no first line of code, alone at the foot of a page. Sphinx asks how full the
% page is, and is misled where one has just been filled: then a heading leaves an almost empty page behind.
\renewcommand{\bottomtitlespace}{0pt}
\makeatletter
\newcommand{\keepwith}[2]{\AddToHook{#1/before}{\par\if@nobreak\else\needspace{#2\baselineskip}\fi}}
\makeatother
\keepwith{cmd/section}{13}
\keepwith{cmd/subsection}{12}
\keepwith{cmd/subsubsection}{11}
\keepwith{env/sphinxadmonition}{9}
\keepwith{env/sphinxVerbatim}{3}
\emergencystretch=2em
"""

# matplotlib brings this font along; it has every letter that code and its output use.
FONT = "DejaVuSansMono"
FACES = ("", "-Bold", "-Oblique", "-BoldOblique")
FONTS = r"""
\setmainfont{FreeSerif}[Extension=.otf, ItalicFont=*Italic, BoldFont=*Bold, BoldItalicFont=*BoldItalic]
\setsansfont{FreeSans}[Extension=.otf, ItalicFont=*Oblique, BoldFont=*Bold, BoldItalicFont=*BoldOblique]
\setmonofont{DejaVuSansMono}[Path=./, Extension=.ttf, Scale=0.86, BoldFont=*-Bold, ItalicFont=*-Oblique,
  BoldItalicFont=*-BoldOblique]
"""

# One source for all documents: each is known by its name while it is set.
TITLE_PAGE = r"""
\makeatletter
\hypersetup{pdftitle={\@title}, pdfauthor={%(authors)s}, pdflang={en-GB}}
\ifnum\strcmp{\jobname}{%(article)s}=0
\newgeometry{hmargin=3.1cm,vmargin={2.8cm,3cm}}
\linespread{1.13}\selectfont
\AddToHook{env/sphinxthebibliography/begin}{\small}
{\raggedright\sffamily
{\LARGE\bfseries [Re] Gradient Q(σ, λ)\par}
\vspace{1.5ex}
{\large %(authors)s\par}
\vspace{0.5ex}
Version %(version)s, %(date)s.
A replication of %(paper_authors)s (%(year)s), who are not its authors.\par}
\vspace{2ex}\hrule\vspace{3ex}
\else
\begin{titlepage}
\raggedright\sffamily
\vspace*{0.16\textheight}
\ifnum\strcmp{\jobname}{%(book)s}=0
{\Huge\bfseries %(title)s\par}
\vspace{3ex}
{\Large One paper, derived again, run and judged claim by claim\par}
\else
{\Huge\bfseries \@title\par}
\vspace{3ex}
{\Large A companion of %(title)s\par}
\fi
\vspace{8ex}
{\large %(authors)s\par}
\vspace{1ex}
Version %(version)s, %(date)s\par
\vfill
\normalfont
The paper is by %(paper_authors)s: \emph{%(paper)s}, %(year)s.
They are not the authors of this edition, which is independent of them.\par
\vspace{1.5ex}
This is the book on paper.
The HTML edition, from the same source, has live figures, and the code of some figures and tables that is left out here;
every chapter is also a notebook that runs.
Numbers of chapters, figures and theorems are the same in both.\par
\vspace{1.5ex}
Code: MIT. Prose and figures: CC BY 4.0.\par
\end{titlepage}
\fi
\makeatother
"""


def macros(definitions: dict[str, Any]) -> str:
    r"""MathJax's macros in LaTeX; some, such as \T, mean something else there before."""
    lines = []
    for name, definition in definitions.items():
        body, count = (definition, 0) if isinstance(definition, str) else [*definition, 0][:2]
        arguments = f"[{count}]" if count else ""
        lines.append(
            rf"\providecommand{{\{name}}}{{}}\renewcommand{{\{name}}}{arguments}{{{body}}}"
        )
    return "\n".join(lines)


def title_page() -> str:
    """The title page, after CITATION.cff."""
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    paper = cited["references"][0]
    names = [f"{author['given-names']} {author['family-names']}" for author in paper["authors"]]
    return TITLE_PAGE % {
        "book": BOOK,
        "article": DOCUMENTS[ARTICLE][0],
        "title": cited["title"],
        "authors": ", ".join(author["name"] for author in cited["authors"]),
        "version": cited["version"],
        "date": cited["date-released"],
        "paper": paper["title"],
        "paper_authors": f"{', '.join(names[:-1])} and {names[-1]}",
        "year": paper["year"],
    }


def configure(app: Any, config: Any) -> None:
    """Set what LaTeX needs; other builders do not look at it."""
    import matplotlib

    fonts = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
    config.latex_additional_files = [str(fonts / f"{FONT}{face}.ttf") for face in FACES]
    config.latex_use_xindy = False
    config.latex_domain_indices = (
        False  # of modules, which are elsewhere, and of labels, which no reader knows
    )
    config.latex_elements = {
        "papersize": "a4paper",
        "pointsize": "10pt",
        "extraclassoptions": "openany,oneside",
        "sphinxsetup": "hmargin=2.2cm, vmargin={2.4cm,2.6cm}, verbatimhintsturnover=false",
        "fontpkg": FONTS,
        "fncychap": "",
        "fvset": r"\fvset{fontsize=\footnotesize}",
        "figure_align": "!htb",
        "maketitle": title_page(),
        "tableofcontents": rf"\ifnum\strcmp{{\jobname}}{{{DOCUMENTS[ARTICLE][0]}}}=0 \else\sphinxtableofcontents\fi",
        "preamble": PREAMBLE + macros(config.mathjax3_config["tex"]["macros"]),
    }


def add_documents(app: Any, env: Any, docnames: list[str]) -> None:
    """Let LaTeX write the documents beside the book; jupyter-book has named the book by now."""
    own = [
        (page, f"{name}.tex", title, app.config.author, kind)
        for page, (name, title, kind) in DOCUMENTS.items()
    ]
    app.config.latex_documents = [*app.config.latex_documents, *own]


def keep_captions(app: Any, doctree: nodes.document) -> None:
    """Note the captions of the contents on the nodes that outlive them."""
    if app.builder.format == "latex":
        for toctree in doctree.findall(addnodes.toctree):
            toctree.parent["part"] = (toctree.get("caption"), toctree.get("numbered"))


def latex(text: str) -> nodes.raw:
    """LaTeX, as it is."""
    return nodes.raw("", f"\n{text}\n", format="latex")


def arrange(book: nodes.document) -> None:
    """Make a chapter of the first page's text and parts of the captions."""
    root = next(iter(book.findall(nodes.section)))
    parts = [node for node in root.children if isinstance(node, nodes.compound) and "part" in node]
    first = [node for node in root.children[1:] if node not in parts]
    about = nodes.section(
        "", nodes.title("", "About this book"), *first, ids=["about-this-book"], docname="index"
    )
    title = root.children[0]
    root.children = []
    root += [title, latex(r"\setcounter{secnumdepth}{-1}"), about]
    for node in parts:
        caption, numbered = node["part"]
        depth = rf"\setcounter{{secnumdepth}}{{{1 if numbered else -1}}}"
        name = re.sub(r"^[IVX]+\. ", "", caption)
        root += [latex(rf"{depth}\part{{{name}}}"), node]


def is_container(node: nodes.Node, name: str) -> bool:
    """Whether this is a container of the class."""
    return isinstance(node, nodes.container) and name in node["classes"]


def take_out(book: nodes.document, page: str) -> None:
    """Remove a page that is found elsewhere; references into it become their words."""
    for node in list(book.findall(addnodes.start_of_file)):
        if node["docname"] == page:
            node.parent.remove(node)
    for work in list(book.findall(nodes.citation)):  # moved out of the page before
        if work.get("docname") == page != WORKS:
            work.parent.remove(work)
    for link in list(book.findall(nodes.reference)):
        target, _, place = link.get("refuri", "").removeprefix("%").partition("#")
        if target == page and not (page == WORKS and place):  # the works themselves are at the end
            link.parent.replace(link, link.children)


def take_out_section(book: nodes.document, title: str) -> None:
    """Remove a section whose contents LaTeX has moved to the end, under a heading of its own."""
    for section in list(book.findall(nodes.section)):
        if section.children and section.children[0].astext() == title:
            section.parent.remove(section)


def list_once(book: nodes.document) -> None:
    """Say once what a work is: a list that belongs to several documents is filled for each of them."""
    for work in book.findall(nodes.citation):
        work.children = list({child.astext(): child for child in reversed(work.children)}.values())[
            ::-1
        ]


def name_pages(titles: dict[str, nodes.Node], book: nodes.document) -> None:
    """Name by its title a page that a document beside the book refers to and does not hold."""
    for words in list(book.findall(nodes.inline)):
        if "std-doc" in words["classes"] and words.astext() in titles:
            words.parent.replace(words, nodes.emphasis("", titles[words.astext()].astext()))


def name_chapters(app: Any, book: nodes.document) -> None:
    """Give every section the name by which statements look for their chapter; typographer's quotes hide it."""
    for section in book.findall(nodes.section):
        if "docname" in section:
            name = app.env.titles[section["docname"]].astext().lower()
            section["names"] = [*section["names"], *([] if name in section["names"] else [name])]


def leave_out_folded_code(book: nodes.document) -> None:
    """Remove the input of the cells that hide it."""
    for cell in list(book.findall(lambda node: is_container(node, "tag_hide-input"))):
        for part in [child for child in cell.children if is_container(child, "cell_input")]:
            cell.remove(part)


def announce_live_figures(book: nodes.document) -> None:
    """Move the sentence that stands for a live figure into the caption of the static one."""
    from kit.live import PLAIN

    caption = None
    for node in list(book.findall()):
        if isinstance(node, nodes.caption):
            caption = node
        elif isinstance(node, nodes.literal_block) and node.astext().strip() == PLAIN:
            assert caption is not None, "a live figure without its static one"
            caption += [nodes.Text(" "), nodes.emphasis("", PLAIN)]
            node.parent.remove(node)


def set_rows(book: nodes.document) -> None:
    """Put the pictures of a grid, one in each column, into one line as on a wide screen, and their words below."""
    for row in list(book.findall(lambda node: is_container(node, "sd-row"))):
        columns = [child for child in row.children if is_container(child, "sd-col")]
        pictures = [image for column in columns for image in column.findall(nodes.image)]
        if not columns or [len(list(column.findall(nodes.image))) for column in columns] != [
            1
        ] * len(columns):
            continue
        words = " ".join(said.astext() for said in row.findall(nodes.paragraph))
        line = nodes.paragraph()
        for picture in pictures:
            picture.setdefault("width", f"{100 // len(columns) - 1}%")
            line += [picture, nodes.Text(" ")]
        row.children = []
        row += [line, nodes.paragraph("", "", nodes.emphasis("", words))]


def set_proofs(book: nodes.document) -> None:
    """Set proofs as text that ends in a square, not in a box."""
    for node in list(
        book.findall(lambda node: isinstance(node, nodes.admonition) and "proof" in node["classes"])
    ):
        start = node.children[0]
        if not (isinstance(start, nodes.paragraph) and start.astext().startswith("Proof. ")):
            continue
        words = start[0]
        start.replace(
            words, [nodes.emphasis("", "Proof."), nodes.Text(words.astext().removeprefix("Proof."))]
        )
        node.parent.replace(
            node, [*node.children, latex(r"\noindent\hspace*{\fill}\(\square\)\par\medskip")]
        )


def refer_to_exercises(app: Any, book: nodes.document) -> None:
    """Lead references from other chapters to the labels that exercises have in LaTeX, by the exercise's number."""
    for node in list(book.findall(addnodes.number_reference)):
        document, _, label = node.get("refuri", "").removeprefix("%").partition("#")
        number = app.env.toc_fignumbers.get(document, {}).get("exercise", {}).get(label)
        if number is not None:
            text = app.config.numfig_format["exercise"] % ".".join(map(str, number))
            node.parent.replace(
                node, nodes.raw("", rf"\hyperref[exercise:{label}]{{{text}}}", format="latex")
            )


def length(node: nodes.Node) -> float:
    """About how many characters wide the node is when set in one line."""
    if isinstance(node, nodes.math):
        return 1.2 * len(
            re.sub(r"\\[a-zA-Z]+|\\.", "x", node.astext()).translate(
                dict.fromkeys(map(ord, "{}^_ "))
            )
        )
    if isinstance(node, nodes.Text):
        return len(node.astext().replace(BREAK, "")) * (
            WIDER if isinstance(node.parent, nodes.literal) else 1
        )
    return sum(map(length, node.children))


def longest_piece(node: nodes.Node) -> float:
    """About how wide the widest piece is that cannot be broken."""
    if isinstance(node, nodes.math):
        return min(length(node), 0.4 * LINE)
    if isinstance(node, nodes.Text):
        factor = WIDER if isinstance(node.parent, nodes.literal) else 1.1
        return factor * max(map(len, re.split(rf"[\s{BREAK}-]", node.astext())))
    return max(map(longest_piece, node.children), default=0)


def widths(columns: list[list[nodes.entry]]) -> list[float] | None:
    """Widths for the columns, or None where every line fits as it is."""
    whole = [max(map(length, column)) + 2 for column in columns]
    if sum(whole) <= LINE:
        return None
    least = [max(map(longest_piece, column)) + 2 for column in columns]
    content = [sum(map(length, column)) for column in columns]
    given = list(least)
    for _ in columns:  # what a column does not need goes to the others
        hungry = [i for i in range(len(columns)) if given[i] < whole[i]]
        spare, share = LINE - sum(given), sum(content[i] for i in hungry)
        if spare <= 0:
            break
        for i in hungry:
            given[i] = min(whole[i], given[i] + spare * content[i] / share)
    return given


def fit_tables(book: nodes.document) -> None:
    """Give every table columns that keep it on the page."""
    for table in list(book.findall(nodes.table)):
        rows = [
            [entry for entry in row.children if isinstance(entry, nodes.entry)]
            for row in table.findall(nodes.row)
        ]
        if len({len(row) for row in rows}) != 1:
            continue
        given = widths([list(column) for column in zip(*rows, strict=True)])
        if given is None:
            spec = "l" * len(rows[0])
        else:
            table["classes"] = [*table.get("classes", []), "longtable"]
            total = sum(given)
            spec = "".join(
                rf">{{\raggedright\arraybackslash}}\Y{{{width / total:.3f}}}" for width in given
            )
        table.parent.insert(table.parent.index(table), addnodes.tabular_col_spec(spec=spec))


def inline_names(book: nodes.document) -> Iterator[nodes.Text]:
    """The long names in typewriter that stand in running text or a table."""
    for literal in book.findall(nodes.literal):
        parent = literal.parent
        while parent is not None and not isinstance(parent, (nodes.title, nodes.caption)):
            parent = parent.parent
        if parent is None:
            yield from (text for text in literal.findall(nodes.Text) if len(text) > SHORT)


def allow_breaks(book: nodes.document) -> None:
    """Let long names be broken where a reader would."""
    for text in list(inline_names(book)):
        text.parent.replace(
            text, nodes.Text(re.sub(r"(?<=[_./:,(=])(?=[^_./:,(=])", BREAK, text.astext()))
        )


def break_index(book: nodes.document) -> None:
    """Let the module that an entry of the index names be broken: its columns are narrow."""
    for node in book.findall(addnodes.index):
        parted = [(kind, *words.partition(" ("), *rest) for kind, words, *rest in node["entries"]]
        node["entries"] = [(kind, name + space + re.sub(r"(?<=[._])(?=\w)", BREAK, module), *rest)
                           for kind, name, space, module, *rest in parted]  # fmt: skip


def prepare(app: Any, book: nodes.document, docname: str) -> None:
    """The hook: change the tree of the whole book in place."""
    if app.builder.format != "latex":
        return
    name_chapters(app, book)
    if docname == app.config.root_doc:
        arrange(book)
        for page in (*DOCUMENTS, WORKS):
            take_out(book, page)
    else:
        name_pages(app.env.titles, book)
    if docname == ARTICLE:
        take_out_section(book, WORKS_CITED)
    list_once(book)
    leave_out_folded_code(book)
    announce_live_figures(book)
    set_rows(book)
    set_proofs(book)
    refer_to_exercises(app, book)
    allow_breaks(book)
    break_index(book)
    fit_tables(book)


def setup(app: Any) -> dict[str, bool]:
    """Register the hooks, after those of the other extensions."""
    app.connect("config-inited", configure, priority=100)
    app.connect("env-before-read-docs", add_documents)
    app.connect("doctree-read", keep_captions, priority=900)
    app.connect("doctree-resolved", prepare, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
