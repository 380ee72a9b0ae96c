"""Control flow of a warp group: what may still be executed, and under which conditions."""

from __future__ import annotations

import pytest

from tlxviz.check.control import RANK, THREAD, depends, guards, loops, precedes, reaches
from tlxviz.ir import load_program
from tlxviz.ir.operation import Operation

TEXT = """
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32} {
  tt.func public @kernel(%n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %thread = gpu.thread_id  x
    %lane = arith.index_cast %thread : index to i32
    %first = arith.cmpi eq, %lane, %c0 : i32
    %before = arith.addi %n, %c1 : i32
    scf.for %i = %c0 to %n step %c1  : i32 {
      %rank = nvg.cluster_id
      %leads = arith.cmpi eq, %rank, %c0 : i32
      %early = arith.muli %i, %c1 : i32
      scf.if %leads {
        %then = arith.subi %i, %c1 : i32
        scf.yield
      } else {
        %otherwise = arith.andi %i, %c1 : i32
        scf.yield
      }
      scf.if %first {
        %late = arith.ori %i, %c1 : i32
        scf.yield
      }
      scf.yield
    }
    %after = arith.xori %n, %c1 : i32
    tt.return
  }
}
"""
NAMES = {
    "before": "arith.addi",
    "early": "arith.muli",
    "then": "arith.subi",
    "otherwise": "arith.andi",
    "late": "arith.ori",
    "after": "arith.xori",
}


@pytest.fixture(scope="module")
def found() -> dict[str, Operation]:
    operations = {op.name: op for op in load_program(TEXT).module.walk()}
    return {name: operations[operation] for name, operation in NAMES.items()}


@pytest.mark.parametrize(
    ("standing", "target", "can"),
    [
        ("before", "late", True),
        ("late", "early", True),  # in the next round
        ("then", "otherwise", True),
        ("after", "early", False),
        ("early", "before", False),
        ("late", "after", True),
        ("after", "after", True),
    ],
)
def test_who_stands_behind_a_loop_never_comes_back(found: dict[str, Operation], standing: str, target: str, can: bool):
    assert reaches(found[standing], found[target]) is can


def test_branches_of_a_condition_do_not_precede_each_other(found: dict[str, Operation]):
    assert precedes(found["early"], found["late"])
    assert not precedes(found["late"], found["early"])
    assert not precedes(found["then"], found["otherwise"])
    assert precedes(found["before"], found["then"])


def test_conditions_and_what_they_depend_on(found: dict[str, Operation]):
    (rank,), (thread,) = guards(found["then"]), guards(found["late"])
    assert depends(rank, RANK)
    assert not depends(rank, THREAD)
    assert depends(thread, THREAD)
    assert guards(found["early"]) == ()
    assert [op.name for op in loops(found["then"])] == ["scf.for"]
