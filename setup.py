"""All is in pyproject.toml but two things: where the register of claims goes, and the README for a package index."""

import re
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

# Where a browser can read the files of the repository, without a slash at the end; empty while there is no such place.
FILES = ""
LINK = re.compile(r"(!?)\[([^]]*)\]\((?![a-z]+:|#)([^)\s]+)\)")


class BuildWithClaims(build_py):
    """Copy `book/claims.yml` beside the modules; an editable install reads it from where it is."""

    def run(self) -> None:
        """Build, then add the register."""
        super().run()
        if not self.editable_mode:
            self.copy_file("book/claims.yml", str(Path(self.build_lib, "gqlib", "claims.yml")))


def for_an_index(text: str, files: str = FILES) -> str:
    """The README where its files are not beside it: links lead to `files`, or else become their own words."""

    def moved(match: re.Match[str]) -> str:
        mark, words, path = match.groups()
        if files:
            return f"{mark}[{words}]({files}/{path})"
        return f"*[Figure: {words}]*" if mark else words

    return LINK.sub(moved, text)


if __name__ == "__main__":
    setup(
        cmdclass={"build_py": BuildWithClaims},
        long_description=for_an_index(Path("README.md").read_text(encoding="utf-8")),
        long_description_content_type="text/markdown",
    )
