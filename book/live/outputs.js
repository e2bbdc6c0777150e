// Outputs of a cell in the form that the book's own have, so that they look the same.
import { outputRoom } from "./policy.js";

export function element(parent, name, attributes = {}, text = "") {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text) made.textContent = text;
  parent?.append(made);
  return made;
}

const printed = (parent, text, kind) => element(element(element(parent, "div", { class: `output ${kind}` }), "div", { class: "highlight" }), "pre", {}, text);

// What could ask for something in spite of a policy, or on a click, or later.
const BARRED = "script, link, meta, base, iframe, frame, fencedframe, object, embed, animate, set";
const LINKED = "a[*|href], area[href], [*|href]:not([*|href^='#'], [*|href^='data:'])";

const dress = ({ contentDocument }) => (contentDocument.documentElement.dataset.theme = document.documentElement.dataset.theme);
const dressAll = () => document.querySelectorAll(".gq-live-frame").forEach(dress);
new MutationObserver(dressAll).observe(document.documentElement, { attributeFilter: ["data-theme"] });

// HTML of a cell, in a frame that is as high as what is in it. It becomes elements once, and is never a text again.
async function framed(parent, html, title) {
  const { frame, place } = await outputRoom(parent, title);
  dress(frame);
  const made = new DOMParser().parseFromString(html, "text/html");
  made.querySelectorAll(BARRED).forEach((one) => one.remove());
  made.querySelectorAll(LINKED).forEach((one) => ["href", "xlink:href"].forEach((name) => one.removeAttribute(name)));
  place.append(...made.head.childNodes, ...made.body.childNodes);
  const { body } = frame.contentDocument;
  new ResizeObserver(() => (frame.style.height = `${Math.ceil(body.getBoundingClientRect().height)}px`)).observe(body);
}

function value(parent, { data, html }, caption) {
  if (html) {
    const figure = element(parent, "figure", { class: "align-default" });
    framed(figure, html, data["text/plain"] ?? "Figure");
    if (caption) figure.append(caption);
  } else if (data["text/html"] !== undefined) {
    framed(parent, data["text/html"], "Output");
  } else if (data["text/latex"] !== undefined) {
    const tex = data["text/latex"].replace(/^\$+(\\displaystyle)?|\$+$/g, "");
    const box = element(parent, "div", { class: "output text_latex math notranslate nohighlight" }, `\\[${tex}\\]`);
    window.MathJax?.startup?.promise?.then(() => window.MathJax.typesetPromise?.([box]));
  } else {
    printed(parent, data["text/markdown"] ?? data["text/plain"], "text_plain");
  }
}

// Show one output; lines of the same stream are joined, as in the record.
export function show(parent, output, caption) {
  if (output.output_type === "stream") {
    const last = parent.lastElementChild;
    if (last?.classList.contains(output.name)) last.querySelector("pre").append(output.text);
    else printed(parent, output.text, `stream ${output.name}`);
  } else if (output.output_type === "error") {
    const box = element(parent, "div", { class: "gq-live-error", role: "alert" });
    const where = output.line ? ` (line ${output.line})` : "";
    element(box, "strong", {}, `${output.ename}${where}`);
    element(box, "p", {}, output.evalue || "no message");
    const fold = element(box, "details");
    element(fold, "summary", {}, "The whole traceback");
    element(fold, "pre", { tabindex: "0" }, output.traceback);
  } else value(parent, output, caption);
}
