// Searching events: `wait a_full[2]`, `line:104`, `>1000`, as in the terminal.

import { labelOf } from "./launch.js";
import { baseName } from "./words.js";

const LENGTH = /^([<>]=?)([\d,_]*\.?\d+)(cycles|ns|us|ms)?$/i;
const FIELD = /^(line|slot|phase|cta|i|iteration|outer):(.*)$/i;
const WORD = /^(role|kind|var|variable):(.+)$/i;
const SLOT = /^(.+)\[(\d+)\]$/;
const NS = { ns: 1, us: 1e3, ms: 1e6 };

/** Thrown with what is wrong with the words. */
export class SearchError extends Error {}

/** What a search has found: a mark for each row, how many there are, and in which order one goes through them. */
export class Hits {
  constructor(launch, query, marks) {
    Object.assign(this, { launch, query, marks });
    this.count = marks.reduce((sum, mark) => sum + mark, 0);
  }

  /** The next hit (1) by CTA and begin, or the one before (-1), around the end: [row, its number]. */
  after(event, cta, cycle, direction) {
    const { launch, marks } = this;
    const { begin, first } = launch.events;
    let [best, bestCta, bestBegin, earlier, edge, edgeCta, edgeBegin] = [-1, 0, 0, 0, -1, 0, 0];
    const before = (ctaA, beginA, rowA, ctaB, beginB, rowB) =>
      ctaA !== ctaB ? ctaA < ctaB : beginA !== beginB ? beginA < beginB : rowA < rowB;
    const pivot = event >= 0 ? event : direction > 0 ? -1 : Infinity;
    for (const track of launch.tracks) {
      for (let row = first[track.number]; row < first[track.number + 1]; row++) {
        if (!marks[row] || row === event) continue;
        const [own, at] = [track.cta, begin[row]];
        const isBefore = before(own, at, row, cta, cycle, pivot);
        if (direction > 0 ? !isBefore : isBefore) {
          const nearer = best < 0 || before(own, at, row, bestCta, bestBegin, best) === direction > 0;
          if (nearer) [best, bestCta, bestBegin] = [row, own, at];
        }
        const farther = edge < 0 || before(own, at, row, edgeCta, edgeBegin, edge) === direction > 0;
        if (farther) [edge, edgeCta, edgeBegin] = [row, own, at];
      }
    }
    const found = best >= 0 ? best : edge >= 0 ? edge : marks[event] ? event : -1;
    if (found < 0) return [-1, 0];
    const of = launch.trackOf(found).cta;
    for (const track of launch.tracks) {
      for (let row = first[track.number]; row < first[track.number + 1]; row++) {
        if (marks[row] && before(track.cta, begin[row], row, of, begin[found], found)) earlier++;
      }
    }
    return [found, earlier + 1];
  }
}

/** The events for which all words hold. */
export function find(launch, vocabulary, query) {
  const marks = new Uint8Array(launch.events.rows).fill(1);
  for (const word of query.split(/\s+/).filter(Boolean)) {
    const holds = test(launch, vocabulary, word);
    for (const track of launch.tracks) {
      const of = holds(track);
      for (let row = launch.events.first[track.number]; row < launch.events.first[track.number + 1]; row++) {
        if (marks[row] && !of(row)) marks[row] = 0;
      }
    }
  }
  return new Hits(launch, query, marks);
}

/** For a word, from a track to whether the word holds for a row of it. */
function test(launch, vocabulary, word) {
  const { events } = launch;
  const length = LENGTH.exec(word);
  if (length) return () => longer(launch, length);
  const field = FIELD.exec(word);
  if (field) return equal(launch, field[1].toLowerCase(), field[2]);
  const called = WORD.exec(word);
  if (called) return calling(launch, vocabulary, called[2], called[1].toLowerCase());
  if (/^[<>]/.test(word)) throw new SearchError(`${word} is no duration: write >1000 or <2us`);
  const slot = SLOT.exec(word);
  if (!slot) return calling(launch, vocabulary, word, "");
  const inName = calling(launch, vocabulary, slot[1], "");
  return (track) => {
    const named = inName(track);
    return (row) => events.slot[row] === Number(slot[2]) && named(row);
  };
}

function longer(launch, [, comparison, number, unit = ""]) {
  const scale = NS[unit.toLowerCase()] ? (NS[unit.toLowerCase()] * launch.told.clock) / 1000 : 1;
  const wanted = Number(number.replace(/[,_]/g, "")) * scale;
  const compare = { "<": (a) => a < wanted, "<=": (a) => a <= wanted, ">": (a) => a > wanted, ">=": (a) => a >= wanted };
  return (row) => compare[comparison](launch.cycles(row));
}

function equal(launch, name, text) {
  const wanted = Number(text.replace(/,/g, ""));
  if (!text.trim() || !Number.isInteger(wanted)) throw new SearchError(`${name}:${text} wants a number, as in ${name}:104`);
  const { events, sites } = launch;
  if (name === "line") return () => (row) => (sites[events.site[row]]?.line ?? -1) === wanted;
  if (name === "cta") return (track) => () => track.cta === wanted;
  const column = events[{ i: "inner", iteration: "inner" }[name] ?? name];
  return () => (row) => column[row] === wanted;
}

/** Whether a word is in what an event is called; `where` is `role`, `kind` or `var`, or empty for anywhere. */
function calling(launch, vocabulary, word, where) {
  const wanted = word.toLowerCase();
  const says = {
    "": (site, label) => `${label} ${site.variable} ${site.kind} ${baseName(site.file)}:${site.line}`,
    kind: (site, label) => `${label} ${site.kind}`,
    var: (site) => site.variable,
    variable: (site) => site.variable,
    role: () => "",
  }[where];
  return (track) => {
    if ((where === "" || where === "role") && track.name.toLowerCase().includes(wanted)) return () => true;
    const table = launch.sites.map((site) => says(site, labelOf(vocabulary, track.kind, site.kind)).toLowerCase().includes(wanted));
    return (row) => table[launch.events.site[row]] ?? false;
  };
}
