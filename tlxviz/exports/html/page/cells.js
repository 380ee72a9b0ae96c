// What prevails in each column of a lane, and how much of the column it takes.

import { IS_WORK, Look, LOOKS, RANKED } from "./looks.js";

/** Room for the columns of one lane, used again for each. */
export class Cells {
  constructor(columns) {
    this.columns = columns;
    this.cycles = new Float64Array(LOOKS * columns);
    this.begun = new Float64Array(columns);
    this.look = new Uint8Array(columns);
    this.share = new Float64Array(columns);
  }

  /**
   * Fills `look` (the one that prevails; of an engine, work prevails over none, however short), `share` (of the
   * column's time) and `begun` (how many slices begin there). What takes less than a column counts as much as it takes.
   */
  fill(slices, from, to) {
    const { columns, cycles, begun, look, share } = this;
    cycles.fill(0);
    begun.fill(0);
    slices.addTo(cycles, begun, from, to, columns);
    const width = ((to - from) / columns) * (slices.parts?.length ?? 1);
    for (let column = 0; column < columns; column++) {
      let known = 0, works = false;
      for (let each = 1; each < LOOKS; each++) {
        const found = cycles[each * columns + column];
        known += found;
        works ||= IS_WORK[each] && found > 0;
      }
      cycles[column] = Math.max(0, width - known);
      let best = Look.AWAY, most = -1;
      for (const each of RANKED) {
        const found = cycles[each * columns + column];
        if (found > most && (!works || IS_WORK[each])) [best, most] = [each, found];
      }
      look[column] = best;
      share[column] = Math.min(1, most / width);
    }
  }
}
