"""Kernels with planted faults, and correct ones that look faulty: all run as scripts do, and show what they say."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from case import RULES, Case, fault_lines

from tlxviz._errors import ExitCode
from tlxviz._triton import toolchain
from tlxviz.devices.file import load_device
from tlxviz.ir.build import load_program
from tlxviz.launch.model import Launch
from tlxviz.launch.script import run_script
from tlxviz.sim.errors import HangError, SimulationError
from tlxviz.sim.recorder import Simulated, SimulatedRecorder
from tlxviz.sim.recording import Recording

pytest.importorskip("triton.language.extra.tlx")
if toolchain().distribution != "fbtriton":
    pytest.skip("the kernels are for the TLX of fbtriton", allow_module_level=True)

HERE = Path(__file__).parent
FAULTS = sorted(path for path in HERE.glob("*.py") if path.stem != "case" and not path.stem.startswith("test_"))
CORRECT = sorted((HERE / "correct").glob("*.py"))


def loaded(script: Path) -> ModuleType:
    """A script as a module, which runs nothing."""
    spec = importlib.util.spec_from_file_location(f"corpus_{script.stem}", script)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def simulated(script: Path, *arguments: str, device: str, launches: list[Launch] | None = None) -> int:
    """Status of a script that is run on a simulated GPU; raises what the simulator raises.

    Launches are added to `launches` before they are executed.
    """
    gpu = load_device(device.removeprefix("sim:"))
    recorder = SimulatedRecorder(gpu, Recording(ctas=()))

    def execute(launch: Launch) -> Simulated:
        if launches is not None:
            launches.append(launch)
        return recorder.execute(launch)

    return run_script(script, arguments, gpu, execute)


def check_names(case: Case, launch: Launch) -> None:
    """The task and the variable that a case names are the kernel's."""
    program = load_program(launch.ttgir)
    assert case.role in [agent.name for agent in program.agents]
    variables = [each.name for each in (*program.barriers, *program.buffers, *program.descriptors)]
    assert case.name in variables or case.name.isdigit() or not case.name


def names_in(report: dict[str, Any]) -> set[str]:
    """What the waiters of a hang wait for: variables, or numbers of named barriers."""
    waiters = report["waiters"]
    return {str(each["slot"] if each["operation"] == "named_wait" else each.get("variable")) for each in waiters}


@pytest.mark.parametrize("script", FAULTS, ids=lambda script: script.stem)
def test_a_fault_shows_what_it_says_and_its_fixed_twin_is_right(script: Path):
    module = loaded(script)
    case: Case = module.CASE
    device = getattr(module, "TLXVIZ_DEVICE", "sim:h100")
    assert fault_lines(script), "no line is marked"
    assert simulated(script, "--fixed", device=device) == 0
    launches: list[Launch] = []
    if case.shows in ("hang", "error"):
        with pytest.raises(SimulationError) as caught:
            simulated(script, device=device, launches=launches)
        assert caught.value.exit_code == ExitCode.FINDINGS
        assert isinstance(caught.value, HangError) is (case.shows == "hang")
        if isinstance(caught.value, HangError):
            assert (case.hangs_at or case.name) in names_in(caught.value.report)
    else:
        assert simulated(script, device=device, launches=launches) == (1 if case.shows == "wrong" else 0)
    check_names(case, launches[0])


@pytest.mark.parametrize("script", CORRECT, ids=lambda script: script.stem)
def test_a_correct_kernel_is_right(script: Path):
    device = getattr(loaded(script), "TLXVIZ_DEVICE", "sim:h100")
    assert simulated(script, device=device) == 0


def test_every_class_has_a_fault():
    assert {loaded(script).CASE.rule for script in FAULTS} == set(RULES)


def test_the_table_of_the_readme_has_them_all():
    text = (HERE / "README.md").read_text(encoding="utf-8")
    for script in FAULTS:
        module = loaded(script)
        device = getattr(module, "TLXVIZ_DEVICE", "sim:h100").removeprefix("sim:")
        assert f"| {module.CASE.rule} | `{script.stem}` | {device} | {module.CASE.shows} |" in text
    for script in CORRECT:
        assert f"| `{script.stem}` |" in text
