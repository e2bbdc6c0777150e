"""What a figure shows, as a line of text, so that a record can be compared with what is drawn today.

nbval compares text, not pictures. A figure of the book therefore carries a line of text, made from what was drawn:
the labels, scales and limits of each axes, and the points, colours and texts of every artist. Points are taken where
the reader sees them, as fractions of the axes, to about one part in five hundred: rounding in the last digits, which
may differ from machine to machine, does not change the line; a wrong curve does.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from gqlib._validate import Array

__all__ = ["in_words"]

# Steps per width of the axes, and where they begin: neither is a round number, because data often are, and a point on
# the border between two steps could fall on either side.
_STEPS, _OFFSET = 487.31, 0.137


def in_words(figure: Any) -> str:
    """One line about a matplotlib figure: how many axes and artists, and a digest of what they show.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> def parabola(factor):
    ...     figure = Figure()
    ...     figure.subplots().plot([0, 1, 2], [0.0, factor, 4.0 * factor], label="x²")
    ...     return in_words(figure)
    >>> parabola(1.0) == parabola(1.0 + 1e-12), parabola(1.0) == parabola(1.02)
    (True, False)
    """
    figure.draw_without_rendering()  # limits and positions are settled by drawing
    lines = [line for axes in figure.axes for line in _of_axes(axes)]
    digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()[:12]
    artists = sum(not line.startswith("axes ") for line in lines)
    return f"figure of {len(figure.axes)} axes, {artists} artists, drawn as {digest}"


def _of_axes(axes: Any) -> Iterator[str]:
    limits = np.array([*axes.get_xlim(), *axes.get_ylim()])
    names = [
        axes.get_xlabel(),
        axes.get_ylabel(),
        axes.get_title(),
        axes.get_xscale(),
        axes.get_yscale(),
    ]
    yield f"axes {names} {[f'{limit:.2g}' for limit in _settled(limits)]}"
    legend = axes.get_legend()
    if legend is not None:
        yield f"legend {[text.get_text() for text in legend.get_texts()]}"
    for line in axes.lines:
        yield f"line {line.get_label()} {_style(line)} {_places(axes, line.get_transform(), line.get_xydata())}"
    for collection in axes.collections:
        yield f"collection {_style(collection)} {_values(collection.get_array())}"
        yield f"offsets {_places(axes, collection.get_offset_transform(), collection.get_offsets())}"
        for path in collection.get_paths():
            yield f"path {_places(axes, collection.get_transform(), path.vertices)}"
    for patch in axes.patches:
        yield f"patch {_style(patch)} {_places(axes, patch.get_transform(), patch.get_path().vertices)}"
    for image in axes.images:
        yield f"image {_values(image.get_array())}"
    for text in axes.texts:
        yield f"text {text.get_text()!r}"


def _settled(limits: Array) -> Array:
    """Limits without noise around zero: an axis that begins at −1e-17 begins at zero."""
    span = np.abs(limits).max()
    return np.where(np.abs(limits) < 1e-9 * span, 0.0, limits)


def _style(artist: Any) -> str:
    from matplotlib.colors import to_hex

    getters = ("get_color", "get_facecolor", "get_edgecolor")
    found = [getattr(artist, getter)() for getter in getters if hasattr(artist, getter)]
    flat = [
        colour
        for group in found
        for colour in ([group] if isinstance(group, str) else np.atleast_2d(group))
    ]
    style = artist.get_linestyle()
    return f"{[to_hex(colour, keep_alpha=True) for colour in flat]} {style if isinstance(style, str) else ''}"


def _places(axes: Any, transform: Any, points: Any) -> list[Any]:
    """Points as the reader sees them, in steps across the axes; everything far outside is treated alike."""
    data = np.asarray(
        np.ma.filled(np.ma.asarray(points, dtype=float), np.nan), dtype=float
    ).reshape(-1, 2)
    if not len(data):
        return []
    with np.errstate(all="ignore"):
        fractions = axes.transAxes.inverted().transform(transform.transform(data))
        steps = np.floor(np.clip(fractions, -1.0, 2.0) * _STEPS + _OFFSET)
    return np.where(np.isfinite(steps), steps, -9999.0).astype(int).tolist()  # type: ignore[no-any-return]


def _values(values: Any) -> list[Any]:
    """Colour values of an image or a mesh, in steps of their range."""
    if values is None:
        return []
    data = np.asarray(np.ma.filled(np.ma.asarray(values, dtype=float), np.nan), dtype=float).ravel()
    finite = data[np.isfinite(data)]
    low, span = (float(finite.min()), float(np.ptp(finite)) or 1.0) if len(finite) else (0.0, 1.0)
    with np.errstate(all="ignore"):
        steps = np.floor((data - low) / span * _STEPS + _OFFSET)
    return np.where(np.isfinite(steps), steps, -9999.0).astype(int).tolist()  # type: ignore[no-any-return]
