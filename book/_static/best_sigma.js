/* The live figure of the chapter on the corrected GQ(σ, λ): where each σ leads, and how much noise it makes.
 *
 * The numbers come from kit.best_sigma; the tools are those of explorables.js.
 */
(function (root) {
  "use strict";

  const COUNT = 21; // values of σ in the tables

  /* From a row of numbers: both methods at the k-th σ, as [squared bias, variance over α]. */
  const repaired = (row, sigma) => [row[0], row[1] + sigma * (row[2] + sigma * row[3])];
  const paper = (row, k) => row.slice(4 + 2 * k, 6 + 2 * k);
  const total = ([bias, variance], alpha) => Math.sqrt(Math.max(bias + alpha * variance, 0));

  /* The σ of least variance, anywhere, and within [0, 1] the share of the variance at σ = 0 that it saves. */
  function least(row) {
    const sigma = -row[2] / (2 * row[3]) || 0, inside = Math.max(0, Math.min(1, sigma));
    return [sigma, 1 - repaired(row, inside)[1] / row[1]];
  }

  root.gqBestSigma = { repaired, paper, total, least };
  (root.gqFigures = root.gqFigures || {})["best-sigma"] = function (box, settings) {
    const { make, panel, controls, range, text, UNIT, DASH, DOTS } = root.gqTools;
    const sigmas = range(0, 1, COUNT);
    const panels = make(box, "div", { class: "gq-panels" });
    const state = controls(panels, settings, draw);
    const errors = panel(panels, "Total error against σ", { ...UNIT, label: "σ" }, { low: 0, high: 1, label: "total error" },
      [["blue", "", "repaired"], ["red", DASH, "the paper's"]]);
    const bias = panel(panels, "Bias against σ", { ...UNIT, label: "σ" }, { low: 0, high: 1, label: "bias" },
      [["blue", "", "repaired"], ["red", DASH, "the paper's"]]);
    const noise = panel(panels, "Noise of the repaired method against σ", { ...UNIT, label: "σ" }, { low: 0, high: 1, label: "noise / noise at σ = 0" },
      [["blue", "", "repaired"], ["mark", "", "least"], ["faint", DOTS, "σ = 0"]]);
    const curves = [errors, bias].map((one) => [one.line("blue"), one.line("red", DASH)]);
    const [curve, level, low] = [noise.line("blue"), noise.line("faint", DOTS), noise.dots("mark", 5)];
    const point = errors.handle("Total error of the repaired method at σ", state, ["sigma"]);

    function draw() {
      const [sigma, lambda, alpha] = ["sigma", "lambda", "alpha"].map(state.get);
      const row = settings.formulas[state.choice()](lambda);
      [alpha, 0].forEach((size, k) => {
        const ours = sigmas.map((s) => total(repaired(row, s), size)), theirs = sigmas.map((_, i) => total(paper(row, i), size));
        const top = Math.max(...ours, ...theirs) || 1;
        [errors, bias][k].limits([-0.06 * top, 1.1 * top]);
        curves[k][0](sigmas.map((s, i) => [s, ours[i]]));
        curves[k][1](sigmas.map((s, i) => [s, theirs[i]]));
      });
      const now = total(repaired(row, sigma), alpha), index = Math.round(sigma * (COUNT - 1));
      point([sigma, now]);
      const [best, saved] = least(row), fine = range(0, 1, 101).map((s) => [s, Math.sqrt(repaired(row, s)[1] / row[1])]);
      const inside = Math.max(0, Math.min(1, best)), top = 1.1 * Math.max(...fine.map((p) => p[1]));
      // Where a small σ saves little one must look closely: the window then ends at twice the noise of σ = 0.
      noise.limits([0, inside > 0 ? Math.min(2, top) : top]);
      curve(fine);
      level([[0, 1], [1, 1]]);
      low([[inside, Math.sqrt(repaired(row, inside)[1] / row[1])]]);
      state.report(`repaired: least noise at σ = ${text(Number(inside.toFixed(3)))}`, [
        ["saved", "variance saved there", text(100 * saved) + "\u00a0%"], ["repaired", "total error at your σ: repaired", text(now)],
        ["paper", "the paper's", text(total(paper(row, index), alpha))],
      ]);
    }
    draw();
  };
})(typeof window === "undefined" ? globalThis : window);
