"""`tlxviz run` with a fake recorder: options, files, streams, exit statuses."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from analysis.synthetic_traces import hung, launch, pipeline
from commands.fake_backend import FakeBackend, FakeGpu

from tlxviz._errors import ExitCode, TlxvizError
from tlxviz.commands import main
from tlxviz.commands.choices import Launches, parse_ctas
from tlxviz.commands.output import SUFFIX
from tlxviz.commands.remarks import remarks
from tlxviz.commands.run import RunCommand
from tlxviz.embedded.kernel_filter import KernelFilter
from tlxviz.launch.model import LaunchLog, Tuning
from tlxviz.trace import SUFFIX as TRACE_SUFFIX
from tlxviz.trace import AgentRow, load_trace


class Hang(TlxvizError):
    exit_code = ExitCode.FINDINGS


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "script.py").write_text("print('the script')\nlaunch()\n")
    return tmp_path


def run(backend: FakeBackend, *words: str) -> int:
    return main(["run", *words], commands=[RunCommand(backend, FakeGpu("this machine has none"))])


def test_a_trace_and_a_summary(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(FakeBackend([pipeline()]), "script.py") == 0
    captured = capsys.readouterr()
    assert captured.out.startswith("the script\npipeline on NVIDIA H200 SXM, simulated\n")
    assert (
        captured.err
        == "trace: script.tlxtrace\nnext:  tlxviz report script.tlxtrace\n       tlxviz view script.tlxtrace\n"
    )
    assert [launch.kernel for launch in load_trace(folder / "script.tlxtrace").launches] == ["pipeline"]


def test_the_default_name_is_numbered(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        assert run(FakeBackend([pipeline()]), "script.py") == 0
    assert "tlxviz report script.1.tlxtrace" in capsys.readouterr().err
    assert (folder / "script.1.tlxtrace").exists()


def test_a_given_name(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(FakeBackend([pipeline()]), "-o", "my trace.tlxtrace", "script.py") == 0
    assert "next:  tlxviz report 'my trace.tlxtrace'" in capsys.readouterr().err
    assert run(FakeBackend([pipeline()]), "-o", "my trace.tlxtrace", "script.py") == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "my trace.tlxtrace exists. Give --force" in captured.err
    assert run(FakeBackend([pipeline()]), "--force", "-o", "my trace.tlxtrace", "script.py") == 0


def test_a_script_may_change_its_folder(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (folder / "script.py").write_text(f"import os\nos.chdir({str(elsewhere)!r})\nlaunch()\n")
    assert run(FakeBackend([pipeline()]), "-q", "script.py") == 0
    assert (folder / "script.tlxtrace").exists()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["-o", "nowhere/x.tlxtrace", "script.py"], "nowhere does not exist"),
        (["-o", "script.py/x.tlxtrace", "script.py"], "script.py is not a folder"),
        (["-o", "/proc/x.tlxtrace", "script.py"], "cannot write /proc/x.tlxtrace into /proc"),
        (["-o", "x.svg", "script.py"], "the name of a trace ends in .tlxtrace"),
        (["missing.py"], "there is no script missing.py"),
        (["."], "is a folder, not a script"),
        (["x.tlxtrace"], "tlxviz report x.tlxtrace"),
        (["-o", "x" * 300 + SUFFIX, "script.py"], "tlxtrace: the name is too long."),
        (["-f", "-o", "dangling.tlxtrace", "script.py"], "cannot write dangling.tlxtrace: /nowhere does not exist."),
        (["-f", "-o", "loop.tlxtrace", "script.py"], "it is a symbolic link that leads back to itself."),
        (["-f", "-o", "device.tlxtrace", "script.py"], "it is not a regular file."),
        (["-f", "-o", "fifo.tlxtrace", "script.py"], "it is not a regular file."),
        (["-m", "."], "there is no module . to run."),
        (["-m", "package."], "there is no module package. to run."),
        (["-m", "package/module"], "there is no module package/module to run."),
        (["l" * 247 + ".py"], ".tlxtrace: the name is too long. Give another name with -o."),
    ],
)
def test_what_cannot_be_run_or_written_is_said_before_it_runs(
    folder: Path, words: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for link, target in (("dangling", "/nowhere/x"), ("loop", "loop.tlxtrace"), ("device", "/dev/null"), ("fifo", "f")):
        (folder / f"{link}.tlxtrace").symlink_to(target)
    os.mkfifo(folder / "f")
    (folder / ("l" * 247 + ".py")).write_text("launch()\n")
    assert run(FakeBackend([pipeline()]), *words) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert says in captured.err


def test_a_link_is_written_through(folder: Path) -> None:
    (folder / "there").mkdir()
    (folder / "link.tlxtrace").symlink_to("there/x.tlxtrace")
    assert run(FakeBackend([pipeline()]), "-q", "-o", "link.tlxtrace", "script.py") == 0
    assert (folder / "link.tlxtrace").is_symlink()
    assert (folder / "there" / "x.tlxtrace").is_file()


def test_the_current_folder_is_gone(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gone = folder / "gone"
    gone.mkdir()
    os.chdir(gone)
    gone.rmdir()
    assert run(FakeBackend([pipeline()]), str(folder / "script.py")) == 2
    assert capsys.readouterr().err.startswith("tlxviz: error: the current folder is gone.")


def test_a_name_that_begins_with_a_dash(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "-x.py").write_text("launch()\n")
    assert run(FakeBackend([pipeline()]), "./-x.py") == 0
    assert capsys.readouterr().err.endswith("next:  tlxviz report ./-x.tlxtrace\n       tlxviz view ./-x.tlxtrace\n")


def test_launches_that_are_not_recorded_are_counted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "script.py").write_text("launch()\n" * 3)
    launches = [pipeline(), pipeline(kernel="other"), pipeline()]
    backend = FakeBackend(launches, recorded=["pipeline"])
    assert run(backend, "script.py") == 0
    assert capsys.readouterr().err.startswith("recorded launch 0 of 2 of kernel pipeline; --launch picks another\n")


def test_remarks() -> None:
    log = LaunchLog(
        {"a": 1000, "b": 2, "c": 1},
        {"d": 1, "e": 2},
        {"b": Tuning(4, 0, 0, "BM=64"), "a": Tuning(96, 24, 2, "BM=128"), "x": Tuning(2, 2, 0, "")},
    )
    launches = [pipeline(kernel="a", grid=(2, 2, 1)), pipeline(kernel="b", grid=(1, 1, 1))]
    assert remarks(log, launches, KernelFilter(), Launches((1,)), (0, 1, 7, 8, 9), values_off=False) == [
        "recorded launch 1 of each kernel: a (1,000 launches), b (2 launches); --launch picks another",
        "not recorded, because launched too seldom for --launch 1: c (once)",
        "kernel a is autotuned: 24 configurations timed (2 do not run here); fastest: BM=128",
        "kernel b is autotuned: the first of its 4 configurations ran",
        "kernel d was launched with an empty grid, which runs nothing",
        "kernel e was launched with an empty grid 2 times, which runs nothing",
        "kernel a has CTAs 0 to 3: --ctas 7:10 are not among them",
        "kernel b has only CTA 0: --ctas 1,7:10 are not among them",
    ]
    assert remarks(log, launches, KernelFilter(("b",)), Launches((0,)), None, values_off=False) == [
        "recorded launch 0 of each kernel: a (1,000 launches), b (2 launches); --launch picks another",
        "kernel a is autotuned: 24 configurations timed (2 do not run here); fastest: BM=128",
        "kernel b is autotuned: the first of its 4 configurations ran",
    ]


def test_ctas_that_others_took_over_are_said() -> None:
    launches = [pipeline(kernel="a", statistics={"taken_over": [[150, 2], [151, 2], [152, 3]]})]
    assert remarks(LaunchLog(), launches, KernelFilter(), Launches((0,)), (150, 151, 152), values_off=False)[-1] == (
        "kernel a takes over CTAs that have not started: CTA 2 that of CTA 150, CTA 2 that of CTA 151, CTA 3 that of "
        "CTA 152; to see that, --ctas 2:4"
    )


def test_ctas_that_the_grid_lacks_are_said(capsys: pytest.CaptureFixture[str]) -> None:
    made = launch(
        kernel="k",
        grid=(4, 1, 1),
        agents=[AgentRow("compute", "compute", 0, 4)],
        provenance={"options": {"ctas": [100]}},
    )
    assert run(FakeBackend([made]), "--ctas", "100", "script.py") == 0
    captured = capsys.readouterr()
    says = "kernel k has CTAs 0 to 3: --ctas 100 is not among them\n"
    assert captured.err.startswith(says)
    assert says in captured.out
    assert "not traced" not in captured.out


def test_an_empty_grid_is_a_remark_and_no_error(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "script.py").write_text("launch_empty('k')\n")
    assert run(FakeBackend(), "script.py") == 0
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "kernel k was launched with an empty grid, which runs nothing\n")
    assert not (folder / "script.tlxtrace").exists()
    assert run(FakeBackend(), "--kernel", "other", "script.py") == 2
    assert "script.py launched: k." in capsys.readouterr().err


def test_a_fault_of_ours_keeps_what_was_recorded(folder: Path) -> None:
    (folder / "script.py").write_text("launch()\nlaunch()\n")
    with pytest.raises(ZeroDivisionError):
        run(FakeBackend([pipeline(), (pipeline(), ZeroDivisionError())]), "-q", "script.py")
    assert (folder / "script.tlxtrace").exists()


def test_what_stands_behind_the_script_is_its_own(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "script.py").write_text("import sys\nprint(sys.argv[1:])\nlaunch()\n")
    assert run(FakeBackend([pipeline()]), "-q", "script.py", "--json", "-q", "--", "--m", "4", "x.py") == 0
    captured = capsys.readouterr()
    assert captured.out.startswith("['--json', '-q', '--', '--m', '4', 'x.py']\npipeline on")
    assert captured.err == ""


def test_options_reach_the_recorder() -> None:
    backend = FakeBackend([pipeline()])
    chosen = ["--device=sim:h100", "--ctas=0:3,9", "--launch=2", "--values=off", "--kernel=pipe*"]
    assert run(backend, *chosen, "-q", "script.py") == 0
    assert backend.device is not None
    assert backend.device.name == "h100"
    assert backend.options["ctas"] == (0, 1, 2, 9)
    assert backend.options["launches"] == (2,)
    assert backend.options["values"] is False
    assert backend.options["kernels"]("pipeline")
    assert not backend.options["kernels"]("other")


def test_defaults() -> None:
    backend = FakeBackend([pipeline()])
    assert run(backend, "-q", "script.py") == 0
    assert backend.device is not None
    assert backend.device.name == "h200"
    assert (backend.options["ctas"], backend.options["launches"], backend.options["values"]) == (None, (0,), True)


def test_json_is_the_last_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(FakeBackend([pipeline()]), "--json", "script.py") == 0
    *_, last = capsys.readouterr().out.splitlines()
    assert json.loads(last)["launches"][0]["kernel"] == "pipeline"


def test_a_hang_is_kept_reported_and_a_finding(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(FakeBackend([(hung(), Hang("kernel pipeline hangs."))]), "script.py") == 1
    captured = capsys.readouterr()
    assert "HANG at cycle 5,000" in captured.out
    assert captured.err.endswith("tlxviz: error: kernel pipeline hangs.\n")
    assert load_trace(folder / "script.tlxtrace").launches[0].hang is not None


def test_a_hang_that_the_script_swallows_is_still_a_finding(folder: Path) -> None:
    (folder / "script.py").write_text("try:\n    launch()\nexcept Exception:\n    pass\n")
    assert run(FakeBackend([(hung(), Hang("kernel pipeline hangs."))]), "script.py") == 1


def test_ctrl_c_keeps_what_was_recorded(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(FakeBackend([(pipeline(complete=False), KeyboardInterrupt())]), "script.py") == 130
    captured = capsys.readouterr()
    assert "until recording was interrupted" in captured.out
    assert "interrupted; what was recorded until then is kept" in captured.err
    assert not load_trace(folder / "script.tlxtrace").launches[0].complete


def test_ctrl_c_before_anything_was_recorded(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "script.py").write_text("raise KeyboardInterrupt\n")
    assert run(FakeBackend(), "script.py") == 130
    assert capsys.readouterr().err == "tlxviz: error: interrupted; nothing was recorded\n"
    assert not (folder / "script.tlxtrace").exists()


def test_the_scripts_own_exit_status(folder: Path) -> None:
    (folder / "script.py").write_text("launch()\nraise SystemExit(7)\n")
    assert run(FakeBackend([pipeline()]), "script.py") == 7
    (folder / "script.py").write_text("raise SystemExit(7)\n")
    assert run(FakeBackend(), "script.py") == 7


def test_a_launch_that_fails_keeps_those_before_it(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "script.py").write_text("launch()\nlaunch()\n")
    second = (pipeline(kernel="unwanted"), TlxvizError("the kernel is too large."))
    assert run(FakeBackend([pipeline(), second]), "--kernel", "pipeline", "script.py") == 3
    assert capsys.readouterr().err.endswith("tlxviz: error: the kernel is too large.\n")
    assert len(load_trace(folder / "script.tlxtrace").launches) == 1


@pytest.mark.parametrize(
    ("text", "words", "says"),
    [
        ("pass\n", [], "script.py launched no kernel"),
        ("launch()\n", ["--kernel", "x*"], "no kernel matches --kernel x*. script.py launched: pipeline."),
    ],
)
def test_nothing_was_recorded(
    folder: Path, text: str, words: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "script.py").write_text(text)
    assert run(FakeBackend([pipeline()]), *words, "script.py") == 2
    assert says in capsys.readouterr().err
    assert not (folder / "script.tlxtrace").exists()


def test_a_full_disk_does_not_take_the_summary(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: object, **__: object) -> None:
        raise TlxvizError("cannot write script.tlxtrace: No space left on device.")

    monkeypatch.setattr("tlxviz.trace.save_trace", full)
    assert run(FakeBackend([pipeline()]), "script.py") == 3
    captured = capsys.readouterr()
    assert "pipeline on NVIDIA" in captured.out
    assert captured.err == "tlxviz: error: cannot write script.tlxtrace: No space left on device.\n"


@pytest.mark.parametrize(
    ("text", "ctas"), [("0", (0,)), ("0,1,132", (0, 1, 132)), ("0:4", (0, 1, 2, 3)), ("2:4,3,0", (0, 2, 3))]
)
def test_cta_lists(text: str, ctas: tuple[int, ...]) -> None:
    assert parse_ctas(text) == ctas


def test_a_filter_takes_patterns() -> None:
    kernels = KernelFilter(("gemm*", "softmax"))
    assert [kernels(name) for name in ("gemm_ws", "add", "softmax", "add")] == [True, False, True, False]


def test_the_suffix_is_that_of_traces() -> None:
    assert SUFFIX == TRACE_SUFFIX
