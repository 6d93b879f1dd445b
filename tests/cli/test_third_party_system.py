"""A system from another package: every command finds it, its options and its texts."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.support import Place

POLL = """
from fanwise import fan_out
from fanwise.specs import End, Option, SpecModel, check
from fanwise.specs.system import Preview, Report
from fanwise.view.table import Table


class Poll(SpecModel):
    questions: list[str]
    broken: bool = False


class File(SpecModel):
    poll: Poll


class RunnablePoll:
    def __init__(self, poll, colour):
        self.poll, self.colour = poll, colour
        self.title, self.total = "a poll", len(poll.questions)
        self.caps = self.budget = None

    @property
    def spec(self):
        return {"poll": self.poll.model_dump(), "colour": self.colour}

    def describe(self):
        return [f"asked in {self.colour}"]

    async def execute(self, run):
        async def ask(question):
            if question == "hard":
                open("asked-hard", "a").write("x")
                if len(open("asked-hard").read()) == 1:
                    raise ValueError("too hard")
            return [question, self.colour]

        outcomes = await fan_out(ask, self.poll.questions, run=run, name="questions", key=str)
        failed = [each for each in outcomes if not each.ok]
        answers = [each.value for each in outcomes if each.ok]
        lines = [" ".join(each) for each in answers]
        return End(answers, lines, [f"{len(failed)} failed"] * bool(failed), int(bool(failed)))


def answers(journal, run):
    rows = [i for f in journal.fan_outs(run.id) for i in journal.items(f.id)]
    return [{"question": row.key, "status": row.status} for row in rows]


class PollSystem:
    name = "poll"
    options = (
        Option(name="colour", commands=("run", "report"), metavar="NAME", help="Ink of the poll."),
        Option(name="least", commands=("export", "show"), type=int, help="Fewest questions."),
        Option(name="apply", commands=("run",), type=bool, help="Hang the poll on the wall."),
    )

    def runnable(self, document, colour="black", apply=False):
        return RunnablePoll(check(document, File).poll, colour + "!" * apply)

    def resume(self, spec):
        return RunnablePoll(Poll(**spec["poll"]), spec["colour"])

    def describe_run(self, journal, run, *, fully, least=0):
        return [f"least {least}, {len(answers(journal, run))} questions"]

    def report(self, journal, run, colour="black"):
        found = answers(journal, run)
        html = f"<!doctype html><p style='color: {colour}'>{len(found)}</p>"
        return Report(html, [f"{len(found)} questions in {colour}"], {"questions": found})

    def table(self, journal, run, least=0):
        columns = {"question": "text", "status": "text"}
        return Table("questions", columns, answers(journal, run)[least:])


SYSTEM = PollSystem()
"""
METADATA = "Metadata-Version: 2.1\nName: pollster\nVersion: 1\n"


def install(folder: Path, code: str = POLL) -> Path:
    """A distribution as an installer leaves it: a module, its metadata and an entry point."""
    info = folder / "pollster-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(METADATA)
    (info / "entry_points.txt").write_text("[fanwise.systems]\npoll = pollster:SYSTEM\n")
    (folder / "pollster.py").write_text(code)
    return folder


class Pollsters:
    """A working directory with a poll, and the packages that are installed."""

    def __init__(self, place: Place, code: str = POLL) -> None:
        self.place = place
        self.packages = install(place.path / "packages", code)
        (place.path / "poll.yaml").write_text("poll:\n  questions: [easy, hard]\n")

    def run(self, *args: str) -> tuple[int, str, str]:
        done = self.place.run(*args, PYTHONPATH=str(self.packages))
        return done.returncode, done.stdout.decode(), done.stderr.decode()


@pytest.fixture
def pollsters(place: Place) -> Pollsters:
    return Pollsters(place)


def test_run_passes_its_own_option_and_resume_goes_on_with_it(pollsters: Pollsters) -> None:
    code, out, err = pollsters.run("run", "poll.yaml", "--run", "p", "--colour", "red")
    assert (code, out) == (1, "easy red\n"), err
    code, out, err = pollsters.run("resume", "p", "--retry-failed")
    assert (code, out) == (0, "easy red\nhard red\n"), err


def test_show_report_and_export_use_its_texts_and_options(pollsters: Pollsters) -> None:
    pollsters.run("run", "poll.yaml", "--run", "p")
    assert "least 0, 2 questions" in pollsters.run("show", "p")[1]
    assert "least 7, 2 questions" in pollsters.run("show", "p", "--least", "7")[1]
    code, out, err = pollsters.run("report", "p", "--colour=green", "--output", "p.html")
    assert (code, out) == (0, "2 questions in green\n"), err
    assert "color: green" in (pollsters.place.path / "p.html").read_text()
    rows = pollsters.run("export", "p")[1].splitlines()
    assert [json.loads(row)["question"] for row in rows] == ["easy", "hard"]
    assert pollsters.run("export", "p", "--least", "1")[1].splitlines() == rows[1:]


def test_check_and_the_dry_run_count_what_it_would_do(pollsters: Pollsters) -> None:
    code, out, _ = pollsters.run("check", "poll.yaml")
    assert code == 0
    assert "asked in black" in out
    code, out, _ = pollsters.run("run", "poll.yaml", "--colour", "blue", "--dry-run")
    assert "asked in blue" in out


def test_the_help_has_a_section_for_it(pollsters: Pollsters) -> None:
    out = pollsters.run("run", "--help")[1]
    section = out[out.index("Options for poll:") :]
    assert "--colour NAME  Ink of the poll." in section
    assert "--least" not in out
    assert "--least INT" in pollsters.run("export", "--help")[1]


def test_two_systems_may_share_a_flag(pollsters: Pollsters) -> None:
    assert "easy black!" in pollsters.run("run", "poll.yaml", "--apply")[1]
    assert "easy red!" in pollsters.run("run", "poll.yaml", "--apply", "--colour", "red")[1]


def test_an_option_of_another_system_names_the_systems_that_take_it(pollsters: Pollsters) -> None:
    (pollsters.place.path / "flow.yaml").write_text(
        "workflow: {id: w, name: w}\nsteps: [{id: a, type: shell, run: 'true'}]\n"
    )
    code, _, err = pollsters.run("run", "flow.yaml", "--colour", "red")
    assert code == 2
    assert "--colour is not an option of `workflow`; it belongs to `poll`" in err
    code, _, err = pollsters.run("run", "poll.yaml", "--only", "model=a")
    assert (code, "--only is not an option of `poll`; it belongs to `matrix`" in err) == (2, True)
    code, _, err = pollsters.run("resume", "w", "--only", "model=a")
    assert (code, "It is an option of fanwise run" in err) == (2, True)
    pollsters.run("run", "flow.yaml", "--run", "w")
    code, _, err = pollsters.run("show", "w", "--least", "1")
    assert (code, "--least is not an option of `workflow`" in err) == (2, True)


@pytest.mark.parametrize(
    ("args", "before", "after", "why"),
    [
        ("--json", 'name="colour"', 'name="json"', "--json, an option of `poll`, is taken"),
        ("--run p", 'name="colour",', 'name="x", flags=("--x", "-y"),', "-y, an option of `poll`"),
        ("--only 1", 'name="apply"', 'name="only"', "`matrix` and `poll` declare --only with diff"),
        ("", "options = (", "options = ('colour', ", "are not declared as `fanwise.specs.Option`"),
    ],
)  # fmt: skip
def test_a_bad_declaration_is_an_error_of_that_system_alone(
    place: Place, args: str, before: str, after: str, why: str
) -> None:
    assert before in POLL
    pollsters = Pollsters(place, POLL.replace(before, after))
    code, out, err = pollsters.run("run", "poll.yaml", *args.split())
    assert code == 2
    assert why in out + err
    (place.path / "flow.yaml").write_text(
        "workflow: {id: w, name: w}\nsteps: [{id: a, type: shell, run: 'true'}]\n"
    )
    assert pollsters.run("run", "flow.yaml", "--run", "w", "--stop-after", "a")[0] in (0, 3)


def test_it_is_imported_only_where_it_is_needed(place: Place) -> None:
    pollsters = Pollsters(place, f"open('imported', 'w').close()\n{POLL}")
    pollsters.run("map", "--run", "m", "--cap", "2", "--", "echo", "--colour")
    pollsters.run("runs", "--json")
    pollsters.run("show", "m", "--items", "--json")
    assert not (place.path / "imported").exists()
    pollsters.run("show", "--help")
    assert (place.path / "imported").exists()


def test_a_system_that_cannot_be_imported_spoils_no_other(place: Place) -> None:
    pollsters = Pollsters(place, "1 / 0")
    assert pollsters.run("run", "--help")[0] == 0
    code, _, err = pollsters.run("run", "poll.yaml", "--run", "p")
    assert (code, "cannot be loaded: ZeroDivisionError" in err) == (2, True)
    code, _, err = pollsters.run("run", "poll.yaml", "--paper", "a4")
    assert (code, "The system `poll` may have it, but cannot be loaded" in err) == (2, True)


def test_from_python_options_have_the_same_names(pollsters: Pollsters) -> None:
    (pollsters.place.path / "use.py").write_text(
        "from fanwise import run_file_sync\n"
        "print(run_file_sync('poll.yaml', colour='pink').output)\n"
    )
    done = subprocess.run(
        [sys.executable, "use.py"], cwd=pollsters.place.path, capture_output=True, text=True,
        env={"PYTHONPATH": str(pollsters.packages)}, check=True,
    )  # fmt: skip
    assert "easy pink" in done.stdout
