"""A subscriber that keeps what it was told."""

from __future__ import annotations

from typing import TypeVar

from fanwise.kernel.events import Event

E = TypeVar("E", bound=Event)


class Recording:
    """`open_run(subscribers=[recording])`; afterwards `recording.of(ItemEnded)`."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def __call__(self, event: Event) -> None:
        self.events.append(event)

    def of(self, kind: type[E]) -> list[E]:
        """The events of one kind, in the order in which they came."""
        return [event for event in self.events if isinstance(event, kind)]
