"""Values by their parts: commands and conversations, whatever else is in them."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanwise.models.names import PROVIDERS
from fanwise.models.port import File, Message, ToolCall
from fanwise.processes.result import Capture, CommandResult
from fanwise.web.value_parts import copies_of, value_parts
from tests.profiles import examples

CALL: dict[str, Any] = {
    "model": "sim:a",
    "messages": [{"role": "system", "content": "Be short."}, {"role": "user", "content": "Hi"}],
    "reply": {
        "text": "Hello", "model": "sim:a", "usage": {"input": 9, "output": 2}, "usd": 0.25,
        "reasoning": "they greet", "calls": [{"name": "f"}], "from_cache": True,
    },
}  # fmt: skip


def test_what_a_command_printed_and_how_it_ended() -> None:
    result = CommandResult(3, stdout=Capture(b"out", 3), stderr=Capture(b"er", 900, truncated=True))
    parts = [(part.title, part.text) for part in value_parts(result.to_json())]
    assert parts == [
        ("How it ended", "the command exited with code 3"),
        ("stdout", "out"),
        ("stderr (900 bytes, not all are kept)", "er"),
    ]


def test_a_call_of_a_model_is_a_conversation_with_its_cost_and_a_program() -> None:
    parts = [(part.title, part.text) for part in value_parts(CALL)]
    assert parts == [
        ("system", "Be short."),
        ("user", "Hi"),
        ("reasoning", "they greet"),
        ("sim:a (9 + 2 tokens, $0.25, from the cache)", "Hello"),
        ("call of a tool", '{"name":"f"}'),
    ]
    program = copies_of(CALL)["Python"]
    names: dict[str, Any] = {}
    exec(program.partition("reply =")[0], names)
    assert [each.content for each in names["messages"]] == ["Be short.", "Hi"]


HARD = "it's \"$HOME\" `id` $(id) \\ !x\n@file 'é' \x9b"


@pytest.mark.parametrize("scheme", ["openai", "anthropic", "groq", "ollama"])
def test_a_curl_of_hostile_messages_sends_these_messages_and_nothing_else(
    scheme: str, tmp_path: Path
) -> None:
    """A shell runs it with a `curl` that writes down its arguments."""
    said = [{"role": "system", "content": HARD}, {"role": "user", "content": HARD}]
    command = copies_of({"model": f"{scheme}:m'$(id)", "messages": said})["curl"]
    curl = tmp_path / "curl"
    curl.write_text('#!/bin/sh\nprintf "%s\\0" "$@"\n')
    curl.chmod(0o755)
    key = PROVIDERS[scheme].key
    own = {f"{scheme.upper()}_BASE_URL": "http://own:1/v1"} if scheme == "ollama" else {}
    found = subprocess.run(
        ["/bin/sh", "-c", command],
        env={"PATH": f"{tmp_path}:/bin:/usr/bin", key: "a key", **own}, cwd=tmp_path,
        stdout=subprocess.PIPE, check=True,
    )  # fmt: skip
    address, *options = found.stdout.decode().split("\0")[:-1]
    assert (
        address
        == {
            "openai": "https://api.openai.com/v1/chat/completions",
            "anthropic": "https://api.anthropic.com/v1/messages",
            "groq": "https://api.groq.com/openai/v1/chat/completions",
            "ollama": "http://own:1/v1/chat/completions",
        }[scheme]
    )
    assert options[::2] == ["-H"] * (len(options) // 2 - 1) + ["-d"]
    wanted = "x-api-key: a key" if scheme == "anthropic" else "Authorization: Bearer a key"
    assert wanted in options
    body = msgspec.json.decode(options[-1])
    assert body["model"] == "m'$(id)"
    if scheme == "anthropic":
        assert (body["system"], body["messages"]) == (HARD, said[1:])
    else:
        assert body["messages"] == said


def test_models_without_this_interface_have_no_curl() -> None:
    said = [{"role": "user", "content": "Hi"}]
    for name in ("sim:a", "google:gemini", "azure:x", "nosuch:x", "x"):
        assert "curl" not in copies_of({"model": name, "messages": said}), name


def test_a_program_has_the_pictures_and_calls_of_its_messages_and_text_stays_text() -> None:
    said = [
        Message("user", HARD, files=(File("image/png", b"\x89PNG"),)),
        Message("assistant", "", calls=(ToolCall("1", "look", {"at": HARD}),)),
        Message("tool", "a cat", call_id="1"),
    ]
    copies = copies_of({"model": "openai:m", "messages": msgspec.to_builtins(said)})
    assert list(copies) == ["Python"], "a curl would have to leave them out"
    names: dict[str, Any] = {}
    exec(copies["Python"].partition("reply =")[0], names)
    assert names["messages"] == said


def test_pictures_are_shown_and_nothing_else_is_taken_for_one() -> None:
    def images(**file: str) -> list[str]:
        message = {"role": "user", "content": "Look", "files": [file]}
        (part,) = value_parts({"messages": [message]})
        return [each for each in part.images if each]

    assert images(media_type="image/png", data="iVBO") == ["data:image/png;base64,iVBO"]
    assert images(media_type="image/svg+xml", data="iVBO") == []
    assert images(media_type="text/html", data="iVBO") == []
    assert images(media_type="image/png", data='iVBO" onerror="x') == []
    assert images(media_type="image/png", url="https://evil.example/x.png") == []
    assert images(media_type="image/png", data="iVBO" * 1_000_001) == []


def test_an_answer_beside_its_reply_is_shown_too() -> None:
    (part,) = value_parts({"text": "Hello", "reply": {"model": "sim:a"}})
    assert part[:2] == ("sim:a", "Hello")


def test_samples_are_told_apart_and_the_chosen_one_is_named() -> None:
    verdict = {"passed": False, "requirement": "short", "reason": "2 words"}
    samples = [
        {"id": 1, "chain": 0, "iteration": 0, **CALL, "verdicts": [verdict]},
        {"id": 2, "chain": 0, "iteration": 1, **CALL, "verdicts": [{"passed": True}]},
    ]
    parts = value_parts({"sample": 2, "samples": samples})
    titles = [part.title for part in parts]
    assert titles[0] == "Chain 1 · system"
    assert titles[-1] == "Chain 1, repair 1 (chosen) · check"
    assert "short: failed, 2 words" in [part.text for part in parts]


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "samples",
                    "messages",
                    "reply",
                    "model",
                    "role",
                    "content",
                    "usage",
                    "usd",
                    "calls",
                    "verdicts",
                    "chain",
                    "iteration",
                    "exit_code",
                    "stdout",
                    "stderr",
                    "text",
                    "files",
                ]
            ),
            inner,
            max_size=6,
        )
    ),
    max_leaves=20,
)


@examples(4)
@given(anything)
def test_any_value_has_parts_that_are_text(value: Any) -> None:
    for part in value_parts(value):
        assert isinstance(part.title, str)
        assert isinstance(part.text, str)
    assert all(isinstance(text, str) for text in copies_of(value).values())


@pytest.mark.parametrize(
    "value", [None, 5, "text", [], {}, {"exit_code": 1, "stdout": 2, "stderr": 3}]
)
def test_other_values_have_none(value: Any) -> None:
    assert value_parts(value) == []
