"""Mutants of correct kernels: those that change behaviour are found, but for some that break no order."""

from __future__ import annotations

import pytest
from measure import Verdict, table, verdicts
from mutants import mutants_of
from originals import ORIGINALS

from tlxviz._triton import toolchain
from tlxviz.ir import load_program

pytest.importorskip("triton.language.extra.tlx")
if toolchain().distribution != "fbtriton":
    pytest.skip("the kernels are for the TLX of fbtriton", allow_module_level=True)

SMALL = [original for original in ORIGINALS if original.name in ("multicast_ring", "pingpong", "async_copy_ring")]
WANTED = 0.95
ORDERED = ("other slot", "shorter ring")
"""Kinds of which some read the wrong data in the right order: see docs/mutation.md."""


def check_found(found: list[Verdict]) -> None:
    changed = [verdict for verdict in found if verdict.change]
    missed = [verdict for verdict in changed if not verdict.found]
    assert changed
    assert len(missed) <= (1 - WANTED) * len(changed), table(found)
    assert {verdict.mutant.kind for verdict in missed} <= set(ORDERED), missed


def test_a_sample_of_small_kernels():
    found = [verdict for number, each in enumerate(SMALL) for verdict in verdicts(each, every=4, first=number)]
    missed = [verdict for verdict in found if verdict.change and not verdict.found]
    assert sum(bool(verdict.change) for verdict in found) >= 10
    assert not [verdict for verdict in missed if verdict.mutant.kind not in ORDERED], missed


@pytest.mark.slow
def test_all_mutants_of_all_kernels():
    check_found([verdict for each in ORIGINALS for verdict in verdicts(each)])


def test_mutants_are_kernels_with_one_thing_changed():
    text = SMALL[0].launch().ttgir
    found = mutants_of(text)
    assert {"drop wait", "other count", "other slot"} <= {mutant.kind for mutant in found}
    for mutant in found:
        load_program(mutant.ttgir)
        assert mutant.ttgir != text
    assert len({mutant.ttgir for mutant in found}) == len(found)
