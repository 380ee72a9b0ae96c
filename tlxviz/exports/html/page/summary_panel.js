// What there is to say about a launch: what holds it, findings, how warp groups spend their time.

import { byId, element, facts, link, table } from "./dom.js";
import { toGroup, toLast, toPlace, toStretch } from "./travel.js";
import { durationText, percent, placeText, plural, whole } from "./words.js";

const SIGNS = { problem: "!", hint: "*", note: "-" };

export function showSummary(view) {
  const { told } = view.launch;
  const found = told.facts;
  byId("kernel").textContent = told.kernel;
  byId("figures").textContent = figures(view);
  byId("verdict").textContent = told.hang ? `${told.hang.head}.` : (found.verdict ?? "");
  byId("verdict").className = told.hang ? "hangs" : "";
  byId("findings").replaceChildren(...(told.hang ? ofHang(view) : []), ...notes(view), ...findings(view));
  byId("summary").replaceChildren(...about(view), ...groups(view), ...waits(view), ...ranges(view));
}

function figures(view) {
  const { told } = view.launch;
  const { cycles, ns, tflops, complete, device, recorder } = told.facts;
  const until = told.hang ? " until it hung" : complete ? "" : " until recording was interrupted";
  const time = ns ? ` = ${durationText(ns)}` : "";
  const rate = tflops ? `, ${Number(tflops.toPrecision(4))} TFLOP/s` : "";
  return `${whole(cycles)} cycles${until}${time}${rate}, ${device}, ${recorder}`;
}

function notes(view) {
  const { facts: found, hang } = view.launch.told;
  const said = [];
  if (!found.complete && !hang) said.push("Recording was interrupted: all figures are of what was recorded.");
  if (found.partial) said.push("This page holds a part of the launch; figures and findings are of all of it.");
  if (!view.launch.events.rows) said.push("No event of this launch was traced.");
  return said.map((each) => element("p", { class: "remark" }, each));
}

function jump(view, go) {
  return () => view.changed(go() ?? "");
}

function ofHang(view) {
  const { hang } = view.launch.told;
  return [
    hang.why ? element("p", {}, hang.why) : "",
    element("ul", { class: "findings" }, hang.waiters.map((each) =>
      element("li", { class: "problem" },
        link(`${each.agent} ${each.says}`, jump(view, () => toLast(view, each.agent, each.cta))),
        element("div", { class: "faint" }, placeText(each.file, each.line)),
        each.more.map((line) => element("div", { class: "faint" }, line))))),
    element("p", { class: "faint" }, `ended: ${hang.ended.join(", ") || "no warp group"}`),
  ];
}

function findings(view) {
  const { facts: found, hang } = view.launch.told;
  if (!found.findings.length) return hang ? [] : [element("p", { class: "faint" }, "There are no findings.")];
  return [element("ul", { class: "findings" }, found.findings.map((each) =>
    element("li", { class: each.severity },
      element("span", { class: "sign", "aria-label": each.severity, role: "img" }, SIGNS[each.severity] ?? "-"),
      each.agent || each.line ? link(each.text, jump(view, () => toPlace(view, each))) : element("span", {}, each.text),
      element("div", { class: "advice" }, each.advice),
      element("div", { class: "faint" }, [each.id, each.cost ? `cost ${percent(each.cost)}` : "", placeText(each.file, each.line)].filter(Boolean).join(" · ")),
    )))];
}

function about(view) {
  const { facts: found, stretch } = view.launch.told;
  const traced = found.coverage.ctas_traced;
  const config = Object.entries(found.config).map(([name, value]) => `${name}=${value}`).join("  ");
  const busy = Object.entries(found.busy).filter(([, share]) => share).map(([name, share]) => `${name} ${percent(share)}`);
  return [facts([
    ["grid", `${found.grid.join(" x ")}${found.coverage.waves ? `, ${plural(found.coverage.waves, "wave")}` : ""}`],
    ["traced", traced.length ? `CTA ${traced.slice(0, 8).join(", ")}${traced.length > 8 ? ` and ${traced.length - 8} more` : ""}: ${plural(found.coverage.events, "event")}` : "nothing"],
    ["busy", busy.join(", ")],
    ["timestamps", found.slow_down === null ? "" : `slow the kernel down by ${percent(found.slow_down)}`],
    ["steady", stretch ? link(`${stretch[4] ? `${plural(stretch[4], "iteration")} of ${stretch[3]}` : "all"}, cycles ${whole(stretch[1])} to ${whole(stretch[2])}`, jump(view, () => toStretch(view))) : ""],
    ["arguments", config],
  ])];
}

function groups(view) {
  const found = view.launch.told.facts.groups;
  if (!found.length) return [];
  const share = (each, name) => (each.shares ? percent(each.shares[name]) : "not traced");
  const rows = found.map((each) => [
    link(each.name, jump(view, () => (toGroup(view, each.name), ""))),
    String(each.warps), each.registers === null ? "-" : String(each.registers),
    share(each, "busy"), share(each, "issue"), share(each, "wait"), bar(each.shares),
  ]);
  return [element("h4", {}, "Warp groups"), table(["", "warps", "regs", "busy", "issue", "wait", ""], rows)];
}

/** Shares as a bar of three patterns. */
function bar(shares) {
  const parts = shares ? ["busy", "issue", "wait"] : [];
  return element("span", { class: "shares", "aria-hidden": "true" },
    parts.map((name) => element("span", { class: name, style: { width: `${100 * shares[name]}%` } })));
}

function waits(view) {
  const found = view.launch.told.facts.waits;
  if (!found.length) return [];
  const rows = found.map((each) => [
    link(`${each.agent} ${each.variable || each.kind}, ${placeText(each.file, each.line)}`, jump(view, () => toPlace(view, each))),
    percent(each.share), whole(each.count), whole(each.mean), whole(each.max),
  ]);
  return [element("h4", {}, "Worst waits (cycles)"), table(["", "of role", "count", "mean", "max"], rows)];
}

function ranges(view) {
  const found = view.launch.told.facts.ranges;
  if (!found.length) return [];
  const rows = found.map((each) => [`${each.agent} ${each.name}, ${placeText(each.file, each.line)}`, percent(each.share), whole(each.count), whole(each.mean)]);
  return [element("h4", {}, "Ranges (cycles)"), table(["", "of role", "count", "mean"], rows)];
}
