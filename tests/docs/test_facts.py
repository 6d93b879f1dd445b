"""Figures and paths in the docs that are not in an example, held to what the code does."""

from __future__ import annotations

import re
from pathlib import Path

from fanwise.journal.open import DEFAULT
from fanwise.kernel.work import INSIST_AFTER_S
from fanwise.lines.spec.map_spec import KEEP
from fanwise.processes.run import GRACE_S

DOCS = Path(__file__).parents[2] / "docs"


def test_there_is_one_time_to_clean_up() -> None:
    text = (DOCS / "concepts" / "halting.md").read_text()
    assert re.findall(r"(\d+) seconds", text) == [f"{INSIST_AFTER_S:g}", f"{2 * INSIST_AFTER_S:g}"]


def test_long_outputs_are_where_the_guide_says() -> None:
    text = (DOCS / "guides" / "command-line.md").read_text()
    (told,) = re.findall(r"Outputs above 256 KiB are files in `(.*?)`", text)
    assert Path(told) == DEFAULT.with_name(f"{DEFAULT.name}.files") / "RUN"
    assert KEEP == 256 << 10


def test_a_command_has_the_grace_that_the_guide_says() -> None:
    text = (DOCS / "guides" / "command-line.md").read_text()
    assert f"gets SIGTERM, and after {GRACE_S:g} seconds SIGKILL" in text


def test_the_messages_of_the_troubleshooting_page_are_those_of_the_code() -> None:
    """Each quoted message, up to its first number, stands in the source."""
    text = (DOCS / "troubleshooting.md").read_text()
    quoted = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")]
    messages = [each for cell in quoted for each in re.findall(r"`([^`]+)`", cell)]
    assert len(messages) > 20
    files = [DOCS.parent / "Makefile", *(DOCS.parent / "src" / "fanwise").rglob("*.py")]
    source = "".join(path.read_text() for path in files)
    joined = re.sub(r'"\s*\n?\s*f?"', "", source)
    missing = [m for m in messages if not _is_said(m, joined)]
    assert missing == []


def _is_said(message: str, source: str) -> bool:
    parts = re.split(r"[\d.]+|OPENAI_API_KEY|usd", message)
    return all(part.strip(" :,") in source for part in parts)
