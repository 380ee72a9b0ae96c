// The picture that is printed: a representative stretch of one CTA, always light.

import { byId } from "./dom.js";
import { heightOf, Picture, RULER } from "./picture.js";
import { THEMES, tiles } from "./looks.js";
import { whole } from "./words.js";

const WIDTH = 760;
const SCALE = 2;
const MOST_LANES = 24;

export function drawPaper(view) {
  const { launch, lanes } = view;
  const stretch = launch.told.stretch ?? [launch.ctas[0] ?? 0, ...launch.life(launch.ctas[0])];
  const [cta, begin, end] = stretch;
  const head = lanes.head(cta);
  const rows = head ? [head, ...head.inner].slice(0, MOST_LANES) : [];
  const room = 0.02 * (end - begin);
  const from = begin - room, to = end + room;
  const still = { ...view, launch, lanes, rows, begin: from, end: to, cycles: Math.max(1, to - from), units: view.units, event: -1, lane: null, span: null, hits: null };
  const canvas = byId("paper");
  canvas.hidden = byId("paper-says").hidden = !rows.length;
  if (!rows.length) return;
  const picture = new Picture(canvas);
  const height = rows.reduce((sum, lane) => sum + heightOf(lane), RULER);
  picture.resize(WIDTH, height, SCALE, 130);
  picture.draw(still, THEMES.light);
  const of = launch.told.stretch?.[4] ? `, ${stretch[4]} iterations of ${stretch[3]}` : "";
  byId("paper-says").textContent = `CTA ${cta}, cycles ${whole(begin)} to ${whole(end)}${of}. Hatched: waiting.`;
}

/** Draws the samples of legends; that of the picture is as light as it. */
export function drawSamples(theme) {
  for (const canvas of document.querySelectorAll("canvas.sample")) {
    const { size, made } = tiles(canvas.closest("figure") ? THEMES.light : theme, 2);
    const image = new ImageData(canvas.width, canvas.height);
    const pixels = new Uint32Array(image.data.buffer);
    const tile = made[2 * Number(canvas.dataset.look)];
    for (let y = 0; y < canvas.height; y++) {
      for (let x = 0; x < canvas.width; x++) pixels[y * canvas.width + x] = tile[(y % size) * size + (x % size)];
    }
    canvas.getContext("2d").putImageData(image, 0, 0);
  }
}
