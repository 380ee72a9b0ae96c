"""What the user has set: keys in `~/.config/tlxviz/keys.toml`, the folders of settings and state, and NO_COLOR."""

from __future__ import annotations

import difflib
import os
import re
import tomllib
from pathlib import Path
from typing import Any, cast

from textual.keys import key_to_character

from tlxviz._errors import UsageError
from tlxviz.tui.keys import ACTIONS, NEEDED, Keymap, Scope, key_name, key_text, with_changes
from tlxviz.tui.state import State


class KeysError(UsageError):
    """The file of keys says something that cannot be done."""


def keys_file() -> Path:
    """Where the file of keys is, if there is one."""
    return _folder("XDG_CONFIG_HOME", ".config") / "keys.toml"


def state_folder() -> Path:
    """Where what is kept from one session to the next is."""
    return _folder("XDG_STATE_HOME", ".local/state") / "views"


def put_theme(state: State, given: str | None = None) -> None:
    """Gives a state the theme of the command line, or else that of NO_COLOR, which is for this time only."""
    if given is not None:
        state.theme = given
    elif os.environ.get("NO_COLOR"):
        state.theme_kept, state.theme = state.theme, "mono"


def _folder(variable: str, otherwise: str) -> Path:
    given = os.environ.get(variable, "")
    return (Path(given) if os.path.isabs(given) else Path(os.path.expanduser("~")) / otherwise) / "tlxviz"


def load_keymap(path: Path) -> dict[str, tuple[str, ...]]:
    """The keys of each action: the default ones where the file says nothing, or is missing, or is in a folder that may
    not be looked into.

    Raises KeysError, which names file and line.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return with_changes({})
    except (OSError, UnicodeDecodeError) as error:
        if isinstance(error, PermissionError) and not os.access(path.parent, os.X_OK):
            return with_changes({})
        raise KeysError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}.") from error
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"line (\d+)", str(error))
        at = line[1] if line else text.count("\n") + 1
        what = re.sub(r" \(at .*\)$", "", str(error))
        raise KeysError(f"{path}, line {at}: {what[:1].lower()}{what[1:]}.") from error
    for name in document:
        if name != "keys":
            raise KeysError(f"{path}, line {_line(text, name)}: there is no table {name!r} here, only [keys].")
    table: Any = document.get("keys", {})
    if not isinstance(table, dict):
        raise KeysError(f"{path}, line {_line(text, 'keys')}: keys is a table, [keys].")
    changes: dict[str, tuple[str, ...]] = {}
    given: dict[tuple[Scope, str], str] = {}
    for name, value in cast("dict[str, Any]", table).items():
        where = f"{path}, line {_line(text, name)}"
        changes[name] = _keys(name, value, where)
        for key in changes[name]:
            other = given.setdefault((_scope(name), key), name)
            if other != name:
                line = _line(text, other)
                raise KeysError(f"{where}: {key_text(key)} is given to {name}, and to {other} in line {line}.")
    made = with_changes(changes)
    _check_needed(made, changes, text, path)
    return made


def _check_needed(made: Keymap, changes: Keymap, text: str, path: Path) -> None:
    for name in NEEDED:
        if not made[name]:
            own = [each for each in changes if each == name or _scope(each) is _scope(name)]
            line = _line(text, name if name in own else own[-1])
            raise KeysError(f"{path}, line {line}: {name} is left with no key, and nothing else does what it does.")


def _scope(name: str) -> Scope:
    return next(each.scope for each in ACTIONS if each.name == name)


def _keys(name: str, value: object, where: str) -> tuple[str, ...]:
    names = [each.name for each in ACTIONS]
    if name not in names:
        close = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
        meant = f"Did you mean {close[0]}?" if close else "docs/view.md lists all of them."
        raise KeysError(f"{where}: there is no action {name!r}. {meant}")
    items: list[object] = (
        [each.strip() for each in value.split(",")]
        if isinstance(value, str)
        else cast("list[object]", value)
        if isinstance(value, list)
        else [value]
    )
    if items == [""]:
        return ()
    made: list[str] = []
    for each in items:
        key = key_name(each) if isinstance(each, str) else None
        if key is None:
            raise KeysError(f"{where}: {each!r} is no key. Write a character, or a name: comma, enter, ctrl+n.")
        if _scope(name) is Scope.ASK and key_to_character(key) is not None:
            raise KeysError(f"{where}: {each!r} is typed where {name} is a key. Take one such as f5 or ctrl+n.")
        made.append(key)
    return tuple(made)


def _line(text: str, name: str) -> int:
    """The line, from 1, on which a name stands to which something is assigned, or which heads a table."""
    wanted = re.compile(rf"""^\s*\[*\s*["']?{re.escape(name)}["']?\s*[=.\]]""")
    for number, line in enumerate(text.splitlines(), 1):
        if wanted.match(line):
            return number
    return 1
