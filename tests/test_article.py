"""The article: no number in its prose was typed, and every value is the register's or the results' of today."""

import ast
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import pdf
from gqlib.claims import count_verdicts, load_claims

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "book" / "article.md").read_text(encoding="utf-8")


# What has a number in its name: objects of the paper, the two ends of σ, a program, cases that are numbered by letters.
NAMES = (
    r"(?:Theorem|Lemma|Proposition|Figure|Table|Algorithm|Section|Eq\.) \(?\d+\)?",
    r"Tables 1 and 2",
    r"[σλ] = [01]\b",
    r"GQ\(0, λ\)",
    r"\btable2\b",
    r"tiles3",
)
WORDS = (
    *("four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "quarter"),
    *("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"),
    *("dozen", "hundred", "thousand", "million"),
)
SHARES = r"\b(?:two|three|half|twice|a third)(?= (?:of|as)\b)"  # small numbers are everyday words, unless they count
MAKERS = {
    "word",
    "span",
    "difference",
    "str",
    "int",
    "float",
    "round",
    "abs",
    "sum",
    "len",
    "min",
    "max",
}  # of words
SIGNS = "[\\d½⅓⅔¼¾⅛]"
# In strings of code: names of files and entries, the level of an interval, and the values of σ that head a column.
IN_CODE = (*NAMES, r"(?<!\w)9[05]%", r"σ = ½", r"½ minus", r"−½∇MSPBE", r"η → 0")


def prose(text):
    """The article without its header, code, roles, formulas and what has a number in its name."""
    text = re.sub(r"\A---\n.*?\n---\n", "", text, flags=re.DOTALL)
    text = re.sub(r"^```\{.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"\$\$.*?\$\$(?: \(\S+\))?|\$[^$]+\$", "", text, flags=re.DOTALL)
    text = re.sub(r"\{[\w:]+\}`[^`]+`", "", text)
    return re.sub("|".join(NAMES), "", text)


def typed(text):
    """Numbers in the prose, in digits or in words, and in its formulas where they are not small and whole."""
    words = rf"\S*{SIGNS}\S*|\b(?:{'|'.join(WORDS)})\b|\b\w*(?:teen|ty-\w+)\b|{SHARES}"
    found = re.findall(words, prose(text), re.IGNORECASE)
    formulas = re.findall(
        r"\$\$.*?\$\$|\$[^$]+\$", re.sub(CODE, "", text), re.DOTALL | re.MULTILINE
    )
    return found + [one for formula in formulas for one in re.findall(r"\d*\.\d+|\d{2,}", formula)]


CODE = re.compile(
    r"^```\{code-cell\} python\n(?:---\n.*?^---\n|(?::[^\n]*\n)*)(.*?)^```$",
    re.DOTALL | re.MULTILINE,
)


def typed_in_code(text):
    """Numbers that code would hand to the reader as they were typed: in words of a table, or by `put`."""
    found = []
    for code in CODE.findall(text):
        tree = ast.parse(code)
        # Formats, docstrings and what an assert compares are not handed to anybody.
        kept = [
            one.format_spec
            for one in ast.walk(tree)
            if isinstance(one, ast.FormattedValue) and one.format_spec
        ]
        kept += [one for one in ast.walk(tree) if isinstance(one, ast.Assert)]
        kept += [
            one
            for one in ast.walk(tree)
            if isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant)
        ]
        ignored = {id(part) for one in kept for part in ast.walk(one)}
        for one in ast.walk(tree):
            if (
                isinstance(one, ast.Call)
                and getattr(one.func, "id", "") == "put"
                and "glue" not in code
            ):
                names = {part.id for part in ast.walk(one.args[1]) if isinstance(part, ast.Name)}
                found += [] if names - MAKERS else [ast.unparse(one)]
            if (
                isinstance(one, ast.Constant)
                and isinstance(one.value, str)
                and id(one) not in ignored
            ):
                words = re.sub("|".join(IN_CODE), "", one.value)
                spoken = " " in words or "|" in words  # a name has neither
                found += [one.value] if spoken and re.search(SIGNS, words) else []
    return found


def captions(text):
    """Captions and alternative texts of the figures."""
    return re.findall(
        r"^    (?:caption: \|\n((?:      .*\n)+)|alt: (.*))", text, flags=re.MULTILINE
    )


def test_no_number_is_typed():
    assert typed(TEXT) == []
    assert typed_in_code(TEXT) == []
    words = " ".join("".join(pair) for pair in captions(TEXT))
    # the level of an interval and the number of panels belong to the drawing
    assert (
        re.findall(r"\d[\d.,]*", re.sub("|".join((*NAMES, r"95%", r"sigma 0\.9")), "", words)) == []
    )


@pytest.mark.parametrize(
    "sentence",
    [
        *(
            "It beats both in 42 of them.",
            "Of the 1,000 runs",
            "seven of them",
            "σ = 0.5",
            "Twenty were lost.",
        ),
        *(
            "The share is $79.6$ per cent.",
            "$$x = 100$$",
            "with η = ½ it",
            "Seventeen",
            "in **3** panels",
            "p<.05",
        ),
        *(
            "a quarter of them",
            "σ = 1.5",
            "Table 1 has 6 cells",
            "| case | 12 |",
            "thirty-one",
            "`42`",
        ),
        *("Two of the findings", "in half of the cells", "twice as many", "in 37% of them"),
    ],
)
def test_a_typed_number_would_be_found(sentence):
    assert typed(f"{TEXT}\n{sentence}\n")


@pytest.mark.parametrize(
    "line",
    [
        'put("claims", "120")',
        'put("claims", 120)',
        'rows = ["| greedy | 346 |"]',
        'table("a", "Means over 100 runs.", rows)',
        'rows.append(f"| {target} | better by 12 steps |")',
        'put("gap", "−346 (−501 to −191)")',
        'put("gap", word(42))',
        'put("gap", str(41 + 1))',
        'put("gap", f"{0.42:.2f}")',
    ],
)
def test_a_number_typed_in_code_would_be_found(line):
    assert typed_in_code(f"{TEXT}\n```{{code-cell}} python\n:tags: [remove-cell]\n{line}\n```\n")


def outputs():
    """The values that the record hands to the prose."""
    record = json.loads((ROOT / "book" / "article.ipynb").read_text(encoding="utf-8"))
    found = {}
    for cell in record["cells"]:
        for output in cell.get("outputs", ()):
            name = output.get("metadata", {}).get("scrapbook", {}).get("name")
            if name:
                found[name] = "".join(next(iter(output["data"].values()))).strip("'")
    return found


def test_every_value_of_the_prose_is_made_and_every_value_made_is_used():
    used = set(re.findall(r"\{glue:text\}`([\w-]+)`", TEXT))
    assert used == set(outputs())
    assert len(used) > 30


def test_the_record_counts_as_the_register_does():
    number, values = count_verdicts(load_claims()), outputs()
    assert values["art-claims"] == str(sum(number.values()))
    assert values["art-corrected"] == str(number["corrected"])


@pytest.mark.thorough
@pytest.mark.timeout(3600)  # a machine may be busy
@pytest.mark.skipif(bool(pdf.missing()), reason=pdf.ADVICE)
def test_the_article_on_paper(tmp_path):
    command = [sys.executable, ROOT / "book" / "pdf.py", "--article", tmp_path]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    source = (tmp_path / f"{pdf.ARTICLE}.tex").read_text(encoding="utf-8")
    assert source.count(r"\begin{figure}") == TEXT.count("  figure:\n") == 5
    assert source.count(r"\begin{sphinxthebibliography}") == 1
    works = re.split(r"\\bibitem", source.split(r"\begin{sphinxthebibliography}")[1])[1:]
    assert all(work.count(r"\sphinxAtStartPar") == 1 for work in works)
    assert "glue" not in source
    assert r"machine\_checked" not in source  # other pages are named by their titles
    if shutil.which("pdfinfo"):
        told = subprocess.run(
            ["pdfinfo", tmp_path / f"{pdf.ARTICLE}.pdf"],
            capture_output=True,
            text=True,
            check=True,
        )
        assert 10 <= int(re.search(r"Pages:\s+(\d+)", told.stdout).group(1)) <= 12
