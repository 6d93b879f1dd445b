from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fanwise.errors import ModelQuota, SubPlanFailed, WorkFailed
from fanwise.plan.work.apply_edits import Contents, edited, write_all
from fanwise.plan.work.by_model import ModelWorker
from fanwise.plan.work.edits import BadAnswer, Edit, ParsedAnswer, read_answer
from fanwise.plan.work.names import Names, NotInside
from fanwise.plan.work.near_match import replace_near
from fanwise.testing import ScriptedModel
from fanwise.workspaces import WorkspacePool
from tests.plan.work.support import blob, do, how, leaf, make_repository, names
from tests.profiles import examples
from tests.workspaces.support import files

FILE = "FILE: a.py\n```python\nx = 1\n```\n"
EDIT = "EDIT: a.py\n```\n<<<<<<< SEARCH\none\n=======\nuno\n>>>>>>> REPLACE\n```\n"


# -- reading --------------------------------------------------------------------------------------


def test_whole_files_edits_and_deletions() -> None:
    answer = read_answer(
        f"I did this.\n\n{FILE}\nand\n{EDIT.replace('a.py', 'b.py')}\nDELETE: c.py\n"
    )

    assert answer == ParsedAnswer((
        Edit("FILE", "a.py", "x = 1\n"),
        Edit("EDIT", "b.py", pairs=(("one\n", "uno\n"),)),
        Edit("DELETE", "c.py"),
    ))  # fmt: skip


def test_several_parts_of_one_edit() -> None:
    part = "<<<<<<< SEARCH\n{0}\n=======\n{1}\n>>>>>>> REPLACE\n"
    answer = read_answer(f"EDIT: a.py\n```\n{part.format(1, 2)}\n{part.format(3, 4)}```")

    assert answer.edits[0].pairs == (("1\n", "2\n"), ("3\n", "4\n"))


@pytest.mark.parametrize("after", ["", "\n", "\nThat is all.\n", "\nFILE: b.py\n```\nb\n```\n"])
def test_an_edit_without_fences_is_understood(after: str) -> None:
    part = "<<<<<<< SEARCH\n{0}\n=======\n{1}\n>>>>>>> REPLACE\n"
    answer = read_answer(f"EDIT: a.py\n\n{part.format(1, 2)}\n{part.format(3, 4)}{after}")
    assert answer.edits[0] == Edit("EDIT", "a.py", pairs=(("1\n", "2\n"), ("3\n", "4\n")))
    assert len(answer.edits) == 1 + ("FILE" in after)


def test_an_edit_without_fences_that_was_cut_off_is_refused() -> None:
    for text in ("<<<<<<< SEARCH\n1\n=======\n2\n", "<<<<<<< SEARCH\n1\n>>>>>>> REPLACE\n"):
        with pytest.raises(BadAnswer, match="must be made of"):
            read_answer(f"EDIT: a.py\n{text}")


@pytest.mark.parametrize("form", ["one block", "many blocks"])
def test_more_searches_than_anybody_means_are_refused(form: str) -> None:
    def answer(count: int) -> str:
        part = "<<<<<<< SEARCH\none\n=======\nuno\n>>>>>>> REPLACE\n"
        if form == "many blocks":
            return EDIT * count
        return f"EDIT: a.py\n```\n{part * count}```\n"

    assert sum(len(each.pairs) for each in read_answer(answer(1_000)).edits) == 1_000
    with pytest.raises(BadAnswer, match="1,001 searches; the limit is 1,000: write whole files"):
        read_answer(answer(1_001))


def test_a_longer_fence_holds_a_shorter_one() -> None:
    text = "# Use\n```\nfanwise\n```\n"

    assert read_answer(f"FILE: a.md\n````md\n{text}````").edits[0].text == text


@pytest.mark.parametrize("text", ["NOTHING", "I looked.\n\nNOTHING\n", "**NOTHING**"])
def test_that_there_is_nothing_to_do_is_an_answer(text: str) -> None:
    assert read_answer(text) == ParsedAnswer()


def test_thoughts_are_no_part_of_the_answer() -> None:
    assert read_answer(f"<think>\nFILE: b.py\n```\n</think>\n{FILE}").edits[0].name == "a.py"


def test_sub_plans() -> None:
    parts = [{"goal": "g", "files": ["a.py"]}]

    assert read_answer(f"SUBPLANS:\n```json\n{json.dumps(parts)}\n```").subplans == parts


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "it has no edits"),
        ("I cannot.", "must say NOTHING"),
        ("```python\nx = 1\n```", "no line `FILE: path`"),
        (f"{FILE}\nFor example:\n```\nx\n```", "at line 7 has no line"),
        ("FILE: a.py\nx = 1\n", "no block between"),
        ("FILE: a.py\n```\nx = 1\n", "cut off"),
        ("FILE:\n```\nx\n```", "has no path"),
        ('FILE: "a\n```\nx\n```', "not valid JSON"),
        ("EDIT: a.py\n```\nx\n```", "must be made of"),
        ("EDIT: a.py\n```\n<<<<<<< SEARCH\na\n>>>>>>> REPLACE\n```", "must be made of"),
        (EDIT.replace("=======", "=======\n======="), "must be made of"),
        (EDIT.replace("<<<<<<<", "text\n<<<<<<<"), "text before"),
        (EDIT.replace("REPLACE", "REPLACE\ntext"), "text after"),
        ("SUBPLANS:\n```\n[\n```", "not valid JSON"),
        (f"SUBPLANS:\n```\n[1]\n```\n{FILE}", "only one of them"),
        (f"NOTHING\n{FILE}", "but has edits"),
        ('{"files": {"a.py": "x"}}', "it has no edits"),
        ("a\0b", "NUL"),
        (f"```{' ' * 400_000}`", "it has no edits"),
        (f"{'~' * 400_000}`", "it has no edits"),
    ],
)
def test_what_is_malformed_is_refused_with_a_reason(text: str, why: str) -> None:
    with pytest.raises(BadAnswer, match=why):
        read_answer(text)


PIECES = st.lists(
    st.one_of(
        st.sampled_from([
            "FILE: ", "EDIT: ", "DELETE: ", "SUBPLANS:", "NOTHING", "```", "````", "~~~", "\n",
            "a.py", "../x", "/etc/passwd", ".git/config", "x/", "<<<<<<< SEARCH\n", "=======\n",
            ">>>>>>> REPLACE\n", "{", "}", "[", '"', ":", '{"files": {"', '"}}', "one\n", "\\ud800",
        ]),
        st.text(max_size=5),
    ),
    max_size=14,
).map("".join)  # fmt: skip


@examples(1)
@given(text=PIECES)
@example(text='{"files": {"../../x": "y"}}')
@example(text='{"files": {"a.py": "\\ud800"}}')
@example(text='{"files": {"\\ud800": "x"}}')
def test_no_text_does_anything_but_edit_or_be_refused(text: str) -> None:
    try:
        answer = read_answer(text)
        found = edited(
            answer.edits, names=Names(), read={"a.py": "one\n"}.get, allowed=lambda _: ""
        )
    except BadAnswer:
        return
    for path, content in found.items():
        assert not path.startswith("/")
        assert ".." not in path.split("/")
        assert ".git" not in path.lower().split("/")
        assert content is None or isinstance(content.encode(), bytes)


@given(st.text(max_size=20))
def test_a_name_stays_inside_or_is_refused(name: str) -> None:
    for inside in ("", "sub/folder"):
        try:
            path = Names(inside).top(name)
        except NotInside:
            continue
        assert not path.startswith(("/", "../"))
        assert Names(inside).top(Names(inside).here(path)) == path


# -- editing --------------------------------------------------------------------------------------

NOW = {"a.py": "one\ntwo\ntwo\n", "w.txt": "one\r\ntwo\r\n", "open.txt": "one\nlast"}


def edit(*edits: Edit, allowed: str = "") -> Contents:
    return edited(edits, names=Names(), read=NOW.get, allowed=lambda _: allowed)


def replace(name: str, search: str, by: str) -> Edit:
    return Edit("EDIT", name, pairs=((search, by),))


def test_a_search_is_replaced_where_it_stands() -> None:
    assert edit(replace("a.py", "one\n", "1\n")) == {"a.py": "1\ntwo\ntwo\n"}


NEAR = {
    "trailing blanks": ("x = 1  \ny = 2\n", "x = 1\ny = 2 \n", "z\n", "z\n"),
    "shifted": (
        "def f():\n    if a:\n        b\n", "if a:\n    b\n", "if a:\n    c\nd\n",
        "def f():\n    if a:\n        c\n    d\n",
    ),
    "tabs": ("\ta\n\t\tb\n", "a\n\tb\n", "c\n\n\td\n", "\tc\n\n\t\td\n"),
    "the last line": ("a\n  b", "b \n", "c\n", "a\n  c"),
    "blank lines": ("a\n\n b\n", "a\n  \n b\n", "c\n", "c\n"),
}  # fmt: skip


@pytest.mark.parametrize("case", NEAR)
def test_a_search_whose_whitespace_differs_is_matched_and_noted(case: str) -> None:
    text, search, replace, wanted = NEAR[case]
    notes: list[str] = []
    found = edited(
        [Edit("EDIT", "a.py", pairs=((search, replace),))], names=Names(),
        read=lambda path: text, allowed=lambda path: "", note=notes.append,
    )  # fmt: skip
    assert found == {"a.py": wanted}
    (note,) = notes
    assert "a search in `a.py` was matched although its whitespace differs" in note


@pytest.mark.parametrize(
    ("text", "search", "replace"),
    [
        (" a\n  a\n", "a\n", "b\n"),  # in two places
        ("if a:\n    b\nc\n", "if a:\n    b\n    c\n", "d\n"),  # not shifted alike
        ("a b\n", "a  b\n", "c\n"),  # inside of a line
        ("  a\n", "    a\n", "b\n"),  # the replacement cannot be shifted
    ],
)
def test_whitespace_that_may_mean_something_is_no_match(
    text: str, search: str, replace: str
) -> None:
    assert replace_near(text, search, replace) is None


def test_edits_of_one_file_add_up() -> None:
    both = edit(replace("a.py", "one\n", "1\n"), replace("a.py", "1\ntwo\n", "2\n"))

    assert both == {"a.py": "2\ntwo\n"}


def test_the_line_ends_of_windows_stay() -> None:
    assert edit(replace("w.txt", "one\n", "uno\ndue\n")) == {"w.txt": "uno\r\ndue\r\ntwo\r\n"}
    assert edit(Edit("FILE", "w.txt", "x\n")) == {"w.txt": "x\r\n"}


def test_a_last_line_without_an_end() -> None:
    assert edit(replace("open.txt", "last\n", "end\n")) == {"open.txt": "one\nend"}


@pytest.mark.parametrize(
    ("edits", "why"),
    [
        ([replace("a.py", "three\n", "3\n")], "it matches nowhere"),
        ([replace("a.py", "two\n", "2\n")], "it matches 2 times"),
        ([replace("a.py", "\n", "2\n")], "is empty"),
        ([replace("none.py", "x", "y")], "write a new file"),
        ([Edit("DELETE", "none.py")], "does not exist"),
        ([Edit("FILE", "a.py", "x"), Edit("DELETE", "a.py")], "twice"),
        ([Edit("FILE", "a.py", "x"), replace("a.py", "x", "y")], "twice"),
        ([Edit("FILE", "./a.py", "x"), Edit("FILE", "b/../a.py", "y")], "twice"),
        ([Edit("FILE", "n", "x"), Edit("FILE", "n/m/o", "y")], "a file and a folder"),
        ([Edit("FILE", "../a.py", "x")], "not a file of the repository"),
        ([Edit("FILE", "sub/.GIT/config", "x")], "not a file of the repository"),
    ],
)
def test_edits_that_do_not_fit_are_refused(edits: list[Edit], why: str) -> None:
    with pytest.raises(BadAnswer, match=why):
        edit(*edits)


def test_only_files_of_the_lease() -> None:
    with pytest.raises(BadAnswer, match=r"`a\.py` is not yours"):
        edit(Edit("FILE", "a.py", "x"), allowed="is not yours")


# -- a model --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_repository(tmp_path_factory.mktemp("plan") / "repo")


def test_a_bad_answer_changes_nothing_and_is_told_to_the_model(repo: Path, tmp_path: Path) -> None:
    half = "FILE: pkg/a.py\n```\nx\n```\nEDIT: pkg/b.py\n```\nnot so\n```\n"
    model = ScriptedModel([half, "FILE: pkg/a.py\n```\nONE = 1\n```\n"])
    ended = do(repo, ModelWorker(model), leaf("pkg/a.py", "pkg/b.py"), how(tmp_path, retry=1))

    assert blob(repo, ended, "pkg/a.py") == "ONE = 1"
    assert names(ended) == ["pkg/a.py"]
    assert ended.tries[0].reason.startswith("the answer: the block after `EDIT: pkg/b.py`")
    asked = [request.messages[1].content for request in model.requests]
    assert "def one()" in asked[0]  # the file, as it is
    assert asked[1].rstrip().endswith("none of those edits are in them.")
    assert ended.tries[0].reason in asked[1]
    assert [request.seed for request in model.requests] == [1, 2]


def test_a_repair_sees_its_edits(repo: Path, tmp_path: Path) -> None:
    model = ScriptedModel([
        "FILE: pkg/a.py\n```\nwrong\n```",
        "EDIT: pkg/a.py\n```\n<<<<<<< SEARCH\nwrong\n=======\nright\n>>>>>>> REPLACE\n```",
    ])  # fmt: skip
    asked = how(tmp_path, retry=1, verify="grep right {files}")
    ended = do(repo, ModelWorker(model), leaf(), asked)

    assert blob(repo, ended, "pkg/a.py") == "right"
    assert "still in the files: repair them" in model.requests[1].messages[1].content


def test_a_model_may_not_touch_the_files_of_others(repo: Path, tmp_path: Path) -> None:
    model = ScriptedModel(["FILE: pkg/b.py\n```\nx\n```", "NOTHING"])
    ended = do(repo, ModelWorker(model), leaf(), how(tmp_path, retry=1))

    assert ended.status == "unchanged"
    assert "`pkg/b.py` is not one of your files" in ended.tries[0].reason


def test_what_is_quoted_of_an_answer_is_bounded(repo: Path, tmp_path: Path) -> None:
    long = "x" * 100_000
    model = ScriptedModel([f"DELETE: {long}", f'SUBPLANS:\n```\n[{{"{long}": 1}}]\n```', "NOTHING"])
    ended = do(repo, ModelWorker(model), leaf(), how(tmp_path, retry=2), depth_left=1)

    assert [len(each.reason) < 2_000 for each in ended.tries] == [True, True]
    assert len(model.requests[2].messages[1].content) < 20_000


def test_files_that_are_too_long_are_not_shown_and_not_overwritten(
    repo: Path, tmp_path: Path
) -> None:
    model = ScriptedModel(["FILE: pkg/a.py\n```\nx\n```"])
    with pytest.raises(SubPlanFailed, match="was not shown"):
        do(repo, ModelWorker(model, file_tokens=5), leaf(), how(tmp_path))

    assert "too many to be shown" in model.requests[0].messages[1].content


def test_a_model_that_cannot_answer_is_not_asked_again(repo: Path, tmp_path: Path) -> None:
    model = ScriptedModel([ModelQuota("used up")])
    with pytest.raises(SubPlanFailed, match="used up") as caught:
        do(repo, ModelWorker(model), leaf(), how(tmp_path, retry=3))

    assert len(caught.value.tries) == 1


def test_nothing_is_written_through_links(repo: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    with WorkspacePool(repo, slots=1) as pool, pool.workspace() as here:
        (here.root / "link").symlink_to(outside)
        (here.root / "file").symlink_to(outside / "file")
        with pytest.raises(WorkFailed):
            write_all(here, {"link/x": "x"})
        write_all(here, {"file": "x\n", "pkg/a.py": None})

        assert files(outside) == {}
        assert not (here.root / "file").is_symlink()


def test_deleting_the_last_file_of_a_folder_makes_room(repo: Path) -> None:
    with WorkspacePool(repo, slots=1) as pool, pool.workspace() as here:
        write_all(here, {"tests/test_a.py": None, "tests": "a file now\n"})

        assert (here.root / "tests").read_text() == "a file now\n"
