"""The house is in order: imports flow one way, files stay small, the notation page knows what the chapters use."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
LONGEST = 350
GREEK = re.compile(
    r"\\(alpha|beta|gamma|delta|varepsilon|epsilon|eta|theta|lambda|mu|nu|xi|pi|rho|sigma|phi|omega|Delta|Phi|Xi|Pi|Omega)(?![a-zA-Z])"
)


def test_imports_flow_one_way():
    code = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "1 kept, 0 broken" in done.stdout


def test_no_module_is_too_long_to_read():
    lengths = {path.name: len(path.read_text(encoding="utf-8").splitlines()) for path in ROOT.glob("gqlib/**/*.py")}
    assert {name: lines for name, lines in lengths.items() if lines > LONGEST} == {}


def formulas(text):
    """The mathematics of a chapter, without its code cells."""
    prose = re.sub(r"```\{code-cell\}.*?\n```", "", text, flags=re.DOTALL)
    return "\n".join(re.findall(r"\$\$.+?\$\$|\$[^$]+\$", prose, flags=re.DOTALL))


def test_every_greek_letter_of_the_chapters_is_in_the_notation():
    listed = set(GREEK.findall((ROOT / "book" / "notation.md").read_text(encoding="utf-8")))
    used = {}
    for path in sorted((ROOT / "book").glob("*.md")):
        for letter in GREEK.findall(formulas(path.read_text(encoding="utf-8"))):
            used.setdefault(letter, path.stem)
    assert {letter: chapter for letter, chapter in used.items() if letter not in listed} == {}
    assert len(used) > 15


def test_names_in_the_notation_exist_in_the_code():
    page = (ROOT / "book" / "notation.md").read_text(encoding="utf-8")
    code = "\n".join(path.read_text(encoding="utf-8") for path in ROOT.glob("gqlib/**/*.py"))
    chapters = "\n".join(path.read_text(encoding="utf-8") for path in ROOT.glob("book/*.md") if path.stem != "notation")
    rows = [line.split("|") for line in page.splitlines() if line.startswith("| $")]
    assert len(rows) > 25
    for row in rows:
        for name in re.findall(r"`(\w+)`", row[3]):
            assert re.search(rf"\b{name}\b", code + chapters), name
        for module in re.findall(r"`gqlib\.([\w.]+)`", row[4]):
            base = ROOT / "gqlib" / module.replace(".", "/")
            assert base.with_suffix(".py").exists() or base.is_dir(), module
