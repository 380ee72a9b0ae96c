"""Swim lanes: what warp groups and engines do over a few iterations, placed by time, which goes downwards."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tlxviz._errors import UsageError
from tlxviz.analysis.clusters import clusters_of, mates
from tlxviz.analysis.cta_view import CtaView
from tlxviz.analysis.kinds import OF_TENSOR_MEMORY
from tlxviz.analysis.links import ACTIVITY_WORDS
from tlxviz.analysis.swim_lanes import Arrow, Lane, Piece, swim_lanes
from tlxviz.analysis.tensor_rings import has_tensor_memory
from tlxviz.diagrams.canvas import graph, plain
from tlxviz.diagrams.fitting import LINE, across, fitting, round_step
from tlxviz.diagrams.happenings import chosen_iterations, event_words, track_name, viewed
from tlxviz.diagrams.looks import HEADING, LINES
from tlxviz.diagrams.order import from_left_to_right
from tlxviz.trace.model import LaunchTrace, TrackKind
from tlxviz.trace.vocabulary import Work

_ITERATIONS = 3
"""That are shown where nobody asks for some."""
_MOST = 500
"""Pieces; more are no picture."""
_MOST_CTAS = 4
"""That are drawn of a cluster."""
_ITERATION_HEIGHT, _TALLEST = 260.0, 1500.0
"""Points of an iteration, if not more than this for all."""
_AXIS, _GAP = 56.0, 24.0
_GROUP_WIDTH = 138.0
_ENGINE_WIDTHS = {TrackKind.TMA: 132.0, TrackKind.TENSOR_CORE: 90.0, TrackKind.LAUNCH_CONTROL: 90.0}
_WAIT_COLOR, _ARROW, _CROSSING = "#c0322b", "#4b5563", "#7544b5"
_LOOKS = {Work.BUSY: ("#8cc7a2", "filled"), Work.ISSUE: ("#fbe7b8", "filled"), Work.WAIT: ("white", "filled,dotted")}
_ENGINES = {TrackKind.TMA: "#dbe8f8", TrackKind.TENSOR_CORE: "#e4d7f5", TrackKind.LAUNCH_CONTROL: "#f7e6c4"}
_TENSOR_MEMORY = "#8fd6cf"
_LEGEND = (
    ("#2f7d4f", "works: filled, darker"),
    ("#9a6b00", "issues: filled, lighter"),
    (_WAIT_COLOR, "waits: a gap, with what for"),
    (_ARROW, "what lets it go on: arrow"),
)


_OF_TENSOR_MEMORY = ("#14756e", "reads or writes tensor memory: bluish")


@dataclass(frozen=True, slots=True)
class _Box:
    """A rectangle in a lane."""

    begin: int
    end: int
    work: Work
    rows: tuple[int, ...]
    words: tuple[str, ...]


def timeline(launch: LaunchTrace, cta: int | None = None, given: tuple[int, int] | None = None) -> str:
    """The DOT of some iterations of the warp group that sets the pace, and of what the others do meanwhile.

    Where no warp group iterates, it is of the CTA's whole time.

    Args:
        cta: Linear number; None for the traced CTA that took longest.
        given: The first iteration and the one behind the last; None for some of the steady state.

    Raises UsageError where there are no such iterations, or too much happens in them.
    """
    _, view = viewed(launch, cta)
    if given is None and not view.loops:
        return _drawn(view, None, min(int(view.made.lower[track]) for track in view.groups), _end(view))
    track, first, last = chosen_iterations(view, given, _ITERATIONS)
    begin, end = int(view.loops[track].begin[first]), view.ends(track, last)
    return _drawn(view, (track, first, last), begin, end)


def _end(view: CtaView) -> int:
    """The cycle at which the last warp group of the CTA ends."""
    return max(int(view.made.upper[track]) for track in view.groups)


def _drawn(view: CtaView, shown: tuple[int, int, int] | None, begin: int, end: int) -> str:
    """
    Args:
        shown: A warp group's track with its first and last iteration; None for none.
    """
    ctas = _beside(view, begin, end)
    lanes, arrows = swim_lanes(view, begin, end, ctas)
    pieces = sum(len(lane.pieces) for lane in lanes)
    if pieces > _MOST and len(ctas) > 1:  # as much of the cluster as there is room for
        ctas = (view.cta,)
        lanes, arrows = swim_lanes(view, begin, end, ctas)
        pieces = sum(len(lane.pieces) for lane in lanes)
    if pieces > _MOST:
        too_many = f"{pieces:,} things happen, and a picture shows at most {_MOST}"
        if shown is None:
            raise UsageError(f"in CTA {view.cta} {too_many}; it has no loop of which a part could be shown.")
        _, first, last = shown
        fewer = max(1, (last + 1 - first) * _MOST // pieces)
        raise UsageError(
            f"in iterations {first} to {last} {too_many}. Ask for fewer: --iterations {first}:{first + fewer}."
        )
    return _Picture(view, shown, begin, end, ctas).drawn(lanes, arrows)


def _beside(view: CtaView, begin: int, end: int) -> tuple[int, ...]:
    """The CTAs to draw: those of the cluster; of a large one, the CTA and those that it has to do with: one lets the
    other go on, or issues what the other's engines do."""
    ctas = mates(view.launch, view.cta)
    if len(ctas) <= _MOST_CTAS:
        return ctas
    lanes, arrows = swim_lanes(view, begin, end, ctas)
    tracks, linked = view.made.track, dict.fromkeys([view.cta])
    joined = [(int(tracks[arrow.source]), int(tracks[arrow.target])) for arrow in arrows]
    joined += [(view.doer_track(piece.row), lane.track) for lane in lanes for piece in lane.pieces if piece.row >= 0]
    for pair in joined:
        ends = {view.launch.tracks[track].cta for track in pair if track >= 0}
        linked |= dict.fromkeys(sorted(ends) if view.cta in ends else ())
    kept = list(linked)[:_MOST_CTAS]
    return tuple(cta for cta in ctas if cta in kept)


class _Picture:
    """DOT with a position for everything: times as heights, lanes side by side."""

    def __init__(
        self, view: CtaView, shown: tuple[int, int, int] | None, begin: int, end: int, ctas: Sequence[int]
    ) -> None:
        self._view, self._shown, self._ctas = view, shown, ctas
        self._clusters = clusters_of(view.launch)
        self._begin, self._end = begin, end
        count = max(2, shown[2] + 1 - shown[1]) if shown is not None else _ITERATIONS
        self._scale = min(_ITERATION_HEIGHT * count, _TALLEST) / max(1, end - begin)
        legend = (_LEGEND[0], _OF_TENSOR_MEMORY, *_LEGEND[1:]) if has_tensor_memory(view.launch) else _LEGEND
        crossing = ((_CROSSING, "from another CTA: dashed, thicker"),) if len(ctas) > 1 else ()
        self._graph = graph(self._title(), [self._stretch()], (*legend, *crossing))
        self._nodes = 0
        self._where: dict[int, tuple[float, float]] = {}
        """Left and right end of the box that an event is in."""

    def drawn(self, lanes: Sequence[Lane], arrows: Iterable[Arrow]) -> str:
        self._graph.attr(layout="neato", inputscale="72", splines="line", outputorder="edgesfirst")
        self._graph.attr("node", shape="box", fontsize="8", fixedsize="true", margin="0")
        self._graph.attr("edge", fontsize="8")
        by_track = {lane.track: lane for lane in lanes}
        left = _AXIS
        for cta in self._ctas:
            tracks = [track for track in by_track if self._view.launch.tracks[track].cta == cta]
            first = left
            for track in from_left_to_right(self._view, tracks):
                left = self._lane(by_track[track], left) + _GAP
            if self._clusters.size > 1 and left > first:
                self._cta(cta, first, left - _GAP)
        self._axis(left - _GAP)
        for arrow in arrows:
            self._arrow(arrow)
        return self._graph.source

    def _lane(self, lane: Lane, left: float) -> float:
        """Draws a lane; gives its right end."""
        kind = self._view.launch.tracks[lane.track].kind
        width = _ENGINE_WIDTHS.get(kind, _GROUP_WIDTH)
        self._head(lane, left, width)
        if kind is TrackKind.WARP_GROUP:
            for box in self._boxes(lane.pieces, width):
                self._box(box, left, width)
        else:
            self._engine(lane, left, width)
        return left + width

    def _cta(self, cta: int, left: float, right: float) -> None:
        """What stands above the lanes of a CTA of a cluster."""
        label = f"CTA {cta}, {self._clusters.where(cta)}"
        looks = {"style": "filled,rounded", "fillcolor": "white", "color": LINES, "fontsize": "10"}
        self._node((left + right) / 2, 44, right - left, 18, label, **looks)

    def _title(self) -> str:
        view = self._view
        if self._shown is None:
            return f"All of CTA {view.cta} in {view.launch.kernel}"
        track, first, last = self._shown
        which = f"Iteration {first}" if first == last else f"Iterations {first} to {last}"
        return f"{which} of {view.launch.tracks[track].name} in {view.launch.kernel}"

    def _stretch(self) -> str:
        others = [cta for cta in self._ctas if cta != self._view.cta]
        beside = f" and {', '.join(map(str, others))} of its cluster" if others else ""
        return f"CTA {self._view.cta}{beside}, SM cycles {self._begin:,} to {self._end:,}; time goes downwards"

    def _y(self, cycle: float) -> float:
        return -(cycle - self._begin) * self._scale

    def _node(self, x: float, y: float, width: float, height: float, label: str, **looks: str) -> str:
        """A node around a point."""
        name = f"n{self._nodes}"
        self._nodes += 1
        size = {"width": f"{width / 72:.4f}", "height": f"{max(height, 0.5) / 72:.4f}"}
        self._graph.node(name, plain(label), pos=f"{x:.1f},{y:.1f}!", **size, **looks)
        return name

    def _point(self, x: float, y: float) -> str:
        return self._node(x, y, 0.5, 0.5, "", shape="point", style="invis")

    def _head(self, lane: Lane, left: float, width: float) -> None:
        name = self._view.launch.tracks[lane.track].name
        whole = sum(piece.end - piece.begin for piece in lane.pieces)
        waits = sum(piece.end - piece.begin for piece in lane.pieces if piece.work is Work.WAIT)
        if self._view.launch.tracks[lane.track].kind is TrackKind.WARP_GROUP and whole:
            name += f", waits {100 * waits / whole:.0f}%"
        self._node(left + width / 2, 20, width, 18, name, style="filled", fillcolor=HEADING, fontsize="10")

    def _boxes(self, pieces: Iterable[Piece], width: float) -> list[_Box]:
        """What is drawn: pieces that are too short for a word are drawn with those beside them that are, too."""
        found: list[_Box] = []
        for piece in pieces:
            short = (piece.end - piece.begin) * self._scale < LINE
            words = self._words(piece)
            box = _Box(piece.begin, piece.end, piece.work, (piece.row,), (words,) if words else ())
            last = found[-1] if found else None
            if last is not None and short and self._joins(last, piece):
                work = last.work if last.end - last.begin > piece.end - piece.begin or not words else piece.work
                found[-1] = _Box(last.begin, piece.end, work, (*last.rows, piece.row), (*last.words, *box.words))
            else:
                found.append(box)
        return [box for box in found if box.end > box.begin]

    def _joins(self, last: _Box, piece: Piece) -> bool:
        """Whether a short piece goes with what is before it: no wait, and short as well."""
        waits = Work.WAIT in (last.work, piece.work)
        return not waits and (last.end - last.begin) * self._scale < 2 * LINE

    def _words(self, piece: Piece) -> str:
        if piece.row < 0:
            return "works" if (piece.end - piece.begin) * self._scale >= LINE else ""
        words = event_words(self._view.launch, piece.row)
        if piece.why is None:
            return words
        why = ACTIVITY_WORDS[piece.why]
        track = int(self._view.made.track[piece.row])
        mine = piece.doer < 0 or piece.doer == track
        return f"{words}: {why}" + ("" if mine else f" of {track_name(self._view, piece.doer, track)}")

    def _box(self, box: _Box, left: float, width: float) -> None:
        top, bottom = self._y(box.begin), self._y(box.end)
        color, style = _LOOKS[box.work]
        if box.work is Work.BUSY and self._is_of_tensor_memory(box.rows[0]):
            color = _TENSOR_MEMORY
        looks = {"style": style, "fillcolor": color}
        if box.work is Work.WAIT:
            looks |= {"fontcolor": _WAIT_COLOR, "color": _WAIT_COLOR}
        label = fitting(box.words, width, top - bottom)
        self._node(left + width / 2, (top + bottom) / 2, width, top - bottom, label, **looks)
        self._where |= dict.fromkeys((row for row in box.rows if row >= 0), (left, left + width))

    def _is_of_tensor_memory(self, row: int) -> bool:
        site = int(self._view.launch.events["site"][row]) if row >= 0 else -1
        return site >= 0 and self._view.launch.sites[site].kind in OF_TENSOR_MEMORY

    def _engine(self, lane: Lane, left: float, width: float) -> None:
        """Side by side what overlaps."""
        places: list[int] = []
        column: dict[int, int] = {}
        for piece in lane.pieces:
            free = next((place for place, until in enumerate(places) if until <= piece.begin), len(places))
            if free == len(places):
                places.append(0)
            places[free], column[piece.row] = piece.end, free
        kind = self._view.launch.tracks[lane.track].kind
        each = width / max(1, len(places))
        for piece in lane.pieces:
            at = left + column[piece.row] * each
            top, bottom = self._y(piece.begin), self._y(piece.end)
            doer = self._view.doer_track(piece.row)
            words = event_words(self._view.launch, piece.row)
            if kind is TrackKind.TENSOR_CORE and doer >= 0:
                words += f" of {track_name(self._view, doer, lane.track)}"
            elif kind is TrackKind.TMA:
                words = words.removeprefix("load ")
                if len(words) > across(each):
                    words = words.replace("[", " [")
            label = fitting((words,), each, top - bottom)
            look = {"style": "filled", "fillcolor": _ENGINES.get(kind, "white")}
            self._node(at + each / 2, (top + bottom) / 2, each, top - bottom, label, **look)
            self._where[piece.row] = at, at + each

    def _axis(self, right: float) -> None:
        step = round_step(60 / self._scale)
        cycle = -(-self._begin // step) * step
        while cycle <= self._end:
            self._node(_AXIS / 2 - 8, self._y(cycle), _AXIS - 20, 10, f"{cycle:,}", shape="plaintext", fontcolor=LINES)
            cycle += step
        if self._shown is None:
            return
        track, first, last = self._shown
        for number in range(first, last + 1):
            y = self._y(int(self._view.loops[track].begin[number]))
            ends = self._point(_AXIS - 10, y), self._point(right, y)
            self._graph.edge(*ends, style="dashed", color="#9aa1ab", arrowhead="none")
            place = right + 34
            self._node(place, y, 62, 12, f"iteration {number}", shape="plaintext", fontsize="9")

    def _arrow(self, arrow: Arrow) -> None:
        if arrow.source not in self._where or arrow.target not in self._where:
            return
        source, target = self._where[arrow.source], self._where[arrow.target]
        from_left = source[0] < target[0]
        made = self._view.made
        tail = self._point(source[1] if from_left else source[0], self._y(min(int(made.end[arrow.source]), self._end)))
        head = self._point(target[0] if from_left else target[1], self._y(arrow.at))
        tracks = (self._view.launch.tracks[int(made.track[row])] for row in (arrow.source, arrow.target))
        if len({track.cta for track in tracks}) > 1:
            look = {"color": _CROSSING, "penwidth": "1.6", "style": "dashed", "arrowsize": "0.7"}
        else:
            look = {"color": _ARROW, "penwidth": "0.8", "arrowsize": "0.5"}
        self._graph.edge(tail, head, **look)
