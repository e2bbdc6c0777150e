/* The book's live figures: plain SVG, no library, nothing fetched.
 *
 * A chapter holds, beside a static figure, a block written by kit.explore: settings, and formulas that sympy
 * printed as JavaScript. This script draws them at the place of the static figure, which stays a click away together
 * with its caption; the caption below is that of the live one.
 * No mathematics of the book is written by hand here: only the numerical tools below, which tests hold to numpy.
 */
(function (root) {
  "use strict";

  // ---------------------------------------------------------------- numbers

  /* The complex roots of s^n + c[0] s^(n-1) + … + c[n-1], as pairs [re, im], by the iteration of Durand and Kerner. */
  function roots(c) {
    const n = c.length;
    const radius = 1 + Math.max(...c.map(Math.abs));
    let z = c.map((_, k) => [radius * Math.cos(2.2 * k + 0.4), radius * Math.sin(2.2 * k + 0.4)]);
    const times = (a, b) => [a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]];
    for (let round = 0; round < 500; round++) {
      let moved = 0;
      for (let k = 0; k < n; k++) {
        let value = [1, 0];
        for (const coefficient of c) {
          value = times(value, z[k]);
          value[0] += coefficient;
        }
        let below = [1, 0];
        for (let j = 0; j < n; j++) if (j !== k) below = times(below, [z[k][0] - z[j][0], z[k][1] - z[j][1]]);
        const size = below[0] ** 2 + below[1] ** 2 || Number.MIN_VALUE;
        const shift = times(value, [below[0] / size, -below[1] / size]);
        z[k] = [z[k][0] - shift[0], z[k][1] - shift[1]];
        moved = Math.max(moved, Math.hypot(...shift) / (1e-3 + Math.hypot(...z[k])));
      }
      if (moved < 1e-15) break;
    }
    return conjugate(z).sort((a, b) => b[0] - a[0] || b[1] - a[1]);
  }

  /* Roots of a real polynomial, made what they must be. Rounding splits a multiple root into a cluster, whose mean is
   * exact to many more digits than its members; and what is not real comes in conjugate pairs, to the last digit. */
  function conjugate(z) {
    const near = (a, b) => Math.hypot(a[0] - b[0], a[1] - b[1]) < 3e-6 * (1e-3 + Math.hypot(...a));
    const mean = (group) => [0, 1].map((part) => group.reduce((sum, x) => sum + x[part], 0) / group.length);
    const rest = z.map((a) => mean(z.filter((b) => near(a, b)))), done = [];
    while (rest.length) {
      const a = rest.pop();
      const far = rest.map((b) => Math.hypot(b[0] - a[0], b[1] + a[1])), least = Math.min(...far);
      if (near(a, [a[0], -a[1]]) || 2 * Math.abs(a[1]) <= least) {
        done.push([a[0], 0]);
        continue;
      }
      const [b] = rest.splice(far.indexOf(least), 1);
      const re = (a[0] + b[0]) / 2, im = (Math.abs(a[1]) + Math.abs(b[1])) / 2;
      done.push([re, im], [re, -im]);
    }
    return done;
  }

  const multiply = (a, b) => a.map((row) => b[0].map((_, j) => row.reduce((sum, x, k) => sum + x * b[k][j], 0)));
  const apply = (a, x) => a.map((row) => row.reduce((sum, entry, k) => sum + entry * x[k], 0));

  /* exp(A): Taylor's series of A / 2^k, squared k times. */
  function exponential(a) {
    const norm = Math.max(...a.map((row) => row.reduce((sum, x) => sum + Math.abs(x), 0)));
    const halvings = Math.max(0, Math.ceil(Math.log2(norm || 1)) + 2);
    const small = a.map((row) => row.map((x) => x / 2 ** halvings));
    let term = a.map((row, i) => row.map((_, j) => (i === j ? 1 : 0)));
    let sum = term;
    for (let k = 1; k <= 14; k++) {
      term = multiply(term, small).map((row) => row.map((x) => x / k));
      sum = sum.map((row, i) => row.map((x, j) => x + term[i][j]));
    }
    for (let k = 0; k < halvings; k++) sum = multiply(sum, sum);
    return sum;
  }

  /* exp(tA) x at t = 0, h, 2h, …, (points - 1) h. */
  function path(a, x, h, points) {
    const forward = exponential(a.map((row) => row.map((entry) => entry * h)));
    const result = [x];
    while (result.length < points) result.push(apply(forward, result[result.length - 1]));
    return result;
  }

  /* The path up to its first point beyond the bound in one of these coordinates, or all of it. */
  function within(track, coordinates, bound) {
    const out = track.findIndex((x) => coordinates.some((k) => !(Math.abs(x[k]) <= bound)));
    return out < 0 ? track : track.slice(0, out + 1);
  }

  const square = (flat, n) => Array.from({ length: n }, (_, i) => flat.slice(i * n, (i + 1) * n));
  const range = (low, high, count) => Array.from({ length: count }, (_, i) => low + ((high - low) * i) / (count - 1));

  /* The function, with its last result kept: what a slider does not change is not computed again. */
  function lastly(compute) {
    let key, result;
    return (...at) => {
      if (key !== at.join()) [key, result] = [at.join(), compute(...at)];
      return result;
    };
  }

  /* Four significant digits with a true minus sign; a complex pair as re ± im i. */
  function text(x) {
    if (x === 0 || Math.abs(x) < 1e-12) return "0";
    const size = Math.abs(x);
    const digits = size >= 1e5 || size < 1e-4 ? x.toExponential(3) : String(Number(x.toPrecision(4)));
    return digits.replace(/-/g, "−");
  }
  const complex = (z) => text(z[0]) + (z[1] === 0 ? "" : (z[1] < 0 ? "\u00a0−\u00a0" : "\u00a0+\u00a0") + text(Math.abs(z[1])) + "i");

  // What the axes hold: tests see that no setting of the sliders leads beyond them.
  const WINDOWS = { spectrum: [-3.1, 0.6], motion: [-1000, 1000], real: [-15, 2], imaginary: [-500, 500], abscissa: [-1.5, 0.5], turn: 30 };

  root.gqNumbers = { roots, exponential, path, within, square, text, WINDOWS };
  if (typeof document === "undefined") return;

  // ---------------------------------------------------------------- drawing

  const WIDTH = 340, HEIGHT = 266, LEFT = 60, RIGHT = 12, TOP = 26, BOTTOM = 48, RADIUS = 8;
  let serial = 0;

  function make(parent, tag, attributes = {}, content = null) {
    const node = document.createElementNS(tag.startsWith("svg:") ? "http://www.w3.org/2000/svg" : "http://www.w3.org/1999/xhtml", tag.replace("svg:", ""));
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    if (content !== null) node.textContent = content;
    if (parent) parent.append(node);
    return node;
  }

  // A scale maps values to [0, 1]; "symlog" is linear below `knee` and logarithmic beyond, on both sides of zero.
  function scale(axis) {
    const forward = { log: Math.log10, symlog: (x) => Math.asinh(x / axis.knee) }[axis.kind] || ((x) => x);
    const back = { log: (u) => 10 ** u, symlog: (u) => axis.knee * Math.sinh(u) }[axis.kind] || ((u) => u);
    const low = forward(axis.low), span = forward(axis.high) - low;
    return { at: (x) => (forward(x) - low) / span, value: (u) => back(low + u * span) };
  }

  /* About five round numbers in [low, high]. */
  function ticksOf(low, high) {
    const rough = (high - low) / 5, power = 10 ** Math.floor(Math.log10(rough));
    const step = power * [1, 2, 5, 10].find((m) => m * power >= rough);
    const first = Math.ceil(low / step);
    return Array.from({ length: Math.floor(high / step) - first + 1 }, (_, k) => Number(((first + k) * step).toPrecision(6)));
  }

  /* A panel with axes and a key. `x` and `y` are {low, high, ticks, label, kind, knee}; `key` lists [colour, dashes, label]. */
  function panel(parent, title, x, y, key = []) {
    const id = "gq-clip-" + ++serial;
    const cell = make(parent, "div", { class: "gq-cell" });
    const svg = make(cell, "svg:svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "group", "aria-label": title, class: "gq-panel" });
    if (key.length) legend(cell, key);
    let sx, sy;
    const wide = WIDTH - LEFT - RIGHT, high = HEIGHT - TOP - BOTTOM;
    const px = (v) => LEFT + wide * sx.at(v), py = (v) => TOP + high * (1 - sy.at(v));
    make(make(svg, "svg:clipPath", { id }), "svg:rect", { x: LEFT, y: TOP, width: wide, height: high });
    const ground = make(svg, "svg:g", { "clip-path": `url(#${id})` });
    const frame = make(svg, "svg:g", { class: "gq-axes", "aria-hidden": "true" });
    function axes(newX, newY) {
      [sx, sy] = [scale(newX), scale(newY)];
      frame.replaceChildren();
      make(frame, "svg:rect", { x: LEFT, y: TOP, width: wide, height: high });
      for (const tick of newX.ticks || ticksOf(newX.low, newX.high)) {
        make(frame, "svg:path", { d: `M${px(tick)} ${TOP}V${TOP + high}`, class: tick === 0 ? "gq-zero" : "" });
        make(frame, "svg:text", { x: px(tick), y: TOP + high + RADIUS + 13, "text-anchor": "middle" }, text(tick));
      }
      for (const tick of newY.ticks || ticksOf(newY.low, newY.high)) {
        make(frame, "svg:path", { d: `M${LEFT} ${py(tick)}H${LEFT + wide}`, class: tick === 0 ? "gq-zero" : "" });
        make(frame, "svg:text", { x: LEFT - RADIUS - 3, y: py(tick) + 4, "text-anchor": "end" }, text(tick));
      }
      make(frame, "svg:text", { x: LEFT + wide / 2, y: HEIGHT - 6, "text-anchor": "middle" }, newX.label);
      make(frame, "svg:text", { x: LEFT, y: 13 }, newY.label);
    }
    axes(x, y);
    const marks = make(svg, "svg:g", { "clip-path": `url(#${id})` });
    const clamp = (v) => Math.max(-1e4, Math.min(1e4, v)).toFixed(2);
    return {
      /* New limits: [low, high] of y, and of x where given. */
      limits(forY, forX = null) {
        axes(forX ? { ...x, low: forX[0], high: forX[1] } : x, { ...y, low: forY[0], high: forY[1] });
      },
      line(colour, dashes = "") {
        const node = make(marks, "svg:path", { class: `gq-line gq-${colour}`, "stroke-dasharray": dashes });
        return (points) => {
          const drawn = points.filter((p) => Number.isFinite(p[0]) && Number.isFinite(p[1]));
          node.setAttribute("d", drawn.map((p, i) => `${i ? "L" : "M"}${clamp(px(p[0]))} ${clamp(py(p[1]))}`).join(""));
        };
      },
      region() {
        const node = make(ground, "svg:path", { class: "gq-region" });
        return (boxes) => node.setAttribute("d", boxes.map(([a, b, c, d]) => `M${px(a)} ${py(c)}H${px(b)}V${py(d)}H${px(a)}z`).join(""));
      },
      dots(colour, radius) {
        const group = make(marks, "svg:g", { class: `gq-dots gq-${colour}` });
        return (points) => {
          group.replaceChildren();
          for (const p of points) make(group, "svg:circle", { cx: clamp(px(p[0])), cy: clamp(py(p[1])), r: radius });
        };
      },
      /* A point that moves by pointer, touch and arrow keys; `along` names the sliders that x and y set. */
      handle(label, state, along) {
        const node = make(svg, "svg:circle", { r: RADIUS, class: "gq-handle", tabindex: 0, role: "slider", "aria-label": label });
        const move = (event) => {
          const box = svg.getBoundingClientRect();
          const u = ((event.clientX - box.left) / box.width) * WIDTH, v = ((event.clientY - box.top) / box.height) * HEIGHT;
          const values = [sx.value((u - LEFT) / wide), sy.value(1 - (v - TOP) / high)];
          state.set(Object.fromEntries(along.map((name, k) => [name, values[k]])));
        };
        node.addEventListener("pointerdown", (event) => {
          node.setPointerCapture(event.pointerId);
          node.focus();
          event.preventDefault();
        });
        node.addEventListener("pointermove", (event) => node.hasPointerCapture(event.pointerId) && move(event));
        svg.addEventListener("click", (event) => event.target !== node && move(event));
        node.addEventListener("keydown", (event) => {
          const way = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowUp: [1, 1], ArrowDown: [1, -1] }[event.key];
          if (!way) return;
          event.preventDefault();
          state.nudge(along[Math.min(way[0], along.length - 1)], way[1] * (event.shiftKey ? 10 : 1));
        });
        return (p) => {
          node.setAttribute("cx", Math.max(LEFT, Math.min(LEFT + wide, px(p[0]))));
          node.setAttribute("cy", Math.max(TOP, Math.min(TOP + high, py(p[1]))));
          const input = state.input(along[0]);
          for (const key of ["min", "max"]) node.setAttribute("aria-value" + key, input[key]);
          node.setAttribute("aria-valuenow", input.value);
          node.setAttribute("aria-valuetext", along.map((name) => `${state.label(name)} ${text(state.get(name))}`).join(", "));
        };
      },
    };
  }

  /* Sliders, a choice and read-outs; `draw` is called after every change. */
  function controls(parent, settings, draw) {
    const desk = make(parent, "div", { class: "gq-desk" });
    const box = make(desk, "div", { class: "gq-controls" });
    const inputs = {};
    let select = null;
    if (settings.choices.length) {
      const label = make(box, "label", { class: "gq-choice" }, "reading ");
      select = make(label, "select");
      for (const name of settings.choices) make(select, "option", { value: name }, name);
      select.addEventListener("change", () => draw());
    }
    const shown = (entry) => (entry.slider.log ? 10 ** Number(entry.input.value) : Number(entry.input.value));
    const refresh = (entry) => {
      const value = text(entry.slider.name === "n" ? Math.round(shown(entry)) : shown(entry));
      entry.output.textContent = value;
      entry.input.setAttribute("aria-valuetext", value);
    };
    for (const slider of settings.sliders) {
      const id = "gq-input-" + ++serial;
      const row = make(box, "div", { class: "gq-slider" });
      make(row, "label", { for: id }, slider.label);
      const input = make(row, "input", { id, type: "range", min: slider.low, max: slider.high, step: slider.step, value: slider.value, "data-name": slider.name });
      const output = make(row, "output", { for: id, "aria-live": "off" });
      inputs[slider.name] = { slider, input, output };
      refresh(inputs[slider.name]);
      input.addEventListener("input", () => { refresh(inputs[slider.name]); draw(); });
    }
    const presets = make(desk, "p", { class: "gq-presets" });
    for (const preset of settings.presets) {
      const button = make(presets, "button", { type: "button" }, preset.label);
      button.addEventListener("click", () => {
        if (preset.choice) select.value = preset.choice;
        state.set(preset.values);
      });
    }
    const read = make(desk, "p", { class: "gq-readout", role: "status" });
    const state = {
      get: (name) => (name === "n" ? Math.round(shown(inputs[name])) : shown(inputs[name])),
      label: (name) => inputs[name].slider.label,
      input: (name) => inputs[name].input,
      choice: () => select.value,
      set(values) {
        for (const [name, value] of Object.entries(values)) {
          const entry = inputs[name];
          entry.input.value = entry.slider.log ? Math.log10(Math.max(value, 1e-9)) : value;
          refresh(entry);
        }
        draw();
      },
      nudge(name, steps) {
        const entry = inputs[name];
        entry.input.value = Number(entry.input.value) + steps * entry.slider.step;
        refresh(entry);
        draw();
      },
      /* Named numbers below the sliders; `verdict` comes first. */
      report(verdict, numbers) {
        read.replaceChildren();
        make(read, "strong", { "data-name": "verdict" }, verdict);
        for (const [name, label, value] of numbers) {
          const part = make(read, "span", {}, label + " ");
          make(part, "span", { "data-name": name, class: "gq-number" }, value);
        }
      },
    };
    return state;
  }

  function legend(parent, entries) {
    const list = make(parent, "p", { class: "gq-legend" });
    for (const [colour, dashes, label] of entries) {
      const item = make(list, "span");
      const svg = make(item, "svg:svg", { viewBox: "0 0 28 8", "aria-hidden": "true" });
      make(svg, "svg:path", { d: colour === "mark" || colour === "start" ? "M14 4h0.01" : "M0 4H28", class: `gq-line gq-${colour}`, "stroke-dasharray": dashes });
      item.append(" " + label);
    }
  }

  // ---------------------------------------------------------------- the three figures

  const UNIT = { low: 0, high: 1, ticks: [0, 0.25, 0.5, 0.75, 1] };
  const between = ([low, high]) => ({ low, high });
  const DASH = "7 4", DOTS = "2 4";
  const LINES = [["blue", ""], ["red", DASH], ["green", DOTS], ["pink", "9 3 2 3"]];

  function twoState(box, settings) {
    const grid = range(0, 1, 81), rows = range(0, 1, 201);
    const TIME = 20, STEP = 0.1;
    const panels = make(box, "div", { class: "gq-panels" });
    const state = controls(panels, settings, draw);
    const spectrum = panel(panels, "Eigenvalues of A against σ", { ...UNIT, label: "σ" },
      { ...between(WINDOWS.spectrum), ticks: [-3, -2, -1, 0, 0.5], label: "eigenvalues of A" },
      [["blue", "", "larger"], ["red", DASH, "smaller"]]);
    const phase = panel(panels, "Unstable region of σ and λ", { ...UNIT, label: "σ" }, { ...UNIT, label: "λ" },
      [["shade", "", "unstable"]]);
    const motion = panel(panels, "Mean weights over time", { low: 0, high: TIME, label: "t" },
      { ...between(WINDOWS.motion), ticks: [-1000, -100, -10, -1, 0, 1, 10, 100, 1000], label: "θ(t)", kind: "symlog", knee: 0.5 },
      [["blue", "", "θ₁(t)"], ["red", DASH, "θ₂(t)"]]);
    spectrum.region()([[0, 1, 0, WINDOWS.spectrum[1]]]);
    const [larger, smaller, now] = [spectrum.line("blue"), spectrum.line("red", DASH), spectrum.dots("mark", 5)];
    const region = phase.region();
    const [theta1, theta2] = [motion.line("blue"), motion.line("red", DASH)];
    const point = phase.handle("Point in the phase diagram", state, ["sigma", "lambda"]);

    // Where the larger eigenvalue is positive: boxes, row by row of λ, with the crossing found between grid points.
    const unstable = lastly((reading, gamma) => {
      const boxes = [], half = 0.5 / (rows.length - 1);
      for (const l of rows) {
        const tops = grid.map((s) => Math.max(...settings.formulas[reading](s, l, gamma).slice(4)));
        for (let i = 0; i + 1 < grid.length; i++) {
          if (tops[i] <= 0 && tops[i + 1] <= 0) continue;
          const cross = grid[i] + ((grid[i + 1] - grid[i]) * tops[i]) / (tops[i] - tops[i + 1]);
          boxes.push([tops[i] > 0 ? grid[i] : cross, tops[i + 1] > 0 ? grid[i + 1] : cross, l - half, l + half]);
        }
      }
      return boxes;
    });

    function draw() {
      const formula = settings.formulas[state.choice()];
      const [sigma, lambda, gamma] = ["sigma", "lambda", "gamma"].map(state.get);
      const values = formula(sigma, lambda, gamma);
      const [low, high] = values.slice(4).sort((a, b) => a - b);
      const along = grid.map((s) => formula(s, lambda, gamma).slice(4));
      larger(grid.map((s, i) => [s, Math.max(...along[i])]));
      smaller(grid.map((s, i) => [s, Math.min(...along[i])]));
      now([[sigma, low], [sigma, high]]);
      region(unstable(state.choice(), gamma));
      point([sigma, lambda]);
      const track = path(square(values.slice(0, 4), 2), [2, 0], STEP, Math.round(TIME / STEP) + 1);
      theta1(track.map((x, k) => [k * STEP, x[0]]));
      theta2(track.map((x, k) => [k * STEP, x[1]]));
      state.report(high < 0 ? "stable" : "unstable", [
        ["eigenvalues", "eigenvalues of A:", `${text(high)}, ${text(low)}`],
        ["theta", `θ(${TIME}) =`, `(${track[track.length - 1].map(text).join(", ")})`],
      ]);
    }
    draw();
  }

  function biasVariance(box, settings) {
    const grid = range(0, 1, 101);
    const state = controls(box, settings, draw);
    const panels = make(box, "div", { class: "gq-panels" });
    const errors = panel(panels, "Errors against σ", { ...UNIT, label: "σ" }, { low: 0, high: 1, label: "error" },
      [["blue", "", "total"], ["red", DASH, "bias"], ["green", DOTS, "standard deviation"]]);
    const worth = panel(panels, "Values of the mixture policy against σ", { ...UNIT, label: "σ" }, { low: 0, high: 1, label: "q of the mixture policy" },
      LINES.map(([colour, dashes], k) => [colour, dashes, ["(1, keep)", "(1, toss)", "(2, keep)", "(2, toss)"][k]]));
    const [total, bias, deviation] = [errors.line("blue"), errors.line("red", DASH), errors.line("green", DOTS)];
    const values = LINES.map(([colour, dashes]) => worth.line(colour, dashes));
    const here = worth.dots("mark", 4);
    const point = errors.handle("Total error at σ", state, ["sigma"]);

    function draw() {
      const [sigma, lambda, gamma, n] = ["sigma", "lambda", "gamma", "n"].map(state.get);
      const at = (s) => settings.formulas.moments(s, lambda, gamma);
      const error = (m) => [m[0] + m[1] / n, m[0], m[1] / n].map((square) => Math.sqrt(Math.max(square, 0)));
      const moments = grid.map(at), curves = moments.map(error);
      errors.limits([0, 1.1 * Math.max(...curves.map((c) => c[0])) || 1]);
      [total, bias, deviation].forEach((line, k) => line(grid.map((s, i) => [s, curves[i][k]])));
      const qs = moments.map((m) => m.slice(2)), low = Math.min(...qs.flat()), high = Math.max(...qs.flat());
      worth.limits([low - 0.1 * (high - low), high + 0.1 * (high - low)]);
      values.forEach((line, k) => line(grid.map((s, i) => [s, qs[i][k]])));
      const exact = at(sigma), now = error(exact);
      here(exact.slice(2).map((q) => [sigma, q]));
      point([sigma, now[0]]);
      const best = grid[curves.reduce((least, c, i) => (c[0] < curves[least][0] ? i : least), 0)];
      state.report(`least total at σ = ${text(best)}`, [
        ["total", "total", text(now[0])], ["bias", "bias", text(now[1])], ["deviation", "standard deviation", text(now[2])],
      ]);
    }
    draw();
  }

  function timeScales(box, settings) {
    const TIME = 200, STEP = 0.25;
    const etas = range(-3, 1, 161).map((x) => 10 ** x);
    const panels = make(box, "div", { class: "gq-panels" });
    const state = controls(panels, settings, draw);
    const plane = panel(panels, "Eigenvalues of J in the complex plane",
      { ...between(WINDOWS.real), ticks: [-10, -1, -0.1, 0, 0.1, 1], label: "real part", kind: "symlog", knee: 0.03 },
      { ...between(WINDOWS.imaginary), ticks: [-100, -10, -1, -0.1, 0, 0.1, 1, 10, 100], label: "imaginary part", kind: "symlog", knee: 0.03 },
      [["mark", "", "at this η"], ["faint", "1 4", "for other η"], ["shade", "", "unstable"]]);
    const abscissa = panel(panels, "Largest real part against η", { low: 0.001, high: 10, ticks: [0.001, 0.01, 0.1, 1, 10], label: "η", kind: "log" },
      { ...between(WINDOWS.abscissa), ticks: [-1, -0.1, -0.01, 0, 0.01, 0.1], label: "largest real part", kind: "symlog", knee: 0.005 });
    const turn = panel(panels, "Path of θ₁ and ω₁", { low: -1, high: 1, label: "θ₁" }, { low: -1, high: 1, label: "ω₁" },
      [["blue", "", "path"], ["start", "", "start"], ["mark", "", "end"]]);
    plane.region()([[0, WINDOWS.real[1], ...WINDOWS.imaginary]]);
    abscissa.region()([[0.001, 10, 0, WINDOWS.abscissa[1]]]);
    const [locus, now] = [plane.dots("faint", 1.2), plane.dots("mark", 5)];
    const curve = abscissa.line("blue");
    const point = abscissa.handle("Step ratio η", state, ["eta"]);
    const [spiral, start, end] = [turn.line("blue"), turn.dots("start", 4), turn.dots("mark", 5)];

    const spectrum = (...at) => roots(settings.formulas.coefficients(...at));
    const family = lastly((...at) => etas.map((eta) => spectrum(...at, eta)));

    function draw() {
      const [sigma, lambda, gamma, eta] = ["sigma", "lambda", "gamma", "eta"].map(state.get);
      const values = spectrum(sigma, lambda, gamma, eta), others = family(sigma, lambda, gamma);
      locus(others.flat());
      now(values);
      curve(others.map((zs, k) => [etas[k], zs[0][0]]));
      point([eta, values[0][0]]);
      const track = path(square(settings.formulas.J(sigma, lambda, gamma, eta), 4), [2, 0, 0, 0], STEP, TIME / STEP + 1);
      // A path that diverges is drawn until it leaves a fixed window; the axes always hold all that is drawn.
      const kept = within(track, [0, 2], WINDOWS.turn), drawn = kept.map((x) => [x[0], x[2]]);
      const [wide, high] = [0, 1].map((k) => 1.1 * Math.max(...drawn.map((p) => Math.abs(p[k]))) || 1);
      turn.limits([-high, high], [-wide, wide]);
      spiral(drawn);
      start(drawn.slice(0, 1));
      end(drawn.slice(-1));
      state.report(values[0][0] < 0 ? "stable" : "unstable", [
        ["abscissa", "largest real part", text(values[0][0])], ["eigenvalues", "eigenvalues of J:", values.map(complex).join(", ")],
        ["end", "path to t =", text((kept.length - 1) * STEP)],
      ]);
    }
    draw();
  }

  // Other scripts of the book may draw with these tools, and put a figure of their own into gqFigures.
  root.gqTools = { make, panel, controls, range, text, UNIT, DASH, DOTS };
  const FIGURES = { "two-state": twoState, "bias-variance": biasVariance, "time-scales": timeScales };

  function start() {
    for (const block of document.querySelectorAll(".gq-explorable")) {
      const settings = (root.gqExplorables || {})[block.dataset.explorable];
      const draw = { ...root.gqFigures, ...FIGURES }[block.dataset.explorable];
      if (!settings || !draw) continue;
      const box = make(null, "div", { class: "gq-live", role: "group", "aria-label": settings.label, "data-explorable": block.dataset.explorable });
      draw(box, settings);
      if (settings.note) make(box, "p", { class: "gq-hint" }, settings.note);
      block.querySelector(".gq-note").remove();
      const figure = document.getElementById(block.dataset.figure);
      const still = figure && figure.querySelector(".gq-figure, img");
      if (!still) {
        block.append(box);
        continue;
      }
      (block.closest(".output") || block).hidden = true;
      const fold = make(null, "details", { class: "gq-still" });
      make(fold, "summary", {}, "The static figure");
      still.replaceWith(box);
      fold.append(still);
      figure.append(fold);
      const caption = figure.querySelector(".caption-text");
      if (!caption || !settings.caption) continue;
      make(fold, "p", { class: "gq-still-caption" }).append(...caption.childNodes);
      caption.textContent = settings.caption;
    }
  }

  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})(typeof window === "undefined" ? globalThis : window);
