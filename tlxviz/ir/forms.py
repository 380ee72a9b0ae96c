"""How operations print their operands, and what each operand is called in `Operation.groups`.

`FORMS` is the table of names: a format (`formats.py` explains its words) shows the parts in printed order, `$part` a
key of `groups`, `@key` and `!key` a key of `attributes`. An optional part that is not printed is a missing key. An
operation without a row prints plain `%a, %b` and has `operands` only: nearly all of arith, math and elementwise tt.
What stands in `{...}` and `<{...}>` is in `attributes` under its own name, such as `pendings`, `order`, `isAsync`,
`inputPrecision`, `is_async`, `perThread`, `axis`; a name without a value is True.

Values: `attributes["axis"]` of program ids and thread ids is 0, 1 or 2. `arith.constant` has `attributes["value"]`, an
int, float, bool or `Dense`. `overflow<nsw>` and `fastmath<fast>` are strings under these names.

What has no row because it is no plain line:

| operation | groups | attributes, regions |
| --- | --- | --- |
| `tt.func` | | `sym_name`, `sym_visibility`, `result_types`, `arg_attributes` (a dict for each argument), `noinline` |
| `scf.for` | `lower`, `upper`, `step`, `init` | `unsigned`; arguments: the variable, then the carried values |
| `scf.while` | `init` | two regions; the first one's arguments are the carried values |
| `scf.if` | `condition` | one region or two |
| `cf.br` | `args` | `successors`: labels of blocks without `^` |
| `cf.cond_br` | `condition`, `true_args`, `false_args` | `successors` |
| `tt.reduce`, `tt.scan`, `tt.map_elementwise`, all in quotes | | one region; `operands` only |
| `ttg.warp_specialize` | `captures` | `requestedRegisters`...; regions `default`, `partition0`... with `num_warps` |
"""

from __future__ import annotations

from dataclasses import dataclass

from tlxviz.ir.formats import Format


@dataclass(frozen=True, slots=True)
class Form:
    """The printed form of one operation."""

    format: Format | None
    """None: plain `%a, %b`, without groups."""
    result: str = "auto"
    """Rule for the types of the results (`results.py`)."""
    typed: bool = True
    """Whether the operation prints ` : ` and types where it prints operands."""
    needs: tuple[str, ...] = ()
    """Attributes that the dictionary must give."""


def _form(text: str | None, result: str = "auto", *, typed: bool = True, needs: tuple[str, ...] = ()) -> Form:
    return Form(Format(text) if text is not None else None, result, typed, needs)


PLAIN = _form(None)
_MMA = "$a , $b , $d ( [ ( $token )? ] )?"

FORMS: dict[str, Form] = {
    # arith, math, gpu
    "arith.divsi": _form("$lhs , $rhs !exact"),
    "arith.divui": _form("$lhs , $rhs !exact"),
    "arith.shrsi": _form("$lhs , $rhs !exact"),
    "arith.shrui": _form("$lhs , $rhs !exact"),
    "arith.ori": _form("$lhs , $rhs !disjoint"),
    "arith.cmpi": _form("@predicate:word , $lhs , $rhs", "compare"),
    "arith.cmpf": _form("@predicate:word , $lhs , $rhs", "compare"),
    "arith.extui": _form("!nneg $src"),
    "arith.uitofp": _form("!nneg $src"),
    "arith.select": _form("$condition , $true , $false", "last"),
    "gpu.thread_id": _form("@axis:word ( upper_bound @upper_bound:int )?", "index", typed=False),
    "ub.poison": _form(""),
    "nvg.cluster_id": _form("", "i32", typed=False),
    # scf terminators; branches are read by `statements.py`
    "scf.condition": _form("'(' $condition ')' $args*", typed=False),
    "scf.yield": _form("$values*"),
    # tt
    "tt.make_range": _form(None, needs=("start", "end")),
    "tt.expand_dims": _form(None, needs=("axis",)),
    "tt.trans": _form(None, needs=("order",)),
    "tt.get_program_id": _form("@axis:word"),
    "tt.get_num_programs": _form("@axis:word"),
    "tt.reshape": _form("$src !allow_reorder !efficient_layout"),
    "tt.load": _form("$ptr ( , $mask ( , $other )? )? hints", "pointee"),
    "tt.store": _form("$ptr , $value ( , $mask )? hints"),
    "tt.addptr": _form("$ptr , $offset", "first"),
    "tt.atomic_rmw": _form("@rmw_op:word , @sem:word , @scope:word , $ptr , $value ( , $mask )?"),
    "tt.atomic_cas": _form("@sem:word , @scope:word , $ptr , $cmp , $value"),
    "tt.dot": _form("$a , $b , $c ( , inputPrecision = @inputPrecision:word )? hints"),
    "tt.dot_scaled": _form("$a ( scale $a_scale )? , $b ( scale $b_scale )? , $c lhs = @lhs:word rhs = @rhs:word"),
    "tt.clampf": _form("$x , $min , $max ( , propagateNan = @propagateNan:word )?"),
    "tt.fp_to_fp": _form("$src ( , rounding = @rounding:word )?"),
    "tt.call": _form("'@' @callee:symbol '(' $args* ')'"),
    "tt.return": _form("$values*"),
    "tt.reduce.return": _form("$values*"),
    "tt.scan.return": _form("$values*"),
    "tt.map_elementwise.return": _form("$values*"),
    "tt.unsplat": _form("$src", "element"),
    "tt.print": _form("@prefix:string ( : $args* )?", typed=False),
    "tt.assert": _form("$condition , @message:string"),
    "tt.elementwise_inline_asm": _form("@asm_string:string $args*", needs=("constraints",)),
    "tt.extern_elementwise": _form("$args*", needs=("symbol",)),
    "tt.gather": _form("$src [ $indices ]"),
    "tt.histogram": _form("$src ( , $mask )?"),
    "tt.make_tensor_descriptor": _form("$base , [ $shape* ] , [ $strides* ]", "last"),
    "tt.descriptor_load": _form("$desc [ $coords* ] hints"),
    "tt.descriptor_store": _form("$desc [ $coords* ] , $src hints"),
    "tt.descriptor_reduce": _form("@kind:word , $desc [ $coords* ] , $src"),
    "tt.descriptor_gather": _form("$desc [ $x_offsets , $y_offset ]"),
    "tt.descriptor_scatter": _form("$desc [ $x_offsets , $y_offset ] , $src"),
    # ttg
    "ttg.fp4_to_fp": _form(None, needs=("axis",)),
    "ttg.local_alloc": _form("( $init )?"),
    "ttg.local_dealloc": _form("$src"),
    "ttg.local_load": _form("$src ( token $token )?"),
    "ttg.local_store": _form("$value , $dst"),
    "ttg.local_gather": _form("$src [ $indices ] ( token $token )?"),
    "ttg.local_scatter": _form("$dst [ $indices ] , $value"),
    "ttg.local_atomic_scatter_rmw": _form("@rmw_op:word , $dst [ $indices ] , $value ( , $mask )?"),
    "ttg.memdesc_index": _form("$src [ $index ]"),
    "ttg.memdesc_subslice": _form("$src [ @offsets:ints ]"),
    "ttg.memdesc_trans": _form("$src", needs=("order",)),
    "ttg.memdesc_reshape": _form("$src"),
    "ttg.memdesc_reinterpret": _form("$src"),
    "ttg.async_copy_global_to_local": _form(
        "$ptr , $dst ( mask $mask )? ( other $other )? ( bulk_size $bulk_size type )? ( barrier $barrier type )? hints",
        "token",
    ),
    "ttg.async_commit_group": _form("( tokens $tokens* )?", "token", typed=False),
    "ttg.async_wait": _form("$tokens*", "token", typed=False, needs=("num",)),
    "ttg.async_remote_shmem_store": _form("$src , rank $rank , $dst ( barrier $barrier )?"),
    "ttg.async_remote_shmem_copy": _form("$src , rank $rank , $dst ( barrier $barrier )?"),
    "ttg.remote_shmem_store": _form("$src , rank $rank , $dst"),
    "ttg.barrier": _form("@space:flags", typed=False),
    "ttg.clock64": _form("", "i64", typed=False),
    "ttg.warp_id": _form("", "i32", typed=False),
    "ttg.warp_return": _form("", typed=False),
    "ttg.warp_yield": _form("$values*"),
    # ttng: barriers
    "ttng.init_barrier": _form("$barrier , @count:int"),
    "ttng.inval_barrier": _form("$barrier"),
    "ttng.wait_barrier": _form("$barrier , $phase ( , $pred )? ( deps $deps* )?"),
    "ttng.arrive_barrier": _form("$barrier , @count:int ( , $pred )?"),
    "ttng.async_copy_mbarrier_arrive": _form("$barrier"),
    "ttng.barrier_expect": _form("$barrier , @bytes:int , $pred"),
    "ttng.wait_barrier_named": _form("$barrier , $threads"),
    "ttng.arrive_barrier_named": _form("$barrier , $threads"),
    # what triton-utlx keeps of its own in TTGIR: three that fbtriton has in ttng, and those that `aliases.py` replaces
    "tlx.warp_barrier_arrive": _form("$barrier , @count:int"),
    "tlx.named_barrier_wait": _form("$barrier , $threads", typed=False),
    "tlx.named_barrier_arrive": _form("$barrier , $threads", typed=False),
    "tlx.storage_alias_spec": _form("storage = @storage:word ( , size = @size:int )?"),
    "tlx.storage_alias_local_alloc": _form("$storage"),
    "tlx.local_alias": _form("$src"),
    "ttng.fence": _form("", typed=False),
    "ttng.fence_async_shared": _form("", typed=False),
    "ttng.fence_mbarrier_init_release_cluster": _form("", typed=False),
    "ttng.cluster_arrive": _form("", typed=False),
    "ttng.cluster_wait": _form("", typed=False),
    "ttng.cluster_barrier": _form("", typed=False),
    "ttng.cluster_size_1d": _form("", "i32", typed=False),
    "ttng.map_to_remote_buffer": _form("$src , $rank"),
    # ttng: TMA
    "ttng.async_tma_copy_global_to_local": _form("$desc [ $coords* ] $dst , $barrier , $pred ( , $multicast )? hints"),
    "ttng.async_tma_copy_local_to_global": _form("$desc [ $coords* ] $src hints", "token"),
    "ttng.async_tma_reduce": _form("@kind:word , $desc [ $coords* ] $src hints", "token"),
    "ttng.async_tma_gather": _form("$desc [ $x_offsets , $y_offset ] $dst , $barrier , $pred hints"),
    "ttng.async_tma_scatter": _form("$desc [ $x_offsets , $y_offset ] $src hints", "token"),
    "ttng.async_tma_prefetch": _form("$desc [ $coords* ] , $pred hints"),
    "ttng.async_tma_store_wait": _form("", typed=False, needs=("pendings",)),
    "ttng.async_tma_store_token_wait": _form("$token pairs:barriers:barrier_preds"),
    "ttng.tensormap_create": _form(
        "$desc , $global_address , [ $box_dim* ] , [ $global_dim* ] , [ $global_stride* ] , [ $element_stride* ]"
    ),
    "ttng.tensormap_fenceproxy_acquire": _form("$desc"),
    "ttng.reinterpret_tensor_descriptor": _form("$desc"),
    "ttng.prefetch_tensormap": _form("$desc"),
    "ttng.prefetch": _form("$ptr ( , $mask )? hints"),
    "ttng.async_store": _form("$src , $dst , $size"),
    # ttng: MMA and tensor memory
    "ttng.warp_group_dot": _form("$a , $b , $c ( , $use_c )?"),
    "ttng.warp_group_dot_wait": _form("$inputs*", needs=("pendings",)),
    "ttng.tc_gen5_mma": _form(_MMA + " , $use_d , $pred pairs:barriers:barrier_preds", "token"),
    "ttng.tc_gen5_mma_scaled": _form(
        _MMA + " , $a_scale , $b_scale , $use_d , $pred lhs = @lhs:word rhs = @rhs:word pairs:barriers:barrier_preds",
        "token",
    ),
    "ttng.tc_gen5_commit": _form("$barrier ( , $pred )? ( descs $descs* )?"),
    "ttng.tmem_alloc": _form("( $init )?", "token_last"),
    "ttng.tmem_load": _form("$src ( [ ( $token )? ] )?", "token_last"),
    "ttng.tmem_store": _form("$value , $dst ( [ ( $token )? ] )? , $pred", "token"),
    "ttng.tmem_subslice": _form("$src", needs=("N",)),
    "ttng.tmem_copy": _form("$src , $dst ( , $barrier )?"),
    # ttng: cluster launch control
    "ttng.async_clc_try_cancel": _form("$barrier , $response"),
    "ttng.clc_query_cancel": _form("$response"),
    "ttng.vote_ballot_sync": _form("$mask , $pred"),
}

AXES = {"x": 0, "y": 1, "z": 2}
