"""Cells that run in their page: the Python side under CPython, the packer, and a chapter in a real browser.

What needs a browser also needs the packed files, `make live`; where they are missing it skips and says so. One
chapter, opened as a file, is enough for every day. With GQ_LIVE_ALL set (`make test-live`) all chapters run, one of
them over http and in Firefox too.
"""

import functools
import http.server
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

import pytest
from chromium import CHROMIUM, DESK, ROOT, listen, needs_browser

LIVE = ROOT / "book" / "live"
HTML = ROOT / "_build" / "html"
PATIENCE = 1000 * 60 * 30  # milliseconds: no verdict on speed, since the machine may be busy


def module(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


pack = module(LIVE / "pack.py")


# The Python side.


@pytest.fixture
def kernel(monkeypatch, tmp_path):
    """The kernel with a namespace of its own and a list in the place of the page."""
    loaded, sent = module(LIVE / "kernel.py"), []
    monkeypatch.setitem(sys.modules, "__main__", type(sys)("__main__"))
    monkeypatch.setitem(sys.modules, "gq_pretty", importlib.import_module("IPython.lib.pretty"))
    needs = tmp_path / "needs.json"
    needs.write_text(json.dumps({"sympy": ["sympy"], "gqlib": [], "gqlib.symbolic": ["sympy"], "xarray": ["xarray"]}))
    monkeypatch.setattr(loaded, "NEEDS", str(needs))
    loaded.post = lambda text: sent.append(json.loads(text))
    loaded.sent = sent
    return loaded


def test_a_cell_prints_shows_its_last_value_and_leaves_its_names(kernel):
    assert kernel.run("x = 2\nprint('two', x)\nx + 1", "<cell 1>")
    assert kernel.run("x * 10", "<cell 2>")
    assert kernel.sent == [
        {"output_type": "stream", "name": "stdout", "text": "two 2\n"},
        {"output_type": "execute_result", "data": {"text/plain": "3"}},
        {"output_type": "execute_result", "data": {"text/plain": "20"}},
    ]


@pytest.mark.parametrize(
    ("source", "kind", "line"),
    [
        ("x = 1\ny = x / 0", "ZeroDivisionError", 2),
        ("x = 1\nif x", "SyntaxError", 2),
        ("def f():\n    g()\nf()", "NameError", 2),
    ],
)
def test_an_error_names_its_line_and_what_was_printed_before_is_kept(kernel, source, kind, line):
    assert not kernel.run(source, "<cell 3>")
    (error,) = kernel.sent
    assert (error["output_type"], error["ename"], error["line"]) == ("error", kind, line)
    assert kind in error["traceback"]
    assert "kernel.py" not in error["traceback"]
    kernel.sent.clear()
    assert not kernel.run("print('so far', end='')\nraise SystemExit(2)", "<cell 4>")
    assert [one["output_type"] for one in kernel.sent] == ["stream", "error"]


def test_values_are_shown_in_the_forms_they_offer(kernel):
    kernel.display({"text/html": "<b>bold</b>", "text/plain": "bold"}, raw=True)
    assert kernel.run("import sympy as sp\nsp.Symbol('gamma') / 2", "<cell 1>")
    latex = kernel.sent[1]["data"]
    assert latex == {"text/latex": r"$\displaystyle \frac{\gamma}{2}$", "text/plain": "gamma/2"}
    assert kernel.run("from gqlib.edition.scorecard import Block\nBlock('<p>one</p>', 'one')", "<cell 2>")
    forms = {"text/html": "<p>one</p>", "text/markdown": "one", "text/plain": "<a part of the scorecard>"}
    assert kernel.sent[2]["data"] == forms


def test_a_figure_arrives_as_svg_in_the_colours_of_the_page(kernel, monkeypatch):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.close("all")  # what other tests left open
    import IPython
    import IPython.display

    monkeypatch.setattr(IPython, "get_ipython", kernel.Shell)
    monkeypatch.setattr(IPython.display, "display", kernel.display)
    cell = "from gqlib.edition import figures\nfig, ax = figures.new()\nax.plot([0, 1])\nfigures.show(fig)"
    assert kernel.run(cell, "<cell 1>")
    assert [one["output_type"] for one in kernel.sent] == ["display_data"]
    assert "var(--gq-blue" in kernel.sent[0]["html"]
    assert kernel.sent[0]["data"]["text/plain"].startswith("figure of 1 axes")
    assert pyplot.get_fignums() == []


def test_a_cell_asks_for_what_it_imports(kernel):
    for source, groups in {
        "import sympy as sp": ["sympy"],
        "from gqlib.symbolic import GAMMA": ["sympy"],
        "from gqlib import symbolic": ["sympy"],
        "from gqlib import FiniteMDP": [],
        "def f():\n    import xarray.testing": ["xarray"],
        "x = (": [],
    }.items():
        assert json.loads(kernel.needs(source)) == groups, source


SOLUTION = "half = total / 2\nhelp = 3\nassert half * 2 == total and help == 3\nprint(half)"


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [("half = 0.5 * total", "right"), ("half = total", "wrong"), ("third = 3", "missing"), ("half = 1 /", "error"),
     ("half = None", "unfit"), ("def half(): return 5", "unfit")],
)  # fmt: skip
def test_an_answer_is_held_to_the_asserts_of_the_solution(kernel, answer, verdict):
    assert kernel.run("total = 10", "<cell 1>")
    assert json.loads(kernel.asked(SOLUTION)) == ["half", "help"]
    found = json.loads(kernel.check(answer, SOLUTION, "<answer>"))
    assert found["verdict"] == verdict
    assert not hasattr(sys.modules["__main__"], "half")  # an answer leaves the chapter as it was


# The packer.


def test_npm_packages_are_pinned_by_their_hashes_and_name_no_host():
    packages = json.loads((LIVE / "package-lock.json").read_text())["packages"]
    assert {"node_modules/pyodide", "node_modules/@codemirror/view", "node_modules/esbuild"} <= set(packages)
    assert [name for name, one in packages.items() if name and not one.get("integrity", "").startswith("sha512-")] == []
    assert not any("resolved" in one for one in packages.values())


def test_a_file_that_does_not_match_the_lock_is_refused(tmp_path, monkeypatch):
    good, name = b"a wheel", "a.whl"
    monkeypatch.setattr(pack, "wanted", lambda: {name: pack.digest(good)})
    monkeypatch.setenv("GQ_LIVE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("GQ_LIVE_FROM", str(tmp_path))
    (tmp_path / name).write_bytes(b"another wheel")
    with pytest.raises(pack.Unavailable, match=r"a\.whl .* refused"):
        pack.fetch_wheels()
    assert list((tmp_path / "cache" / "wheels").iterdir()) == []
    (tmp_path / name).write_bytes(good)
    pack.fetch_wheels()
    (tmp_path / name).unlink()
    pack.fetch_wheels()  # from the cache
    (tmp_path / "cache" / "wheels" / name).write_bytes(b"altered")
    with pytest.raises(pack.Unavailable, match="refused"):
        pack.fetch_wheels()


def test_without_network_the_packer_says_what_to_do(tmp_path):
    """No npm on the path, and a cache that is empty: one message, no traceback, and the book is as it was."""
    environment = {**os.environ, "PATH": "/nonexistent", "GQ_LIVE_CACHE": str(tmp_path / "cache")}
    (tmp_path / "_static").mkdir()
    (tmp_path / "_static" / "live_start.js").write_text("empty")
    command = [sys.executable, LIVE / "pack.py", "--html", tmp_path]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("make live: npm is not installed")
    assert "Traceback" not in done.stderr
    assert (tmp_path / "_static" / "live_start.js").read_text() == "empty"
    done = subprocess.run([*command[:2], "--html", tmp_path / "none"], capture_output=True, text=True, check=False)
    assert "there is no book" in done.stderr


def test_modules_need_what_they_import():
    needs = pack.needs()
    assert needs["gqlib"] == needs["gqlib.stability"] == []
    assert needs["gqlib.symbolic"] == ["sympy"]
    assert needs["gqlib.edition.figures"] == ["matplotlib"]
    assert needs["gqlib.sweeps.results"] == ["results", "xarray"]
    assert set().union(*needs.values()) <= set(pack.GROUPS)


def test_a_chapter_keeps_its_cells_and_what_the_page_has_rendered():
    cells = json.loads(pack.chapter(ROOT / "book" / "paper_index.ipynb"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert [cell["source"] for cell in code] == ["".join(cell["source"]) for cell in record("paper_index")]
    tables = [text for cell in code for text in cell["rendered"]]
    assert tables
    assert all("|" in text for text in tables)


def test_a_page_with_cells_has_a_place_for_the_button_and_others_have_none():
    cells = module(ROOT / "book" / "_ext" / "live_cells.py")
    page = '<h1>One</h1><p>text</p><div class="cell docutils container"></div><h1>Two</h1>'
    placed = cells.with_place(page, "instability")
    assert placed.startswith('<h1>One</h1><p id="gq-live" class="gq-live-line" data-chapter="instability">')
    assert placed.replace(cells.LINE.format(name="instability"), "") == page
    assert cells.with_place("<h1>None</h1>", "api") == "<h1>None</h1>"


# In the browser.

ALL = bool(os.environ.get("GQ_LIVE_ALL"))
packed = pytest.mark.skipif(
    not (HTML / "_live" / "page.js").is_file(), reason="the files that run cells in a page are not there: make live"
)
FIRST = "instability"
DIGEST = re.compile(r"(?<=artists), drawn as [0-9a-f]{12}$")
GAMMA_CELL = "two states    s(A) at σ = 0: +0.2350"
RUN = "number => { const it = gqLive.chapter; return it.runCell(it.cells[number - 1]).then(() => true); }"
OUTPUTS = "() => gqLive.chapter.cells.map((cell) => cell.outputs ?? null)"



def opened(page, address):
    """Press the button and wait for Python."""
    page.goto(address)
    page.click(".gq-live-start")
    page.wait_for_function("() => /ready|wrong/.test(document.querySelector('.gq-live-status')?.textContent)")
    assert "ready" in page.inner_text(".gq-live-status")


def compared(outputs):
    """What two runs of a cell have to agree on: streams, texts and formulas; of a figure, its axes and artists.

    The digest in a figure's line is left out: there Matplotlib is of another version, and sums of linear algebra may
    differ in their last digit, which no printed number shows.
    """
    found, forms = [], ("text/plain", "text/latex", "text/html", "text/markdown")
    for output in outputs:
        if output["output_type"] == "stream":
            text = "".join(output["text"])
            if found and found[-1][0] == output["name"]:
                found[-1] = (output["name"], found[-1][1] + text)
            else:
                found.append((output["name"], text))
        elif output["output_type"] == "error":
            found.append(("error", output["ename"], output["evalue"]))
        else:
            shown = {form: "".join(output["data"][form]) for form in forms if form in output["data"]}
            found.append({form: DIGEST.sub("", text) for form, text in shown.items()})
    return found


def record(name):
    cells = json.loads((ROOT / "book" / f"{name}.ipynb").read_text(encoding="utf-8"))["cells"]
    return [cell for cell in cells if cell["cell_type"] == "code"]


def number_of(name, printed):
    """The number of the cell that prints this."""
    for number, cell in enumerate(record(name), 1):
        if any(printed in "".join(output.get("text", "")) for output in cell["outputs"]):
            return number
    raise AssertionError(f"no cell of {name} prints {printed!r}")


@pytest.fixture(scope="module")
def context():
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        context = browser.new_context(viewport=DESK)
        context.set_default_timeout(PATIENCE)
        yield context
        browser.close()


@pytest.mark.thorough
@pytest.mark.timeout(PATIENCE / 1000)
@needs_browser
@packed
def test_a_chapter_runs_from_a_file(context):
    """One button, the cells as they are printed, another γ, an error, an endless loop: and nothing from outside."""
    page = context.new_page()
    errors, outside = listen(page)
    opened(page, (HTML / f"{FIRST}.html").as_uri())
    number = number_of(FIRST, GAMMA_CELL)
    page.evaluate(RUN, number)
    ran, cells = page.evaluate(OUTPUTS)[:number], record(FIRST)
    for at, outputs in enumerate(ran):
        assert compared(outputs) == compared(cells[at]["outputs"]), f"cell {at + 1}"
    cell = f"gqLive.chapter.cells[{number - 1}]"
    page.evaluate(f"() => {cell}.editor.replace({cell}.text().replace('two_state(0.99)', 'two_state(0.8)'))")
    page.evaluate(RUN, number)
    told = page.evaluate(f"() => {cell}.output.textContent")
    assert "two states    s(A) at σ = 0: -0.0500" in told  # (6γ − 5)/4
    assert "two states    s(A) at σ = 0: +0.2350" not in told
    page.evaluate(f"() => {cell}.editor.replace('x = 1\\ny = x / 0')")
    page.evaluate(RUN, number)
    assert "ZeroDivisionError (line 2)" in page.evaluate(f"() => {cell}.output.textContent")
    page.evaluate(f"() => {cell}.editor.replace('x = [bytearray(10**9) for _ in range(3)]')")
    page.evaluate(RUN, number)
    assert "MemoryError (line 1)" in page.evaluate(f"() => {cell}.output.textContent")  # 2 GiB are its bound
    page.evaluate(f"() => {cell}.editor.replace('while True: pass')")
    page.evaluate(f"() => {{ gqLive.chapter.runCell({cell}).then(() => (window.ended = true)); }}")
    page.wait_for_function(f"() => {cell}.state.textContent.startsWith('running')")
    page.click("text=Stop")
    page.wait_for_function("() => window.ended")
    assert page.evaluate(f"() => {cell}.state.textContent") == "stopped"
    kept = page.evaluate(f"() => localStorage.getItem('gq-live {FIRST}')")
    assert "while True: pass" in kept
    page.evaluate(f"() => {cell}.reset()")
    page.evaluate(RUN, 2)  # Python is there again
    assert compared(page.evaluate(OUTPUTS)[1]) == compared(cells[1]["outputs"])
    assert (errors, outside) == ([], [])
    page.close()


@pytest.mark.thorough
@pytest.mark.timeout(PATIENCE / 1000)
@needs_browser
@packed
@pytest.mark.skipif(not ALL, reason="every chapter takes an hour: make test-live")
@pytest.mark.parametrize("name", [path.stem for path in sorted((ROOT / "book").glob("*.ipynb"))])
def test_every_chapter_prints_what_its_record_has(context, name):
    page = context.new_page()
    errors, outside = listen(page)
    opened(page, (HTML / f"{name}.html").as_uri())
    page.evaluate("() => gqLive.chapter.runAll().then(() => true)")
    ran, cells = page.evaluate(OUTPUTS), record(name)
    differences = [
        (number, cell["source"][:1], outputs, compared(cell["outputs"]))
        for number, (cell, outputs) in enumerate(zip(cells, ran, strict=True), 1)
        if outputs is None or compared(outputs) != compared(cell["outputs"])
    ]
    page.close()
    assert differences == []
    assert (errors, outside) == ([], [])


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture
def served():
    """The address of the book on a server of this machine."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(HTML)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


@pytest.mark.thorough
@pytest.mark.timeout(PATIENCE / 1000)
@needs_browser
@packed
@pytest.mark.skipif(not ALL, reason="in daily tests a chapter runs from a file alone: make test-live")
def test_a_chapter_runs_from_a_server(context, served):
    page = context.new_page()
    outside = []
    own = (served, "data:", "blob:")
    page.on("request", lambda request: None if request.url.startswith(own) else outside.append(request.url))
    opened(page, f"{served}/{FIRST}.html")
    page.evaluate(RUN, 2)
    assert compared(page.evaluate(OUTPUTS)[1]) == compared(record(FIRST)[1]["outputs"])
    assert outside == []
    page.close()


FIREFOX = next(filter(None, map(shutil.which, ("firefox-esr", "firefox"))), None)


class Firefox:
    """As much of WebDriver BiDi as a page takes that is opened and asked: one command, one answer."""

    def __init__(self, profile):
        websocket = pytest.importorskip("websocket")
        command = [FIREFOX, "--headless", "--no-remote", "--profile", profile, "--remote-debugging-port", "0"]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        for line in self.process.stderr:
            if "WebDriver BiDi listening on" in line:
                address = line.split()[-1]
                break
        self.socket = websocket.create_connection(f"{address}/session", timeout=PATIENCE / 1000, suppress_origin=True)
        self.asked = 0
        self("session.new", capabilities={})
        self.context = self("browsingContext.getTree")["contexts"][0]["context"]

    def __call__(self, method, **parameters):
        self.asked += 1
        self.socket.send(json.dumps({"id": self.asked, "method": method, "params": parameters}))
        while True:
            answer = json.loads(self.socket.recv())
            if answer.get("id") == self.asked:
                assert answer["type"] == "success", answer
                return answer["result"]

    def evaluate(self, code):
        result = self(
            "script.evaluate", expression=f"Promise.resolve({code}).then(JSON.stringify)", awaitPromise=True,
            target={"context": self.context},
        )  # fmt: skip
        assert result["type"] == "success", result
        return json.loads(result["result"].get("value", "null"))

    def close(self):
        self.socket.close()
        self.process.terminate()
        self.process.wait()


@pytest.mark.thorough
@pytest.mark.timeout(PATIENCE / 1000)
@packed
@pytest.mark.skipif(not ALL, reason="in daily tests a chapter runs in Chromium alone: make test-live")
@pytest.mark.skipif(FIREFOX is None, reason="no Firefox on the PATH: install the system's package 'firefox-esr'")
def test_a_chapter_runs_in_firefox_from_a_file():
    with tempfile.TemporaryDirectory() as profile:
        firefox = Firefox(profile)
        try:
            address = (HTML / f"{FIRST}.html").as_uri()
            firefox("browsingContext.navigate", context=firefox.context, url=address, wait="complete")
            firefox.evaluate("document.querySelector('.gq-live-start').click()")
            status = ""
            while "ready" not in status:
                assert "wrong" not in status, status
                time.sleep(1)
                status = firefox.evaluate("document.querySelector('.gq-live-status')?.textContent ?? ''")
            firefox.evaluate(f"({RUN})(2)")
            outputs = firefox.evaluate(f"({OUTPUTS})()")
            assert compared(outputs[1]) == compared(record(FIRST)[1]["outputs"])
        finally:
            firefox.close()
