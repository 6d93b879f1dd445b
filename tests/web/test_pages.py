"""The pages over real journals: what they show, and that everything recorded stays text."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fanwise import call, fan_out, open_run
from fanwise.journal.open import open_journal
from fanwise.journal.port import (
    AttemptWrite,
    EventRecord,
    FanOutRecord,
    ItemEndWrite,
    ItemStartWrite,
    RunRecord,
)
from fanwise.web.access import Access
from fanwise.web.app import View
from tests.cli.support import eventually

from .asgi import ORIGIN, Answer, request

SCRIPT = "<script>alert(1)</script>"
HOSTILE = f"{SCRIPT}\"'&{{{{ 7919 * 7919 }}}}"


class Pages:
    """A view of one journal, asked as its own page asks."""

    def __init__(self, path: Path, **options: Any) -> None:
        self._view = View(str(path), **options)
        self._app = self._view.app(Access("t", 7777, {ORIGIN}))

    async def ask(self, address: str) -> Answer:
        return await request(self._app, address, cookie="fanwise-view-7777=t")

    async def tell(self, address: str, body: str, **headers: str) -> Answer:
        return await request(
            self._app, address, method="POST", body=body, origin=ORIGIN,
            cookie="fanwise-view-7777=t", content_type="application/x-www-form-urlencoded",
            **headers,
        )  # fmt: skip

    def get(self, address: str) -> Answer:
        return asyncio.run(self.ask(address))

    def post(self, address: str, body: str, **headers: str) -> Answer:
        return asyncio.run(self.tell(address, body, **headers))

    def close(self) -> None:
        self._view.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.db"


@pytest.fixture
def pages(path: Path) -> Any:
    made = Pages(path)
    yield made
    made.close()


def record(path: Path, run_id: str, work: Callable[[str], Any], items: list[str]) -> None:
    async def main() -> None:
        journal = open_journal(str(path))
        async with open_run(run_id, journal=journal) as run:
            await fan_out(work, items, cap=2, run=run, name="fan_out", key=lambda item: item)
        journal.close()

    asyncio.run(main())


def fails_on_b(item: str) -> Any:
    if item.startswith("b"):
        raise ValueError(f"{item} {HOSTILE}")
    return {"said": f"{item} {HOSTILE}"}


def test_without_a_journal_it_says_what_to_do(pages: Pages, path: Path) -> None:
    assert "No runs yet" in pages.get("/").text
    assert pages.get("/runs/none").status == 404
    assert not path.exists()  # looking makes nothing


def test_the_runs_are_listed_filtered_and_paged(pages: Pages, path: Path) -> None:
    for name in ("one", "two"):
        record(path, name, str.upper, ["x"])
    page = pages.get("/").text
    assert page.index("/runs/two") < page.index("/runs/one")
    assert "/runs/two" not in pages.get("/?q=ONE").text
    assert "Nothing found" in pages.get("/?status=failed").text
    assert "/runs/one" in pages.get("/?page=0&sort=nonsense").text


def test_a_run_shows_counts_causes_and_links_to_its_items(pages: Pages, path: Path) -> None:
    record(path, "r", fails_on_b, ["a", "b1", "b2"])
    page = pages.get("/runs/r").text
    assert "1 of 3" in page
    assert "ValueError: b# " in page  # two failures, one cause
    assert "/runs/r/item?in=fan_out&amp;key=b1" in page


@pytest.mark.parametrize("run_id", ["r", "missing"])
def test_addresses_of_runs_that_are_not_there_are_answered(
    pages: Pages, path: Path, run_id: str
) -> None:
    record(path, "r", str.upper, ["x"])
    status = 200 if run_id == "r" else 404
    for part in ("", "/live", "/items"):
        assert pages.get(f"/runs/{run_id}{part}").status == status


def test_items_are_paged_in_item_order_and_filtered(pages: Pages, path: Path) -> None:
    names = [f"k{number}" for number in range(230)]
    record(path, "r", str.upper, names)
    first = pages.get("/runs/r/items").text
    assert "key=k99" in first and "key=k100" not in first.replace("after=99&amp;key=k99", "")
    second = pages.get("/runs/r/items?after=99&key=k99").text
    assert "key=k100" in second and "key=k199" in second and ">k99<" not in second
    found = pages.get("/runs/r/items?q=K22").text
    assert ">k22<" in found and ">k229<" in found and ">k23<" not in found
    assert "No items" in pages.get("/runs/r/items?status=failed").text
    assert "No items" in pages.get("/runs/r/items?q=%25").text  # a percent sign is a percent sign


def test_an_item_has_its_value_error_attempts_and_json(pages: Pages, path: Path) -> None:
    record(path, "r", fails_on_b, ["a", "b"])
    where = msgspec.json.decode(pages.get("/runs/r/item.json?in=fan_out&key=a").text)
    assert where["value"] == {"said": f"a {HOSTILE}"}
    failed = pages.get("/runs/r/item?in=fan_out&key=b").text
    assert "ValueError" in failed and "alert(1)" in failed
    assert pages.get("/runs/r/item?in=fan_out&key=zz").status == 409


def test_nothing_that_was_recorded_is_code(pages: Pages, path: Path) -> None:
    record(path, "r", fails_on_b, [f"a{HOSTILE}", f"b{HOSTILE}"])
    everywhere = ("/", "/runs/r", "/runs/r/items", f"/?q={SCRIPT}", f"/runs/r/items?q={SCRIPT}")
    for address in (*everywhere, f"/runs/r/item?in=fan_out&key=a{HOSTILE.replace('&', '%26')}"):
        page = pages.get(address).text
        assert SCRIPT not in page and "62710561" not in page


PNG = "iVBORw0KGgoAAAANSUhEUgAAAAE+/w=="


def test_a_conversation_shows_tools_and_pictures_and_is_copied_whole(
    pages: Pages, path: Path
) -> None:
    picture = {"media_type": "image/png", "data": PNG}
    said = {
        "model": f"openai:{HOSTILE}",
        "tools": [{"name": "look", "description": HOSTILE}],
        "messages": [
            {"role": "user", "content": HOSTILE, "files": [picture]},
            {"role": "assistant", "content": "", "calls": [{"id": "1", "name": f"c{HOSTILE}"}]},
        ],
        "reply": {"model": HOSTILE, "text": HOSTILE, "calls": [{"name": f"d{HOSTILE}"}]},
    }
    long = {"model": "openai:m", "messages": [{"role": "user", "content": "x" * 30_000 + "end"}]}
    longer = {"model": "openai:m", "messages": [{"role": "user", "content": "x" * 90_000}]}
    values = {"said": said, "long": long, "longer": longer}
    record(path, "r", values.__getitem__, list(values))
    page = pages.get("/runs/r/item?in=fan_out&key=said").text
    assert f'<img class="picture" src="data:image/png;base64,{PNG}"' in page
    assert "call of a tool" in page and "[calls]" in page and "<h3>tools</h3>" in page
    assert SCRIPT not in page and "62710561" not in page
    whole = pages.get("/runs/r/item?in=fan_out&key=long").text
    assert "The same as curl" in whole and whole.count("xend") == 3, "in each of the copies"
    assert "too long for this page" in pages.get("/runs/r/item?in=fan_out&key=longer").text


def test_files_of_the_view_alone_are_served(pages: Pages) -> None:
    assert pages.get("/static/page.css").headers["content-type"].startswith("text/css")
    for name in ("../app.py", "..%2f..%2fapp.py", "/etc/passwd", "htmx/../../app.py"):
        assert pages.get(f"/static/{name}").status == 404


def test_a_run_is_cancelled_and_who_did_it_is_recorded(path: Path) -> None:
    journal = open_journal(str(path))
    from fanwise.journal.owner import current_owner

    journal.create_run(
        RunRecord("r", 0, "fan_out", "r", "null", "d", "running", 1.0, owner=current_owner())
    )
    pages = Pages(path, user_header="X-User")
    answer = pages.post("/runs/r/act", "action=cancel", x_user="ada")
    assert (answer.status, answer.headers["location"]) == (303, "/runs/r")
    assert journal.run("r").cancel_requested
    told = [msgspec.json.decode(event.data) for event in journal.events("r", "asked")]
    assert told == [{"action": "cancel", "by": "ada"}]
    pages.close()
    journal.close()


def test_a_read_only_view_changes_nothing(path: Path) -> None:
    record(path, "r", fails_on_b, ["b"])
    pages = Pages(path, read_only=True)
    assert "Retry failed" not in pages.get("/runs/r").text
    actions = [f"action={name}" for name in ("retry", "halt", "cancel", "apply", "rollback")]
    for body in (*actions, "cap=total&limit=9", "question=approval&choice=approve"):
        answer = pages.post("/runs/r/act", body)
        assert (answer.status, "read-only" in answer.text) == (409, True), body
    journal = open_journal(path)
    assert [*journal.events("r", "asked")] == []
    journal.close()
    pages.close()


def test_what_makes_no_sense_is_refused(pages: Pages, path: Path) -> None:
    record(path, "r", str.upper, ["x"])
    assert pages.post("/runs/r/act", "action=cancel").status == 409
    assert pages.post("/runs/r/act", "action=explode").status == 409
    assert pages.get("/runs/r/act").status == 405


GATE = """\
workflow: {id: ship, name: ship, version: "1.0.0"}
steps:
  - {id: ok, type: gate, message: "Ship <b>it</b>?", options: [approve, reject, needs work]}
  - {id: after, type: shell, run: "echo shipped"}
"""


def test_a_gate_is_answered_and_nothing_else_can_be_said(pages: Pages, path: Path) -> None:
    """The run goes on in a process of its own; the test waits for its end, as the page does."""
    from fanwise import run_file_sync

    file = path.with_name("ship.yaml")
    file.write_text(GATE)
    journal = open_journal(str(path))
    run_file_sync(file, run="flow", journal=journal)
    page = pages.get("/runs/flow").text
    assert f"resume flow --journal {path} --answer &#39;ok=needs work&#39;" in page
    assert "Ship &lt;b&gt;it&lt;/b&gt;?" in page and 'value="approve"' in page
    for wrong in ("question=ok&choice=--take-over", "question=other&choice=approve", "choice=x"):
        assert pages.post("/runs/flow/act", wrong).status == 409
    assert pages.post("/runs/flow/act", "question=ok&choice=approve").status == 303
    eventually(lambda: journal.run("flow").status == "done")
    asked = [msgspec.json.decode(event.data) for event in journal.events("flow", "asked")]
    assert asked == [{"action": "answer", "question": "ok", "answer": "approve", "by": "the view"}]
    assert "Ship" not in pages.get("/runs/flow/live").text
    journal.close()


def test_caps_are_drawn_and_changed_and_what_makes_no_sense_is_refused(
    pages: Pages, path: Path
) -> None:
    async def main() -> None:
        async with open_run("r", journal=path, caps={"openai": 1}) as run:
            running, doing = asyncio.Event(), asyncio.Event()

            async def work(number: int) -> None:
                if number == 1:
                    running.set()
                await call(doing.wait, needs="openai")

            items = asyncio.ensure_future(fan_out(work, range(2), cap=2, run=run))
            await running.wait()
            page = await pages.ask("/runs/r")
            assert "Limit of openai" in page.text
            assert 'value="1"' in page.text
            for body in ("cap=openai&limit=0", "cap=openai&limit=1e3", "cap=nosuch&limit=3"):
                refused = await pages.tell("/runs/r/act", body)
                assert refused.status == 409, body
            done = await pages.tell("/runs/r/act", "cap=openai&limit=2")
            assert done.status == 303
            while run.caps is None or run.caps.in_use["openai"] < 2:
                await asyncio.sleep(0.01)
            doing.set()
            (await items).require()

    asyncio.run(asyncio.wait_for(main(), 60))
    page = pages.get("/runs/r/live").text
    assert "limit 2, at first 1" in page
    assert "at most 2 at once" in page
    late = pages.post("/runs/r/act", "cap=openai&limit=3")
    assert (late.status, "its caps cannot be changed" in late.text) == (409, True)


def test_of_an_interrupted_run_nothing_is_drawn_after_its_last_moment(
    pages: Pages, path: Path
) -> None:
    journal = open_journal(path)
    journal.create_run(RunRecord("r", 0, "fan_out", "", "{}", "", "running", 1000.0, owner=None))
    journal.submit(FanOutRecord(7, "r", "p", 2, "never", 1000.0))
    journal.submit(EventRecord("r", 1000.0, "caps", '{"total": 2}'))
    journal.submit(ItemStartWrite(7, "a", 0, 1000.0))
    journal.submit(ItemStartWrite(7, "b", 1, 1030.0))
    journal.close()
    assert "the last 30" in pages.get("/runs/r").text


def test_what_is_read_less_often_is_never_older_than_the_question(
    pages: Pages, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fanwise.web.kept_reads.RESTS", 100)  # as if there were much to read

    async def main() -> None:
        async with open_run("r", journal=path) as run:
            await fan_out(fails_on_b, ["a"], cap=1, run=run)
            assert "1 of 1" in (await pages.ask("/runs/r/live")).text
            await fan_out(fails_on_b, ["c"], cap=1, run=run)
            both = await asyncio.gather(pages.ask("/runs/r/live"), pages.ask("/runs/r/live"))
            assert all("2 of 2" in each.text for each in both)

    asyncio.run(main())


def test_items_are_found_by_how_long_they_ran(pages: Pages, path: Path) -> None:
    journal = open_journal(path)
    journal.create_run(RunRecord("r", 0, "fan_out", "", "{}", "", "done", 1.0, 9.0))
    journal.submit(FanOutRecord(7, "r", "p", 2, "never", 1.0))
    for index, ran_s in enumerate((0.5, 2.0, 30.0)):
        journal.submit(ItemEndWrite(7, f"k{index}", index, "done", 1.0, 0.0, ran_s, 0.0, "1"))
    journal.close()
    slow = pages.get("/runs/r/items?ran=2").text
    assert ">k1<" in slow and ">k2<" in slow and ">k0<" not in slow
    for nonsense in ("nan", "inf", "-1", "x", "1e999"):
        assert ">k0<" in pages.get(f"/runs/r/items?ran={nonsense}").text


def test_fields_of_ten_megabytes_do_not_make_pages_of_ten_megabytes(
    pages: Pages, path: Path
) -> None:
    long = "x<b>" * 2_500_000

    async def work(number: int) -> str:
        if number:
            raise ValueError(long)
        return long

    async def main() -> None:
        async with open_run("r", journal=path, name=long[:1000]) as run:
            await fan_out(work, range(2), cap=1, run=run)

    asyncio.run(main())
    for address in ("/", "/runs/r", "/runs/r/items", "/runs/r/item?in=%230&key=0",
                    "/runs/r/item?in=%230&key=1"):  # fmt: skip
        page = pages.get(address)
        assert page.status == 200, address
        assert len(page.text) < 200_000, address
        assert "x<b>" not in page.text


def test_a_halted_run_finishes_what_is_in_flight_and_starts_nothing_more(
    pages: Pages, path: Path
) -> None:
    async def main() -> None:
        async with open_run("r", journal=path) as run:
            running, doing = asyncio.Event(), asyncio.Event()

            async def work(number: int) -> int:
                running.set()
                await doing.wait()
                return number

            items = asyncio.ensure_future(fan_out(work, range(9), cap=1, run=run))
            await running.wait()
            assert "Start nothing more?" in (await pages.ask("/runs/r")).text
            assert (await pages.tell("/runs/r/act", "action=halt")).status == 303
            while run.halting is None:
                await asyncio.sleep(0.01)
            doing.set()
            outcomes = await items
            assert [each.status for each in outcomes if each.ok] == ["done"]

    asyncio.run(asyncio.wait_for(main(), 60))
    page = pages.get("/runs/r/live").text
    assert "halted" in page and "Resume" in page


def test_the_time_left_has_a_lower_bound_and_the_cap_that_binds(pages: Pages, path: Path) -> None:
    from fanwise.journal.owner import current_owner

    journal, now = open_journal(path), time.time()
    me = current_owner()
    journal.create_run(RunRecord("r", 0, "fan_out", "", "{}", "", "running", now - 60, owner=me))
    journal.submit(FanOutRecord(7, "r", "p", 4, "never", now - 60))
    journal.submit(EventRecord("r", now - 60, "planned", '{"items": 112}'))
    journal.submit(EventRecord("r", now - 60, "caps", '{"total": 4, "openai": 2}'))
    journal.submit(EventRecord("r", now - 60, "budget", '{"usd": 7.5, "tokens": 1000}'))
    for index in range(10):  # each holds a permit of `openai` for 3 s
        key, ended = str(index), now - 50 + index
        call = AttemptWrite(
            7, key, "ask", 0.0, 3.0, 0.0, None, usd=0.25, tokens=5.0, requests=1.0,
            started_at=ended - 3, caps="openai",
        )  # fmt: skip
        journal.submit(ItemStartWrite(7, key, index, ended - 4))
        journal.submit(call)
        journal.submit(ItemEndWrite(7, key, index, "done", ended, 0.0, 4.0, 0.0, "1"))
    journal.submit(ItemStartWrite(7, "10", 10, now - 59))
    refused = AttemptWrite(7, "11", "ask", 0.0, 1.0, 0.0, '{"type": "RateLimited", "text": "429"}')
    journal.submit(ItemStartWrite(7, "11", 11, now - 5))
    journal.submit(refused)
    journal.close()
    page = pages.get("/runs/r").text
    assert "cap openai binds (2)" in page
    # 100 queued x 30 s of 12 items / 2: of the two in flight nobody knows what they will need
    assert "at least 2 min 05 s" in page
    assert "100 queued" in page and "1 back off or try again" in page
    assert "$2.5" in page and "of $7.5" in page
    listed = pages.get("/").text
    assert "$2.5" in listed and "of $7.5" in listed and f"{me.pid} on {me.host}" in listed
