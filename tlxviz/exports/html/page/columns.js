// Unpacks what exports/html/columns.py packs: the columns of a launch's events.

const NAMES = ["begin", "cycles", "site", "outer", "inner", "slot", "phase", "bytes", "released_by"];

/**
 * The columns of a launch as typed arrays. Rows stand by track, within a track by begin; -1 means "none".
 * `first[t]` is the first row of track t, and `first[t + 1]` the one behind its last.
 */
export async function unpack(base64, { counts, planes, sites }) {
  const data = await inflate(bytesOf(base64));
  const rows = counts.reduce((sum, each) => sum + each, 0);
  const first = new Float64Array(counts.length + 1);
  counts.forEach((count, track) => (first[track + 1] = first[track] + count));
  const packed = {};
  let at = 0;
  NAMES.forEach((name, number) => {
    packed[name] = numbers(data, at, rows, planes[number]);
    at += rows * planes[number];
  });
  const moved = sites.map((each) => each[6]);
  const site = packed.site.map((value) => value - 1);
  const begin = fromSteps(packed.begin, first, Float64Array);
  const end = packed.cycles;
  for (let row = 0; row < rows; row++) end[row] += begin[row];
  return {
    rows,
    first,
    begin,
    end,
    site: Int32Array.from(site),
    outer: fromSteps(packed.outer, first, Int32Array),
    inner: fromSteps(packed.inner, first, Int32Array),
    slot: Int32Array.from(packed.slot, (value) => value - 1),
    phase: fromSame(packed.phase, first, site, moved.length),
    bytes: packed.bytes.map((value, row) => signed(value) + (moved[site[row]] ?? 0)),
    releasedBy: fromSame(packed.released_by, first, site, moved.length),
  };
}

function bytesOf(base64) {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let place = 0; place < text.length; place++) bytes[place] = text.charCodeAt(place);
  return bytes;
}

async function inflate(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** Numbers whose lowest bytes stand one after the other, then the next bytes, and so on. */
function numbers(data, at, rows, planes) {
  const found = new Float64Array(rows);
  for (let plane = 0, weight = 1; plane < planes; plane++, weight *= 256) {
    const from = at + plane * rows;
    for (let row = 0; row < rows; row++) found[row] += data[from + row] * weight;
  }
  return found;
}

function signed(value) {
  return value % 2 ? -(value + 1) / 2 : value / 2;
}

function fromSteps(steps, first, Type) {
  const found = new Type(steps.length);
  for (let track = 0; track + 1 < first.length; track++) {
    for (let row = first[track], value = 0; row < first[track + 1]; row++) {
      value += signed(steps[row]);
      found[row] = value;
    }
  }
  return found;
}

/** Numbers given as what is added since the row before of the same track and site. */
function fromSame(steps, first, site, sites) {
  const found = new Int32Array(steps.length);
  const last = new Int32Array(sites + 1);
  for (let track = 0; track + 1 < first.length; track++) {
    last.fill(-1);
    for (let row = first[track]; row < first[track + 1]; row++) {
      const of = site[row] < 0 ? sites : site[row];
      found[row] = last[of] += signed(steps[row]);
    }
  }
  return found;
}
