// How numbers, times and places are written.

export function whole(number) {
  return Math.round(number).toLocaleString("en-US");
}

export function percent(share) {
  const value = 100 * share;
  return value > 0 && value < 1 ? "<1 %" : `${Math.round(value)} %`;
}

/** A stretch of time given in SM cycles; `units` are `cycles` or `ns`. */
export function timeText(cycles, clock, units) {
  if (units !== "ns" || !(clock > 0)) return `${whole(cycles)} cycles`;
  const ns = (cycles * 1000) / clock;
  return Math.abs(ns) < 100_000 ? `${whole(ns)} ns` : `${(ns / 1000).toLocaleString("en-US", { maximumFractionDigits: 1 })} us`;
}

/** Nanoseconds in the unit that leaves one to three digits before the point. */
export function durationText(ns) {
  for (const [unit, size] of [["s", 1e9], ["ms", 1e6], ["us", 1e3]]) {
    if (ns >= size) return `${Number((ns / size).toPrecision(4))} ${unit}`;
  }
  return `${Number(ns.toPrecision(4))} ns`;
}

export function bytesText(count) {
  let value = count;
  for (const unit of ["B", "KiB", "MiB", "GiB"]) {
    if (value < 1024) return `${Number(value.toPrecision(4))} ${unit}`;
    value /= 1024;
  }
  return `${Number(value.toPrecision(4))} TiB`;
}

export function baseName(path) {
  return path.replaceAll("\\", "/").split("/").pop();
}

/** `kernel.py:83`; empty for a place that is not known. */
export function placeText(file, line) {
  return file ? `${baseName(file)}:${line}` : "";
}

export function plural(count, noun) {
  return `${whole(count)} ${noun}${count === 1 ? "" : "s"}`;
}
