"""Make the article: `python book/article.py [--check] [FOLDER]`, LaTeX and PDF; --check only looks for TeX.

Its text is `book/article.md`, a page of the book; what it says in numbers comes from the register and the results when
the page is executed (`make notebooks`).
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import pdf

NAME = pdf.ARTICLE


def main(arguments: list[str]) -> int:
    """Check for TeX, build, and say where the article is."""
    lacking = pdf.missing()
    if lacking:
        print(
            f"The article needs {' and '.join(lacking)}, not found on the PATH. {pdf.ADVICE}",
            file=sys.stderr,
        )
        return 1
    if "--check" in arguments:
        return 0
    given = [argument for argument in arguments if not argument.startswith("-")]
    folder = Path(given[0] if given else pdf.ROOT / "_build" / "article").resolve()
    return pdf.build(folder, (NAME,), "The article")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
