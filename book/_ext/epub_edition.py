r"""The EPUB edition: the pages of the HTML book for an e-reader, by Sphinx's EPUB builder.

Formulas become MathML (by latex2mathml, from the LaTeX that MathJax gets in HTML), live figures the static ones beside
them, and tables of claims lists. Code that is folded in HTML is folded here too. What Sphinx leaves to do:

- the package file says which pages contain MathML, as EPUB 3 demands;
- folds are `details` in markup that XHTML allows, also where HTML folds by a script, as it does solutions and answers
  (an e-reader that cannot fold shows them open);
- names in typewriter may be broken after `_`, `.` and `/`, as on paper, and long formulas in a line after the signs
  after which TeX breaks them;
- the same pages give the same file: the time stamps inside are that of SOURCE_DATE_EPOCH, or one for ever.

Nothing here touches another builder.
"""

from __future__ import annotations

import os
import re
import time
import unicodedata
import xml.etree.ElementTree as ElementTree
from html import escape
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

import yaml
from docutils import nodes
from latex2mathml.converter import convert
from latex_edition import allow_breaks, announce_live_figures
from sphinx.builders.epub3 import Epub3Builder
from sphinx.util.math import get_node_equation_number

ROOT = Path(__file__).parents[2]
NAME = "gradient-q-sigma-lambda"
MATHML = "http://www.w3.org/1998/Math/MathML"
STYLES = ("pygments.css", "e-reader.css")  # of those that extensions bring; others are for screens
EARLIEST = 315532800  # 1980-01-01, where the time stamps of an archive begin
# latex2mathml has no name for some environments, but has their likes.
ALIGNED = re.compile(r"\\(begin|end)\{(?:aligned|alignat|gathered|gather|equation|align)\*?\}")

VARIANTS = {"double-struck": "DOUBLE-STRUCK", "script": "SCRIPT", "bold": "BOLD"}
# Signs after which a line of text may end inside a formula, as TeX has it; those in brackets do not count.
BREAKS = set("=<>≤≥≠≈≡∈→↦⇒⟺∼∝+−,")
OPENING, CLOSING, EITHER = set("([{⟨⌊⌈"), set(")]}⟩⌋⌉"), set("|‖∥")
LONG = 24  # signs of a formula that may be broken
BOX = re.compile(r'<div class="[^"]*\bdropdown admonition"')


def expand(tex: str, macros: dict[str, Any]) -> str:
    r"""The formula with the book's own macros written out.

    >>> expand(r"\E[x]^\T \Eta", {"E": ["\\mathbb{E}"], "T": ["\\top"]})
    '{\\mathbb{E}}[x]^{\\top} \\Eta'
    """
    for name, definition in macros.items():
        body = definition if isinstance(definition, str) else definition[0]
        tex = re.sub(rf"\\{name}(?![A-Za-z])", lambda _, body=body: f"{{{body}}}", tex)
    tex = re.sub(r"\\mathrel\s*\{([^{}]*)\}", r"\1", tex)
    tex = re.sub(r"\\arg(?![a-z])", r"\\operatorname{arg}", tex)
    return ALIGNED.sub(r"\\\1{align*}", tex)


def styled(letter: str, variant: str) -> str:
    """The letter in another alphabet; readers ignore the attribute that asks for it, and know its own sign.

    >>> styled("E", "double-struck"), styled("R", "double-struck"), styled("1", "bold"), styled("F", "script")
    ('𝔼', 'ℝ', '𝟏', 'ℱ')
    """
    kind = "DIGIT" if letter.isdigit() else "CAPITAL" if letter.isupper() else "SMALL"
    name = f"{VARIANTS[variant]} {kind} {unicodedata.name(letter).rsplit(' ', 1)[-1]}"
    for prefix in ("MATHEMATICAL ", ""):  # some letters are older than the alphabet
        try:
            return unicodedata.lookup(prefix + name)
        except KeyError:
            continue
    return letter


def written(formula: ElementTree.Element) -> str:
    """The text of a formula, whose names need no prefix; others claim that for theirs, so it is claimed each time."""
    ElementTree.register_namespace("", MATHML)
    return ElementTree.tostring(formula, encoding="unicode")


def mathml(tex: str, display: bool, macros: dict[str, Any]) -> str:
    r"""A formula as MathML, with its LaTeX for those who hear it.

    >>> print(mathml("x^2", False, {}))
    <math xmlns="http://www.w3.org/1998/Math/MathML" display="inline" alttext="x^2"><mrow><msup><mi>x</mi><mn>2</mn></msup></mrow></math>
    """  # noqa: E501
    made = convert(expand(tex, macros), display="block" if display else "inline")
    made = re.sub(
        r">\\([{}|])<", lambda sign: f">{'‖' if sign[1] == '|' else sign[1]}<", made
    )  # of a stated size
    root = ElementTree.fromstring(made)
    root.set("alttext", " ".join(tex.split()))
    for sign in root.iter():
        if (
            sign.get("columnspacing") == ""
        ):  # one column has nothing between columns, and MathML no empty list
            del sign.attrib["columnspacing"]
        if sign.get("mathvariant") in VARIANTS:
            sign.text = "".join(
                styled(letter, sign.attrib["mathvariant"]) for letter in sign.text or ""
            )
            del sign.attrib["mathvariant"]
    return written(root)


def in_pieces(formula: str) -> str:
    """A formula for a line of text; a long one in pieces, between which the line may end: no e-reader breaks one.

    >>> in_pieces(mathml("a = b", False, {})).count("<math ")
    1
    >>> made = in_pieces(mathml("f(x + y) = abcdefgh + (ijklmno - p) - qrstuvw", False, {}))
    >>> ["".join(part.itertext()) for part in ElementTree.fromstring(made).iter(f"{{{MATHML}}}math")]
    ['f(x+y)=', 'abcdefgh+', '(ijklmno−p)−', 'qrstuvw']
    """
    root = ElementTree.fromstring(formula)
    if (
        len(root) != 1
        or root[0].tag != f"{{{MATHML}}}mrow"
        or len("".join(root.itertext())) <= LONG
    ):
        return formula
    pieces: list[list[ElementTree.Element]] = [[]]
    depth, bars = 0, 0
    for sign in root[0]:
        pieces[-1].append(sign)
        marks = [
            mark.text for mark in sign.iter(f"{{{MATHML}}}mo")
        ]  # a bracket may carry an exponent
        depth += sum((mark in OPENING) - (mark in CLOSING) for mark in marks)
        bars += sum(mark in EITHER for mark in marks)
        ends = (
            sign.tag == f"{{{MATHML}}}mo" and sign.text in BREAKS and depth == 0 and bars % 2 == 0
        )
        if ends and len(pieces[-1]) > 1:  # a sign in front stays with what follows
            pieces.append([])
    made = []
    for piece in filter(None, pieces):
        part = ElementTree.Element(f"{{{MATHML}}}math", {"display": "inline"})
        ElementTree.SubElement(part, f"{{{MATHML}}}mrow").extend(piece)
        made.append(written(part))
    return f'<span role="math" aria-label="{escape(root.attrib["alttext"])}">{"<wbr/>".join(made)}</span>'


def visit_math(translator: Any, node: nodes.math) -> None:
    """Write a formula in a line."""
    macros = translator.config.mathjax3_config["tex"]["macros"]
    translator.body.append(in_pieces(mathml(node.astext(), False, macros)))
    raise nodes.SkipNode


def visit_math_block(translator: Any, node: nodes.math_block) -> None:
    """Write a displayed formula, with its number."""
    macros, tex = translator.config.mathjax3_config["tex"]["macros"], node.astext()
    translator.body.append(translator.starttag(node, "div", CLASS="math"))
    if node.get("number"):
        number = get_node_equation_number(translator, node)  # that by which other pages refer to it
        translator.body.append(f'<span class="eqno">({escape(number)})</span>')
    # Several lines without an environment of their own are aligned, as in HTML.
    if r"\\" in tex and r"\begin" not in tex:
        tex = rf"\begin{{aligned}}{tex}\end{{aligned}}"
    translator.body.append(mathml(tex, True, macros))
    translator.body.append("</div>")
    raise nodes.SkipNode


def repair(
    app: Any, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Leave out scripts, and change what XHTML does not allow in the body of a page."""
    if app.builder.name != "epub":
        return
    context["script_files"] = []
    context["css_files"] = [
        one for one in context["css_files"] if Path(str(one.filename)).name in STYLES
    ]
    if "body" in context:
        body = re.sub(r"<script.*?</script>", "", context["body"], flags=re.DOTALL)
        body = re.sub(
            r'<p id="gq-live".*?</p>', "", body, flags=re.DOTALL
        )  # no cell runs on an e-reader
        body = re.sub(r"<summary[^>]*>.*?</summary>", _plain_summary, body, flags=re.DOTALL)
        body = re.sub(
            r"<p>(<ul class=\"simple\">.*?</ul>)\s*</p>", r"\1", body, flags=re.DOTALL
        )  # several returns
        context["body"] = each_name_once(fold(body))


def fold(body: str) -> str:
    """The body of a page with boxes that a script would fold, innermost first, as folds that need none.

    >>> fold('<div class="dropdown admonition" id="a"><p class="admonition-title">Answer</p><div>1</div></div><p>b</p>')
    '<details class="dropdown admonition" id="a"><summary>Answer</summary><div>1</div></details><p>b</p>'
    """
    for start in reversed([found.start() for found in BOX.finditer(body)]):
        depth = 0
        for tag in re.finditer(r"<(/?)div\b", body[start:]):
            depth += -1 if tag[1] else 1
            if depth == 0:
                break
        end = start + tag.end()
        box = re.sub(
            r'<p class="admonition-title">.*?</p>',
            _plain_summary,
            body[start:end],
            count=1,
            flags=re.DOTALL,
        )
        box = f"<details{box.removeprefix('<div').removesuffix('</div')}</details"
        body = body[:start] + box + body[end:]
    return body


def each_name_once(body: str) -> str:
    """The body of a page without names that were given before in it, such as that of every proof.

    >>> each_name_once('<p id="proof">a</p><p id="proof" class="b">c</p>')
    '<p id="proof">a</p><p class="b">c</p>'
    """
    seen: set[str] = set()

    def once(found: re.Match[str]) -> str:
        if found[1] in seen:
            return ""
        seen.add(found[1])
        return found[0]

    return re.sub(r' id="([^"]*)"', once, body)


def _plain_summary(found: re.Match[str]) -> str:
    """What is on top of a fold: words alone, and one set of them."""
    text = re.sub(r'<(p|span) class="expanded\b[^"]*">.*?</\1>', "", found[0], flags=re.DOTALL)
    return f"<summary>{' '.join(re.sub(r'<[^>]+>', ' ', text).split())}</summary>"


class Edition(Epub3Builder):
    """Sphinx's builder, with what is missing in the package file, and an archive that can be repeated."""

    def prepare_writing(self, docnames: set[str]) -> None:
        """Leave out the indices of modules and labels: a reader searches."""
        super().prepare_writing(docnames)
        self.domain_indices = []

    def build_content(self) -> None:
        """Write the package file, without what no page uses, and say in it which pages contain MathML or SVG."""
        brought = [
            path for path in Path(self.outdir).glob("_*static*/**/*") if path.name not in STYLES
        ]
        self.config.epub_exclude_files = [
            path.relative_to(self.outdir).as_posix() for path in brought
        ]
        super().build_content()
        path = Path(self.outdir) / "content.opf"
        text = path.read_text(encoding="utf-8")
        for name in self.files:
            if not name.endswith(self.out_suffix):
                continue
            page = (Path(self.outdir) / name).read_text(encoding="utf-8")
            found = [kind for kind, tag in (("mathml", "<math "), ("svg", "<svg ")) if tag in page]
            if found:
                item = f'href="{name}" media-type='
                text = text.replace(item, f'properties="{" ".join(found)}" {item}')
        path.write_text(text, encoding="utf-8")

    def build_toc(self) -> None:
        """Write the contents for older readers, under the name of the book that the package file gives."""
        super().build_toc()
        path = Path(self.outdir) / "toc.ncx"
        name = f'content="{escape(self.config.epub_identifier)}"'
        text = path.read_text(encoding="utf-8").replace(f'content="{self.config.epub_uid}"', name)
        path.write_text(text, encoding="utf-8")

    def build_epub(self) -> None:
        """Write the archive, with one time stamp for all files."""
        when = time.gmtime(max(EARLIEST, int(os.environ.get("SOURCE_DATE_EPOCH", EARLIEST))))[:6]
        folder, listed = (
            Path(self.outdir),
            ("META-INF/container.xml", "content.opf", "toc.ncx", *sorted(self.files)),
        )
        with ZipFile(folder / f"{self.config.epub_basename}.epub", "w") as archive:
            for name in ("mimetype", *listed):
                entry = ZipInfo(name, when)
                entry.external_attr = 0o644 << 16
                entry.compress_type = ZIP_STORED if name == "mimetype" else ZIP_DEFLATED
                archive.writestr(entry, (folder / name).read_bytes())


def configure(app: Any, config: Any) -> None:
    """Set what the builder needs; other builders do not look at it."""
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    config.epub_basename = NAME
    config.epub_title = cited["title"]
    config.epub_author = config.epub_publisher = config.epub_contributor = cited["authors"][0][
        "name"
    ]
    config.epub_description = (
        f"{cited['title']}: one paper, derived again, run and judged claim by claim"
    )
    config.epub_copyright = "Code: MIT. Prose and figures: CC BY 4.0."
    config.epub_identifier = f"urn:gqlib:{cited['version']}"
    config.epub_uid, config.epub_scheme = "edition", "URN"
    config.version = config.version or str(cited["version"])
    config.epub_show_urls = "no"
    config.epub_tocscope, config.epub_tocdepth, config.epub_tocdup = "includehidden", 2, False
    config.epub_css_files = [("e-reader.css", {})]
    config.epub_use_index = False
    config.suppress_warnings = [*config.suppress_warnings, "epub.unknown_project_files"]
    # What is live or typeset by a script in HTML has a form for paper.
    own = [("epub", "text/html", None), ("epub", "text/markdown", 5), ("epub", "text/latex", 6)]
    config.nb_mime_priority_overrides = [*config.nb_mime_priority_overrides, *own]


def prepare(app: Any, page: nodes.document, docname: str) -> None:
    """Change the tree of a page in place."""
    if app.builder.name == "epub":
        announce_live_figures(page)
        allow_breaks(page)


def setup(app: Any) -> dict[str, bool]:
    """Register builder, renderer and hooks."""
    app.add_builder(Edition, override=True)
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_math_block, None))
    app.add_config_value("epub_math_renderer", "mathml", "env")
    app.connect("config-inited", configure, priority=100)
    app.connect("doctree-resolved", prepare, priority=900)
    app.connect("html-page-context", repair, priority=950)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
