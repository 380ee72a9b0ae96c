"""Roofs of kernels that are simulated: bytes and FLOP are exact."""

from __future__ import annotations

from pathlib import Path

import pytest

from tlxviz.analysis.roofline import Roofline, roofline
from tlxviz.analysis.utilisation import utilisation
from tlxviz.devices.file import load_device
from tlxviz.launch.script import run_script
from tlxviz.sim.recorder import SimulatedRecorder
from tlxviz.trace import LaunchTrace

KERNELS = Path(__file__).parents[2] / "kernels"


def simulated(script: str, *arguments: str) -> LaunchTrace:
    device = load_device("h200")
    recorder = SimulatedRecorder(device, values=False)
    run_script(KERNELS / script, list(arguments), device, recorder.execute)
    (launch,) = recorder.trace.launches
    return launch


def roofs(launch: LaunchTrace) -> tuple[Roofline, dict[str, float]]:
    found = roofline(launch)
    assert found is not None
    return found, {roof.name: roof.share for roof in found.roofs}


def test_a_warp_specialized_gemm():
    """Eight tiles of 128 x 256, each of which reads 128 x 512 of A and 512 x 256 of B, and writes itself in eight parts
    of 64 x 64."""
    pytest.importorskip("triton.language.extra.tlx")
    launch = simulated("hopper_gemm_ws.py", "--m", "512", "--n", "512", "--k", "512")
    found, shares = roofs(launch)
    used = utilisation(launch)
    assert (used.tma_load_bytes, used.tma_store_bytes) == (393_216, 65_536)
    assert (used.l2_read_bytes, used.l2_written_bytes) == (8 * 393_216, 512 * 512 * 2)
    assert found.compulsory_bytes == used.tensor_bytes == 3 * 512 * 512 * 2
    assert found.dram_bytes == 0
    assert launch.flop == 2 * 512**3
    assert found.intensity_l2 == 2 * 512**3 / 3_670_016
    assert found.mma_types == ("f16",)
    cycles = used.sm_cycles
    assert cycles is not None
    assert shares["tensor_core"] == pytest.approx(2 * 128 * 256 * 512 / 4096 / cycles)
    assert shares["tma_store"] == pytest.approx(8 * 371 / cycles)  # 8192 bytes at 22.13 a cycle
    assert shares["load_store"] == 0
    # eight SMs of 132: what the launch reaches of the device's peak is what one SM does of its own, on so many
    assert found.mfu == pytest.approx(shares["tensor_core"] * found.sm_share * 8 / 132)
    assert found.wave_efficiency == pytest.approx(8 / 132)
    assert found.tail_share == 1.0
    assert found.balance == pytest.approx(8 / 132)


def test_persistent_ctas_with_unequally_many_tiles():
    """144 tiles on 132 SMs: the traced one is among the twelve that have two."""
    pytest.importorskip("triton.language.extra.tlx")
    found, _ = roofs(simulated("hopper_gemm_ws.py", "--m", "2304", "--n", "2048", "--k", "128"))
    assert (found.wave_efficiency, found.tail_share) == (1.0, 0.0)
    assert found.balance == pytest.approx(144 / 132 / 2)


def test_a_plain_gemm_loads_without_tma():
    launch = simulated("plain_gemm.py", "--m", "512", "--n", "512", "--k", "512")
    found, shares = roofs(launch)
    used = utilisation(launch)
    assert (used.tma_load_bytes, used.tma_store_bytes, shares["tma"], shares["tma_store"]) == (0, 0, 0, 0)
    assert used.l2_written_bytes == 512 * 512 * 2
    assert shares["load_store"] > 0.1
    assert launch.flop == 2 * 512**3
    assert found.mma_types == ("f16",)
