"""The pairs: a chapter's text is the source, its notebook the executed record, and the two must agree."""

import base64
import importlib.util
import io
import json
import re
import shutil
import subprocess
import sys
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


# ---------------------------------------------------------------- what makes a record stale

CODE = 'from gqlib.sweeps.results import load_results\nload_results("../results/fig3.npz")'


@pytest.fixture
def copied(tmp_path):
    """The script in a copy of the project that has a chapter, its record and some data."""
    (tmp_path / "book").mkdir()
    (tmp_path / "results").mkdir()
    shutil.copy(BOOK / "refresh.py", tmp_path / "book")
    for name in ("results/fig3.npz", "results/fig4.npz", "book/claims.yml"):
        (tmp_path / name).write_text("data")
    spec = importlib.util.spec_from_file_location("refresh_copy", tmp_path / "book" / "refresh.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def chapter(code, prose="Prose."):
    kernel = "kernelspec: {display_name: Python 3, language: python, name: python3}"
    head = f"---\njupytext: {{text_representation: {{extension: .md, format_name: myst}}}}\n{kernel}\n---\n"
    return f"{head}\n# Title\n\n{prose}\n\n```{{code-cell}} python\n{code}\n```\n"


def recorded(module, code):
    """A chapter with a record that says what its code printed, without running anything."""
    source = module.BOOK / "chapter.md"
    source.write_text(chapter(code))
    notebook = jupytext.read(source)
    (cell,) = module.code_of(notebook)
    cell.execution_count = 1
    cell.outputs = [refresh.nbformat.v4.new_output("stream", text="printed\n")]
    module.write_record(source, notebook)
    return source


@pytest.mark.parametrize(
    ("code", "changed", "counts"),
    [
        (CODE, "results/fig3.npz", True),
        (CODE, "results/fig4.npz", False),
        ('list(Path("../results").glob("*.npz"))', "results/fig4.npz", True),
        ('[f"../results/{name}.npz" for name in names]', "results/fig4.npz", True),
        ("from gqlib.claims import load_claims", "book/claims.yml", True),
        ("from gqlib import claims", "book/claims.yml", True),
        (CODE, "book/claims.yml", False),
        (CODE, "book/refresh.py", False),
        ("%timeit 1", "results/fig3.npz", False),
    ],
)
def test_a_record_is_stale_when_data_that_its_code_names_changed(copied, code, changed, counts):
    source = recorded(copied, code)
    assert not copied.stale(source)
    with open(copied.ROOT / changed, "ab") as file:
        file.write(b" ")
    assert copied.stale(source) == counts


def test_a_record_is_stale_when_its_code_changed_and_not_for_prose(copied):
    source = recorded(copied, CODE)
    source.write_text(chapter(CODE, "Other prose."))
    moved = copied.kept(source)
    assert moved.cells[0].source.endswith("Other prose.")
    assert moved.cells[1].outputs[0].text == "printed\n"
    assert copied.main([]) == 0
    record = json.loads(source.with_suffix(".ipynb").read_text())
    assert problem(jupytext.read(source), record) is None
    source.write_text(chapter(CODE + " ", "Other prose."))
    assert copied.stale(source)
    source.write_text(chapter(CODE).replace("python\n", "python\n:tags: [x]\n", 1))
    assert copied.stale(source)
    source.with_suffix(".ipynb").unlink()
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


CHAPTERS_TO_RUN = {
    "good": "print(1)",
    "figure": "import matplotlib.pyplot as plt\nplt.plot([0, 1])\nplt.show()",
    "wrong": "print(2)\nassert 1 == 2, 'a wrong number'",
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
    assert [end == "FAILED" for _, _, end in said] == [False, False, True]
    assert "a wrong number" in done.stderr
    records = {path.name: path.read_bytes() for path in book.glob("*.ipynb")}
    assert set(records) == {"good.ipynb", "figure.ipynb"}

    (book / "wrong.md").unlink()
    last = run()
    assert (last.returncode, last.stdout) == (0, "every record is up to date\n")
    assert run("--all").returncode == 0
    assert {
        path.name: path.read_bytes() for path in book.glob("*.ipynb")
    } == records  # same outputs, same bytes
