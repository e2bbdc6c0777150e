"""Chapters that the text names become links: their titles in italics, and "the next chapter" and its like.

A title is recognised where it stands alone in italics; *Convergence* is a chapter, convergence a word.
"""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.nodes import make_refnode

RELATIVE = re.compile(r"\b(last|previous|next) chapter\b")
KEPT = (nodes.reference, nodes.title, nodes.literal, nodes.literal_block, nodes.raw, nodes.image)


def inside(node: nodes.Node, kinds: tuple[type, ...]) -> bool:
    """Whether one of the nodes around this one is of these kinds."""
    parent = node.parent
    while parent is not None and not isinstance(parent, kinds):
        parent = parent.parent
    return parent is not None


class LinkChapters(SphinxPostTransform):
    """Turn the names of chapters into references to them."""

    default_priority = 60
    formats = ("html",)

    def reference(self, target: str, child: nodes.Node) -> nodes.Node:
        """A link to another page of the book."""
        return make_refnode(self.app.builder, self.env.docname, target, "", child)

    def run(self, **options: Any) -> None:
        """Go through titles in italics first, then through the plain text."""
        here, relations = self.env.docname, self.env.collect_relations()
        pages = {
            title.astext(): page
            for page, title in self.env.titles.items()
            if page in relations and page != here
        }
        for words in list(self.document.findall(nodes.emphasis)):
            page = pages.get(words.astext())
            if page and not inside(words, KEPT):
                link = self.reference(page, nodes.Text(""))
                words.replace_self(link)
                link.children = []
                link += words
        _, before, after = relations.get(here, (None, None, None))
        neighbours = {"last": before, "previous": before, "next": after}
        for text in list(self.document.findall(nodes.Text)):
            found = RELATIVE.search(text.astext())
            page = found and neighbours[found[1]]
            if found and page and not inside(text, KEPT):
                start, end = text.astext()[: found.start()], text.astext()[found.end() :]
                text.parent.replace(
                    text,
                    [
                        nodes.Text(start),
                        self.reference(page, nodes.Text(found[0])),
                        nodes.Text(end),
                    ],
                )


def setup(app: Any) -> dict[str, bool]:
    """Register the transform."""
    app.add_post_transform(LinkChapters)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
