// Ways through a launch. Each changes the view, and returns what there is to say about it; nothing if all went as asked.

const NO_EVENT = "no event is selected: click one, or press .";

export function step(view, direction, wanted = () => true) {
  const { launch, lane } = view;
  const slices = lane?.slices;
  if (!slices?.length) return "nothing to select in this lane";
  if (!lane.depth) return "the lane of a CTA has no events of its own: ↓ goes to one that has";
  const { begin } = launch.events;
  const own = view.event >= 0 && view.lanes.of(view.event) === lane ? slices.placeOf(view.event, begin[view.event]) : -1;
  let place = own >= 0 ? own + direction : nearCursor(view, slices, direction);
  while (place >= 0 && place < slices.length && !(slices.event[place] >= 0 && wanted(slices.event[place]))) place += direction;
  if (place < 0 || place >= slices.length) return `nothing ${direction > 0 ? "later" : "earlier"} in this lane`;
  const from = view.lane;
  view.goTo(slices.event[place], false);
  if (from.depth === 2) view.lane = from;
  return "";
}

/** Where to begin while nothing is selected: under the cursor, else in the direction, else in the other. */
function nearCursor(view, slices, direction) {
  const under = slices.at(view.cursor), next = slices.before(view.cursor);
  if (under >= 0) return under;
  return Math.max(0, Math.min(direction > 0 ? next : next - 1, slices.length - 1));
}

export function wait(view, direction) {
  const said = step(view, direction, (event) => view.launch.isWait(event));
  return said && `no ${direction > 0 ? "later" : "earlier"} wait in this lane`;
}

export function toReleaser(view) {
  if (view.event < 0) return NO_EVENT;
  const before = view.launch.events.releasedBy[view.event];
  if (before >= 0) {
    view.goTo(before);
    return "";
  }
  if (view.launch.isWait(view.event)) return "nothing released it as far as the trace says";
  if (view.launch.trackOf(view.event).kind === "warp_group") return "nothing released it, its turn came: X goes to the wait before";
  return "nothing released it, as far as the trace says";
}

export function toReleased(view) {
  if (view.event < 0) return NO_EVENT;
  const found = view.launch.releases(view.event);
  if (!found.length) return "it released nothing";
  view.goTo(found[0]);
  return found.length > 1 ? `1 of ${found.length} that it released: { and } change` : "";
}

export function amongReleased(view, direction) {
  if (view.event < 0) return NO_EVENT;
  const by = view.launch.events.releasedBy[view.event];
  const together = by >= 0 ? view.launch.releases(by) : [];
  if (together.length < 2) return "nothing else was released with it";
  const place = (together.indexOf(view.event) + direction + together.length) % together.length;
  view.goTo(together[place], false);
  return `${place + 1} of ${together.length} that were released together`;
}

export function worstWait(view, direction) {
  const { launch } = view;
  view.waits ??= new Map();
  if (!view.waits.has(launch)) view.waits.set(launch, longestWaits(launch));
  const rows = view.waits.get(launch);
  if (!rows.length) return "nobody waits";
  const own = view.event === view.worst ? rows.indexOf(view.event) : -1;
  const place = own < 0 ? 0 : Math.max(0, Math.min(own + direction, rows.length - 1));
  view.goTo(rows[place]);
  view.worst = view.event;
  return place ? `wait ${place + 1} of ${rows.length} by length` : "the longest wait of the launch";
}

function longestWaits(launch) {
  const rows = [];
  for (let row = 0; row < launch.events.rows; row++) if (launch.isWait(row)) rows.push(row);
  return Int32Array.from(rows).sort((a, b) => launch.cycles(b) - launch.cycles(a) || a - b);
}

export function sameLine(view, direction) {
  if (view.event < 0) return NO_EVENT;
  const site = view.launch.events.site[view.event];
  const said = step(view, direction, (event) => view.launch.events.site[event] === site);
  return said && `the ${direction > 0 ? "last" : "first"} of this line`;
}

/** To the next iteration (1) of the warp group, or the one before (-1). */
export function iteration(view, direction) {
  const { launch } = view;
  const { begin, first, inner, outer } = launch.events;
  const own = view.event >= 0 ? launch.trackOf(view.event) : launch.tracks[view.lane?.track];
  const isGroup = (track) => track?.kind === "warp_group";
  const track = isGroup(own) ? own : launch.tracks.find((each) => each.cta === view.cta && isGroup(each));
  const [from, to] = track ? [first[track.number], first[track.number + 1]] : [0, 0];
  if (from === to) return "there is no warp group";
  const same = (a, b) => inner[a] === inner[b] && outer[a] === outer[b];
  let row = view.event;
  if (row < from || row >= to) for (row = from; row + 1 < to && begin[row + 1] <= view.cursor; row++);
  const here = row;
  while (row >= from && row < to && same(row, here)) row += direction;
  if (row < from || row >= to) return `no ${direction > 0 ? "later" : "earlier"} iteration`;
  while (direction < 0 && row > from && same(row - 1, row)) row--;
  view.goTo(row, false);
  return inner[row] >= 0 ? `iteration ${inner[row]}` : "outside of loops";
}

export function goBack(view) {
  const last = view.back.pop();
  if (!last) return "there is nothing to go back to";
  const [event, begin, end] = last;
  view.goTo(event, false);
  view.setWindow(begin, end);
  return "";
}

export function toLane(view, direction) {
  const place = view.rows.indexOf(view.lane) + direction;
  if (place >= 0 && place < view.rows.length) view.lane = view.rows[place];
  return "";
}

export function fold(view) {
  const { lane } = view;
  if (!lane) return "";
  const group = lane.folds ? lane : view.rows.slice(0, view.rows.indexOf(lane)).findLast((each) => each.folds && each.depth < lane.depth);
  if (group) view.open(group, !group.open);
  return "";
}

export function wholeCta(view) {
  view.setWindow(...view.launch.life(view.cta));
  return "";
}

export function fit(view) {
  const { begin, end } = view.launch.events;
  if (view.span) view.setWindow(...view.span);
  else if (view.event < 0) return wholeCta(view);
  else {
    const room = Math.max(4, 0.5 * (end[view.event] - begin[view.event]));
    view.setWindow(begin[view.event] - room, end[view.event] + room);
  }
  return "";
}

/** To an event of a place of the source: of those of a warp group in a CTA, if it has any, the longest. */
export function toPlace(view, { agent = "", file = "", line = 0, cta = view.cta }) {
  const { launch } = view;
  const isAt = (site) => site && site.line === line && (!file || site.file === file);
  let best = -1, rank = -1;
  for (let row = 0; line && row < launch.events.rows; row++) {
    if (!isAt(launch.siteOf(row))) continue;
    const track = launch.trackOf(row);
    const fits = 1e12 * ((track.name === agent) * 4 + (track.cta === cta) * 2 + (track.kind === "warp_group"));
    if (fits + launch.cycles(row) > rank) [best, rank] = [row, fits + launch.cycles(row)];
  }
  if (best >= 0) {
    view.goTo(best);
    return "";
  }
  return toGroup(view, agent, cta);
}

/** To the lane of a warp group. */
export function toGroup(view, agent, cta = view.cta) {
  const lane = view.lanes.named(agent, cta);
  if (!lane) return "no event of that in the page";
  view.open(view.lanes.head(cta));
  view.lane = lane;
  return `no event of that line: ${agent}`;
}

/** To the last event of a warp group. */
export function toLast(view, agent, cta) {
  const slices = view.lanes.named(agent, cta)?.slices;
  if (!slices?.length) return toGroup(view, agent, cta);
  view.goTo(slices.event[slices.length - 1]);
  return "";
}

export function toStretch(view) {
  const { stretch } = view.launch.told;
  if (!stretch) return "there is no steady state";
  const [cta, begin, end] = stretch;
  view.open(view.lanes.head(cta));
  if (view.cta !== cta) view.lane = view.lanes.head(cta).inner[0] ?? view.lanes.head(cta);
  const room = 0.1 * (end - begin);
  view.setWindow(begin - room, end + room);
  view.cursor = (begin + end) / 2;
  return "";
}

/** To the next hit of the search (1), or the one before (-1). */
export function hit(view, direction) {
  const { hits, launch } = view;
  if (!hits) return "nothing has been searched for: / does";
  if (!hits.count) return `no hits: ${hits.query}`;
  const selected = view.event >= 0;
  const cta = selected ? launch.trackOf(view.event).cta : view.cta;
  const cycle = selected ? launch.events.begin[view.event] : view.cursor;
  const [event, number] = hits.after(view.event, cta, cycle, direction);
  if (event < 0) return `no hits: ${hits.query}`;
  view.goTo(event);
  return `hit ${number.toLocaleString("en-US")} of ${hits.count.toLocaleString("en-US")}: ${hits.query}`;
}
