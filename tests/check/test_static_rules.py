"""Rules that need no run: which faults of the corpus a kernel's text shows, and what the corpus does not have."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tlxviz._triton import toolchain
from tlxviz.check.model import Finding, Severity
from tlxviz.check.static import added, static_findings
from tlxviz.check.static.facts import LaunchFacts, TensorFacts, facts_of
from tlxviz.devices.file import load_device
from tlxviz.devices.model import Device
from tlxviz.ir import load_program, name_from_source
from tlxviz.ir.program import Program
from tlxviz.launch.model import Launch

pytest.importorskip("triton.language.extra.tlx")
if toolchain().distribution != "fbtriton":
    pytest.skip("the kernels are for the TLX of fbtriton", allow_module_level=True)

from corpus_launches import CORRECT, FAULTS, device_of, first_launch, loaded

SHOWN = {
    "arrive_ahead", "clamped_bytes", "const_phase", "drain_order", "early_store", "missing_arrive", "multicast_bytes",
    "odd_stride", "pingpong_start", "register_budget", "reserved_id", "rounded_trips", "seq_copy", "shallow_ring",
    "single_count", "stale_slot", "swapped_offsets", "tail_toggle", "warps_overtake", "wgmma_release", "wrong_law",
}  # fmt: skip
"""Faults that the text shows by their own rule, with the arguments of the launch."""
WITHOUT_ARGUMENTS = {
    "clamped_bytes", "const_phase", "drain_order", "early_store", "missing_arrive", "multicast_bytes",
    "register_budget", "reserved_id", "seq_copy", "shallow_ring", "stale_slot", "warps_overtake",
}  # fmt: skip
"""And without."""


def program_of(launch: Launch, *changes: tuple[str, str]) -> Program:
    """Its program, with its text changed."""
    text = launch.ttgir
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    program = load_program(text, launch.kernel)
    name_from_source(program, launch.source, launch.source_file, launch.source_line)
    return program


def shown(launch: Launch, device: Device, facts: LaunchFacts | None) -> list[Finding]:
    return static_findings(program_of(launch), device, facts)


@pytest.mark.parametrize("script", FAULTS, ids=lambda script: script.stem)
def test_which_faults_the_text_shows(script: Path):
    launch, device = first_launch(script.stem), device_of(script)
    rule = loaded(script).CASE.rule
    by_arguments = {each.rule for each in shown(launch, device, facts_of(launch))}
    without = {each.rule for each in shown(launch, device, None)}
    assert (rule in by_arguments) is (script.stem in SHOWN)
    assert (rule in without) is (script.stem in WITHOUT_ARGUMENTS)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [*((script.stem, ("--fixed",)) for script in FAULTS), *((script.stem, ()) for script in CORRECT)],
    ids=[*(f"{script.stem}-fixed" for script in FAULTS), *(script.stem for script in CORRECT)],
)
def test_the_text_of_what_is_right_shows_notes_at_most(name: str, arguments: tuple[str, ...]):
    launch = first_launch(name, *arguments)
    device = load_device("b200" if launch.metadata["arch"] == "sm100" else "h100")
    for facts in (facts_of(launch), None):
        found = shown(launch, device, facts)
        assert [each.message for each in found if each.severity is not Severity.NOTE] == []


# ---------------------------------------------------------------------- what the corpus does not have


def messages(program: Program, facts: LaunchFacts | None = None, device: Device | None = None) -> list[str]:
    return [f"[{each.rule}] {each.message}" for each in static_findings(program, device or load_device("h100"), facts)]


def test_a_named_barrier_that_no_sm_has():
    launch = first_launch("pingpong_start", "--fixed")
    program = program_of(launch, ("arith.constant 10 : i32", "arith.constant 17 : i32"))
    assert "[named-barrier] mma.0 uses named barrier 17, and an SM has 16 a CTA: 0 to 15" in messages(program)


@pytest.mark.parametrize(
    ("threads", "reason"),
    [
        (250, "a count is a multiple of the 32 threads of a warp"),
        (64, "compute alone has 128"),
        (4096, "the CTA has 256"),
    ],
)
def test_counts_of_threads_that_no_warps_add_up_to(threads: int, reason: str):
    launch = first_launch("arrive_ahead", "--fixed")
    program = program_of(launch, ("arith.constant 256 : i32", f"arith.constant {threads} : i32"))
    found = messages(program, facts_of(launch))
    assert any(each.startswith("[named-barrier]") and each.endswith(reason) for each in found), found


def test_a_box_that_is_too_large_and_a_tensor_that_is_not_aligned():
    launch = first_launch("odd_stride", "--fixed")
    facts = facts_of(launch)
    assert messages(program_of(launch), facts) == []
    parameters = [TensorFacts(each.address + 8) if isinstance(each, TensorFacts) else each for each in facts.parameters]
    (found,) = messages(program_of(launch), replace(facts, parameters=parameters))
    assert found.startswith("[descriptor] load makes the descriptor desc")
    assert found.endswith("its tensor begins 8 bytes behind a multiple of 16")
    large = messages(program_of(launch, ("arith.constant 32 : i32", "arith.constant 512 : i32")))
    assert any("its box has 512 elements in one dimension, and TMA takes 256" in each for each in large)


def test_more_than_an_sm_has():
    launch = first_launch("const_phase", "--fixed")
    device = load_device("h100")
    few = replace(device, limits=replace(device.limits, shared_memory_per_block=4096, threads_per_block=128))
    threads, memory = messages(program_of(launch), facts_of(launch), few)
    assert threads == "[limits] the tasks have 256 threads in all, and NVIDIA H100 SXM gives a CTA 128"
    used = f"[limits] the kernel takes {launch.metadata['shared']:,} bytes of shared memory"
    assert memory == f"{used}, and NVIDIA H100 SXM has 4,096 for a CTA"


def test_tensor_memory_on_a_gpu_without():
    launch = first_launch("alias_stride", "--fixed")
    assert "[limits] the kernel takes 128 columns of tensor memory, and NVIDIA H100 SXM has none for a CTA" in messages(
        program_of(launch)
    )


def test_what_a_run_has_said_is_not_said_again():
    launch, device = first_launch("const_phase"), load_device("h100")
    (parity,) = shown(launch, device, facts_of(launch))
    other = replace(parity, rule="lane")
    assert added([parity], [parity, other]) == [parity, other]
    assert added([], [parity]) == [parity]
