"use strict";
// Reads the page's data, dresses Plotly's figures in the page's colours, and draws them anew when a reader chooses otherwise.
const data = JSON.parse(document.getElementById("data").textContent);
const dark = matchMedia("(prefers-color-scheme: dark)");
const phone = matchMedia("(max-width: 40rem)");
const touch = matchMedia("(pointer: coarse)");
const hidden = new Set();
const chosen = {};
const drawings = [];
let printing = false;
const PAPER = 690; // pixels of a page's width, A4 or letter, within its margins

const ARRAYS = { f4: Float32Array, f8: Float64Array, u1: Uint8Array, u2: Uint16Array, u4: Uint32Array, i2: Int16Array, i4: Int32Array };

function numbers(packed) {
  const bytes = Uint8Array.from(atob(packed.bdata), (one) => one.charCodeAt(0));
  return new ARRAYS[packed.dtype](bytes.buffer);
}

function theme() {
  const style = getComputedStyle(document.documentElement);
  const value = (name) => style.getPropertyValue(name).trim();
  const isDark = dark.matches && !printing;
  return { ink: value("--ink"), soft: value("--soft"), card: value("--card"), line: value("--line"), lost: value("--lost"),
    colours: data.colours[isDark ? "dark" : "light"] };
}

const colour = (look, index) => look.colours[index % look.colours.length];
const dash = (index) => data.colours.dashes[index % data.colours.dashes.length];

function faint(hex, alpha) {
  const part = (from) => parseInt(hex.slice(from, from + 2), 16);
  return `rgba(${part(1)},${part(3)},${part(5)},${alpha})`;
}

// A layout with the page's colours, and what every figure has in common.
function dressed(layout, look) {
  const quiet = { gridcolor: look.line, linecolor: look.line, zerolinecolor: look.line, tickcolor: look.line, automargin: true, zeroline: false, exponentformat: "none" };
  const result = {
    autosize: true, ...(printing ? { width: PAPER } : {}), showlegend: false, separators: ".\u2009", hovermode: "closest", hoverdistance: 24, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: getComputedStyle(document.body).fontFamily, size: phone.matches ? 11 : 12, color: look.ink },
    margin: { l: 52, r: 14, t: 26, b: 44 },
    hoverlabel: { bgcolor: look.card, bordercolor: look.soft, font: { family: getComputedStyle(document.body).fontFamily, color: look.ink, size: 12 }, align: "left" },
    modebar: { bgcolor: "rgba(0,0,0,0)", color: look.soft, activecolor: look.ink },
    dragmode: touch.matches ? false : "zoom", ...layout,
  };
  for (const key of ["xaxis", "yaxis", ...Object.keys(layout)]) {
    if (/^[xy]axis\d*$/.test(key)) {
      const own = layout[key] || {};
      result[key] = { ...quiet, ...own, title: { standoff: 8, ...(own.title || {}) } };
    }
  }
  result.annotations = (layout.annotations || []).map((one) => ({ font: { color: look.ink }, ...one }));
  return result;
}

function config() {
  return { displaylogo: false, responsive: true, displayModeBar: touch.matches ? false : "hover", doubleClick: "reset",
    modeBarButtons: [["toImage", "zoom2d", "pan2d", "resetScale2d"]] };
}

function set(target, path, value) {
  const keys = path.split(".");
  const last = keys.pop();
  let place = target;
  for (const key of keys) place = place[key] = { ...(place[key] || {}) };
  place[last] = value;
}

function painted(trace, look) {
  const { scheduler, only, ...plain } = trace;
  if (scheduler === undefined) return plain;
  const hue = colour(look, scheduler);
  if (plain.type === "bar") plain.marker = { color: hue, ...plain.marker };
  else plain.line = { color: hue, dash: dash(scheduler), width: 2, ...plain.line };
  plain.hovertemplate = `${plain.name.replaceAll("<", "&lt;")}<br>${plain.hovertemplate}<extra></extra>`;
  return plain;
}

// What a reader sees of a chart: the traces that fit the choices, of schedulers that are shown.
function drawChart(chart) {
  const group = chart.id.split("-")[0];
  const choices = chosen[group] || {};
  const look = theme();
  const traces = chart.traces.filter((trace) => !hidden.has(trace.scheduler) &&
    Object.entries(trace.only || {}).every(([name, value]) => choices[name] === value));
  const layout = structuredClone(chart.layout);
  for (const [name, options] of Object.entries(chart.choices || {})) {
    for (const [path, value] of Object.entries(options[choices[name]] || {})) set(layout, path, value);
  }
  // Zooms stay while schedulers come and go; another choice begins anew.
  layout.uirevision = JSON.stringify(choices);
  return Plotly.react(chart.id, traces.map((trace) => painted(trace, look)), dressed(layout, look), config());
}

function drawAll() {
  for (const draw of drawings) draw();
  paintChips();
}

function paintChips() {
  const look = theme();
  for (const chip of document.querySelectorAll(".chip")) {
    const index = Number(chip.dataset.scheduler);
    const line = chip.querySelector("line");
    line.setAttribute("stroke", colour(look, index));
    line.setAttribute("stroke-dasharray", dash(index) === "solid" ? "none" : dash(index).replaceAll("px", ""));
    chip.setAttribute("aria-pressed", String(!hidden.has(index)));
  }
}

// A click hides or shows a scheduler in every chart; a double click shows it alone, then all again.
function wireChips() {
  const chips = [...document.querySelectorAll(".chip")];
  const all = chips.map((chip) => Number(chip.dataset.scheduler));
  for (const chip of chips) {
    const index = Number(chip.dataset.scheduler);
    chip.title = "click: hide or show; double-click: show alone";
    chip.addEventListener("click", () => {
      if (!hidden.delete(index)) hidden.add(index);
      if (hidden.size === all.length) hidden.clear();
      drawAll();
    });
    chip.addEventListener("dblclick", () => {
      const alone = hidden.size === all.length - 1 && !hidden.has(index);
      hidden.clear();
      if (!alone) for (const other of all) if (other !== index) hidden.add(other);
      drawAll();
    });
  }
}

function wireChoices() {
  for (const select of document.querySelectorAll("select[data-choice]")) {
    const group = (chosen[select.dataset.group] ||= {});
    group[select.dataset.choice] = select.value;
    select.addEventListener("change", () => {
      group[select.dataset.choice] = select.value;
      drawAll();
    });
  }
}

// Called by a page's own script, after it has added its drawings.
function start() {
  wireChips();
  wireChoices();
  for (const chart of data.charts) drawings.push(() => drawChart(chart));
  drawAll();
  dark.addEventListener("change", drawAll);
  phone.addEventListener("change", drawAll);
  addEventListener("beforeprint", () => {
    printing = true;
    for (const one of document.querySelectorAll("details")) one.open = true;
    drawAll();
  });
  addEventListener("afterprint", () => {
    printing = false;
    drawAll();
    for (const chart of document.querySelectorAll(".chart:not(#field)")) Plotly.Plots.resize(chart);
  });
}
