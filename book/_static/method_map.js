/* The live map of Part V: which method is stable where, and what it converges to.
 *
 * The numbers come from kit.method_map; the tools are those of explorables.js.
 */
(function (root) {
  "use strict";

  /* The place in `etas` of the ratio that is nearest, by its logarithm. */
  function nearest(etas, eta) {
    const far = etas.map((x) => Math.abs(Math.log(x / eta)));
    return far.indexOf(Math.min(...far));
  }

  /* All λ of the map, in order. */
  const columns = (rows) => [...new Set(Object.values(rows).flatMap((row) => row.lams))].sort((a, b) => a - b);

  /* A method at a λ and the k-th ratio: null where it is not defined, else [stable, error]. */
  function entry(row, lam, k) {
    const i = row.lams.indexOf(lam);
    return i < 0 ? null : [row.stable[i][k] === 1, row.errors[i]];
  }

  root.gqMethodMap = { nearest, columns, entry };
  (root.gqFigures = root.gqFigures || {})["method-map"] = function (box, settings) {
    const { make, panel, controls, text, UNIT, DASH } = root.gqTools;
    const panels = make(box, "div", { class: "gq-panels" });
    const state = controls(panels, settings, draw);
    panels.querySelector(".gq-choice").firstChild.textContent = "problem ";
    const chart = panel(panels, "Error of the fixed point against λ", { ...UNIT, label: "λ" }, { low: 0, high: 1, label: "value error" },
      [["blue", "", "picked"], ["mark", "", "stable"], ["faint", DASH, "TD or Tree Backup"]]);
    const [picked, usual, dots] = [chart.line("blue"), chart.line("faint", DASH), chart.dots("mark", 5)];
    const frame = make(box, "div", { class: "gq-map", tabindex: 0, role: "region", "aria-label": "Methods by λ" });
    let name = "TDC(λ)", shown = "", buttons = {};

    /* The table of a problem, made anew only where the problem changes, so that focus stays on a button. */
    function table(rows, lams) {
      frame.replaceChildren();
      const whole = make(frame, "table"), head = make(make(whole, "thead"), "tr");
      make(head, "th", { scope: "col" }, "method");
      for (const lam of lams) make(head, "th", { scope: "col" }, `λ = ${text(lam)}`);
      const body = make(whole, "tbody");
      buttons = {};
      for (const [method, row] of Object.entries(rows)) {
        const line = make(body, "tr"), button = make(make(line, "th", { scope: "row" }), "button", { type: "button" }, method);
        button.addEventListener("click", () => { name = method; draw(); });
        buttons[method] = [button, lams.map((lam) => [lam, row, make(line, "td")])];
      }
    }

    function draw() {
      const problem = state.choice(), rows = settings.formulas[problem](), lams = columns(rows);
      const k = nearest(settings.formulas.etas(), state.get("eta"));
      if (problem !== shown) table(rows, lams);
      shown = problem;
      if (!(name in rows)) name = Object.keys(rows)[0];
      for (const [method, [button, cells]] of Object.entries(buttons)) {
        button.setAttribute("aria-pressed", String(method === name));
        for (const [lam, row, cell] of cells) {
          const found = entry(row, lam, k);
          cell.className = found && !found[0] ? "gq-off" : "";
          cell.textContent = !found ? "" : found[0] ? text(Number(found[1].toPrecision(2))) : "✕";
          cell.setAttribute("aria-label", !found ? "not defined" : found[0] ? `stable, error ${text(found[1])}` : "diverges");
        }
      }
      const row = rows[name], base = rows["TD(λ)"] || rows["Tree Backup(λ)"] || row;
      const top = 1.15 * Math.max(...row.errors, ...base.errors) || 1;
      chart.limits([-0.05 * top, top]);
      picked(row.lams.map((lam, i) => [lam, row.errors[i]]));
      usual(base.lams.map((lam, i) => [lam, base.errors[i]]));
      const stable = row.lams.map((lam, i) => [lam, row.errors[i]]).filter((_, i) => row.stable[i][k]);
      dots(stable);
      const all = Object.values(rows), everywhere = all.filter((one) => one.stable.every((s) => s[k])).length;
      state.report(`${name}: stable at ${stable.length} of ${row.lams.length} λ`, [
        ["least", "least error there", stable.length ? text(Math.min(...stable.map((p) => p[1]))) : "none"],
        ["everywhere", "methods stable at every λ here", `${everywhere} of ${all.length}`],
      ]);
    }
    draw();
  };
})(typeof window === "undefined" ? globalThis : window);
