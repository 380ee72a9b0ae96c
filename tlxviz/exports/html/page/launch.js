// A launch: its events, and what each is called and shows.

import { unpack } from "./columns.js";
import { Look } from "./looks.js";
import { baseName, placeText } from "./words.js";

const ENGINE_LOOKS = { tma_load: Look.LOAD, async_copy: Look.LOAD, tma_store: Look.STORE, tma_reduce: Look.STORE };
/** What a warp group does to tensor memory. */
const TENSOR_KINDS = new Set(["tmem_load", "tmem_store"]);
const WORK_LOOKS = { wait: Look.WAIT, issue: Look.ISSUE, busy: Look.BUSY, named: Look.NAMED };

export class Launch {
  constructor(told, events, source, vocabulary) {
    this.told = told;
    this.events = events;
    this.source = source ? source.replace(/\n$/, "").split("\n") : [];
    this.tracks = told.tracks.map(([kind, name, cta, sm, agent, begin, end], number) => {
      const last = events.first[number + 1] > events.first[number] ? lastEnd(events, number) : end;
      return { number, kind, name, cta, sm, agent, begin, end: Math.max(end, last) };
    });
    this.sites = told.sites.map(([kind, agent, file, line, variable, text]) => ({ kind, agent, file, line, variable, text }));
    this.vocabulary = vocabulary;
    this.looks = looksOf(this);
    this.ctas = [...new Set(this.tracks.map((track) => track.cta))].sort((a, b) => a - b);
  }

  static async load(told, base64, document) {
    return new Launch(told, await unpack(base64, told), document.texts[told.source], document.vocabulary);
  }

  trackOf(event) {
    const { first } = this.events;
    let low = 0, high = this.tracks.length;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (first[middle] <= event) low = middle;
      else high = middle;
    }
    return this.tracks[low];
  }

  siteOf(event) {
    return this.sites[this.events.site[event]];
  }

  cycles(event) {
    return this.events.end[event] - this.events.begin[event];
  }

  isWait(event) {
    return this.looks[event] === Look.WAIT;
  }

  label(event) {
    const site = this.siteOf(event);
    return site ? labelOf(this.vocabulary, this.trackOf(event).kind, site.kind) : "event";
  }

  /** `wait a_full[2]`. */
  name(event) {
    if (this.looks[event] === Look.ASKED) return this.answer(event);
    const where = this.where(event);
    return where ? `${this.label(event)} ${where}` : this.label(event);
  }

  /** What the block scheduler answered: the slot of such an event is a CTA. */
  answer(event) {
    const cta = this.events.slot[event];
    return cta >= 0 ? `answer: CTA ${cta}` : "answer: none is left";
  }

  /** `a_full[2]`; empty where there is no variable. */
  where(event) {
    const variable = this.siteOf(event)?.variable ?? "";
    const slot = this.events.slot[event];
    return variable && slot >= 0 ? `${variable}[${slot}]` : variable;
  }

  /** What a slice may be called, from the longest to the shortest. */
  names(event) {
    const site = this.siteOf(event);
    if (!site) return ["event"];
    if (this.looks[event] === Look.ASKED) {
      const cta = this.events.slot[event];
      return [this.answer(event), cta >= 0 ? `CTA ${cta}` : "none"];
    }
    const label = this.label(event), where = this.where(event);
    if (site.kind === "range_begin") return [site.variable || label];
    const mma = site.kind === "mma" || site.kind === "mma_wait";
    const names = where ? [`${label} ${where}`, site.kind === "mma" ? label : where, site.variable] : [label];
    return mma ? [...names, "MMA"] : names;
  }

  place(event) {
    const site = this.siteOf(event);
    return site ? placeText(site.file, site.line) : "";
  }

  /** Whether a file is the kernel's own, whose source the page has. */
  isOwn(file) {
    return Boolean(file) && this.source.length > 0 && baseName(file) === this.told.file;
  }

  /** Text of a line of the kernel's own file; empty where it is not at hand. */
  code(file, line) {
    return this.isOwn(file) ? (this.source[line - this.told.line] ?? "").trim() : "";
  }

  releases(event) {
    const found = [];
    const by = this.events.releasedBy;
    for (let row = 0; row < by.length; row++) if (by[row] === event) found.push(row);
    return found.sort((a, b) => this.events.begin[a] - this.events.begin[b]);
  }

  /** SM cycles at which a CTA starts and ends. */
  life(cta) {
    const lives = this.tracks.filter((track) => track.cta === cta && track.end > track.begin);
    if (!lives.length) return [this.told.begin, this.told.end];
    return [Math.min(...lives.map((each) => each.begin)), Math.max(...lives.map((each) => each.end))];
  }
}

export function labelOf(vocabulary, trackKind, siteKind) {
  return vocabulary[trackKind]?.[siteKind]?.[0] ?? siteKind;
}

function lookOf(vocabulary, trackKind, siteKind) {
  if (trackKind === "tma" || trackKind === "tensor_core") return ENGINE_LOOKS[siteKind] ?? Look.MMA;
  if (trackKind === "launch_control") return Look.ASKED;
  if (TENSOR_KINDS.has(siteKind)) return Look.TENSOR;
  return WORK_LOOKS[vocabulary[trackKind]?.[siteKind]?.[1]] ?? Look.BUSY;
}

function looksOf(launch) {
  const { events, vocabulary } = launch;
  const looks = new Uint8Array(events.rows);
  const kinds = [...launch.sites.map((site) => site.kind), ""];
  for (const track of launch.tracks) {
    const table = kinds.map((kind) => lookOf(vocabulary, track.kind, kind));
    for (let row = events.first[track.number]; row < events.first[track.number + 1]; row++) {
      looks[row] = table[events.site[row] < 0 ? kinds.length - 1 : events.site[row]];
    }
  }
  return looks;
}

function lastEnd(events, track) {
  let last = 0;
  for (let row = events.first[track]; row < events.first[track + 1]; row++) last = Math.max(last, events.end[row]);
  return last;
}
