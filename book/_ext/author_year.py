"""The bibliography by author and year, as the text cites: a style for pybtex under the name `author_year`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from pybtex.plugin import register_plugin
from pybtex.style.formatting.unsrt import Style as UnsrtStyle
from pybtex.style.labels import BaseLabelStyle


def surname(person: Any) -> str:
    """A person's last names, with what belongs before them."""
    return " ".join(str(part) for part in (*person.rich_prelast_names, *person.rich_last_names))


class AuthorYearLabels(BaseLabelStyle):
    """Labels such as Sutton and Barto, 2018."""

    def format_labels(self, entries: Iterable[Any]) -> Iterator[str]:
        """The label of each entry."""
        for entry in entries:
            names = [surname(person) for person in entry.persons.get("author", [])] or [entry.key]
            who = f"{names[0]} et al." if len(names) > 2 else " and ".join(names)
            yield ", ".join(filter(None, [who, entry.fields.get("year", "")]))


class AuthorYearStyle(UnsrtStyle):
    """Entries sorted by author, year and title; DOIs, where there are any, are links."""

    default_label_style = AuthorYearLabels
    default_sorting_style = "author_year_title"


def setup(app: Any) -> dict[str, bool]:
    """Register the style."""
    register_plugin("pybtex.style.formatting", "author_year", AuthorYearStyle)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
