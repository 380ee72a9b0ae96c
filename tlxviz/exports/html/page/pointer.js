// What mouse and fingers do on the timeline.

const SLOP = 4;

export function listen(timeline) {
  const { view, canvas } = timeline;
  const fingers = new Map();
  let drag = null, pinch = null;

  const place = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };

  canvas.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    fingers.set(event.pointerId, event);
    canvas.setPointerCapture(event.pointerId);
    const [x, y] = place(event);
    if (fingers.size === 2) {
      pinch = { ...spread(fingers, place), begin: view.begin, end: view.end };
      drag = null;
    } else {
      drag = { x, y, last: x, moved: false, from: timeline.at(x, y).cycle, span: event.shiftKey };
    }
  });

  canvas.addEventListener("pointermove", (event) => {
    if (!fingers.has(event.pointerId)) return;
    fingers.set(event.pointerId, event);
    const room = timeline.picture.width - timeline.picture.gutter;
    if (pinch && fingers.size === 2) {
      const { apart, middle } = spread(fingers, place);
      const cycles = ((pinch.end - pinch.begin) * pinch.apart) / Math.max(10, apart);
      const about = pinch.begin + ((pinch.middle - timeline.picture.gutter) / room) * (pinch.end - pinch.begin);
      const share = (middle - timeline.picture.gutter) / room;
      view.setWindow(about - share * cycles, about + (1 - share) * cycles);
      view.changed();
      return;
    }
    if (!drag) return;
    const [x, y] = place(event);
    drag.moved ||= Math.hypot(x - drag.x, y - drag.y) > SLOP;
    if (!drag.moved) return;
    if (drag.span) {
      const to = timeline.at(x, y).cycle;
      view.span = [Math.min(drag.from, to), Math.max(drag.from, to)];
    } else view.pan((-(x - drag.last) * view.cycles) / room);
    drag.last = x;
    view.changed();
  });

  const lift = (event) => {
    if (!fingers.delete(event.pointerId)) return;
    if (pinch) {
      if (!fingers.size) pinch = null;
    } else if (drag && !drag.moved && event.type === "pointerup") click(timeline, drag.x, drag.y);
    drag = null;
  };
  canvas.addEventListener("pointerup", lift);
  canvas.addEventListener("pointercancel", lift);
  // two fingers are for the timeline, one up or down scrolls
  canvas.addEventListener("touchmove", (event) => event.touches.length > 1 && event.cancelable && event.preventDefault(), { passive: false });

  canvas.addEventListener("dblclick", (event) => {
    const at = timeline.at(...place(event));
    if (at.onName) return;
    view.zoom(1 / 4, at.cycle);
    view.changed();
  });

  canvas.addEventListener(
    "wheel",
    (event) => {
      const lines = event.deltaMode === 1 ? 16 : 1;
      if (event.ctrlKey || event.metaKey) {
        view.zoom(Math.exp(event.deltaY * lines * 0.004), timeline.at(...place(event)).cycle);
      } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        view.pan((((event.shiftKey && event.deltaY) || event.deltaX) * lines * view.cycles) / timeline.width);
      } else return;
      event.preventDefault();
      view.changed();
    },
    { passive: false },
  );
}

function click(timeline, x, y) {
  const { view } = timeline;
  const { lane, cycle, event, onName } = timeline.at(x, y);
  if (!lane) return;
  view.lane = lane;
  if (onName) {
    view.open(lane, !lane.open);
  } else {
    view.cursor = cycle;
    view.event = event;
  }
  view.changed();
}

function spread(fingers, place) {
  const [[a], [b]] = [...fingers.values()].map(place);
  return { apart: Math.abs(a - b), middle: (a + b) / 2 };
}
