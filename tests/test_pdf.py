"""The PDF edition: what it says without TeX, what it counts as a fault and, given TeX, the book itself.

Building it takes a minute and a half on one core, so that test is marked slow; the rest is fast.
"""

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from docutils import nodes
from sphinx import addnodes

ROOT = Path(__file__).parents[1]
BOOK = ROOT / "book"


def load(path):
    """A module of the book, which is not a package."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


pdf = load(BOOK / "pdf.py")
needs_tex = pytest.mark.skipif(
    bool(pdf.missing()), reason=f"no {' and '.join(pdf.missing())}: {pdf.ADVICE}"
)


OWN_DOCUMENTS = ("api", "article")


def chapters():
    """The pages of the book in order."""
    toc = yaml.safe_load((BOOK / "_toc.yml").read_text(encoding="utf-8"))
    return [
        toc["root"],
        *(chapter["file"] for part in toc["parts"] for chapter in part["chapters"]),
    ]


def plain(text):
    """Text as it can be compared: without spaces and hyphens, which a line's end may add or take."""
    return re.sub(r"[\s\u00ad\u2010-]", "", text.replace("’", "'"))


EDGE = (
    595.28 - 2.2 * 72 / 2.54 + 3
)  # of the text on the right, in points, with some for a comma that hangs over
BOXES = r"Quick checks|Answers|(?:Exercise|Solution to Exercise) [\d.]+ \(.*\)"
HEADING = re.compile(rf"(?:{BOXES}|\d+\.\d+ [A-Z].*[^\d.])$")


def words_of(path, *options):
    """The text of a PDF, by pdftotext."""
    return subprocess.run(
        ["pdftotext", *options, path, "-"], capture_output=True, text=True, check=True
    ).stdout


def beyond_the_edge(boxes):
    """Words that run into the margin."""
    return [
        word
        for end, word in re.findall(r'xMax="([\d.]+)" yMax="[\d.]+">(.*)</word>', boxes)
        if float(end) > EDGE
    ]


def alone_at_the_foot(text):
    """Headings of sections and boxes behind which a page ends; its last line is the running foot."""
    pages = [
        [line.strip() for line in page.splitlines() if line.strip()] for page in text.split("\f")
    ]
    return [page[-2] for page in pages if len(page) > 2 and HEADING.match(page[-2])]


def test_a_heading_alone_and_a_word_in_the_margin_are_found():
    pages = ["text", "Quick checks", "4.2 A scene", "Exercise 4.1 (How?)", "Exercise 4.1 shows it."]
    assert (
        alone_at_the_foot("\f".join(f"top\n {line}\n1.2. foot 7\n" for line in pages)) == pages[1:4]
    )
    boxes = '<word xMin="1" yMin="1" xMax="{}" yMax="9.5">long</word>'
    assert beyond_the_edge(boxes.format(541.5) + "\n" + boxes.format(532)) == ["long"]


@pytest.mark.parametrize(
    ("option", "what"), [("--all", "The PDF edition"), ("--article", "The article")]
)
def test_without_tex_one_line_names_the_packages(tmp_path, option, what):
    command = [sys.executable, BOOK / "pdf.py", option]
    environment = os.environ | {"PATH": str(tmp_path)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    needs = "needs xelatex and latexmk, not found on the PATH."
    assert done.stderr == f"{what} {needs} {pdf.ADVICE}\n"


@pytest.mark.parametrize(
    "line",
    [
        "! Undefined control sequence.\n<recently read> \\nonsense\n",
        "LaTeX Warning: Reference `eq-a' on page 3 undefined on input line 7.\n",
        "LaTeX Warning: Citation `yang' on page 3 undefined on input line 7.\n",
        "LaTeX Warning: Label `eq-a' multiply defined.\n",
        "LaTeX Warning: Hyper reference `index:fig' on page 3 undefined on input line 7.\n",
        "Missing character: There is no ᵀ (U+1D40) in font FreeMono!\n",
    ],
)
def test_a_fault_in_the_log_is_found(line):
    assert len(pdf.faults(f"This is XeTeX\n{line}[12]\n")) == 1


def test_harmless_warnings_are_not_faults():
    log = "Overfull \\hbox (1.2pt too wide) in paragraph\nLaTeX Warning: Float too large for page by 3pt on line 7.\n"
    assert pdf.faults(log) == []


def test_the_name_of_the_file_is_that_of_the_configuration():
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    assert config["latex"]["latex_documents"]["targetname"] == f"{pdf.NAME}.tex"
    extension = (BOOK / "_ext" / "latex_edition.py").read_text(encoding="utf-8")
    assert f'REFERENCE: ("{pdf.REFERENCE}", ' in extension


@pytest.mark.thorough
@pytest.mark.timeout(3600)  # a machine may be busy
@needs_tex
def test_the_book_on_paper(tmp_path):
    """Errors, dead references and missing letters fail the build itself; titles and figures are counted after it."""
    done = subprocess.run(
        [sys.executable, BOOK / "pdf.py", tmp_path],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    made = tmp_path / f"{pdf.NAME}.pdf"
    assert str(made) in done.stdout
    assert made.read_bytes().startswith(b"%PDF")

    source = (tmp_path / "_build" / "latex" / f"{pdf.NAME}.tex").read_text(encoding="utf-8")
    pages = [
        name
        for name in chapters()
        if name.endswith(".ipynb") and Path(name).stem not in OWN_DOCUMENTS
    ]
    records = [json.loads((BOOK / name).read_text(encoding="utf-8")) for name in pages]
    cells = [cell["metadata"] for record in records for cell in record["cells"]]
    figures = [
        cell["mystnb"]["figure"]["name"] for cell in cells if "figure" in cell.get("mystnb", {})
    ]
    assert len(figures) > 50
    assert source.count(r"\begin{figure}") >= len(figures)
    assert source.count(r"\sphinxincludegraphics") >= len(figures)
    sources = [
        "".join(cell["source"])
        for record in records
        for cell in record["cells"]
        if cell["cell_type"] == "code"
    ]
    live = [text for text in sources if re.search(r"\bshow_\w+\(\"fig-", text)]
    assert source.count("In the HTML edition this figure is live") == len(live) > 10
    for remnant in ("<div", "<script", "<span", "gqExplorables"):
        assert remnant not in source

    # The reference of the library is a file of its own, and the works are listed once.
    reference = (tmp_path / "_build" / "latex" / f"{pdf.REFERENCE}.tex").read_text(encoding="utf-8")
    assert (tmp_path / f"{pdf.REFERENCE}.pdf").read_bytes().startswith(b"%PDF")
    assert "gqlib.mdp.FiniteMDP" in reference
    assert r"\begin{fulllineitems}" not in source
    assert source.count(r"\begin{sphinxthebibliography}") == 1
    works = re.findall(r"\\bibitem\[(.*?)\]\{(\w+):", source)
    assert len(works) > 40
    assert {page for _, page in works} == {"bibliography"}
    assert r"\chapter{Bibliography}" not in source

    if shutil.which("pdftotext"):
        text = words_of(made)
        assert alone_at_the_foot(words_of(made, "-layout", "-f", "8")) == []  # after the contents
        for name in (pdf.NAME, pdf.REFERENCE):
            assert beyond_the_edge(words_of(tmp_path / f"{name}.pdf", "-bbox")) == []
        assert "??" not in text
        assert "[?]" not in text
        words = plain(text)
        for name in chapters()[1:]:
            if Path(name).stem in OWN_DOCUMENTS:
                continue
            page = (BOOK / name).with_suffix(".md").read_text(encoding="utf-8")
            title = re.search(r"^# (.+)$", page, flags=re.MULTILINE).group(1)
            assert plain(title) in words, title


edition = load(BOOK / "_ext" / "latex_edition.py")


def test_the_module_of_an_entry_of_the_index_may_be_broken_and_its_name_is_not():
    page = nodes.paragraph(
        "", "", addnodes.index(entries=[("single", "a_b (in module c.d_e)", "id", "", None)])
    )
    edition.break_index(page)
    parted = f"a_b (in module c.{edition.BREAK}d_{edition.BREAK}e)"
    assert page[0]["entries"] == [("single", parted, "id", "", None)]


def test_a_page_that_a_document_does_not_hold_is_named_by_its_title():
    paragraph = nodes.paragraph(
        "", "", nodes.inline("", "the_page", classes=["xref", "std", "std-doc"])
    )
    paragraph += nodes.inline("", "the_page", classes=["other"])
    edition.name_pages({"the_page": nodes.title("", "The page")}, paragraph)
    assert [(type(part).__name__, part.astext()) for part in paragraph] == [
        ("emphasis", "The page"),
        ("inline", "the_page"),
    ]


def test_a_row_of_pictures_is_a_row_on_paper():
    def grid(*columns):
        parts = [nodes.container("", *one, classes=["sd-col"]) for one in columns]
        return nodes.container("", *parts, classes=["sd-row"])

    def said(word):
        return nodes.paragraph("", word)

    wide, narrow = nodes.image(alt="not said"), nodes.image(width="240px")
    page = nodes.container(
        "", grid([wide, said("a")], [narrow, said("b")]), grid([nodes.image()], [said("c")])
    )
    edition.set_rows(page)
    pictures, mixed = page.children
    line, words = pictures.children
    assert [child for child in line if isinstance(child, nodes.image)] == [wide, narrow]
    assert (wide["width"], narrow["width"], words.astext()) == ("49%", "240px", "a b")
    assert len(mixed.children) == 2
