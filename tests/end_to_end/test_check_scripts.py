"""`tlxviz check` on kernels with planted faults: the program with its compiler, simulator and checker."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from reporters.sarif_shape import check_shape

from tlxviz._triton import toolchain
from tlxviz.commands import main

pytest.importorskip("triton.language.extra.tlx")
if toolchain().distribution != "fbtriton":
    pytest.skip("the kernels are for the TLX of fbtriton", allow_module_level=True)

ROOT = Path(__file__).parents[2]
FAULTS = ROOT / "tests" / "faults"
Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder to work in, with what the scripts import."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(FAULTS / "case.py", tmp_path)


def copied(name: str, **lines: str) -> str:
    """The script, with comments behind the lines that begin so."""
    text = (FAULTS / f"{name}.py").read_text(encoding="utf-8")
    for begin, comment in lines.items():
        [line] = [each for each in text.splitlines() if each.strip().startswith(begin)]
        text = text.replace(line, f"{line}  {comment}")
    Path(f"{name}.py").write_text(text, encoding="utf-8")
    return f"{name}.py"


def found(capsys: Capture, *words: str, status: int) -> list[dict[str, Any]]:
    """The findings in the one kernel of a script."""
    assert main(["check", "--device", "sim:h100", "-q", "--json", *words]) == status
    [kernel] = json.loads(capsys.readouterr().out)["kernels"]
    return kernel["findings"]


def test_a_race(capsys: Capture):
    script = copied("const_phase")
    race, *_ = found(capsys, script, status=1)
    assert (race["rule"], race["severity"], race["schedule"]) == ("parity", "error", "")
    _, write, read = race["places"]
    assert (write["role"], write["line"], write["column"], write["inner"]) == ("compute", 31, 17, 1)
    assert (read["role"], read["line"], read["variable"], read["slot"]) == ("store", 37, "staging", 0)
    assert write["text"].startswith("tlx.local_store(staging[t % S]")
    assert write["file"] == str(Path(script).resolve())
    assert found(capsys, script, "--fixed", status=0) == []


def test_the_documentation_shows_what_is_printed(capsys: Capture):
    script = copied("missing_arrive")
    assert main(["check", "--device", "sim:h100", script]) == 1
    shown = (ROOT / "docs" / "check.md").read_text(encoding="utf-8").partition(f"h100 {script}\n")[2]
    assert capsys.readouterr().out == shown.partition("```")[0]


def test_a_hang_is_not_run_again(capsys: Capture):
    script = copied("missing_arrive")
    assert main(["check", "--device", "sim:h100", script]) == 1
    out, err = capsys.readouterr()
    assert "! error [" in out
    assert "b_empty" in out
    assert err == ""  # the script would have printed an error, or the program the simulator's


def test_a_log_for_code_scanning(capsys: Capture):
    script = copied("const_phase")
    found(capsys, "--sarif", "found.sarif", script, status=1)
    log = json.loads(Path("found.sarif").read_text())
    check_shape(log)
    result = log["runs"][0]["results"][0]
    [location] = result["locations"]
    assert location["physicalLocation"]["artifactLocation"] == {"uri": script, "uriBaseId": "%SRCROOT%"}
    region = location["physicalLocation"]["region"]
    assert (region["startLine"], region["startColumn"]) == (30, 21)
    assert [each["physicalLocation"]["region"]["startLine"] for each in result["relatedLocations"]] == [31, 37]


def test_a_finding_that_a_comment_keeps(capsys: Capture):
    begin = "tlx.async_descriptor_load(x_desc"
    script = copied("early_release")
    races = found(capsys, script, status=1)
    ignore = f"# tlxviz: ignore[{', '.join(each['rule'] for each in races)}]"
    kept = found(capsys, copied("early_release", **{begin: f"{ignore} the epilogue is faster"}), status=0)
    assert [each["suppressed"] for each in kept] == ["the epilogue is faster"] * len(races)
    *counted, note = found(capsys, copied("early_release", **{begin: ignore}), status=1)
    assert [each["suppressed"] for each in counted] == [None] * len(races)
    assert (note["rule"], note["severity"]) == ("ignore-comment", "note")


def test_a_warning_counts_where_it_is_asked_for(capsys: Capture):
    script = copied("swapped_offsets")
    [warning] = found(capsys, "--strict", script, status=1)
    assert (warning["rule"], warning["severity"]) == ("descriptor", "warning")
    # the script finds its result wrong, and nothing counts that says why
    assert main(["check", "--device", "sim:h100", "-q", script]) == 4
    assert "swapped_offsets.py ended with status 1, and nothing was found." in capsys.readouterr().err
