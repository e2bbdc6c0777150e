"""Chapters are built alike: what you will learn, the argument, a summary, graded exercises with solutions that run."""

import re
from pathlib import Path

import jupytext
import nbformat
import pytest
import yaml

BOOK = Path(__file__).parents[2] / "book"
REFERENCE = {"index", "scorecard", "paper_index", "article"}  # executed pages that are no chapters
CHAPTERS = sorted(
    path
    for path in BOOK.glob("*.md")
    if "jupytext:" in path.read_text(encoding="utf-8")[:200] and path.stem not in REFERENCE
)
GRADES = ["Routine", "Harder", "Research"]
each_chapter = pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
EXERCISE = re.compile(r"```\{exercise\} [^\n]+\n:label: (?P<label>\S+)\n+\*(?P<grade>\w+)\.\* \S")
SOLUTION = re.compile(
    r"```\{solution-start\} (?P<label>\S+)\n:class: dropdown\n```(?P<body>.+?)```\{solution-end\}",
    re.DOTALL,
)

# Two questions and two answers, the answers folded.
CHECKS = re.compile(
    r"^````\{admonition\} Quick checks\n:class: tip\n(.+?```\{admonition\} Answers\n:class: dropdown\n.+?)^````$",
    re.MULTILINE | re.DOTALL,
)


def test_every_chapter_is_in_the_table_of_contents_once():
    parts = yaml.safe_load((BOOK / "_toc.yml").read_text(encoding="utf-8"))["parts"]
    listed = [Path(entry["file"]).stem for part in parts for entry in part["chapters"]]
    texts = {path.stem for path in CHAPTERS}
    found = sorted(stem for stem in listed if stem in texts)
    assert found == sorted(texts), "list NAME.ipynb of every chapter once in book/_toc.yml"


@each_chapter
def test_a_chapter_says_what_it_teaches_and_sums_up(path):
    text = path.read_text(encoding="utf-8")
    opening, *_ = re.split(r"^## ", text, maxsplit=1, flags=re.MULTILINE)
    items = re.findall(r"^- ", opening.partition("**What you will learn**")[2], re.MULTILINE)
    assert len(items) >= 3, "open with **What you will learn** and a list of three points or more"
    headings = re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert headings[-2:] == ["Summary", "Exercises"], "end with the sections Summary and Exercises"


@each_chapter
def test_exercises_are_graded_and_have_solutions_that_run(path):
    text = path.read_text(encoding="utf-8")
    exercises = list(EXERCISE.finditer(text))
    form = "```{exercise} Title / :label: ... / *Routine.* Text, as in book/instability.md"
    assert len(exercises) == text.count("```{exercise}") >= 3, f"write exercises like {form}"
    ranks = [GRADES.index(exercise["grade"]) for exercise in exercises]
    assert ranks == sorted(ranks), f"exercises go from {GRADES[0]} to {GRADES[-1]}"
    assert set(ranks) == {0, 1, 2}, f"there is one of each grade: {', '.join(GRADES)}"
    solutions = {found["label"]: found["body"] for found in SOLUTION.finditer(text)}
    labels = [exercise["label"] for exercise in exercises]
    assert list(solutions) == labels, "each exercise is followed by its solution, in a dropdown"
    silent = [label for label, body in solutions.items() if "```{code-cell} python" not in body]
    assert silent == [], "let these solutions run: put a code cell into them"


@each_chapter
def test_a_section_asks_two_quick_questions_and_folds_the_answers(path):
    """Verdicts, which sum up, and what is for referees only have none to ask."""
    sections = re.split(r"^## ", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:-2]
    titled = dict(section.split("\n", 1) for section in sections)
    without = [
        title
        for title, text in titled.items()
        if not title.endswith("(for referees)")
        and not title.startswith("Verdict")
        and all(len(re.findall(r"^\d\. ", box, re.MULTILINE)) < 4 for box in CHECKS.findall(text))
    ]
    assert without == [], "end these sections with Quick checks, as in book/instability.md"


@each_chapter
def test_every_figure_has_name_caption_and_alternative_text(path):
    for cell in jupytext.read(path).cells:
        if cell.cell_type == "code" and "figures.show(" in cell.source:
            markup = cell.metadata.get("mystnb", {})
            figure, alternative = markup.get("figure", {}), markup.get("image", {}).get("alt", "")
            told = f"give the header of this cell name: fig-..., caption: and alt:\n{cell.source}"
            assert figure.get("name", "").startswith("fig-"), told
            assert figure.get("caption"), told
            assert alternative, told
            assert alternative.strip() not in figure["caption"], "say in alt what one would see"
            inks = re.findall(r"\b(?:black|white)\b", figure["caption"], re.IGNORECASE)
            assert not inks or re.search(r"imshow|pcolormesh", cell.source), (
                "say dark or light: in dark mode ink is light, and only a map keeps its colours"
            )


# A line of print that is one sentence, made by the library: it may be folded.
LONG = ("Agent(GQ(0.5, 0.9), TileCoder(",)


@each_chapter
def test_what_is_printed_keeps_its_columns(path):
    wide = [
        line
        for cell in nbformat.read(path.with_suffix(".ipynb"), as_version=4).cells
        if cell.cell_type == "code"
        and not {"remove-cell", "remove-output"} & set(cell.metadata.get("tags", []))
        for output in cell.outputs
        for line in output.get("text", "").splitlines()
        if len(line.rstrip()) > 88 and not line.startswith(LONG)
    ]
    assert wide == [], "print lines of at most 88 columns: the page folds longer ones"


@each_chapter
def test_every_code_cell_is_one(path):
    """A fence that does not close, or whose title has backticks in it, turns the next cell of code into text."""
    fences = re.findall(r"^```\{code-cell\}", path.read_text(encoding="utf-8"), re.MULTILINE)
    cells = sum(cell.cell_type == "code" for cell in jupytext.read(path).cells)
    assert len(fences) == cells, "close every fence of a cell, and put no backticks into its header"
