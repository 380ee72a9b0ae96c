"""How much of the time the units worked, and what holds the kernel."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import VerticalScroll

from tlxviz.analysis.account import Account
from tlxviz.analysis.roofline import Roofline
from tlxviz.analysis.utilisation import Utilisation
from tlxviz.analysis.verdict import verdict
from tlxviz.reporters.layout import percent, size
from tlxviz.reporters.sections import ROOF_WORDS
from tlxviz.tui.looks import APPEARANCES, Look
from tlxviz.tui.panels import WORKING, Panel, panel
from tlxviz.tui.panels.facts import Failure
from tlxviz.tui.panels.said import Said

_UNITS = ("tensor_core", "tma", "tma_store", "load_store", "issue", "logic", "mufu", "shared_memory")
_LABEL = 28

Figures = tuple[str, Utilisation, Roofline | None]


def _figures(account: Account) -> Figures:
    said = verdict(account)
    if said is not None:
        sentence = said.sentence
    elif account.launch.hang is not None:
        sentence = "The launch never ended: there is no verdict."
    elif not account.launch.complete:
        sentence = "The launch was not recorded to its end: there is no verdict."
    else:
        sentence = "Nothing was traced: there is no verdict."
    return sentence, account.utilisation, account.roofline if account.ended else None


@panel
class UtilisationPanel(Panel):
    """The verdict, the units of the traced SM, and the roofs of the launch."""

    title = "Utilisation"
    tab = "Use"
    order = 7
    DEFAULT_CSS = "UtilisationPanel { height: 1fr; }"

    def compose(self) -> ComposeResult:
        with VerticalScroll():
            yield Said("utilisation-text")

    def show_state(self) -> None:
        made = self.known("figures", _figures)
        if isinstance(made, tuple):
            text = Text("\n").join(_lines(made, self.size.width, self.dark))
        else:
            text = Text(made.why if isinstance(made, Failure) else WORKING)
        self.query_one("#utilisation-text", Said).say(text)


def _lines(made: Figures, width: int, dark: bool) -> Iterator[Text]:
    sentence, used, roofs = made
    yield Text(sentence, "bold")
    shares = [(ROOF_WORDS[unit], getattr(used, unit)) for unit in _UNITS]
    if roofs is not None:
        shares = [(ROOF_WORDS.get(roof.name, roof.name), roof.share) for roof in roofs.roofs if roof.scope == "launch"]
        shares += [(ROOF_WORDS[unit], getattr(used, unit)) for unit in _UNITS]
    known = [(word, share) for word, share in shares if share is not None]
    for word, share in known:
        yield _bar(word, share, width, dark)
    if not known:
        yield Text("The recorder did not count what the units did.")
    if roofs is not None:
        yield from (Text(line, "dim") for line in _figures_of(roofs))
    moved = [("TMA loads", used.tma_load_bytes), ("TMA stores", used.tma_store_bytes)]
    moved += [("loads", used.global_load_bytes), ("stores", used.global_store_bytes)]
    if any(count for _, count in moved):
        yield Text("moved by the traced SM: " + ", ".join(f"{what} {size(n)}" for what, n in moved if n), "dim")


def _bar(word: str, share: float, width: int, dark: bool) -> Text:
    label = min(_LABEL, max(4, width - 8))
    room = max(0, width - label - 10)
    appearance = APPEARANCES[Look.MMA]
    line = Text(f"{word[:label]:<{label}}{percent(share):>7} ", no_wrap=True)
    return line.append(appearance.glyph * round(min(1.0, share) * room), appearance.dark if dark else appearance.light)


def _figures_of(roofs: Roofline) -> Iterator[str]:
    if roofs.flops_per_s is not None and roofs.peak and roofs.mfu is not None:
        types = "/".join(roofs.mma_types)
        yield (
            f"{roofs.flops_per_s / 1e12:,.4g} TFLOP/s of {roofs.peak / 1e12:,.4g} dense {types} at this clock "
            f"({percent(roofs.mfu)})"
        )
    if roofs.intensity_l2 is not None:
        yield f"{roofs.intensity_l2:,.4g} FLOP per byte from L2"
    if roofs.wave_efficiency is not None:
        yield f"waves filled to {percent(roofs.wave_efficiency)}"
