// Reads what the page holds, and joins its parts.

import { byId, element } from "./dom.js";
import { legend, showEvent } from "./event_panel.js";
import { fillHelp } from "./help.js";
import { listenToKeys } from "./keys.js";
import { Launch } from "./launch.js";
import { THEMES } from "./looks.js";
import { drawPaper, drawSamples } from "./paper.js";
import { listen } from "./pointer.js";
import { find, SearchError } from "./search.js";
import { showSource } from "./source_panel.js";
import { showSummary } from "./summary_panel.js";
import { Timeline } from "./timeline.js";
import { toPlace } from "./travel.js";
import { View } from "./view.js";
import { percent, timeText, whole } from "./words.js";

const held = JSON.parse(byId("document").textContent);
const blocks = [...document.querySelectorAll("script.events")];
const view = new View(held);
const preference = matchMedia("(prefers-color-scheme: dark)");
const root = document.documentElement;

const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : preference.matches);
const timeline = new Timeline(view, byId("scroller"), byId("timeline"), byId("spacer"), isDark);

function themed() {
  drawSamples(THEMES[isDark() ? "dark" : "light"]);
  timeline.redraw();
}

const own = {
  theme() {
    root.dataset.theme = isDark() ? "light" : "dark";
    themed();
    return `${root.dataset.theme} theme`;
  },
  help() {
    byId("help").showModal();
    return "";
  },
  search() {
    byId("search").focus();
    byId("search").select();
    return "";
  },
  clear() {
    view.event = -1;
    view.span = view.hits = null;
    byId("search").value = "";
    return "";
  },
};

/** What is said of the selection and of the last key, for eyes and screen readers. */
function status() {
  const { launch, event } = view;
  if (event < 0) return view.lane ? `${view.lane.label}${view.lane.depth ? `, CTA ${view.lane.cta}` : ""}` : "";
  const site = launch.siteOf(event);
  const takes = timeText(launch.cycles(event), launch.told.clock, view.units);
  return `${launch.name(event)}, ${launch.trackOf(event).name}, CTA ${launch.trackOf(event).cta}, ${takes}${site?.line ? `, ${launch.place(event)}` : ""}`;
}

let last = {};
view.onChange(() => {
  const { launch, event, span, units, cta } = view;
  if (last.launch !== launch) {
    showSummary(view);
    drawPaper(view);
    byId("paper-legend").replaceChildren(legend(view));
  }
  if (last.launch !== launch || last.event !== event || last.span !== span || last.units !== units || (span && last.cta !== cta)) {
    showEvent(view);
    showSource(view, (line) => view.changed(toPlace(view, { file: launch.sites.find((site) => site.line === line && launch.isOwn(site.file)).file, line })));
    drawSamples(THEMES[isDark() ? "dark" : "light"]);
  }
  last = { launch, event, span, units, cta };
  const share = view.cycles / Math.max(1, launch.told.end - launch.told.begin);
  byId("extent").textContent = `${timeText(view.cycles, launch.told.clock, units)} on screen, ${percent(Math.min(1, share))}`;
  const said = [status(), view.message].filter(Boolean).join(" · ");
  if (byId("status").textContent !== said) byId("status").textContent = said;
});

function search() {
  const query = byId("search").value.trim();
  try {
    view.hits = query ? find(view.launch, held.vocabulary, query) : null;
    view.changed(view.hits ? `${whole(view.hits.count)} found: Enter and n go on, N back` : "");
  } catch (error) {
    if (!(error instanceof SearchError)) throw error;
    view.hits = null;
    view.changed(error.message);
  }
}

function listenToSearch() {
  const field = byId("search");
  let timer = 0;
  field.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(search, 120);
  });
  field.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      if (field.value) own.clear();
      field.blur();
      byId("timeline").focus();
      view.changed();
    } else if (event.key === "Enter") {
      clearTimeout(timer);
      if (view.hits?.query !== field.value.trim()) search();
      if (view.hits) byId(event.shiftKey ? "previous-hit" : "next-hit").click();
    } else return;
    event.preventDefault();
  });
}

let opening = 0;

async function open(number) {
  const turn = ++opening;
  const launch = await Launch.load(held.launches[number], blocks[number].textContent, held);
  if (turn !== opening) return; // another has been chosen meanwhile
  view.show(launch);
  view.changed();
  document.body.dataset.launch = held.launches[number].number;
}

function chooser() {
  const select = byId("launch");
  select.replaceChildren(...held.launches.map((told, number) =>
    element("option", { value: number }, `${told.number}: ${told.kernel}${told.hang ? " (hangs)" : ""}`)));
  byId("launches").hidden = held.launches.length < 2;
  select.addEventListener("change", () => {
    own.clear();
    open(Number(select.value));
  });
}

async function start() {
  fillHelp(() => byId("help").close());
  chooser();
  await open(0);
  listen(timeline);
  listenToKeys(view, own);
  listenToSearch();
  preference.addEventListener("change", themed);
  themed();
  document.body.dataset.ready = "";
}

start().catch((error) => {
  byId("status").textContent = `The page cannot be shown: ${error.message}`;
  throw error;
});
