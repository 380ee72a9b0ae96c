"""PTX and SASS read as instructions, and the pieces that they fall into: samples whose answers are read off."""

from __future__ import annotations

from tlxviz.launch.kernels.code import of_ptx, of_sass
from tlxviz.launch.kernels.listing import Instruction, instructions, read_ptx, read_sass
from tlxviz.launch.kernels.written import written

PTX = """
.visible .entry kernel(
	.param .u64 kernel_param_0
)
.reqntid 256
{
	.loc	1 10 0                          // k.py:10:0
	mov.u32 	%r1, %tid.x;
	@!%p1 bra 	$L__BB0_2;
// %bb.1:
	barrier.sync 	1;
	barrier.sync 	1;
	bar.sync 	0, 128;
	barrier.sync 	1;
	ret;
$L__BB0_2:
	barrier.sync 	1;
	$L_brx_0: .branchtargets
		$L__BB0_3,
		$L__BB0_6;
	brx.idx 	%r7, $L_brx_0;
$L__BB0_3:
	barrier.sync 	1;
$L__BB0_4:                              // outer loop
	.loc	1 20 5                          // k.py:20:5
	bar.sync 	2, 128;
$L__BB0_5:                              // inner loop
	.loc	1 21 9                          // k.py:21:9
	.loc	2 43 13, function_name $L__info_string0, inlined_at 1 21 9 // lib.py:43:13
	// begin inline asm

{
	.reg .pred complete;
	.loc	2 46 13                         // lib.py:46:13
	waitLoop:
	.loc	2 47 13                         // lib.py:47:13
	mbarrier.try_wait.parity.shared::cta.b64 complete, [%r93], %r95;
	@!complete bra.uni waitLoop;
}

	// end inline asm
	bar.sync 	2, 128;
	bar.sync 	2, 128;
	.loc	2 50 1, function_name $L__info_string1, inlined_at 2 43 13 // lib.py:50:1
	bar.sync 	9, 256;
	@%p2 bra 	$L__BB0_5;
	@%p3 bra 	$L__BB0_4;
	.loc	1 0 5                           // k.py:0:5
	@%p4 mbarrier.arrive.shared::cta.b64 _, [%r2];
	barrier.sync 	1;
	bra.uni 	$L__BB0_2;
$L__BB0_6:
	barrier.sync 	1;
	.loc	1 30 5                          // k.py:30:5
	cp.async.bulk.wait_group.read 	0;
	barrier.sync 	1;
	bra.uni 	$L__BB0_2;
}
"""


def at(name: str, line: int, loops: int = 0, **more: int | bool) -> dict[str, object]:
    """An entry of `operations`."""
    plain: dict[str, object] = {"name": name, "number": -1, "threads": 0, "line": line, "loops": loops}
    return plain | {"innermost": False, "count": 1, "bytes": 0} | more


def test_code_of_tasks_comes_apart_where_all_warps_meet():
    found = of_ptx(PTX)
    bodies = [[each for each in piece["operations"] if each["number"] != 1] for piece in found]
    assert [body for body in bodies if body] == [
        [at("bar.sync", 10, number=0, threads=128)],
        [
            at("bar.sync", 20, loops=1, number=2, threads=128),
            at("mbarrier.try_wait", 21, loops=2, innermost=True),
            at("bar.sync", 21, loops=2, innermost=True, number=2, threads=128, count=2),
            at("bar.sync", 21, loops=2, innermost=True, number=9, threads=256),
            at("mbarrier.arrive", 0),
        ],
        [at("cp.async.bulk.wait_group", 30)],
    ]
    assert [piece["entry"] for piece in found] == [True] + [False] * (len(found) - 1)
    (task,) = (piece for piece in found if [2, 128] in piece["meetings"])
    assert task["lines"] == [20, 21]


def test_jumps_through_a_table_but_not_within_assembly():
    jumps = [each for each in instructions(read_ptx(PTX)) if each.name.startswith(("brx", "bra"))]
    assert [(each.targets, each.goes_on) for each in jumps] == [
        (("$L__BB0_2",), True),
        (("$L__BB0_3", "$L__BB0_6"), False),
        (("$L__BB0_5",), True),
        (("$L__BB0_4",), True),
        (("$L__BB0_2",), False),
        (("$L__BB0_2",), False),
    ]


MERGED = """
.visible .entry kernel(
)
{
	.loc	1 10 0
	barrier.sync 	1;
	.loc	1 20 0
	bar.sync 	2, 128;
	mov.u32 	%r1, 2;
	bra.uni 	$L__BB0_3;
$L__BB0_2:
	barrier.sync 	1;
	.loc	1 20 0
	bar.sync 	3, 128;
	mov.u32 	%r1, 3;
$L__BB0_3:
	.loc	1 21 0
	bar.sync 	%r1, 128;
	barrier.sync 	1;
	bra.uni 	$L__BB0_2;
}
"""


def test_what_two_tasks_share_is_a_piece_of_its_own():
    """As where LLVM lets equal code of two tasks end in one, the number of their barrier in a register."""
    found = [[each for each in piece["operations"] if each["number"] != 1] for piece in of_ptx(MERGED)]
    assert [body for body in found if body] == [
        [at("bar.sync", 20, number=2, threads=128)],
        [at("bar.sync", 20, number=3, threads=128)],
        [at("bar.sync", 21)],
    ]


def test_functions_that_are_not_inlined_have_no_lines_of_the_kernel():
    text = ".func helper()\n{\n\t.loc\t2 7 1\n\tbar.sync \t0;\n\tret;\n}\n" + PTX
    assert of_ptx(text)[0]["operations"] == [at("bar.sync", 0, number=0)]


SASS = """
	.section	.text.kernel,"ax",@progbits
.text.kernel:
	//## File "/w/k.py", line 10
        /*0000*/                   LDC R1, c[0x0][0x28] ;
        /*0010*/               @P0 BRA `(.L_x_0) ;
        /*0020*/                   BAR.SYNC.DEFER_BLOCKING 0x1 ;
	//## File "/w/lib.py", line 3 inlined at "/w/lib.py", line 9
	//## File "/w/lib.py", line 9 inlined at "/w/k.py", line 12
        /*0030*/                   STL.128 [R1], R24 ;
        /*0040*/                   STL.U16 [R1+0x10], R2 ;
        /*0050*/                   BAR.SYNC.DEFER_BLOCKING 0x1 ;
        /*0060*/                   EXIT ;
.L_x_0:
        /*0070*/                   BAR.SYNC.DEFER_BLOCKING 0x1 ;
        /*0080*/                   BRX R2 -0x400        (*"BRANCH_TARGETS .L_x_1,.L_x_2"*);
.L_x_1:
	//## File "/w/k.py", line 20
        /*0090*/                   BAR.SYNC.DEFER_BLOCKING 0x2, 0x80 ;
        /*00a0*/                   LDL.LU.64 R4, [R1+0x8] ;
        /*00b0*/                   LDL R6, [R1+0x4] ;
        /*00c0*/               @P1 BRA `(.L_x_1) ;
        /*00d0*/                   BAR.SYNC.DEFER_BLOCKING 0x1 ;
        /*00e0*/                   BRA `(.L_x_0) ;
.L_x_2:
        /*00f0*/                   EXIT ;
	.section	.text.other,"ax",@progbits
.text.other:
	//## File "/w/k.py", line 90
        /*0000*/                   STL [R1], R2 ;
        /*0010*/                   RET.REL.NODEC R20 0x0 ;
"""


def test_loads_and_stores_of_local_memory_are_counted_in_bytes():
    found = of_sass(SASS, "kernel")
    assert [piece["operations"] for piece in found] == [
        [at("STL", 12, count=2, bytes=18)],
        [at("LDL", 20, loops=1, innermost=True, count=2, bytes=12)],
        [at("STL", 0, bytes=4)],
    ]
    assert found[1]["meetings"] == [[1, 0], [2, 128]]


def test_branches_of_sass():
    jumps = [each for each in instructions(read_sass(SASS, "kernel")) if each.targets]
    assert jumps[0] == Instruction("BRA", "`(.L_x_0)", 10, (".L_x_0",), goes_on=True, guarded=True)
    assert [(each.targets, each.goes_on) for each in jumps[1:]] == [
        ((".L_x_1", ".L_x_2"), False),
        ((".L_x_1",), True),
        ((".L_x_0",), False),
    ]


def test_what_is_written_is_told_with_the_place_where_it_stands():
    text = """
#loc = loc("/w/k.py":10:0)
#loc1 = loc("/w/k.py":12:5)
#loc2 = loc("/w/lib.py":3:7)
#loc3 = loc(callsite(#loc2 at #loc1))
#loc4 = loc("acc"(#loc1))
    ttng.wait_barrier %14, %c0, %true : !ttg.memdesc<1xi64, #shared, #smem, mutable> loc(#loc3)
    %acc = ttng.warp_group_dot_wait %3 {pendings = 0 : i32} : tensor<64xf32> loc(#loc4)
    %acc2 = ttng.warp_group_dot_wait %3 {pendings = 0 : i32} : tensor<64xf32> loc(#loc4)
    ttng.fence_async_shared {bCluster = false} loc("/w/k.py":14:3)
    %5 = arith.addi %wait, %barrier : i32 loc(#loc1)
    ttng.arrive_barrier %8, 1 : !ttg.memdesc<1xi64, #shared, #smem, mutable> loc(unknown)
"""
    assert [tuple(each.values()) for each in written(text)] == [
        ("ttng.wait_barrier", "/w/lib.py", 3, 7, 1),
        ("ttng.warp_group_dot_wait", "/w/k.py", 12, 5, 2),
        ("ttng.fence_async_shared", "/w/k.py", 14, 3, 1),
    ]
