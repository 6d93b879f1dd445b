"""An order to halt starts no calls: items that only wait for one are given up, others go on."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from fanwise import Caps, Outcomes, RateLimited, Retry, call, fan_out, open_run
from fanwise.kernel.events import Cancelled, Event
from fanwise.testing import virtual_time


class Server:
    """Counts calls, and holds the first of them."""

    def __init__(self) -> None:
        self.made: list[str] = []
        self.here = asyncio.Event()
        self.go_on = asyncio.Event()

    async def answer(self, what: str) -> str:
        self.made.append(what)
        self.here.set()
        await self.go_on.wait()
        return what


async def halted(server: Server, work: Any, items: list[str], place: Path) -> Outcomes[Any]:
    async with open_run("r", journal=place, caps=Caps(m=1)) as run:

        async def order() -> None:
            await server.here.wait()
            await asyncio.sleep(0)  # the others have come to their calls
            run.halt("Ctrl-C")
            server.go_on.set()

        outcomes: Outcomes[Any]
        outcomes, _ = await asyncio.gather(fan_out(work, items, cap=9, run=run), order())
        return outcomes


def test_items_that_wait_for_their_first_call_are_given_up_and_run_on_a_resume(
    tmp_path: Path,
) -> None:
    async def main() -> None:
        server = Server()

        async def work(item: str) -> str:
            return await call(server.answer, item, needs="m")

        first = await halted(server, work, list("abcde"), tmp_path / "j.db")
        assert server.made == ["a"]
        assert [each.status for each in first if each.status == "done"] == ["done"]
        async with open_run("r", journal=tmp_path / "j.db", caps=Caps(m=1)) as run:
            second = await fan_out(work, list("abcde"), cap=9, run=run)
        assert second.values() == list("abcde")
        assert sorted(server.made) == list("abcde")  # each once: what was answered is kept

    asyncio.run(asyncio.wait_for(main(), 60))


def test_an_item_whose_first_call_was_answered_goes_on_to_its_end(tmp_path: Path) -> None:
    async def main() -> None:
        server = Server()

        async def work(item: str) -> str:
            one = await call(server.answer, f"{item}1", needs="m")
            return one + await call(server.answer, f"{item}2", needs="m")

        outcomes = await halted(server, work, ["a", "b"], tmp_path / "j.db")
        assert server.made == ["a1", "a2"]
        assert outcomes[0].value == "a1a2"

    asyncio.run(asyncio.wait_for(main(), 60))


def test_an_item_that_backs_off_is_given_up(tmp_path: Path) -> None:
    """It was refused, and waits for an hour: nobody waits with it."""

    async def main() -> None:
        server = Server()
        server.go_on.set()

        async def refuse(item: str) -> str:
            server.made.append(item)
            server.here.set()
            raise RateLimited("busy", retry_after=3600)

        async def work(item: str) -> str:
            return await call(refuse, item, needs="m", retry=Retry(3))

        outcomes = await halted(server, work, ["a"], tmp_path / "j.db")
        assert server.made == ["a"]
        assert [each.status for each in outcomes] == ["cancelled"]

    asyncio.run(asyncio.wait_for(main(), 60))


@virtual_time
async def test_that_an_item_is_given_up_is_told_and_insisted_on() -> None:
    """One that swallows the cancellation, and waits for something else, is cancelled again."""
    told: list[Event] = []
    server = Server()

    async def work(item: str) -> str:
        if item == "first":
            return await call(server.answer, item, needs="m")
        try:
            await call(server.answer, item, needs="m")
        except asyncio.CancelledError:
            await asyncio.Event().wait()
        return "never"

    async with open_run("r", journal=":memory:", caps=Caps(m=1), subscribers=[told.append]) as run:

        async def order() -> None:
            await server.here.wait()
            await asyncio.sleep(1)
            run.halt("Ctrl-C")
            server.go_on.set()

        items = ["first", "deaf"]
        outcomes, _ = await asyncio.gather(fan_out(work, items, run=run), order())
    assert [outcome.status for outcome in outcomes] == ["done", "cancelled"]
    assert [event.indices for event in told if isinstance(event, Cancelled)] == [(1,)]
