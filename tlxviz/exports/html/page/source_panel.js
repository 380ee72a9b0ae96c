// The kernel's source, with the time that its lines take, and the line of the selected event.

import { byId, element } from "./dom.js";
import { percent } from "./words.js";

let shown = null;

export function showSource(view, choose) {
  const { launch } = view;
  const panel = byId("source");
  if (shown !== launch) {
    shown = launch;
    panel.replaceChildren(...(launch.source.length ? lines(launch, choose) : [missing()]));
  }
  for (const row of panel.querySelectorAll(".current")) row.classList.remove("current");
  const site = view.event >= 0 ? launch.siteOf(view.event) : null;
  const place = site ? launch.place(view.event) : "";
  byId("source-place").textContent = place || launch.told.file;
  const row = site && launch.isOwn(site.file) ? byId(`line-${site.line}`) : null;
  if (!row) return;
  row.classList.add("current");
  const top = row.offsetTop;
  if (top < panel.scrollTop + 20 || top > panel.scrollTop + panel.clientHeight - 40) panel.scrollTop = top - panel.clientHeight / 2;
}

function missing() {
  return element("p", { class: "faint" }, "The trace has no source of this kernel.");
}

function lines(launch, choose) {
  const { told } = launch;
  const shares = new Map(told.lines.map(([line, time, waiting]) => [line, { time, waiting }]));
  return launch.source.map((text, place) => {
    const number = told.line + place;
    const share = shares.get(number);
    const bar = element("span", { class: "bar" });
    if (share) {
      bar.append(element("span", { style: { width: `${Math.max(4, 100 * share.time)}%` } }));
      bar.title = `${percent(share.time)} of the warp groups' time, ${percent(share.waiting)} of all waiting`;
    }
    const has = launch.sites.some((site) => site.line === number && launch.isOwn(site.file));
    const attributes = { class: has ? "line has" : "line", id: `line-${number}` };
    if (has) Object.assign(attributes, { onclick: () => choose(number), title: "go to the longest event of this line" });
    return element("div", attributes, element("span", { class: "count" }, String(number)), bar, element("code", {}, text || " "));
  });
}
