"""Turns markers in PTX into timestamps.

The body of the kernel is there twice. CTAs that are not recorded run it as the compiler wrote it, and pay for one
branch. The other copy has a timestamp at every marker that the plan picked: the first lane of a recorded warp reads
`%clock`, adds the marker's number in the upper eight bits and stores the sum where its ring goes on. What that needs
while the kernel runs is an address, its limit and a predicate, in registers that PTX declares for the whole function:
nothing is threaded through the IR, or captured by the regions of warp groups.

The copy that most CTAs run comes first: what lies 50 KB behind a kernel's beginning takes a microsecond longer to get
going (on an H200). Where all CTAs are recorded there is the one copy.

`buffer` says what is where in memory. The kernel's last parameter, Triton's profile scratch, points to it; the lower
bits of that pointer say which SM records and how long a ring is, so that no load stands at the kernel's beginning.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tlxviz._errors import TlxvizError
from tlxviz.probe.buffer import (
    END_OFFSET,
    HEADER_BYTES,
    MOST_OF_A_BLOCK,
    SM_OFFSET,
    TAG_ALIGNMENT,
    TAG_LATE,
    TAG_LENGTH_BITS,
    TAG_LENGTH_SHIFT,
    TAG_LISTED,
    TAG_SM_BITS,
    TAG_SM_SHIFT,
)

_MARKER = re.compile(r"// tlxviz probe (\d+) %r\d+")
_ENTRY = re.compile(r"\.visible \.entry ([\w$]+)\(")
_BRACE = re.compile(r"[{}]|//[^\n]*")
_LABEL = re.compile(r"\$L_(?=\w)")
_DEBUG_LABEL = re.compile(r"^\$L__(?:tmp|func_begin|func_end)\d+:[^\n]*\n", re.MULTILINE)
_LINE_INFO = re.compile(r"^\s*\.loc[^\n]*\n", re.MULTILINE)
_TARGET = re.compile(r"\$L_\w+:")
_BRANCH = re.compile(r"\b(?:bra(?:\.uni)?\s+\$L_|brx\.|call\b|ret;)")
_FUNCTION = re.compile(
    r"^\.func\s+(?P<returned>\([^)]*\)\s*)?(?P<name>[\w$]+)\(\n(?P<parameters>[^)]*)\)[^\n]*\n(?:[^{}\n;]*\n)*?\{\n",
    re.MULTILINE,
)
_RETURN = re.compile(r"^\tret;", re.MULTILINE)

_SECOND_COPY = "$L__TLXVIZ_SECOND"
_REGISTERS = """\
	.reg .b64 %tlxviz_base, %tlxviz_a, %tlxviz_b, %tlxviz_c;
	.reg .b32 %tlxviz_low, %tlxviz_high, %tlxviz_end, %tlxviz_cta, %tlxviz_x, %tlxviz_y;
	.reg .b32 %tlxviz_clock, %tlxviz_timer, %tlxviz_late;
	.reg .pred %tlxviz_lane, %tlxviz_first, %tlxviz_on;
"""
_HEADER = f"""\
	and.b64 %tlxviz_a, %tlxviz_base, {-TAG_ALIGNMENT};
	mad.wide.u32 %tlxviz_a, %tlxviz_cta, {HEADER_BYTES}, %tlxviz_a;
"""
"""Leaves the address of the CTA's header in `%tlxviz_a`."""


@dataclass(frozen=True, slots=True)
class Selection:
    """What of a kernel is recorded."""

    points: frozenset[int]
    """Numbers of the points that read the clock."""
    ctas: tuple[int, ...]
    """Linear numbers of CTAs that are recorded, beside those of the SM that the launch names."""
    warps: frozenset[int]
    """Warps of a CTA that are recorded, counted over all tasks."""
    everywhere: bool = False
    """Whether all CTAs are recorded, whatever `ctas` says, in launches that record those of `ctas`."""


class UnknownPtx(TlxvizError):
    """The compiler wrote PTX in a form that tlxviz does not know."""


def add_timestamps(ptx: str, selection: Selection) -> str:
    """The PTX of a marked kernel with timestamps at the selected points.

    Raises:
        UnknownPtx: it has another form than Triton's PTX has had so far.
    """
    kernel = _Kernel(ptx)
    if not kernel.dispatchable:
        raise UnknownPtx("the PTX of the kernel has no entry with a scratch pointer")
    functions = _Functions(kernel.after, selection.points)
    scratch = kernel.parameters - 1
    recorded = functions.calling_copies(_timestamps(_copied(kernel.body), selection.points))
    recorded = f"{_opening_ring(selection.warps)}{_leaving(recorded, kernel.name, scratch)}"
    if not selection.everywhere:
        plain = _leaving(_MARKER.sub("//", kernel.body), kernel.name, scratch)
        recorded = f"{_deciding(selection)}{plain}{_SECOND_COPY}:\n{recorded}"
    body = f"{_entering(kernel.name, scratch)}{recorded}{_EARLY}"
    before = kernel.before.replace(".extern .shared", f"{functions.prototypes}.extern .shared", 1)
    if functions.prototypes and before == kernel.before:
        start = kernel.before.index(".visible .entry")
        before = f"{kernel.before[:start]}{functions.prototypes}{kernel.before[start:]}"
    after = f"}}\n{functions.copies}{_MARKER.sub('//', kernel.after[1:])}"
    return f"{before}{_REGISTERS}{kernel.declarations}{body}{after}"


def _copied(body: str) -> str:
    """A second copy of a body, without what can be there only once."""
    return _LABEL.sub("$L_tlxviz_", _LINE_INFO.sub("", _DEBUG_LABEL.sub("", body)))


class _Functions:
    """Functions that the compiler did not inline, and that have timestamps: a copy of each, for CTAs that are recorded.

    A copy is given the ring's address as a parameter more than the function, and leaves in the ring's last word where
    it goes on.

    Args:
        text: The module from the end of the entry on.
        points: Those that read the clock.
    """

    def __init__(self, text: str, points: Collection[int]) -> None:
        found: dict[str, tuple[str, str, str]] = {}
        for head in _FUNCTION.finditer(text):
            found[head["name"]] = (
                head["returned"] or "",
                head["parameters"],
                text[head.end() : _closing(text, head.end())],
            )
        marked = {
            name for name, (_, _, body) in found.items() if any(int(each) in points for each in _MARKER.findall(body))
        }
        while (
            more := {name for name, (_, _, body) in found.items() if any(f" {each}, (" in body for each in marked)}
            - marked
        ):
            marked |= more
        self._names = sorted(marked, key=len, reverse=True)
        heads = {name: self._heading(name, *found[name][:2]) for name in self._names}
        self.prototypes = "".join(f"{heading};\n" for heading in heads.values())
        self.copies = "".join(
            f"{heading}{{\n{self._body(name, found[name][2], points)}}}\n" for name, heading in heads.items()
        )

    def _heading(self, name: str, returned: str, parameters: str) -> str:
        own = parameters.rstrip().replace(f"{name}_param_", f"{name}_tlxviz_param_")
        comma = ",\n" if own else ""
        return (
            f".func {returned}{name}_tlxviz(\n{own}{comma}"
            f"\t.param .b64 {name}_tlxviz_ring,\n\t.param .b32 {name}_tlxviz_end,\n"
            f"\t.param .b32 {name}_tlxviz_lane\n)\n"
        )

    def _body(self, name: str, body: str, points: Collection[int]) -> str:
        copy = _copied(body).replace(f"{name}_param_", f"{name}_tlxviz_param_")
        start = copy.index("\n", copy.index("// %bb.0:")) + 1
        opening = (
            f"\tld.param.b64 %tlxviz_a, [{name}_tlxviz_ring];\n\tmov.b64 {{%tlxviz_low, %tlxviz_high}}, %tlxviz_a;\n"
            f"\tld.param.b32 %tlxviz_end, [{name}_tlxviz_end];\n\tld.param.b32 %tlxviz_x, [{name}_tlxviz_lane];\n"
            "\tsetp.ne.u32 %tlxviz_lane, %tlxviz_x, 0;\n"
        )
        rest = self.calling_copies(_timestamps(copy[start:], points))
        leaving = f"{_last_word()}\t@%tlxviz_lane st.global.b32 [%tlxviz_a], %tlxviz_low;\n\tret;"
        return f"{_REGISTERS}{copy[:start]}{opening}{_RETURN.sub(lambda _: leaving, rest)}"

    def calling_copies(self, body: str) -> str:
        """The body with copies called where there are some."""
        for name in self._names:
            body = re.sub(
                rf"^(\s*)(call(?:\.uni)?\s+(?:\([\w, ]*\),\s*)?){re.escape(name)}, \(([\w, ]*)\);",
                lambda call, name=name: _call(call[2], name, call[3]),
                body,
                flags=re.MULTILINE,
            )
        return body


def _call(call: str, name: str, parameters: str) -> str:
    given = f"{parameters}, " if parameters else ""
    return f"""\
	.param .b64 tlxviz_ring;
	.param .b32 tlxviz_end;
	.param .b32 tlxviz_lane;
	mov.b64 %tlxviz_a, {{%tlxviz_low, %tlxviz_high}};
	selp.u32 %tlxviz_x, 1, 0, %tlxviz_lane;
	st.param.b64 [tlxviz_ring], %tlxviz_a;
	st.param.b32 [tlxviz_end], %tlxviz_end;
	st.param.b32 [tlxviz_lane], %tlxviz_x;
	{call}{name}_tlxviz, ({given}tlxviz_ring, tlxviz_end, tlxviz_lane);
{_last_word()}\
	@%tlxviz_lane ld.global.b32 %tlxviz_low, [%tlxviz_a];"""


def _last_word() -> str:
    """Leaves the address of a ring's last word, which takes no record, in `%tlxviz_a`."""
    return (
        f"\tadd.u32 %tlxviz_x, %tlxviz_end, {4 * (MOST_OF_A_BLOCK - 1)};\n"
        "\tmov.b64 %tlxviz_a, {%tlxviz_x, %tlxviz_high};\n"
    )


class _Kernel:
    """The parts of a module's text around the body of its entry."""

    def __init__(self, ptx: str) -> None:
        entry = _ENTRY.search(ptx)
        if entry is None:
            raise UnknownPtx("the PTX has no entry")
        self.name = entry[1]
        opening = ptx.index("{\n", entry.end()) + 2
        first = ptx.find("// %bb.0:", opening)
        if first < 0:
            raise UnknownPtx(f"the PTX of {self.name} has no first block")
        start = ptx.index("\n", first) + 1
        end = _closing(ptx, opening)
        self.before = ptx[:opening]
        self.declarations = ptx[opening:start]
        self.body = ptx[start:end]
        self.after = ptx[end:]
        self.parameters = len(set(re.findall(rf"\b{re.escape(self.name)}_param_(\d+)", self.before)))

    @property
    def dispatchable(self) -> bool:
        """Whether the last parameter is a pointer."""
        return bool(re.search(rf"\.u64[^,\n]*{re.escape(self.name)}_param_{self.parameters - 1}\n?\)?", self.before))


def _closing(text: str, position: int) -> int:
    """Where the bracket closes that was opened before `position`."""
    depth = 1
    for token in _BRACE.finditer(text, position):
        if token[0] == "{":
            depth += 1
        elif token[0] == "}":
            depth -= 1
            if depth == 0:
                return token.start()
    raise UnknownPtx("the PTX of the kernel does not end")


def _timestamps(body: str, points: Collection[int]) -> str:
    """The body with a timestamp at every marker of `points`.

    Where control only flows straight on, timestamps go to fixed places behind one another. The ring's address moves
    on once, where that ends, and the first of them alone says where it was made.
    """
    written: list[str] = []
    count = 0
    for line in body.splitlines(keepends=True):
        if count and (_TARGET.match(line) or _BRANCH.search(line) or count == MOST_OF_A_BLOCK):
            written.append(_advance(count))
            count = 0
        marker = _MARKER.search(line)
        if marker is None:
            written.append(line)
        elif int(marker[1]) in points:
            written.append(f"\t{_timestamp(int(marker[1]), count)}\n")
            count += 1
    return "".join(written)


def _timestamp(point: int, place: int) -> str:
    tagged = f"add.u32 c, c, {tag_of(point) << 24}; " if place == 0 else ""
    return (
        f"{{ .reg .b32 c; .reg .b64 a; mov.u32 c, %clock; {tagged}"
        f"mov.b64 a, {{%tlxviz_low, %tlxviz_high}}; @%tlxviz_lane st.global.b32 [a+{4 * place}], c; }}"
    )


def _advance(count: int) -> str:
    return f"\tadd.u32 %tlxviz_low, %tlxviz_low, {4 * count};\n\tmin.u32 %tlxviz_low, %tlxviz_low, %tlxviz_end;\n"


def tag_of(point: int) -> int:
    """The upper eight bits of what is added to the clock at a point, so that the record says where it was made."""
    return point % 255 + 1


def tags(points: NDArray[np.int32]) -> NDArray[np.int64]:
    """`tag_of` each of them."""
    return points.astype(np.int64) % 255 + 1


def _entering(kernel: str, scratch: int) -> str:
    """Notes when the CTA starts, in `%tlxviz_clock` and `%tlxviz_timer`, and by way of `_EARLY` in its header.

    Leaves the scratch pointer in `%tlxviz_base` and the CTA's linear number in `%tlxviz_cta`.
    """
    return f"""\
	mov.u32 %tlxviz_clock, %clock;
	mov.u32 %tlxviz_timer, %globaltimer_lo;
{_place(kernel, scratch)}\
	setp.eq.u32 %tlxviz_on, %tlxviz_late, 0;
	@%tlxviz_on bra.uni $L__TLXVIZ_EARLY;
$L__TLXVIZ_ENTERED:
"""


# Behind everything else: a branch around it at the beginning takes a kernel of a few microseconds 1 to 4 % more time.
_EARLY = f"""\
$L__TLXVIZ_EARLY:
	mov.u32 %tlxviz_x, %tid.x;
	setp.eq.u32 %tlxviz_first, %tlxviz_x, 0;
{_HEADER}\
	mov.u64 %tlxviz_b, %clock64;
	@%tlxviz_first st.global.b64 [%tlxviz_a], %tlxviz_b;
	mov.u64 %tlxviz_b, %globaltimer;
	@%tlxviz_first st.global.b64 [%tlxviz_a+8], %tlxviz_b;
	mov.u32 %tlxviz_x, %smid;
	@%tlxviz_first st.global.b32 [%tlxviz_a+{SM_OFFSET}], %tlxviz_x;
	bra.uni $L__TLXVIZ_ENTERED;
"""


def _place(kernel: str, scratch: int) -> str:
    """The scratch pointer, the CTA's linear number, and in `%tlxviz_late` whether headers are written in the end."""
    return f"""\
	ld.param.b64 %tlxviz_base, [{kernel}_param_{scratch}];
	mov.u32 %tlxviz_cta, %ctaid.z;
	mov.u32 %tlxviz_x, %nctaid.y;
	mov.u32 %tlxviz_y, %ctaid.y;
	mad.lo.u32 %tlxviz_cta, %tlxviz_cta, %tlxviz_x, %tlxviz_y;
	mov.u32 %tlxviz_x, %nctaid.x;
	mov.u32 %tlxviz_y, %ctaid.x;
	mad.lo.u32 %tlxviz_cta, %tlxviz_cta, %tlxviz_x, %tlxviz_y;
	cvt.u32.u64 %tlxviz_late, %tlxviz_base;
	and.b32 %tlxviz_late, %tlxviz_late, {TAG_LATE};
"""


def _deciding(selection: Selection) -> str:
    """Sends CTAs that are recorded to the copy that comes second."""
    lines = ["\tcvt.u32.u64 %tlxviz_x, %tlxviz_base;", "\tsetp.ne.u32 %tlxviz_on, %tlxviz_x, %tlxviz_x;"]
    for first, last in _runs(selection.ctas):
        lines += [
            f"\tsub.u32 %tlxviz_y, %tlxviz_cta, {first};",
            f"\tsetp.le.or.u32 %tlxviz_on, %tlxviz_y, {last - first}, %tlxviz_on;",
        ]
    lines += [
        f"\tand.b32 %tlxviz_y, %tlxviz_x, {TAG_LISTED};",
        "\tsetp.ne.and.u32 %tlxviz_on, %tlxviz_y, 0, %tlxviz_on;",
        f"\tbfe.u32 %tlxviz_x, %tlxviz_x, {TAG_SM_SHIFT}, {TAG_SM_BITS};",
        "\tmov.u32 %tlxviz_y, %smid;",
        "\tsetp.eq.or.u32 %tlxviz_on, %tlxviz_x, %tlxviz_y, %tlxviz_on;",
        f"\t@%tlxviz_on bra {_SECOND_COPY};",
    ]
    return "\n".join([*lines, ""])


def _runs(numbers: Sequence[int]) -> list[tuple[int, int]]:
    """Ascending numbers as ranges, both ends included."""
    runs: list[tuple[int, int]] = []
    for number in sorted(set(numbers)):
        if runs and number == runs[-1][1] + 1:
            runs[-1] = runs[-1][0], number
        else:
            runs.append((number, number))
    return runs


def _opening_ring(warps: Collection[int]) -> str:
    """Where this warp's ring begins and ends, and whether the thread writes into it.

    It is as short as can be: code that a kernel of a few microseconds has to fetch shows in its time.
    """
    return f"""\
	mov.u32 %tlxviz_x, %tid.x;
{_writing(warps)}\
	cvt.u32.u64 %tlxviz_x, %tlxviz_base;
	bfe.u32 %tlxviz_x, %tlxviz_x, {TAG_LENGTH_SHIFT}, {TAG_LENGTH_BITS};
	shl.b32 %tlxviz_end, -1, %tlxviz_x;
	mad.lo.u32 %tlxviz_low, %tlxviz_cta, {len(warps)}, %tlxviz_low;
	and.b64 %tlxviz_b, %tlxviz_base, {-TAG_ALIGNMENT};
	mad.wide.s32 %tlxviz_a, %tlxviz_low, %tlxviz_end, %tlxviz_b;
	mov.b64 {{%tlxviz_low, %tlxviz_high}}, %tlxviz_a;
	sub.u32 %tlxviz_end, %tlxviz_low, %tlxviz_end;
	sub.u32 %tlxviz_end, %tlxviz_end, {4 * MOST_OF_A_BLOCK};
"""


def _writing(warps: Collection[int]) -> str:
    """From the thread's number in `%tlxviz_x`: whether it writes, and its warp's place among `warps`, from 1 on."""
    if len(warps) == 1:
        return f"""\
	setp.eq.u32 %tlxviz_lane, %tlxviz_x, {32 * min(warps)};
	mov.u32 %tlxviz_low, 1;
"""
    return f"""\
	shr.u32 %tlxviz_y, %tlxviz_x, 5;
	and.b32 %tlxviz_x, %tlxviz_x, 31;
	mov.u32 %tlxviz_end, 2;
	shl.b32 %tlxviz_end, %tlxviz_end, %tlxviz_y;
	sub.u32 %tlxviz_end, %tlxviz_end, 1;
	and.b32 %tlxviz_end, %tlxviz_end, {sum(1 << warp for warp in warps)};
	popc.b32 %tlxviz_low, %tlxviz_end;
	shr.u32 %tlxviz_end, %tlxviz_end, %tlxviz_y;
	setp.ne.u32 %tlxviz_lane, %tlxviz_end, 0;
	setp.eq.and.u32 %tlxviz_lane, %tlxviz_x, 0, %tlxviz_lane;
"""


def _leaving(body: str, kernel: str, scratch: int) -> str:
    """The body with a note of the end before every return, and one of the start where there is none yet.

    What that needs is found out again, so that nothing but 32 bits of clock and of time is kept until then.
    """
    note = f"""\
	mov.u32 %tlxviz_x, %tid.x;
	setp.eq.u32 %tlxviz_first, %tlxviz_x, 0;
{_place(kernel, scratch)}{_HEADER}\
	setp.ne.and.u32 %tlxviz_on, %tlxviz_late, 0, %tlxviz_first;
	mov.u64 %tlxviz_b, %clock64;
	@%tlxviz_first st.global.b64 [%tlxviz_a+{END_OFFSET}], %tlxviz_b;
{_before("clock", 0)}\
	mov.u64 %tlxviz_b, %globaltimer;
	@%tlxviz_first st.global.b64 [%tlxviz_a+{END_OFFSET + 8}], %tlxviz_b;
{_before("timer", 8)}\
	mov.u32 %tlxviz_x, %smid;
	@%tlxviz_on st.global.b32 [%tlxviz_a+{SM_OFFSET}], %tlxviz_x;
	ret;"""
    return _RETURN.sub(lambda _: note, body)


def _before(noted: str, offset: int) -> str:
    """From 64 bits now and 32 bits noted at the start to 64 bits of the start, stored where headers come late."""
    return f"""\
	cvt.u32.u64 %tlxviz_x, %tlxviz_b;
	sub.u32 %tlxviz_x, %tlxviz_x, %tlxviz_{noted};
	cvt.u64.u32 %tlxviz_c, %tlxviz_x;
	sub.u64 %tlxviz_b, %tlxviz_b, %tlxviz_c;
	@%tlxviz_on st.global.b64 [%tlxviz_a+{offset}], %tlxviz_b;
"""
