"""The pairs: a chapter's text is the source, its notebook the executed record, and the two must agree."""

import importlib.util
import json
import re
from pathlib import Path

import jupytext
import pytest
import yaml

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
    "a machine's path": re.compile(r"(?<![\w.<])/(home|root|tmp|work|Users|usr|opt|var)/|[A-Z]:\\\\"),
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
    listed = {toc["root"], *(chapter["file"] for part in toc["parts"] for chapter in part["chapters"])}
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
        (lambda cells: cells[1]["outputs"][0].update(text=[" 50%|#### | 3/6 [00:01, 2.9it/s]"]), "progress"),
        (lambda cells: cells[1]["outputs"][0].update(text=["saved to /home/me/x.npz"]), "path"),
        (lambda cells: cells[1]["outputs"][0].update(name="stderr"), "stderr"),
    ],
)
def test_a_bad_pair_is_found(change, said):
    text, record = pair()
    change(record["cells"])
    assert said in problem(text, record)
