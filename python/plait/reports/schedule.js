"use strict";
// The space-time diagram: a panel per path, packets from the sender's line down to the receiver's, bars below for those that wait.
const COLUMNS = ["sequence", "path", "kind", "fate", "lane", "sent", "arrived", "delivered"];
const KIND_DASHES = ["solid", "7px,4px", "2px,3px"];
const DUPLICATE = 1;
const REACH = 20; // pixels from which a pointer finds a packet
const STEP = 8; // pixels between the points of a line: what lies closer is told apart by zooming
const DROP = 130; // pixels from the sender's line to the receiver's, about
const NUMBER_AT = 0.13; // where on its way a packet's number is written
const LOST_AT = 0.45; // how far above the receiver's line a lost packet ends
const number = new Intl.NumberFormat("en", { maximumFractionDigits: 3, minimumFractionDigits: 3, useGrouping: false });

function unpacked(run) {
  if (!run.columns) run.columns = Object.fromEntries(COLUMNS.map((name) => [name, numbers(run[name])]));
  return run.columns;
}

function told(plan, window, columns, row) {
  const at = (name) => number.format(window.start_ns / 1e6 + columns[name][row]) + " ms";
  const lines = [`<b>packet ${columns.sequence[row]}</b>`, `path ${plan.paths[columns.path[row]].replaceAll("<", "&lt;")}, ${plan.kinds[columns.kind[row]]}`,
    `sent ${at("sent")}`];
  if (Number.isNaN(columns.arrived[row])) return [...lines, "lost"].join("<br>");
  lines.push(`arrived ${at("arrived")}, ${number.format(columns.arrived[row] - columns.sent[row])} ms later`);
  if (columns.fate[row] === DUPLICATE) return [...lines, "a duplicate: its data had arrived before"].join("<br>");
  if (Number.isNaN(columns.delivered[row])) return [...lines, "not delivered before the run ended"].join("<br>");
  lines.push(`delivered ${at("delivered")}, waited ${number.format(columns.delivered[row] - columns.arrived[row])} ms`);
  return lines.join("<br>");
}

// A polyline per packet in one trace.
function polyline(trace, points, text) {
  for (const [x, y] of points) {
    trace.x.push(x);
    trace.y.push(y);
    trace.text.push(text);
  }
  trace.x.push(null);
  trace.y.push(null);
  trace.text.push("");
}

// Points of a straight line, close to each other where it is seen, so that a pointer finds it anywhere. `view` is the part that is shown.
function along(x0, y0, x1, y1, view) {
  const from = Math.max(x0, view.low);
  const to = Math.min(x1, view.high);
  if (!(from < to)) return [[x0, y0], [x1, y1]];
  const at = (x) => [x, y0 + ((x - x0) / (x1 - x0)) * (y1 - y0)];
  const length = Math.hypot((to - from) / view.pixel, (DROP * (y1 - y0) * (to - from)) / (x1 - x0));
  const steps = Math.max(1, Math.ceil(length / STEP));
  const points = Array.from({ length: steps + 1 }, (_, step) => at(from + (step / steps) * (to - from)));
  return [[x0, y0], ...points, [x1, y1]];
}

function lines(name, extra) {
  return { type: "scatter", mode: "lines", name, x: [], y: [], text: [], hovertemplate: "%{text}<extra></extra>", ...extra };
}

function laneHeight(depth) {
  return Math.min(0.085, 1.25 / (depth + 1));
}

function pathTraces(plan, window, run, path, hue, look, view) {
  const columns = unpacked(run);
  const axes = { yaxis: path ? `y${path + 1}` : "y" };
  const kinds = KIND_DASHES.map((style, kind) => lines(plan.kinds[kind], { ...axes, line: { color: hue, width: view.line, dash: style } }));
  const lost = lines("lost", { ...axes, line: { color: look.lost, width: 1.2 } });
  const duplicates = lines("duplicates", { ...axes, opacity: 0.45, line: { color: hue, width: view.line } });
  const crosses = lines("lost", { ...axes, mode: "markers", marker: { symbol: "x-thin", size: 8, color: look.lost, line: { color: look.lost, width: 2 } } });
  const height = laneHeight(run.depths[path]);
  const waits = lines("waits", { ...axes, opacity: 0.6, line: { color: hue, width: Math.max(1, Math.min(5, height * 55)) } });
  const falls = lines("waits", { ...axes, hoverinfo: "skip", hovertemplate: undefined, opacity: 0.3, line: { color: hue, width: 0.6 } });
  const heads = lines("arrivals", { ...axes, mode: "markers", marker: { size: 3.5, color: hue } });
  const way = typical(columns, path);
  for (let row = 0; row < columns.sequence.length; row += 1) {
    if (columns.path[row] !== path) continue;
    const text = told(plan, window, columns, row);
    const sent = columns.sent[row];
    const arrived = columns.arrived[row];
    if (Number.isNaN(arrived)) {
      const end = sent + way * (1 - LOST_AT);
      polyline(lost, along(sent, 1, end, LOST_AT, view), text);
      crosses.x.push(end);
      crosses.y.push(LOST_AT);
      crosses.text.push(text);
      continue;
    }
    if (columns.fate[row] === DUPLICATE) {
      polyline(duplicates, along(sent, 1, arrived, 0, view), text);
      continue;
    }
    polyline(kinds[columns.kind[row]], along(sent, 1, arrived, 0, view), text);
    if (columns.lane[row] < 0) {
      heads.x.push(arrived);
      heads.y.push(0);
      heads.text.push(text);
      continue;
    }
    const level = -height * (columns.lane[row] + 1);
    polyline(falls, [[arrived, 0], [arrived, level]], "");
    polyline(waits, along(arrived, level, columns.delivered[row], level, view), text);
  }
  return [...kinds, lost, duplicates, crosses, falls, waits, heads];
}

// Thinner where more lines share the place.
function lineWidth(run, range, width) {
  let shown = 0;
  unpacked(run).sent.forEach((sent, row) => { if (sent < range[1] && !(run.columns.arrived[row] < range[0])) shown += 1; });
  return Math.max(0.5, Math.min(1.5, (0.3 * width) / Math.max(1, shown)));
}

function typical(columns, path) {
  const ways = [];
  columns.sent.forEach((sent, row) => {
    if (columns.path[row] === path && !Number.isNaN(columns.arrived[row])) ways.push(columns.arrived[row] - sent);
  });
  ways.sort((one, other) => one - other);
  return ways.length ? ways[ways.length >> 1] : 5;
}

// The packets' numbers, where there is room for them in the part that is shown.
function numbersShown(run, paths, range, width) {
  const columns = unpacked(run);
  const pixel = (range[1] - range[0]) / Math.max(1, width);
  return paths.map((_, path) => {
    const trace = { x: [], y: [], text: [] };
    const places = [];
    columns.sent.forEach((sent, row) => {
      if (columns.path[row] !== path || Number.isNaN(columns.arrived[row])) return;
      const at = columns.arrived[row] - NUMBER_AT * (columns.arrived[row] - sent);
      const text = String(columns.sequence[row]);
      const half = (text.length * 6.2 * pixel) / 2 + 3 * pixel;
      if (at - half > range[0] && at + half < range[1]) places.push([at, half, text]);
    });
    places.sort((one, other) => one[0] - other[0]);
    let edge = -Infinity;
    for (const [at, half, text] of places) {
      if (at - half < edge) continue;
      edge = at + half;
      trace.x.push(at);
      trace.y.push(NUMBER_AT);
      trace.text.push(text);
    }
    return trace;
  });
}

function scheduleLayout(plan, window, run, range, look) {
  const paths = plan.paths.length;
  const gap = 0.09;
  const height = (1 - gap * (paths - 1)) / paths;
  const last = paths > 1 ? `y${paths}` : "y";
  const layout = { xaxis: { title: { text: `time after ${number.format(window.start_ns / 1e9)} s (ms)` }, anchor: last, range }, annotations: [], shapes: [],
    dragmode: touch.matches ? false : "pan", hoverdistance: REACH };
  plan.paths.forEach((name, path) => {
    const top = 1 - path * (height + gap);
    const deep = laneHeight(run.depths[path]) * (run.depths[path] + 1);
    layout[path ? `yaxis${path + 1}` : "yaxis"] = { domain: [Math.max(0, top - height), top], range: [-deep - 0.06, 1.06], fixedrange: true, showgrid: false,
      tickvals: [1, 0], ticktext: ["sender", "receiver"] };
    layout.annotations.push({ text: `path “${name.replaceAll("<", "&lt;")}”`, xref: "paper", yref: "paper", x: 0, y: top, xanchor: "left", yanchor: "bottom", showarrow: false });
    for (const level of [0, 1]) {
      layout.shapes.push({ type: "line", layer: "below", xref: "paper", x0: 0, x1: 1, yref: path ? `y${path + 1}` : "y", y0: level, y1: level, line: { color: look.soft, width: 1 } });
    }
  });
  return layout;
}

function wireSchedule(plan) {
  const state = { window: 0, run: 0, range: null };
  const element = document.getElementById(plan.id);
  const window = () => plan.windows[state.window];
  const run = () => window().runs[state.run];
  const whole = () => {
    const columns = unpacked(run());
    const end = columns.arrived.reduce((most, arrived, row) => Math.max(most, arrived || 0, columns.delivered[row] || 0), window().span_ms);
    return [0, end * 1.01];
  };
  const first = () => [0, window().shown_ms * (phone.matches ? 0.5 : 1)];
  const inner = () => Math.max(100, element.clientWidth - 90);
  let listening = false;

  function draw() {
    const look = theme();
    state.range ||= first();
    const [low, high] = state.range;
    const view = { low, high, pixel: (high - low) / inner(), line: lineWidth(run(), state.range, inner()) };
    const traces = plan.paths.flatMap((_, path) => pathTraces(plan, window(), run(), path, colour(look, path), look, view));
    const texts = numbersShown(run(), plan.paths, state.range, inner()).map((shown, path) => ({ type: "scatter", mode: "text", name: "numbers", ...shown,
      yaxis: path ? `y${path + 1}` : "y", hoverinfo: "skip", textfont: { size: 10, color: look.ink, shadow: Array(4).fill(`0 0 3px ${look.card}`).join(", ") } }));
    const layout = dressed(scheduleLayout(plan, window(), run(), state.range, look), look);
    layout.margin = { ...layout.margin, l: 62 };
    return Plotly.react(element, [...traces, ...texts], layout, { ...config(), doubleClick: false }).then(() => {
      if (!listening) listen();
      listening = true;
    });
  }

  function zoom(range) {
    const [low, high] = whole();
    const span = Math.max(0.05, Math.min(range[1] - range[0], high - low));
    const start = Math.max(low, Math.min(range[0], high - span));
    Plotly.relayout(element, { "xaxis.range": [start, start + span] });
  }

  const acts = {
    earlier: ([low, high]) => [low - 0.6 * (high - low), high - 0.6 * (high - low)],
    later: ([low, high]) => [low + 0.6 * (high - low), high + 0.6 * (high - low)],
    in: ([low, high]) => [low + 0.25 * (high - low), high - 0.25 * (high - low)],
    out: ([low, high]) => [low - 0.5 * (high - low), high + 0.5 * (high - low)],
    all: () => whole(),
  };
  for (const control of document.querySelectorAll(`[data-schedule="${plan.id}"]`)) {
    if (control.dataset.act) control.addEventListener("click", () => zoom(acts[control.dataset.act](state.range)));
    else if (control.tagName === "SELECT") {
      control.addEventListener("change", () => {
        state.window = Number(control.value);
        state.range = null;
        draw();
      });
    } else {
      control.addEventListener("click", () => {
        state.run = Number(control.dataset.run);
        for (const other of control.parentElement.children) other.setAttribute("aria-pressed", String(other === control));
        draw();
      });
    }
  }

  function listen() {
    element.on("plotly_doubleclick", () => zoom(whole()));
    element.on("plotly_relayout", () => {
      const range = [...element.layout.xaxis.range];
      if (range[0] === state.range[0] && range[1] === state.range[1]) return;
      state.range = range;
      draw();
    });
  }

  drawings.push(draw);
}

for (const plan of data.schedules) wireSchedule(plan);
start();
