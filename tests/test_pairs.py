"""The pairs: a chapter's text is the source, its notebook the executed record, and the two must agree."""

import ast
import base64
import importlib.util
import io
import json
import re
import shutil
import subprocess
import sys
import tokenize
import zipfile
from pathlib import Path

import jupytext
import pytest
import yaml
from PIL import Image
from PIL.PngImagePlugin import PngInfo

ROOT = Path(__file__).parents[1]
BOOK = ROOT / "book"
_spec = importlib.util.spec_from_file_location("refresh", BOOK / "refresh.py")
refresh = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(refresh)
CHAPTERS = refresh.chapters()

# What a record must not show: it would differ from one machine or one run to the next.
FORBIDDEN = {
    "a warning": re.compile(r"Warning\b"),
    "a progress bar": re.compile(r"\d+%\||it/s\b|s/it\b"),
    "a machine's path": re.compile(
        r"(?<![\w.<])/(home|root|tmp|work|Users|usr|opt|var)/|[A-Z]:\\\\"
    ),
    "an address in memory": re.compile(r"\bat 0x[0-9a-f]{6,}"),
}


def texts(output):
    yield "".join(output.get("text", ""))
    for kind, value in output.get("data", {}).items():
        if not kind.startswith("image/"):
            yield "".join(value)


def outputs_problem(cell):
    for output in cell["outputs"]:
        for text in texts(output):
            for name, pattern in FORBIDDEN.items():
                if pattern.search(text):
                    return f"an output holds {name}: {pattern.search(text).group()!r}"
        if output.get("output_type") == "stream" and output.get("name") == "stderr":
            return "something was written to stderr"
    return None


def problem(text, record):
    """What is wrong with a pair, or None; `text` is a notebook read from the source, `record` a parsed .ipynb."""
    if len(text.cells) != len(record["cells"]):
        return f"{len(text.cells)} cells in the text, {len(record['cells'])} in the record"
    count = 0
    for number, (source, cell) in enumerate(zip(text.cells, record["cells"], strict=True)):
        if source.cell_type != cell["cell_type"] or source.source != "".join(cell["source"]):
            return f"cell {number} differs"
        for key in ("tags", "mystnb"):
            if source.metadata.get(key) != cell["metadata"].get(key):
                return f"cell {number} differs in {key}"
        if cell["cell_type"] != "code":
            continue
        count += 1
        if cell["execution_count"] != count:
            return f"code cell {count} has execution count {cell['execution_count']}"
        if "".join(cell["source"]).rstrip().endswith(";"):
            return f"code cell {count} ends in a semicolon"
        found = outputs_problem(cell)
        if found and "raises-exception" not in cell["metadata"].get("tags", []):
            return f"code cell {count}: {found}"
    return None


@pytest.mark.parametrize("source", CHAPTERS, ids=lambda path: path.stem)
def test_record_is_the_executed_text(source):
    record = json.loads(source.with_suffix(".ipynb").read_text(encoding="utf-8"))
    assert problem(jupytext.read(source), record) is None


def test_every_record_has_a_text_and_is_in_the_table_of_contents():
    toc = yaml.safe_load((BOOK / "_toc.yml").read_text(encoding="utf-8"))
    listed = {
        toc["root"],
        *(chapter["file"] for part in toc["parts"] for chapter in part["chapters"]),
    }
    records = {path.name for path in BOOK.glob("*.ipynb")}
    assert records == {path.with_suffix(".ipynb").name for path in CHAPTERS}
    assert records <= listed
    assert {name for name in listed if not (BOOK / name).exists()} == set()


TEXT = """---
kernelspec: {display_name: Python 3, language: python, name: python3}
---
# Title

```{code-cell} python
:tags: [hide-input]
print(1)
```
"""


def pair():
    text = jupytext.reads(TEXT, fmt="md:myst")
    record = json.loads(json.dumps(text))
    printed = {"output_type": "stream", "name": "stdout", "text": ["1\n"]}
    record["cells"][1] |= {"execution_count": 1, "outputs": [printed]}
    return text, record


def test_a_good_pair_has_no_problem():
    assert problem(*pair()) is None


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda cells: cells.pop(), "cells"),
        (lambda cells: cells[1].update(source="print(2)"), "differs"),
        (lambda cells: cells[1]["metadata"].update(tags=[]), "tags"),
        (lambda cells: cells[1].update(execution_count=None), "execution count"),
        (lambda cells: cells[1].update(execution_count=2), "execution count"),
        (lambda cells: cells[1]["outputs"][0].update(text=["UserWarning: x"]), "warning"),
        (
            lambda cells: cells[1]["outputs"][0].update(text=[" 50%|#### | 3/6 [00:01, 2.9it/s]"]),
            "progress",
        ),
        (lambda cells: cells[1]["outputs"][0].update(text=["saved to /home/me/x.npz"]), "path"),
        (lambda cells: cells[1]["outputs"][0].update(name="stderr"), "stderr"),
    ],
)
def test_a_bad_pair_is_found(change, said):
    text, record = pair()
    change(record["cells"])
    assert said in problem(text, record)


# What a record depends on, in a copy of the library in which one file at a time is changed.

IMPORTS = "from gqlib.learners import gq_step"
LOADS = 'from gqlib.sweeps.results import load_results\nload_results("../results/fig3.npz")'
REGISTERED = 'from gqlib.experiments import load_experiment\nload_experiment("fig2")'
INDEX = "from gqlib.edition.index import library_index"
CODE, DOCSTRING, COMMENT = "\nADDED = 1\n", '\n\nclass Added:\n    """%s."""\n', "\n# %s\n"


@pytest.fixture
def copied(tmp_path):
    """The script in a copy of the library, of which results are the names and headers alone."""
    shutil.copytree(
        ROOT / "gqlib", tmp_path / "gqlib", ignore=shutil.ignore_patterns("__pycache__")
    )
    (tmp_path / "book").mkdir()
    for name in ("refresh.py", "claims.yml"):
        shutil.copy(BOOK / name, tmp_path / "book")
    (tmp_path / "results").mkdir()
    for path in (ROOT / "results").glob("*.npz"):
        with (
            zipfile.ZipFile(path) as whole,
            zipfile.ZipFile(tmp_path / "results" / path.name, "w") as head,
        ):
            head.writestr("header.json", whole.read("header.json"))
    spec = importlib.util.spec_from_file_location("refresh_copy", tmp_path / "book" / "refresh.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def chapter(code):
    kernel = "kernelspec: {display_name: Python 3, language: python, name: python3}"
    head = f"---\njupytext: {{text_representation: {{extension: .md, format_name: myst}}}}\n{kernel}\n---\n"
    return f"{head}\n# Title\n\n```{{code-cell}} python\n{code}\n```\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "changed", "counts"),
    [
        (IMPORTS, "gqlib/learners/gq.py", True),
        (IMPORTS, "gqlib/learners/__init__.py", True),
        (IMPORTS, "gqlib/__init__.py", True),
        (IMPORTS, "gqlib/_validate.py", True),  # through another
        (IMPORTS, "gqlib/learners/sigma.py", False),
        (IMPORTS, "gqlib/stability.py", False),
        (IMPORTS, "gqlib/cli.py", False),
        ("import gqlib.learners.sigma as s", "gqlib/learners/sigma.py", True),
        ("def late():\n    from gqlib import stability", "gqlib/stability.py", True),
        (
            "from gqlib.control import run_control",
            "gqlib/control/engine.py",
            True,
        ),  # imported in a function
        ("from gqlib.control import run_control", "gqlib/engine/_kernel.py", True),
        ("from gqlib.control import run_control", "gqlib/evaluation/run.py", False),
        ('import_module("gqlib.stability")', "gqlib/stability.py", True),
        (REGISTERED, "gqlib/experiments/figure2.py", True),
        (REGISTERED, "gqlib/experiments/figure3.py", False),
        (LOADS, "gqlib/evaluation/grids.py", True),  # named in the header of the result
        (LOADS, "gqlib/experiments/figure2.py", False),
        ("from gqlib.stats import grim", "gqlib/evaluation/grids.py", False),
        (INDEX, "gqlib/cli.py", True),
        ("%timeit 1", "gqlib/cli.py", True),  # no plain Python: it may do anything
    ],
)
def test_a_record_depends_on_the_modules_that_its_chapter_loads(copied, code, changed, counts):
    source = copied.BOOK / "chapter.md"
    source.write_text(chapter(code))
    before = copied.digest(source)
    with open(copied.ROOT / changed, "a") as file:
        file.write(CODE)
    assert (copied.digest(source) != before) == counts


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "changed", "counts"),
    [
        (LOADS, "results/fig3.npz", True),
        (LOADS, "results/fig4.npz", False),
        ('list(Path("../results").glob("*.npz"))', "results/fig4.npz", True),
        ('[f"../results/{name}.npz" for name in names]', "results/fig4.npz", True),
        ("from gqlib.claims import load_claims", "book/claims.yml", True),
        (IMPORTS, "book/claims.yml", False),
        (
            "from gqlib.experiments.figure3 import chosen",
            "gqlib/experiments/figure3_chosen.json",
            True,
        ),
        (
            "from gqlib.experiments.figure2 import fig2",
            "gqlib/experiments/figure3_chosen.json",
            False,
        ),
    ],
)
def test_a_record_depends_on_the_data_that_its_chapter_names(copied, code, changed, counts):
    source = copied.BOOK / "chapter.md"
    source.write_text(chapter(code))
    before = copied.digest(source)
    with open(copied.ROOT / changed, "ab") as file:
        file.write(b" ")
    assert (copied.digest(source) != before) == counts


@pytest.mark.slow
@pytest.mark.parametrize("kind", [DOCSTRING, COMMENT], ids=["docstring", "comment"])
@pytest.mark.parametrize(
    ("code", "counts"), [(IMPORTS, False), (INDEX, True), ("print(gqlib.__doc__)", True)]
)
def test_words_about_code_count_where_they_are_read(copied, kind, code, counts):
    source, module = copied.BOOK / "chapter.md", copied.ROOT / "gqlib" / "learners" / "gq.py"
    source.write_text(chapter(code))
    text, digests = module.read_text(encoding="utf-8"), []
    for words in ("One", "Another"):
        module.write_text(text + kind % words, encoding="utf-8")
        digests.append(copied.digest(source))
    assert (digests[0] != digests[1]) == counts


def test_a_stale_record_is_told_by_its_digest(copied):
    source = copied.BOOK / "chapter.md"
    source.write_text(chapter(IMPORTS))
    assert copied.stale(source)  # there is none
    notebook = jupytext.read(source)
    notebook.metadata["gqlib"] = {
        "digest": copied.digest(source),
        "pictures": copied.seal(notebook),
    }
    source.with_suffix(".ipynb").write_text(refresh.nbformat.writes(notebook))
    assert not copied.stale(source)
    source.write_text(chapter(IMPORTS) + "\nA sentence more.\n")
    assert copied.stale(source)


# ---------------------------------------------------------------- pictures, which nbval does not compare


@pytest.mark.parametrize("source", CHAPTERS, ids=lambda source: source.stem)
def test_the_pictures_of_a_record_are_those_that_were_sealed(source):
    record = refresh.nbformat.read(source.with_suffix(".ipynb"), as_version=4)
    assert record.metadata["gqlib"]["pictures"] == refresh.seal(record), "pictures were exchanged"


@pytest.mark.parametrize("source", CHAPTERS, ids=lambda source: source.stem)
def test_pictures_are_shown_at_the_size_at_which_they_were_drawn(source):
    """The seal covers the pictures alone; how large a page shows them is said beside them."""
    for cell in refresh.nbformat.read(source.with_suffix(".ipynb"), as_version=4).cells:
        for output in cell.get("outputs", ()):
            if "image/png" in output.get("data", {}):
                with Image.open(io.BytesIO(base64.b64decode(output.data["image/png"]))) as picture:
                    shown = {"width": picture.width // 2, "height": picture.height // 2}
                assert output.metadata == {"image/png": shown}, cell.id


def test_the_picture_of_the_readme_is_that_of_the_first_page():
    index = refresh.nbformat.read(BOOK / "index.ipynb", as_version=4)
    shown = (BOOK / "_static" / "striking.png").read_bytes()
    assert shown == refresh.picture(index, refresh.README_FIGURE)
    assert "](book/_static/striking.png)" in (ROOT / "README.md").read_text(encoding="utf-8")


def red_square(data, dark):
    """The picture with a red square in its place: its pixels, or its drawing, from which the dark page is made."""
    picture = Image.open(io.BytesIO(base64.b64decode(data)))
    kept = PngInfo()
    for name, text in picture.text.items():
        square = (
            '<svg xmlns="http://www.w3.org/2000/svg"><rect width="9" height="9" fill="red"/></svg>'
        )
        kept.add_itxt(name, square if dark and name == "svg" else text)
    shown, out = picture if dark else Image.new(picture.mode, picture.size, "red"), io.BytesIO()
    shown.save(out, "png", pnginfo=kept)
    return base64.b64encode(out.getvalue()).decode()


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize(
    ("chapter", "figure"),
    [("instability", "fig-in-phase"), ("variance", None), ("overall", None)],
    ids=str,
)
def test_a_red_square_in_the_place_of_a_figure_is_noticed(chapter, figure, dark):
    record = refresh.nbformat.read(BOOK / f"{chapter}.ipynb", as_version=4)
    for cell in record.cells:
        name = cell.metadata.get("mystnb", {}).get("figure", {}).get("name")
        if name and (figure or name) == name and "image/png" in cell.outputs[0].get("data", {}):
            break
    data = cell.outputs[0].data
    data["image/png"] = red_square(data["image/png"], dark)
    assert data["text/plain"].startswith("figure of ")  # what nbval compares is as it was
    assert record.metadata["gqlib"]["pictures"] != refresh.seal(record)


def test_only_comments_docstrings_and_empty_lines_are_left_out():
    code = '''"""A docstring
over # two lines."""
# a comment

X = """kept # this

and this"""  # not this
def one(): "on the line of code"
class Two:
    """Gone."""

    def three(self, tags="#"):
        """Gone too."""  # with this
        return "returned"
'''
    kept = '''X = """kept # this

and this"""
def one(): "on the line of code"
class Two:
    def three(self, tags="#"):
        return "returned"
'''
    assert refresh.bare(code.encode()).decode().strip() == kept.strip()


def tokens(code):
    layout = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
    found = tokenize.generate_tokens(io.StringIO(code.decode()).readline)
    return [(token.string, token.start) for token in found if token.type not in layout]


@pytest.mark.slow
@pytest.mark.parametrize(
    "path", sorted(ROOT.glob("gqlib/**/*.py")), ids=lambda path: f"{path.parent.name}-{path.stem}"
)
def test_what_is_left_of_a_module_is_its_code(path):
    code = path.read_bytes()
    documented = ast.Module | ast.ClassDef | ast.FunctionDef
    nodes = [
        node
        for node in ast.walk(ast.parse(code))
        if isinstance(node, documented) and ast.get_docstring(node)
    ]
    docstrings = {(node.body[0].lineno, node.body[0].col_offset) for node in nodes}
    assert docstrings
    left = [text for text, _ in tokens(refresh.bare(code))]
    assert left == [text for text, start in tokens(code) if start not in docstrings]


CHAPTERS_TO_RUN = {
    "good": "print(1)",
    "figure": "import matplotlib.pyplot as plt\nplt.plot([0, 1])\nplt.show()",
    "wrong": "print(2)\nassert 1 == 2, 'a wrong number'",
    "sly": '__import__("gq" + "lib.stability")',
}


@pytest.mark.thorough
def test_chapters_run_side_by_side_and_one_that_fails_stops_no_other(tmp_path):
    book = tmp_path / "book"
    book.mkdir()
    shutil.copy(BOOK / "refresh.py", book)
    for name, code in CHAPTERS_TO_RUN.items():
        (book / f"{name}.md").write_text(chapter(code))

    def run(*arguments):
        command = [sys.executable, "book/refresh.py", "--jobs", "2", *arguments]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    done = run()
    assert done.returncode == 1
    said = sorted(line.partition(": ") for line in done.stdout.splitlines())
    assert [name for name, _, _ in said] == [f"book/{name}.md" for name in sorted(CHAPTERS_TO_RUN)]
    assert [end == "FAILED" for _, _, end in said] == [False, False, True, True]
    assert "a wrong number" in done.stderr
    assert "sly.md loads gqlib" in done.stderr
    records = {path.name: path.read_bytes() for path in book.glob("*.ipynb")}
    assert set(records) == {"good.ipynb", "figure.ipynb"}

    for name in ("wrong", "sly"):
        (book / f"{name}.md").unlink()
    last = run()
    assert (last.returncode, last.stdout) == (0, "every record is up to date\n")
    assert run("--all").returncode == 0
    assert {
        path.name: path.read_bytes() for path in book.glob("*.ipynb")
    } == records  # same outputs, same bytes
