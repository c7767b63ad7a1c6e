// The space-time diagram: a line per packet from sender to receiver, a bar while it waits there.

import { colour, line, prepared, text, ticks } from "./canvas.js";

const BAND = 96;
const LANE = 4;
const MOST_LANES = 16;
const LEFT = 8;

/** Rows of blocked intervals in which no two overlap; -1 for a packet that did not wait. */
export function lanesOf(packets) {
  const ends = [];
  return packets.map(({ arrived, delivered }) => {
    if (arrived === null || delivered === null || delivered <= arrived) return -1;
    const free = ends.findIndex((end) => end <= arrived);
    const lane = free < 0 ? ends.length : free;
    ends[lane] = delivered;
    return lane;
  });
}

/** The packets of a run's table, an object each, in the order of sending. */
export function packetsOf(table) {
  return table.sequence.map((segment, row) => ({
    segment,
    path: table.path[row],
    bytes: table.bytes[row],
    sent: table.sent_ns[row],
    arrived: table.arrived_ns[row],
    duplicate: table.duplicate_ns[row],
    end: table.arrived_ns[row] ?? table.duplicate_ns[row],
    delivered: table.delivered_ns[row],
    retransmission: table.retransmission[row],
    reinjection: table.reinjection[row],
  }));
}

/** The latest moment that a diagram of these packets shows, in nanoseconds. */
export function endOf(packets, to) {
  return packets.reduce((end, one) => Math.max(end, one.end ?? 0, one.delivered ?? 0), to);
}

/**
 * Draws the packets, and returns their lines for clicks. `names` are the paths; `span` is the time
 * shown in nanoseconds; `chosen` is the index of the marked packet.
 */
export function drawSpaceTime(canvas, packets, names, [from, to], chosen) {
  const lanes = names.map((_, path) => lanesOf(packets.filter((one) => one.path === path)));
  const depths = lanes.map((path) => Math.min(MOST_LANES, Math.max(-1, ...path) + 1));
  const heights = depths.map((depth) => 22 + BAND + depth * LANE + 10);
  const { pen, width, height } = prepared(canvas, heights.reduce((sum, one) => sum + one, 0) + 36);
  const right = width - 10;
  const across = (time) => LEFT + ((time - from) / (to - from)) * (right - LEFT);
  const ways = packets.filter((one) => one.arrived !== null).map((one) => one.arrived - one.sent);
  const lost = (ways.sort((a, b) => a - b)[ways.length >> 1] ?? 5e6) * 0.55;
  const hits = [];
  let top = 0;
  names.forEach((name, path) => {
    const [sender, receiver] = [top + 22, top + 22 + BAND];
    text(pen, name, LEFT, top + 10, "left", "ink");
    text(pen, "sender", right, sender - 8, "right");
    for (const y of [sender, receiver]) line(pen, [[LEFT, y], [right, y]], { colour: colour("soft") });
    const paint = colour(`path${path % 4}`);
    const thin = packets.length > 150 ? 0.7 : 1.1;
    let place = -1;
    packets.forEach((packet, index) => {
      if (packet.path !== path) return;
      place += 1;
      const marked = index === chosen;
      const style = { colour: marked ? colour("ink") : paint, width: marked ? 3 : thin, dash: packet.retransmission ? [4, 2] : [] };
      const start = [across(packet.sent), sender];
      const end = packet.end === null
        ? [across(packet.sent + lost), sender + BAND * 0.55]
        : [across(packet.end), receiver];
      hits.push({ index, start, end });
      if (packet.end === null) {
        line(pen, [start, end], { ...style, colour: marked ? style.colour : colour("lost") });
        cross(pen, end);
        return;
      }
      line(pen, [start, end], { ...style, alpha: packet.duplicate === null || marked ? 1 : 0.4 });
      const lane = Math.min(lanes[path][place], MOST_LANES - 1);
      if (lane >= 0) {
        const y = receiver + 5 + lane * LANE;
        line(pen, [[end[0], y], [across(packet.delivered), y]], { ...style, dash: [], width: 2.6, alpha: marked ? 1 : 0.6 });
      }
    });
    text(pen, "receiver", LEFT, receiver - 8);
    top += heights[path];
  });
  for (const at of ticks(0, (to - from) / 1e6, width / 90)) {
    const x = across(from + at * 1e6);
    line(pen, [[x, top], [x, top + 4]], { colour: colour("soft") });
    text(pen, String(at), x, top + 12, at === 0 ? "left" : "center");
  }
  text(pen, `ms after ${Number((from / 1e9).toFixed(4))} s`, right, height - 6, "right");
  return hits;
}

function cross(pen, [x, y]) {
  const style = { colour: colour("lost"), width: 1.8 };
  line(pen, [[x - 4, y - 4], [x + 4, y + 4]], style);
  line(pen, [[x - 4, y + 4], [x + 4, y - 4]], style);
}

/** The packet whose line is nearest to a place, or null if none is near. */
export function nearest(hits, x, y) {
  let best = null;
  let least = 10;
  for (const { index, start, end } of hits) {
    const [dx, dy] = [end[0] - start[0], end[1] - start[1]];
    const along = ((x - start[0]) * dx + (y - start[1]) * dy) / (dx * dx + dy * dy || 1);
    const share = Math.min(1, Math.max(0, along));
    const distance = Math.hypot(x - start[0] - share * dx, y - start[1] - share * dy);
    if (distance < least) [best, least] = [index, distance];
  }
  return best;
}
