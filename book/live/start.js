// Loaded by every page that has cells: offers to run them. pack.py puts MANIFEST in and this file into _static; the book
// without `make live` has an empty file in its place, and the page says in one line how to get this one.
(() => {
  "use strict";
  const manifest = /* MANIFEST */ null;
  const base = new URL("../_live/", document.currentScript.src).href;

  function offer() {
    const bar = document.getElementById("gq-live");
    const measured = bar && manifest.chapters[bar.dataset.chapter];
    if (!measured) return;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "gq-live-start";
    button.textContent = "Run this chapter here";
    const note = document.createElement("span");
    note.id = "gq-live-note";
    note.textContent =
      `Python in this page: ${measured.megabytes} MB from the book's own folder, about ${measured.seconds} seconds to the first result. ` +
      "Nothing is installed, and nothing leaves the page.";
    button.setAttribute("aria-describedby", note.id);
    button.addEventListener("click", () => {
      const asked = performance.now();
      button.disabled = true;
      const script = document.createElement("script");
      script.src = base + "page.js";
      script.onload = () => window.gqLive.start({ bar, base, manifest, asked });
      script.onerror = () => (note.textContent = "The files of this page are not complete: run make live again.");
      document.head.append(script);
    });
    bar.replaceChildren(button, note);
    bar.className = "gq-live-bar";
  }

  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", offer);
  else offer();
})();
