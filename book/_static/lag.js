/* The live figure of the chapter on the algorithm: one logbook, read with the correction of this step, of the step
 * before, and with none.
 *
 * Step and logbooks come from kit.lag; the tools are those of explorables.js.
 */
(function (root) {
  "use strict";

  const START = { "two states": [2, 0], machine: [10, 20] };
  const KINDS = ["same", "late", "none"];

  /* θ and ω before the first line and after each: "same" takes the present correction, "late" that of the line before,
   * "none" keeps ω at zero. */
  function run(step, lines, start, kind, [sigma, lambda, gamma, alpha, beta]) {
    let [theta, omega, e, u, old] = [start, [0, 0], [0, 0], [0, 0], [0, 0]];
    const rows = [[...theta, ...omega]];
    for (const line of lines) {
      const out = step(...theta, ...omega, ...e, ...line, ...u, ...old, sigma, lambda, gamma, alpha, kind === "none" ? 0 : beta);
      theta = kind === "late" ? out.slice(2, 4) : out.slice(0, 2);
      [omega, e, u, old] = [out.slice(4, 6), out.slice(6, 8), out.slice(8, 10), out.slice(6, 8)];
      rows.push([...theta, ...omega]);
    }
    return rows;
  }

  root.gqLag = { run, START };
  (root.gqFigures = root.gqFigures || {}).lag = function (box, settings) {
    const { make, panel, controls, text, DASH, DOTS } = root.gqTools;
    const panels = make(box, "div", { class: "gq-panels" });
    const state = controls(panels, settings, draw);
    panels.querySelector(".gq-choice").firstChild.textContent = "logbook ";
    const x = { low: 0, high: 60, label: "line of the logbook" };
    const weight = panel(panels, "First weight", x, { low: -5, high: 5, label: "first weight" },
      [["blue", "", "same step"], ["red", DASH, "as printed"], ["green", DOTS, "no correction"]]);
    const helper = panel(panels, "First auxiliary weight", x, { low: -5, high: 5, label: "first auxiliary weight" },
      [["blue", "", "same step"], ["red", DASH, "as printed"]]);
    const gap = panel(panels, "Distance between the two", x, { low: 1e-4, high: 1e4, ticks: [1e-4, 0.01, 1, 100, 1e4], kind: "log", label: "distance" }, [["blue", "", "distance in θ"]]);
    const thetas = [weight.line("blue"), weight.line("red", DASH), weight.line("green", DOTS)];
    const omegas = [helper.line("blue"), helper.line("red", DASH)], apart = gap.line("blue");

    /* Limits that hold all of it, as long as it is no larger than a million. */
    const window = (values) => {
      const seen = values.map((v) => Math.max(-1e6, Math.min(1e6, v))), low = Math.min(...seen), high = Math.max(...seen);
      const room = 0.08 * (high - low) || 1;
      return [low - room, high + room];
    };

    function draw() {
      const [sigma, lambda, gamma, alpha, eta] = ["sigma", "lambda", "gamma", "alpha", "eta"].map(state.get);
      const lines = settings.formulas[state.choice()](), start = START[state.choice()];
      const [same, late, none] = KINDS.map((kind) => run(settings.formulas.step, lines, start, kind, [sigma, lambda, gamma, alpha, eta * alpha]));
      weight.limits(window([same, late, none].flat().map((row) => row[0])));
      thetas.forEach((line, k) => line([same, late, none][k].map((row, i) => [i, row[0]])));
      helper.limits(window([same, late].flat().map((row) => row[2])));
      omegas.forEach((line, k) => line([same, late][k].map((row, i) => [i, row[2]])));
      const far = same.map((row, i) => Math.hypot(row[0] - late[i][0], row[1] - late[i][1]));
      apart(far.map((d, i) => [i, Math.max(d, 1e-9)]).slice(2));
      const end = (rows) => `(${rows[rows.length - 1].slice(0, 2).map(text).join(", ")})`;
      state.report("after sixty lines", [["same", "same step θ =", end(same)], ["late", "as printed θ =", end(late)], ["none", "no correction θ =", end(none)]]);
    }
    draw();
  };
})(typeof window === "undefined" ? globalThis : window);
