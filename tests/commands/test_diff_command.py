from __future__ import annotations

import json
from pathlib import Path

import pytest
from analysis.synthetic_traces import hung, pipeline

from tlxviz.commands import main
from tlxviz.trace import Trace, save_trace


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    save_trace(Trace([pipeline(), pipeline(3, kernel="second")]), "two.tlxtrace")
    save_trace(Trace([pipeline(cycles=1500)]), "slow.tlxtrace")
    save_trace(Trace([hung()]), "hung.tlxtrace")
    save_trace(Trace(), "empty.tlxtrace")
    Path("text.tlxtrace").write_text("x")
    return tmp_path


@pytest.mark.usefixtures("folder")
class TestDiff:
    def test_launches_are_compared_in_order(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["diff", "two.tlxtrace", "two.tlxtrace"]) == 0
        captured = capsys.readouterr()
        assert captured.out.startswith("Launch 0\nA  two.tlxtrace: pipeline on NVIDIA H200 SXM, simulated\n")
        assert "\nLaunch 1\nA  two.tlxtrace: second on" in captured.out
        assert captured.err == ""

    def test_launches_without_a_counterpart_are_said_to_be_left_out(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["diff", "slow.tlxtrace", "two.tlxtrace"]) == 0
        captured = capsys.readouterr()
        assert "B takes 16.7% less time than A" in captured.out
        assert captured.err.startswith("two.tlxtrace holds 1 launch that the other trace does not have")

    def test_one_of_each(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["diff", "--launch", "1,0", "two.tlxtrace", "slow.tlxtrace", "--json"]) == 0
        captured = capsys.readouterr()
        (found,) = json.loads(captured.out)["launches"]
        assert (found["a"]["kernel"], found["b"]["kernel"]) == ("second", "pipeline")
        assert captured.err == ""

    def test_the_same_of_both(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["diff", "--launch", "1", "two.tlxtrace", "two.tlxtrace"]) == 0
        assert capsys.readouterr().out.startswith("Launch 1\n")

    def test_a_hang_is_no_failure_of_the_comparison(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["diff", "slow.tlxtrace", "hung.tlxtrace"]) == 0
        assert "it hangs or was interrupted" in capsys.readouterr().out

    def test_json_does_not_depend_on_the_terminal(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        main(["diff", "--json", "two.tlxtrace", "slow.tlxtrace"])
        first = capsys.readouterr().out
        monkeypatch.setenv("COLUMNS", "200")
        main(["diff", "--json", "two.tlxtrace", "slow.tlxtrace"])
        assert capsys.readouterr().out == first

    @pytest.mark.parametrize(
        ("words", "says"),
        [
            (["two.tlxtrace", "none.tlxtrace"], "there is no file"),
            (["none.tlxtrace", "two.tlxtrace"], "there is no file"),
            (["two.tlxtrace", "."], "is a folder"),
            (["two.tlxtrace", "text.tlxtrace"], "is not a trace"),
            (["two.tlxtrace", "empty.tlxtrace"], "empty.tlxtrace holds no launch"),
            (["two.tlxtrace"], "the following arguments are required: B"),
            (
                ["two.tlxtrace", "slow.tlxtrace", "--launch", "1"],
                "slow.tlxtrace has no launch 1: it holds only launch 0",
            ),
            (["two.tlxtrace", "slow.tlxtrace", "--launch", "2,0"], "two.tlxtrace has no launch 2: it holds 0 to 1"),
            (["two.tlxtrace", "slow.tlxtrace", "--launch", "x"], "'x' names no launches"),
            (["two.tlxtrace", "slow.tlxtrace", "--launch", "1,2,3"], "'1,2,3' names no launches"),
        ],
    )
    def test_what_cannot_be_compared(self, words: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["diff", *words]) == 2
        captured = capsys.readouterr()
        assert captured.out == ""
        assert captured.err.startswith("tlxviz: error: ")
        assert says in captured.err
