// Draws what the data element holds, and moves bars, intervals, cursor, tables and words with the slider.
(function () {
  "use strict";
  const data = JSON.parse(document.getElementById("data").textContent);
  const at = (id) => document.getElementById(id);
  const slider = at("slider");
  const bars = at("bars"), curves = at("curves"), heat = at("heat"), course = at("course");
  const config = { displayModeBar: false, responsive: false, showTips: false };
  // A printed page is narrower than most screens, and always light.
  const PRINT_WIDTH = 660;
  let level = data.start, printing = false;

  // Plotly reads some markup in its labels, which names must not be.
  const plain = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const width = (div) => (printing ? PRINT_WIDTH : Math.floor(div.clientWidth));
  const narrow = (div) => width(div) < 520;
  const names = (div) => (narrow(div) ? data.short : data.labels).map(plain);
  const column = (table, j) => table.map((row) => row[j]);
  const numbers = (table) => table.flat().filter((x) => x !== null);
  const highest = Math.max(0.01, ...numbers(data.mean), ...numbers(data.high));

  function layout(div, own) {
    const line = colour("--line");
    const axis = { gridcolor: line, zerolinecolor: line, linecolor: line, fixedrange: true, automargin: true };
    const base = {
      width: width(div),
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { color: colour("--text"), size: 13, family: getComputedStyle(document.body).fontFamily },
      hoverlabel: { bgcolor: colour("--back"), bordercolor: line, font: { color: colour("--text") } },
      dragmode: false,
    };
    own.xaxis = Object.assign({}, axis, own.xaxis);
    own.yaxis = Object.assign({}, axis, own.yaxis);
    return Object.assign(base, own);
  }

  // Lengths, whiskers and looks of the bars at the present level.
  function barsNow() {
    const mean = data.mean[level], low = data.low[level], high = data.high[level];
    const own = data.colours.map((c) => c || colour("--bar"));
    const pale = data.pale[level];
    return {
      x: mean.map((x) => (x === null ? 0 : x)),
      plus: mean.map((x, j) => (x === null || high[j] === null ? 0 : Math.max(high[j] - x, 0))),
      minus: mean.map((x, j) => (x === null || low[j] === null ? 0 : Math.max(x - low[j], 0))),
      fill: own.map((c, j) => (pale[j] ? "rgba(140,140,140,0.35)" : c)),
    };
  }

  // The objective of every row, and the best value so far.
  function drawCourse() {
    const search = data.course, x = search.values.map((_, i) => i + 1), name = plain(search.name);
    const rows = { type: "scatter", mode: "markers", x: x, y: search.values, name: "row", marker: { color: colour("--bar"), size: 6 },
                   hovertemplate: "row %{x}: %{y}<extra></extra>" };
    const best = { type: "scatter", mode: "lines", x: x, y: search.best, name: "best so far", line: { shape: "hv", width: 2, color: colour("--accent") },
                   hoverinfo: "skip" };
    return Plotly.react(course, [rows, best], layout(course, {
      height: 250, margin: { l: 10, r: 12, t: 6, b: 44 }, showlegend: true,
      legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0 },
      xaxis: { title: { text: "row" }, range: [0.5, x.length + 0.5], zeroline: false },
      yaxis: { title: { text: name.length > 40 ? "objective" : name }, type: search.log ? "log" : "linear", zeroline: false },
    }), config);
  }

  function drawBars() {
    const now = barsNow(), d = data.labels.length;
    const trace = {
      type: "bar", orientation: "h", x: now.x, y: data.labels.map((_, j) => j), marker: { color: now.fill },
      error_x: { type: "data", array: now.plus, arrayminus: now.minus, color: colour("--text"), thickness: 1.3, width: 3 },
      hovertemplate: "%{x:.3f}<extra></extra>",
    };
    return Plotly.react(bars, [trace], layout(bars, {
      height: 70 + 26 * d, margin: { l: 10, r: 12, t: 6, b: 44 }, bargap: 0.3, showlegend: false,
      xaxis: { title: { text: "importance" }, range: [0, 1.04 * highest], rangemode: "tozero" },
      yaxis: { tickvals: trace.y, ticktext: names(bars), range: [d - 0.4, -0.6], showgrid: false, ticks: "" },
    }), config);
  }

  function cursor() {
    const x = data.levels[level];
    const line = { color: colour("--text"), width: 1.5, dash: "dot" };
    return { type: "line", x0: x, x1: x, y0: 0, y1: 1, yref: "paper", line: line };
  }

  // Where ten rows or fewer decide: from half-way to the level before to half-way to the one after.
  function roughBands() {
    const x = data.levels, last = x.length - 1, shapes = [];
    for (let i = 0; i <= last; i++) {
      if (!data.rough[i]) continue;
      const left = i === 0 ? x[0] : (x[i - 1] + x[i]) / 2, right = i === last ? x[last] : (x[i] + x[i + 1]) / 2;
      const before = shapes[shapes.length - 1];
      if (before && before.x1 === left) before.x1 = right;
      else shapes.push({ type: "rect", layer: "below", x0: left, x1: right, y0: 0, y1: 1, yref: "paper",
                         line: { width: 0 }, fillcolor: "rgba(140,140,140,0.22)" });
    }
    return shapes;
  }

  // Closed shapes between both ends of the intervals, one for each run of levels at which ``sure`` holds.
  function ribbon(low, high, sure) {
    const x = data.levels, own = { x: [], y: [] };
    const known = (i) => sure[i] && low[i] !== null && high[i] !== null;
    for (let i = 0; i < x.length; i++) {
      if (!known(i)) continue;
      let end = i;
      while (end + 1 < x.length && known(end + 1)) end++;
      let run = Array.from({ length: end - i + 1 }, (_, k) => [x[i + k], low[i + k], high[i + k]]);
      // A level alone would have no width.
      if (end === i) run = [-0.004, 0.004].map((by) => [x[i] + by, low[i], high[i]]);
      const back = run.slice().reverse();
      own.x.push(...run.map((p) => p[0]), ...back.map((p) => p[0]), null);
      own.y.push(...run.map((p) => p[1]), ...back.map((p) => p[2]), null);
      i = end;
    }
    return own;
  }

  const FEW_LEVELS = 12;
  const UNSURE = "rgba(140,140,140,0.6)";

  // A curve is thin and grey all along, and over that coloured where the parameter matters.
  function curveTraces(mean, sure, own, called, dash) {
    const grey = { x: data.levels, y: mean, mode: "lines", line: { color: UNSURE, width: 1, dash: dash }, showlegend: false, meta: "unsure" };
    if (!sure.some(Boolean)) return [Object.assign(grey, { name: called, hovertemplate: "%{y:.3f}" })];
    const shown = mean.map((y, i) => (sure[i] ? y : null)), there = (i) => shown[i] !== undefined && shown[i] !== null;
    // Between gaps a line would be invisible.
    const sizes = shown.map((_, i) => (there(i) && (data.levels.length <= FEW_LEVELS || !(there(i - 1) || there(i + 1))) ? 5 : 0));
    const line = { x: data.levels, y: shown, mode: "lines+markers", name: called, line: { color: own, width: 2, dash: dash },
                   marker: { color: own, size: sizes, opacity: 1, line: { width: 0 } }, hovertemplate: "%{y:.3f}", meta: "sure" };
    return [...(sure.every(Boolean) ? [] : [Object.assign(grey, { hoverinfo: "skip" })]), line];
  }

  function drawCurves() {
    const ribbons = [], drawn = [], called = names(curves);
    const surely = (rows) => data.pale.map((row) => rows.some((j) => !row[j]));
    for (const j of data.lines) {
      const sure = surely([j]), area = ribbon(column(data.low, j), column(data.high, j), sure);
      if (area.x.length) {
        ribbons.push(Object.assign(area, { mode: "lines", fill: "toself", fillcolor: data.colours[j] + "30", line: { width: 0 },
                                           showlegend: false, hoverinfo: "skip", meta: "ribbon" }));
      }
      drawn.push(...curveTraces(column(data.mean, j), sure, data.colours[j], called[j], "solid"));
    }
    const rest = data.labels.map((_, j) => j).filter((j) => !data.lines.includes(j));
    if (rest.length) {
      const sum = data.mean.map((row) => rest.reduce((total, j) => total + (row[j] || 0), 0));
      const name = rest.length === 1 ? called[rest[0]] : rest.length + " others together";
      drawn.push(...curveTraces(sum, surely(rest), colour("--bar"), name, "dash"));
    }
    const unsure = drawn.filter((own) => own.meta === "unsure"), sure = drawn.filter((own) => own.meta === "sure");
    const traces = [...ribbons, ...unsure, ...sure];
    if (unsure.length) {
      traces.push({ x: [null], y: [null], mode: "lines", name: "does not matter, or cannot tell yet", line: { color: UNSURE, width: 1 }, hoverinfo: "skip" });
    }
    const entries = traces.filter((own) => own.showlegend !== false).length;
    const bands = roughBands();
    const words = bands.length ? " (grey: few rows, rough)" : "";
    return Plotly.react(curves, traces, layout(curves, {
      // Names stand above, where they meet no title; in a narrow picture nearly each on a line of its own.
      height: 340 + (narrow(curves) ? 22 : 6) * entries, margin: { l: 10, r: 12, t: 6, b: 44 }, hovermode: "x unified",
      xaxis: { title: { text: "target level γ′" + words }, range: [Math.min(0, data.levels[0]), Math.max(...data.levels)] },
      yaxis: { title: { text: "importance" }, rangemode: "tozero" },
      legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0 }, showlegend: true,
      shapes: [cursor()].concat(bands),
    }), config);
  }

  // Cells of pairs above chance, those of the others, and crosses where nothing is known.
  function heatNow() {
    const own = data.pairs, at = own.level[level], place = new Map(own.map.map((row, k) => [row, k]));
    const empty = () => own.map.map(() => new Array(own.map.length).fill(null));
    const found = { above: empty(), others: empty(), x: [], y: [] };
    own.pairs.forEach((pair, i) => {
      const [a, b] = pair.map((row) => place.get(row)), value = own.importance[at][i];
      if (value === null) { found.x.push(a, b); found.y.push(b, a); return; }
      const table = own.above[at][i] ? found.above : found.others;
      table[a][b] = table[b][a] = value;
    });
    return found;
  }

  function drawHeat() {
    if (at("pair-pictures").hidden) return null;
    const own = data.pairs, d = own.map.length, places = own.map.map((_, k) => k), now = heatNow();
    const called = own.map.map((row, k) => plain(data.short[row]) + " " + (k + 1));
    const brightest = own.importance.flatMap((row, q) => row.filter((_, i) => own.above[q][i]));
    const cells = { type: "heatmap", x: places, y: places, xgap: 1, ygap: 1, zmin: 0, zmax: Math.max(0.01, ...numbers([brightest])) };
    const grey = "rgba(140,140,140,0.3)";
    const traces = [
      Object.assign({ z: now.above, colorscale: "Viridis", hovertemplate: "%{z:.3f}<extra></extra>", colorbar: { thickness: 12 },
                      showscale: !narrow(heat) }, cells),
      Object.assign({ z: now.others, colorscale: [[0, grey], [1, grey]], showscale: false,
                      hovertemplate: "%{z:.3f}, not above chance<extra></extra>" }, cells),
      { type: "scatter", mode: "markers", x: now.x, y: now.y, hovertemplate: "nothing known<extra></extra>", showlegend: false,
        marker: { symbol: "x-thin", size: 7, line: { width: 1.2, color: colour("--soft") } } },
    ];
    const axis = { tickvals: places, showgrid: false, zeroline: false, ticks: "" };
    return Plotly.react(heat, traces, layout(heat, {
      height: 80 + Math.min(26 * d, 720), margin: { l: 10, r: 10, t: 6, b: 10 },
      xaxis: Object.assign({ ticktext: places.map((j) => String(j + 1)), tickangle: 0, range: [-0.5, d - 0.5] }, axis),
      yaxis: Object.assign({ ticktext: called, range: [d - 0.5, -0.5] }, axis),
    }), config);
  }

  // A curve of steps over the cells, as high as the higher of the two densities.
  function drawDensity(i) {
    const own = data.pictures[i];
    if (!own) return;
    const target = own.target[level];
    const top = Math.max(1, ...own.region, ...target), cell = 300 / own.region.length;
    const steps = (mass) => mass.map((m, k) => {
      const y = (58 - 56 * m / top).toFixed(1);
      return (k ? "V" : "M0 ") + y + "H" + ((k + 1) * cell).toFixed(1);
    }).join("");
    const svg = at("density-" + i);
    svg.querySelector(".all").setAttribute("d", steps(own.region) + "V60H0Z");
    svg.querySelector(".best").setAttribute("d", steps(target));
  }

  function fill(table, cells) {
    Array.from(at(table).tBodies[0].rows).forEach((row, i) => {
      cells[i].forEach((text, j) => { row.cells[j + 1].textContent = text; });
    });
  }

  function list(id, texts) {
    at(id).replaceChildren(...texts.map((text) => {
      const item = document.createElement("li");
      item.textContent = text;
      return item;
    }));
  }

  function element(tag, text, name) {
    const own = document.createElement(tag);
    own.textContent = text;
    if (name) own.className = name;
    return own;
  }

  // The pairs that are listed, and their order, are those of the level.
  function showPairs() {
    const own = data.pairs, q = own.level[level];
    list("pair-words", own.words[q]);
    if (!heat) return;
    at("pair-pictures").hidden = !own.above[q].some(Boolean);
    at("pair-table").tBodies[0].replaceChildren(...own.table[q].map(([i, ...texts]) => {
      const row = element("tr", "", own.above[q][i] ? "" : "pale"), head = element("th", "");
      const [a, b] = own.pairs[i].map((j) => element("bdi", data.labels[j]));
      head.scope = "row";
      head.append(a, " × ", b);
      row.append(head, ...texts.map((text) => element("td", text, "number")));
      return row;
    }));
  }

  function showWords() {
    const label = data.level_labels[level];
    at("label").textContent = label;
    list("sentences", data.sentences[level]);
    if (slider) slider.setAttribute("aria-valuetext", label);
    fill("table", data.cells[level]);
    Array.from(at("table").tBodies[0].rows).forEach((row, j) => {
      row.classList.toggle("pale", Boolean(data.pale[level][j]));
    });
    data.values.forEach((texts, i) => { at("value-" + i).textContent = texts[level]; });
    data.pictures.forEach((_, i) => drawDensity(i));
    if (data.pairs) showPairs();
  }

  function drawAll() {
    return Promise.all([course && drawCourse(), drawBars(), curves && drawCurves(), heat && drawHeat()]);
  }

  function show(next) {
    const before = heat && data.pairs.level[level];
    level = next;
    const now = barsNow();
    Plotly.restyle(bars, {
      x: [now.x], "error_x.array": [now.plus], "error_x.arrayminus": [now.minus], "marker.color": [now.fill],
    });
    if (curves) Plotly.relayout(curves, { "shapes[0]": cursor() });
    showWords();
    if (heat && data.pairs.level[level] !== before) drawHeat();
  }

  if (slider) {
    slider.value = String(level);
    slider.addEventListener("input", () => show(Number(slider.value)));
  }
  drawAll().then(() => {
    if (curves) {
      curves.on("plotly_click", (event) => {
        const x = event.points[0].x;
        slider.value = String(data.levels.reduce((best, y, i) => (Math.abs(y - x) < Math.abs(data.levels[best] - x) ? i : best), 0));
        show(Number(slider.value));
      });
    }
    document.documentElement.dataset.ready = "yes";
  });
  showWords();
  let drawnAt = document.documentElement.clientWidth;
  window.addEventListener("resize", () => {
    if (printing || document.documentElement.clientWidth === drawnAt) return;
    drawnAt = document.documentElement.clientWidth;
    drawAll();
  });
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
  // The style of print must hold before its colours can be read.
  window.matchMedia("print").addEventListener("change", (event) => { printing = event.matches; drawAll(); });
})();
