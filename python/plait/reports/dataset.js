"use strict";
// A dataset's map of winners and its differences of pairs.
const short = (value) => (value === null || Number.isNaN(value) ? "–" : Number(value.toPrecision(4)).toString().replace("-", "−"));
const safe = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");

function options(select, entries, value) {
  select.replaceChildren(...entries.map(([key, text]) => new Option(text, key)));
  select.value = value;
}

function wireField(field) {
  const metric = document.getElementById("field-metric");
  const across = document.getElementById("field-x");
  const down = document.getElementById("field-y");
  let drawn = 0;
  const names = field.variables.map((one, index) => [String(index), one.name]);
  options(metric, Object.entries(field.metrics), Object.keys(field.metrics)[0]);
  options(across, names, "0");
  if (down) options(down, names, "1");

  // The map of two variables as columns by rows; it is kept for one order of the two only.
  function cells() {
    const x = Number(across.value);
    const y = down ? Number(down.value) : x;
    const found = field.maps.find((one) => (one.x === x && one.y === y) || (one.x === y && one.y === x));
    const turned = found.x !== x;
    const width = field.variables[x].labels.length;
    const height = x === y ? 1 : field.variables[y].labels.length;
    const at = (column, row) => (turned ? column * height + row : row * width + column);
    return { found, width, height, at, x: field.variables[x], y: x === y ? null : field.variables[y] };
  }

  function told(map, values, column, row) {
    const cell = map.at(column, row);
    const count = data.labels.length;
    const means = data.labels.map((name, index) => [name, values.means[cell * count + index]]).filter(([, mean]) => !Number.isNaN(mean));
    const less = data.ways[metric.value] < 0;
    means.sort((one, other) => (less ? one[1] - other[1] : other[1] - one[1]));
    const failed = map.failed[cell];
    const where = [`${safe(map.x.name)}: ${safe(map.x.labels[column])}`];
    if (map.y) where.push(`${safe(map.y.name)}: ${safe(map.y.labels[row])}`);
    const pairs = values.pairs[cell];
    const verdict = pairs === 0 || means.length === 0 ? "no runs to compare" : values.winner[cell] < 0 ? `only ${safe(means[0][0])}` :
      values.tie[cell] ? `<b>tie</b> of ${safe(means[0][0])} and ${safe(means[1][0])}` : `<b>${safe(data.labels[values.winner[cell]])}</b>, ${short(values.margin[cell])} % ahead`;
    return [...where, verdict, ...means.map(([name, mean]) => `${safe(name)}: ${short(mean)}`), `compared over ${pairs} point${pairs === 1 ? "" : "s"} (of one point: seeds)${pairs < data.enough ? ", too few for an interval to be trusted" : ""}` + (failed ? `, ${failed} failed runs` : "")].join("<br>");
  }

  function draw() {
    const look = theme();
    const element = document.getElementById("field");
    const base = cells();
    const packed = base.found.metrics[metric.value];
    const values = Object.fromEntries(Object.entries(packed).map(([name, one]) => [name, numbers(one)]));
    const map = { ...base, failed: numbers(base.found.failed) };
    const rows = [...Array(map.height).keys()];
    const columns = [...Array(map.width).keys()];
    const margins = [...values.margin].filter((_, cell) => values.winner[cell] >= 0 && !values.tie[cell]).sort((one, other) => one - other);
    const strongest = Math.max(5, margins[Math.floor(margins.length * 0.9)] || 0);
    const room = element.clientWidth / map.width;
    const label = (cell) => {
      const failed = map.failed[cell] ? `✕${map.failed[cell]}` : "";
      if (values.winner[cell] < 0) return failed;
      return [values.tie[cell] ? "tie" : `${values.margin[cell] < 10 ? values.margin[cell].toFixed(1) : Math.round(values.margin[cell])} %`, failed].filter(Boolean).join("<br>");
    };
    const layer = (name, held, z, scale, extra) => ({
      type: "heatmap", name, x: columns, y: rows, xgap: 2, ygap: 2, showscale: false, zmin: 0, zmax: strongest, colorscale: scale,
      z: rows.map((row) => columns.map((column) => (held(map.at(column, row)) ? z(map.at(column, row)) : null))),
      text: rows.map((row) => columns.map((column) => (held(map.at(column, row)) && room > 46 ? label(map.at(column, row)) : ""))),
      customdata: rows.map((row) => columns.map((column) => told(map, values, column, row))),
      texttemplate: room > 46 ? "%{text}" : undefined, textfont: { color: look.ink, size: 11 }, hovertemplate: "%{customdata}<extra></extra>", hoverongaps: false, ...extra,
    });
    const traces = data.labels.map((name, index) => layer(name, (cell) => values.winner[cell] === index && !values.tie[cell], (cell) => values.margin[cell],
      [[0, faint(colour(look, index), 0.22)], [1, faint(colour(look, index), 0.62)]]));
    traces.push(layer("tie", (cell) => values.winner[cell] >= 0 && values.tie[cell], () => 1, [[0, look.line], [1, look.line]]));
    traces.push(layer("no contest", (cell) => values.winner[cell] < 0, () => 1, [[0, faint(look.soft.startsWith("#") ? look.soft : "#888888", 0.08)], [1, faint("#888888", 0.08)]]));
    const longest = Math.max(...map.x.labels.map((text) => text.length));
    const tickangle = longest * 7 < room ? 0 : phone.matches ? -90 : -35;
    const shown = (labels) => ({ tickvals: [...labels.keys()], ticktext: labels.map(safe), showgrid: false });
    const height = 110 + Math.max(2, map.height) * (map.height > 8 ? 38 : 46);
    element.style.height = `${height}px`;
    const layout = dressed({
      xaxis: { title: { text: safe(map.x.name) }, ...shown(map.x.labels), tickangle }, dragmode: false,
      yaxis: map.y ? { title: { text: safe(map.y.name) }, ...shown(map.y.labels) } : { showticklabels: false, showgrid: false },
    }, look);
    keys(look, values);
    // What fits into a cell depends on the width, so it is drawn anew rather than resized.
    drawn = element.clientWidth;
    if (!printing) layout.width = drawn - 2;
    return Plotly.react(element, traces, layout, { ...config(), responsive: false, displayModeBar: false });
  }

  function keys(look, values) {
    const wins = data.labels.map((_, index) => [...values.winner].filter((one, cell) => one === index && !values.tie[cell]).length);
    const ties = [...values.winner].filter((one, cell) => one >= 0 && values.tie[cell]).length;
    const key = (text, hue) => {
      const span = document.createElement("span");
      const swatch = document.createElement("i");
      swatch.style.background = hue;
      span.append(swatch, text);
      return span;
    };
    const cellsOf = (count) => `${count} cell${count === 1 ? "" : "s"}`;
    document.getElementById("field-keys").replaceChildren(
      ...data.labels.map((name, index) => key(`${name}: ${cellsOf(wins[index])}`, colour(look, index))), key(`tie: ${cellsOf(ties)}`, look.line));
  }

  drawings.push(draw);
  const element = document.getElementById("field");
  new ResizeObserver(() => { if (drawn > 0 && element.clientWidth !== drawn) draw(); }).observe(element);
  metric.addEventListener("change", draw);
  for (const [select, other] of [[across, down], [down, across]]) {
    if (!select) continue;
    let before = select.value;
    select.addEventListener("change", () => {
      if (other && select.value === other.value) other.value = before;
      before = select.value;
      draw();
    });
    if (other) other.addEventListener("change", () => { before = select.value; });
  }
}

const COLUMNS_OF_DIFFERENCES = ["", "points", "mean", "median", "better", "same", "worse"];

function wireDifferences() {
  const baseline = document.getElementById("baseline");
  if (!baseline) return;
  const metric = () => chosen.d.metric;

  function draw() {
    const look = theme();
    const base = Number(baseline.value);
    const way = data.ways[metric()];
    const held = data.labels.map((name, index) => ({ name, index, row: data.differences[metric()][base][index] })).filter(({ row, index }) => row && !hidden.has(index));
    const traces = held.map(({ name, index, row }) => {
      const [pairs, mean, low, high, median, medianLow, medianHigh, q5, q25, q50, q75, q95] = row;
      const hue = colour(look, index);
      return { type: "box", orientation: "h", name: safe(name), y: [safe(name)], q1: [q25], median: [q50], q3: [q75], lowerfence: [q5], upperfence: [q95], mean: [mean],
        marker: { color: hue }, line: { color: hue, width: 1.6 }, fillcolor: faint(hue, 0.25), hoverinfo: "x+name", whiskerwidth: 0.5 };
    });
    const means = { type: "scatter", mode: "markers", x: held.map(({ row }) => row[1]), y: held.map(({ name }) => safe(name)), marker: { symbol: "diamond", size: 9, color: held.map(({ index }) => colour(look, index)) },
      error_x: { type: "data", symmetric: false, array: held.map(({ row }) => (row[3] === null ? 0 : row[3] - row[1])), arrayminus: held.map(({ row }) => (row[2] === null ? 0 : row[1] - row[2])), color: look.ink, thickness: 1.5, width: 4 },
      hovertemplate: "mean difference %{x:.4~g}<extra>%{y}</extra>" };
    const element = document.getElementById("difference");
    element.style.height = `${(phone.matches ? 140 : 100) + 46 * Math.max(1, held.length)}px`;
    const layout = dressed({ xaxis: { title: { text: `${data.headings[metric()]},${phone.matches ? "<br>" : " "}${way === 0 ? "difference to" : "better by than"} ${safe(data.labels[base])}` }, zeroline: true, zerolinecolor: look.soft, zerolinewidth: 1.5 },
      yaxis: { autorange: "reversed", showgrid: false }, boxgap: 0.35 }, look);
    table(held, way);
    return Plotly.react(element, [...traces, means], layout, config());
  }

  function table(held, way) {
    const headings = way === 0 ? [...COLUMNS_OF_DIFFERENCES.slice(0, 4), "higher", "same", "lower"] : COLUMNS_OF_DIFFERENCES;
    const line = (cells, kind) => {
      const row = document.createElement("tr");
      row.append(...cells.map((text, index) => {
        const cell = document.createElement(index === 0 || kind === "th" ? "th" : "td");
        if (index > 0) cell.className = "n";
        cell.textContent = text;
        return cell;
      }));
      return row;
    };
    const interval = (value, low, high) => (low === null ? short(value) : `${short(value)} (${short(low)} … ${short(high)})`);
    document.getElementById("difference-table").replaceChildren(line(headings, "th"),
      ...held.map(({ name, row }) => line([name, String(row[0]), interval(row[1], row[2], row[3]), interval(row[4], row[5], row[6]), ...row.slice(12).map((share) => `${share} %`)], "td")));
  }

  baseline.addEventListener("change", draw);
  drawings.push(draw);
}

if (data.field) wireField(data.field);
wireDifferences();
start();
