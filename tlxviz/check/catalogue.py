"""What each rule is about, in a sentence. Its page is in docs/rules.md, under its id."""

from __future__ import annotations

IGNORE = "ignore-comment"
"""The rule of comments that are to keep findings away and do not."""

RULES: dict[str, str] = {
    "cluster": "CTAs of a cluster disagree on slots, barriers or bytes that they share, or one ends too soon",
    "slot-reuse": "A slot is filled again, or given back, while somebody may still use it",
    "trip-count": "Warp groups that hand slots to each other take different numbers of steps",
    "tmem-alias": "Views that share tensor memory are used with nothing between them",
    "proxy-fence": "Ordinary and asynchronous accesses to the same shared memory have no fence between them",
    "barrier-lifetime": "A barrier is used before it is initialised, or initialised while it is in use",
    "named-barrier": "The participants of a named barrier are not those that it counts",
    "async-not-waited": "Nobody waits for asynchronous work before its data or memory are used",
    "arrive-count": "The arrivals of a phase are not those that its barrier counts",
    "circular-wait": "Warp groups wait for each other, or for an arrival that nothing brings",
    "parity": "The parity of a wait does not follow the phases of its barrier",
    "expect-bytes": "A barrier expects other bytes than those that its copies bring",
    "descriptor": "A TMA descriptor is wrong, is changed in use, or names a tile outside of its tensor",
    "lane": "One lane, warp or task speaks for others that it does not speak for",
    "registers": "Warp groups ask for registers that an SM does not have",
    "uninitialised": "Shared or tensor memory is read before anybody has written it",
    "nan": "A value that is no number appears here first",
    "out-of-bounds": "A pointer is outside of the memory that it belongs to",
    "schedule": "Another order of events gives another result",
    "assertion": "An assertion of the kernel does not hold",
    "endless": "A warp group goes on for ever",
    "limits": "The launch asks for more than the device has",
    "refused": "The kernel does what hardware leaves undefined",
    IGNORE: "A comment is to keep findings away, and names no reason, no rule or none that there is",
}
"""Id to what is wrong where it speaks."""
