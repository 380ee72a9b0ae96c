// What each key and button does, in one table, from which the help is made.

import { amongReleased, fit, fold, goBack, hit, iteration, sameLine, step, toLane, toReleased, toReleaser, toStretch, wait, wholeCta, worstWait } from "./travel.js";

const quietly = (change) => (view) => (change(view), "");

/** Groups of actions: `name` is what a button refers to, `keys` are as `KeyboardEvent.key` has them. */
export const ACTIONS = [
  ["Time", [
    { name: "zoom_in", keys: ["w", "+", "="], says: "zoom in about the cursor", run: quietly((view) => view.zoom(1 / 1.5)) },
    { name: "zoom_out", keys: ["s", "-"], says: "zoom out", run: quietly((view) => view.zoom(1.5)) },
    { name: "left", keys: ["a", "ArrowLeft"], says: "go left by a tenth of the screen", run: quietly((view) => view.pan(-view.cycles / 10)) },
    { name: "right", keys: ["d", "ArrowRight"], says: "go right", run: quietly((view) => view.pan(view.cycles / 10)) },
    { name: "page_left", keys: ["A", "Shift+ArrowLeft"], says: "go left by half a screen", run: quietly((view) => view.pan(-view.cycles / 2)) },
    { name: "page_right", keys: ["D", "Shift+ArrowRight"], says: "go right by half a screen", run: quietly((view) => view.pan(view.cycles / 2)) },
    { name: "fit", keys: ["f", "F"], says: "show the range, or the selected event, as large as it fits", run: fit },
    { name: "whole", keys: ["0"], says: "show the whole CTA", run: wholeCta },
    { name: "stretch", keys: ["S"], says: "show the steady state", run: toStretch },
    { name: "back", keys: ["Backspace"], says: "go back to where you were before the last jump", run: goBack },
  ]],
  ["Lanes", [
    { name: "up", keys: ["ArrowUp", "k"], says: "lane above", run: (view) => toLane(view, -1) },
    { name: "down", keys: ["ArrowDown", "j"], says: "lane below", run: (view) => toLane(view, 1) },
    { name: "fold", keys: [" "], says: "hide or show the lanes of a group", run: fold },
  ]],
  ["Events", [
    { name: "next", keys: ["."], says: "next event of the lane", run: (view) => step(view, 1) },
    { name: "previous", keys: [","], says: "event before", run: (view) => step(view, -1) },
    { name: "next_wait", keys: ["x"], says: "next wait of the lane", run: (view) => wait(view, 1) },
    { name: "previous_wait", keys: ["X"], says: "wait before", run: (view) => wait(view, -1) },
    { name: "worst_wait", keys: ["z"], says: "longest wait of the launch; again: the next longest", run: (view) => worstWait(view, 1) },
    { name: "less_bad_wait", keys: ["Z"], says: "back towards the longest", run: (view) => worstWait(view, -1) },
    { name: "next_same", keys: ["e"], says: "next event of the same line of code", run: (view) => sameLine(view, 1) },
    { name: "previous_same", keys: ["E"], says: "the one before", run: (view) => sameLine(view, -1) },
    { name: "next_iteration", keys: ["i"], says: "next iteration of the warp group", run: (view) => iteration(view, 1) },
    { name: "previous_iteration", keys: ["I"], says: "iteration before", run: (view) => iteration(view, -1) },
    { name: "released_by", keys: ["["], says: "what released the selected event", run: toReleaser },
    { name: "releases", keys: ["]"], says: "what the selected event released", run: toReleased },
    { name: "previous_released", keys: ["{"], says: "of several that were released together, the one before", run: (view) => amongReleased(view, -1) },
    { name: "next_released", keys: ["}"], says: "of several that were released together, the next", run: (view) => amongReleased(view, 1) },
  ]],
  ["Search and page", [
    { name: "search", keys: ["/"], says: "search: wait a_full, line:104, >1000", run: null },
    { name: "next_hit", keys: ["n"], says: "next hit", run: (view) => hit(view, 1) },
    { name: "previous_hit", keys: ["N"], says: "hit before", run: (view) => hit(view, -1) },
    { name: "units", keys: ["u"], says: "cycles or nanoseconds", run: quietly((view) => (view.units = view.units === "ns" ? "cycles" : "ns")) },
    { name: "theme", keys: ["t"], says: "dark or light", run: null },
    { name: "help", keys: ["?"], says: "this list", run: null },
    { name: "clear", keys: ["Escape"], says: "clear selection, range and search", run: null },
  ]],
];

const BY_NAME = Object.fromEntries(ACTIONS.flatMap(([, actions]) => actions.map((action) => [action.name, action])));
const BY_KEY = Object.fromEntries(Object.values(BY_NAME).flatMap((action) => action.keys.map((key) => [key, action])));
const OF_SCROLLING = ["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight", " "];

/** Has keys and buttons do what they say; `own` are functions for actions that are not about the view alone. */
export function listenToKeys(view, own) {
  const act = (action) => {
    const said = own[action.name] ? own[action.name]() : action.run(view);
    view.changed(said ?? "");
  };
  document.addEventListener("keydown", (event) => {
    const action = BY_KEY[event.shiftKey && event.key.startsWith("Arrow") ? `Shift+${event.key}` : event.key];
    const isText = event.target.matches?.("input, select, textarea, dialog, dialog *");
    const isControl = event.target.matches?.("button, summary, a, [role=button]") && [" ", "Enter"].includes(event.key);
    const isModified = (event.ctrlKey || event.metaKey || event.altKey) && !event.getModifierState("AltGraph");
    const scrolls = event.target.closest?.(".panel") && OF_SCROLLING.includes(event.key);
    if (!action || isText || isControl || isModified || scrolls || !view.launch) return;
    event.preventDefault();
    act(action);
  });
  for (const button of document.querySelectorAll("button[data-action]")) {
    const action = BY_NAME[button.dataset.action];
    button.title = `${action.says} (${keyText(action.keys[0])})`;
    button.addEventListener("click", () => view.launch && act(action));
  }
}

export function keyText(key) {
  if (key.startsWith("Shift+")) return `Shift+${keyText(key.slice(6))}`;
  return { ArrowLeft: "←", ArrowRight: "→", ArrowUp: "↑", ArrowDown: "↓", " ": "Space", Escape: "Esc" }[key] ?? key;
}
