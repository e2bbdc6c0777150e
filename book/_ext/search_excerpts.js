/* Excerpts for the page of results. Sphinx would fetch each page for them, which a browser refuses for a book that was
 * opened as a file; here the words of the pages come along with the script. */
(function () {
  "use strict";
  const WIDTH = 220;

  /* The stretch of text around the first place where one of the terms begins a word, as [before, hit, after]. */
  function around(words, terms) {
    const escaped = terms.map((term) => term.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
    const found = new RegExp("(?<![\\p{L}\\p{N}])(" + escaped.join("|") + ")[\\p{L}\\p{N}]*", "iu").exec(words);
    if (!found) return null;
    let low = Math.max(0, found.index - WIDTH / 2), high = Math.min(words.length, found.index + WIDTH);
    if (low > 0) low = words.indexOf(" ", low) + 1;
    if (high < words.length) high = words.lastIndexOf(" ", high);
    const end = found.index + found[0].length;
    return [(low ? "… " : "") + words.slice(Math.min(low, found.index), found.index), found[0], words.slice(end, Math.max(end, high)) + (high < words.length ? " …" : "")];
  }

  function explain(item) {
    const link = item.querySelector("a");
    if (!link || item.querySelector(".gq-excerpt")) return;
    const words = window.gqWords[link.getAttribute("href").split(/[?#]/)[0]];
    const terms = (new URLSearchParams(location.search).get("q") || "").split(/[\s,]+/).filter(Boolean);
    const parts = words && terms.length && around(words, terms);
    if (!parts) return;
    const excerpt = document.createElement("p");
    excerpt.className = "gq-excerpt";
    const hit = document.createElement("mark");
    hit.textContent = parts[1];
    excerpt.append(parts[0], hit, parts[2]);
    item.append(excerpt);
  }

  document.addEventListener("DOMContentLoaded", () => {
    const results = document.getElementById("search-results");
    if (!results) return;
    const all = () => results.querySelectorAll("ul.search > li").forEach(explain);
    new MutationObserver(all).observe(results, { childList: true, subtree: true });
    all();
  });
})();
