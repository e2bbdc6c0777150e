/* The live figure of the chapter on what it converges to: where the weights come to rest on the machine.
 *
 * The formulas come from kit.target; the tools, and most numerics, are those of explorables.js.
 */
(function (root) {
  "use strict";

  const PAIRS = ["new, run", "new, repair", "worn, run", "worn, repair", "broken, run", "broken, repair"];

  /* The solution of Ax = b by elimination with pivots; null where a pivot is lost in rounding. */
  function solve(matrix, right) {
    const n = right.length, rows = matrix.map((row, i) => [...row, right[i]]);
    const size = Math.max(...matrix.flat().map(Math.abs));
    for (let k = 0; k < n; k++) {
      const best = rows.slice(k).reduce((top, row, i) => (Math.abs(row[k]) > Math.abs(rows[top][k]) ? k + i : top), k);
      [rows[k], rows[best]] = [rows[best], rows[k]];
      if (!(Math.abs(rows[k][k]) > 1e-12 * size)) return null;
      for (let i = 0; i < n; i++) {
        if (i === k) continue;
        const factor = rows[i][k] / rows[k][k];
        rows[i] = rows[i].map((x, j) => x - factor * rows[k][j]);
      }
    }
    return rows.map((row, i) => row[n] / row[i]);
  }

  /* The coefficients of det(sI − A) from s^(n−1) down, by the recursion of Faddeev and LeVerrier. */
  function characteristic(a) {
    const n = a.length, result = [], zero = a.map((row) => row.map(() => 0));
    for (let k = 1, last = 1, power = zero; k <= n; k++) {
      power = zero.map((row, i) => row.map((_, j) => a[i].reduce((sum, x, m) => sum + x * power[m][j], 0) + (i === j ? last : 0)));
      last = -a.reduce((sum, row, i) => sum + row.reduce((part, x, m) => part + x * power[m][i], 0), 0) / k;
      result.push(last);
    }
    return result;
  }

  /* What is held for the six pairs at rest, and (where `judged`) the largest real part of the eigenvalues of A. */
  function rest(formulas, weights, sigma, lambda, gamma, judged) {
    const features = formulas[`${weights}: features`](), n = features[0].length;
    const flat = formulas[weights](sigma, lambda, gamma), matrix = root.gqNumbers.square(flat.slice(0, n * n), n);
    const theta = solve(matrix, flat.slice(n * n).map((x) => -x));
    const abscissa = judged ? Math.max(...root.gqNumbers.roots(characteristic(matrix)).map((z) => z[0])) : NaN;
    return { held: theta && features.map((row) => row.reduce((sum, x, k) => sum + x * theta[k], 0)), abscissa };
  }

  /* Root mean square over the crew's visits of [held − plan, mixture − plan, held − mixture]: total, bias, fit. */
  function errors(formulas, held, sigma, gamma) {
    const xi = formulas.xi(), [plan, mixture] = [0, sigma].map((s) => formulas.values(s, gamma));
    const norm = (x, y) => Math.sqrt(xi.reduce((sum, share, i) => sum + share * (x[i] - y[i]) ** 2, 0));
    return held ? [norm(held, plan), norm(mixture, plan), norm(held, mixture)] : [Infinity, norm(mixture, plan), Infinity];
  }

  root.gqTarget = { solve, characteristic, rest, errors };
  (root.gqFigures = root.gqFigures || {}).target = function (box, settings) {
    const { make, panel, controls, range, text, UNIT, DASH, DOTS } = root.gqTools;
    const sigmas = range(0, 1, 101), formulas = settings.formulas;
    const panels = make(box, "div", { class: "gq-panels" });
    const state = controls(panels, settings, draw);
    panels.querySelector(".gq-choice").firstChild.textContent = "features ";
    const goal = panel(panels, "Held for (new, run) against σ", { ...UNIT, label: "σ" }, { low: 0, high: 60, label: "held for (new, run)" },
      [["blue", "", "held"], ["faint", DOTS, "plan, crew"]]);
    const parts = panel(panels, "Error against the plan", { ...UNIT, label: "σ" }, { low: 0, high: 30, label: "error against the plan" },
      [["blue", "", "total"], ["red", DASH, "bias"], ["green", DOTS, "fit"]]);
    const six = panel(panels, "All six pairs", { low: -0.6, high: 5.6, ticks: [], label: "new, worn, broken: each run, then repair" }, { low: 0, high: 60, label: "values" },
      [["mark", "", "held"], ["blue", "", "plan"], ["red", DASH, "crew"]]);
    const bounds = [goal.line("faint", DOTS), goal.line("faint", DOTS)];
    const branches = [goal.line("blue"), goal.line("blue")], point = goal.handle("Held for (new, run) at σ", state, ["sigma"]);
    const totals = [parts.line("blue"), parts.line("blue")], fits = [parts.line("green", DOTS), parts.line("green", DOTS)];
    const bias = parts.line("red", DASH), now = parts.dots("mark", 4);
    const plans = PAIRS.map(() => six.line("blue")), crews = PAIRS.map(() => six.line("red", DASH)), dots = six.dots("mark", 5);

    function draw() {
      const [sigma, lambda, gamma] = ["sigma", "lambda", "gamma"].map(state.get), weights = state.choice();
      const at = (s, judged) => rest(formulas, weights, s, lambda, gamma, judged);
      const here = at(sigma, true), all = sigmas.map((s) => at(s, false));
      const [plan, crew] = [0, 1].map((s) => formulas.values(s, gamma));
      const top = 1.25 * Math.max(...plan), low = weights === "one weight" ? -top : Math.min(0, ...crew) - 0.1 * top;
      goal.limits([low, top]);
      bounds.forEach((line, k) => line([[0, [plan, crew][k][0]], [1, [plan, crew][k][0]]]));
      // Where A loses rank the curve has a pole: one stroke on either side of it.
      const signs = all.map((x) => (x.held ? Math.sign(x.held[0]) : 0)), turn = weights === "one weight" ? signs.findIndex((s, k) => k && s !== signs[k - 1]) : -1;
      const split = (lines, curve) => {
        const end = turn < 0 ? curve.length : turn;
        lines[0](curve.slice(0, end));
        lines[1](curve.slice(end));
      };
      split(branches, all.map((x, k) => [sigmas[k], x.held ? x.held[0] : NaN]));
      point([sigma, here.held ? here.held[0] : top]);
      const curve = all.map((x, k) => errors(formulas, x.held, sigmas[k], gamma)), error = errors(formulas, here.held, sigma, gamma);
      const high = Math.max(1, 1.15 * Math.min(Math.max(...curve.map((c) => c[0])), 2 * Math.max(...plan)));
      parts.limits([-0.05 * high, high]);
      split(totals, curve.map((c, k) => [sigmas[k], c[0]]));
      bias(curve.map((c, k) => [sigmas[k], c[1]]));
      split(fits, curve.map((c, k) => [sigmas[k], c[2]]));
      now(error.map((e) => [sigma, e]));
      const seen = [...plan, ...crew, ...(here.held || [])], floor = Math.max(-2 * top, Math.min(0, ...seen)), ceiling = Math.min(2 * top, Math.max(...seen));
      six.limits([floor - 0.1 * top, ceiling + 0.1 * top]);
      plans.forEach((line, i) => line([[i - 0.35, plan[i]], [i + 0.35, plan[i]]]));
      crews.forEach((line, i) => line([[i - 0.35, crew[i]], [i + 0.35, crew[i]]]));
      dots((here.held || []).map((x, i) => [i, x]));
      state.report(!here.held ? "no resting point" : here.abscissa < 0 ? "it comes to rest" : "it runs away from its resting point", [
        ["held", "holds for (new, run)", here.held ? text(here.held[0]) : "nothing"],
        ["total", "error", text(error[0])], ["bias", "bias", text(error[1])], ["fit", "fit", text(error[2])],
      ]);
    }
    draw();
  };
})(typeof window === "undefined" ? globalThis : window);
