// A formula in a sentence cannot be folded. Where it is wider than the sentence, as on a phone, it gets a line of its
// own that scrolls, instead of being cut at the edge. What is folded away has no width: it is measured when it opens.
// And what touches a formula, as the full stop after it or the bracket before it, stays on its line.
(() => {
  const AFTER = [/^\S{1,12}(?=\s|$)/, /^[.,;:!?)]+/], BEFORE = [/(?<=^|\s)\S{1,6}$/, /[([“‘]+$/];
  const touching = (node, patterns) => {
    if (node?.nodeType !== Node.TEXT_NODE) return null;
    return patterns.map((pattern) => node.data.match(pattern)).find(Boolean) ?? null;
  };
  const glue = (formula) => {
    const whole = formula.closest("span.math") ?? formula;
    const [before, after] = [whole.previousSibling, whole.nextSibling];
    const [open, close] = [touching(before, BEFORE), touching(after, AFTER)];
    if (!open && !close) return;
    const piece = document.createElement("span");
    piece.className = "gq-glued";
    whole.before(piece);
    if (open) piece.append(before.splitText(open.index));
    piece.append(whole);
    if (close) {
      after.splitText(close[0].length);
      piece.append(after);
    }
  };
  const fit = (part) => {
    const formulas = [...part.querySelectorAll("mjx-container:not([display])")];
    formulas.forEach((formula) => formula.classList.remove("gq-wide"));
    const wide = formulas.filter((formula) => {
      const inner = formula.closest(".gq-glued") ?? formula.querySelector("mjx-math");
      const room = formula.parentElement.closest("p, li, td, dd, figcaption, div");
      return inner && inner.getBoundingClientRect().width > room.clientWidth + 1;
    });
    wide.forEach((formula) => formula.classList.add("gq-wide"));
  };
  window.addEventListener("load", () => {
    const article = document.querySelector("article");
    if (!article || !window.MathJax?.startup) return;
    window.MathJax.startup.promise.then(() => {
      article.querySelectorAll("mjx-container:not([display])").forEach(glue);
      fit(article);
      let width = innerWidth;
      window.addEventListener("resize", () => {
        if (innerWidth !== width) fit(article);
        width = innerWidth;
      });
      const opened = (event) => {
        const part = event.target.closest?.("details, .admonition");
        if (part && article.contains(part)) requestAnimationFrame(() => fit(part));
      };
      document.addEventListener("toggle", opened, true);
      document.addEventListener("click", opened);
    });
  });
})();
