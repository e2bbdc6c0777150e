"""The data of the book as files: what is in them, what they are said to hold, and how the book is cited."""

import base64
import csv
import doctest
import hashlib
import io
import json
import re
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml

import data
import refresh
from gqlib.claims import load_claims
from gqlib.sweeps.results import load_results
from kit import figures

ROOT = Path(__file__).parents[2]


KNOWN = yaml.safe_load(data.DICTIONARY.read_text(encoding="utf-8"))


def without_numbers():
    """The chapters with a picture that carries none; a record that is up to date has none of these."""
    chapters = []
    for chapter, record in data.records().items():
        try:
            list(data.figures(chapter, record))
        except data.MissingData:
            chapters.append(chapter)
    return chapters


def test_every_figure_of_an_up_to_date_record_carries_its_numbers():
    lacking = [name for name in without_numbers() if not refresh.stale(ROOT / f"book/{name}.md")]
    assert lacking == [], (
        "python book/refresh.py book/NAME.md draws these again, with their numbers"
    )


def notebook(picture, **metadata):
    """A record with one figure."""
    output = {
        "output_type": "display_data",
        "data": {"image/png": base64.b64encode(picture).decode()},
    }
    return {
        "cells": [{"cell_type": "code", "metadata": metadata, "source": "", "outputs": [output]}]
    }


@pytest.mark.slow
def test_a_figure_is_read_from_its_picture():
    figure, axes = figures.new()
    axes.plot([0.0, 1.0], [2.0, 3.0], label="up")
    axes.set(xlabel="σ")
    record = notebook(
        figures.png(figure), mystnb={"figure": {"name": "fig-up", "caption": "It goes\n  up."}}
    )
    ((name, table, about),) = data.figures("chapter", record)
    assert (name, about["caption"], about["axes"][0]["x"]) == ("fig-up", "It goes up.", "σ")
    assert list(csv.DictReader(io.StringIO(table)))[1]["y"] == "3"


def test_a_picture_without_numbers_is_refused_by_name():
    from PIL import Image

    plain = io.BytesIO()
    Image.new("RGB", (2, 2)).save(plain, "png")
    with pytest.raises(data.MissingData, match=r"chapter-cell-0 in book/chapter\.ipynb"):
        list(data.figures("chapter", notebook(plain.getvalue())))


def test_tables_are_found_in_prose_and_keep_their_cells():
    text = "# Top\n\n| a | b |\n|---|---:|\n| 1 | `x\\|y` |\n| $\\sigma$ |  |\n\nMore.\n\n|c|\n|-|\n|3|\n"
    captioned = ":::{table} What it holds.\n:name: tab-d\n\n|d|\n|-|\n|4|\n:::\n"
    first, second, third = data.tables(f"{text}\n{captioned}")
    assert first == ("Top", [["a", "b"], ["1", "`x|y`"], ["$\\sigma$", ""]])
    assert second == ("Top", [["c"], ["3"]])
    assert third == ("What it holds.", [["d"], ["4"]])


def test_pages_without_cells_bring_their_tables():
    """Every page of the book is read, and no table is left without words that say what it is."""
    pages = data.records()
    assert {"machine_checked", "notation"} <= set(pages)
    for name, record in pages.items():
        found = list(data.tables("\n\n".join(data.markdown(record))))
        assert all(about for about, _ in found), name
        assert found or name not in ("machine_checked", "notation")


def test_printed_lines_go_with_the_label_of_their_cell():
    stream = [{"output_type": "stream", "text": ["one\n", "two\n"]}]
    record = {
        "cells": [
            {"cell_type": "markdown", "source": "Text.\n\n(cell-a)="},
            {"cell_type": "code", "outputs": stream},
            {"cell_type": "code", "outputs": stream[:1]},
        ]
    }
    rows = list(data.printed("chapter", record))
    assert [(row["cell"], row["label"], row["line"], row["text"]) for row in rows] == [
        (1, "cell-a", 1, "one"),
        (1, "cell-a", 2, "two"),
        (2, "", 1, "one"),
        (2, "", 2, "two"),
    ]


@pytest.mark.parametrize(
    "path", sorted((ROOT / "results").glob("*.npz")), ids=lambda path: path.stem
)
def test_every_column_of_a_result_has_a_description(path):
    stored = load_results(path)
    columns = {*map(str, stored.coords), *map(str, stored.data_vars), *map(str, stored.sizes)} - {
        "key"
    }
    assert all(data.describe("results", name, KNOWN) for name in columns)


def test_a_column_without_a_description_is_refused_by_name():
    with pytest.raises(data.MissingData, match="the column surprise of results"):
        data.describe("results", "surprise", KNOWN)


@pytest.mark.thorough
def test_the_package(tmp_path):
    """Everything is there, with its checksum, in the crate and in the dictionary; packed again, the same bytes."""
    if without_numbers():
        pytest.skip("some records are older than the numbers in pictures: python book/refresh.py")
    archive = data.pack(tmp_path / "one")
    inside = tmp_path / "one" / data.NAME
    files = {path.relative_to(inside).as_posix() for path in inside.rglob("*") if path.is_file()}
    sums = dict(line.split("  ")[::-1] for line in (inside / data.SUMS).read_text().splitlines())
    assert set(sums) == files - {data.SUMS}
    assert all(
        hashlib.sha256((inside / name).read_bytes()).hexdigest() == digest
        for name, digest in sums.items()
    )
    with zipfile.ZipFile(archive) as packed:
        assert {name.removeprefix(f"{data.NAME}/") for name in packed.namelist()} == files

    pictures = sum(
        1 for chapter, record in data.records().items() for _ in data.figures(chapter, record)
    )
    assert sum(name.startswith("figures/") for name in files) == pictures > 60
    for path in (ROOT / "results").glob("*.npz"):
        assert f"results/{path.stem}-setting.csv" in files
    with (inside / "claims.csv").open(encoding="utf-8", newline="") as register:
        assert [row["verdict"] for row in csv.DictReader(register)] == [
            claim.verdict for claim in load_claims()
        ]

    with (inside / "dictionary.csv").open(encoding="utf-8", newline="") as dictionary:
        described = {
            (row["file"], row["column"]) for row in csv.DictReader(dictionary) if row["holds"]
        }
    for name in files:
        if name.endswith(".csv"):
            with (inside / name).open(encoding="utf-8", newline="") as table:
                assert {(name, column) for column in next(csv.reader(table))} <= described

    crate = json.loads((inside / data.CRATE).read_text(encoding="utf-8"))
    entities = {one["@id"]: one for one in crate["@graph"]}
    assert {part["@id"] for part in entities["./"]["hasPart"]} == files - {data.SUMS, data.CRATE}

    assert data.pack(tmp_path / "two").read_bytes() == archive.read_bytes()


def test_the_crate_is_one():
    """What RO-Crate 1.1 asks of the root, its descriptor, data entities, and of references among them."""
    crate = data.crate([{"path": "figures/a.csv", "title": "A", "size": 12}])
    assert crate["@context"] == "https://w3id.org/ro/crate/1.1/context"
    entities = {one["@id"]: one for one in crate["@graph"]}
    assert len(entities) == len(crate["@graph"])
    descriptor, root = entities["ro-crate-metadata.json"], entities["./"]
    assert descriptor["@type"] == "CreativeWork"
    assert descriptor["about"] == {"@id": "./"}
    assert descriptor["conformsTo"] == {"@id": "https://w3id.org/ro/crate/1.1"}
    assert root["@type"] == "Dataset"
    assert all(root[name] for name in ("name", "description", "datePublished", "license"))
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", root["datePublished"])
    assert entities["figures/a.csv"]["@type"] == "File"
    assert entities["figures/a.csv"]["encodingFormat"] == "text/csv"
    assert entities[root["publisher"]["@id"]]["@type"] == "Organization"
    assert not any(isinstance(value, list) and len(value) == 1 for value in [*root.values()][:-1])

    def references(value):
        if isinstance(value, dict) and set(value) == {"@id"}:
            yield value["@id"]
        elif isinstance(value, dict | list):
            for one in value.values() if isinstance(value, dict) else value:
                yield from references(one)

    meant = {name for entity in crate["@graph"] for name in references(list(entity.values()))}
    assert meant - {"https://w3id.org/ro/crate/1.1"} <= set(entities)


def test_an_organisation_has_the_address_that_the_citation_gives_it():
    assert doctest.testmod(data).failed == 0
    authors = yaml.safe_load(read("CITATION.cff"))["authors"]
    urls = [one.get("url") for one in data.crate([])["@graph"] if one["@type"] == "Organization"]
    assert urls == [author.get("website") for author in authors]


def test_the_ways_to_cite_agree_with_each_other_and_with_the_package():
    project = tomllib.loads(read("pyproject.toml"))["project"]
    cited = yaml.safe_load(read("CITATION.cff"))
    zenodo, meta = json.loads(read(".zenodo.json")), json.loads(read("codemeta.json"))
    paper, day = cited["references"][0], str(cited["date-released"])
    assert paper["title"] in zenodo["notes"], "the notes of .zenodo.json should name the paper"
    heading = f"## {project['version']} ({day})"
    assert heading in read("CHANGELOG.md").splitlines(), f"CHANGELOG.md needs a section {heading!r}"
    names = ("CITATION.cff", ".zenodo.json", "codemeta.json", "pyproject.toml")
    people = [one["name"] for one in cited["authors"]]
    for what, *said in (
        ("version", cited["version"], zenodo["version"], meta["version"], project["version"]),
        ("title", cited["title"], zenodo["title"], meta["alternateName"]),
        ("date", day, zenodo["publication_date"], meta["datePublished"]),
        ("authors", people, [one["name"] for one in zenodo["creators"]],
         [one["name"] for one in meta["author"]], [one["name"] for one in project["authors"]]),
        ("keywords", cited["keywords"], zenodo["keywords"], meta["keywords"], project["keywords"]),
        ("licence", cited["license"], meta["license"], project["license"].split(" AND ")),
        ("paper", paper["title"], meta["referencePublication"]["name"]),
    ):  # fmt: skip
        said = [[str(one).removeprefix("https://spdx.org/licenses/") for one in value]
                if isinstance(value, list) else value for value in said]  # fmt: skip
        assert all(one == said[0] for one in said), f"write the same {what} into {', '.join(names)}"


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")
