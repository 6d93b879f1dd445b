"""Spans, read back from a real OpenTelemetry SDK."""

from __future__ import annotations

import asyncio
from typing import Any

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.semconv._incubating.attributes.gen_ai_attributes import (
    GEN_AI_RESPONSE_TIME_TO_FIRST_CHUNK,
    GEN_AI_USAGE_CACHE_READ_INPUT_TOKENS,
    GEN_AI_USAGE_INPUT_TOKENS,
    GEN_AI_USAGE_OUTPUT_TOKENS,
)

from fanwise import Usage, call, fan_out, open_run
from fanwise.kernel import meter
from fanwise.kernel.telemetry import Spans
from fanwise.testing import MemoryJournal, virtual_time

SPENT = Usage(1, 7, 0.5, input_tokens=4, output_tokens=3, cached_tokens=2)


async def leaf() -> str:
    await asyncio.sleep(0.5)
    meter.first_token()
    await asyncio.sleep(1.5)
    return "a secret answer"


async def item(name: str) -> Any:
    if name == "bad":
        raise ValueError("a secret question")
    inner = await fan_out(lambda _: call(leaf, usage=lambda _: SPENT), [1], name="inner")
    return inner.values()


@virtual_time
async def test_a_run_is_a_tree_of_spans_with_times_and_without_contents() -> None:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    spans = Spans(provider.get_tracer("test"))
    async with open_run("r", journal=MemoryJournal(), subscribers=[spans]) as run:
        await fan_out(item, ["good", "bad"], key=str, run=run, name="outer")
    done = list(exporter.get_finished_spans())
    by_id = {span.context.span_id: span for span in done if span.context}

    def chain(span: ReadableSpan) -> list[str]:
        parent = by_id.get(span.parent.span_id) if span.parent else None
        return [span.name, *(chain(parent) if parent else [])]

    [a_call] = [span for span in done if span.name == "fanwise.call"]
    assert chain(a_call) == [
        "fanwise.call", "fanwise.item", "fanwise.fan_out", "fanwise.item", "fanwise.fan_out",
        "fanwise.run",
    ]  # fmt: skip
    attributes = dict(a_call.attributes or {})
    assert attributes["fanwise.ran_s"] == 2.0
    assert attributes["gen_ai.usage.total_tokens"] == 7
    assert attributes["fanwise.usd"] == 0.5
    named = [GEN_AI_USAGE_INPUT_TOKENS, GEN_AI_USAGE_OUTPUT_TOKENS,
             GEN_AI_USAGE_CACHE_READ_INPUT_TOKENS, GEN_AI_RESPONSE_TIME_TO_FIRST_CHUNK]  # fmt: skip
    assert [attributes[name] for name in named] == [4, 3, 2, 0.5]
    [bad] = [
        s for s in done if s.name == "fanwise.item" and (s.attributes or {})["fanwise.key"] == "bad"
    ]
    assert not bad.status.is_ok
    assert (bad.attributes or {})["error.type"] == "ValueError"
    assert "secret" not in repr([span.to_json() for span in done])


@virtual_time
async def test_what_nobody_knows_of_a_call_is_no_attribute() -> None:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    spans = Spans(provider.get_tracer("test"))

    async def one(_: int) -> None:
        await call(asyncio.sleep, 1, usage=lambda _: Usage(tokens=3, usd=None))
        await call(asyncio.sleep, 1, usage=lambda _: None)

    async with open_run(journal=":memory:", subscribers=[spans]) as run:
        await fan_out(one, [1], run=run)
    costs = [
        {name: value for name, value in (span.attributes or {}).items() if "gen_ai" in name}
        for span in exporter.get_finished_spans()
        if span.name == "fanwise.call"
    ]
    assert costs == [{"gen_ai.usage.total_tokens": 3}, {}]


@virtual_time
async def test_without_an_sdk_nothing_happens_and_nothing_breaks() -> None:
    async with open_run(journal=":memory:", subscribers=[Spans()]) as run:
        outcomes = await fan_out(item, ["good"], run=run)
    assert outcomes.values() == [["a secret answer"]]
