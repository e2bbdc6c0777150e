// A chapter that runs where it is read: its cells become editors, and their outputs appear in place.
import { makeEditor } from "./editor.js";
import { element, show } from "./outputs.js";
import { Files, Python, Stopped } from "./python.js";

const HIDDEN = "remove-cell"; // such a cell has no place in the page

// What the reader changed, by the text that it replaces: a chapter that was rewritten forgets edits of what is gone.
class Edits {
  constructor(chapter) {
    this.key = `gq-live ${chapter}`;
    try {
      this.kept = JSON.parse(localStorage.getItem(this.key)) ?? {};
    } catch {
      this.kept = {};
    }
  }

  // `given` is what the page shows by itself: the cell of the book, or what it is here.
  set(original, text, given = original) {
    if (text === given) delete this.kept[original];
    else this.kept[original] = text;
    try {
      localStorage.setItem(this.key, JSON.stringify(this.kept));
    } catch {
      // a browser that keeps nothing: the edits live as long as the page
    }
  }
}

function button(parent, text, label, onClick) {
  const made = element(parent, "button", { type: "button", class: "gq-live-button", "aria-label": label }, text);
  made.addEventListener("click", onClick);
  return made;
}

class Cell {
  constructor(chapter, number, { source, rendered, here, says, minutes, cannot, follows }, place) {
    Object.assign(this, { chapter, number, source, rendered, here, says, minutes, cannot, follows, place, name: `<cell ${number}>`, ran: undefined });
    const input = place?.querySelector(".cell_input");
    if (input) this.makeEditable(input);
    else if (place) place.prepend((this.bar = element(null, "div", { hidden: "" })));
    if (place) {
      this.printed = [...place.querySelectorAll(":scope > .cell_output, :scope > details > .cell_output")];
      this.output = element(place, "div", { class: "cell_output docutils container gq-live-output", hidden: "" });
    }
  }

  makeEditable(input) {
    const { chapter, number } = this;
    const given = this.here ?? this.source;
    const text = chapter.edits.kept[this.source] ?? given;
    input.querySelector(".highlight-python, .highlight-ipython3, div.highlight")?.setAttribute("hidden", "");
    const box = element(input, "div", { class: "gq-live-editor" });
    this.editor = makeEditor({
      parent: box,
      text,
      label: `Code of cell ${number}`,
      onRun: () => chapter.runCell(this),
      onRunNext: () => {
        chapter.runCell(this);
        chapter.after(this)?.editor.focus();
      },
      onChange: (now) => {
        chapter.edits.set(this.source, now, given);
        this.tell();
      },
    });
    this.bar = element(input, "div", { class: "gq-live-tools", role: "group", "aria-label": `Cell ${number}` });
    button(this.bar, "Run", `Run cell ${number}`, () => chapter.runCell(this));
    button(this.bar, "Run all above", `Run all cells above cell ${number}, and this one`, () => chapter.runAbove(this));
    this.resetting = button(this.bar, "Reset", `Reset cell ${number} to what the book has`, () => this.reset());
    this.state = element(this.bar, "span", { class: "gq-live-state" });
    const note = this.note();
    if (note) element(input, "p", { class: "gq-live-note" }, note);
    this.tell();
  }

  // What is not as in the book, and why.
  note() {
    if (this.cannot) return `This cell cannot run in a page: ${this.cannot}. The chapter goes on without it.`;
    if (this.minutes)
      return `This cell takes about ${this.minutes} min here, where nothing is compiled: Run all leaves it out, and what the book prints stays. Run starts it all the same.`;
    if (this.here) return `Here with fewer runs, since nothing is compiled in a page: ${this.says}. What comes out is not what the book prints; Reset gives the book's cell.`;
    if (this.follows) return "This cell works on what a cell above computes here with fewer runs: what comes out need not be what the book prints.";
    return "";
  }

  // Whether this cell is left out when others ask for it.
  left() {
    return Boolean(this.minutes || this.cannot) && this.text() === this.source;
  }

  text() {
    return this.editor?.text() ?? this.here ?? this.source;
  }

  // The word beside the buttons.
  tell(word) {
    if (!this.editor) return;
    const changed = this.text() !== this.source;
    this.resetting.disabled = !changed && this.output?.hidden !== false;
    this.state.textContent = word ?? (this.text() === this.here ? "here with fewer runs" : changed ? "changed" : "");
  }

  reset() {
    this.editor.replace(this.source);
    this.editor.mark(0);
    this.output.hidden = true;
    this.printed.forEach((one) => (one.hidden = false));
    this.ran = undefined;
    this.tell();
  }

  async run(asked = false) {
    const text = this.text();
    if (this.left() && (this.cannot || !asked)) {
      this.ran = text;
      this.tell(this.cannot ? "cannot run here" : "left out");
      return true;
    }
    this.tell("running …");
    this.editor?.mark(0);
    this.place?.setAttribute("aria-busy", "true");
    const captions = this.printed?.flatMap((one) => [...one.querySelectorAll("figcaption")]) ?? [];
    this.outputs = [];
    this.output?.replaceChildren();
    const begun = performance.now();
    let shown = false;
    try {
      const good = await this.chapter.python.run(text, this.name, (output) => {
        this.outputs.push(output);
        this.chapter.first ??= performance.now() - this.chapter.asked;
        const { "text/markdown": markdown, "text/html": html } = output.data ?? {};
        if (!this.place || this.rendered.includes(markdown ?? html)) return; // the page has it, rendered
        shown = true;
        if (output.output_type === "error") this.fault(output.line);
        const caption = output.html && captions.shift()?.cloneNode(true);
        if (caption) caption.querySelectorAll("[id]").forEach((one) => one.removeAttribute("id"));
        show(this.output, output, caption);
        this.reveal();
      });
      if (shown || !this.rendered.length) this.reveal();
      this.ran = good ? text : undefined;
      const seconds = (performance.now() - begun) / 1000;
      this.tell(good ? `ran in ${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s` : "stopped by an error");
      return good;
    } catch (error) {
      this.tell(error instanceof Stopped ? "stopped" : "failed");
      throw error;
    } finally {
      this.place?.removeAttribute("aria-busy");
    }
  }

  // The line of an error is marked, and shown if the cell was folded.
  fault(line) {
    const fold = this.place.querySelector(":scope > details");
    if (fold) fold.open = true;
    this.editor?.mark(line);
  }

  // What was computed takes the place of what was printed.
  reveal() {
    if (!this.output) return;
    this.printed.forEach((one) => (one.hidden = true));
    this.output.hidden = false;
  }
}

// An empty cell under an exercise. The solution's asserts are applied to what the reader defined.
class Answer {
  constructor(chapter, exercise, cells) {
    Object.assign(this, { chapter, cells, key: `answer ${exercise.id}` });
    this.solution = cells.map((cell) => cell.source).join("\n");
    const box = element(exercise, "div", { class: "gq-live-answer" });
    this.hint = element(box, "p", { class: "gq-live-hint" }, "Your answer, in code:");
    this.editor = makeEditor({
      parent: element(box, "div", { class: "gq-live-editor" }),
      text: chapter.edits.kept[this.key] ?? "",
      label: `Your answer to ${exercise.querySelector(".caption-number")?.textContent.trim() ?? "the exercise"}`,
      onRun: () => this.check(),
      onRunNext: () => this.check(),
      onChange: (now) => chapter.edits.set(this.key, now || this.key),
    });
    if (this.editor.text() === this.key) this.editor.replace("");
    button(element(box, "div", { class: "gq-live-tools" }), "Check my answer", "Check my answer", () => this.check());
    this.output = element(box, "div", { class: "cell_output gq-live-output" });
    this.verdict = element(box, "p", { class: "gq-live-verdict", role: "status" });
  }

  // What the answer should define, once Python can say so.
  async explain() {
    const names = await this.chapter.python.ask("asked", { source: this.solution });
    this.hint.textContent = names.length
      ? `Your answer, in code. The solution asserts something about: ${names.join(", ")}.`
      : "Your answer, in code. The solution asserts nothing about a single name: what it prints is shown below what yours prints.";
  }

  check() {
    return this.chapter.queue(async () => {
      this.verdict.textContent = "";
      this.output.replaceChildren();
      if (!(await this.chapter.catchUp(this.cells[0]))) return;
      const { python } = this.chapter;
      await python.prepare(`${this.solution}\n${this.editor.text()}`);
      python.say("Checking …");
      const found = await python.ask(
        "check",
        { answer: this.editor.text(), solution: this.solution, name: "<answer>" },
        (output) => {
          if (output.output_type === "error") this.editor.mark(output.line);
          show(this.output, output);
        },
      );
      this.verdict.dataset.verdict = found.verdict;
      this.verdict.textContent = this.words({ ...found, printed: this.output.childElementCount > 0 });
      python.say("Checked.");
    });
  }

  words({ verdict, given = [], wanted = [], left = [], failed, printed }) {
    const names = (list) => list.join(", ");
    const rest = left.length ? ` It asserts something about ${names(left)} too.` : "";
    return {
      right: `Right: ${names(given)} passed what the solution asserts.${rest}`,
      compare: printed
        ? "Above is what your code prints, and below it what the solution prints: compare."
        : "Your code ran. Neither it nor the solution prints anything: open the solution, and compare.",
      wrong: `Not yet: with your ${names(given)} this fails: ${failed}`,
      unfit: `Your ${names(given)} cannot be checked as the solution does it: ${failed}`,
      missing: `Define ${names(wanted)}: that is what the solution asserts something about.`,
      error: "Your code stopped with an error.",
    }[verdict];
  }
}

class Chapter {
  constructor({ bar, base, manifest, asked }) {
    Object.assign(this, { bar, manifest, asked, name: bar.dataset.chapter, cells: [], last: Promise.resolve(), stops: 0 });
    this.edits = new Edits(this.name);
    this.files = new Files(base, manifest);
    this.python = new Python(this.files, manifest, (text) => this.say(text));
  }

  say(text) {
    this.status.textContent = text;
  }

  async open() {
    this.bar.replaceChildren();
    this.bar.setAttribute("role", "region");
    this.bar.setAttribute("aria-label", "This chapter, run here");
    button(this.bar, "Run all", "Run all cells", () => this.runAll());
    this.stopping = button(this.bar, "Stop", "Stop what runs", () => this.stop());
    this.stopping.disabled = true;
    button(this.bar, "Download as notebook", "Download as notebook, with your changes", () => this.download());
    this.status = element(this.bar, "span", { class: "gq-live-status", role: "status" });
    const starting = this.python.start();
    this.notebook = JSON.parse(await (await this.files.get(`chapter-${this.name}`)).text());
    this.place();
    const begun = performance.now();
    await starting;
    for (const answer of this.answers) await answer.explain();
    this.say(`Python is ready (${((performance.now() - begun) / 1000).toFixed(0)} s). Change a cell and press Run, or Shift and Enter.`);
  }

  // Editors in the place of the cells. Cells of the record and of the page come in the same order.
  place() {
    const article = document.querySelector("article") ?? document.body;
    const places = [...article.querySelectorAll("div.cell")];
    const code = this.notebook.cells.filter((cell) => cell.cell_type === "code");
    const shown = code.filter((cell) => !cell.tags.includes(HIDDEN));
    const same = shown.every((cell, at) => {
      const text = places[at]?.querySelector(".cell_input pre")?.textContent;
      return text === undefined || text.trimEnd() === cell.source.trimEnd();
    });
    if (shown.length !== places.length || !same) throw new Error("The page is older than its notebook: run make live again.");
    code.forEach((cell, at) => {
      const place = cell.tags.includes(HIDDEN) ? undefined : places[shown.indexOf(cell)];
      this.cells.push(new Cell(this, at + 1, cell, place));
    });
    this.answers = [];
    for (const solution of article.querySelectorAll(".solution.admonition")) {
      const link = solution.querySelector('.admonition-title a[href^="#"]');
      const exercise = link && document.getElementById(link.getAttribute("href").slice(1));
      const cells = this.cells.filter((cell) => cell.place && solution.contains(cell.place));
      if (exercise && cells.length) this.answers.push(new Answer(this, exercise, cells));
    }
  }

  after(cell) {
    return this.cells.slice(cell.number).find((next) => next.editor);
  }

  // One thing at a time, in the order in which it was asked for; Stop ends what waits, too.
  queue(work) {
    const { stops } = this;
    const next = this.last.then(async () => {
      if (stops !== this.stops) return false;
      this.stopping.disabled = false;
      try {
        return await work();
      } catch (error) {
        if (error instanceof Stopped) this.forget();
        else this.say(`This went wrong: ${error.message}`);
        return false;
      } finally {
        this.stopping.disabled = true;
      }
    });
    this.last = next;
    return next;
  }

  // `asked` is the cell that the reader pointed at; others may be left out.
  async runThese(cells, asked) {
    for (const cell of cells) {
      if (!(await cell.run(cell === asked))) {
        this.say(`Cell ${cell.number} stopped with an error.`);
        return false;
      }
      const later = this.cells.slice(cell.number).filter((other) => other.ran !== undefined && !cells.includes(other));
      if (cell.text() !== cell.source) later.forEach((other) => other.tell(`from before the change in cell ${cell.number}`));
    }
    this.say(cells.length ? `Cell ${cells.at(-1).number} is done.` : "Ready.");
    return true;
  }

  // Cells before this one that have not run as they stand; a cell needs what they define.
  async catchUp(cell) {
    return this.runThese(this.cells.slice(0, cell.number - 1).filter((other) => other.ran !== other.text()));
  }

  runCell(cell) {
    return this.queue(async () => (await this.catchUp(cell)) && this.runThese([cell], cell));
  }

  runAbove(cell) {
    return this.queue(() => this.runThese(this.cells.slice(0, cell.number), cell));
  }

  runAll() {
    return this.queue(() => this.runThese(this.cells));
  }

  stop() {
    this.stops += 1;
    this.python.stop();
  }

  forget() {
    this.cells.forEach((cell) => (cell.ran = undefined));
    this.say("Stopped. Python starts afresh with the next Run, which runs the cells above first.");
  }

  // The chapter as it stands in the page, as a notebook: changed cells, and answers before the solution that checks them.
  written() {
    const code = this.cells[Symbol.iterator]();
    const labelled = (tags) => (tags.length ? { tags } : {});
    const made = (source, tags) => ({ cell_type: "code", metadata: labelled(tags), source, execution_count: null, outputs: [] });
    const cells = this.notebook.cells.flatMap(({ cell_type, source, tags }) => {
      if (cell_type !== "code") return [{ cell_type, metadata: labelled(tags), source }];
      const cell = code.next().value;
      const answers = this.answers.filter((answer) => answer.cells[0] === cell && answer.editor.text());
      return [...answers.map((answer) => made(answer.editor.text(), ["answer"])), made(cell.text(), tags)];
    });
    const kernelspec = { display_name: "Python 3", language: "python", name: "python3" };
    return JSON.stringify({ cells, metadata: { kernelspec }, nbformat: 4, nbformat_minor: 4 }, null, 1);
  }

  download() {
    const link = element(null, "a", { download: `${this.name}.ipynb`, href: URL.createObjectURL(new Blob([this.written()])) });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }
}

window.gqLive = {
  async start(settings) {
    const chapter = (window.gqLive.chapter = new Chapter(settings));
    try {
      await chapter.open();
    } catch (error) {
      chapter.say(`This went wrong: ${error.message}`);
    }
  },
  take: (name, text) => window.gqLive.chapter.files.take(name, text),
};
