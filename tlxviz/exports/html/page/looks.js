// How each kind of slice looks: a colour, and a pattern that says the same without colour.

export const Look = { AWAY: 0, BUSY: 1, WAIT: 2, ISSUE: 3, LOAD: 4, STORE: 5, MMA: 6, NAMED: 7, ALIVE: 8, TENSOR: 9, ASKED: 10 };
export const LOOKS = 11;
export const WORDS = ["nothing", "busy", "waiting", "issuing", "load", "store", "MMA", "range", "tensor core idle", "TMEM access",
  "asking for a tile"];

const DARK = ["#14171c", "#4c9f70", "#ff6b5e", "#d9a441", "#4f8fe0", "#7fb2ea", "#a678de", "#8a9099", "#6b7280", "#3fb8b0",
  "#d9a441"];
const LIGHT = ["#ffffff", "#2f7d4f", "#c0322b", "#b07d0a", "#1f62b8", "#4a86c8", "#7544b5", "#6b7280", "#9aa1ab", "#14756e",
  "#9a6b00"];

/** Colours of everything that is drawn on a canvas. */
export const THEMES = {
  dark: {
    looks: DARK,
    paper: "#14171c", lane: "#1b1f26", gutter: "#1f242c", line: "#333b47", text: "#dde3ea", faint: "#8d97a5",
    label: "#0c0e11", accent: "#ffffff", cause: "#ffb454", effect: "#5cd6e0", hit: "#ffe45c", span: "rgba(255,255,255,0.13)",
    current: "#2a323d",
  },
  light: {
    looks: LIGHT,
    paper: "#ffffff", lane: "#f3f5f8", gutter: "#eef1f5", line: "#cfd6df", text: "#1c232b", faint: "#667080",
    label: "#ffffff", accent: "#000000", cause: "#a34d00", effect: "#00707c", hit: "#d10fb0", span: "rgba(0,0,0,0.10)",
    current: "#dce4ee",
  },
};

/** Of two that take as long the first is shown: waiting is what a timeline is there to show. */
export const RANKED = [Look.WAIT, Look.BUSY, Look.TENSOR, Look.ISSUE, Look.LOAD, Look.STORE, Look.MMA, Look.NAMED, Look.ASKED, Look.ALIVE, Look.AWAY];
/** Of an engine: shown wherever there is some, since what it competes with is nothing. */
export const IS_WORK = [false, false, false, false, true, true, true, true, false, false, true];

const TILE = 8;

/**
 * Patterns as square tiles of pixels, two for each look: what prevails, and what is behind it in a column of several.
 * `size` is a tile's side in pixels.
 */
export function tiles(theme, scale) {
  const size = TILE * scale;
  const made = [];
  for (let look = 0; look < LOOKS; look++) {
    const colour = rgb(theme.looks[look]);
    const back = rgb(theme.lane);
    made.push(tile(size, (x, y) => (inked(look, x / scale, y / scale) ? colour : between(back, colour, THIN[look]))));
    made.push(tile(size, () => between(back, colour, look === Look.AWAY || look === Look.ALIVE ? 0 : 0.22)));
  }
  made[0] = made[1] = tile(size, () => rgb(theme.lane));
  return { size, made };
}

/** How much of its colour is where a pattern leaves out. */
const THIN = [0, 1, 0.3, 0.45, 1, 0.4, 1, 0.12, 0, 0.5, 0.25];

function inked(look, x, y) {
  switch (look) {
    case Look.WAIT:
      return (Math.floor(x) + Math.floor(y)) % 4 < 2;
    case Look.ISSUE:
      return Math.floor(x) % 2 < 1;
    case Look.STORE:
      return Math.floor(y) % 4 < 2;
    case Look.NAMED:
      return Math.floor(y) % 8 < 2;
    case Look.TENSOR:
      return (Math.floor(x / 2) + Math.floor(y / 2)) % 2 < 1;
    case Look.ASKED:
      return (Math.floor(x) - Math.floor(y) + TILE) % 4 < 1;
    case Look.ALIVE:
      return false;
    default:
      return true;
  }
}

function tile(size, colour) {
  const pixels = new Uint32Array(size * size);
  for (let y = 0; y < size; y++) for (let x = 0; x < size; x++) pixels[y * size + x] = packed(colour(x, y));
  return pixels;
}

export function rgb(hex) {
  const number = parseInt(hex.slice(1), 16);
  return [number >> 16, (number >> 8) & 255, number & 255];
}

export function packed([red, green, blue]) {
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

function between(from, to, share) {
  return from.map((each, place) => Math.round(each + (to[place] - each) * share));
}
