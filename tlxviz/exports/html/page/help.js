// The list of keys, and what the mouse does.

import { byId, element } from "./dom.js";
import { ACTIONS, keyText } from "./keys.js";

const POINTER = [
  ["click, tap", "select an event; a name: its lane; a name with ▸: show or hide what is in it"],
  ["drag", "go left and right; up and down scrolls the lanes"],
  ["Shift+drag", "select a range"],
  ["wheel", "scroll the lanes; with Ctrl zoom, with Shift go left and right"],
  ["pinch, double click", "zoom"],
];
const SEARCH = [
  ["wait a_full[2]", "events that are called so; all words must hold"],
  ["role:mma kind:tma_load var:full", "in the name of the warp group, the kind, the variable"],
  ["line:104 slot:2 phase:1 cta:3 i:40 outer:2", "of this line, slot, phase, CTA, iteration"],
  [">1000 <=2us", "that take more than 1000 cycles, at most 2 us"],
];

export function fillHelp(close) {
  const row = ([name, says]) => element("tr", {}, element("th", { scope: "row" }, name), element("td", {}, says));
  const part = (title, rows) => element("section", {}, element("h3", {}, title), element("table", {}, rows.map(row)));
  byId("help-body").replaceChildren(
    ...ACTIONS.map(([title, actions]) => part(title, actions.map(({ keys, says }) => [keys.map(keyText).join(" "), says]))),
    part("Mouse and touch", POINTER),
    part("Searching", SEARCH),
  );
  byId("help-close").addEventListener("click", close);
}
