from __future__ import annotations

import csv
import io
import os
import stat
import sys
from pathlib import Path
from typing import Any

import pytest
from analysis.synthetic_traces import hung, launch, pipeline

from tlxviz.commands import main
from tlxviz.exports.errors import needing
from tlxviz.exports.formats import FORMATS
from tlxviz.trace import Trace, save_trace

MAGIC = {"csv": b"launch,kernel,", "parquet": b"PAR1", "perfetto": b"\x0a", "chrome": b'{"displayTimeUnit"'}


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, with a trace of two launches of one kernel and one of another."""
    monkeypatch.chdir(tmp_path)
    launches = [pipeline(3), pipeline(2), hung()]
    launches[2].kernel = "other"
    save_trace(Trace(launches), "x.tlxtrace")
    return tmp_path


def rows(name: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(Path(name).read_text(encoding="utf-8"))))


def error(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    """Exit status and message of a command that fails, and leaves nothing behind."""
    before = sorted(os.listdir())
    status = main(["export", *arguments])
    captured = capsys.readouterr()
    assert captured.out == ""
    assert sorted(os.listdir()) == before
    assert "Traceback" not in captured.err
    return status, captured.err


@pytest.mark.parametrize("name", MAGIC)
def test_each_format_by_name_and_by_suffix(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    suffix = FORMATS[name].suffix
    assert main(["export", "--to", name, "x.tlxtrace"]) == 0
    assert main(["export", "-o", f"a{suffix}", "x.tlxtrace"]) == 0
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", f"export: x{suffix}\nexport: a{suffix}\n")
    assert Path(f"a{suffix}").read_bytes() == Path(f"x{suffix}").read_bytes()
    assert Path(f"a{suffix}").read_bytes().startswith(MAGIC[name])


def test_existing_files(capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        assert main(["export", "--to", "csv", "x.tlxtrace"]) == 0
    assert capsys.readouterr().err == "export: x.csv\nexport: x.1.csv\n"
    Path("a.csv").write_text("mine")
    status, message = error(capsys, "-o", "a.csv", "x.tlxtrace")
    assert status == 2
    assert "a.csv exists" in message
    assert Path("a.csv").read_text() == "mine"
    assert main(["export", "-q", "-f", "-o", "a.csv", "x.tlxtrace"]) == 0
    assert capsys.readouterr().err == ""
    assert Path("a.csv").read_text() == Path("x.csv").read_text()


def test_launches() -> None:
    assert main(["export", "-o", "all.csv", "x.tlxtrace"]) == 0
    assert main(["export", "-o", "one.csv", "--launch", "1", "x.tlxtrace"]) == 0
    assert main(["export", "-o", "other.csv", "--kernel", "oth*", "x.tlxtrace"]) == 0
    assert [len(rows(name)) for name in ("all.csv", "one.csv", "other.csv")] == [27 + 18 + 27, 18, 27]
    assert {row["launch"] for row in rows("one.csv")} == {"1"}
    assert rows("one.csv") + rows("other.csv") == rows("all.csv")[27:]


def test_what_of_a_launch() -> None:
    chosen = ["--ctas", "0:3", "--roles", "TMA,m*", "--range", "100:200"]
    assert main(["export", "-o", "a.csv", "--launch", "0", *chosen, "x.tlxtrace"]) == 0
    assert {row["track"] for row in rows("a.csv")} == {"TMA", "mma"}
    assert {row["event"] for row in rows("a.csv")} < {str(number) for number in range(27)}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["x.tlxtrace"], "say what to write: --to csv"),
        (["-o", "a.txt", "x.tlxtrace"], "say what to write"),
        (["--to", "csv", "-o", "a.json", "x.tlxtrace"], "ends in .csv"),
        (["--to", "excel", "x.tlxtrace"], "invalid choice: 'excel'"),
        (["--to", "csv", "--launch", "3", "x.tlxtrace"], "has no launch 3: it holds 0 to 2"),
        (["--to", "csv", "--kernel", "gemm", "x.tlxtrace"], "it has pipeline, other"),
        (["--to", "csv", "--ctas", "5", "x.tlxtrace"], "none of these CTAs: recorded are 0"),
        (["--to", "csv", "--ctas", "all", "x.tlxtrace"], "names no CTAs"),
        (["--to", "csv", "--roles", "x", "x.tlxtrace"], "has no track x: it has load, mma"),
        (["--to", "csv", "--roles", " ,", "x.tlxtrace"], "names no tracks"),
        (["--to", "csv", "/"], "/ is a folder"),
        (["--to", "csv", "--range", "900000:", "x.tlxtrace"], "has nothing in cycles 900000:"),
        (["--to", "csv", "--range", "7:7", "x.tlxtrace"], "is no stretch of time"),
        (["--to", "csv", "--range", "a:b", "x.tlxtrace"], "is no stretch of time"),
        (["--to", "csv", "--range", "-5:9", "x.tlxtrace"], "expected one argument"),
        (["--to", "csv", "no.tlxtrace"], "there is no file no.tlxtrace"),
        (["--to", "csv", "."], "is a folder"),
        (["-o", "folder/a.csv", "x.tlxtrace"], "folder does not exist"),
        (["-o", "x.tlxtrace/a.csv", "x.tlxtrace"], "is not a folder"),
        (["-o", f"{'a' * 300}.csv", "x.tlxtrace"], "the name is too long"),
        (["-o", "", "x.tlxtrace"], "the name is empty"),
    ],
)
def test_what_cannot_be_done(arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, message = error(capsys, *arguments)
    assert status == 2
    assert says in message


def test_a_folder_that_may_not_be_written_to(capsys: pytest.CaptureFixture[str]) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    Path("folder").mkdir()
    Path("folder").chmod(stat.S_IRUSR | stat.S_IXUSR)
    status, message = error(capsys, "-o", "folder/a.csv", "x.tlxtrace")
    assert status == 2
    assert "cannot write folder/a.csv" in message


def test_an_empty_trace_and_an_empty_launch(capsys: pytest.CaptureFixture[str]) -> None:
    save_trace(Trace([]), "none.tlxtrace")
    assert main(["export", "--to", "csv", "none.tlxtrace"]) == 2
    assert "holds no launch" in capsys.readouterr().err
    save_trace(Trace([launch()]), "empty.tlxtrace")
    for name in FORMATS:
        if not FORMATS[name].single:
            assert main(["export", "--to", name, "empty.tlxtrace"]) == 0
    assert rows("empty.csv") == []


class Raising:
    """Stands before all that finds modules, and raises an error for one package."""

    def __init__(self, package: str, error: Exception) -> None:
        self.package, self.error = package, error

    def find_spec(self, name: str, *_: Any) -> None:
        if name.partition(".")[0] == self.package:
            raise self.error


@pytest.fixture
def anew(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """What a format imports is imported anew."""
    for module in list(sys.modules):
        if module.partition(".")[0] in {"pyarrow", "perfetto", "google"} or module.startswith("tlxviz.exports."):
            monkeypatch.delitem(sys.modules, module)
    return monkeypatch


@pytest.mark.parametrize(
    ("name", "package", "called"),
    [("parquet", "pyarrow", "pyarrow"), ("perfetto", "perfetto", "perfetto"), ("perfetto", "google", "protobuf")],
)
def test_a_package_that_is_missing(
    name: str, package: str, called: str, anew: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = ModuleNotFoundError(f"No module named {package!r}", name=package)
    anew.setattr(sys, "meta_path", [Raising(package, missing), *sys.meta_path])
    status, message = error(capsys, "--to", name, "x.tlxtrace")
    assert status == 3
    assert f"this format needs the package {called}: pip install 'tlxviz[export]'" in message
    # Others need nothing.
    assert main(["export", "-q", "--to", "csv", "x.tlxtrace"]) == 0
    assert main(["export", "-q", "--to", "chrome", "x.tlxtrace"]) == 0


class VersionError(Exception):
    """As that of protobuf, which it raises for a runtime that is older than generated code."""

    __module__ = "google.protobuf.runtime_version"


@pytest.mark.parametrize(
    "raised",
    [
        VersionError("gencode 6.31.1 runtime 5.29.0"),
        ImportError("cannot import name 'runtime_version' from 'google.protobuf'", name="google.protobuf"),
    ],
)
def test_a_package_that_is_too_old(
    raised: Exception, anew: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    anew.setattr(sys, "meta_path", [Raising("google", raised), *sys.meta_path])
    status, message = error(capsys, "--to", "perfetto", "x.tlxtrace")
    assert status == 3
    assert "needs another version of protobuf: pip install --upgrade 'tlxviz[export]'" in message
    assert str(raised) in message


@pytest.mark.parametrize(
    ("name", "package", "broken"),
    [
        ("parquet", "pyarrow", "raise ImportError('libarrow.so: cannot open shared object file')"),
        ("parquet", "pyarrow", "import something_that_it_needs"),
        ("png", "matplotlib", "raise ValueError('of its settings')"),
        ("perfetto", "perfetto", "raise OSError('of the disk')"),
    ],
)
def test_a_package_that_is_broken(
    name: str, package: str, broken: str, anew: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("site", package).mkdir(parents=True)
    Path("site", package, "__init__.py").write_text(broken)
    for module in [each for each in sys.modules if each.partition(".")[0] == package]:
        anew.delitem(sys.modules, module)
    anew.syspath_prepend("site")
    anew.setattr(sys, "dont_write_bytecode", True)
    status, message = error(capsys, "--to", name, "x.tlxtrace")
    assert status == 3
    assert f"this format needs {package}" in message
    assert "importing that fails. It says: " in message


def test_a_fault_of_our_own_is_none_of_a_package() -> None:
    with pytest.raises(ZeroDivisionError), needing("export", {"pyarrow": "pyarrow"}):
        exec("1 / 0", {"__name__": "tlxviz.exports.table_parquet"})


def test_help_imports_no_package_of_a_format() -> None:
    import subprocess

    program = (
        "import sys; from tlxviz.commands import main\n"
        "try: main(['export', '--help'])\n"
        "except SystemExit: pass\n"
        "print(sorted({'numpy', 'pyarrow', 'perfetto', 'google', 'matplotlib'} & set(sys.modules)))\n"
    )
    root = Path(__file__).parents[2]
    made = subprocess.run([sys.executable, "-c", program], cwd=root, capture_output=True, text=True, check=True)
    assert made.stdout.splitlines()[-1] == "[]"
