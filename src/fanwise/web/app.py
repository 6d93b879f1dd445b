"""The pages of the view and their addresses."""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable
from importlib.resources import files
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlencode

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from fanwise.errors import FanwiseError, JournalDamaged, RunNotFound, UsageError
from fanwise.journal.damage import explain_damage
from fanwise.journal.port import RunRecord
from fanwise.journal.read_only import RefusesWrites
from fanwise.kernel.in_thread import in_thread
from fanwise.specs.system import Report
from fanwise.view.html import ReportPage, Templates
from fanwise.view.resume_command import resume_command
from fanwise.view.system_text import system_of_kind
from fanwise.web import actions
from fanwise.web.access import Access, AccessGuard
from fanwise.web.comparison import ComparedWith, compared_with, comparison
from fanwise.web.items import ItemQuery, item_detail, item_json, item_page
from fanwise.web.journal_reader import LOOK_EVERY_S, JournalReader
from fanwise.web.kept_reads import KeptReads
from fanwise.web.live_run import LiveRun, live_run
from fanwise.web.run_list import RunFilter, RunList, run_list
from fanwise.web.samples import Samples

ALIVE_EVERY = 60
"""After how many quiet looks a word is sent, so that a lost connection is noticed."""
MOST_SCRIPTS = 100
KINDS = {"css": "text/css", "js": "text/javascript"}

Page = Callable[[Request], Awaitable[Response]]


class ShownResults(NamedTuple):
    """The parts of a run's report, and a digest that is another one when they are."""

    run: RunRecord
    page: ReportPage | None
    digest: str


class View:
    """The application, and what it keeps between requests."""

    def __init__(self, location: str | None, *, read_only: bool = False, user_header: str = ""):
        self._location = location
        self._read_only = read_only
        self._user_header = user_header
        self._reader = JournalReader(location)
        self._samples = Samples()
        self._summaries: dict[str, Any] = {}
        self._kept = KeptReads()
        self._scripts: OrderedDict[str, str] = OrderedDict()
        self._templates = Templates(
            "fanwise.web", query=_query, read_only=read_only,
            resume_command=lambda run_id, more: resume_command(run_id, location, more),
        )  # fmt: skip

    def app(self, access: Access) -> ASGIApp:
        """Everything behind the guard."""
        reading: list[tuple[str, Page]] = [
            ("/", self._runs),
            ("/changes", self._changes),
            ("/static/{name:path}", self._static),
            ("/scripts/{digest}.js", self._script),
            ("/compare", self._compare),
            ("/runs/{run}", self._run),
            ("/runs/{run}/history", self._history),
            ("/runs/{run}/live", self._live),
            ("/runs/{run}/sections", self._sections),
            ("/runs/{run}/report", self._report),
            ("/runs/{run}/items", self._items),
            ("/runs/{run}/item", self._item),
            ("/runs/{run}/item.json", self._item_json),
        ]
        routes = [Route(path, self._told(page)) for path, page in reading]
        routes.append(Route("/runs/{run}/act", self._told(self._act), methods=["POST"]))
        return AccessGuard(Starlette(routes=routes), access)

    def close(self) -> None:
        self._reader.close()

    def _told(self, page: Page) -> Page:
        """The page; what goes wrong is a page too, with what to do next."""

        async def answer(request: Request) -> Response:
            try:
                return await page(request)
            except RunNotFound as error:
                return self._page("problem.html", "Not found", 404, error=error, awaited=True)
            except UsageError as error:
                return self._page("problem.html", "Not possible", 409, error=error)
            except FanwiseError as error:
                return self._page("problem.html", "Problem", 500, error=error)

        return answer

    def _page(self, template: str, title: str, status: int = 200, **values: object) -> Response:
        html = self._templates.render(template, title=title, **values)
        return HTMLResponse(html, status_code=status)

    async def _runs(self, request: Request) -> Response:
        wanted = RunFilter.of(request.query_params)
        found = (
            await self._reader.read(run_list, wanted, self._summaries, self._samples) or RunList()
        )
        return self._page("runs.html", "Runs", found=found, wanted=wanted)

    async def _live_run(self, request: Request, *, fresh: bool) -> LiveRun:
        async def read() -> LiveRun:
            found: LiveRun = await self._read_run(request, live_run, self._samples)
            return found

        found: LiveRun = await self._kept.read(request.path_params["run"], read, fresh=fresh)
        return found

    async def _run(self, request: Request) -> Response:
        live = await self._live_run(request, fresh=False)
        system = system_of_kind(live.run.kind)
        return self._page(
            "run.html", live.run.name or live.run.id, live=live, digest="",
            has_report=hasattr(system, "report"), has_history=hasattr(system, "compare"),
        )  # fmt: skip

    async def _live(self, request: Request) -> Response:
        return self._page("live.html", "", live=await self._live_run(request, fresh=True))

    async def _sections(self, request: Request) -> Response:
        """The results. `seen`: what the page shows already; nothing is sent if that is the same."""
        run_id, seen = request.path_params["run"], request.query_params.get("seen", "")
        name = f"{run_id} results"
        known = self._kept.last(name) if seen else None
        try:
            found: ShownResults = await self._kept.read(
                name, lambda: self._read_run(request, _results, known), fresh=True
            )
        except (JournalDamaged, UsageError) as error:
            return self._page("no_sections.html", "", run_id=run_id, error=error)
        if seen == found.digest:
            return Response(status_code=204)
        digests = [] if found.page is None else [self._keep(each) for each in found.page.sources()]
        return self._page("sections.html", "", found=found, page=found.page, digests=digests)

    async def _report(self, request: Request) -> Response:
        html = await self._read_run(
            request, lambda journal, run_id: _report_of(journal, run_id).html
        )
        name = f"{request.path_params['run']}.html"
        headers = {"content-disposition": f'attachment; filename="{name}"'}
        return HTMLResponse(html, headers=headers)

    async def _history(self, request: Request) -> Response:
        found = await self._read_run(request, _compared_with)
        return self._page("history.html", "", found=found, run_id=request.path_params["run"])

    async def _compare(self, request: Request) -> Response:
        runs = request.query_params.getlist("run")
        report = await self._reader.read(comparison, runs)
        if report is None:
            raise RunNotFound(next(iter(runs), ""))
        assert report.page is not None
        digests = [self._keep(script) for script in report.page.sources()]
        title = " and ".join(runs)
        return self._page("compare.html", title, page=report.page, digests=digests, runs=runs)

    async def _items(self, request: Request) -> Response:
        query = ItemQuery.of(request.query_params)
        page = await self._kept.read(
            str(request.url), lambda: self._read_run(request, item_page, query), fresh=True
        )
        return self._page("items.html", f"Items of {page.run.name}", page=page, query_=query)

    async def _item(self, request: Request) -> Response:
        return self._page("item.html", "Item", detail=await self._found_item(request))

    async def _item_json(self, request: Request) -> Response:
        found = item_json(await self._found_item(request))
        return Response(msgspec.json.encode(found), media_type="application/json")

    async def _found_item(self, request: Request) -> Any:
        path, key = (request.query_params.get(name, "") for name in ("in", "key"))
        detail = await self._read_run(request, item_detail, path, key)
        if detail is None:
            raise UsageError(f"there is no item {key!r} in {path!r}", "Look at the list of items")
        return detail

    async def _act(self, request: Request) -> Response:
        if self._read_only:
            raise UsageError("this view is read-only", "Start it without --read-only")
        form = dict(parse_qsl((await request.body()).decode("utf-8", "replace")))
        run_id, who = request.path_params["run"], request.headers.get(self._user_header, "")
        who = who or "the view"
        if "choice" in form:
            told = form.get("question", ""), form["choice"], who
            await in_thread(actions.answer, self._location, run_id, *told)
        elif "cap" in form:
            limit = form["cap"], form.get("limit", ""), who
            await in_thread(actions.change_cap, self._location, run_id, *limit)
        else:
            action = form.get("action", "")
            await in_thread(actions.act, self._location, run_id, action, who)
        return RedirectResponse(f"/runs/{run_id}", status_code=303)

    async def _changes(self, request: Request) -> Response:
        """Server-sent events: a word whenever the journal has changed."""

        async def changes() -> AsyncIterator[str]:
            seen, quiet = await self._reader.version(), 0
            yield "retry: 1000\n\n"
            while not await request.is_disconnected():
                await asyncio.sleep(LOOK_EVERY_S)
                now, quiet = await self._reader.version(), quiet + 1
                if now != seen or quiet >= ALIVE_EVERY:
                    yield f"event: {'journal' if now != seen else 'alive'}\ndata:\n\n"
                    seen, quiet = now, 0

        return StreamingResponse(changes(), media_type="text/event-stream")

    async def _static(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name == "page.css":
            source = files("fanwise.view") / "templates" / name
        elif name in ("view.css", "view.js", "htmx/htmx.min.js", "htmx/LICENSE"):
            source = files("fanwise.web") / "static" / name
        else:
            raise RunNotFound(name)
        kind = KINDS.get(name.rpartition(".")[2], "text/plain")
        return Response(source.read_bytes(), media_type=kind)

    async def _script(self, request: Request) -> Response:
        source = self._scripts.get(request.path_params["digest"])
        if source is None:
            raise UsageError("this script is of an earlier page", "Load the page again")
        return Response(source, media_type=KINDS["js"])

    def _keep(self, script: str) -> str:
        digest = hashlib.sha256(script.encode()).hexdigest()
        self._scripts[digest] = script
        if len(self._scripts) > MOST_SCRIPTS:
            self._scripts.popitem(last=False)
        return digest

    async def _read_run(self, request: Request, function: Callable[..., Any], *args: Any) -> Any:
        run_id = request.path_params["run"]
        found = await self._reader.read(_explained, function, run_id, *args)
        if found is _NONE:
            return None
        if found is None:
            raise RunNotFound(run_id)
        return found


_NONE = object()


def _explained(
    journal: RefusesWrites, function: Callable[..., Any], run_id: str, *args: Any
) -> Any:
    """What the function says; damage of the journal is told as such."""
    with explain_damage(journal, run_id):
        found = function(journal, run_id, *args)
    return _NONE if found is None else found


def _compared_with(journal: RefusesWrites, run_id: str) -> ComparedWith | None:
    return compared_with(journal, journal.run(run_id))


def _report_of(journal: RefusesWrites, run_id: str) -> Report:
    run = journal.run(run_id)
    make = getattr(system_of_kind(run.kind), "report", None)
    if make is None:
        raise UsageError(f"runs of `{run.kind}` have no report", f"Use: fanwise show {run_id}")
    found: Report = make(journal, run)
    return found


def _results(journal: RefusesWrites, run_id: str, known: ShownResults | None) -> ShownResults:
    """`known`: what holds as long as the run has ended and is not continued."""
    run = journal.run(run_id)
    if known is not None and known.run == run and run.ended_at is not None:
        return known
    report = _report_of(journal, run_id)
    page = report.page if isinstance(report.page, ReportPage) else None
    digest = hashlib.sha256(report.html.encode("utf-8", "backslashreplace")).hexdigest()
    return ShownResults(run, page, digest)


def _query(**values: object) -> str:
    """The query of an address, without what is empty."""
    return urlencode({name.rstrip("_"): value for name, value in values.items() if value != ""})
