"""Reading copies for JupyterLab: nothing of Sphinx is left in them, their links lead somewhere, and they run."""

import importlib.util
import os
import re
import secrets
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import nbformat
import pytest
from chromium import needs_browser
from nbclient import NotebookClient

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
_spec = importlib.util.spec_from_file_location("lab", ROOT / "book" / "lab.py")
lab = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(lab)
NAMES = lab.names()
each_page = pytest.mark.parametrize("stem", NAMES)
TO_COPY = re.compile(r"\]\(([\w-]+\.ipynb)(?:#cell-id=([^)\s]+))?")


@pytest.fixture(scope="module")
def copies(book):
    return lab.notebooks(book)


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


def prose(notebook):
    """The text of a copy, without code and formulas."""
    texts = "\n\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    return re.sub(r"```.*?```|`[^`\n]+`|\$\$.*?\$\$|\$[^$\n]+\$", "", texts, flags=re.DOTALL)


@each_page
def test_nothing_of_sphinx_is_left_and_every_link_leads_somewhere(copies, stem):
    text = prose(copies[f"{NAMES[stem]}.ipynb"])
    assert not re.search(r"\{[a-z:]+\}`|^:::|\\\(|\.html[#)]|¶", text, flags=re.MULTILINE)
    for name, label in TO_COPY.findall(text):
        assert not label or label in {cell.id for cell in copies[name].cells}


@each_page
def test_code_and_results_are_those_of_the_record(copies, stem):
    record = ROOT / "book" / f"{stem}.ipynb"
    wanted = nbformat.read(record, as_version=4).cells if record.exists() else []
    wanted = [cell for cell in wanted if cell.cell_type == "code"]
    wanted = [cell for cell in wanted if "remove-cell" not in cell.metadata.get("tags", [])]
    found = [cell for cell in copies[f"{NAMES[stem]}.ipynb"].cells if cell.cell_type == "code"]
    assert [cell.source for cell in found] == [cell.source for cell in wanted]
    for cell, other in zip(found, wanted, strict=True):
        for output, old in zip(cell.outputs, other.outputs, strict=True):
            assert {**output.get("data", {}), "text/html": 0} == {
                **old.get("data", {}),
                "text/html": 0,  # whose links lead into the copies
            }


@each_page
def test_figures_have_captions_and_solutions_alone_are_folded(book, copies, stem):
    notebook = copies[f"{NAMES[stem]}.ipynb"]
    page = (book / f"{stem}.html").read_text(encoding="utf-8")
    folded = [cell for cell in notebook.cells if cell.metadata.get("jp-MarkdownHeadingCollapsed")]
    assert len(folded) == len(re.findall(r'<div class="[^"]*\bsolution\b[^"]*\badmonition', page))
    assert all(cell.source.startswith("###### Solution to") for cell in folded)
    assert not any(level(cell) and level(cell) < 6 for cell in hidden(notebook))
    for number in re.findall(r'<figcaption>\s*<p><span class="caption-number">([^<]+) <', page):
        assert sum(cell.source.startswith(f"**{number}**") for cell in notebook.cells) == 1


def test_formulas_boxes_and_tables_become_markdown():
    html = """<p>Let <span class="math">\\(x_1 * 2\\)</span>.</p>
    <div class="math" id="e"><span class="eqno">(4.1)</span>\\[ x = \\mspbe \\]</div>
    <div class="tip admonition"><p class="admonition-title">Tip</p><p>One.</p></div>
    <table><tr><th>a</th></tr><tr><td><code>b_c</code></td></tr></table>"""
    text = lab.Markdown().convert(html)
    assert "Let $x_1 * 2$." in text
    assert f"x = {lab.macros().get('mspbe', chr(92) + 'mspbe')}" in text
    assert r"\tag{4.1}" in text
    assert "> **Tip**\n>\n> One." in text
    assert "| `b_c` |" in text


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
def folder(tmp_path_factory, book, copies):
    """The copies in a folder that stands to the results as `lab` does."""
    root = tmp_path_factory.mktemp("lab")
    (root / "results").symlink_to(ROOT / "results")
    shutil.copy(ROOT / "pyproject.toml", root)  # which tells jupytext to pair notebooks with texts
    lab.write(root / "lab", copies, book)
    return root / "lab"


@pytest.mark.thorough
def test_a_copy_runs_from_top_to_bottom(folder, copies):
    (name,) = (name for name in copies if "policy_evaluation" in name)  # it reads `../results`
    notebook = nbformat.read(folder / name, as_version=4)
    where = {"metadata": {"path": str(folder)}}
    NotebookClient(notebook, timeout=300, resources=where, coalesce_streams=True).execute()

    def printed(cells):
        outputs = [output for cell in cells for output in cell.get("outputs", [])]
        return [output.text for output in outputs if output.output_type == "stream"]

    assert printed(notebook.cells) == printed(copies[name].cells) != []


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
    own |= {"JUPYTER_CONFIG_PATH": str(folder / ".jupyter")}
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
def test_what_jupyterlab_shows(folder, server, browser, copies):
    page = browser.new_page(viewport={"width": 1280, "height": 1000})
    page.set_default_timeout(120_000)
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    (name,) = (name for name in copies if "instability" in name)
    page.goto(server.format(name))
    notebook = page.locator(".jp-NotebookPanel")
    notebook.locator(".jp-MarkdownCell").last.wait_for()
    buttons = notebook.locator(".jp-showHiddenCellsButton")
    buttons.first.wait_for()
    notebook.locator("mjx-container").nth(20).wait_for(state="attached")
    text = "\n".join(notebook.locator(".jp-MarkdownCell:visible").all_inner_texts())
    assert not re.search(r"⚠|\$\$|\\\(|\{[a-z:]+\}`", text)
    assert re.search(
        r"\([A-Z][^()]*, (19|20)\d\d\)|\[[A-Z][^\[\]]*, (19|20)\d\d\]", text
    )  # a citation
    assert notebook.locator("mjx-merror, [data-mjx-error]").count() == 0
    answer = hidden(copies[name])[0].source
    words = max(re.split(r"[$`*\n\[\]]", answer), key=len).strip()
    assert words not in notebook.inner_text()
    buttons.first.click()
    notebook.locator(".jp-RenderedMarkdown").get_by_text(words).first.wait_for()
    page.keyboard.press("Control+s")
    page.wait_for_timeout(2000)
    assert list(folder.glob("*.md")) == []  # nothing is paired with what stands here
    assert page.get_by_text("Jupyter news").count() == 0
    assert errors == []
    page.close()
