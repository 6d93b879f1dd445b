"""A subscriber that turns runs into OpenTelemetry spans.

    with open_run(subscribers=[Spans()]) as run: ...

There is a span for the run and for each fan-out, item and call in it, with queued, ran and backoff
seconds as attributes. Without an OpenTelemetry SDK this does nothing and costs next to nothing.
Values of items never become attributes: they may be secret or large.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from fanwise.core.outcome import Attempt
from fanwise.core.paths import path_part
from fanwise.kernel import events

if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer


class Spans:
    """Pass it to `open_run(subscribers=[…])`. `tracer`: default: that of the global provider."""

    def __init__(self, tracer: Tracer | None = None) -> None:
        from opentelemetry import trace

        self._trace = trace
        self._tracer = tracer or trace.get_tracer("fanwise")
        self._run: Span | None = None
        self._fan_outs: dict[str, Span] = {}
        self._items: dict[str, Span] = {}
        self._events = {
            events.RunStarted: self._run_started,
            events.RunEnded: self._run_ended,
            events.FanOutStarted: self._fan_out_started,
            events.FanOutEnded: self._fan_out_ended,
            events.ItemStarted: self._item_started,
            events.AttemptEnded: self._attempt_ended,
            events.ItemEnded: self._item_ended,
            events.Halted: self._halted,
            events.CapMoved: self._cap_moved,
        }

    def __call__(self, event: events.Event) -> None:
        """Turn an event into the start or the end of a span."""
        handle: Any = self._events.get(type(event))
        if handle is not None:
            handle(event)

    def _start(self, name: str, parent: Span | None, attributes: dict[str, Any]) -> Span:
        context = self._trace.set_span_in_context(parent) if parent is not None else None
        return self._tracer.start_span(name, context, attributes=attributes)

    def _run_started(self, event: events.RunStarted) -> None:
        attributes = {"fanwise.run.id": event.run_id, "fanwise.run.resumed": event.resumed}
        self._run = self._start("fanwise.run", None, attributes)

    def _run_ended(self, event: events.RunEnded) -> None:
        if self._run is not None:
            self._run.set_attribute("fanwise.run.status", event.status)
            self._run.end()

    def _fan_out_started(self, event: events.FanOutStarted) -> None:
        attributes = {"fanwise.path": event.path, "fanwise.cap": event.cap}
        # A nested fan-out's path is its item's path, then its name.
        parent = self._items.get(event.path.rpartition("/")[0], self._run)
        self._fan_outs[event.path] = self._start("fanwise.fan_out", parent, attributes)

    def _fan_out_ended(self, event: events.FanOutEnded) -> None:
        span = self._fan_outs.pop(event.path, None)
        if span is not None:
            span.set_attribute("fanwise.makespan_s", event.stats.makespan_s)
            span.set_attribute("fanwise.efficiency", event.stats.efficiency)
            span.end()

    def _item_started(self, event: events.ItemStarted) -> None:
        attributes = {"fanwise.index": event.index, "fanwise.key": event.key}
        span = self._start("fanwise.item", self._fan_outs.get(event.path), attributes)
        self._items[f"{event.path}/{path_part(event.key)}"] = span

    def _attempt_ended(self, event: events.AttemptEnded) -> None:
        item = self._items.get(f"{event.path}/{path_part(event.key)}")
        attempt = event.attempt
        attributes: dict[str, Any] = {
            "fanwise.attempt": event.number,
            "fanwise.queued_s": attempt.queued_s,
            "fanwise.ran_s": attempt.ran_s,
            "fanwise.backoff_s": attempt.backoff_s,
        }
        attributes |= _cost(attempt)
        now = time.time_ns()
        context = self._trace.set_span_in_context(item) if item is not None else None
        span = self._tracer.start_span(
            f"fanwise.{'attempt' if attempt.call is None else 'call'}",
            context,
            attributes=attributes,
            start_time=now - int(attempt.ran_s * 1e9),
        )
        if attempt.call is not None:
            span.set_attribute("fanwise.call", attempt.call)
        if attempt.error is not None:
            self._fail(span, attempt.error)
        span.end(now)

    def _item_ended(self, event: events.ItemEnded) -> None:
        outcome = event.outcome
        span = self._items.pop(f"{event.path}/{path_part(outcome.key)}", None)
        if span is None:  # a recorded outcome: nothing ran
            return
        span.set_attribute("fanwise.status", outcome.status)
        if outcome.error is not None:
            self._fail(span, outcome.error)
        span.end()

    def _halted(self, event: events.Halted) -> None:
        span = self._fan_outs.get(event.path)
        if span is not None:
            span.add_event("halt", {"fanwise.reason": event.reason})

    def _cap_moved(self, event: events.CapMoved) -> None:
        if self._run is not None:
            attributes = {"fanwise.before": event.before, "fanwise.after": event.after}
            self._run.add_event(f"cap {event.name}", attributes)

    def _fail(self, span: Span, error: BaseException) -> None:
        # The type only, because the text may quote the item.
        kind = type(error).__name__
        span.set_status(self._trace.StatusCode.ERROR, kind)
        span.set_attribute("error.type", kind)


def _cost(attempt: Attempt) -> dict[str, Any]:
    """What is known of its cost, by the names of the GenAI conventions if there is one."""
    usage = attempt.usage
    known = {"gen_ai.response.time_to_first_chunk": attempt.first_token_s}
    if usage is not None:
        known |= {
            "gen_ai.usage.total_tokens": usage.tokens,
            "gen_ai.usage.input_tokens": usage.input_tokens,
            "gen_ai.usage.output_tokens": usage.output_tokens,
            "gen_ai.usage.cache_read.input_tokens": usage.cached_tokens,
            "fanwise.usd": usage.usd,
        }
    return {name: value for name, value in known.items() if value is not None}
