// Draws lanes into an array of pixels: however many slices there are, a picture takes the same time.

import { IS_WORK, Look } from "./looks.js";

/** Draws a lane's cells into rows [top, top + height) of `pixels`, which are `columns` wide. */
export function drawCells(pixels, cells, { top, height, tiles, slices, from, to }) {
  const { columns, look, share, begun } = cells;
  const levels = new Int32Array(columns);
  const kinds = new Uint8Array(columns);
  for (let column = 0; column < columns; column++) {
    const dense = begun[column] > 1, part = share[column];
    let kind = look[column], level = height;
    if (kind === Look.AWAY && begun[column] > 0) {
      // what takes no time is seen where there is nothing else
      kind = slices.look?.[slices.before(from + ((to - from) * column) / columns)] ?? kind;
    } else if (part < 1 && (dense || (IS_WORK[kind] && part < 0.5)) && kind !== Look.ALIVE && kind !== Look.AWAY) {
      level = Math.max(2, Math.round(part * height));
    }
    kinds[column] = kind;
    levels[column] = height - level;
  }
  const { size, made } = tiles;
  for (let y = 0; y < height; y++) {
    const at = (top + y) * columns;
    const line = ((top + y) % size) * size;
    for (let column = 0, x = 0; column < columns; column++) {
      pixels[at + column] = made[2 * kinds[column] + (y < levels[column] ? 1 : 0)][line + x];
      if (++x === size) x = 0;
    }
  }
}

/** A line one pixel wide. */
export function drawStroke(pixels, columns, column, top, height, colour, width = 1) {
  for (let y = top; y < top + height; y++) {
    for (let x = Math.max(0, column); x < Math.min(columns, column + width); x++) pixels[y * columns + x] = colour;
  }
}

/** A dotted line across, through the middle of a lane: the CTA is there. */
export function drawAlive(pixels, cells, { top, height, scale, colour }) {
  const { columns, look } = cells;
  for (let y = 0; y < scale; y++) {
    const at = (top + (height >> 1) + y) * columns;
    for (let column = 0; column < columns; column++) {
      if (look[column] === Look.ALIVE && Math.floor(column / (3 * scale)) % 2) pixels[at + column] = colour;
    }
  }
}
