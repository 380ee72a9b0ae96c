"""The kernels behind `hopper.ttgir`, `blackwell.ttgir` and `plain.ttgir`; `python pipelines.py` compiles them again."""

import re
from pathlib import Path

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

HERE = Path(__file__).parent


@triton.jit
def hopper(a_desc, b_desc, c_desc, K, ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr):
    """One tile: a load task, two MMA tasks that share B."""
    a_tiles = tlx.local_alloc((ROWS, DEPTH), tl.float16, 4)
    b_tiles = tlx.local_alloc((DEPTH, COLUMNS), tl.float16, 2)
    a_full = tlx.alloc_barriers(num_barriers=4, arrive_count=1)
    b_full = tlx.alloc_barriers(num_barriers=2, arrive_count=1)
    empty = tlx.alloc_barriers(num_barriers=2, arrive_count=2)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            row = tl.program_id(0) * 2 * ROWS
            for k in range(tl.cdiv(K, DEPTH)):
                slot = k % 2
                tlx.barrier_wait(empty[slot], (k // 2 & 1) ^ 1)
                tlx.barrier_expect_bytes(b_full[slot], 2 * DEPTH * COLUMNS)
                tlx.async_descriptor_load(b_desc, b_tiles[slot], [k * DEPTH, 0], b_full[slot])
                for half in tl.static_range(2):
                    tlx.barrier_expect_bytes(a_full[slot + 2 * half], 2 * ROWS * DEPTH)
                    tlx.async_descriptor_load(
                        a_desc, a_tiles[slot + 2 * half], [row + half * ROWS, k * DEPTH], a_full[slot + 2 * half]
                    )
        with tlx.async_task(num_warps=4, num_regs=232, replicate=2):
            half = tlx.async_task_replica_id()
            acc = tl.zeros((ROWS, COLUMNS), tl.float32)
            for k in range(tl.cdiv(K, DEPTH)):
                slot = k % 2
                tlx.barrier_wait(a_full[slot + 2 * half], k // 2 & 1)
                tlx.barrier_wait(b_full[slot], k // 2 & 1)
                acc = tlx.async_dot(a_tiles[slot + 2 * half], b_tiles[slot], acc)
                acc = tlx.async_dot_wait(0, acc)
                tlx.barrier_arrive(empty[slot])
            c_desc.store([(tl.program_id(0) * 2 + half) * ROWS, 0], acc.to(tl.float16))


@triton.jit
def blackwell(a_desc, b_desc, c_desc, K, ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr):
    """One tile: the epilogue, one warp for the MMAs, one for the loads."""
    a_tiles = tlx.local_alloc((ROWS, DEPTH), tl.float16, 2)
    b_tiles = tlx.local_alloc((DEPTH, COLUMNS), tl.float16, 2)
    acc = tlx.local_alloc((ROWS, COLUMNS), tl.float32, 1, tlx.storage_kind.tmem)
    full = tlx.alloc_barriers(num_barriers=2, arrive_count=1)
    empty = tlx.alloc_barriers(num_barriers=2, arrive_count=1)
    done = tlx.alloc_barriers(num_barriers=1, arrive_count=1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tlx.barrier_wait(done[0], 0)
            result = tlx.local_load(acc[0])
            c_desc.store([tl.program_id(0) * ROWS, 0], result.to(tl.float16))
        with tlx.async_task(num_warps=1, num_regs=24):
            for k in range(tl.cdiv(K, DEPTH)):
                slot = k % 2
                tlx.barrier_wait(full[slot], k // 2 & 1)
                tlx.async_dot(a_tiles[slot], b_tiles[slot], acc[0], use_acc=k > 0, mBarriers=[empty[slot]])
            tlx.tcgen05_commit(done[0])
        with tlx.async_task(num_warps=1, num_regs=24):
            for k in range(tl.cdiv(K, DEPTH)):
                slot = k % 2
                tlx.barrier_wait(empty[slot], (k // 2 & 1) ^ 1)
                tlx.barrier_expect_bytes(full[slot], 2 * DEPTH * (ROWS + COLUMNS))
                tlx.async_descriptor_load(a_desc, a_tiles[slot], [tl.program_id(0) * ROWS, k * DEPTH], full[slot])
                tlx.async_descriptor_load(b_desc, b_tiles[slot], [k * DEPTH, 0], full[slot])


@triton.jit(noinline=True)
def scaled(x, factor):
    return x * factor


@triton.jit
def plain(source, target, n, factor, BLOCK: tl.constexpr):
    """No warp specialisation: a loop, a reduction, a function that is not inlined, an early return."""
    if tl.program_id(0) > n:
        return
    offsets = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n, BLOCK):
        inside = start + offsets < n
        total += tl.load(source + start + offsets, mask=inside, other=float("-inf"))
    tl.store(target + tl.program_id(0), scaled(tl.max(total, axis=0), factor))


def compiled(kernel, signature: dict[str, str], constants: dict[str, int], capability: int) -> str:
    """The TTGIR of `kernel`, with this file's name for its path."""
    signature |= dict.fromkeys(constants, "constexpr")
    keys = {(kernel.arg_names.index(name),): value for name, value in constants.items()}
    source = ASTSource(kernel, signature, keys)
    ttgir = triton.compile(source, target=GPUTarget("cuda", capability, 32)).asm["ttgir"]
    return re.sub(r'"/[^"]*/([^"/]+\.py)"', r'"\1"', ttgir)


def main() -> None:
    shape = {"ROWS": 64, "COLUMNS": 128, "DEPTH": 64}
    tiles = {
        "a_desc": "tensordesc<fp16[64, 64]>",
        "b_desc": "tensordesc<fp16[64, 128]>",
        "c_desc": "tensordesc<fp16[64, 128]>",
        "K": "i32",
    }
    (HERE / "hopper.ttgir").write_text(compiled(hopper, dict(tiles), shape, 90))
    tiles |= {"a_desc": "tensordesc<fp16[128, 64]>", "c_desc": "tensordesc<fp16[128, 128]>"}
    (HERE / "blackwell.ttgir").write_text(compiled(blackwell, dict(tiles), shape | {"ROWS": 128}, 100))
    arguments = {"source": "*fp32", "target": "*fp32", "n": "i32", "factor": "fp32"}
    (HERE / "plain.ttgir").write_text(compiled(plain, arguments, {"BLOCK": 256}, 90))


if __name__ == "__main__":
    main()
