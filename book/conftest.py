"""Pictures of the records are compared with those that are drawn today; nbval compares only the text beside them.

A seal in the record (`book/refresh.py`) tells a picture that was exchanged by itself, not one that was exchanged with
its seal. So where pytest executes a cell, what it draws has to look like what the record shows: the pixels, the drawing
from which the page is made, and the numbers that go with it. On one machine they are the same to the byte. Elsewhere
the last digits may differ, and a point or two of a long curve may be left out, which is why letters, styles and names
are compared exactly, and places only as closely as an eye could.
"""

from __future__ import annotations

import base64
import csv
import io
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from kit.figures import AXES, TABLE, VECTOR

Numbers = NDArray[np.float64]
GRID = (48, 36)  # fields of a picture, whose mean colours are compared
MEAN, MOST = 0.5, 32.0  # of 255: by how much they may differ on average, and anywhere
NEAR = 0.01  # of the largest number of a column, or of a drawing


def difference(kept: bytes, drawn: bytes) -> str | None:
    """In what the picture of a record differs from the one that was drawn, or None."""
    with Image.open(io.BytesIO(kept)) as one, Image.open(io.BytesIO(drawn)) as other:
        if np.abs(np.subtract(one.size, other.size)).max() > 2:
            return f"its size, {one.size} instead of {other.size}"
        apart = np.abs(_fields(one) - _fields(other))
        texts, wanted = (dict(getattr(picture, "text", {})) for picture in (one, other))
    if apart.mean() > MEAN or apart.max() > MOST:
        return f"its pixels, by {apart.mean():.2f} of 255 on average and {apart.max():.0f} at most"
    if set(texts) != set(wanted) or texts[AXES] != wanted[AXES]:
        return "the names of its axes"
    if not _same_table(texts[TABLE], wanted[TABLE]):
        return "the numbers that go with it"
    return _drawing(texts[VECTOR], wanted[VECTOR])


def _fields(picture: Image.Image) -> Numbers:
    return np.asarray(picture.convert("RGB").resize(GRID, Image.Resampling.BOX), dtype=np.float64)


def _same_table(kept: str, drawn: str) -> bool:
    """Whether two tables have the same words, and numbers that are the same but for rounding."""
    one, other = (list(csv.reader(io.StringIO(text))) for text in (kept, drawn))
    if [row[:4] for row in one] != [row[:4] for row in other]:  # axes, kind, series, label
        return False
    for column, wanted in zip(zip(*one, strict=True), zip(*other, strict=True), strict=True):
        a, b = (np.array([_number(cell) for cell in cells]) for cells in (column, wanted))
        scale = np.abs(b[np.isfinite(b)]).max(initial=0.0)
        if not np.allclose(a, b, rtol=0.0, atol=NEAR * scale, equal_nan=True):
            return False
    return True


def _number(cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        return float("nan")


def _drawing(kept: str, drawn: str) -> str | None:
    """In what two drawings differ: letters and styles in their order, and where everything is."""
    for what, pattern in (("letters", r'href="#(\w+-[0-9a-f]+)"'), ("styles", r'style="([^"]*)"')):
        one, other = (
            re.findall(pattern, re.sub(r"url\([^)]*\)", "", svg)) for svg in (kept, drawn)
        )
        if one != other:
            return f"the {what} of its drawing"
    ways, wanted = (re.findall(r' (?:d|x|y|transform)="([^"]*)"', svg) for svg in (kept, drawn))
    pairs = [(_numbers(one), _numbers(other)) for one, other in zip(ways, wanted, strict=False)]
    size = max((np.abs(other).max(initial=0.0) for _, other in pairs), default=0.0)
    if len(ways) != len(wanted) or not all(_near(*pair, NEAR * size) for pair in pairs):
        return "the places in its drawing"
    return None


def _numbers(text: str) -> Numbers:
    return np.array(re.findall(r"-?\d+\.?\d*", text), dtype=np.float64)


def _near(one: Numbers, other: Numbers, apart: float) -> bool:
    """Whether numbers are the same one by one or, where a point of many was left out, as wholes."""
    if len(one) == len(other):
        return bool((np.abs(one - other) <= apart).all())
    if not min(len(one), len(other)) or abs(len(one) - len(other)) > max(2.0, NEAR * len(other)):
        return False
    levels = np.linspace(0.0, 1.0, 101)
    return bool((np.abs(np.quantile(one, levels) - np.quantile(other, levels)) <= apart).all())


def pictures(outputs: Any) -> Iterator[bytes]:
    """The pictures among the outputs of a cell."""
    for output in outputs or ():
        if "image/png" in output.get("data", {}):
            yield base64.b64decode(output["data"]["image/png"])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Any:
    """Once nbval has executed a cell and compared its text, compare its pictures."""
    result = yield
    cell, outputs = getattr(item, "cell", None), getattr(item, "test_outputs", None)
    if cell is not None and outputs is not None:
        kept, drawn = list(pictures(cell.outputs)), list(pictures(outputs))
        if len(kept) != len(drawn):
            raise AssertionError(
                f"the record has {len(kept)} pictures of this cell, which draws {len(drawn)}"
            )
        for number, pair in enumerate(zip(kept, drawn, strict=True)):
            if found := difference(*pair):
                raise AssertionError(
                    f"picture {number} of the record is not what this cell draws: {found}"
                )
    return result
