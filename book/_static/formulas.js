// A formula in a sentence cannot be folded. Where it is wider than the sentence, as on a phone, it gets a line of its
// own that scrolls, instead of being cut at the edge.
(() => {
  const fit = () => {
    const formulas = [...document.querySelectorAll("article mjx-container:not([display])")];
    formulas.forEach((formula) => formula.classList.remove("gq-wide"));
    const wide = formulas.filter((formula) => {
      const inner = formula.querySelector("mjx-math");
      const room = formula.parentElement.closest("p, li, td, dd, figcaption, div");
      return inner && inner.getBoundingClientRect().width > room.clientWidth + 1;
    });
    wide.forEach((formula) => formula.classList.add("gq-wide"));
  };
  window.addEventListener("load", () => {
    if (!window.MathJax?.startup) return;
    window.MathJax.startup.promise.then(() => {
      fit();
      let width = innerWidth;
      window.addEventListener("resize", () => {
        if (innerWidth !== width) fit();
        width = innerWidth;
      });
    });
  });
})();
