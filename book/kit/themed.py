"""A figure's SVG in the colours of the page that it is put into.

Colours are exchanged for the variables of `_static/gq.css`: those of the palette by name, black by the colour of the
text, white by that of the page, and a grey by the same mixture of the two. Any other colour, such as that of a curve
in a family coloured by a map, is drawn with some of the text's colour in it in dark mode, so that the dark end of the
family is still the dark one and can be seen. What belongs to a map stays as it was drawn.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree

from kit import figures

NAMES = ("ORANGE", "SKY", "GREEN", "YELLOW", "BLUE", "RED", "PINK")
PALETTE = {getattr(figures, name).lower(): name.lower() for name in NAMES}
COLOUR = re.compile(r"\b(fill|stroke): (#[0-9a-f]{6})")
SPACE = "http://www.w3.org/2000/svg"
PIXELS = 96 / 72  # of CSS, in a point


def themed(colour: str) -> str:
    """What stands for a colour in the page.

    Examples
    --------
    >>> themed("#0072b2"), themed("#000000")
    ('var(--gq-blue, #0072b2)', 'var(--gq-ink, #000000)')
    >>> themed("#cccccc")
    'color-mix(in srgb, var(--gq-ink, #000000) 20%, var(--gq-paper, #ffffff))'
    >>> themed("#00224e")
    'color-mix(in srgb, #00224e var(--gq-own, 100%), var(--gq-ink, #000000))'
    """
    if colour in PALETTE:
        return f"var(--gq-{PALETTE[colour]}, {colour})"
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    ink, paper = "var(--gq-ink, #000000)", "var(--gq-paper, #ffffff)"
    if not red == green == blue:
        return f"color-mix(in srgb, {colour} var(--gq-own, 100%), {ink})"
    share = round(100 * (1 - red / 255))
    return {100: ink, 0: paper}.get(share, f"color-mix(in srgb, {ink} {share}%, {paper})")


def dress(
    node: ElementTree.Element, prefix: str, fixed: bool, whole: bool, styles: dict[str, str]
) -> None:
    """Exchange the colours below a node, make its names the page's own, and move each style to a class of its own."""
    name, style = node.get("id", ""), node.attrib.pop("style", "")
    if name.startswith(figures.MAP) and not fixed:
        fixed, style = True, f"fill: #000000; {style}"  # black is what no colour means
    if node.tag.endswith("}pattern"):  # the hatching of a map is drawn outside of it
        fixed = whole
    if not fixed:
        style = COLOUR.sub(lambda found: f"{found[1]}: {themed(found[2])}", style)
    if style:
        node.set(
            "class",
            styles.setdefault(style.replace("url(#", f"url(#{prefix}"), f"{prefix}{len(styles)}"),
        )
    if name:
        node.set("id", prefix + name)
    if node.get("href", "").startswith("#"):
        node.set("href", f"#{prefix}{node.get('href', '')[1:]}")
    if "clip-path" in node.attrib:
        node.set("clip-path", node.get("clip-path", "").replace("url(#", f"url(#{prefix}"))
    for child in node:
        dress(child, prefix, fixed, whole, styles)


def inline(svg: str, prefix: str, alt: str) -> str:
    """The figure as HTML: an image to those who hear it described, at its own size where there is room.

    Names in the SVG begin with `prefix`, so that two figures of a page do not share any.

    Examples
    --------
    >>> svg = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 72 36"><path style="fill: #000000" /></svg>'
    >>> html = inline(svg, "g1-", "a line")
    >>> html[:48], "var(--gq-ink, #000000)" in html
    ('<div class="gq-figure" style="--gq-width: 96px">', True)
    """
    ElementTree.register_namespace("", SPACE)
    root, styles = ElementTree.fromstring(svg), dict[str, str]()
    dress(root, prefix, fixed=False, whole=f'"{figures.MAP}-' in svg, styles=styles)
    rules = ElementTree.Element(f"{{{SPACE}}}style")
    rules.text = "".join(f".{name}{{{style}}}" for style, name in styles.items())
    root.insert(0, rules)
    width = float(root.get("viewBox", "").split()[2]) * PIXELS
    drawing = {
        "class": "gq-drawing",
        "role": "img",
        "aria-label": alt,
        "style": "fill: var(--gq-ink, #000000)",
    }
    for key, value in drawing.items():
        root.set(key, value)
    body = ElementTree.tostring(root, encoding="unicode")
    return f'<div class="gq-figure" style="--gq-width: {width:.0f}px">{body}</div>'
