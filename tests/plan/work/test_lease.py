from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanwise.plan.work.lease import LeasedPaths, sort_by_lease
from fanwise.plan.work.settle import settle
from fanwise.workspaces import WorkspacePool
from tests.plan.work.support import leaf, make_repository
from tests.profiles import examples
from tests.workspaces.support import git

NAMES = st.text(st.sampled_from(list("abAB.- \n\"'\\é*[]!$`{}")), min_size=1, max_size=4).filter(
    lambda name: name not in (".", "..")
)
PATHS = st.lists(NAMES, min_size=1, max_size=3).map("/".join)
FILES = st.lists(PATHS, max_size=12, unique=True)


@examples(0.5)
@given(changed=FILES, own=FILES, before=FILES, shared=st.lists(PATHS, max_size=2))
def test_each_change_is_in_exactly_one_place(
    changed: list[str], own: list[str], before: list[str], shared: list[str]
) -> None:
    found = sort_by_lease(changed, own=own, shared=shared, before=before)

    everything = [path for paths in found for path in paths]
    assert sorted(everything) == sorted(changed)
    assert set(found.own) == set(changed) & set(own)
    assert not set(found.new) & set(before)
    assert set(changed) & set(before) - set(own) <= {*found.foreign, *found.shared}
    assert found.kept == tuple(sorted({*found.own, *found.shared, *found.new}))


def sort(*changed: str, shared: tuple[str, ...] = ()) -> LeasedPaths:
    before = {"a.py", "b.py", "pkg/x.py", "pkg/y.py", "Docs/Readme.md", "CHANGES"}
    return sort_by_lease(changed, own=("a.py", "pkg/x.py"), shared=shared, before=before)


def test_own_shared_new_and_foreign() -> None:
    assert sort("a.py", "b.py", "CHANGES", "new.py", shared=("CHANGES",)) == LeasedPaths(
        own=("a.py",), shared=("CHANGES",), new=("new.py",), foreign=("b.py",)
    )


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("b.py/inside.py", "below a file of another"),
        ("pkg", "a file in place of a folder that has a file of another"),
        ("docs/README.md", "the name of another's file, in other letters"),
        ("B.PY", "the same"),
        ("docs", "the name of a folder, in other letters"),
    ],
)
def test_a_new_file_that_cannot_stand_beside_others_is_not_its_own(path: str, why: str) -> None:
    assert sort(path).foreign == (path,), why


@pytest.mark.parametrize("path", ["A.py", "a.py/inside.py", "pkg/z.py", "docs2", "-rf", "x\ny"])
def test_a_new_file_beside_its_own_is_new(path: str) -> None:
    assert sort(path).new == (path,)


def test_a_rename_is_a_deletion_and_a_new_file() -> None:
    assert sort("a.py", "renamed.py") == LeasedPaths(("a.py",), (), ("renamed.py",), ())
    assert sort("b.py", "renamed.py").foreign == ("b.py",)


# -- in a real workspace --------------------------------------------------------------------------

ACTIONS = st.lists(
    st.tuples(
        st.sampled_from(["write", "delete", "link", "folder", "mode"]),
        st.sampled_from([
            "mine/a.py", "mine/b.py", "other/c.py", "other/d é.py", "other", "new.py",
            "mine/new/-x.py", "other/c.py/in.py", "mine", ".gitignore", "ignored.log", "other/new",
        ]),
    ),
    max_size=6,
)  # fmt: skip


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    files = {"mine/a.py": "a\n", "mine/b.py": "b\n", "other/c.py": "c\n", "other/d é.py": "d\n"}
    repo = make_repository(tmp_path_factory.mktemp("lease") / "repo", files)
    (repo / "other/link").symlink_to("c.py")
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", "two")
    return repo


def act(root: Path, kind: str, name: str) -> None:
    target = root / name
    try:
        if kind == "delete" and target.is_dir() and not target.is_symlink():
            for path in sorted(target.rglob("*"), reverse=True):
                path.unlink() if path.is_symlink() or not path.is_dir() else path.rmdir()
            target.rmdir()
        elif kind == "delete":
            target.unlink()
        elif kind == "mode":
            target.chmod(0o755)
        elif kind == "folder":
            target.mkdir(parents=True)
        elif kind == "link":
            target.symlink_to("/etc")
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text("*.log\n*.py\n" if name == ".gitignore" else "edited\n")
    except OSError:
        pass


@examples(0.25)
@given(actions=ACTIONS)
def test_after_it_is_settled_only_its_own_changes_are_there(
    actions: list[tuple[str, str]], repository: Path
) -> None:
    mine = leaf("mine/a.py", "mine/b.py")
    with pool_of(repository).workspace() as here:
        for kind, name in actions:
            # No writing through a link that leads out: that is no change of the workspace.
            if not any(p.is_symlink() for p in (here.root / name).parents):
                act(here.root, kind, name)
        changed = here.changed_files()
        before = here.files_at_base()
        expected = sort_by_lease(changed, own=mine.files, shared=(), before=before)

        settled = settle(here, mine, shared=(), owners={"other/c.py": "leaf-c"})

        assert here.changed_files() == list(settled.kept)
        assert set(settled.kept) >= set(expected.kept)  # more, if a .gitignore hid some
        assert {each.path for each in settled.requests} >= set(expected.foreign)
        for each in settled.requests:
            assert each.owner == ("leaf-c" if each.path == "other/c.py" else None)


_POOLS: dict[Path, WorkspacePool] = {}


def pool_of(repository: Path) -> WorkspacePool:
    """One for all examples: each takes a workspace that is as new."""
    if repository not in _POOLS:
        _POOLS[repository] = WorkspacePool(repository, slots=1)
        _POOLS[repository].open()
    return _POOLS[repository]


@pytest.fixture(scope="module", autouse=True)
def _closed() -> object:
    yield
    for pool in _POOLS.values():
        pool.close()
    _POOLS.clear()
