// The state of the page: a scenario as the table of a scenario file, two schedulers, and the window
// of the space-time diagrams. The address holds all of it.

import { amount } from "./scale.js";

/**
 * A state from a preset or from a file that `plait play` opened. Each path gets its default name.
 * The window begins at the first outage after the warm-up, or at the end of the warm-up.
 */
export function stateOf({ scenario, schedulers, from_s, length_ms }) {
  const start = from_s ?? Math.max(seconds(scenario.warmup ?? "0s"), firstOutage(scenario));
  const named = scenario.path.map((path, index) => ({ name: `path${index + 1}`, ...path }));
  const own = structuredClone({ ...scenario, path: named });
  return { scenario: own, schedulers: [...schedulers], from_s: start, length_ms: length_ms ?? 30 };
}

/** The beginning of the first outage in seconds; 0 without one. */
function firstOutage({ path }) {
  const lists = path.map(({ outages }) => outages).filter(Array.isArray);
  const starts = lists.flat().map(({ from }) => seconds(from ?? "0s"));
  return starts.length ? Math.min(...starts) : 0;
}

export function toAddress(state) {
  const bytes = new TextEncoder().encode(JSON.stringify(state));
  return "#" + btoa(String.fromCharCode(...bytes)).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
}

/** The state in an address, or null if it has none. */
export function fromAddress(hash) {
  try {
    const text = atob(hash.slice(1).replace(/-/g, "+").replace(/_/g, "/"));
    const state = JSON.parse(new TextDecoder().decode(Uint8Array.from(text, (one) => one.charCodeAt(0))));
    const names = state.schedulers.filter((one) => typeof one === "string");
    return names.length === 2 && Array.isArray(state.scenario.path) ? stateOf(state) : null;
  } catch {
    return null;
  }
}

/** The seconds of a duration such as "20ms"; 0 for other texts. */
export function seconds(text) {
  return amount(text, "duration") ?? 0;
}

/** The scenario as a scenario file. */
export function toToml(scenario) {
  const isTable = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
  const lists = ["path", "link", "flow"].filter((key) => key in scenario);
  const tables = Object.keys(scenario).filter((key) => isTable(scenario[key]) && key !== "scheduler");
  const plain = Object.entries(scenario).filter(([key]) => !lists.includes(key) && !tables.includes(key));
  const lines = tomlPairs(Object.fromEntries(plain));
  for (const key of tables) lines.push("", `[${key}]`, ...tomlPairs(scenario[key]));
  for (const key of lists) for (const one of scenario[key]) lines.push("", `[[${key}]]`, ...tomlPairs(one));
  return lines.join("\n") + "\n";
}

function tomlPairs(table) {
  return Object.entries(table).map(([key, value]) => `${key} = ${tomlValue(value)}`);
}

function tomlValue(value) {
  if (Array.isArray(value)) return `[${value.map(tomlValue).join(", ")}]`;
  if (value !== null && typeof value === "object") return `{ ${tomlPairs(value).join(", ")} }`;
  return JSON.stringify(value);
}

/** The commands that print the numbers of the page. */
export function toCommands(state) {
  const moment = Number(state.from_s.toFixed(4));
  // plait compare refuses a name that is there twice.
  const names = [...new Set(state.schedulers)];
  const toml = toToml(state.scenario);
  return [
    `cat > my-links.toml <<'END'\n${toml}END`,
    `plait compare my-links.toml --schedulers ${names.join(",")}`,
    ...names.map((name) => `plait explain my-links.toml --scheduler ${name} --at ${moment}s`),
  ].join("\n") + "\n";
}
