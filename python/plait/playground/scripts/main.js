// Connects controls, simulators and pictures.

import { fromAddress, seconds, stateOf, toAddress, toCommands, toToml } from "./state.js";
import { SCALES, STEPS, position, short, textAt } from "./scale.js";
import { Simulator, compiled } from "./simulator.js";
import { colour } from "./canvas.js";
import { drawSpaceTime, endOf, nearest, packetsOf } from "./space_time.js";
import { drawCurves, goodputOf, ofPath, top } from "./charts.js";
import { showDecision } from "./words.js";
import { showControls } from "./controls.js";

const DATA = JSON.parse(document.getElementById("data").textContent);
const SAMPLES = 300;
/** The entry of the list for a scenario that is no preset. */
const OWN = "own";
const DASHES = [[], [6, 3]];
/** A run shows its packets when it is this long after the window. */
const MARGIN_NS = 250e6;
const at = (id) => document.getElementById(id);
const sides = [0, 1].map((side) => ({ side, run: null, names: [], packets: [], hits: [], chosen: null }));
let state = fromAddress(location.hash) ?? stateOf(DATA.opened ?? DATA.presets[0]);
let simulators = [];
let addressTimer = null;
let slowTimer = null;
let frame = null;
/** The movements whose times are noted. */
const noted = {};

function length() {
  return state.length_ms / 1e3;
}

function pathNames() {
  return state.scenario.path.map(({ name }) => name);
}

function duration() {
  return seconds(state.scenario.duration ?? "60s");
}

function say(words) {
  clearTimeout(slowTimer);
  slowTimer = null;
  at("status").textContent = words;
}

function writeAddress() {
  clearTimeout(addressTimer);
  history.replaceState(null, "", toAddress(state));
}

/** Requests both runs; the times from here to the pictures are shown. */
function simulate() {
  const moved = performance.now();
  // Browsers limit the changes of an address, and a slider makes one change a step.
  clearTimeout(addressTimer);
  addressTimer = setTimeout(writeAddress, 300);
  if (simulators.length) slowTimer ??= setTimeout(() => say("simulating"), 200);
  const end = duration();
  state.from_s = Math.min(state.from_s, Math.max(0, end - length()));
  const window_ns = [state.from_s, state.from_s + length()].map((one) => Math.round(one * 1e9));
  const series_ns = Math.max(1, Math.round((end / SAMPLES) * 1e9));
  const scenario = structuredClone(state.scenario);
  const preview_ns = window_ns[1] + MARGIN_NS;
  sides.forEach((side, index) => {
    const request = { scenario, scheduler: state.schedulers[index], run: { window_ns, series_ns, preview_ns } };
    const asked = { window_ns, moved, names: pathNames() };
    simulators[index]?.run(request, (data) => {
      if ("answer" in data) received(side, data, asked);
      else showPackets(side, JSON.parse(data.preview), asked);
    });
  });
}

/** Shows the packets of the chosen window, of a run that may still go on. */
function showPackets(side, packets, asked) {
  side.names = asked.names;
  side.window_ns = asked.window_ns;
  side.packets = packetsOf(packets);
  side.chosen = null;
  side.pictured = asked.moved;
  if (at("why").dataset.side === String(side.side)) forgetWhy();
  drawSoon();
}

function received(side, { answer, simulated_ms }, asked) {
  const run = JSON.parse(answer);
  const note = at(`note${side.side}`);
  const before = side.run ? "; the pictures are still those of the last run without an error" : "";
  note.textContent = run.error ? `${run.error}${before}` : "";
  at("results").classList.toggle("old", sides.some((one) => at(`note${one.side}`).textContent));
  if (run.error) {
    say("");
    return;
  }
  side.run = run;
  side.simulated_ms = simulated_ms;
  side.complete = asked.moved;
  if (side.pictured === asked.moved) {
    // The packets are those of the preview; only later deliveries are new.
    const before = side.packets.length;
    side.packets = packetsOf(run.tables.packets);
    if (side.packets.length !== before) side.chosen = null;
    drawSoon();
  } else {
    showPackets(side, run.tables.packets, asked);
  }
}

/** Draws in the browser's next frame: once, also if both runs end in the meantime. */
function drawSoon() {
  frame ??= requestAnimationFrame(() => {
    frame = null;
    drawPackets();
    if (sides.some((one) => one.complete !== one.charted)) drawRuns();
    noteTimes();
  });
}

/** Notes the times from the movement to the pictures of both sides. */
function noteTimes() {
  const { dataset } = document.documentElement;
  const [{ pictured, complete }] = sides;
  const taken = (moved) => performance.now() - moved;
  if (sides.every((one) => one.pictured === pictured) && noted.pictured !== pictured) {
    noted.pictured = pictured;
    dataset.packetsMs = taken(pictured).toFixed(1);
  }
  if (!complete || noted.complete === complete || sides.some((one) => one.complete !== complete)) return;
  noted.complete = complete;
  dataset.completeMs = taken(complete).toFixed(1);
  const simulated = Math.max(...sides.map((one) => one.simulated_ms));
  const first = `packets drawn after ${Number(dataset.packetsMs).toFixed(0)} ms`;
  say(`simulated in ${simulated.toFixed(0)} ms; ${first}, the rest after ${taken(complete).toFixed(0)} ms`);
}

function draw() {
  drawPackets();
  drawRuns();
}

function drawPackets() {
  const shown = sides.filter((one) => one.window_ns);
  const span = Math.max(...shown.map((one) => endOf(one.packets, one.window_ns[1])));
  for (const one of shown) {
    one.hits = drawSpaceTime(at(`packets${one.side}`), one.packets, one.names, [one.window_ns[0], span], one.chosen);
  }
}

/** Charts and metrics of complete runs. */
function drawRuns() {
  const shown = sides.filter((one) => one.run);
  for (const one of shown) {
    const { metrics } = one.run.result;
    const [name, delay] = metrics.block_delay_ms ? ["block", metrics.block_delay_ms] : ["packet", metrics.app_delay_ms];
    const words = delay ? `, ${name} delay ${short(delay.p95)} ms (p95), ${short(delay.max)} ms (longest)` : "";
    at(`summary${one.side}`).textContent = `${short(metrics.goodput_bps / 1e6)} Mbit/s${words}`;
  }
  if (!shown.length) return;
  for (const one of shown) one.charted = one.complete;
  drawSeries(shown);
  drawBoth(shown);
  showMetrics(shown);
}

const timeAxis = () => ({ low: 0, high: duration(), label: "time (s)" });
const band = () => [state.from_s, state.from_s + length()];

/** Windows and queues, per scheduler; both with the same scale. */
function drawSeries(shown) {
  for (const [kind, columns] of [["windows", ["cwnd_packets", "in_flight_packets"]], ["queues", ["link_queue_packets"]]]) {
    const curves = shown.map(({ run }) => run.result.paths.flatMap((_, path) => columns.map((column, thin) => ({
      points: ofPath(run.tables.path_series, path, column),
      colour: colour(`path${path % 4}`),
      width: thin ? 0.8 : 1.6,
      alpha: thin ? 0.6 : 1,
    }))));
    const high = Math.max(...curves.map((one) => top(one, 4)));
    shown.forEach((one, index) => {
      drawCurves(at(`${kind}${one.side}`), curves[index], { x: timeAxis(), y: { low: 0, high }, band: band() });
    });
  }
}

/** Goodput over time and the distribution of delays, of both schedulers. */
function drawBoth(shown) {
  const style = (side) => ({ colour: colour(`side${side}`), width: 1.8, dash: DASHES[side] });
  const goodput = shown.map(({ run, side }) => ({ points: goodputOf(run.tables.connection_series), ...style(side) }));
  drawCurves(at("goodput"), goodput, { x: timeAxis(), y: { low: 0, high: top(goodput) }, band: band() });
  const delays = shown.map(({ run, side }) => {
    const quantiles = run.tables.app_delay_quantiles_ns;
    return { points: quantiles.map((value, part) => [value / 1e6, (part / (quantiles.length - 1)) * 100]), ...style(side) };
  });
  const high = Math.max(1, ...delays.map(({ points }) => points.at(-2)?.[0] ?? 1));
  const cut = delays.map(({ points, ...rest }) => ({ points: points.filter(([value]) => value <= high), ...rest }));
  drawCurves(at("delays"), cut, { x: { low: 0, high, label: "packet delay (ms)" }, y: { low: 0, high: 100 } });
}

/** Whether the application limits the goodput: a stream or requests. */
const limited = (metrics) => metrics.block_delay_ms || metrics.request_latency_ms;

const ROWS = [
  ["goodput (Mbit/s)", ({ metrics }) => metrics.goodput_bps / 1e6],
  ["block delay, mean (ms)", ({ metrics }) => metrics.block_delay_ms?.mean],
  ["block delay, p95 (ms)", ({ metrics }) => metrics.block_delay_ms?.p95],
  ["block delay, longest (ms)", ({ metrics }) => metrics.block_delay_ms?.max],
  ["packet delay, median (ms)", ({ metrics }) => metrics.app_delay_ms?.p50],
  ["packet delay, p95 (ms)", ({ metrics }) => metrics.app_delay_ms?.p95],
  ["packet delay, longest (ms)", ({ metrics }) => metrics.app_delay_ms?.max],
  ["blocked at the receiver, p95 (ms)", ({ metrics }) => metrics.blocking_ms?.p95],
  ["receive buffer, largest (packets)", ({ metrics }) => metrics.receive_buffer_packets.max],
  ["request latency, p95 (ms)", ({ metrics }) => metrics.request_latency_ms?.p95],
  ["completion (s)", ({ metrics }) => metrics.completion_time_s],
  ["aggregation benefit (0: the best path, 1: all paths)", ({ metrics }) => (limited(metrics) ? null : metrics.aggregation_benefit)],
  ["retransmissions", ({ metrics }) => metrics.retransmissions],
  ["copies", ({ metrics }) => metrics.reinjections],
];

function showMetrics(shown) {
  const names = pathNames();
  const rows = [...ROWS, ...names.map((name, path) => [`throughput of ${name} (Mbit/s)`, ({ paths }) => (paths[path]?.throughput_bps ?? NaN) / 1e6])];
  const body = at("metrics");
  body.replaceChildren();
  for (const [title, value] of rows) {
    const values = shown.map(({ run }) => value(run.result));
    if (values.every((one) => one === null || one === undefined)) continue;
    const row = body.insertRow();
    const head = document.createElement("th");
    head.scope = "row";
    head.textContent = title;
    row.append(head);
    for (const one of values) Object.assign(row.insertCell(), { className: "n", textContent: short(one) });
  }
}

/** Marks a packet and shows its decision. */
function choose(side, index) {
  const packet = side.packets[index];
  if (!packet) return;
  for (const one of sides) one.chosen = one === side ? index : null;
  drawPackets();
  const why = { segment: packet.segment, path: packet.path, sent_ns: packet.sent, reinjection: packet.reinjection };
  const request = { scenario: state.scenario, scheduler: state.schedulers[side.side], why };
  simulators[side.side].ask(request, ({ answer }) => {
    const { decision, error } = JSON.parse(answer);
    if (error) at(`note${side.side}`).textContent = error;
    else if (side.chosen === index) {
      at("why").dataset.side = side.side;
      at("why-title").textContent = `Why, by ${state.schedulers[side.side]}`;
      showDecision(at("why-words"), packet, decision, side.names);
    }
  });
}

function forgetWhy() {
  at("why-words").textContent = "Click a packet, or choose one with the arrow keys, to see why it took its path.";
  at("why-title").textContent = "Why?";
}

function listen() {
  for (const side of sides) {
    const canvas = at(`packets${side.side}`);
    canvas.onclick = (event) => {
      const index = nearest(side.hits, event.offsetX, event.offsetY);
      if (index !== null) choose(side, index);
    };
    canvas.onkeydown = (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (step === undefined) return;
      event.preventDefault();
      choose(side, side.chosen === null ? 0 : Math.min(side.packets.length - 1, Math.max(0, side.chosen + step)));
    };
    const names = at(`scheduler${side.side}`);
    for (const { name, title } of DATA.schedulers) names.add(Object.assign(new Option(name, name), { title }));
    names.onchange = () => {
      state.schedulers[side.side] = names.value;
      showScheduler(side.side);
      changed();
    };
  }
  at("from").oninput = () => moveWindow(Number(at("from").value), state.length_ms);
  at("length").oninput = () => moveWindow(state.from_s, seconds(textAt(Number(at("length").value), SCALES.length)) * 1e3);
  at("preset").onchange = () => {
    state = stateOf(DATA.presets[Number(at("preset").value)]);
    rebuild();
  };
  for (const [id, title, words] of [["as-file", "Scenario file", () => toToml(state.scenario)], ["as-command", "Commands", () => toCommands(state)]]) {
    at(id).onclick = () => {
      at("text-title").textContent = title;
      at("text-words").textContent = words();
      at("copied").textContent = "";
      at("text").showModal();
    };
  }
  at("copy").onclick = async () => {
    at("copied").textContent = await copied(at("text-words").textContent, "select the text");
  };
  at("as-address").onclick = async () => {
    writeAddress();
    say(await copied(location.href, "take it from the address bar"));
  };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  window.addEventListener("resize", () => requestAnimationFrame(draw));
  window.addEventListener("hashchange", () => {
    state = fromAddress(location.hash) ?? state;
    at("preset").value = OWN;
    rebuild();
  });
}

/** Copies a text and returns a message. Pages have no clipboard over HTTP without TLS. */
async function copied(text, otherwise) {
  try {
    await navigator.clipboard.writeText(text);
    return "copied";
  } catch {
    return `cannot copy here: ${otherwise}`;
  }
}

/** Simulates a changed state. No preset is selected then, so each one can be chosen again. */
function changed() {
  at("preset").value = OWN;
  showWindow();
  simulate();
}

function moveWindow(from, milliseconds) {
  [state.from_s, state.length_ms] = [from, milliseconds];
  changed();
}

function showWindow() {
  const from = at("from");
  from.max = Math.max(0, duration() - length());
  from.value = state.from_s;
  at("from-words").textContent = `${Number(state.from_s.toFixed(3))} s`;
  at("length").max = STEPS;
  at("length").value = position(`${state.length_ms}ms`, SCALES.length);
  at("length-words").textContent = `${short(state.length_ms)} ms`;
}

function showScheduler(side) {
  const name = state.schedulers[side];
  const names = at(`scheduler${side}`);
  if (![...names.options].some((one) => one.value === name)) names.add(new Option(name, name));
  names.value = name;
  const known = DATA.schedulers.find((one) => one.name === name);
  names.title = known?.summary ?? "";
  for (const label of document.querySelectorAll(`.name${side}`)) label.textContent = name;
}

function showLegend() {
  at("legend").replaceChildren(...pathNames().map((name, path) => {
    const entry = document.createElement("span");
    entry.className = `path${path % 4}`;
    entry.textContent = name;
    return entry;
  }));
}

function rebuild() {
  showControls(at("controls"), state, changed, () => {
    at("preset").value = OWN;
    rebuild();
  });
  [0, 1].forEach(showScheduler);
  showWindow();
  showLegend();
  forgetWhy();
  simulate();
}

async function begin() {
  const groups = {};
  DATA.presets.forEach(({ title, group }, index) => {
    groups[group] ??= at("preset").appendChild(Object.assign(document.createElement("optgroup"), { label: group }));
    groups[group].append(new Option(title, index));
  });
  at("preset").value = fromAddress(location.hash) || DATA.opened ? OWN : 0;
  listen();
  rebuild();
  const module = await compiled();
  simulators = sides.map(() => new Simulator(module));
  simulate();
}

begin().catch((error) => {
  at("status").textContent = `The simulator does not start: ${error.message}`;
});
