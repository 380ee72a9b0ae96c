"""The table of rooms in docs/architecture.md is true."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "tlxviz"

NO_ROOMS = {"__init__", "__main__", "_errors", "_texts", "_version"}  # the last three are everybody's


def table() -> dict[str, set[str]]:
    """Room to what its row of the documented table allows."""
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rows = re.findall(
        r"^\| `(\w+)/?` \|.*\|([^|]*)\|$", text.partition("## Rooms")[2].partition("\n## ")[0], re.MULTILINE
    )
    return {room: set(re.findall(r"`(\w+)`", allowed)) for room, allowed in rows}


def existing_rooms() -> list[str]:
    modules = {path.stem for path in PACKAGE.glob("*.py")}
    packages = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    return sorted((modules | packages) - NO_ROOMS)


def contracts() -> dict[str, set[str]]:
    """Room to what its contract in pyproject.toml forbids."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    return {
        source.removeprefix("tlxviz."): set(contract["forbidden_modules"])
        for contract in settings["contracts"]
        if contract["type"] == "forbidden"
        for source in contract["source_modules"]
    }


@pytest.fixture(scope="module")
def graph() -> grimp.ImportGraph:
    """Who imports whom, also inside functions, read from the source without running it."""
    return grimp.build_graph("tlxviz", include_external_packages=True, cache_dir=None)


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)


def test_every_room_is_in_the_table() -> None:
    assert set(existing_rooms()) == set(table())


@pytest.mark.parametrize(
    ("room", "heading"),
    [
        ("launch", "## The stand-in for CUDA"),
        ("sim", "## The simulator"),
        ("analysis", "## The analysis"),
        ("exports", "## Exports"),
    ],
)
def test_every_module_of_a_large_room_is_in_its_table(room: str, heading: str) -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\|([^|]*)\|", text.partition(heading)[2].partition("\n## ")[0], re.MULTILINE)
    named = set(re.findall(r"`(\w+)/?`", " ".join(rows)))
    modules = {path.stem for path in (PACKAGE / room).glob("*.py")} - {"__init__"}
    packages = {path.parent.name for path in (PACKAGE / room).glob("*/__init__.py")}
    assert modules | packages == named - {room}


@pytest.mark.parametrize("room", existing_rooms())
def test_contract_forbids_what_the_table_does_not_allow(room: str) -> None:
    forbidden = {name.removeprefix("tlxviz.") for name in contracts()[room] if name.startswith("tlxviz.")}
    assert forbidden == set(table()) - table()[room] - {room}


@pytest.mark.parametrize("room", existing_rooms())
def test_room_imports_only_its_own_dependencies(room: str, graph: grimp.ImportGraph) -> None:
    name = f"tlxviz.{room}"
    foreign = {
        imported.partition(".")[0]
        for module in {name} | graph.find_descendants(name)
        for imported in graph.find_modules_directly_imported_by(module)
        if imported.partition(".")[0] not in sys.stdlib_module_names
    }
    assert foreign - {"tlxviz"} <= table()[room]


def test_import_contracts_hold() -> None:
    result = run(
        sys.executable, "-c", "from importlinter.cli import lint_imports_command as main; main()", "--no-cache"
    )
    assert result.returncode == 0, result.stdout + result.stderr


def test_help_imports_nothing_heavy() -> None:
    program = (
        "import json, sys\n"
        "from tlxviz.commands import main\n"
        "try:\n"
        "    code = main(['--help'])\n"
        "except SystemExit as error:\n"
        "    code = error.code\n"
        "heavy = sorted({name.partition('.')[0] for name in sys.modules} & {'torch', 'triton', 'textual'})\n"
        "print(json.dumps([code or 0, heavy]))\n"
    )
    result = run(sys.executable, "-c", program)
    assert result.returncode == 0, result.stderr
    assert "usage: tlxviz" in result.stdout
    assert json.loads(result.stdout.splitlines()[-1]) == [0, []]


@pytest.mark.parametrize("path", sorted((ROOT / "kernels").rglob("*.py")), ids=lambda path: path.name)
def test_kernels_stand_without_tlxviz(path: Path) -> None:
    siblings = {other.stem for other in (ROOT / "kernels").rglob("*.py")} | {"kernels"}
    imported: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            imported |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            imported.add(node.module.partition(".")[0])
    assert imported - set(sys.stdlib_module_names) - siblings <= {"torch", "triton"}
