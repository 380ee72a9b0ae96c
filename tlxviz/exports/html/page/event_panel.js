// The selected event: what it is, what released it and what it released. Or a selected range.

import { byId, element, facts, link } from "./dom.js";
import { Look, LOOKS, WORDS } from "./looks.js";
import { bytesText, percent, timeText, whole } from "./words.js";

const SOME = 20;

export function showEvent(view) {
  const panel = byId("event");
  const made = view.event >= 0 ? ofEvent(view) : view.span ? ofSpan(view) : nothing(view);
  panel.replaceChildren(...made);
}

function nothing(view) {
  const said = view.launch.events.rows
    ? "No event is selected. Click one, or press . and , to go from one to the next, z for the longest wait."
    : "Nothing was traced of this launch: it has no events.";
  return [element("p", { class: "faint" }, said), legend(view)];
}

function ofEvent(view) {
  const { launch, event } = view;
  const { events } = launch;
  const track = launch.trackOf(event), site = launch.siteOf(event);
  const cycles = launch.cycles(event);
  const value = (column) => (events[column][event] >= 0 ? whole(events[column][event]) : "");
  const both = (number) => `${timeText(number, launch.told.clock, "cycles")}${launch.told.clock > 0 ? ` = ${timeText(number, launch.told.clock, "ns")}` : ""}`;
  return [
    element("h3", {}, launch.name(event)),
    facts([
      ["role", `${track.name}, CTA ${track.cta}, SM ${track.sm}`],
      ["kind", `${WORDS[launch.looks[event]]}${site ? `: ${site.text || site.kind}` : ""}`],
      ["takes", both(cycles)],
      ["begins", both(events.begin[event])],
      ["source", place(view, site)],
      ["variable", site?.variable],
      [launch.looks[event] === Look.ASKED ? "next CTA" : "slot", value("slot")],
      ["phase", value("phase")],
      ["bytes", events.bytes[event] > 0 ? bytesText(events.bytes[event]) : ""],
      ["iteration", iterationText(events, event)],
    ]),
    ...jumps(view, "released by", events.releasedBy[event] >= 0 ? [events.releasedBy[event]] : []),
    ...jumps(view, "releases", launch.releases(event)),
  ];
}

function place(view, site) {
  if (!site?.file) return "";
  const code = view.launch.code(site.file, site.line);
  return [element("b", {}, view.launch.place(view.event)), code ? element("code", {}, code) : ""];
}

function iterationText(events, event) {
  const inner = events.inner[event], outer = events.outer[event];
  if (inner < 0) return outer < 0 ? "" : `outer ${outer}`;
  return outer >= 0 && outer !== inner ? `${inner} of outer ${outer}` : `${inner}`;
}

function jumps(view, title, rows) {
  if (!rows.length) return [];
  const { launch } = view;
  const items = rows.slice(0, SOME).map((row) =>
    element("li", {}, link(`${launch.trackOf(row).name}: ${launch.name(row)}`, () => (view.goTo(row), view.changed())),
      element("span", { class: "faint" }, ` ${timeText(launch.cycles(row), launch.told.clock, view.units)}`)),
  );
  const more = rows.length > SOME ? [element("li", { class: "faint" }, `and ${whole(rows.length - SOME)} more`)] : [];
  return [element("h4", {}, rows.length > 1 ? `${title} ${whole(rows.length)}` : title), element("ul", {}, items, more)];
}

/** What a range adds up to, for each lane of the CTA. */
function ofSpan(view) {
  const [begin, end] = view.span;
  const { clock } = view.launch.told;
  const rows = (view.lanes.head(view.cta)?.inner ?? []).map((lane) => {
    const cycles = new Float64Array(LOOKS), begun = new Float64Array(1);
    lane.slices.addTo(cycles, begun, begin, end, 1);
    const said = [...cycles.keys()].filter((look) => look && look !== Look.ALIVE && cycles[look] > 0)
      .map((look) => `${WORDS[look]} ${percent(cycles[look] / (end - begin))}`);
    return [lane.label, said.join(", ") || "nothing"];
  });
  return [
    element("h3", {}, `range: ${timeText(end - begin, clock, "cycles")}${clock > 0 ? ` = ${timeText(end - begin, clock, "ns")}` : ""}`),
    facts(rows),
  ];
}

/** The looks that the launch has, as small samples. */
export function legend(view) {
  const has = new Set([Look.BUSY, Look.WAIT, Look.ISSUE]);
  for (const look of view.launch.looks) has.add(look);
  const samples = [...has].sort((a, b) => a - b).filter((look) => look && look !== Look.ALIVE);
  return element("ul", { class: "legend" }, samples.map((look) =>
    element("li", {}, element("canvas", { class: "sample", width: 32, height: 16, "data-look": look, "aria-hidden": "true" }), WORDS[look])));
}
