// Draws what the data element holds, and moves bars, intervals, cursor, tables and words with the slider.
(function () {
  "use strict";
  const data = JSON.parse(document.getElementById("data").textContent);
  const at = (id) => document.getElementById(id);
  const slider = at("slider");
  const bars = at("bars"), curves = at("curves"), heat = at("heat");
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
    const pale = data.chance[level];
    return {
      x: mean.map((x) => (x === null ? 0 : x)),
      plus: mean.map((x, j) => (x === null || high[j] === null ? 0 : Math.max(high[j] - x, 0))),
      minus: mean.map((x, j) => (x === null || low[j] === null ? 0 : Math.max(x - low[j], 0))),
      fill: own.map((c, j) => (pale[j] ? "rgba(140,140,140,0.35)" : c)),
    };
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

  function drawCurves() {
    const traces = [], called = names(curves);
    for (const j of data.lines) {
      const low = column(data.low, j), high = column(data.high, j), own = data.colours[j];
      const common = { x: data.levels, mode: "lines", legendgroup: String(j) };
      if (low.some((x) => x !== null)) {
        const edge = { line: { width: 0 }, showlegend: false, hoverinfo: "skip" };
        traces.push(Object.assign({ y: low }, common, edge));
        traces.push(Object.assign({ y: high, fill: "tonexty", fillcolor: own + "30" }, common, edge));
      }
      traces.push(Object.assign({ y: column(data.mean, j), name: called[j], line: { color: own, width: 2 },
                                  hovertemplate: "%{y:.3f}" }, common));
    }
    const rest = data.labels.map((_, j) => j).filter((j) => !data.lines.includes(j));
    if (rest.length) {
      const sum = data.mean.map((row) => rest.reduce((total, j) => total + (row[j] || 0), 0));
      traces.push({ x: data.levels, y: sum, mode: "lines", name: rest.length + " others", hovertemplate: "%{y:.3f}",
                    line: { color: colour("--bar"), width: 2, dash: "dash" } });
    }
    const bands = roughBands();
    const words = bands.length ? " (grey: few rows, rough)" : "";
    return Plotly.react(curves, traces, layout(curves, {
      // Names stand above, where they meet no title; in a narrow picture nearly each on a line of its own.
      height: 340 + (narrow(curves) ? 22 : 6) * traces.filter((own) => own.name).length, margin: { l: 10, r: 12, t: 6, b: 44 }, hovermode: "x unified",
      xaxis: { title: { text: "target level γ′" + words }, range: [Math.min(0, data.levels[0]), Math.max(...data.levels)] },
      yaxis: { title: { text: "importance" }, rangemode: "tozero" },
      legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0 },
      shapes: [cursor()].concat(bands),
    }), config);
  }

  function heatNow() {
    const d = data.labels.length, own = data.pairs, values = own.importance[own.level[level]];
    const z = Array.from({ length: d }, () => new Array(d).fill(null));
    own.pairs.forEach(([a, b], i) => { z[a][b] = z[b][a] = values[i] === null ? null : Math.max(values[i], 0); });
    return z;
  }

  function drawHeat() {
    const d = data.labels.length, places = data.labels.map((_, j) => j), called = data.short.map((text, j) => plain(text) + " " + (j + 1));
    const top = Math.max(0.01, ...numbers(data.pairs.importance));
    const trace = { type: "heatmap", x: places, y: places, z: heatNow(), zmin: 0, zmax: top, colorscale: "Viridis",
                    xgap: 1, ygap: 1, hovertemplate: "%{z:.3f}<extra></extra>", showscale: !narrow(heat), colorbar: { thickness: 12 } };
    const axis = { tickvals: places, showgrid: false, zeroline: false, ticks: "" };
    return Plotly.react(heat, [trace], layout(heat, {
      height: 80 + Math.min(26 * d, 720), margin: { l: 10, r: 10, t: 6, b: 10 },
      xaxis: Object.assign({ ticktext: places.map((j) => String(j + 1)), tickangle: 0 }, axis),
      yaxis: Object.assign({ ticktext: called, autorange: "reversed" }, axis),
    }), config);
  }

  // A curve of steps over the cells, as high as the higher of the two densities.
  function drawDensity(i) {
    const own = data.pictures[i];
    if (!own) return;
    const target = own.target[Math.min(Math.round(level / data.step), own.target.length - 1)];
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

  function showWords() {
    const words = data.words[level];
    at("label").textContent = words.label;
    at("headline").textContent = words.headline;
    at("chance-words").textContent = words.chance;
    at("notes").replaceChildren(...words.notes.map((text) => {
      const item = document.createElement("li");
      item.textContent = text;
      return item;
    }));
    if (slider) slider.setAttribute("aria-valuetext", words.label);
    fill("table", data.cells[level]);
    Array.from(at("table").tBodies[0].rows).forEach((row, j) => {
      row.classList.toggle("pale", Boolean(data.chance[level][j]));
    });
    data.values.forEach((texts, i) => { at("value-" + i).textContent = texts[level]; });
    data.pictures.forEach((_, i) => drawDensity(i));
    if (heat) fill("pair-table", data.pairs.text[data.pairs.level[level]]);
  }

  function drawAll() {
    return Promise.all([drawBars(), curves && drawCurves(), heat && drawHeat()]);
  }

  function show(next) {
    level = next;
    const now = barsNow();
    Plotly.restyle(bars, {
      x: [now.x], "error_x.array": [now.plus], "error_x.arrayminus": [now.minus], "marker.color": [now.fill],
    });
    if (curves) Plotly.relayout(curves, { "shapes[0]": cursor() });
    if (heat) Plotly.restyle(heat, { z: [heatNow()] });
    showWords();
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
