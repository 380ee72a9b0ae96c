"""Everything that a key does, in one table: bindings, help, palette and docs/view.md are made from it."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from textual.keys import KEY_NAME_REPLACEMENTS, KEY_TO_UNICODE_NAME, Keys, format_key

PANEL_KEYS = tuple("12345678")


@dataclass(frozen=True, slots=True)
class Action:
    """Something that a key does."""

    name: str
    """By which a file of keys calls it."""
    keys: tuple[str, ...]
    """By default; a character or a name of Textual's."""
    does: str
    group: str


_GROUPS: dict[str, list[tuple[str, str, str]]] = {
    "Time": [
        ("zoom_in", "w + =", "zoom in about the cursor"),
        ("zoom_out", "s -", "zoom out"),
        ("left", "a left", "go left by a tenth of the screen"),
        ("right", "d right", "go right"),
        ("page_left", "A shift+left", "go left by half a screen"),
        ("page_right", "D shift+right", "go right by half a screen"),
        ("fit", "f", "show the range, or the selected event, as large as it fits"),
        ("whole", "0", "show the whole CTA"),
        ("go_to", "g", "go to a cycle (1,234), a time (12us), a share (50%) or an iteration (i:40)"),
        ("back", "backspace", "go back to where you were before the last jump"),
    ],
    "Lanes": [
        ("up", "up k", "lane above"),
        ("down", "down j", "lane below"),
        ("fold", "space", "hide or show the lanes of a group"),
        ("pin", "p", "keep the lane on top, or no longer"),
    ],
    "Events": [
        ("next", ".", "next event of the lane"),
        ("previous", ",", "event before"),
        ("next_wait", "x", "next wait of the lane"),
        ("previous_wait", "X", "wait before"),
        ("worst_wait", "z", "longest wait of the launch; again: the next longest"),
        ("less_bad_wait", "Z", "back towards the longest"),
        ("next_same", "e", "next event of the same line of code"),
        ("previous_same", "E", "the one before"),
        ("next_iteration", "i", "next iteration of the warp group"),
        ("previous_iteration", "I", "iteration before"),
        ("released_by", "[", "what released the selected event"),
        ("releases", "]", "what the selected event released"),
        ("previous_released", "{", "of several to which the last key could have gone, the one before"),
        ("next_released", "}", "of several to which the last key could have gone, the next"),
        ("data_from", "<", "what filled the slot that it reads, or freed the slot that it fills"),
        ("data_to", ">", "what reads the slot that it fills, or fills the slot that it frees"),
    ],
    "Search": [
        ("search", "/", "search: wait a_full, line:104, >1000 cycles"),
        ("next_hit", "n", "next hit"),
        ("previous_hit", "N", "hit before"),
    ],
    "Ranges and marks": [
        ("range", "v", "begin a range at the cursor, or end it there"),
        ("range_of_event", "r", "make the selected event the range"),
        ("mark", "m", "mark the cursor's time, or take the mark away"),
        ("marks", "M", "list of marks"),
        ("next_mark", ";", "next mark"),
    ],
    "Panels": [
        ("panel", " ".join(PANEL_KEYS), "open a panel"),
        ("details", "enter", "into the panel; Esc comes back"),
        ("source", "o", "into the source panel"),
        ("focus", "tab", "timeline or panel"),
        ("drawer", "P", "hide or show the panels"),
    ],
    "Program": [
        ("units", "u", "cycles or nanoseconds"),
        ("theme", "t", "dark, light or without colour"),
        ("save_text", "y", "write the screen to a text file"),
        ("save_picture", "Y", "write the screen to an SVG file"),
        ("help", "?", "this list"),
        ("palette", "ctrl+p", "every action, by name"),
        ("clear", "escape", "clear selection and range"),
        ("quit", "q", "quit"),
    ],
}

ACTIONS: tuple[Action, ...] = tuple(
    Action(name, tuple(keys.split()), does, group) for group, rows in _GROUPS.items() for name, keys, does in rows
)

Keymap = Mapping[str, tuple[str, ...]]
"""The keys of each action, by its name, as Textual calls them."""


def key_name(text: str) -> str | None:
    """What Textual calls a key: `?` is `question_mark`. None for what is no key."""
    *modifiers, key = text.rsplit("+", 1) if len(text) > 1 and text[-1] != "+" else [text]
    if any(part not in ("ctrl", "shift", "alt") for each in modifiers for part in each.split("+")):
        return None
    if len(key) == 1 and key.isprintable() and key != " ":
        if not key.isalnum():
            official = unicodedata.name(key, "").lower().replace("-", "_").replace(" ", "_")
            key = KEY_NAME_REPLACEMENTS.get(official, official)
    elif key not in _named_keys():
        return None
    return "+".join([*modifiers, key])


def _named_keys() -> set[str]:
    characters = set(KEY_TO_UNICODE_NAME) | set(KEY_NAME_REPLACEMENTS.values())
    return (
        {each.value for each in Keys}
        | characters
        | {"comma", "colon", "semicolon", "apostrophe", "asterisk", "space", "tilde"}
    )


def default_keymap() -> dict[str, tuple[str, ...]]:
    return {each.name: tuple(filter(None, map(key_name, each.keys))) for each in ACTIONS}


def with_changes(changes: Keymap) -> dict[str, tuple[str, ...]]:
    """The default keys with others for some actions. A key that is given to one action is taken from the others."""
    taken = {key for keys in changes.values() for key in keys}
    left = {name: tuple(key for key in keys if key not in taken) for name, keys in default_keymap().items()}
    return left | dict(changes)


def key_text(key: str) -> str:
    """How a key is written for people: `Ctrl+P`, `?`, `←`."""
    *modifiers, last = key.split("+")
    shown = {"enter": "Enter", "backspace": "Backspace", "escape": "Esc", "tab": "Tab", "space": "Space"}.get(last)
    parts = [each.capitalize() for each in modifiers]
    return "+".join([*parts, shown or format_key(last)]) if modifiers else shown or format_key(last)


def keys_text(keys: Iterable[str]) -> str:
    """Several keys; numbers in a row as `1 to 8`."""
    shown = [key_text(each) for each in keys]
    return "1 to 8" if tuple(shown) == PANEL_KEYS else " ".join(shown) or "-"


def as_markdown() -> str:
    """The table of docs/view.md."""
    lines: list[str] = []
    for group in _GROUPS:
        lines += [f"| {group} | | |", "| --- | --- | --- |"]
        for each in ACTIONS:
            if each.group == group:
                keys = (
                    "1 to 8"
                    if each.keys == PANEL_KEYS
                    else " ".join(f"`{key_text(key_name(key) or key)}`" for key in each.keys)
                )
                lines.append(f"| {keys} | {each.does} | `{each.name}` |")
        lines.append("")
    return "\n".join(lines)
