"""An OpenAI-compatible server on loopback that does what the test tells it to.

A fake model proves that our side counts right; only a server proves what went over the wire: how
many requests were in flight, which connections closed, what was served and would be billed. So
it is a real server, over real sockets, with counters of its own.

It speaks `POST …/chat/completions`, streamed (SSE) and not. `http.py` beside it is its HTTP.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import msgspec

from fanwise.testing.gate import Gate
from fanwise.testing.http import Connection, HttpRequest


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What the server does with one request.

    `first_byte_s` before anything is sent, `chunk_s` before each further word. `break_after`
    words the connection is cut. A status other than 200 sends an error with this `code`.
    """

    text: str = "ok"
    status: int = 200
    retry_after: float | None = None
    code: str | None = None
    message: str = "scripted"
    first_byte_s: float = 0.0
    chunk_s: float = 0.0
    break_after: int | None = None
    input_tokens: int | None = None
    """Default: a token for each word of the messages."""
    usage: bool = True
    """Whether it tells the tokens at the end."""
    finish_reason: str = "stop"
    refusal: bool = False
    """The text is a refusal, not content."""
    calls: tuple[tuple[str, dict[str, Any]], ...] = ()
    """Tools that it calls after its text, each with its arguments."""
    reasoning: str = ""
    """What it thinks before its text."""
    headers: dict[str, str] = {}
    """Of an error."""


Script = Iterable[Answer | str] | Callable[[dict[str, Any]], Answer | str]


class ScriptedServer:
    """`async with ScriptedServer(["yes", Answer(status=429, retry_after=2)]) as server:`

    Its address is `server.base_url`. The script is a list, or a function of the request's body.
    `obeys`: the fields that bound its answers, others are ignored. `takes`: the ways to ask for a
    schema that it accepts, others are answered with a 400 that takes nothing from the script.
    """

    def __init__(
        self,
        script: Script,
        *,
        obeys: Sequence[str] = ("max_completion_tokens", "max_tokens"),
        takes: Sequence[str] = ("json_schema", "json_object", "tool"),
    ) -> None:
        self.gate = Gate()
        """Closed: requests wait in it before the first byte of their answer."""
        self.midway = Gate()
        """Closed: streams wait in it after their first word."""
        self.last = Gate()
        """Closed: streams wait in it when all is said, also the tokens, before they end."""
        self.requests: list[HttpRequest] = []
        self.connections = 0
        """How many were opened, in all."""
        self.in_flight = 0
        self.most_in_flight = 0
        self.disconnects = 0
        """Clients that went before their answer was complete."""
        self.statuses: Counter[int] = Counter()
        self.input_tokens = 0
        self.output_tokens = 0
        """What was served: a provider would bill it, whether anybody read it or not."""
        self.base_url = ""
        self._answer = script if callable(script) else _one_by_one(script)
        self._obeys = obeys
        self._takes = takes
        self._connections: set[asyncio.Task[None]] = set()
        self._serving: set[Connection] = set()
        self._server: asyncio.Server | None = None
        self._less = asyncio.Event()

    @property
    def bodies(self) -> list[dict[str, Any]]:
        """What the requests asked for, in the order in which they came."""
        return [request.json() for request in self.requests]

    async def idle(self) -> None:
        """Return when no request is in flight."""
        while self.in_flight:
            self._less.clear()
            await self._less.wait()

    async def __aenter__(self) -> ScriptedServer:
        return await self.start()

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def start(self) -> ScriptedServer:
        """Listen. `async with` does it too."""
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        port = self._server.sockets[0].getsockname()[1]
        self.base_url = f"http://127.0.0.1:{port}/v1"
        return self

    async def stop(self) -> None:
        """Close all connections."""
        assert self._server is not None
        self._server.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)
        await self._server.wait_closed()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        self.connections += 1
        connection = Connection(reader, writer)
        try:
            while (request := await connection.request()) is not None:
                if not await self._serve(connection, request):
                    break
        except (ConnectionError, asyncio.CancelledError):
            pass  # the client went, or the server closes
        finally:
            self._connections.discard(task)
            await connection.close()

    async def _serve(self, connection: Connection, request: HttpRequest) -> bool:
        """Answer one request; False when the connection is over."""
        if not request.path.partition("?")[0].endswith("/chat/completions"):
            await connection.send_json(404, _error(404, f"no {request.path} here", "not_found"))
            return True
        self.requests.append(request)
        for other in [each for each in self._serving if each.has_left()]:
            other.before_end()
        self._serving.add(connection)
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        connection.before_end = partial(self._end_one, connection)
        try:
            return await self._until_gone(connection, self._respond(connection, request.json()))
        finally:
            connection.before_end()

    def _end_one(self, connection: Connection) -> None:
        """Count it as ended before its client can know that, and ask again."""
        connection.before_end = _nothing
        self._serving.discard(connection)
        self.in_flight -= 1
        self._less.set()

    async def _until_gone(self, connection: Connection, answering: Any) -> bool:
        """Answer unless the client goes: then stop at once, as a good server does."""
        answer = asyncio.ensure_future(answering)
        gone = asyncio.ensure_future(connection.gone())
        try:
            await asyncio.wait([answer, gone], return_when=asyncio.FIRST_COMPLETED)
            if answer.done() and not isinstance(answer.exception(), ConnectionError):
                return bool(answer.result())
            self.disconnects += 1
            return False
        finally:
            for task in (answer, gone):
                task.cancel()
            await asyncio.wait([answer, gone])

    async def _respond(self, connection: Connection, body: dict[str, Any]) -> bool:
        given = self._not_taken(body) or self._answer(body)
        answer = Answer(text=given) if isinstance(given, str) else given
        await asyncio.sleep(answer.first_byte_s)
        await self.gate.pass_through()
        self.statuses[answer.status] += 1
        if answer.status != 200:
            await self._refuse(connection, answer)
            return True
        self.input_tokens += _input_tokens(answer, body)
        if body.get("stream"):
            return await self._stream(connection, answer, body)
        return await self._at_once(connection, answer, body)

    def _not_taken(self, body: dict[str, Any]) -> Answer | None:
        way = (body.get("response_format") or {}).get("type")
        if way is not None and way not in self._takes:
            return Answer(status=400, message=f"response_format of type {way} is not supported")
        if "tools" in body and "tool" not in self._takes:
            return Answer(status=400, message="this model does not support tools")
        return None

    async def _refuse(self, connection: Connection, answer: Answer) -> None:
        headers = dict(answer.headers)
        if answer.retry_after is not None:
            headers["Retry-After"] = f"{answer.retry_after:g}"
        body = _error(answer.status, answer.message, answer.code)
        await connection.send_json(answer.status, body, headers)

    async def _at_once(self, connection: Connection, answer: Answer, body: dict[str, Any]) -> bool:
        words, reason = self._words(answer, body)
        await asyncio.sleep(answer.chunk_s * len(words))
        self.output_tokens += len(words)
        message = {"role": "assistant", _field(answer): "".join(words), **_more(answer)}
        choice = {"index": 0, "message": message, "finish_reason": reason}
        complete = _completion(body, "chat.completion", [choice])
        if answer.usage:
            complete["usage"] = _usage(answer, body, len(words))
        await connection.send_json(200, complete)
        return True

    def _words(self, answer: Answer, body: dict[str, Any]) -> tuple[list[str], str]:
        """The text in tokens: words with the space before them; not more than were asked for."""
        parts = answer.text.split(" ")
        words = [parts[0], *(f" {part}" for part in parts[1:])]
        most = next((body[name] for name in self._obeys if name in body), None)
        if most is not None and len(words) > most:
            return words[:most], "length"
        return words, "tool_calls" if answer.calls else answer.finish_reason

    async def _stream(self, connection: Connection, answer: Answer, body: dict[str, Any]) -> bool:
        await connection.begin_events()
        words, reason = self._words(answer, body)
        if answer.reasoning:
            thought = {"reasoning_content": answer.reasoning}
            await connection.send_event(_chunk(body, thought, None))
        for number, word in enumerate(words):
            if number == answer.break_after:
                connection.cut()
                return False
            if number:
                await asyncio.sleep(answer.chunk_s)
            self.output_tokens += 1
            await connection.send_event(_chunk(body, {_field(answer): word}, None, word))
            if number == 0:
                await self.midway.pass_through()
        for index, (name, arguments) in enumerate(answer.calls):
            for delta in _call_deltas(index, name, arguments):
                await connection.send_event(_chunk(body, delta, None))
        await connection.send_event(_chunk(body, {}, reason))
        if answer.usage:
            last = _completion(body, "chat.completion.chunk", [])
            await connection.send_event(last | {"usage": _usage(answer, body, len(words))})
        await self.last.pass_through()
        await connection.end_events()
        return True


def _nothing() -> None: ...


def _one_by_one(answers: Iterable[Answer | str]) -> Callable[[dict[str, Any]], Answer | str]:
    left: Iterator[Answer | str] = iter(answers)
    spent = Answer(status=400, message="the script has no answer left")
    return lambda _: next(left, spent)


def _field(answer: Answer) -> str:
    return "refusal" if answer.refusal else "content"


def _input_tokens(answer: Answer, body: dict[str, Any]) -> int:
    if answer.input_tokens is not None:
        return answer.input_tokens
    return sum(len(str(message.get("content")).split()) for message in body["messages"])


def _usage(answer: Answer, body: dict[str, Any], output: int) -> dict[str, int]:
    given = _input_tokens(answer, body)
    return {"prompt_tokens": given, "completion_tokens": output, "total_tokens": given + output}


def _completion(body: dict[str, Any], kind: str, choices: list[Any]) -> dict[str, Any]:
    return {"id": "s", "object": kind, "created": 0, "model": body["model"], "choices": choices}


def _call_deltas(index: int, name: str, arguments: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """As providers send a call: first who is called, then the arguments in two pieces."""
    text = msgspec.json.encode(arguments).decode()
    head = {"id": f"call-{index}", "type": "function", "function": {"name": name, "arguments": ""}}
    pieces: list[dict[str, Any]] = [head]
    pieces += [{"function": {"arguments": part}} for part in (text[:5], text[5:])]
    for piece in pieces:
        yield {"tool_calls": [{"index": index, **piece}]}


def _more(answer: Answer) -> dict[str, Any]:
    """What a message that comes at once has beside its text."""
    more: dict[str, Any] = {"reasoning_content": answer.reasoning} if answer.reasoning else {}
    if answer.calls:
        more["tool_calls"] = [
            {
                "id": f"call-{index}",
                "type": "function",
                "function": {"name": name, "arguments": msgspec.json.encode(arguments).decode()},
            }
            for index, (name, arguments) in enumerate(answer.calls)
        ]
    return more


def _chunk(
    body: dict[str, Any], delta: dict[str, Any], reason: str | None, token: str | None = None
) -> dict[str, Any]:
    choice: dict[str, Any] = {"index": 0, "delta": delta, "finish_reason": reason}
    if token is not None and body.get("logprobs"):
        others = [
            {"token": f"{token}{n}", "logprob": -n} for n in range(body.get("top_logprobs", 0))
        ]
        told = {"token": token, "logprob": -0.5, "top_logprobs": others}
        choice["logprobs"] = {"content": [told]}
    return _completion(body, "chat.completion.chunk", [choice])


def _error(status: int, message: str, code: str | None) -> dict[str, Any]:
    kind = "server_error" if status >= 500 else "invalid_request_error"
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}
