"""Every operation that the compiler makes of kernels for Hopper and Blackwell has semantics and a test."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tlxviz.sim.semantics import supported_operations

# What was counted in the TTGIR of 129 kernels compiled for sm_90.
HOPPER = {
    "builtin": "module",
    "arith": "addf addi andi cmpi constant divf divsi divui extf extsi extui index_cast maxnumf maxsi minsi "
    "mulf muli ori remsi select shli sitofp subf subi truncf trunci xori",
    "cf": "cond_br",
    "gpu": "thread_id",
    "math": "exp2 log log2 sqrt",
    "nvg": "cluster_id",
    "scf": "condition for if while yield",
    "tt": "addptr atomic_rmw broadcast dot elementwise_inline_asm expand_dims func get_num_programs "
    "get_program_id load make_range reduce reduce.return reshape return splat split store trans",
    "ttg": "async_commit_group async_copy_global_to_local async_remote_shmem_copy async_remote_shmem_store "
    "async_wait barrier clock64 convert_layout "
    "global_scratch_alloc local_alloc local_dealloc local_gather local_load local_scatter local_store "
    "memdesc_index memdesc_reinterpret memdesc_subslice memdesc_trans remote_shmem_store warp_return warp_specialize "
    "warp_yield",
    "ttng": "arrive_barrier arrive_barrier_named async_store async_tma_copy_global_to_local "
    "async_tma_copy_local_to_global async_tma_prefetch async_tma_store_token_wait "
    "async_tma_store_wait barrier_expect cluster_arrive cluster_size_1d cluster_wait fence "
    "fence_async_shared fence_mbarrier_init_release_cluster init_barrier inval_barrier map_to_remote_buffer prefetch "
    "prefetch_tensormap reinterpret_tensor_descriptor tensormap_create tensormap_fenceproxy_acquire "
    "vote_ballot_sync wait_barrier wait_barrier_named warp_group_dot warp_group_dot_wait",
}
# What kernels compiled for sm_100 have besides.
BLACKWELL = {
    "ttng": "async_clc_try_cancel clc_query_cancel tc_gen5_commit tc_gen5_mma tc_gen5_mma_scaled tmem_alloc tmem_copy "
    "tmem_load tmem_store tmem_subslice",
}
FRAMES = {"builtin.module", "tt.func"}
"""Operations that hold others and have no semantics of their own."""
NAMES = [
    f"{dialect}.{name}" for table in (HOPPER, BLACKWELL) for dialect, names in table.items() for name in names.split()
]


def executed() -> set[str]:
    """The operations that tests say of themselves to execute, which `executes` holds them to."""
    found: set[str] = set()
    for path in Path(__file__).parents[1].rglob("test_*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        tables = {
            target.id: node.value
            for node in tree.body
            if isinstance(node, (ast.Assign, ast.AnnAssign))
            for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
            if isinstance(target, ast.Name)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "executes":
                for argument in node.args:
                    found.update(_strings(argument, tables))
    return found


def _strings(node: ast.expr, tables: dict[str, ast.expr | None]) -> set[str]:
    if isinstance(node, ast.Constant):
        return {str(node.value)}
    table = tables[node.value.id] if isinstance(node, ast.Starred) and isinstance(node.value, ast.Name) else None
    assert isinstance(table, ast.Dict), "arguments of executes() are names, or the keys of a table"
    return {key.value for key in table.keys if isinstance(key, ast.Constant) and isinstance(key.value, str)}


EXECUTED = executed()


@pytest.mark.parametrize("name", NAMES)
def test_every_operation_is_executed(name: str):
    assert name in supported_operations() | FRAMES
    assert name in EXECUTED


def test_what_tests_execute_is_supported():
    assert EXECUTED - supported_operations() <= FRAMES
