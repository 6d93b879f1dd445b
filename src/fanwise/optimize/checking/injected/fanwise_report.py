"""A plugin of pytest that writes down which tests ran and what came of each.

pytest loads it because PYTEST_PLUGINS names it, so no file, option or configuration of the user's
is touched, and it is there however pytest is started: by itself, by `python -m`, by make. With
xdist the first process has the reports of all. Programs that tests start do not have it: the
variables are taken out of the environment at once.

It runs in the user's interpreter, beside code that nobody has read, and imports nothing of ours.
What it writes is complete or is not there: a run that was killed, or left by `os._exit`, has none.
The word in it is known to us and taken away before the tests are imported. Code in the same process
could still find it, as it could replace pytest itself; that is why tests are not the only judge.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

_MOST = 4000
_DETAILS = 20
_RANK = ("error", "failed", "xpassed", "passed", "xfailed", "skipped")

_folder = os.environ.pop("FANWISE_REPORT_FOLDER", "")
_word = os.environ.pop("FANWISE_REPORT_WORD", "")
_others = os.environ.pop("FANWISE_REPORT_OTHERS", "")
if _folder:
    os.environ.pop("PYTEST_PLUGINS", None)
    if _others:
        os.environ["PYTEST_PLUGINS"] = _others


class _Report:
    def __init__(self, folder: str, word: str) -> None:
        self._folder = folder
        self._word = word
        self._pid = os.getpid()
        self._seen: dict[str, dict[str, str]] = {}
        self._details: dict[str, str] = {}
        self._status: int | None = None

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self._note("collecting " + (report.nodeid or "."), "collect", "error", report)

    def pytest_runtest_logreport(self, report: Any) -> None:
        outcome = report.outcome
        if hasattr(report, "wasxfail"):
            outcome = "xfailed" if report.skipped else "xpassed"
        elif report.failed and report.when != "call":
            outcome = "error"
        self._note(report.nodeid, report.when, outcome, report)

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        self._status = int(exitstatus)

    def pytest_unconfigure(self) -> None:
        if os.getpid() != self._pid or self._status is None:
            return
        written = {
            "word": self._word,
            "tests": {test: _of(parts) for test, parts in self._seen.items()},
            "details": self._details,
            "status": self._status,
        }
        path = Path(self._folder, f"{self._word}-{self._pid}.part")
        path.write_text(json.dumps(written), encoding="utf-8")
        path.rename(path.with_suffix(".json"))

    def _note(self, test: str, when: str, outcome: str, report: Any) -> None:
        parts = self._seen.setdefault(test, {})
        parts[when] = _worse(parts.get(when), outcome)
        if outcome in ("failed", "error") and len(self._details) < _DETAILS:
            self._details[test] = str(getattr(report, "longreprtext", ""))[-_MOST:]


def _worse(one: str | None, other: str) -> str:
    return next((each for each in _RANK if each in (one, other)), other)


def _of(parts: dict[str, str]) -> str:
    """One word for a test from those of its set-up, its call and its tear-down."""
    bad = [each for each in _RANK[:2] if each in parts.values()]
    told = [each for each in parts.values() if each != "passed"]
    return (bad or told or ["passed"])[0]


def pytest_configure(config: Any) -> None:
    """Take part, where we are asked to and are not one of xdist's workers."""
    global _folder, _word
    if _folder and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Report(_folder, _word))
    _folder = _word = ""
