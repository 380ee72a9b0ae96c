// One picture of the timeline: lanes as pixels, and on them names, marks, the selection and its arrows.

import { arrowsOf, drawArrow } from "./arrows.js";
import { Cells } from "./cells.js";
import { IS_WORK, Look, packed, rgb, tiles } from "./looks.js";
import { drawAlive, drawCells, drawStroke } from "./pixels.js";
import { ticks } from "./ruler.js";

export const RULER = 24;
const READ = 4096;
const FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace";
const FEWEST = 26;

/** Height of a lane, with the gap below it; `tall` is 1 or more where there is room for more. */
export function heightOf(lane, tall = 1) {
  return Math.round([20, 24, 16][lane.depth] * tall);
}

/** Draws on a canvas of its own size, in CSS pixels times `scale`. */
export class Picture {
  constructor(canvas) {
    this.canvas = canvas;
    this.ink = canvas.getContext("2d");
  }

  /** Sets the size in CSS pixels, and how many pixels of the canvas each has: not a whole number where a browser zooms. */
  resize(width, height, scale, gutter) {
    Object.assign(this, { width, height, gutter, scale, grain: Math.max(1, Math.round(scale)) });
    this.canvas.width = Math.round(width * scale);
    this.canvas.height = Math.round(height * scale);
    this.columns = Math.max(1, this.canvas.width - Math.round(gutter * scale));
    this.lines = Math.max(1, this.canvas.height - Math.round(RULER * scale));
    this.image = new ImageData(this.columns, this.lines);
    this.pixels = new Uint32Array(this.image.data.buffer);
    this.cells = new Cells(this.columns);
    this.theme = null;
  }

  use(theme) {
    if (this.theme === theme) return;
    this.theme = theme;
    this.tiles = tiles(theme, this.grain);
    this.colours = Object.fromEntries(["paper", "lane", "line"].map((name) => [name, packed(rgb(theme[name]))]));
    this.strokes = theme.looks.map((each) => packed(rgb(each)));
  }

  x(cycle) {
    return this.gutter + ((cycle - this.view.begin) / this.view.cycles) * (this.width - this.gutter);
  }

  cycleAt(x) {
    return this.view.begin + ((x - this.gutter) / (this.width - this.gutter)) * this.view.cycles;
  }

  /** Draws lanes from `scroll` pixels below the top of the first. */
  draw(view, theme, { scroll = 0, tall = 1 } = {}) {
    this.use(theme);
    this.view = view;
    this.placed = [];
    let top = RULER - scroll;
    for (const lane of view.rows) {
      const height = heightOf(lane, tall);
      this.placed.push({ lane, top, height, shown: top + height > RULER && top < this.height });
      top += height;
    }
    this.pixels.fill(this.colours.paper);
    const shown = this.placed.filter((each) => each.shown);
    for (const each of shown) this.drawLane(each);
    this.ink.setTransform(1, 0, 0, 1, 0, 0);
    this.ink.putImageData(this.image, Math.round(this.gutter * this.scale), Math.round(RULER * this.scale));
    this.ink.setTransform(this.scale, 0, 0, this.scale, 0, 0);
    this.clipped(() => {
      for (const each of shown) this.drawNames(each);
      if (view.hits) for (const each of shown) this.drawHits(each);
      this.drawSpan();
      if (view.event >= 0) this.drawSelection();
    });
    this.drawGutter(shown);
    this.drawRuler();
  }

  clipped(draw) {
    const { ink } = this;
    ink.save();
    ink.beginPath();
    ink.rect(this.gutter, RULER, this.width - this.gutter, this.height - RULER);
    ink.clip();
    draw();
    ink.restore();
  }

  /** The rows of pixels of a lane, without the gap below it, that are on the picture. */
  rowsOf({ top, height }) {
    const first = Math.round((top - RULER) * this.scale);
    const from = Math.max(0, first);
    return [from, Math.min(this.lines, Math.round((top + height - 2 - RULER) * this.scale)) - from];
  }

  drawLane(place) {
    const { view, cells, columns, pixels } = this;
    const { slices } = place.lane;
    const [top, height] = this.rowsOf(place);
    if (height <= 0) return;
    cells.fill(slices, view.begin, view.end);
    const at = { top, height, slices, from: view.begin, to: view.end };
    drawCells(pixels, cells, { ...at, tiles: this.tiles });
    if (slices.between === Look.ALIVE) drawAlive(pixels, cells, { ...at, scale: this.grain, colour: this.strokes[Look.ALIVE] });
    if (slices.event && place.lane.depth) this.drawEdges(slices, top, height);
  }

  /** What takes no time as a stroke, and a line between slices that look the same, where there is room for them. */
  drawEdges(slices, top, height) {
    const { view, columns } = this;
    const [from, to] = slices.within(view.begin, view.end);
    if (to - from > Math.min(READ, columns)) return;
    const scale = columns / view.cycles;
    for (let place = from; place < to; place++) {
      const begin = slices.begin[place];
      const column = Math.floor((begin - view.begin) * scale);
      if (slices.end[place] === begin) {
        if (this.view.launch.cycles(slices.event[place]) === 0 && this.cells.begun[column] <= 1) {
          drawStroke(this.pixels, columns, column, top, height, this.strokes[slices.look[place]], this.grain);
        }
      } else if (place && (begin - slices.end[place - 1]) * scale < 1 && slices.look[place - 1] === slices.look[place]) {
        if ((slices.end[place] - begin) * scale > 4) {
          drawStroke(this.pixels, columns, column, top, height, this.colours.lane, this.grain);
        }
      }
    }
  }

  drawNames({ lane, top, height }) {
    const { ink, view, theme } = this;
    const { slices } = lane;
    if (lane.depth === 0 || height < 16) return;
    const [from, to] = slices.within(view.begin, view.end);
    if (to - from > READ) return;
    ink.font = `11px ${FONT}`;
    ink.textBaseline = "middle";
    this.letter ??= ink.measureText("0000000000").width / 10;
    for (let place = from; place < to; place++) {
      const left = Math.max(this.gutter, this.x(slices.begin[place])), right = Math.min(this.width, this.x(slices.end[place]));
      if (right - left < FEWEST) continue;
      const name = view.launch.names(slices.event[place]).find((each) => each && each.length * this.letter + 8 <= right - left);
      if (!name) continue;
      const look = slices.look[place];
      const solid = look === Look.BUSY || look === Look.LOAD || look === Look.MMA;
      if (!solid) {
        ink.fillStyle = theme.lane;
        ink.fillRect(left + 2, top + height / 2 - 9, name.length * this.letter + 4, 16);
      }
      ink.fillStyle = solid ? theme.label : theme.text;
      ink.fillText(name, left + 4, top + height / 2 - 0.5);
    }
  }

  /** A mark above each column with events that the search has found. */
  drawHits({ lane, top }) {
    const { ink, view, theme } = this;
    const { slices } = lane;
    if (!slices.event) return;
    if (lane.hitsOf !== view.hits) {
      lane.hitsOf = view.hits;
      lane.hits = new Int32Array(slices.length + 1);
      for (let place = 0; place < slices.length; place++) lane.hits[place + 1] = lane.hits[place] + (view.hits.marks[slices.event[place]] ?? 0);
    }
    ink.fillStyle = theme.hit;
    const width = (this.width - this.gutter) / view.cycles;
    let next = slices.within(view.begin, view.end)[0];
    for (let x = this.gutter; x < this.width && next < slices.length; x += 3) {
      const until = slices.before(view.begin + (x + 3 - this.gutter) / width, next);
      if (lane.hits[until] > lane.hits[next]) ink.fillRect(x, top, 3, 4);
      next = until;
    }
  }

  drawSpan() {
    const { ink, view, theme } = this;
    if (!view.span) return;
    const [from, to] = view.span.map((each) => this.x(each));
    ink.fillStyle = theme.span;
    ink.fillRect(from, RULER, to - from, this.height);
    ink.fillStyle = theme.accent;
    ink.fillRect(from, RULER, 1, this.height);
    ink.fillRect(to, RULER, 1, this.height);
  }

  /** Where an event is: its row, whether or not it is on the picture. */
  rowOf(event) {
    const lane = this.view.lanes.of(event);
    return this.placed.find((each) => each.lane === lane) ?? this.placed.find((each) => each.lane.cta === lane.cta);
  }

  drawSelection() {
    const { ink, view, theme } = this;
    const { begin, end } = view.launch.events;
    if (this.arrowsFor?.event !== view.event || this.arrowsFor.launch !== view.launch) {
      this.arrowsFor = { launch: view.launch, event: view.event, arrows: arrowsOf(view.launch, view.event) };
    }
    for (const each of this.arrowsFor.arrows) {
      const source = this.rowOf(each.source), target = this.rowOf(each.target);
      if (!source || !target) continue;
      drawArrow(ink, {
        x0: this.x(each.left), y0: source.top + source.height / 2 - 1,
        x1: this.x(each.arrived), y1: target.top + target.height / 2 - 1,
        colour: each.cause ? theme.cause : theme.effect, halo: theme.paper,
      });
    }
    const row = this.rowOf(view.event);
    const left = this.x(begin[view.event]), right = this.x(end[view.event]);
    for (const [colour, width] of [[theme.paper, 4], [theme.accent, 2]]) {
      ink.strokeStyle = colour;
      ink.lineWidth = width;
      ink.strokeRect(left - 1, row.top, Math.max(3, right - left + 2), row.height - 2);
    }
  }

  drawGutter(shown) {
    const { ink, theme, view, gutter } = this;
    ink.fillStyle = theme.gutter;
    ink.fillRect(0, RULER, gutter, this.height);
    ink.textBaseline = "middle";
    for (const { lane, top, height } of shown) {
      if (lane === view.lane) {
        ink.fillStyle = theme.current;
        ink.fillRect(0, top, gutter, height - 2);
        ink.fillStyle = theme.accent;
        ink.fillRect(0, top, 3, height - 2);
      }
      ink.fillStyle = lane.depth === 2 ? theme.faint : theme.text;
      ink.font = `${lane.depth ? "" : "bold "}12px ${FONT}`;
      const left = 8 + 10 * lane.depth;
      if (lane.folds) ink.fillText(lane.open ? "▾" : "▸", left - 1, top + height / 2 - 1);
      ink.fillText(fitted(ink, lane.label, gutter - left - 16), left + 12, top + height / 2 - 1);
    }
  }

  drawRuler() {
    const { ink, theme, view, gutter } = this;
    ink.fillStyle = theme.gutter;
    ink.fillRect(0, 0, this.width, RULER);
    ink.font = `11px ${FONT}`;
    ink.textBaseline = "middle";
    ink.fillStyle = theme.faint;
    ink.fillText(view.units, 8, RULER / 2);
    const from = gutter + 2;
    for (const [cycle, text] of ticks(view, (this.width - gutter) / 110)) {
      const x = this.x(cycle);
      ink.fillStyle = theme.line;
      ink.fillRect(x, RULER - 6, 1, 6);
      ink.fillStyle = theme.text;
      const width = ink.measureText(text).width;
      const left = Math.min(Math.max(from, x + 3), this.width - width - 2);
      if (x >= gutter - 1) ink.fillText(text, left, RULER / 2 - 1);
    }
    this.drawExtent();
  }

  /** Which part of the launch is on the picture: a bar along the top. */
  drawExtent() {
    const { ink, theme, view, gutter } = this;
    const { begin, end } = view.launch.told;
    const room = this.width - gutter, all = Math.max(1, end - begin);
    const from = Math.max(0, (view.begin - begin) / all), to = Math.min(1, (view.end - begin) / all);
    ink.fillStyle = theme.line;
    ink.fillRect(gutter, 0, room, 3);
    ink.fillStyle = theme.faint;
    ink.fillRect(gutter + from * room, 0, Math.max(3, (to - from) * room), 3);
  }
}

/** A text, cut where there is no room for it. */
function fitted(ink, text, room) {
  if (ink.measureText(text).width <= room) return text;
  let short = text.slice(0, 200);
  while (short && ink.measureText(`${short}…`).width > room) short = short.slice(0, -1);
  return `${short}…`;
}
