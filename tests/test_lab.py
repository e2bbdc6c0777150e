"""Reading copies for JupyterLab: nothing of Sphinx is left in them, their numbers are the book's, and they run.

What JupyterLab makes of one is looked at in a browser, where there is one.
"""

import importlib.util
import os
import re
import secrets
import shutil
import socket
import subprocess
import sys
import time
from html.parser import HTMLParser
from pathlib import Path

import nbformat
import pytest
from chromium import needs_browser
from nbclient import NotebookClient

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]


def load(path):
    """A module of the book, which is not a package."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = sys.modules[path.stem] = importlib.util.module_from_spec(
        spec
    )  # where dataclasses look for it
    spec.loader.exec_module(module)
    return module


lab = load(ROOT / "book" / "lab.py")
PAGES = lab.pages()
each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)


@pytest.fixture(scope="module")
def whole():
    """The book once it has been read for its labels."""
    return lab.learn()


@pytest.fixture(scope="module")
def copies(whole):
    return lab.copies(whole)


def test_all_can_be_said(whole, copies):
    assert whole.faults == []


def markdown(notebook):
    return [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]


def without_code_and_formulas(text):
    return re.sub(r"```.*?```|`[^`\n]+`|\$\$.*?\$\$|\$[^$\n]+\$", "", text, flags=re.DOTALL)


def level(cell):
    """The level of the heading that a cell begins with, or none."""
    found = re.match(r"#+(?= )", cell.source) if cell.cell_type == "markdown" else None
    return len(found[0]) if found else None


def hidden(notebook):
    """The cells that JupyterLab does not show at first: those under a folded heading, up to one of its level."""
    under, found = None, []
    for cell in notebook.cells:
        rank = level(cell)
        if under is not None and rank is not None and rank <= under:
            under = None
        if under is not None:
            found.append(cell)
        elif cell.metadata.get("jp-MarkdownHeadingCollapsed"):
            under = rank
    return found


def made(*cells, faults=()):
    """The cells of a copy of a page that has these cells (texts as strings), without the last, which leads on."""
    page = lab.Page("trial", 7, "I. Trials", "07_trial")
    written = lab.Book([lab.Page("index", None, "", "00_index"), page])
    nodes = [
        nbformat.v4.new_markdown_cell(cell) if isinstance(cell, str) else cell for cell in cells
    ]
    for learn in (True, False):
        written.faults.clear()
        notebook = lab.Copy(written, page, lab.Numbers(), learn).notebook(nodes)
    nbformat.validate(notebook)
    assert written.faults == list(faults)
    assert notebook.cells[-1].id == "where-next"
    return notebook.cells[:-1]


@each_page
def test_nothing_of_sphinx_is_left(copies, page):
    nbformat.validate(copies[page.file])
    texts = [*markdown(copies[page.file])]
    texts += [
        "".join(output.data["text/markdown"])
        for cell in copies[page.file].cells
        for output in cell.get("outputs", [])
        if "text/markdown" in output.get("data", {})
    ]
    assert [text for text in texts if re.search(r"^ *(`{3,}|:{3,})\{", text, re.MULTILINE)] == []
    raw = re.compile(
        r"\{[a-z:]+\}`|^\([\w:-]+\)=|\$\$ *\([\w:-]+\)|^: |\]\(#|^:[a-z]+: ", re.MULTILINE
    )
    assert [
        found[0]
        for text in texts
        for found in [raw.search(re.sub(r"```.*?```", "", text, flags=re.DOTALL))]
        if found
    ] == []
    own = "|".join(lab.macros())
    assert [text for text in texts if re.search(rf"\\({own})(?![A-Za-z])", text)] == []


@each_page
def test_every_link_leads_somewhere(copies, page):
    for text in markdown(copies[page.file]):
        for address in re.findall(
            r"(?<!\!)\[[^\[\]]*(?:\[[^\]]*\][^\[\]]*)*\]\(([^()\s]+)",
            without_code_and_formulas(text),
        ):
            path, _, fragment = address.partition("#")
            if re.match(r"https?:", address):
                continue
            assert path in copies, address
            if fragment:
                assert fragment.removeprefix("cell-id=") in {
                    cell.id for cell in copies[path].cells
                }, address


@each_page
def test_code_and_results_are_those_of_the_record(copies, page):
    before = [cell for cell in lab.source(page).cells if cell.cell_type == "code"]
    after = [cell for cell in copies[page.file].cells if cell.cell_type == "code"]
    assert [cell.source for cell in after] == [cell.source for cell in before]
    for old, new in zip(before, after, strict=True):
        pictures = [[o.get("data", {}).get("image/png"), o.get("text")] for o in old.outputs]
        assert [
            [o.get("data", {}).get("image/png"), o.get("text")] for o in new.outputs
        ] == pictures
        folded = bool(
            {"hide-input", "remove-input", "hide-cell", "remove-cell"}
            & set(old.metadata.get("tags", []))
        )
        assert new.metadata.get("jupyter", {}).get("source_hidden", False) == folded


@each_page
def test_every_figure_has_its_caption_below(whole, copies, page):
    wanted = [
        cell for cell in lab.source(page).cells if "figure" in cell.metadata.get("mystnb", {})
    ]
    cells = copies[page.file].cells
    for old in wanted:
        about = old.metadata["mystnb"]["figure"]
        (at,) = [at for at, cell in enumerate(cells) if cell.id == about["name"]]
        number = whole.places[about["name"]].number
        start = " ".join(re.split(r"[\[{$]", about["caption"])[0].split())
        assert " ".join(cells[at + 1].source.split()).startswith(f"**Fig. {number}.** {start}")


@each_page
def test_solutions_are_folded_and_nothing_else_is(copies, page):
    inside, solutions = False, []
    for cell in lab.source(page).cells:
        if cell.cell_type == "code":
            solutions += [cell.source] if inside else []
            continue
        for start, _ in re.findall(r"^```\{solution-(start|end)\}(.*)$", cell.source, re.MULTILINE):
            inside = start == "start"
    found = hidden(copies[page.file])
    assert [cell.source for cell in found if cell.cell_type == "code"] == solutions
    assert not any(level(cell) for cell in found)


def test_text_behind_a_solution_is_not_folded_with_it():
    exercise = "```{exercise} A title\n:label: ex-trial\n*Routine.* Why?\n```\n"
    answer = "```{solution-start} ex-trial\n:class: dropdown\n```\n\nBecause."
    cells = made(
        exercise + "\n" + answer,
        nbformat.v4.new_code_cell("1"),
        "```{solution-end}\n```\n\nOn it goes.",
    )
    notebook = nbformat.v4.new_notebook(cells=cells)
    assert [cell.source for cell in hidden(notebook)] == ["Because.", "1"]
    assert cells[0].source == "##### **Exercise 7.1** (A title)\n\n*Routine.* Why?"
    assert cells[0].id == "ex-trial"
    assert [cell.source for cell in cells[1::3]] == [
        "###### Solution of Exercise 7.1",
        "###### End of the solution",
    ]


def test_boxes_notes_and_answers():
    (cell,) = made("::::{note} One\ntwo.\n\n:::{dropdown} Why?\n*So.*\n:::\n::::")
    assert (
        cell.source
        == f"{lab.BOX}\n\n**Note**\n\nOne\ntwo.\n\n<details><summary>Why?</summary>\n\n*So.*\n\n</details>\n\n</div>"
    )
    (cell,) = made("```{margin}\nThe paper has $\\E$.\n```")
    assert cell.source == f"{lab.SMALL}\n\nThe paper has $\\mathbb{{E}}$.\n\n</div>"
    (cell,) = made("```{admonition} Mind $\\gamma$\n:class: dropdown tip\nText.\n```")
    assert cell.source == "<details><summary>Mind $\\gamma$</summary>\n\nText.\n\n</details>"
    (cell,) = made(
        "```{list-table}\n:header-rows: 1\n\n* - a\n  - b\n* - {math}`x`\n  - 2\n    and 3\n```"
    )
    assert cell.source == "| a | b |\n|---|---|\n| $x$ | 2 and 3 |"


def test_lines_of_a_file():
    text = "```{literalinclude} ../pyproject.toml\n:language: toml\n:start-at: [build-system]\n:end-before: [project]\n```"
    (cell,) = made(text)
    lines = (ROOT / "pyproject.toml").read_text(encoding="utf-8").split("\n\n[project]\n")[0]
    assert cell.source == f"```toml\n{lines}\n```"


def test_statements_and_equations_are_numbered_and_found():
    text = "```{prf:theorem} Half\n:label: thm-trial\n$$\nx = \\frac12\n$$ (eq-trial)\n\nand $$y = 1$$\n```\n\n"
    cells = made(
        text + "```{prf:proof}\nBy {prf:ref}`thm-trial` and {eq}`eq-trial`.\n```\n",
        "Later, {ref}`so <thm-trial>`.",
    )
    lead = "07_trial.ipynb#cell-id=thm-trial"
    assert cells[0].source.startswith(
        f"{lab.BOX}\n\n**Theorem 7.1** (Half)\n\n$$\nx = \\frac12 \\tag{{7.1}}\n$$\n\nand $$y = 1$$"
    )
    assert cells[0].source.endswith(f"*Proof.* By [Theorem 7.1]({lead}) and [(7.1)]({lead}). ∎")
    assert cells[1].source == f"Later, [so]({lead})."


def test_citations_are_names_and_years():
    (cell,) = made(
        "See {cite}`yang2019gradient,sutton2018reinforcement` and {cite:t}`touati2018code`."
    )
    text = re.sub(r"\]\([^ ]+ \"[^\"]+\"\)", "]", cell.source)
    assert text == "See ([Yang et al., 2019]; [Sutton and Barto, 2018]) and [Touati (2018)]."


def test_code_is_left_as_it_is():
    text = "`{eq}` and ``a ` b``\n\n```python\n# {cite}`x` and $$y$$ (z)\n(label)=\n```"
    assert [cell.source for cell in made(text)] == [text]


UNKNOWN = {
    "See {eq}`eq-none`.": (
        "See `eq-none`.",
        "trial refers to eq-none, which is no label and no page",
    ),
    "A {new}`role`.": ("A role.", "trial has the role new, which the copies do not know"),
    "```{new}\ndirective\n```": (
        "directive",
        "trial has the directive new, which the copies do not know",
    ),
}


@pytest.mark.parametrize("text", UNKNOWN)
def test_what_is_not_known_is_shown_and_reported(text):
    shown, fault = UNKNOWN[text]
    assert [cell.source for cell in made(text, faults=[fault])] == [shown]


REFUSED = {
    "```{note} With `code`\nText.\n```": "it should begin with colons",  # CommonMark sees no fence there
    "(twice)=\n\nOne.\n\n(twice)=\n\nTwo.": "the label twice stands on trial and trial",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_ambiguous_is_refused(text):
    with pytest.raises(ValueError, match=REFUSED[text]):
        made(text)


class Numbers(HTMLParser):
    """The numbers that a page of the HTML book shows, by the id of what carries them, and those of its headings."""

    VOID = frozenset({"img", "br", "hr", "input", "meta", "link", "source", "path", "wbr"})

    def __init__(self):
        super().__init__()
        self.open, self.numbers, self.sections, self.kind = [], {}, [], None

    def handle_starttag(self, tag, attributes):
        about = dict(attributes)
        if tag in self.VOID:
            return
        self.open.append(about.get("id"))
        kinds = {"caption-number", "eqno", "section-number"} & set(
            (about.get("class") or "").split()
        )
        if kinds:
            self.kind = (kinds.pop(), next(filter(None, reversed(self.open)), ""))

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            self.open.pop()
        self.kind = None

    def handle_data(self, data):
        if self.kind and self.kind[0] == "section-number":
            self.sections.append(data.strip())
        elif self.kind and re.search(r"\d", data):
            self.numbers[self.kind[1].removeprefix("equation-")] = data.strip()
        self.kind = None


@pytest.mark.slow
def test_numbers_are_those_of_the_html_edition(book, whole, copies):
    counted = 0
    for page in whole.pages:
        parser = Numbers()
        html = (book / f"{page.stem}.html").read_text(encoding="utf-8")
        parser.feed(html[html.index("<article") : html.index("</article")])
        numbered = [
            (label, place)
            for label, place in whole.places.items()
            if place.page == page and place.number
        ]
        ours = {label.lower(): place.called for label, place in numbered if place.kind != "section"}
        assert ours == parser.numbers
        headings = [text for text in markdown(copies[page.file]) if re.match(r"##? \d", text)]
        found = [number for number in parser.sections if number.count(".") <= 2]
        assert [text.split()[1] for text in headings] == found
        counted += len(ours)
    assert counted > 150


def changed(path, text):
    notebook = nbformat.read(path, as_version=4)
    notebook.cells[0].source = text
    nbformat.write(notebook, path)


def test_a_reader_s_changes_are_kept(tmp_path):
    def notebook(text):
        cell = nbformat.v4.new_markdown_cell(text, id="a")
        return nbformat.v4.new_notebook(cells=[cell, nbformat.v4.new_code_cell("1", id="b")])

    def there():
        return {
            path.name: nbformat.read(path, as_version=4).cells[0].source
            for path in tmp_path.glob("*.ipynb")
        }

    first = {"a.ipynb": notebook("one"), "b.ipynb": notebook("one"), "gone.ipynb": notebook("one")}
    assert lab.write(tmp_path, first) == []
    assert there() == dict.fromkeys(first, "one")
    changed(tmp_path / "a.ipynb", "mine")
    assert lab.write(tmp_path, first) == []  # the chapter is as it was: nothing to do
    assert there() == {"a.ipynb": "mine", "b.ipynb": "one", "gone.ipynb": "one"}
    run = nbformat.read(tmp_path / "b.ipynb", as_version=4)
    run.cells[1].outputs = [nbformat.v4.new_output("stream", text="2")]
    nbformat.write(run, tmp_path / "b.ipynb")  # run, and not changed
    second = {"a.ipynb": notebook("two"), "b.ipynb": notebook("two")}
    (said,) = lab.write(tmp_path, second)
    assert said == "a.ipynb has changed, and so has your copy; yours is a-yours.ipynb now"
    assert there() == {"a.ipynb": "two", "a-yours.ipynb": "mine", "b.ipynb": "two"}
    changed(tmp_path / "a.ipynb", "mine again")
    (said,) = lab.write(tmp_path, first)
    assert said.endswith("yours is a-yours-2.ipynb now")
    assert there()["a-yours.ipynb"] == "mine"
    assert there()["a-yours-2.ipynb"] == "mine again"
    assert (tmp_path / ".gitignore").read_text(encoding="utf-8") == "*\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory, whole, copies):
    """The copies in a folder that stands to the results as `lab` does."""
    root = tmp_path_factory.mktemp("lab")
    (root / "results").symlink_to(ROOT / "results")
    shutil.copy(ROOT / "pyproject.toml", root)  # which tells jupytext to pair notebooks with texts
    lab.write(root / "lab", copies, whole.files)
    return root / "lab"


@pytest.mark.thorough
@pytest.mark.parametrize(
    "stem", ["mspbe_and_proposition_1", "policy_evaluation"]
)  # the second reads `../results`
def test_a_copy_runs_from_top_to_bottom(folder, whole, copies, stem):
    page = whole.page(stem)
    notebook = nbformat.read(folder / page.file, as_version=4)
    client = NotebookClient(
        notebook,
        timeout=300,
        kernel_name="python3",
        resources={"metadata": {"path": str(folder)}},
        coalesce_streams=True,
    )
    client.execute()

    def printed(cells):
        return [
            o.text for cell in cells for o in cell.get("outputs", []) if o.output_type == "stream"
        ]

    assert printed(notebook.cells) == printed(copies[page.file].cells) != []


@pytest.fixture
def server(folder, tmp_path):
    """JupyterLab with the settings of `make lab`, on the loopback and with a word of its own.

    It serves the folder above, as it does for those who start it there: the folder with `pyproject.toml`.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    word = secrets.token_hex(16)
    own = {f"JUPYTER_{name}_DIR": str(tmp_path / name) for name in ("CONFIG", "DATA", "RUNTIME")}
    own |= {
        "JUPYTERLAB_WORKSPACES_DIR": str(tmp_path / "workspaces"),
        "JUPYTERLAB_SETTINGS_DIR": str(tmp_path / "s"),
    }
    own |= {"JUPYTER_CONFIG_PATH": str(folder / lab.CONFIG)}
    flags = ["--no-browser", "--allow-root", "--ServerApp.ip=127.0.0.1", f"--ServerApp.port={port}"]
    command = [sys.executable, "-m", "jupyter", "lab", *flags, f"--IdentityProvider.token={word}"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, cwd=folder.parent, env=os.environ | own, **quiet) as process:
        try:
            for _ in range(240):
                with socket.socket() as probe:
                    if probe.connect_ex(("127.0.0.1", port)) == 0:
                        break
                time.sleep(0.25)
            yield f"http://127.0.0.1:{port}/lab/tree/lab/{{}}?token={word}&reset"
        finally:
            process.terminate()


@pytest.mark.thorough
@needs_browser
def test_what_jupyterlab_shows(folder, server, browser, whole, copies):
    page = browser.new_page(viewport={"width": 1280, "height": 1000})
    page.set_default_timeout(120_000)
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    chapter = whole.page("instability")
    page.goto(server.format(chapter.file))
    notebook = page.locator(".jp-NotebookPanel")
    notebook.locator(".jp-MarkdownCell").last.wait_for()
    buttons = notebook.locator(".jp-showHiddenCellsButton")
    buttons.first.wait_for()
    text = "\n".join(notebook.locator(".jp-MarkdownCell:visible").all_inner_texts())
    assert not re.search(r"⚠|\$\$|\{[a-z:]+\}`", text)
    places = {label: place for label, place in whole.places.items() if place.page == chapter}
    assert [label for label in [*places, *lab.entries()] if label in text] == []
    called = [place.called for place in places.values() if place.kind in ("figure", "Proposition")]
    assert [name for name in called if name not in text] == []
    assert re.search(r"\([A-Z][^()]*, (19|20)\d\d\)", text)  # somebody is cited
    assert notebook.locator("mjx-container").count() > 20
    assert notebook.locator("mjx-merror, [data-mjx-error]").count() == 0
    solution = max(
        re.split(r"[$`*\n\[\]]", hidden(copies[chapter.file])[0].source), key=len
    ).strip()  # plain words
    assert solution not in notebook.inner_text()
    buttons.first.click()
    notebook.locator(".jp-RenderedMarkdown").get_by_text(solution).first.wait_for()
    page.keyboard.press("Control+s")
    page.wait_for_timeout(2000)
    assert list(folder.glob("*.md")) == []  # nothing is paired with what stands here
    assert page.get_by_text("Jupyter news").count() == 0
    assert errors == []
    page.close()
