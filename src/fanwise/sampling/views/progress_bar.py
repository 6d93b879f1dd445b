"""A progress bar on the terminal: how many samples of how many, and how good the best is."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from fanwise.sampling.samples import Sample


class ProgressBar:
    """Drawn on stderr inside `with`, if it is wanted and stderr is a terminal.

    `most`: samples in all. `requirements`: how many there are.
    """

    def __init__(self, most: int, requirements: int, *, wanted: bool) -> None:
        self._most = most
        self._requirements = requirements
        self._wanted = wanted and os.isatty(2)
        self._progress: Progress | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> ProgressBar:
        if self._wanted:
            from rich.console import Console
            from rich.progress import Progress

            # Drawn when a sample ends, and not by a thread of its own.
            console = Console(stderr=True)
            self._progress = Progress(console=console, transient=True, auto_refresh=False)
            self._task = self._progress.add_task("sampling", total=self._most)
            self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._progress is not None:
            self._progress.stop()

    def show(self, samples: Iterable[Sample]) -> None:
        if self._progress is None or self._task is None:
            return
        checked = [sample for sample in samples if sample.checked]
        passed = max((sample.passed for sample in checked), default=0)
        self._progress.update(
            self._task,
            completed=len(checked),
            description=f"sampling: {passed} of {self._requirements} requirements met",
            refresh=True,
        )
