"""The page on the two editions tells the truth: its counts are the register's, and its pictures are there and small."""

import json
import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest
import yaml

import editions
from gqlib.claims import VERDICTS, count_verdicts, load_claims

ROOT = Path(__file__).parents[2]
BOOK = ROOT / "book"
PAGE = (BOOK / "second_edition.md").read_text(encoding="utf-8")
FIRST = "194e3eb"  # the last commit of the first edition
BOUND = 700_000  # bytes of all pictures together
PICTURE = re.compile(r"```\{image\} editions/(\S+)\n:alt: .+\n")
COLUMNS = ("first edition", "second, every entry", "second, counted")


def table():
    """The table of verdicts: a column of counts for each edition."""
    rows = [
        [cell.strip(" *") for cell in line.strip("|").split("|")]
        for line in PAGE.splitlines()
        if line[:1] == "|"
    ]
    assert tuple(rows[0][1:]) == COLUMNS
    counts = {row[0]: [0 if cell == "–" else int(cell) for cell in row[1:]] for row in rows[2:]}
    return {
        name: {row: cells[i] for row, cells in counts.items()} for i, name in enumerate(COLUMNS)
    }


def with_sum(counts):
    counts = {verdict: counts.get(verdict, 0) for verdict in VERDICTS}
    return counts | {"together": sum(counts.values())}


def of_the_first(path):
    """A file as the first edition had it."""
    done = subprocess.run(
        ["git", "show", f"{FIRST}:{path}"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode:
        pytest.skip(f"the history does not reach back to the first edition ({FIRST})")
    return done.stdout


def test_the_counts_of_now_are_those_of_the_register():
    shown, claims = table(), load_claims()
    told = "correct this column of the table of verdicts in book/second_edition.md"
    assert shown["second, counted"] == with_sum(count_verdicts(claims)), told
    assert shown["second, every entry"] == with_sum(Counter(one.verdict for one in claims)), told


@pytest.mark.slow
def test_the_counts_of_then_are_those_of_the_first_register():
    before = [entry["verdict"] for entry in yaml.safe_load(of_the_first("book/claims.yml"))]
    assert table()["first edition"] == with_sum(Counter(before)), (
        "the first edition does not change"
    )


def test_other_numbers_of_now_are_those_of_the_book():
    contents = yaml.safe_load((BOOK / "_toc.yml").read_text(encoding="utf-8"))["parts"]
    records = [
        json.loads(path.read_text(encoding="utf-8")) for path in sorted(BOOK.glob("*.ipynb"))
    ]
    shown = "".join(
        "".join(output.get("data", {}).get("text/html", ""))
        for record in records for cell in record["cells"] for output in cell.get("outputs", ())
    )  # fmt: skip
    prose = "".join(path.read_text(encoding="utf-8") for path in BOOK.glob("*.md"))
    now = {
        "chapters": sum(len(part["chapters"]) for part in contents if part.get("numbered")),
        "boxes of quick checks": prose.count("{admonition} Quick checks"),
        "exercises": len(re.findall(r"^`+\{exercise\}", prose, re.MULTILINE)),
        "live figures": len(set(re.findall(r'data-explorable="([^"]+)"', shown))),
        "planted errors": len(
            yaml.safe_load((ROOT / "tests" / "planted.yml").read_text(encoding="utf-8"))
        ),
        "theorems": (ROOT / "proofs" / "checked.txt")
        .read_text(encoding="utf-8")
        .count("Closed under the global"),
    }
    for what, number in now.items():
        told = f"book/second_edition.md should say: {number} {what}"
        assert re.search(rf"\b{number} {what}", PAGE), told


def test_every_picture_is_there_and_used_once_and_small():
    wanted = [
        editions.name(page, look, edition)
        for page in editions.PAGES for look in editions.LOOKS for edition in editions.EDITIONS
    ]  # fmt: skip
    there = sorted(path.name for path in editions.PICTURES.iterdir())
    assert there == sorted(wanted), "python book/editions.py takes those of this edition again"
    assert PICTURE.findall(PAGE) == wanted, (
        "show each picture once in book/second_edition.md, in this order"
    )
    size = sum(path.stat().st_size for path in editions.PICTURES.iterdir())
    assert size < BOUND, "fewer COLOURS in book/editions.py make smaller pictures"
