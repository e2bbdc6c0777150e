/* The live figure of the chapter on MSPBE: the bowl of two weights, and two ways from the same start.
 *
 * The formulas come from kit.bowl; the tools, and most numerics, are those of explorables.js and mean_field.js.
 */
(function (root) {
  "use strict";

  const START = { "two states": [2, 0] }, LEVELS = 8, POINTS = 73;
  const TIMES = Array.from({ length: 161 }, (_, k) => 10 ** (-2 + k / 25)); // from 0.01 to 10^4.4

  /* ½ gᵀM⁻¹g of a vector g, M by rows. */
  function half(m, [u, v]) {
    return (m[3] * u * u - (m[1] + m[2]) * u * v + m[0] * v * v) / (m[0] * m[3] - m[1] * m[2]) / 2;
  }

  /* −AᵀM⁻¹A by rows: the matrix of the way downhill. */
  function downhill([a, b, c, d], m) {
    const det = m[0] * m[3] - m[1] * m[2];
    const [p, q, r, s] = [(m[3] * a - m[1] * c) / det, (m[3] * b - m[1] * d) / det, (m[0] * c - m[2] * a) / det, (m[0] * d - m[2] * b) / det];
    return [-(a * p + c * r), -(a * q + c * s), -(b * p + d * r), -(b * q + d * s)];
  }

  /* The line on which MSPBE has this value: θ_* + A⁻¹Lu, with LLᵀ = 2·value·M and u on the unit circle. */
  function level([a, b, c, d], m, end, value, points) {
    const det = a * d - b * c, l0 = Math.sqrt(2 * value * m[0]), l1 = (2 * value * m[2]) / l0, l2 = Math.sqrt(2 * value * m[3] - l1 * l1);
    return Array.from({ length: points }, (_, k) => {
      const turn = (2 * Math.PI * k) / (points - 1), g = [l0 * Math.cos(turn), l1 * Math.cos(turn) + l2 * Math.sin(turn)];
      return [end[0] + (d * g[0] - b * g[1]) / det, end[1] + (a * g[1] - c * g[0]) / det];
    });
  }

  /* θ(t) = θ_* + exp(tB)(start − θ_*) at these times. */
  function way(matrix, start, end, times) {
    const { exponential, square } = root.gqNumbers, rows = square(matrix, 2), x = start.map((s, k) => s - end[k]);
    return times.map((t) => exponential(rows.map((row) => row.map((entry) => entry * t))).map((row, k) => end[k] + row[0] * x[0] + row[1] * x[1]));
  }

  root.gqBowl = { half, downhill, level, way };
  (root.gqFigures = root.gqFigures || {}).bowl = function (box, settings) {
    const { make, panel, controls, text, DASH, DOTS } = root.gqTools, { rest, eigenvalues } = root.gqMeanField;
    const panels = make(box, "div", { class: "gq-panels" });
    const state = controls(panels, settings, draw);
    panels.querySelector(".gq-choice").firstChild.textContent = "problem ";
    const plane = panel(panels, "The bowl", { low: 0, high: 30, label: "first weight" }, { low: 0, high: 30, label: "second weight" },
      [["faint", DOTS, "levels"], ["red", DASH, "semi-gradient"], ["blue", "", "downhill"]]);
    const fall = panel(panels, "MSPBE over time", { low: 0.01, high: 1e4, ticks: [0.01, 1, 100], kind: "log", label: "t" }, { low: 1e-9, high: 100, ticks: [1e-4, 1], kind: "log", label: "MSPBE, as a share of that at the start" },
      [["red", DASH, "semi-gradient"], ["blue", "", "downhill"]]);
    const rings = Array.from({ length: LEVELS }, () => plane.line("faint", DOTS));
    const [semi, down, end, start] = [plane.line("red", DASH), plane.line("blue"), plane.dots("mark", 5), plane.dots("start", 5)];
    const [semiFall, downFall] = [fall.line("red", DASH), fall.line("blue")];

    function draw() {
      const [sigma, lambda, gamma] = ["sigma", "lambda", "gamma"].map(state.get), first = START[state.choice()] || [0, 0];
      const values = settings.formulas[state.choice()](sigma, lambda, gamma);
      const [a, b, m] = [values.slice(0, 4), values.slice(4, 6), values.slice(6)], here = rest(a, b), steep = downhill(a, m);
      const at = ([x, y]) => half(m, [a[0] * x + a[1] * y + b[0], a[2] * x + a[3] * y + b[1]]);
      const [one, two] = [a, steep].map((matrix) => way(matrix, first, here, TIMES)), top = at(first);
      const seen = [first, here, ...two], sides = [0, 1].map((k) => seen.map((p) => p[k])).map((all) => [Math.min(...all), Math.max(...all)]);
      const room = 0.35 * Math.max(...sides.map(([low, high]) => high - low), 0.1);
      plane.limits(...[sides[1], sides[0]].map(([low, high]) => [low - room, high + room]));
      rings.forEach((line, k) => line(level(a, m, here, top * 4 ** (2 - k), POINTS)));
      semi([first, ...one]);
      down([first, ...two]);
      end([here]);
      start([first]);
      const [heights, depths] = [one, two].map((track) => track.map((p, k) => [TIMES[k], Math.max(at(p) / top, 1e-14)]));
      semiFall(heights);
      downFall(depths);
      const slow = (matrix) => eigenvalues(matrix)[0][0];
      state.report(slow(a) < 0 ? "semi-gradient comes home" : "semi-gradient runs away", [
        ["semi", "rates: semi-gradient", text(-slow(a))], ["downhill", "downhill", text(-slow(steep))],
        ["mspbe", "MSPBE at the start", text(top)], ["rest", "rest", `(${here.map(text).join(", ")})`],
      ]);
    }
    draw();
  };
})(typeof window === "undefined" ? globalThis : window);
