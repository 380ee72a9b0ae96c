// The rows of the timeline, as a tree: CTAs, and in each its agents, in the order of the terminal's timeline.

import { Look } from "./looks.js";
import { Blend, levels, Slices, slicesOf } from "./slices.js";

const ORDER = ["warp_group", "range", "tma", "tensor_core", "launch_control"];
const NOTHING = new Int32Array(0);

/** A row. What stands in it, and the lanes in it, are worked out when they are asked for. */
class Lane {
  constructor({ key, label, depth, cta, track = -1, make, own = null }) {
    Object.assign(this, { key, label, depth, cta, track, make, own });
    this.open = false;
    this.made = null;
    this.lanes = null;
  }

  get slices() {
    return (this.made ??= this.make());
  }

  /** The lanes in it. */
  get inner() {
    return (this.lanes ??= this.own ? this.own() : []);
  }

  get folds() {
    return this.own !== null;
  }
}

export class Lanes {
  constructor(launch) {
    this.launch = launch;
    this.heads = launch.ctas.map((cta) => ctaLane(launch, cta));
    if (this.heads.length) this.heads[0].open = true;
  }

  /** The lanes that are not folded away, from the top. */
  visible() {
    const found = [];
    const visit = (lane) => {
      found.push(lane);
      if (lane.open) lane.inner.forEach(visit);
    };
    this.heads.forEach(visit);
    return found;
  }

  /** The lane that shows an event, in its CTA's. */
  of(event) {
    const track = this.launch.trackOf(event);
    const store = this.launch.looks[event] === Look.STORE;
    const own = this.head(track.cta).inner.filter((lane) => lane.track === track.number);
    return own.find((lane) => track.kind !== "tma" || lane.label.endsWith(" stores") === store) ?? own[0];
  }

  head(cta) {
    return this.heads.find((lane) => lane.cta === cta);
  }

  /** The lane of a warp group of a CTA. */
  named(name, cta) {
    return this.head(cta)?.inner.find((lane) => lane.label === name);
  }
}

function ctaLane(launch, cta) {
  const tracks = launch.tracks.filter((track) => track.cta === cta);
  const sorted = [...tracks].sort((a, b) => ORDER.indexOf(a.kind) - ORDER.indexOf(b.kind) || a.number - b.number);
  return new Lane({
    key: `cta ${cta}`,
    label: `CTA ${cta}`,
    depth: 0,
    cta,
    make: () => ctaSlices(launch, cta, tracks),
    own: () => sorted.flatMap((track) => lanesOf(launch, track)),
  });
}

/** What a CTA's own lane shows: its tensor core; without one its warp groups together. */
function ctaSlices(launch, cta, tracks) {
  const life = launch.life(cta);
  const core = tracks.find((track) => track.kind === "tensor_core" && rowsOf(launch, track).length);
  if (core) {
    const made = slicesOf(launch, rowsOf(launch, core), Look.ALIVE, life);
    return new Slices({ ...made, event: new Int32Array(made.length).fill(-1) });
  }
  const groups = tracks.filter((track) => track.kind === "warp_group");
  if (groups.length) return new Blend(groups.map((track) => groupSlices(launch, track)));
  return slicesOf(launch, NOTHING, Look.ALIVE, life);
}

function groupSlices(launch, track) {
  return slicesOf(launch, rowsOf(launch, track), Look.BUSY, [track.begin, track.end]);
}

function lanesOf(launch, track) {
  const rows = rowsOf(launch, track);
  if (track.kind !== "tma") return [lane(launch, track, rows, track.name)];
  const isStore = (row) => launch.looks[row] === Look.STORE;
  const stores = rows.filter(isStore);
  const loads = stores.length ? rows.filter((row) => !isStore(row)) : rows;
  const made = [lane(launch, track, loads, `${track.name} loads`)];
  return stores.length ? [...made, lane(launch, track, stores, `${track.name} stores`)] : made;
}

/** A lane in which work that overlaps is cut, and where it does, a lane in it for each level. */
function lane(launch, track, rows, label) {
  const key = `cta ${track.cta}/${label}`;
  const shared = { cta: track.cta, track: track.number };
  if (track.kind === "warp_group") {
    return new Lane({ ...shared, key, label, depth: 1, make: () => groupSlices(launch, track) });
  }
  const life = [track.begin, track.end];
  const own = () =>
    levels(launch, rows).map(
      (part, level) =>
        new Lane({
          ...shared,
          track: -1,
          key: `${key}/${level}`,
          label: `at once ${level + 1}`,
          depth: 2,
          make: () => slicesOf(launch, part, Look.AWAY, life),
        }),
    );
  const make = () => slicesOf(launch, rows, Look.AWAY, life);
  return new Lane({ ...shared, key, label, depth: 1, make, own: overlaps(launch, rows) ? own : null });
}

function overlaps(launch, rows) {
  const { begin, end } = launch.events;
  let covered = -Infinity;
  for (const row of rows) {
    if (begin[row] < covered) return true;
    covered = Math.max(covered, end[row]);
  }
  return false;
}

/** Rows of a track, by begin. */
export function rowsOf(launch, track) {
  const from = launch.events.first[track.number];
  const rows = new Int32Array(launch.events.first[track.number + 1] - from);
  for (let place = 0; place < rows.length; place++) rows[place] = from + place;
  return rows;
}
