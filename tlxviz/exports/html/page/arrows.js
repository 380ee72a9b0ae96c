// Arrows of the selected event: what released it, and what it releases.

const MOST = 24;

/** From the end of an event to the one that it let begin or go on: `{source, target, left, arrived, cause}`. */
export function arrowsOf(launch, event) {
  const before = launch.events.releasedBy[event];
  const made = before >= 0 ? [arrow(launch, before, event, true)] : [];
  return [...made, ...launch.releases(event).slice(0, MOST).map((each) => arrow(launch, event, each, false))];
}

function arrow(launch, source, target, cause) {
  const { begin, end } = launch.events;
  const left = end[source];
  const onEngine = launch.trackOf(target).kind !== "warp_group";
  return { source, target, left, arrived: onEngine ? begin[target] : Math.max(begin[target], Math.min(left, end[target])), cause };
}

/** Draws an arrow from one point to another; `halo` keeps it apart from what is beneath. */
export function drawArrow(ink, { x0, y0, x1, y1, colour, halo }) {
  const down = y1 >= y0 ? 1 : -1;
  const bend = Math.max(10, Math.min(40, Math.abs(x1 - x0) / 2));
  const path = new Path2D();
  path.moveTo(x0, y0);
  path.bezierCurveTo(x0 + bend, y0 + down * 8, x1 - bend, y1 - down * 8, x1 - 5, y1);
  const head = new Path2D(`M ${x1} ${y1} l -7 -4 l 0 8 Z`);
  ink.lineJoin = "round";
  for (const [style, width] of [[halo, 4], [colour, 1.75]]) {
    ink.strokeStyle = ink.fillStyle = style;
    ink.lineWidth = width;
    ink.stroke(path);
    if (width > 2) ink.stroke(head);
    ink.fill(head);
  }
}
