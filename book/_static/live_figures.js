/* The book's live figures: plain SVG, no library, nothing fetched.
 *
 * kit.live_figures declares each figure: sliders, a sheet of cells, panels with marks, and read-outs; this script draws
 * what is declared, at the place of the static figure, which stays a click away together with its caption.
 * A cell is a formula that sympy printed, a table of gqlib's numbers, or one of KINDS made of other cells: no mathematics
 * of the book is written by hand here, only the numerical tools, which tests hold to numpy.
 */
(function (root) {
  "use strict";

  // ---------------------------------------------------------------- numbers

  /* The complex roots of s^n + c[0] s^(n-1) + … + c[n-1], as pairs [re, im], by the iteration of Durand and Kerner. */
  function roots(c) {
    const radius = 1 + Math.max(...c.map(Math.abs));
    const z = c.map((_, k) => [radius * Math.cos(2.2 * k + 0.4), radius * Math.sin(2.2 * k + 0.4)]);
    const times = (a, b) => [a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]];
    for (let round = 0, moved = 1; round < 500 && moved >= 1e-15; round++) {
      moved = 0;
      for (let k = 0; k < c.length; k++) {
        const value = c.reduce((sum, x) => [times(sum, z[k])[0] + x, times(sum, z[k])[1]], [1, 0]);
        const below = z.reduce((all, x, j) => (j === k ? all : times(all, [z[k][0] - x[0], z[k][1] - x[1]])), [1, 0]);
        const size = below[0] ** 2 + below[1] ** 2 || Number.MIN_VALUE;
        const shift = times(value, [below[0] / size, -below[1] / size]);
        z[k] = [z[k][0] - shift[0], z[k][1] - shift[1]];
        moved = Math.max(moved, Math.hypot(...shift) / (1e-3 + Math.hypot(...z[k])));
      }
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
      if (near(a, [a[0], -a[1]]) || 2 * Math.abs(a[1]) <= least) done.push([a[0], 0]);
      else {
        const [b] = rest.splice(far.indexOf(least), 1);
        const re = (a[0] + b[0]) / 2, im = (Math.abs(a[1]) + Math.abs(b[1])) / 2;
        done.push([re, im], [re, -im]);
      }
    }
    return done;
  }

  const apply = (a, x) => a.map((row) => row.reduce((sum, entry, k) => sum + entry * x[k], 0));
  const multiply = (a, b) => a.map((row) => b[0].map((_, j) => row.reduce((sum, x, k) => sum + x * b[k][j], 0)));
  const unit = (n, x = 1) => Array.from({ length: n }, (_, i) => Array.from({ length: n }, (_, j) => (i === j ? x : 0)));
  const plus = (a, b) => a.map((row, i) => row.map((x, j) => x + b[i][j]));
  const rowsOf = (flat, n) => Array.from({ length: flat.length / n }, (_, i) => flat.slice(i * n, (i + 1) * n));
  const square = (flat) => rowsOf(flat, Math.sqrt(flat.length));

  /* exp(A): Taylor's series of A / 2^k, squared k times. */
  function exponential(a) {
    const norm = Math.max(...a.map((row) => row.reduce((sum, x) => sum + Math.abs(x), 0)));
    const halvings = Math.max(0, Math.ceil(Math.log2(norm || 1)) + 2);
    let term = unit(a.length), sum = term;
    for (let k = 1; k <= 14; k++) {
      term = multiply(term, a).map((row) => row.map((x) => x / k / 2 ** halvings));
      sum = plus(sum, term);
    }
    for (let k = 0; k < halvings; k++) sum = multiply(sum, sum);
    return sum;
  }

  /* The coefficients of det(sI − A) from s^(n−1) down, by the recursion of Faddeev and LeVerrier. */
  function characteristic(a) {
    let power = unit(a.length, 0), last = 1;
    return a.map((_, k) => {
      power = plus(multiply(a, power), unit(a.length, last));
      return (last = -multiply(a, power).reduce((trace, row, i) => trace + row[i], 0) / (k + 1));
    });
  }

  /* Law of a sum of independent counts with these probabilities: for each sum its share in %, P and P(as much or more). */
  function summed(single, cells) {
    let law = [1];
    for (let c = 0; c < cells; c++) {
      const next = new Array(law.length + single.length - 1).fill(0);
      law.forEach((p, i) => single.forEach((q, j) => { next[i + j] += p * q; }));
      law = next;
    }
    let above = 0;
    return law.map((p, k) => [(100 * k) / (law.length - 1), p]).reverse().map(([x, p]) => [x, p, (above += p)]).reverse();
  }

  /* Four significant digits with a true minus sign; a pair is a complex number; lists by commas. */
  function text(x) {
    if (typeof x === "string") return x;
    if (Array.isArray(x)) return x.map((one) => (Array.isArray(one) ? complex(one) : text(one))).join(", ");
    const size = Math.abs(x);
    if (size < 1e-12) return "0";
    if (!Number.isFinite(x)) return Number.isNaN(x) ? "none" : x > 0 ? "∞" : "−∞";
    return (size >= 1e5 || size < 1e-4 ? x.toExponential(3) : String(Number(x.toPrecision(4)))).replace(/-/g, "−");
  }
  const complex = ([re, im]) => text(re) + (im ? `\u00a0${im < 0 ? "−" : "+"}\u00a0${text(Math.abs(im))}i` : "");

  // ---------------------------------------------------------------- cells

  const spread = ({ low, high, count, log }) =>
    Array.from({ length: count }, (_, i) => low + ((high - low) * i) / (count - 1)).map((x) => (log ? 10 ** x : x));
  const nearest = (grid, x) => {
    const far = grid.map((y) => Math.abs(y - x));
    return far.indexOf(Math.min(...far));
  };
  const listed = (value) => (Array.isArray(value[0]) ? value : [value]);

  // What a cell is made of: its declaration, the setting, the other cells, and its formula. It gives numbers, or rows.
  const KINDS = {
    constant: ({ data }) => data,
    formula: ({ of }, at, cell, f) => (f.call ? f : f[at.choice])(...of.flatMap((name) => cell(name, at))),
    table: ({ axes, data }, at) => axes.reduce((part, [name, grid]) => part[grid ? nearest(grid, at[name]) : at[name]], data),
    put: ({ of, values }, at, cell) => cell(of, { ...at, ...values }),
    row: ({ of, index }, at, cell) => cell(of, at)[typeof index === "string" ? [].concat(cell(index, at))[0] : index],
    rows: ({ of, width }, at, cell) => rowsOf(cell(of, at), width),
    least: ({ of, column }, at, cell) => cell(of, at).reduce((best, row) => (row[column] < best[column] ? row : best)),
    roots: ({ of }, at, cell) => roots(cell(of, at)),
    characteristic: ({ of }, at, cell) => characteristic(square(cell(of, at))),
    summed: ({ of, times }, at, cell) => summed(cell(of, at).map((row) => row[1]), cell(times, at)),
    flow: ({ of, start, time }, at, cell) => apply(exponential(square(cell(of, at).map((x) => x * at[time]))), cell(start, at)),
    // A row for each value of one slider, or a block of rows; a row of one NaN ends the block.
    sweep: ({ of, over, ...grid }, at, cell) => spread(grid.high in at ? { low: 0, high: at[grid.high], count: at[grid.high] + 1 } : grid)
      .flatMap((x) => {
        const found = cell(of, { ...at, [over]: x });
        return Array.isArray(found[0]) ? [...found.map((row) => [x, ...row]), [NaN]] : [[x, ...found]];
      }),
    // A state, changed by each line in turn.
    fold: ({ of, start, lines }, at, cell) => {
      let state = cell(start, at);
      return [[0, ...state], ...cell(lines, at).map((line, k) => [k + 1, ...(state = cell(of, { ...at, state, line }))])];
    },
  };

  /* The sheet of a figure: `cell(name, at)` is the value at this setting of sliders, choice and the like; a cell keeps its
   * last value for as long as its inputs are the same. `number` reads "slider", "cell.2" or a number. */
  function sheet({ cells, formulas }) {
    const kept = {};
    function cell(name, at) {
      if (name in at) return at[name];
      const { kind, inputs, ...given } = cells[name], key = inputs.map((input) => at[input]).join();
      if (kept[name]?.key !== key) kept[name] = { key, value: KINDS[kind](given, at, cell, formulas[name]) };
      return kept[name].value;
    }
    function number(reference, at) {
      if (typeof reference !== "string") return reference;
      const [name, ...way] = reference.split(".");
      return way.reduce((value, index) => value[index], cell(name, at));
    }
    return { cell, number };
  }

  /* The ends of an axis: as declared, or such that they hold columns of cells, with a margin. */
  function ends({ low, high, fit, include, margin, most, trim }, at, { cell, number }) {
    if (!fit.length) return [number(low, at), number(high, at)];
    const seen = fit.flatMap(([name, column]) => listed(cell(name, at)).map((row) => row[column])).filter(Number.isFinite);
    const cut = Math.floor(trim * seen.length), inner = seen.sort((a, b) => a - b).slice(cut, seen.length - cut);
    const kept = [...include, ...inner].map((x) => Math.max(-most, Math.min(most, x)));
    const [least, largest] = [Math.min(...kept), Math.max(...kept)], room = margin * (largest - least);
    return largest > least ? [least - room, largest + room] : [least - 0.05, least + 1];
  }

  // In a sentence, {cell} is the value of a cell, {cell.2} one number of it, and {cell.2:a|b|c} a word by its sign.
  const filled = (sentence, at, { number }) => sentence.replace(/\{([^:}]*):?([^}]*)\}/g, (_, reference, words) => {
    const value = number(reference, at), [below, above, else_] = words.split("|");
    return !words ? text(value) : value < 0 ? below : value > 0 ? above : (else_ ?? above);
  });

  root.gqSheet = { roots, exponential, characteristic, text, sheet, ends, filled };
  if (typeof document === "undefined") return;

  // ---------------------------------------------------------------- panels

  const WIDTH = 340, HEIGHT = 266, LEFT = 60, RIGHT = 12, TOP = 26, BOTTOM = 48, RADIUS = 8;
  const WIDE = WIDTH - LEFT - RIGHT, HIGH = HEIGHT - TOP - BOTTOM;
  const SPACES = { svg: "http://www.w3.org/2000/svg", html: "http://www.w3.org/1999/xhtml" };
  let serial = 0;

  function make(parent, tag, attributes = {}, content = null) {
    const [space, name] = tag.includes(":") ? tag.split(":") : ["html", tag];
    const node = document.createElementNS(SPACES[space], name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    if (content !== null) node.textContent = content;
    parent?.append(node);
    return node;
  }

  // A scale maps values to [0, 1]; "symlog" is linear below `knee` and logarithmic beyond, on both sides of zero.
  function scale({ kind, knee }, [first, last]) {
    const forward = { log: Math.log10, symlog: (x) => Math.asinh(x / knee) }[kind] || ((x) => x);
    const back = { log: (u) => 10 ** u, symlog: (u) => knee * Math.sinh(u) }[kind] || ((u) => u);
    const low = forward(first), span = forward(last) - low;
    return { at: (x) => (forward(x) - low) / span, value: (u) => back(low + u * span) };
  }

  /* About five round numbers in [low, high]. */
  function ticksOf([low, high]) {
    const rough = (high - low) / 5, power = 10 ** Math.floor(Math.log10(rough));
    const step = power * [1, 2, 5, 10].find((m) => m * power >= rough), first = Math.ceil(low / step);
    return Array.from({ length: Math.floor(high / step) - first + 1 }, (_, k) => Number(((first + k) * step).toPrecision(6)));
  }

  function panel(parent, { title, x, y, key, marks, handle }, all, state) {
    const id = `gq-clip-${++serial}`, box = make(parent, "div", { class: "gq-cell" });
    const svg = make(box, "svg:svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "group", "aria-label": title, class: "gq-panel" });
    if (key.length) legend(box, key);
    make(make(svg, "svg:clipPath", { id }), "svg:rect", { x: LEFT, y: TOP, width: WIDE, height: HIGH });
    const ground = make(svg, "svg:g", { "clip-path": `url(#${id})` });
    const frame = make(svg, "svg:g", { class: "gq-axes", "aria-hidden": "true" });
    const front = make(svg, "svg:g", { "clip-path": `url(#${id})` });
    let sx, sy;
    const px = (v) => LEFT + WIDE * sx.at(v), py = (v) => TOP + HIGH * (1 - sy.at(v));
    const within = (v, low, high) => Math.max(low, Math.min(high, v));
    const clamp = (v) => within(v, -1e4, 1e4).toFixed(2);

    function axes(forX, forY) {
      [sx, sy] = [scale(x, forX), scale(y, forY)];
      frame.replaceChildren();
      make(frame, "svg:rect", { x: LEFT, y: TOP, width: WIDE, height: HIGH });
      for (const tick of x.ticks || ticksOf(forX)) {
        make(frame, "svg:path", { d: `M${px(tick)} ${TOP}V${TOP + HIGH}`, class: tick === 0 ? "gq-zero" : "" });
        make(frame, "svg:text", { x: px(tick), y: TOP + HIGH + RADIUS + 13, "text-anchor": "middle" }, text(tick));
      }
      for (const tick of y.ticks || ticksOf(forY)) {
        make(frame, "svg:path", { d: `M${LEFT} ${py(tick)}H${LEFT + WIDE}`, class: tick === 0 ? "gq-zero" : "" });
        make(frame, "svg:text", { x: LEFT - RADIUS - 3, y: py(tick) + 4, "text-anchor": "end" }, text(tick));
      }
      make(frame, "svg:text", { x: LEFT + WIDE / 2, y: HEIGHT - 6, "text-anchor": "middle" }, x.label);
      make(frame, "svg:text", { x: LEFT, y: 13 }, y.label);
    }

    // A stroke ends where a number is missing, and where the curve leaps over the whole panel, as at a pole.
    const stroke = (points) => points.map(([u, v], k) => {
      if (!Number.isFinite(u + v)) return "";
      const [x0, y0] = points[k - 1] || [NaN], leap = Math.min(y0, v) < 0 && Math.max(y0, v) > HEIGHT;
      return `${Number.isFinite(x0 + y0) && !leap ? "L" : "M"}${clamp(u)} ${clamp(v)}`;
    }).join("");
    const outline = (boxes) => boxes.map(([a, b, c, d]) => `M${px(a)} ${py(c)}H${px(b)}V${py(d)}H${px(a)}z`).join("");
    const points = (mark, at) => mark.points.length
      ? mark.points.map((pair) => pair.map((part) => all.number(part, at)))
      : listed(all.cell(mark.of, at)).map((row) => [row[mark.x], row[mark.y]]);
    const pixels = (mark, at) => points(mark, at).map(([u, v]) => [px(u), py(v)]);

    const DRAW = {
      line: (mark, node, at) => node.setAttribute("d", stroke(pixels(mark, at))),
      dots: (mark, node, at) => {
        node.replaceChildren();
        for (const [u, v] of pixels(mark, at).filter(([u, v]) => Number.isFinite(u + v)))
          make(node, "svg:circle", { cx: clamp(u), cy: clamp(v), r: mark.size });
      },
      box: (mark, node, at) => node.setAttribute("d", outline([mark.points.map((end) => all.number(end, at))])),
      // Rows [y, x, value]: boxes where the value is positive, row by row, with the crossing between grid points.
      region: (mark, node, at) => {
        const rows = all.cell(mark.of, at), half = mark.size / 2, boxes = [];
        rows.slice(1).forEach(([level, right, after], k) => {
          const [same, left, before] = rows[k];
          if (same !== level || !(before > 0 || after > 0)) return;
          const cross = left + ((right - left) * before) / (before - after);
          boxes.push([before > 0 ? left : cross, after > 0 ? right : cross, level - half, level + half]);
        });
        node.setAttribute("d", outline(boxes));
      },
      // The direction at each place of a grid, as long as the root of the step; from the origin alone, as long as it is wide.
      arrows: (mark, node, at) => {
        const places = mark.size > 1 ? spread({ low: 0.02, high: 0.98, count: mark.size }) : [];
        const grid = places.length ? places.flatMap((v) => places.map((u) => [sx.value(u), sy.value(v)])) : [[0, 0]];
        const steps = grid.map(([u, v]) => {
          const [a, b] = all.cell(mark.of, { ...at, x: u, y: v });
          return [px(u), py(v), px(u + a) - px(u), py(v + b) - py(v)];
        });
        const longest = Math.sqrt(Math.max(...steps.map(([, , a, b]) => Math.hypot(a, b)))) || 1, room = mark.size > 1 ? 20 : 40;
        node.setAttribute("d", steps.map(([u, v, a, b]) => {
          const size = Math.hypot(a, b) || 1, length = (room * Math.sqrt(size)) / longest, [c, s] = [a / size, b / size];
          const barb = Math.min(room / 5, 0.6 * length), [tipX, tipY] = [u + length * c, v + length * s];
          const side = (turn) => `L${clamp(tipX - barb * (0.9 * c - turn * s))} ${clamp(tipY - barb * (0.9 * s + turn * c))}`;
          return `M${clamp(u)} ${clamp(v)}L${clamp(tipX)} ${clamp(tipY)}${side(0.43)}M${clamp(tipX)} ${clamp(tipY)}${side(-0.43)}`;
        }).join(""));
      },
    };
    const looks = { box: "gq-region", region: "gq-region", dots: "gq-dots" };
    const nodes = marks.map((mark) => make(looks[mark.kind] === "gq-region" ? ground : front, mark.kind === "dots" ? "svg:g" : "svg:path", {
      class: looks[mark.kind] === "gq-region" ? "gq-region" : `${looks[mark.kind] || "gq-line"} gq-${mark.colour}`,
      "stroke-dasharray": mark.dashes,
    }));

    /* A point that moves by pointer, touch and arrow keys; `along` names the sliders that x and y set. */
    function movable() {
      const node = make(svg, "svg:circle", { r: RADIUS, class: "gq-handle", tabindex: 0, role: "slider", "aria-label": handle.label });
      const move = (event) => {
        const place = svg.getBoundingClientRect();
        const u = ((event.clientX - place.left) / place.width) * WIDTH, v = ((event.clientY - place.top) / place.height) * HEIGHT;
        const values = [sx.value((u - LEFT) / WIDE), sy.value(1 - (v - TOP) / HIGH)];
        state.set(Object.fromEntries(handle.along.map((name, k) => [name, values[k]])));
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
        state.nudge(handle.along[Math.min(way[0], handle.along.length - 1)], way[1] * (event.shiftKey ? 10 : 1));
      });
      return (at) => {
        const [u, v] = handle.point.map((part) => all.number(part, at)), input = state.input(handle.along[0]);
        const told = handle.along.map((name) => `${state.label(name)} ${text(at[name])}`).join(", ");
        const values = { "aria-valuemin": input.min, "aria-valuemax": input.max, "aria-valuenow": input.value, "aria-valuetext": told };
        const place = { cx: within(px(u), LEFT, LEFT + WIDE), cy: within(py(Number.isNaN(v) ? sy.value(1) : v), TOP, TOP + HIGH) };
        for (const [name, value] of Object.entries({ ...values, ...place })) node.setAttribute(name, value);
      };
    }
    const follow = handle ? movable() : () => {};
    return (at) => {
      axes(ends(x, at, all), ends(y, at, all));
      marks.forEach((mark, k) => DRAW[mark.kind](mark, nodes[k], at));
      follow(at);
    };
  }

  function legend(parent, entries) {
    const list = make(parent, "p", { class: "gq-legend" });
    for (const [colour, dashes, label] of entries) {
      const item = make(list, "span"), svg = make(item, "svg:svg", { viewBox: "0 0 28 8", "aria-hidden": "true" });
      const d = colour === "mark" || colour === "start" ? "M14 4h0.01" : "M0 4H28";
      make(svg, "svg:path", { d, class: `gq-line gq-${colour}`, "stroke-dasharray": dashes });
      item.append(` ${label}`);
    }
  }

  // ---------------------------------------------------------------- sliders and read-outs

  function controls(parent, { sliders, choices, choice_label, presets }, draw) {
    const desk = make(parent, "div", { class: "gq-desk" }), box = make(desk, "div", { class: "gq-controls" }), rows = {};
    const select = choices.length ? make(make(box, "label", { class: "gq-choice" }, `${choice_label} `), "select") : null;
    for (const name of choices) make(select, "option", { value: name }, name);
    select?.addEventListener("change", draw);
    const shown = ({ slider, input }) => {
      const value = slider.log ? 10 ** Number(input.value) : Number(input.value);
      return slider.whole ? Math.round(value) : value;
    };
    const refresh = (row) => {
      row.output.textContent = text(shown(row));
      row.input.setAttribute("aria-valuetext", row.output.textContent);
    };
    for (const slider of sliders) {
      const id = `gq-input-${++serial}`, line = make(box, "div", { class: "gq-slider" });
      make(line, "label", { for: id }, slider.label);
      const { low: min, high: max, step, value } = slider;
      const input = make(line, "input", { id, type: "range", min, max, step, value, "data-name": slider.name });
      const row = (rows[slider.name] = { slider, input, output: make(line, "output", { for: id, "aria-live": "off" }) });
      refresh(row);
      input.addEventListener("input", () => { refresh(row); draw(); });
    }
    const state = {
      at: () => ({ choice: select?.value, ...Object.fromEntries(sliders.map(({ name }) => [name, shown(rows[name])])) }),
      label: (name) => rows[name].slider.label,
      input: (name) => rows[name].input,
      set(values) {
        for (const [name, value] of Object.entries(values)) {
          rows[name].input.value = rows[name].slider.log ? Math.log10(Math.max(value, 1e-9)) : value;
          refresh(rows[name]);
        }
        draw();
      },
      nudge(name, steps) {
        rows[name].input.value = Number(rows[name].input.value) + steps * rows[name].slider.step;
        refresh(rows[name]);
        draw();
      },
    };
    const buttons = make(desk, "p", { class: "gq-presets" });
    for (const { label, values, choice } of presets)
      make(buttons, "button", { type: "button" }, label).addEventListener("click", () => {
        if (choice) select.value = choice;
        state.set(values);
      });
    return [state, make(desk, "p", { class: "gq-readout", role: "status" })];
  }

  /* The map of methods: a table whose rows are picked by their buttons, made anew only where the choice changes. */
  function map(parent, { cell }, pick) {
    const frame = make(parent, "div", { class: "gq-map", tabindex: 0, role: "region", "aria-label": "Methods by λ" });
    let shown, lines;
    return (at) => {
      const rows = cell("map", at), columns = [...new Set(Object.values(rows).flat().map(([lam]) => lam))].sort((a, b) => a - b);
      if (shown !== at.choice) {
        frame.replaceChildren();
        const whole = make(frame, "table"), head = make(make(whole, "thead"), "tr"), body = make(whole, "tbody");
        make(head, "th", { scope: "col" }, "method");
        for (const lam of columns) make(head, "th", { scope: "col" }, `λ = ${text(lam)}`);
        lines = Object.keys(rows).map((name) => {
          const line = make(body, "tr"), button = make(make(line, "th", { scope: "row" }), "button", { type: "button" }, name);
          button.addEventListener("click", () => pick(name));
          return [name, button, columns.map(() => make(line, "td"))];
        });
        shown = at.choice;
      }
      for (const [name, button, fields] of lines) {
        button.setAttribute("aria-pressed", String(name === at.pick));
        fields.forEach((field, k) => {
          const [lam, error, stable] = rows[name].find((row) => row[0] === columns[k]) || [];
          const told = lam === undefined ? ["", "", "not defined"] : Number.isNaN(stable) ? ["gq-off", "✕", "diverges"]
            : ["", text(Number(error.toPrecision(2))), `stable, error ${text(error)}`];
          [field.className, field.textContent] = told;
          field.setAttribute("aria-label", told[2]);
        });
      }
    };
  }

  // ---------------------------------------------------------------- figures

  function figure(box, spec) {
    const all = sheet(spec), panels = make(box, "div", { class: "gq-panels" });
    const [state, read] = controls(panels, spec, () => draw());
    const parts = spec.panels.map((one) => panel(panels, one, all, state));
    let pick = spec.pick;
    if (pick) parts.push(map(box, all, (name) => { pick = name; draw(); }));
    function draw() {
      const at = { ...state.at(), pick };
      if (pick && !(pick in all.cell("map", at))) [pick] = [at.pick] = Object.keys(all.cell("map", at));
      for (const part of parts) part(at);
      read.replaceChildren();
      make(read, "strong", { "data-name": "verdict" }, filled(spec.verdict, at, all));
      for (const [name, label, sentence] of spec.numbers)
        make(make(read, "span", {}, `${label} `), "span", { "data-name": name, class: "gq-number" }, filled(sentence, at, all));
    }
    draw();
  }

  function start() {
    for (const block of document.querySelectorAll(".gq-explorable")) {
      const spec = (root.gqFigures || {})[block.dataset.explorable];
      if (!spec) continue;
      const box = make(null, "div", { class: "gq-live", role: "group", "aria-label": spec.label, "data-explorable": spec.name });
      figure(box, spec);
      if (spec.note) make(box, "p", { class: "gq-hint" }, spec.note);
      block.querySelector(".gq-note").remove();
      const there = document.getElementById(block.dataset.figure), still = there?.querySelector(".gq-figure, img");
      if (!still) {
        block.append(box);
        continue;
      }
      (block.closest(".output") || block).hidden = true;
      const fold = make(null, "details", { class: "gq-still" });
      make(fold, "summary", {}, "The static figure");
      still.replaceWith(box);
      fold.append(still);
      there.append(fold);
      const caption = there.querySelector(".caption-text");
      if (!caption) continue;
      make(fold, "p", { class: "gq-still-caption" }).append(...caption.childNodes);
      caption.textContent = spec.caption;
    }
  }

  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})(typeof window === "undefined" ? globalThis : window);
