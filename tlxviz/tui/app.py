"""`tlxviz view`: a timeline and its panels."""

from __future__ import annotations

from functools import partial

from textual.app import ComposeResult
from textual.containers import Container
from textual.widgets import Static, TabbedContent, TabPane

from tlxviz.trace.model import Trace
from tlxviz.tui import lines, moving
from tlxviz.tui.ask import Ask
from tlxviz.tui.keys import Keymap, Mode
from tlxviz.tui.layout import RULER
from tlxviz.tui.panels import Panel, panels
from tlxviz.tui.panels.hang import HangPanel
from tlxviz.tui.panels.source import SourcePanel
from tlxviz.tui.program import Program
from tlxviz.tui.state import State
from tlxviz.tui.store import Store
from tlxviz.tui.timeline import Timeline

_SHORT = 6
"""Letters of a tab's name where there is no room for all."""


class TimelineApp(Program):
    """`tlxviz view`.

    Args:
        trace: What to show; at least one launch.
        title: Where it is from; also the name of files that the screen is written to.
        state: Where to begin; at the beginning of the first launch if nothing is given.
        keymap: The keys of each action, if not the default ones.
        store: Where the state is kept for the next time.
    """

    CSS = """
    #head, #foot { height: 1; background: $panel; }
    #body { layout: vertical; height: 1fr; }
    #drawer { height: 40%; min-height: 9; }
    .wide #body { layout: horizontal; }
    .wide #drawer { height: 1fr; width: 38%; }
    .tiny #drawer { display: none; }
    .tiny.opened #timeline { display: none; }
    .tiny.opened #drawer { display: block; height: 1fr; min-height: 0; }
    VerticalScroll { scrollbar-gutter: stable; }
    .hidden { display: none; }
    #drawer Tab { padding: 0 1 0 0; }
    """

    def __init__(
        self,
        trace: Trace,
        title: str = "",
        *,
        state: State | None = None,
        keymap: Keymap | None = None,
        store: Store | None = None,
    ) -> None:
        super().__init__(title, [state or State.of(trace)], keymap)
        self.state.listeners.append(self.redraw)
        self.store = store
        self._lines: int | None = None
        """Lines of the panels below the timeline; None for what the style sheet says."""
        self.doing |= {
            "details": self._into_panel,
            "source": partial(self._open_titled, "Source"),
            "focus": self._switch_focus,
            "drawer": self._toggle_drawer,
            "clear": self._clear,
        }

    def compose(self) -> ComposeResult:
        yield Static(id="head", markup=False)
        with Container(id="body"):
            yield Timeline(self.state)
            with TabbedContent(id="drawer"):
                for number, make in enumerate(panels(), 1):
                    made = make(self.state)
                    with TabPane(f"{number} {made.tab or made.title}", id=f"tab-{made.title.lower()}"):
                        yield made
        yield Static(id="foot", markup=False)
        yield Ask()

    def on_mount(self) -> None:
        if self.MODE is not Mode.VIEW:
            return
        titles = self.panel_titles()
        first = HangPanel.title if self.state.launch.hang is not None else titles[0]
        wanted = self.state.panel if self.state.panel in titles else first
        self.main.query_one(TabbedContent).active = f"tab-{wanted.lower()}"

    def on_tabbed_content_tab_activated(self) -> None:
        pane = self.main.query_one(TabbedContent).active_pane
        for each in pane.query(Panel) if pane is not None else ():
            self.state.panel = each.title
        self.redraw()

    def keep(self) -> None:
        if self.store is not None:
            self.store.write(self.state)

    def follow(self) -> None:
        main, width = self.main, self.size.width
        main.query_one("#head", Static).update(lines.head(self.state, width), layout=False)
        main.query_one("#foot", Static).update(lines.foot(self.state, width, self.keymap), layout=False)
        main.query_one(Timeline).follow()
        drawer = main.query_one(TabbedContent)
        self._share_lines(drawer)
        self._name_tabs(drawer)
        if drawer.display and drawer.active_pane is not None:
            for each in drawer.active_pane.query(Panel):
                each.follow()

    # ---- panels

    def _share_lines(self, drawer: TabbedContent) -> None:
        """Gives panels below the timeline the lines that it has no lanes for."""
        if self.main.has_class("wide") or self.main.has_class("tiny"):
            given = None
        else:
            room = self.main.query_one("#body").size.height
            spare = room - RULER - len(self.state.visible()) - (1 if self.state.pinned else 0)
            given = min(spare, room * 3 // 5) if spare > room * 2 // 5 else None
        if given != self._lines:
            self._lines = given
            drawer.styles.height = given

    def _name_tabs(self, drawer: TabbedContent) -> None:
        """Gives the tabs names that fit, so that all are to be seen: titles, or their first letters."""
        made = list(self.main.query(Panel))
        names = [f"{each.order} {each.tab or each.title}" for each in made]
        if sum(len(name) + 1 for name in names) > drawer.size.width:
            names = [name[:_SHORT] for name in names]
        for each, name in zip(made, names, strict=True):
            tab = drawer.get_tab(f"tab-{each.title.lower()}")
            if tab.label_text != name:
                tab.label = name

    def panel_titles(self) -> list[str]:
        return [each.title for each in self.main.query(Panel)]

    def open_panel(self, place: int) -> str | None:
        titles = self.panel_titles()
        if place >= len(titles):
            return f"there are {len(titles)} panels" if len(titles) > 1 else "there is one panel"
        self.show_drawer()
        self.main.query_one(TabbedContent).active = f"tab-{titles[place].lower()}"
        return None

    def _open_titled(self, title: str) -> str | None:
        titles = self.panel_titles()
        if title not in titles:
            return f"there is no panel {title}"
        self.open_panel(titles.index(title))
        self.call_after_refresh(self._into_panel)
        return None

    def on_panel_line_wanted(self, message: Panel.LineWanted) -> None:
        for place, each in enumerate(self.main.query(Panel)):
            if isinstance(each, SourcePanel):
                self.open_panel(place)
                self.call_after_refresh(each.show_line, message.line)

    def _into_panel(self) -> None:
        self.show_drawer()
        pane = self.main.query_one(TabbedContent).active_pane
        for each in pane.query(Panel) if pane is not None else ():
            each.take_focus()

    def _switch_focus(self) -> None:
        if self.timeline().has_focus:
            self._into_panel()
        else:
            self._leave_panel()

    def _leave_panel(self) -> None:
        self.main.remove_class("opened")
        self.timeline().focus()

    def show_drawer(self) -> None:
        self.main.query_one("#drawer").remove_class("hidden")
        self.main.add_class("opened")

    def _toggle_drawer(self) -> None:
        drawer = self.main.query_one("#drawer")
        if drawer.display:
            drawer.add_class("hidden")
            self._leave_panel()
        else:
            self.show_drawer()

    def _clear(self) -> None:
        """Out of the panel; if that is not where the focus is, away with selection, range and search."""
        if self.timeline().has_focus:
            moving.clear(self.state)
        else:
            self._leave_panel()
