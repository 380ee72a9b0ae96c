"""The rules: what each one is about, in a sentence. Its section in docs/rules.md has its id as a heading."""

from __future__ import annotations

from dataclasses import dataclass

from tlxviz.check.model import Severity


@dataclass(frozen=True, slots=True)
class Rule:
    """What findings of one id have in common."""

    id: str
    title: str
    """A few words, for lists."""
    severity: Severity
    """The worst that its findings have."""
    summary: str
    """What is wrong where it speaks, in a sentence without its full stop."""


IGNORE = "ignore-comment"
"""The rule of comments that are to keep findings away and do not."""

_ERROR, _WARNING, _NOTE = Severity.ERROR, Severity.WARNING, Severity.NOTE
_RULES = (
    Rule(
        "cluster",
        "CTAs of a cluster",
        _ERROR,
        "CTAs of a cluster disagree on slots, barriers or bytes that they share, or one ends too soon",
    ),
    Rule(
        "slot-reuse",
        "Slots used again too early",
        _ERROR,
        "A slot is filled again, or given back, while somebody may still use it",
    ),
    Rule(
        "trip-count",
        "Unequal trip counts",
        _ERROR,
        "Warp groups that hand slots to each other take different numbers of steps",
    ),
    Rule(
        "tmem-alias",
        "Aliases of memory",
        _ERROR,
        "Views that share memory are used with nothing between them",
    ),
    Rule(
        "proxy-fence",
        "Missing proxy fences",
        _ERROR,
        "Ordinary and asynchronous accesses to the same shared memory have no fence between them",
    ),
    Rule(
        "barrier-lifetime",
        "Life of mbarriers",
        _ERROR,
        "A barrier is used before it is initialised, or initialised while it is in use",
    ),
    Rule(
        "named-barrier",
        "Named barriers",
        _ERROR,
        "The participants of a named barrier are not those that it counts",
    ),
    Rule(
        "async-not-waited",
        "Asynchronous work not waited for",
        _ERROR,
        "Nobody waits for asynchronous work before its data or memory are used",
    ),
    Rule(
        "arrive-count",
        "Counts of arrivals",
        _ERROR,
        "The arrivals of a phase are not those that its barrier counts",
    ),
    Rule(
        "circular-wait",
        "Circular waits",
        _ERROR,
        "Warp groups wait for each other, or for memory that nobody writes",
    ),
    Rule(
        "parity",
        "Phase parity",
        _ERROR,
        "The parity of a wait does not follow the phases of its barrier",
    ),
    Rule(
        "expect-bytes",
        "Expected bytes",
        _ERROR,
        "A barrier expects other bytes than those that its copies bring",
    ),
    Rule(
        "descriptor",
        "TMA descriptors",
        _ERROR,
        "A TMA descriptor is wrong, is changed in use, or names a tile outside of its tensor",
    ),
    Rule(
        "lane",
        "One lane or warp for all",
        _ERROR,
        "One lane, warp or task speaks for others that it does not speak for",
    ),
    Rule(
        "registers",
        "Register budget",
        _WARNING,
        "Warp groups ask for registers that an SM does not have",
    ),
    Rule(
        "uninitialised",
        "Memory that nobody wrote",
        _ERROR,
        "Shared or tensor memory is read before anybody has written it",
    ),
    Rule("nan", "First NaN", _WARNING, "A value that is no number appears here first"),
    Rule("out-of-bounds", "Pointers", _ERROR, "A pointer is outside of the memory that it belongs to"),
    Rule("schedule", "Results of two schedules", _ERROR, "Another order of events gives another result"),
    Rule("endless", "Loops without end", _ERROR, "A loop does not end, although nobody waits"),
    Rule("assertion", "Failed assertions", _ERROR, "A tl.device_assert of the kernel fails"),
    Rule("limits", "More than an SM has", _ERROR, "A CTA asks for more threads or memory than an SM gives it"),
    Rule(
        IGNORE,
        "Comments that keep nothing away",
        _NOTE,
        "A comment is to keep findings away, and names no reason, no rule or none that there is",
    ),
)
RULES: dict[str, Rule] = {rule.id: rule for rule in _RULES}
"""By id, in the order of docs/rules.md."""
