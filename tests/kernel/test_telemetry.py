"""Spans, read back from a real OpenTelemetry SDK."""

from __future__ import annotations

import asyncio
from typing import Any

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from fanwise import Usage, call, fan_out, open_run
from fanwise.kernel.telemetry import Spans
from fanwise.testing import MemoryJournal, virtual_time


async def leaf() -> str:
    await asyncio.sleep(2)
    return "a secret answer"


async def item(name: str) -> Any:
    if name == "bad":
        raise ValueError("a secret question")
    inner = await fan_out(lambda _: call(leaf, estimate=Usage(tokens=7)), [1], name="inner")
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
    [bad] = [
        s for s in done if s.name == "fanwise.item" and (s.attributes or {})["fanwise.key"] == "bad"
    ]
    assert not bad.status.is_ok
    assert (bad.attributes or {})["error.type"] == "ValueError"
    assert "secret" not in repr([span.to_json() for span in done])


@virtual_time
async def test_without_an_sdk_nothing_happens_and_nothing_breaks() -> None:
    async with open_run(journal=":memory:", subscribers=[Spans()]) as run:
        outcomes = await fan_out(item, ["good"], run=run)
    assert outcomes.values() == [["a secret answer"]]
