"""What signals do to a run: Ctrl-C once halts it, twice cancels it; SIGTERM and SIGHUP cancel.

Commands run in sessions of their own, so a Ctrl-C in the terminal reaches only fanwise.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable

from fanwise.kernel.run import Run


class Interrupts:
    """A context in which signals halt or cancel the run."""

    def __init__(self, run: Run, in_flight: Callable[[], int], say: Callable[[str], None]) -> None:
        self._run = run
        self._in_flight = in_flight
        self._say = say
        self._loop = asyncio.get_running_loop()
        self._handled: list[int] = []
        self.received = False

    def __enter__(self) -> Interrupts:
        self._handle(signal.SIGINT, self._ctrl_c)
        self._handle(signal.SIGTERM, self._cancel)
        self._handle(signal.SIGHUP, self._cancel)
        return self

    def __exit__(self, *_: object) -> None:
        for number in self._handled:
            self._loop.remove_signal_handler(number)

    def _handle(self, number: int, action: Callable[[], None]) -> None:
        if number == signal.SIGHUP and signal.getsignal(number) == signal.SIG_IGN:
            return  # nohup
        self._loop.add_signal_handler(number, action)
        self._handled.append(number)

    def _ctrl_c(self) -> None:
        if self.received:
            self._cancel()
            return
        self.received = True
        self._run.halt("interrupted")
        self._say(f"finishing {self._in_flight()} in flight; Ctrl-C again cancels")

    def _cancel(self) -> None:
        self.received = True
        self._run.cancel("interrupted")
