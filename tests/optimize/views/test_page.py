"""The report: every candidate is on it, and what is hostile stays text."""

from __future__ import annotations

import re
from html import unescape

import msgspec
import pytest
from msgspec.structs import replace

from fanwise.optimize.benchmark.noise import Noise
from fanwise.optimize.benchmark.size_class import SizeClass
from fanwise.optimize.checking.static_checks import Finding
from fanwise.optimize.differential.compare import Difference
from fanwise.optimize.propose.port import Unusable
from fanwise.optimize.verdict import CandidateVerdict
from fanwise.optimize.views.candidates import candidate_rows, speed_scale
from fanwise.optimize.views.markdown import code, escaped
from fanwise.optimize.views.page import report
from fanwise.optimize.views.results import Results
from fanwise.optimize.views.rows import COLUMNS, candidate_table
from fanwise.view.scales import Linear, Log
from tests.optimize.made import candidate, recorded, speed, verdict
from tests.view.seen import Seen

EVIL = "</pre><script>alert(1)</script><img src=x onerror=alert(2)> `|` **b** [l](http://x)"


NOISE = Noise(
    spread=0.02, smallest_gain=1.04, pairs=12, baseline_s=0.01, pinned=True, spent_s=2.0,
    warnings=("the clock speed changes",),
)  # fmt: skip


SIZES = (SizeClass(name="size 1 to 3", ratio=1.23, low=1.11, high=1.37),)


def a_run() -> Results:
    """All kinds of verdicts, with a lineage of three."""
    return recorded(
        [
            verdict(
                "fast",
                2.31,
                speed=speed(2.31, 2.42, 2.55, classes=SIZES),
                patch="+fast\n-slow\n",
                diff_lines=2,
            ),
            verdict("first", candidate=candidate("first", how="proposed"), seconds={"test": 1.0}),
            verdict(
                "second",
                1.2,
                candidate=candidate("second", how="repaired", parent="first", round=1),
            ),
            verdict(
                "third", 1.5, candidate=candidate("third", how="refined", parent="second", round=2)
            ),
            verdict("twin", status="same", same_as="fast", reason="it is the same"),
            verdict("unchanged", status="same", same_as="original", reason="nothing changes"),
            verdict(
                "open", 0.99, status="undecided", speed=speed(0.99, 1.1, 1.3, decision="undecided")
            ),
            verdict(
                "wrong",
                stage="differential",
                reason="another value",
                difference=Difference(kind="value", call="f(1)", expected="1", got="2"),
                findings=(Finding(stage="differential", ok=False, detail="7 calls differ"),),
                seconds={"apply": 0.1, "differential": 2.0},
            ),
        ],
        noise=msgspec.to_builtins(NOISE),
        waiting=[candidate("late", how="proposed")],
        unusable=[Unusable(name="proposal 9", reason="no code block", answer="I would rather not")],
        failures={"propose:3": "the model was overloaded"},
        profiles={"original": "line 2: 99 %", "fast": "line 7: 50 %", "third": "not the winner's"},
    )


def test_every_candidate_is_there_with_its_verdict_interval_and_reason() -> None:
    made = report(a_run())
    seen = Seen(made.html)
    for name in ("fast", "first", "second", "third", "twin", "unchanged", "open", "wrong", "late"):
        assert name in seen.words
    for part in (
        "2.42 (2.31 to 2.55)", "the same as fast", "the same as the original", "another value",
        "f(1)", "7 calls differ", "round 2", "± 2.0%", "in 12 pairs",
        "line 2: 99 %", "line 7: 50 %", "about 1.04 times", "the clock speed changes",
        "no code block", "I would rather not", "the model was overloaded", "not judged yet",
        "size 1 to 3", "1.23", "1.11 and 1.37", "pytest -q", "1.05 times as fast", "-slow",
    ):  # fmt: skip
        assert part in seen.words, part
    assert "not the winner's" not in seen.words
    assert "script" not in seen.tags
    assert seen.active == []


def test_how_many_calls_were_compared_is_at_the_top_and_no_sentence_is_read_for_it() -> None:
    passed = Finding(stage="differential", ok=True, reason="in other words", calls=4510)
    found = report(recorded([verdict("a", 2.0, findings=(passed,)), verdict("b")])).html
    assert found.index("calls compared") < found.index("Candidates</h2>")
    assert "4,510" in found
    assert "calls compared" not in report(recorded([verdict("b")])).html


def test_a_child_stands_below_its_parent_one_step_in() -> None:
    table = report(a_run()).html.partition('id="details"')[0]
    names = re.findall(
        r'class="name" title="([^"]*)">(?:<span class="twig">([^<]*)</span>)?', table
    )
    assert [name for name, _ in names] == [
        "fast", "first", "second", "third", "twin", "unchanged", "open", "wrong", "late",
    ]  # fmt: skip
    depths = {name: len(twig) for name, twig in names}
    assert (depths["first"], depths["second"], depths["third"]) == (0, 1, 2)


def test_a_parent_that_is_not_there_and_one_that_is_its_own_hide_nobody() -> None:
    lost = [
        verdict("orphan", candidate=candidate("orphan", parent="gone")),
        verdict("self", candidate=candidate("self", parent="self")),
        verdict("a", candidate=candidate("a", parent="b")),
        verdict("b", candidate=candidate("b", parent="a")),
    ]
    rows = list(candidate_table(recorded(lost)).rows)
    assert sorted(row["name"] for row in rows) == ["a", "b", "orphan", "self"]


def hostile() -> Results:
    found = verdict(
        EVIL,
        reason=EVIL,
        patch=EVIL,
        difference=Difference(kind="value", call=EVIL, expected=EVIL, got=EVIL),
        findings=(Finding(stage="test", ok=False, detail=EVIL),),
        seconds={EVIL: 1.0},
    )
    won = replace(verdict("x", 2.0, patch=EVIL), candidate=candidate(EVIL, how="given", key="w"))
    told = [Unusable(name=EVIL, reason=EVIL, answer=EVIL)]
    return recorded([found, won], name=EVIL, unusable=told, failures={EVIL: EVIL})


def test_hostile_names_and_contents_stay_text() -> None:
    made = report(hostile())
    seen = Seen(made.html)
    assert "script" not in seen.tags
    assert "img" not in seen.tags
    assert seen.active == []
    assert seen.words.count("onerror=alert(2)") >= 10, "it is all there, as text"
    assert "script-src 'none'" in unescape(made.html)


def test_a_table_in_markdown_holds_what_is_hostile_in_its_cells() -> None:
    lines = report(hostile()).lines
    table = [line for line in lines if line.startswith("|")]
    assert len(table) == 4
    for line in table:
        assert len(re.findall(r"(?<!\\)\|", line)) == 7, line
    cells = re.split(r"(?<!\\)\|", table[2])
    reason = cells[6]
    assert not re.search(r"(?<!\\)[<>*`\[\]]", reason)
    assert re.fullmatch(r" `[^`]*` *", cells[1]), "a name is code, and does not get out of it"


def test_control_characters_do_not_reach_a_terminal() -> None:
    for made in (code, escaped):
        assert made("a\x1b[31mb\nc\u202ed").isprintable()


def test_the_markdown_says_who_won_and_by_how_much() -> None:
    lines = report(a_run()).lines
    assert lines[0] == (
        "With `fast` `src/pkg/find.py::find` is at least 2.31 times as fast: 10 ms → 4.13 ms."
    )
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines[4:]]
    assert rows[0][:3] == ["`fast`", "**accepted, winner**", "2.42 (2.31 to 2.55)"]
    assert rows[2][0] == "↳ `second`"
    assert rows[3][0] == "↳ ↳ `third`"
    assert rows[7][3:] == ["apply 0.10 s, differential 2.00 s", "", "differential: another value"]
    none = report(recorded([verdict("a")])).lines
    assert none[0] == "No faster version of `src/pkg/find.py::find` was found."


@pytest.mark.parametrize(
    "verdicts",
    [
        [],
        [verdict("only")],
        [verdict("only", 1.5)],
        [verdict("x" * 5_000, reason="y" * 5_000, patch="z" * 500_000)],
        [verdict(f"c{n}", 0.5 + n / 3 if n % 2 else None, seconds={"test": n}) for n in range(200)],
        [verdict("odd", 1.1, speed=speed(1.1, float("inf"), float("inf")))],
        [verdict("odd", 1.1, speed=speed(0.0, 0.0, float("nan")))],
        [verdict("no time", seconds={"test": 0.0})],
    ],
)
def test_none_one_and_two_hundred_and_odd_ones_make_a_page(
    verdicts: list[CandidateVerdict],
) -> None:
    found = recorded(verdicts)
    made = report(found)
    seen = Seen(made.html)
    assert seen.tags.count("main") == 1
    assert len(made.html) < 2_000_000
    assert len(list(candidate_table(found).rows)) == len(verdicts)
    assert "NaN" not in made.html


def test_the_stages_of_a_candidate_are_bars_side_by_side() -> None:
    rows = candidate_rows(
        recorded(
            [
                verdict("a", seconds={"apply": 1.0, "test": 0.0, "benchmark": 3.0}),
                verdict("longest", seconds={"test": 8.0}),
                verdict("none"),
            ]
        )
    )
    places = [[(start, width) for start, width, _, _ in row.bars] for row in rows]
    assert places == [[(0.0, 0.125), (0.125, 0.375)], [(0.0, 1.0)], []]


def test_the_scale_has_all_intervals_1_and_what_was_wanted_on_it() -> None:
    near = speed_scale([speed(1.2, 1.25, 1.3)], 1.05)
    assert isinstance(near, Linear)
    assert near.low < 1.0
    assert near.high > 1.3
    far = speed_scale([speed(20, 25, 30)], 1.05)
    assert isinstance(far, Log)
    assert far.low < 1.0
    assert len(far.ticks()) >= 3


def test_rows_have_what_the_columns_say_and_numbers_as_numbers() -> None:
    table = candidate_table(a_run())
    rows = list(table.rows)
    assert [row["name"] for row in rows][:4] == ["fast", "first", "second", "third"]
    assert all(set(row) <= set(COLUMNS) for row in rows)
    fast = rows[0]
    assert fast["sizes"] == "size 1 to 3: 1.23x [1.11, 1.37]"
    assert (fast["winner"], fast["status"], fast["low"]) == (1, "accepted", 2.31)
    wrong = next(row for row in rows if row["name"] == "wrong")
    assert (wrong["differing_call"], wrong["got"], wrong["differential_s"]) == ("f(1)", "2", 2.0)
    late = rows[-1]
    assert (late["name"], late["status"], late["winner"]) == ("late", "waiting", 0)


def test_the_document_is_plain_data_with_all_of_it() -> None:
    document = report(a_run()).document
    again = msgspec.json.decode(msgspec.json.encode(document))
    assert again["winner"] == "fast"
    assert again["counts"]["same"] == 2
    assert [each["candidate"]["name"] for each in again["candidates"]][:2] == ["fast", "first"]
    assert msgspec.convert(again["candidates"], list[CandidateVerdict]) == a_run().state.verdicts


def test_a_spec_that_cannot_be_read_any_more_is_no_reason_to_show_nothing() -> None:
    found = a_run()
    for spec in ("null", "{}", '{"file": "x", "folder": "/", "data": {"optimize": {"new": 1}}}'):
        made = report(Results(replace(found.run, spec=spec), found.state))
        assert "2.42 (2.31 to 2.55)" in made.html


def test_what_could_not_be_judged_is_not_waiting_and_calls_are_counted_in_print() -> None:
    passed = Finding(stage="differential", ok=True, calls=1336)
    results = recorded([verdict("fast", 2.0, findings=(passed,))], waiting=[candidate("lost")])
    results.state.entries["lost"].error = "NotJudged: 3 of 9 calls were compared"
    notes = ["1336 of 1400 calls are compared, with 900 different inputs", "n is compared up to 9"]
    results.state.baseline["recording"] = {"digest": "", "notes": notes}
    assert results.status(candidate("lost")) == "not judged"
    lines = report(results).lines
    assert "Each candidate that passed was compared in 1,336 calls." in lines
    assert "1336 of 1400 calls are compared, with 900 different inputs." in lines
    [row] = [line for line in lines if "lost" in line]
    assert "not judged" in row
    assert "3 of 9 calls were compared" in row
