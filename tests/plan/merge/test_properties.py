"""Random edits by random leaves: one tree, whoever ended first, and nothing is lost."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, example, given
from hypothesis import strategies as st

from fanwise.plan.merge.trees import blobs_at, commit_with
from fanwise.plan.model.leaf_result import Blob, Change
from fanwise.plan.model.merge_result import MergeResult
from fanwise.workspaces.git import Git
from tests.plan.merge.support import blob, lines, merge, repository
from tests.profiles import NO_SHRINKING, examples
from tests.workspaces.support import everything

PATHS = [f"{folder}/f{number}.py" for folder in ("a", "a/deep", "b", "c c") for number in range(3)]
FILES = {path: lines(24).replace("line", f"{path} line") for path in PATHS}
NEW = ["a/new.py", "a/new.py/inner.py", "d/new.py", "b"]


@pytest.fixture(scope="module")
def user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Git]:
    """Whatever is merged, all but objects is as before after it."""
    with pytest.MonkeyPatch.context() as patched:
        for name in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"):
            patched.setenv(name, "/dev/null")
        user = repository(tmp_path_factory.mktemp("properties") / "r", FILES)
        before = everything(user.cwd)
        yield user
        assert everything(user.cwd) == before


Edits = dict[str, str | None]
"""What a leaf makes of files; every line that it wrote says who did."""


def edit(leaf: int, line: int) -> Edits:
    text = FILES["b/f2.py"].splitlines(keepends=True)
    text[line] = f"leaf {leaf} in b/f2.py\n"
    return {"b/f2.py": "".join(text)}


def move(leaf: int) -> Edits:
    return {"b/f2.py": None, f"moved/{leaf}/f2.py": f"{FILES['b/f2.py']}leaf {leaf} moved\n"}


MOVED_TWICE = [move(0), {}, edit(2, 3), {}, edit(4, 10), move(5)]
EDITED_THEN_MOVED_TWICE = [edit(0, 3), move(1), move(2)]
REPLACED_WHERE_IT_WENT = [edit(0, 3), move(1), {"moved/1/f2.py": "leaf 2 made it\n"}]
A_FILE_IN_THE_PLACE_OF_ITS_FOLDER = [edit(0, 3), move(1), {"moved/1": "leaf 2 made it\n"}]


@st.composite
def edits(draw: st.DrawFn) -> list[Edits]:
    found = []
    for leaf in range(draw(st.integers(2, 6))):
        mine: Edits = {}
        for path in draw(st.lists(st.sampled_from(PATHS), max_size=3, unique=True)):
            what = draw(st.sampled_from(["line", "line", "line", "append", "delete", "rename"]))
            text = FILES[path].splitlines(keepends=True)
            if what == "line":
                text[draw(st.integers(0, 23))] = f"leaf {leaf} in {path}\n"
            elif what == "append":
                text.append(f"leaf {leaf} at the end of {path}\n")
            mine[path] = None if what in ("delete", "rename") else "".join(text)
            if what == "rename":
                mine[f"moved/{leaf}/{Path(path).name}"] = "".join([*text, f"leaf {leaf} moved\n"])
        new = draw(st.sampled_from([None, None, *NEW]))
        inside = new is not None and any(path.startswith(f"{new}/") for path in mine)
        if new is not None and not inside:
            gone = [path for path in PATHS if path.startswith(f"{new}/")]
            mine |= {**dict.fromkeys(gone), new: f"leaf {leaf} made it\n"}
        found.append(mine)
    return found


def changes_of(user: Git, edits: list[Edits]) -> list[Change]:
    made = {text: blob(user, text) for each in edits for text in each.values()}
    return [
        Change(leaf=f"L{n}", title=f"Leaf {n}", files={p: made[t] for p, t in each.items()})
        for n, each in enumerate(edits)
    ]


@examples(0.2, phases=NO_SHRINKING, suppress=[HealthCheck.function_scoped_fixture])
@example(edits=MOVED_TWICE, seed=7)
@example(edits=EDITED_THEN_MOVED_TWICE, seed=0)
@example(edits=REPLACED_WHERE_IT_WENT, seed=0)
@example(edits=A_FILE_IN_THE_PLACE_OF_ITS_FOLDER, seed=0)
@given(edits=edits(), seed=st.integers(0, 9))
def test_any_order_of_ending_makes_the_same_tree_and_nothing_is_lost(
    user: Git, edits: list[Edits], seed: int
) -> None:
    changes = changes_of(user, edits)
    merged = merge(user, "HEAD", changes)
    ended = list(changes)
    Random(seed).shuffle(ended)  # they end in any order; the tree's order is what counts
    in_order = sorted(ended, key=lambda each: each.leaf)
    assert merge(user, "HEAD", in_order) == merged
    check_whole(merged, changes)
    check_lines(user, merged, edits)


def check_whole(merged: MergeResult, changes: list[Change]) -> None:
    """Every leaf is in, or named in a conflict with another one."""
    known = [each.leaf for each in changes]
    assert sorted((*merged.leaves, *merged.aside)) == known
    for conflict in merged.conflicts:
        assert conflict.paths
        assert conflict.others
        assert all(known.index(other) < known.index(conflict.leaf) for other in conflict.others)


def check_lines(user: Git, merged: MergeResult, edits: list[Edits]) -> None:
    """Each line that a leaf wrote stands in its file, or where that was moved to.

    And what it deleted is gone.
    """
    files = blobs_at(user, merged.tree)
    texts = {path: user.raw("cat-file", "blob", each.name).decode() for path, each in files.items()}
    standing = "".join(texts.values())
    for leaf in merged.leaves:
        mine = edits[int(leaf[1:])]
        for path, text in mine.items():
            if text is None:
                assert path not in files, path
                continue
            written = [line for line in text.splitlines() if line.startswith("leaf")]
            where = texts.get(path, standing)  # it may have been renamed by another leaf
            assert all(line in where for line in written), (leaf, path)


def test_disjoint_leaves_make_the_tree_of_all_their_files(user: Git) -> None:
    """The same as to write all of them, one after another."""
    changes = changes_of(user, [{path: f"leaf {n}\n"} for n, path in enumerate(PATHS)])
    commit = commit_with(user, "HEAD", changes, "all")
    merged = merge(user, "HEAD", changes)
    assert merged.tree == user("rev-parse", f"{commit}^{{tree}}")
    assert blobs_at(user, commit).keys() == FILES.keys()
    assert isinstance(blobs_at(user, commit)[PATHS[0]], Blob)
