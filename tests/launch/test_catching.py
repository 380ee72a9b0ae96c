"""What a launch is described as."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from tlxviz._errors import TlxvizError
from tlxviz.devices.model import Device
from tlxviz.launch.kernels.locations import rebased
from tlxviz.launch.kernels.parameters import parameter_names
from tlxviz.launch.model import HostDescriptor, Launch, Tuning
from tlxviz.launch.script import run_script

Runner = Callable[..., Any]
Writer = Callable[..., Path]

MANY = """
@triton.jit
def many(p, i, f, flag, one, nothing, big, default, C: tl.constexpr, D: tl.constexpr = 7):
    value = tl.load(p) + i + f * default + big + one + C + D
    if nothing is None:
        value += 1.0
    tl.store(p, tl.where(flag, value, 0.0))
"""


def values(launch: Launch) -> dict[str, object]:
    return dict(launch.parameters)


def test_tensors_scalars_and_constants(run: Runner):
    body = MANY + "many[(1,)](x, 5, 2.5, True, 1, None, 2**40, 3.0, 11)\n"
    [launch] = run(body).launches
    assert [name for name, _ in launch.parameters] == ["p", "i", "f", "flag", "big", "default"]
    found = values(launch)
    assert isinstance(found["p"], torch.Tensor)
    assert (found["i"], found["f"], found["flag"], found["big"], found["default"]) == (5, 2.5, True, 2**40, 3.0)
    assert launch.arguments["one"] == 1
    assert launch.arguments["nothing"] is None
    assert (launch.arguments["C"], launch.arguments["D"]) == (11, 7)


def test_arguments_by_name_and_defaults(run: Runner):
    body = """
        @triton.jit
        def scaled(p, factor=2.0, offset: int = 3, BLOCK: tl.constexpr = 64):
            at = tl.arange(0, BLOCK)
            tl.store(p + at, tl.load(p + at) * factor + offset)

        scaled[(1,)](p=x)
        scaled[(1,)](x, offset=9, num_warps=8)
    """
    first, second = run(body).launches
    assert {"factor": 2.0, "offset": 3}.items() <= values(first).items()
    assert values(second)["offset"] == 9
    assert 'ttg.num-warps" = 4' in first.ttgir
    assert 'ttg.num-warps" = 8' in second.ttgir


def test_host_descriptors_bring_their_shapes_and_strides(run: Runner):
    body = """
        from triton.tools.tensor_descriptor import TensorDescriptor

        @triton.jit
        def copy(source, target, rows, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
            row = tl.program_id(0) * ROWS
            target.store([row, 0], source.load([row, 0]))

        a = torch.zeros(96, 64, device="cuda", dtype=torch.float16)
        b = torch.zeros(96, 128, device="cuda", dtype=torch.float16)[:, :64]
        source = TensorDescriptor.from_tensor(a, [32, 64])
        target = TensorDescriptor(b, [90, 64], [128, 1], [32, 64], padding="nan")
        copy[(3,)](source, target, 96, 32, 64)
    """
    [launch] = run(body).launches
    names = [name for name, _ in launch.parameters]
    parts = [".shape.0", ".shape.1", ".stride.0", ".stride.1"]
    expected = ["source", *("source" + part for part in parts), "target", *("target" + part for part in parts)]
    assert names == [*expected, "rows"] or names == expected  # `rows` is unused, but stays a parameter in some versions
    source, target = values(launch)["source"], values(launch)["target"]
    assert isinstance(source, HostDescriptor)
    assert isinstance(target, HostDescriptor)
    assert (source.shape, source.strides, source.block, source.padding) == ((96, 64), (64, 1), (32, 64), "zero")
    assert (target.shape, target.strides, target.padding) == ((90, 64), (128, 1), "nan")
    assert [values(launch)["target" + part] for part in parts] == [90, 64, 128, 1]


def test_tuples_are_flattened(run: Runner):
    body = """
        @triton.jit
        def strided(pair, strides, BLOCK: tl.constexpr):
            at = tl.arange(0, BLOCK)
            tl.store(pair[1] + at * strides[1], tl.load(pair[0] + at * strides[0]))

        strided[(1,)]((x, out), (1, 3), BLOCK=32)
    """
    [launch] = run(body).launches
    assert [type(value) for _, value in launch.parameters] == [torch.Tensor, torch.Tensor, int]
    assert launch.parameters[2][1] == 3


def test_the_tensor_handed_on_is_the_scripts_own_memory(write: Writer, device: Device):
    def fill(launch: Launch) -> None:
        dict(launch.parameters)["out_ptr"].copy_(torch.full((1000,), 2.0))

    script = write("""
        out.requires_grad_()
        add[(4,)](x, y, out, 1000, BLOCK=256)
        assert torch.equal(out, x + y)
    """)
    assert run_script(script, [], device, fill) == 0


@pytest.mark.parametrize(
    ("grid", "expected"),
    [("(4,)", (4, 1, 1)), ("[2, 3]", (2, 3, 1)), ("lambda meta: (triton.cdiv(1000, meta['BLOCK']),)", (4, 1, 1))],
)
def test_grids_are_padded(run: Runner, grid: str, expected: tuple[int, int, int]):
    [launch] = run(f"add[{grid}](x, y, out, 1000, BLOCK=256)").launches
    assert launch.grid == expected


def test_an_empty_grid_launches_nothing(run: Runner):
    done = run("add[(0,)](x, y, out, 1000, BLOCK=256)\nadd[(2, 0)](x, y, out, 1000, BLOCK=256)")
    assert done.launches == []
    assert (done.log.executed, done.log.empty) == ({}, {"add": 2})


def test_two_kernels_and_one_of_them_twice(run: Runner):
    body = (
        MANY
        + """
for _ in range(2):
    add[(4,)](x, y, out, 1000, BLOCK=256)
many[(1,)](x, 5, 2.5, True, 1, None, 2, 3.0, 11)
"""
    )
    launches = run(body).launches
    assert [launch.kernel for launch in launches] == ["add", "add", "many"]
    assert launches[0].compile_seconds > 0
    assert launches[1].compile_seconds == 0
    assert launches[0].ttgir == launches[1].ttgir


def test_what_is_known_about_the_kernel(run: Runner):
    [launch] = run("add[(4,)](x, y, out, 1000, BLOCK=256, num_warps=2, num_stages=5)").launches
    assert launch.source.startswith("@triton.jit\ndef add(")
    assert Path(launch.source_file).is_absolute()
    assert Path(launch.source_file).name == "script.py"
    assert launch.source_line == 6
    assert launch.metadata["num_warps"] == 2
    assert launch.metadata["num_stages"] == 5
    assert launch.metadata["shared"] == 0
    assert launch.metadata["target"] == {"backend": "cuda", "arch": 90, "warp_size": 32}
    assert "torch" in launch.versions


def test_hooks_run_before_the_arguments_are_bound(run: Runner):
    body = """
        def hook(*args, **kwargs):
            args[0].fill_(42.0)

        add.add_pre_run_hook(hook)
        add[(4,)](x, y, out, 1000, BLOCK=256)
        assert x[0] == 42
    """
    assert len(run(body).launches) == 1


def test_warmup_compiles_without_a_launch_and_its_result_can_be_launched(run: Runner):
    body = """
        kernel = add.warmup(x, y, out, 1000, BLOCK=256, grid=(1,))
        kernel._init_handles()
        assert kernel.n_regs > 0 and kernel.metadata.shared == 0
        kernel[(4, 1, 1)](x, y, out, 1000, 256)
        kernel[(2, 1, 1)](x, y, out, 1000)
    """
    first, second = run(body).launches
    assert (first.grid, second.grid) == ((4, 1, 1), (2, 1, 1))
    assert values(first)["n"] == 1000
    assert values(first)["x_ptr"].shape == (1000,)


def test_the_first_configuration_stands_in_for_tuning(run: Runner):
    body = """
        def prune(configs, named_args, **kwargs):
            return configs[1:]

        def before(nargs):
            nargs["out_ptr"].fill_(5.0)

        configs = [triton.Config({"BLOCK": b}, num_warps=w, pre_hook=before) for b, w in ((64, 1), (128, 2), (256, 4))]
        options = {"key": ["n"], "reset_to_zero": ["x_ptr"], "prune_configs_by": {"early_config_prune": prune}}
        add = triton.autotune(configs, **options)(add)
        add[lambda meta: (triton.cdiv(1000, meta["BLOCK"]),)](x, y, out, 1000)
        assert add.best_config.kwargs == {"BLOCK": 128}
        assert out[0] == 5 and x[0] == 0
    """
    done = run(body, first_config=True)
    [launch] = done.launches
    assert launch.grid == (8, 1, 1)
    assert launch.arguments["BLOCK"] == 128
    assert (done.log.executed, done.log.tuned) == (
        {"add": 1},
        {"add": Tuning(3, 0, 0, "BLOCK=128, num_warps=2, num_ctas=1, num_stages=3")},
    )


def test_kernels_of_an_imported_module_are_compiled_for_the_device_at_hand(write: Writer, device: Device):
    launches: list[Launch] = []
    write("", name="module_with_kernel.py")
    script = write("import module_with_kernel as m\nm.add[(4,)](m.x, m.y, m.out, 1000, BLOCK=256)\n", prelude="")
    run_script(script, [], device, launches.append)
    run_script(script, [], replace(device, capability=(10, 0)), launches.append)
    assert [launch.metadata["target"]["arch"] for launch in launches] == [90, 100]
    assert all(launch.compile_seconds > 0 for launch in launches)


@pytest.mark.parametrize("call", ["twice", "module.twice"])
def test_a_copy_of_a_script_is_reported_under_its_own_name(
    write: Writer, device: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
):
    """Triton's cache knows a kernel by its source, and gives the copy the code of the original."""
    helper = """
import triton
import triton.language as tl

@triton.jit
def twice(x):
    return x + x
"""
    body = f"""
        import helper_of_copies as module
        from helper_of_copies import twice

        @triton.jit
        def doubled(p):
            at = tl.arange(0, 64)
            tl.store(p + at, {call}(tl.load(p + at)))

        doubled[(1,)](x)
    """
    for folder in ("one", 'the copy µ "of" it'):
        (tmp_path / folder).mkdir()
        launches: list[Launch] = []
        module = write("", prelude=helper, name=f"{folder}/helper_of_copies.py")
        script = write(body, name=f"{folder}/script.py")
        monkeypatch.delitem(sys.modules, "helper_of_copies", raising=False)
        run_script(script, [], device, launches.append)
        [launch] = launches
        files = {str(file).replace("µ", "\\C2\\B5").replace('"', "\\22") for file in (script, module)}
        assert set(re.findall(r'"([^"]*\.py)":', launch.ttgir)) == files
        assert launch.source_file == str(script)


def test_the_file_of_a_kernel_in_ttgir():
    text = """\
#loc = loc("/old/k.py":3:0)
#loc7 = loc("x"(#loc))
module {
  tt.func private @helper() {
  } loc(#loc2)
  tt.func public @k(%x: i32 loc("x"(#loc))) {
    scf.if %x {
    } loc(#loc2)
    tt.return loc(#loc4)
  } loc(#loc7)
} loc(#loc)
#loc2 = loc("/old/helper.py":9:2)
#loc4 = loc(callsite(#loc2 at "/old/k.py":5:4))
"""
    moved = rebased(text, "/new/k.py", ["/new/helper.py", "/new/other.py"])
    assert moved == text.replace("/old/", "/new/")
    assert rebased(text, "/new/k.py", ["/new/helper.py", "/more/helper.py"]) == text.replace("/old/k", "/new/k")
    assert rebased(text, "/new\\é.py") == text.replace('"/old/k.py"', '"/new\\\\\\C3\\A9.py"')
    unknown = text.replace("} loc(#loc7)", "} loc(unknown)")
    assert rebased(unknown, "/new.py") == unknown


def test_torch_function_modes_are_off_while_a_launch_is_executed(write: Writer, device: Device):
    seen: list[str] = []
    script = write("""
        from torch.overrides import TorchFunctionMode

        class Mine(TorchFunctionMode):
            def __torch_function__(self, func, types, args=(), kwargs=None):
                assert func is not torch.Tensor.dot
                return func(*args, **(kwargs or {}))

        with Mine():
            add[(4,)](x, y, out, 1000, BLOCK=256)
            assert x.device.type == "cuda"
    """)

    def execute(launch: Launch) -> None:
        tensor = dict(launch.parameters)["x_ptr"]
        seen.append(tensor.device.type)
        tensor.dot(tensor)

    run_script(script, [], device, execute)
    assert seen == ["cpu"]


def test_a_pointer_that_is_no_tensor_is_refused(run: Runner):
    body = """
        class Pointer:
            dtype = torch.float32
            def data_ptr(self):
                return 4096

        add[(4,)](Pointer(), y, out, 1000, BLOCK=256)
    """
    with pytest.raises(TlxvizError, match="pointer as Pointer"):
        run(body)


def test_reinterpreted_tensors(run: Runner):
    body = """
        octets = torch.zeros(1000, device="cuda", dtype=torch.int8)
        add[(4,)](triton.reinterpret(octets, tl.float8e5), y, out, 1000, BLOCK=256)
    """
    [launch] = run(body).launches
    assert values(launch)["x_ptr"].dtype == torch.float8_e5m2


def test_names_of_parameters_in_ttgir():
    text = (
        "module {\n  tt.func private @helper(%a: i32) { }\n  tt.func public @k(%x: !tt.ptr<f32> "
        '{tt.divisibility = 16 : i32} loc("x(%y: i32"(#loc)), %d.shape.0: i32 loc(fused<"a">["b"])) attributes '
        "{noinline = false} {\n %c = arith.constant 1 : i32\n"
    )
    assert parameter_names(text) == ["x", "d.shape.0"]
    assert parameter_names("tt.func public @k() {\n%a: i32\n") == []
    with pytest.raises(TlxvizError, match="no public function"):
        parameter_names("module {}")


def test_launches_in_c_are_caught_too(run: Runner, monkeypatch: pytest.MonkeyPatch):
    for name in ("TRITON_USE_C_DISPATCHER", "TRITON_AUTOTUNE_USE_C_CACHE", "TRITON_ENABLE_C_CACHE"):
        monkeypatch.setenv(name, "1")
    body = """
        tuned = triton.autotune([triton.Config({"BLOCK": block}) for block in (64, 128)], key=["n"])(add)
        for n in (1000, 1000, 999):
            add[(4,)](x, y, out, n, BLOCK=256)
            tuned[(16,)](x, y, out, n)
            tuned[lambda meta: (16,)](x, y, out, n)
    """
    done = run(body)
    assert done.log.executed == {"add": 9}
    assert os.environ["TRITON_USE_C_DISPATCHER"] == "1"


def test_tensors_of_the_host_are_refused_as_on_a_gpu(run: Runner):
    body = """
        import pytest
        for wrong, at in (((x.cpu(), y, out), 0), ((x, y, torch.empty(1000)), 2)):
            with pytest.raises(ValueError, match=r"Pointer argument \\(at %d\\) cannot be accessed from Triton" % at):
                add[(4,)](*wrong, 1000, BLOCK=256)
        add[(4,)](x.cpu().pin_memory(), y, out, 1000, BLOCK=256)
        add[(4,)](x.cpu().cuda(), y, torch.empty(0), 0, BLOCK=256)
    """
    assert run(body).log.executed == {"add": 2}
