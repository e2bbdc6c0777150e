"""Every example in a docstring runs and gives what it shows."""

import doctest
import importlib
import pkgutil

import pytest

import gqlib

MODULES = sorted(
    info.name for info in pkgutil.walk_packages(gqlib.__path__, "gqlib.") if not info.name.endswith("__main__")
)


@pytest.mark.parametrize("name", MODULES)
def test_examples_of(name):
    result = doctest.testmod(importlib.import_module(name))
    assert result.failed == 0
