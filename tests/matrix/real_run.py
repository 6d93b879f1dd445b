"""A matrix that really ran, against a server on loopback, with all that a journal can hold of one.

Failures, several steps, samples in nested fan-outs, a function's own calls, a judge, a scorer that
fails, controls without a model, a call that was tried again, one that nobody knows the price of, a
rerun, an edit, and cells that wait.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from fanwise import Retry, fan_out
from fanwise.matrix import Matrix, run_matrix
from fanwise.matrix.answers.steps import Subject
from fanwise.models import ask
from fanwise.testing import Answer, ScriptedServer

RUN = "reviews"
HOSTILE_NAME = "c </script><img src=x onerror=window.pwned=3>&\"'"
KIND = "kind <img src=x onerror=window.pwned=4>"
HOSTILE = "</script><script>window.pwned=1</script><img src=x onerror=window.pwned=2> javascript:1"


async def mine(subject: Subject) -> Any:
    model = subject.model
    assert model is not None

    async def work(text: str) -> Any:
        return (await ask(model, f"Mine, first: {text}")).text

    # A name that looks like that of a score, and is none.
    await fan_out(work, [subject.input["text"]], name="x score y", key=lambda _: "a score b")
    return await ask(model, f"Mine: {subject.input['text']}")


def odd(answer: Any, given: dict[str, Any]) -> float:
    if given["id"] == "b":
        raise ValueError("this scorer knows no b")
    return 0.5


def matrix(*, prompt: str = "Good or bad?", inputs: int = 3) -> Matrix:
    rows = [
        {"id": "a", "text": "lovely", "label": "good"},
        {"id": "b", "text": "awful", "label": "bad"},
        {"id": HOSTILE_NAME, "text": HOSTILE, "label": "bad"},
    ]
    return Matrix(
        "reviews",
        models=["openai:gpt-5-mini", "openai:gpt-5"],
        inputs=rows[:inputs],
        repeat=2,
        prompts={
            "one": {
                "prompt": prompt + " {{ input.text }}",
                "schema": {"enum": ["good", "bad", HOSTILE]},
            },
            "two": {
                "steps": [
                    {"name": "mood", "prompt": "Which mood? {{ input.text }}"},
                    {"name": "label", "prompt": "So? {{ steps.mood }}"},
                ]
            },
            "vote": {
                "prompt": "Vote: {{ input.text }}",
                "sample": {"loop_budget": 1, "concurrency_budget": 3, "strategy": "majority"},
            },
            "mine": mine,
            f"always {HOSTILE_NAME}": {"constant": {"label": "good"}},
            "oracle": {"copy": "input.label"},
        },
        score=[
            {"exact": "input.label"},
            odd,
            {"judge": "Is this kind?", "name": KIND, "model": "openai:gpt-5-nano"},
        ],
        options={"max_tokens": 20},
        retry=Retry(1, 0.001),
        caps={"openai": 3},
    )


def script(body: dict[str, Any]) -> Answer | str:
    text = body["messages"][-1]["content"]
    if body["model"] == "gpt-5-nano":
        return '{"score": 0.75, "reason": "kindly"}' if "pwned" not in text else "what?"
    if "Mine: awful" in text:
        return Answer(text="sad", usage=False)
    if "Which mood" in text or "Mine" in text:
        return "glad" if "lovely" in text else "sad"
    if body["model"] == "gpt-5" and "awful" in text:
        return Answer(status=400 if "Vote" in text else 500, message=HOSTILE)
    if "So? sad" in text and body["model"] == "gpt-5":
        return Answer(status=400)
    if "pwned" in text:
        return HOSTILE
    return '"good"' if "lovely" in text or "glad" in text else '"bad"'


async def _recorded(journal: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with ScriptedServer(script) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-of-mine")
        await run_matrix(matrix(inputs=2), run=RUN, journal=journal)
        # Edited: the cells of `one` are others, there is a third input; and one cell is left.
        edited = matrix(prompt="Is it good or bad?")
        left = ["input=a", "input=b", "repeat=0"]
        for only in (left[:2], left[2:]):
            await run_matrix(edited, run=RUN, journal=journal, only=only)
        await run_matrix(edited, run=RUN, journal=journal, rerun="all", only=["strategy=vote"])
        await run_matrix(edited, run=RUN, journal=journal, rerun="failed", only=["input=b"])


def record(journal: Path) -> None:
    """All of it, into that journal."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        asyncio.run(_recorded(journal, monkeypatch))
