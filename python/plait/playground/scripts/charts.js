// Charts of a run over time, and the distribution of delays.

import { axes, colour, line, prepared } from "./canvas.js";

/** Draws curves of `{ points, colour, dash, width }`; `band` marks a part of the horizontal axis. */
export function drawCurves(canvas, curves, { height = 190, x, y, band }) {
  const frame = prepared(canvas, height);
  const place = axes(frame, x, y);
  if (band) {
    frame.pen.fillStyle = colour("band");
    const left = place.across(band[0]);
    frame.pen.fillRect(left, place.box.top, Math.max(2, place.across(band[1]) - left), place.box.bottom - place.box.top);
  }
  for (const { points, ...style } of curves) {
    line(frame.pen, points.map(([at, value]) => [place.across(at), place.up(value)]), style);
  }
  return place;
}

/** A column of a path's series as points of seconds and values; values that are unknown are left out. */
export function ofPath(series, path, column) {
  const points = [];
  series.path.forEach((one, row) => {
    const value = series[column][row];
    if (one === path && value !== null) points.push([series.time_ns[row] / 1e9, value]);
  });
  return points;
}

/** Samples of the series over which a point of the goodput is the mean. */
const TOGETHER = 5;

/** Goodput in Mbit/s over time, from the delivered bytes at the samples. */
export function goodputOf(series) {
  const points = [];
  for (let row = TOGETHER; row < series.time_ns.length; row += TOGETHER) {
    const span = series.time_ns[row] - series.time_ns[row - TOGETHER];
    const bytes = series.delivered_bytes[row] - series.delivered_bytes[row - TOGETHER];
    if (span > 0) points.push([series.time_ns[row] / 1e9, (bytes * 8e3) / span]);
  }
  return points;
}

/** The largest value of all points, and a little more; at least `least`. */
export function top(curves, least = 1) {
  let most = least;
  for (const { points } of curves) for (const [, value] of points) if (value > most) most = value;
  return most * 1.05;
}
