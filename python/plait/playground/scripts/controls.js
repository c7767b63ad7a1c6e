// The controls: each slider has a field with the text of the scenario file beside it, which takes
// values that the slider cannot show.

import { SCALES, STEPS, position, textAt } from "./scale.js";
import { seconds } from "./state.js";

const PROTOCOLS = { mptcp: "MPTCP", mpquic: "Multipath QUIC", "cmt-sctp": "CMT-SCTP", tcp: "TCP, one path" };
const TRAFFIC = {
  bulk: ["Bulk data", { kind: "bulk" }],
  file: ["A file of 2 MB", { kind: "file", size: "2MB" }],
  "request-response": ["Requests of 60 kB", { kind: "request-response", response: "60kB" }],
  cbr: ["A stream of 8 Mbit/s", { kind: "cbr", rate: "8Mbit", block: "20kB" }],
};
/** Keys of [transport] that every protocol has. */
const COMMON = ["receive_buffer", "send_buffer", "packet", "ack_every"];

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

/** A slider and its field. `set` gets the new text, or undefined for the default. */
function slider(id, label, scale, text, fallback, set) {
  const shown = typeof text === "object" ? JSON.stringify(text) : text ?? fallback;
  const range = input(id, "range", { min: 0, max: STEPS, step: 1 });
  const words = input(`${id}-text`, "text", { value: shown, spellcheck: false, autocomplete: "off" });
  words.setAttribute("aria-label", `${label} as text`);
  const place = position(shown, scale);
  range.value = place ?? 0;
  range.disabled = place === null;
  range.setAttribute("aria-valuetext", shown);
  range.oninput = () => {
    words.value = textAt(Number(range.value), scale);
    range.setAttribute("aria-valuetext", words.value);
    set(words.value);
  };
  words.onchange = () => {
    const found = position(words.value, scale);
    range.disabled = found === null;
    if (found !== null) range.value = found;
    set(words.value.startsWith("{") ? JSON.parse(words.value) : words.value);
  };
  return field(label, range, words);
}

/** Fills the panel from the state. `changed` is called after each change of the state. */
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
  const kinds = Object.entries(TRAFFIC).map(([key, [title]]) => [key, title]);
  if (!(workload.kind in TRAFFIC)) kinds.push([workload.kind, workload.kind]);
  const traffic = select("traffic", "Traffic", kinds, workload.kind, (kind) => {
    scenario.workload = { ...TRAFFIC[kind][1] };
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
  panel.replaceChildren(general, ...scenario.path.map((path, index) => pathControls(state, path, index, changed, rebuild)));
  if (scenario.path.length < 4) {
    const add = button("Add a path", () => {
      scenario.path.push({ name: `path${scenario.path.length + 1}`, rate: "10Mbit", rtt: "50ms" });
      rebuild();
    });
    panel.append(add);
  }
}

/** A group of controls, closed on a narrow screen unless it is the first path. */
function group(title, open) {
  const made = document.createElement("details");
  made.open = open;
  made.append(Object.assign(document.createElement("summary"), { textContent: title }));
  return made;
}

function button(words, pressed) {
  const made = document.createElement("button");
  made.type = "button";
  made.textContent = words;
  made.onclick = pressed;
  return made;
}

function pathControls(state, path, index, changed, rebuild) {
  const name = path.name ?? `path${index + 1}`;
  const made = group(name, index === 0 || !matchMedia("(max-width: 60rem)").matches);
  made.classList.add("path", `path${index % 4}`);
  const add = (key, label, fallback) => {
    if (path.forward && key in path.forward) return;
    const text = key === "loss" && path.loss_steps ? path.loss_steps : path[key];
    made.append(slider(`${key}-${index}`, label, SCALES[key], text, fallback, (value) => {
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
    const remove = button("Remove", () => {
      state.scenario.path.splice(index, 1);
      rebuild();
    });
    remove.setAttribute("aria-label", `Remove path ${name}`);
    made.append(remove);
  }
  return made;
}

/** One outage: its length and its beginning. Other outages stay as they are. */
function outageControls(state, path, index, changed) {
  const outages = path.outages ?? [];
  if (!Array.isArray(outages) || outages.length > 1) return [];
  const end = seconds(state.scenario.duration ?? "60s");
  const outage = outages[0] ?? { from: `${Number((0.5 * end).toPrecision(3))}s`, to: null };
  let start = seconds(outage.from);
  let length = outage.to === null ? 0 : seconds(outage.to) - start;
  const put = () => {
    if (length > 0) path.outages = [{ from: `${Number(start.toFixed(4))}s`, to: `${Number((start + length).toFixed(4))}s` }];
    else delete path.outages;
    changed();
  };
  const written = `${Number(length.toFixed(4))}s`;
  const first = slider(`outage-${index}`, "Outage", SCALES.outage, written, "0s", (text) => {
    length = seconds(text);
    put();
  });
  const range = input(`outage-from-${index}`, "range", { min: 0, max: end, step: 0.1, value: start });
  const words = document.createElement("output");
  words.textContent = outage.from;
  range.oninput = () => {
    start = Number(range.value);
    words.textContent = `${start}s`;
    put();
  };
  return [first, field("… from", range, words)];
}
