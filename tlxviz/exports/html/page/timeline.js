// The timeline on screen: a canvas that stays in place while the list of lanes is scrolled.

import { heightOf, Picture, RULER } from "./picture.js";
import { THEMES } from "./looks.js";

const TALLEST = 1.6;

export class Timeline {
  constructor(view, scroller, canvas, spacer, isDark) {
    Object.assign(this, { view, scroller, canvas, spacer, isDark });
    this.picture = new Picture(canvas);
    this.wanted = false;
    this.lane = null;
    view.onChange(() => this.changed());
    scroller.addEventListener("scroll", () => this.redraw());
    new ResizeObserver(() => this.resized()).observe(scroller);
    window.addEventListener("resize", () => this.resized());
  }

  /** Draws with the next frame, however often it is asked. */
  redraw() {
    if (this.wanted) return;
    this.wanted = true;
    requestAnimationFrame(() => {
      this.wanted = false;
      if (this.view.launch && this.picture.width) {
        this.picture.draw(this.view, THEMES[this.isDark() ? "dark" : "light"], { scroll: this.scroller.scrollTop, tall: this.tall });
      }
    });
  }

  resized() {
    const width = this.scroller.clientWidth, height = this.scroller.clientHeight;
    const scale = window.devicePixelRatio;
    if (!width || !height || (width === this.width && height === this.height && scale === this.ratio)) return;
    Object.assign(this, { width, height, ratio: scale });
    const gutter = Math.min(width < 600 ? 118 : 160, Math.floor(width / 2));
    this.picture.resize(width, height, scale, gutter);
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    if (this.view.launch) this.measure();
    this.redraw();
  }

  changed() {
    const { view } = this;
    this.measure();
    Object.assign(this.canvas.dataset, { begin: view.begin, end: view.end });
    if (view.lane !== this.lane) {
      this.lane = view.lane;
      this.reveal(view.lane);
    }
    this.redraw();
  }

  /** Makes lanes taller where there is room, and else a scrollbar. */
  measure() {
    const room = this.scroller.clientHeight - RULER;
    const height = (tall) => this.view.rows.reduce((sum, lane) => sum + heightOf(lane, tall), 0);
    this.tall = Math.max(1, Math.min(TALLEST, Math.floor((10 * room) / Math.max(1, height(1))) / 10));
    this.spacer.style.height = `${Math.max(0, height(this.tall) - room)}px`;
  }

  /** Scrolls so that a lane is on screen. */
  reveal(lane) {
    let top = 0;
    for (const each of this.view.rows) {
      if (each === lane) break;
      top += heightOf(each, this.tall);
    }
    const room = this.scroller.clientHeight - RULER;
    if (top < this.scroller.scrollTop) this.scroller.scrollTop = top;
    else if (lane && top + heightOf(lane, this.tall) > this.scroller.scrollTop + room) this.scroller.scrollTop = top + heightOf(lane, this.tall) - room;
  }

  /** What is at a place of the canvas: the lane, the cycle, the event (-1 for none), and whether it is on a name. */
  at(x, y) {
    const { picture, view } = this;
    const row = y >= RULER ? picture.placed?.find((each) => y >= each.top && y < each.top + each.height) : undefined;
    const cycle = picture.cycleAt(x);
    const onName = x < picture.gutter;
    if (!row || onName) return { lane: row?.lane ?? null, cycle, event: -1, onName };
    const near = (4 * view.cycles) / (picture.width - picture.gutter);
    return { lane: row.lane, cycle, event: nearest(view, row.lane.slices, cycle, near), onName };
  }
}

/** The event at a cycle, or the nearest within `near` cycles. */
function nearest(view, slices, cycle, near) {
  const at = slices.at(cycle);
  if (at >= 0) return slices.event[at];
  if (!slices.event) return -1;
  const next = slices.before(cycle);
  const before = next > 0 ? cycle - slices.end[next - 1] : Infinity;
  const after = next < slices.length ? slices.begin[next] - cycle : Infinity;
  if (Math.min(before, after) > near) return -1;
  return slices.event[before <= after ? next - 1 : next];
}
