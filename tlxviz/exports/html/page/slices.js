// What stands in a lane: slices in order of time, none of which begins before the last one has ended.

import { Look, LOOKS } from "./looks.js";

export class Slices {
  /**
   * `event` is the launch's row of each; `between` the look of what is between them, within `life`.
   */
  constructor({ begin, end, look, event, between = Look.AWAY, life = [0, 0] }) {
    Object.assign(this, { begin, end, look, event, between, life });
    this.sums = null;
  }

  get length() {
    return this.begin.length;
  }

  /** How many slices begin before a cycle; at least `from`, which a caller who knows spares the search. */
  before(cycle, from = 0) {
    const { begin } = this;
    let low = from, step = 1;
    while (low + step <= begin.length && begin[low + step - 1] < cycle) {
      low += step;
      step *= 2;
    }
    let high = Math.min(begin.length, low + step);
    while (low < high) {
      const middle = (low + high) >> 1;
      if (begin[middle] < cycle) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Places [from, to) of the slices that are in some of the time from `begin` to `end`. */
  within(begin, end) {
    let from = this.before(begin);
    while (from > 0 && (this.end[from - 1] > begin || this.begin[from - 1] === begin)) from--;
    return [from, Math.max(from, this.before(end, from))];
  }

  /** The slice in which a cycle lies, or of those that take no time the last that begins there; -1 for none. */
  at(cycle) {
    const place = this.before(cycle + 1e-9) - 1;
    return place >= 0 && (cycle < this.end[place] || cycle === this.begin[place]) ? place : -1;
  }

  /** Place of an event; -1 for none. */
  placeOf(event, begin) {
    let place = this.before(begin);
    while (place < this.length && this.event[place] !== event) {
      if (this.begin[place] > begin && this.event[place] > event) break;
      place++;
    }
    if (this.event[place] === event) return place;
    return this.event.indexOf(event);
  }

  /**
   * Adds the cycles of each look in each column to `cycles` (look by look, a column each), and the slices that begin
   * there to `begun`. Columns divide the time from `from` to `to` evenly.
   */
  addTo(cycles, begun, from, to, columns) {
    this.sums ??= this.summed();
    const width = (to - from) / columns;
    const { begin, end, look, between, life } = this;
    const some = this.looks;
    const until = new Float64Array(some.length), last = new Float64Array(some.length);
    let place = 0;
    for (let column = 0; column <= columns; column++) {
      const edge = from + column * width;
      const next = this.before(edge, place);
      const before = next - 1;
      const inside = before >= 0 ? Math.min(edge, end[before]) - begin[before] : 0;
      let taken = 0;
      for (let number = 0; number < some.length; number++) {
        until[number] = before < 0 ? 0 : this.sums[number][before] + (look[before] === some[number] ? inside : 0);
        if (column) {
          const found = until[number] - last[number];
          cycles[some[number] * columns + column - 1] += found;
          taken += found;
        }
        last[number] = until[number];
      }
      if (column) {
        begun[column - 1] += next - place;
        if (between !== Look.AWAY) {
          const alive = Math.min(Math.max(edge, life[0]), life[1]) - Math.min(Math.max(edge - width, life[0]), life[1]);
          cycles[between * columns + column - 1] += Math.max(0, alive - taken);
        }
      }
      place = next;
    }
  }

  /** For each look that there is: cycles of its slices before slice 0, 1, ... */
  summed() {
    const has = new Array(LOOKS).fill(false);
    for (const each of this.look) has[each] = true;
    this.looks = has.flatMap((each, look) => (each ? [look] : []));
    return this.looks.map((look) => {
      const sums = new Float64Array(this.length + 1);
      for (let place = 0; place < this.length; place++) {
        sums[place + 1] = sums[place] + (this.look[place] === look ? this.end[place] - this.begin[place] : 0);
      }
      return sums;
    });
  }
}

/** Several lanes as one: a column has the time of all of them. It has no slices of its own. */
export class Blend {
  constructor(parts) {
    this.parts = parts;
    this.length = 0;
  }

  within() {
    return [0, 0];
  }

  at() {
    return -1;
  }

  addTo(cycles, begun, from, to, columns) {
    for (const part of this.parts) part.addTo(cycles, begun, from, to, columns);
  }
}

/** Slices of rows that stand by begin. Of work that overlaps each cycle goes to what began first, the rest is cut off. */
export function slicesOf(launch, rows, between, life) {
  const { begin, end } = launch.events;
  const cut = { begin: new Float64Array(rows.length), end: new Float64Array(rows.length) };
  const look = new Uint8Array(rows.length);
  let covered = -Infinity;
  for (let place = 0; place < rows.length; place++) {
    const row = rows[place];
    cut.begin[place] = Math.max(begin[row], covered);
    covered = cut.end[place] = Math.max(end[row], covered);
    look[place] = launch.looks[row];
  }
  return new Slices({ ...cut, look, event: rows, between, life });
}

/** Rows by level, so that those of one level do not overlap: each goes to the first level that is free. */
export function levels(launch, rows) {
  const { begin, end } = launch.events;
  const free = [], found = [];
  for (const row of rows) {
    let level = free.findIndex((since) => since <= begin[row]);
    if (level < 0) level = free.push(0) - 1;
    free[level] = end[row];
    (found[level] ??= []).push(row);
  }
  return found.map((each) => Int32Array.from(each));
}
