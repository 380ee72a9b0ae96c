// Times along the top of the timeline.

import { timeText, whole } from "./words.js";

/** Marks at round times, `[cycle, text]`, so that `room` of them fit. */
export function ticks(view, room) {
  const { clock } = view.launch.told;
  const scale = view.units === "ns" && clock > 0 ? 1000 / clock : 1;
  const step = roundStep((view.cycles * scale) / Math.max(1, room)) / scale;
  const found = [];
  for (let number = Math.ceil(view.begin / step); number * step <= view.end; number++) {
    if (number >= 0) found.push([number * step, whole(number * step * scale + 0)]);
  }
  return found;
}

/** What the numbers of the ruler are, and how much is on screen. */
export function extentText(view) {
  const { told } = view.launch;
  return `${view.units} · ${timeText(view.cycles, told.clock, view.units).replace(/ cycles$/, "")} on screen`;
}

function roundStep(least) {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, least)));
  return [1, 2, 5, 10].map((each) => each * power).find((each) => each >= least);
}
