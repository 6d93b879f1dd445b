"""A run in words and in rows: a few lines, all of them, one row a leaf."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from fanwise.plan.state.read_run import RecordedPlan
from fanwise.plan.views.page import report
from fanwise.plan.views.rows import COLUMNS, leaf_table, recorded_document
from fanwise.plan.views.text import show_lines
from tests.plan.views.made import STORY, ended, leaf, recorded, split_of, story, tree, tried


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> RecordedPlan:
    return recorded(tmp_path_factory.mktemp("run"), split_of(STORY), story())


def test_a_few_lines_say_what_is_wrong_what_is_open_and_what_is_left(whole: RecordedPlan) -> None:
    assert show_lines(whole, fully=False) == [
        "11 sub-plans: 1 failed, 1 given up, 1 skipped, 1 left out, 6 done, 1 unchanged; 1 "
        "returned sub-plans",
        "1 failed:",
        "  src/c: verify failed (try 2): 2 tests failed (its edits: src-c.patch)",
        "1 skipped:",
        "  src/d: not begun: src/c failed",
        "1 left out, because the check fails with them:",
        "  tests/h: the check fails with it",
        "2 conflicts:",
        "  shared.txt (content): tests/f with src/a: settled: it was run again on what was merged",
        "  shared.txt (content): tests/g with src/a, src/b: given up: edits failed: no edits",
        "2 edits outside a sub-plan's own files were kept aside:",
        "  src/a.py (of src/a): wanted by tests/e",
        "  setup.cfg (no sub-plan has it): wanted by tests/e",
        "check: failed (4.0 s)",
        "bisect: 5 more; it passes without tests/h",
        "result: the branch fanwise/plan-abc (666666666666), with the changes of 6 sub-plans",
    ]


def test_one_that_tried_and_is_unchanged_is_not_told_as_one_with_nothing_to_do(
    tmp_path: Path,
) -> None:
    happened = [
        ("leaf:src/a", ended("src/a", "unchanged", tries=(tried(), tried("work", "exit code 1")))),
        ("leaf:src/b", ended("src/b", "unchanged")),
    ]
    found = recorded(tmp_path, split_of(tree({"src": ["src/a", "src/b"]})), happened)
    why = "2 tries failed; the last: work: exit code 1"
    assert show_lines(found, fully=False) == [
        "2 sub-plans: 2 unchanged", "1 unchanged after failed tries:", f"  src/a: {why}",
    ]  # fmt: skip
    told = show_lines(found, fully=True)
    assert {f"= src/a: unchanged: {why}", "= src/b: unchanged"} <= set(told)
    assert why in report(found).html
    assert [row.get("reason") for row in recorded_document(found)["leaves"]] == [why, None]


def test_all_lines_have_the_tree_the_tries_and_the_patches_of_requests(whole: RecordedPlan) -> None:
    lines = show_lines(whole, fully=True)
    text = "\n".join(lines)
    for part in (
        "try 1: work failed: exit code 1 (1.5 s)", "      | exit code 1: the output",
        "its last edits are in src-c.patch",
        "request: setup.cfg (no sub-plan has it): wanted by tests/e",
        "      | +lost", "goal: Rename first", "verification: no tests", "after src/c",
        "1 call, 700 tokens, 0.02 dollars", "      | src/a is done",
    ):  # fmt: skip
        assert part in text, part
    assert any(line.startswith("├─ src") for line in lines)


def test_names_that_are_broken_and_files_that_were_decided_are_told(tmp_path: Path) -> None:
    found = recorded(tmp_path, split_of(STORY), story()[:12])
    assert (
        "  src.b.total: src/b removed it from src/b.py; tests/f uses it in tests/f.py:7"
    ) in show_lines(found, fully=False)


def test_of_many_failures_the_first_are_named_and_the_others_counted(tmp_path: Path) -> None:
    nodes = [f"n{number:02}" for number in range(14)]
    happened = [(f"leaf:{name}", ValueError("broken")) for name in nodes]
    found = recorded(tmp_path, split_of(tree({"g": nodes})), happened)
    short = show_lines(found, fully=False)
    assert short[0] == "14 sub-plans: 14 failed"
    assert len(short) == 13
    assert short[-1].startswith("  and 4 more")
    assert "n13: failed" in "\n".join(show_lines(found, fully=True))


def test_there_is_a_row_for_each_leaf_and_a_column_for_all_that_it_has(whole: RecordedPlan) -> None:
    table = leaf_table(whole)
    rows = {row["title"]: row for row in table.rows}
    assert list(rows) == [each.title for each in whole.state.leaves]
    assert all(set(row) <= set(COLUMNS) for row in rows.values())
    assert rows["src/c"]["state"] == "failed"
    assert [each["stage"] for each in rows["src/c"]["tries"]] == ["work", "verify"]
    assert rows["tests/e"]["requests"][1]["patch"] == "--- a\n+++ b\n+lost\n"
    assert (rows["src/a"]["in_result"], rows["tests/h"]["in_result"]) == (1, 0)
    assert (rows["costly"]["usd"], rows["costly"]["input_tokens"]) == (0.02, 600)
    assert rows["tests/i.py"]["goal"] == "Rename first"
    assert rows["src/a"]["goal"] == "Replace the assertions"
    assert rows["src/a"]["started_at"] <= rows["src/a"]["ended_at"]


def test_a_name_that_is_not_unicode_can_be_written(tmp_path: Path) -> None:
    odd = "caf\udce9"
    node = leaf("odd", title=odd, files=(f"{odd}.py",))
    found = recorded(tmp_path, split_of(tree({"g": [node]})), [("leaf:odd", ended("odd"))])
    for row in leaf_table(found).rows:
        assert rb"caf\\udce9" in msgspec.json.encode(row)
    assert recorded_document(found)["leaves"][0]["files"] == ["caf\\udce9.py"]
