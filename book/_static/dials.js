/* Live figures of the first two chapters and of the table of cases: the dial of one update, of one payment, of chance.
 *
 * The formulas come from kit.dials; the tools are those of explorables.js.
 */
(function (root) {
  "use strict";

  const DAYS = 25;

  /* The law of a sum of `cells` independent counts, each with the probabilities `single`. */
  function summed(single, cells) {
    let law = [1];
    for (let c = 0; c < cells; c++) {
      const next = new Array(law.length + single.length - 1).fill(0);
      law.forEach((p, i) => single.forEach((q, j) => { next[i + j] += p * q; }));
      law = next;
    }
    return law;
  }

  /* P(count ≥ k) for every k. */
  function tails(law) {
    const result = law.slice();
    for (let k = law.length - 2; k >= 0; k--) result[k] += result[k + 1];
    return result;
  }

  /* The count that a share in per cent stands for. */
  const counted = (share, total) => Math.round((share / 100) * total);

  root.gqDials = { summed, tails, counted };
  const figures = (root.gqFigures = root.gqFigures || {});

  figures.backup = function (box, settings) {
    const { make, panel, controls, range, text, UNIT } = root.gqTools;
    const panels = make(box, "div", { class: "gq-panels" });
    const state = controls(panels, settings, draw);
    const diagram = panel(panels, "Backup diagram", { low: 0, high: 1, ticks: [], label: "left: run, the crew’s · right: repair, the plan’s" }, { low: 0, high: 1, ticks: [], label: "(worn, run) on top, broken in the middle" },
      [["blue", "", "taken"], ["red", "7 4", "prescribed"]]);
    const errors = panel(panels, "Error of the update against σ", { ...UNIT, label: "σ" }, { low: -30, high: 30, label: "error δ" });
    const TOP = [0.5, 0.9], MIDDLE = [0.5, 0.5], ENDS = [[0.2, 0.1], [0.8, 0.1]];
    diagram.line("blue")([TOP, MIDDLE]);
    const branches = [diagram.line("blue"), diagram.line("red", "7 4")];
    diagram.dots("mark", 6)([TOP, ...ENDS]);
    diagram.dots("start", 9)([MIDDLE]);
    const line = errors.line("blue"), point = errors.handle("Error at σ", state, ["sigma"]);

    function draw() {
      const [sigma, run, repair, alpha] = ["sigma", "run", "repair", "alpha"].map(state.get);
      const at = (s) => settings.formulas.update(s, run, repair, alpha);
      const values = range(0, 1, 2).map((s) => [s, at(s)[1]]), [target, error, guess] = at(sigma);
      // A branch as long as its weight: what counts more reaches further towards its action.
      [sigma, 1 - sigma].forEach((weight, k) => branches[k](weight ? [MIDDLE, MIDDLE.map((x, i) => x + weight * (ENDS[k][i] - x))] : []));
      const size = Math.max(5, ...values.map((p) => Math.abs(p[1])));
      errors.limits([-1.15 * size, 1.15 * size]);
      line(values);
      point([sigma, error]);
      state.report(error > 0 ? "the guess rises" : error < 0 ? "the guess falls" : "the guess stays", [
        ["weights", "weights of run and repair", `${text(sigma)}, ${text(1 - sigma)}`],
        ["target", "target", text(target)], ["error", "error", text(error)], ["guess", "30 becomes", text(guess)],
      ]);
    }
    draw();
  };

  figures.credit = function (box, settings) {
    const { make, panel, controls, range, text, UNIT } = root.gqTools;
    const panels = make(box, "div", { class: "gq-panels" });
    const state = controls(panels, settings, draw);
    const fading = panel(panels, "Credit of one visit", { low: 0, high: DAYS - 1, label: "days since the visit" }, { low: 0, high: 1.05, ticks: [0, 0.25, 0.5, 0.75, 1], label: "credit" });
    const paying = panel(panels, "What each pair is paid", { low: -0.5, high: 2.5, ticks: [0, 1, 2], label: "day of the visit" }, { low: -6, high: 8, label: "paid" },
      [["blue", "", "with the trace"], ["start", "", "own day alone"]]);
    const against = panel(panels, "What the first pair is paid, against λ", { ...UNIT, label: "λ" }, { low: -6, high: 8, label: "paid to (new, run)" });
    const curve = fading.line("blue"), next = fading.dots("mark", 5);
    const course = against.line("blue"), point = against.handle("Paid to the first pair at λ", state, ["lambda"]);
    const bars = range(0, 2, 3).map(() => paying.line("blue")), ends = paying.dots("mark", 5), own = paying.dots("start", 5);

    function draw() {
      const [lambda, gamma] = ["lambda", "gamma"].map(state.get);
      const [fade] = settings.formulas.fade(lambda, gamma), all = settings.formulas.credit(lambda, gamma);
      curve(range(0, DAYS - 1, DAYS).map((day) => [day, day ? fade ** day : 1]));
      next([[1, fade]]);
      const errors = all.slice(0, 3), paid = all.slice(3);
      const low = Math.min(0, ...all), high = Math.max(0, ...all), margin = 0.1 * (high - low);
      paying.limits([low - margin, high + margin]);
      const firsts = range(0, 1, 51).map((l) => [l, settings.formulas.credit(l, gamma)[3]]), seen = [0, ...firsts.map((p) => p[1])];
      const span = Math.max(...seen) - Math.min(...seen) || 1;
      against.limits([Math.min(...seen) - 0.1 * span, Math.max(...seen) + 0.1 * span]);
      course(firsts);
      point([lambda, paid[0]]);
      bars.forEach((bar, j) => bar([[j, 0], [j, paid[j]]]));
      ends(paid.map((x, j) => [j, x]));
      own(errors.map((x, j) => [j + 0.15, x]));
      const days = fade < 1 ? text(1 / (1 - fade)) : "∞";
      state.report(`the credit of a visit adds up to ${days} ${days === "1" ? "day" : "days"}`, [
        ["errors", "errors", errors.map(text).join(", ")], ["paid", "paid", paid.map(text).join(", ")],
      ]);
    }
    draw();
  };

  figures.null = function (box, settings) {
    const { make, panel, controls, range, text, DOTS } = root.gqTools;
    const panels = make(box, "div", { class: "gq-panels" });
    const state = controls(panels, settings, draw);
    const PER = { low: 0, high: 100, ticks: [0, 25, 50, 75, 100], label: "share of one case, %" };
    const law = panel(panels, "Law of the share", PER, { low: 0, high: 1, label: "probability" }, [["blue", "", "by chance"], ["mark", "", "observed"], ["faint", DOTS, "a third"]]);
    const chance = panel(panels, "Probability of a share at least as large", PER, { low: 0, high: 1, ticks: [0, 0.25, 0.5, 0.75, 1], label: "probability of as much or more" });
    const [shape, third, seen] = [law.line("blue"), law.line("faint", DOTS), law.dots("mark", 5)];
    const curve = chance.line("blue"), point = chance.handle("Observed share", state, ["share"]);

    function draw() {
      const [share, cells, n] = ["share", "cells", "n"].map(state.get);
      const single = range(0, n, n + 1).map((k) => settings.formulas.single(n, k)[0]);
      const all = summed(single, cells), above = tails(all), total = n * cells, count = counted(share, total);
      const at = (k) => (100 * k) / total, top = Math.max(...all);
      law.limits([0, 1.15 * top]);
      shape(all.map((p, k) => [at(k), p]));
      third([[100 / 3, 0], [100 / 3, 1.15 * top]]);
      seen([[at(count), all[count]]]);
      curve(above.map((p, k) => [at(k), p]));
      point([at(count), above[count]]);
      state.report(`as much or more by chance: ${text(above[count])}`, [
        ["count", "count", `${count} of ${total}`], ["expected", "expected", text(total / 3)],
        ["sd", "standard deviation of the share", text((100 * Math.sqrt((cells * n * (n + 3)) / 18)) / total) + "\u00a0%"],
      ]);
    }
    draw();
  };
})(typeof window === "undefined" ? globalThis : window);
