// The scorecard's form: filters and sorts the claims that are on the page. Without it all of them stand there, by verdict.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  const form = document.querySelector(".gq-filter");
  if (!form) return;
  const claims = [...document.querySelectorAll(".gq-claim")];
  const groups = [...document.querySelectorAll(".gq-group")];
  const home = new Map(claims.map((claim) => [claim, claim.parentElement]));
  const flat = document.querySelector(".gq-flat");
  const status = form.querySelector(".gq-status");
  const titles = { place: "In the order of the paper", weight: "The gravest first" };
  const GREEK = { alpha: "α", beta: "β", gamma: "γ", delta: "δ", epsilon: "ε", eta: "η", theta: "θ", lambda: "λ", mu: "μ",
    nu: "ν", xi: "ξ", pi: "π", rho: "ρ", sigma: "σ", phi: "φ", omega: "ω" };

  // What the reader typed, as words that all must occur; names of Greek letters find the letters.
  const wanted = (text) => text.toLowerCase().split(/\s+/).filter(Boolean)
    .map((word) => (Object.hasOwn(GREEK, word) ? [word, GREEK[word]] : [word]));

  // A word of the reader's is looked for as it is; with a sign in it, as in λ=0, spaces do not count.
  const occurs = (word, words) => words.includes(word) || (/[=<>≤≥→∈+]/.test(word) && words.replaceAll(" ", "").includes(word));

  const matches = (claim, chosen) => {
    const { verdict, weight, parts, repeats, words } = claim.dataset;
    return (!chosen.verdicts.length || chosen.verdicts.includes(verdict))
      && (!chosen.weight || chosen.weight === weight)
      && (!chosen.part || parts.split("|").includes(chosen.part))
      && (chosen.repeats || !repeats)
      && chosen.words.every((ways) => ways.some((way) => occurs(way, words)));
  };

  const arrange = (order) => {
    const key = { place: (claim) => Number(claim.dataset.place), weight: (claim) => Number(claim.dataset.grave) }[order];
    flat.hidden = !key;
    if (!key) {
      claims.forEach((claim) => home.get(claim).append(claim));
      return;
    }
    flat.querySelector("h3").textContent = titles[order];
    const sorted = [...claims].sort((a, b) => key(a) - key(b) || a.dataset.place - b.dataset.place);
    flat.querySelector("ol").append(...sorted);
  };

  let order = "";
  const apply = () => {
    const data = new FormData(form);
    const chosen = {
      verdicts: data.getAll("verdict"), weight: data.get("weight"), part: data.get("part"),
      repeats: data.has("repeats"), words: wanted(data.get("words")),
    };
    claims.forEach((claim) => { claim.hidden = !matches(claim, chosen); });
    if (data.get("order") !== order) arrange(order = data.get("order"));
    const shown = claims.filter((claim) => !claim.hidden).length;
    const untouched = shown === claims.length && !order;
    // A section in which nothing is left goes, too, with the heading that the page gives it.
    for (const group of groups) {
      const section = group.closest("section") || group;
      section.hidden = !untouched && !group.querySelector(".gq-claim:not([hidden])");
    }
    status.textContent = shown === claims.length ? `All ${shown} entries are shown.`
      : shown ? `${shown} of ${claims.length} entries ${shown === 1 ? "is" : "are"} shown.`
        : "No entry is like that; take something back, or show all.";
  };

  // Whoever follows a link to a claim that is filtered out sees it all the same.
  const reveal = () => {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target || !target.closest("[hidden]") || !document.querySelector(".bd-article")?.contains(target)) return;
    form.reset();
    apply();
    target.scrollIntoView();
  };

  form.addEventListener("input", apply);
  form.addEventListener("change", apply);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(apply));
  addEventListener("hashchange", reveal);
  form.hidden = false;
  apply();
  reveal();
});
