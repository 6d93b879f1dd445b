"""The page: every leaf is on it, what is hostile stays text, and it can be opened with many."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from fanwise.errors import SubPlanFailed
from fanwise.plan.model.leaf_result import EditRequest
from fanwise.plan.model.merge_result import (
    BrokenName,
    MergeCheck,
    PublishedResult,
)
from fanwise.plan.model.node import FileNote, Hub
from fanwise.plan.state.read_run import RecordedPlan
from fanwise.plan.views.page import report
from tests.plan.views.made import (
    STORY,
    conflict,
    ended,
    leaf,
    merged,
    recorded,
    split_of,
    story,
    tree,
    tried,
)
from tests.view.seen import Seen

EVIL = "</pre></script><script>alert(1)</script><img src=x onerror=alert(2)>\"' <!--"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> RecordedPlan:
    return recorded(tmp_path_factory.mktemp("run"), split_of(STORY), story())


def test_all_that_became_of_the_plan_is_on_the_page(whole: RecordedPlan) -> None:
    seen = Seen(report(whole).html)
    for part in (
        "Replace the assertions", "fanwise/plan-abc", "✗ failed", "○ left out", "/ skipped",
        "verify failed (try 2): 2 tests failed", "try 1: work failed after 1.50 s",
        "exit code 1: the output", "src-c.patch", "shared.txt", "with all that was merged",
        "without tests/h", "3 failed", "+wish", "wanted by tests/e", "nobody's", "Rename first",
        "of 40 imports", "predicted, with 10 at once",
        "peak 1 of 10 at once", "0.02", "merge 2",
        "it returned 2 sub-plans", "the check fails with it", "pytest -q",
    ):  # fmt: skip
        assert part in seen.words, part
    assert "script" not in seen.tags
    assert seen.active == []


def test_every_link_leads_somewhere_on_the_page(whole: RecordedPlan) -> None:
    seen = Seen(report(whole).html)
    ids = seen.values("id")
    assert {link.removeprefix("#") for link in seen.values("href")} <= set(ids)
    assert len(ids) == len(set(ids))


def test_the_lines_and_the_document_say_the_same(whole: RecordedPlan) -> None:
    made = report(whole)
    assert made.lines[0].startswith("11 sub-plans: 1 failed")
    assert made.document["counts"]["failed"] == 1
    assert len(made.document["leaves"]) == 12
    assert made.document["result"]["branch"] == "fanwise/plan-abc"


def test_a_run_that_has_just_begun_and_one_that_goes_on_have_a_page(tmp_path: Path) -> None:
    for number in (0, 1, 9, 12, 14):
        place = tmp_path / str(number)
        place.mkdir()
        found = recorded(place, split_of(STORY), story()[:number])
        seen = Seen(report(found).html)
        assert ("Sub-plans at work" in seen.words) is (number > 0)
        assert "fanwise/plan-abc" not in seen.words


def hostile(place: Path) -> RecordedPlan:
    """All that somebody else can have written."""
    nodes = [
        replace(leaf("a"), title=EVIL, files=(EVIL,), irreducible=EVIL),
        replace(leaf("b", after=("a",)), title=EVIL, goal=EVIL),
        replace(leaf("c"), title=EVIL),
    ]
    wish = EditRequest(leaf="a", owner="b", path=EVIL, patch=EVIL)
    broken = BrokenName(
        name=EVIL, path=EVIL, line=1, used_by="a", removed_by="b", removed_from=EVIL,
    )  # fmt: skip
    step = merged(["a"], conflict("b", "a", paths=(EVIL,), detail=EVIL), broken=(broken,))
    made = split_of(
        tree({"g": nodes}, title=EVIL),
        hubs=(Hub(EVIL, 3),), unparsed=(FileNote(EVIL, EVIL),), left_out=(FileNote(EVIL, EVIL),),
    )  # fmt: skip
    happened = [
        (
            "leaf:a",
            ended("a", said=EVIL, requests=(wish,), tries=(tried("work", EVIL, said=EVIL),)),
        ),
        ("leaf:b", ended("b")),
        ("leaf:c", SubPlanFailed("c", EVIL, (tried("verify", EVIL),), kept=EVIL)),
        ("merge:0", step),
        ("again:b", SubPlanFailed("b", EVIL, (tried("merge", EVIL),), kept=EVIL)),
        ("check:0", MergeCheck(passed=True, said=EVIL)),
        (
            "result",
            PublishedResult(commit=EVIL, branch=EVIL, patch=EVIL, left_out=(FileNote("b", EVIL),)),
        ),
    ]
    return recorded(place, made, happened, plan={"goal": EVIL, "verify": EVIL})


def test_what_is_hostile_stays_text(tmp_path: Path) -> None:
    html = report(hostile(tmp_path)).html
    seen = Seen(html)
    assert not {"script", "img"} & set(seen.tags)
    assert seen.active == []
    assert "<script" not in html
    assert seen.words.count("alert(1)") > 20


def test_a_name_that_is_not_unicode_has_a_page(tmp_path: Path) -> None:
    odd = leaf("odd", title="caf\udce9", files=("caf\udce9.py",))
    found = recorded(tmp_path, split_of(tree({"g": [odd]})), [("leaf:odd", ended("odd"))])
    assert "caf\\udce9.py" in report(found).html.encode().decode()


def test_of_many_leaves_only_those_that_somebody_should_look_at_are_unfolded(
    tmp_path: Path,
) -> None:
    groups = {f"g{g}": [f"g{g}/n{n}" for n in range(20)] for g in range(10)}
    names = [name for members in groups.values() for name in members]
    happened: list[tuple[str, Any]] = [(f"leaf:{name}", ended(name)) for name in names]
    happened[45] = (f"leaf:{names[45]}", ValueError("no"))
    html = report(recorded(tmp_path, split_of(tree(groups)), happened)).html
    shown = html.partition('id="tree"')[2].partition("</section>")[0]
    assert shown.count("<details open") == 2  # the root, and the group with the failure
    assert all(f">{name}<" in shown for name in names)
