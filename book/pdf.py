"""Build the PDF edition, which is two files: the book and the reference of the library. Needs TeX.

The article is a third, which comes with its LaTeX. Its text is `book/article.md`, a page of the book; what it says in
numbers comes from the register and the results when the page is executed (`python book/refresh.py`).

The book's pages become LaTeX by jupyter-book (book/_ext/latex_edition.py), then PDFs by latexmk and xelatex.
TeX goes on where it should not: a reference that leads nowhere is printed as ??, a letter that a font lacks as nothing.
The log knows of both, and either fails the build.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NAME = "gradient-q-sigma-lambda"  # as in _config.yml
REFERENCE, ARTICLE = "gqlib-reference", "gqlib-article"  # as in book/_ext/latex_edition.py
TOOLS = ("xelatex", "latexmk")
PACKAGES = "texlive-xetex texlive-latex-extra texlive-fonts-recommended latexmk fonts-freefont-otf"
ADVICE = f"On Debian and Ubuntu: apt-get install {PACKAGES}"
FAULTS = {
    "an error": re.compile(r"^! .*(?:\n.*){0,4}", re.MULTILINE),
    "a reference that leads nowhere": re.compile(
        r"^(?:LaTeX|Package hyperref|Package natbib) Warning: .*(?:undefined|multiply).*",
        re.MULTILINE,
    ),
    "a letter that the font lacks": re.compile(r"^Missing character: .*", re.MULTILINE),
}


def missing() -> list[str]:
    """The programs of TeX that are not on the PATH."""
    return [tool for tool in TOOLS if shutil.which(tool) is None]


def faults(log: str) -> list[str]:
    """What the log reports that a reader would stumble over."""
    return [
        f"{name}: {found.group(0)}"
        for name, pattern in FAULTS.items()
        for found in pattern.finditer(log)
    ]


def to_latex(folder: Path) -> Path | None:
    """Turn the book into LaTeX below the folder; return where the sources are, or nothing where that fails."""
    command = [
        str(Path(sys.executable).with_name("jupyter-book")),
        "build",
        "book",
        "--builder",
        "latex",
        "-W",
    ]
    command += ["--keep-going", "-n", "--quiet", "--path-output", str(folder)]
    done = subprocess.run(command, cwd=ROOT, check=False)
    return None if done.returncode else folder / "_build" / "latex"


def typeset(sources: Path, name: str) -> list[str]:
    """Make the PDF of one document beside its source; return what is wrong with it."""
    for left in sources.glob(
        f"{name}.*"
    ):  # a run that was interrupted leaves half a file, and TeX stumbles over it
        if left.suffix != ".tex":
            left.unlink()
    log = sources / f"{name}.log"
    # Everything but the verdict is in the log, whose lines are not to be cut.
    done = subprocess.run(
        [
            "latexmk",
            "-xelatex",
            "-interaction=nonstopmode",
            "-halt-on-error",
            "-silent",
            f"{name}.tex",
        ],
        cwd=sources,
        env={
            **os.environ,
            "max_print_line": "10000",
            "LATEXOPTS": "",
            "XINDYOPTS": "",
            "FORCE_SOURCE_DATE": "1",
        },
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    found = faults(log.read_text(encoding="utf-8", errors="replace")) if log.exists() else []
    if done.returncode and not found:
        found = [f"latexmk failed: {done.stderr[-2000:] or done.stdout[-2000:]}"]
    return found


def build(folder: Path, names: tuple[str, ...], what: str) -> int:
    """Build these documents into the folder and say where they are; 1 where something is wrong with them."""
    sources = to_latex(folder)
    found = (
        ["jupyter-book could not turn the book into LaTeX, see above"] if sources is None else []
    )
    for name in names if sources else ():
        found += typeset(sources, name)
    if found:
        print("\n".join([f"{what} has faults:", *found]), file=sys.stderr)
        if "not found" in "\n".join(found) or "cannot be found" in "\n".join(found):
            print(f"A package or a font of TeX is missing. {ADVICE}", file=sys.stderr)
        return 1
    for name in names:
        shutil.copyfile(sources / f"{name}.pdf", folder / f"{name}.pdf")
    if ARTICLE in names:  # of which journals want the source
        shutil.copyfile(sources / f"{ARTICLE}.tex", folder / f"{ARTICLE}.tex")
    print(f"{what} is at {' and '.join(str(folder / f'{name}.pdf') for name in names)}")
    return 0


def main(arguments: list[str]) -> int:
    """Check for TeX, build, and say where the PDF is."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", nargs="?", type=Path, help="_build/pdf or _build/article")
    parser.add_argument("--article", action="store_true", help="the article alone")
    parser.add_argument("--all", action="store_true", help="the article, too")
    given = parser.parse_args(arguments)
    what = "The article" if given.article else "The PDF edition"
    lacking = missing()
    if lacking:
        print(
            f"{what} needs {' and '.join(lacking)}, not found on the PATH. {ADVICE}",
            file=sys.stderr,
        )
        return 1
    names = (ARTICLE,) if given.article else (NAME, REFERENCE, *((ARTICLE,) if given.all else ()))
    folder = given.folder or ROOT / "_build" / ("article" if given.article else "pdf")
    return build(folder.resolve(), names, what)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
