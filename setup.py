"""All is in pyproject.toml but this: a built package has the register of claims inside it, a checkout in the book."""

from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py


class BuildWithClaims(build_py):
    """Copy `book/claims.yml` beside the modules; an editable install reads it from where it is."""

    def run(self) -> None:
        """Build, then add the register."""
        super().run()
        if not self.editable_mode:
            self.copy_file("book/claims.yml", str(Path(self.build_lib, "gqlib", "claims.yml")))


setup(cmdclass={"build_py": BuildWithClaims})
