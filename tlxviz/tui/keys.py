"""Everything that a key does, in one table: bindings, help, palette and docs/view.md are made from it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from textual.binding import Binding, BindingType
from textual.keys import KEY_NAME_REPLACEMENTS, KEY_TO_UNICODE_NAME, Keys, format_key

PANEL_KEYS = tuple("12345678")


class Mode(StrEnum):
    """What the program shows."""

    VIEW = "view"
    COMPARE = "compare"
    """`view --with`: two traces."""
    LIVE = "live"
    """`run -i`: what a script does while it runs."""


class Scope(StrEnum):
    """Where a key is pressed. One key does one thing in a scope."""

    TIMELINE = "timeline"
    LIST = "list"
    """Panels, lists and help. While one of them has the focus, its keys go before the timeline's."""
    ASK = "ask"
    """The line that asks. What is typed goes there, so its actions have no characters for keys."""


@dataclass(frozen=True, slots=True)
class Action:
    """Something that a key does."""

    name: str
    """By which a file of keys calls it."""
    keys: tuple[str, ...]
    """By default; a character or a name of Textual's."""
    does: str
    group: str
    scope: Scope = Scope.TIMELINE
    modes: tuple[Mode, ...] = tuple(Mode)
    """Where there is such an action."""


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
        ("details", "enter", "into the panel"),
        ("source", "o", "into the source panel"),
        ("focus", "tab", "timeline or panel; of two traces: A, B or panel"),
        ("drawer", "P", "hide or show the panels"),
    ],
    "Two traces": [
        ("align", "l", "line both up at the iteration under the cursor"),
        ("align_steady", "L", "line both up at the steady state"),
    ],
    "A script that runs": [
        ("newest", "end", "follow the newest time"),
        ("output", "O", "what the script prints"),
        ("stop", "ctrl+c", "stop the script as Ctrl-C does, and stay"),
    ],
    "Program": [
        ("units", "u", "cycles or nanoseconds"),
        ("theme", "t", "dark, light or without colour"),
        ("save_text", "y", "write the screen to a text file"),
        ("save_picture", "Y", "write the screen to an SVG file"),
        ("help", "?", "this list"),
        ("palette", "ctrl+p", "every action, by name"),
        ("clear", "escape", "out of the panel; else clear selection, range and search"),
        ("quit", "q ctrl+q", "quit"),
    ],
    "In panels, lists and help": [
        ("list_down", "down j", "next line"),
        ("list_up", "up k", "line before"),
        ("list_page_down", "pagedown space", "a page down"),
        ("list_page_up", "pageup", "a page up"),
        ("list_first", "home", "first line"),
        ("list_last", "end", "last line"),
        ("list_left", "left", "scroll left"),
        ("list_right", "right", "scroll right"),
        ("choose", "enter", "go to what the line says"),
        ("ttgir", "t", "of the source panel: the TTGIR, or no longer"),
        ("remove_mark", "d delete backspace", "of the list of marks: take the mark away"),
        ("close", "escape q", "close help or the list of marks"),
    ],
    "In the line that asks": [
        ("ask_earlier", "up", "what was asked before"),
        ("ask_later", "down", "what was asked after"),
        ("ask_close", "escape tab", "do not ask"),
    ],
}
_SCOPES = {"In panels, lists and help": Scope.LIST, "In the line that asks": Scope.ASK}
_MODES = {
    "Two traces": (Mode.COMPARE,),
    "A script that runs": (Mode.LIVE,),
    "source": (Mode.VIEW, Mode.LIVE),
    "ttgir": (Mode.VIEW, Mode.LIVE),
}
"""Of groups and actions that are not for all."""

ACTIONS: tuple[Action, ...] = tuple(
    Action(
        name,
        tuple(keys.split()),
        does,
        group,
        _SCOPES.get(group, Scope.TIMELINE),
        _MODES.get(name, _MODES.get(group, tuple(Mode))),
    )
    for group, rows in _GROUPS.items()
    for name, keys, does in rows
)
NEEDED = ("close", "ask_close", "list_up", "list_down", "choose")
"""Actions without a key for which one would not get on, or out."""

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
    """The default keys with others for some actions. A key that is given to one action is taken from the others of its
    scope."""
    scopes = {each.name: each.scope for each in ACTIONS}
    taken = {(scopes[name], key) for name, keys in changes.items() for key in keys}
    defaults = default_keymap()
    left = {name: tuple(key for key in keys if (scopes[name], key) not in taken) for name, keys in defaults.items()}
    return left | dict(changes)


def bindings(actions: Mapping[str, str]) -> list[BindingType]:
    """Bindings of a widget, by the default keys. The program gives them those of the keymap, by `textual_keymap`.

    Args:
        actions: Names of the table's actions, and what each is called in the widget, as Textual writes it.
    """
    table = {each.name: each for each in ACTIONS}
    defaults = default_keymap()
    return [
        Binding(",".join(defaults[name]), action, table[name].does, show=False, id=name)
        for name, action in actions.items()
    ]


def textual_keymap(keymap: Keymap) -> dict[str, str]:
    """What Textual's `set_keymap` takes."""
    return {name: ",".join(keys) or Keys.Ignore.value for name, keys in keymap.items()}


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


def with_keys(text: str, keymap: Keymap) -> str:
    """A text with keys in the place of names of actions in angle brackets: `<mark> sets one`."""

    def key(found: re.Match[str]) -> str:
        keys = keymap.get(found[1])
        return found[0] if keys is None else key_text(keys[0]) if keys else found[1].replace("_", " ")

    return re.sub(r"<(\w+)>", key, text)


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
