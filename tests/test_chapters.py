"""Chapters are built alike: what you will learn, the argument, a summary, graded exercises with solutions that run."""

import re
from pathlib import Path

import jupytext
import nbformat
import pytest
import yaml

BOOK = Path(__file__).parents[1] / "book"
REFERENCE = {"index", "scorecard", "paper_index", "article"}  # executed pages that are no chapters
CHAPTERS = sorted(
    path
    for path in BOOK.glob("*.md")
    if "jupytext:" in path.read_text(encoding="utf-8")[:200] and path.stem not in REFERENCE
)
GRADES = ["Routine", "Harder", "Research"]
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
    assert len(CHAPTERS) >= 16
    assert sorted(stem for stem in listed if stem in texts) == sorted(texts)


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_a_chapter_says_what_it_teaches_and_sums_up(path):
    text = path.read_text(encoding="utf-8")
    learn = text.index("**What you will learn**")
    first = re.search(r"^## ", text, re.MULTILINE)
    assert first is None or learn < first.start()
    assert len(re.findall(r"^- ", text[learn:].split("\n\n")[1], re.MULTILINE)) >= 3
    headings = re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert headings[-2:] == ["Summary", "Exercises"]


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_exercises_are_graded_and_have_solutions_that_run(path):
    text = path.read_text(encoding="utf-8")
    exercises = list(EXERCISE.finditer(text))
    assert len(exercises) == text.count("```{exercise}") >= 3
    ranks = [GRADES.index(exercise["grade"]) for exercise in exercises]
    assert ranks == sorted(ranks)
    assert set(ranks) == {0, 1, 2}
    solutions = {found["label"]: found["body"] for found in SOLUTION.finditer(text)}
    assert list(solutions) == [exercise["label"] for exercise in exercises]
    assert [label for label, body in solutions.items() if "```{code-cell} python" not in body] == []


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_a_section_asks_two_quick_questions_and_folds_the_answers(path):
    """Verdicts, which sum up, and what is for referees only have none to ask."""
    sections = re.split(r"^## ", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:-2]
    without = [
        title
        for title, _, text in (section.partition("\n") for section in sections)
        if not title.endswith("(for referees)")
        and not title.startswith("Verdict")
        and not any(
            len(re.findall(r"^\d\. ", box, re.MULTILINE)) >= 4 for box in CHECKS.findall(text)
        )
    ]
    assert without == []


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_every_figure_has_name_caption_and_alternative_text(path):
    for cell in jupytext.read(path).cells:
        if cell.cell_type != "code" or "figures.show(" not in cell.source:
            continue
        markup = cell.metadata.get("mystnb", {})
        assert markup["figure"]["name"].startswith("fig-")
        assert len(markup["figure"]["caption"].split()) >= 8
        alternative = markup["image"]["alt"]
        assert len(alternative.split()) >= 10, alternative
        assert alternative.strip() not in markup["figure"]["caption"]
        if re.search(r"\b(black|white)\b", markup["figure"]["caption"], re.IGNORECASE):
            assert re.search(r"imshow|pcolormesh", cell.source), (
                "in dark mode ink is light; only a map keeps its colours"
            )


# A line of print that is one sentence, made by the library: it may be folded.
LONG = {"Agent(GQ(0.5, 0.9), TileCoder("}


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_what_is_printed_keeps_its_columns(path):
    """The page has room for 88 columns; a table in type that is wider is folded, and nobody can read it."""
    wide = [
        line
        for cell in nbformat.read(path.with_suffix(".ipynb"), as_version=4).cells
        if cell.cell_type == "code"
        and not {"remove-cell", "remove-output"} & set(cell.metadata.get("tags", []))
        for output in cell.outputs
        for line in output.get("text", "").splitlines()
        if len(line.rstrip()) > 88 and not line.startswith(tuple(LONG))
    ]
    assert wide == []


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_every_code_cell_is_one(path):
    """A fence that does not close, or whose title has backticks in it, turns the next cell of code into text."""
    fences = re.findall(r"^```\{code-cell\}", path.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(fences) == sum(cell.cell_type == "code" for cell in jupytext.read(path).cells)
