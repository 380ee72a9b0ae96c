"""`run -i` and `view` as processes on a terminal of their own."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from tlxviz.trace import load_trace
from tlxviz.tui.settings import keys_file, state_folder
from tlxviz.tui.store import Store

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "tests" / "end_to_end" / "scripts"

pytestmark = pytest.mark.usefixtures("folders_of_its_own")


class Terminal:
    """`tlxviz` on a terminal of its own."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.master, slave = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, str(ROOT / "cli.py"), *arguments],
            cwd=folder,
            env=os.environ | {"TERM": "xterm-256color", "COLUMNS": "100", "LINES": "30"},
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )
        os.close(slave)
        self.text = b""

    def until(self, wanted: str, seconds: float = 120) -> None:
        """Reads until something has come that matches."""
        end = time.monotonic() + seconds
        while not re.search(wanted.encode(), self.text):
            assert time.monotonic() < end, f"no {wanted!r} in {self.text[-3000:].decode(errors='replace')}"
            self._read(0.2)

    def _read(self, seconds: float) -> bool:
        if not select.select([self.master], [], [], seconds)[0]:
            return True
        try:
            data = os.read(self.master, 1 << 16)
        except OSError:
            return False
        self.text += data
        return bool(data)

    def press(self, keys: bytes) -> None:
        os.write(self.master, keys)

    def end(self) -> tuple[int, str]:
        """Its exit status, and what it left on the screen."""
        while self.process.poll() is None and self._read(0.2):
            pass
        while self._read(0) and select.select([self.master], [], [], 0)[0]:
            pass
        status = self.process.wait(60)
        os.close(self.master)
        _, _, left = self.text.rpartition(b"\x1b[?1049l")
        return status, re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", left.decode(errors="replace")).replace("\r\n", "\n")

    def close(self) -> None:
        with suppress(OSError):
            os.killpg(self.process.pid, 9)


def test_a_deadlock_is_watched_and_kept(tmp_path: Path) -> None:
    pytest.importorskip("triton.language.extra.tlx")
    terminal = Terminal(tmp_path, "run", "-i", "--device", "sim:h200", str(SCRIPTS / "hangs.py"))
    try:
        terminal.until("has ended with exit status 1")
        terminal.press(b"mq")
        status, left = terminal.end()
    finally:
        terminal.close()

    assert status == 1
    assert "HANG at cycle" in left
    assert "tlxviz: error: kernel forgetful hangs" in left
    assert "never printed" not in left
    path = tmp_path / "hangs.tlxtrace"
    [launch] = load_trace(path).launches
    assert launch.hang is not None
    store = Store.of(state_folder(), path)
    assert store is not None
    left_at = store.read(load_trace(path))  # `view` goes on where `run -i` ended
    assert left_at.event is not None
    assert left_at.marks == [left_at.cursor]


def test_a_broken_file_of_keys_is_said_before_anything_runs(tmp_path: Path) -> None:
    pytest.importorskip("textual")
    keys_file().parent.mkdir()
    keys_file().write_text("[keys]\nstopp = 'f9'\n")
    (tmp_path / "script.py").write_text("open('ran', 'w')\n")
    terminal = Terminal(tmp_path, "run", "-i", "--device", "sim:h200", "script.py")
    try:
        status = terminal.process.wait(120)
        terminal.until("Did you mean stop")
    finally:
        terminal.close()

    assert status == 2
    assert "keys.toml, line 2: there is no action 'stopp'" in terminal.text.decode()
    assert [path.name for path in tmp_path.iterdir()] == ["script.py"]


def test_q_ends_a_long_script_as_ctrl_c_does(tmp_path: Path) -> None:
    pytest.importorskip("triton")
    arguments = ("--launch", "1", "--json", str(SCRIPTS / "long.py"))
    terminal = Terminal(tmp_path, "run", "-i", "--device", "sim:h200", *arguments)
    try:
        terminal.until(r"[1-9]\d* of 3000000")
        terminal.press(b"q")
        status, left = terminal.end()
    finally:
        terminal.close()

    assert status == 130
    lines = left.splitlines()
    assert "launching" in lines
    [summary] = [json.loads(line) for line in lines if line.startswith("{")]
    assert summary["launches"][0]["kernel"] == "count"
    [launch] = load_trace(tmp_path / "long.tlxtrace").launches
    assert not launch.complete
