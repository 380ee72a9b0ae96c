"""A table that is filled again while it is on screen."""

from __future__ import annotations

import asyncio

from textual.app import App, ComposeResult

from tlxviz.tui.panels.lists import Table


class Shown(App[None]):
    def compose(self) -> ComposeResult:
        yield Table("it")

    def line(self, number: int) -> str:
        return self.screen._compositor.render_strips()[number].text


def test_a_table_that_was_drawn_while_it_was_filled_is_drawn_again() -> None:
    async def main() -> tuple[str, str]:
        app = Shown()
        async with app.run_test(size=(40, 5)) as pilot:
            table = app.query_one(Table)
            table.fill(("", "name"), [("▶", "first"), ("", "second")])
            await pilot.pause()
            before = app.line(1)
            table.fill(("", "name"), [("▶", "first"), ("", "second")])
            app.line(1)  # as when a frame comes between
            app.screen._on_timer_update()
            await pilot.pause()
            return before, app.line(1)

    before, after = asyncio.run(main())
    assert before.split() == ["▶", "first"]
    assert after == before


def test_the_row_under_the_cursor_stays() -> None:
    async def main() -> list[int]:
        found: list[int] = []
        app = Shown()
        async with app.run_test(size=(40, 5)) as pilot:
            table = app.query_one(Table)
            for count in (3, 4, 2, 0, 1):
                table.fill(("name",), [(str(row),) for row in range(count)])
                await pilot.pause()
                found.append(table.cursor_row)
                if count == 3:
                    table.move_cursor(row=2)
        return found

    assert asyncio.run(main()) == [0, 2, 1, 0, 0]
