"""The timeline itself: a ruler, and a line for each lane."""

from __future__ import annotations

from dataclasses import replace

from textual import events
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from tlxviz.tui.flowing import asked_flow
from tlxviz.tui.layout import Layout, laid_out
from tlxviz.tui.mouse import Mouse
from tlxviz.tui.paint import Palette, Theme
from tlxviz.tui.picture import Picture
from tlxviz.tui.state import State

_WHEEL_LANES = 3


class Timeline(Widget, can_focus=True):
    """Draws the state. Keys are the app's; the mouse selects, and scrolls."""

    DEFAULT_CSS = "Timeline { height: 1fr; width: 1fr; }"

    def __init__(self, state: State) -> None:
        super().__init__(id="timeline")
        self.state = state
        self.monochrome = False
        self._picture = Picture(state)
        self._mouse = Mouse(state)
        self._palettes: dict[Theme, Palette] = {}
        self._catches_up = False

    @property
    def layout_now(self) -> Layout:
        """The lines and columns that were drawn last."""
        return self._picture.layout

    # ---- drawing

    def follow(self) -> None:
        """The state has changed: draws the lines that are not what they were."""
        self._follow(self.layout_now)

    def _follow(self, before: Layout) -> None:
        changed = self._lay_out(before)
        if changed is None or len(changed) > self.layout_now.height // 2:
            self.refresh()
        elif changed:
            self.refresh(*(Region(0, y, self.layout_now.width, 1) for y in changed))

    def _lay_out(self, before: Layout) -> list[int] | None:
        """The lines that are not what they were; None if there are more or fewer than before."""
        dark: bool = self.app.current_theme.dark  # pyright: ignore[reportUnknownMemberType]
        filters, background = tuple(self.get_line_filters()), self.background_colors[1]
        theme = Theme(dark, self.monochrome, filters, background, self.rich_style)
        if theme not in self._palettes:
            self._palettes = {theme: Palette(theme)}  # of others, styles are not needed any more
        flow = asked_flow(self, self.state, self.follow) if self.state.event is not None else None
        changed = self._picture.show(laid_out(self.state, self.size, before), self._palettes[theme], flow)
        if self._picture.postponed and not self._catches_up:
            self._catches_up = self.call_after_refresh(self._catch_up)
        return changed

    def _catch_up(self) -> None:
        """Draws what was left out of the picture that is on screen now, since it would have come later for it."""
        self._catches_up = False
        for lane in self._picture.postponed[:1]:
            _ = lane.slices  # which works it out
        self.follow()

    def render_lines(self, crop: Region) -> list[Strip]:
        """The lines as the terminal gets them.

        Textual's own way copies each segment for borders, padding and each filter, of which this widget has none: twice
        the time that it takes to draw them.
        """
        strips = [self.render_line(y) for y in crop.line_range]
        first, last = crop.column_span
        return strips if (first, last) == (0, self.size.width) else [each.crop(first, last) for each in strips]

    def render_line(self, y: int) -> Strip:
        layout, (width, height) = self.layout_now, self.size
        if (width, height) != (layout.width, layout.height):
            self._lay_out(layout)
        return self._picture.strip(y) if y < height else Strip.blank(width)

    def forget(self) -> None:
        """Keeps no lines for when they are drawn again, but those that are on screen."""
        self._picture.forget()

    def on_resize(self) -> None:
        self.follow()
        self.refresh()

    def notify_style_update(self) -> None:
        super().notify_style_update()
        if self.is_mounted:
            self._follow(self.layout_now)

    # ---- mouse

    def on_mouse_down(self, event: events.MouseDown) -> None:
        if event.button != 1:
            return
        self.focus()
        self._mouse.press(self.layout_now, event.x, event.y)
        if self._mouse.drags:
            self.capture_mouse()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        self._mouse.move(self.layout_now, event.x)

    def on_mouse_up(self) -> None:
        if self._mouse.drags:
            self._mouse.release()
            self.release_mouse()

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        self._wheel(event, -1)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        self._wheel(event, 1)

    def on_mouse_scroll_left(self, event: events.MouseScrollLeft) -> None:
        self._mouse.pan(-1)
        event.stop()

    def on_mouse_scroll_right(self, event: events.MouseScrollRight) -> None:
        self._mouse.pan(1)
        event.stop()

    def _wheel(self, event: events.MouseEvent, direction: int) -> None:
        """Scrolls the lanes; zooms about the mouse with ctrl, goes through time with shift."""
        event.stop()
        layout = self.layout_now
        if event.ctrl:
            self._mouse.zoom(layout, event.x, direction)
        elif event.shift:
            self._mouse.pan(direction)
        else:
            self._follow(replace(layout, top=max(0, layout.top + direction * _WHEEL_LANES)))
