"""One of something is not called several."""

from __future__ import annotations

import re
from contextlib import closing
from pathlib import Path

from fanwise.journal.open import open_journal
from fanwise.matrix import Matrix, exact, run_matrix_sync
from fanwise.matrix.views.page import report
from tests.view.seen import Seen

WRONG = re.compile(
    r"\b1 (?:models|strategies|cells|inputs|requests|calls|repeats|attempts|pairs)\b"
)
ONE = Matrix(
    "one",
    models=["sim:small?median_s=0.001"],
    prompts={"p": "Say {{ input.text }}"},
    inputs=[{"id": "a", "text": "x"}],
    score=[exact("text")],
)


def test_the_page_of_one_cell(tmp_path: Path) -> None:
    journal = tmp_path / "journal.db"
    run_matrix_sync(ONE, run="one", journal=journal)
    with closing(open_journal(journal, read_only=True)) as opened:
        made = report(opened, opened.run("one"))
    text = Seen(made.html).words
    assert "1 model" in text and WRONG.findall(text) == []
