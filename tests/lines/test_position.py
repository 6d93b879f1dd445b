"""How much was written is remembered of each run, and never believed of another."""

from __future__ import annotations

import shutil

from tests.cli.support import Place, numbers


def test_a_run_in_a_new_journal_writes_all_although_one_of_its_name_had_been_here(
    place: Place,
) -> None:
    command = ["map", "--run", "r", "--journal", "j.db", "--", "echo"]
    assert place.run(*command, given=numbers(3)).stdout == numbers(3)
    for file in place.path.glob("j.db*"):
        if file.is_file():
            file.unlink()
    again = place.run(*command, given=numbers(3))
    assert (again.returncode, again.stdout) == (0, numbers(3))


def test_journals_whose_names_differ_only_in_their_ending_share_no_files(place: Place) -> None:
    for journal in ("a.db", "a.sqlite"):
        command = ["map", "--run", "r", "--journal", journal, "--", "echo"]
        assert place.run(*command, given=numbers(3)).stdout == numbers(3)
        assert (place.path / f"{journal}.files" / "r" / "position").is_file()


def test_the_position_of_another_run_is_not_believed_by_a_resume(place: Place) -> None:
    for run in ("r", "s"):
        assert place.run("map", "--run", run, "--", "echo", given=numbers(3)).stdout == numbers(3)
    files = place.path / ".fanwise" / "journal.db.files"
    shutil.copy(files / "r" / "position", files / "s" / "position")
    assert place.run("resume", "s").stdout == numbers(3)
