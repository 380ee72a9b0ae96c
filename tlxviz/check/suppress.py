"""Comments in a kernel's source that keep findings away: `# tlxviz: ignore[slot-reuse] read by the peer alone`."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tlxviz.check.model import Finding, Place, Severity
from tlxviz.check.rules import IGNORE, RULES
from tlxviz.check.source import Source
from tlxviz.ir.location import Location

_COMMENT = re.compile(r"tlxviz:\s*ignore\b(?:\s*\[(?P<rules>[^\]]*)\])?(?P<reason>[^#]*)")
_NEITHER = frozenset({tokenize.COMMENT, tokenize.NL, tokenize.INDENT, tokenize.DEDENT})
"""Tokens that neither begin a statement nor end one."""


@dataclass(frozen=True, slots=True)
class _Ignore:
    """One such comment."""

    rules: tuple[str, ...]
    reason: str
    location: Location
    first: int
    last: int
    """The lines of the file that it is about."""

    def fits(self, finding: Finding) -> bool:
        """Whether it keeps a finding away: the rule is one of its own, and one of the places is in its lines."""
        return finding.rule in self.rules and any(
            place.location.file == self.location.file and self.first <= place.location.line <= self.last
            for place in finding.places
        )

    @property
    def fault(self) -> str:
        """What is wrong with it; empty if nothing is."""
        unknown = [rule for rule in self.rules if rule not in RULES]
        if not self.rules:
            return "the comment names no rule, and keeps nothing away"
        if unknown:
            return f"the comment names {', '.join(unknown)}, and there is no such rule"
        return "" if self.reason else "the comment gives no reason, and keeps nothing away"


def suppress(findings: Sequence[Finding], kernel: str, source: Source) -> tuple[Finding, ...]:
    """The findings, with the reasons that the source gives for keeping some of them; and, as notes, comments that are
    meant to keep findings away and do not.

    A comment behind a statement is about this statement, one on a line of its own about the statement below. It needs
    a reason.
    """
    ignores = list(_ignores(source))
    marked = [replace(finding, suppressed=_reason(finding, ignores)) for finding in findings]
    return (*marked, *(_note(ignore, kernel) for ignore in ignores if ignore.fault))


def _reason(finding: Finding, ignores: Sequence[_Ignore]) -> str | None:
    if finding.suppressed is not None:
        return finding.suppressed
    return next((ignore.reason for ignore in ignores if ignore.reason and ignore.fits(finding)), None)


def _note(ignore: _Ignore, kernel: str) -> Finding:
    named = f"[{', '.join(ignore.rules)}]" if ignore.rules else ""
    return Finding(
        IGNORE,
        Severity.NOTE,
        kernel,
        f"{ignore.fault[:1].upper()}{ignore.fault[1:]}.",
        (Place(f"tlxviz: ignore{named}", "", ignore.location, "", -1, -1),),
        advice="Write # tlxviz: ignore[rule] and, behind it, why the finding may stay.",
    )


def _ignores(source: Source) -> Iterator[_Ignore]:
    """The comments of a source, from its first line on; those of a text that is no Python are none."""
    pending: list[tokenize.TokenInfo] = []
    begun: int | None = None
    try:
        for token in tokenize.generate_tokens(io.StringIO(source.text).readline):
            if token.type == tokenize.COMMENT:
                pending.append(token)
            elif token.type == tokenize.NEWLINE:
                first = token.start[0] if begun is None else begun
                yield from _read(pending, first, token.start[0], source)
                pending, begun = [], None
            elif token.type not in _NEITHER and begun is None:
                begun = token.start[0]
    except (tokenize.TokenError, SyntaxError):
        return


def _read(comments: Sequence[tokenize.TokenInfo], first: int, last: int, source: Source) -> Iterator[_Ignore]:
    """What comments in and above a statement say, whose lines of the text are `first` to `last`."""
    offset = source.first - 1
    for comment in comments:
        found = _COMMENT.search(comment.string)
        if found is None:
            continue
        rules = tuple(filter(None, (rule.strip() for rule in (found["rules"] or "").split(","))))
        line, column = comment.start
        location = Location(source.file, line + offset, column + 1)
        yield _Ignore(rules, found["reason"].strip(" \t:-"), location, first + offset, last + offset)
