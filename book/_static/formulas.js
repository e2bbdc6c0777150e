// A formula in a sentence cannot be folded. Where it is wider than the sentence, as on a phone, it gets a line of its
// own that scrolls, instead of being cut at the edge. What is folded away has no width: it is measured when it opens.
// And the full stop or comma after a formula stays on its line.
(() => {
  const glue = (formula) => {
    const whole = formula.closest("span.math") ?? formula;
    const after = whole.nextSibling;
    const mark = after?.nodeType === Node.TEXT_NODE && after.data.match(/^[.,;:!?)]+/);
    if (!mark) return;
    after.splitText(mark[0].length);
    const both = document.createElement("span");
    both.className = "gq-glued";
    whole.before(both);
    both.append(whole, after);
  };
  const fit = (part) => {
    const formulas = [...part.querySelectorAll("mjx-container:not([display])")];
    formulas.forEach((formula) => formula.classList.remove("gq-wide"));
    const wide = formulas.filter((formula) => {
      const inner = formula.querySelector("mjx-math");
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
