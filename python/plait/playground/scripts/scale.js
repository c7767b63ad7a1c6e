// Amounts of scenario files on sliders: positions from 0 to STEPS, logarithmic unless stated.

export const STEPS = 200;

const UNITS = {
  rate: { bit: 1, kbit: 1e3, Mbit: 1e6, Gbit: 1e9 },
  duration: { ns: 1e-9, us: 1e-6, "µs": 1e-6, ms: 1e-3, s: 1, min: 60 },
  share: { "%": 0.01 },
  bytes: { B: 1, kB: 1e3, KiB: 1024, MB: 1e6, MiB: 1048576, GB: 1e9 },
};

/** A scale: its unit, its ends, the unit of texts that it writes, and the text of position 0. */
export const SCALES = {
  rate: { unit: "rate", low: 1e5, high: 1e9, write: ["kbit", "Mbit"] },
  rtt: { unit: "duration", low: 1e-3, high: 1, write: ["ms"] },
  loss: { unit: "share", low: 1e-5, high: 0.2, write: ["%"], zero: "0%" },
  queue: { unit: "duration", low: 2e-3, high: 2, write: ["ms"], zero: "bdp" },
  outage: { unit: "duration", low: 2e-2, high: 10, write: ["ms", "s"], zero: "0s" },
  buffer: { unit: "bytes", low: 16e3, high: 64e6, write: ["kB", "MB"] },
  length: { unit: "duration", low: 5e-3, high: 2, write: ["ms"] },
};

/** The amount of a text such as "16Mbit", or null if the unit is another one. */
export function amount(text, unit) {
  const found = /^([\d.]+) *([A-Za-zµ%]+)$/.exec(String(text ?? "").trim());
  const factor = found && UNITS[unit][found[2]];
  return factor ? Number(found[1]) * factor : null;
}

/** The slider's position for a text; null if the scale cannot show it, as "100p" for a queue. */
export function position(text, scale) {
  if (scale.zero && (text === undefined || text === scale.zero)) return 0;
  const value = amount(text, scale.unit);
  if (value === null) return null;
  if (scale.zero && value === 0) return 0;
  const share = Math.log(value / scale.low) / Math.log(scale.high / scale.low);
  return Math.min(STEPS, Math.max(scale.zero ? 1 : 0, Math.round(share * STEPS)));
}

/** The text at a position, of two significant digits. */
export function textAt(place, scale) {
  if (scale.zero && place <= 0) return scale.zero;
  const value = scale.low * (scale.high / scale.low) ** (place / STEPS);
  return written(Number(value.toPrecision(2)), scale);
}

function written(value, scale) {
  const factors = UNITS[scale.unit];
  const unit = [...scale.write].reverse().find((one) => value >= factors[one] * 0.9999) ?? scale.write[0];
  return `${Number((value / factors[unit]).toPrecision(3))}${unit}`;
}

/** A number for people: three significant digits. */
export function short(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  const size = Math.abs(value);
  if (size >= 100) return Math.round(value).toLocaleString("en-GB");
  return String(Number(value.toPrecision(3)));
}
