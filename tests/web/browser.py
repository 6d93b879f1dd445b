"""A real browser, and `fanwise view` as people start it.

Left out where there is no Chromium or no playwright; `FANWISE_CHROMIUM` says where it is.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = os.environ.get("FANWISE_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
MARKS = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")]
PATIENCE_MS = 60_000


class ViewProcess:
    """`fanwise view` as people start it."""

    def __init__(self, folder: Path, *options: str) -> None:
        self._folder = folder
        self.start(*options)

    def start(self, *options: str) -> None:
        command = [sys.executable, "-m", "fanwise", "view", "--no-open", *options]
        self._process = subprocess.Popen(
            command, cwd=self._folder, stderr=subprocess.PIPE, text=True
        )
        assert self._process.stderr is not None
        found = re.search(r"http://127\.0\.0\.1:(\d+)/\?token=\S+", self._process.stderr.readline())
        assert found is not None
        self.address, self.port = found[0], found[1]

    def at(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    def stop(self) -> int:
        self._process.send_signal(signal.SIGINT)
        code = self._process.wait(30)
        assert self._process.stderr is not None
        self._process.stderr.close()
        return code


@contextmanager
def open_browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as started:
        found = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()


def listen(page: Any) -> list[str]:
    """All that the console and errors of a page will say."""
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    return said


def violations(page: Any) -> list[tuple[str, str]]:
    """What axe-core finds wrong with a page."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    found = axe.run(page).response["violations"]
    return [(each["id"], each["nodes"][0]["html"][:200]) for each in found]
