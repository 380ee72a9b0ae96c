"""Printing, asserts, assembly, device functions, and who a program is."""

from __future__ import annotations

import pytest
import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx
from kernel_runner import executes, run_kernel
from triton.language.extra import libdevice

from tlxviz.sim.errors import DeviceAssertError


@triton.jit
def who(out):
    x, y, z = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    a, b, c = tl.num_programs(0), tl.num_programs(1), tl.num_programs(2)
    place = (x * b + y) * c + z
    tl.store(out + place, a * 100 + b * 10 + c)


@executes("tt.get_program_id", "tt.get_num_programs", "tt.func", "tt.return", "builtin.module")
def test_programs_of_a_grid():
    out = torch.zeros(24, dtype=torch.int32)
    run_kernel(who, (2, 3, 4), out)
    assert out.tolist() == [234] * 24


@triton.jit
def threads(out):
    number = tlx.thread_id(axis=0)
    if number == 0:
        tl.store(out, 5)
    tl.store(out + 1, tlx.thread_id(axis=1))


@executes("gpu.thread_id")
def test_the_first_thread_speaks():
    out = torch.full((2,), -1, dtype=torch.int32)
    run_kernel(threads, (1,), out)
    assert out.tolist() == [5, 0]


@triton.jit
def printing(x, n):
    i = tl.arange(0, 16)
    tl.device_print("values", tl.load(x + i), i)
    tl.device_print("number", n)
    tl.device_print("in hex", i - 1, hex=True)
    tl.device_print("pointer", x)
    tl.device_print("alone")


@executes("tt.print")
def test_prints(capsys: pytest.CaptureFixture[str]):
    x = torch.arange(16) * 1.5
    run_kernel(printing, (1,), x, 7)
    lines = capsys.readouterr().out.splitlines()
    wanted = [f"pid (0, 0, 0) idx ({i:2}) values: (operand 0) {i * 1.5:f}" for i in range(16)]
    wanted += [f"pid (0, 0, 0) idx ({i:2}) values: (operand 1) {i}" for i in range(16)]
    wanted += ["pid (0, 0, 0) idx () number: 7", "pid (0, 0, 0) idx ( 0) in hex: 0xffffffff"]
    wanted += [f"pid (0, 0, 0) idx ({i:2}) in hex: 0x{i - 1:08x}" for i in range(1, 16)]
    wanted += [f"pid (0, 0, 0) idx () pointer: 0x{x.data_ptr():016x}", "pid (0, 0, 0) alone"]
    assert [line.rstrip() for line in lines] == [line.rstrip() for line in wanted]


@triton.jit
def asserting(x, limit):
    i = tl.arange(0, 64)
    tl.device_assert(tl.load(x + i) < limit, "too large")
    tl.device_assert(limit > 0, "no limit")
    tl.device_assert(i >= 0)


@executes("tt.assert")
def test_asserts():
    x = torch.arange(64)
    run_kernel(asserting, (1,), x, 64, debug=True)
    with pytest.raises(DeviceAssertError, match="too large"):
        run_kernel(asserting, (1,), x, 63, debug=True)
    with pytest.raises(DeviceAssertError, match=r"program \(0, 0, 0\): no limit"):
        run_kernel(asserting, (1,), x - 100, -20, debug=True)


@triton.jit
def assembled(x, out, number, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)
    double = tl.inline_asm_elementwise("add.f32 $0, $1, $1;", "=f,f", [a], dtype=tl.float32, is_pure=True, pack=1)
    tl.store(out + i, double)
    low, high = tl.inline_asm_elementwise(
        "{ min.s32 $0, $2, $3; max.s32 $1, $2, $3; }",
        "=r,=r,r,r",
        [i, N // 2 - i],
        dtype=(tl.int32, tl.int32),
        is_pure=True,
        pack=1,
    )
    tl.store(out + N + i, (low * 1000 + high).to(tl.float32))
    bits = tl.inline_asm_elementwise("popc.b32 $0, $1;", "=r,r", [number], dtype=tl.int32, is_pure=False, pack=1)
    tl.store(out + 2 * N, bits.to(tl.float32))


@executes("tt.elementwise_inline_asm")
def test_inline_assembly():
    n = 64
    x, out = torch.randn(n), torch.zeros(3, n)
    run_kernel(assembled, (1,), x, out, 0b1011011, N=n)
    i = torch.arange(n)
    other = n // 2 - i
    assert torch.equal(out[0], x + x)
    assert torch.equal(out[1], (torch.minimum(i, other) * 1000 + torch.maximum(i, other)).float())
    assert out[2, 0] == 5


@triton.jit
def functions(x, out, number, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)
    tl.store(out + i, libdevice.tanh(a))
    tl.store(out + N + i, libdevice.pow(tl.abs(a), a))
    tl.store(out + 2 * N + i, libdevice.rint(a))
    tl.store(out + 3 * N, libdevice.asin(number))
    tl.store(out + 4 * N + i, libdevice.atan2(a, number))


@executes("tt.extern_elementwise", "math.absf")
def test_functions_of_libdevice():
    n = 64
    x, out = torch.randn(n) * 2, torch.zeros(5, n)
    run_kernel(functions, (1,), x, out, 0.25, N=n)
    wanted = [x.tanh(), x.abs().pow(x), x.round(), None, torch.atan2(x, torch.tensor(0.25))]
    for number, tensor in enumerate(wanted):
        if tensor is not None:
            torch.testing.assert_close(out[number], tensor)
    torch.testing.assert_close(out[3, 0], torch.tensor(0.25).asin())


@triton.jit
def typical(x, out, n, N: tl.constexpr):
    i = tl.arange(0, N)
    inside = i < n
    a = tl.load(x + i, mask=inside, other=-float("inf"))
    e = tl.exp(a - tl.max(a, 0))
    tl.store(out + i, e / tl.sum(e, 0), mask=inside)
    b = tl.clamp(a, -1.0, 1.0)
    tl.store(out + N + i, tl.sqrt(tl.abs(b)) + tl.math.fma(b, b, b) + tl.sigmoid(b) + tl.log2(tl.exp2(b)), mask=inside)
    tl.store(
        out + 2 * N + i, tl.rsqrt(b * b + 1.0) + tl.floor(b * 3) - tl.ceil(b * 2) + tl.sin(b) * tl.cos(b), mask=inside
    )
    tl.store(
        out + 3 * N + i, tl.erf(b) + tl.log(2.0 + b) - tl.math.div_rn(b, 3.0) + tl.math.sqrt_rn(2.0 + b), mask=inside
    )


@executes("math.exp2", "math.log2", "math.sqrt", "math.log", "arith.maxnumf", "tt.reduce", "arith.divf", "math.fma")
def test_softmax_and_other_float_functions():
    n, size = 50, 64
    x, out = torch.randn(size) * 2, torch.zeros(4, size)
    run_kernel(typical, (1,), x, out, n, N=size)
    a = x[:n]
    b = a.clamp(-1, 1)
    torch.testing.assert_close(out[0, :n], a.softmax(0))
    torch.testing.assert_close(out[1, :n], b.abs().sqrt() + b * b + b + b.sigmoid() + b, rtol=1e-5, atol=1e-5)
    second = (b * b + 1).rsqrt() + (b * 3).floor() - (b * 2).ceil() + b.sin() * b.cos()
    torch.testing.assert_close(out[2, :n], second, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(out[3, :n], b.erf() + (2 + b).log() - b / 3 + (2 + b).sqrt(), rtol=1e-5, atol=1e-5)
    assert bool((out[:, n:] == 0).all())


@triton.jit
def random_numbers(out, seed, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(out + i, tl.randint(seed, i))


def philox(seed: int, counter: int) -> int:
    """The first number of Philox 4x32 with ten rounds."""
    mask = 0xFFFFFFFF
    c, k = [counter, 0, 0, 0], [seed & mask, seed >> 32]
    for _ in range(10):
        a, b = c[0] * 0xD2511F53, c[2] * 0xCD9E8D57
        c = [b >> 32 ^ c[1] ^ k[0], b & mask, a >> 32 ^ c[3] ^ k[1], a & mask]
        k = [(k[0] + 0x9E3779B9) & mask, (k[1] + 0xBB67AE85) & mask]
    return c[0]


@executes("tt.mulhiui", "arith.xori", "arith.muli")
def test_random_numbers():
    out = torch.zeros(256, dtype=torch.int64)
    run_kernel(random_numbers, (2,), out, 0x1234567, N=128)
    assert (out & 0xFFFFFFFF).tolist() == [philox(0x1234567, i) for i in range(256)]
