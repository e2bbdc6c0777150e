// What scrolls sideways, as wide things do on a phone, can be reached and moved with the keyboard; what has room enough
// is no stop of the Tab key. As long as there is more to the right it fades out there, so that one knows.
(() => {
  const PARTS = "article :is(.gq-figure, .gq-map, table, pre, div.math, .output, mjx-container)";
  const moved = ({ target }) => {
    if (target.tabIndex === 0 && target.matches(PARTS))
      target.classList.toggle("gq-more", target.scrollWidth - target.clientWidth - target.scrollLeft > 1);
  };
  // All are measured before any is changed: after a change the page would be laid out anew for the next measurement.
  const measured = (part) => {
    const hidden = part.scrollWidth - part.clientWidth;
    const scrolls = part.clientWidth > 0 && hidden > 1 && getComputedStyle(part).overflowX === "auto";
    return [part, scrolls, scrolls && hidden - part.scrollLeft > 1];
  };
  const mark = () => {
    for (const [part, scrolls, more] of [...document.querySelectorAll(PARTS)].map(measured)) {
      if (scrolls) part.tabIndex = 0;
      else part.removeAttribute("tabindex");
      part.classList.toggle("gq-more", more);
    }
  };
  let waiting = false; // a hundred parts that open at once are measured once
  const soon = () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => // of formulas.js, which comes first
      requestAnimationFrame(() => {
        waiting = false;
        mark();
      }),
    );
  };
  window.addEventListener("load", async () => {
    await window.MathJax?.startup?.promise;
    soon();
    window.addEventListener("resize", soon);
    document.addEventListener("toggle", soon, true);
    document.addEventListener("click", soon);
    document.addEventListener("scroll", moved, { capture: true, passive: true });
  });
})();
