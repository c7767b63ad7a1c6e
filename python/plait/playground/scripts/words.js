// Decisions in the words of `plait explain`; a test compares both.

import { short } from "./scale.js";

/** Milliseconds: four digits, at most two of them after the point. */
function milliseconds(nanoseconds) {
  if (nanoseconds === null) return "–";
  const value = nanoseconds / 1e6;
  const size = Math.abs(value);
  return value.toFixed(size < 10 ? 2 : size < 1000 ? 1 : 0);
}

/** A time in seconds, cut after the microseconds: `plait explain --at` finds the decision by it. */
function moment(nanoseconds) {
  const rest = Math.floor((nanoseconds % 1e9) / 1e3);
  return `${Math.floor(nanoseconds / 1e9)}.${String(rest).padStart(6, "0")} s`;
}

const count = (amount) => amount ?? "–";

/** The facts of a path; those with `rare` only where one path has a value. */
const FACTS = [
  { title: "state", value: (one) => one.state },
  { title: "srtt (ms)", value: (one) => milliseconds(one.srtt_ns) },
  { title: "forward delay (ms)", value: (one) => milliseconds(one.forward_delay_ns), rare: true },
  { title: "cwnd", value: (one) => one.cwnd },
  { title: "ssthresh", value: (one) => count(one.ssthresh) },
  { title: "limit", value: (one) => count(one.limit), rare: true },
  { title: "in flight", value: (one) => one.in_flight },
  { title: "queued", value: (one) => one.queued },
  { title: "cwnd left", value: (one) => one.cwnd_left },
  { title: "lost (%)", value: (one) => short(one.loss_ppm / 1e4) },
  { title: "delivery rate (Mbit/s)", value: (one) => (one.delivery_rate_bps ? short(one.delivery_rate_bps / 1e6) : "–") },
];

/** What the decision does, without its time. */
function decided({ decision, path, segment, segments }) {
  if (decision === "reinject") return `reinject a copy of segment ${segment} on ${path}`;
  return `assign ${segments === 1 ? `segment ${segment}` : `${segments} segments, from ${segment} on,`} to ${path}`;
}

/** The reason for which a path was chosen or not. */
function verdictWords(path, decision) {
  const name = path.verdict;
  if (name === "chosen") {
    return decision.decision === "assign" && decision.segments > path.cwnd_left ? "chosen, to wait in its queue" : "chosen";
  }
  const occupied = path.queued
    ? `${path.in_flight} in flight + ${path.queued} queued of ${path.cwnd}`
    : `${path.in_flight} of ${path.cwnd} in flight`;
  const words = {
    "passed-over": "passed over",
    open: "available",
    "not-established": "not established",
    "potentially-failed": "potentially failed",
    backup: "backup while an active path works",
    "nothing-to-send": "nothing to send",
    "carries-segment": "carries the segment already",
    recovery: "in loss recovery",
    "congestion-window": `congestion window full (${occupied})`,
    limit: `the scheduler's limit of ${path.limit} reached`,
    "receiver-window": "receiver's window full",
  };
  const text = words[name] ?? name;
  return path.kind === "available" ? text : `${path.kind.replace("-", " ")}: ${text}`;
}

/** The facts of the connection. */
function connectionWords(decision) {
  const facts = [`unassigned ${decision.unassigned ?? "endless"}`, `receiver's window left ${decision.window_left}`];
  if (decision.send_buffer_left !== null) facts.push(`send buffer left ${decision.send_buffer_left}`);
  const oldest = decision.oldest_unacked === null
    ? "none in flight"
    : `${decision.oldest_unacked} on ${decision.oldest_unacked_path}`;
  return `segments: ${[...facts, `oldest unacknowledged ${oldest}`].join(", ")}`;
}

function element(name, words, attributes = {}) {
  const made = document.createElement(name);
  made.textContent = words;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

/** One line about a packet. */
export function packetWords(packet, names) {
  const kind = packet.reinjection ? "copy of segment" : packet.retransmission ? "retransmission of segment" : "segment";
  const sent = `${kind} ${packet.segment} on ${names[packet.path]}, sent at ${moment(packet.sent)}`;
  if (packet.end === null) return `${sent}: lost, or on its way at the end`;
  if (packet.duplicate !== null) {
    return `${sent}: arrived after ${milliseconds(packet.end - packet.sent)} ms, a duplicate of data that had arrived before`;
  }
  const way = `arrived after ${milliseconds(packet.arrived - packet.sent)} ms`;
  if (packet.delivered === null) return `${sent}: ${way}, not delivered until the end`;
  const waited = packet.delivered - packet.arrived;
  return `${sent}: ${way}${waited > 0 ? `, then waited ${milliseconds(waited)} ms for an earlier segment` : ""}`;
}

/** Fills a section with the decision about a packet: one column per path with its verdict and facts. */
export function showDecision(section, packet, decision, names) {
  section.replaceChildren(element("p", packetWords(packet, names), { class: "packet" }));
  if (decision === null) {
    const words = packet.retransmission && !packet.reinjection
      ? "No decision of the scheduler: the path repeats its own lost segment."
      : "No decision assigned this segment to this path: the transport sent it without asking.";
    section.append(element("p", words));
    return;
  }
  section.append(element("p", `${moment(decision.time_ns)}: ${decided(decision)}`, { class: "decided" }));
  const table = element("table", "");
  const head = table.createTHead().insertRow();
  for (const title of ["path", ...decision.paths.map((one) => one.path)]) head.append(element("th", title, { scope: "col" }));
  const body = table.createTBody();
  const add = (title, cells) => {
    const row = body.insertRow();
    row.append(element("th", title, { scope: "row" }), ...cells);
  };
  add("verdict", decision.paths.map((one) => element("td", verdictWords(one, decision), { class: one.kind })));
  for (const { title, value, rare } of FACTS) {
    const values = decision.paths.map((one) => String(value(one)));
    if (!rare || values.some((one) => one !== "–")) add(title, values.map((one) => element("td", one)));
  }
  const scroll = element("div", "", { class: "scroll facts", tabindex: "0", role: "region", "aria-label": "facts of the decision" });
  scroll.append(table);
  section.append(scroll, element("p", connectionWords(decision), { class: "soft" }));
  if (decision.reason !== null) section.append(element("p", `reason: ${decision.reason}`, { class: "soft" }));
}
