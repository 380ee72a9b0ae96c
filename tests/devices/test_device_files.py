"""Data files of GPUs: complete, in the right units, each figure with a source."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path

import pytest

from tlxviz._errors import ExitCode, UsageError
from tlxviz.devices import Device, DeviceFileError, device_from_manifest, known_devices, load_device, read_device
from tlxviz.devices.file import BLACKWELL_SECTIONS, FOLDER, SECTIONS, UNITS

GOOD = (FOLDER / "h200.toml").read_text(encoding="utf-8")


def test_known_devices() -> None:
    assert {"h100", "h200", "b200", "gb200"} <= set(known_devices())


def test_a_device_is_read_once() -> None:
    assert load_device("h200") is load_device("h200")


def test_an_unknown_device() -> None:
    with pytest.raises(UsageError) as caught:
        load_device("../h200")
    assert str(caught.value) == (
        f"there is no device '../h200' to simulate. Known devices: {', '.join(known_devices())}."
    )
    assert caught.value.exit_code == ExitCode.USAGE


def test_a_data_file_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(GOOD.replace('name = "h200"', 'name = "mine"'), encoding="utf-8")
    assert load_device(str(path)).name == "mine"
    with pytest.raises(UsageError) as caught:
        load_device(f"{tmp_path}/yours.toml")
    assert str(caught.value) == f"there is no data file {tmp_path}/yours.toml."


def test_units_are_of_figures_that_exist() -> None:
    sections = SECTIONS | BLACKWELL_SECTIONS
    assert set(UNITS) <= {f"{section}.{field.name}" for section, cls in sections.items() for field in fields(cls)}


@pytest.mark.parametrize("name", known_devices())
def test_every_figure_has_a_source(name: str) -> None:
    device = load_device(name)
    assert device.name == name
    sections = SECTIONS | (BLACKWELL_SECTIONS if device.capability >= (10, 0) else {})
    for section, cls in sections.items():
        for field in fields(cls):
            assert len(device.sources[f"{section}.{field.name}"]) > 10
            assert type(getattr(getattr(device, section), field.name)).__name__ == str(field.type).partition("[")[0]
    assert len(device.sources) == sum(len(fields(cls)) for cls in sections.values())


@pytest.mark.parametrize("name", known_devices())
def test_figures_agree_with_each_other(name: str) -> None:
    device = load_device(name)
    limits, tensor_core = device.limits, device.tensor_core
    assert limits.shared_memory_per_block + limits.shared_memory_reserved <= limits.shared_memory_per_sm
    assert limits.threads_per_block <= 32 * limits.warps_per_sm
    assert device.clock.sustained_mhz <= device.clock.boost_mhz
    assert tensor_core.fp64 < tensor_core.tf32 < tensor_core.fp16 <= tensor_core.fp8
    assert device.memory.l1_latency_cycles < device.memory.l2_latency_cycles < device.memory.dram_latency_cycles
    assert device.tma.l2_latency_cycles < device.tma.dram_latency_cycles
    assert sum(device.cluster.groups) == limits.sms
    assert device.memory.shared_latency_cycles < device.cluster.remote_latency_cycles < device.memory.l2_latency_cycles


@pytest.mark.parametrize(
    ("name", "tflops", "terabytes"), [("h100", 989, 3.35), ("h200", 989, 4.8), ("b200", 2250, 8), ("gb200", 2500, 8)]
)
def test_peaks_are_those_of_the_data_sheet(name: str, tflops: float, terabytes: float) -> None:
    device = load_device(name)
    hertz = device.clock.published_mhz * 1e6
    assert device.tensor_core.fp16 * device.limits.sms * hertz == pytest.approx(tflops * 1e12, rel=0.01)
    assert 0.8 * terabytes * 1e12 < device.memory.hbm_bytes_per_second < terabytes * 1e12


@pytest.mark.parametrize(
    ("size", "clusters"), [(2, 66), (3, 39), (4, 30), (5, 22), (6, 17), (7, 15), (8, 15), (9, 9), (10, 7), (16, 7)]
)
def test_groups_hold_as_many_clusters_as_the_driver_says(size: int, clusters: int) -> None:
    assert sum(sms // size for sms in load_device("h200").cluster.groups) == clusters


@pytest.mark.parametrize("name", known_devices())
def test_tensor_memory_comes_with_its_products_and_not_before_blackwell(name: str) -> None:
    device, sections = load_device(name), ("tensor_memory", "tcgen05", "launch_control")
    blackwell = device.capability >= (10, 0)
    assert [getattr(device, section) is not None for section in sections] == [blackwell] * 3
    assert [section in device.to_manifest() for section in sections] == [blackwell] * 3


INTERVALS = {
    ("ss", 64, False): (32, 64, 128),
    ("ss", 128, False): (48, 64, 128),
    ("ts", 64, False): (32, 64, 128),
    ("ts", 128, False): (32, 64, 128),
    ("ss", 64, True): (25, 32, 64),
    ("ss", 128, True): (43, 64, 128),
    ("ts", 64, True): (18, 32, 64),
    ("ts", 128, True): (32, 64, 128),
}
"""Cycles between instructions of N = 64, 128, 256 that SemiAnalysis measured, by mode, rows per CTA, and pair."""


@pytest.mark.parametrize(("mode", "rows", "pair"), INTERVALS)
def test_the_law_of_tcgen05_gives_what_was_measured(mode: str, rows: int, pair: bool) -> None:
    device = load_device("b200")
    law = device.tcgen05
    assert law is not None
    for columns, measured in zip((64, 128, 256), INTERVALS[mode, rows, pair], strict=True):
        work = 2 * (rows if pair else 128) * columns * 16 / device.tensor_core.fp16
        rows_read = (rows if mode == "ss" else 0) + (columns // 2 if pair else columns)
        floor = law.ts_floor_cycles if mode == "ts" else getattr(law, f"ss_{rows}_floor_cycles")
        assert max(work, 32 * rows_read / law.shared_bytes_per_cycle, floor) == measured


@pytest.mark.parametrize("name", known_devices())
def test_a_device_comes_back_from_a_manifest(name: str) -> None:
    device = load_device(name)
    manifest = json.loads(json.dumps(device.to_manifest()))
    assert manifest == device.to_manifest()
    manifest["tma"]["from_a_newer_version"] = 1
    assert device_from_manifest(manifest) == replace(device, sources={})
    del manifest["memory"]["capacity_bytes"], manifest["cuda_name"]  # as older versions wrote it
    old = device_from_manifest(manifest)
    assert (old.memory.capacity_bytes, old.cuda_name) == (0, device.title)


def test_a_manifest_without_a_device() -> None:
    with pytest.raises(DeviceFileError) as caught:
        device_from_manifest({"name": "h200"})
    assert str(caught.value) == "the trace does not describe its device in full: 'limits' is missing or wrong."


def edited(folder: Path, pattern: str, replacement: str) -> Callable[[], Device]:
    path = folder / "h200.toml"
    text, count = re.subn(pattern, replacement, GOOD, flags=re.MULTILINE)
    assert count == 1
    path.write_text(text, encoding="utf-8")
    return lambda: read_device(path)


@pytest.mark.parametrize(
    ("pattern", "replacement", "message"),
    [
        (r"^mufu = .*\n", "", ": section alu lacks mufu."),
        (r"^mufu = ", "mofu = 1\nmufu = ", ": section alu has mofu, which tlxviz does not know."),
        (r"^\[launch\]\n(.*\n)*", "", " lacks launch."),
        (r"^\[launch\]$", "[weather]\n[launch]", " has weather, which tlxviz does not know."),
        (r"^mufu = .*$", "mufu = 16", ": alu.mufu must be a table of value, unit and source."),
        (r"^(mufu = .*)unit = .*, source", r"\1source", ": alu.mufu lacks unit."),
        (r"^(mufu = .*unit = )\S*,", r'\1"cycles",', ": alu.mufu is in 'cycles'; its unit is 'results/cycle/SM'."),
        (r"^(kernel_ns = .*unit = )\S*,", r'\1"us",', ": launch.kernel_ns is in 'us'; its unit is 'ns'."),
        (r"^(mufu = .*source = ).*$", r'\1" " }', ": alu.mufu has no source."),
        (r"^(mufu = .*source = ).*$", r'\1"assumed:" }', ": alu.mufu has no source."),
        (r"^mufu = \{ value = 16,", "mufu = { value = true,", ": alu.mufu must be a number, not True."),
        (r"^mufu = \{ value = 16,", "mufu = { value = inf,", ": alu.mufu must be finite and not negative, not inf."),
        (r"^mufu = \{ value = 16,", "mufu = { value = -1,", ": alu.mufu must be finite and not negative, not -1."),
        (r"^sms = \{ value = 132,", "sms = { value = 132.0,", ": limits.sms must be an integer, not 132.0."),
        (
            r"^(groups = .*value = )\[18, ",
            r"\1[1.5, ",
            ": cluster.groups must be a list of positive integers, not [1.5, 18, 16, 16, 16, 16, 16, 8, 2, 2, 2, 2].",
        ),
        (
            r"^(groups = .*value = )\[.*?\]",
            r"\g<1>132",
            ": cluster.groups must be a list of positive integers, not 132.",
        ),
        (r"^capability = .*$", "capability = 90", ": capability must be two integers, such as [9, 0]."),
        (r"^title = .*$", 'title = ""', ": title must be text that is not empty."),
        (r'^name = "h200"$', 'name = "h20"', ": name is 'h20', but the file is h200.toml."),
    ],
)
def test_wrong_files(tmp_path: Path, pattern: str, replacement: str, message: str) -> None:
    read = edited(tmp_path, pattern, replacement)
    with pytest.raises(DeviceFileError) as caught:
        read()
    assert str(caught.value) == f"{tmp_path / 'h200.toml'}{message}"


def test_a_section_of_blackwell_needs_the_others(tmp_path: Path) -> None:
    text = (FOLDER / "b200.toml").read_text(encoding="utf-8")
    path = tmp_path / "b200.toml"
    path.write_text(text[: text.index("[launch_control]")], encoding="utf-8")
    with pytest.raises(DeviceFileError) as caught:
        read_device(path)
    assert str(caught.value) == f"{path} lacks launch_control."


def test_files_that_are_not_toml_or_not_there(tmp_path: Path) -> None:
    path = tmp_path / "h200.toml"
    with pytest.raises(DeviceFileError, match=r"cannot read .*h200\.toml: No such file or directory\."):
        read_device(path)
    path.write_text("limits = [")
    with pytest.raises(DeviceFileError, match=r"h200\.toml is not a TOML file: "):
        read_device(path)
