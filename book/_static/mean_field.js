/* The live figure of the chapter on the expected update: the field of arrows Aθ + b of the machine with two weights.
 *
 * The formulas come from kit.mean_field; the tools, and all numerics, are those of explorables.js.
 */
(function (root) {
  "use strict";

  const COUNT = 9, TIME = 60, STEP = 0.25;

  /* −A⁻¹b of a 2 × 2 system, [a, b, c, d] being A by rows. */
  function rest([a, b, c, d], [u, v]) {
    const det = a * d - b * c;
    return [(b * v - d * u) / det, (c * u - a * v) / det];
  }

  /* The two eigenvalues, larger real part first, as pairs [re, im]. */
  function eigenvalues([a, b, c, d]) {
    const half = (a + d) / 2, square = ((a - d) / 2) ** 2 + b * c, root = Math.sqrt(Math.abs(square));
    return square >= 0 ? [[half + root, 0], [half - root, 0]] : [[half, root], [half, -root]];
  }

  /* θ(t) = θ_* + exp(tA)(0 − θ_*) at t = 0, h, 2h, …, from zero. */
  function course(entries, end, h, points) {
    const tools = root.gqNumbers;
    return tools.path(tools.square(entries, 2), end.map((x) => -x), h, points).map((x) => x.map((part, k) => part + end[k]));
  }

  /* Arrows over [0, size]², longest one cell, as long as the root of the step; each [from, to]. The origin comes first. */
  function arrows(entries, b, size, count) {
    const cell = size / (count - 1), all = [];
    for (let j = 0; j < count; j++)
      for (let i = 0; i < count; i++) {
        const [x, y] = [i * cell, j * cell];
        all.push([x, y, entries[0] * x + entries[1] * y + b[0], entries[2] * x + entries[3] * y + b[1]]);
      }
    const longest = Math.sqrt(Math.max(...all.map((p) => Math.hypot(p[2], p[3])))) || 1;
    return all.map(([x, y, u, v]) => {
      const length = Math.sqrt(Math.hypot(u, v)) || 1, shrink = (0.9 * cell) / longest / length;
      return [[x, y], [x + shrink * u, y + shrink * v]];
    });
  }

  /* An arrow as one stroke: shaft, and a head of two barbs. */
  function stroke([[x, y], [u, v]], barb) {
    const [dx, dy] = [u - x, v - y], length = Math.hypot(dx, dy) || 1;
    const side = (turn) => {
      const [c, s] = [Math.cos(turn), Math.sin(turn)], size = Math.min(barb, 0.6 * length) / length;
      return [u - size * (c * dx - s * dy), v - size * (s * dx + c * dy)];
    };
    return [[x, y], [u, v], side(0.45), [u, v], side(-0.45)];
  }

  root.gqMeanField = { rest, eigenvalues, course, arrows };
  (root.gqFigures = root.gqFigures || {})["mean-field"] = function (box, settings) {
    const { make, panel, controls, range, text, UNIT, DASH, DOTS } = root.gqTools;
    const sigmas = range(0, 1, 81);
    const panels = make(box, "div", { class: "gq-panels" });
    const state = controls(panels, settings, draw);
    const plane = panel(panels, "Field of the mean update", { low: 0, high: 30, label: "weight of run" }, { low: 0, high: 30, label: "weight of repair" },
      [["blue", "", "path"], ["mark", "", "rest"], ["red", "", "b"]]);
    const goal = panel(panels, "Resting weights against σ", { ...UNIT, label: "σ" }, { low: 0, high: 30, label: "resting weights" },
      [["blue", "", "run"], ["red", DASH, "repair"]]);
    const motion = panel(panels, "Weights over time", { low: 0, high: TIME, label: "t" }, { low: -5, high: 30, label: "θ(t)" },
      [["blue", "", "run"], ["red", DASH, "repair"]]);
    const field = Array.from({ length: COUNT ** 2 - 1 }, () => plane.line("faint"));
    const [way, origin, end] = [plane.line("blue"), plane.line("red"), plane.dots("mark", 5)];
    const [goalRun, goalRepair] = [goal.line("blue"), goal.line("red", DASH)];
    const point = goal.handle("Resting weight of run at σ", state, ["sigma"]);
    const [run, repair] = [motion.line("blue"), motion.line("red", DASH)];
    const limits = [motion.line("faint", DOTS), motion.line("faint", DOTS)];

    function draw() {
      const [sigma, lambda, gamma] = ["sigma", "lambda", "gamma"].map(state.get);
      const at = (s) => {
        const values = settings.formulas.field(s, lambda, gamma);
        return [values.slice(0, 4), values.slice(4)];
      };
      const [entries, b] = at(sigma), here = rest(entries, b), rests = sigmas.map((s) => rest(...at(s)));
      // One window for all σ, so that what moves is the field and not the axes.
      const all = [0, ...rests.flat()], low = Math.min(...all), high = Math.max(...all), margin = 0.15 * (high - low);
      const track = course(entries, here, STEP, Math.round(TIME / STEP) + 1), seen = track.flat();
      const size = high + margin;
      plane.limits([Math.min(low, 0) - margin, size], [Math.min(low, 0) - margin, size]);
      const [first, ...others] = arrows(entries, b, high, COUNT);
      others.forEach((arrow, k) => field[k](stroke(arrow, 0.03 * size)));
      const far = (0.15 * high) / (Math.hypot(...b) || 1); // the direction of b: as long in every setting
      origin(stroke([first[0], [far * b[0], far * b[1]]], 0.05 * size));
      way(course(entries, here, STEP, 800)); // fine enough for a quick turn, long enough for the slow valley
      end([here]);
      goal.limits([low - margin, high + margin]);
      goalRun(sigmas.map((s, k) => [s, rests[k][0]]));
      goalRepair(sigmas.map((s, k) => [s, rests[k][1]]));
      point([sigma, here[0]]);
      motion.limits([Math.min(low, ...seen) - margin, Math.max(high, ...seen) + margin]);
      run(track.map((x, k) => [k * STEP, x[0]]));
      repair(track.map((x, k) => [k * STEP, x[1]]));
      limits.forEach((line, k) => line([[0, here[k]], [TIME, here[k]]]));
      const rates = eigenvalues(entries);
      state.report(rates[0][0] < 0 ? "stable" : "unstable", [
        ["b", "b =", `(${b.map(text).join(", ")})`],
        ["eigenvalues", "eigenvalues of A:", rates.map((z) => text(z[0]) + (z[1] ? (z[1] < 0 ? "\u00a0−\u00a0" : "\u00a0+\u00a0") + text(Math.abs(z[1])) + "i" : "")).join(", ")],
        ["rest", "rest", `(${here.map(text).join(", ")})`],
      ]);
    }
    draw();
  };
})(typeof window === "undefined" ? globalThis : window);
