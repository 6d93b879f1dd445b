"""What is known of the project's Python: which folders a sandbox shows for it, and which not."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from fanwise.processes.visible import interpreter
from fanwise.workspaces.interpreter import interpreter_of
from tests.workspaces.support import write

SITE = f"lib/python3.{sys.version_info.minor}/site-packages"


def make_environment(place: Path, *linked: Path) -> Path:
    """A virtual environment by hand, with a `.pth` file as `pip install -e` writes it."""
    write(place / "pyvenv.cfg", f"home = {Path(sys.base_prefix, 'bin')}\n")
    write(place / SITE / "__editable__.pth", "".join(f"{each}\n" for each in linked))
    (place / "bin").mkdir()
    (place / "bin" / "python").symlink_to(Path(sys.executable).resolve())
    return place


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    monkeypatch.delenv("UV_PROJECT_ENVIRONMENT", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path / "project"


def test_an_editable_install_of_the_project_shows_nothing_of_the_users_tree(project: Path) -> None:
    write(project / ".env", "TOKEN=1")
    write(project / "words.py", "")
    make_environment(project / ".venv", project)
    found = interpreter_of(project)
    assert found.linked == (str(project),)  # a workspace maps it to its own
    assert found.importable == ()


def test_of_another_repository_only_its_modules_and_packages_are_shown(project: Path) -> None:
    other = project.parent / "other"
    for name in (".env", ".git/config", "keys/id_rsa", "docs-old/conf.py", "notes.txt"):
        write(other / name, "TOKEN=1")
    for name in ("one.py", "pkg/__init__.py", "space/inner/__init__.py", "other.egg-info/PKG-INFO"):
        write(other / name, "")
    make_environment(project / ".venv", other)
    shown = {Path(each).name for each in interpreter_of(project).importable}
    assert shown == {"one.py", "pkg", "space", "other.egg-info"}


def test_of_a_home_or_a_folder_around_the_project_nothing_of_both_is_shown(project: Path) -> None:
    home = project.parent / "home"
    write(home / "mine" / "__init__.py", "")
    write(project / "words.py", "")
    write(project.parent / "beside" / "__init__.py", "")
    make_environment(project / ".venv", home, home.parent)
    assert interpreter_of(project).importable == ()  # both lines name what a home is in

    away = project.parent / "far" / "away"
    write(away / "project" / "words.py", "")
    write(away / "beside" / "__init__.py", "")
    make_environment(away / "project" / ".venv", away)
    assert interpreter_of(away / "project").importable == (str(away / "beside"),)


def test_an_environment_in_the_root_of_a_project_does_not_show_its_files(project: Path) -> None:
    write(project / ".env", "TOKEN=1")
    make_environment(project)
    shown = interpreter(str(project / "bin" / "python"), str(project))
    assert str(project) not in shown
    assert {Path(each).name for each in shown if Path(each).parent == project} == {
        "pyvenv.cfg", "bin", "lib",
    }  # fmt: skip
