"""Pack the data of the book: every figure, table and result as CSV, with a dictionary and checksums.

    figures/   every figure as CSV: the numbers that were drawn, out of the pictures in the records
    tables/    every table of the book as CSV, in the text and in the output of cells
    printed.csv  every line that a cell prints
    results/   every result behind the chapters as CSV: settings, and values for each run where they are kept
    claims.csv the register of claims
    dictionary.csv  what each column of each file holds
    README.md  this list, the licence and how to cite
    ro-crate-metadata.json  all of this described as an RO-Crate 1.1; SHA256SUMS has a checksum for each file

Nothing is computed here: figures, tables and printed lines are read from the executed records, which tests compare with
the code, and the rest from the files that the chapters read. The same checkout gives the same bytes.
"""

from __future__ import annotations

import argparse
import base64
import csv
import hashlib
import io
import json
import re
import shutil
import sys
import zipfile
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import yaml
from markdown_it import MarkdownIt
from PIL import Image

from gqlib.claims import load_claims
from gqlib.sweeps.results import load_results

ROOT = Path(__file__).resolve().parents[1]
BOOK = ROOT / "book"
sys.path.append(str(BOOK))
from kit.figures import AXES, TABLE  # noqa: E402

WHERE = ROOT / "_build" / "data"
DICTIONARY = BOOK / "data_dictionary.yml"
SUMS, CRATE, NAME = "SHA256SUMS", "ro-crate-metadata.json", "gqlib-data"
EPOCH = (1980, 1, 1, 0, 0, 0)  # the time stamp of every file in the archive
LABEL = re.compile(r"^\((cell-[\w-]+)\)=\s*$", re.MULTILINE)
FENCE = ":::"  # of a directive, which a reader of Markdown takes for a row
CAPTION = re.compile(r":::\{table\} (.+)")
STREAM_COLUMNS = ("chapter", "cell", "label", "line", "text")

Row = dict[str, Any]


class MissingData(Exception):
    """A picture carries no numbers, or a column has no description."""


def records() -> dict[str, dict[str, Any]]:
    """The pages of the book in its order, as executed records; a page without cells is a record of one text."""
    contents = yaml.safe_load((BOOK / "_toc.yml").read_text(encoding="utf-8"))
    files = [
        contents["root"],
        *(one["file"] for part in contents["parts"] for one in part["chapters"]),
    ]
    found = {}
    for name in files:
        text = (BOOK / name).read_text(encoding="utf-8")
        plain = {"cells": [{"cell_type": "markdown", "metadata": {}, "source": text}]}
        found[Path(name).stem] = json.loads(text) if name.endswith(".ipynb") else plain
    return found


def joined(text: str | list[str]) -> str:
    """A text of a notebook, which may be kept in lines."""
    return text if isinstance(text, str) else "".join(text)


def chunks(picture: bytes) -> dict[str, str]:
    """The chunks of text in a PNG."""
    with Image.open(io.BytesIO(picture)) as image:
        image.load()
        return dict(getattr(image, "text", {}))


def figures(chapter: str, record: dict[str, Any]) -> Iterator[tuple[str, str, Row]]:
    """Name, table in CSV and description of each figure of a record."""
    for number, cell in enumerate(record["cells"]):
        for output in cell.get("outputs", ()):
            picture = output.get("data", {}).get("image/png")
            if picture is None:
                continue
            about = cell["metadata"].get("mystnb", {})
            name = about.get("figure", {}).get("name", f"{chapter}-cell-{number}")
            carried = chunks(base64.b64decode(picture))
            if TABLE not in carried:
                raise MissingData(
                    f"{name} in book/{chapter}.ipynb has no numbers: python book/refresh.py book/{chapter}.md"
                )
            caption = " ".join(about.get("figure", {}).get("caption", "").split())
            yield (
                name,
                carried[TABLE],
                {"chapter": chapter, "caption": caption, **json.loads(carried[AXES])},
            )


def tables(text: str) -> Iterator[tuple[str, list[list[str]]]]:
    """The tables of a Markdown text, each as its caption or section and as rows of cells with their markup."""
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    rows: list[list[str]] = []
    section = caption = ""
    for before, token in pairwise(tokens):
        if token.type == "inline" and before.type == "heading_open":
            section = token.content
        elif token.type == "inline" and before.type == "paragraph_open":
            caption = (CAPTION.match(token.content) or ["", ""])[1]
        elif token.type == "tr_open":
            rows.append([])
        elif token.type == "inline" and before.type in ("th_open", "td_open"):
            rows[-1].append(token.content)
        elif token.type == "table_close":
            yield caption or section, [row for row in rows if row[0] != FENCE]
            rows, caption = [], ""


def markdown(record: dict[str, Any]) -> Iterator[str]:
    """The texts of a record that may have tables: its prose and what cells put out as Markdown."""
    for cell in record["cells"]:
        if cell["cell_type"] == "markdown":
            yield joined(cell["source"])
        for output in cell.get("outputs", ()):
            yield joined(output.get("data", {}).get("text/markdown", ""))


def printed(chapter: str, record: dict[str, Any]) -> Iterator[Row]:
    """Every line that the cells of a record print, with the label of the cell where it has one."""
    label = ""
    for number, cell in enumerate(record["cells"]):
        if cell["cell_type"] == "markdown":
            found = LABEL.findall(joined(cell["source"]))
            label = (
                found[-1]
                if found and joined(cell["source"]).rstrip().endswith(f"({found[-1]})=")
                else ""
            )
            continue
        lines = [
            joined(one["text"]) for one in cell.get("outputs", ()) if one["output_type"] == "stream"
        ]
        for line, text in enumerate("".join(lines).splitlines(), 1):
            yield dict(zip(STREAM_COLUMNS, (chapter, number, label, line, text), strict=True))
        label = ""


def results() -> Iterator[tuple[str, Any, str]]:
    """Name, table of pandas and title of each part of each result: the settings, then values by their dimensions."""
    for path in sorted((ROOT / "results").glob("*.npz")):
        data = load_results(path)
        title = str(data.attrs.get("title") or path.stem)
        fields = [
            str(name)
            for name, one in data.coords.items()
            if one.dims == ("setting",) and name != "key"
        ]
        yield (
            f"{path.stem}-setting",
            data[fields].drop_vars("key", errors="ignore").to_dataframe().reset_index(),
            title,
        )
        values = data.drop_vars([*fields, "key"], errors="ignore")
        groups: dict[tuple[str, ...], list[str]] = {}
        for name, array in values.data_vars.items():
            groups.setdefault(tuple(map(str, array.dims)), []).append(str(name))
        for dims, names in groups.items():
            label = "-".join(dim for dim in dims if dim != "setting") or "values"
            yield (
                f"{path.stem}-{label}",
                values[names].to_dataframe(dim_order=list(dims)).reset_index(),
                title,
            )


def claims() -> list[Row]:
    """The register, one row per entry."""
    names = (
        "id",
        "place",
        "verdict",
        "weight",
        "repeats",
        "says",
        "correction",
        "readings",
        "finding",
        "defence",
    )
    return [
        {name: getattr(claim, name) for name in names}
        | {
            "cells": " ".join(f"{chapter}#{cell}" for chapter, cell in claim.cells),
            "tests": " ".join(claim.tests),
        }
        for claim in load_claims()
    ]


def in_csv(rows: Iterable[Row], columns: Iterable[str]) -> str:
    """Rows as CSV."""
    written = io.StringIO()
    table = csv.DictWriter(written, list(columns), lineterminator="\n")
    table.writeheader()
    table.writerows(rows)
    return written.getvalue()


def describe(kind: str, column: str, known: dict[str, dict[str, str]]) -> str:
    """What a column holds, by the dictionary: its own entry, or that of its stem with what its ending means."""
    own = known[kind].get(column)
    if own is None:
        for ending, meaning in known["endings"].items():
            stem = column.removesuffix(f"_{ending}")
            if stem != column and stem in known[kind]:
                return f"{known[kind][stem]} ({meaning})"
        raise MissingData(
            f"the column {column} of {kind} should have a description in book/{DICTIONARY.name}"
        )
    return own


def pack(folder: Path) -> Path:
    """Write every file below the folder, and the archive of all of them; return the archive."""
    shutil.rmtree(folder, ignore_errors=True)
    inside = folder / NAME
    known = yaml.safe_load(DICTIONARY.read_text(encoding="utf-8"))
    entries: list[Row] = []  # of the dictionary
    files: list[Row] = []  # of the crate

    def add(path: str, text: str, title: str, columns: dict[str, str]) -> None:
        place = inside / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text.encode())
        files.append({"path": path, "title": title, "size": len(text.encode())})
        entries.extend(
            {"file": path, "column": name, "holds": holds} for name, holds in columns.items()
        )

    lines: list[Row] = []
    for chapter, record in records().items():
        for name, table, about in figures(chapter, record):
            holds = {
                column: describe("figures", column, known)
                for column in table.partition("\n")[0].split(",")
            }
            for axis in ("x", "y"):
                for number, one in enumerate(about["axes"], 1):
                    holds[axis] += (
                        f"; axes {number}: {one[axis] or 'no label'}, {one[axis + 'scale']}"
                    )
            if about["every"] > 1:
                holds["series"] += f"; of a long line every {about['every']}th point is given"
            add(f"figures/{name}.csv", table, f"{chapter}: {about['caption'] or name}", holds)
        for number, (about, rows) in enumerate(tables("\n\n".join(markdown(record))), 1):
            header = [name or f"column {n}" for n, name in enumerate(rows[0], 1)]
            written = io.StringIO()
            csv.writer(written, lineterminator="\n").writerows([header, *rows[1:]])
            holds = {
                name: f"{name}, as in the table of {chapter} under: {about}; with its markup"
                for name in header
            }
            add(
                f"tables/{chapter}-{number}.csv",
                written.getvalue(),
                f"{chapter}, table {number}: {about}",
                holds,
            )
        lines += printed(chapter, record)
    about = {name: describe("printed", name, known) for name in STREAM_COLUMNS}
    add("printed.csv", in_csv(lines, STREAM_COLUMNS), "What the cells of the chapters print", about)
    for name, frame, title in results():
        holds = {str(column): describe("results", str(column), known) for column in frame.columns}
        add(f"results/{name}.csv", frame.to_csv(index=False, lineterminator="\n"), title, holds)
    register = claims()
    about = {name: describe("claims", name, known) for name in register[0]}
    add("claims.csv", in_csv(register, register[0]), "The register of claims", about)
    about = {name: describe("dictionary", name, known) for name in ("file", "column", "holds")}
    entries.extend(
        {"file": "dictionary.csv", "column": name, "holds": holds} for name, holds in about.items()
    )
    add("dictionary.csv", in_csv(entries, about), "What each column of each file holds", {})
    add("README.md", readme(), "What is in this package", {})
    (inside / CRATE).write_text(
        json.dumps(crate(files), indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
    )
    listed = sorted(path for path in inside.rglob("*") if path.is_file())
    sums = [
        (hashlib.sha256(path.read_bytes()).hexdigest(), path.relative_to(inside).as_posix())
        for path in listed
    ]
    (inside / SUMS).write_text(
        "".join(f"{digest}  {name}\n" for digest, name in sums), encoding="utf-8"
    )
    archive = folder / f"{NAME}.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as packed:
        for path in sorted([*listed, inside / SUMS]):
            entry = zipfile.ZipInfo(f"{NAME}/{path.relative_to(inside).as_posix()}", EPOCH)
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            packed.writestr(entry, path.read_bytes(), compresslevel=9)
    return archive


def readme() -> str:
    """What somebody reads who unpacks the archive."""
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    paper = cited["references"][0]
    listed = (__doc__ or "").split("\n\n")[1]
    names = ", ".join(author["name"] for author in cited["authors"])
    return f"""# Data of {cited["title"]}

{listed}

Of the columns, `dictionary.csv` has a line for each. A row of a figure is one point that was drawn, with the axes and
the artist that it belongs to; words in the picture, such as the names of panels, are rows of the kind `text`.
Where an axis has names instead of numbers, these are positions; the names are in the picture alone.
To check the files: `sha256sum -c {SUMS}`.

Version {cited["version"]}, {cited["date-released"]}, by {names}. CC BY 4.0.
Please cite it, and the paper that it is about: {paper["title"]} ({paper["year"]}).
"""


def crate(files: list[Row]) -> Row:
    """The description of the data as an RO-Crate, after CITATION.cff."""
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    paper = cited["references"][0]
    licence = {"@id": "https://creativecommons.org/licenses/by/4.0/"}
    people = {f"#author-{number}": author for number, author in enumerate(cited["authors"], 1)}
    authors = [{"@id": name} for name in people]
    root = {
        "@id": "./",
        "@type": "Dataset",
        "name": f"Data of {cited['title']}",
        "description": "The figures, tables, printed values, results and claims of the book, as CSV with a dictionary.",
        "datePublished": str(cited["date-released"]),
        "version": str(cited["version"]),
        "license": licence,
        "author": authors[0] if len(authors) == 1 else authors,
        "publisher": authors[0],
        "citation": {"@id": "#paper"},
        "hasPart": [{"@id": one["path"]} for one in files],
    }
    graph = [
        {
            "@id": CRATE,
            "@type": "CreativeWork",
            "conformsTo": {"@id": "https://w3id.org/ro/crate/1.1"},
            "about": {"@id": "./"},
        },
        root,
        {
            **licence,
            "@type": "CreativeWork",
            "name": "CC BY 4.0",
            "description": "Creative Commons Attribution 4.0",
        },
        *(
            {"@id": name, "@type": "Organization", **organisation(author)}
            for name, author in people.items()
        ),
        {
            "@id": "#paper",
            "@type": "ScholarlyArticle",
            "name": paper["title"],
            "datePublished": str(paper["year"]),
            "author": [f"{who['given-names']} {who['family-names']}" for who in paper["authors"]],
        },
        *(
            {
                "@id": one["path"],
                "@type": "File",
                "name": one["title"],
                "encodingFormat": "text/markdown" if one["path"].endswith(".md") else "text/csv",
                "contentSize": str(one["size"]),
            }
            for one in files
        ),
    ]
    return {"@context": "https://w3id.org/ro/crate/1.1/context", "@graph": graph}


def organisation(author: dict[str, str]) -> Row:
    """The name of an organisation and its address, which RO-Crate recommends: that of CITATION.cff, or none.

    >>> organisation({"name": "The gqlib authors"})
    {'name': 'The gqlib authors'}
    >>> organisation({"name": "A group", "website": "https://example.org"})
    {'name': 'A group', 'url': 'https://example.org'}
    """
    return {"name": author["name"]} | ({"url": author["website"]} if "website" in author else {})


def main(arguments: list[str]) -> int:
    """Pack, and say where it is."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", nargs="?", type=Path, default=WHERE, help="_build/data")
    folder = parser.parse_args(arguments).folder.resolve()
    try:
        archive = pack(folder)
    except MissingData as error:
        print(error, file=sys.stderr)
        return 1
    count = sum(1 for path in (folder / NAME).rglob("*.csv"))
    print(
        f"{count} tables: {folder / NAME}\npacked, {archive.stat().st_size / 1e6:.1f} MB: {archive}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
