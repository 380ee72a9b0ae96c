"""What the compiler made of the kernel that its author will not have wanted."""

from __future__ import annotations

from collections.abc import Iterator

from tlxviz.analysis.account import Account
from tlxviz.analysis.compiled import Compiled
from tlxviz.analysis.findings.finding import Finding, Severity, rule

_ALL = 1.0
"""Cost of what changes the code of a whole kernel: how much that is, no trace says."""
_ADVICE: dict[str, tuple[Severity, str]] = {
    "wgmma-serialized": (
        Severity.PROBLEM,
        "leave an accumulator alone until its wait, issue no products across a branch, and leave registers for all",
    ),
    "setmaxnreg-ignored": (
        Severity.PROBLEM,
        "ask for numbers of registers that all warp groups can have at the same time, and that the code fits in",
    ),
    "registers-not-given": (
        Severity.PROBLEM,
        "let the requests of all warp groups add up to no more than the SM's registers",
    ),
    "spills": (
        Severity.PROBLEM,
        "more registers for the warp group that spills (`registers=`), fewer for the producer, or smaller tiles",
    ),
    "async-mma-made-sync": (
        Severity.PROBLEM,
        "wait for the product where its result is used, and not before the next one is issued",
    ),
    "mma-sync": (Severity.HINT, "`tlx.async_dot` lets the warp group go on while the product is under way"),
    "mma-by-warps": (
        Severity.HINT,
        "types and shapes that wgmma takes: 64 rows a warp group, operands in shared memory",
    ),
    "mma-without-tensor-core": (Severity.HINT, "operands of 16 or 8 bits, or TF32, go to the tensor core"),
    "barrier-removed": (
        Severity.NOTE,
        "nothing, if it is meant for other meta-parameters; else see why its condition never holds",
    ),
    "ptxas": (Severity.NOTE, "nothing, where registers and occupancy are as they should be (`--section compiler`)"),
}


@rule("compiler")
def compiler(account: Account) -> Iterator[Finding]:
    """One finding for each note of the compiler that costs something; the notes' own ids are the findings'."""
    made = account.compiled
    for note in made.notes if made is not None else ():
        known = _ADVICE.get(note.id)
        if known is None:
            continue  # waits and fences that every kernel of its kind has
        severity, advice = known
        if note.id == "spills" and not _in_loops(made, note.agents):
            severity = Severity.HINT
        yield Finding(
            note.id,
            severity,
            _ALL if severity is Severity.PROBLEM else 0.0,
            note.text,
            advice,
            ", ".join(note.agents),
            note.file,
            note.line,
        )


def _in_loops(made: Compiled | None, agents: tuple[str, ...]) -> bool:
    """Whether these warp groups spill in loops; also where nobody knows."""
    groups = [] if made is None else [group for group in made.spilled or () if group.agents == agents]
    return not groups or any(group.stores_in_loops + group.loads_in_loops for group in groups)
