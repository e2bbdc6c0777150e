"""Cells that run in their page: the Python side under CPython, the packer, and a chapter in a real browser.

What needs a browser also needs the packed files, `make live`; where they are missing it skips and says so. Every day
one chapter, opened as a file, and another γ in it are enough. With GQ_LIVE_ALL set  all chapters run,
and all that a reader does is done in Chromium and Firefox, from files and from a server.
"""

import collections
import functools
import http.server
import importlib.util
import json
import os
import re
import shutil
import socketserver
import statistics
import subprocess
import sys
import threading
import time
from typing import ClassVar

import live_attacks
import nbformat
import numpy as np
import pytest
from chromium import CHROMIUM, DESK, NO_MOTION, PHONE, ROOT, THEMES, listen, needs_browser

from gqlib.domains import two_state
from gqlib.stability import spectral_abscissa

LIVE = ROOT / "book" / "live"
HTML = ROOT / "_build" / "html"
ALL = bool(os.environ.get("GQ_LIVE_ALL"))
whole = pytest.mark.skipif(
    not ALL, reason="every day one chapter runs from a file: GQ_LIVE_ALL=1 runs them all"
)
packed = pytest.mark.skipif(
    not (HTML / "_live" / "page.js").is_file(),
    reason="the files that run cells in a page are not there: make live",
)
FIREFOX = next(filter(None, map(shutil.which, ("firefox-esr", "firefox"))), None)
needs_firefox = pytest.mark.skipif(
    FIREFOX is None, reason="no Firefox on the PATH: install the system's package 'firefox-esr'"
)
FIRST = "instability"
KINDS = {
    "left out": {"cannot", "minutes"},
    "with fewer runs": {"here"},
    "follows from fewer runs": {"follows"},
}
SLOW = 20  # seconds after which a test tells of a cell
# What Firefox writes when policy.js tries whether a layer holds.
TRIED = "Content-Security-Policy: The page’s settings blocked a JavaScript eval"
PATIENCE = 1000 * 60 * 60  # milliseconds: no verdict on speed, since the machine may be busy


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
    needs.write_text(
        json.dumps(
            {"sympy": ["sympy"], "gqlib": [], "gqlib.symbolic": ["sympy"], "xarray": ["xarray"]}
        )
    )
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


def test_a_loop_that_prints_on_and_on_does_not_drown_the_page(kernel):
    assert kernel.run("for i in range(100_000): print(i)", "<cell 1>")
    text = "".join(one["text"] for one in kernel.sent)
    assert text.startswith("".join(f"{i}\n" for i in range(30_000)))
    told = "\n… more than 200,000 characters: the rest is not shown\n"
    assert text.endswith(told)
    assert text.count("…") == 1
    assert 200_000 < len(text) < 200_100
    assert 100 < len(kernel.sent) < 300  # a message for each line would be 34,000
    kernel.sent.clear()
    assert kernel.run(
        "print('x' * 199_998)\nprint()\nprint('more')\nprint('yet more')", "<cell 2>"
    )  # counted anew
    assert [one["text"] for one in kernel.sent] == ["x" * 199_998 + "\n", "\n", told]


def test_values_are_shown_in_the_forms_they_offer(kernel):
    kernel.display({"text/html": "<b>bold</b>", "text/plain": "bold"}, raw=True)
    assert kernel.run("import sympy as sp\nsp.Symbol('gamma') / 2", "<cell 1>")
    latex = kernel.sent[1]["data"]
    assert latex == {"text/latex": r"$\displaystyle \frac{\gamma}{2}$", "text/plain": "gamma/2"}
    assert kernel.run("from kit.scorecard import Block\nBlock('<p>one</p>', 'one')", "<cell 2>")
    forms = {
        "text/html": "<p>one</p>",
        "text/markdown": "one",
        "text/plain": "<a part of the scorecard>",
    }
    assert kernel.sent[2]["data"] == forms


def test_a_figure_arrives_as_svg_in_the_colours_of_the_page(kernel, monkeypatch):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.close("all")  # what other tests left open
    import IPython
    import IPython.display

    monkeypatch.setattr(IPython, "get_ipython", kernel.Shell)
    monkeypatch.setattr(IPython.display, "display", kernel.display)
    cell = "from kit import figures\nfig, ax = figures.new()\nax.plot([0, 1])\nfigures.show(fig)"
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
FILLED = "squares = {}\nfor i in range(3):\n    squares[i] = i * i\n    assert squares[0] == 0\nassert squares[2] == 4"


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
    assert found.get("left", ["help"]) == ["help"]
    assert verdict != "wrong" or found["failed"] == "assert half * 2 == total and help == 3"
    assert all(
        one["output_type"] == "error" for one in kernel.sent
    )  # what the solution prints is not given away
    assert not hasattr(sys.modules["__main__"], "half")  # an answer leaves the chapter as it was


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [("squares = {i: i**2 for i in range(3)}", "right"), ("squares = {0: 0, 2: 5}", "wrong"),
     ("squares = {0: 0}", "unfit"), ("i = 7\nsquares = {0: 1}", "wrong"), ("i = 2", "missing")],
)  # fmt: skip
def test_a_solution_that_fills_something_does_not_fill_the_answer(kernel, answer, verdict):
    assert json.loads(kernel.asked(FILLED)) == ["squares"]
    assert json.loads(kernel.check(answer, FILLED, "<answer>"))["verdict"] == verdict


def test_without_an_assert_about_a_name_both_are_shown(kernel):
    solution = "for i in range(2):\n    assert i < 2\n    print('solution', i)"
    assert json.loads(kernel.check("print('mine')", solution, "<answer>")) == {"verdict": "compare"}
    assert "".join(one["text"] for one in kernel.sent) == "mine\nsolution 0\nsolution 1\n"


def test_a_cell_that_cannot_run_in_a_page_says_why(kernel):
    assert kernel.cannot("import numpy as np\nfrom gqlib import FiniteMDP") is None
    assert kernel.cannot("x = (") is None
    assert kernel.cannot("from distributed import Client").startswith(
        "it imports distributed: it starts a cluster"
    )
    with pytest.raises(OSError, match="one process"):
        kernel.without_processes().SemLock(1)


# The packer.


def test_without_network_the_packer_says_what_to_do(tmp_path):
    """No Node.js on the path, and a cache that is empty: one message, no traceback, and the book is as it was."""
    environment = {**os.environ, "PATH": "/nonexistent", "GQ_LIVE_CACHE": str(tmp_path / "cache")}
    (tmp_path / "_static").mkdir()
    (tmp_path / "_static" / "live_start.js").write_text("empty")
    command = [sys.executable, LIVE / "pack.py", "--html", tmp_path]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("make live: node is not installed")
    assert "Traceback" not in done.stderr
    assert (tmp_path / "_static" / "live_start.js").read_text() == "empty"
    done = subprocess.run(
        [*command[:2], "--html", tmp_path / "none"], capture_output=True, text=True, check=False
    )
    assert "there is no book" in done.stderr


@pytest.mark.slow
def test_modules_need_what_they_import():
    needs = pack.needs()
    assert needs["gqlib"] == needs["gqlib.stability"] == []
    assert needs["gqlib.symbolic"] == ["sympy"]
    assert needs["kit.figures"] == ["matplotlib"]
    assert needs["gqlib.sweeps.results"] == ["results", "xarray"]
    assert set().union(*needs.values()) <= set(pack.GROUPS)


def test_a_chapter_keeps_its_cells_and_what_the_page_has_rendered():
    cells = pack.chapter(ROOT / "book" / "paper_index.ipynb")["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert [cell["source"] for cell in code] == [
        "".join(cell["source"]) for cell in record("paper_index")
    ]
    tables = [text for cell in code for text in cell["rendered"]]
    assert tables
    assert all("|" in text for text in tables)


def test_a_page_with_cells_has_a_place_for_the_button_and_others_have_none():
    cells = module(ROOT / "book" / "_ext" / "live_cells.py")
    first = (
        '<section id="one"><h1>One</h1><p>A question.</p><div class="cell tag_remove-input"></div>'
    )
    code = '<div class="cell docutils"><div class="cell_input docutils container"></div></div>'
    line = cells.LINE.format(name="instability")
    assert line.startswith('<p id="gq-live" class="gq-live-line" data-chapter="instability">')
    assert cells.with_place(first + code + code, "instability") == first + line + code + code
    later = '<section id="two"><h2>Two</h2>' + code
    assert cells.with_place(first + later, "instability") == first + line + later
    assert cells.with_place("<h1>None</h1>", "api") == "<h1>None</h1>"


def test_a_cell_that_takes_minutes_runs_with_less_or_is_left_out(monkeypatch):
    changes = [{"in": "train(", "says": "2 in the place of 9", "replace": {"range(9)": "range(2)", "9 runs": "2 runs"}},
               {"in": "wait(", "minutes": 5}]  # fmt: skip
    monkeypatch.setattr(pack, "fewer", lambda: {"chapter": changes})
    less = pack.here("chapter", "for i in range(9): train(i)  # 9 runs")
    assert less == {"here": "for i in range(2): train(i)  # 2 runs", "says": "2 in the place of 9"}
    assert pack.here("chapter", "wait(1)") == {"minutes": 5}
    assert pack.here("chapter", "print(1)") == pack.here("another", "wait(1)") == {}


def test_a_cell_says_that_it_works_on_what_fewer_runs_gave():
    cells = [
        cell
        for cell in pack.chapter(ROOT / "book" / "use_it.ipynb")["cells"]
        if cell["cell_type"] == "code"
    ]
    marked = {"here": {"agents"}, "follows": {"agents", "played", "lengths"}}
    for key, names in marked.items():
        (one, *_) = [cell for cell in cells if key in cell]
        assert names & set.union(*pack.follow.taken_and_given(one["source"]))
    assert not any(
        "follows" in cell for cell in pack.chapter(ROOT / "book" / "index.ipynb")["cells"]
    )


@pytest.mark.parametrize(
    ("source", "taken", "given"),
    [
        ("y = [x for x in data]", {"data"}, {"y"}),
        ("def f(a):\n    b = a + c\n    return b", {"c"}, {"f"}),
        ("scores[key].best = 1", {"scores", "key"}, {"scores", "key"}),
        ("for i in range(3):\n    n += i", {"range", "n"}, {"i", "n"}),
        ("import numpy as np\nnp.sum(z)", {"z"}, {"np"}),
        ("if test:\n    y = 1\nprint(y)", {"test", "print", "y"}, {"y"}),
    ],
)
def test_what_a_cell_takes_from_those_above_and_gives_to_those_below(source, taken, given):
    assert pack.follow.taken_and_given(source) == (taken, given)


def test_what_was_changed_changes_what_follows_from_it_until_it_is_defined_anew():
    sources = ["x = 1", "y = 2", "z = x", "print(y)", "print(z)", "x = 3", "print(x)", "print(z)"]
    assert pack.follow.following(sources, {0: "x = 2"}) == [2, 4, 7]
    assert pack.follow.following(sources, {0: "x = 1"}) == pack.follow.following(sources, {}) == []
    assert pack.follow.following(["x = 1\ny = 2\nz = x", "y", "z"], {0: "x = 3\ny = 2\nz = x"}) == [
        2
    ]


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(pack.fewer()))
def test_no_cell_needs_what_is_left_out(name):
    cells = [
        cell
        for cell in pack.chapter(ROOT / "book" / f"{name}.ipynb")["cells"]
        if cell["cell_type"] == "code"
    ]
    left = {at: "" for at, cell in enumerate(cells) if KINDS["left out"] & set(cell)}
    assert pack.follow.following([cell["source"] for cell in cells], left) == []


def test_what_a_cell_would_compile_runs_as_it_is_written(kernel, monkeypatch):
    importlib.import_module("gqlib.fast._jit")  # with Numba, if it is there
    monkeypatch.setitem(sys.modules, "numba", kernel.without_compiler())
    assert kernel.cannot("from numba import njit") is None
    cell = "from numba import njit\n@njit\ndef one(x): return x\n@njit(cache=True)\ndef two(x): return one(x) + x"
    cell += "\ntwo(2)"
    assert kernel.run(cell, "<cell 1>")
    assert kernel.sent[-1]["data"] == {"text/plain": "4"}


def test_what_the_button_says_was_measured():
    measured = json.loads((LIVE / "seconds.json").read_text(encoding="utf-8"))
    assert set(measured["seconds"]) <= {path.stem for path in (ROOT / "book").glob("*.ipynb")}
    assert pack.seconds(FIRST) == measured["seconds"][FIRST] > 0
    assert pack.seconds("a new chapter") == statistics.median_low(measured["seconds"].values())


@packed
def test_the_size_on_the_button_is_that_of_the_files():
    start = (HTML / "_static" / "live_start.js").read_text(encoding="utf-8")
    manifest = json.loads(re.search(r"const manifest = (\{.*\});", start)[1])
    size = lambda name: (HTML / "_live" / f"{name}.js").stat().st_size  # noqa: E731
    always = ["page", manifest["runtime"], *manifest["boot"], *manifest["groups"]["core"]["files"]]
    known = pack.needs()
    for name, told in manifest["chapters"].items():
        groups = set().union(*(pack.kernel.groups(source(cell), known) for cell in record(name)))
        files = {*always, f"chapter-{name}"}.union(
            *(manifest["groups"][group]["files"] for group in groups)
        )
        assert told["megabytes"] == round(sum(map(size, files)) / 1e6), name


# In the browser.

patient = pytest.mark.timeout(PATIENCE / 1000)
DIGEST = re.compile(r"(?<=artists), drawn as [0-9a-f]{12}$")
TOLD = re.compile(
    r"^\w+: \d+ of \d+ .* to go\n", re.MULTILINE
)  # progress: how much depends on the machine


def compared(outputs):
    """What two runs of a cell have to agree on: streams, texts and formulas; of a figure, its axes and artists.

    The digest in a figure's line is left out: there Matplotlib is of another version, and sums of linear algebra may
    differ in their last digit, which no printed number shows.
    """
    found, forms = [], ("text/plain", "text/latex", "text/html", "text/markdown")
    for output in outputs:
        if output["output_type"] == "stream":
            text = TOLD.sub("", "".join(output["text"]))
            if found and found[-1][0] == output["name"]:
                found[-1] = (output["name"], found[-1][1] + text)
            elif text:
                found.append((output["name"], text))
        elif output["output_type"] == "error":
            found.append(("error", output["ename"], output["evalue"]))
        else:
            shown = {
                form: "".join(output["data"][form]) for form in forms if form in output["data"]
            }
            found.append({form: DIGEST.sub("", text) for form, text in shown.items()})
    return found


def without_sample(found):
    """What is left of outputs if nothing is said of stored runs that were recomputed."""
    return re.sub(
        r"\d+ (numbers|scores)", "", "".join(text for name, text in found if name != "stderr")
    )


def record(name):
    cells = json.loads((ROOT / "book" / f"{name}.ipynb").read_text(encoding="utf-8"))["cells"]
    return [cell for cell in cells if cell["cell_type"] == "code"]


def source(cell):
    return "".join(cell["source"])


def printed(cell):
    return "".join("".join(output.get("text", "")) for output in cell["outputs"])


def one_that(name, fits):
    """The number of the first cell of a chapter that fits."""
    return next(number for number, cell in enumerate(record(name), 1) if fits(cell))


class Tab:
    """A page in a browser, by what the tests do with it; how an expression gets there is the browser's affair."""

    def open(self, address):
        """Press the button and wait for Python."""
        self.go(address)
        self.start()

    def start(self):
        self.evaluate("document.querySelector('.gq-live-start').click()")
        self.until("/ready|wrong/.test(document.querySelector('.gq-live-status')?.textContent)")
        assert "ready" in self.status()

    def until(self, expression):
        while not self.evaluate(f"Boolean({expression})"):
            time.sleep(0.2)

    def status(self):
        return self.evaluate("document.querySelector('.gq-live-status').textContent")

    def run(self, number):
        """Run a cell, and those above that have not run, as its button does."""
        return self.evaluate(f"gqLive.chapter.runCell(gqLive.chapter.cells[{number - 1}])")

    def ends(self, number, within=120):
        """Whether a cell that is run ends within so many seconds."""
        cell = f"gqLive.chapter.cells[{number - 1}]"
        ended = f"gqLive.chapter.runCell({cell}).then(() => true)"
        late = f"new Promise((tell) => setTimeout(tell, {1000 * within}, false))"
        return self.evaluate(f"Promise.race([{ended}, {late}])")

    def write(self, number, text):
        self.evaluate(
            f"gqLive.chapter.cells[{number - 1}].editor.replace({json.dumps(text)}) ?? null"
        )

    def text(self, number):
        return self.evaluate(f"gqLive.chapter.cells[{number - 1}].text()")

    def outputs(self, number):
        return self.evaluate(f"gqLive.chapter.cells[{number - 1}].outputs ?? null")

    def shown(self, number):
        return self.evaluate(f"gqLive.chapter.cells[{number - 1}].output.innerText")

    def state(self, number):
        return self.evaluate(f"gqLive.chapter.cells[{number - 1}].state.textContent")

    def all_of(self, number):
        """What a cell gives when all cells run: one that takes minutes is left out, one that ran already is kept."""
        cell, begun = f"gqLive.chapter.cells[{number - 1}]", time.monotonic()
        run = f"gqLive.chapter.queue(() => gqLive.chapter.runThese([{cell}]))"
        self.evaluate(f"{cell}.ran === {cell}.text() ? null : {run}")
        if time.monotonic() - begun > SLOW:
            print(f"cell {number}: {time.monotonic() - begun:.0f} s by the clock", flush=True)
        return self.outputs(number)

    def same(self, number):
        return compared(self.outputs(number)) == compared(record(FIRST)[number - 1]["outputs"])

    def quiet(self):
        """No error in the console, and no request beyond the book's own files."""
        assert (self.errors, self.outside) == ([], [])


class Chrome(Tab):
    def __init__(self, context, own=("file:",)):
        self.page = context.new_page()
        self.errors, _ = listen(self.page)
        self.outside, self.read = [], set()
        self.own = (*own, "data:", "blob:")
        self.page.on("request", self.note)

    def note(self, request):
        if not request.url.startswith(self.own):
            self.outside.append(request.url)
        if "/_live/" in request.url:
            self.read.add(request.url.rpartition("/")[2])

    def go(self, address):
        self.page.goto(address)

    def reload(self):
        self.page.reload()

    def evaluate(self, expression):
        return self.page.evaluate(f"async () => await ({expression})")

    def processor_seconds(self):
        """What the page has used of the processor, its worker included; the clock would count neighbours too."""
        session = self.page.context.new_cdp_session(self.page)
        session.send("Performance.enable")
        metrics = session.send("Performance.getMetrics")["metrics"]
        return next(one["value"] for one in metrics if one["name"] == "ProcessTime")

    def close(self):
        self.page.close()


class Firefox(Tab):
    """A stock Firefox, by as much of WebDriver BiDi as this takes: one command, one answer, and events in between."""

    def __init__(self, profile, own=("file:",)):
        websocket = pytest.importorskip("websocket")
        command = [
            FIREFOX,
            "--headless",
            "--no-remote",
            "--profile",
            profile,
            "--remote-debugging-port",
            "0",
        ]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        for line in self.process.stderr:
            if "WebDriver BiDi listening on" in line:
                address = line.split()[-1]
                break
        # Firefox writes on, and would wait for somebody to read it.
        threading.Thread(target=self.process.stderr.read, daemon=True).start()
        self.socket = websocket.create_connection(
            f"{address}/session", timeout=PATIENCE / 1000, suppress_origin=True
        )
        self.asked, self.errors, self.outside = 0, [], []
        self.own = (*own, "data:", "blob:", "about:", "moz-extension:", "chrome:", "resource:")
        self.ask("session.new", capabilities={})
        self.ask("session.subscribe", events=["log.entryAdded", "network.beforeRequestSent"])
        self.context = self.ask("browsingContext.getTree")["contexts"][0]["context"]

    def ask(self, method, **parameters):
        self.asked += 1
        self.socket.send(json.dumps({"id": self.asked, "method": method, "params": parameters}))
        while True:
            answer = json.loads(self.socket.recv())
            if answer.get("id") == self.asked:
                assert answer["type"] == "success", answer
                return answer["result"]
            self.note(answer.get("method"), answer.get("params", {}))

    def note(self, event, told):
        said = event == "log.entryAdded" and told["level"] == "error"
        if said and not told["text"].startswith(TRIED):
            self.errors.append(told["text"])
        if event == "network.beforeRequestSent" and told.get("context") == self.context:
            address = told["request"]["url"]
            if not address.startswith(self.own):
                self.outside.append(address)

    def go(self, address):
        self.ask("browsingContext.navigate", context=self.context, url=address, wait="complete")

    def reload(self):
        self.ask("browsingContext.reload", context=self.context, wait="complete")

    def evaluate(self, expression):
        result = self.ask(
            "script.evaluate", expression=f"(async () => JSON.stringify((await ({expression})) ?? null))()",
            awaitPromise=True, target={"context": self.context},
        )  # fmt: skip
        assert result["type"] == "success", result
        return json.loads(result["result"]["value"])

    def close(self):
        self.socket.close()
        self.process.terminate()
        self.process.wait()


@pytest.fixture(scope="module")
def chromium():
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
        )
        yield browser
        browser.close()


@pytest.fixture(params=["desk"])
def context(chromium, request):
    sizes = {
        "desk": {"viewport": DESK},
        "phone": {"viewport": PHONE, "has_touch": True, "is_mobile": True},
    }
    made = chromium.new_context(**sizes[request.param])
    made.set_default_timeout(PATIENCE)
    yield made
    made.close()


@pytest.fixture
def firefox(tmp_path):
    opened = []

    def make(**options):
        opened.append(Firefox(str(tmp_path), **options))
        return opened[-1]

    yield make
    for one in opened:
        one.close()


class Server(http.server.SimpleHTTPRequestHandler):
    """The book's folder; what was sent whole is counted."""

    sent: ClassVar = []

    def do_GET(self):
        if self.path == "/favicon.ico":  # browsers ask for it by themselves
            self.send_response(http.HTTPStatus.NO_CONTENT)
            self.end_headers()
        else:
            super().do_GET()

    def log_message(self, *_):
        pass

    def log_request(self, code="-", size="-"):
        if code == http.HTTPStatus.OK:
            self.sent.append(self.path)


@pytest.fixture
def served():
    """The address of the book on a server of this machine."""
    Server.sent.clear()
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Server, directory=str(HTML))
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


class Counting(Server):
    """The book's folder, and below `asked` an answer for everybody: which ways led there is noted."""

    asked: ClassVar = set()

    def do_GET(self):
        if not self.path.startswith("/asked/"):
            return super().do_GET()
        self.asked.add("/".join(self.path.partition("?")[0].split("/")[2:4]))
        self.send_response(http.HTTPStatus.OK)
        self.send_header("Access-Control-Allow-Origin", "*")
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_POST = do_HEAD = do_OPTIONS = do_GET


@pytest.fixture
def counting():
    """A server of this machine that counts, and a port that counts who connects."""
    Counting.asked.clear()
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Counting, directory=str(HTML))
    )
    silent = socketserver.TCPServer(
        ("127.0.0.1", 0), lambda *_: Counting.asked.add("html/link-preconnect")
    )
    for one in (server, silent):
        threading.Thread(target=one.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", silent.server_address[1]
    for one in (server, silent):
        one.shutdown()


def measured(name, processor, clock):
    """Say how long the first result took; with GQ_LIVE_MEASURE set, this is what the button will say."""
    print(
        f"{name}: first result after {processor:.1f} s of the processor, {clock:.1f} s by the clock"
    )
    if os.environ.get("GQ_LIVE_MEASURE"):
        path = LIVE / "seconds.json"
        kept = json.loads(path.read_text(encoding="utf-8"))
        kept["seconds"][name] = round(processor)
        path.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def page_of(name):
    return (HTML / f"{name}.html").as_uri()


# What a reader does, in any browser.


def has_gamma(cell):
    return "two_state(0.99)" in source(cell) and f"{abscissa(0.99):+.3f}"[:-1] in printed(cell)


def abscissa(gamma):
    """s(A) of the two-state problem at σ = λ = 0, where the book is least stable."""
    return spectral_abscissa(two_state(gamma).problem.A(0.0, 0.0))


def change_gamma(tab):
    """Another γ in a cell of Instability, and the eigenvalue that is printed is the library's; the cell's number."""
    number = one_that(FIRST, has_gamma)
    tab.run(number)
    assert tab.same(number)
    before = tab.shown(number)
    tab.write(number, tab.text(number).replace("two_state(0.99)", "two_state(0.8)"))
    tab.run(number)
    after = tab.shown(number)
    assert tab.state(number).startswith("ran in")
    numbers = re.findall(r"[+-]\d\.\d+", before)
    digits = next(text for text in numbers if np.isclose(float(text), abscissa(0.99), atol=6e-4))
    assert f"{abscissa(0.8):+.{len(digits) - 3}f}" in after
    assert digits not in after
    return number


def make_mistakes(tab, number):
    """An error has a message and a line; memory has a bound; an endless loop can be stopped; the cell stays a cell."""
    tab.write(number, "x = 1\ny = x / 0")
    tab.run(number)
    assert "ZeroDivisionError (line 2)" in tab.shown(number)
    assert "division by zero" in tab.shown(number)
    assert tab.state(number) == "stopped by an error"
    tab.write(number, "x = [bytearray(10**9) for _ in range(3)]")
    tab.run(number)
    assert "MemoryError (line 1)" in tab.shown(number)  # 2 GiB are its bound
    tab.write(number, "print('again', 1 + 1)")
    tab.run(number)
    assert tab.shown(number).strip() == "again 2"
    tab.write(number, "while True: pass")
    tab.evaluate(
        f"void gqLive.chapter.runCell(gqLive.chapter.cells[{number - 1}]).then(() => (window.ended = true))"
    )
    tab.until(f"gqLive.chapter.cells[{number - 1}].state.textContent.startsWith('running')")
    tab.evaluate("void gqLive.chapter.runAll().then((good) => (window.waited = good))")
    tab.evaluate("gqLive.chapter.stopping.click()")
    tab.until("window.ended && window.waited === false")  # what waits is stopped, too
    assert tab.state(number) == "stopped"
    assert "starts afresh" in tab.status()
    tab.evaluate(
        f"gqLive.chapter.cells[{number - 1}].reset() ?? null"
    )  # or the loop would run again with what follows


def answer_exercise(tab):
    """The first exercise whose solution asserts something that a number is: right, wrong, and nothing given."""
    at = tab.evaluate(
        "gqLive.chapter.answers.findIndex((one) => /asserts something about/.test(one.hint.textContent))"
    )
    answer = f"gqLive.chapter.answers[{at}]"
    solution = tab.evaluate(f"{answer}.solution")
    wanted = tab.evaluate(f"{answer}.hint.textContent").rpartition(": ")[2].rstrip(".").split(", ")
    for text, verdict in (
        (solution, "right"),
        ("\n".join(f"{name} = float('nan')" for name in wanted), ("wrong", "unfit")),
        ("nothing = 0", "missing"),
        ("1 / 0", "error"),
    ):
        tab.evaluate(f"{answer}.editor.replace({json.dumps(text)}) ?? null")
        tab.evaluate(f"{answer}.check()")
        found = tab.evaluate(f"[{answer}.verdict.dataset.verdict, {answer}.verdict.textContent]")
        assert found[0] in verdict, (text, found)
    tab.evaluate(f"{answer}.editor.replace('kept = 1') ?? null")


def come_again(tab, number):
    """Edits are there after a reload, and in the notebook that is handed out."""
    tab.write(number, "print('kept')")
    tab.reload()
    tab.start()
    assert tab.text(number) == "print('kept')"
    text = tab.evaluate("gqLive.chapter.written()")
    notebook = nbformat.reads(text, as_version=4)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    answers = [cell.source for cell in code if "answer" in cell.metadata.get("tags", ())]
    own = [cell.source for cell in code if "answer" not in cell.metadata.get("tags", ())]
    assert answers == ["kept = 1"]
    assert own == [*(source(cell) for cell in record(FIRST)[: number - 1]), "print('kept')",
                   *(source(cell) for cell in record(FIRST)[number:])]  # fmt: skip
    tab.evaluate(f"gqLive.chapter.cells[{number - 1}].reset() ?? null")
    assert tab.text(number) == source(record(FIRST)[number - 1])
    assert tab.evaluate("Object.values(gqLive.chapter.edits.kept)") == ["kept = 1"]


def everything(tab, address):
    tab.open(address)
    number = change_gamma(tab)
    make_mistakes(tab, number)
    answer_exercise(tab)
    come_again(tab, number)
    tab.quiet()
    return number


BROWSERS = [
    pytest.param("chromium", marks=needs_browser),
    pytest.param("firefox", marks=needs_firefox),
]


@pytest.fixture
def tab(request):
    """A tab of the browser that the parameter names."""
    if request.param == "firefox":
        yield request.getfixturevalue("firefox")()
        return
    context = request.getfixturevalue("chromium").new_context(viewport=DESK)
    context.set_default_timeout(PATIENCE)
    yield Chrome(context)
    context.close()


IN_WORKER = """
import js
for text in {texts!r}:
    try:
        exec(text)
    except BaseException as error:
        print(type(error).__name__)
"""
NESTED = """
import js
from pyodide.ffi import to_js
of = js.JSON.parse('{{"type": "text/javascript"}}')
for text in {texts!r}:
    script = js.Blob.new(to_js([f"try {{{{ {{text}} }}}} catch {{{{}}}}"]), of)
    js.Worker.new(js.URL.createObjectURL(script), js.JSON.parse('{{"type": "KIND"}}'))
"""
SHOWN = """
from IPython.display import display
for text in {texts!r}:
    display({{"KIND": text, "text/plain": ""}}, raw=True)
"""
# By table: the texts, and the cell that tries them.
WAYS = {
    "worker": (live_attacks.WORKER, IN_WORKER),
    "classic": (live_attacks.NESTED, NESTED.replace("KIND", "classic")),
    "module": (live_attacks.NESTED, NESTED.replace("KIND", "module")),
    "html": (live_attacks.HTML, SHOWN.replace("KIND", "text/html")),
    "latex": (live_attacks.LATEX, SHOWN.replace("KIND", "text/latex")),
    "leaving_html": (live_attacks.LEAVING_HTML, SHOWN.replace("KIND", "text/html")),
    "leaving_latex": (live_attacks.LEAVING_LATEX, SHOWN.replace("KIND", "text/latex")),
}


def attacks(table, address, silent):
    """The texts of a table, each with an address of its own."""
    ran = f"top.gqRan = 1; fetch('{address}/asked/{table}/ran')"
    return [
        text.replace("ASK", f"{address}/asked/{table}/{name}")
        .replace("SILENT", str(silent))
        .replace("RAN", ran)
        for name, text in WAYS[table][0].items()
    ]


CLICK = """
[OUTPUT, ...[...OUTPUT.querySelectorAll("iframe")].map((frame) => frame.contentDocument?.body)].forEach((place) =>
    place?.querySelectorAll("a, area, button, input, summary, text, mtext").forEach((one) =>
        one.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true }))))
"""


def attempt(tab, number, table, address, silent):
    """Try all of a table in a cell, click what can be clicked, and wait for what comes of it."""
    texts = attacks(table, address, silent)
    # Firefox stands still where a worker makes many others at once and one of them is refused a connection; and
    # MathJax loads for one formula at a time what this formula needs.
    at_once = len(texts) if table in ("worker", "html", "leaving_html") else 1
    for at in range(0, len(texts), at_once):
        tab.write(number, WAYS[table][1].format(texts=texts[at : at + at_once]))
        if isinstance(tab, Firefox) and table in ("classic", "module"):
            if not tab.ends(number):  # now and then one alone is enough for that
                tab.evaluate("gqLive.chapter.stop() ?? null")
                continue
        else:
            tab.run(number)
        assert tab.state(number).startswith("ran in"), (texts[at], tab.outputs(number))
        time.sleep({"html": 4, "latex": 2}.get(table.removeprefix("leaving_"), 0.5))
        output = f"gqLive.chapter.cells[{number - 1}].output"
        tab.evaluate(CLICK.replace("OUTPUT", output) + "?? null")
    time.sleep(3)


@pytest.mark.thorough
@patient
@packed
@pytest.mark.parametrize(
    "where", ["file", pytest.param("own", marks=whole), pytest.param("other", marks=whole)]
)
@pytest.mark.parametrize("tab", BROWSERS, indirect=True)
def test_nothing_that_a_cell_does_reaches_a_server(tab, where, counting, served):
    """From a file, and from a server: the book's own is asked for nothing either."""
    address, silent = counting
    page = {
        "file": page_of(FIRST),
        "own": f"{address}/{FIRST}.html",
        "other": f"{served}/{FIRST}.html",
    }
    tab.go(page[where])
    tab.evaluate(f"fetch('{address}/asked/by/page', {{ mode: 'no-cors' }}).then(() => null)")
    assert Counting.asked == {"by/page"}  # the server can be reached, and counts
    tab.evaluate("void (window.print = () => (window.printed = true))")
    tab.start()
    number = one_that(FIRST, has_gamma)
    for table in WAYS:
        attempt(tab, number, table, address, silent)
        assert Counting.asked == {"by/page"}, table
    assert tab.evaluate("window.gqRan ?? null") is None
    tab.write(number, "print(6 * 7)")
    tab.run(number)
    assert tab.shown(number).strip() == "42"
    tab.evaluate("document.querySelector('[onclick]').click() ?? null")
    assert tab.evaluate("window.printed")  # the page's own buttons do what they did


def without(part):
    """A browser that does not know a policy that has this part."""
    return (
        "const { set } = Object.getOwnPropertyDescriptor(HTMLMetaElement.prototype, 'content');"
        "Object.defineProperty(HTMLMetaElement.prototype, 'content',"
        f'{{ set(text) {{ if (!text.includes("{part}")) set.call(this, text); }} }});'
    )


@pytest.mark.thorough
@patient
@packed
@pytest.mark.parametrize(
    ("lacks", "told"),
    [
        (without("form-action 'self'"), "does not keep this page from the network"),
        (without("wasm-unsafe-eval"), "does not keep a worker from the network"),
        (without("script-src 'none'"), "does not keep an output from the network"),
        (
            "const { set } = { set: Element.prototype.setAttribute }; Element.prototype.setAttribute ="
            "function (name, value) { if (name !== 'sandbox') set.call(this, name, value); };",
            "runs the scripts of an output",
        ),
        (
            "const { get } = Object.getOwnPropertyDescriptor(HTMLIFrameElement.prototype, 'contentWindow');"
            "Object.defineProperty(HTMLIFrameElement.prototype, 'contentWindow', { get() {"
            "const inner = get.call(this); inner.Worker = Worker; return inner; } });",
            "does not keep a worker from the network",  # which has not the policy of its frame
        ),
    ],
    ids=["page", "worker", "output", "sandbox", "inheritance"],
)
@pytest.mark.parametrize("tab", BROWSERS, indirect=True)
def test_where_a_layer_is_missing_nothing_starts(tab, lacks, told):
    tab.go(page_of(FIRST))
    tab.evaluate(f"(() => {{ {lacks} return null; }})()")
    tab.evaluate("document.querySelector('.gq-live-start').click()")
    tab.until("/ready|wrong/.test(document.querySelector('.gq-live-status')?.textContent)")
    assert told in tab.status()
    number = one_that(FIRST, has_gamma)
    assert tab.run(number) is False
    assert told in tab.status()
    assert tab.evaluate("gqLive.chapter.cells.every((cell) => !cell.outputs?.length)")


@pytest.mark.thorough
@patient
@needs_browser
@packed
def test_from_a_stick_one_button_and_another_gamma(context):
    """index.html as a file, Instability by its link, one button, γ: the eigenvalues move to the library's."""
    tab = Chrome(context)
    tab.go(page_of("index"))
    tab.page.click(f'nav a[href="{FIRST}.html"]')
    tab.page.wait_for_selector(".gq-live-start")
    note = tab.page.inner_text("#gq-live-note")
    tab.start()
    change_gamma(tab)
    tab.quiet()
    megabytes, _ = map(int, re.findall(r"(\d+) (?:MB|seconds)", note))
    own = {"page.js", f"chapter-{FIRST}.js"}
    assert own < tab.read  # what was read so far is no more than the button says
    assert sum((HTML / "_live" / name).stat().st_size for name in tab.read) <= 1e6 * (
        megabytes + 0.5
    )
    tab.close()


@pytest.mark.thorough
@patient
@needs_browser
@packed
@whole
def test_everything_a_reader_does_in_chromium_from_a_file(context):
    tab = Chrome(context)
    everything(tab, page_of(FIRST))
    tab.close()


@pytest.mark.thorough
@patient
@needs_browser
@packed
@whole
def test_everything_a_reader_does_in_chromium_from_a_server_which_sends_python_once(
    chromium, served, tmp_path
):
    # With a profile, as readers have; without one, as in a private window, scipy's 21 MB are too much for the cache.
    context = chromium.browser_type.launch_persistent_context(
        tmp_path, executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"], viewport=DESK
    )
    context.set_default_timeout(PATIENCE)
    tab = Chrome(context, own=(served,))
    everything(tab, f"{served}/{FIRST}.html")
    tab.open(f"{served}/errata.html")
    tab.quiet()
    context.close()
    python = [path for path in Server.sent if "/_live/" in path and "chapter-" not in path]
    assert sorted(python) == sorted(set(python))  # kept by the browser: nothing was sent twice


@pytest.mark.thorough
@patient
@packed
@whole
@needs_firefox
def test_everything_a_reader_does_in_firefox_from_a_file(firefox):
    everything(firefox(), page_of(FIRST))


@pytest.mark.thorough
@patient
@packed
@whole
@needs_firefox
def test_everything_a_reader_does_in_firefox_from_a_server(firefox, served):
    everything(firefox(own=(served,)), f"{served}/{FIRST}.html")


@pytest.mark.thorough
@patient
@needs_browser
@packed
@whole
@pytest.mark.parametrize("context", ["desk", "phone"], indirect=True)
def test_with_the_keyboard_alone_and_on_a_phone(context):
    """From the button to a changed cell without a mouse; nothing is wider than the page; what happens is said.

    And axe-core finds nothing in the bar, the cells and the exercises, in light and dark, an error among them.
    """
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    tab = Chrome(context)
    tab.go(page_of(FIRST))
    keys = tab.page.keyboard
    tab.page.focus(".gq-live-start")
    keys.press("Enter")
    tab.until("/ready|wrong/.test(document.querySelector('.gq-live-status')?.textContent)")
    number = one_that(FIRST, lambda cell: "hide-input" not in cell["metadata"].get("tags", ()))
    tab.evaluate(f"gqLive.chapter.cells[{number - 1}].bar.querySelector('button').focus()")
    keys.press("Shift+Tab")  # into the editor before it
    assert (
        tab.evaluate("document.activeElement.getAttribute('aria-label')")
        == f"Code of cell {number}"
    )
    keys.press("Control+a")
    keys.type("print(6 * 7)")
    keys.press("Control+Enter")
    tab.until(f"gqLive.chapter.cells[{number - 1}].output.innerText.includes('42')")
    keys.press("Tab")  # leaves the editor, as it leaves every other field
    assert tab.evaluate("document.activeElement.getAttribute('aria-label')") == f"Run cell {number}"
    assert (
        tab.evaluate("document.querySelector('.gq-live-status').getAttribute('role')") == "status"
    )
    assert tab.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    parts = ".gq-live-bar button, .gq-live-tools button, .cm-content"
    assert tab.evaluate(
        f"[...document.querySelectorAll('{parts}')].every((one) => one.getAttribute('aria-label'))"
    )
    folded = one_that(FIRST, lambda cell: "hide-input" in cell["metadata"].get("tags", ()))
    tab.write(folded, "1 / 0")
    tab.run(folded)
    assert tab.evaluate(f"gqLive.chapter.cells[{folded - 1}].place.querySelector('details').open")
    tab.page.add_style_tag(content=NO_MOTION)
    # Without figures: those that the book has printed are not the business of this test.
    where = {
        "include": [[".gq-live-bar"], ["div.cell"], [".gq-live-answer"]],
        "exclude": [[".gq-figure"]],
    }
    for theme in THEMES:
        tab.page.evaluate("theme => { document.documentElement.dataset.theme = theme; }", theme)
        found = axe.run(tab.page, context=where, options={"preload": False})
        assert [(one["id"], one["nodes"][0]["html"]) for one in found.response["violations"]] == []
    tab.quiet()
    tab.close()


@pytest.mark.thorough
@patient
@needs_browser
@packed
@whole
@pytest.mark.parametrize("name", sorted(path.stem for path in (ROOT / "book").glob("*.ipynb")))
def test_every_chapter_prints_what_its_record_has(context, name):
    """All cells, from a file. What is not as in the record says so in the page: with fewer runs, or left out."""
    if not pack.offers(HTML / f"{name}.html"):
        pytest.skip(f"{name} shows no code")
    tab, cells = Chrome(context), record(name)
    tab.open(page_of(name))
    tab.run(one_that(name, lambda cell: cell["outputs"]))
    measured(name, tab.processor_seconds(), tab.evaluate("gqLive.chapter.first / 1000"))
    made = [
        cell
        for cell in pack.chapter(ROOT / "book" / f"{name}.ipynb")["cells"]
        if cell["cell_type"] == "code"
    ]
    found, seen = [], collections.Counter()
    for number, (cell, page) in enumerate(zip(cells, made, strict=True), 1):
        outputs, record_has = tab.all_of(number), compared(cell["outputs"])
        kind = next((kind for kind, keys in KINDS.items() if keys & set(page)), "as in the book")
        same = outputs is not None and compared(outputs) == record_has
        if outputs and "verify_sample(" in source(
            cell
        ):  # it recomputes nothing in a page, and warns
            same = without_sample(compared(outputs)) == without_sample(record_has)
        seen[kind] += 1
        seen["printed as in the record"] += same and bool(cell["outputs"])
        if kind == "left out":
            assert outputs is None, number
        elif outputs is None or any(one["output_type"] == "error" for one in outputs):
            found.append((number, outputs))
        elif not same and kind == "as in the book":
            found.append((number, compared(outputs), record_has))
        elif not same:
            print(f"{name}, cell {number}, {kind}: not what the record has")
    print(f"{name}: {len(cells)} cells, {sum(bool(cell['outputs']) for cell in cells)} of which print; {dict(seen)}; "
          f"{tab.processor_seconds():.0f} s of the processor")  # fmt: skip
    tab.quiet()
    tab.close()
    assert found == []


@whole
def test_every_change_for_the_page_is_of_one_cell():
    for name, changes in pack.fewer().items():
        cells = [source(cell) for cell in record(name)]
        for change in changes:
            (cell,) = [text for text in cells if change["in"] in text] or pytest.fail(
                f"{name}: {change['in']}"
            )
            assert all(text in cell for text in change.get("replace", ())), (name, change)
