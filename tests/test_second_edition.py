"""The page on the two editions tells the truth: its counts are the register's, and its pictures are there and small."""

import hashlib
import importlib.util
import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
import yaml
from PIL import Image

from gqlib.claims import VERDICTS, count_verdicts, load_claims

ROOT = Path(__file__).parents[1]
BOOK = ROOT / "book"
PAGE = (BOOK / "second_edition.md").read_text(encoding="utf-8")
FIRST = "194e3eb"  # the last commit of the first edition
BOUND = 700_000  # bytes of all pictures together
PICTURE = re.compile(r"```\{image\} editions/(?P<file>\S+)\n:alt: (?P<alt>.+)\n")
SEAL = "c3a344e723c97bd4"  # of the pictures, as somebody saw them
COLUMNS = ("first edition", "second, every entry", "second, counted")


def load_editions():
    """The script that takes the pictures; the book is no package."""
    spec = importlib.util.spec_from_file_location("editions", BOOK / "editions.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


editions = load_editions()


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


def numeral(number):
    return (
        "zero",
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "eleven",
    )[number]


def test_the_counts_of_now_are_those_of_the_register():
    shown, claims = table(), load_claims()
    assert shown["second, counted"] == with_sum(count_verdicts(claims))
    assert shown["second, every entry"] == with_sum(Counter(claim.verdict for claim in claims))
    assert f"has {numeral(len(load_claims(source='successor')))} entries of its own" in PAGE


@pytest.mark.slow
def test_the_counts_of_then_and_the_changes_are_those_of_the_first_register():
    before = {
        entry["id"]: entry["verdict"] for entry in yaml.safe_load(of_the_first("book/claims.yml"))
    }
    now = {claim.id: claim.verdict for claim in load_claims()}
    assert table()["first edition"] == with_sum(Counter(before.values()))
    both = before.keys() & now.keys()
    changed = Counter((before[name], now[name]) for name in both if before[name] != now[name])
    assert (
        f"Of the {len(both)} entries that both editions have, {changed.total()} changed their verdict"
        in PAGE
    )
    assert f"{numeral(len(now.keys() - both)).capitalize()} entries are new, and " in PAGE
    assert (
        f" and {numeral(len(before.keys() - both))} that the paper does not assert were dropped"
        in PAGE
    )
    told = {
        ("verified", "definition"): "{} entries that only stipulate are *definitions*",
        ("corrected", "definition"): "and so are {} that we had corrected",
        ("corrected", "verified"): "{} corrections fell",
        ("corrected", "underspecified"): "{} descriptions of a task are *underspecified*",
        ("refuted", "corrected"): "Of six refutations {} are *corrected*",
        (
            "not reproduced",
            "underspecified",
        ): "{} of the eleven entries *not reproduced* are *underspecified*",
        ("not reproduced", "reproduced"): "and {} is *reproduced*",
    }
    for change, words in told.items():
        assert words.format(numeral(changed.pop(change))).lower() in PAGE.lower(), change
    single = {
        ("underspecified", "verified"),
        ("underspecified", "corrected"),
        ("verified", "corrected"),
        ("refuted", "verified"),
    }
    assert changed == Counter(single)
    assert "Four changes are single ones" in PAGE


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
        assert re.search(rf"\b{number} {what}", PAGE), (what, number)


def test_every_picture_is_there_and_used_once():
    wanted = [
        editions.name(page, look, edition)
        for page in editions.PAGES for look in editions.LOOKS for edition in editions.EDITIONS
    ]  # fmt: skip
    assert [found["file"] for found in PICTURE.finditer(PAGE)] == wanted
    assert sorted(path.name for path in editions.PICTURES.iterdir()) == sorted(wanted)


def test_every_picture_is_described_and_no_two_alike():
    described = [found["alt"] for found in PICTURE.finditer(PAGE)]
    assert len(set(described)) == len(described) == PAGE.count("{image}") == 18
    assert min(len(text.split()) for text in described) >= 10


def test_the_pictures_are_small_and_as_large_as_the_script_makes_them():
    assert sum(path.stat().st_size for path in editions.PICTURES.iterdir()) < BOUND
    for page in editions.PAGES:
        for look, (width, height, _, shown) in editions.LOOKS.items():
            for edition in editions.EDITIONS:
                with Image.open(editions.PICTURES / editions.name(page, look, edition)) as picture:
                    assert picture.size == (shown, round(height * shown / width))
                    assert picture.mode == "P"


def test_a_dark_picture_is_dark_and_a_light_one_light():
    for page in editions.PAGES:
        for look, (*_, theme, _) in editions.LOOKS.items():
            for edition in editions.EDITIONS:
                with Image.open(editions.PICTURES / editions.name(page, look, edition)) as picture:
                    grey = (
                        picture.convert("L").resize((1, 1), Image.Resampling.BOX).getpixel((0, 0))
                    )
                assert (grey < 100) if theme == "dark" else (grey > 200), (page, look, edition)


def test_the_pictures_are_those_that_were_looked_at():
    """Nothing can draw them again but a browser: after `make pictures`, look at them before their seal is changed."""
    total = hashlib.sha256()
    for path in sorted(editions.PICTURES.iterdir()):
        total.update(path.name.encode() + hashlib.sha256(path.read_bytes()).digest())
    assert total.hexdigest()[:16] == SEAL, "pictures were exchanged"


@pytest.mark.parametrize("arguments", [["now"], ["after", "nowhere"]])
def test_the_script_refuses_what_is_no_edition_or_no_book(arguments, capsys):
    assert editions.main(arguments) == 1
    assert arguments[-1] in capsys.readouterr().err


def test_a_row_of_pictures_is_a_row_on_paper():
    from docutils import nodes

    sys.path.insert(0, str(BOOK / "_ext"))
    import latex_edition

    sys.path.remove(str(BOOK / "_ext"))

    def grid(*columns):
        parts = [nodes.container("", *one, classes=["sd-col"]) for one in columns]
        return nodes.container("", *parts, classes=["sd-row"])

    def said(word):
        return nodes.paragraph("", word)

    wide, narrow = nodes.image(alt="not said"), nodes.image(width="240px")
    page = nodes.container(
        "", grid([wide, said("a")], [narrow, said("b")]), grid([nodes.image()], [said("c")])
    )
    latex_edition.set_rows(page)
    pictures, mixed = page.children
    line, words = pictures.children
    assert [child for child in line if isinstance(child, nodes.image)] == [wide, narrow]
    assert (wide["width"], narrow["width"], words.astext()) == ("49%", "240px", "a b")
    assert len(mixed.children) == 2
