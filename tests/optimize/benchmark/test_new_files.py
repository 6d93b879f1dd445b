"""What a measured process leaves in its workspace is gone before the next one starts."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fanwise.optimize.benchmark.new_files import look_at, remove_new
from tests.workspaces.support import write


def test_what_is_new_is_removed_and_what_was_there_stays(tmp_path: Path) -> None:
    write(tmp_path / "pkg" / "mod.py", "x = 1\n")
    before = look_at(tmp_path)
    write(tmp_path / "known.json", "{}")
    write(tmp_path / "pkg" / "deep" / "er" / "known.json", "{}")
    (tmp_path / "pkg" / "deep").chmod(0)
    (tmp_path / "link").symlink_to(tmp_path / "pkg")
    (tmp_path / "gone").symlink_to("nowhere")
    write(tmp_path / "pkg" / "__pycache__" / "mod.pyc", "")
    made = ("gone", "known.json", "link", "pkg/deep")
    assert remove_new(tmp_path, before) == ((), made)
    assert look_at(tmp_path) == before


def test_what_was_changed_is_named_whatever_its_time_says(tmp_path: Path) -> None:
    for name in ("same", "written", "replaced", "removed"):
        write(tmp_path / name, "1")
    kept = (tmp_path / "written").stat()
    before = look_at(tmp_path)
    (tmp_path / "written").write_text("2")
    os.utime(tmp_path / "written", ns=(kept.st_atime_ns, kept.st_mtime_ns))
    write(tmp_path / "other", "1")
    (tmp_path / "other").rename(tmp_path / "replaced")
    (tmp_path / "removed").unlink()
    assert remove_new(tmp_path, before) == (("removed", "replaced", "written"), ())


def test_nothing_can_be_kept_in_what_a_folder_says_of_itself(tmp_path: Path) -> None:
    for name in ("same", "timed", "marked", "closed"):
        write(tmp_path / name / "file", "1")
    before = look_at(tmp_path)
    os.utime(tmp_path / "timed", (12, 34))
    (tmp_path / "closed").chmod(0o701)
    try:
        os.setxattr(tmp_path / "marked", "user.known", b"1")
        os.setxattr(tmp_path, "user.known", b"1")
    except (AttributeError, OSError):
        pytest.skip("this system has no extended attributes here")
    assert remove_new(tmp_path, before) == ((".", "closed", "marked"), ())
    assert (tmp_path / "timed").stat().st_mtime == (tmp_path / "same").stat().st_mtime
