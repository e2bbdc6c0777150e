// Outputs of a cell in the form that the book's own have, so that they look the same.

export function element(parent, name, attributes = {}, text = "") {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text) made.textContent = text;
  parent?.append(made);
  return made;
}

const printed = (parent, text, kind) => element(element(element(parent, "div", { class: `output ${kind}` }), "div", { class: "highlight" }), "pre", {}, text);

function value(parent, { data, html }, caption) {
  if (html) {
    const figure = element(parent, "figure", { class: "align-default" });
    figure.innerHTML = html;
    if (caption) figure.append(caption);
    return;
  }
  if (data["text/html"] !== undefined) {
    element(parent, "div", { class: "output text_html" }).innerHTML = data["text/html"];
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
