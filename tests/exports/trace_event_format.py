"""The rules of the Trace Event Format, as its document has them, for the phases that an export may use.

"Trace Event Format", the document of chrome://tracing: fields of all events, then those of each phase.
"""

from __future__ import annotations

from typing import Any

METADATA = {
    "process_name": ("name", str),
    "process_labels": ("labels", str),
    "process_sort_index": ("sort_index", int),
    "thread_name": ("name", str),
    "thread_sort_index": ("sort_index", int),
}

_Event = dict[str, Any]


def problems(document: Any) -> list[str]:
    """What of a JSON document breaks the rules; nothing for a trace."""
    if not isinstance(document, dict) or not isinstance(document.get("traceEvents"), list):
        return ["no object with a list traceEvents"]
    found: list[str] = []
    if document.get("displayTimeUnit", "ms") not in ("ms", "ns"):
        found.append("displayTimeUnit is neither ms nor ns")
    events: list[_Event] = document["traceEvents"]
    for place, event in enumerate(events):
        found += [f"event {place}: {problem}" for problem in _of_event(event)]
    return found or [*_durations(events), *_flows(events)]


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _of_event(event: _Event) -> list[str]:
    found: list[str] = []
    phase = event.get("ph")
    if phase not in ("X", "B", "E", "M", "C", "s", "t", "f"):
        return [f"unknown phase {phase!r}"]
    found += [f"no integer {name}" for name in ("pid", "tid") if type(event.get(name)) is not int]
    if phase != "E" and not (isinstance(event.get("name"), str) and event["name"]):
        found.append("no name")
    if "cat" in event and not isinstance(event["cat"], str):
        found.append("cat is no text")
    if "args" in event and not isinstance(event["args"], dict):
        found.append("args is no object")
    if phase != "M" and not (_is_number(event.get("ts")) and event["ts"] >= 0):
        found.append("no time")
    if phase == "X" and not (_is_number(event.get("dur")) and event["dur"] >= 0):
        found.append("no duration")
    if phase == "C" and not (event.get("args") and all(map(_is_number, event["args"].values()))):
        found.append("a counter without numbers")
    if phase in "stf" and ("id" not in event or "cat" not in event):
        found.append("a flow without id or category")
    if "bp" in event and (phase != "f" or event["bp"] != "e"):
        found.append("bp is for the end of a flow, and is e")
    if phase == "M":
        argument = METADATA.get(event.get("name", ""))
        if argument is None or not isinstance(event.get("args", {}).get(argument[0]), argument[1]):
            found.append(f"metadata {event.get('name')} without its argument")
    return found


def _durations(events: list[_Event]) -> list[str]:
    """B and E of a thread are nested, and so are complete events: one ends before the other, or lies in it."""
    found: list[str] = []
    open_: dict[tuple[int, int], int] = {}
    complete: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for event in events:
        thread = (event["pid"], event["tid"])
        if event["ph"] in "BE":
            open_[thread] = open_.get(thread, 0) + (1 if event["ph"] == "B" else -1)
            if open_[thread] < 0:
                found.append(f"an end without a begin on {thread}")
        if event["ph"] == "X":
            begin = round(event["ts"] * 1000)
            complete.setdefault(thread, []).append((begin, begin + round(event["dur"] * 1000)))
    found += [f"a begin without an end on {thread}" for thread, count in open_.items() if count > 0]
    for thread, spans in complete.items():
        stack: list[int] = []
        for begin, end in sorted(spans, key=lambda span: (span[0], -span[1])):
            while stack and stack[-1] <= begin:
                stack.pop()
            if stack and end > stack[-1]:
                found.append(f"complete events of {thread} overlap at {begin} ns")
            stack.append(end)
    return found


def _flows(events: list[_Event]) -> list[str]:
    """A flow has one start and one end, not before it, each in an event of its thread."""
    found: list[str] = []
    slices: dict[tuple[int, int], list[tuple[float, float]]] = {}
    for event in events:
        if event["ph"] == "X":
            slices.setdefault((event["pid"], event["tid"]), []).append((event["ts"], event["ts"] + event["dur"]))
    flows: dict[tuple[str, Any], dict[str, _Event]] = {}
    for event in events:
        if event["ph"] in "sf":
            ends = flows.setdefault((event["cat"], event["id"]), {})
            if event["ph"] in ends:
                found.append(f"flow {event['id']} has two {event['ph']}")
            ends[event["ph"]] = event
            around = slices.get((event["pid"], event["tid"]), [])
            if not any(begin - 1e-9 <= event["ts"] <= end + 1e-9 for begin, end in around):
                found.append(f"flow {event['id']} is in no event of its thread")
    for (_, number), ends in flows.items():
        if ends.keys() != {"s", "f"}:
            found.append(f"flow {number} has {' and '.join(ends)} alone")
        elif ends["s"]["ts"] > ends["f"]["ts"] or ends["s"]["name"] != ends["f"]["name"]:
            found.append(f"flow {number} leads back in time, or to another name")
    return found
