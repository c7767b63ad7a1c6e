// The controls: each slider has a field with the text of the scenario file beside it, which takes
// values that the slider cannot show.

import { SCALES, STEPS, amount, position, textAt } from "./scale.js";
import { seconds } from "./state.js";

const PROTOCOLS = { mptcp: "MPTCP", mpquic: "Multipath QUIC", "cmt-sctp": "CMT-SCTP", tcp: "TCP, one path" };
const TRAFFIC = {
  bulk: { kind: "bulk" },
  file: { kind: "file", size: "2MB" },
  "request-response": { kind: "request-response", response: "60kB" },
  cbr: { kind: "cbr", rate: "8Mbit", block: "20kB" },
};
const TITLES = {
  bulk: () => "Bulk data",
  file: ({ size }) => `A file of ${size}`,
  "request-response": ({ response }) => `Requests of ${response}`,
  cbr: ({ rate, block }) => `A stream of ${rate}/s in blocks of ${block}`,
};
/** Keys of [transport] that every protocol has. */
const COMMON = ["receive_buffer", "send_buffer", "packet", "ack_every"];
/** The steps of each value with a slider. Steps take the slider's place, and stay in force. */
const CHANGES = { rate: "rate_steps", rtt: "delay_steps", loss: "loss_steps", queue: "queue_steps" };

function field(label, ...inputs) {
  const row = document.createElement("div");
  row.className = "field";
  const words = document.createElement("label");
  words.textContent = label;
  words.htmlFor = inputs[0].id;
  row.append(words, ...inputs);
  return row;
}

function input(id, type, attributes) {
  const made = document.createElement("input");
  return Object.assign(made, { id, type, ...attributes });
}

function select(id, label, entries, value, changed) {
  const made = document.createElement("select");
  made.id = id;
  for (const [key, title] of entries) made.add(new Option(title, key, false, key === value));
  made.onchange = () => changed(made.value);
  return field(label, made);
}

/** The value of a text: a table in JSON, or the text itself; undefined for wrong JSON. */
function valueOf(text) {
  if (!text.trim().startsWith("{")) return text;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A slider and its field. `set` gets the new text, or the table that it denotes in JSON. */
function slider(id, label, scale, text, fallback, set) {
  const shown = typeof text === "object" ? JSON.stringify(text) : text ?? fallback;
  const range = input(id, "range", { min: 0, max: STEPS, step: 1 });
  const words = input(`${id}-text`, "text", { value: shown, spellcheck: false, autocomplete: "off" });
  words.setAttribute("aria-label", `${label} as text`);
  const note = Object.assign(document.createElement("p"), { className: "error", role: "alert" });
  const place = position(shown, scale);
  range.value = place ?? 0;
  range.disabled = place === null;
  range.setAttribute("aria-valuetext", shown);
  range.oninput = () => {
    words.value = textAt(Number(range.value), scale);
    range.setAttribute("aria-valuetext", words.value);
    note.textContent = "";
    set(words.value);
  };
  words.onchange = () => {
    const value = valueOf(words.value);
    const example = textAt(STEPS / 2, scale);
    note.textContent = value === undefined ? `${label}: expected a value such as ${example}, or a table in JSON` : "";
    if (value === undefined) return;
    const found = position(words.value, scale);
    range.disabled = found === null;
    if (found !== null) range.value = found;
    set(value);
  };
  return field(label, range, words, note);
}

/**
 * Fills the panel from the state; focus and open groups stay. `changed` is called after each change
 * of the state, `rebuild` after a change of its structure.
 */
export function showControls(panel, state, changed, rebuild) {
  const { scenario } = state;
  const transport = (scenario.transport ??= {});
  const workload = (scenario.workload ??= { kind: "bulk" });
  const put = (table, key) => (text) => {
    table[key] = text;
    changed();
  };
  const general = group("Connection", !matchMedia("(max-width: 60rem)").matches);
  const protocol = select("protocol", "Protocol", Object.entries(PROTOCOLS), transport.protocol ?? "mptcp", (name) => {
    const kept = COMMON.filter((key) => key in transport).map((key) => [key, transport[key]]);
    scenario.transport = { protocol: name, ...Object.fromEntries(kept) };
    rebuild();
  });
  const kinds = Object.values({ ...TRAFFIC, [workload.kind]: workload }).map((one) => [one.kind, trafficTitle(one)]);
  const traffic = select("traffic", "Traffic", kinds, workload.kind, (kind) => {
    scenario.workload = { ...TRAFFIC[kind] };
    // A file can end within a warm-up, and no metric covers it then.
    if (kind === "file") [scenario.warmup, state.from_s] = ["0s", 0];
    rebuild();
  });
  const buffer = slider("buffer", "Receive buffer", SCALES.buffer, transport.receive_buffer, "6MiB", put(transport, "receive_buffer"));
  general.append(protocol, traffic, buffer);
  for (const [key, label] of [["duration", "Duration"], ["warmup", "Warm-up"]]) {
    const words = input(key, "text", { value: scenario[key] ?? (key === "warmup" ? "0s" : "60s") });
    words.onchange = () => put(scenario, key)(words.value);
    general.append(field(label, words));
  }
  const seed = input("seed", "number", { value: scenario.seed ?? 1, min: 0, step: 1 });
  seed.oninput = () => seed.value !== "" && put(scenario, "seed")(Number(seed.value));
  general.append(field("Seed", seed));
  const shown = [general, ...scenario.path.map((path, index) => pathControls(state, path, index, changed, rebuild))];
  if (scenario.path.length < 4) {
    const add = button("add-path", "Add a path", () => {
      scenario.path.push({ name: freeName(scenario.path), rate: "10Mbit", rtt: "50ms" });
      rebuild();
    });
    shown.push(add);
  }
  replaceControls(panel, shown);
}

/** Names traffic by its amounts; by its kind alone if an amount is not a plain text. */
function trafficTitle(workload) {
  const title = TITLES[workload.kind]?.(workload) ?? workload.kind;
  return /undefined|\[object/.test(title) ? workload.kind : title;
}

/** The name of a new path: path3 after two paths, or the next one that is free. */
function freeName(paths) {
  const taken = paths.map(({ name }) => name);
  let number = taken.length + 1;
  while (taken.includes(`path${number}`)) number += 1;
  return `path${number}`;
}

/** Shows other controls; focus and open groups stay. */
function replaceControls(panel, shown) {
  const open = new Map([...panel.querySelectorAll("details")].map((one) => [one.dataset.name, one.open]));
  const focused = panel.contains(document.activeElement) ? document.activeElement.id : null;
  panel.replaceChildren(...shown);
  for (const one of panel.querySelectorAll("details")) one.open = open.get(one.dataset.name) ?? one.open;
  if (focused === null) return;
  const last = [...panel.querySelectorAll("summary, #add-path")].at(-1);
  (document.getElementById(focused) ?? last).focus();
}

/** A group of controls, closed on a narrow screen unless it is the first path. */
function group(title, open) {
  const made = document.createElement("details");
  made.open = open;
  made.dataset.name = title;
  made.append(Object.assign(document.createElement("summary"), { textContent: title }));
  return made;
}

function button(id, words, pressed) {
  const made = document.createElement("button");
  return Object.assign(made, { id, type: "button", textContent: words, onclick: pressed });
}

function pathControls(state, path, index, changed, rebuild) {
  const made = group(path.name, index === 0 || !matchMedia("(max-width: 60rem)").matches);
  made.classList.add("path", `path${index % 4}`);
  const add = (key, label, fallback) => {
    const forward = path.forward ?? {};
    if (key in forward || CHANGES[key] in forward || CHANGES[key] in path) return;
    made.append(slider(`${key}-${index}`, label, SCALES[key], path[key], fallback, (value) => {
      path[key] = value;
      changed();
    }));
  };
  if (path.rate !== undefined) add("rate", "Rate");
  if (path.rtt !== undefined) add("rtt", "Round trip");
  add("loss", "Loss", "0%");
  add("queue", "Queue", "bdp");
  made.append(...outageControls(state, path, index, changed));
  if (state.scenario.path.length > 1) {
    const remove = button(`remove-${index}`, "Remove", () => {
      state.scenario.path.splice(index, 1);
      rebuild();
    });
    remove.setAttribute("aria-label", `Remove path ${path.name}`);
    made.append(remove);
  }
  return made;
}

const inSeconds = (value) => `${Number(value.toFixed(9))}s`;

/** The length of an outage as text. A text that is no duration stays, and the simulator names it. */
function lengthOf({ from, to }) {
  const [start, end] = [from, to].map((text) => amount(text, "duration"));
  return start === null || end === null ? to : inSeconds(end - start);
}

/** One outage: its length and its beginning. Other outages stay as they are. */
function outageControls(state, path, index, changed) {
  const outages = path.outages ?? [];
  if (!Array.isArray(outages) || outages.length > 1) return [];
  const end = seconds(state.scenario.duration ?? "60s");
  let from = outages[0]?.from ?? inSeconds(Number((0.5 * end).toPrecision(3)));
  let length = outages[0] ? lengthOf(outages[0]) : "0s";
  const put = () => {
    const [start, whole] = [from, length].map((text) => amount(text, "duration"));
    const to = start === null || whole === null ? length : inSeconds(start + whole);
    if (whole === 0) delete path.outages;
    else path.outages = [{ from, to }];
    changed();
  };
  const first = slider(`outage-${index}`, "Outage", SCALES.outage, length, "0s", (value) => {
    length = value;
    put();
  });
  const range = input(`outage-from-${index}`, "range", { min: 0, max: end, step: 0.1, value: seconds(from) });
  const words = document.createElement("output");
  words.textContent = from;
  range.oninput = () => {
    from = `${Number(range.value)}s`;
    words.textContent = from;
    put();
  };
  return [first, field("… from", range, words)];
}
