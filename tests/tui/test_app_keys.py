"""The table of actions, the user's own keys, searching, and the documentation of all three."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from analysis.synthetic_traces import pipeline

from tlxviz.tui.keys import ACTIONS, as_markdown, default_keymap, key_name, key_text, with_keys
from tlxviz.tui.search import SearchError, find
from tlxviz.tui.settings import KeysError, keys_file, load_keymap, state_folder
from tlxviz.tui.words import fitted, share_text

ROOT = Path(__file__).resolve().parents[2]


def test_no_key_does_two_things() -> None:
    keymap = default_keymap()
    keys = [(each.scope, key) for each in ACTIONS for key in keymap[each.name]]
    assert len(keys) == len(set(keys))
    assert all(len(default_keymap()[each.name]) == len(each.keys) for each in ACTIONS)


def test_the_documented_keys_are_those_of_the_program() -> None:
    text = (ROOT / "docs" / "view.md").read_text(encoding="utf-8")
    assert as_markdown() in text


@pytest.mark.parametrize(
    ("written", "name", "shown"),
    [
        ("?", "question_mark", "?"),
        (",", "comma", ","),
        ("comma", "comma", ","),
        ("+", "plus", "+"),
        ("ctrl+p", "ctrl+p", "Ctrl+p"),
        ("shift+left", "shift+left", "Shift+←"),
        ("A", "A", "A"),
        ("f5", "f5", "f5"),
        ("space", "space", "Space"),
    ],
)
def test_names_of_keys(written: str, name: str, shown: str) -> None:
    assert key_name(written) == name
    assert key_text(name) == shown


@pytest.mark.parametrize("written", ["", "spcae", "hyper+x", "ab", " "])
def test_what_is_no_key(written: str) -> None:
    assert key_name(written) is None


def keymap(tmp_path: Path, text: str) -> dict[str, tuple[str, ...]]:
    (tmp_path / "keys.toml").write_text(text)
    return load_keymap(tmp_path / "keys.toml")


def test_no_file_no_change(tmp_path: Path) -> None:
    assert load_keymap(tmp_path / "keys.toml") == default_keymap()
    assert keymap(tmp_path, "") == default_keymap()


def test_keys_of_ones_own(tmp_path: Path) -> None:
    made = keymap(tmp_path, '[keys]\nzoom_in = "i, plus"\nquit = ["ctrl+q"]\nmarks = ""\n')
    assert made["zoom_in"] == ("i", "plus")
    assert made["quit"] == ("ctrl+q",)
    assert made["marks"] == ()
    assert made["next_iteration"] == ()  # its key is taken
    assert made["zoom_out"] == default_keymap()["zoom_out"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('[keys]\n\nzoom_inn = "i"\n', "line 3: there is no action 'zoom_inn'. Did you mean zoom_in?"),
        ('[keys]\nzoom_in = "spcae"\n', "line 2: 'spcae' is no key."),
        ("[keys]\nzoom_in = 3\n", "line 2: 3 is no key."),
        ('[keys]\nzoom_in = "i"\nquit = "i"\n', "line 3: i is given to quit, and to zoom_in in line 2."),
        ('[keys]\nzoom_in = "i\n', "line 2: "),
        ('[kyes]\nzoom_in = "i"\n', "line 1: there is no table 'kyes' here"),
        ("keys = 3\n", "line 1: keys is a table"),
    ],
)
def test_a_bad_file_is_named_with_its_line(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(KeysError) as caught:
        keymap(tmp_path, text)
    assert str(caught.value).startswith(f"{tmp_path / 'keys.toml'}, {says}")
    assert caught.value.exit_code == 2


def test_a_key_may_be_given_once_in_the_timeline_and_once_in_lists(tmp_path: Path) -> None:
    made = keymap(tmp_path, '[keys]\nzoom_in = "f5"\nlist_down = "f5, n"\nttgir = "j"\n')
    assert (made["zoom_in"], made["list_down"], made["next_hit"]) == (("f5",), ("f5", "n"), ("n",))
    assert (made["ttgir"], made["down"]) == (("j",), ("down", "j"))
    assert keymap(tmp_path, '[keys]\nlist_down = "k, down"\n')["list_up"] == ("up",)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('[keys]\nttgir = "x"\nlist_up = "x, up"\n', "line 3: x is given to list_up, and to ttgir in line 2."),
        ('[keys]\nask_earlier = "k"\n', "line 2: 'k' is typed where ask_earlier is a key."),
        ('[keys]\nask_close = "space"\n', "line 2: 'space' is typed where ask_close is a key."),
        ('[keys]\nclose = ""\n', "line 2: close is left with no key, and nothing else does what it does."),
        ('[keys]\nttgir = "q"\nlist_left = "escape"\n', "line 3: close is left with no key"),
        ('[keys]\nlist_dwon = "x"\n', "line 2: there is no action 'list_dwon'. Did you mean list_down?"),
    ],
)
def test_keys_of_panels_and_lists_that_cannot_be(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(KeysError) as caught:
        keymap(tmp_path, text)
    assert str(caught.value).startswith(f"{tmp_path / 'keys.toml'}, {says}")


def test_a_folder_of_settings_that_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    assert load_keymap(tmp_path / "file" / "keys.toml") == default_keymap()

    def refused(*_: object, **__: object) -> str:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_text", refused)
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert load_keymap(tmp_path / "keys.toml") == default_keymap()  # a folder that may not be looked into
    monkeypatch.setattr(os, "access", lambda *_: True)
    with pytest.raises(KeysError, match=r"cannot read .*: Permission denied"):
        load_keymap(tmp_path / "keys.toml")


def test_keys_in_what_is_said() -> None:
    keymap = default_keymap() | {"mark": ("f5",), "search": ()}
    assert with_keys("<mark> sets one, <search> does, <2us and <nothing>", keymap) == (
        "f5 sets one, search does, <2us and <nothing>"
    )


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "keys.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(KeysError, match="cannot read"):
        load_keymap(tmp_path / "keys.toml")


def test_where_the_files_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert keys_file() == tmp_path / "config" / "tlxviz" / "keys.toml"
    assert state_folder() == tmp_path / "state" / "tlxviz" / "views"
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", "")
    monkeypatch.delenv("XDG_STATE_HOME")
    assert keys_file() == tmp_path / ".config" / "tlxviz" / "keys.toml"
    assert state_folder() == tmp_path / ".local" / "state" / "tlxviz" / "views"


@pytest.mark.parametrize(
    ("query", "hits"),
    [  # of 12 iterations with 9 events each
        ("wait", 36),
        ("wait full", 12),
        ("WAIT full[1]", 6),
        ("line:44", 12),
        ("pipeline.py:44", 12),
        ("role:mma", 48),
        ("kind:mma", 36),
        ("var:empty", 24),
        ("i:3", 9),
        ("i:3 line:42", 2),
        ("slot:1 role:load", 18),
        ("phase:1 line:44", 6),
        (">79", 12),
        (">=80", 12),
        (">80", 0),
        ("<=4", 24),
        (">0.079us", 12),
        ("cta:0", 108),
        ("cta:1", 0),
        ("tensor", 12),
        ("", 108),
    ],
)
def test_searching(query: str, hits: int) -> None:
    assert len(find(pipeline(), query)) == hits


@pytest.mark.parametrize("query", ["line:abc", ">", ">>3", "<1.2.3", "slot:"])
def test_a_search_that_cannot_be_understood(query: str) -> None:
    with pytest.raises(SearchError):
        find(pipeline(), query)


def test_hits_are_in_the_order_of_time() -> None:
    begins = find(pipeline(), "wait").begin
    assert (begins[1:] >= begins[:-1]).all()


@pytest.mark.parametrize(
    ("columns", "line"),
    [
        (80, "kernel  CTA 0  12 cycles"),
        (24, "kernel  CTA 0  12 cycles"),
        (23, "kernel  CTA 0"),
        (12, "kernel"),
        (4, "ker…"),
        (1, "…"),
        (0, ""),
    ],
)
def test_a_line_is_cut_where_it_matters_least(columns: int, line: str) -> None:
    assert fitted([(0, "kernel"), (1, "CTA 0"), (2, ""), (3, "12 cycles")], columns) == line


def test_shares() -> None:
    assert [share_text(part, 1000) for part in (0, 1, 10, 126, 1000)] == ["0 %", "<1 %", "1 %", "13 %", "100 %"]
