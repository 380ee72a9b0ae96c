// Elements. Texts go into them as text, never as HTML: a name in a trace may be anything.

/** An element with attributes (`class`, `onclick`, ...) and children, which are elements or texts. */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name === "style") Object.assign(made.style, value);
    else if (value !== null && value !== undefined && value !== false) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.flat().filter((each) => each !== null && each !== undefined && each !== false));
  return made;
}

export function byId(id) {
  return document.getElementById(id);
}

/** A button that reads as a link. */
export function link(text, onclick, attributes = {}) {
  return element("button", { type: "button", class: "link", onclick, ...attributes }, text);
}

/** Rows of a description: name, and what it is. */
export function facts(rows) {
  const some = rows.filter(([, value]) => value !== null && value !== undefined && value !== "");
  return element("dl", {}, some.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]));
}

export function table(heads, rows) {
  const cell = (value, tag, column) => element(tag, { class: column ? "number" : null, scope: tag === "th" ? "col" : null }, value);
  return element("div", { class: "wide" }, element("table", {},
    element("thead", {}, element("tr", {}, heads.map((head, column) => cell(head, "th", column)))),
    element("tbody", {}, rows.map((row) => element("tr", {}, row.map((value, column) => cell(value, "td", column))))),
  ));
}
