// Drawing on canvases: sizes in CSS pixels, colours of the style sheet, axes.

/** A colour of the style sheet by its name. */
export function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

/** Empties a canvas, gives it a height, and returns its context and its size. */
export function prepared(canvas, height) {
  const width = Math.max(200, Math.floor(canvas.parentElement.clientWidth));
  const density = window.devicePixelRatio || 1;
  const size = [width, height].map((one) => Math.round(one * density));
  // A canvas that gets a size gets new memory, even if the size is the same.
  if (canvas.width !== size[0] || canvas.height !== size[1]) {
    [canvas.width, canvas.height] = size;
    canvas.style.height = `${height}px`;
  }
  const pen = canvas.getContext("2d");
  pen.setTransform(density, 0, 0, density, 0, 0);
  pen.clearRect(0, 0, width, height);
  pen.font = "12px system-ui, sans-serif";
  pen.lineJoin = "round";
  return { pen, width, height };
}

export function line(pen, points, style) {
  pen.strokeStyle = style.colour;
  pen.lineWidth = style.width ?? 1;
  pen.globalAlpha = style.alpha ?? 1;
  pen.setLineDash(style.dash ?? []);
  pen.beginPath();
  points.forEach(([x, y], index) => (index ? pen.lineTo(x, y) : pen.moveTo(x, y)));
  pen.stroke();
  pen.setLineDash([]);
  pen.globalAlpha = 1;
}

/** Writes words with a margin in the colour of the background, so that lines do not cross them. */
export function text(pen, words, x, y, align = "left", name = "soft") {
  pen.fillStyle = colour(name);
  pen.strokeStyle = colour("card");
  pen.lineWidth = 3;
  pen.textAlign = align;
  pen.textBaseline = "middle";
  pen.strokeText(words, x, y);
  pen.fillText(words, x, y);
}

/** Round numbers from `low` to `high`, at most `most` of them. */
export function ticks(low, high, most) {
  const rough = (high - low) / Math.max(1, most);
  if (!(rough > 0)) return [low];
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough);
  const found = [];
  for (let at = Math.ceil(low / step - 1e-9); at * step <= high + step * 1e-6; at += 1) {
    found.push(Number((at * step).toPrecision(10)));
  }
  return found;
}

/** Draws both axes with a grid, and returns the functions from values to places. */
export function axes({ pen, width, height }, x, y) {
  const box = { left: 46, right: width - 10, top: 10, bottom: height - 34 };
  const across = (value) => box.left + ((value - x.low) / (x.high - x.low)) * (box.right - box.left);
  const up = (value) => box.bottom - ((value - y.low) / (y.high - y.low)) * (box.bottom - box.top);
  for (const at of ticks(y.low, y.high, 4)) {
    line(pen, [[box.left, up(at)], [box.right, up(at)]], { colour: colour("line") });
    text(pen, at.toLocaleString("en-GB"), box.left - 6, up(at), "right");
  }
  for (const at of ticks(x.low, x.high, width / 90)) {
    line(pen, [[across(at), box.bottom], [across(at), box.bottom + 4]], { colour: colour("soft") });
    text(pen, at.toLocaleString("en-GB"), across(at), box.bottom + 12, "center");
  }
  line(pen, [[box.left, box.bottom], [box.right, box.bottom]], { colour: colour("soft") });
  text(pen, x.label, box.right, height - 7, "right");
  return { across, up, box };
}
