// What is looked at: launch, stretch of time, lane and event. Whoever changes it calls `changed`, and all else follows.

import { Lanes } from "./lanes.js";

const SHORTEST = 4;
const HISTORY = 200;

export class View {
  constructor(document) {
    this.document = document;
    this.units = "cycles";
    this.listeners = [];
    this.message = "";
  }

  /** Calls a function whenever something has changed. */
  onChange(listener) {
    this.listeners.push(listener);
  }

  changed(message = "") {
    this.message = message;
    for (const listener of this.listeners) listener(this);
  }

  /** Shows another launch. */
  show(launch) {
    this.launch = launch;
    this.lanes = new Lanes(launch);
    this.rows = this.lanes.visible();
    this.event = -1;
    this.span = null;
    this.hits = null;
    this.back = [];
    this.worst = -1;
    this.lane = this.rows[1] ?? this.rows[0] ?? null;
    const [begin, end] = launch.ctas.length ? launch.life(launch.ctas[0]) : [launch.told.begin, launch.told.end];
    this.cursor = (begin + end) / 2;
    this.setWindow(begin, end);
  }

  get cta() {
    return this.lane ? this.lane.cta : (this.launch.ctas[0] ?? 0);
  }

  get cycles() {
    return this.end - this.begin;
  }

  /** Shows a stretch of time, as far as there is something to see. */
  setWindow(begin, end) {
    const { told } = this.launch;
    const all = Math.max(SHORTEST, told.end - told.begin);
    const cycles = Math.min(Math.max(end - begin, SHORTEST), 1.2 * all);
    const middle = (begin + end) / 2;
    const room = 0.1 * cycles;
    const first = Math.max(told.begin - room, Math.min(middle - cycles / 2, told.begin + all + room - cycles));
    this.begin = first;
    this.end = first + cycles;
  }

  /** Zooms by a factor about a cycle, which keeps its place. */
  zoom(factor, about = this.inWindow(this.cursor)) {
    const share = (about - this.begin) / this.cycles;
    const { told } = this.launch;
    const cycles = Math.min(Math.max(this.cycles * factor, SHORTEST), 1.2 * Math.max(SHORTEST, told.end - told.begin));
    this.setWindow(about - share * cycles, about + (1 - share) * cycles);
  }

  pan(cycles) {
    this.setWindow(this.begin + cycles, this.end + cycles);
  }

  inWindow(cycle) {
    return cycle >= this.begin && cycle <= this.end ? cycle : (this.begin + this.end) / 2;
  }

  select(event) {
    this.event = event;
    if (event >= 0) {
      this.lane = this.lanes.of(event);
      this.cursor = this.middle(event);
    }
  }

  middle(event) {
    const { begin, end } = this.launch.events;
    return (begin[event] + end[event]) / 2;
  }

  /** Selects an event, unfolds what hides it and moves the window so that it is on screen. */
  goTo(event, remember = true) {
    if (remember && this.event >= 0) {
      this.back.push([this.event, this.begin, this.end]);
      if (this.back.length > HISTORY) this.back.shift();
    }
    this.select(event);
    this.open(this.lanes.head(this.lane.cta));
    const { begin, end } = this.launch.events;
    const [from, to] = [begin[event], end[event]];
    if (to - from > this.cycles) {
      const room = (to - from) * 0.15;
      this.setWindow(from - room, to + room);
    } else if (from < this.begin || to > this.end) {
      const middle = (from + to) / 2;
      this.setWindow(middle - this.cycles / 2, middle + this.cycles / 2);
    }
  }

  open(lane, open = true) {
    if (!lane?.folds || lane.open === open) return;
    lane.open = open;
    this.rows = this.lanes.visible();
    if (!this.rows.includes(this.lane)) this.lane = lane;
  }
}
