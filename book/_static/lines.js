// What is read as one piece stays on one line: an equation among words (σ = 0), a method with its arguments (GQ(σ, λ)),
// and a short word of code with a hyphen in it (->, --runs), after which a browser would break.
(() => {
  const ASIDE = "pre, code, script, style, svg, .math, mjx-container, .gq-live, .gq-glued";
  const PAIR = String.raw`[^\s.,;:!?()]*\([^\s()]{1,6}, [^\s()]{1,6}\)\S*`;
  const TERM = String.raw`(?:${PAIR}|[^\s.,;:!?)]\S*)`;
  const PIECE = new RegExp(`${TERM}(?: [=<>≤≥≠≈→] ${TERM})+|${PAIR}`, "g");
  const [IN_TEXT, IN_TABLE, IN_CODE] = [24, 16, 12]; // characters: a longer piece would not fit on a phone
  const glue = (text) => {
    const longest = text.parentElement.closest("table") ? IN_TABLE : IN_TEXT;
    const found = [...text.data.matchAll(PIECE)].filter((match) => match[0].length <= longest);
    for (const match of found.reverse()) { // from the end, so that places before stay what they are
      const piece = document.createElement("span");
      piece.className = "gq-glued";
      text.splitText(match.index + match[0].length);
      const whole = text.splitText(match.index);
      whole.replaceWith(piece);
      piece.append(whole);
    }
  };
  window.addEventListener("load", () => {
    const article = document.querySelector("article");
    if (!article) return;
    const walker = document.createTreeWalker(article, NodeFilter.SHOW_TEXT);
    const texts = [];
    while (walker.nextNode()) if (!walker.currentNode.parentElement.closest(ASIDE)) texts.push(walker.currentNode);
    texts.forEach(glue);
    for (const word of article.querySelectorAll("code .pre"))
      if (word.textContent.includes("-") && word.textContent.length <= IN_CODE) word.classList.add("gq-glued");
  });
})();
