"""How many mutants of correct kernels the checker finds: `python tests/mutation/measure.py [--only NAME] [--every N]`.

Writes a table to standard output, in Markdown, and before it each mutant that is missed, and each that is reported
although nothing was seen that it does otherwise.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from behaviour import Laboratory
from mutants import Mutant, mutants_of
from originals import ORIGINALS, Original

from tlxviz._errors import TlxvizError
from tlxviz.check.checker import Checker
from tlxviz.check.model import Finding, Severity
from tlxviz.sim.errors import UnsupportedOperation


@dataclass(frozen=True)
class Verdict:
    """What became of a mutant."""

    original: Original
    mutant: Mutant
    change: str
    """What it does otherwise; empty if nothing that was seen."""
    findings: tuple[Finding, ...]

    @property
    def found(self) -> bool:
        """Whether the checker finds an error."""
        return any(finding.severity is Severity.ERROR for finding in self.findings)


def verdicts(original: Original, every: int = 1, first: int = 0) -> Iterator[Verdict]:
    """Of each `every`-th mutant of a kernel."""
    launch = original.launch()
    laboratory = Laboratory(launch, original.device)
    unchanged = laboratory.behaviour(launch.ttgir)
    assert not unchanged.ended, unchanged.ended
    assert len(unchanged.results) == 1
    checker = Checker(original.device)
    assert not [each for each in checker.check(launch).findings if each.severity is Severity.ERROR]
    for mutant in mutants_of(launch.ttgir)[first::every]:
        try:
            change = laboratory.behaviour(mutant.ttgir, unchanged).change(unchanged)
            findings = checker.check(replace(launch, ttgir=mutant.ttgir)).findings
        except UnsupportedOperation:
            continue  # no kernel any more: Hopper has no such barrier, or the TTGIR is none
        yield Verdict(original, mutant, change, findings)


def table(found: Iterable[Verdict]) -> str:
    """Rows by kind of mutation."""
    verdicts = list(found)
    lines = [
        "| mutation | mutants | change behaviour | found | reported besides |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    kinds = Counter(each.mutant.kind for each in verdicts)
    for kind in [*sorted(kinds), ""]:
        those = [each for each in verdicts if not kind or each.mutant.kind == kind]
        changed = [each for each in those if each.change]
        caught = sum(each.found for each in changed)
        besides = sum(each.found for each in those if not each.change)
        lines.append(f"| {kind or '**all**'} | {len(those)} | {len(changed)} | {caught} | {besides} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", action="append", help="a kernel, by its name")
    parser.add_argument("--every", type=int, default=1, help="only one mutant of so many")
    parser.add_argument("--first", type=int, default=0)
    arguments = parser.parse_args()
    found: list[Verdict] = []
    for original in ORIGINALS:
        if arguments.only and original.name not in arguments.only:
            continue
        start = time.perf_counter()
        own: list[Verdict] = []
        try:
            for verdict in verdicts(original, arguments.every, arguments.first):
                own.append(verdict)
                _report(verdict)
        except TlxvizError as error:
            sys.exit(f"{original.name}: {error}")
        found += own
        print(f"{original.name}: {len(own)} mutants, {time.perf_counter() - start:.0f} s", file=sys.stderr)
    print(table(found))


def _report(verdict: Verdict) -> None:
    """Says of a mutant that is missed, or reported although nothing was seen, which one it is."""
    if bool(verdict.change) == verdict.found:
        return
    rules = ", ".join(f"{each.severity} {each.rule} {each.location.line}" for each in verdict.findings)
    word = "missed" if verdict.change else "besides"
    print(
        f"{word}: {verdict.original.name}: {verdict.mutant.kind}: {verdict.mutant.what}: "
        f"{verdict.change or 'nothing seen'}; {rules or 'no finding'}",
        flush=True,
    )


if __name__ == "__main__":
    main()
