"""A model on this machine: a real llama.cpp, with weights that are random but real."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import BaseModel

from fanwise import Budget, Caps, fan_out
from fanwise.core.outcome import Usage
from fanwise.errors import (
    ModelNotReady,
    ModelNotStarted,
    ModelRejected,
    ModelUnreachable,
    UnknownModel,
    UsageError,
)
from fanwise.models import (
    Message,
    Options,
    Request,
    Tool,
    ToolCall,
    ask,
    connect,
    stream,
    tool_of,
)
from fanwise.models.local.model import LocalModel
from fanwise.models.local.tools_by_schema import without_tools
from tests.marks import slow, slow_after
from tests.processes.support import alive, eventually, eventually_now

from .support import prompt, run
from .tiny_gguf import make_tiny_gguf, tiny_gguf

ENDLESS = prompt("go on", most=30_000)
MOODS = {
    "type": "object",
    "properties": {"mood": {"enum": ["good", "bad"]}, "sure": {"type": "boolean"}},
    "required": ["mood", "sure"],
    "additionalProperties": False,
}


@pytest.fixture
def model() -> Iterator[LocalModel]:
    """With a server of its own, which ends with the test."""
    found = connect(f"local:{tiny_gguf()}?threads=1&ctx=32768&slots=2")
    assert isinstance(found, LocalModel)
    yield found
    found.stop()


# -- what it says --------------------------------------------------------------------------------


def test_the_same_request_with_a_seed_gets_the_same_reply_also_from_a_new_server(
    model: LocalModel,
) -> None:
    async def texts() -> list[str]:
        asked = [prompt("hello", seed=n % 2) for n in range(4)]
        return [(await model.reply(request)).text for request in asked]

    first = run(texts())
    model.stop()
    assert run(texts()) == first
    assert first[0] == first[2] != first[1] == first[3]


def test_a_schema_is_a_grammar_so_that_even_random_weights_keep_to_it(model: LocalModel) -> None:
    async def values() -> list[Any]:
        asked = [prompt(schema=MOODS, seed=n) for n in range(12)]
        return [(await model.reply(request)).value for request in asked]

    found = run(values())
    assert {value["mood"] for value in found} <= {"good", "bad"}
    assert {value["sure"] for value in found} <= {True, False}


@pytest.mark.parametrize(
    "schema",
    [
        {"enum": ["yes", "no", 3, None]},
        {"type": "array", "items": {"enum": ["a b", "c"]}, "minItems": 2, "maxItems": 3},
        {"anyOf": [{"const": 1}, {"type": "string", "enum": ["one"]}]},
    ],
    ids=["enum", "array", "any of"],
)
def test_schemas_of_other_kinds_are_kept_to(schema: dict[str, Any], model: LocalModel) -> None:
    for seed in range(5):
        run(model.reply(prompt(schema=schema, seed=seed)))


class Mood(BaseModel):
    mood: Literal["good", "bad"]


def tell(mood: Mood) -> str:
    """Tell how it is."""
    return mood.mood


def leave(now: bool) -> bool:
    """Go away."""
    return now


@pytest.mark.parametrize("choice", ["required", "tell", "leave", "none", None])
def test_a_grammar_lets_even_random_weights_call_tools(
    choice: str | None, model: LocalModel
) -> None:
    """The chat template has no place for tools: llama.cpp would leave them out in silence."""
    tools = (tool_of(tell), tool_of(leave))
    answer = {"enum": ["yes", "no"]}

    async def main() -> None:
        made = set()
        for seed in range(6):
            options = Options(max_tokens=200, tool_choice=choice)
            request = Request((Message("user", "hello"),), options, answer, seed, tools)
            reply = await model.reply(request)
            assert reply.usage.total is not None
            assert reply.usage.total <= model.estimate(request).tokens
            made |= {call.name for call in reply.calls} or {"answer"}
            if not reply.calls:
                assert (reply.value in ("yes", "no"), reply.finish_reason) == (True, "stop")
            for call in reply.calls:
                assert reply.finish_reason == "tool_call"
                wanted = {"mood": {"mood": "good"}} if call.name == "tell" else {"now": True}
                assert call.arguments.keys() == wanted.keys()
        allowed = {"none": {"answer"}, "required": {"tell", "leave"}}
        assert made <= allowed.get(choice or "", {choice} if choice else {*made})

    run(main())


def test_pieces_of_a_forced_call_are_not_shown_as_an_answer(model: LocalModel) -> None:
    async def main() -> list[str]:
        request = Request((Message("user", "hi"),), Options(max_tokens=99, tool_choice="leave"))
        return [str(p) async for p in stream(model, request, tools=[tool_of(leave)], rounds=0)]

    assert run(main()) == []


def test_tools_whose_types_have_the_same_name_are_refused() -> None:
    def other(mood: Any) -> None:
        """Another type of that name."""

    parameters = {**tool_of(tell).parameters, "$defs": {"Mood": {"type": "string"}}}
    tools = (tool_of(tell), Tool("other", "", parameters))
    with pytest.raises(UsageError, match="define Mood differently"):
        without_tools(Request((Message("user", "x"),), tools=tools))


def test_calls_and_their_answers_are_told_in_words() -> None:
    said = Message("assistant", "", calls=(ToolCall("1", "leave", {"now": True}),))
    turns = (Message("user", "x"), said, Message("tool", "True", call_id="1"))
    asked = without_tools(Request(turns, tools=(tool_of(leave),)))
    assert [(each.role, each.content) for each in asked.messages[1:]] == [
        ("user", "x"),
        ("assistant", '{"tool":"leave","arguments":{"now":true}}'),
        ("user", "The tool returned: True"),
    ]
    assert (asked.tools, "Go away." in asked.messages[0].content) == ((), True)


def test_it_costs_nothing_and_a_budget_of_dollars_knows_that(model: LocalModel) -> None:
    async def main() -> None:
        budget = Budget(usd=0.01, tokens=5000)
        item = lambda n: ask(model, prompt(f"{n}", most=20))  # noqa: E731
        outcomes = await fan_out(item, range(5), caps=Caps(local=2), budget=budget)
        replies = outcomes.values()
        assert [reply.usd for reply in replies] == [0.0] * 5
        assert budget.spent["usd"] == 0
        assert budget.spent["tokens"] == sum(reply.usage.total or 0 for reply in replies)

    run(main())


@pytest.mark.parametrize("text", ["hi", "how are you " * 20, "\N{SNOWMAN}" * 100, ""])
def test_the_estimate_is_not_less_than_what_is_taken(text: str, model: LocalModel) -> None:
    reply = run(model.reply(prompt(text, most=9)))
    assert reply.usage.total is not None
    assert reply.usage.total <= model.estimate(prompt(text, most=9)).tokens


def test_the_estimate_is_never_more_than_the_context() -> None:
    model = connect(f"local:{tiny_gguf()}?ctx=1000")
    assert model.estimate(Request((Message("user", "hi"),))) == Usage(1, 1000, 0.0)
    assert model.estimate(prompt("x" * 5000)) == Usage(1, 1000, 0.0)
    assert model.estimate(prompt("hi", most=50)) == Usage(1, 2 + 16 + 256 + 50, 0.0)


def test_a_price_may_be_given_all_the_same() -> None:
    model = connect({"name": f"local:{tiny_gguf()}", "price": {"input": 1, "output": 2}})
    assert model.estimate(prompt("hi", most=50)).usd == pytest.approx((274 + 100) / 1e6)


def test_a_prompt_that_does_not_fit_is_rejected_with_the_numbers() -> None:
    model = connect(f"local:{tiny_gguf()}?threads=1&ctx=256&slots=1")
    assert isinstance(model, LocalModel)
    with pytest.raises(ModelRejected, match="exceeds the available context size"):
        run(model.reply(prompt("x" * 500)))
    model.stop()


# -- its server ----------------------------------------------------------------------------------


def test_connecting_starts_nothing_and_the_first_reply_starts_the_server(model: LocalModel) -> None:
    assert (model.server_url, model.server_pid) == (None, None)
    run(model.reply(prompt()))
    assert (model.server_url or "").startswith("http://127.0.0.1:")


def test_first_requests_at_once_share_one_start(model: LocalModel) -> None:
    async def pid() -> int | None:
        await model.reply(prompt(most=5))
        return model.server_pid

    async def main() -> set[int | None]:
        return {*await asyncio.gather(*(pid() for _ in range(5)))}

    found: list[set[int | None]] = []
    threads = [threading.Thread(target=lambda: found.append(run(main()))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [{model.server_pid}] * 3


def test_a_server_goes_on_from_one_event_loop_to_the_next_and_between_equal_models(
    model: LocalModel,
) -> None:
    run(model.reply(prompt()))
    pid = model.server_pid
    same = connect(model.name)
    assert isinstance(same, LocalModel)
    run(same.reply(prompt()))
    assert pid == same.server_pid


def test_other_settings_have_another_server(model: LocalModel) -> None:
    other = connect(f"local:{tiny_gguf()}?threads=1&slots=1")
    assert isinstance(other, LocalModel)
    run(model.reply(prompt()))
    run(other.reply(prompt()))
    assert model.server_pid != other.server_pid
    other.stop()


def test_a_relative_path_is_that_of_the_moment_of_connecting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_tiny_gguf(tmp_path / "mine.gguf")
    monkeypatch.chdir(tmp_path)
    model = connect("local:mine.gguf?threads=1")
    assert isinstance(model, LocalModel)
    monkeypatch.chdir("/")
    assert run(model.reply(prompt())).model == "mine"
    model.stop()


def test_nobody_without_the_key_is_served(model: LocalModel) -> None:
    import urllib.error
    import urllib.request

    run(model.reply(prompt()))
    for path in ("/slots", "/v1/models", "/v1/chat/completions"):
        with pytest.raises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(f"{model.server_url}{path}")
        caught.value.close()
        assert caught.value.code == 401


def test_a_cancelled_reply_frees_its_slot(model: LocalModel) -> None:
    async def main() -> None:
        going = [asyncio.create_task(model.reply(ENDLESS)) for _ in range(2)]
        await _busy(model, 2)
        for task in going:
            task.cancel()
        await asyncio.wait(going)
        assert all(task.cancelled() for task in going)
        await _busy(model, 0)
        assert (await model.reply(prompt())).text

    run(main())


async def _busy(model: LocalModel, wanted: int) -> None:
    until = time.monotonic() + 30
    while await model.busy_slots() != wanted:
        assert time.monotonic() < until, f"not {wanted} slots are busy"
        await asyncio.sleep(0.005)


def test_a_server_that_dies_in_the_middle_is_unreachable_and_the_next_request_starts_another(
    model: LocalModel,
) -> None:
    async def main() -> None:
        going = asyncio.create_task(model.reply(ENDLESS))
        await _busy(model, 1)
        pid = model.server_pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        with pytest.raises(ModelUnreachable, match="its server ended by SIGKILL") as caught:
            await going
        assert caught.value.usd == 0.0
        assert (await model.reply(prompt())).text
        assert model.server_pid not in (None, pid)

    run(main())


def test_a_server_that_died_between_two_requests_is_started_again(model: LocalModel) -> None:
    async def main() -> None:
        await model.reply(prompt())
        pid = model.server_pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        await eventually(lambda: model.server_pid is None)
        await model.reply(prompt())
        assert model.server_pid not in (None, pid)

    run(main())


def test_a_file_that_llama_cpp_cannot_load_is_an_error_with_what_it_said(tmp_path: Path) -> None:
    whole = tiny_gguf().read_bytes()
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(whole[: len(whole) // 2])
    model = connect(f"local:{broken}")
    for _ in range(2):
        with pytest.raises(ModelNotStarted) as caught:
            run(ask(model, "hello"))
        assert "tensor" in caught.value.log
        assert "is not within the file bounds" in str(caught.value)
        assert str(broken) in caught.value.next_step


def test_a_start_that_is_cancelled_goes_on_for_the_others(model: LocalModel) -> None:
    async def main() -> None:
        first = asyncio.create_task(model.reply(prompt()))
        await asyncio.sleep(0)
        second = asyncio.create_task(model.reply(prompt()))
        await asyncio.sleep(0)
        pid = model.server_pid
        first.cancel()
        assert (await second).text
        assert model.server_pid == pid

    run(main())


# -- its end -------------------------------------------------------------------------------------

PROGRAM = """
import asyncio, os, signal, sys
from fanwise.models import Message, Options, Request, connect
model = connect(sys.argv[1])
asyncio.run(model.reply(Request((Message("user", "hi"),), Options(max_tokens=3))))
print(model.server_pid, flush=True)
"""
ENDS: dict[str, str] = {
    "normally": "",
    "by sys.exit": "sys.exit(3)",
    "by an exception": "raise ValueError",
    "by os._exit": "os._exit(0)",
    "by SIGTERM": "os.kill(os.getpid(), signal.SIGTERM)",
    "by SIGKILL": "os.kill(os.getpid(), signal.SIGKILL)",
    "by SIGKILL, and its guard before": """
from fanwise.processes.guard import guard
guard()._process.kill()
os.kill(os.getpid(), signal.SIGKILL)
""",
    "while a fork lives on": """
if os.fork() == 0:
    sys.stdin.read()
    os._exit(0)
os.kill(os.getpid(), signal.SIGKILL)
""",
}


@pytest.mark.parametrize("end", slow_after(1, ENDS.values()), ids=ENDS.keys())
def test_the_server_is_dead_when_its_process_has_ended(end: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM + end, f"local:{tiny_gguf()}?threads=1&slots=1"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdout is not None
        pid = int(process.stdout.readline())
        eventually_now(lambda: not alive(pid))


@slow
def test_a_fork_leaves_the_server_of_its_parent_alone_and_has_its_own() -> None:
    fork = """
import warnings; warnings.simplefilter("ignore")
if os.fork() == 0:
    asyncio.run(model.reply(Request((Message("user", "hi"),), Options(max_tokens=3))))
    print(model.server_pid, flush=True)
    sys.exit()
os.wait()
asyncio.run(model.reply(Request((Message("user", "hi"),), Options(max_tokens=3))))
print(model.server_pid)
"""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM + fork, f"local:{tiny_gguf()}?threads=1&slots=1"],
        capture_output=True, check=True, timeout=60,
    )  # fmt: skip
    before, forked, after = done.stdout.split()
    assert before == after != forked
    eventually_now(lambda: not alive(int(forked)))


# -- its name ------------------------------------------------------------------------------------


def test_weights_that_were_not_pulled_are_said_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FANWISE_CACHE", str(tmp_path))
    with pytest.raises(ModelNotReady, match="It needs: fanwise pull smollm2"):
        connect("local:smollm2")


@pytest.mark.parametrize(
    ("name", "kind", "hint"),
    [
        ("local:smolm2", UnknownModel, "Did you mean 'smollm2'?"),
        ("local:", UsageError, "Write local:NAME"),
        ("local:no/such.gguf", UsageError, "fanwise pull smollm2"),
        ("local:{}?slot=2", UsageError, "Did you mean 'slots'?"),
        ("local:{}?zzz=2", UsageError, "Known: slots, ctx, threads"),
        ("local:{}?slots=two", UsageError, "Write local:NAME"),
        ("local:{}?slots=", UsageError, "Write local:NAME"),
        ("local:{}?slots=0", UsageError, "Write local:NAME"),
        (f"local:{__file__}", UsageError, "Give weights that llama.cpp can load"),
    ],
)
def test_a_name_that_cannot_be_is_answered_with_what_can(
    name: str, kind: type[UsageError], hint: str
) -> None:
    with pytest.raises(kind) as caught:
        connect(name.format(tiny_gguf()))
    assert hint in caught.value.next_step


def test_an_address_or_a_key_is_refused_for_there_is_none() -> None:
    with pytest.raises(UsageError, match="needs none"):
        connect({"name": f"local:{tiny_gguf()}", "base_url": "http://localhost:1/v1"})


WITHOUT = """
import sys
from importlib.machinery import PathFinder
class Finder(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name == sys.argv[1] else PathFinder.find_spec(name, path, target)
sys.meta_path[sys.meta_path.index(PathFinder)] = Finder
from fanwise.errors import ModelNotReady
from fanwise.models import connect
try:
    connect(sys.argv[2])
except ModelNotReady as error:
    print(error)
"""


@pytest.mark.parametrize("missing", ["xllamacpp", "openai"])
def test_a_missing_package_is_named_with_its_extra(missing: str) -> None:
    name = f"local:{tiny_gguf()}"
    command = [sys.executable, "-c", WITHOUT, missing, name]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    wanted = f"{missing} is not installed. It needs: pip install 'fanwise[local]'"
    assert done.stdout.strip() == f"{name} cannot be used: {wanted}"


def test_the_heavy_packages_are_not_imported_with_the_models() -> None:
    code = "import fanwise.models.local.settings, sys; print('xllamacpp' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_a_python_that_cannot_be_run_is_an_error_of_ours(
    model: LocalModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {path.name for path in Path("/proc/self/fd").iterdir()}
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    with pytest.raises(ModelNotStarted, match=r"cannot be run: .* '/no/such/python'"):
        asyncio.run(model.reply(prompt()))
    assert {path.name for path in Path("/proc/self/fd").iterdir()} <= files
