"""`make run`, with a program in the place of fanwise that notes what it is asked."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PULL, RUN = "pull smollm2", "run examples/matrix.yaml --rerun failed"
REPORT = "report words --output .fanwise/words.html"


@pytest.mark.skipif(shutil.which("make") is None, reason="there is no make")
@pytest.mark.parametrize(
    ("code", "asked"),
    [(0, [PULL, RUN, REPORT]), (1, [PULL, RUN, REPORT]), (2, [PULL, RUN]), (130, [PULL, RUN])],
)
def test_the_report_is_written_though_cells_failed_and_make_says_so(
    tmp_path: Path, code: int, asked: list[str]
) -> None:
    program, notes = tmp_path / "fanwise", tmp_path / "notes"
    said = 'echo "what $1 prints"; echo "where it is" >&2'
    noted = f'echo "$@" >> {notes}'
    program.write_text(f"#!/bin/sh\n{noted}\n{said}\ncase $1 in run) exit {code};; esac\n")
    program.chmod(0o755)
    make = ["make", "--no-print-directory", "-o", "setup", "run", f"BIN={tmp_path}"]
    done = subprocess.run(make, cwd=ROOT, capture_output=True, text=True, check=False)
    assert notes.read_text().splitlines() == asked
    assert done.stdout.splitlines() == ["what pull prints", "what run prints"], (
        "one table, no shell"
    )
    assert done.stderr.count("where it is") == len(asked)
    assert (done.returncode == 0) is (code == 0)
    assert code == 0 or f"Error {code}" in done.stderr
