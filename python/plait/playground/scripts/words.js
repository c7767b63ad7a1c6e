// Decisions in words, as `plait explain` prints them.

import { short } from "./scale.js";

const milliseconds = (nanoseconds) => (nanoseconds === null ? "–" : short(nanoseconds / 1e6));

const FACTS = [
  ["state", (one) => one.state],
  ["srtt (ms)", (one) => milliseconds(one.srtt_ns)],
  ["forward delay (ms)", (one) => milliseconds(one.forward_delay_ns)],
  ["cwnd", (one) => one.cwnd],
  ["ssthresh", (one) => one.ssthresh ?? "–"],
  ["in flight", (one) => one.in_flight],
  ["queued", (one) => one.queued],
  ["cwnd left", (one) => one.cwnd_left],
  ["lost (%)", (one) => short(one.loss_ppm / 1e4)],
  ["delivery rate (Mbit/s)", (one) => (one.delivery_rate_bps ? short(one.delivery_rate_bps / 1e6) : "–")],
];

function element(name, words, attributes = {}) {
  const made = document.createElement(name);
  made.textContent = words;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

/** One line about a packet. */
export function packetWords(packet, names) {
  const kind = packet.reinjection ? "copy of segment" : packet.retransmission ? "retransmission of segment" : "segment";
  const sent = `${kind} ${packet.segment} on ${names[packet.path]}, sent at ${(packet.sent / 1e9).toFixed(6)} s`;
  if (packet.arrived === null) return `${sent}: lost, or a duplicate`;
  const way = `arrived after ${milliseconds(packet.arrived - packet.sent)} ms`;
  if (packet.delivered === null) return `${sent}: ${way}, not delivered until the end`;
  const waited = packet.delivered - packet.arrived;
  return `${sent}: ${way}${waited > 0 ? `, then waited ${milliseconds(waited)} ms for an earlier segment` : ""}`;
}

/** Fills a section with the decision about a packet: one row per path with its facts and verdict. */
export function showDecision(section, packet, decision, names, verdicts) {
  section.replaceChildren(element("p", packetWords(packet, names), { class: "packet" }));
  if (decision === null) {
    const words = packet.retransmission && !packet.reinjection
      ? "No decision of the scheduler: the path repeats its own lost segment."
      : "No decision assigned this segment to this path: the transport sent it without asking.";
    section.append(element("p", words));
    return;
  }
  const amount = decision.segments > 1 ? `${decision.segments} segments, from ${decision.segment} on,` : `segment ${decision.segment}`;
  const verb = decision.decision === "reinject" ? "reinject a copy of" : "assign";
  section.append(element("p", `${(decision.time_ns / 1e9).toFixed(6)} s: ${verb} ${amount} to ${decision.path}`, { class: "decided" }));
  const table = element("table", "");
  const head = table.createTHead().insertRow();
  for (const title of ["path", "verdict", ...FACTS.map(([title]) => title)]) head.append(element("th", title, { scope: "col" }));
  const body = table.createTBody();
  for (const one of decision.paths) {
    const row = body.insertRow();
    row.append(element("th", one.path, { scope: "row" }));
    const verdict = verdicts.find(({ name }) => name === one.verdict);
    row.append(element("td", verdict.meaning, { class: `text ${one.kind}` }));
    for (const [, value] of FACTS) row.append(element("td", String(value(one)), { class: "n" }));
  }
  const scroll = element("div", "", { class: "scroll", tabindex: "0", role: "region", "aria-label": "facts of the decision" });
  scroll.append(table);
  const oldest = decision.oldest_unacked === null ? "none" : `${decision.oldest_unacked} on ${decision.oldest_unacked_path}`;
  const facts = `Segments: unassigned ${decision.unassigned ?? "endless"}, receiver's window left ${decision.window_left}, oldest unacknowledged ${oldest}.`;
  section.append(scroll, element("p", facts, { class: "soft" }));
  if (decision.reason !== null) section.append(element("p", `Reason: ${decision.reason}`, { class: "soft" }));
}
