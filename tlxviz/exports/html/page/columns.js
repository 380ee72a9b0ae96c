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
  const places = [0];
  NAMES.forEach((_, number) => places.push(places[number] + rows * planes[number]));
  const packed = (name) => {
    const number = NAMES.indexOf(name);
    return numbers(data, places[number], rows, planes[number]);
  };
  const site = lessOne(packed("site"));
  const begin = fromSteps(packed("begin"), first, Float64Array);
  return {
    rows,
    first,
    begin,
    end: sum(begin, packed("cycles")),
    site,
    outer: fromSteps(packed("outer"), first, Int32Array),
    inner: fromSteps(packed("inner"), first, Int32Array),
    slot: lessOne(packed("slot")),
    phase: fromSame(packed("phase"), first, site, sites.length),
    bytes: moved(packed("bytes"), site, sites.map((each) => each[6])),
    releasedBy: fromSame(packed("released_by"), first, site, sites.length),
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
  const found = planes < 4 ? new Int32Array(rows) : new Float64Array(rows);
  for (let plane = 0, weight = 1; plane < planes; plane++, weight *= 256) {
    const from = at + plane * rows;
    for (let row = 0; row < rows; row++) found[row] += data[from + row] * weight;
  }
  return found;
}

function signed(value) {
  return value % 2 ? -(value + 1) / 2 : value / 2;
}

function lessOne(values) {
  const found = new Int32Array(values.length);
  for (let row = 0; row < values.length; row++) found[row] = values[row] - 1;
  return found;
}

function sum(left, right) {
  const found = new Float64Array(left.length);
  for (let row = 0; row < left.length; row++) found[row] = left[row] + right[row];
  return found;
}

/** Bytes, given as what they differ from those of the site. */
function moved(steps, site, ofSite) {
  const found = new Float64Array(steps.length);
  for (let row = 0; row < steps.length; row++) found[row] = signed(steps[row]) + (site[row] < 0 ? 0 : ofSite[site[row]]);
  return found;
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
