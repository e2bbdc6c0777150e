"""The EPUB edition: formulas become MathML, all of them, and the file is one that epubcheck accepts."""

import doctest
import importlib.util
import json
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
import zipfile
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
BOOK = ROOT / "book"


def load(path):
    """A module of the book, which is not a package."""
    sys.path.insert(0, str(path.parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.path.remove(str(path.parent))
    return module


epub, edition = load(BOOK / "epub.py"), load(BOOK / "_ext" / "epub_edition.py")
CONFIG = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
MACROS = CONFIG["sphinx"]["config"]["mathjax3_config"]["tex"]["macros"]
FORMULA = re.compile(r"\$\$(.+?)\$\$|(?<![\\$])\$([^$\n]+(?:\n[^$\n]+)?)\$(?!\$)", re.DOTALL)


def formulas():
    """Every formula in the prose of the book, and in what its cells put out."""
    found = set()
    for path in BOOK.glob("*.ipynb"):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            texts = ["".join(cell["source"])] if cell["cell_type"] == "markdown" else []
            for output in cell.get("outputs", ()):
                data = output.get("data", {})
                texts += [
                    "".join(data[kind]) for kind in ("text/latex", "text/markdown") if kind in data
                ]
            for text in texts:
                plain = re.sub(r"```.*?```|`[^`\n]+`", "", text, flags=re.DOTALL)
                found |= {(one or other).strip() for one, other in FORMULA.findall(plain)}
    return sorted(found)


@pytest.mark.slow
def test_every_formula_of_the_book_becomes_mathml():
    """Well formed, and with nothing of LaTeX left over."""
    left = []
    for tex in formulas():
        made = ElementTree.fromstring(edition.mathml(tex, False, MACROS))
        text = "".join(made.itertext())
        nested = any(
            len(sign) for sign in made.iter("{*}mo")
        )  # an operator is a sign, and holds nothing else
        if "\\" in text or "&" in text or nested or made.find(".//{*}merror") is not None:
            left.append(tex)
    assert left == []
    assert len(formulas()) > 1000


def test_a_long_formula_in_a_line_comes_in_pieces_that_say_the_same():
    whole = [edition.mathml(tex, False, MACROS) for tex in formulas()]
    parted = [(one, edition.in_pieces(one)) for one in whole if edition.in_pieces(one) != one]
    assert len(parted) > 100
    for one, pieces in parted:
        before, after = ElementTree.fromstring(one), ElementTree.fromstring(pieces)
        assert "".join(after.itertext()) == "".join(before.itertext())
        assert after.attrib == {"role": "math", "aria-label": before.attrib["alttext"]}
        assert not any("".join(piece.itertext())[0] in "=<>≤)" for piece in after.iter("{*}math"))


@pytest.mark.parametrize(
    ("tex", "wanted"),
    [
        (r"\frac{a}{b}", "<mfrac><mrow><mi>a</mi></mrow><mrow><mi>b</mi></mrow></mfrac>"),
        (r"\bigl\{x\bigr\}", ">{</mo>"),
        (r"\begin{aligned} a &= b \\ c &= d \end{aligned}", "<mtr>"),
        (r"\MSPBE", "MSPBE"),
        (r"a < b", "&lt;"),
        (r"m \mathrel{+}= 1", "<mo>+</mo><mo>=</mo>"),
        (r"\E[x]", "<mi>𝔼</mi>"),
        (r"\mathcal{F}_k", "<mi>ℱ</mi>"),
    ],
)
def test_what_latex_means_is_in_the_mathml(tex, wanted):
    assert wanted in edition.mathml(tex, True, MACROS)


def test_the_examples_of_the_extension_run():
    assert doctest.testmod(edition).failed == 0
    assert doctest.testmod(edition).attempted >= 5


def test_a_fold_has_words_on_top_and_nothing_else():
    words = '<p class="collapsed admonition-title">Show</p><p class="expanded admonition-title">Hide</p>'
    found = re.match(".*", f'<summary aria-label="Toggle">{words}</summary>')
    assert edition._plain_summary(found) == "<summary>Show</summary>"


def test_a_solution_is_folded_with_everything_in_it():
    inner = '<div class="dropdown admonition"><p class="admonition-title">Answers</p><div><p>1.</p></div></div>'
    title = '<p class="admonition-title">Solution to<a href="#ex"> Exercise 1</a></p>'
    made = edition.fold(
        f'<p>a</p><div class="solution dropdown admonition" id="s">{title}{inner}</div><div>b</div>'
    )
    box = '<details class="dropdown admonition"><summary>Answers</summary><div><p>1.</p></div></details>'
    start = '<details class="solution dropdown admonition" id="s"><summary>Solution to Exercise 1</summary>'
    assert made == f"<p>a</p>{start}{box}</details><div>b</div>"


def test_the_name_of_the_file_is_that_of_the_extension():
    assert epub.NAME == edition.NAME


@pytest.mark.thorough
@pytest.mark.timeout(3600)  # a machine may be busy
@pytest.mark.skipif(
    shutil.which("epubcheck") is None, reason="no epubcheck: on Debian, apt-get install epubcheck"
)
def test_the_book_on_an_e_reader(tmp_path):
    """The build itself runs epubcheck, which follows every link; here are pages, formulas, folds and figures."""
    command = [sys.executable, BOOK / "epub.py", tmp_path]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "epubcheck has no complaint" in done.stdout
    with zipfile.ZipFile(tmp_path / f"{epub.NAME}.epub") as book:
        assert book.namelist()[0] == "mimetype"
        pages = {
            name: book.read(name).decode() for name in book.namelist() if name.endswith(".xhtml")
        }
        package = book.read("content.opf").decode()
    contents = yaml.safe_load((BOOK / "_toc.yml").read_text(encoding="utf-8"))
    listed = [
        contents["root"],
        *(one["file"] for part in contents["parts"] for one in part["chapters"]),
    ]
    assert {Path(name).stem for name in listed} <= {Path(name).stem for name in pages}
    assert sum(page.count("<math ") for page in pages.values()) > 1500
    assert sum(page.count("<details") for page in pages.values()) > 100
    records = [
        json.loads((BOOK / name).read_text(encoding="utf-8"))
        for name in listed
        if name.endswith(".ipynb")
    ]
    prose = [
        "".join(cell["source"])
        for one in records
        for cell in one["cells"]
        if cell["cell_type"] == "markdown"
    ]
    folded = sum(text.count(":class: dropdown") for text in prose)
    assert folded > 100
    assert (
        sum(len(re.findall(r'<details class="[^"]*dropdown', page)) for page in pages.values())
        == folded
    )
    assert not any(edition.BOX.search(page) for page in pages.values())
    assert not any("Hide code" in page or "gq-live" in page for page in pages.values())
    assert sum(page.count("<img ") for page in pages.values()) > 60
    assert "\\(" not in pages["instability.xhtml"]
    assert re.search(
        r'class="eqno">\(4\.1\)</span>', pages["instability.xhtml"]
    )  # as references to it have it
    assert re.search(r'properties="mathml" href="instability.xhtml"', package)
    assert not any("<script" in page for page in pages.values())
