"""A matrix of 500 cells that is killed ten times, or interrupted: nothing is lost or paid twice."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import sqlite3
import subprocess
from collections import Counter
from contextlib import closing
from typing import Any

import pytest

from fanwise.matrix.state.queue_limits import BACKING_OFF
from fanwise.testing import ScriptedServer
from tests.cli.support import Place, end
from tests.cli.test_sample import command, serving
from tests.marks import slow

CAP, KILLS, CELLS = 4, 10, 500
FILE = """\
matrix:
  name: many
  models: openai:gpt-5-mini
  inputs: {file: numbers.csv}
  repeat: 2
  prompts: {say: {prompt: "{{ input.id }} {{ repeat }}"}}
  score: {exact: input.word}
  caps: {openai: 4}
"""
STEPS = "key NOT LIKE '% score %'"


@pytest.fixture
def many(place: Place) -> Place:
    (place.path / "m.yaml").write_text(FILE)
    rows = "".join(f"{number},w{number}\n" for number in range(CELLS // 2))
    (place.path / "numbers.csv").write_text(f"id,word\n{rows}")
    return place


class Holding:
    """A server that answers this many requests, and holds those that come then."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.server: ScriptedServer | None = None

    def __call__(self, body: dict[str, Any]) -> str:
        assert self.server is not None
        if len(self.server.requests) >= self.most:
            self.server.gate.close()
        return f"w{asked(body).split()[0]}"

    async def let_go(self, more: int) -> None:
        """Answer those whom nobody waits for any more, then this many."""
        assert self.server is not None
        self.most = len(self.server.requests) + more
        self.server.gate.open()
        await self.server.idle()


def asked(body: dict[str, Any]) -> str:
    return str(body["messages"][-1]["content"])


def query(place: Place, sql: str) -> list[Any]:
    with closing(sqlite3.connect(place.path / ".fanwise" / "journal.db")) as journal:
        return journal.execute(sql).fetchall()


def count(place: Place, sql: str) -> int:
    ((found,),) = query(place, f"SELECT count(*) {sql}")
    return int(found)


def begin(place: Place, *args: str) -> Any:
    return asyncio.to_thread(place.start, *args, stdout=subprocess.DEVNULL)


@slow
def test_killed_ten_times_every_cell_is_recorded_once(
    many: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = Holding(45)

    async def main(server: ScriptedServer) -> None:
        script.server = server
        in_flight: Counter[str] = Counter()
        seen = 0
        process = await begin(many, "run", "m.yaml", "--run", "r")
        for kill in range(KILLS):
            await server.gate.held(CAP)
            process.send_signal(signal.SIGKILL)
            assert await asyncio.to_thread(process.wait) == -signal.SIGKILL
            # DeliveryOptions for by it and not on disk: at the server, or answered a moment ago.
            done = query(many, "SELECT input || ' ' || repeat FROM cells WHERE status = 'done'")
            open_ = {asked(body) for body in server.bodies[seen:]} - {text for (text,) in done}
            seen = len(server.bodies)
            assert CAP <= len(open_) <= 2 * CAP + BACKING_OFF
            in_flight.update(open_)
            await script.let_go(45 if kill < KILLS - 1 else CELLS * 10)
            process = await begin(many, "resume", "r")
        code, _, err = await asyncio.to_thread(end, process)
        assert code == 0, err
        assert CELLS < len(server.requests) <= CELLS + in_flight.total()
        # Each was asked for once, and once more for each kill at which it was in flight.
        times = Counter(map(asked, server.bodies))
        assert len(times) == CELLS
        assert all(number <= 1 + in_flight[text] for text, number in times.items())

    serving(script, main, monkeypatch, within_s=300)
    assert count(many, "FROM cells WHERE status = 'done' AND text = 'w' || input") == CELLS
    assert count(many, "FROM (SELECT DISTINCT input, repeat FROM cells)") == CELLS
    assert count(many, "FROM scores WHERE score = 1.0") == CELLS
    assert count(many, f"FROM items WHERE {STEPS}") == CELLS
    told = json.loads(many.run("resume", "r", "--json").stdout)
    assert len({(each["input"], each["repeat"]) for each in told["result"]["cells"]}) == CELLS


@slow
@pytest.mark.parametrize("times", [1, 2])
def test_ctrl_c_loses_nothing_and_says_how_to_go_on(
    many: Place, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    """Once: what is in flight is finished. Twice: it is cancelled, and its connections close."""
    script = Holding(100)

    async def main(server: ScriptedServer) -> None:
        script.server = server
        process = await begin(many, "run", "m.yaml", "--run", "r")
        await server.gate.held(CAP)
        process.send_signal(signal.SIGINT)
        said = await asyncio.to_thread(process.stderr.readline)
        assert b"in flight; Ctrl-C again cancels" in said
        begun = len(server.requests)
        if times == 2:
            process.send_signal(signal.SIGINT)
        else:
            await script.let_go(CELLS * 10)
        code, _, err = await asyncio.to_thread(end, process)
        assert code == 130
        status = b"halted" if times == 1 else b"cancelled"
        assert re.search(
            status + rb": [0-9]+ of 500 cells not done\n  to continue: fanwise resume r\n", err
        )
        assert b"cells failed" not in err
        made = len(server.requests)
        assert made == begun  # nothing was asked for after it
        answered = made if times == 1 else made - server.disconnects
        assert server.disconnects == (0 if times == 1 else CAP)
        assert count(many, f"FROM items WHERE status = 'done' AND {STEPS}") == answered
        assert count(many, "FROM cells WHERE status = 'done'") == answered
        assert count(many, "FROM calls") == made  # also those that were cancelled
        await script.let_go(CELLS * 10)  # all that comes
        resumed = await command(many, "resume", "r", "--json")
        assert resumed.returncode == 0, resumed.stderr
        assert len(json.loads(resumed.stdout)["result"]["cells"]) == CELLS
        assert len(server.requests) == CELLS + made - answered

    serving(script, main, monkeypatch, within_s=200)
